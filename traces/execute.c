/* Between the interpreter and the processor; see execute.h. */
#define _GNU_SOURCE
#include "execute.h"

#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

enum {
    /* Instructions interpreted in a row before signals are looked for, and before the processor has
     * one so that what others wrote to shared memory is seen: model choices, cheap enough. */
    BETWEEN_SIGNALS = LIVE_QUANTUM,
    INTERPRETED_AT_MOST = 50 * LIVE_QUANTUM,
    LARGEST_KNOWN_WRITE = 16, /* bytes; beyond it the recipe's size is not relied on */
};

/* ---- memory ------------------------------------------------------------------------------------
 */

/* As the program itself could read it: no way around its page protection. */
static bool fetch(void *context, uint64_t number, uint8_t bytes[INTERPRET_PAGE_BYTES])
{
    const struct space *space = context;
    struct iovec local = {bytes, INTERPRET_PAGE_BYTES};
    struct iovec remote = {(void *)((uintptr_t)number << INTERPRET_PAGE_SHIFT),
                           INTERPRET_PAGE_BYTES};

    return process_vm_readv(space->tid, &local, 1, &remote, 1, 0) == INTERPRET_PAGE_BYTES;
}

static bool write_back(void *context, const struct interpret_range *ranges, size_t count)
{
    const struct space *space = context;
    struct iovec local[INTERPRET_RANGES], remote[INTERPRET_RANGES];
    ssize_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        local[i] = (struct iovec){(void *)(uintptr_t)ranges[i].bytes, ranges[i].count};
        remote[i] = (struct iovec){(void *)(uintptr_t)ranges[i].address, ranges[i].count};
        bytes += (ssize_t)ranges[i].count;
    }
    return process_vm_writev(space->tid, local, count, remote, count, 0) == bytes;
}

static bool writable(void *context, uint64_t number, uint8_t first_byte)
{
    const struct interpret_range range = {(uint64_t)number << INTERPRET_PAGE_SHIFT, &first_byte, 1};

    return write_back(context, &range, 1);
}

struct interpret_memory *execute_memory_new(struct space *space)
{
    static const struct interpret_backing backing = {
        .fetch = fetch, .writable = writable, .write_back = write_back};

    return interpret_memory_new(&backing, space);
}

bool execute_read_code(struct space *space, uint64_t number, uint8_t bytes[CODE_PAGE_BYTES])
{
    const struct code_page *known;

    if (space->memory)
        interpret_memory_flush(space->memory);
    if (tracee_read(space->tid, number << CODE_PAGE_SHIFT, bytes, CODE_PAGE_BYTES) !=
        CODE_PAGE_BYTES)
        return false;
    if (space->memory)
        interpret_memory_learn(space->memory, number, bytes);
    if (!space->recorder)
        return true;
    known = code_page_find(&space->pages, number);
    if (!known || memcmp(known->bytes, bytes, CODE_PAGE_BYTES) != 0)
        recorder_code(space->recorder, space->process, number);
    return true;
}

/* ---- registers ---------------------------------------------------------------------------------
 */

static void take_registers(struct live_thread *thread)
{
    thread->machine.state.registers = live_registers(&thread->regs);
    thread->interpreted = true;
    if (thread->space->recorder)
        recorder_resume(thread->space->recorder, thread->number, thread->space->process,
                        &thread->machine.state);
}

static void put_more_registers(const struct recipe_registers *now, struct user_regs_struct *regs)
{
    regs->r8 = now->gpr[GPR_R8];
    regs->r9 = now->gpr[GPR_R8 + 1];
    regs->r10 = now->gpr[GPR_R8 + 2];
    regs->r11 = now->gpr[GPR_R8 + 3];
    regs->r12 = now->gpr[GPR_R8 + 4];
    regs->r13 = now->gpr[GPR_R8 + 5];
    regs->r14 = now->gpr[GPR_R8 + 6];
    regs->r15 = now->gpr[GPR_R15];
}

