/*
 * Reading an event as people write it.
 *
 * Parts are separated by colons: first the name, then sub-events (joined by + or in parts of their
 * own) and modifiers in any order. The names are the manual's, those of other tools are aliases of
 * the same rows. What a request leaves open (ESCR, counter) is chosen in fit.c.
 *
 * Modifiers: u k uk (CPL 1-3, CPL 0; both when none is given), t=N or thr=N (COMPARE with THRESHOLD
 * N: clocks with more than N), cmpl (N or fewer), e or edge (rising edges of that), c=N (counter
 * N), tag=N (TAG_ENABLE with TAG_VALUE N), t0 t1 (facts of that logical processor), a=none, single,
 * both or any (while so many are active).
 */
#define _GNU_SOURCE
#include "request.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NONE P4PMU_NONE
/* "NONE" in the upstream columns of metrics.def: no event, no ESCR. */
enum { P4PMU_EV_NONE = P4PMU_NONE, P4PMU_ESCR_NONE = P4PMU_NONE };

static const struct sim_metric metrics[] = {
#define SIM_METRIC(name, mechanism, event, mask, escr0, escr1, enable, matrix, text, source)       \
    {#name,                                                                                        \
     SIM_##mechanism,                                                                              \
     P4PMU_EV_##event,                                                                             \
     mask,                                                                                         \
     {P4PMU_ESCR_##escr0, P4PMU_ESCR_##escr1},                                                     \
     enable,                                                                                       \
     matrix,                                                                                       \
     text,                                                                                         \
     source},
#include "metrics.def"
#undef SIM_METRIC
};

static const struct {
    enum p4pmu_event event;
    unsigned mask;
} defaults[] = {
#define SIM_DEFAULT(event, mask, text) {P4PMU_EV_##event, mask},
#include "defaults.def"
#undef SIM_DEFAULT
};

const struct sim_metric *sim_metric(size_t index)
{
    return index < sizeof metrics / sizeof metrics[0] ? &metrics[index] : NULL;
}

enum p4pmu_event sim_metric_downstream(const struct sim_metric *metric)
{
    switch (metric->mechanism) {
    case SIM_REPLAY:
        return P4PMU_EV_replay_event;
    case SIM_FRONT_END:
        return P4PMU_EV_front_end_event;
    default:
        return P4PMU_EV_execution_event;
    }
}

__attribute__((format(printf, 2, 3))) static bool fail(char error[512], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, 512, format, arguments);
    va_end(arguments);
    return false;
}

static bool whole_number(const char *text, int base, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, base);
    return isxdigit((unsigned char)text[0]) && *end == '\0' && errno == 0;
}

/* ---- the raw form ------------------------------------------------------------------------------
 */

static bool is_raw(const char *text)
{
    return strchr(text, '/') && strchr(text, '@');
}

static bool raw_number(const char *text, const char *what, uint64_t limit, uint64_t *value,
                       char error[512])
{
    const char *digits = strncasecmp(text, "0x", 2) ? text : text + 2;
    if (!whole_number(digits, 16, value))
        return fail(error,
                    "'%.60s' is not a hexadecimal %s; expected CCCR/ESCR@COUNTER as in "
                    "0x0003B000/0x12000204@0x8000000C",
                    text, what);
    if (*value > limit)
        return fail(error, "%s %s is too large; the largest is 0x%llX", what, text,
                    (unsigned long long)limit);
    return true;
}

static void take_fields(struct sim_request *r, uint32_t cccr, uint32_t escr)
{
    r->mask = (escr & P4PMU_ESCR_EVENT_MASK_MASK) >> P4PMU_ESCR_EVENT_MASK_SHIFT;
    r->usr = escr & P4PMU_ESCR_T0_USR_MASK;
    r->os = escr & P4PMU_ESCR_T0_OS_MASK;
    r->lps = (r->usr || r->os) | (escr & (P4PMU_ESCR_T1_USR_MASK | P4PMU_ESCR_T1_OS_MASK) ? 2u : 0);
    r->tag_enable = escr & P4PMU_ESCR_TAG_ENABLE_MASK;
    r->tag_value = (escr & P4PMU_ESCR_TAG_VALUE_MASK) >> P4PMU_ESCR_TAG_VALUE_SHIFT;
    r->compare = cccr & P4PMU_CCCR_COMPARE_MASK;
    r->complement = cccr & P4PMU_CCCR_COMPLEMENT_MASK;
    r->edge = cccr & P4PMU_CCCR_EDGE_MASK;
    r->threshold = (cccr & P4PMU_CCCR_THRESHOLD_MASK) >> P4PMU_CCCR_THRESHOLD_SHIFT;
}

