/*
 * Sampling: counters that overflow every so many events, and what is known at each overflow.
 *
 * The driver of a profiler, as it would sit in the kernel of the simulated machine: it presets
 * counters, asks for interrupts on overflow (OVF_PMI) or for precise records (PEBS), and its
 * service routine runs in the simulated machine like any other code, at CPL 0, taking clocks and
 * cache lines. What a sample says is what the hardware would have told that driver; beside it
 * stands the truth that only the simulator knows.
 *
 *   sim_program(pmu, &plan, error);                    // ESCRs and CCCRs as for counting
 *   sim_bench_sample(bench, &(struct sim_sampling){
 *       .counters = {{.counter = 16, .period = 100000, .how = SIM_BY_PEBS}}, .count = 1,
 *       .sample = mine, .context = me}, error);
 *   sim_bench_run(bench, &options);                    // mine() is called for each sample
 *   sim_bench_sampling_end(bench);                     // what still lies in the buffers
 */
#ifndef SIM_SAMPLING_H
#define SIM_SAMPLING_H

#include "sim.h"

enum sim_sample_kind {
    SIM_SAMPLE_PMI,   /* the interrupted instruction, recorded by the service routine */
    SIM_SAMPLE_PEBS,  /* a record the processor stored, read back from the DS buffer */
    SIM_SAMPLE_BRANCH /* a branch record (BTS), likewise */
};

enum sim_sampling_how { SIM_BY_PMI, SIM_BY_PEBS };

#define SIM_SAMPLING_COUNTERS P4PMU_COUNTERS
#define SIM_LAST_BRANCHES     16

struct sim_last_branch {
    uint64_t from, to;
};

struct sim_sample {
    enum sim_sample_kind kind;
    unsigned lp, cpl; /* of the recorded instruction; a branch's is where it came from */
    int counter;      /* that overflowed; P4PMU_NONE for branch records */
    uint16_t process, thread;
    uint64_t clock;  /* PMI: the service routine was entered; PEBS, BTS: the record was stored */
    uint64_t number; /* samples before this one */
    /* what the profiler sees */
    uint64_t ip;        /* PMI: where the program goes on; PEBS: the record's; BTS: branch source */
    uint64_t branch_to; /* BTS: the target */
    bool branch_predicted;
    bool registers_known;
    struct p4pmu_pebs_registers registers; /* before the instruction at ip */
    unsigned last_branch_count;            /* LBR, the newest first */
    struct sim_last_branch last_branch[SIM_LAST_BRANCHES];
    /* the truth: the instruction whose event made the counter overflow (PEBS: the one whose uop
     * took the assist). Not known when the overflow came from a standing condition (clocks), which
     * no single instruction causes. The skid is how many executed instructions ip lies behind it
     * (0: the sample is on it); known when both belong to the program or to its system calls, not
     * to a handler that came between. */
    bool truth_known, skid_known;
    uint64_t truth_ip;
    int64_t skid_instructions;
    uint64_t overflow_clock; /* when it overflowed */
};

struct sim_sampling_counter {
    unsigned counter; /* 0..17, its ESCR and CCCR as written by sim_program */
    unsigned lp;      /* whose interrupt */
    enum sim_sampling_how how;
    uint64_t period;     /* 1 to 2^39 */
    bool force_overflow; /* FORCE_OVF: each count overflows; the period is not used */
};

struct sim_sampling {
    struct sim_sampling_counter counters[SIM_SAMPLING_COUNTERS];
    unsigned count;
    bool branches;           /* BTS: a record for each taken branch */
    bool no_user, no_kernel; /* BTS_OFF_USR, BTS_OFF_OS */
    bool last_branches;      /* LBR: PMI samples carry the last branches */
    bool registers;          /* PMI samples carry registers too (PEBS ones always do) */
    uint32_t records;        /* records a DS buffer has room for; 0: 64 */
    uint32_t threshold;   /* interrupt when so many are full; 0: records, which leaves no slack */
    uint64_t max_samples; /* then the counters stop; 0: no limit */
    void (*sample)(void *context, const struct sim_sample *sample);
    void *context;
};

/* What sampling did. What it cost the program in clocks is in struct nb_stats: handler_clocks,
 * assist_clocks. */
struct sim_sampling_totals {
    uint64_t samples;
    uint64_t interrupts;     /* service routine runs */
    uint64_t request_clocks; /* from the requests to their acceptance */
    uint64_t pebs_records;
    uint64_t branch_records;
    uint64_t lost_records; /* DS buffer full */
    uint64_t lost_periods; /* whole periods that went by before the routine read the counter */
    uint64_t faults;       /* a DS page was missing: recording has stopped */
};

/* Begin to sample, from the state as it is now on. False with ERROR when the hardware could not do
 * it: more than one PEBS counter a logical processor, a counter PEBS cannot use, a period out of
 * range. */
bool sim_bench_sample(struct sim_bench *bench, const struct sim_sampling *sampling,
                      char error[512]);
/* Stop sampling: what lies in the DS buffers is given as if a last interrupt had come. */
void sim_bench_sampling_end(struct sim_bench *bench);
const struct sim_sampling_totals *sim_bench_sampling_totals(const struct sim_bench *bench);

#endif
