/*
 * From register values to words.
 *
 * The event text is the request that would give these values again: the inverse of sim/request.c
 * and sim/fit.c for all that a request can say.
 */
#include "words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct p4pmu_event_info *event_info(int event)
{
    return p4pmu_event((enum p4pmu_event)event);
}

/* Append to OUT; text that does not fit is cut. */
__attribute__((format(printf, 3, 4))) static void add(char *out, size_t size, const char *format,
                                                      ...)
{
    size_t used = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    if (used + 1 < size)
        vsnprintf(out + used, size - used, format, arguments);
    va_end(arguments);
}

int words_escr(const struct config_state *state, unsigned counter)
{
    return p4pmu_wired_escr(counter, P4PMU_GET(CCCR, ESCR_SELECT, state->cccr[counter]));
}

int words_escr_event(const struct config_state *state, const struct config *config, int escr)
{
    int event = escr == P4PMU_NONE
                    ? P4PMU_NONE
                    : p4pmu_event_by_code((enum p4pmu_escr)escr,
                                          P4PMU_GET(ESCR, EVENT_SELECT, state->escr[escr]));
    return event != P4PMU_NONE && (event_info(event)->models >> config->model & 1) ? event
                                                                                   : P4PMU_NONE;
}

/* ---- metrics -----------------------------------------------------------------------------------
 */

/* An ESCR of METRIC that holds its upstream event and mask, with one of TAGS if it takes tags. */
static int upstream_of(const struct config_state *state, const struct config *config,
                       const struct sim_metric *metric, unsigned tags)
{
    for (int i = 0; i < 2; i++) {
        int escr = metric->upstream_escrs[i];
        if (escr == P4PMU_NONE || words_escr_event(state, config, escr) != metric->upstream_event ||
            P4PMU_GET(ESCR, EVENT_MASK, state->escr[escr]) != metric->upstream_mask)
            continue;
        if (!tags || ((state->escr[escr] & P4PMU_ESCR_TAG_ENABLE_MASK) &&
                      (P4PMU_GET(ESCR, TAG_VALUE, state->escr[escr]) & tags)))
            return escr;
    }
    return P4PMU_NONE;
}

static bool is_metric(const struct config_state *state, const struct config *config,
                      const struct sim_metric *metric, unsigned mask, int *upstream)
{
    uint64_t pebs = P4PMU_PEBS_ENABLE_MY_THREAD_MASK | P4PMU_PEBS_ENABLE_OTHER_THREAD_MASK;
    bool execution = metric->mechanism == SIM_EXECUTION;
    if (execution ? (mask == 0 || mask > 8 || (mask & (mask - 1))) : mask != 1)
        return false;
    if (metric->mechanism == SIM_REPLAY && ((state->pebs_enable & ~pebs) != metric->pebs_enable ||
                                            state->pebs_matrix_vert != metric->pebs_matrix_vert))
        return false;
    *upstream = P4PMU_NONE;
    if (metric->upstream_event == P4PMU_NONE)
        return true;
    *upstream = upstream_of(state, config, metric, execution ? mask : 0);
    return *upstream != P4PMU_NONE;
}

const struct sim_metric *words_metric(const struct config_state *state, const struct config *config,
                                      unsigned counter, int *upstream)
{
    int escr = words_escr(state, counter), event = words_escr_event(state, config, escr);
    const struct sim_metric *metric, *found = NULL;
    int at;
    *upstream = P4PMU_NONE;
    if (event == P4PMU_NONE)
        return NULL;
    unsigned mask = P4PMU_GET(ESCR, EVENT_MASK, state->escr[escr]);
    for (size_t i = 0; (metric = sim_metric(i)); i++) {
        if ((int)sim_metric_downstream(metric) != event ||
            !is_metric(state, config, metric, mask, &at))
            continue;
        if (found)
            return NULL; /* two kinds of uop get the tag: no single metric */
        found = metric;
        *upstream = at;
    }
    return found;
}

/* ---- event text --------------------------------------------------------------------------------
 */