/* CCCR/ESCR@COUNTER: bit 31 of COUNTER is RDPMC's fast read and means nothing here. */
static bool parse_raw(char *text, struct sim_request *r, char error[512])
{
    char *escr_text = strchr(text, '/'), *counter_text = strchr(text, '@');
    uint64_t cccr, escr, counter;
    if (escr_text > counter_text)
        return fail(error, "'%.100s' is not CCCR/ESCR@COUNTER", text);
    *escr_text++ = '\0';
    *counter_text++ = '\0';
    if (!raw_number(text, "CCCR", UINT32_MAX, &cccr, error) ||
        !raw_number(escr_text, "ESCR", UINT32_MAX, &escr, error) ||
        !raw_number(counter_text, "counter", UINT32_MAX, &counter, error))
        return false;
    counter &= 0x7FFFFFFF;
    if (counter >= P4PMU_COUNTERS)
        return fail(error, "there is no counter 0x%llX; counters are 0 to 0x%X",
                    (unsigned long long)counter, P4PMU_COUNTERS - 1);
    unsigned select =
        (unsigned)((cccr & P4PMU_CCCR_ESCR_SELECT_MASK) >> P4PMU_CCCR_ESCR_SELECT_SHIFT);
    r->raw = true;
    r->counter = (int)counter;
    r->raw_escr = p4pmu_wired_escr((unsigned)counter, select);
    if (r->raw_escr == NONE)
        return fail(error, "ESCR_SELECT %u of CCCR 0x%08llX reaches no ESCR from counter %d (%s)",
                    select, (unsigned long long)cccr, r->counter,
                    p4pmu_counter((unsigned)counter)->name);
    r->raw_cccr_value = (uint32_t)cccr;
    r->raw_escr_value = (uint32_t)escr;
    r->event = p4pmu_event_by_code((enum p4pmu_escr)r->raw_escr,
                                   P4PMU_GET(ESCR, EVENT_SELECT, r->raw_escr_value));
    r->escrs[0] = r->raw_escr;
    take_fields(r, r->raw_cccr_value, r->raw_escr_value);
    return true;
}

/* ---- names -------------------------------------------------------------------------------------
 */

static const struct sim_metric *metric_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        if (!strcasecmp(metrics[i].name, name))
            return &metrics[i];
    }
    return NULL;
}

static bool unknown_event(const char *name, char error[512])
{
    const char *names[P4PMU_EVENTS + sizeof metrics / sizeof metrics[0]];
    size_t count = 0;
    char near[200];
    for (int e = 0; e < P4PMU_EVENTS; e++)
        names[count++] = p4pmu_event((enum p4pmu_event)e)->name;
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        names[count++] = metrics[i].name;
    sim_near(name, names, count, near, sizeof near);
    if (near[0])
        return fail(error, "unknown event '%.80s'; did you mean%s?", name, near);
    return fail(error, "unknown event '%.80s'; 'p4sim list' shows all events", name);
}

static void models_text(unsigned models, char *out, size_t size)
{
    int used = 0;
    out[0] = '\0';
    for (unsigned m = 0; m < 32 && used >= 0 && (size_t)used < size; m++) {
        if (models & 1u << m)
            used += snprintf(out + used, size - (size_t)used, "%s%u", used ? ", " : "", m);
    }
}

/* Before signature F27H only FSB_ESCR0 detects IOQ_allocation (SDM3 table 19-28). */
static void take_escrs(struct sim_request *r, unsigned signature)
{
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)r->event);
    r->escrs[0] = info->escrs[0];
    r->escrs[1] = info->escrs[1];
    if (r->event == P4PMU_EV_IOQ_allocation && signature < 0x27)
        r->escrs[1] = NONE;
}

static bool take_name(const char *name, unsigned signature, struct sim_request *r, char error[512])
{
    unsigned model = signature >> 4;
    r->metric = metric_by_name(name);
    r->event = r->metric ? (int)sim_metric_downstream(r->metric) : p4pmu_event_by_name(name);
    if (r->event == NONE)
        return unknown_event(name, error);
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)r->event);
    if (!(info->models & 1u << model)) {
        char models[64];
        models_text(info->models, models, sizeof models);
        return fail(error, "%s does not exist on family 15 model %u; models %s have it", info->name,
                    model, models);
    }
    take_escrs(r, signature);
    return true;
}

