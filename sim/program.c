/*
 * Programming the monitoring hardware as software does: by WRMSR, and reading it by RDPMC.
 *
 * The order is the manual's (SDM volume 3, 18.15.5): what tags first, then the ESCRs, then the
 * counters' start values, and the CCCRs with ENABLE last, so that nothing counts before all is set.
 */
#include "fit.h"

#include <stdio.h>

enum { MSR_IA32_PEBS_ENABLE = 0x3F1, MSR_PEBS_MATRIX_VERT = 0x3F2 };

static bool write_msr(struct p4pmu *pmu, const char *name, uint32_t msr, uint64_t value,
                      char error[512])
{
    enum p4pmu_fault fault = p4pmu_wrmsr(pmu, 0, msr, value, NULL);
    if (fault == P4PMU_OK)
        return true;
    snprintf(error, 512, "writing 0x%llX to %s (MSR 0x%X): %s", (unsigned long long)value, name,
             (unsigned)msr, p4pmu_fault_text(fault));
    return false;
}

static bool write_escr(struct p4pmu *pmu, const struct sim_slot *slot, char error[512])
{
    const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)slot->escr);
    return write_msr(pmu, escr->name, escr->msr, slot->escr_value, error);
}

static bool write_counter(struct p4pmu *pmu, const struct sim_slot *slot, char error[512])
{
    if (slot->counter == P4PMU_NONE)
        return true;
    const struct p4pmu_counter_info *counter = p4pmu_counter((unsigned)slot->counter);
    return write_msr(pmu, counter->name, counter->msr, 0, error);
}

static bool write_cccr(struct p4pmu *pmu, const struct sim_slot *slot, char error[512])
{
    if (slot->counter == P4PMU_NONE)
        return true;
    const struct p4pmu_counter_info *counter = p4pmu_counter((unsigned)slot->counter);
    return write_msr(pmu, counter->cccr_name, counter->cccr_msr, slot->cccr_value, error);
}

typedef bool write_slot(struct p4pmu *pmu, const struct sim_slot *slot, char error[512]);

static bool for_each_slot(struct p4pmu *pmu, const struct sim_plan *plan, write_slot *write,
                          char error[512])
{
    for (size_t i = 0; i < plan->upstream_count; i++) {
        if (!write(pmu, &plan->upstream[i], error))
            return false;
    }
    for (size_t i = 0; i < plan->count; i++) {
        if (!write(pmu, &plan->slots[i], error))
            return false;
    }
    return true;
}

bool sim_program(struct p4pmu *pmu, const struct sim_plan *plan, char error[512])
{
    if (plan->replay_tagging &&
        (!write_msr(pmu, "MSR_PEBS_MATRIX_VERT", MSR_PEBS_MATRIX_VERT, plan->pebs_matrix_vert,
                    error) ||
         !write_msr(pmu, "IA32_PEBS_ENABLE", MSR_IA32_PEBS_ENABLE, plan->pebs_enable, error)))
        return false;
    return for_each_slot(pmu, plan, write_escr, error) &&
           for_each_slot(pmu, plan, write_counter, error) &&
           for_each_slot(pmu, plan, write_cccr, error);
}

static bool disable_cccr(struct p4pmu *pmu, const struct sim_slot *slot, char error[512])
{
    if (slot->counter == P4PMU_NONE)
        return true;
    const struct p4pmu_counter_info *counter = p4pmu_counter((unsigned)slot->counter);
    return write_msr(pmu, counter->cccr_name, counter->cccr_msr,
                     slot->cccr_value & ~P4PMU_CCCR_ENABLE_MASK, error);
}

bool sim_halt(struct p4pmu *pmu, const struct sim_plan *plan, char error[512])
{
    return for_each_slot(pmu, plan, disable_cccr, error);
}

bool sim_read(struct p4pmu *pmu, const struct sim_slot *slot, uint64_t *count, char error[512])
{
    uint32_t eax, edx;
    enum p4pmu_fault fault = p4pmu_rdpmc(pmu, 0, (uint32_t)slot->counter, &eax, &edx);
    if (fault != P4PMU_OK) {
        snprintf(error, 512, "RDPMC of counter %d: %s", slot->counter, p4pmu_fault_text(fault));
        return false;
    }
    *count = (uint64_t)edx << 32 | eax;
    return true;
}
