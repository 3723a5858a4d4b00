/* Hosts that are not Linux on x86-64: live runs say so, recorded runs work. */
#include "source.h"
#include "live_window.h"

#include <stdio.h>

static const char reason[] = "live runs need Linux on an x86-64 processor; a recorded run can be "
                             "replayed here instead";

bool trace_live_possible(char why[256])
{
    snprintf(why, 256, "%s", reason);
    return false;
}

struct trace_source *live_open(const struct trace_live_options *options,
                               const struct live_window *window, char error[512], int *status)
{
    (void)options;
    (void)window;
    snprintf(error, 512, "%s", reason);
    *status = 3;
    return NULL;
}

struct trace_source *trace_open_live(const struct trace_live_options *options, char error[512],
                                     int *status)
{
    return live_open(options, NULL, error, status);
}
