/*
 * Events that do not fit at once: how few runs hold them all, and which smallest set cannot be
 * together.
 */
#ifndef TOOLS_CONFIG_RUNS_H
#define TOOLS_CONFIG_RUNS_H

#include "fit.h"

enum { RUNS_EVENTS = 128 };

struct runs {
    size_t count;               /* runs */
    size_t run_of[RUNS_EVENTS]; /* of each request */
    bool least;                 /* proven: fewer runs do not hold them */
};

/* Split COUNT requests into the fewest runs that each fit beside the counters RESERVED. False with
 * CONFLICT when one request does not even fit alone. */
bool runs_split(const struct sim_request *requests, size_t count, uint32_t reserved,
                struct runs *runs, struct sim_conflict *conflict);

/* A smallest set of the COUNT requests that does not fit, given that all together do not. Exact for
 * up to 24 requests; of more, sets of up to three are searched, then the first that fails is made
 * small. */
void runs_conflict(const struct sim_request *requests, size_t count, uint32_t reserved,
                   struct sim_conflict *conflict);

#endif
