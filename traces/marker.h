/*
 * Markers in a program's code: the jumps of p4sim.h, a short one over "p4sim:", 'B' or 'E' for the
 * beginning or the end of a region, and its name with a final 0.
 */
#ifndef TRACES_MARKER_H
#define TRACES_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_MARKER_BYTES = 129 /* the longest: a short jump reaches no further */ };

struct trace_marker {
    bool begin;
    const char *name; /* in the bytes looked at */
};

/* How many bytes a marker would have whose first two are BYTES; 0: it is none. */
size_t trace_marker_length(const uint8_t bytes[2]);
/* Do COUNT bytes begin with a whole marker? */
bool trace_marker(const uint8_t *bytes, size_t count, struct trace_marker *marker);

#endif
