/*
 * Reading suites: libcyaml checks the form, suite_check() what a schema cannot say.
 */
#define _POSIX_C_SOURCE 200809L
#include "suite.h"

#include <cyaml/cyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(name, type)                                                                           \
    CYAML_FIELD_STRING_PTR(#name, CYAML_FLAG_POINTER, type, name, 1, CYAML_UNLIMITED)
#define MAYBE(name, type)                                                                          \
    CYAML_FIELD_STRING_PTR(#name, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, type, name, 0,         \
                           CYAML_UNLIMITED)
#define NUMBER(name, type) CYAML_FIELD_FLOAT(#name, CYAML_FLAG_OPTIONAL, type, name)
#define WHOLE(name, type)  CYAML_FIELD_UINT(#name, CYAML_FLAG_OPTIONAL, type, name)

static const cyaml_schema_field_t snippet_fields[] = {
    TEXT(name, struct suite_snippet),
    MAYBE(setup, struct suite_snippet),
    MAYBE(body, struct suite_snippet),
    MAYBE(data, struct suite_snippet),
    MAYBE(text, struct suite_snippet),
    MAYBE(surroundings, struct suite_snippet),
    WHOLE(copies, struct suite_snippet),
    WHOLE(loops, struct suite_snippet),
    WHOLE(warm, struct suite_snippet),
    WHOLE(times, struct suite_snippet),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t snippet_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct suite_snippet, snippet_fields),
};

static const cyaml_strval_t expectations[] = {{"within", SUITE_WITHIN}, {"outside", SUITE_OUTSIDE}};

static const cyaml_strval_t takes[] = {{"count", SUITE_COUNT},
                                       {"records", SUITE_RECORDS},
                                       {"on_cause", SUITE_ON_CAUSE},
                                       {"fewest", SUITE_FEWEST},
                                       {"most", SUITE_MOST}};

static const cyaml_schema_field_t row_fields[] = {
    TEXT(id, struct suite_row),
    MAYBE(tier, struct suite_row),
    MAYBE(what, struct suite_row),
    MAYBE(model, struct suite_row),
    MAYBE(published, struct suite_row),
    CYAML_FIELD_FLOAT("from", CYAML_FLAG_DEFAULT, struct suite_row, from),
    CYAML_FIELD_FLOAT("to", CYAML_FLAG_DEFAULT, struct suite_row, to),
    NUMBER(percent, struct suite_row),
    NUMBER(absolute, struct suite_row),
    MAYBE(unit, struct suite_row),
    MAYBE(source, struct suite_row),
    TEXT(snippet, struct suite_row),
    MAYBE(beside, struct suite_row),
    MAYBE(count, struct suite_row),
    MAYBE(with, struct suite_row),
    MAYBE(over, struct suite_row),
    NUMBER(per, struct suite_row),
    CYAML_FIELD_ENUM("take", CYAML_FLAG_OPTIONAL, struct suite_row, take, takes, 5),
    WHOLE(period, struct suite_row),
    MAYBE(minus, struct suite_row),
    MAYBE(divide, struct suite_row),
    CYAML_FIELD_ENUM("expect", CYAML_FLAG_OPTIONAL, struct suite_row, expect, expectations, 2),
    MAYBE(why, struct suite_row),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t row_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct suite_row, row_fields),
};

static const cyaml_schema_field_t omission_fields[] = {
    TEXT(id, struct suite_omission),
    TEXT(what, struct suite_omission),
    TEXT(why, struct suite_omission),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t omission_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct suite_omission, omission_fields),
};

static const cyaml_schema_field_t point_fields[] = {
    CYAML_FIELD_FLOAT("x", CYAML_FLAG_DEFAULT, struct suite_point, x),
    TEXT(snippet, struct suite_point),
    NUMBER(published, struct suite_point),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t point_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct suite_point, point_fields),
};

static const cyaml_schema_field_t curve_fields[] = {
    TEXT(plot, struct suite_curve),
    TEXT(label, struct suite_curve),
    TEXT(model, struct suite_curve),
    MAYBE(note, struct suite_curve),
    MAYBE(beside, struct suite_curve),
    MAYBE(count, struct suite_curve),
    NUMBER(per, struct suite_curve),
    CYAML_FIELD_SEQUENCE("points", CYAML_FLAG_POINTER, struct suite_curve, points, &point_schema, 1,
                         CYAML_UNLIMITED),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t curve_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct suite_curve, curve_fields),
};

static const cyaml_schema_field_t kernel_fields[] = {
    TEXT(label, struct suite_kernel),
    TEXT(snippet, struct suite_kernel),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t kernel_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct suite_kernel, kernel_fields),
};

static const cyaml_schema_field_t pairs_fields[] = {
    TEXT(plot, struct suite_pairs),
    TEXT(label, struct suite_pairs),
    TEXT(model, struct suite_pairs),
    MAYBE(note, struct suite_pairs),
    CYAML_FIELD_SEQUENCE("kernels", CYAML_FLAG_POINTER, struct suite_pairs, kernels, &kernel_schema,
                         1, CYAML_UNLIMITED),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t pairs_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct suite_pairs, pairs_fields),
};

