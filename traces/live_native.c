/*
 * A live program at the processor's own speed, delivering nothing, up to an address: outside the
 * regions somebody wants to measure.
 *
 * Breakpoints stand at the addresses in every process while the threads run. When one is reached
 * every other thread is stopped where it is (out of a system call, which it will begin again), and
 * the breakpoints are gone before anything is delivered.
 *
 * The program's start is interpreted all the same: that is where C libraries ask CPUID which
 * variants of their functions to use.
 *
 * Limits: while it runs, CPUID, RDTSC and /dev/cpu/N/msr are the host's, and threads take turns as
 * the host's scheduler likes.
 */
#define _GNU_SOURCE
#include "live.h"
#include "execute.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    BREAKPOINT = 0xcc,
    TRAP_CODE_CALL = 1, /* si_code of what a step left behind */
    TRAP_CODE_STEP = 2,
    TRAP_CODE_KERNEL = 0x80, /* int3 */
    /* Instructions behind the entry point that are the start of a statically linked program: the
     * last CPUID was seen behind 22000 with Debian's C library. Model choice with room to spare. */
    STARTUP = 50000,
};

struct planted {
    uint16_t process;
    uint64_t address;
    uint8_t byte;
};

struct native_run {
    struct live *live;
    const uint64_t *stops;
    size_t stop_count;
    struct planted *planted;
    size_t planted_count, planted_capacity;
    bool no_memory;
    bool stepped_off; /* an instruction was executed: a stop is one again */
};

static bool is_stop(const struct native_run *run, uint64_t address)
{
    for (size_t i = 0; i < run->stop_count; i++)
        if (run->stops[i] == address)
            return true;
    return false;
}

/* ---- breakpoints -------------------------------------------------------------------------------
 */

static bool is_planted(const struct native_run *run, unsigned process, uint64_t address)
{
    for (size_t i = 0; i < run->planted_count; i++)
        if (run->planted[i].process == process && run->planted[i].address == address)
            return true;
    return false;
}

static void remember(struct native_run *run, struct planted planted)
{
    if (run->planted_count == run->planted_capacity) {
        size_t wanted = run->planted_capacity ? 2 * run->planted_capacity : 16;
        struct planted *bigger = realloc(run->planted, wanted * sizeof *bigger);
        if (!bigger) {
            run->no_memory = true;
            return;
        }
        run->planted = bigger;
        run->planted_capacity = wanted;
    }
    run->planted[run->planted_count++] = planted;
}

/* What stood at ADDRESS in the process a forked child is a copy of. */
static bool byte_of_parent(const struct native_run *run, uint64_t address, uint8_t *byte)
{
    for (size_t i = 0; i < run->planted_count; i++)
        if (run->planted[i].address == address) {
            *byte = run->planted[i].byte;
            return true;
        }
    return false;
}

static void plant(struct native_run *run, const struct live_thread *thread)
{
    const uint8_t breakpoint = BREAKPOINT;
    uint8_t byte;

    for (size_t i = 0; i < run->stop_count; i++) {
        uint64_t address = run->stops[i];
        if (is_planted(run, thread->space->process, address) ||
            tracee_read(thread->tid, address, &byte, 1) != 1)
            continue;
        if (byte == BREAKPOINT && byte_of_parent(run, address, &byte)) {
            remember(run, (struct planted){thread->space->process, address, byte});
            continue;
        }
        if (tracee_write(thread->tid, address, &breakpoint, 1))
            remember(run, (struct planted){thread->space->process, address, byte});
    }
}

static void unplant(struct native_run *run)
{
    struct live *live = run->live;

    for (size_t i = 0; i < run->planted_count; i++)
        for (size_t j = 0; j < live->thread_count; j++) {
            const struct live_thread *thread = live->threads[j];
            if (thread->state != THREAD_GONE && thread->space->process == run->planted[i].process &&
                tracee_write(thread->tid, run->planted[i].address, &run->planted[i].byte, 1))
                break;
        }
    free(run->planted);
    run->planted = NULL;
    run->planted_count = run->planted_capacity = 0;
}

/* ---- threads -----------------------------------------------------------------------------------
 */

static void resume_all(struct native_run *run)
{
    struct live *live = run->live;

    for (size_t i = 0; i < live->thread_count; i++) {
        struct live_thread *thread = live->threads[i];
        if (thread->state != THREAD_READY)
            continue;
        plant(run, thread);
        thread->state = THREAD_BLOCKED; /* until it reports */
        ptrace(PTRACE_CONT, thread->tid, NULL, (long)thread->inject);
        thread->inject = 0;
    }
}

/* A thread stands in a SIGTRAP: at a breakpoint of ours? */
static bool at_stop(const struct native_run *run, struct live_thread *thread)
{
    int code = tracee_stop_code(thread->tid);
    uint64_t address = thread->regs.rip - 1;

    if (code == TRAP_CODE_KERNEL && is_planted(run, thread->space->process, address)) {
        thread->regs.rip = address;
        thread->regs.orig_rax = ~0ull;
        tracee_set_registers(thread->tid, &thread->regs);
        return true;
    }
    if (code != TRAP_CODE_STEP && code != TRAP_CODE_CALL)
        thread->inject = SIGTRAP; /* the program's own */
    return false;
}

/* Looks at each running thread once. The one that reached a stop, or NULL. */
static struct live_thread *look(struct native_run *run, bool *seen)
{
    struct live *live = run->live;
    struct live_thread *found = NULL;
    enum live_stop stop;

