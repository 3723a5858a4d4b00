/*
 * The Northwood of configs/models, loaded once for a group of tests.
 */
#ifndef TESTS_NORTHWOOD_H
#define TESTS_NORTHWOOD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim.h"

static struct sim_model northwood;

static inline int northwood_load(void **state)
{
    (void)state;
    char error[512];
    return sim_model_load("northwood", &northwood, error) ? 0 : -1;
}

static inline int northwood_free(void **state)
{
    (void)state;
    sim_model_free(&northwood);
    return 0;
}

#endif
