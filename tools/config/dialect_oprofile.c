/*
 * OProfile: NAME:COUNT[:MASK[:KERNEL[:USER]]].
 *
 * OProfile only samples: COUNT is the period, so the counter starts at -COUNT and the CCCR asks for
 * an interrupt (OVF_PMI_T0). The mask goes into the ESCR as it is; left out, it is the event's
 * default. The driver uses two counters of each group (0, 2, 4, 6, 8, 10, 16, 17; with
 * Hyper-Threading the first of each pair) because an interrupt must know its counter.
 *
 * Not modelled: filters, tags, cascades and PEBS, which OProfile has no words for.
 *
 * Sources: OProfile events/i386/p4 and p4-ht; Linux arch/x86/oprofile/op_model_p4.c (counters,
 * CCCR).
 */
#define _GNU_SOURCE
#include "dialect.h"

#include <string.h>

enum { SMALLEST = 3000, SMALLEST_HT = 6000 };
/* Of 18 counters, those the driver has names for. */
static const uint32_t counters = 0x30555, counters_ht = 0x10111;

static const struct row {
    enum p4pmu_event event;
    unsigned number, mask;
    bool ht;
} rows[] = {
#define OPROFILE_EVENT(e, number, mask, ht) {P4PMU_EV_##e, number, mask, ht},
#include "dialect_oprofile.def"
#undef OPROFILE_EVENT
};

static const struct row *row_of(int event)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if ((int)rows[i].event == event)
            return &rows[i];
    }
    return NULL;
}

struct fields {
    uint64_t count, mask, kernel, user;
};

static bool take_fields(char *rest, const struct row *row, unsigned line, const char *text,
                        struct fields *f, char error[512])
{
    *f = (struct fields){0, row->mask, 1, 1};
    uint64_t *const field[] = {&f->count, &f->mask, &f->kernel, &f->user};
    static const char *const what[] = {"count", "mask", "kernel", "user"};
    static const uint64_t most[] = {UINT32_MAX, 0xFFFF, 1, 1};
    size_t n = 0;
    for (char *part; (part = strsep(&rest, ":")); n++) {
        if (n == 4)
            return dialect_error(
                error, line, "'%.60s' has too many fields; expected name:count:mask:kernel:user",
                text);
        if (!dialect_number(part, 0, field[n]) || *field[n] > most[n])
            return dialect_error(error, line, "'%.60s': %s '%.20s' is not a number of 0 to 0x%llX",
                                 text, what[n], part, (unsigned long long)most[n]);
    }
    if (n == 0)
        return dialect_error(error, line,
                             "'%.60s' has no count; expected name:count:mask:kernel:user", text);
    return true;
}

static bool take_event(const char *text, unsigned line, struct dialect_wishes *wishes,
                       const struct config *config, struct dialect_notes *notes, char error[512])
{
    char copy[DIALECT_WORD], *rest = copy;
    struct fields f;
    snprintf(copy, sizeof copy, "%s", text);
    char *name = strsep(&rest, ":");
    int event = dialect_event_by_name(CONFIG_OPROFILE, name);
    if (event == P4PMU_NONE)
        return dialect_unknown_event(CONFIG_OPROFILE, name, line, error);
    if (!take_fields(rest, row_of(event), line, text, &f, error))
        return false;
    if (config->hyper_threading && !row_of(event)->ht)
        dialect_remark(notes, "OProfile's set for Hyper-Threading has no %s", name);
    if (f.count < (config->hyper_threading ? SMALLEST_HT : SMALLEST))
        dialect_remark(notes, "OProfile refuses counts below %d: '%s'",
                       config->hyper_threading ? SMALLEST_HT : SMALLEST, text);
    struct dialect_wish *w =
        dialect_wish(wishes, config, (enum p4pmu_event)event, text, line, error);
    if (!w)
        return false;
    w->request.mask = (unsigned)f.mask;
    w->request.os = f.kernel;
    w->request.usr = f.user;
    w->preset = -f.count & P4PMU_COUNTER_MASK;
    w->cccr_set = P4PMU_CCCR_OVF_PMI_T0_MASK;
    return true;
}

bool dialect_parse_oprofile(const char *text, struct config *config, struct dialect_notes *notes,
                            char error[512])
{
    struct dialect_words words = dialect_words(text, ",");
    struct dialect_wishes wishes = {.reserved =
                                        ~(config->hyper_threading ? counters_ht : counters)};
    while (dialect_next(&words)) {
        const char *word = words.word;
        if (!strcmp(word, "opcontrol") || !strcmp(word, "operf") || !strcmp(word, "-e") ||
            !strcmp(word, "--setup"))
            continue;
        if (!strncmp(word, "--event=", 8) || !strncmp(word, "--events=", 9))
            word = strchr(word, '=') + 1;
        if (!take_event(word, words.line, &wishes, config, notes, error))
            return false;
    }
    return dialect_place(&wishes, config, error);
}

/* ---- printing ----------------------------------------------------------------------------------
 */

void dialect_print_oprofile(const struct config *config, FILE *out, struct dialect_notes *notes)
{
    const uint32_t escr = P4PMU_ESCR_EVENT_SELECT_MASK | P4PMU_ESCR_EVENT_MASK_MASK |
                          P4PMU_ESCR_T0_USR_MASK | P4PMU_ESCR_T0_OS_MASK | P4PMU_ESCR_T1_USR_MASK |
                          P4PMU_ESCR_T1_OS_MASK; /* the driver moves levels to its processor */
    const uint32_t cccr = P4PMU_CCCR_ENABLE_MASK | P4PMU_CCCR_ESCR_SELECT_MASK |
                          P4PMU_CCCR_ACTIVE_THREAD_MASK | P4PMU_CCCR_OVF_PMI_T0_MASK;
    struct dialect_counts c;
    char name[48];
    dialect_counts(config, &c);
    dialect_give_counters(&c, false, "OProfile", notes);
    c.pebs_used = false; /* no word for a metric */
    for (size_t i = 0; i < c.size; i++) {
        const struct dialect_count *d = &c.count[i];
        uint64_t period = -d->preset & P4PMU_COUNTER_MASK;
        if (!dialect_sayable(d, "OProfile", escr, cccr, notes))
            continue;
        if (!dialect_event_name(CONFIG_OPROFILE, (enum p4pmu_event)d->event, name, sizeof name)) {
            dialect_lose(notes, "counter %d: OProfile has no %s", d->counter,
                         p4pmu_event((enum p4pmu_event)d->event)->name);
            continue;
        }
        if (!d->preset) {
            period = config->hyper_threading ? SMALLEST_HT : SMALLEST;
            dialect_remark(notes,
                           "counter %d has no preset; OProfile samples, so the smallest period it "
                           "takes is given",
                           d->counter);
        }
        fprintf(out, "%s:%llu:0x%x:%d:%d\n", name, (unsigned long long)period,
                (unsigned)P4PMU_GET(ESCR, EVENT_MASK, d->value),
                (d->value & P4PMU_ESCR_T0_OS_MASK) != 0, (d->value & P4PMU_ESCR_T0_USR_MASK) != 0);
    }
    dialect_leftovers(&c, "OProfile", notes);
}
