/*
 * p4sim report: what the samples of a file say: histograms by code, by data address, by distance
 * from the instruction at fault; comparisons; pictures; and the files of other viewers.
 */
#define _GNU_SOURCE
#include "report.h"

#include "export.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char help[] =
    "usage: p4sim report [OPTIONS] FILE\n\n"
    "Shows the samples that 'p4sim record' took.\n\n"
    "      --by WHAT           group by (default function):\n"
    "                            code: function, instruction, line, object\n"
    "                            who: process, thread, event\n"
    "                            data, from recorded registers and the instruction's operand:\n"
    "                              address, cache-line, set (of the L1), page, variable, range\n"
    "                            skid: instructions between the one at fault and the sample\n"
    "                            time: fiftieths of the run\n"
    "      --range NAME=LOW-HIGH  a range for --by range; may be repeated\n"
    "  -e, --event EVENT       samples of this event, by name or number from 0 (default: the "
    "first);\n"
    "                          branches: the branch records\n"
    "      --compare FILE      a second column: the same event of another run\n"
    "      --compare-event EVENT  a second column: another event of the same run (with --compare: "
    "of\n"
    "                          that one)\n"
    "      --truth             count the instruction that made the event happen, which the "
    "simulator\n"
    "                          knows, not the recorded one\n"
    "      --sort ORDER        count, order (of addresses and numbers) or change\n"
    "      --limit N           at most N rows (default 40; 0: all)\n"
    "      --csv, --json       data instead of the table\n"
    "      --plot FILE         draw it: FILE.png or FILE.svg, through gnuplot\n"
    "      --export FORM       all samples for other viewers: perf-script, collapsed (flame "
    "graphs)\n"
    "                          or firefox (profiler.firefox.com)\n"
    "  -o, --output FILE       write to FILE, not to standard output\n"
    "      --help              this text\n\n"
    "example: p4sim report --by page --plot pages.png samples.p4s\n"
    "exit status: 0 done, 2 usage, 3 input cannot be used or output not written.\n";

enum option_code {
    OPT_BY = 256,
    OPT_RANGE,
    OPT_COMPARE,
    OPT_COMPARE_EVENT,
    OPT_TRUTH,
    OPT_SORT,
    OPT_LIMIT,
    OPT_CSV,
    OPT_JSON,
    OPT_PLOT,
    OPT_EXPORT,
};