static void add_subevents(int event, unsigned mask, char *out, size_t size)
{
    const struct p4pmu_event_info *info = event_info(event);
    const char *before = ":";
    for (size_t i = 0; i < info->subevent_count; i++) {
        if (!(mask >> info->subevents[i].bit & 1))
            continue;
        add(out, size, "%s%s", before, info->subevents[i].name);
        mask &= ~(1u << info->subevents[i].bit);
        before = "+";
    }
    if (mask)
        add(out, size, "%s0x%X", before, mask);
}

static void add_level(uint32_t escr, char *out, size_t size)
{
    bool usr = escr & (P4PMU_ESCR_T0_USR_MASK | P4PMU_ESCR_T1_USR_MASK);
    bool os = escr & (P4PMU_ESCR_T0_OS_MASK | P4PMU_ESCR_T1_OS_MASK);
    if (usr != os)
        add(out, size, usr ? ":u" : ":k");
}

static void add_filter(uint32_t cccr, char *out, size_t size)
{
    unsigned threshold = P4PMU_GET(CCCR, THRESHOLD, cccr);
    if (!(cccr & P4PMU_CCCR_COMPARE_MASK))
        return;
    bool edge = cccr & P4PMU_CCCR_EDGE_MASK, complement = cccr & P4PMU_CCCR_COMPLEMENT_MASK;
    if (threshold || (!edge && !complement))
        add(out, size, ":t=%u", threshold);
    if (complement)
        add(out, size, ":cmpl");
    if (edge)
        add(out, size, ":e");
}

void words_event(const struct config_state *state, const struct config *config, unsigned counter,
                 char *out, size_t size)
{
    int escr = words_escr(state, counter), event = words_escr_event(state, config, escr), upstream;
    uint32_t cccr = (uint32_t)state->cccr[counter];
    out[0] = '\0';
    if (event == P4PMU_NONE) {
        add(out, size, "0x%08X/0x%08X@0x%X", cccr,
            escr == P4PMU_NONE ? 0 : (unsigned)state->escr[escr], counter);
        return;
    }
    uint32_t value = (uint32_t)state->escr[escr];
    const struct sim_metric *metric = words_metric(state, config, counter, &upstream);
    add(out, size, "%s", metric ? metric->name : event_info(event)->name);
    if (!metric)
        add_subevents(event, P4PMU_GET(ESCR, EVENT_MASK, value), out, size);
    add_level(value, out, size);
    add_filter(cccr, out, size);
    if (value & P4PMU_ESCR_TAG_ENABLE_MASK)
        add(out, size, ":tag=%u", P4PMU_GET(ESCR, TAG_VALUE, value));
}

/* ---- sentences ---------------------------------------------------------------------------------
 */

static const char *levels(bool usr, bool os)
{
    if (usr && os)
        return "any CPL";
    return usr ? "CPL 1 to 3" : "CPL 0";
}

static void thread_specific(uint32_t escr, char *out, size_t size)
{
    bool u0 = escr & P4PMU_ESCR_T0_USR_MASK, o0 = escr & P4PMU_ESCR_T0_OS_MASK;
    bool u1 = escr & P4PMU_ESCR_T1_USR_MASK, o1 = escr & P4PMU_ESCR_T1_OS_MASK;
    if (u0 == u1 && o0 == o1) {
        add(out, size, "of both logical processors at %s", levels(u0, o0));
        return;
    }
    if (u0 || o0)
        add(out, size, "of logical processor 0 at %s", levels(u0, o0));
    if (u1 || o1)
        add(out, size, "%sof logical processor 1 at %s", u0 || o0 ? " and " : "", levels(u1, o1));
}

void words_who(uint32_t escr, const struct config *config, int event, char *out, size_t size)
{
    uint32_t usr = P4PMU_ESCR_T0_USR_MASK, os = P4PMU_ESCR_T0_OS_MASK;
    out[0] = '\0';
    if (config->hyper_threading) {
        usr |= P4PMU_ESCR_T1_USR_MASK;
        os |= P4PMU_ESCR_T1_OS_MASK;
    }
    if (!(escr & (usr | os)))
        add(out, size, "at no privilege level");
    else if (!config->hyper_threading)
        add(out, size, "at %s", levels(escr & usr, escr & os));
    else if (event != P4PMU_NONE && event_info(event)->thread == P4PMU_TI)
        add(out, size, "while either logical processor is at %s", levels(escr & usr, escr & os));
    else
        thread_specific(escr, out, size);
}

