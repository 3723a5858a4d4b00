/*
 * Names of events and sub-events in other tools, from dialect_names.def and the manual's names.
 */
#define _GNU_SOURCE
#include "dialect.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { NONE = P4PMU_NONE };

static const struct {
    enum config_dialect dialect;
    enum p4pmu_event event;
    const char *name; /* NULL: missing */
} events[] = {
#define DIALECT_EVENT(d, e, n) {CONFIG_##d, P4PMU_EV_##e, n},
#define DIALECT_NO_EVENT(d, e) {CONFIG_##d, P4PMU_EV_##e, NULL},
#define DIALECT_MASK(d, e, n, b)
#define DIALECT_NO_MASK(d, e, b)
#include "dialect_names.def"
#undef DIALECT_EVENT
#undef DIALECT_NO_EVENT
#undef DIALECT_MASK
#undef DIALECT_NO_MASK
};

static const struct {
    enum config_dialect dialect;
    enum p4pmu_event event;
    const char *name; /* NULL: missing */
    unsigned bit;
} masks[] = {
#define DIALECT_EVENT(d, e, n)
#define DIALECT_NO_EVENT(d, e)
#define DIALECT_MASK(d, e, n, b) {CONFIG_##d, P4PMU_EV_##e, n, b},
#define DIALECT_NO_MASK(d, e, b) {CONFIG_##d, P4PMU_EV_##e, NULL, b},
#include "dialect_names.def"
#undef DIALECT_EVENT
#undef DIALECT_NO_EVENT
#undef DIALECT_MASK
#undef DIALECT_NO_MASK
};

enum { EVENT_ROWS = sizeof events / sizeof events[0], MASK_ROWS = sizeof masks / sizeof masks[0] };

static void spell(enum config_dialect dialect, const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s", name);
    for (char *c = out; *c; c++) {
        if (dialect == CONFIG_OPROFILE)
            *c = (char)toupper((unsigned char)*c);
        if (dialect == CONFIG_FREEBSD)
            *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    }
}

bool dialect_event_name(enum config_dialect dialect, enum p4pmu_event event, char *out, size_t size)
{
    const char *name = p4pmu_event(event)->name;
    for (size_t i = 0; i < EVENT_ROWS; i++) {
        if (events[i].dialect == dialect && events[i].event == event)
            name = events[i].name;
    }
    if (name)
        spell(dialect, name, out, size);
    return name != NULL;
}

/* Letters alike whatever their case, hyphens and underscores alike (pmc(3) matches so too). */
static bool same(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        int x = *a == '-' ? '_' : tolower((unsigned char)*a);
        int y = *b == '-' ? '_' : tolower((unsigned char)*b);
        if (x != y)
            return false;
    }
    return *a == *b;
}

int dialect_event_by_name(enum config_dialect dialect, const char *name)
{
    char theirs[80];
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        if (dialect_event_name(dialect, (enum p4pmu_event)e, theirs, sizeof theirs) &&
            same(theirs, name))
            return e;
    }
    return NONE;
}

static bool has_bit(enum config_dialect dialect, enum p4pmu_event event, unsigned bit)
{
    for (size_t i = 0; i < MASK_ROWS; i++) {
        if (masks[i].dialect == dialect && masks[i].event == event && masks[i].bit == bit)
            return masks[i].name != NULL;
    }
    return true;
}

bool dialect_mask_name(enum config_dialect dialect, enum p4pmu_event event, unsigned bit, char *out,
                       size_t size)
{
    const struct p4pmu_event_info *info = p4pmu_event(event);
    if (!has_bit(dialect, event, bit))
        return false;
    for (size_t i = 0; i < MASK_ROWS; i++) {
        if (masks[i].dialect == dialect && masks[i].event == event && masks[i].bit == bit) {
            spell(dialect, masks[i].name, out, size);
            return true;
        }
    }
    for (size_t i = 0; i < info->subevent_count; i++) {
        if (info->subevents[i].bit == bit) {
            spell(dialect, info->subevents[i].name, out, size);
            return true;
        }
    }
    return false;
}

int dialect_mask_by_name(enum config_dialect dialect, enum p4pmu_event event, const char *name)
{
    char theirs[80];
    for (size_t i = 0; i < MASK_ROWS; i++) {
        if (masks[i].dialect == dialect && masks[i].event == event && masks[i].name &&
            same(masks[i].name, name))
            return (int)masks[i].bit;
    }
    for (unsigned bit = 0; bit < 16; bit++) {
        if (dialect_mask_name(dialect, event, bit, theirs, sizeof theirs) && same(theirs, name))
            return (int)bit;
    }
    return -1;
}

unsigned dialect_all_bits(enum config_dialect dialect, enum p4pmu_event event)
{
    char theirs[80];
    unsigned all = 0;
    for (unsigned bit = 0; bit < 16; bit++) {
        if (dialect_mask_name(dialect, event, bit, theirs, sizeof theirs))
            all |= 1u << bit;
    }
    return all;
}

bool dialect_unknown_event(enum config_dialect dialect, const char *name, unsigned line,
                           char error[512])
{
    char theirs[P4PMU_EVENTS][48], near[200];
    const char *names[P4PMU_EVENTS];
    size_t count = 0;
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        if (dialect_event_name(dialect, (enum p4pmu_event)e, theirs[count], sizeof theirs[0])) {
            names[count] = theirs[count];
            count++;
        }
    }
    sim_near(name, names, count, near, sizeof near);
    return dialect_error(error, line, "%s has no event '%.60s'%s%s%s", config_dialect_name(dialect),
                         name, near[0] ? "; did you mean" : "", near, near[0] ? "?" : "");
}

bool dialect_unknown_mask(enum config_dialect dialect, enum p4pmu_event event, const char *name,
                          unsigned line, char error[512])
{
    char theirs[16][48], all[300] = "";
    size_t used = 0;
    for (unsigned bit = 0; bit < 16 && used < sizeof all; bit++) {
        if (dialect_mask_name(dialect, event, bit, theirs[bit], sizeof theirs[0]))
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "",
                                     theirs[bit]);
    }
    return dialect_error(error, line,
                         "%s: '%.40s' is neither a sub-event nor a modifier; expected %s",
                         p4pmu_event(event)->name, name, all[0] ? all : "no sub-event");
}
