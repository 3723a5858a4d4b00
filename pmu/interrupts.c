/*
 * The performance-monitor interrupt: from overflow to the local APIC.
 *
 * An overflow does not interrupt by itself: the next count does (SDM3 18.15.3), which the stage of
 * the counter remembers. The request stands while OVF is 1, so a handler that unmasks the vector
 * table entry before it clears OVF is called again (as Linux found). With Hyper-Threading
 * OVF_PMI_T0 and T1 choose the logical processor.
 *
 * When OVF_PMI is set only after the overflow and the count behind it, the request comes up at once
 * (model choice: the condition is a level). OVF set by software starts cascades and asks for
 * nothing (model choice: no overflow has happened).
 *
 * Not modelled: the local APIC's delivery status and priorities; latency from request to handler is
 * the machine's.
 */
#include "internal.h"

enum {
    LVT_MASK = 1 << 16,
    LVT_HELD = LVT_MASK | 0x7FF, /* vector, delivery mode, mask */
};

static unsigned asked_by(const struct p4pmu *pmu, const struct counter *c)
{
    unsigned lps = 0;
    if (c->stage != STAGE_REQUESTED || !(c->cccr & P4PMU_CCCR_OVF_MASK))
        return 0;
    if (c->cccr & P4PMU_CCCR_OVF_PMI_T0_MASK)
        lps |= 1;
    if ((c->cccr & P4PMU_CCCR_OVF_PMI_T1_MASK) &&
        !p4pmu_has_erratum(&pmu->config, P4PMU_ERRATUM_PMI_T1_DEAD))
        lps |= 2;
    return lps;
}

static void note_rise(struct p4pmu *pmu, unsigned before)
{
    unsigned now = pmu->requests | pmu->ds_requests;
    for (unsigned lp = 0; lp < 2; lp++)
        if ((now ^ before) >> lp & 1)
            pmu->request_clock[lp] = now >> lp & 1 ? pmu->now : 0;
}

void p4pmu_update_requests(struct p4pmu *pmu)
{
    unsigned before = pmu->requests | pmu->ds_requests;
    pmu->requests = 0;
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++)
        pmu->requests |= asked_by(pmu, &pmu->counter[i]);
    note_rise(pmu, before);
}

void p4pmu_request_ds(struct p4pmu *pmu, unsigned lp)
{
    unsigned before = pmu->requests | pmu->ds_requests;
    pmu->ds_requests |= 1u << lp;
    note_rise(pmu, before);
}

void p4pmu_drop_request(struct p4pmu *pmu, unsigned lp)
{
    unsigned before = pmu->requests | pmu->ds_requests;
    pmu->ds_requests &= ~(1u << lp);
    note_rise(pmu, before);
}

bool p4pmu_interrupt(const struct p4pmu *pmu, unsigned lp)
{
    lp &= p4pmu_lps(pmu) - 1;
    return ((pmu->requests | pmu->ds_requests) >> lp & 1) && !(pmu->lvt[lp] & LVT_MASK);
}

uint64_t p4pmu_interrupt_clock(const struct p4pmu *pmu, unsigned lp)
{
    return pmu->request_clock[lp & (p4pmu_lps(pmu) - 1)];
}

uint64_t p4pmu_accepted_clock(const struct p4pmu *pmu, unsigned lp)
{
    return pmu->accepted_request[lp & (p4pmu_lps(pmu) - 1)];
}

uint32_t p4pmu_accept(struct p4pmu *pmu, unsigned lp)
{
    lp &= p4pmu_lps(pmu) - 1;
    uint32_t entry = pmu->lvt[lp];
    pmu->accepted_request[lp] = pmu->request_clock[lp];
    pmu->lvt[lp] |= LVT_MASK;
    p4pmu_drop_request(pmu, lp);
    return entry;
}

uint32_t p4pmu_lvt(const struct p4pmu *pmu, unsigned lp)
{
    return pmu->lvt[lp & (p4pmu_lps(pmu) - 1)];
}

void p4pmu_set_lvt(struct p4pmu *pmu, unsigned lp, uint32_t value)
{
    pmu->lvt[lp & (p4pmu_lps(pmu) - 1)] = value & LVT_HELD;
}

uint64_t p4pmu_quiet_clocks(const struct p4pmu *pmu)
{
    return pmu->horizon == P4PMU_NEVER ? P4PMU_NEVER : pmu->horizon - pmu->now;
}
