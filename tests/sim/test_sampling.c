/*
 * Sampling on the bench: interrupts and precise records come when the hardware would give them, the
 * samples add up to the count, and the ends of buffers and of the DS area behave as documented. The
 * program is a loop with one load that always misses L1 (eight lines of one set, 8 KB apart: the
 * published PEBS example) between loads that hit.
 */
#include "sampling_lab.h"

/* ---- interrupts --------------------------------------------------------------------------------
 */

static void samples_times_period_is_the_count(void **state)
{
    (void)state;
    for (uint64_t period = 500; period < 6000; period = period * 3 + 7) {
        struct lab *l = lab_new(ITERATIONS);
        count_instructions(l, 12);
        start(l, by_interrupt(12, period));
        finish(l);
        uint64_t count = (uint64_t)PER_ITERATION * ITERATIONS;
        uint64_t told = (l->totals.samples + l->totals.lost_periods) * period;
        assert_in_range(count - told, 0, period);
        assert_int_equal(l->totals.lost_periods, 0);
        assert_int_equal(l->totals.interrupts, l->totals.samples);
        assert_int_equal(l->stats.interrupts, l->totals.interrupts);
        lab_free(l);
    }
}

static void an_interrupt_sample_lies_behind_the_truth(void **state)
{
    (void)state;
    struct lab *l = lab_new(ITERATIONS);
    count_misses(l);
    start(l, by_interrupt(PEBS_COUNTER, 100));
    finish(l);
    assert_true(l->seen.count > 20);
    for (size_t i = 0; i < l->seen.count; i++) {
        const struct sim_sample *s = &l->seen.sample[i];
        assert_int_equal(s->kind, SIM_SAMPLE_PMI);
        assert_int_equal(s->counter, PEBS_COUNTER);
        assert_int_equal(s->cpl, 3);
        assert_true(s->truth_known && s->skid_known);
        assert_int_equal(s->truth_ip, MISSES_AT);
        assert_true(s->skid_instructions > 0);
        assert_int_not_equal(s->ip, MISSES_AT);
        assert_true(s->clock > s->overflow_clock + northwood.params.apic_clocks);
    }
    lab_free(l);
}

static void a_clock_sample_has_no_instruction_at_fault(void **state)
{
    (void)state;
    struct lab *l = lab_new(ITERATIONS);
    write_msr(l, 0x3A2, 0x2600020C); /* global_power_events RUNNING */
    write_msr(l, 0x360, 0x0003D000);
    start(l, by_interrupt(0, 10000));
    finish(l);
    assert_true(l->seen.count > 3);
    for (size_t i = 0; i < l->seen.count; i++)
        assert_false(l->seen.sample[i].truth_known);
    lab_free(l);
}

static void a_period_of_one_loses_periods_and_says_so(void **state)
{
    (void)state;
    struct lab *l = lab_new(100);
    count_instructions(l, 12);
    start(l, by_interrupt(12, 1));
    finish(l);
    assert_true(l->seen.count > 10);
    assert_true(l->totals.lost_periods > 0);
    uint64_t told = l->totals.samples + l->totals.lost_periods, count = PER_ITERATION * 100;
    assert_in_range(told, count - 130, count); /* what is in flight at the end */
    lab_free(l);
}

static void a_period_larger_than_the_run_gives_no_sample(void **state)
{
    (void)state;
    struct lab *l = lab_new(1000);
    count_instructions(l, 12);
    start(l, by_interrupt(12, 1u << 30));
    finish(l);
    assert_int_equal(l->seen.count, 0);
    assert_int_equal(l->stats.interrupts, 0);
    assert_int_equal(l->stats.handler_clocks, 0);
    lab_free(l);
}

static void force_ovf_interrupts_again_and_again_and_the_count_stays(void **state)
{
    (void)state;
    struct lab *l = lab_new(200);
    uint64_t counter = 0;
    struct sim_sampling sampling = by_interrupt(12, 0);
    sampling.counters[0].force_overflow = true;
    count_instructions(l, 12);
    start(l, sampling);
    finish(l);
    p4pmu_rdmsr(l->pmu, 0, 0x30C, &counter);
    assert_int_equal(counter, PER_ITERATION * 200);
    assert_true(l->seen.count > PER_ITERATION * 200 / 200);
    assert_int_equal(l->totals.interrupts, l->seen.count);
    lab_free(l);
}

