/*
 * Judging: every row of a suite measured, compared with what was published.
 */
#ifndef VALIDATE_JUDGE_H
#define VALIDATE_JUDGE_H

#include "measure.h"

enum verdict {
    VERDICT_WITHIN,     /* within its tolerance */
    VERDICT_OUTSIDE,    /* a known miss, explained */
    VERDICT_REGRESSION, /* recorded as within, and is not */
    VERDICT_BETTER,     /* recorded as outside, and is within: the record is to be changed */
    VERDICT_NOT_RUN     /* see trouble */
};

struct judged {
    const struct suite_row *row;
    double simulated;
    double ratio; /* to the nearer end of what was published; 1 between its ends */
    enum verdict verdict;
    char trouble[512];
};

struct judge {
    const struct suite *suite;
    const char *recordings; /* folder, or NULL */
    struct sim_model models[16];
    unsigned models_count;
};

/* Measure ROW. */
void judge_row(struct judge *judge, const struct suite_row *row, struct judged *out);
/* One point of a curve; false with ERROR. */
bool judge_point(struct judge *judge, const struct suite_curve *curve,
                 const struct suite_point *point, double *y, char error[512]);
/* Clocks for each copy of kernel A of PAIRS, with kernel BESIDE on the other logical processor, or
 * alone when BESIDE is negative; false with ERROR. */
bool judge_pair(struct judge *judge, const struct suite_pairs *pairs, unsigned a, int beside,
                double *clocks_each, char error[512]);
/* The model NAME, loaded once; NULL with ERROR. */
const struct sim_model *judge_model(struct judge *judge, const char *name, char error[512]);
void judge_free(struct judge *judge);

#endif
