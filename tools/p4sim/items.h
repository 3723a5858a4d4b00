/* Everything that has a name: what `p4sim list` shows and `p4sim explain` explains. */
#ifndef P4SIM_ITEMS_H
#define P4SIM_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum item_kind {
    ITEM_EVENT,
    ITEM_SUBEVENT,
    ITEM_TAG,    /* a tagged metric: sim/metrics.def */
    ITEM_METRIC, /* a named metric: derived_metrics.def */
    ITEM_ESCR,
    ITEM_COUNTER,
    ITEM_REGISTER,
    ITEM_FIELD,
    ITEM_PART,
    ITEM_MODEL, /* a machine that can be simulated */
    ITEM_FINDING,
    ITEM_ERRATUM,
    ITEM_TOPIC,
    ITEM_KINDS
};

struct item {
    enum item_kind kind;
    unsigned index, sub; /* row; of a sub-event, the event's row and its own */
    char name[96];
    const char *aliases; /* comma separated, or "" */
    char description[400];
};

/* "events", ... and the word for one of them. */
const char *item_kind_name(enum item_kind kind);
const char *item_kind_one(enum item_kind kind);
/* All items, in the order of the kinds; *COUNT of them. Built once. */
const struct item *items_all(size_t *count);
/* NAME is the item's name or an alias; case, and the MSR_ or IA32_ of registers, do not matter. */
bool item_is(const struct item *item, const char *name);

#endif
