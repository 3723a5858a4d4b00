/*
 * RDMSR, WRMSR and RDPMC.
 *
 * What a register holds after a write is data: the ESCR and counter rows and p4pmu_msrs.def say
 * which bits exist. Without Hyper-Threading ESCR[1:0], CCCR[27] and PEBS_ENABLE[26] do not hold
 * what is written (reserved in SDM3 figure 18-43 and 18-45; that they read as 0 is a model choice).
 */
#include "internal.h"

#include <string.h>

#define P4PMU_MSR(name, register, first, count, ...)                                               \
    static_assert((count) <= MSR_RANGE, #register " has room");
#include "p4pmu_msrs.def"

enum { ESCR_FAULTS = 31 }; /* writing 1 to ESCR bit 31 raised #GP on the probed F43h part */

const char *p4pmu_fault_text(enum p4pmu_fault fault)
{
    static const char *const text[P4PMU_FAULTS] = {
        [P4PMU_OK] = "no fault",
        [P4PMU_GP_NO_SUCH_MSR] = "#GP: no such MSR on this model",
        [P4PMU_GP_RESERVED_BIT] = "#GP: a reserved bit that faults was written as 1",
        [P4PMU_GP_NO_SUCH_INDEX] = "#GP: RDPMC index selects no counter",
        [P4PMU_GP_PRIVILEGE] = "#GP: not allowed at this privilege level",
        [P4PMU_GP_READ_ONLY] = "#GP: the register cannot be written",
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

uint64_t p4pmu_msr_implemented(const struct p4pmu_config *config, size_t index)
{
    const struct p4pmu_msr_info *msr = p4pmu_msr(index);
    const char *with_fields = index == P4PMU_MSR_MISC_ENABLE ? "MISC_ENABLE"
                              : index == P4PMU_MSR_DEBUGCTLA ? "DEBUGCTLA"
                                                             : NULL;
    uint64_t bits = msr->implemented;

    if (with_fields) {
        uint64_t there = 0;
        const struct p4pmu_field_info *f;
        for (size_t i = 0; (f = p4pmu_field(i)); i++)
            if (strcmp(f->reg, with_fields) == 0 && !f->read_only &&
                (f->models >> config->model & 1))
                there |= ((UINT64_C(1) << f->length) - 1) << f->shift;
        bits &= there;
    }
    if (index == P4PMU_MSR_MISC_ENABLE && !config->l3)
        bits &= ~P4PMU_MISC_ENABLE_L3_DISABLE_MASK;
    if (index == P4PMU_MSR_PEBS_ENABLE && !config->hyper_threading)
        bits &= ~(uint64_t)P4PMU_PEBS_ENABLE_OTHER_THREAD_MASK;
    return bits;
}

void p4pmu_reset_msrs(struct p4pmu *pmu)
{
    const struct p4pmu_msr_info *msr;
    for (size_t i = 0; (msr = p4pmu_msr(i)); i++)
        for (int lp = 0; lp < 2; lp++)
            for (uint32_t n = 0; n < msr->count; n++)
                pmu->msr[i][lp][n] = msr->reset;
    pmu->msr[P4PMU_MSR_EBC_FREQUENCY_ID][0][0] = pmu->config.frequency_id;
    if (pmu->config.no_bts)
        pmu->msr[P4PMU_MSR_MISC_ENABLE][0][0] |= P4PMU_MISC_ENABLE_BTS_UNAVAILABLE_MASK;
    if (pmu->config.no_pebs)
        pmu->msr[P4PMU_MSR_MISC_ENABLE][0][0] |= P4PMU_MISC_ENABLE_PEBS_UNAVAILABLE_MASK;
}

/* The row that has MSR on this part, or P4PMU_NONE. */
static int other_by_msr(const struct p4pmu *pmu, uint32_t address)
{
    const struct p4pmu_msr_info *msr;
    for (int i = 0; (msr = p4pmu_msr((size_t)i)); i++)
        if (address - msr->msr < msr->count && (msr->models >> pmu->config.model & 1) &&
            (!msr->l3 || pmu->config.l3))
            return i;
    return P4PMU_NONE;
}

/* Where a register of a row is kept for LP. */
static uint64_t *held(struct p4pmu *pmu, int which, unsigned lp, uint32_t address)
{
    const struct p4pmu_msr_info *msr = p4pmu_msr((size_t)which);
    return &pmu->msr[which][msr->per_lp ? lp : 0][address - msr->msr];
}

/* IA32_PEBS_ENABLE has "my thread" and "other thread"; it is kept as logical processor 0 sees it.
 */
static uint64_t seen_by(unsigned lp, uint64_t pebs_enable)
{
    uint64_t mine = P4PMU_PEBS_ENABLE_MY_THREAD_MASK, other = P4PMU_PEBS_ENABLE_OTHER_THREAD_MASK;
    if (lp == 0)
        return pebs_enable;
    return (pebs_enable & ~(mine | other)) | (pebs_enable & mine ? other : 0) |
           (pebs_enable & other ? mine : 0);
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

static uint64_t read_other(struct p4pmu *pmu, int which, unsigned lp, uint32_t address)
{
    uint64_t value = *held(pmu, which, lp, address);
    if (which == P4PMU_MSR_TIME_STAMP_COUNTER)
        return value + pmu->now; /* what is kept is the distance to NOW */
    return which == P4PMU_MSR_PEBS_ENABLE ? seen_by(lp, value) : value;
}

enum p4pmu_fault p4pmu_rdmsr(struct p4pmu *pmu, unsigned lp, uint32_t msr, uint64_t *value)
{
    int i;
    *value = 0;
    lp &= p4pmu_lps(pmu) - 1;
    if (pmu->cpl[lp] != 0)
        return P4PMU_GP_PRIVILEGE;
    if ((i = counter_by_msr(msr)) != P4PMU_NONE) {
        *value = read_counter(pmu, (unsigned)i);
    } else if ((i = cccr_by_msr(msr)) != P4PMU_NONE) {
        read_counter(pmu, (unsigned)i);
        *value = pmu->counter[i].cccr;
    } else if ((i = p4pmu_escr_by_msr(msr)) != P4PMU_NONE) {
        *value = pmu->escr[i];
    } else if ((i = other_by_msr(pmu, msr)) != P4PMU_NONE) {
        *value = read_other(pmu, i, lp, msr);
    } else {
        return P4PMU_GP_NO_SUCH_MSR;
    }
    return P4PMU_OK;
}

static uint64_t write_counter(struct p4pmu *pmu, unsigned counter, uint64_t value)
{
    read_counter(pmu, counter);
    pmu->counter[counter].lose_carry = p4pmu_has_erratum(&pmu->config, P4PMU_ERRATUM_N15);
    p4pmu_load_counter(pmu, counter, value);
    return pmu->counter[counter].value;
}

/* Registers that decide what counts are about to change, and have changed. */
static void before_change(struct p4pmu *pmu)
{
    p4pmu_catch_up_all(pmu);
    pmu->changed = 0;
}

static uint64_t write_cccr(struct p4pmu *pmu, unsigned counter, uint64_t value)
{
    struct counter *c = &pmu->counter[counter];
    bool ran = c->running;

    before_change(pmu);
    c->cccr = (uint32_t)value & p4pmu_cccr_implemented(&pmu->config, counter);
    if (!(c->cccr & P4PMU_CCCR_OVF_MASK))
        c->stage = STAGE_IDLE;
    p4pmu_configure(pmu);
    if (ran && !c->running && p4pmu_has_erratum(&pmu->config, P4PMU_ERRATUM_N17) &&
        (uint32_t)c->value < c->added)
        c->value = (c->value - (UINT64_C(1) << 32)) & P4PMU_COUNTER_MASK;
    return c->cccr;
}

static uint64_t write_escr(struct p4pmu *pmu, int escr, uint64_t value)
{
    before_change(pmu);
    pmu->escr[escr] = (uint32_t)value & p4pmu_escr_implemented(&pmu->config, (enum p4pmu_escr)escr);
    p4pmu_configure(pmu);
    return pmu->escr[escr];
}

static uint64_t write_other(struct p4pmu *pmu, int which, unsigned lp, uint32_t address,
                            uint64_t value)
{
    uint64_t bits = p4pmu_msr_implemented(&pmu->config, (size_t)which);
    uint64_t *h = held(pmu, which, lp, address);

    before_change(pmu);
    if (which == P4PMU_MSR_TIME_STAMP_COUNTER) {
        if (P4PMU_UP_TO_MODEL_2 >> pmu->config.model & 1)
            value = (uint32_t)value;
        value -= pmu->now;
    }
    if (which == P4PMU_MSR_PEBS_ENABLE)
        value = seen_by(lp, value);
    *h = (*h & ~bits) | (value & bits);
    p4pmu_configure(pmu);
    return read_other(pmu, which, lp, address);
}

static enum p4pmu_fault other_fault(const struct p4pmu *pmu, int which, uint64_t value)
{
    const struct p4pmu_msr_info *msr = p4pmu_msr((size_t)which);
    uint64_t faults = msr->faults;
    if (msr->read_only)
        return P4PMU_GP_READ_ONLY;
    if (which == P4PMU_MSR_DEBUGCTLA) /* fields of later models fault as the bits above them do */
        faults = ~p4pmu_msr_implemented(&pmu->config, (size_t)which);
    return value & faults ? P4PMU_GP_RESERVED_BIT : P4PMU_OK;
}

enum p4pmu_fault p4pmu_wrmsr_fault(const struct p4pmu *pmu, unsigned lp, uint32_t msr,
                                   uint64_t value)
{
    int i;

    if (pmu->cpl[lp & (p4pmu_lps(pmu) - 1)] != 0)
        return P4PMU_GP_PRIVILEGE;
    if (counter_by_msr(msr) != P4PMU_NONE || cccr_by_msr(msr) != P4PMU_NONE)
        return P4PMU_OK;
    if ((i = p4pmu_escr_by_msr(msr)) != P4PMU_NONE)
        return p4pmu_escr_implemented(&pmu->config, (enum p4pmu_escr)i) &&
                       (value >> ESCR_FAULTS & 1)
                   ? P4PMU_GP_RESERVED_BIT
                   : P4PMU_OK;
    if ((i = other_by_msr(pmu, msr)) != P4PMU_NONE)
        return other_fault(pmu, i, value);
    return P4PMU_GP_NO_SUCH_MSR;
}

enum p4pmu_fault p4pmu_wrmsr(struct p4pmu *pmu, unsigned lp, uint32_t msr, uint64_t value,
                             uint64_t *stored)
{
    enum p4pmu_fault fault = p4pmu_wrmsr_fault(pmu, lp, msr, value);
    uint64_t now_held;
    int i;

    if (fault)
        return fault;
    lp &= p4pmu_lps(pmu) - 1;
    if ((i = counter_by_msr(msr)) != P4PMU_NONE) {
        now_held = write_counter(pmu, (unsigned)i, value);
    } else if ((i = cccr_by_msr(msr)) != P4PMU_NONE) {
        now_held = write_cccr(pmu, (unsigned)i, value);
    } else if ((i = p4pmu_escr_by_msr(msr)) != P4PMU_NONE) {
        now_held = write_escr(pmu, i, value);
    } else {
        now_held = write_other(pmu, other_by_msr(pmu, msr), lp, msr, value);
    }
    if (stored)
        *stored = now_held;
    return P4PMU_OK;
}

/* RDPMC 18 to 25: the 32-bit counts of the L3 counters. */
static bool l3_index(const struct p4pmu *pmu, uint32_t index)
{
    const struct p4pmu_msr_info *l3 = p4pmu_msr(P4PMU_MSR_L3_COUNTERS);
    return pmu->config.l3 && (l3->models >> pmu->config.model & 1) &&
           index - P4PMU_COUNTERS < l3->count;
}

enum p4pmu_fault p4pmu_rdpmc(struct p4pmu *pmu, unsigned lp, uint32_t ecx, uint32_t *eax,
                             uint32_t *edx)
{
    uint32_t index = ecx & UINT32_C(0x7FFFFFFF);
    bool fast = ecx >> 31;

    *eax = *edx = 0;
    lp &= p4pmu_lps(pmu) - 1;
    if (pmu->cpl[lp] != 0 && !pmu->cr4_pce[lp])
        return P4PMU_GP_PRIVILEGE;
    if (l3_index(pmu, index)) {
        *eax = (uint32_t)pmu->msr[P4PMU_MSR_L3_COUNTERS][0][index - P4PMU_COUNTERS];
        return P4PMU_OK;
    }
    if (index >= P4PMU_COUNTERS)
        return P4PMU_GP_NO_SUCH_INDEX;
    uint64_t value = read_counter(pmu, index);
    *eax = (uint32_t)value;
    *edx = fast ? 0 : (uint32_t)(value >> 32);
    return P4PMU_OK;
}

uint64_t p4pmu_count(struct p4pmu *pmu, unsigned counter)
{
    return counter < P4PMU_COUNTERS ? read_counter(pmu, counter) : 0;
}

enum p4pmu_fault p4pmu_rdtsc(const struct p4pmu *pmu, unsigned lp, uint64_t *value)
{
    lp &= p4pmu_lps(pmu) - 1;
    *value = 0;
    if (pmu->cpl[lp] != 0 && pmu->cr4_tsd[lp])
        return P4PMU_GP_PRIVILEGE;
    *value = pmu->msr[P4PMU_MSR_TIME_STAMP_COUNTER][lp][0] + pmu->now;
    return P4PMU_OK;
}