static void two_counters_that_overflow_together_share_an_interrupt(void **state)
{
    (void)state;
    struct lab *l = lab_new(ITERATIONS);
    struct sim_sampling sampling = by_interrupt(12, 1000);
    sampling.counters[1] = (struct sim_sampling_counter){.counter = 13, .period = 1000};
    sampling.count = 2;
    count_instructions(l, 12);
    write_msr(l, 0x36D, 0x00039000); /* both listen to CRU_ESCR0 */
    start(l, sampling);
    finish(l);
    assert_true(l->seen.count > 20);
    assert_int_equal(l->seen.count % 2, 0);
    assert_int_equal(l->totals.interrupts, l->seen.count / 2);
    for (size_t i = 0; i < l->seen.count; i += 2) {
        assert_int_equal(l->seen.sample[i].counter, 12);
        assert_int_equal(l->seen.sample[i + 1].counter, 13);
        assert_int_equal(l->seen.sample[i].ip, l->seen.sample[i + 1].ip);
        assert_int_equal(l->seen.sample[i].truth_ip, l->seen.sample[i + 1].truth_ip);
    }
    lab_free(l);
}

static void the_service_routine_costs_clocks_and_is_not_counted_as_user_code(void **state)
{
    (void)state;
    struct lab *quiet = lab_new(ITERATIONS), *l = lab_new(ITERATIONS);
    uint64_t counter = 0;
    finish(quiet);
    count_instructions(l, 12);
    write_msr(l, 0x3B9, 0x04000208); /* kernel, counter 14 */
    write_msr(l, 0x36E, 0x00039000);
    start(l, by_interrupt(12, 1000));
    finish(l);
    p4pmu_rdmsr(l->pmu, 0, 0x30E, &counter);
    assert_true(counter > 20 * l->totals.interrupts);
    assert_int_equal(quiet->stats.instructions + counter, l->stats.instructions);
    assert_true(l->stats.handler_clocks > 1000 * l->totals.interrupts);
    assert_true(l->stats.clocks >= quiet->stats.clocks + l->stats.handler_clocks * 9 / 10);
    lab_free(quiet);
    lab_free(l);
}

static void a_limit_of_samples_stops_the_counters(void **state)
{
    (void)state;
    struct lab *l = lab_new(ITERATIONS);
    struct sim_sampling sampling = by_interrupt(12, 700);
    sampling.max_samples = 5;
    count_instructions(l, 12);
    start(l, sampling);
    finish(l);
    assert_int_equal(l->seen.count, 5);
    assert_in_range(l->totals.interrupts, 5, 6);
    lab_free(l);
}

static void last_branches_come_with_the_sample(void **state)
{
    (void)state;
    struct lab *l = lab_new(ITERATIONS);
    struct sim_sampling sampling = by_interrupt(12, 3000);
    sampling.last_branches = true;
    count_instructions(l, 12);
    start(l, sampling);
    finish(l);
    assert_true(l->seen.count > 5);
    for (size_t i = 1; i < l->seen.count; i++) {
        const struct sim_sample *s = &l->seen.sample[i];
        assert_int_equal(s->last_branch_count, 4);
        /* the newest is the interrupt itself, then the loop's branch */
        assert_int_equal(s->last_branch[0].from, s->ip);
        assert_int_equal(s->last_branch[1].to, STREAM_BASE);
    }
    lab_free(l);
}

/* ---- precise ones ------------------------------------------------------------------------------
 */

