/* The parts of `p4sim validate`. */
#ifndef P4SIM_VALIDATE_H
#define P4SIM_VALIDATE_H

#include "command.h"
#include "judge.h"

enum { VALIDATE_ROWS_MAX = 64 };

enum validate_form { VALIDATE_TABLE, VALIDATE_JSON, VALIDATE_MARKDOWN };

struct validate_options {
    const char *rows[VALIDATE_ROWS_MAX];
    unsigned rows_count;
    const char *model, *tier, *suite, *plots, *record;
    enum validate_form form;
    bool live, done;
};

/* validate_print.c: the rows on standard output. */
void validate_print(enum validate_form form, const struct suite *suite, const struct judged *judged,
                    unsigned count);
/* validate_plots.c: the curves of the suite into FOLDER, drawn where gnuplot is installed. */
int validate_plots(struct judge *judge, const char *folder);

#endif
