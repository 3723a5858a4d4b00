/*
 * Judging a configuration.
 *
 * First each write, then for every counter the way from the ESCR to the count in the order of the
 * hardware: wire, event, mask, qualification, comparison, tag, cascade. The first thing that keeps
 * it from counting is the finding; what lies behind it is not judged, so that one mistake gives one
 * message. At last what is left over: ESCRs nobody hears, tags nobody counts, errata.
 *
 * Not judged: values of memory (the DS area), the local APIC, and registers that are written while
 * counters run; the registers are judged as they stand after the last write.
 */
#include "check_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NOTHING true
#define OTHER   false
static const struct check_info infos[] = {
#define FINDING(id, name, severity, effect, title, background, source)                             \
    {name, CHECK_##severity, effect, title, background, source},
#include "findings.def"
};

const struct check_info *check_info(enum check_id id)
{
    return (unsigned)id < CHECK_FINDINGS ? &infos[id] : NULL;
}

const char *check_severity_name(enum check_severity severity)
{
    static const char *const name[] = {"note", "warning", "error"};
    return name[severity];
}

/* ---- findings ----------------------------------------------------------------------------------
 */

const struct config_write *check_write(const struct check *c, uint32_t msr)
{
    for (size_t i = c->config->count; i-- > 0;) {
        if (c->config->write[i].msr == msr && c->state.fault[i] == P4PMU_OK)
            return &c->config->write[i];
    }
    return NULL;
}

struct check_finding *check_add(struct check *c, enum check_id id, int counter, uint32_t msr,
                                unsigned shift, unsigned length)
{
    const struct config_write *w = check_write(c, msr);
    struct check_finding *f = &c->finding[c->count < CHECK_MOST ? c->count++ : CHECK_MOST - 1];
    *f = (struct check_finding){.id = id,
                                .counter = counter,
                                .msr = msr,
                                .shift = shift,
                                .length = length,
                                .line = w ? w->line : 0};
    return f;
}

struct check_finding *check_dead(struct check *c, enum check_id id, unsigned counter, uint32_t msr,
                                 unsigned shift, unsigned length)
{
    c->counter[counter].counts = false;
    snprintf(c->counter[counter].why, sizeof c->counter[counter].why, "%s", infos[id].title);
    return check_add(c, id, (int)counter, msr, shift, length);
}

void check_what(struct check_finding *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->what, sizeof f->what, format, arguments);
    va_end(arguments);
}

void check_todo(struct check_finding *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->todo, sizeof f->todo, format, arguments);
    va_end(arguments);
}

bool check_has(const struct check *c, enum check_id id, uint32_t msr)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->finding[i].id == id && c->finding[i].msr == msr)
            return true;
    }
    return false;
}

/* ---- what the registers say --------------------------------------------------------------------
 */

bool check_started(const struct check *c, unsigned counter)
{
    return check_cccr(c, counter) &
           (P4PMU_CCCR_ENABLE_MASK | P4PMU_CCCR_CASCADE_MASK | P4PMU_CCCR_EXT_CASCADE_MASK);
}

uint32_t check_listeners(const struct check *c, int escr)
{
    uint32_t set = 0;
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        unsigned select = P4PMU_GET(CCCR, ESCR_SELECT, check_cccr(c, i));
        if (check_started(c, i) && p4pmu_wired_escr(i, select) == escr)
            set |= 1u << i;
    }
    return set;
}

int check_event(const struct check *c, int escr)
{
    int event = p4pmu_event_by_code((enum p4pmu_escr)escr,
                                    P4PMU_GET(ESCR, EVENT_SELECT, check_escr(c, escr)));
    if (event == P4PMU_NONE)
        return event;
    unsigned models = p4pmu_event((enum p4pmu_event)event)->models;
    return models >> c->config->model & 1 ? event : P4PMU_NONE;
}

unsigned check_documented(const struct check *c, int event)
{
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)event);
    unsigned bits = 0;
    for (size_t i = 0; i < info->subevent_count; i++) {
        if (info->subevents[i].models >> c->config->model & 1)
            bits |= 1u << info->subevents[i].bit;
    }
    return bits;
}

