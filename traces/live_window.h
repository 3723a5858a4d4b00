/* Opening a live program of which only a window of addresses is delivered (snippets). */
#ifndef TRACES_LIVE_WINDOW_H
#define TRACES_LIVE_WINDOW_H

#include "source.h"

struct live_window {
    uint64_t low, high; /* of the instructions delivered, exclusive */
    uint64_t stack;     /* the stack pointer at the start */
};

/* As trace_open_live(). With a WINDOW the run begins at its first byte and ends when it is left. */
struct trace_source *live_open(const struct trace_live_options *options,
                               const struct live_window *window, char error[512], int *status);

#endif
