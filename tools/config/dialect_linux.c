/*
 * Linux perf on a Pentium 4: raw events r<hex> (or cpu/config=0x<hex>/) and perf's names of common
 * events, each with an optional :u or :k.
 *
 * The 64-bit config holds an ESCR in its upper and a CCCR in its lower half, with three changes:
 * the event select is Linux's own event index, the select and ENABLE and the privilege bits are
 * filled in by the kernel, and CCCR bits 5:0 name a replay metric for whose registers the kernel
 * cares:
 *
 *    63   62:57        56:41        40:37      36          31:25  24    23:20      19    18 17:16
 * 5:0 HT | event index | event mask | tag value | tag enable | 0 | edge | threshold | cmpl | cmp |
 * (11b) | metric
 *
 * The kernel counts with ACTIVE_THREAD 11b whatever is given, refuses mask bits its table does not
 * list, drops reserved bits, and sets OVF_PMI for its own use. That interrupt is left out here: it
 * does not change what is counted, and without a preset it is not asked for.
 *
 * Not modelled: the kernel's choice of counters (it avoids counter 1 and binds events of one thread
 * to one ESCR), its alias of cycles.
 *
 * Source: Linux arch/x86/include/asm/perf_event_p4.h, arch/x86/events/intel/p4.c.
 */
#define _GNU_SOURCE
#include "dialect.h"

#include <string.h>
#include <strings.h>

static const struct {
    enum p4pmu_event event;
    unsigned mask;
} events[] = {
#define LINUX_EVENT(e, mask, shared) {P4PMU_EV_##e, mask},
#include "dialect_linux.def"
};

static const char *const metrics[] = {
#define LINUX_METRIC(name) name,
#include "dialect_linux.def"
};

static const struct {
    const char *name;
    enum p4pmu_event event;
    unsigned mask;
    uint32_t cccr;
    unsigned metric;
} names[] = {
#define LINUX_NAME(name, e, mask, cccr, metric) {name, P4PMU_EV_##e, mask, cccr, metric},
#include "dialect_linux.def"
};

enum {
    EVENTS = sizeof events / sizeof events[0],
    METRICS = sizeof metrics / sizeof metrics[0],
    NAMES = sizeof names / sizeof names[0],
    METRIC_BITS = 0x3F,
};

/* What the kernel takes of the two halves of a raw event. */
static const uint32_t escr_taken = 0x7FFFFFF0, cccr_taken = 0x01FF0FFF;
/* What the kernel sets itself: libpfm4 puts these bits into its raw events; that is harmless. */
static const uint32_t cccr_filled = 0x0003F000;

int dialect_linux_index(enum p4pmu_event event)
{
    for (int i = 0; i < EVENTS; i++) {
        if (events[i].event == event)
            return i;
    }
    return -1;
}

static const struct sim_metric *metric_number(unsigned number)
{
    const struct sim_metric *m;
    for (size_t i = 0; (m = sim_metric(i)); i++) {
        if (!strcmp(m->name, metrics[number - 1]))
            return m;
    }
    return NULL;
}

struct reader {
    struct dialect_wishes wishes;
    const struct config *config;
    struct dialect_notes *notes;
    unsigned line;
    char *error;
};

static bool take_metric(struct reader *r, unsigned metric, const char *text)
{
    if (!metric)
        return true;
    if (metric > METRICS)
        return dialect_error(r->error, r->line,
                             "'%.60s': metric %u does not exist; expected 0 to %d in bits 5:0",
                             text, metric, METRICS);
    const struct sim_metric *m = metric_number(metric);
    if (m->upstream_event != P4PMU_NONE)
        dialect_remark(r->notes,
                       "Linux sets no upstream ESCR for %s: count %s as well, or nothing is tagged",
                       m->name, p4pmu_event((enum p4pmu_event)m->upstream_event)->name);
    return dialect_replay(&r->wishes, m, r->line, r->error);
}

/* Both levels when LEVELS is empty, else those it names. */
static bool take_levels(struct reader *r, struct sim_request *q, const char *levels,
                        const char *text)
{
    q->usr = !*levels || strchr(levels, 'u');
    q->os = !*levels || strchr(levels, 'k');
    if (strspn(levels, "uk") == strlen(levels))
        return true;
    return dialect_error(r->error, r->line,
                         "'%.60s': modifier '%.20s' is not known here; expected u or k", text,
                         levels);
}

