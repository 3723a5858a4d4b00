/*
 * Wrong paths of a live program. The program is always one instruction further than what was
 * delivered (live.c says why), so before that instruction is executed, what it will change is kept
 * where a wrong path may begin behind the one before it: behind branches.
 *
 * No wrong path is known behind an instruction that another thread's follows, and before system
 * calls and repeated string instructions that the processor executed: what those change is not
 * kept.
 */
#define _GNU_SOURCE
#include "live.h"
#include "execute.h"

#include <string.h>
#include <sys/ptrace.h>

#define EFFECT_FLOAT (EFFECT_ALL_XMM | EFFECT_X87)

/* ---- what the instruction in hand is about to change ------------------------------------------
 */

/* XMM and x87 registers: the interpreter's where it has them, else the processor's. */
static bool take_float(struct live_thread *thread, union interpret_xmm xmm[16], uint32_t *mxcsr,
                       struct interpret_x87 *x87)
{
    const struct interpret_state *state = &thread->machine.state;
    struct user_fpregs_struct registers;

    if (thread->xmm_known) {
        memcpy(xmm, state->xmm, sizeof state->xmm);
        *mxcsr = state->mxcsr;
        *x87 = state->x87;
        return true;
    }
    if (ptrace(PTRACE_GETFPREGS, thread->tid, NULL, &registers) != 0)
        return false;
    memcpy(xmm, registers.xmm_space, sizeof state->xmm);
    *mxcsr = registers.mxcsr;
    memcpy(x87, &registers, sizeof *x87);
    return true;
}

static void keep_bytes(struct live_undo *undo, struct interpret_memory *memory,
                       const struct trace_access *access)
{
    struct live_written *written = &undo->written[undo->written_count++];

    written->address = access->address;
    written->size = access->size;
    written->kept = access->size <= sizeof written->bytes &&
                    interpret_load_bytes(memory, access->address, written->bytes, access->size);
}

void live_keep_undo(struct live *live, struct live_thread *thread, const struct recipe *recipe,
                    const struct recipe_registers *start)
{
    struct live_undo *undo = &live->undo;
    struct trace_access access[TRACE_ACCESSES];
    unsigned count = recipe_accesses(recipe, start, access);

    if (!thread->space->memory || !wrong_path_may_begin_before(recipe))
        return;
    thread->space->tid = thread->tid;
    undo->known = true;
    undo->registers = *start;
    undo->written_count = 0;
    undo->touches_float = (recipe->effects.reads | recipe->effects.writes) & EFFECT_FLOAT;
    undo->float_kept = false;
    if (undo->touches_float)
        undo->float_kept = take_float(thread, undo->xmm, &undo->mxcsr, &undo->x87);
    for (unsigned i = 0; i < count; i++)
        if (access[i].write)
            keep_bytes(undo, thread->space->memory, &access[i]);
}

/* ---- the path ----------------------------------------------------------------------------------
 */

static struct live_thread *thread_numbered(const struct live *live, unsigned number)
{
    for (size_t i = 0; i < live->thread_count; i++)
        if (live->threads[i]->number == number && !live->threads[i]->outside &&
            live->threads[i]->state != THREAD_GONE)
            return live->threads[i];
    return NULL;
}

static void take_float_now(struct live *live)
{
    struct wrong_path *path = live->wrong;
    struct interpret_state *state = &path->machine.state;

    live->wrong_float_due = false;
    if (take_float(live->wrong_thread, state->xmm, &state->mxcsr, &state->x87))
        path->unknown &= ~EFFECT_FLOAT;
}

static void begin(struct live *live, const struct live_thread *thread)
{
    const struct live_undo *undo = &live->undo;
    struct wrong_path *path = live->wrong;
    bool float_known = undo->touches_float ? undo->float_kept : thread->xmm_known;

    wrong_path_begin(path, &thread->machine.state, float_known ? 0 : EFFECT_FLOAT,
                     thread->space->memory);
    path->machine.state.registers = undo->registers;
    if (undo->float_kept) {
        memcpy(path->machine.state.xmm, undo->xmm, sizeof undo->xmm);
        path->machine.state.mxcsr = undo->mxcsr;
        path->machine.state.x87 = undo->x87;
    }
    for (unsigned i = 0; i < undo->written_count; i++)
        wrong_path_memory_was(path, undo->written[i].address,
                              undo->written[i].kept ? undo->written[i].bytes : NULL,
                              undo->written[i].size);
    live->wrong_float_due = !float_known && !undo->touches_float;
}

/* Is the state behind the delivered instruction that before the pending one, or now's? */
static bool state_known(struct live *live, const struct live_thread *thread)
{
    struct live_undo *undo = &live->undo;

    if (live->has_pending)
        return undo->known && live->pending.thread == live->delivered_thread &&
               live->pending.process == live->delivered_process;
    *undo = (struct live_undo){.registers = thread->interpreted ? thread->machine.state.registers
                                                                : live_registers(&thread->regs)};
    return thread->space->process == live->delivered_process;
}

bool live_wrong_begin(struct trace_source *source)
{
    struct live *live = (struct live *)source;
    struct live_thread *thread = thread_numbered(live, live->delivered_thread);

    live->wrong_thread = NULL;
    if (!thread || !thread->space || !thread->space->memory || !state_known(live, thread))
        return false;
    if (!live->wrong && !(live->wrong = wrong_path_new()))
        return false;
    begin(live, thread);
    live->wrong_thread = thread;
    return true;
}

bool live_wrong_step(struct trace_source *source, uint64_t ip, struct trace_wrong_step *out)
{
    struct live *live = (struct live *)source;
    struct live_thread *thread = live->wrong_thread;
    const struct code_entry *entry;

    if (!thread || !(entry = space_guess(thread->space, live->decoder, ip)))
        return false;
    if (live->wrong_float_due &&
        ((entry->recipe.effects.reads | entry->recipe.effects.writes) & EFFECT_FLOAT))
        take_float_now(live);
    wrong_path_step(live->wrong, ip, &entry->op, &entry->recipe, out);
    return true;
}

bool live_wrong_mark(struct trace_source *source, unsigned number)
{
    struct live *live = (struct live *)source;

    if (!live->wrong_thread || !wrong_path_mark(live->wrong, number))
        return false;
    live->wrong_float_due_at[number] = live->wrong_float_due;
    return true;
}

bool live_wrong_back(struct trace_source *source, unsigned number)
{
    struct live *live = (struct live *)source;

    if (!live->wrong_thread || !wrong_path_back(live->wrong, number))
        return false;
    live->wrong_float_due = live->wrong_float_due_at[number];
    return true;
}
