/*
 * Results for programs: JSON with "schema": "p4sim-stat/1", and CSV with the same schema in its
 * first column. A count that does not exist is null or an empty field with the reason, never 0.
 */
#include "stat.h"

#include <jansson.h>
#include <string.h>

#define SCHEMA "p4sim-stat/1"

const char *stat_source_name(enum stat_source source)
{
    return source == STAT_TRACE ? "recording" : (source == STAT_SNIPPET ? "snippet" : "live");
}

static const char *stop_name(enum sim_stop stop)
{
    switch (stop) {
    case SIM_STOP_END:
        return "end";
    case SIM_STOP_LIMIT:
        return "limit";
    case SIM_STOP_INTERRUPTED:
        return "interrupted";
    case SIM_STOP_SOURCE_ERROR:
        return "source error";
    case SIM_STOP_NOT_ON_MODEL:
        return "not on model";
    default:
        return "machine stopped";
    }
}

static json_t *hexadecimal(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%08llX", (unsigned long long)value);
    return json_string(text);
}

static json_t *slot_json(const struct sim_slot *slot)
{
    const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)slot->escr);
    json_t *object =
        json_pack("{s:s, s:o}", "escr", escr->name, "escr_value", hexadecimal(slot->escr_value));
    if (slot->counter != P4PMU_NONE) {
        const struct p4pmu_counter_info *counter = p4pmu_counter((unsigned)slot->counter);
        json_object_set_new(object, "counter", json_integer(slot->counter));
        json_object_set_new(object, "cccr", json_string(counter->cccr_name));
        json_object_set_new(object, "cccr_value", hexadecimal(slot->cccr_value));
    }
    return object;
}

static json_t *row_json(const struct stat_options *options, const struct stat_result *result,
                        const struct stat_row *row)
{
    struct stat_derived d = stat_derive(row, &result->stats);
    json_t *object =
        json_pack("{s:s, s:i}", "event", row->request.text, "pass", (int)row->pass + 1);
    json_object_set_new(object, "count",
                        row->counted ? json_integer((json_int_t)row->count) : json_null());
    if (!row->counted)
        json_object_set_new(object, "reason", json_string(row->why_not ? row->why_not : ""));
    if (d.known) {
        json_object_set_new(object, "value", json_real(d.value));
        json_object_set_new(object, "unit", json_string(d.unit));
    }
    if (options->registers && row->placed) {
        json_object_set_new(object, "registers", slot_json(&row->slot));
        if (row->has_upstream)
            json_object_set_new(object, "upstream", slot_json(&row->upstream));
    }
    return object;
}

static json_t *statistics_json(const struct nb_stats *stats)
{
    json_t *object = json_object();
    const char *name, *unit, *text;
    size_t offset;
    for (size_t i = 0; (name = nb_stat_describe(i, &unit, &text, &offset)); i++) {
        uint64_t value;
        memcpy(&value, (const char *)stats + offset, sizeof value);
        json_object_set_new(object, name, json_integer((json_int_t)value));
    }
    return object;
}

static json_t *end_json(const struct stat_result *result, unsigned which)
{
    static const char *const how[] = {"exit", "signal", "snippet", "cut"};
    const struct trace_end *end = &result->end[which];
    return json_pack(
        "{s:s, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:s}", "how",
        result->stop == SIM_STOP_END ? how[end->how] : "cut", "status", end->status, "processes",
        (int)end->processes, "threads", (int)end->threads, "signals", (json_int_t)end->signals,
        "uncounted_processes", (json_int_t)end->uncounted_processes, "interpreted",
        (json_int_t)end->interpreted, "stepped", (json_int_t)end->stepped, "note", end->note);
}

static json_t *head_json(const struct stat_result *result)
{
    const struct sim_model *model = &result->model;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:i}", "schema", SCHEMA, "p4sim",
                     P4SIM_VERSION, "model", model->name, "title", model->title, "program",
                     result->what, "source", stat_source_name(result->source[0]), "partial",
                     (int)result->partial, "stop", stop_name(result->stop), "passes",
                     (int)result->pass_count);
}

static json_t *part_json(const struct stat_result *result, const struct stat_part *part)
{
    json_t *object = json_pack("{s:s, s:s}", "part", part->part.name, "kind", stat_part_kind(part));
    json_t *events = json_array();
    const char *missing = stat_part_missing(part);
    if (part->part.kind == SIM_PART_REGION)
        json_object_set_new(object, "entries", json_integer((json_int_t)part->part.entries));
    if (missing)
        json_object_set_new(object, "reason", json_string(missing));
    json_object_set_new(object, "events", events);
    if (part->native)
        return object;
    json_object_set_new(object, "clocks", json_integer((json_int_t)part->part.all.clocks));
    json_object_set_new(object, "own_clocks", json_integer((json_int_t)part->part.own.clocks));
    json_object_set_new(object, "instructions",
                        json_integer((json_int_t)part->part.all.instructions));
    json_object_set_new(object, "own_instructions",
                        json_integer((json_int_t)part->part.own.instructions));
    for (size_t i = 0; i < result->row_count; i++) {
        if (result->rows[i].counted && !missing)
            json_array_append_new(
                events, json_pack("{s:s, s:I, s:I}", "event", result->rows[i].request.text, "count",
                                  (json_int_t)part->all[i], "own", (json_int_t)part->own[i]));
    }
    return object;
}

