/*
 * PEBS records from the first of the two last markers of a snippet to its end (the driver's
 * instructions retire between the program's, so that none is to be stopped at): where they are,
 * what EAX they have, and which instruction really made the event, which the exact profile tells.
 */
#include "exact.h"
#include "measure.h"
#include "sampling.h"

#include <stdio.h>

#define TO_THE_END (UINT64_C(1) << 62)

enum { EAX = 2 }; /* in a record: EFLAGS, EIP, EAX, ... */

static void note(struct measure_keys *keys, uint64_t key)
{
    for (unsigned i = 0; i < keys->count; i++) {
        if (keys->of[i].key == key) {
            keys->of[i].times++;
            return;
        }
    }
    if (keys->count == MEASURE_KEYS)
        return;
    keys->of[keys->count].key = key;
    keys->of[keys->count++].times = 1;
}

static void take(void *context, const struct sim_sample *sample)
{
    struct measure_records *records = context;
    if (sample->kind != SIM_SAMPLE_PEBS)
        return;
    records->taken++;
    note(&records->ip, sample->ip);
    note(&records->eax, sample->registers.value[EAX]);
}

static void look_for_cause(void *context, size_t slot, uint16_t process, uint64_t ip,
                           uint64_t count)
{
    struct measure_records *records = context;
    (void)process;
    if (slot != 0 || count <= records->cause_times)
        return;
    records->cause = ip;
    records->cause_times = count;
}

bool measure_take_records(struct measure *measure, struct sim_bench *bench,
                          const struct sim_plan *plan, char error[512])
{
    struct sim_sampling sampling = {.counters = {{.counter = MEASURE_PEBS_COUNTER,
                                                  .how = SIM_BY_PEBS,
                                                  .period = measure->period}},
                                    .count = 1,
                                    .threshold =
                                        32, /* of 64: the driver comes before they are full */
                                    .sample = take,
                                    .context = &measure->records};
    struct sim_exact *exact = sim_exact_new(plan);
    snprintf(error, 512, "out of memory");
    bool good = exact && sim_bench_sample(bench, &sampling, error);
    if (good) {
        sim_bench_exact(bench, exact);
        good = measure_run_to(bench, TO_THE_END, error);
        sim_bench_sampling_end(bench);
        sim_exact_each(exact, look_for_cause, &measure->records);
        sim_bench_exact(bench, NULL);
    }
    sim_exact_free(exact);
    return good;
}
