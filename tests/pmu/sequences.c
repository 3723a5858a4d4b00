/*
 * Odd sequences: registers written while things stand, overflow bits written in the clock of the
 * overflow, filters whose past matters.
 */
#include "lab.h"

enum {
    NBOGUS = 1,
    COUNTER = 12,
    COMPARE = 1 << 18,
    COMPLEMENT = 1 << 19,
    THRESHOLD_2 = 2 << 20,
    EDGE = 1 << 24,
    FORCE_OVF = 1 << 25,
    PMI_T0 = 1 << 26,
    PMI_T1 = 1 << 27,
    CASCADE = 1 << 30
};

static const uint32_t OVF = UINT32_C(1) << 31;
static const uint64_t LAST = P4PMU_COUNTER_MASK;
static const unsigned USER = P4PMU_WHO(0, 3);

static uint32_t cccr_of(unsigned counter)
{
    return p4pmu_counter(counter)->cccr_msr;
}

static struct p4pmu *lab(bool hyper_threading, uint32_t more)
{
    struct p4pmu *pmu = lab_new(2, hyper_threading);
    p4pmu_set_lvt(pmu, 0, 0);
    p4pmu_set_lvt(pmu, 1, 0);
    lab_set_escr(pmu, P4PMU_ESCR_CRU0, lab_escr(P4PMU_EV_uops_retired, NBOGUS, USR_OS));
    lab_listen(pmu, COUNTER, P4PMU_ESCR_CRU0, more);
    return pmu;
}

static void stand(struct p4pmu *pmu, unsigned count)
{
    p4pmu_level(pmu, P4PMU_EV_uops_retired, NBOGUS, USER, count);
}

static void uops(struct p4pmu *pmu, unsigned n)
{
    p4pmu_post(pmu, P4PMU_EV_uops_retired, NBOGUS, USER, n);
}

static void change_cccr(struct p4pmu *pmu, uint32_t clear, uint32_t set)
{
    lab_write(pmu, cccr_of(COUNTER), (lab_read(pmu, cccr_of(COUNTER)) & ~clear) | set);
}

/* ---- counters -------------------------------------------------------------------------------- */

static void a_counter_written_while_a_condition_stands_goes_on_from_there(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(false, PMI_T0);
    stand(pmu, 3);
    p4pmu_clocks(pmu, 10);
    assert_int_equal(lab_counter(pmu, COUNTER), 30);
    lab_write(pmu, 0x30C, 100);
    p4pmu_clocks(pmu, 5);
    assert_int_equal(lab_counter(pmu, COUNTER), 115);
    lab_write(pmu, 0x30C, LAST - 8); /* nine more: the third clock overflows, the fourth asks */
    assert_int_equal(p4pmu_quiet_clocks(pmu), 3);
    p4pmu_clocks(pmu, 3);
    assert_int_equal(lab_counter(pmu, COUNTER), 0);
    assert_false(p4pmu_interrupt(pmu, 0));
    p4pmu_clocks(pmu, 1);
    assert_true(p4pmu_interrupt(pmu, 0));
    p4pmu_free(pmu);
}

static void a_counter_written_after_its_overflow_still_asks_with_the_next_count(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(false, PMI_T0);
    lab_write(pmu, 0x30C, LAST);
    uops(pmu, 1);
    p4pmu_clocks(pmu, 1);
    lab_write(pmu, 0x30C, 5);
    p4pmu_clocks(pmu, 100);
    assert_false(p4pmu_interrupt(pmu, 0));
    uops(pmu, 1);
    p4pmu_clocks(pmu, 1);
    assert_true(p4pmu_interrupt(pmu, 0));
    p4pmu_free(pmu);
}

/* ---- OVF ------------------------------------------------------------------------------------- */

static void ovf_cleared_in_the_clock_of_the_overflow_is_set_at_its_end(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(false, 0);
    change_cccr(pmu, 0, OVF);
    lab_write(pmu, 0x30C, LAST);
    uops(pmu, 1);
    change_cccr(pmu, OVF, 0);
    assert_int_equal(lab_read(pmu, cccr_of(COUNTER)) & OVF, 0);
    p4pmu_clocks(pmu, 1);
    assert_int_equal(lab_read(pmu, cccr_of(COUNTER)) & OVF, OVF);
    p4pmu_free(pmu);
}

