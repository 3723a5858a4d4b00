/*
 * PAPI presets: names such as PAPI_TOT_INS, which PAPI's table turns into native events.
 *
 * A preset is read as its native events. In the other direction a count is a preset when it holds
 * what the preset would: event, mask and filters, whatever the privilege levels (they are PAPI's
 * domain, an option of the program, not of the preset).
 *
 * Not modelled: derived presets that are sums or differences (the Pentium 4 has none), other
 * sections of the table for the same preset (see the remarks in dialect_papi.def).
 */
#define _GNU_SOURCE
#include "dialect.h"

#include <string.h>
#include <strings.h>

static const struct preset {
    const char *name, *events, *remark;
} presets[] = {
#define PAPI_PRESET(name, events, remark) {name, events, remark},
#include "dialect_papi.def"
#undef PAPI_PRESET
};
enum { PRESETS = sizeof presets / sizeof presets[0] };

static bool unknown(const char *word, unsigned line, char error[512])
{
    const char *names[PRESETS];
    char near[200];
    for (size_t i = 0; i < PRESETS; i++)
        names[i] = presets[i].name;
    sim_near(word, names, PRESETS, near, sizeof near);
    return dialect_error(error, line, "PAPI has no preset '%.60s' for the Pentium 4%s%s%s", word,
                         near[0] ? "; did you mean" : "", near, near[0] ? "?" : "");
}

static bool take_native(const char *text, const char *preset, unsigned line,
                        struct dialect_wishes *wishes, const struct config *config, char error[512])
{
    char why[512];
    if (wishes->count == SIM_FIT_MAX)
        return dialect_error(error, line, "more than %d events", SIM_FIT_MAX);
    struct dialect_wish *w = &wishes->wish[wishes->count];
    memset(w, 0, sizeof *w);
    w->line = line;
    if (!sim_request_parse(text, dialect_signature(config), &w->request, why))
        return dialect_error(error, line, "%s: %.400s", preset, why);
    snprintf(w->request.text, sizeof w->request.text, "%s", preset);
    wishes->count++;
    return true;
}

static bool take_preset(const char *word, unsigned line, struct dialect_wishes *wishes,
                        const struct config *config, struct dialect_notes *notes, char error[512])
{
    for (size_t i = 0; i < PRESETS; i++) {
        struct dialect_words natives = dialect_words(presets[i].events, "");
        if (strcasecmp(presets[i].name, word))
            continue;
        if (presets[i].remark[0])
            dialect_remark(notes, "%s: %s", presets[i].name, presets[i].remark);
        while (dialect_next(&natives)) {
            if (!take_native(natives.word, presets[i].name, line, wishes, config, error))
                return false;
        }
        return true;
    }
    return unknown(word, line, error);
}

bool dialect_parse_papi(const char *text, struct config *config, struct dialect_notes *notes,
                        char error[512])
{
    struct dialect_words words = dialect_words(text, ",");
    struct dialect_wishes wishes = {.count = 0};
    while (dialect_next(&words)) {
        if (!take_preset(words.word, words.line, &wishes, config, notes, error))
            return false;
    }
    return dialect_place(&wishes, config, error);
}

/* ---- printing ----------------------------------------------------------------------------------
 */

static const uint32_t escr_compared = 0x7FFFFFF0, cccr_compared = 0x01FC0000;

/* The count among C that is what WANTED is, and is not TAKEN yet; NULL when there is none. */
static const struct dialect_count *like(const struct dialect_counts *c,
                                        const struct dialect_count *wanted, const bool *taken)
{
    for (size_t i = 0; i < c->size; i++) {
        const struct dialect_count *d = &c->count[i];
        if (taken[i] || d->event != wanted->event || d->metric != wanted->metric ||
            d->wakes != wanted->wakes)
            continue;
        if ((d->value ^ wanted->value) & escr_compared)
            continue;
        if (!((d->cccr ^ wanted->cccr) & cccr_compared))
            return d;
    }
    return NULL;
}

/* Whether all counts of PRESET are in C; they are TAKEN then. */
static bool holds(const struct config *config, const struct dialect_counts *c,
                  const struct preset *preset, bool *taken)
{
    struct config alone = {.model = config->model,
                           .stepping = config->stepping,
                           .hyper_threading = config->hyper_threading};
    struct dialect_counts wanted;
    bool now[P4PMU_COUNTERS];
    char error[512];
    memcpy(now, taken, sizeof now);
    if (!dialect_parse_papi(preset->name, &alone, NULL, error))
        return false;
    dialect_counts(&alone, &wanted);
    for (size_t i = 0; i < wanted.size; i++) {
        if (wanted.count[i].wakes)
            continue;
        const struct dialect_count *d = like(c, &wanted.count[i], now);
        if (!d)
            return false;
        now[d - c->count] = true;
    }
    memcpy(taken, now, sizeof now);
    return true;
}

/* The preset whose first count is number I of C. */
static const struct preset *find(const struct config *config, const struct dialect_counts *c,
                                 size_t i, bool *taken)
{
    for (size_t p = 0; p < PRESETS; p++) {
        bool now[P4PMU_COUNTERS];
        memcpy(now, taken, sizeof now);
        if (!holds(config, c, &presets[p], now) || !now[i])
            continue;
        memcpy(taken, now, sizeof now);
        return &presets[p];
    }
    return NULL;
}

void dialect_print_papi(const struct config *config, FILE *out, struct dialect_notes *notes)
{
    struct dialect_counts c;
    bool taken[P4PMU_COUNTERS] = {false}, failed[P4PMU_COUNTERS] = {false};
    dialect_counts(config, &c);
    for (size_t i = 0; i < c.size; i++) {
        const struct dialect_count *d = &c.count[i];
        if (taken[i] || d->wakes)
            continue;
        const struct preset *preset = find(config, &c, i, taken);
        if (preset)
            fprintf(out, "%s\n", preset->name);
        else
            failed[i] = true;
    }
    for (size_t i = 0; i < c.size; i++) {
        const struct dialect_count *d = &c.count[i];
        if (failed[i] && !taken[i])
            dialect_lose(
                notes, "counter %d: no PAPI preset counts %s with mask 0x%X and these filters",
                d->counter,
                d->event == P4PMU_NONE ? "this" : p4pmu_event((enum p4pmu_event)d->event)->name,
                (unsigned)P4PMU_GET(ESCR, EVENT_MASK, d->value));
    }
    dialect_leftovers(&c, "PAPI", notes);
}