#define LIST(name, schema)                                                                         \
    CYAML_FIELD_SEQUENCE(#name, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct suite, name,      \
                         schema, 0, CYAML_UNLIMITED)

static const cyaml_schema_field_t suite_fields[] = {
    TEXT(title, struct suite),
    LIST(snippets, &snippet_schema),
    LIST(rows, &row_schema),
    LIST(omissions, &omission_schema),
    LIST(curves, &curve_schema),
    LIST(pairs, &pairs_schema),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t suite_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct suite, suite_fields),
};

/* libcyaml reports the error first and then, innermost first, the places it was in. */
struct complaint {
    char what[200], where[120];
};

static void listen(cyaml_log_t level, void *context, const char *format, va_list arguments)
{
    struct complaint *complaint = context;
    char line[200];
    (void)level;
    vsnprintf(line, sizeof line, format, arguments);
    line[strcspn(line, "\n")] = '\0';
    const char *text = strncmp(line, "Load: ", 6) ? line : line + 6;
    text += strspn(text, " ");
    if (!complaint->what[0])
        snprintf(complaint->what, sizeof complaint->what, "%s", text);
    else if (!complaint->where[0] && strstr(text, "line: "))
        snprintf(complaint->where, sizeof complaint->where, ", %.110s", text);
}

static void config_of(cyaml_config_t *config, struct complaint *complaint)
{
    *config = (cyaml_config_t){.log_fn = listen,
                               .log_ctx = complaint,
                               .log_level = CYAML_LOG_ERROR,
                               .mem_fn = cyaml_mem,
                               .flags = CYAML_CFG_DEFAULT};
}

const struct suite_snippet *suite_snippet(const struct suite *suite, const char *name)
{
    for (unsigned i = 0; i < suite->snippets_count; i++)
        if (!strcmp(suite->snippets[i].name, name))
            return &suite->snippets[i];
    return NULL;
}

static bool known(const struct suite *suite, const char *name, const char *where, char error[512])
{
    if (!name || suite_snippet(suite, name))
        return true;
    snprintf(error, 512, "%.100s: no snippet is named '%.100s'", where, name);
    return false;
}

/* NAME, if there is one, is a snippet that can run beside another. */
static bool can_be_beside(const struct suite *suite, const char *name, const char *where,
                          char error[512])
{
    if (!known(suite, name, where, error))
        return false;
    if (!name || suite_snippet(suite, name)->body)
        return true;
    snprintf(error, 512, "%.100s: snippet '%.100s' cannot run beside another; it has no 'body'",
             where, name);
    return false;
}

static bool row_good(const struct suite *suite, const struct suite_row *row, char error[512])
{
    if (!known(suite, row->snippet, row->id, error) || !known(suite, row->minus, row->id, error) ||
        !known(suite, row->divide, row->id, error) ||
        !can_be_beside(suite, row->beside, row->id, error))
        return false;
    const char *wrong = NULL;
    if (row->from > row->to)
        wrong = "'from' is more than 'to'";
    else if ((row->take == SUITE_COUNT) != !row->period)
        wrong = "records need a 'period', a count has none";
    else if (row->take != SUITE_COUNT && (!row->count || row->over || row->minus || row->divide))
        wrong = "records are those of a 'count', without 'over', 'minus' and 'divide'";
    else if (row->expect == SUITE_OUTSIDE && (!row->why || !row->why[0]))
        wrong = "a row expected outside needs 'why', the mechanism in a sentence";
    if (wrong)
        snprintf(error, 512, "row %.100s: %s", row->id, wrong);
    return !wrong;
}

static bool snippet_good(const struct suite *suite, const struct suite_snippet *s, char error[512])
{
    const char *wrong = NULL;
    if (!s->body == !s->text)
        wrong = "expected either 'body' or 'text'";
    else if (s->body && (!s->copies || !s->loops))
        wrong = "a body needs 'copies' and 'loops', both at least 1";
    else if (suite_snippet(suite, s->name) != s)
        wrong = "the name is there twice";
    if (wrong)
        snprintf(error, 512, "snippet %.100s: %s", s->name, wrong);
    return !wrong;
}

static bool suite_check(const struct suite *suite, char error[512])
{
    bool good = true;
    for (unsigned i = 0; good && i < suite->snippets_count; i++)
        good = snippet_good(suite, &suite->snippets[i], error);
    for (unsigned i = 0; good && i < suite->rows_count; i++)
        good = row_good(suite, &suite->rows[i], error);
    for (unsigned i = 0; good && i < suite->curves_count; i++) {
        const struct suite_curve *curve = &suite->curves[i];
        good = can_be_beside(suite, curve->beside, curve->plot, error);
        for (unsigned p = 0; good && p < curve->points_count; p++)
            good = known(suite, curve->points[p].snippet, curve->plot, error);
    }
    for (unsigned i = 0; good && i < suite->pairs_count; i++) {
        const struct suite_pairs *pairs = &suite->pairs[i];
        for (unsigned k = 0; good && k < pairs->kernels_count; k++)
            good = can_be_beside(suite, pairs->kernels[k].snippet, pairs->plot, error);
    }
    return good;
}

