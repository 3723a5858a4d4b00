/* Opening a live program of which only a window of addresses is delivered (snippets). */
#ifndef TRACES_LIVE_WINDOW_H
#define TRACES_LIVE_WINDOW_H

#include "source.h"

/* As trace_open_live(). With WINDOW_HIGH not 0, delivery begins with the first instruction executed
 * in WINDOW_LOW to WINDOW_HIGH (exclusive), and leaving the window ends the run. */
struct trace_source *live_open(const struct trace_live_options *options, uint64_t window_low,
                               uint64_t window_high, char error[512], int *status);

#endif
