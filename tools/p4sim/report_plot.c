/* A report as a picture, through gnuplot. */
#define _GNU_SOURCE
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { BARS = 25, BINS = 90 }; /* rows of a bar chart of names: more cannot be read */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length > tail && !strcmp(text + length - tail, end);
}

/* A text inside gnuplot's single quotes. */
static void quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputc('\'', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
    fputc('\'', out);
}

static unsigned rows_drawn(const struct report *report, unsigned most)
{
    unsigned limit = report->options->limit ? report->options->limit : most;
    if (limit > most)
        limit = most;
    return report->tally.count < limit ? (unsigned)report->tally.count : limit;
}

static void head(FILE *out, const struct report *report, unsigned height)
{
    const struct samples_about *about = &report->column[0].samples->about;
    char title[700];
    fprintf(out, "set terminal %s size 1000,%u font 'sans,12' noenhanced\nset output ",
            ends_with(report->options->plot, ".svg") ? "svg background rgb 'white'" : "pngcairo",
            height);
    quoted(out, report->options->plot);
    snprintf(title, sizeof title, "%s on model %s", about->program, about->model);
    fputs("\nset title ", out);
    quoted(out, title);
    fputs("\nset style fill solid 0.8 noborder\nset border 3\nset tics nomirror\n"
          "set grid ytics lc rgb '#dddddd'\nset key above\nset offsets 0, 0, graph 0.05, 0\n",
          out);
}

static const char *const colours[] = {"#4477aa", "#cc6677"};

static int64_t skid_of(const struct tally_row *row)
{
    return (int64_t)(row->order - (UINT64_C(1) << 63));
}

static int64_t round_down(int64_t value, int64_t width)
{
    return (value < 0 ? value - width + 1 : value) / width * width;
}

/* Shares of distances in bars WIDTH instructions wide, for each column a data block. The rows come
 * in order. A bar stands between the labels of its least distance and of the next bar's. */
static void skid_bars(FILE *out, const struct report *report, int64_t width)
{
    const double middle = width > 1 ? 0.5 : 0;
    for (unsigned c = 0; c < report->columns; c++) {
        double share = 0;
        fprintf(out, "$column%u << EOD\n", c);
        for (size_t i = 0; i < report->tally.count; i++) {
            const struct tally_row *row = &report->tally.row[i];
            int64_t bar = round_down(skid_of(row), width);
            share += 100 * tally_share(&report->tally, row, c);
            if (i + 1 < report->tally.count &&
                round_down(skid_of(&report->tally.row[i + 1]), width) == bar)
                continue;
            if (share > 0)
                fprintf(out, "%.2f %.6f\n", middle + (double)bar / (double)width, share);
            share = 0;
        }
        fputs("EOD\n", out);
    }
}

static void impulses(FILE *out, const struct report *report, const char *style)
{
    for (unsigned c = 0; c < report->columns; c++) {
        fprintf(out, "%s$column%u using ($1%+.2f):2 with %s lc rgb '%s' title ", c ? ", " : "plot ",
                c, report->columns > 1 ? 0.4 * c - 0.2 : 0.0, style, colours[c]);
        quoted(out, report->column[c].title);
    }
    fputc('\n', out);
}

/* Most distances lie near the instruction at fault; the last hundredth would squeeze them. */
static int64_t skid_reach(const struct report *report)
{
    int64_t reach = 10;
    for (unsigned c = 0; c < report->columns; c++) {
        double below = 0;
        for (size_t i = 0; i < report->tally.count && below < 0.99; i++) {
            const struct tally_row *row = &report->tally.row[i];
            int64_t skid = skid_of(row);
            below += tally_share(&report->tally, row, c);
            if (skid > reach && row->count[c])
                reach = skid;
        }
    }
    return reach;
}

/* 1, 2, 5, 10, 20, ...: the least that makes at most BINS bars. */
static int64_t bar_width(int64_t reach)
{
    static const int64_t steps[] = {1, 2, 5};
    for (int64_t ten = 1;; ten *= 10)
        for (unsigned i = 0; i < 3; i++)
            if (reach / (ten * steps[i]) < BINS)
                return ten * steps[i];
}

/* Labels of bars: a round number of instructions. */
static int64_t label_step(int64_t width, int64_t reach)
{
    int64_t step = width;
    while (reach / step > 12)
        step += width;
    return step;
}

static void plot_skid(FILE *out, const struct report *report)
{
    int64_t reach = skid_reach(report), width = bar_width(reach);
    int64_t step = label_step(width, reach);
    head(out, report, 500);
    skid_bars(out, report, width);
    fprintf(out,
            "set boxwidth %s\nset xrange [%.2f:%.2f]\nset yrange [0:*<100]\n"
            "set ylabel 'share of the samples, %%'\nset xtics (",
            report->columns > 1 ? "0.4" : "0.8", -1.5, (double)reach / (double)width + 1.5);
    for (int64_t at = 0; at <= reach; at += step)
        fprintf(out, "%s'%" PRId64 "' %.3f", at ? ", " : "", at, (double)at / (double)width);
    fprintf(out, ")\nset xlabel 'instructions between the one at fault and the sample");
    if (width > 1)
        fprintf(out, " (a bar: %" PRId64 ")", width);
    fputs("'\n", out);
    impulses(out, report, "boxes");
}

