/*
 * The bench for tests of sampling: a loop with one load that always misses L1 (eight lines of one
 * set, 8 KB apart: the published PEBS example) between loads that hit, counters, and a keeper of
 * samples.
 */
#ifndef TESTS_SAMPLING_LAB_H
#define TESTS_SAMPLING_LAB_H

#include "../netburst/northwood.h"
#include "sampling.h"
#include "stream_source.h"

#include <stdio.h>

enum {
    MISSING = 4, /* the item that misses */
    HITS = 12,   /* loads around it */
    MISSES_AT = STREAM_BASE + 2 * MISSING,
    PEBS_COUNTER = 16,
    CRU0 = 0x3B8,
    CRU2 = 0x3CC,
    PEBS_ENABLE = 0x3F1,
    MATRIX_VERT = 0x3F2,
    DS_AREA = 0x600,
};

#define SEEN 4096u

struct seen {
    struct sim_sample sample[SEEN];
    size_t count;
};

static inline void see(void *context, const struct sim_sample *sample)
{
    struct seen *seen = context;
    if (seen->count < SEEN)
        seen->sample[seen->count] = *sample;
    seen->count++;
}

struct lab {
    struct stream stream;
    struct stream_source source;
    struct seen seen;
    struct sim_bench *bench;
    struct p4pmu *pmu;
    struct nb_stats stats;
    struct sim_sampling_totals totals;
};

/* Registers of the stream: EAX is the address the missing load will read. */
static inline bool registers_before(struct trace_source *source, struct trace_registers *out)
{
    const struct stream_source *s = (const struct stream_source *)source;
    *out = (struct trace_registers){.ip = s->last.ip, .flags = 0x202};
    out->gpr[0] = s->last.access_count ? s->last.access[0].address : 0;
    return true;
}

static inline struct lab *lab_new(uint64_t iterations)
{
    char error[512];
    struct lab *l = calloc(1, sizeof *l);
    stream_of_loads(&l->stream, HITS, MISSING, iterations);
    stream_source_init(&l->source, &l->stream);
    l->source.registers_before = registers_before;
    l->bench = sim_bench_new(&northwood, &l->source.source, error);
    assert_non_null(l->bench);
    l->pmu = sim_bench_pmu(l->bench);
    return l;
}

static inline void write_msr(struct lab *l, uint32_t msr, uint64_t value)
{
    assert_int_equal(p4pmu_wrmsr(l->pmu, 0, msr, value, NULL), P4PMU_OK);
}

/* instr_retired NBOGUSNTAG of user code in COUNTER (12, 13 or 16) */
static inline void count_instructions(struct lab *l, unsigned counter)
{
    write_msr(l, CRU0, 0x04000204);
    write_msr(l, 0x360 + counter, 0x00039000);
}

/* L1 load misses by replay tagging, in counter 16 */
static inline void count_misses(struct lab *l)
{
    write_msr(l, MATRIX_VERT, 1);
    write_msr(l, PEBS_ENABLE, 0x01000001);
    write_msr(l, CRU2, 0x12000204);
    write_msr(l, 0x360 + PEBS_COUNTER, 0x0003B000);
}

static inline void start(struct lab *l, struct sim_sampling sampling)
{
    char error[512];
    sampling.sample = see;
    sampling.context = &l->seen;
    if (!sim_bench_sample(l->bench, &sampling, error))
        fail_msg("%s", error);
}

static inline void finish(struct lab *l)
{
    enum sim_stop stop = sim_bench_run(l->bench, &(struct sim_run_options){0});
    if (stop != SIM_STOP_END)
        fail_msg("stopped: %s", sim_bench_report(l->bench));
    sim_bench_sampling_end(l->bench);
    l->stats = *sim_bench_stats(l->bench);
    l->totals = *sim_bench_sampling_totals(l->bench);
    assert_int_equal(l->totals.samples, l->seen.count);
}

static inline void lab_free(struct lab *l)
{
    sim_bench_free(l->bench);
    free(l);
}

static inline struct sim_sampling by_interrupt(unsigned counter, uint64_t period)
{
    return (struct sim_sampling){
        .counters = {{.counter = counter, .how = SIM_BY_PMI, .period = period}}, .count = 1};
}

static inline struct sim_sampling precisely(uint64_t period)
{
    return (struct sim_sampling){
        .counters = {{.counter = PEBS_COUNTER, .how = SIM_BY_PEBS, .period = period}}, .count = 1};
}

#define ITERATIONS    4000u
#define PER_ITERATION (HITS + 2u)

#endif
