/*
 * From wishes to MSR writes: sim/fit.h chooses, this spells the choice as software would write it:
 * tagging registers, ESCRs, presets of counters, and the CCCRs with ENABLE last.
 *
 * A dialect may set bits no request knows (the thread bits of libpfm4, the cascade of FreeBSD).
 * They are added after the choice; two wishes that share an ESCR must then agree on them.
 */
#include "dialect.h"

#include <string.h>

enum { PEBS_ENABLE = 0x3F1, PEBS_MATRIX_VERT = 0x3F2, SOME_STEPPING = 7 };

/* A stepping that is not known is taken to be late enough for every rule (from F27H on both FSB
 * ESCRs detect IOQ_allocation). */
unsigned dialect_signature(const struct config *config)
{
    return config->model << 4 | (config->stepping ? config->stepping : SOME_STEPPING);
}

struct dialect_wish *dialect_wish(struct dialect_wishes *wishes, const struct config *config,
                                  enum p4pmu_event event, const char *text, unsigned line,
                                  char error[512])
{
    const struct p4pmu_event_info *info = p4pmu_event(event);
    char probe[80], why[512];
    if (wishes->count == SIM_FIT_MAX) {
        dialect_error(error, line, "more than %d events; there are %d counters", SIM_FIT_MAX,
                      SIM_FIT_MAX);
        return NULL;
    }
    struct dialect_wish *w = &wishes->wish[wishes->count];
    memset(w, 0, sizeof *w);
    snprintf(probe, sizeof probe, "%s:0x1", info->name);
    if (!sim_request_parse(probe, dialect_signature(config), &w->request, why)) {
        dialect_error(error, line, "%s", why);
        return NULL;
    }
    snprintf(w->request.text, sizeof w->request.text, "%s", text);
    w->request.mask = 0;
    w->request.usr = w->request.os = false;
    w->line = line;
    wishes->count++;
    return w;
}

bool dialect_replay(struct dialect_wishes *wishes, const struct sim_metric *metric, unsigned line,
                    char error[512])
{
    struct sim_replay_registers *r = &wishes->replay;
    if (r->given &&
        (r->pebs_enable != metric->pebs_enable || r->pebs_matrix_vert != metric->pebs_matrix_vert))
        return dialect_error(error, line,
                             "%s needs IA32_PEBS_ENABLE 0x%llX and MSR_PEBS_MATRIX_VERT 0x%llX, an "
                             "earlier event needs 0x%llX and 0x%llX; there is one of each",
                             metric->name, (unsigned long long)metric->pebs_enable,
                             (unsigned long long)metric->pebs_matrix_vert,
                             (unsigned long long)r->pebs_enable,
                             (unsigned long long)r->pebs_matrix_vert);
    *r = (struct sim_replay_registers){true, metric->pebs_enable, metric->pebs_matrix_vert};
    return true;
}

/* ---- the writes --------------------------------------------------------------------------------
 */

struct writer {
    struct config *config;
    char *error;
    bool written[P4PMU_ESCRS];
    uint32_t value[P4PMU_ESCRS];
};

static bool add(struct writer *w, uint32_t msr, uint64_t value, unsigned line, const char *text)
{
    if (config_add(w->config, msr, value, line, text))
        return true;
    return dialect_error(w->error, line, "more than %d MSR writes", CONFIG_WRITES);
}

static bool add_escr(struct writer *w, int escr, uint32_t value, unsigned line, const char *text)
{
    const struct p4pmu_escr_info *info = p4pmu_escr((enum p4pmu_escr)escr);
    if (w->written[escr] && w->value[escr] != value)
        return dialect_error(w->error, line,
                             "'%s' and another event share %s but want it as 0x%08X "
                             "and 0x%08X",
                             text, info->name, (unsigned)value, (unsigned)w->value[escr]);
    if (w->written[escr])
        return true;
    w->written[escr] = true;
    w->value[escr] = value;
    return add(w, info->msr, value, line, text);
}

static bool add_escrs(struct writer *w, const struct dialect_wishes *wishes,
                      const struct sim_plan *plan)
{
    for (size_t i = 0; i < plan->upstream_count; i++) {
        if (!add_escr(w, plan->upstream[i].escr, plan->upstream[i].escr_value, 0, "tags"))
            return false;
    }
    for (size_t i = 0; i < plan->count; i++) {
        const struct dialect_wish *wish = &wishes->wish[i];
        if (!add_escr(w, plan->slots[i].escr, plan->slots[i].escr_value | wish->escr_set,
                      wish->line, wish->request.text))
            return false;
    }
    return true;
}

static bool add_cccrs(struct writer *w, const struct dialect_wishes *wishes,
                      const struct sim_plan *plan)
{
    for (size_t i = 0; i < plan->upstream_count; i++) {
        const struct sim_slot *s = &plan->upstream[i];
        if (s->counter != P4PMU_NONE && !add(w, p4pmu_counter((unsigned)s->counter)->cccr_msr,
                                             s->cccr_value, 0, "keeps the ESCR awake"))
            return false;
    }
    for (size_t i = 0; i < plan->count; i++) {
        const struct dialect_wish *wish = &wishes->wish[i];
        const struct p4pmu_counter_info *counter = p4pmu_counter((unsigned)plan->slots[i].counter);
        if (wish->preset && !add(w, counter->msr, wish->preset, wish->line, wish->request.text))
            return false;
        if (!add(w, counter->cccr_msr,
                 (plan->slots[i].cccr_value & ~wish->cccr_clear) | wish->cccr_set, wish->line,
                 wish->request.text))
            return false;
    }
    return true;
}

bool dialect_place(struct dialect_wishes *wishes, struct config *config, char error[512])
{
    struct sim_request requests[SIM_FIT_MAX];
    struct sim_plan plan;
    struct sim_conflict conflict;
    struct writer w = {.config = config, .error = error};
    for (size_t i = 0; i < wishes->count; i++)
        requests[i] = wishes->wish[i].request;
    if (!sim_fit_around(requests, wishes->count, &wishes->replay, wishes->reserved, &plan,
                        &conflict)) {
        size_t last = conflict.requests[conflict.count ? conflict.count - 1 : 0];
        return dialect_error(error, wishes->wish[last].line, "%s", conflict.text);
    }
    if (plan.replay_tagging &&
        (!add(&w, PEBS_ENABLE, plan.pebs_enable, 0, "replay tagging") ||
         !add(&w, PEBS_MATRIX_VERT, plan.pebs_matrix_vert, 0, "replay tagging")))
        return false;
    return add_escrs(&w, wishes, &plan) && add_cccrs(&w, wishes, &plan);
}