static void a_cccr_read_before_and_written_after_an_overflow_loses_it(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(false, PMI_T0);
    uint64_t old = lab_read(pmu, cccr_of(COUNTER));
    lab_write(pmu, 0x30C, LAST);
    uops(pmu, 1);
    p4pmu_clocks(pmu, 1);
    lab_write(pmu, cccr_of(COUNTER), old);
    uops(pmu, 1);
    p4pmu_clocks(pmu, 10);
    assert_int_equal(lab_read(pmu, cccr_of(COUNTER)) & OVF, 0);
    assert_false(p4pmu_interrupt(pmu, 0));
    p4pmu_free(pmu);
}

static void ovf_written_back_as_1_keeps_the_request(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(false, PMI_T0);
    lab_write(pmu, 0x30C, LAST);
    uops(pmu, 1);
    p4pmu_clocks(pmu, 1);
    change_cccr(pmu, 0, 0); /* between the overflow and the count that asks */
    uops(pmu, 1);
    p4pmu_clocks(pmu, 1);
    assert_true(p4pmu_interrupt(pmu, 0));
    change_cccr(pmu, ENABLE, 0);
    assert_true(p4pmu_interrupt(pmu, 0));
    change_cccr(pmu, OVF, 0);
    change_cccr(pmu, 0, OVF | ENABLE); /* no overflow behind this one */
    uops(pmu, 1);
    p4pmu_clocks(pmu, 1);
    assert_false(p4pmu_interrupt(pmu, 0));
    lab_write(pmu, 0x30C, LAST); /* but a real one while it is set does ask */
    uops(pmu, 1);
    p4pmu_clocks(pmu, 1);
    uops(pmu, 1);
    p4pmu_clocks(pmu, 1);
    assert_true(p4pmu_interrupt(pmu, 0));
    p4pmu_free(pmu);
}

static void ovf_pmi_set_after_the_count_asks_at_once_and_cleared_withdraws(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(false, 0);
    lab_write(pmu, 0x30C, LAST);
    uops(pmu, 1);
    p4pmu_clocks(pmu, 1);
    uops(pmu, 1);
    p4pmu_clocks(pmu, 1);
    assert_false(p4pmu_interrupt(pmu, 0));
    change_cccr(pmu, 0, PMI_T0);
    assert_true(p4pmu_interrupt(pmu, 0));
    change_cccr(pmu, PMI_T0, 0);
    assert_false(p4pmu_interrupt(pmu, 0));
    p4pmu_free(pmu);
}

/* The same when overflow and count lie in one skip of a counter nobody waits for. */
static void a_skip_past_the_overflow_leaves_the_request_to_be_found(void **state)
{
    (void)state;
    for (unsigned clocks = 1; clocks < 5; clocks++) {
        struct p4pmu *pmu = lab(false, 0);
        lab_write(pmu, 0x30C, LAST - 1); /* the second clock overflows */
        stand(pmu, 1);
        p4pmu_clocks(pmu, clocks);
        stand(pmu, 0);
        change_cccr(pmu, 0, PMI_T0);
        assert_int_equal(p4pmu_interrupt(pmu, 0), clocks > 2);
        p4pmu_free(pmu);
    }
}

static void with_force_ovf_a_handler_is_called_again_by_the_second_count_after_it(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(false, FORCE_OVF | PMI_T0);
    for (int i = 0; i < 3; i++) {
        uops(pmu, 1);
        p4pmu_clocks(pmu, 1);
        assert_false(p4pmu_interrupt(pmu, 0));
        uops(pmu, 1);
        p4pmu_clocks(pmu, 1);
        assert_true(p4pmu_interrupt(pmu, 0));
        p4pmu_accept(pmu, 0);
        change_cccr(pmu, OVF, 0);
        p4pmu_set_lvt(pmu, 0, 0);
    }
    p4pmu_free(pmu);
}

