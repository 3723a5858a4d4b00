/*
 * Windows: of every so many instructions of a run the first ones are simulated, the others are only
 * executed, at the speed of the source. A profile of a run that is too long to be simulated whole.
 *
 * Between windows no simulated time passes; caches, TLBs and predictors stay as the last window
 * left them, so that a window begins with more misses than the whole run would have there. Accesses
 * to the clock and the counters happen where the program makes them, at the time that stands.
 */
#ifndef SIM_WINDOWS_H
#define SIM_WINDOWS_H

#include "source.h"

struct windows {
    uint64_t every;  /* instructions; 0: all are simulated */
    uint64_t length; /* of them simulated */
    uint64_t done;   /* instructions of the source so far */
    uint64_t skipped;
};

/* The source's next instruction that lies in a window. TRACE_SYNC as from the source, whether the
 * access lies in a window or not; TRACE_IDLE when *STOP became true on the way (NULL: never). */
enum trace_result windows_next(struct windows *windows, struct trace_source *source,
                               const volatile int *stop, struct trace_instruction *out);

#endif
