/*
 * The rows as data, for scripts.
 */
#include "describe.h"
#include "check.h"
#include "metrics.h"
#include "parts.h"
#include "request.h"
#include "topics.h"

static json_t *bits_json(uint32_t set)
{
    json_t *list = json_array();
    for (int i = 0; i < 32; i++)
        if (set >> i & 1)
            json_array_append_new(list, json_integer(i));
    return list;
}

static json_t *subevent_json(const struct p4pmu_subevent_info *s)
{
    static const char *const status[] = {"not modelled", "partly", "modelled"};
    return json_pack("{s:s, s:i, s:s, s:s, s:o, s:s, s:s, s:s}", "name", s->name, "bit",
                     (int)s->bit, "aliases", s->aliases, "description", s->description, "models",
                     bits_json(s->models), "status", status[s->status], "why", s->why, "source",
                     s->source);
}

static json_t *escrs_json(const struct p4pmu_event_info *e)
{
    json_t *list = json_array();
    for (int i = 0; i < 2; i++) {
        if (e->escrs[i] == P4PMU_NONE)
            continue;
        const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)e->escrs[i]);
        json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:o}", "name", escr->name, "msr",
                                              (int)escr->msr, "escr_select", (int)escr->select,
                                              "counters", bits_json(escr->counters)));
    }
    return list;
}

static void add_event(json_t *o, unsigned index)
{
    const struct p4pmu_event_info *e = p4pmu_event((enum p4pmu_event)index);
    json_t *subevents = json_array(), *notes = json_array();
    const struct check_info *note;
    for (size_t i = 0; i < e->subevent_count; i++)
        json_array_append_new(subevents, subevent_json(&e->subevents[i]));
    for (size_t n = 0; (note = check_event_note((int)index, n)); n++)
        json_array_append_new(notes, json_string(note->name));
    json_object_update_new(o,
                           json_pack("{s:i, s:o, s:b, s:s, s:o, s:i, s:s, s:o, s:o}", "select",
                                     (int)e->code, "escrs", escrs_json(e), "at_retirement",
                                     (int)(e->class_ == P4PMU_AT_RETIREMENT), "thread",
                                     e->thread == P4PMU_TS ? "specific" : "independent", "models",
                                     bits_json(e->models), "most_in_a_clock", (int)e->max_increment,
                                     "source", e->source, "subevents", subevents, "notes", notes));
}

static void add_tag(json_t *o, unsigned index)
{
    static const char *const mechanisms[] = {"replay", "front end", "execution"};
    const struct sim_metric *m = sim_metric(index);
    json_object_update_new(
        o, json_pack("{s:s, s:s?, s:i, s:i, s:i, s:s, s:s}", "mechanism", mechanisms[m->mechanism],
                     "upstream_event",
                     m->upstream_event == P4PMU_NONE
                         ? NULL
                         : p4pmu_event((enum p4pmu_event)m->upstream_event)->name,
                     "upstream_mask", (int)m->upstream_mask, "pebs_enable", (int)m->pebs_enable,
                     "pebs_matrix_vert", (int)m->pebs_matrix_vert, "counted_by",
                     p4pmu_event(sim_metric_downstream(m))->name, "source", m->source));
}

static void add_metric(json_t *o, unsigned index)
{
    const struct metric_row *m = metric_row(index);
    json_object_update_new(o, json_pack("{s:s, s:s, s:o, s:s}", "formula", m->formula, "terms",
                                        m->terms, "models", bits_json(m->models), "source",
                                        m->source));
}

static void add_escr(json_t *o, unsigned index)
{
    const struct p4pmu_escr_info *e = p4pmu_escr((enum p4pmu_escr)index);
    json_object_update_new(o, json_pack("{s:i, s:i, s:o, s:o, s:I, s:s}", "msr", (int)e->msr,
                                        "escr_select", (int)e->select, "counters",
                                        bits_json(e->counters), "models", bits_json(e->models),
                                        "implemented", (json_int_t)e->implemented, "source",
                                        e->source));
}

