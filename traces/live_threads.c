/*
 * The traced threads of a live run: whose turn it is, what the kernel reports about them, how
 * families grow (fork, vfork, clone) and change (exec). The order is the same in each run as far as
 * the kernel's answers are: a thread that sleeps is found by its state, not by a clock.
 *
 * The run ends when the last followed process has ended, background children included.
 *
 * Not followed on a model without EM64T: processes that become 64-bit programs; they run natively,
 * outside the count (live_outside.c). Stop signals (job control) do not stop a program.
 */
#define _GNU_SOURCE
#include "execute.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    I386_CLONE = 120, /* system call numbers of 32-bit and of 64-bit Linux */
    I386_VFORK = 190,
    X86_64_CLONE = 56,
    X86_64_VFORK = 58,
    CLONE3 = 435,
    KILLABLE_SLEEP_POLLS =
        400,              /* a 'D' state this long (x 50 us) is a vfork or an exec that waits */
    OUTSIDE_POLLS = 1000, /* a program outside the count computes this long: others run meanwhile */
};

void live_fail(struct live *live, int status, const char *format, ...)
{
    va_list arguments;

    if (live->source.error[0])
        return;
    va_start(arguments, format);
    vsnprintf(live->source.error, sizeof live->source.error, format, arguments);
    va_end(arguments);
    live->source.error_status = status;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

/* ---- threads and address spaces ----------------------------------------------------------------
 */

/* Grows a pointer array that is full. */
static bool make_room(void **array, size_t count, size_t *capacity)
{
    size_t wanted = *capacity ? 2 * *capacity : 16;
    void *bigger;

    if (count < *capacity)
        return true;
    bigger = realloc(*array, wanted * sizeof(void *));
    if (!bigger)
        return false;
    *array = bigger;
    *capacity = wanted;
    return true;
}

struct space *live_add_space(struct live *live, enum recipe_mode mode)
{
    struct space *space = NULL;
    void *array = live->spaces;

    if (live->space_count > UINT16_MAX) {
        live_fail(live, 3, "more than %d processes in one run", UINT16_MAX);
        return NULL;
    }
    if (make_room(&array, live->space_count, &live->space_capacity)) {
        live->spaces = array;
        space = space_new((uint16_t)live->space_count, execute_read_code);
    }
    if (!space) {
        live_fail(live, 3, "no memory for another process");
        return NULL;
    }
    space->mode = mode;
    if (!live->native_only)
        space->memory = execute_memory_new(space);
    if (live->recorder && space->memory) {
        space->recorder = live->recorder;
        space->portable = live->portable;
        recorder_process(live->recorder, space->process, mode == RECIPE_64 ? 64 : 32, space->memory,
                         &space->pages);
    }
    live->spaces[live->space_count++] = space;
    live->source.end.processes = (uint32_t)live->space_count;
    return space;
}

static void leave_space(struct live *live, struct live_thread *thread)
{
    if (thread->space && --thread->space->users == 0)
        live->spaces_to_drop = true;
    thread->space = NULL;
}

void live_drop_spaces(struct live *live)
{
    bool left = false;

    for (size_t i = 0; i < live->space_count; i++) {
        struct space *space = live->spaces[i];
        if (!space || space->users)
            continue;
        if (live->has_pending && live->pending.process == i) {
            left = true;
            continue;
        }
        if (live->recorder)
            recorder_gone(live->recorder, (uint16_t)i);
        space_free(space);
        live->spaces[i] = NULL;
    }
    live->spaces_to_drop = left;
}

bool live_number_thread(struct live *live, struct live_thread *thread)
{
    if (thread->numbered)
        return true;
    if (live->threads_seen > UINT16_MAX) {
        live_fail(live, 3, "more than %d threads in one run", UINT16_MAX);
        return false;
    }
    thread->numbered = true;
    thread->number = (uint16_t)live->threads_seen++;
    live->source.end.threads = live->threads_seen;
    return true;
}

struct live_thread *live_add_thread(struct live *live, pid_t tid, pid_t tgid, struct space *space)
{
    struct live_thread *thread = NULL;
    void *array = live->threads;

    if (make_room(&array, live->thread_count, &live->thread_capacity)) {
        live->threads = array;
        thread = calloc(1, sizeof *thread);
    }
    if (!thread) {
        live_fail(live, 3, "no memory for another thread");
        return NULL;
    }
    thread->tid = tid;
    thread->tgid = tgid;
    thread->space = space;
    thread->number = UINT16_MAX; /* of nobody */
    live->threads[live->thread_count++] = thread;
    return !space || live_number_thread(live, thread) ? thread : NULL;
}

void live_remove_gone(struct live *live)
{
    size_t kept = 0;

    for (size_t i = 0; i < live->thread_count; i++) {
        if (live->threads[i]->state == THREAD_GONE) {
            free(live->threads[i]->call);
            free(live->threads[i]);
            if (live->current > kept)
                live->current--;
        } else {
            live->threads[kept++] = live->threads[i];
        }
    }
    live->thread_count = kept;
}

/* ---- what the kernel reports -------------------------------------------------------------------
 */

static void thread_gone(struct live *live, struct live_thread *thread, int status)
{
    struct trace_end *end = &live->source.end;
    bool by_us = live->killing || live->interrupted;

    if (thread->tid == live->first_pid) {
        live->first = 0;
        end->how = by_us                 ? TRACE_ENDED_CUT
                   : WIFSIGNALED(status) ? TRACE_ENDED_SIGNAL
                                         : TRACE_ENDED_EXIT;
        end->status = by_us ? 0 : WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (WIFSIGNALED(status) && !by_us && live->has_pending &&
        live->pending.thread == thread->number) {
        live->pending.flags |= TRACE_INTERRUPTED;
        if (live->recorder)
            recorder_broken(live->recorder);
    }
    if (thread->outside)
        live_outside_ended(live, thread);
    leave_space(live, thread);
    thread->state = THREAD_GONE;
}

/* The clone flags of the system call the thread is in. */
static uint64_t clone_flags(const struct live_thread *thread)
{
    bool wide = live_mode(&thread->regs) == RECIPE_64;
    uint64_t call = thread->regs.orig_rax, flags = 0;
    uint64_t first = wide ? thread->regs.rdi : thread->regs.rbx & 0xffffffff;

    if (call == (wide ? X86_64_CLONE : I386_CLONE))
        return first;
    if (call == (wide ? X86_64_VFORK : I386_VFORK))
        return CLONE_VM | CLONE_VFORK;
    if (call == CLONE3)
        tracee_read(thread->tid, first, &flags, sizeof flags);
    return flags;
}

/* A child was made. It is attached already and stops before its first instruction. */
static void child_made(struct live *live, struct live_thread *parent)
{
    unsigned long message = 0;
    struct live_thread *child;
    struct space *space;
    uint64_t flags;
    int status = 0;

    ptrace(PTRACE_GETEVENTMSG, parent->tid, NULL, &message);
    tracee_registers(parent->tid, &parent->regs);
    flags = clone_flags(parent);
    if (parent->outside || flags & CLONE_VM) {
        space = parent->space;
        if (space)
            space->users++;
    } else if (!(space = live_add_space(live, parent->space->mode))) {
        return;
    }
    child = live_add_thread(live, (pid_t)message,
                            flags & CLONE_THREAD ? parent->tgid : (pid_t)message, space);
    if (!child)
        return;
    while (waitpid(child->tid, &status, __WALL) < 0)
        if (errno != EINTR)
            status = SIGKILL;
    if (!WIFSTOPPED(status)) {
        thread_gone(live, child, status);
        return;
    }
    tracee_registers(child->tid, &child->regs);
    child->outside = parent->outside;
    if (!parent->outside && !(flags & CLONE_VM))
        live_log_objects(live, space, child->tid);
}

static void image_replaced(struct live *live, struct live_thread *thread)
{
    uint32_t leaf1[4] = {0};

    leave_space(live, thread);
    tracee_registers(thread->tid, &thread->regs);
    live_choose_side(live, thread);
    if (thread->outside)
        return;
    if (live->cpuid)
        live->cpuid(live->cpuid_context, 1, 0, leaf1);
    tracee_edit_auxv(thread->tid, &thread->regs, live->cpuid ? &leaf1[3] : NULL);
    thread->space = live_add_space(live, live_mode(&thread->regs));
    if (live_number_thread(live, thread) && thread->space)
        live_log_objects(live, thread->space, thread->tid);
}

/* Is a signal without effect on this process? Then it is kept back, so that a step stays one step.
 */
static bool has_no_effect(pid_t tid, int signal)
{
    char path[64], line[256];
    unsigned long long ignored = 0, caught = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    file = fopen(path, "re");
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "SigIgn: %llx", &ignored);
        sscanf(line, "SigCgt: %llx", &caught);
    }
    fclose(file);
    if (caught >> (signal - 1) & 1)
        return false;
    if (ignored >> (signal - 1) & 1)
        return true;
    return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH ||
           signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* Digests a wait status. False: the thread was resumed, wait on. */
static bool absorb(struct live *live, struct live_thread *thread, int status, enum live_stop *stop)
{
    int event = status >> 16, signal = WSTOPSIG(status) & ~STOP_IN_CALL;

    if (!WIFSTOPPED(status)) {
        thread_gone(live, thread, status);
        *stop = STOP_GONE;
        return true;
    }
    if (event) {
        if (event == PTRACE_EVENT_EXEC)
            image_replaced(live, thread);
        else
            child_made(live, thread);
        *stop = live->natively && thread->state != THREAD_GONE ? STOP_SIGNAL : STOP_GONE;
        return live->natively || thread->state == THREAD_GONE || live->source.error[0] ||
               (ptrace(thread->outside ? PTRACE_SYSCALL : PTRACE_SINGLESTEP, thread->tid, NULL,
                       NULL) != 0 &&
                errno != ESRCH);
    }
    tracee_registers(thread->tid, &thread->regs);
    *stop = STOP_TRAP;
    if (signal != SIGTRAP || (thread->outside && WSTOPSIG(status) == SIGTRAP)) {
        thread->inject = has_no_effect(thread->tid, signal) ? 0 : signal;
        *stop = STOP_SIGNAL;
    }
    return true;
}

/* Asks once, without sleeping. False: nothing to report yet. */
bool live_poll(struct live *live, struct live_thread *thread, enum live_stop *stop)
{
    int status;
    pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);

    if (got < 0 && errno != EINTR) {
        thread_gone(live, thread, SIGKILL); /* an exec of another thread took its place */
        *stop = STOP_GONE;
        return true;
    }
    return got > 0 && absorb(live, thread, status, stop);
}