static void force_ovf_starts_a_cascade_with_the_first_count(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(false, FORCE_OVF);
    lab_set_escr(pmu, P4PMU_ESCR_CRU1, lab_escr(P4PMU_EV_uops_retired, NBOGUS, 0));
    lab_write(pmu, cccr_of(14), 0x00FF8000 | CASCADE | FORCE_OVF | PMI_T0); /* clocks */
    p4pmu_clocks(pmu, 10);
    assert_int_equal(lab_counter(pmu, 14), 0);
    uops(pmu, 1);
    p4pmu_clocks(pmu, 1);
    assert_int_equal(lab_counter(pmu, 14), 0);
    p4pmu_clocks(pmu, 1);
    assert_int_equal(lab_counter(pmu, 14), 1);
    assert_false(p4pmu_interrupt(pmu, 0));
    p4pmu_clocks(pmu, 1);
    assert_true(p4pmu_interrupt(pmu, 0));
    change_cccr(pmu, OVF, 0); /* of the source: the target stops, its request stands */
    p4pmu_clocks(pmu, 10);
    assert_int_equal(lab_counter(pmu, 14), 2);
    assert_true(p4pmu_interrupt(pmu, 0));
    p4pmu_free(pmu);
}

static void one_logical_processor_can_mask_what_the_other_takes(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(true, PMI_T0 | PMI_T1);
    p4pmu_set_lvt(pmu, 0, UINT32_MAX);
    assert_int_equal(p4pmu_lvt(pmu, 0), 0x107FF); /* vector, delivery mode, mask */
    lab_write(pmu, 0x30C, LAST);
    uops(pmu, 1);
    p4pmu_clocks(pmu, 1);
    uops(pmu, 1);
    p4pmu_clocks(pmu, 1);
    assert_false(p4pmu_interrupt(pmu, 0));
    assert_true(p4pmu_interrupt(pmu, 1));
    p4pmu_accept(pmu, 1);
    assert_false(p4pmu_interrupt(pmu, 1));
    p4pmu_set_lvt(pmu, 0, 0); /* the level still stands */
    assert_true(p4pmu_interrupt(pmu, 0));
    p4pmu_free(pmu);
}

/* ---- comparison and edge --------------------------------------------------------------------- */

static uint64_t count_of(struct p4pmu *pmu, uint64_t clocks)
{
    uint64_t before = lab_counter(pmu, COUNTER);
    p4pmu_clocks(pmu, clocks);
    return lab_counter(pmu, COUNTER) - before;
}

static void the_edge_filter_remembers_across_escr_rewrites(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(false, COMPARE | EDGE);
    stand(pmu, 1);
    assert_int_equal(count_of(pmu, 3), 1);
    p4pmu_level(pmu, P4PMU_EV_instr_retired, 1, USER, 1);
    lab_set_escr(pmu, P4PMU_ESCR_CRU0, lab_escr(P4PMU_EV_instr_retired, 1, USR_OS));
    assert_int_equal(count_of(pmu, 3), 0); /* high before, high after */
    lab_set_escr(pmu, P4PMU_ESCR_CRU0, lab_escr(P4PMU_EV_instr_retired, 2, USR_OS));
    assert_int_equal(count_of(pmu, 1), 0);
    lab_set_escr(pmu, P4PMU_ESCR_CRU0, lab_escr(P4PMU_EV_uops_retired, NBOGUS, USR_OS));
    assert_int_equal(count_of(pmu, 3), 1);
    p4pmu_free(pmu);
}

static void an_escr_rewritten_between_clocks_is_no_low_clock(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(false, COMPARE | EDGE);
    stand(pmu, 1);
    assert_int_equal(count_of(pmu, 3), 1);
    lab_set_escr(pmu, P4PMU_ESCR_CRU0, lab_escr(P4PMU_EV_uops_retired, 2, USR_OS));
    lab_set_escr(pmu, P4PMU_ESCR_CRU0, lab_escr(P4PMU_EV_uops_retired, NBOGUS, USR_OS));
    assert_int_equal(count_of(pmu, 3), 0);
    p4pmu_free(pmu);
}

static void a_new_threshold_can_make_a_fall_and_a_rise(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(false, COMPARE | EDGE);
    stand(pmu, 1);
    assert_int_equal(count_of(pmu, 5), 1);
    change_cccr(pmu, 0, THRESHOLD_2);
    assert_int_equal(count_of(pmu, 5), 0);
    change_cccr(pmu, THRESHOLD_2, 0);
    assert_int_equal(count_of(pmu, 5), 1);
    change_cccr(pmu, 0, COMPLEMENT); /* 1 <= 0 is false */
    assert_int_equal(count_of(pmu, 5), 0);
    change_cccr(pmu, 0, THRESHOLD_2); /* 1 <= 2 */
    assert_int_equal(count_of(pmu, 5), 1);
    p4pmu_free(pmu);
}