static void precise_samples_are_on_the_load_with_its_address(void **state)
{
    (void)state;
    struct lab *l = lab_new(ITERATIONS);
    uint64_t period = 50, histogram[8] = {0}, count = 0, elsewhere = 0;
    count_misses(l);
    write_msr(l, 0x36C, 0x0003B000); /* counter 12 counts the same */
    start(l, precisely(period));
    finish(l);
    p4pmu_rdmsr(l->pmu, 0, 0x30C, &count);
    assert_in_range(count - l->seen.count * period, 0, period);
    for (size_t i = 0; i < l->seen.count; i++) {
        const struct sim_sample *s = &l->seen.sample[i];
        assert_int_equal(s->kind, SIM_SAMPLE_PEBS);
        assert_int_equal(s->ip, s->truth_ip);
        assert_true(s->registers_known);
        assert_int_equal(s->registers.value[0], 0x202);
        assert_int_equal(s->registers.value[1], s->ip);
        elsewhere += s->ip != MISSES_AT; /* a cold miss, or one the kernel's lines caused */
        if (s->ip != MISSES_AT)
            continue;
        uint64_t offset = s->registers.value[2] - 0x100000; /* EAX */
        assert_int_equal(offset % 8192, 0);
        assert_in_range(offset / 8192, 0, 7);
        histogram[offset / 8192]++;
    }
    for (unsigned i = 0; i < 8; i++)
        if (histogram[i] == l->seen.count)
            fail_msg("all samples have one address: the period goes with the loop");
    assert_in_range(elsewhere, 0, l->seen.count / 20);
    assert_int_equal(l->totals.pebs_records, l->seen.count);
    assert_int_equal(l->stats.assists, l->seen.count);
    assert_true(l->stats.assist_clocks >= l->stats.assists * northwood.params.assist_clocks);
    lab_free(l);
}

/* A buffer of 16 records, and a sample every 20 misses. */
static struct lab *run_with_threshold(uint32_t threshold)
{
    struct lab *l = lab_new(ITERATIONS);
    struct sim_sampling sampling = precisely(20);
    sampling.records = 16;
    sampling.threshold = threshold;
    count_misses(l);
    start(l, sampling);
    finish(l);
    return l;
}

static void the_threshold_interrupts_once_a_buffer(void **state)
{
    (void)state;
    struct lab *l = run_with_threshold(10);
    assert_int_equal(l->totals.lost_records, 0);
    assert_int_equal(l->totals.interrupts, l->totals.pebs_records / 10);
    lab_free(l);
}

static void a_threshold_beyond_the_end_loses_what_does_not_fit(void **state)
{
    (void)state;
    struct lab *l = run_with_threshold(17);
    assert_int_equal(l->totals.interrupts, 0);
    assert_int_equal(l->totals.pebs_records, 16);
    assert_int_equal(l->seen.count, 16);
    assert_true(l->totals.lost_records > 0);
    lab_free(l);
}

static void a_full_buffer_without_slack_is_emptied_in_time(void **state)
{
    (void)state;
    struct lab *l = lab_new(ITERATIONS);
    struct sim_sampling sampling = precisely(1);
    sampling.records = sampling.threshold = 4;
    count_misses(l);
    start(l, sampling);
    finish(l);
    assert_int_equal(l->totals.pebs_records, l->seen.count);
    assert_true(l->totals.interrupts >= l->totals.pebs_records / 4);
    assert_in_range(l->totals.pebs_records + l->totals.lost_records, ITERATIONS / 2, ITERATIONS);
    lab_free(l);
}

static void a_missing_ds_page_shuts_the_processor_down(void **state)
{
    (void)state;
    struct lab *l = lab_new(ITERATIONS);
    uint64_t misc = 0;
    count_misses(l);
    start(l, precisely(20));
    write_msr(l, DS_AREA, 0x5000);
    assert_int_equal(sim_bench_run(l->bench, &(struct sim_run_options){0}), SIM_STOP_MACHINE);
    assert_non_null(strstr(sim_bench_report(l->bench), "DS area"));
    p4pmu_rdmsr(l->pmu, 0, 0x18A, &misc);
    assert_int_equal(misc & 1, 1);
    assert_int_equal(sim_bench_sampling_totals(l->bench)->faults, 1);
    assert_in_range(sim_bench_stats(l->bench)->instructions, 8 * PER_ITERATION, 30 * PER_ITERATION);
    lab_free(l);
}

