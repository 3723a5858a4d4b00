/*
 * Exact profiles: how often each instruction really made an event count, which no hardware tells.
 *
 * Every fact that an ESCR of the plan selects is counted for the instruction it comes from. For a
 * counter without threshold and edge detection the sum over all instructions, and over the facts
 * that come from none (wrong paths, the kernel, fetching ahead), is what it counts. Standing
 * conditions (clocks) come from no instruction and are not facts: they have no exact profile.
 *
 *   struct sim_exact *exact = sim_exact_new(&plan);     // its requests have been programmed
 *   sim_bench_exact(bench, exact);                      // before sim_bench_run()
 *   sim_exact_each(exact, mine, me);
 */
#ifndef SIM_EXACT_H
#define SIM_EXACT_H

#include "fit.h"
#include "sim.h"

struct sim_exact;

/* NULL without memory. */
struct sim_exact *sim_exact_new(const struct sim_plan *plan);
void sim_exact_free(struct sim_exact *exact);
/* The bench feeds EXACT from now on; NULL: nobody. */
void sim_bench_exact(struct sim_bench *bench, struct sim_exact *exact);

/* An instruction's counts: those of SLOT of the plan, of PROCESS's instruction at IP. */
typedef void sim_exact_fn(void *context, size_t slot, uint16_t process, uint64_t ip,
                          uint64_t count);
/* NEW hears of each instruction when its first count comes, while its code is surely there. */
void sim_exact_hear(struct sim_exact *exact, sim_exact_fn *new, void *context);
/* Every instruction with a count, in no order. */
void sim_exact_each(const struct sim_exact *exact, sim_exact_fn *each, void *context);
/* All facts of SLOT; *NOWHERE of them are no instruction's. False when that is not what the slot's
 * counter counts (threshold, edges), when there was no fact at all (which may mean that standing
 * conditions are counted), or when memory was short. */
bool sim_exact_total(const struct sim_exact *exact, size_t slot, uint64_t *total,
                     uint64_t *nowhere);

/* For the bench: an instruction is given to the machine; a p4pmu_witness_fn. */
void sim_exact_note(struct sim_exact *exact, unsigned lp, uint64_t serial, uint16_t process,
                    uint64_t ip);
void sim_exact_witness(void *exact, enum p4pmu_escr escr, unsigned who, unsigned count,
                       uint64_t origin);

#endif
