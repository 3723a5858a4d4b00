/*
 * Which regions each thread is in: a stack of open regions, and the stack slots of the calls that
 * have not returned, by which a function's own return is known.
 */
#ifndef SIM_REGION_THREADS_H
#define SIM_REGION_THREADS_H

#include "region_code.h"

#define REGION_NONE (-1)

/* What is open: the innermost region and all of them, a bit each. */
struct region_state {
    int innermost; /* or REGION_NONE */
    uint64_t open;
    uint64_t entered; /* those that begin here */
};

struct region_threads;
struct region_threads *region_threads_new(void);
void region_threads_free(struct region_threads *threads);

/* The next instruction, and what is known of it; *STATE is what is open while it executes. False
 * without memory. */
bool region_threads_follow(struct region_threads *threads,
                           const struct trace_instruction *instruction,
                           const struct region_code *code, struct region_state *state);

/* The program ran unseen: no thread is in a region, nobody knows who was called. */
void region_threads_forget(struct region_threads *threads);
/* The next instruction is the first that is seen after that; STACK was its stack pointer before,
 * where the return address stands if it is a function's first one. */
void region_threads_arrive(struct region_threads *threads, uint64_t stack);
bool region_threads_all_outside(const struct region_threads *threads);

#endif
