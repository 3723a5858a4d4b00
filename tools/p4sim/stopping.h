/*
 * Ctrl-C and SIGTERM ask what runs to stop; a second one ends p4sim the hard way. A live program
 * may be waiting for something, so it is ended at once.
 */
#ifndef P4SIM_STOPPING_H
#define P4SIM_STOPPING_H

#include "source.h"

/* From now on. */
void stopping_listen(void);
/* The signal that came, 0: none; and the same to be looked at while something runs. */
int stopping_signal(void);
const volatile int *stopping_flag(void);
/* SOURCE runs now as WHICH of two (0 or 1), NULL: it does no more. */
void stopping_source(unsigned which, struct trace_source *source);

#endif
