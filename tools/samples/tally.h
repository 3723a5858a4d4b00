/*
 * Tallies: how many samples fall on each of a set of names, in up to TALLY_COLUMNS columns (runs or
 * events that are compared).
 */
#ifndef TALLY_H
#define TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TALLY_COLUMNS = 2 };

struct tally_row {
    char *name;
    uint64_t order; /* by which rows are sorted when not by count: an address, a number */
    uint64_t count[TALLY_COLUMNS];
};

struct tally {
    struct tally_row *row;
    size_t count, room;
    size_t *slot; /* hash of names; row index + 1 */
    size_t slots;
    uint64_t total[TALLY_COLUMNS];
    bool out_of_memory;
};

void tally_free(struct tally *tally);
/* N more for NAME in COLUMN. */
void tally_add(struct tally *tally, unsigned column, const char *name, uint64_t order, uint64_t n);
/* The number of NAME's row, which is made when there is none yet; SIZE_MAX without memory. Rows
 * keep their numbers until they are sorted. */
size_t tally_number(struct tally *tally, const char *name);
/* The largest counts first (of the larger column, or by the greatest change of share); equal ones
 * by order. */
void tally_sort(struct tally *tally);
void tally_sort_by_order(struct tally *tally);
void tally_sort_by_change(struct tally *tally);
/* Share of a row in its column, 0..1. */
double tally_share(const struct tally *tally, const struct tally_row *row, unsigned column);

#endif
