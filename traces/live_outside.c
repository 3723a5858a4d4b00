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
#include "live.h"

#include <stdio.h>
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

enum live_step live_step_outside(struct live *live, struct live_thread *thread,
                                 struct trace_instruction *out)
{
    (void)out;
    live->turn += OUTSIDE_STOP;
    live_resume(live, thread, PTRACE_SYSCALL, true);
    return live->source.error[0] ? LIVE_FAILED : LIVE_NOTHING;
}