static const struct option long_options[] = {
    {"by", required_argument, NULL, OPT_BY},
    {"range", required_argument, NULL, OPT_RANGE},
    {"event", required_argument, NULL, 'e'},
    {"compare", required_argument, NULL, OPT_COMPARE},
    {"compare-event", required_argument, NULL, OPT_COMPARE_EVENT},
    {"truth", no_argument, NULL, OPT_TRUTH},
    {"sort", required_argument, NULL, OPT_SORT},
    {"limit", required_argument, NULL, OPT_LIMIT},
    {"csv", no_argument, NULL, OPT_CSV},
    {"json", no_argument, NULL, OPT_JSON},
    {"plot", required_argument, NULL, OPT_PLOT},
    {"export", required_argument, NULL, OPT_EXPORT},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

enum { GO_ON = -1 };

/* ---- options -----------------------------------------------------------------------------------
 */

static int take_by(struct report_options *options, const char *text)
{
    for (int i = 0; i < REPORT_KEY_COUNT; i++) {
        if (strcmp(text, report_key_title((enum report_key)i)) != 0)
            continue;
        options->by = (enum report_key)i;
        options->by_given = true;
        return GO_ON;
    }
    return complain(EXIT_USAGE, "report",
                    "--by '%s': expected function, instruction, line, object, process, thread, "
                    "event, address, cache-line, set, page, variable, range, skid or time",
                    text);
}

static int take_range(struct report_options *options, const char *text)
{
    struct report_range range = {0};
    const char *equals = strchr(text, '=');
    char *end = NULL, *low_end = NULL;
    if (equals && equals > text) {
        snprintf(range.name, sizeof range.name, "%.*s", (int)(equals - text), text);
        range.start = strtoull(equals + 1, &low_end, 0);
        if (low_end > equals + 1 && *low_end == '-')
            range.end = strtoull(low_end + 1, &end, 0);
    }
    if (!end || *end || end == low_end + 1 || range.end <= range.start)
        return complain(EXIT_USAGE, "report",
                        "--range '%s': expected NAME=LOW-HIGH such as table=0x804a000-0x804c000; "
                        "HIGH is behind the last byte",
                        text);
    if (options->range_count == REPORT_RANGES)
        return complain(EXIT_USAGE, "report", "more than %d ranges", REPORT_RANGES);
    options->range[options->range_count++] = range;
    return GO_ON;
}

static int take_limit(struct report_options *options, const char *text)
{
    char *end;
    unsigned long limit = strtoul(text, &end, 10);
    if (end == text || *end || text[0] == '-' || limit > 1000000)
        return complain(EXIT_USAGE, "report", "--limit '%s': expected a number from 0 to 1000000",
                        text);
    options->limit = (unsigned)limit;
    return GO_ON;
}

static int take_sort(struct report_options *options, const char *text)
{
    static const char *const names[] = {"", "count", "order", "change"};
    for (int i = REPORT_SORT_COUNT; i <= REPORT_SORT_CHANGE; i++) {
        if (strcmp(text, names[i]) != 0)
            continue;
        options->sort = (enum report_sort)i;
        return GO_ON;
    }
    return complain(EXIT_USAGE, "report", "--sort '%s': expected count, order or change", text);
}

static int take_flag(struct report_options *options, int code)
{
    switch (code) {
    case OPT_TRUTH:
        options->truth = true;
        return GO_ON;
    case OPT_CSV:
        options->format = REPORT_CSV;
        return GO_ON;
    case OPT_JSON:
        options->format = REPORT_JSON;
        return GO_ON;
    case 'h':
        fputs(help, stdout);
        return EXIT_DONE;
    default: /* getopt_long has complained */
        return complain(EXIT_USAGE, "report", "'p4sim report --help' shows the options");
    }
}

static int take_option(struct report_options *options, int code, const char *text)
{
    const char **string = code == 'e'                 ? &options->event
                          : code == 'o'               ? &options->output
                          : code == OPT_COMPARE       ? &options->compare
                          : code == OPT_COMPARE_EVENT ? &options->compare_event
                          : code == OPT_PLOT          ? &options->plot
                          : code == OPT_EXPORT        ? &options->export
                                                      : NULL;
    if (string) {
        *string = text;
        return GO_ON;
    }
    switch (code) {
    case OPT_BY:
        return take_by(options, text);
    case OPT_RANGE:
        return take_range(options, text);
    case OPT_SORT:
        return take_sort(options, text);
    case OPT_LIMIT:
        return take_limit(options, text);
    default:
        return take_flag(options, code);
    }
}

static bool is_form(const char *form)
{
    return !strcmp(form, "perf-script") || !strcmp(form, "collapsed") || !strcmp(form, "firefox");
}

static int check_options(struct report_options *options, int argc, char **argv)
{
    if (optind + 1 != argc)
        return complain(EXIT_USAGE, "report", "expected one FILE of samples");
    options->path = argv[optind];
    if (options->export && !is_form(options->export))
        return complain(EXIT_USAGE, "report",
                        "--export '%s': expected perf-script, collapsed or firefox",
                        options->export);
    if (options->range_count && !options->by_given)
        options->by = REPORT_BY_RANGE;
    if (options->range_count && options->by != REPORT_BY_RANGE)
        return complain(EXIT_USAGE, "report", "--range is for --by range, not for --by %s",
                        report_key_title(options->by));
    if (options->by == REPORT_BY_RANGE && !options->range_count)
        return complain(EXIT_USAGE, "report", "--by range needs a --range NAME=LOW-HIGH");
    const char *dot = options->plot ? strrchr(options->plot, '.') : NULL;
    if (options->plot && (!dot || (strcmp(dot, ".png") != 0 && strcmp(dot, ".svg") != 0)))
        return complain(EXIT_USAGE, "report", "--plot '%s': expected a name in .png or .svg",
                        options->plot);
    if (options->truth && options->by > REPORT_BY_OBJECT)
        return complain(EXIT_USAGE, "report",
                        "--truth is for function, instruction, line and object");
    return GO_ON;
}

static int take_options(struct report_options *options, int argc, char **argv)
{
    int code, status = GO_ON;
    optind = 1;
    while (status == GO_ON && (code = getopt_long(argc, argv, "e:o:h", long_options, NULL)) != -1)
        status = take_option(options, code, optarg);
    return status == GO_ON ? check_options(options, argc, argv) : status;
}

/* ---- columns -----------------------------------------------------------------------------------
 */

static int open_column(struct report_column *column, const char *path)
{
    char error[512];
    column->samples = samples_read(path, error);
    if (!column->samples)
        return complain(EXIT_INPUT, "report", "%s", error);
    column->owned = true;
    column->places = places_new(column->samples);
    column->operands = operands_new(column->samples->about.wide);
    if (column->places && column->operands)
        return EXIT_DONE;
    return complain(EXIT_INPUT, "report", "out of memory");
}

static void close_column(struct report_column *column)
{
    if (!column->owned)
        return;
    operands_free(column->operands);
    places_free(column->places);
    samples_free(column->samples);
}

static bool has_branches(const struct samples *samples)
{
    for (size_t i = 0; i < samples->count; i++)
        if (samples->sample[i].about.kind == SIM_SAMPLE_BRANCH)
            return true;
    return false;
}

/* The event WORD names: its number, its text, or the beginning of one text alone; the
 * branch records are "branches". */
static int find_event(struct report_column *column, const char *word, const char *path)
{
    const struct samples_about *about = &column->samples->about;
    unsigned found = 0, matches = 0;
    char *end;
    unsigned long number = word ? strtoul(word, &end, 10) : 0;
    if (!word || (*word && !*end && number < about->event_count)) {
        column->event = (unsigned)number;
        return EXIT_DONE;
    }
    if (!strcasecmp(word, "branches") && has_branches(column->samples)) {
        column->event = (unsigned)about->event_count;
        return EXIT_DONE;
    }
    for (unsigned i = 0; i < about->event_count; i++) {
        bool whole = !strcasecmp(about->event[i].text, word);
        if (!whole && strncasecmp(about->event[i].text, word, strlen(word)) != 0)
            continue;
        found = i;
        matches = whole ? 1 : matches + 1;
        if (whole)
            break;
    }
    column->event = found;
    if (matches == 1)
        return EXIT_DONE;
    return complain(EXIT_USAGE, "report", "%s: %s event '%s'; its first is '%s' of %zu", path,
                    matches ? "more than one" : "no", word,
                    about->event_count ? about->event[0].text : "none", about->event_count);
}

static void name_columns(struct report *report)
{
    const struct report_options *options = report->options;
    for (unsigned i = 0; i < report->columns; i++) {
        struct report_column *c = &report->column[i];
        const struct samples_about *about = &c->samples->about;
        const char *event =
            c->event < about->event_count ? about->event[c->event].text : "branches";
        bool precise = c->event < about->event_count && about->event[c->event].how == SIM_BY_PEBS;
        const char *path = i && options->compare ? options->compare : options->path;
        const char *slash = strrchr(path, '/');
        if (report->columns > 1 && options->compare)
            snprintf(c->title, sizeof c->title, "%.80s: %.80s, %s", slash ? slash + 1 : path, event,
                     precise ? "precise" : "interrupt");
        else
            snprintf(c->title, sizeof c->title, "%.160s", event);
    }
}

static int open_columns(struct report *report)
{
    const struct report_options *options = report->options;
    struct report_column *first = &report->column[0], *second = &report->column[1];
    report->columns = 1;
    int status = open_column(first, options->path);
    if (!status)
        status = find_event(first, options->event, options->path);
    if (status || (!options->compare && !options->compare_event))
        return status;
    report->columns = 2;
    if (options->compare) {
        status = open_column(second, options->compare);
    } else {
        *second = *first;
        second->owned = false;
    }
    const char *event = options->compare_event ? options->compare_event : options->event;
    return status ? status
                  : find_event(second, event, options->compare ? options->compare : options->path);
}

/* ---- printing ----------------------------------------------------------------------------------
 */

static bool export_form(FILE *out, const struct report *report)
{
    const struct report_column *c = &report->column[0];
    const char *form = report->options->export;
    if (!strcmp(form, "collapsed"))
        return export_collapsed(out, c->samples, c->places);
    if (!strcmp(form, "firefox"))
        return export_gecko(out, c->samples, c->places);
    export_perf_script(out, c->samples, c->places);
    return true;
}

static bool print(FILE *out, const struct report *report)
{
    if (report->options->export)
        return export_form(out, report);
    if (report->options->format == REPORT_JSON)
        return report_print_json(out, report);
    if (report->options->format == REPORT_CSV)
        report_print_csv(out, report);
    else
        report_print(out, report);
    return true;
}

static int show(struct report *report)
{
    const struct report_options *options = report->options;
    if (!report_count(report))
        return complain(EXIT_INPUT, "report", "out of memory");
    report_sort(report);
    if (options->plot) {
        int status = report_plot(report);
        if (status || !options->output)
            return status;
    }
    FILE *out = options->output ? fopen(options->output, "w") : stdout;
    bool good = out && print(out, report);
    if (out)
        good = close_output(out) && good;
    if (good)
        return EXIT_DONE;
    return complain(EXIT_INPUT, "report", "%s: %s; the report is not written",
                    options->output ? options->output : "standard output", strerror(errno));
}

int command_report(int argc, char **argv)
{
    struct report_options options = {.by = REPORT_BY_FUNCTION, .limit = 40};
    struct report report = {.options = &options};
    int status = take_options(&options, argc, argv);
    if (status != GO_ON)
        return status;
    status = open_columns(&report);
    if (!status) {
        name_columns(&report);
        status = show(&report);
    }
    tally_free(&report.tally);
    close_column(&report.column[1]);
    close_column(&report.column[0]);
    return status;
}
