/* The two JSON texts of a file of samples: how the samples came about, and how the run ended. */
#include "form.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static json_t *event_json(const struct samples_event *event)
{
    return json_pack("{s:s, s:i, s:i, s:s, s:I}", "event", event->text, "counter",
                     (int)event->counter, "logical_processor", (int)event->lp, "how",
                     event->how == SIM_BY_PEBS ? "pebs" : "pmi", "period",
                     (json_int_t)event->period);
}

static char *take_text(json_t *root)
{
    char *text = root ? json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(root);
    return text;
}

char *form_about_text(const struct samples_about *about)
{
    json_t *events = json_array();
    for (size_t i = 0; i < about->event_count; i++)
        json_array_append_new(events, event_json(&about->event[i]));
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:b, s:o}", "schema", "p4sim-samples/1",
                  "made_by", about->made_by, "model", about->model, "program", about->program,
                  "core_mhz", (int)about->core_mhz, "l1_line_bytes", (int)about->l1_line_bytes,
                  "l1_sets", (int)about->l1_sets, "wide", (int)about->wide, "events", events);
    if (root && about->every) {
        json_object_set_new(root, "every", json_integer((json_int_t)about->every));
        json_object_set_new(root, "for", json_integer((json_int_t)about->length));
    }
    return take_text(root);
}

char *form_end_text(const struct samples_about *about, const struct samples_end *end)
{
    json_t *counts = json_array(), *exact = json_array(), *totals = json_object();
    for (size_t i = 0; i < about->event_count; i++) {
        json_array_append_new(counts, end->counted[i] ? json_integer((json_int_t)end->count[i])
                                                      : json_null());
        json_array_append_new(exact, json_boolean(end->exact[i]));
    }
#define T(name) json_object_set_new(totals, #name, json_integer((json_int_t)end->totals.name));
    SAMPLES_TOTALS(T)
#undef T
    json_t *root = json_pack("{s:I, s:I, s:s, s:o, s:o, s:o}", "clocks", (json_int_t)end->clocks,
                             "instructions", (json_int_t)end->instructions, "how", end->how,
                             "counts", counts, "exact", exact, "totals", totals);
    if (root && about->every) {
        json_object_set_new(root, "executed", json_integer((json_int_t)end->executed));
        json_object_set_new(root, "skipped", json_integer((json_int_t)end->skipped));
    }
    return take_text(root);
}

/* ---- reading -----------------------------------------------------------------------------------
 */

static bool take_string(const json_t *object, const char *name, char *to, size_t size)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (text)
        snprintf(to, size, "%s", text);
    return text != NULL;
}

static bool take_number(const json_t *object, const char *name, uint64_t most, uint64_t *value)
{
    const json_t *number = json_object_get(object, name);
    json_int_t found = json_integer_value(number);
    *value = (uint64_t)found;
    return json_is_integer(number) && found >= 0 && (uint64_t)found <= most;
}

static bool take_unsigned(const json_t *object, const char *name, unsigned most, unsigned *value)
{
    uint64_t found = 0;
    bool good = take_number(object, name, most, &found);
    *value = (unsigned)found;
    return good;
}

static bool take_event(const json_t *from, struct samples_event *event)
{
    char how[8] = "";
    bool good = take_string(from, "event", event->text, sizeof event->text) &&
                take_unsigned(from, "counter", P4PMU_COUNTERS - 1, &event->counter) &&
                take_unsigned(from, "logical_processor", 1, &event->lp) &&
                take_string(from, "how", how, sizeof how) &&
                take_number(from, "period", UINT64_C(1) << 40, &event->period);
    event->how = !strcmp(how, "pebs") ? SIM_BY_PEBS : SIM_BY_PMI;
    return good && (!strcmp(how, "pebs") || !strcmp(how, "pmi"));
}

static bool take_events(const json_t *root, struct samples_about *about)
{
    const json_t *events = json_object_get(root, "events");
    about->event_count = json_array_size(events);
    if (!json_is_array(events) || about->event_count > SAMPLES_EVENTS)
        return false;
    for (size_t i = 0; i < about->event_count; i++)
        if (!take_event(json_array_get(events, i), &about->event[i]))
            return false;
    return true;
}

static json_t *load(const char *text, size_t bytes, char why[256])
{
    json_error_t error;
    json_t *root = json_loadb(text, bytes, 0, &error);
    if (!root)
        snprintf(why, 256, "not JSON: %.200s", error.text);
    return root;
}

/* Only in files of windows. */
static bool take_windows(const json_t *root, struct samples_about *about)
{
    about->every = about->length = 0;
    return !json_object_get(root, "every") ||
           (take_number(root, "every", INT64_MAX, &about->every) &&
            take_number(root, "for", about->every, &about->length) && about->length);
}

bool form_read_about(const char *text, size_t bytes, struct samples_about *about, char why[256])
{
    char schema[32] = "";
    json_t *root = load(text, bytes, why);
    if (!root)
        return false;
    bool good = take_string(root, "schema", schema, sizeof schema) &&
                !strcmp(schema, "p4sim-samples/1") &&
                take_string(root, "made_by", about->made_by, sizeof about->made_by) &&
                take_string(root, "model", about->model, sizeof about->model) &&
                take_string(root, "program", about->program, sizeof about->program) &&
                take_unsigned(root, "core_mhz", 1000000, &about->core_mhz) &&
                take_unsigned(root, "l1_line_bytes", 1 << 16, &about->l1_line_bytes) &&
                take_unsigned(root, "l1_sets", 1 << 20, &about->l1_sets) &&
                take_events(root, about) && take_windows(root, about);
    about->wide = json_is_true(json_object_get(root, "wide"));
    json_decref(root);
    if (!good)
        snprintf(why, 256, "the header's text lacks a field or has a wrong one");
    return good;
}

static bool take_totals(const json_t *from, struct samples_totals *totals)
{
    bool good = true;
#define T(name) good = take_number(from, #name, INT64_MAX, &totals->name) && good;
    SAMPLES_TOTALS(T)
#undef T
    return good;
}

bool form_read_end(const char *text, size_t bytes, size_t events, struct samples_end *end,
                   char why[256])
{
    json_t *root = load(text, bytes, why);
    if (!root)
        return false;
    const json_t *counts = json_object_get(root, "counts"), *exact = json_object_get(root, "exact");
    bool good = take_number(root, "clocks", INT64_MAX, &end->clocks) &&
                take_number(root, "instructions", INT64_MAX, &end->instructions) &&
                take_string(root, "how", end->how, sizeof end->how) &&
                take_totals(json_object_get(root, "totals"), &end->totals) &&
                json_array_size(counts) == events && json_array_size(exact) == events &&
                (!json_object_get(root, "executed") ||
                 (take_number(root, "executed", INT64_MAX, &end->executed) &&
                  take_number(root, "skipped", end->executed, &end->skipped)));
    for (size_t i = 0; good && i < events; i++) {
        end->counted[i] = json_is_integer(json_array_get(counts, i));
        end->count[i] = (uint64_t)json_integer_value(json_array_get(counts, i));
        end->exact[i] = json_is_true(json_array_get(exact, i));
    }
    json_decref(root);
    if (!good)
        snprintf(why, 256, "the end record lacks a field or has a wrong one");
    return good;
}
