/*
 * The bench: joins a source of instructions, a machine and a PMU, runs them and keeps the results.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stdint.h>
#include "netburst.h"
#include "p4pmu.h"
#include "parts.h"
#include "source.h"

/* A processor model: parameters of the machine, each with the source of its value. */
struct sim_model {
    char name[32]; /* "northwood" */
    char title[128];
    unsigned stepping;
    bool hyper_threading;
    struct nb_params params;
    char *provenance[NB_PARAMS]; /* source text of each parameter, owned */
};

/* Load configs/models/NAME.yaml (or a path when NAME has a slash or ends in .yaml). Looked for, in
 * order, in $P4SIM_CONFIGS, the source tree's configs/ when run from a build tree, the installed
 * data folder. False with ERROR (file, line, what was expected) when it cannot be used. */
bool sim_model_load(const char *name, struct sim_model *model, char error[512]);
void sim_model_free(struct sim_model *model);
/* Names of the models in the first folder that has any, sorted; how many were written (at most
 * LIMIT). */
size_t sim_model_names(char (*names)[32], size_t limit);

/* CPUID as the model answers it; a trace_cpuid_fn whose context is a struct sim_model. */
void sim_model_cpuid(void *model, uint32_t leaf, uint32_t subleaf, uint32_t registers[4]);

struct sim_progress {
    uint64_t instructions, clocks;
    double seconds;    /* wall time since the run began */
    double share_done; /* 0..1, negative when not known */
};

struct sim_bench;

/* A bench with everything in its reset state. SOURCE and MODEL must outlive it; ERROR says why
 * NULL. */
struct sim_bench *sim_bench_new(const struct sim_model *model, struct trace_source *source,
                                char error[512]);
/* The same on LPS logical processors, of which a model with Hyper-Threading has two: COUNT is 2 for
 * a source on each of two, or 1 for one source whose threads run on LPS of them. */
struct sim_bench *sim_bench_new_on(const struct sim_model *model,
                                   struct trace_source *const sources[], unsigned count,
                                   unsigned lps, char error[512]);
void sim_bench_free(struct sim_bench *bench);
struct p4pmu *sim_bench_pmu(struct sim_bench *bench);
struct nb_machine *sim_bench_machine(struct sim_bench *bench);
const struct nb_stats *sim_bench_stats(const struct sim_bench *bench);
/* How many logical processors run something, and what is known of one of them. */
unsigned sim_bench_lps(const struct sim_bench *bench);
const struct nb_stats *sim_bench_lp_stats(const struct sim_bench *bench, unsigned lp);

/* What a program may do to the clock and the monitoring hardware. All zero is the laboratory:
 * everything, as at CPL 0. */
struct sim_access_rules {
    bool strict;        /* as in a user program: RDMSR and WRMSR fault */
    bool rdpmc_granted; /* CR4.PCE: when strict, RDPMC works all the same */
};
void sim_bench_access_rules(struct sim_bench *bench, const struct sim_access_rules *rules);

/* What it did so far. */
struct sim_accesses {
    uint64_t count[4];     /* RDTSC, RDPMC, RDMSR, WRMSR: by instructions and by the driver */
    uint64_t faults;       /* of them ended in #GP(0) */
    char first_fault[256]; /* in words, or "" */
};
const struct sim_accesses *sim_bench_accesses(struct sim_bench *bench);

/* Divides what follows into parts (parts.h), before the first instruction; false without memory.
 * For a bench with one logical processor. */
bool sim_bench_divide(struct sim_bench *bench, const struct sim_parts_options *options);
/* What was counted in each so far, as sim_parts_all() gives it. Only after sim_bench_divide(). */
const struct sim_part *sim_bench_parts(struct sim_bench *bench, size_t *count, size_t *lost);
/* How often the program ran natively between regions so far. Likewise. */
uint64_t sim_bench_stretches(const struct sim_bench *bench);
/* Of every EVERY instructions of the source the first LENGTH (1 to EVERY) are simulated, the others
 * only executed (windows.h). Before the first instruction; for a bench with one source, undivided,
 * on one logical processor. */
void sim_bench_windows(struct sim_bench *bench, uint64_t every, uint64_t length);
/* How many the source has given so far, and how many of them were only executed. */
uint64_t sim_bench_executed(const struct sim_bench *bench, uint64_t *skipped);
/* The model's operating system (kernel_stub.def): what runs at CPL 0. */
struct sim_kernel_options {
    bool on;           /* system calls, page faults and the timer execute code */
    uint32_t timer_hz; /* of simulated time; 0: no timer */
};
#define SIM_TIMER_HZ 1000u /* model choice: Linux 2.6 on IA-32 */
/* Before the first sim_bench_run(); off without it. */
void sim_bench_kernel(struct sim_bench *bench, const struct sim_kernel_options *options);

enum sim_stop {
    SIM_STOP_END,          /* the source ended */
    SIM_STOP_LIMIT,        /* max_instructions reached */
    SIM_STOP_INTERRUPTED,  /* *stop became true: counts are partial */
    SIM_STOP_SOURCE_ERROR, /* the source sim_bench_failed() failed in mid-run: see its error; counts
                              so far stand */
    SIM_STOP_NOT_ON_MODEL, /* an instruction the part did not have: see sim_bench_report() */
    SIM_STOP_MACHINE       /* the machine stopped: see sim_bench_report() */
};

struct sim_run_options {
    uint64_t max_instructions; /* 0: no limit */
    const volatile int *stop;  /* polled; NULL: never */
    void (*progress)(void *context,
                     const struct sim_progress *progress); /* a few times a second, or NULL */
    void *progress_context;
};
enum sim_stop sim_bench_run(struct sim_bench *bench, const struct sim_run_options *options);
const struct trace_source *sim_bench_failed(const struct sim_bench *bench);
const char *sim_bench_report(const struct sim_bench *bench);
/* For tests: see nb_step_each_clock(). */
void sim_bench_step_each_clock(struct sim_bench *bench, bool each);
/* Wall seconds spent inside sim_bench_run so far. */
double sim_bench_seconds(const struct sim_bench *bench);

#endif
