/* A report as a table, CSV or JSON. */
#include "report.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

static unsigned rows_shown(const struct report *report)
{
    size_t count = report->tally.count;
    unsigned limit = report->options->limit;
    return limit && limit < count ? limit : (unsigned)count;
}

static const struct samples_event *event_of(const struct report_column *c)
{
    return c->event < c->samples->about.event_count ? &c->samples->about.event[c->event] : NULL;
}

static uint64_t period_of(const struct report_column *c)
{
    const struct samples_event *event = event_of(c);
    return event ? event->period : 1;
}

/* What one sample of ROW stands for. */
static uint64_t row_period(const struct report *report, const struct tally_row *row)
{
    const struct report_column *c = &report->column[0];
    const struct samples_about *about = &c->samples->about;
    if (report->options->by != REPORT_BY_EVENT)
        return period_of(c);
    return row->order < about->event_count ? about->event[row->order].period : 1;
}

static uint64_t samples_of(const struct report_column *c)
{
    uint64_t count = 0;
    for (size_t i = 0; i < c->samples->count; i++)
        count += c->samples->sample[i].event == c->event;
    return count;
}

/* ---- the table ---------------------------------------------------------------------------------
 */

static void print_windows(FILE *out, const struct samples_end *end)
{
    uint64_t simulated = end->executed - end->skipped;
    fprintf(out,
            "# in windows: %" PRIu64 " of %" PRIu64
            " instructions were simulated; the whole run has "
            "about %.4g times as many events\n",
            simulated, end->executed, (double)end->executed / (simulated ? (double)simulated : 1));
}

static void print_column(FILE *out, const struct report *report, const struct report_column *c)
{
    const struct samples_event *event = event_of(c);
    const struct samples *s = c->samples;
    fprintf(out, "# %s: %" PRIu64 " samples", c->title, samples_of(c));
    if (event)
        fprintf(out, ", one in %" PRIu64 " (%s, counter %u)", event->period,
                event->how == SIM_BY_PEBS ? "precise" : "interrupt", event->counter);
    if (event && s->complete && s->end.counted[c->event])
        fprintf(out, "; the event happened %" PRIu64 " times", s->end.count[c->event]);
    fputc('\n', out);
    if (s->about.every && s->complete)
        print_windows(out, &s->end);
    if (!s->complete)
        fprintf(out, "# the run is not complete: %s\n", s->missing);
    if (c->left_out)
        fprintf(out, "# %" PRIu64 " samples are not shown: %s\n", c->left_out, c->why);
    (void)report;
}

static void print_skid(FILE *out, const struct report_column *c)
{
    struct report_skid skid;
    if (!report_skid_of(c, &skid))
        return;
    fprintf(out,
            "# %s: %" PRIu64 " of %" PRIu64
            " on the instruction at fault; instructions behind it: least %" PRId64
            ", median %" PRId64 ", 90%% within %" PRId64 ", most %" PRId64 "\n",
            c->title, skid.on_it, skid.known, skid.least, skid.median, skid.ninety, skid.most);
    fprintf(out,
            "#   clocks from overflow to sample: least %" PRIu64 ", median %" PRIu64
            ", 90%% within %" PRIu64 ", most %" PRIu64 "\n",
            skid.clocks_least, skid.clocks_median, skid.clocks_ninety, skid.clocks_most);
}

static void print_trouble(FILE *out, const struct report_column *c)
{
    const char *trouble;
    for (size_t i = 0; (trouble = places_trouble(c->places, i)); i++)
        fprintf(out, "# %s\n", trouble);
}

static void print_heads(FILE *out, const struct report *report)
{
    const char *title = report_key_title(report->options->by);
    if (report->columns > 1)
        fprintf(out, "#  first   second  change     first    second  %s\n", title);
    else
        fprintf(out, "#  share   samples         events  %s\n", title);
}

static void print_row(FILE *out, const struct report *report, const struct tally_row *row)
{
    double first = 100 * tally_share(&report->tally, row, 0);
    if (report->columns > 1) {
        double second = 100 * tally_share(&report->tally, row, 1);
        fprintf(out, "%7.2f%% %7.2f%% %+7.2f %9" PRIu64 " %9" PRIu64 "  %s\n", first, second,
                second - first, row->count[0], row->count[1], row->name);
        return;
    }
    fprintf(out, "%7.2f%% %9" PRIu64 " %14" PRIu64 "  %s\n", first, row->count[0],
            row->count[0] * row_period(report, row), row->name);
}

