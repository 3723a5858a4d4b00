/*
 * p4sim annotate: the instructions of a function with source lines, how many samples fell on each,
 * and how often each really made the event happen, which only the simulator knows.
 */
#define _GNU_SOURCE
#include "annotate.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char help[] =
    "usage: p4sim annotate [OPTIONS] FILE [FUNCTION]\n\n"
    "Shows a function's instructions with source lines, the samples of each, the events these "
    "stand\n"
    "for, and beside them the exact count: how often the instruction made the event happen.\n\n"
    "  -e, --event EVENT       samples of this event, by name or number from 0 (default: the "
    "first)\n"
    "      --top N             without FUNCTION: the N functions with most samples (default 1)\n"
    "      --no-source         without source lines\n"
    "      --all               also instructions with neither samples nor events\n"
    "      --csv               data instead of the listing\n"
    "  -o, --output FILE       write to FILE, not to standard output\n"
    "      --help              this text\n\n"
    "example: p4sim annotate p4sim.samples main\n"
    "exit status: 0 done, 2 usage, 3 input cannot be used or output not written.\n";

struct annotate_options {
    const char *path, *function, *event, *output;
    unsigned top;
    bool no_source, all, csv;
};

enum { GO_ON = -1 };
enum option_code { OPT_TOP = 256, OPT_NO_SOURCE, OPT_ALL, OPT_CSV };

