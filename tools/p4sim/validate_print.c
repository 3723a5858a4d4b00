/*
 * The rows of a validation as a table, as JSON, as docs/validation.md: the same numbers, rounded to
 * four digits so that they read alike everywhere.
 */
#include "validate.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {
        [VERDICT_WITHIN] = "within",         [VERDICT_OUTSIDE] = "outside",
        [VERDICT_REGRESSION] = "REGRESSION", [VERDICT_BETTER] = "within (was outside)",
        [VERDICT_NOT_RUN] = "not run",
    };
    return names[verdict];
}

static const char *text_of(const char *text)
{
    return text ? text : "-";
}

static void tolerance_text(const struct suite_row *row, char out[40])
{
    if (row->percent > 0 && row->absolute > 0)
        snprintf(out, 40, "+/-%g%% +/-%g", row->percent, row->absolute);
    else if (row->percent > 0)
        snprintf(out, 40, "+/-%g%%", row->percent);
    else if (row->absolute > 0)
        snprintf(out, 40, "+/-%g", row->absolute);
    else
        snprintf(out, 40, "exact");
}

static unsigned count_of(const struct judged *judged, unsigned count, const char *tier,
                         unsigned verdicts)
{
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++)
        n += (!tier || (judged[i].row->tier && !strcmp(judged[i].row->tier, tier))) &&
             (verdicts >> judged[i].verdict & 1);
    return n;
}

enum { WITHIN = 1 << VERDICT_WITHIN | 1 << VERDICT_BETTER, ALL = 31 };

/* ---- the table ---------------------------------------------------------------------------------
 */

static void print_table_row(const struct judged *j)
{
    const struct suite_row *row = j->row;
    char tolerance[40];
    tolerance_text(row, tolerance);
    printf("%-6s %s %-11s %10s ", row->id, row->tier ? row->tier : "-", text_of(row->model),
           text_of(row->published));
    if (j->verdict == VERDICT_NOT_RUN)
        printf("%10s %6s", "-", "-");
    else
        printf("%10.4g %6.2f", j->simulated, j->ratio);
    printf("  %-10s %-10s %s [%s]; %s\n", tolerance, verdict_name(j->verdict), text_of(row->what),
           text_of(row->unit), text_of(row->source));
    if (j->verdict == VERDICT_NOT_RUN)
        printf("%26s %s\n", "", j->trouble);
    if (j->verdict == VERDICT_OUTSIDE)
        printf("%26s %s\n", "", row->why);
}

static void print_table(const struct suite *suite, const struct judged *judged, unsigned count)
{
    printf("%s\n\n%-6s %s %-11s %10s %10s %6s  %-10s %-10s %s\n", suite->title, "row", "T", "model",
           "published", "simulated", "ratio", "tolerance", "verdict", "what [unit]; source");
    for (unsigned i = 0; i < count; i++)
        print_table_row(&judged[i]);
    static const char *const tiers[] = {"A", "B", "C"};
    printf("\n%u of %u rows within their tolerance", count_of(judged, count, NULL, WITHIN), count);
    for (unsigned t = 0; t < 3; t++)
        if (count_of(judged, count, tiers[t], ALL))
            printf("; tier %s: %u of %u", tiers[t], count_of(judged, count, tiers[t], WITHIN),
                   count_of(judged, count, tiers[t], ALL));
    puts("");
}

/* ---- JSON --------------------------------------------------------------------------------------
 */

static json_t *row_json(const struct judged *j)
{
    const struct suite_row *row = j->row;
    char tolerance[40];
    tolerance_text(row, tolerance);
    json_t *out =
        json_pack("{s:s, s:s?, s:s?, s:s?, s:s?, s:f, s:f, s:s?, s:s, s:s?, s:s}", "id", row->id,
                  "tier", row->tier, "model", row->model, "what", row->what, "published",
                  row->published, "from", row->from, "to", row->to, "unit", row->unit, "tolerance",
                  tolerance, "source", row->source, "verdict", verdict_name(j->verdict));
    if (j->verdict == VERDICT_NOT_RUN) {
        json_object_set_new(out, "trouble", json_string(j->trouble));
        return out;
    }
    json_object_set_new(out, "simulated", json_real(j->simulated));
    json_object_set_new(out, "ratio", json_real(j->ratio));
    if (row->why)
        json_object_set_new(out, "why", json_string(row->why));
    return out;
}

