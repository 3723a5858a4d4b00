/* The size argument all programs under test take, and their source of fixed random numbers. */
#ifndef PROGRAMS_SIZE_H
#define PROGRAMS_SIZE_H

#include <stdint.h>
#include <stdlib.h>

static inline unsigned size_argument(int argc, char **argv, unsigned usual)
{
    return argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : usual;
}

/* Numerical Recipes' linear congruential generator: the upper bits are good enough here. */
static inline uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

#endif
