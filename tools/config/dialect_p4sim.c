/*
 * p4sim's own event texts, as `p4sim stat -e` takes them (sim/request.h).
 *
 * In printing, the ESCR and the counter are left open, as in the texts people write. What a text
 * cannot say is printed in the raw form CCCR/ESCR@COUNTER, which says every bit of the two
 * registers.
 */
#define _GNU_SOURCE
#include "dialect.h"

#include <string.h>

enum { NAMES_MOST = 90 };

bool dialect_parse_p4sim(const char *text, struct config *config, struct dialect_notes *notes,
                         char error[512])
{
    struct dialect_words words = dialect_words(text, ",");
    struct dialect_wishes wishes = {.count = 0};
    char why[512];
    (void)notes;
    while (dialect_next(&words)) {
        if (!strcmp(words.word, "-e"))
            continue;
        if (wishes.count == SIM_FIT_MAX)
            return dialect_error(error, words.line, "more than %d events; there are %d counters",
                                 SIM_FIT_MAX, SIM_FIT_MAX);
        struct dialect_wish *w = &wishes.wish[wishes.count++];
        memset(w, 0, sizeof *w);
        w->line = words.line;
        if (!sim_request_parse(words.word, dialect_signature(config), &w->request, why))
            return dialect_error(error, words.line, "%s", why);
    }
    return dialect_place(&wishes, config, error);
}

/* ---- printing ----------------------------------------------------------------------------------
 */

/* Names of sub-events as long as they stay short enough for a text of sim/request.h, else a number.
 */
static void print_mask(const struct dialect_count *d, FILE *out)
{
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)d->event);
    unsigned mask = P4PMU_GET(ESCR, EVENT_MASK, d->value), rest = mask;
    char names[NAMES_MOST + 40] = "";
    size_t used = 0;
    for (size_t i = 0; i < info->subevent_count && used < NAMES_MOST; i++) {
        unsigned bit = 1u << info->subevents[i].bit;
        if (!(mask & bit))
            continue;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? "+" : "",
                                 info->subevents[i].name);
        rest &= ~bit;
    }
    if (rest || used >= NAMES_MOST)
        fprintf(out, ":0x%X", mask);
    else
        fprintf(out, ":%s", names);
}

static void print_filters(const struct dialect_count *d, FILE *out)
{
    bool usr = d->value & P4PMU_ESCR_T0_USR_MASK, os = d->value & P4PMU_ESCR_T0_OS_MASK;
    bool complement = d->cccr & P4PMU_CCCR_COMPLEMENT_MASK, edge = d->cccr & P4PMU_CCCR_EDGE_MASK;
    unsigned threshold = P4PMU_GET(CCCR, THRESHOLD, d->cccr);
    bool compare = d->cccr & P4PMU_CCCR_COMPARE_MASK;
    if (usr != os)
        fputs(usr ? ":u" : ":k", out);
    if (d->value & P4PMU_ESCR_TAG_ENABLE_MASK)
        fprintf(out, ":tag=%u", (unsigned)P4PMU_GET(ESCR, TAG_VALUE, d->value));
    if (threshold || (compare && !complement && !edge))
        fprintf(out, ":t=%u", threshold);
    fputs(complement ? ":cmpl" : "", out);
    fputs(edge ? ":e" : "", out);
}

/* Whether name, mask, level, tag and filters say all of D. */
static bool has_text(const struct config *config, const struct dialect_count *d)
{
    uint32_t filters =
        P4PMU_CCCR_COMPLEMENT_MASK | P4PMU_CCCR_EDGE_MASK | P4PMU_CCCR_THRESHOLD_MASK;
    uint32_t said =
        P4PMU_CCCR_ENABLE_MASK | P4PMU_CCCR_ESCR_SELECT_MASK | P4PMU_CCCR_COMPARE_MASK | filters;
    uint32_t t0 = P4PMU_ESCR_T0_USR_MASK | P4PMU_ESCR_T0_OS_MASK;
    uint32_t tag = d->value & P4PMU_ESCR_TAG_ENABLE_MASK ? 0 : d->value & P4PMU_ESCR_TAG_VALUE_MASK;
    uint32_t t1 = config->hyper_threading ? d->value & 3 : 0;
    if (d->event == P4PMU_NONE || !P4PMU_GET(ESCR, EVENT_MASK, d->value) || !(d->value & t0) ||
        tag || t1)
        return false;
    if (!(d->cccr & P4PMU_CCCR_COMPARE_MASK) && d->cccr & filters)
        return false;
    return (d->cccr & ~said) == P4PMU_CCCR_ACTIVE_THREAD_MASK;
}

static void print_count(const struct config *config, const struct dialect_count *d, FILE *out,
                        struct dialect_notes *notes)
{
    if (d->escr == P4PMU_NONE) {
        dialect_lose(notes, "counter %d: ESCR_SELECT of CCCR 0x%08X reaches no ESCR", d->counter,
                     (unsigned)d->cccr);
        return;
    }
    if (d->preset)
        dialect_shorten(notes, "counter %d: p4sim's texts cannot say a preset", d->counter);
    if (!has_text(config, d)) {
        fprintf(out, "0x%08X/0x%08X@0x%X\n", (unsigned)d->cccr, (unsigned)d->value,
                (unsigned)d->counter);
        return;
    }
    fputs(d->metric ? d->metric->name : p4pmu_event((enum p4pmu_event)d->event)->name, out);
    if (!d->metric)
        print_mask(d, out);
    print_filters(d, out);
    fputc('\n', out);
}

void dialect_print_p4sim(const struct config *config, FILE *out, struct dialect_notes *notes)
{
    struct dialect_counts c;
    dialect_counts(config, &c);
    for (size_t i = 0; i < c.size; i++) {
        if (!c.count[i].wakes)
            print_count(config, &c.count[i], out, notes);
    }
    if (c.pebs_enable && !c.pebs_used)
        dialect_remark(notes, "p4sim stat takes these as --pebs-enable and --pebs-matrix-vert");
    dialect_leftovers(&c, "p4sim", notes);
}