static void taken_branches_are_recorded_in_order(void **state)
{
    (void)state;
    struct lab *l = lab_new(500);
    start(l, (struct sim_sampling){.branches = true, .records = 32, .threshold = 24});
    finish(l);
    uint64_t loop = 0;
    for (size_t i = 0; i < l->seen.count; i++) {
        const struct sim_sample *s = &l->seen.sample[i];
        assert_int_equal(s->kind, SIM_SAMPLE_BRANCH);
        if (s->cpl == 3) {
            assert_int_equal(s->branch_to, STREAM_BASE);
            loop++;
        }
    }
    assert_int_equal(loop, 499);
    assert_int_equal(l->totals.lost_records, 0);
    assert_true(l->stats.assist_clocks > 499 * northwood.params.assist_clocks);
    lab_free(l);
}

/* ---- what cannot be done -----------------------------------------------------------------------
 */

static void refused(struct sim_sampling sampling, const char *why)
{
    char error[512] = "";
    struct lab *l = lab_new(1);
    assert_false(sim_bench_sample(l->bench, &sampling, error));
    if (!strstr(error, why))
        fail_msg("expected '%s' in: %s", why, error);
    lab_free(l);
}

static void what_the_hardware_cannot_is_refused_with_the_reason(void **state)
{
    (void)state;
    struct sim_sampling wrong = precisely(100);
    wrong.counters[0].counter = 12;
    refused(wrong, "MSR_IQ_COUNTER4 alone");
    refused(by_interrupt(12, 0), "period");
    refused(by_interrupt(18, 5), "counters 0 to 17");
    wrong = by_interrupt(12, 100);
    wrong.counters[1] = wrong.counters[0];
    wrong.count = 2;
    refused(wrong, "twice");
    wrong = (struct sim_sampling){.branches = true, .no_kernel = true};
    refused(wrong, "came with model 3");
}

static void skipping_clocks_changes_no_sample(void **state)
{
    (void)state;
    for (unsigned each = 0; each < 2; each++) {
        struct lab *a = lab_new(600), *b = lab_new(600);
        count_misses(a);
        count_misses(b);
        start(a, each ? precisely(7) : by_interrupt(PEBS_COUNTER, 23));
        start(b, each ? precisely(7) : by_interrupt(PEBS_COUNTER, 23));
        sim_bench_step_each_clock(b->bench, true);
        finish(a);
        finish(b);
        assert_true(a->seen.count > 10);
        assert_int_equal(a->seen.count, b->seen.count);
        assert_int_equal(a->stats.clocks, b->stats.clocks);
        for (size_t i = 0; i < a->seen.count; i++) {
            assert_int_equal(a->seen.sample[i].clock, b->seen.sample[i].clock);
            assert_int_equal(a->seen.sample[i].ip, b->seen.sample[i].ip);
        }
        lab_free(a);
        lab_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_times_period_is_the_count),
        cmocka_unit_test(an_interrupt_sample_lies_behind_the_truth),
        cmocka_unit_test(a_clock_sample_has_no_instruction_at_fault),
        cmocka_unit_test(a_period_of_one_loses_periods_and_says_so),
        cmocka_unit_test(a_period_larger_than_the_run_gives_no_sample),
        cmocka_unit_test(force_ovf_interrupts_again_and_again_and_the_count_stays),
        cmocka_unit_test(two_counters_that_overflow_together_share_an_interrupt),
        cmocka_unit_test(the_service_routine_costs_clocks_and_is_not_counted_as_user_code),
        cmocka_unit_test(a_limit_of_samples_stops_the_counters),
        cmocka_unit_test(last_branches_come_with_the_sample),
        cmocka_unit_test(precise_samples_are_on_the_load_with_its_address),
        cmocka_unit_test(the_threshold_interrupts_once_a_buffer),
        cmocka_unit_test(a_threshold_beyond_the_end_loses_what_does_not_fit),
        cmocka_unit_test(a_full_buffer_without_slack_is_emptied_in_time),
        cmocka_unit_test(a_missing_ds_page_shuts_the_processor_down),
        cmocka_unit_test(taken_branches_are_recorded_in_order),
        cmocka_unit_test(what_the_hardware_cannot_is_refused_with_the_reason),
        cmocka_unit_test(skipping_clocks_changes_no_sample),
    };
    return cmocka_run_group_tests(tests, northwood_load, northwood_free);
}
