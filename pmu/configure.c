/*
 * From registers to what posting and counting use: who listens to whom, which facts are wanted,
 * which inputs count, which counters run.
 *
 * Power gating (SDM3 18.15.5.9): an ESCR detects only while a counter that can hear it or its pair
 * runs; a counter counts only while the ESCR it selects holds a non-null event. A select without an
 * ESCR leaves the counter without an event (no documented effect; perfctr refuses it).
 */
#include "internal.h"
#include "match.h"

#include <string.h>

enum {
    SIGNATURE_F27 = 0x27
}; /* model and stepping from which IOQ_allocation knows CPL and FSB_ESCR1 */

static bool before_f27(const struct p4pmu *pmu)
{
    return (pmu->config.model << 4 | pmu->config.stepping) < SIGNATURE_F27;
}

int p4pmu_selected_event(const struct p4pmu *pmu, int escr)
{
    return pmu->event_at[escr][P4PMU_GET(ESCR, EVENT_SELECT, pmu->escr[escr])];
}

/* Qualification as if both levels were chosen for each logical processor that is named at all. */
static unsigned any_level(unsigned qualifiers)
{
    unsigned lp0 = P4PMU_ESCR_T0_USR_MASK | P4PMU_ESCR_T0_OS_MASK;
    unsigned lp1 = P4PMU_ESCR_T1_USR_MASK | P4PMU_ESCR_T1_OS_MASK;
    return (qualifiers & lp0 ? lp0 : 0) | (qualifiers & lp1 ? lp1 : 0);
}

unsigned p4pmu_escr_who(const struct p4pmu *pmu, int escr, int event)
{
    unsigned qualifiers = pmu->escr[escr] & 0xF;
    unsigned lps = p4pmu_lps(pmu);
    unsigned who;

    if (event == P4PMU_EV_IOQ_active_entries ||
        (event == P4PMU_EV_IOQ_allocation && before_f27(pmu)))
        qualifiers = any_level(qualifiers);
    if (p4pmu_event((enum p4pmu_event)event)->thread == P4PMU_TI)
        who = p4pmu_qualify_ti(qualifiers, pmu->user, lps);
    else
        who = p4pmu_qualify_ts(qualifiers);
    return lps == 2 ? who : who & 0xF;
}

static void configure_filter(struct p4pmu *pmu, struct counter *c)
{
    bool compare = c->cccr & P4PMU_CCCR_COMPARE_MASK;
    bool complement = c->cccr & P4PMU_CCCR_COMPLEMENT_MASK;
    unsigned threshold = P4PMU_GET(CCCR, THRESHOLD, c->cccr);
    unsigned threads = (pmu->active & 1) + (pmu->active >> 1);
    unsigned wanted = P4PMU_GET(CCCR, ACTIVE_THREAD, c->cccr);

    for (unsigned input = 0; input <= INPUT_MAX; input++) {
        bool passes = complement ? input <= threshold : input > threshold;
        c->addend[input] = (uint8_t)(compare ? passes : input);
    }
    c->compare = compare;
    c->edge = compare && (c->cccr & P4PMU_CCCR_EDGE_MASK);
    c->force = c->cccr & P4PMU_CCCR_FORCE_OVF_MASK;
    c->gate = !pmu->config.hyper_threading || (wanted == 3 ? threads > 0 : wanted == threads);
    c->plain = !compare && c->gate;
}

static void configure_wires(struct p4pmu *pmu)
{
    memset(pmu->listeners, 0, sizeof pmu->listeners);
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        struct counter *c = &pmu->counter[i];
        uint32_t on =
            P4PMU_CCCR_ENABLE_MASK | P4PMU_CCCR_CASCADE_MASK | P4PMU_CCCR_EXT_CASCADE_MASK;
        configure_filter(pmu, c);
        c->escr = pmu->wire[i][P4PMU_GET(CCCR, ESCR_SELECT, c->cccr)];
        if (c->escr != P4PMU_NONE && (c->cccr & on))
            pmu->listeners[c->escr] |= 1u << i;
    }
}

/* The errata and notes that keep an event from being seen in an ESCR. */
static bool blind(const struct p4pmu *pmu, int escr, int event)
{
    return event == P4PMU_EV_IOQ_allocation && escr == P4PMU_ESCR_FSB1 && before_f27(pmu);
}

/* ESCR[24:9] as the unit reads it. */
static unsigned mask_of(const struct p4pmu *pmu, int escr, int event)
{
    enum { SMCLEAR = 1 << 6, SMCLEAR_OLD = 1 << 3 };
    unsigned mask = P4PMU_GET(ESCR, EVENT_MASK, pmu->escr[escr]);
    if (event == P4PMU_EV_machine_clear && p4pmu_has_erratum(&pmu->config, P4PMU_ERRATUM_SMC_BIT_3))
        mask = (mask & ~(unsigned)(SMCLEAR | SMCLEAR_OLD)) | (mask & SMCLEAR_OLD ? SMCLEAR : 0);
    return mask;
}