static void add_parts(json_t *root, const struct stat_result *result)
{
    json_t *parts = json_array();
    for (size_t i = 0; i < result->part_count; i++)
        json_array_append_new(parts, part_json(result, &result->parts[i]));
    json_object_set_new(root, "parts", parts);
}

bool stat_print_json(FILE *out, const struct stat_options *options,
                     const struct stat_result *result)
{
    json_t *root = head_json(result), *events = json_array();
    if (!root || !events)
        return false;
    if (result->trouble[0])
        json_object_set_new(root, "trouble", json_string(result->trouble));
    if (result->pass_count > 1)
        json_object_set_new(root, "passes_because", json_string(result->split));
    for (size_t i = 0; i < result->row_count; i++)
        json_array_append_new(events, row_json(options, result, &result->rows[i]));
    json_object_set_new(root, "events", events);
    if (result->part_count)
        add_parts(root, result);
    if (options->only_regions)
        json_object_set_new(root, "native_stretches", json_integer((json_int_t)result->stretches));
    json_object_set_new(root, "program_end", end_json(result, 0));
    if (result->source_count > 1)
        json_object_set_new(root, "second_program_end", end_json(result, 1));
    json_object_set_new(root, "machine", statistics_json(&result->stats));
    if (result->lps > 1)
        json_object_set_new(root, "logical_processors",
                            json_pack("[o, o]", statistics_json(&result->lp_stats[0]),
                                      statistics_json(&result->lp_stats[1])));
    json_object_set_new(root, "kernel", json_boolean(result->kernel.on));
    if (result->kernel.on)
        json_object_set_new(root, "timer_hz", json_integer(result->kernel.timer_hz));
    json_object_set_new(root, "core_mhz", json_integer(result->model.params.core_mhz));
    json_object_set_new(
        root, "simulated_seconds",
        json_real((double)result->stats.clocks / (1e6 * result->model.params.core_mhz)));
    json_object_set_new(root, "wall_seconds", json_real(result->seconds));
    bool good = json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0;
    fputc('\n', out);
    json_decref(root);
    return good;
}

/* A field in quotes, quotes doubled (RFC 4180). */
static void quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* One event of the whole run (PART NULL) or of a part of it. */
static void print_line(FILE *out, const struct stat_result *result, size_t index,
                       const struct stat_part *part)
{
    const struct stat_row *row = &result->rows[index];
    const char *why_not = row->counted ? (part ? stat_part_missing(part) : NULL) : row->why_not;
    bool counted = row->counted && !why_not;
    struct stat_derived d = stat_derive(row, &result->stats);
    fprintf(out, SCHEMA ",%s,", result->model.name);
    quoted(out, row->request.text);
    if (counted)
        fprintf(out, ",%llu,", (unsigned long long)(part ? part->all[index] : row->count));
    else
        fputs(",,", out);
    if (d.known && !part)
        fprintf(out, "%.6g,%s,", d.value, d.unit);
    else
        fputs(",,", out);
    fprintf(out, "%u,%s,", row->pass + 1, result->partial ? "yes" : "no");
    quoted(out, why_not ? why_not : "");
    if (part) {
        fputc(',', out);
        quoted(out, part->part.name);
        fprintf(out, ",%s,", stat_part_kind(part));
        if (part->part.kind == SIM_PART_REGION)
            fprintf(out, "%llu", (unsigned long long)part->part.entries);
        fputc(',', out);
        if (counted)
            fprintf(out, "%llu", (unsigned long long)part->own[index]);
    } else if (result->part_count) {
        fputs(",,,,", out);
    }
    fputc('\n', out);
}

/* The columns of parts stand at the end, and only where parts were asked for. */
void stat_print_csv(FILE *out, const struct stat_options *options, const struct stat_result *result)
{
    (void)options;
    fprintf(out, "schema,model,event,count,value,unit,pass,partial,reason%s\n",
            result->part_count ? ",part,kind,entries,own" : "");
    for (size_t i = 0; i < result->row_count; i++)
        print_line(out, result, i, NULL);
    for (size_t p = 0; p < result->part_count; p++)
        for (size_t i = 0; i < result->row_count; i++)
            print_line(out, result, i, &result->parts[p]);
}
