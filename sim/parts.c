/*
 * The parts' tallies, and the boundaries between the stream and retirement; see parts.h.
 *
 * The stream runs ahead of retirement by what is in flight. Each boundary found in it is queued
 * with the state that begins there, and taken when its instruction begins to retire.
 */
#include "parts.h"

#include "region_gaps.h"
#include "region_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What holds from a boundary on. */
struct state {
    struct region_state region;
    uint16_t process;
};

struct sim_parts {
    struct sim_parts_options options;
    struct trace_source *source;
    struct region_codes *codes;
    struct region_threads *threads;
    struct region_gaps gaps;

    struct sim_part *part; /* the rest, the regions, the processes */
    size_t count, regions, processes;
    size_t lost; /* markers without room */

    struct state fed;    /* of the newest instruction of the stream */
    struct state now;    /* at retirement */
    struct sim_tally at; /* the counters at the last boundary */
    bool begun, failed;

    struct state *queue; /* ring */
    size_t head, queued, capacity;
};

enum { QUEUE_AT_FIRST = 1024 };

/* ---- parts -------------------------------------------------------------------------------------
 */

static struct sim_part *add_part(struct sim_parts *parts, size_t at, enum sim_part_kind kind,
                                 const char *name)
{
    struct sim_part *part = realloc(parts->part, (parts->count + 1) * sizeof *part);

    if (!part) {
        parts->failed = true;
        return NULL;
    }
    parts->part = part;
    memmove(part + at + 1, part + at, (parts->count - at) * sizeof *part);
    parts->count++;
    memset(part + at, 0, sizeof *part);
    part[at].kind = kind;
    part[at].found = true;
    snprintf(part[at].name, sizeof part[at].name, "%s", name);
    return part + at;
}

static bool wants_every_marker(const struct sim_parts *parts)
{
    for (size_t i = 0; i < parts->options.region_count; i++)
        if (parts->options.regions[i].kind == SIM_REGION_MARKER &&
            !parts->options.regions[i].name[0])
            return true;
    return false;
}

/* Parts of regions stand behind the rest, in the order of their numbers. */
static int region_of_marker(void *context, const char *name)
{
    struct sim_parts *parts = context;
    char text[SIM_PART_NAME];

    snprintf(text, sizeof text, "marker:%s", name);
    for (size_t i = 0; i < parts->regions; i++)
        if (!strcmp(parts->part[1 + i].name, text))
            return (int)i;
    if (!wants_every_marker(parts))
        return REGION_NONE;
    if (parts->regions == SIM_REGIONS) {
        parts->lost++;
        return REGION_NONE;
    }
    if (!add_part(parts, 1 + parts->regions, SIM_PART_REGION, text))
        return REGION_NONE;
    return (int)parts->regions++;
}

/* "process 2 (sort)": after the first file it executes. */
static void name_process(struct sim_parts *parts, uint16_t process, char *name, size_t size)
{
    size_t count;
    const struct trace_object *object = trace_source_objects(parts->source, &count);
    const char *slash;

    snprintf(name, size, "process %u", process);
    for (size_t i = 0; i < count; i++) {
        if (object[i].process != process || !object[i].executable || object[i].path[0] != '/')
            continue;
        slash = strrchr(object[i].path, '/');
        snprintf(name, size, "process %u (%.80s)", process, slash + 1);
        return;
    }
}

static void add_processes(struct sim_parts *parts, uint16_t upto)
{
    char name[SIM_PART_NAME];

    while (parts->processes <= upto && !parts->failed) {
        name_process(parts, (uint16_t)parts->processes, name, sizeof name);
        if (add_part(parts, parts->count, SIM_PART_PROCESS, name))
            parts->processes++;
    }
}

/* ---- counting ----------------------------------------------------------------------------------
 */

static void add(struct sim_tally *to, const struct sim_tally *less, const struct sim_tally *more)
{
    to->clocks += more->clocks - less->clocks;
    to->instructions += more->instructions - less->instructions;
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++)
        to->count[i] += (more->count[i] - less->count[i]) & P4PMU_COUNTER_MASK;
}

