/*
 * RDMSR, WRMSR and RDPMC.
 *
 * What a register holds after a write is data: the ESCR and counter rows and p4pmu_msrs.def say
 * which bits exist. Without Hyper-Threading ESCR[1:0], CCCR[27] and PEBS_ENABLE[26] do not hold
 * what is written (reserved in SDM3 figure 18-43 and 18-45; that they read as 0 is a model choice).
 */
#include "internal.h"
#include "registers.h"

enum { ESCR_FAULTS = 31 }; /* writing 1 to ESCR bit 31 raised #GP on the probed F43h part */

const char *p4pmu_fault_text(enum p4pmu_fault fault)
{
    static const char *const text[P4PMU_FAULTS] = {
        [P4PMU_OK] = "no fault",
        [P4PMU_GP_NO_SUCH_MSR] = "#GP: no such MSR on this model",
        [P4PMU_GP_RESERVED_BIT] = "#GP: a reserved bit that faults was written as 1",
        [P4PMU_GP_NO_SUCH_INDEX] = "#GP: RDPMC index selects no counter",
        [P4PMU_GP_PRIVILEGE] = "#GP: not allowed at this privilege level",
    };
    return (unsigned)fault < P4PMU_FAULTS ? text[fault] : "unknown fault";
}

uint32_t p4pmu_escr_implemented(const struct p4pmu_config *config, enum p4pmu_escr escr)
{
    const struct p4pmu_escr_info *info = p4pmu_escr(escr);
    uint32_t bits = info->models >> config->model & 1 ? info->implemented : 0;
    if (!config->hyper_threading)
        bits &= ~(P4PMU_ESCR_T1_USR_MASK | P4PMU_ESCR_T1_OS_MASK);
    return bits;
}

uint32_t p4pmu_cccr_implemented(const struct p4pmu_config *config, unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    uint32_t bits = UINT32_C(0xFFFFF000) | info->extra;
    if (info->extended_source != P4PMU_NONE && (P4PMU_FROM_MODEL_2 >> config->model & 1))
        bits |= P4PMU_CCCR_EXT_CASCADE_MASK;
    if (!config->hyper_threading)
        bits &= ~P4PMU_CCCR_OVF_PMI_T1_MASK;
    return bits;
}

static const struct other {
    uint32_t first, count, models;
    uint64_t implemented, faults, reset;
} others[P4PMU_MSRS] = {
#define P4PMU_MSR(name, register, first, count, scope, access, models, part, implemented, faults,  \
                  reset, what, source)                                                             \
    {first, count, models, implemented, faults, reset},
#include "p4pmu_msrs.def"
};

void p4pmu_reset_msrs(struct p4pmu *pmu)
{
    for (int i = 0; i < P4PMU_MSRS; i++)
        for (int lp = 0; lp < 2; lp++)
            for (uint32_t n = 0; n < others[i].count; n++)
                pmu->msr[i][lp][n] = others[i].reset;
}

/* The row of p4pmu_msrs.def that has MSR on this model, or P4PMU_NONE. */
static int other_by_msr(const struct p4pmu *pmu, uint32_t msr)
{
    for (int i = 0; i < P4PMU_MSRS; i++)
        if (msr - others[i].first < others[i].count && (others[i].models >> pmu->config.model & 1))
            return i;
    return P4PMU_NONE;
}

static int counter_by_msr(uint32_t msr)
{
    uint32_t n = msr - p4pmu_counter(0)->msr;
    return n < P4PMU_COUNTERS ? (int)n : P4PMU_NONE;
}

static int cccr_by_msr(uint32_t msr)
{
    uint32_t n = msr - p4pmu_counter(0)->cccr_msr;
    return n < P4PMU_COUNTERS ? (int)n : P4PMU_NONE;
}

static uint64_t read_counter(struct p4pmu *pmu, unsigned counter)
{
    p4pmu_catch_up(pmu, counter);
    pmu->changed = 0;
    return pmu->counter[counter].value;
}

