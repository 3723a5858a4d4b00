/*
 * Suites: tables of measurements that programs written here can repeat. A suite is a YAML file of
 * snippets and rows; a row says which count of which snippet on which model should lie where, and
 * who says so. configs/validate/published.yaml holds what was measured on the hardware,
 * tests/events/events.yaml what each sub-event counts.
 */
#ifndef VALIDATE_SUITE_H
#define VALIDATE_SUITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A program. Either TEXT, the whole of it, which executes `mark` before and behind what is
 * measured, TIMES over; or BODY, which is copied COPIES times into a loop of LOOPS turns, after
 * WARM turns that are not measured, and which leaves EBP alone. Both are assembly for GNU as in
 * Intel syntax without prefixes.
 */
struct suite_snippet {
    char *name;
    char *setup; /* executed once, before the loop; or NULL */
    char *body;
    char *data; /* what stands behind the code (directives); or NULL */
    char *text;
    char *surroundings; /* sim/surroundings.h, or NULL */
    uint32_t copies, loops, warm, times;
};

enum suite_expect { SUITE_WITHIN, SUITE_OUTSIDE };

/* What a row is about: a count, or PEBS records of its event, one in PERIOD. */
enum suite_take {
    SUITE_COUNT,
    SUITE_RECORDS,  /* how many */
    SUITE_ON_CAUSE, /* percent of them at the instruction that made most of the events */
    SUITE_FEWEST,   /* how many have the value of EAX that the fewest have */
    SUITE_MOST      /* ... the most have */
};

struct suite_row {
    char *id, *tier, *what;
    char *model;     /* NULL: northwood */
    char *published; /* as the source prints it */
    double from, to; /* the same as numbers */
    double percent;  /* tolerance in percent of those, or */
    double absolute; /* in the unit of the row */
    char *unit, *source;
    char *snippet;
    char *beside; /* a snippet on the second logical processor, with turns without end; or NULL */
    char *count;  /* the event counted; NULL: clocks */
    char *with;   /* an event that is programmed too, for its tags; or NULL */
    char *over;   /* an event by whose count it is divided, or NULL */
    double per;   /* or a number; 0: copies * loops, or times */
    enum suite_take take;
    uint32_t period; /* of records */
    char *minus;     /* a snippet whose count is subtracted before the division, or NULL */
    char *divide;    /* a snippet by whose same measure it is divided, or NULL */
    enum suite_expect expect;
    char *why; /* a row expected outside: the mechanism, in a sentence */
};

/* A published measurement that is not repeated, and why. */
struct suite_omission {
    char *id, *what, *why;
};

/* A line of a plot: the same measure over a list of snippets. */
struct suite_point {
    double x;
    char *snippet;
    double published; /* 0: none */
};
struct suite_curve {
    char *plot, *label, *model;
    char *note;   /* what there is to see, under the picture; or NULL */
    char *beside; /* as in a row, for all points */
    char *count;
    double per;
    struct suite_point *points;
    unsigned points_count;
};

/* A square of a plot: each program beside each other one, on the two logical processors of MODEL.
 */
struct suite_kernel {
    char *label, *snippet;
};
struct suite_pairs {
    char *plot, *label, *model;
    char *note;
    struct suite_kernel *kernels;
    unsigned kernels_count;
};

struct suite {
    char *title;
    struct suite_snippet *snippets;
    unsigned snippets_count;
    struct suite_row *rows;
    unsigned rows_count;
    struct suite_omission *omissions;
    unsigned omissions_count;
    struct suite_curve *curves;
    unsigned curves_count;
    struct suite_pairs *pairs;
    unsigned pairs_count;
};

/* The suite in the file PATH, or NULL with ERROR (file, line, what was expected). */
struct suite *suite_load(const char *path, char error[512]);
void suite_free(struct suite *suite);
const struct suite_snippet *suite_snippet(const struct suite *suite, const char *name);
/* The name of the plot behind AFTER (NULL: the first), NULL behind the last; curves and pairs of
 * one plot stand together. */
const char *suite_plot(const struct suite *suite, const char *after);
/* What is said under it: the note of its first curve or pairs, or NULL. */
const char *suite_plot_note(const struct suite *suite, const char *plot);
/* The program of SNIPPET as the assembler reads it, to be freed; NULL when memory is short. */
char *suite_program(const struct suite_snippet *snippet);
/* SNIPPET, which has a body, as the program on the second logical processor: a mark, then the loop
 * for so long that the first program ends first; its data lie at other addresses than they do in
 * suite_program(), which the first level would take for the same. Likewise. */
char *suite_companion(const struct suite_snippet *snippet);
/* Whether SNIPPET is beside another one somewhere. */
bool suite_is_companion(const struct suite *suite, const struct suite_snippet *snippet);

#endif
