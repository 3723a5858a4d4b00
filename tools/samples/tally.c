/* Tallies: a hash of names with counts; see tally.h. */
#include "tally.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void tally_free(struct tally *tally)
{
    for (size_t i = 0; i < tally->count; i++)
        free(tally->row[i].name);
    free(tally->row);
    free(tally->slot);
    *tally = (struct tally){0};
}

static size_t slot_of(const struct tally *tally, const char *name)
{
    size_t slot = (size_t)XXH64(name, strlen(name), 0) & (tally->slots - 1);
    while (tally->slot[slot] && strcmp(tally->row[tally->slot[slot] - 1].name, name) != 0)
        slot = (slot + 1) & (tally->slots - 1);
    return slot;
}

static bool grow(struct tally *tally)
{
    size_t room = 256; /* a power of two */
    while (room <= tally->count)
        room *= 2;
    struct tally_row *rows = realloc(tally->row, room * sizeof *rows);
    if (rows)
        tally->row = rows;
    size_t *slots = rows ? calloc(2 * room, sizeof *slots) : NULL;
    if (!slots)
        return false;
    free(tally->slot);
    tally->slot = slots;
    tally->slots = 2 * room;
    tally->room = room;
    for (size_t i = 0; i < tally->count; i++)
        tally->slot[slot_of(tally, tally->row[i].name)] = i + 1;
    return true;
}

static struct tally_row *row_of(struct tally *tally, const char *name, uint64_t order)
{
    if (tally->count == tally->room && !grow(tally))
        return NULL;
    size_t slot = slot_of(tally, name);
    if (tally->slot[slot])
        return &tally->row[tally->slot[slot] - 1];
    size_t bytes = strlen(name) + 1;
    char *copy = malloc(bytes);
    if (!copy)
        return NULL;
    memcpy(copy, name, bytes);
    tally->row[tally->count] = (struct tally_row){.name = copy, .order = order};
    tally->slot[slot] = ++tally->count;
    return &tally->row[tally->count - 1];
}

void tally_add(struct tally *tally, unsigned column, const char *name, uint64_t order, uint64_t n)
{
    struct tally_row *row = row_of(tally, name, order);
    if (!row) {
        tally->out_of_memory = true;
        return;
    }
    row->count[column] += n;
    tally->total[column] += n;
}

size_t tally_number(struct tally *tally, const char *name)
{
    const struct tally_row *row = row_of(tally, name, tally->count);
    if (row)
        return (size_t)(row - tally->row);
    tally->out_of_memory = true;
    return SIZE_MAX;
}

double tally_share(const struct tally *tally, const struct tally_row *row, unsigned column)
{
    return tally->total[column] ? (double)row->count[column] / (double)tally->total[column] : 0;
}

/* ---- order: the hash is of no use any more after it --------------------------------------------
 */

static int by_order(const struct tally_row *a, const struct tally_row *b)
{
    int order = (a->order > b->order) - (a->order < b->order);
    return order ? order : strcmp(a->name, b->name);
}

static int compare_order(const void *left, const void *right)
{
    return by_order(left, right);
}

static uint64_t larger(const struct tally_row *row)
{
    return row->count[0] > row->count[1] ? row->count[0] : row->count[1];
}

static int compare_count(const void *left, const void *right)
{
    const struct tally_row *a = left, *b = right;
    if (larger(a) != larger(b))
        return larger(a) < larger(b) ? 1 : -1;
    return by_order(a, b);
}

/* Rows with their change of share, for a sort that has no place for the totals. */
struct changed {
    double change;
    struct tally_row row;
};

static int compare_change(const void *left, const void *right)
{
    const struct changed *a = left, *b = right;
    if (a->change < b->change || a->change > b->change)
        return a->change < b->change ? 1 : -1;
    return by_order(&a->row, &b->row);
}

static void sorted(struct tally *tally, int (*compare)(const void *, const void *))
{
    if (tally->count)
        qsort(tally->row, tally->count, sizeof *tally->row, compare);
    free(tally->slot);
    tally->slot = NULL;
    tally->slots = tally->room = tally->count; /* the next new name rehashes */
}

void tally_sort(struct tally *tally)
{
    sorted(tally, compare_count);
}

void tally_sort_by_order(struct tally *tally)
{
    sorted(tally, compare_order);
}

void tally_sort_by_change(struct tally *tally)
{
    struct changed *rows = tally->count ? malloc(tally->count * sizeof *rows) : NULL;
    if (!rows) {
        tally_sort(tally);
        return;
    }
    for (size_t i = 0; i < tally->count; i++) {
        double change =
            tally_share(tally, &tally->row[i], 1) - tally_share(tally, &tally->row[i], 0);
        rows[i] = (struct changed){change < 0 ? -change : change, tally->row[i]};
    }
    qsort(rows, tally->count, sizeof *rows, compare_change);
    for (size_t i = 0; i < tally->count; i++)
        tally->row[i] = rows[i].row;
    free(rows);
    free(tally->slot);
    tally->slot = NULL;
    tally->slots = tally->room = tally->count;
}