static void configure_watcher(struct p4pmu *pmu, int escr)
{
    int event = p4pmu_selected_event(pmu, escr);
    if (!pmu->listeners[escr] || event == P4PMU_NONE || blind(pmu, escr, event))
        return;

    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)event);
    struct watcher *w = &pmu->watcher[event][info->escrs[0] == escr ? 0 : 1];
    w->who = (uint8_t)p4pmu_escr_who(pmu, escr, event);
    w->mask = (uint16_t)mask_of(pmu, escr, event);
    w->logic = (uint8_t)info->logic;
    w->escr = (int8_t)escr;
    if (w->who && info->logic != P4PMU_TAG_ONLY)
        pmu->watch.bits[event] |= info->logic == P4PMU_BSQ ? 0xFFFF : w->mask;
    pmu->standing[escr] = p4pmu_standing(pmu, event, w);
    pmu->resample |= (pmu->now & 1) && p4pmu_sampled(pmu, event);
}

static void configure_watchers(struct p4pmu *pmu)
{
    memset(pmu->watch.bits, 0, sizeof pmu->watch.bits);
    memset(pmu->watcher, 0, sizeof pmu->watcher);
    memset(pmu->standing, 0, sizeof pmu->standing);
    for (int e = 0; e < P4PMU_ESCRS; e++)
        configure_watcher(pmu, e);
}

static bool overflowed(const struct p4pmu *pmu, int counter)
{
    return counter != P4PMU_NONE && (pmu->counter[counter].cccr & P4PMU_CCCR_OVF_MASK);
}

static bool runs(const struct p4pmu *pmu, unsigned counter)
{
    const struct counter *c = &pmu->counter[counter];
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);

    if (c->escr == P4PMU_NONE || !P4PMU_GET(ESCR, EVENT_SELECT, pmu->escr[c->escr]))
        return false;
    return (c->cccr & P4PMU_CCCR_ENABLE_MASK) ||
           ((c->cccr & P4PMU_CCCR_CASCADE_MASK) && overflowed(pmu, info->cascade_source)) ||
           ((c->cccr & P4PMU_CCCR_EXT_CASCADE_MASK) && overflowed(pmu, info->extended_source));
}

static void configure_pebs(struct p4pmu *pmu)
{
    for (unsigned lp = 0; lp < 2; lp++) {
        struct counter *c = &pmu->counter[p4pmu_pebs_counter(lp)];
        c->pebs = p4pmu_pebs_on(pmu, lp);
        c->armed = c->armed && c->pebs;
    }
}

/* An overflow matters at once when it can interrupt or start another counter. */
static void configure_critical(struct p4pmu *pmu)
{
    pmu->critical = 0;
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        const struct p4pmu_counter_info *info = p4pmu_counter(i);
        uint32_t cccr = pmu->counter[i].cccr;
        if (cccr & (P4PMU_CCCR_OVF_PMI_T0_MASK | P4PMU_CCCR_OVF_PMI_T1_MASK))
            pmu->critical |= 1u << i;
        if (pmu->counter[i].pebs)
            pmu->critical |= 1u << i;
        if (cccr & P4PMU_CCCR_CASCADE_MASK)
            pmu->critical |= 1u << info->cascade_source;
        if ((cccr & P4PMU_CCCR_EXT_CASCADE_MASK) && info->extended_source != P4PMU_NONE)
            pmu->critical |= 1u << info->extended_source;
    }
}

void p4pmu_update_running(struct p4pmu *pmu)
{
    uint32_t before = pmu->running;
    pmu->running = 0;
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        struct counter *c = &pmu->counter[i];
        bool works = runs(pmu, i);
        if (!works)
            c->last = false;
        c->quiet = !(c->cccr & P4PMU_CCCR_ENABLE_MASK) &&
                   p4pmu_has_erratum(&pmu->config, P4PMU_ERRATUM_CASCADE_NO_PMI);
        pmu->running |= (uint32_t)(works && !pmu->asleep) << i;
        if ((pmu->running ^ before) >> i & 1) {
            c->running = false; /* its last running clocks were counted before */
            p4pmu_catch_up(pmu, i);
            c->running = pmu->running >> i & 1;
        }
    }
}

void p4pmu_configure(struct p4pmu *pmu)
{
    configure_wires(pmu);
    configure_watchers(pmu);
    configure_pebs(pmu);
    configure_critical(pmu);
    p4pmu_update_running(pmu);
    p4pmu_update_requests(pmu);
    p4pmu_configure_tags(pmu);
    p4pmu_plan(pmu);
}