void report_print(FILE *out, const struct report *report)
{
    unsigned shown = rows_shown(report);
    const struct samples_about *about = &report->column[0].samples->about;
    fprintf(out, "# '%s' on model %s\n", about->program, about->model);
    for (unsigned i = 0; i < report->columns; i++)
        print_column(out, report, &report->column[i]);
    for (unsigned i = 0; i < report->columns && report->options->by == REPORT_BY_SKID; i++)
        print_skid(out, &report->column[i]);
    fputs("#\n", out);
    print_heads(out, report);
    for (unsigned i = 0; i < shown; i++)
        print_row(out, report, &report->tally.row[i]);
    if (shown < report->tally.count)
        fprintf(out, "# %zu more rows; --limit 0 shows all\n", report->tally.count - shown);
    print_trouble(out, &report->column[0]);
    if (report->columns > 1 && report->column[1].owned)
        print_trouble(out, &report->column[1]);
}

/* ---- data --------------------------------------------------------------------------------------
 */

static void csv_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void report_print_csv(FILE *out, const struct report *report)
{
    unsigned shown = rows_shown(report);
    fprintf(out, "schema,by,name,order,samples%s\n", report->columns > 1 ? ",samples_second" : "");
    for (unsigned i = 0; i < shown; i++) {
        const struct tally_row *row = &report->tally.row[i];
        fprintf(out, "p4sim-report/1,%s,", report_key_title(report->options->by));
        csv_text(out, row->name);
        fprintf(out, ",%" PRIu64 ",%" PRIu64, row->order, row->count[0]);
        if (report->columns > 1)
            fprintf(out, ",%" PRIu64, row->count[1]);
        fputc('\n', out);
    }
}

static json_t *skid_json(const struct report_column *c)
{
    struct report_skid skid;
    if (!report_skid_of(c, &skid))
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "known",
                     (json_int_t)skid.known, "on_it", (json_int_t)skid.on_it, "least",
                     (json_int_t)skid.least, "median", (json_int_t)skid.median, "ninety",
                     (json_int_t)skid.ninety, "most", (json_int_t)skid.most, "clocks_least",
                     (json_int_t)skid.clocks_least, "clocks_median", (json_int_t)skid.clocks_median,
                     "clocks_ninety", (json_int_t)skid.clocks_ninety, "clocks_most",
                     (json_int_t)skid.clocks_most);
}

static json_t *column_json(const struct report_column *c)
{
    const struct samples *s = c->samples;
    const struct samples_event *event = event_of(c);
    bool counted = event && s->complete && s->end.counted[c->event];
    return json_pack("{s:s, s:s, s:I, s:I, s:o, s:b, s:I, s:o}", "title", c->title, "event",
                     event ? event->text : "branches", "period", (json_int_t)period_of(c),
                     "samples", (json_int_t)samples_of(c), "event_count",
                     counted ? json_integer((json_int_t)s->end.count[c->event]) : json_null(),
                     "complete", (int)s->complete, "left_out", (json_int_t)c->left_out, "skid",
                     skid_json(c));
}

bool report_print_json(FILE *out, const struct report *report)
{
    json_t *columns = json_array(), *rows = json_array();
    unsigned shown = rows_shown(report);
    for (unsigned i = 0; i < report->columns; i++)
        json_array_append_new(columns, column_json(&report->column[i]));
    for (unsigned i = 0; i < shown; i++) {
        const struct tally_row *row = &report->tally.row[i];
        json_t *counts = json_array();
        for (unsigned c = 0; c < report->columns; c++)
            json_array_append_new(counts, json_integer((json_int_t)row->count[c]));
        json_array_append_new(rows, json_pack("{s:s, s:o}", "name", row->name, "samples", counts));
    }
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:o, s:o}", "schema", "p4sim-report/1", "program",
                  report->column[0].samples->about.program, "by",
                  report_key_title(report->options->by), "columns", columns, "rows", rows);
    bool good = root && json_dumpf(root, out, JSON_INDENT(2)) == 0 && fputc('\n', out) != EOF;
    json_decref(root);
    return good;
}