static const struct option long_options[] = {
    {"event", required_argument, NULL, 'e'},
    {"top", required_argument, NULL, OPT_TOP},
    {"no-source", no_argument, NULL, OPT_NO_SOURCE},
    {"all", no_argument, NULL, OPT_ALL},
    {"csv", no_argument, NULL, OPT_CSV},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* ---- options -----------------------------------------------------------------------------------
 */

static int take_option(struct annotate_options *options, int code, const char *text)
{
    char *end;
    switch (code) {
    case 'e':
        options->event = text;
        return GO_ON;
    case 'o':
        options->output = text;
        return GO_ON;
    case OPT_TOP:
        options->top = (unsigned)strtoul(text, &end, 10);
        if (end != text && !*end && options->top >= 1 && options->top <= 1000)
            return GO_ON;
        return complain(EXIT_USAGE, "annotate", "--top '%s': expected a number from 1 to 1000",
                        text);
    case OPT_NO_SOURCE:
        options->no_source = true;
        return GO_ON;
    case OPT_ALL:
        options->all = true;
        return GO_ON;
    case OPT_CSV:
        options->csv = true;
        return GO_ON;
    case 'h':
        fputs(help, stdout);
        return EXIT_DONE;
    default: /* getopt_long has complained */
        return complain(EXIT_USAGE, "annotate", "'p4sim annotate --help' shows the options");
    }
}

static int take_options(struct annotate_options *options, int argc, char **argv)
{
    int code, status = GO_ON;
    optind = 1;
    while (status == GO_ON && (code = getopt_long(argc, argv, "e:o:h", long_options, NULL)) != -1)
        status = take_option(options, code, optarg);
    if (status != GO_ON)
        return status;
    if (argc - optind < 1 || argc - optind > 2)
        return complain(EXIT_USAGE, "annotate",
                        "expected a FILE of samples and at most a FUNCTION");
    options->path = argv[optind];
    options->function = argv[optind + 1];
    return GO_ON;
}

static int take_event(struct annotate *a, const struct annotate_options *options)
{
    const struct samples_about *about = &a->samples->about;
    const char *word = options->event ? options->event : "0";
    char *end;
    unsigned long number = strtoul(word, &end, 10);
    a->event = (unsigned)(*end ? about->event_count : number);
    for (unsigned i = 0; i < about->event_count && *end; i++)
        if (!strcasecmp(about->event[i].text, word))
            a->event = i;
    if (a->event >= about->event_count)
        return complain(EXIT_USAGE, "annotate", "%s: no event '%s'; its first is '%s' of %zu",
                        options->path, word, about->event_count ? about->event[0].text : "none",
                        about->event_count);
    for (size_t i = 0; i < a->samples->count; i++)
        a->all += a->samples->sample[i].event == a->event;
    return EXIT_DONE;
}

/* ---- the listing -------------------------------------------------------------------------------
 */

/* The last source file opened, its lines. */
struct source_text {
    char path[256];
    char **line;
    int count;
};

static void source_close(struct source_text *source)
{
    for (int i = 0; i < source->count; i++)
        free(source->line[i]);
    free(source->line);
    *source = (struct source_text){0};
}

static void source_load(struct source_text *source, const char *path)
{
    size_t room = 0;
    char *line = NULL;
    ssize_t length;
    source_close(source);
    snprintf(source->path, sizeof source->path, "%s", path);
    FILE *file = fopen(path, "re");
    while (file && (length = getline(&line, &room, file)) >= 0) {
        char **bigger = realloc(source->line, (size_t)(source->count + 1) * sizeof *bigger);
        if (!bigger)
            break;
        source->line = bigger;
        if (length && line[length - 1] == '\n')
            line[length - 1] = '\0';
        source->line[source->count] = strdup(line);
        if (!source->line[source->count])
            break;
        source->count++;
    }
    free(line);
    if (file)
        fclose(file);
}

static void print_source(FILE *out, struct source_text *source, const struct annotate_row *row)
{
    const char *slash = strrchr(row->file, '/');
    if (strcmp(source->path, row->file) != 0)
        source_load(source, row->file);
    const char *text =
        row->line >= 1 && row->line <= source->count ? source->line[row->line - 1] : "";
    fprintf(out, "%43s %s:%d  %s\n", "", slash ? slash + 1 : row->file, row->line, text);
}

static void print_number(FILE *out, bool known, uint64_t number, int width)
{
    if (known && number)
        fprintf(out, "%*" PRIu64, width, number);
    else
        fprintf(out, "%*s", width, known ? "." : "?");
}

static void print_row(FILE *out, const struct annotate *a, const struct annotate_row *row)
{
    uint64_t period = a->samples->about.event[a->event].period;
    print_number(out, true, row->samples, 9);
    print_number(out, true, row->samples * period, 14);
    print_number(out, row->exact_known, row->exact, 14);
    fprintf(out, "  %8" PRIx64 "  %s\n", row->ip, row->text);
}

static void print_rows(FILE *out, const struct annotate *a, const struct annotate_options *options,
                       const struct annotate_row *rows, size_t count)
{
    struct source_text source = {0};
    const struct annotate_row *above = NULL;
    bool gap = false;
    for (size_t i = 0; i < count; i++) {
        const struct annotate_row *row = &rows[i];
        if (!options->all && !row->samples && !row->exact) {
            gap = true;
            continue;
        }
        if (gap && above)
            fprintf(out, "%43s ...\n", "");
        gap = false;
        if (!options->no_source && row->line &&
            (!above || above->line != row->line || strcmp(above->file, row->file) != 0))
            print_source(out, &source, row);
        print_row(out, a, row);
        above = row;
    }
    source_close(&source);
}

static void print_sums(FILE *out, const struct annotate *a, const struct annotate_row *rows,
                       size_t count)
{
    struct annotate_row sum = {.exact_known = count != 0};
    for (size_t i = 0; i < count; i++) {
        sum.samples += rows[i].samples;
        sum.exact += rows[i].exact;
        sum.exact_known &= rows[i].exact_known;
    }
    print_number(out, true, sum.samples, 9);
    print_number(out, true, sum.samples * a->samples->about.event[a->event].period, 14);
    print_number(out, sum.exact_known, sum.exact, 14);
    fputs("  in all\n", out);
}

static void print_part(FILE *out, const struct annotate *a, const struct annotate_options *options,
                       const struct annotate_part *part)
{
    size_t count;
    struct annotate_row *rows = annotate_rows(a, part, &count);
    const char *name = part->place.function ? part->place.function : "[no function]";
    fprintf(out, "\n%s (%s): %" PRIu64 " of %" PRIu64 " samples (%.2f%%) of %s\n\n", name,
            part->place.object, part->samples, a->all,
            a->all ? 100 * (double)part->samples / (double)a->all : 0.0,
            a->samples->about.event[a->event].text);
    fprintf(out, "%9s%14s%14s\n", "samples", "stand for", "exact");
    print_rows(out, a, options, rows, count);
    print_sums(out, a, rows, count);
    free(rows);
}

static void print_csv(FILE *out, const struct annotate *a, const struct annotate_part *part)
{
    size_t count;
    struct annotate_row *rows = annotate_rows(a, part, &count);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "p4sim-annotate/1,\"%s\",0x%" PRIx64 ",\"%s\",\"%s\",%d,%" PRIu64 ",",
                part->place.function ? part->place.function : "", rows[i].ip, rows[i].text,
                rows[i].file, rows[i].line, rows[i].samples);
        if (rows[i].exact_known)
            fprintf(out, "%" PRIu64, rows[i].exact);
        fputc('\n', out);
    }
    free(rows);
}

