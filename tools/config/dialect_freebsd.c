/*
 * FreeBSD's hwpmc: p4-EVENT[,mask=A+B][,usr][,os][,threshold=N][,edge][,complement][,active=CHOICE]
 * [,cascade][,tag=N][,busreqtype=N], and libpmc's aliases.
 *
 * threshold= sets COMPARE; edge and complement set their bits only. Without usr and os both levels
 * are meant. Without mask= all named sub-events of the event are, but for machine_clear (CLEAR) and
 * FSB_data_activity (0x1D in libpmc; the manual page's words are 0x1B). IOQ_allocation,
 * FSB_data_activity and BSQ_allocation always get the edge bit. active= counts only with
 * Hyper-Threading; without it ACTIVE_THREAD is 11b.
 *
 * Not modelled: precise (not implemented there either); process-private counting; the move of
 * thread bits to the second logical processor.
 *
 * Sources: FreeBSD pmc.p4.3; libpmc.c p4_allocate_pmc; hwpmc_piv.c p4_allocate_pmc.
 */
#define _GNU_SOURCE
#include "dialect.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *alias, *meaning;
} aliases[] = {
    {"branches", "p4-branch-retired,mask=mmtp+mmtm"},
    {"branch-mispredicts", "p4-mispred-branch-retired"},
    {"instructions", "p4-instr-retired,mask=nbogusntag+nbogustag"},
    {"unhalted-cycles", "p4-global-power-events"},
};
static const char *const actives[] = {"none", "single", "both", "any"}; /* by CCCR value */

struct reader {
    const struct config *config;
    struct dialect_wishes wishes;
    struct dialect_notes *notes;
    const char *text;
    unsigned line;
    char *error;
};

static bool bus_queue(int event)
{
    return event == P4PMU_EV_IOQ_allocation || event == P4PMU_EV_IOQ_active_entries;
}

static bool always_edge(int event)
{
    return event == P4PMU_EV_IOQ_allocation || event == P4PMU_EV_FSB_data_activity ||
           event == P4PMU_EV_BSQ_allocation;
}

static bool has_no_masks(int event)
{
    return event == P4PMU_EV_bsq_active_entries || event == P4PMU_EV_b2b_cycles ||
           event == P4PMU_EV_bnr || event == P4PMU_EV_snoop || event == P4PMU_EV_response;
}

static bool take_masks(struct reader *r, struct sim_request *q, char *list)
{
    if (has_no_masks(q->event))
        dialect_remark(r->notes, "libpmc takes no mask= for %s",
                       p4pmu_event((enum p4pmu_event)q->event)->name);
    for (char *name; (name = strsep(&list, "+"));) {
        int bit = dialect_mask_by_name(CONFIG_FREEBSD, (enum p4pmu_event)q->event, name);
        if (bit < 0)
            return dialect_unknown_mask(CONFIG_FREEBSD, (enum p4pmu_event)q->event, name, r->line,
                                        r->error);
        if (q->event == P4PMU_EV_machine_clear && bit == 3)
            dialect_remark(r->notes,
                           "libpmc has smclear at mask bit 3, newer manuals have SMCLEAR at bit 6");
        q->mask |= 1u << bit;
    }
    return true;
}

static bool take_number(struct reader *r, const char *what, const char *digits, uint64_t most,
                        unsigned *value)
{
    uint64_t number;
    if (!dialect_number(digits, 0, &number) || number > most)
        return dialect_error(r->error, r->line,
                             "'%.60s': %s=%.20s is out of range; expected 0 to %llu", r->text, what,
                             digits, (unsigned long long)most);
    *value = (unsigned)number;
    return true;
}

static bool take_active(struct reader *r, struct dialect_wish *w, const char *choice)
{
    for (unsigned i = 0; i < 4; i++) {
        if (strcasecmp(actives[i], choice))
            continue;
        if (r->config->hyper_threading) {
            w->cccr_clear |= P4PMU_CCCR_ACTIVE_THREAD_MASK;
            w->cccr_set |= P4PMU_PUT(CCCR, ACTIVE_THREAD, 0, i);
        }
        return true;
    }
    return dialect_error(r->error, r->line,
                         "'%.60s': active=%.20s is not known; expected any, both, none or single",
                         r->text, choice);
}

static bool unknown_qualifier(struct reader *r, const char *part)
{
    static const char *const known[] = {"active=", "busreqtype=", "cascade", "complement", "edge",
                                        "mask=",   "os",          "tag=",    "threshold=", "usr"};
    char near[100];
    sim_near(part, known, sizeof known / sizeof known[0], near, sizeof near);
    return dialect_error(
        r->error, r->line,
        "'%.60s': '%.30s' is not a qualifier%s%s%s; expected mask=, usr, os, threshold=, edge, "
        "complement, active=, cascade, tag= or busreqtype=",
        r->text, part, near[0] ? "; did you mean" : "", near, near[0] ? "?" : "");
}