static bool take_config(struct reader *r, enum p4pmu_event event, uint32_t escr, uint32_t cccr,
                        const char *levels, const char *text)
{
    struct dialect_wish *w = dialect_wish(&r->wishes, r->config, event, text, r->line, r->error);
    if (!w)
        return false;
    struct sim_request *q = &w->request;
    q->mask = P4PMU_GET(ESCR, EVENT_MASK, escr);
    q->tag_enable = escr & P4PMU_ESCR_TAG_ENABLE_MASK;
    q->tag_value = P4PMU_GET(ESCR, TAG_VALUE, escr);
    q->compare = cccr & P4PMU_CCCR_COMPARE_MASK;
    q->complement = cccr & P4PMU_CCCR_COMPLEMENT_MASK;
    q->edge = cccr & P4PMU_CCCR_EDGE_MASK;
    q->threshold = P4PMU_GET(CCCR, THRESHOLD, cccr);
    if (event == P4PMU_EV_machine_clear && q->mask & 0x6)
        dialect_remark(r->notes,
                       "Linux calls mask bit 1 of machine_clear MOCLEAR and bit 2 SMCLEAR; in the "
                       "manual bit 2 is MOCLEAR and bit 6 SMCLEAR. The bits are kept as given");
    return take_levels(r, q, levels, text) && take_metric(r, cccr & METRIC_BITS, text);
}

static bool take_raw(struct reader *r, uint64_t config, const char *levels, const char *text)
{
    uint32_t escr = (uint32_t)(config >> 32), cccr = (uint32_t)config;
    unsigned index = P4PMU_GET(ESCR, EVENT_SELECT, escr);
    if (index >= EVENTS)
        return dialect_error(
            r->error, r->line,
            "'%.60s': event index 0x%X does not exist; Linux's are 0 to 0x%X (config bits 62:57), "
            "they are not the manual's event selects",
            text, index, EVENTS - 1);
    unsigned bad = P4PMU_GET(ESCR, EVENT_MASK, escr) & ~events[index].mask;
    if (bad)
        return dialect_error(r->error, r->line,
                             "'%.60s': Linux refuses mask bits 0x%X of %s; it takes 0x%X", text,
                             bad, p4pmu_event(events[index].event)->name, events[index].mask);
    if ((escr & ~escr_taken) & ~0xFu || (cccr & ~cccr_taken) & ~cccr_filled)
        dialect_remark(r->notes, "'%s': Linux drops bits 0x%08X%08X", text,
                       (unsigned)(escr & ~escr_taken), (unsigned)(cccr & ~cccr_taken));
    return take_config(r, events[index].event, escr, cccr & cccr_taken, levels, text);
}

static bool unknown(struct reader *r, const char *text)
{
    const char *known[NAMES];
    char near[200];
    for (size_t i = 0; i < NAMES; i++)
        known[i] = names[i].name;
    sim_near(text, known, NAMES, near, sizeof near);
    return dialect_error(
        r->error, r->line,
        "'%.60s' is not an event of perf's Pentium 4 driver%s%s%s; expected r<hex>, "
        "cpu/config=0x<hex>/ or a name such as branch-misses",
        text, near[0] ? "; did you mean" : "", near, near[0] ? "?" : "");
}

bool dialect_linux_knows(const char *word)
{
    size_t length = strcspn(word, ":,");
    for (size_t i = 0; i < NAMES; i++) {
        if (length == strlen(names[i].name) && !strncasecmp(names[i].name, word, length))
            return true;
    }
    return false;
}

static bool take_name(struct reader *r, const char *name, const char *levels, const char *text)
{
    for (size_t i = 0; i < NAMES; i++) {
        if (strcasecmp(names[i].name, name))
            continue;
        return take_config(r, names[i].event, P4PMU_PUT(ESCR, EVENT_MASK, 0, names[i].mask),
                           names[i].cccr | names[i].metric, levels, text);
    }
    return unknown(r, text);
}

/* r4c00060000000000:u, cpu/config=0x4c0006.../u, branch-misses:u */
static bool take_event(struct reader *r, const char *text)
{
    char copy[DIALECT_WORD], *levels;
    uint64_t config;
    snprintf(copy, sizeof copy, "%s", text);
    if (!strncasecmp(copy, "cpu/config=", 11)) {
        levels = strchr(copy + 11, '/');
        if (!levels)
            return dialect_error(r->error, r->line, "'%.60s' has no closing /", text);
        *levels++ = '\0';
        if (!dialect_number(copy + 11, 0, &config))
            return dialect_error(r->error, r->line, "'%.60s': config is not a number", text);
        return take_raw(r, config, *levels == ':' ? levels + 1 : levels, text);
    }
    levels = strchr(copy, ':');
    if (levels)
        *levels++ = '\0';
    if (copy[0] == 'r' && dialect_number(copy + 1, 16, &config))
        return take_raw(r, config, levels ? levels : "", text);
    return take_name(r, copy, levels ? levels : "", text);
}

