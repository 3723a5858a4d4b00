/*
 * Derived values: a count beside what it should be judged by.
 *
 * The denominators (clocks, instructions, branches) are the machine's own statistics, so that every
 * row of a table has the same ones, whatever else was counted.
 */
#include "stat.h"

#include <stddef.h>

enum kind { PER_1000, PER_CLOCK, CLOCKS, BRANCHES, ENTRIES };

static const struct {
    enum p4pmu_event event;
    unsigned mask;
    enum kind kind;
} rows[] = {
#define DERIVED(event, mask, kind) {P4PMU_EV_##event, mask, kind},
#include "derived.def"
#undef DERIVED
};

static enum kind kind_of(const struct sim_request *r)
{
    if (r->compare) /* clocks that pass the threshold, or their beginnings */
        return r->edge ? PER_1000 : CLOCKS;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if ((int)rows[i].event == r->event && !(r->mask & ~rows[i].mask))
            return rows[i].kind;
    }
    return PER_1000;
}

static struct stat_derived ratio(uint64_t count, double factor, uint64_t of, const char *unit)
{
    if (of == 0)
        return (struct stat_derived){false, 0, ""};
    return (struct stat_derived){true, factor * (double)count / (double)of, unit};
}

struct stat_derived stat_derive(const struct stat_row *row, const struct nb_stats *stats)
{
    if (!row->counted || row->of_regions) /* the machine's own are of the whole run */
        return (struct stat_derived){false, 0, ""};
    switch (kind_of(&row->request)) {
    case PER_CLOCK:
        return ratio(row->count, 1, stats->clocks, "per clock");
    case CLOCKS:
        return ratio(row->count, 100, stats->clocks, "% of clocks");
    case BRANCHES:
        return ratio(row->count, 100, stats->branches, "% of branches");
    case ENTRIES:
        return ratio(row->count, 1, stats->clocks, "entries on average");
    default:
        return ratio(row->count, 1000, stats->instructions, "per 1000 instructions");
    }
}
