/*
 * The parts of a run in a result: regions, the rest, processes. Each pass divides the run the same
 * way, as it runs the same instructions; a row's numbers per part come from its own pass.
 */
#include "stat.h"

#include "places.h"

#include <stdlib.h>
#include <string.h>

/* A sim_parts_options.resolve: through the file's symbols. */
static bool resolve(void *context, const struct trace_object *object, const char *function,
                    uint64_t *address)
{
    struct trace_object copy = *object;
    struct samples one = {.object = &copy, .object_count = 1};
    struct places *places = places_new(&one);
    struct place place;
    bool found = places && places_function(places, object->process, function, &place);

    (void)context;
    if (found)
        *address = place.start;
    places_free(places);
    return found;
}

bool stat_divide(const struct stat_options *options, const struct stat_pass *pass,
                 struct sim_bench *bench)
{
    struct sim_parts_options how = {.regions = options->regions.spec,
                                    .region_count = options->regions.count,
                                    .processes = options->per_process,
                                    .only_regions = options->only_regions,
                                    .resolve = resolve};

    if (!options->regions.count && !options->per_process)
        return true;
    for (size_t i = 0; i < pass->plan.count; i++)
        how.counters |= 1u << pass->plan.slots[i].counter;
    return sim_bench_divide(bench, &how);
}

/* The rest of nothing, and the name that stands for all markers, are not shown. */
static bool is_shown(const struct stat_options *options, const struct sim_part *part)
{
    if (part->kind == SIM_PART_REST)
        return options->regions.count != 0;
    return part->kind != SIM_PART_REGION || strcmp(part->name, "marker") != 0;
}

/* The parts to show, when the first pass has told which there are. */
static bool take_parts(const struct stat_options *options, struct stat_result *result,
                       const struct sim_part *part, size_t count)
{
    result->parts = calloc(count + 1, sizeof *result->parts);
    if (!result->parts)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!is_shown(options, &part[i]))
            continue;
        struct stat_part *mine = &result->parts[result->part_count++];
        mine->part = part[i];
        mine->index = i;
    }
    return true;
}

/* The rest ran natively. The one instruction of it that was simulated behind each region, and the
 * clocks until the next one, are in no count. */
static void leave_out_rest(struct stat_result *result, size_t pass, struct sim_bench *bench)
{
    const struct stat_pass *p = &result->passes[pass];
    struct stat_part *rest = &result->parts[0];

    result->stretches = sim_bench_stretches(bench);
    snprintf(result->native_text, sizeof result->native_text,
             "ran at the processor's own speed in %llu %s", (unsigned long long)result->stretches,
             result->stretches == 1 ? "stretch" : "stretches");
    rest->native = result->native_text;
    for (size_t m = 0; m < p->plan.count; m++) {
        struct stat_row *row = &result->rows[p->members[m]];
        row->of_regions = true;
        row->count -= rest->own[p->members[m]];
    }
}

bool stat_read_parts(const struct stat_options *options, struct stat_result *result, size_t pass,
                     struct sim_bench *bench)
{
    const struct stat_pass *p = &result->passes[pass];
    size_t count;

    if (!options->regions.count && !options->per_process)
        return true;
    const struct sim_part *part = sim_bench_parts(bench, &count, &result->parts_lost);
    if (pass == 0 && !take_parts(options, result, part, count))
        return false;
    for (size_t i = 0; i < result->part_count; i++) {
        struct stat_part *mine = &result->parts[i];
        for (size_t m = 0; m < p->plan.count && mine->index < count; m++) {
            unsigned counter = (unsigned)p->plan.slots[m].counter;
            mine->own[p->members[m]] = part[mine->index].own.count[counter];
            mine->all[p->members[m]] = part[mine->index].all.count[counter];
        }
    }
    if (options->only_regions)
        leave_out_rest(result, pass, bench);
    return true;
}

const char *stat_part_kind(const struct stat_part *part)
{
    static const char *const names[] = {
        [SIM_PART_REST] = "rest", [SIM_PART_REGION] = "region", [SIM_PART_PROCESS] = "process"};

    return names[part->part.kind];
}

const char *stat_part_missing(const struct stat_part *part)
{
    if (part->part.kind != SIM_PART_REGION)
        return part->native;
    if (!part->part.found)
        return strncmp(part->part.name, "marker", 6)
                   ? "no file that the program mapped has a function of this name"
                   : "no file that the program mapped has this marker";
    return part->part.entries ? NULL : "it was never entered";
}