bool dialect_parse_linux(const char *text, struct config *config, struct dialect_notes *notes,
                         char error[512])
{
    struct dialect_words words = dialect_words(text, ",");
    struct reader r = {.config = config, .notes = notes, .error = error};
    while (dialect_next(&words)) {
        r.line = words.line;
        if (!strcmp(words.word, "-e") || !strcmp(words.word, "perf") ||
            !strcmp(words.word, "stat") || !strcmp(words.word, "record"))
            continue;
        if (!strcmp(words.word, "--")) {
            words.at += strcspn(words.at, "\n");
            continue;
        }
        if (!take_event(&r, words.word))
            return false;
    }
    return dialect_place(&r.wishes, config, error);
}

/* ---- printing ----------------------------------------------------------------------------------
 */

static unsigned metric_of(const struct sim_metric *m)
{
    for (unsigned i = 0; m && i < METRICS; i++) {
        if (!strcmp(m->name, metrics[i]))
            return i + 1;
    }
    return 0;
}

static const char *level_text(uint32_t escr)
{
    bool usr = escr & P4PMU_ESCR_T0_USR_MASK, os = escr & P4PMU_ESCR_T0_OS_MASK;
    if (usr == os)
        return "";
    return usr ? ":u" : ":k";
}

static void print_count(const struct dialect_count *d, unsigned metric, FILE *out,
                        struct dialect_notes *notes)
{
    int index = dialect_linux_index((enum p4pmu_event)d->event);
    const char *name = p4pmu_event((enum p4pmu_event)d->event)->name;
    unsigned mask = P4PMU_GET(ESCR, EVENT_MASK, d->value), dropped = notes->dropped;
    if (index < 0 || mask & ~events[index].mask) {
        dialect_lose(notes, "counter %d: Linux has no %s%s", d->counter, name,
                     index < 0 ? "" : " with that mask and refuses it");
        return;
    }
    uint32_t escr = P4PMU_PUT(ESCR, EVENT_SELECT, d->value & escr_taken, (uint32_t)index);
    uint32_t cccr = (d->cccr & 0x01FC0000u) | metric;
    if (!(d->value & (P4PMU_ESCR_T0_USR_MASK | P4PMU_ESCR_T0_OS_MASK)))
        dialect_lose(notes, "counter %d: Linux cannot say that no privilege level counts",
                     d->counter);
    if (P4PMU_GET(CCCR, ACTIVE_THREAD, d->cccr) != 3)
        dialect_lose(notes, "counter %d: Linux always sets ACTIVE_THREAD 11b", d->counter);
    if (d->preset)
        dialect_shorten(notes, "counter %d: the preset is perf's -c, not part of the event",
                        d->counter);
    if (notes->dropped != dropped)
        return;
    fprintf(out, "r%llx%s\n", (unsigned long long)escr << 32 | cccr, level_text(d->value));
}

void dialect_print_linux(const struct config *config, FILE *out, struct dialect_notes *notes)
{
    struct dialect_counts c;
    dialect_counts(config, &c);
    dialect_give_counters(&c, false, "Linux", notes);
    for (size_t i = 0; i < c.size; i++) {
        struct dialect_count *d = &c.count[i];
        unsigned metric = metric_of(d->metric);
        uint32_t said = escr_taken | 0xF;
        if (!dialect_sayable(d, "Linux", said, 0x01FFF000u | P4PMU_CCCR_OVF_PMI_T0_MASK, notes))
            continue;
        /* Linux programs no upstream ESCR: its registers are found even where the metric is not
         * whole. */
        for (unsigned k = 1; d->event == P4PMU_EV_replay_event && !metric && k <= METRICS; k++) {
            const struct sim_metric *m = metric_number(k);
            if (m->pebs_enable == c.pebs_enable && m->pebs_matrix_vert == c.pebs_matrix_vert) {
                metric = k;
                c.pebs_used = true;
            }
        }
        print_count(d, metric, out, notes);
    }
    dialect_leftovers(&c, "Linux", notes);
}