void words_filter(uint32_t cccr, char *out, size_t size)
{
    unsigned threshold = P4PMU_GET(CCCR, THRESHOLD, cccr);
    out[0] = '\0';
    if (!(cccr & P4PMU_CCCR_COMPARE_MASK))
        return;
    if (cccr & P4PMU_CCCR_COMPLEMENT_MASK)
        add(out, size, threshold == 15 ? "always" : "%u or fewer", threshold);
    else
        add(out, size, "more than %u", threshold);
    if (cccr & P4PMU_CCCR_EDGE_MASK)
        add(out, size, ", rising edge");
}

const char *words_active(uint32_t cccr)
{
    static const char *const text[] = {
        "while no logical processor is active", "while exactly one logical processor is active",
        "while both logical processors are active", "while any logical processor is active"};
    return text[P4PMU_GET(CCCR, ACTIVE_THREAD, cccr)];
}

static void add_what(int event, unsigned mask, const struct sim_metric *metric, char *out,
                     size_t size)
{
    const struct p4pmu_event_info *info = event_info(event);
    const char *before = " (";
    if (metric) {
        add(out, size, "%s", metric->description);
        return;
    }
    add(out, size, "%s", info->description);
    for (size_t i = 0; i < info->subevent_count; i++) {
        if (!(mask >> info->subevents[i].bit & 1))
            continue;
        add(out, size, "%s%s", before, info->subevents[i].description);
        before = "; ";
    }
    if (before[0] == ';')
        add(out, size, ")");
}

static void add_measure(uint32_t cccr, char *out, size_t size)
{
    unsigned threshold = P4PMU_GET(CCCR, THRESHOLD, cccr);
    bool complement = cccr & P4PMU_CCCR_COMPLEMENT_MASK, edge = cccr & P4PMU_CCCR_EDGE_MASK;
    if (!(cccr & P4PMU_CCCR_COMPARE_MASK))
        return;
    add(out, size, edge ? "how often a clock begins that has " : "clocks with ");
    if (complement)
        add(out, size, "%u or fewer of: ", threshold);
    else
        add(out, size, "more than %u of: ", threshold);
}

void words_sentence(const struct config_state *state, const struct config *config, unsigned counter,
                    char *out, size_t size)
{
    int escr = words_escr(state, counter), event = words_escr_event(state, config, escr), upstream;
    uint32_t cccr = (uint32_t)state->cccr[counter];
    uint32_t always =
        P4PMU_CCCR_COMPARE_MASK | P4PMU_CCCR_COMPLEMENT_MASK | P4PMU_CCCR_THRESHOLD_MASK;
    char who[120];
    out[0] = '\0';
    if (escr != P4PMU_NONE && P4PMU_GET(ESCR, EVENT_SELECT, state->escr[escr]) &&
        (cccr & always) == always) {
        add(out, size, "clocks in which the processor is powered, whatever the event and the CPL");
        return;
    }
    if (event == P4PMU_NONE) {
        add(out, size, "nothing that is documented");
        return;
    }
    uint32_t value = (uint32_t)state->escr[escr];
    add_measure(cccr, out, size);
    add_what(event, P4PMU_GET(ESCR, EVENT_MASK, value),
             words_metric(state, config, counter, &upstream), out, size);
    words_who(value, config, event, who, sizeof who);
    add(out, size, ", %s", who);
    if (config->hyper_threading && P4PMU_GET(CCCR, ACTIVE_THREAD, cccr) != 3)
        add(out, size, ", %s", words_active(cccr));
    if (!(cccr & P4PMU_CCCR_ENABLE_MASK))
        add(out, size, ", once a cascade has started it");
}

void words_count(const struct config_state *state, const struct config *config, unsigned counter,
                 char *out, size_t size)
{
    words_event(state, config, counter, out, size);
    add(out, size, ": ");
    size_t used = strlen(out);
    if (used < size)
        words_sentence(state, config, counter, out + used, size - used);
}
