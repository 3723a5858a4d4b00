/*
 * The clock and the monitoring hardware as the program finds them: RDTSC, RDPMC, RDMSR and WRMSR,
 * and the kernel's driver of /dev/cpu/N/msr.
 */
#ifndef SIM_REGISTERS_H
#define SIM_REGISTERS_H

#include "p4pmu.h"
#include "sim.h"
#include "source.h"

struct sim_registers {
    struct p4pmu *pmu;
    unsigned lp; /* on which the program runs */
    bool spread; /* ... unless its threads are spread over both (spread.h) */
    struct sim_access_rules rules;
    struct sim_accesses accesses;
    void (*written)(void *context); /* after a WRMSR; or NULL */
    void *context;
};

/* A trace_register_fn; the context is a struct sim_registers. */
bool sim_registers_access(void *context, struct trace_register_access *access);

#endif