/* Waits once for a stop, sleeping. False: the thread was resumed, wait on. */
static bool wait_once(struct live *live, struct live_thread *thread, enum live_stop *stop)
{
    int status;

    while (waitpid(thread->tid, &status, __WALL) < 0) {
        if (errno == EINTR)
            continue;
        thread_gone(live, thread, SIGKILL);
        *stop = STOP_GONE;
        return true;
    }
    return absorb(live, thread, status, stop);
}

/*
 * Waits until the thread stops, or, in a system call, is seen to sleep. The first program alone is
 * waited for without looking: a Ctrl-C kills it, so that such a wait ends. With more threads
 * nothing may wait like that: a dead leader is not reported before its other threads have been.
 */
static enum live_stop wait_for(struct live *live, struct live_thread *thread, bool call)
{
    enum live_stop stop;

    for (int polls = 0;; polls++) {
        if (live->thread_count == 1 && thread->tid == live->first_pid) {
            if (wait_once(live, thread, &stop))
                return stop;
            continue;
        }
        if (polls < 20)
            sched_yield(); /* the thread shares this processor */
        else
            nap();
        if (live_poll(live, thread, &stop))
            return stop;
        if (!call && polls < 20)
            continue;
        char state = tracee_state(thread->tid);
        if (state == 'Z')
            return call ? STOP_BLOCKED : STOP_KILLED;
        if (thread->outside && polls > OUTSIDE_POLLS)
            return STOP_BLOCKED;
        if (call && (state == 'S' || (state == 'D' && polls > KILLABLE_SLEEP_POLLS)))
            return STOP_BLOCKED;
    }
}

