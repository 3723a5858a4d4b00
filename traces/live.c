/*
 * A live program as a source: starts it, delivers what its threads execute, records it when asked
 * to, and ends well whatever happens.
 *
 * What follows an instruction (its next_ip, a signal, a switch) is only known when the next one has
 * been executed, so one instruction is always held back.
 */
#define _GNU_SOURCE
#include "live.h"
#include "live_check.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static struct live *live_of(struct trace_source *source)
{
    return (struct live *)source;
}

/* ---- delivering --------------------------------------------------------------------------------
 */

/* Does FRESH follow the pending instruction in its own thread's flow? If not, it is so marked. */
static void compare_flow(struct live *live, const struct trace_instruction *fresh)
{
    struct trace_instruction *pending = &live->pending;

    if (fresh->thread != pending->thread || fresh->process != pending->process) {
        pending->flags |= TRACE_INTERRUPTED;
    } else if (fresh->ip != pending->next_ip) {
        pending->next_ip = fresh->ip;
        pending->flags |= TRACE_INTERRUPTED;
    }
}

static void deliver(struct live *live, struct trace_instruction *out)
{
    *out = live->pending;
    live->has_pending = live->at_rest = false;
    if (live->keeps_registers)
        live->before_delivered = live->before_pending;
    live->delivered_thread = out->thread;
    live->delivered_process = out->process;
}

/* True when an instruction is in OUT. */
static bool accept(struct live *live, const struct trace_instruction *fresh,
                   struct trace_instruction *out)
{
    bool delivered = live->has_pending;

    if (delivered) {
        compare_flow(live, fresh);
        deliver(live, out);
    }
    live->pending = *fresh;
    if (fresh->ip == live->entry && !live->entry_at)
        live->entry_at = live->executed;
    if (live->keeps_registers)
        live->before_pending = live->fresh;
    live->pending_branches = live->fresh_branches;
    live->has_pending = true;
    return delivered;
}

/* Snippets: leaving the window is the end. */
static bool left_window(struct live *live, const struct live_thread *thread)
{
    uint64_t ip = live_next_ip(thread);

    if (!live->window.high || (ip >= live->window.low && ip < live->window.high))
        return false;
    live_kill_all(live);
    live->source.end.how = TRACE_ENDED_SNIPPET;
    live->source.end.status = 0;
    return true;
}

/* What came before is delivered first; then the reader is told. */
static enum trace_result synchronise(struct live *live, const struct trace_instruction *next,
                                     struct trace_instruction *out)
{
    if (live->has_pending) {
        compare_flow(live, next);
        deliver(live, out);
        return TRACE_OK;
    }
    live->synchronised = true;
    return TRACE_SYNC;
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static enum trace_result failed(struct live *live)
{
    live_kill_all(live);
    live->finished = true;
    return TRACE_ERROR;
}

static bool recording_failed(struct live *live)
{
    if (!live->recorder || !recorder_error(live->recorder))
        return false;
    live_fail(live, 3, "%s", recorder_error(live->recorder));
    return true;
}

static enum trace_result finish(struct live *live)
{
    if (!live->finished) {
        live->finished = true;
        if (live->recorder)
            recorder_finish(live->recorder, &live->source.end, live->codes);
        recording_failed(live);
    }
    return live->source.error[0] ? TRACE_ERROR : TRACE_END;
}

/* The last instruction, then the end. */
static enum trace_result drain(struct live *live, struct trace_instruction *out)
{
    if (!live->has_pending)
        return finish(live);
    deliver(live, out);
    return TRACE_OK;
}

static void cut(struct live *live)
{
    if (!live->thread_count)
        return;
    live_kill_all(live);
    live->source.end.how = TRACE_ENDED_CUT;
    live->source.end.status = 0;
}

/* ---- the source --------------------------------------------------------------------------------
 */

/* The threads asked for all sleep; what one of them executed last is no longer held back. */
static enum trace_result idle(struct live *live, struct trace_instruction *out)
{
    if (!live->has_pending || (live->pending.thread & 1u) != live->source.choice - 1)
        return TRACE_IDLE;
    live->pending.flags |= TRACE_INTERRUPTED;
    deliver(live, out);
    return TRACE_OK;
}

static enum trace_result live_next(struct trace_source *source, struct trace_instruction *out)
{
    struct live *live = live_of(source);
    struct trace_instruction fresh = {0};
    struct live_thread *thread;

