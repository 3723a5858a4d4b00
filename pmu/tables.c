/*
 * The tables behind the API: events, sub-events, ESCRs and counters, expanded from the .def rows,
 * and the lookups in them. Nothing here depends on the state of a PMU.
 */
#include "p4pmu.h"

#include <ctype.h>
#include <string.h>

enum { NONE = P4PMU_NONE, P4PMU_ESCR_NONE = P4PMU_NONE };

/* sub_TC_deliver_mode[], ... */
#define P4PMU_SUBEVENTS_OF(event) static const struct p4pmu_subevent_info sub_##event[] = {
#define P4PMU_SUBEVENT(name, bit, aliases, models, status, why, description, source)               \
    {#name, aliases, bit, description, source, models, P4PMU_##status, why},
#define P4PMU_SUBEVENTS_END(event)                                                                 \
    }                                                                                              \
    ;
#include "p4pmu_subevents.def"

static const struct p4pmu_event_info events[P4PMU_EVENTS] = {
#define P4PMU_EVENT(name, code, class, thread, escr0, escr1, models, most, logic, text, source)    \
    {#name,                                                                                        \
     code,                                                                                         \
     P4PMU_##class,                                                                                \
     P4PMU_##thread,                                                                               \
     {(int)P4PMU_ESCR_##escr0, (int)P4PMU_ESCR_##escr1},                                           \
     models,                                                                                       \
     most,                                                                                         \
     text,                                                                                         \
     source,                                                                                       \
     sub_##name,                                                                                   \
     sizeof sub_##name / sizeof sub_##name[0],                                                     \
     P4PMU_##logic},
#include "p4pmu_events.def"
};

static const struct p4pmu_escr_info escrs[] = {
#define P4PMU_ESCR(name, register, msr, unit, half, select, counters, models, implemented, what,   \
                   source)                                                                         \
    {#register, #unit, msr, half, select, counters, models, implemented, what, source},
#include "p4pmu_escrs.def"
};

static const struct p4pmu_counter_info counters[] = {
#define P4PMU_COUNTER(index, register, cccr, msr, cccr_msr, group, half, cascade, extended, extra, \
                      source)                                                                      \
    [index] = {#register, #cccr, msr, cccr_msr, #group, half, cascade, extended, extra, source},
#include "p4pmu_counters.def"
};

static const struct p4pmu_msr_info msrs[] = {
#define SHARED false
#define PER_LP true
#define RW     false
#define RO     true
#define ANY    false
#define L3     true
#define P4PMU_MSR(name, register, first, count, scope, access, models, part, implemented, faults,  \
                  reset, what, source)                                                             \
    {#register, first,       count,  scope, access, part,                                          \
     models,    implemented, faults, reset, what,   source},
#include "p4pmu_msrs.def"
};

static const struct p4pmu_field_info fields[] = {
#define F(reg, name, shift, length, text) {#reg, #name, shift, length, P4PMU_ALL_MODELS, RW, text},
#define G(reg, name, shift, length, models, access, text)                                          \
    {#reg, #name, shift, length, models, access, text},
    P4PMU_ESCR_FIELDS(F) P4PMU_CCCR_FIELDS(F) P4PMU_PEBS_ENABLE_FIELDS(F)
        P4PMU_PEBS_MATRIX_VERT_FIELDS(F) P4PMU_MISC_ENABLE_FIELDS(G) P4PMU_DEBUGCTLA_FIELDS(G)};

static const struct p4pmu_erratum_info errata[] = {
#define P4PMU_ERRATUM(name, entry, lowest, highest, lowest2, highest2, registers, text, source)    \
    {#name, entry, {{lowest, highest}, {lowest2, highest2}}, registers, text, source},
#include "p4pmu_errata.def"
};

static_assert(P4PMU_ESCR_COUNT == P4PMU_ESCRS, "45 ESCRs (SDM3 table 18-63)");
static_assert(sizeof escrs / sizeof escrs[0] == P4PMU_ESCRS, "one row each");
static_assert(sizeof counters / sizeof counters[0] == P4PMU_COUNTERS, "one row each");

const struct p4pmu_event_info *p4pmu_event(enum p4pmu_event event)
{
    return (unsigned)event < P4PMU_EVENTS ? &events[event] : NULL;
}

const struct p4pmu_escr_info *p4pmu_escr(enum p4pmu_escr escr)
{
    return (unsigned)escr < P4PMU_ESCRS ? &escrs[escr] : NULL;
}

const struct p4pmu_counter_info *p4pmu_counter(unsigned counter)
{
    return counter < P4PMU_COUNTERS ? &counters[counter] : NULL;
}

const struct p4pmu_msr_info *p4pmu_msr(size_t index)
{
    return index < sizeof msrs / sizeof msrs[0] ? &msrs[index] : NULL;
}

const struct p4pmu_field_info *p4pmu_field(size_t index)
{
    return index < sizeof fields / sizeof fields[0] ? &fields[index] : NULL;
}

const struct p4pmu_erratum_info *p4pmu_erratum(enum p4pmu_erratum erratum)
{
    return (unsigned)erratum < P4PMU_ERRATA ? &errata[erratum] : NULL;
}

int p4pmu_wired_escr(unsigned counter, unsigned select)
{
    for (int e = 0; counter < P4PMU_COUNTERS && e < P4PMU_ESCRS; e++)
        if (escrs[e].select == select && (escrs[e].counters >> counter & 1))
            return e;
    return P4PMU_NONE;
}

/* Whether the LENGTH characters at TEXT are NAME, whatever their case. */
static bool same_name(const char *text, size_t length, const char *name)
{
    if (strlen(name) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (tolower((unsigned char)text[i]) != tolower((unsigned char)name[i]))
            return false;
    return true;
}

int p4pmu_event_by_name(const char *name)
{
    for (int i = 0; i < (int)P4PMU_EVENTS; i++)
        if (same_name(name, strlen(name), events[i].name))
            return i;
    return P4PMU_NONE;
}

int p4pmu_escr_by_name(const char *name)
{
    for (int i = 0; i < P4PMU_ESCRS; i++)
        if (same_name(name, strlen(name), escrs[i].name))
            return i;
    return P4PMU_NONE;
}

int p4pmu_escr_by_msr(uint32_t msr)
{
    for (int i = 0; i < P4PMU_ESCRS; i++)
        if (escrs[i].msr == msr)
            return i;
    return P4PMU_NONE;
}

int p4pmu_event_by_code(enum p4pmu_escr escr, unsigned code)
{
    for (int i = 0; i < (int)P4PMU_EVENTS; i++)
        if (events[i].code == code &&
            (events[i].escrs[0] == (int)escr || events[i].escrs[1] == (int)escr))
            return i;
    return P4PMU_NONE;
}

/* Whether NAME is one of the comma-separated words of LIST. */
static bool in_list(const char *list, const char *name)
{
    while (*list) {
        size_t length = strcspn(list, ",");
        if (same_name(list, length, name))
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}

const struct p4pmu_subevent_info *p4pmu_subevent_by_name(enum p4pmu_event event, const char *name)
{
    const struct p4pmu_event_info *info = p4pmu_event(event);
    for (size_t i = 0; info && i < info->subevent_count; i++)
        if (same_name(name, strlen(name), info->subevents[i].name) ||
            in_list(info->subevents[i].aliases, name))
            return &info->subevents[i];
    return NULL;
}