enum live_stop live_resume(struct live *live, struct live_thread *thread, int request, bool call)
{
    long signal = thread->inject;
    enum live_stop stop = STOP_KILLED;

    thread->inject = 0;
    if (ptrace((enum __ptrace_request)request, thread->tid, NULL, signal) == 0)
        stop = wait_for(live, thread, call);
    if (stop == STOP_BLOCKED || stop == STOP_KILLED)
        thread->state = THREAD_BLOCKED;
    return stop;
}

/* ---- whose turn --------------------------------------------------------------------------------
 */

/* Looks after a sleeping thread; one that was woken is waited for, so that the order is stable. */
static void look_after(struct live *live, struct live_thread *thread)
{
    enum live_stop stop;

    for (;;) {
        if (live_poll(live, thread, &stop)) {
            if (stop != STOP_GONE && thread->state == THREAD_BLOCKED)
                thread->state = THREAD_READY;
            return;
        }
        char state = tracee_state(thread->tid);
        if (thread->outside || (state != 'R' && state != 't'))
            return;
        sched_yield();
    }
}

static bool any_ready(struct live *live)
{
    for (size_t i = 0; i < live->thread_count; i++)
        if (live->threads[i]->state == THREAD_READY)
            return true;
    return false;
}

/* Wakes what can be woken; sleeps while nobody can run. */
static void look_after_all(struct live *live)
{
    do {
        for (size_t i = 0; i < live->thread_count; i++)
            if (live->threads[i]->state == THREAD_BLOCKED)
                look_after(live, live->threads[i]);
        live_remove_gone(live);
        if (!live->thread_count || any_ready(live))
            return;
        nap();
    } while (!live->interrupted && !live->source.error[0]);
}