static bool take_assignment(struct reader *r, struct dialect_wish *w, const char *name, char *value)
{
    struct sim_request *q = &w->request;
    unsigned type = 0;
    if (!strcasecmp(name, "mask"))
        return take_masks(r, q, value);
    if (!strcasecmp(name, "active"))
        return take_active(r, w, value);
    if (!strcasecmp(name, "threshold")) {
        q->compare = true;
        return take_number(r, name, value, 15, &q->threshold);
    }
    if (!strcasecmp(name, "tag")) {
        dialect_remark(r->notes, "the manual page has tag=, libpmc refuses it for every event");
        q->tag_enable = true;
        return take_number(r, name, value, 15, &q->tag_value);
    }
    if (!strcasecmp(name, "busreqtype") && bus_queue(q->event)) {
        if (!take_number(r, name, value, 31, &type))
            return false;
        q->mask = (q->mask & ~0x1Fu) | type;
        return true;
    }
    return unknown_qualifier(r, name);
}

static bool take_qualifier(struct reader *r, struct dialect_wish *w, char *part)
{
    struct sim_request *q = &w->request;
    char *equals = strchr(part, '=');
    if (equals) {
        *equals = '\0';
        return take_assignment(r, w, part, equals + 1);
    }
    if (!strcasecmp(part, "usr"))
        q->usr = true;
    else if (!strcasecmp(part, "os"))
        q->os = true;
    else if (!strcasecmp(part, "edge"))
        q->edge = true;
    else if (!strcasecmp(part, "complement") || !strcasecmp(part, "inv"))
        q->complement = true;
    else if (!strcasecmp(part, "cascade"))
        w->cccr_set |= P4PMU_CCCR_CASCADE_MASK;
    else if (!strcasecmp(part, "precise"))
        return dialect_error(r->error, r->line,
                             "'%.60s': precise is not implemented by hwpmc for the Pentium 4",
                             r->text);
    else
        return unknown_qualifier(r, part);
    return true;
}

static void finish(struct reader *r, struct sim_request *q)
{
    if (!q->usr && !q->os)
        q->usr = q->os = true;
    q->edge |= always_edge(q->event);
    if (q->mask || has_no_masks(q->event))
        return;
    q->mask = dialect_all_bits(CONFIG_FREEBSD, (enum p4pmu_event)q->event);
    if (bus_queue(q->event))
        q->mask &= ~0x1Fu;
    if (q->event == P4PMU_EV_machine_clear)
        q->mask = 0x1;
    if (q->event == P4PMU_EV_FSB_data_activity) {
        q->mask = 0x1D;
        dialect_remark(
            r->notes,
            "libpmc's default mask of FSB_data_activity is 0x1D; its manual page describes 0x1B");
    }
}

static bool take_event(struct reader *r, const char *text)
{
    char copy[DIALECT_WORD], *rest = copy;
    snprintf(copy, sizeof copy, "%s", text);
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        size_t length = strcspn(text, ",");
        if (length == strlen(aliases[i].alias) && !strncasecmp(text, aliases[i].alias, length))
            snprintf(copy, sizeof copy, "%s%s", aliases[i].meaning, text + length);
    }
    char *name = strsep(&rest, ",");
    int event = strncasecmp(name, "p4-", 3) && strncasecmp(name, "p4_", 3)
                    ? P4PMU_NONE
                    : dialect_event_by_name(CONFIG_FREEBSD, name + 3);
    if (event == P4PMU_NONE)
        return dialect_unknown_event(CONFIG_FREEBSD, strncasecmp(name, "p4-", 3) ? name : name + 3,
                                     r->line, r->error);
    struct dialect_wish *w =
        dialect_wish(&r->wishes, r->config, (enum p4pmu_event)event, text, r->line, r->error);
    for (char *part; w && (part = strsep(&rest, ","));) {
        if (!take_qualifier(r, w, part))
            return false;
    }
    if (w)
        finish(r, &w->request);
    return w != NULL;
}

bool dialect_parse_freebsd(const char *text, struct config *config, struct dialect_notes *notes,
                           char error[512])
{
    static const char *const skipped[] = {"pmcstat", "-p", "-s", "-P", "-S", "pmc"};
    struct dialect_words words = dialect_words(text, "");
    struct reader r = {.config = config, .notes = notes, .error = error};
    while (dialect_next(&words)) {
        bool skip = false;
        for (size_t i = 0; i < sizeof skipped / sizeof skipped[0]; i++)
            skip = skip || !strcmp(words.word, skipped[i]);
        r.line = words.line;
        r.text = words.word;
        if (!skip && !take_event(&r, words.word))
            return false;
    }
    return dialect_place(&r.wishes, config, error);
}

