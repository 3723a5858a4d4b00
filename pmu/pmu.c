/*
 * A PMU's life: made, reset, told about the processor around it, freed.
 *
 * After RESET the ESCRs and CCCRs are 0 (SDM3 18.15.1, 18.15.3). The value of the counters after
 * RESET is not documented; they are 0 here (model choice: the least surprising).
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static bool known(const struct p4pmu_config *config)
{
    return config->model < 32 && (P4PMU_ALL_MODELS >> config->model & 1);
}

/* What each event select means in each ESCR on this model. */
static void map_events(struct p4pmu *pmu)
{
    memset(pmu->event_at, P4PMU_NONE, sizeof pmu->event_at);
    for (int i = 0; i < (int)P4PMU_EVENTS; i++) {
        const struct p4pmu_event_info *event = p4pmu_event((enum p4pmu_event)i);
        if (event->models >> pmu->config.model & 1)
            for (int k = 0; k < 2; k++)
                if (event->escrs[k] != P4PMU_NONE)
                    pmu->event_at[event->escrs[k]][event->code] = (int8_t)i;
    }
}

/* Which ESCR each counter hears, and which counters an ESCR or its pair can be heard by. */
static void map_wires(struct p4pmu *pmu)
{
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++)
        for (unsigned s = 0; s < ESCR_SELECTS; s++)
            pmu->wire[c][s] = (int8_t)p4pmu_wired_escr(c, s);
    for (int e = 0; e < P4PMU_ESCRS; e++)
        for (int other = 0; other < P4PMU_ESCRS; other++) {
            const struct p4pmu_escr_info *a = p4pmu_escr((enum p4pmu_escr)e);
            const struct p4pmu_escr_info *b = p4pmu_escr((enum p4pmu_escr)other);
            if (strcmp(a->unit, b->unit) == 0 && a->select == b->select)
                pmu->power[e] |= b->counters;
        }
}

struct p4pmu *p4pmu_new(const struct p4pmu_config *config)
{
    if (!known(config))
        return NULL;
    struct p4pmu *pmu = calloc(1, sizeof *pmu);
    if (!pmu)
        return NULL;
    pmu->config = *config;
    map_events(pmu);
    map_wires(pmu);
    p4pmu_reset(pmu);
    return pmu;
}

static void drop_levels(struct p4pmu *pmu)
{
    for (int i = 0; i < (int)P4PMU_EVENTS; i++)
        free(pmu->levels[i].items);
    memset(pmu->levels, 0, sizeof pmu->levels);
}

void p4pmu_free(struct p4pmu *pmu)
{
    if (pmu)
        drop_levels(pmu);
    free(pmu);
}

void p4pmu_reset(struct p4pmu *pmu)
{
    drop_levels(pmu);
    memset(pmu->counter, 0, sizeof pmu->counter);
    pmu->watch.origin = 0;
    memset(pmu->escr, 0, sizeof pmu->escr);
    memset(pmu->pulse, 0, sizeof pmu->pulse);
    pmu->now = pmu->dirty = pmu->lost_levels = 0;
    pmu->running = pmu->changed = 0;
    pmu->active = 1; /* the other logical processor waits for SIPI */
    pmu->user = pmu->told = 0;
    pmu->asleep = pmu->resample = false;
    memset(pmu->request_clock, 0, sizeof pmu->request_clock);
    memset(pmu->accepted_request, 0, sizeof pmu->accepted_request);
    pmu->requests = pmu->ds_requests = pmu->ds_suspended = 0;
    for (int lp = 0; lp < 2; lp++) {
        pmu->cpl[lp] = 0;
        pmu->cr4_pce[lp] = pmu->cr4_tsd[lp] = false;
        pmu->lvt[lp] = P4PMU_LVT_RESET;
    }
    p4pmu_reset_msrs(pmu);
    p4pmu_configure(pmu);
}

/* Something other than a register changed that the filters depend on. */
static void reconfigure(struct p4pmu *pmu)
{
    p4pmu_catch_up_all(pmu);
    pmu->changed = 0;
    p4pmu_configure(pmu);
}

void p4pmu_active(struct p4pmu *pmu, unsigned lp, bool active)
{
    unsigned bit = 1u << (lp & 1);
    if (!(pmu->active & bit) == !active)
        return;
    p4pmu_catch_up_all(pmu);
    pmu->active ^= bit;
    reconfigure(pmu);
}

void p4pmu_sleep(struct p4pmu *pmu, bool asleep)
{
    if (pmu->asleep == asleep)
        return;
    p4pmu_catch_up_all(pmu);
    pmu->asleep = asleep;
    reconfigure(pmu);
}

void p4pmu_time_stamp_disable(struct p4pmu *pmu, unsigned lp, bool cr4_tsd)
{
    pmu->cr4_tsd[lp & 1] = cr4_tsd;
}

bool p4pmu_has_erratum(const struct p4pmu_config *config, enum p4pmu_erratum erratum)
{
    const struct p4pmu_erratum_info *e = p4pmu_erratum(erratum);
    unsigned signature = config->model << 4 | config->stepping;
    bool affected = false;
    for (int i = 0; i < 2; i++)
        affected |= signature >= e->signatures[i][0] && signature <= e->signatures[i][1];
    return affected && (config->errata >> erratum & 1);
}

/* Model 3 brought DTES64, MONITOR and DS-CPL (CPUID.1:ECX = 441DH on its parts; from memory, so a
 * model choice). Family 0FH has TSC, MSR, APIC and DS throughout. */
void p4pmu_cpuid(const struct p4pmu_config *config, uint32_t *ecx, uint32_t *edx)
{
    enum { DTES64 = 1 << 2, MONITOR = 1 << 3, DS_CPL = 1 << 4 };
    enum { TSC = 1 << 4, MSR = 1 << 5, APIC = 1 << 9, DS = 1 << 21, HTT = 1 << 28 };
    bool new = P4PMU_FROM_MODEL_3 >> config->model & 1;
    *ecx = new ? DTES64 | MONITOR | DS_CPL : 0;
    *edx = TSC | MSR | APIC | DS | (config->hyper_threading ? HTT : 0);
}

static void set_user(struct p4pmu *pmu, unsigned lp, bool is_user)
{
    unsigned bit = 1u << (lp & 1);
    unsigned user = is_user ? pmu->user | bit : pmu->user & ~bit;

    if (user == pmu->user)
        return;
    pmu->user = user;
    if (pmu->config.hyper_threading) /* thread-independent events ask for the other's CPL */
        reconfigure(pmu);
}

void p4pmu_privilege(struct p4pmu *pmu, unsigned lp, unsigned cpl, bool cr4_pce)
{
    pmu->cpl[lp & 1] = cpl & 3;
    pmu->cr4_pce[lp & 1] = cr4_pce;
    if (!(pmu->told >> (lp & 1) & 1))
        set_user(pmu, lp, cpl != 0);
}

void p4pmu_runs_at(struct p4pmu *pmu, unsigned lp, unsigned cpl)
{
    pmu->told |= 1u << (lp & 1);
    set_user(pmu, lp, cpl != 0);
}

unsigned p4pmu_cpl(const struct p4pmu *pmu, unsigned lp, bool *cr4_pce)
{
    if (cr4_pce)
        *cr4_pce = pmu->cr4_pce[lp & 1];
    return pmu->cpl[lp & 1];
}
