/*
 * libp4pmu by itself: program an event as software would, post facts as a machine would, read back.
 *
 * Counts uops_retired NBOGUS in CRU_ESCR0 on IQ_COUNTER0, and with the threshold filter on
 * IQ_COUNTER1 the clocks in which more than one uop retired.
 */
#include <p4pmu.h>

#include <stdio.h>

enum { CRU_ESCR0 = 0x3B8, IQ_CCCR0 = 0x36C, IQ_CCCR1 = 0x36D, IQ_COUNTER0 = 12, NBOGUS = 1u << 0 };

static bool program(struct p4pmu *pmu, uint32_t msr, uint32_t value)
{
    enum p4pmu_fault fault = p4pmu_wrmsr(pmu, 0, msr, value, NULL);
    if (fault)
        fprintf(stderr, "WRMSR %03X: %s\n", (unsigned)msr, p4pmu_fault_text(fault));
    return fault == P4PMU_OK;
}

int main(void)
{
    static const unsigned uops_in_clock[] = {3, 1, 0, 2, 3, 0, 1};
    struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){.model = 2});
    if (!pmu)
        return 1;

    bool ok = program(pmu, CRU_ESCR0, 0x0200020C) && /* uops_retired, NBOGUS, USR and OS */
              program(pmu, IQ_CCCR0, 0x00039000) &&  /* enable, select 4, any thread */
              program(pmu, IQ_CCCR1, 0x00179000);    /* the same with compare, threshold 1 */
    for (size_t i = 0; ok && i < sizeof uops_in_clock / sizeof uops_in_clock[0]; i++) {
        if (uops_in_clock[i])
            p4pmu_post(pmu, P4PMU_EV_uops_retired, NBOGUS, P4PMU_WHO(0, 3), uops_in_clock[i]);
        p4pmu_clocks(pmu, 1);
    }

    uint32_t uops, clocks, high;
    ok = ok && !p4pmu_rdpmc(pmu, 0, IQ_COUNTER0, &uops, &high) &&
         !p4pmu_rdpmc(pmu, 0, IQ_COUNTER0 + 1, &clocks, &high);
    if (ok)
        printf("%u uops retired; more than one in %u of %u clocks\n", (unsigned)uops,
               (unsigned)clocks, (unsigned)p4pmu_now(pmu));
    p4pmu_free(pmu);
    return ok ? 0 : 1;
}
