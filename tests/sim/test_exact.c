/*
 * Exact profiles: what is added up for each instruction is what the counter counts; and naming the
 * origins of facts changes nothing.
 */
#include "../netburst/northwood.h"
#include "exact.h"
#include "sampling.h"
#include "stream_source.h"

#include <stdio.h>

enum { ITEMS = 12, MISSING = 4, ITERATIONS = 500 };

struct lab {
    struct stream stream;
    struct stream_source source;
    struct sim_bench *bench;
    struct sim_exact *exact; /* or NULL */
    struct sim_plan plan;
};

/* A loop of loads; MISSING's address moves by 8 KB and misses, the others hit. */
static struct lab *lab_run(const char *const *events, size_t count, bool exact)
{
    char error[512];
    struct sim_request requests[8];
    struct sim_replay_registers none = {0};
    struct sim_conflict conflict;
    struct lab *l = calloc(1, sizeof *l);
    stream_of_loads(&l->stream, ITEMS, MISSING, ITERATIONS);
    stream_source_init(&l->source, &l->stream);
    l->bench = sim_bench_new(&northwood, &l->source.source, error);
    assert_non_null(l->bench);
    for (size_t i = 0; i < count; i++)
        assert_true(sim_request_parse(events[i], 0x29, &requests[i], error));
    assert_true(sim_fit(requests, count, &none, &l->plan, &conflict));
    assert_true(sim_program(sim_bench_pmu(l->bench), &l->plan, error));
    l->exact = exact ? sim_exact_new(&l->plan) : NULL;
    if (exact)
        sim_bench_exact(l->bench, l->exact);
    assert_int_equal(sim_bench_run(l->bench, &(struct sim_run_options){0}), SIM_STOP_END);
    return l;
}

static uint64_t counted(struct lab *l, size_t slot)
{
    char error[512];
    uint64_t count = 0;
    assert_true(sim_read(sim_bench_pmu(l->bench), &l->plan.slots[slot], &count, error));
    return count;
}

static void lab_free(struct lab *l)
{
    sim_exact_free(l->exact);
    sim_bench_free(l->bench);
    free(l);
}

struct sum {
    size_t slot;
    uint64_t count, missing; /* in all; of the load that misses */
    unsigned rows;
};

static void add(void *context, size_t slot, uint16_t process, uint64_t ip, uint64_t count)
{
    struct sum *sum = context;
    if (slot != sum->slot)
        return;
    assert_int_equal(process, 0);
    sum->count += count;
    sum->rows++;
    sum->missing += ip == STREAM_BASE + 2 * MISSING ? count : 0;
}

static const char *const events[] = {
    "instr_retired:NBOGUSNTAG+NBOGUSTAG+BOGUSNTAG+BOGUSTAG:u",
    "uops_retired:NBOGUS+BOGUS:u",
    "1stL_cache_load_miss_retired:u",
    "branch_retired:MMTP+MMTM+MMNP+MMNM:u",
    "BSQ_cache_reference:RD_2ndL_MISS:u",
    "MOB_load_replay:PARTIAL_DATA+NO_STA+NO_STD+UNALGN_ADDR:u",
};
enum { INSTRUCTIONS, UOPS, MISSES, BRANCHES, L2, EVENTS = 6 };

static void what_instructions_add_up_to_is_what_the_counter_counts(void **state)
{
    struct lab *l = lab_run(events, EVENTS, true);
    (void)state;
    for (size_t i = 0; i < EVENTS; i++) {
        struct sum sum = {.slot = i};
        uint64_t total, nowhere;
        bool known = sim_exact_total(l->exact, i, &total, &nowhere);
        assert_int_equal(total, counted(l, i));
        assert_int_equal(known, total != 0);
        sim_exact_each(l->exact, add, &sum);
        assert_int_equal(sum.count + nowhere, total);
    }
    lab_free(l);
}

static void each_instruction_has_its_own(void **state)
{
    struct lab *l = lab_run(events, EVENTS, true);
    struct sum misses = {.slot = MISSES}, branches = {.slot = BRANCHES};
    struct sum instructions = {.slot = INSTRUCTIONS};
    (void)state;
    sim_exact_each(l->exact, add, &misses);
    sim_exact_each(l->exact, add, &branches);
    sim_exact_each(l->exact, add, &instructions);
    assert_in_range(misses.missing, ITERATIONS - 10, ITERATIONS);
    /* the first touches of the other lines, by every load that waited for one of them */
    assert_true(misses.count - misses.missing < ITERATIONS / 5);
    assert_int_equal(branches.rows, 1);
    assert_int_equal(instructions.missing, ITERATIONS);
    lab_free(l);
}

static void naming_origins_changes_no_count(void **state)
{
    struct lab *named = lab_run(events, EVENTS, true), *plain = lab_run(events, EVENTS, false);
    (void)state;
    for (size_t i = 0; i < EVENTS; i++)
        assert_int_equal(counted(named, i), counted(plain, i));
    assert_memory_equal(sim_bench_stats(named->bench), sim_bench_stats(plain->bench),
                        sizeof(struct nb_stats));
    lab_free(named);
    lab_free(plain);
}

static void conditions_of_clocks_have_no_exact_profile(void **state)
{
    static const char *const clocks[] = {"global_power_events:RUNNING:u",
                                         "uops_retired:NBOGUS:t=1"};
    struct lab *l = lab_run(clocks, 2, true);
    uint64_t total, nowhere;
    (void)state;
    assert_false(sim_exact_total(l->exact, 0, &total, &nowhere));
    assert_false(sim_exact_total(l->exact, 1, &total, &nowhere));
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_instructions_add_up_to_is_what_the_counter_counts),
        cmocka_unit_test(each_instruction_has_its_own),
        cmocka_unit_test(naming_origins_changes_no_count),
        cmocka_unit_test(conditions_of_clocks_have_no_exact_profile),
    };
    return cmocka_run_group_tests(tests, northwood_load, northwood_free);
}
