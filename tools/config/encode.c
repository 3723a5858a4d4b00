/*
 * From event names to every MSR write they need.
 *
 * The order is the manual's (SDM volume 3, 18.15.5): what tags first, then the ESCRs, the counters'
 * start values, and the CCCRs with ENABLE last, so that nothing counts before all is set.
 */
#define _GNU_SOURCE
#include "encode.h"
#include "words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MSR_PEBS_ENABLE = 0x3F1, MSR_PEBS_MATRIX_VERT = 0x3F2, SOME_STEPPING = 7 };

__attribute__((format(printf, 2, 3))) static bool fail(char error[512], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, 512, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- requests ----------------------------------------------------------------------------------
 */

static bool add_request(struct encoding *e, const struct config *config, const char *letter,
                        const char *text, char error[512])
{
    unsigned stepping = config->stepping ? config->stepping : SOME_STEPPING;
    if (e->count == SIM_FIT_MAX)
        return fail(error, "more than %d events; there are %d counters", SIM_FIT_MAX, SIM_FIT_MAX);
    if (!sim_request_parse(text, config->model << 4 | stepping, &e->request[e->count], error))
        return false;
    snprintf(e->letter[e->count++], sizeof e->letter[0], "%s", letter);
    return true;
}

static bool add_metric(struct encoding *e, const struct config *config,
                       const struct metric_row *metric, char error[512])
{
    struct metric_term term;
    if (!(metric->models >> config->model & 1))
        return fail(error, "%s is not for model %u: %s", metric->name, config->model,
                    metric->description);
    if (metric->pebs_enable) {
        if (e->replay.given && (e->replay.pebs_enable != metric->pebs_enable ||
                                e->replay.pebs_matrix_vert != metric->pebs_matrix_vert))
            return fail(error, "%s needs IA32_PEBS_ENABLE 0x%llX, and an earlier metric 0x%llX",
                        metric->name, (unsigned long long)metric->pebs_enable,
                        (unsigned long long)e->replay.pebs_enable);
        e->replay =
            (struct sim_replay_registers){true, metric->pebs_enable, metric->pebs_matrix_vert};
    }
    for (const char *at = metric->terms; metric_next_term(&at, &term);) {
        if (!add_request(e, config, term.letter, term.event, error))
            return false;
    }
    return true;
}

static bool unknown(const char *text, char error[512])
{
    const char *names[200];
    char near[160];
    size_t count = 0, used = strlen(error);
    for (size_t i = 0; metric_row(i) && count < 200; i++)
        names[count++] = metric_row(i)->name;
    sim_near(text, names, count, near, sizeof near);
    if (near[0] && strstr(error, "unknown event"))
        snprintf(error + used, 512 - used, "; or did you mean the metric%s?", near);
    return false;
}

/* Names that events and tagged metrics have themselves: uops_retired, DTLB_load_miss_retired. */
static bool counts_itself(const char *name)
{
    for (size_t i = 0; sim_metric(i); i++) {
        if (!strcasecmp(name, sim_metric(i)->name))
            return true;
    }
    return p4pmu_event_by_name(name) != P4PMU_NONE;
}

const struct metric_row *encode_metric(const char *name)
{
    return counts_itself(name) ? NULL : metric_by_name(name);
}

bool encode_add(struct encoding *encoding, const struct config *config, const char *text,
                char error[512])
{
    char name[160];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    const struct metric_row *metric = encode_metric(name);
    if (!metric)
        return add_request(encoding, config, "", text, error) || unknown(text, error);
    if (strchr(text, ':'))
        return fail(error, "%s is a named metric and takes no modifiers; its terms: %.300s",
                    metric->name, metric->terms);
    return add_metric(encoding, config, metric, error);
}

/* ---- writes ------------------------------------------------------------------------------------
 */

struct writer {
    struct config *config;
    bool full;
    uint64_t escrs; /* written */
};

static void write_msr(struct writer *w, uint32_t msr, uint64_t value, const char *text)
{
    w->full = !config_add(w->config, msr, value, 0, text) || w->full;
}

/* With Hyper-Threading a thread-independent event has the bits of both threads. */
static uint32_t for_threads(const struct config *config, int escr, uint32_t value)
{
    int event = p4pmu_event_by_code((enum p4pmu_escr)escr, P4PMU_GET(ESCR, EVENT_SELECT, value));
    if (!config->hyper_threading || event == P4PMU_NONE ||
        p4pmu_event((enum p4pmu_event)event)->thread != P4PMU_TI)
        return value;
    return value | P4PMU_PUT(ESCR, T1_USR, 0u, P4PMU_GET(ESCR, T0_USR, value)) |
           P4PMU_PUT(ESCR, T1_OS, 0u, P4PMU_GET(ESCR, T0_OS, value));
}

static void write_escr(struct writer *w, const struct sim_slot *slot, const char *text)
{
    if (w->escrs >> slot->escr & 1)
        return;
    w->escrs |= UINT64_C(1) << slot->escr;
    write_msr(w, p4pmu_escr((enum p4pmu_escr)slot->escr)->msr,
              for_threads(w->config, slot->escr, slot->escr_value), text);
}

static void write_counters(struct writer *w, const struct encoding *e, bool cccr)
{
    for (size_t i = 0; i < e->plan.upstream_count + e->plan.count; i++) {
        bool upstream = i < e->plan.upstream_count;
        const struct sim_slot *slot =
            upstream ? &e->plan.upstream[i] : &e->plan.slots[i - e->plan.upstream_count];
        const char *text = upstream ? "keeps the tagging ESCR powered"
                                    : e->request[i - e->plan.upstream_count].text;
        if (slot->counter == P4PMU_NONE)
            continue;
        const struct p4pmu_counter_info *info = p4pmu_counter((unsigned)slot->counter);
        write_msr(w, cccr ? info->cccr_msr : info->msr, cccr ? slot->cccr_value : 0, text);
    }
}

bool encode_place(struct encoding *encoding, struct config *config, char error[512])
{
    struct sim_conflict conflict;
    struct sim_plan *plan = &encoding->plan;
    struct writer w = {.config = config};
    if (!sim_fit(encoding->request, encoding->count, &encoding->replay, plan, &conflict))
        return fail(error, "%s", conflict.text);
    if (plan->replay_tagging) {
        write_msr(&w, MSR_PEBS_MATRIX_VERT, plan->pebs_matrix_vert, "uops that can be tagged");
        write_msr(&w, MSR_PEBS_ENABLE, plan->pebs_enable, "replays that tag");
    }
    for (size_t i = 0; i < plan->upstream_count; i++)
        write_escr(&w, &plan->upstream[i], "tags upstream");
    for (size_t i = 0; i < plan->count; i++)
        write_escr(&w, &plan->slots[i], encoding->request[i].text);
    write_counters(&w, encoding, false);
    write_counters(&w, encoding, true);
    return !w.full || fail(error, "more than %d writes", CONFIG_WRITES);
}