enum p4pmu_fault p4pmu_rdmsr(struct p4pmu *pmu, unsigned lp, uint32_t msr, uint64_t *value)
{
    int i;
    *value = 0;
    if (pmu->cpl[lp & 1] != 0)
        return P4PMU_GP_PRIVILEGE;
    if ((i = counter_by_msr(msr)) != P4PMU_NONE) {
        *value = read_counter(pmu, (unsigned)i);
    } else if ((i = cccr_by_msr(msr)) != P4PMU_NONE) {
        read_counter(pmu, (unsigned)i);
        *value = pmu->counter[i].cccr;
    } else if ((i = p4pmu_escr_by_msr(msr)) != P4PMU_NONE) {
        *value = pmu->escr[i];
    } else if ((i = other_by_msr(pmu, msr)) != P4PMU_NONE) {
        *value = pmu->msr[i][0][msr - others[i].first];
    } else {
        return P4PMU_GP_NO_SUCH_MSR;
    }
    return P4PMU_OK;
}

static uint64_t write_counter(struct p4pmu *pmu, unsigned counter, uint64_t value)
{
    read_counter(pmu, counter);
    pmu->counter[counter].value = value & P4PMU_COUNTER_MASK;
    p4pmu_plan(pmu);
    return pmu->counter[counter].value;
}

static uint64_t write_cccr(struct p4pmu *pmu, unsigned counter, uint64_t value)
{
    struct counter *c = &pmu->counter[counter];
    p4pmu_catch_up_all(pmu);
    pmu->changed = 0;
    c->cccr = (uint32_t)value & p4pmu_cccr_implemented(&pmu->config, counter);
    if (!(c->cccr & P4PMU_CCCR_OVF_MASK))
        c->stage = STAGE_IDLE;
    p4pmu_configure(pmu);
    return c->cccr;
}

static uint64_t write_escr(struct p4pmu *pmu, int escr, uint64_t value)
{
    p4pmu_catch_up_all(pmu);
    pmu->changed = 0;
    pmu->escr[escr] = (uint32_t)value & p4pmu_escr_implemented(&pmu->config, (enum p4pmu_escr)escr);
    p4pmu_configure(pmu);
    return pmu->escr[escr];
}

static uint64_t write_other(struct p4pmu *pmu, int which, uint32_t number, uint64_t value)
{
    const struct other *o = &others[which];
    uint64_t *held = &pmu->msr[which][0][number];
    *held = (*held & ~o->implemented) | (value & o->implemented);
    p4pmu_configure_tags(pmu);
    return *held;
}

enum p4pmu_fault p4pmu_wrmsr(struct p4pmu *pmu, unsigned lp, uint32_t msr, uint64_t value,
                             uint64_t *stored)
{
    uint64_t now_held;
    int i;
    if (pmu->cpl[lp & 1] != 0)
        return P4PMU_GP_PRIVILEGE;
    if ((i = counter_by_msr(msr)) != P4PMU_NONE) {
        now_held = write_counter(pmu, (unsigned)i, value);
    } else if ((i = cccr_by_msr(msr)) != P4PMU_NONE) {
        now_held = write_cccr(pmu, (unsigned)i, value);
    } else if ((i = p4pmu_escr_by_msr(msr)) != P4PMU_NONE) {
        if (p4pmu_escr_implemented(&pmu->config, (enum p4pmu_escr)i) && (value >> ESCR_FAULTS & 1))
            return P4PMU_GP_RESERVED_BIT;
        now_held = write_escr(pmu, i, value);
    } else if ((i = other_by_msr(pmu, msr)) != P4PMU_NONE) {
        if (value & others[i].faults)
            return P4PMU_GP_RESERVED_BIT;
        now_held = write_other(pmu, i, msr - others[i].first, value);
    } else {
        return P4PMU_GP_NO_SUCH_MSR;
    }
    if (stored)
        *stored = now_held;
    return P4PMU_OK;
}

enum p4pmu_fault p4pmu_rdpmc(struct p4pmu *pmu, unsigned lp, uint32_t ecx, uint32_t *eax,
                             uint32_t *edx)
{
    uint32_t index = ecx & UINT32_C(0x7FFFFFFF);
    bool fast = ecx >> 31;

    *eax = *edx = 0;
    if (pmu->cpl[lp & 1] != 0 && !pmu->cr4_pce[lp & 1])
        return P4PMU_GP_PRIVILEGE;
    if (index >= P4PMU_COUNTERS)
        return P4PMU_GP_NO_SUCH_INDEX;
    uint64_t value = read_counter(pmu, index);
    *eax = (uint32_t)value;
    *edx = fast ? 0 : (uint32_t)(value >> 32);
    return P4PMU_OK;
}