const char *check_event_text(const struct check *c, int escr, char out[64])
{
    unsigned code = P4PMU_GET(ESCR, EVENT_SELECT, check_escr(c, escr));
    int event = p4pmu_event_by_code((enum p4pmu_escr)escr, code);
    if (event == P4PMU_NONE)
        snprintf(out, 64, "event select 0x%02X", code);
    else
        snprintf(out, 64, "%s", p4pmu_event((enum p4pmu_event)event)->name);
    return out;
}

const char *check_list(uint32_t set, const char *last, char out[96])
{
    int used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < 32; i++) {
        if (!(set >> i & 1))
            continue;
        bool final = !(set >> i >> 1);
        used += snprintf(out + used, 96 - (size_t)used, "%s%u",
                         used == 0 ? "" : (final ? last : ", "), i);
    }
    return out;
}

/* ---- the judge ---------------------------------------------------------------------------------
 */

static bool written(const struct check *c, unsigned counter)
{
    return check_write(c, p4pmu_counter(counter)->cccr_msr) != NULL;
}

/* An earlier write of the same list started it: the list ends with stopping it. */
static bool was_started(const struct check *c, unsigned counter)
{
    uint32_t on = P4PMU_CCCR_ENABLE_MASK | P4PMU_CCCR_CASCADE_MASK | P4PMU_CCCR_EXT_CASCADE_MASK;
    for (size_t i = 0; i < c->config->count; i++) {
        if (c->config->write[i].msr == p4pmu_counter(counter)->cccr_msr &&
            (c->state.stored[i] & on))
            return true;
    }
    return false;
}

static void judge_stopped(struct check *c, unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    uint32_t cccr = check_cccr(c, counter);
    int escr = c->counter[counter].escr;
    c->counter[counter].counts = false;
    if (escr != P4PMU_NONE)
        c->explained |= UINT64_C(1) << escr;
    snprintf(c->counter[counter].why, sizeof c->counter[counter].why, "stopped by the last write");
    if (was_started(c, counter) || check_has(c, CHECK_EXT_CASCADE, info->cccr_msr))
        return;
    struct check_finding *f = check_dead(c, CHECK_NOT_ENABLED, counter, info->cccr_msr,
                                         P4PMU_CCCR_ENABLE_SHIFT, P4PMU_CCCR_ENABLE_LENGTH);
    check_what(f, "ENABLE is 0 and no cascade is set: counter %u does not run", counter);
    check_todo(f, "set bit 12: %s = 0x%08X", info->cccr_name, cccr | P4PMU_CCCR_ENABLE_MASK);
}

static void judge_counter(struct check *c, unsigned counter)
{
    struct check_counter *k = &c->counter[counter];
    k->used = written(c, counter) && check_cccr(c, counter);
    k->escr = p4pmu_wired_escr(counter, P4PMU_GET(CCCR, ESCR_SELECT, check_cccr(c, counter)));
    k->event = k->escr == P4PMU_NONE ? P4PMU_NONE : check_event(c, k->escr);
    if (!k->used && !check_has(c, CHECK_EXT_CASCADE, p4pmu_counter(counter)->cccr_msr))
        return;
    k->used = k->counts = true;
    k->waits = !(check_cccr(c, counter) & P4PMU_CCCR_ENABLE_MASK);
    if (!check_started(c, counter)) {
        judge_stopped(c, counter);
        return;
    }
    if (check_wire(c, counter))
        check_input(c, counter);
    if (k->counts)
        check_tagged(c, counter);
}

bool check_config(const struct config *config, struct check *check)
{
    memset(check, 0, sizeof *check);
    check->config = config;
    if (!config_apply(config, &check->state))
        return false;
    check_writes(check);
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++)
        judge_counter(check, i);
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++)
        check_cascade(check, i);
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++)
        check_overflow(check, i);
    check_unheard(check);
    check_tags_left(check);
    check_pebs(check);
    check_notes(check);
    return true;
}

bool check_sound(const struct check *check)
{
    for (size_t i = 0; i < check->count; i++) {
        if (check_info(check->finding[i].id)->severity != CHECK_NOTE)
            return false;
    }
    return true;
}
