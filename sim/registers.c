/*
 * The program's own accesses to the clock and the monitoring hardware; see registers.h.
 *
 * Whether an instruction may do it follows from CPL and CR4 (SDM volume 2): RDMSR and WRMSR only at
 * CPL 0, RDPMC at any CPL while CR4.PCE is 1. p4sim is a laboratory: unless it is told to be
 * strict, a program's accesses are those of CPL 0. The driver of /dev/cpu/N/msr always runs there.
 */
#include "registers.h"
#include "spread.h"

#include <stdio.h>

static const char *name_of(const struct trace_register_access *access)
{
    static const char *const names[] = {[TRACE_RDTSC] = "RDTSC",
                                        [TRACE_RDPMC] = "RDPMC",
                                        [TRACE_RDMSR] = "RDMSR",
                                        [TRACE_WRMSR] = "WRMSR"};

    return names[access->what];
}

/* The first #GP in words: the program may only see a signal. */
static void note_fault(struct sim_registers *r, const struct trace_register_access *access,
                       enum p4pmu_fault fault)
{
    char place[64] = "";

    r->accesses.faults++;
    if (r->accesses.first_fault[0])
        return;
    if (access->what == TRACE_WRMSR)
        snprintf(place, sizeof place, " with the value 0x%llX", (unsigned long long)access->value);
    snprintf(r->accesses.first_fault, sizeof r->accesses.first_fault,
             "%s of %s 0x%X%s at 0x%llx%s: %s", name_of(access),
             access->what == TRACE_RDPMC ? "counter" : "MSR", (unsigned)access->index, place,
             (unsigned long long)access->ip, access->by_driver ? ", through /dev/cpu/N/msr" : "",
             p4pmu_fault_text(fault));
}

static enum p4pmu_fault read_counter(struct sim_registers *r, unsigned lp,
                                     struct trace_register_access *access)
{
    uint32_t eax = 0, edx = 0;
    enum p4pmu_fault fault = p4pmu_rdpmc(r->pmu, lp, access->index, &eax, &edx);

    if (fault == P4PMU_OK)
        access->value = (uint64_t)edx << 32 | eax;
    return fault;
}

static enum p4pmu_fault perform(struct sim_registers *r, unsigned lp,
                                struct trace_register_access *access)
{
    switch (access->what) {
    case TRACE_RDTSC:
        return p4pmu_rdtsc(r->pmu, lp, &access->value);
    case TRACE_RDPMC:
        return read_counter(r, lp, access);
    case TRACE_RDMSR:
        return p4pmu_rdmsr(r->pmu, lp, access->index, &access->value);
    default:
        if (access->ask)
            return p4pmu_wrmsr_fault(r->pmu, lp, access->index, access->value);
        return p4pmu_wrmsr(r->pmu, lp, access->index, access->value, NULL);
    }
}

static unsigned lp_of(const struct sim_registers *r, const struct trace_register_access *access)
{
    return r->spread ? sim_spread_lp(access->thread) : r->lp;
}

bool sim_registers_access(void *context, struct trace_register_access *access)
{
    struct sim_registers *r = context;
    unsigned lp = access->by_driver ? access->logical_processor : lp_of(r, access);
    bool strict = r->rules.strict && !access->by_driver, before_pce;
    unsigned before = p4pmu_cpl(r->pmu, lp, &before_pce);
    enum p4pmu_fault fault;

    p4pmu_privilege(r->pmu, lp, strict ? 3 : 0, r->rules.rdpmc_granted);
    fault = perform(r, lp, access);
    p4pmu_privilege(r->pmu, lp, before, before_pce);
    if (fault != P4PMU_OK)
        note_fault(r, access, fault);
    else if (!access->ask)
        r->accesses.count[access->what]++;
    if (fault == P4PMU_OK && access->what == TRACE_WRMSR && !access->ask && r->written)
        r->written(r->context);
    return fault == P4PMU_OK;
}