static void plot_time(FILE *out, const struct report *report)
{
    const struct samples *s = report->column[0].samples;
    uint64_t clocks = s->complete ? s->end.clocks : 0;
    head(out, report, 420);
    for (unsigned c = 0; c < report->columns; c++) {
        fprintf(out, "$column%u << EOD\n", c);
        for (size_t i = 0; i < report->tally.count; i++)
            fprintf(out, "%" PRIu64 ".5 %" PRIu64 "\n", report->tally.row[i].order,
                    report->tally.row[i].count[c]);
        fputs("EOD\n", out);
    }
    fprintf(out,
            "set xrange [0:%d]\nset yrange [0:*]\nset ylabel 'samples in an interval'\n"
            "set xlabel 'intervals of the run'\nset boxwidth 0.8\n",
            REPORT_INTERVALS);
    if (clocks)
        fprintf(out, "set xlabel 'fiftieths of the run of %.3f ms'\n",
                (double)clocks / (1e3 * s->about.core_mhz));
    impulses(out, report, "boxes");
}

/* Rows with their names below: addresses, sets, pages, ranges, and everything with short names. */
static void plot_upright(FILE *out, const struct report *report)
{
    unsigned rows = rows_drawn(report, 64);
    head(out, report, 520);
    fputs("$rows << EOD\n", out);
    for (unsigned i = 0; i < rows; i++) {
        const struct tally_row *row = &report->tally.row[i];
        fprintf(out, "\"%.60s\" %" PRIu64 " %" PRIu64 "\n", row->name, row->count[0],
                row->count[1]);
    }
    fprintf(out,
            "EOD\nset style data histograms\nset style histogram clustered gap 1\n"
            "set xtics rotate by -40\nset yrange [0:*]\nset ylabel 'samples'\nset xlabel '%s of "
            "the data'\n",
            report_key_title(report->options->by));
    for (unsigned c = 0; c < report->columns; c++) {
        fprintf(out, "%s$rows using %u:xtic(1) lc rgb '%s' title ", c ? ", " : "plot ", c + 2,
                colours[c]);
        quoted(out, report->column[c].title);
    }
    fputc('\n', out);
}

/* Names to read: bars that lie, the largest on top. */
static void plot_lying(FILE *out, const struct report *report)
{
    unsigned rows = rows_drawn(report, BARS);
    head(out, report, 140 + 24 * rows);
    fputs("$rows << EOD\n", out);
    for (unsigned i = 0; i < rows; i++) {
        const struct tally_row *row = &report->tally.row[i];
        char name[64];
        snprintf(name, sizeof name, "%.60s", row->name);
        for (char *at = name; (at = strchr(at, '"'));)
            *at = '\'';
        fprintf(out, "%u \"%s\" %.6f %.6f\n", rows - i, name,
                100 * tally_share(&report->tally, row, 0),
                100 * tally_share(&report->tally, row, 1));
    }
    fprintf(out,
            "EOD\nunset grid\nset grid xtics lc rgb '#dddddd'\n"
            "set xrange [0:*]\nset yrange [0.3:%u.7]\nset xlabel 'share of the samples, %%'\n",
            rows);
    double half = report->columns > 1 ? 0.18 : 0.35;
    for (unsigned c = 0; c < report->columns; c++) {
        double middle = report->columns > 1 ? 0.2 - 0.4 * c : 0;
        fprintf(out,
                "%s$rows using (0):($1%+.2f):(0):%u:($1%+.2f):($1%+.2f):ytic(2) with boxxyerror "
                "lc rgb '%s' title ",
                c ? ", " : "plot ", middle, c + 3, middle - half, middle + half, colours[c]);
        quoted(out, report->column[c].title);
    }
    fputc('\n', out);
}

static void write_script(FILE *out, const struct report *report)
{
    switch (report->options->by) {
    case REPORT_BY_SKID:
        plot_skid(out, report);
        break;
    case REPORT_BY_TIME:
        plot_time(out, report);
        break;
    case REPORT_BY_ADDRESS:
    case REPORT_BY_CACHE_LINE:
    case REPORT_BY_SET:
    case REPORT_BY_PAGE:
        plot_upright(out, report);
        break;
    default:
        plot_lying(out, report);
    }
}

int report_plot(const struct report *report)
{
    const char *path = report->options->plot;
    if (report->tally.count == 0)
        return complain(EXIT_INPUT, "report", "%s: there is nothing to draw", path);
    FILE *test = fopen(path, "w");
    if (!test)
        return complain(EXIT_INPUT, "report", "%s: %s", path, strerror(errno));
    fclose(test);
    signal(SIGPIPE, SIG_IGN);
    FILE *gnuplot = popen("gnuplot", "we");
    if (!gnuplot)
        return complain(EXIT_INPUT, "report", "gnuplot cannot be started: %s", strerror(errno));
    write_script(gnuplot, report);
    int status = pclose(gnuplot);
    if (status == 0)
        return EXIT_DONE;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return complain(EXIT_INPUT, "report",
                        "--plot needs gnuplot, which is not installed (Debian package "
                        "gnuplot-nox)");
    return complain(EXIT_INPUT, "report", "%s: gnuplot could not draw it", path);
}