static void print_error(FILE *out, const struct annotate *a)
{
    const struct samples_end *end = &a->samples->end;
    const char *trouble;
    double error;
    if (a->samples->about.every && a->samples->complete)
        fprintf(out,
                "\nin windows: %" PRIu64 " of %" PRIu64
                " instructions were simulated; samples and exact counts are of those alone\n",
                end->executed - end->skipped, end->executed);
    if (annotate_error(a, &error))
        fprintf(out,
                "\n%.1f%% of all samples lie on other instructions than an exact profile of the "
                "same size would have.\n",
                100 * error);
    for (size_t i = 0; (trouble = places_trouble(a->places, i)); i++)
        fprintf(out, "note: %s\n", trouble);
}

/* The part FUNCTION names, or NULL. */
static const struct annotate_part *part_named(const struct annotate_part *parts, size_t count,
                                              const char *function)
{
    for (size_t i = 0; i < count; i++)
        if (parts[i].place.function && !strcmp(parts[i].place.function, function))
            return &parts[i];
    return NULL;
}

static int print(FILE *out, const struct annotate *a, const struct annotate_options *options)
{
    size_t count;
    struct annotate_part *parts = annotate_parts(a, &count), other = {0};
    const struct annotate_part *first = parts;
    size_t shown = count < options->top ? count : options->top;
    if (options->function) {
        first = part_named(parts, count, options->function);
        shown = 1;
        if (!first && places_function(a->places, 0, options->function, &other.place))
            first = &other;
    }
    if (!first) {
        free(parts);
        return complain(EXIT_INPUT, "annotate", "%s: %s%s%s", options->path,
                        options->function ? "no function '" : "no sample of the event",
                        options->function ? options->function : "",
                        options->function ? "' is known" : "");
    }
    if (options->csv)
        fputs("schema,function,address,text,file,line,samples,exact\n", out);
    for (size_t i = 0; i < shown; i++) {
        if (options->csv)
            print_csv(out, a, &first[i]);
        else
            print_part(out, a, options, &first[i]);
    }
    if (!options->csv)
        print_error(out, a);
    free(parts);
    return EXIT_DONE;
}

static int show(const struct annotate *a, const struct annotate_options *options)
{
    FILE *out = options->output ? fopen(options->output, "w") : stdout;
    int status = out ? print(out, a, options) : EXIT_DONE;
    bool good = out && close_output(out);
    if (status || good)
        return status;
    return complain(EXIT_INPUT, "annotate", "%s: %s; the listing is not written",
                    options->output ? options->output : "standard output", strerror(errno));
}

int command_annotate(int argc, char **argv)
{
    struct annotate_options options = {.top = 1};
    struct annotate a = {0};
    char error[512];
    int status = take_options(&options, argc, argv);
    if (status != GO_ON)
        return status;
    a.samples = samples_read(options.path, error);
    if (!a.samples)
        return complain(EXIT_INPUT, "annotate", "%s", error);
    a.places = places_new(a.samples);
    a.operands = operands_new(a.samples->about.wide);
    if (!a.places || !a.operands)
        status = complain(EXIT_INPUT, "annotate", "out of memory");
    else
        status = take_event(&a, &options);
    if (!status)
        status = show(&a, &options);
    operands_free(a.operands);
    places_free(a.places);
    samples_free(a.samples);
    return status;
}