static void add_counter(json_t *o, unsigned index)
{
    const struct p4pmu_counter_info *c = p4pmu_counter(index);
    json_object_update_new(o, json_pack("{s:i, s:i, s:i, s:s, s:i, s:s}", "rdpmc", (int)index,
                                        "msr", (int)c->msr, "cccr_msr", (int)c->cccr_msr, "cccr",
                                        c->cccr_name, "cascade_source", c->cascade_source, "source",
                                        c->source));
}

static void add_finding(json_t *o, unsigned index)
{
    const struct check_info *i = check_info((enum check_id)index);
    json_object_update_new(o, json_pack("{s:s, s:b, s:s, s:s}", "severity",
                                        check_severity_name(i->severity), "counts_nothing",
                                        (int)i->counts_nothing, "background", i->background,
                                        "source", i->source));
}

static void add_register(json_t *o, unsigned index)
{
    const struct p4pmu_msr_info *m = p4pmu_msr(index);
    json_object_update_new(o, json_pack("{s:i, s:i, s:b, s:b, s:o, s:s}", "msr", (int)m->msr,
                                        "count", (int)m->count, "per_logical_processor",
                                        (int)m->per_lp, "read_only", (int)m->read_only, "models",
                                        bits_json(m->models), "source", m->source));
}

static void add_field(json_t *o, unsigned index)
{
    const struct p4pmu_field_info *f = p4pmu_field(index);
    json_object_update_new(o, json_pack("{s:s, s:i, s:i, s:b, s:o}", "register", f->reg, "shift",
                                        (int)f->shift, "length", (int)f->length, "read_only",
                                        (int)f->read_only, "models", bits_json(f->models)));
}

static void add_part(json_t *o, unsigned index)
{
    const struct part *p = part(index);
    json_object_update_new(o, json_pack("{s:i, s:i, s:b, s:s}", "model", (int)p->model, "stepping",
                                        (int)p->stepping, "hyper_threading",
                                        (int)p->hyper_threading, "source", p->source));
}

static void add_erratum(json_t *o, unsigned index)
{
    const struct p4pmu_erratum_info *e = p4pmu_erratum((enum p4pmu_erratum)index);
    json_t *ranges = json_array();
    for (int i = 0; i < 2; i++) {
        if (e->signatures[i][0] <= e->signatures[i][1])
            json_array_append_new(
                ranges, json_pack("[i, i]", (int)e->signatures[i][0], (int)e->signatures[i][1]));
    }
    json_object_update_new(o, json_pack("{s:s, s:o, s:s}", "entry", e->entry, "signatures", ranges,
                                        "source", e->source));
}

static void add_topic(json_t *o, unsigned index)
{
    json_object_update_new(
        o, json_pack("{s:s, s:s}", "text", topic(index)->text, "source", topic(index)->source));
}

json_t *describe_json(const struct item *item)
{
    static void (*const by_kind[ITEM_KINDS])(json_t *, unsigned) = {
        [ITEM_EVENT] = add_event,       [ITEM_TAG] = add_tag,         [ITEM_METRIC] = add_metric,
        [ITEM_ESCR] = add_escr,         [ITEM_COUNTER] = add_counter, [ITEM_FINDING] = add_finding,
        [ITEM_REGISTER] = add_register, [ITEM_FIELD] = add_field,     [ITEM_PART] = add_part,
        [ITEM_ERRATUM] = add_erratum,   [ITEM_TOPIC] = add_topic,
    };
    json_t *o = json_pack("{s:s, s:s, s:s}", "kind", item_kind_one(item->kind), "name", item->name,
                          "description", item->description);
    if (item->kind == ITEM_SUBEVENT)
        json_object_update_new(
            o, subevent_json(&p4pmu_event((enum p4pmu_event)item->index)->subevents[item->sub]));
    else if (by_kind[item->kind])
        by_kind[item->kind](o, item->index);
    return o;
}
