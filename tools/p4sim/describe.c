/*
 * The long text of every kind of row. All of it comes from the rows.
 */
#define _GNU_SOURCE
#include "describe.h"
#include "check.h"
#include "metrics.h"
#include "parts.h"
#include "request.h"
#include "topics.h"

#include <string.h>

enum { WIDTH = 92 };

void describe_wrap(FILE *out, const char *text, unsigned indent)
{
    unsigned column = 0;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        unsigned length = (unsigned)strcspn(text, " ");
        if (column && column + 1 + length > WIDTH) {
            fputc('\n', out);
            column = 0;
        }
        column +=
            column ? (unsigned)fprintf(out, " ") : (unsigned)fprintf(out, "%*s", (int)indent, "");
        column += (unsigned)fprintf(out, "%.*s", (int)length, text);
        text += length;
    }
    fputc('\n', out);
}

static void line(FILE *out, const char *label, const char *text)
{
    fprintf(out, "    %-12s", label);
    if (strlen(text) + 16 <= WIDTH) {
        fprintf(out, "%s\n", text);
        return;
    }
    fputc('\n', out);
    describe_wrap(out, text, 8);
}

static void models_text(unsigned models, char out[64])
{
    int used = 0;
    out[0] = '\0';
    if (models == P4PMU_ALL_MODELS) {
        snprintf(out, 64, "all");
        return;
    }
    for (unsigned m = 0; m < 32 && used < 60; m++)
        if (models >> m & 1)
            used += snprintf(out + used, 64 - (size_t)used, "%s%u", used ? ", " : "", m);
}

static void set_text(uint32_t set, char out[96])
{
    int used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < 32; i++)
        if (set >> i & 1)
            used += snprintf(out + used, 96 - (size_t)used, "%s%u", used ? ", " : "", i);
}

/* ---- events ------------------------------------------------------------------------------------
 */

static const char *status_name(enum p4pmu_status status)
{
    static const char *const name[] = {"not modelled", "partly modelled", "modelled"};
    return name[status];
}

static void describe_subevent(FILE *out, const struct p4pmu_subevent_info *s, bool whole)
{
    char models[64], text[700];
    models_text(s->models, models);
    fprintf(out, "    :%-16s bit %-2u ", s->name, s->bit);
    snprintf(
        text, sizeof text, "%s%s%s%s%s", s->description, s->status == P4PMU_MODELLED ? "" : " [",
        s->status == P4PMU_MODELLED ? "" : status_name(s->status), s->why[0] ? ": " : "", s->why);
    fprintf(out, "%s%s\n", text, s->status == P4PMU_MODELLED ? "" : "]");
    if (s->aliases[0])
        fprintf(out, "%26s also %s\n", "", s->aliases);
    if (s->models != P4PMU_ALL_MODELS)
        fprintf(out, "%26s models %s\n", "", models);
    if (whole)
        fprintf(out, "%26s source: %s\n", "", s->source);
}

static void describe_escrs(FILE *out, const struct p4pmu_event_info *e)
{
    for (unsigned i = 0; i < 2; i++) {
        char text[200], counters[96];
        if (e->escrs[i] == P4PMU_NONE)
            continue;
        const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)e->escrs[i]);
        set_text(escr->counters, counters);
        snprintf(text, sizeof text, "%s (%XH), counters %s with ESCR_SELECT %u", escr->name,
                 (unsigned)escr->msr, counters, escr->select);
        line(out, i ? "" : "ESCR", text);
    }
}

/* How much of the event the machine of this simulator posts. */
static void describe_status(FILE *out, const struct p4pmu_event_info *e)
{
    size_t whole = 0, partly = 0;
    char text[100];
    for (size_t i = 0; i < e->subevent_count; i++) {
        whole += e->subevents[i].status == P4PMU_MODELLED;
        partly += e->subevents[i].status == P4PMU_PARTLY;
    }
    if (whole == e->subevent_count)
        snprintf(text, sizeof text, "modelled");
    else if (!whole && !partly)
        snprintf(text, sizeof text, "not modelled: never posted by the simulated machine");
    else
        snprintf(text, sizeof text, "%zu of %zu sub-events modelled, %zu in part", whole,
                 e->subevent_count, partly);
    line(out, "simulator", text);
}

static void describe_event(FILE *out, unsigned index)
{
    const struct p4pmu_event_info *e = p4pmu_event((enum p4pmu_event)index);
    char text[200], models[64];
    const struct check_info *note;
    snprintf(text, sizeof text, "%02XH (ESCR 30:25)", e->code);
    line(out, "select", text);
    describe_escrs(out, e);
    line(out, "kind",
         e->class_ == P4PMU_AT_RETIREMENT ? "at retirement"
                                          : "in the pipeline, wrong paths included");
    line(out, "threads",
         e->thread == P4PMU_TS ? "thread-specific: belongs to one logical processor"
                               : "thread-independent: counts if either is at the level");
    models_text(e->models, models);
    line(out, "models", models);
    if (e->max_increment) {
        snprintf(text, sizeof text, "%u a clock", e->max_increment);
        line(out, "at most", text);
    }
    for (size_t n = 0; (note = check_event_note((int)index, n)); n++) {
        snprintf(text, sizeof text, "%s ('p4sim explain %s')", note->title, note->name);
        line(out, "note", text);
    }
    describe_status(out, e);
    line(out, "source", e->source);
    for (size_t i = 0; i < e->subevent_count; i++)
        describe_subevent(out, &e->subevents[i], false);
}