/* ---- sub-events --------------------------------------------------------------------------------
 */

static void subevent_names(const struct p4pmu_event_info *info, char *out, size_t size)
{
    int used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < info->subevent_count && used >= 0 && (size_t)used < size; i++)
        used += snprintf(out + used, size - (size_t)used, "%s%s", i ? ", " : "",
                         info->subevents[i].name);
}

static bool unknown_subevent(const struct p4pmu_event_info *info, const char *word, char error[512])
{
    const char *names[32];
    char near[120], all[240];
    size_t count = 0;
    for (; count < info->subevent_count && count < 32; count++)
        names[count] = info->subevents[count].name;
    sim_near(word, names, count, near, sizeof near);
    subevent_names(info, all, sizeof all);
    return fail(error, "%s has no sub-event or modifier '%.40s'%s%s%s; sub-events: %s", info->name,
                word, near[0] ? "; did you mean" : "", near, near[0] ? "?" : "", all);
}

static bool take_mask_number(const struct p4pmu_event_info *info, const char *word,
                             struct sim_request *r, char error[512])
{
    uint64_t value;
    if (!whole_number(word + 2, 16, &value) || value > 0xFFFF || value == 0)
        return fail(error, "%s: '%.40s' is not a mask; expected 0x1 to 0xFFFF", info->name, word);
    r->mask |= (unsigned)value;
    return true;
}

/* One part of sub-events joined by +. */
static bool take_subevents(char *part, struct sim_request *r, char error[512])
{
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)r->event);
    char *rest = part;
    if (r->metric)
        return fail(error,
                    "%s is a metric: it takes modifiers (u, k, t=N, cmpl, e, c=N), not '%.40s'",
                    r->metric->name, part);
    for (char *word; (word = strsep(&rest, "+"));) {
        if (!strncasecmp(word, "0x", 2)) {
            if (!take_mask_number(info, word, r, error))
                return false;
            continue;
        }
        const struct p4pmu_subevent_info *sub =
            p4pmu_subevent_by_name((enum p4pmu_event)r->event, word);
        if (!sub)
            return unknown_subevent(info, word, error);
        r->mask |= 1u << sub->bit;
    }
    return true;
}

static bool default_mask(struct sim_request *r, char error[512])
{
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)r->event);
    char all[300];
    if (r->metric) {
        r->mask = 1; /* NBOGUS or NBOGUS0; fit.c moves an execution tag to a free bit */
        return true;
    }
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
        if ((int)defaults[i].event == r->event)
            r->mask = defaults[i].mask;
    }
    if (!r->mask && info->subevent_count == 1)
        r->mask = 1u << info->subevents[0].bit;
    if (r->mask)
        return true;
    subevent_names(info, all, sizeof all);
    return fail(error, "%s needs a sub-event, as in %s:%s; there are: %s", info->name, info->name,
                info->subevent_count ? info->subevents[0].name : "0x1", all);
}

/* ---- modifiers ---------------------------------------------------------------------------------
 */

static bool limited(const char *what, const char *text, uint64_t limit, uint64_t *value,
                    char error[512])
{
    if (!whole_number(text, 10, value) || *value > limit)
        return fail(error, "%s '%.40s' is out of range; expected 0 to %llu", what, text,
                    (unsigned long long)limit);
    return true;
}

enum taken { TAKEN, NOT_MINE, BAD };

static enum taken take_flag(const char *part, struct sim_request *r)
{
    bool user = !strcmp(part, "u"), kernel = !strcmp(part, "k");
    bool both = !strcmp(part, "uk") || !strcmp(part, "ku") || !strcmp(part, "u+k");
    if (user || kernel || both) {
        r->usr |= user || both;
        r->os |= kernel || both;
    } else if (!strcmp(part, "t0") || !strcmp(part, "t1")) {
        r->lps |= part[1] == '1' ? 2 : 1;
    } else if (!strcmp(part, "cmpl")) {
        r->compare = r->complement = true;
    } else if (!strcmp(part, "e") || !strcmp(part, "edge")) {
        r->compare = r->edge = true;
    } else {
        return NOT_MINE;
    }
    return TAKEN;
}

static bool take_active(const char *text, struct sim_request *r, char error[512])
{
    static const char *const names[] = {"none", "single", "both", "any"};
    r->active_given = true;
    for (r->active = 0; r->active < 4; r->active++)
        if (!strcmp(text, names[r->active]))
            return true;
    return fail(error, "a='%.40s' is not a state; expected none, single, both or any", text);
}