static void a_stopped_counter_and_one_without_compare_begin_anew(void **state)
{
    (void)state;
    for (int stopped = 0; stopped < 2; stopped++) {
        struct p4pmu *pmu = lab(false, COMPARE | EDGE);
        uint32_t bit = stopped ? ENABLE : COMPARE;
        stand(pmu, 2);
        assert_int_equal(count_of(pmu, 5), 1);
        change_cccr(pmu, bit, 0);
        assert_int_equal(count_of(pmu, 5), stopped ? 0 : 10);
        change_cccr(pmu, 0, bit);
        assert_int_equal(count_of(pmu, 5), 1);
        p4pmu_free(pmu);
    }
}

static void sleep_is_neither_a_rise_nor_a_fall(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(false, COMPARE | EDGE);
    stand(pmu, 1);
    assert_int_equal(count_of(pmu, 5), 1);
    p4pmu_sleep(pmu, true);
    assert_int_equal(count_of(pmu, 5), 0);
    p4pmu_sleep(pmu, false);
    assert_int_equal(count_of(pmu, 5), 0);
    p4pmu_free(pmu);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void the_active_thread_gate_follows_each_change_inside_a_condition(void **state)
{
    (void)state;
    static const unsigned expected[4][4] = {/* field, then which are active */
                                            {1, 0, 0, 0},
                                            {0, 1, 1, 0},
                                            {0, 0, 0, 1},
                                            {0, 1, 1, 1}};
    for (uint32_t field = 0; field < 4; field++) {
        struct p4pmu *pmu = lab(true, 0);
        change_cccr(pmu, 3 << 16, field << 16);
        stand(pmu, 2);
        for (unsigned active = 0; active < 4; active++) {
            p4pmu_active(pmu, 0, active & 1);
            p4pmu_active(pmu, 1, active & 2);
            assert_int_equal(count_of(pmu, 7), 14 * expected[field][active]);
        }
        p4pmu_free(pmu);
    }
}

static void a_rise_behind_the_closed_gate_is_over_when_it_opens(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(true, COMPARE | EDGE);
    change_cccr(pmu, 1 << 16, 0); /* both threads */
    stand(pmu, 1);
    assert_int_equal(count_of(pmu, 5), 0);
    p4pmu_active(pmu, 1, true);
    assert_int_equal(count_of(pmu, 5), 0);
    stand(pmu, 0);
    assert_int_equal(count_of(pmu, 1), 0);
    stand(pmu, 1);
    assert_int_equal(count_of(pmu, 5), 1);
    p4pmu_free(pmu);
}

static void a_thread_independent_condition_follows_the_cpl_of_both(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab_new(2, true);
    lab_set_escr(pmu, P4PMU_ESCR_FSB0, lab_escr(P4PMU_EV_FSB_data_activity, 1, 0x4)); /* USR */
    lab_listen(pmu, 0, P4PMU_ESCR_FSB0, 0);
    p4pmu_level(pmu, P4PMU_EV_FSB_data_activity, 1, P4PMU_WHO(0, 0), 1);
    p4pmu_clocks(pmu, 10); /* both at CPL 0 */
    p4pmu_privilege(pmu, 1, 3, false);
    p4pmu_clocks(pmu, 20);
    p4pmu_privilege(pmu, 1, 0, false);
    p4pmu_clocks(pmu, 40);
    assert_int_equal(lab_counter(pmu, 0), 20);
    p4pmu_free(pmu);
}

/* ---- power ----------------------------------------------------------------------------------- */

static void a_null_event_stops_even_a_comparison_that_always_holds(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(false, 0x00FC0000);
    assert_int_equal(count_of(pmu, 10), 10);
    lab_set_escr(pmu, P4PMU_ESCR_CRU0, lab_escr(P4PMU_EV_uops_retired, 0, 0) & 0x01FFFFFF);
    assert_int_equal(count_of(pmu, 10), 0);
    lab_set_escr(pmu, P4PMU_ESCR_CRU0, 7u << 25); /* an event nobody knows is no null event */
    assert_int_equal(count_of(pmu, 10), 10);
    p4pmu_free(pmu);
}

static void a_counter_that_waits_for_its_cascade_powers_no_tagging(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab_new(2, false);
    lab_set_escr(pmu, P4PMU_ESCR_FIRM0, lab_escr(P4PMU_EV_x87_FP_uop, 0x8000, USR_OS) | 0x30);
    lab_write(pmu, cccr_of(8), CASCADE | 0x30000 | 1 << 13);
    assert_int_equal(p4pmu_execution_tags(pmu, P4PMU_EV_x87_FP_uop, 0x8000, USER), 0);
    lab_write(pmu, cccr_of(10), OVF); /* its source */
    assert_int_equal(p4pmu_execution_tags(pmu, P4PMU_EV_x87_FP_uop, 0x8000, USER), 1);
    p4pmu_sleep(pmu, true);
    assert_int_equal(p4pmu_execution_tags(pmu, P4PMU_EV_x87_FP_uop, 0x8000, USER), 0);
    p4pmu_free(pmu);
}

/* ---- facts of the open clock ----------------------------------------------------------------- */

static void a_fact_is_matched_when_posted_and_filtered_when_its_clock_ends(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(false, 0);
    uops(pmu, 3);
    lab_set_escr(pmu, P4PMU_ESCR_CRU0, lab_escr(P4PMU_EV_uops_retired, 2, USR_OS));
    assert_int_equal(count_of(pmu, 1), 3);
    lab_set_escr(pmu, P4PMU_ESCR_CRU0, lab_escr(P4PMU_EV_uops_retired, NBOGUS, USR_OS));
    uops(pmu, 3);
    change_cccr(pmu, 0, COMPARE | THRESHOLD_2);
    assert_int_equal(count_of(pmu, 1), 1);
    uops(pmu, 3);
    change_cccr(pmu, ENABLE, 0);
    assert_int_equal(count_of(pmu, 1), 0);
    change_cccr(pmu, 0, ENABLE);
    assert_int_equal(count_of(pmu, 5), 0); /* it went with its clock */
    p4pmu_free(pmu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_written_while_a_condition_stands_goes_on_from_there),
        cmocka_unit_test(a_counter_written_after_its_overflow_still_asks_with_the_next_count),
        cmocka_unit_test(ovf_cleared_in_the_clock_of_the_overflow_is_set_at_its_end),
        cmocka_unit_test(a_cccr_read_before_and_written_after_an_overflow_loses_it),
        cmocka_unit_test(ovf_written_back_as_1_keeps_the_request),
        cmocka_unit_test(ovf_pmi_set_after_the_count_asks_at_once_and_cleared_withdraws),
        cmocka_unit_test(a_skip_past_the_overflow_leaves_the_request_to_be_found),
        cmocka_unit_test(with_force_ovf_a_handler_is_called_again_by_the_second_count_after_it),
        cmocka_unit_test(force_ovf_starts_a_cascade_with_the_first_count),
        cmocka_unit_test(one_logical_processor_can_mask_what_the_other_takes),
        cmocka_unit_test(the_edge_filter_remembers_across_escr_rewrites),
        cmocka_unit_test(an_escr_rewritten_between_clocks_is_no_low_clock),
        cmocka_unit_test(a_new_threshold_can_make_a_fall_and_a_rise),
        cmocka_unit_test(a_stopped_counter_and_one_without_compare_begin_anew),
        cmocka_unit_test(sleep_is_neither_a_rise_nor_a_fall),
        cmocka_unit_test(the_active_thread_gate_follows_each_change_inside_a_condition),
        cmocka_unit_test(a_rise_behind_the_closed_gate_is_over_when_it_opens),
        cmocka_unit_test(a_thread_independent_condition_follows_the_cpl_of_both),
        cmocka_unit_test(a_null_event_stops_even_a_comparison_that_always_holds),
        cmocka_unit_test(a_counter_that_waits_for_its_cascade_powers_no_tagging),
        cmocka_unit_test(a_fact_is_matched_when_posted_and_filtered_when_its_clock_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