    *seen = false;
    for (size_t i = 0; i < live->thread_count && !found; i++) {
        struct live_thread *thread = live->threads[i];
        if (thread->state != THREAD_BLOCKED || !live_poll(live, thread, &stop))
            continue;
        *seen = true;
        if (stop == STOP_GONE)
            continue;
        thread->state = THREAD_READY;
        if (stop == STOP_TRAP && at_stop(run, thread))
            found = thread;
    }
    live_remove_gone(live);
    return found;
}

/* Every thread that still runs stops where it is. */
static void stop_all(struct native_run *run)
{
    struct live *live = run->live;
    bool seen = true;

    for (size_t i = 0; i < live->thread_count; i++)
        if (live->threads[i]->state == THREAD_BLOCKED)
            syscall(SYS_tgkill, live->threads[i]->tgid, live->threads[i]->tid, SIGSTOP);
    for (;;) {
        bool running = false;
        for (size_t i = 0; i < live->thread_count; i++)
            running |= live->threads[i]->state == THREAD_BLOCKED;
        if (!running)
            return;
        if (!seen)
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        look(run, &seen);
    }
}

/* What was known of registers and memory is past. */
static void forget(struct live *live)
{
    for (size_t i = 0; i < live->thread_count; i++) {
        struct live_thread *thread = live->threads[i];
        thread->xmm_known = false;
        execute_leave(thread);
        if (thread->space)
            space_touch(thread->space);
    }
}

static void make_current(struct live *live, const struct live_thread *thread)
{
    for (size_t i = 0; i < live->thread_count; i++)
        if (live->threads[i] == thread)
            live->current = i;
    live->turn = 0;
}

/* ---- the program's start ------------------------------------------------------------------------
 */

/* AT_ENTRY of a process: where its dynamic loader, if it has one, leads to. */
uint64_t live_entry_of(pid_t pid)
{
    uint32_t pairs[128] = {0};
    char path[64];
    size_t count;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    count = fread(pairs, sizeof *pairs, sizeof pairs / sizeof *pairs, file);
    fclose(file);
    /* Pairs of 32 bits; of 64 in a 64-bit program, whose every second word here is 0. */
    bool wide = count > 1 && pairs[1] == 0;
    for (size_t i = 0; i + 3 < count; i += wide ? 4 : 2)
        if (pairs[i] == AT_ENTRY)
            return wide ? pairs[i + 2] | (uint64_t)pairs[i + 3] << 32 : pairs[i + 1];
    return 0;
}

uint64_t live_next_ip(const struct live_thread *thread)
{
    return thread->interpreted ? thread->machine.state.registers.ip : thread->regs.rip;
}

/* One instruction, interpreted or stepped, of whoever's turn it is; none when that one has come to
 * a stop. */
static bool advance(struct native_run *run)
{
    struct trace_instruction nobody_reads;
    struct live *live = run->live;
    struct live_thread *thread = live_schedule(live);

    if (live->spaces_to_drop)
        live_drop_spaces(live);
    if (thread && run->stepped_off && is_stop(run, live_next_ip(thread)))
        return true;
    if (!thread)
        return live->thread_count != 0 && !live->interrupted && !live->source.error[0];
    switch (live_step(live, thread, &nobody_reads)) {
    case LIVE_SYNC:
        live->synchronised = true; /* there is nothing to wait for */
        return true;
    case LIVE_FAILED:
        return false;
    default:
        return !live->interrupted;
    }
}

/* True when a stop was reached, or the program ended, before the start was over. */
static bool interpret_start(struct native_run *run)
{
    struct live *live = run->live;

    while (live->thread_count) {
        const struct live_thread *thread =
            live->current < live->thread_count ? live->threads[live->current] : NULL;
        uint64_t ip = thread ? live_next_ip(thread) : 0, before = live->executed;
        if (run->stepped_off && is_stop(run, ip))
            return true;
        if (!live->entry_at && (ip == live->entry || !live->entry))
            live->entry_at = live->executed + 1;
        if (run->stepped_off && live->entry_at && live->executed >= live->entry_at + STARTUP)
            return false;
        if (!advance(run))
            return true;
        run->stepped_off |= live->executed != before;
    }
    return true;
}

/* ---- the run -----------------------------------------------------------------------------------
 */

static void run_to_stop(struct native_run *run)
{
    struct live *live = run->live;
    struct live_thread *found = NULL;
    bool seen = true;

    live->natively = true;
    while (live->thread_count && !found && !live->interrupted && !live->source.error[0]) {
        if (!seen)
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        resume_all(run);
        found = look(run, &seen);
        if (run->no_memory)
            live_fail(live, 3, "no memory for breakpoints");
        if (live->spaces_to_drop)
            live_drop_spaces(live);
    }
    if (live->thread_count)
        stop_all(run);
    unplant(run);
    live->natively = false;
    forget(live);
    if (found)
        make_current(live, found);
}

enum trace_result live_run_natively(struct trace_source *source, const uint64_t *stops,
                                    size_t count)
{
    struct live *live = (struct live *)source;
    struct native_run run = {.live = live, .stops = stops, .stop_count = count};

    if (live->recorder || live->window.high) {
        live_fail(live, 2,
                  live->recorder ? "a run that is recorded cannot leave parts out"
                                 : "a snippet cannot leave parts out");
        return TRACE_ERROR;
    }
    if (live->finished)
        return live->source.error[0] ? TRACE_ERROR : TRACE_END;
    run.stepped_off = live->has_pending; /* by the instruction that is not delivered */
    live->has_pending = false;
    live->wrong_thread = NULL;
    if (!interpret_start(&run)) {
        for (size_t i = 0; i < live->thread_count; i++)
            execute_leave(live->threads[i]);
        run_to_stop(&run);
    }
    live->has_pending = false;
    if (live->source.error[0])
        return TRACE_ERROR;
    return live->thread_count && !live->interrupted ? TRACE_OK : TRACE_END;
}