static void tally(struct sim_parts *parts, const struct sim_tally *now)
{
    const struct state *state = &parts->now;
    int innermost = state->region.innermost;

    add(&parts->part[innermost == REGION_NONE ? 0 : 1 + innermost].own, &parts->at, now);
    if (innermost == REGION_NONE)
        add(&parts->part[0].all, &parts->at, now);
    for (unsigned i = 0; state->region.open >> i; i++)
        if (state->region.open >> i & 1)
            add(&parts->part[1 + i].all, &parts->at, now);
    if (parts->options.processes && state->process < parts->processes) {
        struct sim_part *process = &parts->part[1 + parts->regions + state->process];
        add(&process->own, &parts->at, now);
        add(&process->all, &parts->at, now);
    }
    parts->at = *now;
}

static struct sim_tally look(const struct sim_parts *parts, struct p4pmu *pmu, uint64_t clocks,
                             uint64_t instructions)
{
    struct sim_tally now = {.clocks = clocks, .instructions = instructions};

    for (unsigned i = 0; i < P4PMU_COUNTERS; i++)
        if (parts->options.counters >> i & 1)
            now.count[i] = p4pmu_count(pmu, i);
    return now;
}

void sim_parts_settle(struct sim_parts *parts, struct p4pmu *pmu, uint64_t clocks,
                      uint64_t instructions)
{
    struct sim_tally now = look(parts, pmu, clocks, instructions);

    tally(parts, &now);
}

void sim_parts_boundary(struct sim_parts *parts, struct p4pmu *pmu, uint64_t clocks,
                        uint64_t instructions)
{
    sim_parts_settle(parts, pmu, clocks, instructions);
    if (!parts->queued)
        return;
    parts->now = parts->queue[parts->head];
    parts->head = (parts->head + 1) & (parts->capacity - 1);
    parts->queued--;
    for (unsigned i = 0; parts->now.region.entered >> i; i++)
        parts->part[1 + i].entries += parts->now.region.entered >> i & 1;
}

/* ---- following ---------------------------------------------------------------------------------
 */

static bool make_room(struct sim_parts *parts)
{
    size_t wanted = parts->capacity ? 2 * parts->capacity : QUEUE_AT_FIRST;
    struct state *queue;

    if (parts->queued < parts->capacity)
        return true;
    queue = malloc(wanted * sizeof *queue);
    if (!queue)
        return false;
    for (size_t i = 0; i < parts->queued; i++)
        queue[i] = parts->queue[(parts->head + i) & (parts->capacity - 1)];
    free(parts->queue);
    parts->queue = queue;
    parts->capacity = wanted;
    parts->head = 0;
    return true;
}

static bool enqueue(struct sim_parts *parts, const struct state *state)
{
    if (!make_room(parts)) {
        parts->failed = true;
        return false;
    }
    parts->queue[(parts->head + parts->queued++) & (parts->capacity - 1)] = *state;
    return true;
}

static bool follow_regions(struct sim_parts *parts, const struct trace_instruction *instruction,
                           struct state *state)
{
    const struct region_code *code = region_codes_at(parts->codes, instruction);

    return code && region_threads_follow(parts->threads, instruction, code, &state->region);
}

bool sim_parts_follow(struct sim_parts *parts, const struct trace_instruction *instruction)
{
    struct state state = {.process = instruction->process, .region.innermost = REGION_NONE};
    bool boundary;

    if (parts->failed)
        return false;
    if (parts->options.processes && instruction->process >= parts->processes)
        add_processes(parts, instruction->process);
    if (parts->options.region_count && !follow_regions(parts, instruction, &state)) {
        parts->failed = true;
        return false;
    }
    boundary = !parts->begun || state.region.entered ||
               state.region.innermost != parts->fed.region.innermost ||
               state.region.open != parts->fed.region.open ||
               (parts->options.processes && state.process != parts->fed.process);
    parts->begun = true;
    parts->fed = state;
    return boundary && enqueue(parts, &state);
}

