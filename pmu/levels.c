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

static uint32_t seen(const struct level *level, uint64_t now)
{
    return now >= level->since ? level->count : level->before;
}

bool p4pmu_sampled(const struct p4pmu *pmu, int event)
{
    return event == P4PMU_EV_bsq_active_entries && (P4PMU_FROM_MODEL_3 >> pmu->config.model & 1);
}

uint64_t p4pmu_standing(const struct p4pmu *pmu, int event, const struct watcher *watcher)
{
    const struct levels *list = &pmu->levels[event];
    uint64_t sum = 0;
    for (size_t i = 0; i < list->used; i++)
        if (selects(pmu, watcher, &list->items[i]))
            sum += seen(&list->items[i], pmu->now);
    return sum;
}

static struct level *find(struct levels *list, unsigned bits, unsigned who)
{
    for (size_t i = 0; i < list->used; i++)
        if (list->items[i].bits == bits && list->items[i].who == who)
            return &list->items[i];
    return NULL;
}

/* Conditions that ended in an odd clock and were left for a while. */
static void drop_ended(struct levels *list, uint64_t now)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->used; i++)
        if (list->items[i].count || list->items[i].since > now)
            list->items[kept++] = list->items[i];
    list->used = kept;
}

/* A new entry, or NULL when memory is short. */
static struct level *add(struct levels *list, unsigned bits, unsigned who, uint64_t now)
{
    if (list->used == list->room)
        drop_ended(list, now);
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

/* The counters that hear ESCR are brought up to now, and its sum becomes SUM. */
static void set_sum(struct p4pmu *pmu, int escr, uint64_t sum)
{
    for (uint32_t left = pmu->listeners[escr]; left; left &= left - 1)
        p4pmu_catch_up(pmu, (unsigned)__builtin_ctz(left));
    pmu->changed = 0;
    pmu->standing[escr] = sum;
}

void p4pmu_resample(struct p4pmu *pmu)
{
    const struct watcher *w = &pmu->watcher[P4PMU_EV_bsq_active_entries][0];
    pmu->resample = false;
    if (w->who)
        set_sum(pmu, w->escr, p4pmu_standing(pmu, P4PMU_EV_bsq_active_entries, w));
}

/* The change is seen from the next clock on, which is an even one. */
static void change_later(struct p4pmu *pmu, struct level *level, uint32_t count)
{
    level->before = seen(level, pmu->now);
    level->since = pmu->now + 1;
    level->count = count;
    pmu->resample = true;
    p4pmu_plan(pmu);
}

static void change_now(struct p4pmu *pmu, enum p4pmu_event event, struct level *level,
                       uint32_t count)
{
    uint32_t watched = 0;
    uint32_t was = level->count;
    level->count = count;
    if (!(pmu->watch.bits[event] & level->bits))
        return;
    for (int i = 0; i < 2; i++) {
        const struct watcher *w = &pmu->watcher[event][i];
        if (selects(pmu, w, level)) {
            set_sum(pmu, w->escr, pmu->standing[w->escr] + count - was);
            watched |= pmu->listeners[w->escr];
        }
    }
    if (watched & pmu->critical)
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
    if (!level && count && !(level = add(list, bits, who, pmu->now))) {
        pmu->lost_levels++;
        return;
    }
    if (!level || level->count == count)
        return;
    if ((pmu->now & 1) && p4pmu_sampled(pmu, (int)event)) {
        change_later(pmu, level, count);
        return;
    }
    change_now(pmu, event, level, count);
    if (count == 0)
        *level = list->items[--list->used];
}

uint64_t p4pmu_lost_levels(const struct p4pmu *pmu)
{
    return pmu->lost_levels;
}
