/*
 * Standing conditions: what goes on clock after clock without being posted again.
 *
 * Each event keeps a short list of (bits, who, count). For an ESCR in use the sum of those it
 * selects is kept up to date; counters that hear it are brought up to the present clock before it
 * changes.
 */
#include "internal.h"
#include "match.h"

#include <stdlib.h>

static bool selects(const struct p4pmu *pmu, const struct watcher *w, const struct level *level)
{
    return (w->who >> level->who & 1) &&
           p4pmu_match(w->logic, w->mask, level->bits, pmu->config.model);
}

uint64_t p4pmu_standing(const struct p4pmu *pmu, int event, const struct watcher *watcher)
{
    const struct levels *list = &pmu->levels[event];
    uint64_t sum = 0;
    for (size_t i = 0; i < list->used; i++)
        if (selects(pmu, watcher, &list->items[i]))
            sum += list->items[i].count;
    return sum;
}

static struct level *find(struct levels *list, unsigned bits, unsigned who)
{
    for (size_t i = 0; i < list->used; i++)
        if (list->items[i].bits == bits && list->items[i].who == who)
            return &list->items[i];
    return NULL;
}

/* A new entry, or NULL when memory is short. */
static struct level *add(struct levels *list, unsigned bits, unsigned who)
{
    if (list->used == list->room) {
        size_t room = list->room ? 2 * list->room : 4;
        struct level *items = realloc(list->items, room * sizeof *items);
        if (!items)
            return NULL;
        list->items = items;
        list->room = room;
    }
    list->items[list->used] = (struct level){.bits = (uint16_t)bits, .who = (uint8_t)who};
    return &list->items[list->used++];
}

/* The sum of an ESCR is about to change by COUNT - WAS. */
static void change(struct p4pmu *pmu, int escr, uint32_t was, uint32_t count)
{
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++)
        if (pmu->listeners[escr] >> i & 1)
            p4pmu_catch_up(pmu, i);
    pmu->changed = 0;
    pmu->standing[escr] += (uint64_t)count - was;
    if (pmu->listeners[escr] & pmu->critical)
        p4pmu_plan(pmu);
}

void p4pmu_level(struct p4pmu *pmu, enum p4pmu_event event, unsigned bits, unsigned who,
                 unsigned count)
{
    struct levels *list = &pmu->levels[event];
    bits &= 0xFFFF;
    who &= WHOS - 1;
    if (!bits) /* describes nothing, as in p4pmu_post */
        return;
    struct level *level = find(list, bits, who);
    if (!level && count && !(level = add(list, bits, who))) {
        pmu->lost_levels++;
        return;
    }
    if (!level || level->count == count)
        return;
    if (pmu->watch.bits[event] & bits)
        for (int i = 0; i < 2; i++)
            if (selects(pmu, &pmu->watcher[event][i], level))
                change(pmu, pmu->watcher[event][i].escr, level->count, count);
    level->count = count;
    if (count == 0)
        *level = list->items[--list->used];
}

uint64_t p4pmu_lost_levels(const struct p4pmu *pmu)
{
    return pmu->lost_levels;
}