static void put_registers(struct live_thread *thread)
{
    const struct recipe_registers *now = &thread->machine.state.registers;
    struct user_regs_struct *regs = &thread->regs;

    regs->rax = now->gpr[GPR_AX];
    regs->rcx = now->gpr[GPR_CX];
    regs->rdx = now->gpr[GPR_DX];
    regs->rbx = now->gpr[GPR_BX];
    regs->rsp = now->gpr[GPR_SP];
    regs->rbp = now->gpr[GPR_BP];
    regs->rsi = now->gpr[GPR_SI];
    regs->rdi = now->gpr[GPR_DI];
    if (live_mode(regs) == RECIPE_64)
        put_more_registers(now, regs);
    regs->rip = now->ip;
    regs->eflags = now->flags;
    regs->orig_rax = ~0ull; /* no system call to restart */
    tracee_set_registers(thread->tid, regs);
}

static bool take_xmm(struct live_thread *thread)
{
    struct interpret_state *state = &thread->machine.state, before;

    if (thread->xmm_known)
        return true;
    if (ptrace(PTRACE_GETFPREGS, thread->tid, NULL, &thread->fpregs) != 0)
        return false;
    before = *state;
    memcpy(state->xmm, thread->fpregs.xmm_space, sizeof state->xmm);
    state->mxcsr = thread->fpregs.mxcsr;
    memcpy(&state->x87, &thread->fpregs, sizeof state->x87);
    thread->xmm_known = true;
    thread->xmm_changed = false;
    if (thread->space->recorder)
        recorder_changed(thread->space->recorder, &before, state);
    return true;
}

static void put_xmm(struct live_thread *thread)
{
    const struct interpret_state *state = &thread->machine.state;

    memcpy(&thread->fpregs, &state->x87, sizeof state->x87);
    memcpy(thread->fpregs.xmm_space, state->xmm, sizeof state->xmm);
    thread->fpregs.mxcsr = state->mxcsr;
    ptrace(PTRACE_SETFPREGS, thread->tid, NULL, &thread->fpregs);
    thread->xmm_changed = false;
}

/* ---- interpreting ------------------------------------------------------------------------------
 */

static bool signal_waits(pid_t tid)
{
    struct __ptrace_peeksiginfo_args own = {.nr = 1}, shared = {.nr = 1};
    siginfo_t info;

    shared.flags = PTRACE_PEEKSIGINFO_SHARED;
    return ptrace(PTRACE_PEEKSIGINFO, tid, &own, &info) != 0 ||
           ptrace(PTRACE_PEEKSIGINFO, tid, &shared, &info) != 0;
}

/* After a run of interpreted instructions: may it go on? */
static bool may_go_on(struct live_thread *thread)
{
    if (++thread->run % BETWEEN_SIGNALS != 0)
        return true;
    return thread->run < INTERPRETED_AT_MOST && !signal_waits(thread->tid) &&
           thread->machine.memory->page_count <= INTERPRET_PAGES_KEPT;
}

bool execute_may_interpret(struct live_thread *thread)
{
    if (thread->interpreted)
        return may_go_on(thread);
    if (thread->inject || live_mode(&thread->regs) != thread->space->mode ||
        !thread->space->memory || live_call_restarts(thread))
        return false;
    if (!thread->signals_looked_for) {
        thread->signals_looked_for = true;
        if (signal_waits(thread->tid))
            return false;
    }
    thread->space->tid = thread->tid;
    thread->machine.memory = thread->space->memory;
    take_registers(thread);
    if (thread->space->recorder && !thread->float_recorded)
        thread->float_recorded = take_xmm(thread);
    return true;
}

/* The opcode behind the prefixes, with 0x0f00 in two-byte ones, and what follows it. */
static unsigned opcode_of(const struct recipe *recipe, uint8_t *next)
{
    unsigned at = 0;

    while (at < recipe->length &&
           (recipe->bytes[at] == 0x66 || recipe->bytes[at] == 0xf2 || recipe->bytes[at] == 0xf3 ||
            (recipe->bytes[at] & 0xe7) == 0x26 || (recipe->bytes[at] & 0xfe) == 0x64 ||
            (recipe->mode == RECIPE_64 && (recipe->bytes[at] & 0xf0) == 0x40)))
        at++;
    if (at + 2 >= sizeof recipe->bytes)
        return 0;
    if (recipe->bytes[at] != 0x0f) {
        *next = recipe->bytes[at + 1];
        return recipe->bytes[at];
    }
    return 0x0f00u | recipe->bytes[at + 1];
}