static enum taken take_value(const char *part, struct sim_request *r, char error[512])
{
    uint64_t value;
    const char *equals = strchr(part, '=');
    if (!equals)
        return NOT_MINE;
    if (!strncmp(part, "t=", 2) || !strncmp(part, "thr=", 4)) {
        if (!limited("threshold", equals + 1, 15, &value, error))
            return BAD;
        r->compare = true;
        r->threshold = (unsigned)value;
    } else if (!strncmp(part, "c=", 2)) {
        if (!limited("counter", equals + 1, P4PMU_COUNTERS - 1, &value, error))
            return BAD;
        r->counter = (int)value;
    } else if (!strncmp(part, "a=", 2)) {
        return take_active(equals + 1, r, error) ? TAKEN : BAD;
    } else if (!strncmp(part, "tag=", 4)) {
        if (!limited("tag", equals + 1, 15, &value, error))
            return BAD;
        r->tag_enable = true;
        r->tag_value = (unsigned)value;
    } else {
        fail(
            error,
            "'%.40s' is not a modifier; expected u, k, t0, t1, t=N, cmpl, e, c=N, a=STATE or tag=N",
            part);
        return BAD;
    }
    return TAKEN;
}

static bool take_part(char *part, struct sim_request *r, char error[512])
{
    enum taken taken = take_flag(part, r);
    if (taken == NOT_MINE)
        taken = take_value(part, r, error);
    if (taken == NOT_MINE)
        return take_subevents(part, r, error);
    return taken == TAKEN;
}

/* ---- the counter asked for ---------------------------------------------------------------------
 */

static int describe_reach(int escr, char *out, size_t size, const char *before)
{
    const struct p4pmu_escr_info *info = p4pmu_escr((enum p4pmu_escr)escr);
    int used = snprintf(out, size, "%s", before);
    bool first = true;
    for (unsigned c = 0; c < P4PMU_COUNTERS && (size_t)used < size; c++) {
        if (info->counters & 1u << c) {
            used += snprintf(out + used, size - (size_t)used, "%s%u", first ? "" : ", ", c);
            first = false;
        }
    }
    if ((size_t)used < size)
        used += snprintf(out + used, size - (size_t)used, " (%s)", info->name);
    return used;
}

/* Refuse a counter that no ESCR of the event is wired to, naming those that are. */
static bool counter_reachable(const struct sim_request *r, char error[512])
{
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)r->event);
    char reach[240] = "";
    int used = 0;
    for (unsigned i = 0; i < 2; i++) {
        if (r->escrs[i] == NONE)
            continue;
        if (p4pmu_escr((enum p4pmu_escr)r->escrs[i])->counters & 1u << r->counter)
            return true;
        used += describe_reach(r->escrs[i], reach + used, sizeof reach - (size_t)used,
                               used ? " or " : "");
    }
    return fail(
        error,
        "%s cannot be counted on counter %d (%s): no wire leads there; it can be counted on "
        "counters %s",
        info->name, r->counter, p4pmu_counter((unsigned)r->counter)->name, reach);
}

/* ---- whole requests ----------------------------------------------------------------------------
 */

static bool parse_event(char *text, unsigned signature, struct sim_request *r, char error[512])
{
    char *rest = text, *name = strsep(&rest, ":");
    if (!take_name(name, signature, r, error))
        return false;
    for (char *part; (part = strsep(&rest, ":"));) {
        if (!take_part(part, r, error))
            return false;
    }
    if (!r->usr && !r->os)
        r->usr = r->os = true;
    if (!r->mask && !default_mask(r, error))
        return false;
    return r->counter == NONE || counter_reachable(r, error);
}

bool sim_request_parse(const char *text, unsigned signature, struct sim_request *request,
                       char error[512])
{
    char copy[160];
    memset(request, 0, sizeof *request);
    request->counter = request->raw_escr = request->escrs[0] = request->escrs[1] = NONE;
    request->model = signature >> 4;
    if (strlen(text) >= sizeof copy)
        return fail(error, "event '%.40s...' is longer than %zu letters", text, sizeof copy - 1);
    snprintf(copy, sizeof copy, "%s", text);
    snprintf(request->text, sizeof request->text, "%s", text);
    return is_raw(copy) ? parse_raw(copy, request, error)
                        : parse_event(copy, signature, request, error);
}
