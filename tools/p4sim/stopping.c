/* The signals that stop a run; see stopping.h. */
#define _GNU_SOURCE
#include "stopping.h"

#include <signal.h>

static volatile int interrupted;
static struct trace_source *volatile running[2];

static void on_signal(int number)
{
    interrupted = number;
    for (unsigned i = 0; i < 2; i++)
        if (running[i])
            trace_source_interrupt(running[i]);
}

void stopping_listen(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int stopping_signal(void)
{
    return interrupted;
}

const volatile int *stopping_flag(void)
{
    return &interrupted;
}

void stopping_source(unsigned which, struct trace_source *source)
{
    running[which & 1] = source;
}