    live->wrong_thread = NULL;
    for (;;) {
        if (live->finished || recording_failed(live))
            return live->finished ? finish(live) : failed(live);
        if (live->spaces_to_drop)
            live_drop_spaces(live);
        if (live->interrupted)
            cut(live);
        thread = live_schedule(live);
        if (!thread && !live->thread_count)
            return drain(live, out);
        if (!thread && source->choice && !live->interrupted)
            return idle(live, out);
        if (!thread || left_window(live, thread))
            continue;
        switch (thread->outside ? live_step_outside(live, thread, &fresh)
                                : live_step(live, thread, &fresh)) {
        case LIVE_EXECUTED:
            if (accept(live, &fresh, out))
                return TRACE_OK;
            break;
        case LIVE_NOTHING:
            break;
        case LIVE_SYNC:
            return synchronise(live, &fresh, out);
        case LIVE_FAILED:
            return failed(live);
        }
    }
}

static size_t live_code_at(struct trace_source *source, uint16_t process, uint64_t ip,
                           uint8_t bytes[TRACE_INSTRUCTION_BYTES])
{
    struct live *live = live_of(source);
    struct space *space = process < live->space_count ? live->spaces[process] : NULL;

    return space ? code_page_copy(&space->pages, ip, bytes) : 0;
}

/* May be called from a signal handler. Killing the first program wakes a wait for it. */
static void live_interrupt(struct trace_source *source)
{
    struct live *live = live_of(source);

    live->interrupted = 1;
    if (live->first)
        kill((pid_t)live->first, SIGKILL);
}

static void free_all(struct live *live)
{
    if (live->pinned)
        sched_setaffinity(0, sizeof live->affinity, &live->affinity);
    for (size_t i = 0; i < live->space_count; i++)
        space_free(live->spaces[i]);
    for (size_t i = 0; i < live->thread_count; i++) {
        free(live->threads[i]->call);
        free(live->threads[i]);
    }
    free(live->spaces);
    free(live->msr_files);
    free(live->threads);
    recipe_decoder_free(live->decoder);
    recorder_close(live->recorder);
    object_log_free(&live->objects);
    wrong_path_free(live->wrong);
    live_check_free(live->check);
    free(live);
}

/* Closing in mid-run completes the recording as a cut one. */
static void live_close(struct trace_source *source)
{
    struct live *live = live_of(source);
    struct trace_instruction last;

    if (!live->finished && !live->source.error[0]) {
        live->interrupted = 1;
        cut(live);
        while (live_next(source, &last) == TRACE_OK)
            continue;
    }
    live_kill_all(live);
    free_all(live);
}

static bool live_registers_before(struct trace_source *source, struct trace_registers *out)
{
    struct live *live = live_of(source);

    live->keeps_registers = true;
    *out = live->before_delivered;
    return out->ip != 0;
}

static const struct trace_source_ops live_ops = {
    .next = live_next,
    .code_at = live_code_at,
    .registers_before = live_registers_before,
    .memory_at = live_memory_at,
    .store = live_store,
    .interrupt = live_interrupt,
    .close = live_close,
    .objects = live_objects,
    .wrong_begin = live_wrong_begin,
    .wrong_step = live_wrong_step,
    .wrong_mark = live_wrong_mark,
    .wrong_back = live_wrong_back,
    .run_natively = live_run_natively,
};

/* ---- opening -----------------------------------------------------------------------------------
 */

/* Tracer and program share one processor: a stop then costs a third, and the order is stable. */
static void pin(struct live *live)
{
    cpu_set_t one;
    int here = sched_getcpu();

    if (here < 0 || sched_getaffinity(0, sizeof live->affinity, &live->affinity) != 0)
        return;
    CPU_ZERO(&one);
    CPU_SET((size_t)here, &one);
    live->pinned = sched_setaffinity(0, sizeof one, &one) == 0;
}

static bool cannot_be_traced(pid_t pid, const char *path, char error[512])
{
    snprintf(error, 512, "%.300s: cannot be traced", path);
    kill(pid, SIGKILL);
    return false;
}

/* A recording, too, begins with the snippet's first instruction. The kernel's stack pointer depends
 * on the environment's size, the window's does not. */
static void enter_window(const struct live *live, struct live_thread *thread)
{
    uint64_t word;

    thread->regs.rip = live->window.low;
    if (tracee_read(thread->tid, live->window.stack - sizeof word, &word, sizeof word) ==
        sizeof word)
        thread->regs.rsp = live->window.stack;
    tracee_set_registers(thread->tid, &thread->regs);
}

/* The first program's image is there, as after an exec. */
static bool take_image(struct live *live, struct live_thread *thread)
{
    uint32_t leaf1[4] = {0};

    live_choose_side(live, thread);
    if (thread->outside)
        return true;
    thread->space = live_add_space(live, live_mode(&thread->regs));
    if (!thread->space || !live_number_thread(live, thread))
        return false;
    if (live->cpuid)
        live->cpuid(live->cpuid_context, 1, 0, leaf1);
    tracee_edit_auxv(thread->tid, &thread->regs, live->cpuid ? &leaf1[3] : NULL);
    if (live->window.high)
        enter_window(live, thread);
    live_log_objects(live, thread->space, thread->tid);
    return true;
}

static bool start_program(struct live *live, const char *path, char *const *argv, char error[512])
{
    struct live_thread *thread;
    bool randomised;
    pid_t pid = tracee_start(path, argv, &randomised, error);

    if (!pid)
        return false;
    live->first_pid = pid;
    live->first = pid;
    live->entry = live_entry_of(pid);
    thread = live_add_thread(live, pid, pid, NULL);
    if (!thread || !tracee_registers(pid, &thread->regs) || !take_image(live, thread))
        return cannot_be_traced(pid, path, error);
    if (randomised)
        snprintf(live->source.end.note, sizeof live->source.end.note,
                 "addresses could not be fixed here (personality is refused): they differ from run "
                 "to run");
    return true;
}

static bool record(struct live *live, const struct trace_live_options *options, char error[512])
{
    if (options->native_only) {
        snprintf(error, 512, "a run without the interpreter cannot be recorded");
        return false;
    }
    live->portable = options->portable;
    live->recorder =
        recorder_open(&(struct recorder_options){.path = options->record_to,
                                                 .argv = options->argv,
                                                 .model = options->model,
                                                 .source = "live",
                                                 .checkpoint_every = options->checkpoint_every,
                                                 .regions = options->regions,
                                                 .region_count = options->region_count},
                      error);
    return live->recorder != NULL;
}

struct trace_source *live_open(const struct trace_live_options *options,
                               const struct live_window *window, char error[512], int *status)
{
    char path[PROGRAM_PATH_BYTES];
    struct live *live;

    if (!options->argv || !options->argv[0]) {
        snprintf(error, 512, "no program was named");
        *status = 2;
        return NULL;
    }
    if (!(options->any_program
              ? program_find_any(options->argv[0], path, error, status)
              : program_find(options->argv[0], options->long_mode, path, error, status)))
        return NULL;
    live = calloc(1, sizeof *live);
    *status = 3;
    if (!live || !(live->decoder = recipe_decoder_new())) {
        snprintf(error, 512, "no memory for a live run");
        free(live);
        return NULL;
    }
    live->source.ops = &live_ops;
    live->source.chooses = true;
    live->cpuid = options->cpuid;
    live->cpuid_context = options->cpuid_context;
    live->native_only = options->native_only;
    live->long_mode = options->long_mode;
    live->quantum = options->short_turns ? LIVE_SHORT_TURN : LIVE_QUANTUM;
    if (window)
        live->window = *window;
    if (options->check && !(live->check = live_check_new(options->check_from))) {
        snprintf(error, 512, "no memory for a live run");
        free_all(live);
        return NULL;
    }
    if (options->record_to && !record(live, options, error)) {
        free_all(live);
        return NULL;
    }
    pin(live);
    if (!start_program(live, path, options->argv, error)) {
        free_all(live);
        return NULL;
    }
    return &live->source;
}

struct trace_source *trace_open_live(const struct trace_live_options *options, char error[512],
                                     int *status)
{
    return live_open(options, NULL, error, status);
}