static void print_json(const struct suite *suite, const struct judged *judged, unsigned count)
{
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(rows, row_json(&judged[i]));
    json_t *all = json_pack("{s:s, s:i, s:s, s:o}", "schema", "p4sim-validate", "version", 1,
                            "title", suite->title, "rows", rows);
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    puts("");
    json_decref(all);
}

/* ---- docs/validation.md ------------------------------------------------------------------------
 */

static void print_cell(const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            putchar('\\');
        putchar(*text == '\n' ? ' ' : *text);
    }
    fputs(" | ", stdout);
}

static void print_markdown_row(const struct judged *j)
{
    const struct suite_row *row = j->row;
    char cell[64];
    fputs("| ", stdout);
    print_cell(row->id);
    print_cell(row->what);
    print_cell(row->model);
    snprintf(cell, sizeof cell, "%.40s %.20s", row->published, row->unit);
    print_cell(cell);
    snprintf(cell, sizeof cell, "%.4g", j->simulated);
    print_cell(cell);
    snprintf(cell, sizeof cell, "%.2f", j->ratio);
    print_cell(cell);
    char tolerance[40];
    tolerance_text(row, tolerance);
    print_cell(tolerance);
    print_cell(j->verdict == VERDICT_NOT_RUN ? j->trouble : verdict_name(j->verdict));
    print_cell(row->source);
    puts("");
}

static void print_tier(const struct judged *judged, unsigned count, const char *tier,
                       const char *title)
{
    unsigned all = count_of(judged, count, tier, ALL);
    if (!all)
        return;
    printf("\n## Tier %s: %s\n\n%u of %u within their tolerance.\n\n", tier, title,
           count_of(judged, count, tier, WITHIN), all);
    puts("| row | what | model | published | simulated | ratio | tolerance | | source |\n"
         "|---|---|---|---:|---:|---:|---|---|---|");
    for (unsigned i = 0; i < count; i++)
        if (judged[i].row->tier && !strcmp(judged[i].row->tier, tier))
            print_markdown_row(&judged[i]);
}

static void print_misses(const struct judged *judged, unsigned count)
{
    puts("\n## The misses, by mechanism\n");
    for (unsigned i = 0; i < count; i++)
        if (judged[i].verdict == VERDICT_OUTSIDE)
            printf("- **%s**, %s on %s: %.4g against %s. %s\n", judged[i].row->id,
                   judged[i].row->what, judged[i].row->model, judged[i].simulated,
                   judged[i].row->published, judged[i].row->why);
}

static void print_pictures(const struct suite *suite)
{
    for (const char *plot = suite_plot(suite, NULL); plot; plot = suite_plot(suite, plot)) {
        const char *note = suite_plot_note(suite, plot);
        printf("\n![%s](pictures/validate_%s.png)\n", plot, plot);
        if (note)
            printf("\n%s\n", note);
    }
}

static void print_markdown(const struct suite *suite, const struct judged *judged, unsigned count)
{
    printf(
        "# %s\n\n"
        "Generated by `p4sim validate --markdown` from `configs/validate/published.yaml`, which "
        "has "
        "the programs; do not edit. `tools/validation` makes it anew and `ctest` checks that it is "
        "current. `p4sim validate -r ROW` repeats one row.\n\n"
        "Ratio: simulated to published, or to the nearer end of a published range. Tolerance: "
        "where "
        "a source gives a number without one, 2%% for what a loop's own overhead and the first "
        "pass "
        "may add. Tier A can be rebuilt and checked tightly, B is a shape or a plateau, C a "
        "trend.\n",
        suite->title);
    print_tier(judged, count, "A", "checked tightly");
    print_tier(judged, count, "B", "shapes and plateaus");
    print_tier(judged, count, "C", "trends");
    print_misses(judged, count);
    print_pictures(suite);
    puts("\n## Published, and not repeated here\n");
    for (unsigned i = 0; i < suite->omissions_count; i++)
        printf("- **%s**, %s: %s\n", suite->omissions[i].id, suite->omissions[i].what,
               suite->omissions[i].why);
}

void validate_print(enum validate_form form, const struct suite *suite, const struct judged *judged,
                    unsigned count)
{
    switch (form) {
    case VALIDATE_TABLE:
        print_table(suite, judged, count);
        break;
    case VALIDATE_JSON:
        print_json(suite, judged, count);
        break;
    case VALIDATE_MARKDOWN:
        print_markdown(suite, judged, count);
    }
}
