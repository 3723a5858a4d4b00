/*
 * Parts of a run and what was counted in each: regions of the program (a function from entry to
 * exit, what lies between two addresses or between two marker calls), the rest, and processes.
 *
 * A boundary lies between two instructions of the executed stream. It takes effect when the second
 * one begins to retire, in a clock of its own retirement group (the machine ends the group before
 * it), and the counters are looked at there, in no simulated time. So an at-retirement event
 * belongs to the part its instruction lies in; an event of an earlier stage, to the part that was
 * retiring in that clock. Each clock belongs to one part: the parts' own counts add up to the
 * whole, to the last event.
 *
 * Regions follow each thread by itself. A function begins with its first instruction and ends after
 * the return that takes the address its call pushed; a frame left in another way (longjmp, an
 * exception) ends when the stack pointer has left it. Threads that switch stacks confuse this. A
 * range of addresses begins before FROM is executed and ends before TO is. Markers are the jumps of
 * p4sim.h and belong to no region. Regions nest: OWN is what was counted while the region was the
 * innermost one, ALL while it was anywhere on its thread's stack, counted once under recursion.
 *
 * Not known: regions that were open in the parent of a forked process, in the child. Counters that
 * the program itself writes have no meaning per part.
 */
#ifndef SIM_PARTS_H
#define SIM_PARTS_H

#include "p4pmu.h"
#include "source.h"

enum { SIM_REGIONS = 63, SIM_PART_NAME = 128 };

struct sim_region_spec {
    enum sim_region_kind { SIM_REGION_FUNCTION, SIM_REGION_ADDRESS, SIM_REGION_MARKER } kind;
    char text[SIM_PART_NAME]; /* as asked for */
    char name[SIM_PART_NAME]; /* of the function or marker; "": every marker */
    uint64_t from, to;
};

/* "function:NAME", "address:FROM-TO", "marker" or "marker:NAME". */
bool sim_region_parse(const char *text, struct sim_region_spec *spec, char error[512]);

struct sim_tally {
    uint64_t clocks, instructions;
    uint64_t count[P4PMU_COUNTERS]; /* of the counters asked for */
};

struct sim_part {
    enum sim_part_kind { SIM_PART_REST, SIM_PART_REGION, SIM_PART_PROCESS } kind;
    char name[SIM_PART_NAME];
    bool found;       /* a function: some file of the program has it */
    uint64_t entries; /* of a region */
    struct sim_tally own, all;
};

struct sim_parts_options {
    const struct sim_region_spec *regions;
    size_t region_count;
    bool processes;
    bool only_regions; /* the rest runs natively (region_gaps.h): a live source, no PROCESSES */
    uint32_t counters; /* bit N: counter N */
    /* Where FUNCTION begins in the mapped OBJECT; false: it is not there. */
    bool (*resolve)(void *context, const struct trace_object *object, const char *function,
                    uint64_t *address);
    void *resolve_context;
};

struct sim_parts;

/* NULL without memory. What OPTIONS points to and SOURCE must outlive it. */
struct sim_parts *sim_parts_new(const struct sim_parts_options *options,
                                struct trace_source *source);
void sim_parts_free(struct sim_parts *parts);

/* The next instruction of the stream: does a boundary lie before it? Then sim_parts_boundary() is
 * to be called when it begins to retire, once for each, in order. */
bool sim_parts_follow(struct sim_parts *parts, const struct trace_instruction *instruction);
/* The next instruction of the source that is to be simulated: all of them but for ONLY_REGIONS.
 * *BOUNDARY as above. */
enum trace_result sim_parts_next(struct sim_parts *parts, struct trace_instruction *instruction,
                                 bool *boundary);
/* How often the program ran natively between regions. */
uint64_t sim_parts_stretches(const struct sim_parts *parts);
/* CLOCKS and INSTRUCTIONS as they stand. */
void sim_parts_boundary(struct sim_parts *parts, struct p4pmu *pmu, uint64_t clocks,
                        uint64_t instructions);
/* The end of the run (or what has been run so far): the last part gets its share. */
void sim_parts_settle(struct sim_parts *parts, struct p4pmu *pmu, uint64_t clocks,
                      uint64_t instructions);

/* The rest first, then the regions, then the processes: *COUNT of them. Markers of which more than
 * there is room for appeared are counted in the rest; *LOST says how many. */
const struct sim_part *sim_parts_all(struct sim_parts *parts, size_t *count, size_t *lost);

#endif
