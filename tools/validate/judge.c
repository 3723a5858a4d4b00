/*
 * From counts to a verdict: a row's measure is its count, divided by the number of copies executed
 * (or what the row says), less that of another snippet where the row wants a difference.
 */
#include "judge.h"

#include <stdio.h>
#include <string.h>

static const char clocks[] = "global_power_events:RUNNING";

const struct sim_model *judge_model(struct judge *judge, const char *name, char error[512])
{
    name = name ? name : "northwood";
    for (unsigned i = 0; i < judge->models_count; i++)
        if (!strcmp(judge->models[i].name, name))
            return &judge->models[i];
    if (judge->models_count == sizeof judge->models / sizeof judge->models[0]) {
        snprintf(error, 512, "more models than p4sim keeps at once");
        return NULL;
    }
    struct sim_model *model = &judge->models[judge->models_count];
    if (!sim_model_load(name, model, error))
        return NULL;
    judge->models_count++;
    return model;
}

void judge_free(struct judge *judge)
{
    for (unsigned i = 0; i < judge->models_count; i++)
        sim_model_free(&judge->models[i]);
    judge->models_count = 0;
}

/* What is measured, apart from where. */
struct what {
    const char *model, *beside, *count, *over, *with;
    double per;
    enum suite_take take;
    uint32_t period;
};

static double divisor(const struct what *what, const struct measure *measure)
{
    if (what->over)
        return (double)measure->count[1];
    if (what->per > 0)
        return what->per;
    const struct suite_snippet *s = measure->snippet;
    return s->body ? (double)s->copies * s->loops : s->times ? (double)s->times : 1;
}

static bool measure_of(struct judge *judge, const struct what *what, const char *snippet,
                       struct measure *measure, char error[512])
{
    int status;
    *measure = (struct measure){.snippet = suite_snippet(judge->suite, snippet),
                                .recordings = judge->recordings,
                                .model = judge_model(judge, what->model, error),
                                .period = what->period,
                                .event = {what->count ? what->count : clocks},
                                .events = 1,
                                .with = what->with};
    if (what->beside)
        measure->beside = suite_snippet(judge->suite, what->beside);
    if (what->over)
        measure->event[measure->events++] = what->over;
    if (what->with)
        measure->event[measure->events++] = what->with;
    return measure->model && measure_run(measure, error, &status);
}

static uint64_t times_of(const struct measure_keys *keys, uint64_t key)
{
    for (unsigned i = 0; i < keys->count; i++)
        if (keys->of[i].key == key)
            return keys->of[i].times;
    return 0;
}

static uint64_t extreme(const struct measure_keys *keys, bool most)
{
    uint64_t found = keys->count ? keys->of[0].times : 0;
    for (unsigned i = 1; i < keys->count; i++)
        if (most ? keys->of[i].times > found : keys->of[i].times < found)
            found = keys->of[i].times;
    return found;
}

static double of_records(enum suite_take take, const struct measure_records *records)
{
    if (take == SUITE_FEWEST || take == SUITE_MOST)
        return (double)extreme(&records->eax, take == SUITE_MOST);
    if (take == SUITE_RECORDS || !records->taken)
        return (double)records->taken;
    return 100.0 * (double)times_of(&records->ip, records->cause) / (double)records->taken;
}

/* The count of SNIPPET, less that of MINUS (which may be NULL), divided. */
static bool value_of(struct judge *judge, const struct what *what, const char *snippet,
                     const char *minus, double *value, char error[512])
{
    struct measure measure, less = {.count = {0}};
    if (!measure_of(judge, what, snippet, &measure, error) ||
        (minus && !measure_of(judge, what, minus, &less, error)))
        return false;
    if (what->take != SUITE_COUNT) {
        *value = of_records(what->take, &measure.records);
        return true;
    }
    double by = divisor(what, &measure);
    *value = by > 0 ? ((double)measure.count[0] - (double)less.count[0]) / by : 0;
    return true;
}

static bool row_value(struct judge *judge, const struct suite_row *row, double *value,
                      char error[512])
{
    const struct what what = {row->model, row->beside, row->count, row->over,
                              row->with,  row->per,    row->take,  row->period};
    double other = 0;
    if (!value_of(judge, &what, row->snippet, row->minus, value, error))
        return false;
    if (!row->divide)
        return true;
    if (!value_of(judge, &what, row->divide, NULL, &other, error))
        return false;
    *value = other > 0 ? *value / other : 0;
    return true;
}

static bool within(const struct suite_row *row, double value)
{
    double room_below = row->from * row->percent / 100 + row->absolute;
    double room_above = row->to * row->percent / 100 + row->absolute;
    return value >= row->from - room_below && value <= row->to + room_above;
}

static double ratio_of(const struct suite_row *row, double value)
{
    double nearest = value < row->from ? row->from : value > row->to ? row->to : value;
    return nearest > 0 ? value / nearest : value == nearest ? 1 : 0;
}

void judge_row(struct judge *judge, const struct suite_row *row, struct judged *out)
{
    *out = (struct judged){.row = row, .verdict = VERDICT_NOT_RUN};
    if (!row_value(judge, row, &out->simulated, out->trouble))
        return;
    out->ratio = ratio_of(row, out->simulated);
    if (within(row, out->simulated))
        out->verdict = row->expect == SUITE_WITHIN ? VERDICT_WITHIN : VERDICT_BETTER;
    else
        out->verdict = row->expect == SUITE_WITHIN ? VERDICT_REGRESSION : VERDICT_OUTSIDE;
}

bool judge_point(struct judge *judge, const struct suite_curve *curve,
                 const struct suite_point *point, double *y, char error[512])
{
    const struct what what = {curve->model, curve->beside, curve->count, NULL,
                              NULL,         curve->per,    SUITE_COUNT,  0};
    return value_of(judge, &what, point->snippet, NULL, y, error);
}

bool judge_pair(struct judge *judge, const struct suite_pairs *pairs, unsigned a, int beside,
                double *clocks_each, char error[512])
{
    const struct what what = {pairs->model, beside < 0 ? NULL : pairs->kernels[beside].snippet,
                              NULL,         NULL,
                              NULL,         0,
                              SUITE_COUNT,  0};
    return value_of(judge, &what, pairs->kernels[a].snippet, NULL, clocks_each, error);
}
