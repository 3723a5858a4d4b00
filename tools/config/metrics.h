/* Named metrics: formulas over counts. */
#ifndef TOOLS_CONFIG_METRICS_H
#define TOOLS_CONFIG_METRICS_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

struct metric_row {
    const char *name, *formula;
    unsigned models;
    uint64_t pebs_enable, pebs_matrix_vert;
    const char *terms; /* "A=EVENT B=EVENT tag=EVENT" */
    const char *description, *source;
};

/* Row INDEX of derived_metrics.def; NULL past the end. */
const struct metric_row *metric_row(size_t index);
/* The row of that name (case ignored), or NULL. */
const struct metric_row *metric_by_name(const char *name);

struct metric_term {
    char letter[8]; /* "A", or "tag" */
    char event[160];
};
/* The next term at *AT, which is advanced; *AT begins as row->terms. False at the end. */
bool metric_next_term(const char **at, struct metric_term *term);

#endif
