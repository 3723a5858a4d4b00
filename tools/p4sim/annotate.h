/* p4sim annotate: one function, its instructions, samples and exact counts. */
#ifndef P4SIM_ANNOTATE_H
#define P4SIM_ANNOTATE_H

#include "command.h"
#include "operand.h"
#include "places.h"

struct annotate_row {
    uint64_t ip;
    char text[96];
    char file[256]; /* source file, "" when not known */
    int line;
    uint64_t samples, exact;
    bool exact_known; /* the model's kernel has no exact counts of its own */
};

struct annotate {
    struct samples *samples;
    struct places *places;
    struct operands *operands;
    unsigned event;
    uint64_t all; /* samples of the event */
};

/* A function, or what lies outside of all functions of an object. */
struct annotate_part {
    uint16_t process;
    struct place place; /* function NULL: the whole object */
    uint64_t samples;
};

/* annotate_rows.c: the parts with samples, the most first; *COUNT of them, malloc'ed. */
struct annotate_part *annotate_parts(const struct annotate *a, size_t *count);
/* The instructions of PART, malloc'ed. */
struct annotate_row *annotate_rows(const struct annotate *a, const struct annotate_part *part,
                                   size_t *count);
/* How far the samples are from the truth over the whole run: half the sum of the differences of
 * shares over all instructions, 0 (same) to 1. False when there are no exact counts. */
bool annotate_error(const struct annotate *a, double *error);

#endif