static struct live_thread *switch_to(struct live *live, size_t at)
{
    if (at != live->current && live->current < live->thread_count)
        execute_leave(live->threads[live->current]);
    if (at != live->current && live->threads[at]->space)
        space_touch(live->threads[at]->space); /* others may have written shared memory */
    live->current = at;
    return live->threads[at];
}

/* The ready thread of the reader's choice that comes next behind thread number AFTER, AFTER itself
 * last; the number of threads when there is none. */
static size_t next_chosen(const struct live *live, uint16_t after)
{
    size_t best = live->thread_count;
    uint16_t nearest = UINT16_MAX;

    for (size_t i = 0; i < live->thread_count; i++) {
        const struct live_thread *thread = live->threads[i];
        uint16_t distance = (uint16_t)(thread->number - after - 1);
        if (thread->state != THREAD_READY || (thread->number & 1u) != live->source.choice - 1 ||
            (best < live->thread_count && distance >= nearest))
            continue;
        nearest = distance;
        best = i;
    }
    return best;
}

/* Threads of one choice take turns among themselves; NULL while all of them sleep. */
static struct live_thread *schedule_choice(struct live *live)
{
    unsigned choice = live->source.choice - 1;
    uint16_t last = live->turns[choice].thread;
    size_t same = next_chosen(live, (uint16_t)(last - 1)), at;

    if (same < live->thread_count && live->threads[same]->number == last &&
        live->turns[choice].used++ < live->quantum)
        return switch_to(live, same);
    look_after_all(live);
    at = next_chosen(live, last);
    if (at >= live->thread_count)
        return NULL;
    live->turns[choice].thread = live->threads[at]->number;
    live->turns[choice].used = 1;
    return switch_to(live, at);
}

struct live_thread *live_schedule(struct live *live)
{
    if (live->source.choice)
        return schedule_choice(live);

    struct live_thread *thread =
        live->current < live->thread_count ? live->threads[live->current] : NULL;

    if (thread && thread->state == THREAD_READY &&
        (live->turn < live->quantum || live->thread_count == 1))
        return thread;
    if (thread)
        execute_leave(thread);
    look_after_all(live);
    live->turn = 0;
    for (size_t i = 1; i <= live->thread_count; i++) {
        size_t at = (live->current + i) % live->thread_count;
        if (live->threads[at]->state == THREAD_READY) {
            live->current = at;
            if (live->threads[at]->space)
                space_touch(live->threads[at]->space); /* others may have written shared memory */
            return live->threads[at];
        }
    }
    return NULL;
}

/* ---- the end -----------------------------------------------------------------------------------
 */

void live_kill_all(struct live *live)
{
    int status;

    live->killing = true;
    for (size_t i = 0; i < live->thread_count; i++)
        if (live->threads[i]->state != THREAD_GONE)
            kill(live->threads[i]->tgid, SIGKILL);
    while (live->thread_count) {
        for (size_t i = 0; i < live->thread_count; i++) {
            struct live_thread *thread = live->threads[i];
            pid_t got =
                thread->state == THREAD_GONE ? 0 : waitpid(thread->tid, &status, __WALL | WNOHANG);
            if ((got < 0 && errno != EINTR) || (got > 0 && !WIFSTOPPED(status)))
                thread_gone(live, thread, got > 0 ? status : SIGKILL);
        }
        live_remove_gone(live);
        if (live->thread_count)
            nap();
    }
}