struct suite *suite_load(const char *path, char error[512])
{
    struct complaint complaint = {{0}, {0}};
    cyaml_config_t config;
    cyaml_data_t *data = NULL;
    char why[512];
    config_of(&config, &complaint);
    cyaml_err_t status = cyaml_load_file(path, &config, &suite_schema, &data, NULL);
    if (status != CYAML_OK || !data) {
        snprintf(error, 512, "%.150s: %s%s", path,
                 complaint.what[0] ? complaint.what : cyaml_strerror(status), complaint.where);
        return NULL;
    }
    struct suite *suite = data;
    if (!suite_check(suite, why)) {
        snprintf(error, 512, "%.150s: %.350s", path, why);
        suite_free(suite);
        return NULL;
    }
    return suite;
}

void suite_free(struct suite *suite)
{
    struct complaint complaint = {{0}, {0}};
    cyaml_config_t config;
    config_of(&config, &complaint);
    cyaml_free(&config, &suite_schema, suite, 0);
}

static const char *plot_at(const struct suite *suite, unsigned i)
{
    if (i < suite->curves_count)
        return suite->curves[i].plot;
    i -= suite->curves_count;
    return i < suite->pairs_count ? suite->pairs[i].plot : NULL;
}

const char *suite_plot(const struct suite *suite, const char *after)
{
    unsigned i = 0;
    while (after && strcmp(plot_at(suite, i), after) != 0)
        i++;
    while (after && plot_at(suite, i) && !strcmp(plot_at(suite, i), after))
        i++;
    return plot_at(suite, i);
}

const char *suite_plot_note(const struct suite *suite, const char *plot)
{
    for (unsigned i = 0; i < suite->curves_count; i++)
        if (!strcmp(suite->curves[i].plot, plot))
            return suite->curves[i].note;
    for (unsigned i = 0; i < suite->pairs_count; i++)
        if (!strcmp(suite->pairs[i].plot, plot))
            return suite->pairs[i].note;
    return NULL;
}

/* A marker is a move that changes nothing, in a form no compiler writes: measure.c looks for it. */
static const char head[] =
    ".intel_syntax noprefix\n"
    ".macro mark\n .byte 0x66, 0x87, 0xdb\n.endm\n"
    /* mmap2 of anonymous pages at a fixed address, all registers kept */
    ".macro map address, bytes\npusha\nmov eax, 192\nmov ebx, \\address\nmov ecx, \\bytes\n"
    "mov edx, 7\nmov esi, 0x32\nmov edi, -1\nxor ebp, ebp\nint 0x80\npopa\n.endm\n";

static char *looping_program(const struct suite_snippet *s, unsigned warm, unsigned loops,
                             const char *before_data)
{
    char *out = NULL;
    size_t size;
    FILE *file = open_memstream(&out, &size);
    if (!file)
        return NULL;
    fprintf(file,
            "%s%s\n"
            "mov ebp, %u\ncall p4sim_loop\nmark\nmov ebp, %u\ncall p4sim_loop\nmark\n"
            "jmp p4sim_end\n"
            ".p2align 6\np4sim_loop:\n.rept %u\n%s\n.endr\nsub ebp, 1\njnz p4sim_loop\nret\n"
            ".section .data\n.p2align 12\n%s%s\n"
            ".section .text\np4sim_end:\n",
            head, s->setup ? s->setup : "", warm, loops, s->copies, s->body, before_data,
            s->data ? s->data : "");
    if (fclose(file) == 0)
        return out;
    free(out);
    return NULL;
}

/* Instructions are interpreted where no machine asks for them, so turns are cheap to record. */
enum { COMPANION_TURNS = 40 };

char *suite_companion(const struct suite_snippet *s)
{
    /* a page and a few lines further: other sets, and not 64 KB apart */
    return looping_program(s, 1, COMPANION_TURNS * s->loops, ".skip 4096 + 512\n");
}

static bool is_beside(const char *name, const struct suite_snippet *snippet)
{
    return name && !strcmp(name, snippet->name);
}

bool suite_is_companion(const struct suite *suite, const struct suite_snippet *snippet)
{
    bool is = false;
    for (unsigned i = 0; i < suite->rows_count; i++)
        is |= is_beside(suite->rows[i].beside, snippet);
    for (unsigned i = 0; i < suite->curves_count; i++)
        is |= is_beside(suite->curves[i].beside, snippet);
    for (unsigned i = 0; i < suite->pairs_count; i++)
        for (unsigned k = 0; k < suite->pairs[i].kernels_count; k++)
            is |= is_beside(suite->pairs[i].kernels[k].snippet, snippet);
    return is;
}

char *suite_program(const struct suite_snippet *s)
{
    if (s->body)
        return looping_program(s, s->warm ? s->warm : 1, s->loops, "");
    size_t size = sizeof head + strlen(s->text) + 1;
    char *out = malloc(size);
    if (out)
        snprintf(out, size, "%s%s", head, s->text);
    return out;
}
