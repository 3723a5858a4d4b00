/*
 * How fast the library is by itself: facts and clocks a second with 0, 1 and 18 counters in use.
 *
 * Three streams: three facts in each clock (a busy retirement stage), one clock in ten with facts,
 * and quiet skips of a hundred clocks under standing conditions.
 */
#define _POSIX_C_SOURCE 199309L
#include "p4pmu.h"

#include <stdio.h>
#include <time.h>

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* other programs may run */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What a machine posts often, and a counter for each; further counters repeat from the start. */
static const struct {
    enum p4pmu_event event;
    unsigned bit;
    int escr;
    unsigned counter;
} watch[P4PMU_COUNTERS] = {
    {P4PMU_EV_uops_retired, 0, P4PMU_ESCR_CRU0, 12},
    {P4PMU_EV_instr_retired, 0, P4PMU_ESCR_CRU1, 14},
    {P4PMU_EV_branch_retired, 2, P4PMU_ESCR_CRU2, 13},
    {P4PMU_EV_branch_retired, 0, P4PMU_ESCR_CRU3, 15},
    {P4PMU_EV_uops_retired, 0, P4PMU_ESCR_CRU0, 16},
    {P4PMU_EV_instr_retired, 0, P4PMU_ESCR_CRU1, 17},
    {P4PMU_EV_uop_queue_writes, 1, P4PMU_ESCR_MS0, 4},
    {P4PMU_EV_uop_queue_writes, 0, P4PMU_ESCR_MS1, 6},
    {P4PMU_EV_TC_deliver_mode, 2, P4PMU_ESCR_TC0, 5},
    {P4PMU_EV_retired_branch_type, 1, P4PMU_ESCR_TBPU1, 7},
    {P4PMU_EV_x87_FP_uop, 15, P4PMU_ESCR_FIRM0, 8},
    {P4PMU_EV_packed_DP_uop, 15, P4PMU_ESCR_FIRM1, 10},
    {P4PMU_EV_memory_complete, 0, P4PMU_ESCR_SAAT0, 9},
    {P4PMU_EV_memory_cancel, 3, P4PMU_ESCR_DAC1, 11},
    {P4PMU_EV_global_power_events, 0, P4PMU_ESCR_FSB0, 0},
    {P4PMU_EV_BSQ_cache_reference, 8, P4PMU_ESCR_BSU0, 1},
    {P4PMU_EV_page_walk_type, 0, P4PMU_ESCR_PMH1, 2},
    {P4PMU_EV_BPU_fetch_request, 0, P4PMU_ESCR_BPU1, 3},
};

static struct p4pmu *set_up(unsigned counters)
{
    struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){.model = 2, .stepping = 9});
    for (unsigned i = 0; pmu && i < counters; i++) {
        const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)watch[i].escr);
        uint32_t value = p4pmu_event(watch[i].event)->code << 25 | 1u << (9 + watch[i].bit) | 0xC;
        p4pmu_wrmsr(pmu, 0, escr->msr, value, NULL);
        p4pmu_wrmsr(pmu, 0, p4pmu_counter(watch[i].counter)->cccr_msr, 0x31000 | escr->select << 13,
                    NULL);
    }
    return pmu;
}

/* Three facts, of changing kinds. */
static void post_three(struct p4pmu *pmu, uint64_t clock)
{
    const unsigned user = P4PMU_WHO(0, 3);
    p4pmu_post(pmu, P4PMU_EV_uops_retired, 1, user, 2);
    p4pmu_post(pmu, clock & 1 ? P4PMU_EV_instr_retired : P4PMU_EV_uop_queue_writes,
               clock & 1 ? 1 : 2, user, 1);
    p4pmu_post(pmu, clock & 4 ? P4PMU_EV_branch_retired : P4PMU_EV_BSQ_cache_reference,
               clock & 4 ? 4 : 2, user, 1);
}

static void report(const char *stream, unsigned counters, uint64_t clocks, uint64_t facts,
                   double seconds)
{
    printf("%-28s %2u counters: %8.1f million clocks/s", stream, counters,
           (double)clocks / seconds / 1e6);
    if (facts)
        printf(", %7.1f million facts/s", (double)facts / seconds / 1e6);
    printf("\n");
}

static bool measure(unsigned counters)
{
    enum { CLOCKS = 20000000, SKIPS = 2000000, SKIP = 100 };
    struct p4pmu *pmu = set_up(counters);
    if (!pmu)
        return false;
    p4pmu_level(pmu, P4PMU_EV_global_power_events, 1, P4PMU_WHO(0, 3), 1);

    double start = cpu_seconds();
    for (uint64_t i = 0; i < CLOCKS; i++) {
        post_three(pmu, i);
        p4pmu_clocks(pmu, 1);
    }
    report("three facts in each clock", counters, CLOCKS, 3 * (uint64_t)CLOCKS,
           cpu_seconds() - start);

    start = cpu_seconds();
    for (uint64_t i = 0; i < CLOCKS / 10; i++) {
        post_three(pmu, i);
        p4pmu_clocks(pmu, 1);
        for (int quiet = 0; quiet < 9; quiet++)
            p4pmu_clocks(pmu, 1);
    }
    report("facts in one clock of ten", counters, CLOCKS, 3 * (uint64_t)CLOCKS / 10,
           cpu_seconds() - start);

    start = cpu_seconds();
    for (uint64_t i = 0; i < SKIPS; i++) {
        p4pmu_level(pmu, P4PMU_EV_TC_deliver_mode, 4, P4PMU_WHO(0, 3), i & 1);
        p4pmu_clocks(pmu, SKIP);
    }
    report("skips of 100 quiet clocks", counters, (uint64_t)SKIPS * SKIP, 0, cpu_seconds() - start);
    p4pmu_free(pmu);
    return true;
}

int main(void)
{
    return measure(0) && measure(1) && measure(P4PMU_COUNTERS) ? 0 : 1;
}