/*
 * Would a replay on another host compute something else? x87 functions are rounded differently by
 * different makers' processors (f2xm1 fyl2x fptan fpatan fyl2xp1 fsincos fsin fcos); hosts that are
 * no x86 have no such arithmetic at all, which matters to recordings made for them.
 */
static bool depends_on_host(const struct recipe *recipe, bool portable)
{
    const uint16_t functions =
        1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 9 | 1 << 11 | 1 << 14 | 1 << 15; /* D9 F0 to FF */
    uint8_t next = 0;
    unsigned opcode = opcode_of(recipe, &next);

    if (opcode == 0xd9 && next >= 0xf0 && functions >> (next & 15) & 1)
        return true;
    if (!portable)
        return false;
    return (opcode >= 0xd8 && opcode <= 0xdf) || opcode == 0x9b || opcode == 0x0f2a ||
           (opcode >= 0x0f2c && opcode <= 0x0f2f) || opcode == 0x0f51 ||
           (opcode >= 0x0f58 && opcode <= 0x0f5f) || opcode == 0x0fc2 || opcode == 0x0fe6 ||
           opcode == 0x0f7c || opcode == 0x0f7d || opcode == 0x0fd0;
}

bool execute_interpret(struct live_thread *thread, const struct code_entry *entry,
                       struct trace_access access[TRACE_ACCESSES], unsigned *access_count)
{
    const struct interpret_op *op = &entry->op;

    if (op->uses_xmm && thread->space->recorder &&
        depends_on_host(&entry->recipe, thread->space->portable))
        return false;
    if (op->uses_xmm && !take_xmm(thread))
        return false;
    if (!interpret_step(&thread->machine, op, &entry->recipe, access, access_count))
        return false;
    thread->xmm_changed |= op->uses_xmm;
    return true;
}

/* ---- handing over ------------------------------------------------------------------------------
 */

void execute_settle(struct live_thread *thread)
{
    if (!thread->interpreted)
        return;
    thread->interpreted = false;
    if (thread->space->recorder)
        recorder_pause(thread->space->recorder);
    interpret_memory_flush(thread->space->memory);
    if (thread->xmm_changed)
        put_xmm(thread);
    put_registers(thread);
}

void execute_leave(struct live_thread *thread)
{
    execute_settle(thread);
    thread->signals_looked_for = false;
    if (thread->space && thread->space->memory)
        interpret_memory_drop(thread->space->memory);
}

/* Does the recipe tell all the memory that changed? */
static bool writes_are_known(const struct recipe *recipe, const struct trace_access *access,
                             unsigned access_count)
{
    if (!recipe || recipe->repeated ||
        (recipe->kind != RECIPE_PLAIN && recipe->kind != RECIPE_CPUID &&
         !recipe_reads_processor(recipe) && recipe->kind != RECIPE_PUSHF))
        return false;
    for (unsigned i = 0; i < access_count; i++)
        if (access[i].write && access[i].size > LARGEST_KNOWN_WRITE)
            return false;
    return true;
}

void execute_stepped(struct live_thread *thread, struct space *space, const struct recipe *recipe,
                     const struct trace_access *access, unsigned access_count, bool executed)
{
    bool start_afresh = thread->run >= INTERPRETED_AT_MOST ||
                        (space->memory && space->memory->page_count > INTERPRET_PAGES_KEPT);

    thread->xmm_known = false;
    thread->run = 0;
    if (!executed || !recipe || recipe->kind != RECIPE_PLAIN ||
        (recipe->effects.writes & (EFFECT_ALL_XMM | EFFECT_X87)))
        thread->float_recorded = false;
    if (!executed || !recipe || recipe->kind != RECIPE_PLAIN)
        thread->signals_looked_for = false;
    if (!space->memory)
        return;
    if (!executed || start_afresh || !writes_are_known(recipe, access, access_count)) {
        interpret_memory_drop(space->memory);
        return;
    }
    for (unsigned i = 0; i < access_count; i++)
        if (access[i].write)
            interpret_memory_drop_range(space->memory, access[i].address, access[i].size);
}
