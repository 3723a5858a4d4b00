/* Comparing the interpreter with the processor while a program runs; see live_check.c. */
#ifndef TRACES_LIVE_CHECK_H
#define TRACES_LIVE_CHECK_H

#include "live.h"

/* Compares from instruction FROM of the run on. NULL without memory. */
struct live_check *live_check_new(uint64_t from);
void live_check_free(struct live_check *check);

/* Is the next instruction to be compared? Then the processor must execute it. */
bool live_check_due(const struct live *live);

/* The processor is about to execute the thread's next instruction. */
void live_check_predict(struct live *live, struct live_thread *thread);

/* It has. False: they differ, source.error and source.report say how. */
bool live_check_agrees(struct live *live, struct live_thread *thread);

#endif