/* ---- metrics -----------------------------------------------------------------------------------
 */

static void describe_tag(FILE *out, unsigned index)
{
    static const char *const mechanisms[] = {"replay tagging", "front-end tagging",
                                             "execution tagging"};
    const struct sim_metric *m = sim_metric(index);
    char text[300];
    line(out, "mechanism", mechanisms[m->mechanism]);
    if (m->upstream_event != P4PMU_NONE) {
        snprintf(text, sizeof text, "%s, mask 0x%04X, in %s%s%s",
                 p4pmu_event((enum p4pmu_event)m->upstream_event)->name, m->upstream_mask,
                 p4pmu_escr((enum p4pmu_escr)m->upstream_escrs[0])->name,
                 m->upstream_escrs[1] == P4PMU_NONE ? "" : " or ",
                 m->upstream_escrs[1] == P4PMU_NONE
                     ? ""
                     : p4pmu_escr((enum p4pmu_escr)m->upstream_escrs[1])->name);
        line(out, "upstream", text);
    }
    if (m->pebs_enable) {
        snprintf(text, sizeof text, "IA32_PEBS_ENABLE 0x%llX, MSR_PEBS_MATRIX_VERT 0x%llX",
                 (unsigned long long)m->pebs_enable, (unsigned long long)m->pebs_matrix_vert);
        line(out, "registers", text);
    }
    line(out, "counted by", p4pmu_event(sim_metric_downstream(m))->name);
    line(out, "source", m->source);
}

static void describe_metric(FILE *out, unsigned index)
{
    const struct metric_row *m = metric_row(index);
    struct metric_term term;
    char text[240], models[64];
    line(out, "formula", m->formula);
    for (const char *at = m->terms; metric_next_term(&at, &term);) {
        snprintf(text, sizeof text, "%s = %s", term.letter, term.event);
        line(out, "", text);
    }
    if (m->pebs_enable) {
        snprintf(text, sizeof text, "IA32_PEBS_ENABLE 0x%llX, MSR_PEBS_MATRIX_VERT 0x%llX",
                 (unsigned long long)m->pebs_enable, (unsigned long long)m->pebs_matrix_vert);
        line(out, "registers", text);
    }
    models_text(m->models, models);
    line(out, "models", models);
    line(out, "source", m->source);
}

/* ---- registers ---------------------------------------------------------------------------------
 */

static void describe_fields(FILE *out, const char *reg)
{
    for (size_t i = 0; p4pmu_field(i); i++) {
        const struct p4pmu_field_info *f = p4pmu_field(i);
        char bits[16];
        if (strcmp(f->reg, reg))
            continue;
        snprintf(bits, sizeof bits, f->length == 1 ? "%u" : "%u:%u", f->shift + f->length - 1,
                 f->shift);
        fprintf(out, "    %-6s %-18s %s\n", bits, f->name, f->description);
    }
}

static void describe_escr(FILE *out, unsigned index)
{
    const struct p4pmu_escr_info *e = p4pmu_escr((enum p4pmu_escr)index);
    char text[200], counters[96], models[64];
    set_text(e->counters, counters);
    models_text(e->models, models);
    snprintf(text, sizeof text, "%XH", (unsigned)e->msr);
    line(out, "address", text);
    snprintf(text, sizeof text, "%s with ESCR_SELECT %u", counters, e->select);
    line(out, "counters", text);
    snprintf(text, sizeof text, "0x%08X", e->implemented);
    line(out, "holds bits", text);
    line(out, "models", models);
    for (int i = 0; i < P4PMU_EVENTS; i++) {
        const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)i);
        if (info->escrs[0] != (int)index && info->escrs[1] != (int)index)
            continue;
        snprintf(text, sizeof text, "%02XH %s", info->code, info->name);
        line(out, "event", text);
    }
    line(out, "source", e->source);
    describe_fields(out, "ESCR");
}