static void arrive(struct sim_parts *parts)
{
    struct trace_registers registers;

    if (!parts->gaps.arrived)
        return;
    parts->gaps.arrived = false;
    if (trace_source_registers_before(parts->source, &registers))
        region_threads_arrive(parts->threads, registers.gpr[4]);
}

/* One instruction; *SIMULATED: it lies in a region, or one ends before it. */
static enum trace_result next_of_regions(struct sim_parts *parts, struct trace_instruction *in,
                                         bool *boundary, bool *simulated)
{
    enum trace_result result =
        region_gaps_cross(&parts->gaps, parts->source, parts->codes, parts->threads);

    if (result == TRACE_OK)
        result = trace_source_next(parts->source, in);
    *simulated = true;
    if (result != TRACE_OK)
        return result;
    arrive(parts);
    *boundary = sim_parts_follow(parts, in);
    if (parts->fed.region.open)
        return TRACE_OK;
    region_gaps_judge(&parts->gaps, in, parts->codes, parts->threads);
    in->flags |= TRACE_INTERRUPTED; /* what follows in the program does not follow here */
    *simulated = *boundary;
    return TRACE_OK;
}

enum trace_result sim_parts_next(struct sim_parts *parts, struct trace_instruction *instruction,
                                 bool *boundary)
{
    enum trace_result result;
    bool simulated;

    *boundary = false;
    if (!parts->options.only_regions) {
        result = trace_source_next(parts->source, instruction);
        *boundary = result == TRACE_OK && sim_parts_follow(parts, instruction);
        return result;
    }
    do
        result = next_of_regions(parts, instruction, boundary, &simulated);
    while (!simulated);
    return result;
}

uint64_t sim_parts_stretches(const struct sim_parts *parts)
{
    return parts->gaps.stretches;
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

static bool add_regions(struct sim_parts *parts)
{
    const struct sim_parts_options *options = &parts->options;

    if (!add_part(parts, 0, SIM_PART_REST, "rest"))
        return false;
    for (size_t i = 0; i < options->region_count; i++) {
        if (!add_part(parts, parts->count, SIM_PART_REGION, options->regions[i].text))
            return false;
        parts->regions++;
    }
    return true;
}

struct sim_parts *sim_parts_new(const struct sim_parts_options *options,
                                struct trace_source *source)
{
    struct sim_parts *parts = calloc(1, sizeof *parts);

    if (!parts)
        return NULL;
    parts->options = *options;
    parts->source = source;
    parts->fed.region.innermost = parts->now.region.innermost = REGION_NONE;
    parts->codes = region_codes_new(&parts->options, source, region_of_marker, parts);
    parts->threads = region_threads_new();
    if (parts->codes && parts->threads && add_regions(parts))
        return parts;
    sim_parts_free(parts);
    return NULL;
}

void sim_parts_free(struct sim_parts *parts)
{
    if (!parts)
        return;
    region_codes_free(parts->codes);
    region_threads_free(parts->threads);
    free(parts->part);
    free(parts->queue);
    free(parts);
}

/* Markers are looked for beforehand only where the rest runs natively. */
static bool must_be_found(const struct sim_parts *parts, size_t region)
{
    enum sim_region_kind kind = parts->options.regions[region].kind;

    return kind == SIM_REGION_FUNCTION ||
           (kind == SIM_REGION_MARKER && parts->options.only_regions);
}

const struct sim_part *sim_parts_all(struct sim_parts *parts, size_t *count, size_t *lost)
{
    for (size_t i = 0; i < parts->options.region_count; i++)
        parts->part[1 + i].found =
            must_be_found(parts, i) ? region_codes_found(parts->codes, i) : true;
    *count = parts->count;
    *lost = parts->lost;
    return parts->part;
}
