/*
 * Programs that run natively, outside the count: 64-bit ones on a model without 64-bit mode, say
 * the shell and the tools around what is to be measured. They stay under ptrace all the same, with
 * a stop before and after each system call: what they start is followed again when it fits the
 * model, and their accesses to /dev/cpu/N/msr are answered by the simulated processor.
 *
 * No simulated time passes while they run. One that computes for long or sleeps does not keep the
 * others waiting.
 */
#define _GNU_SOURCE
#include "live_msr.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

enum { OUTSIDE_STOP = LIVE_QUANTUM / 100 }; /* share of a turn: model choice, so that all get one */

/* The name of the thread's program among those already noted. */
static void note_name(struct live *live, pid_t tid)
{
    char path[64], name[32] = "";
    size_t used = strlen(live->outside_names);
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/comm", (int)tid);
    file = fopen(path, "re");
    if (!file)
        return;
    if (fgets(name, sizeof name, file))
        name[strcspn(name, "\n")] = 0;
    fclose(file);
    if (!name[0] || strstr(live->outside_names, name))
        return;
    if (used + strlen(name) + 8 < sizeof live->outside_names)
        snprintf(live->outside_names + used, sizeof live->outside_names - used, "%s%s",
                 used ? ", " : "", name);
    else if (live->outside_names[used - 1] != '.')
        strcat(live->outside_names, " ...");
    snprintf(live->source.end.note, sizeof live->source.end.note,
             "64-bit programs ran natively, outside the count: %s", live->outside_names);
}

static void count_process(struct live *live, struct live_thread *thread)
{
    if (!thread->outside_counted)
        live->source.end.uncounted_processes++;
    thread->outside_counted = true;
}

void live_choose_side(struct live *live, struct live_thread *thread)
{
    thread->outside = live_mode(&thread->regs) == RECIPE_64 && !live->long_mode;
    thread->call_judged = false;
    if (!thread->outside)
        return;
    count_process(live, thread);
    note_name(live, thread->tid);
}

/* One that was forked outside and never became another program counts too. */
void live_outside_ended(struct live *live, const struct live_thread *thread)
{
    if (thread->tid == thread->tgid && !thread->outside_counted)
        live->source.end.uncounted_processes++;
}

/* ---- system calls ------------------------------------------------------------------------------
 */

/* The kernel shall make no call; RESULT is what the program will find. */
static void skip_call(struct live_thread *thread)
{
    thread->regs.orig_rax = ~0ull;
    tracee_set_registers(thread->tid, &thread->regs);
}

static void enter_substitute(struct live_thread *thread)
{
    live_put_call(&thread->regs, &thread->call->substitute);
    thread->regs.orig_rax = thread->regs.rax;
    thread->regs.rax = (uint64_t)-ENOSYS; /* as it stands at such a stop */
    tracee_set_registers(thread->tid, &thread->regs);
}

/* Before a system call; LIVE_SYNC when the machine must come to rest first. */
static enum live_step before_call(struct live *live, struct live_thread *thread, bool wide,
                                  struct trace_instruction *out)
{
    struct live_call call = live_call_of(&thread->regs, wide, thread->regs.orig_rax);
    struct msr_call msr = msr_judge(live, thread->tid, &call);

    if (msr.what == MSR_TRANSFER && !live_may_transfer(live)) {
        *out = (struct trace_instruction){.process = UINT16_MAX, .thread = UINT16_MAX};
        return LIVE_SYNC;
    }
    thread->call_judged = true;
    *thread->call = msr;
    switch (msr.what) {
    case MSR_TRANSFER:
        if (live->recorder)
            recorder_broken(live->recorder);
        thread->call->result = msr_transfer(live, thread->tid, &msr, thread->regs.rip);
        skip_call(thread);
        break;
    case MSR_ANSWERED:
        skip_call(thread);
        break;
    case MSR_OPEN:
        enter_substitute(thread);
        break;
    default:
        break;
    }
    return LIVE_NOTHING;
}

static void after_call(struct live *live, struct live_thread *thread)
{
    const struct msr_call *msr = thread->call;
    int64_t result = (int64_t)thread->regs.rax;

    thread->call_judged = false;
    if (msr->what == MSR_NOT_OURS)
        return;
    if (msr->what == MSR_OPEN)
        msr_opened(live, thread->tid, msr, result);
    if (msr->what == MSR_LOOK)
        msr_looked(live, thread->tid, msr, result);
    if (msr->what == MSR_TRANSFER || msr->what == MSR_ANSWERED)
        result = msr->result;
    live_put_call(&thread->regs, &msr->call);
    thread->regs.rax = (uint64_t)result;
    tracee_set_registers(thread->tid, &thread->regs);
}

/* Where it stopped: the kernel says so (PTRACE_GET_SYSCALL_INFO, Linux 5.3). */
static enum live_step look_at_stop(struct live *live, struct live_thread *thread,
                                   struct trace_instruction *out)
{
    struct __ptrace_syscall_info info = {0};

    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread->tid, (void *)sizeof info, &info) <= 0)
        return LIVE_NOTHING;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY && !thread->call_judged)
        return before_call(live, thread, info.arch == AUDIT_ARCH_X86_64, out);
    if (info.op == PTRACE_SYSCALL_INFO_EXIT && thread->call_judged)
        after_call(live, thread);
    return LIVE_NOTHING;
}

enum live_step live_step_outside(struct live *live, struct live_thread *thread,
                                 struct trace_instruction *out)
{
    if (!thread->call)
        thread->call = calloc(1, sizeof *thread->call);
    if (!thread->call) {
        live_fail(live, 3, "no memory for a program outside the count");
        return LIVE_FAILED;
    }
    if (look_at_stop(live, thread, out) == LIVE_SYNC)
        return LIVE_SYNC;
    live->turn += OUTSIDE_STOP;
    live_resume(live, thread, PTRACE_SYSCALL, true);
    return live->source.error[0] ? LIVE_FAILED : LIVE_NOTHING;
}