static void describe_counter(FILE *out, unsigned index)
{
    const struct p4pmu_counter_info *c = p4pmu_counter(index);
    char text[200];
    snprintf(text, sizeof text, "%XH, %s at %XH, RDPMC %u", (unsigned)c->msr, c->cccr_name,
             (unsigned)c->cccr_msr, index);
    line(out, "address", text);
    for (unsigned s = 0; s < 8; s++) {
        int escr = p4pmu_wired_escr(index, s);
        if (escr == P4PMU_NONE)
            continue;
        snprintf(text, sizeof text, "%u %s", s, p4pmu_escr((enum p4pmu_escr)escr)->name);
        line(out, "ESCR_SELECT", text);
    }
    snprintf(text, sizeof text, "by overflow of counter %d", c->cascade_source);
    line(out, "CASCADE", text);
    if (c->extended_source != P4PMU_NONE) {
        snprintf(text, sizeof text, "by overflow of counter %d, from model 2 on",
                 c->extended_source);
        line(out, "EXT_CASCADE", text);
    }
    line(out, "source", c->source);
    describe_fields(out, "CCCR");
}

static void describe_register(FILE *out, unsigned index)
{
    const struct p4pmu_msr_info *m = p4pmu_msr(index);
    char text[100], models[64];
    if (m->count == 1)
        snprintf(text, sizeof text, "%XH", (unsigned)m->msr);
    else
        snprintf(text, sizeof text, "%XH to %XH", (unsigned)m->msr,
                 (unsigned)(m->msr + m->count - 1));
    line(out, "address", text);
    line(out, "scope", m->per_lp ? "each logical processor has its own" : "shared");
    line(out, "access", m->read_only ? "read only" : "read and write");
    models_text(m->models, models);
    line(out, "models", models);
    line(out, "source", m->source);
    const char *name = strchr(m->name, '_');
    describe_fields(out, name ? name + 1 : m->name);
}

static void describe_field(FILE *out, unsigned index)
{
    const struct p4pmu_field_info *f = p4pmu_field(index);
    char text[100], models[64];
    snprintf(text, sizeof text, f->length == 1 ? "%u" : "%u:%u", f->shift + f->length - 1,
             f->shift);
    line(out, "bits", text);
    models_text(f->models, models);
    line(out, "models", models);
    if (f->read_only)
        line(out, "access", "read only");
    for (size_t i = 0; topic(i); i++) {
        if (!topic_is(topic(i), f->name))
            continue;
        snprintf(text, sizeof text, "'p4sim explain %s'", topic(i)->name);
        line(out, "more", text);
    }
}

/* ---- the rest ----------------------------------------------------------------------------------
 */

static void describe_part(FILE *out, unsigned index)
{
    const struct part *p = part(index);
    char text[100];
    snprintf(text, sizeof text, "F%X%XH: family 15 model %u stepping %u", p->model, p->stepping,
             p->model, p->stepping);
    line(out, "signature", text);
    line(out, "threads", p->hyper_threading ? "Hyper-Threading" : "one logical processor");
    line(out, "source", p->source);
}

static void describe_finding(FILE *out, unsigned index)
{
    const struct check_info *i = check_info((enum check_id)index);
    line(out, "severity", check_severity_name(i->severity));
    if (i->counts_nothing)
        line(out, "effect", "the counter counts nothing");
    line(out, "source", i->source);
    fputc('\n', out);
    describe_wrap(out, i->background, 4);
}

static void describe_erratum(FILE *out, unsigned index)
{
    const struct p4pmu_erratum_info *e = p4pmu_erratum((enum p4pmu_erratum)index);
    char text[100];
    line(out, "entry", e->entry);
    snprintf(text, sizeof text, "F%02XH to F%02XH", e->signatures[0][0], e->signatures[0][1]);
    line(out, "signatures", text);
    if (e->signatures[1][0] <= e->signatures[1][1]) {
        snprintf(text, sizeof text, "F%02XH to F%02XH", e->signatures[1][0], e->signatures[1][1]);
        line(out, "", text);
    }
    line(out, "source", e->source);
}

static void describe_topic(FILE *out, unsigned index)
{
    const struct topic *t = topic(index);
    describe_wrap(out, t->text, 4);
    if (t->diagram != TOPIC_NO) {
        fputc('\n', out);
        topic_draw(t->diagram, out);
    }
    fputc('\n', out);
    line(out, "source", t->source);
}

void describe(FILE *out, const struct item *item)
{
    static void (*const by_kind[ITEM_KINDS])(FILE *, unsigned) = {
        [ITEM_EVENT] = describe_event,     [ITEM_TAG] = describe_tag,
        [ITEM_METRIC] = describe_metric,   [ITEM_ESCR] = describe_escr,
        [ITEM_COUNTER] = describe_counter, [ITEM_REGISTER] = describe_register,
        [ITEM_FIELD] = describe_field,     [ITEM_PART] = describe_part,
        [ITEM_FINDING] = describe_finding, [ITEM_ERRATUM] = describe_erratum,
        [ITEM_TOPIC] = describe_topic,
    };
    fprintf(out, "%s\n", item->name);
    describe_wrap(out, item->description, 4);
    if (item->kind == ITEM_SUBEVENT)
        describe_subevent(out, &p4pmu_event((enum p4pmu_event)item->index)->subevents[item->sub],
                          true);
    else if (by_kind[item->kind])
        by_kind[item->kind](out, item->index);
}
