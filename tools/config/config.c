/*
 * A list of MSR writes, and what the hardware holds after them.
 *
 * The writes are done one after another by logical processor 0 at CPL 0 on a fresh PMU of the part,
 * so what is stored, ignored or refused is the library's answer and not a second set of rules.
 *
 * Not modelled: writes by logical processor 1 (IA32_PEBS_ENABLE, IA32_DS_AREA and MSR_DEBUGCTLA are
 * its own there).
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

enum { MSR_PEBS_ENABLE = 0x3F1, MSR_PEBS_MATRIX_VERT = 0x3F2 };
/* For a stepping that is not known: late enough for every rule that begins with one. */
enum { SOME_STEPPING = 7 };

bool config_add(struct config *config, uint32_t msr, uint64_t value, unsigned line,
                const char *text)
{
    if (config->count == CONFIG_WRITES)
        return false;
    struct config_write *w = &config->write[config->count++];
    *w = (struct config_write){.msr = msr, .value = value, .line = line};
    snprintf(w->text, sizeof w->text, "%s", text ? text : "");
    return true;
}

static uint64_t read_back(struct p4pmu *pmu, uint32_t msr)
{
    uint64_t value = 0;
    p4pmu_rdmsr(pmu, 0, msr, &value);
    return value;
}

static void take_state(struct p4pmu *pmu, struct config_state *state)
{
    for (int e = 0; e < P4PMU_ESCRS; e++)
        state->escr[e] = read_back(pmu, p4pmu_escr((enum p4pmu_escr)e)->msr);
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        state->cccr[i] = read_back(pmu, p4pmu_counter(i)->cccr_msr);
        state->counter[i] = read_back(pmu, p4pmu_counter(i)->msr);
    }
    state->pebs_enable = read_back(pmu, MSR_PEBS_ENABLE);
    state->pebs_matrix_vert = read_back(pmu, MSR_PEBS_MATRIX_VERT);
}

bool config_apply(const struct config *config, struct config_state *state)
{
    struct p4pmu *pmu = p4pmu_new(
        &(struct p4pmu_config){.model = config->model,
                               .stepping = config->stepping ? config->stepping : SOME_STEPPING,
                               .hyper_threading = config->hyper_threading});
    memset(state, 0, sizeof *state);
    if (!pmu)
        return false;
    for (size_t i = 0; i < config->count; i++) {
        const struct config_write *w = &config->write[i];
        state->fault[i] = p4pmu_wrmsr(pmu, 0, w->msr, w->value, &state->stored[i]);
    }
    take_state(pmu, state);
    p4pmu_free(pmu);
    return true;
}
