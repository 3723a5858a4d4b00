/*
 * A bench for configurations: a PMU of the part with the writes done, and a world in which
 * everything happens that the events know, at each privilege level of each logical processor.
 */
#ifndef TESTS_CONFIG_BENCH_H
#define TESTS_CONFIG_BENCH_H

#include "config.h"

struct bench_result {
    uint64_t before[P4PMU_COUNTERS], after[P4PMU_COUNTERS];
};

/* False when memory is short. */
bool bench_run(const struct config *config, struct bench_result *result);

#endif
