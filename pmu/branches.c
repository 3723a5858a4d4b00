/*
 * Branch records: the last-branch stack, the last-exception record, branch trace messages.
 *
 * Models 0 to 2 keep four records of one MSR each (target above, source below); from model 3
 * sixteen records of two MSRs. Before an interrupt or exception is recorded itself, the newest
 * record is copied to the last-exception registers; a debug exception also clears LBR and TR
 * (SDM3 17.11).
 *
 * Not modelled: branch trace messages on the bus (TR without BTS) have no effect; BTF is for the
 * machine's single step.
 */
#include "internal.h"

static uint64_t *msr(struct p4pmu *pmu, enum p4pmu_other_msr which, unsigned lp)
{
    return pmu->msr[which][lp];
}

static uint64_t debugctl(const struct p4pmu *pmu, unsigned lp)
{
    return pmu->msr[P4PMU_MSR_DEBUGCTLA][lp][0];
}

static bool sixteen(const struct p4pmu *pmu)
{
    return P4PMU_FROM_MODEL_3 >> pmu->config.model & 1;
}

static void push(struct p4pmu *pmu, unsigned lp, const struct p4pmu_branch *branch)
{
    if (sixteen(pmu)) {
        uint64_t *tos = msr(pmu, P4PMU_MSR_LASTBRANCH_TOS_16, lp);
        *tos = (*tos + 1) & 15;
        msr(pmu, P4PMU_MSR_LASTBRANCH_FROM, lp)[*tos] = branch->from;
        msr(pmu, P4PMU_MSR_LASTBRANCH_TO, lp)[*tos] = branch->to;
    } else {
        uint64_t *tos = msr(pmu, P4PMU_MSR_LASTBRANCH_TOS, lp);
        *tos = (*tos + 1) & 3;
        msr(pmu, P4PMU_MSR_LASTBRANCH, lp)[*tos] = branch->to << 32 | (uint32_t)branch->from;
    }
}

static void save_last(struct p4pmu *pmu, unsigned lp)
{
    uint64_t from, to;
    if (sixteen(pmu)) {
        uint64_t tos = *msr(pmu, P4PMU_MSR_LASTBRANCH_TOS_16, lp);
        from = msr(pmu, P4PMU_MSR_LASTBRANCH_FROM, lp)[tos];
        to = msr(pmu, P4PMU_MSR_LASTBRANCH_TO, lp)[tos];
    } else {
        uint64_t last = msr(pmu, P4PMU_MSR_LASTBRANCH, lp)[*msr(pmu, P4PMU_MSR_LASTBRANCH_TOS, lp)];
        from = (uint32_t)last;
        to = last >> 32;
    }
    *msr(pmu, P4PMU_MSR_LER_FROM_LIP, lp) = from;
    *msr(pmu, P4PMU_MSR_LER_TO_LIP, lp) = to;
}

bool p4pmu_branches_wanted(const struct p4pmu *pmu, unsigned lp)
{
    uint64_t ctl = debugctl(pmu, lp & (p4pmu_lps(pmu) - 1));
    uint64_t trace = P4PMU_DEBUGCTLA_TR_MASK | P4PMU_DEBUGCTLA_BTS_MASK;
    return (ctl & P4PMU_DEBUGCTLA_LBR_MASK) || (ctl & trace) == trace;
}

static bool traced(uint64_t ctl, unsigned cpl)
{
    uint64_t trace = P4PMU_DEBUGCTLA_TR_MASK | P4PMU_DEBUGCTLA_BTS_MASK;
    uint64_t off = cpl ? P4PMU_DEBUGCTLA_BTS_OFF_USR_MASK : P4PMU_DEBUGCTLA_BTS_OFF_OS_MASK;
    return (ctl & trace) == trace && !(ctl & off);
}

enum p4pmu_ds p4pmu_branch(struct p4pmu *pmu, unsigned lp, const struct p4pmu_branch *branch)
{
    lp &= p4pmu_lps(pmu) - 1;
    uint64_t ctl = debugctl(pmu, lp);

    if (ctl & P4PMU_DEBUGCTLA_LBR_MASK) {
        if (branch->kind != P4PMU_BRANCH)
            save_last(pmu, lp);
        push(pmu, lp, branch);
    }
    if (branch->kind == P4PMU_DEBUG_EXCEPTION)
        pmu->msr[P4PMU_MSR_DEBUGCTLA][lp][0] =
            ctl & ~(P4PMU_DEBUGCTLA_LBR_MASK | P4PMU_DEBUGCTLA_TR_MASK);
    return traced(ctl, branch->cpl) ? p4pmu_bts_store(pmu, lp, branch) : P4PMU_DS_NOTHING;
}