/* ---- printing ----------------------------------------------------------------------------------
 */

static void print_masks(const struct dialect_count *d, FILE *out, struct dialect_notes *notes)
{
    unsigned mask = P4PMU_GET(ESCR, EVENT_MASK, d->value);
    bool bus = bus_queue(d->event);
    bool first = true;
    char name[48];
    for (unsigned bit = bus ? 5 : 0; bit < 16; bit++) {
        if (!(mask & 1u << bit))
            continue;
        if (!dialect_mask_name(CONFIG_FREEBSD, (enum p4pmu_event)d->event, bit, name,
                               sizeof name)) {
            dialect_lose(notes, "counter %d: FreeBSD has no name for mask bit %u of %s", d->counter,
                         bit, p4pmu_event((enum p4pmu_event)d->event)->name);
            continue;
        }
        fprintf(out, "%s%s", first ? ",mask=" : "+", name);
        first = false;
    }
    if (bus && mask & 0x1F)
        fprintf(out, ",busreqtype=%u", mask & 0x1F);
    if (!mask && !has_no_masks(d->event))
        dialect_lose(notes, "counter %d: FreeBSD takes no mask for its default, not for none",
                     d->counter);
    if (mask && has_no_masks(d->event))
        dialect_remark(
            notes,
            "counter %d: libpmc takes no mask= for this event, its manual page has one for "
            "bsq-active-entries",
            d->counter);
}

static void print_filters(const struct config *config, const struct dialect_count *d, FILE *out,
                          struct dialect_notes *notes)
{
    unsigned active = P4PMU_GET(CCCR, ACTIVE_THREAD, d->cccr);
    bool usr = d->value & P4PMU_ESCR_T0_USR_MASK, os = d->value & P4PMU_ESCR_T0_OS_MASK;
    bool compare = d->cccr & P4PMU_CCCR_COMPARE_MASK;
    bool edge = d->cccr & P4PMU_CCCR_EDGE_MASK;
    fputs(usr && !os ? ",usr" : "", out);
    fputs(os && !usr ? ",os" : "", out);
    if (compare)
        fprintf(out, ",threshold=%u", (unsigned)P4PMU_GET(CCCR, THRESHOLD, d->cccr));
    fputs(edge && !always_edge(d->event) ? ",edge" : "", out);
    fputs(d->cccr & P4PMU_CCCR_COMPLEMENT_MASK ? ",complement" : "", out);
    fputs(d->cccr & P4PMU_CCCR_CASCADE_MASK ? ",cascade" : "", out);
    if (active != 3)
        fprintf(out, ",active=%s", actives[active]);
    if (active != 3 && !config->hyper_threading)
        dialect_lose(notes, "counter %d: without Hyper-Threading FreeBSD sets ACTIVE_THREAD 11b",
                     d->counter);
    if (d->value & P4PMU_ESCR_TAG_ENABLE_MASK)
        fprintf(out, ",tag=%u", (unsigned)P4PMU_GET(ESCR, TAG_VALUE, d->value));
    if (!edge && always_edge(d->event))
        dialect_lose(notes, "counter %d: FreeBSD always sets EDGE for this event", d->counter);
    if (!usr && !os)
        dialect_lose(notes, "counter %d: FreeBSD cannot say that no privilege level counts",
                     d->counter);
    if (d->preset)
        dialect_shorten(notes, "counter %d: the preset is pmcstat's -n, not part of the event",
                        d->counter);
}

void dialect_print_freebsd(const struct config *config, FILE *out, struct dialect_notes *notes)
{
    const uint32_t escr = 0x7FFFFFFF, cccr = 0x41FFF000;
    struct dialect_counts c;
    char name[48];
    dialect_counts(config, &c);
    dialect_give_counters(&c, false, "FreeBSD", notes);
    c.pebs_used = false;
    for (size_t i = 0; i < c.size; i++) {
        const struct dialect_count *d = &c.count[i];
        if (!dialect_sayable(d, "FreeBSD", escr, cccr, notes))
            continue;
        if (!dialect_event_name(CONFIG_FREEBSD, (enum p4pmu_event)d->event, name, sizeof name)) {
            dialect_lose(notes, "counter %d: FreeBSD has no %s", d->counter,
                         p4pmu_event((enum p4pmu_event)d->event)->name);
            continue;
        }
        struct dialect_line line;
        if (!dialect_line_begin(&line, notes))
            return;
        fprintf(line.file, "p4-%s", name);
        print_masks(d, line.file, notes);
        print_filters(config, d, line.file, notes);
        dialect_line_end(&line, out, notes);
    }
    dialect_leftovers(&c, "FreeBSD", notes);
}
