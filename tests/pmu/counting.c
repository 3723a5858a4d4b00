/* Exact counts of small situations: input, filters, qualification, wrap. */
#include "lab.h"

enum { NBOGUS = 1, BOGUS = 2, CRU0_COUNTER = 12 };

static void post_uops(struct p4pmu *pmu, unsigned bits, unsigned who, unsigned n)
{
    p4pmu_post(pmu, P4PMU_EV_uops_retired, bits, who, n);
}

static struct p4pmu *uops_lab(uint32_t mask, uint32_t qualifiers, uint32_t more)
{
    struct p4pmu *pmu = lab_new(2, false);
    lab_set_escr(pmu, P4PMU_ESCR_CRU0, lab_escr(P4PMU_EV_uops_retired, mask, qualifiers));
    lab_listen(pmu, CRU0_COUNTER, P4PMU_ESCR_CRU0, more);
    return pmu;
}

static void facts_add_up_within_a_clock_and_between_clocks(void **state)
{
    (void)state;
    struct p4pmu *pmu = uops_lab(NBOGUS | BOGUS, USR_OS, 0);
    post_uops(pmu, NBOGUS, P4PMU_WHO(0, 3), 2);
    post_uops(pmu, BOGUS, P4PMU_WHO(0, 3), 1);
    p4pmu_clocks(pmu, 5);
    post_uops(pmu, NBOGUS, P4PMU_WHO(0, 0), 3);
    p4pmu_clocks(pmu, 1);
    assert_int_equal(lab_counter(pmu, CRU0_COUNTER), 6);
    assert_int_equal(p4pmu_now(pmu), 6);
    p4pmu_free(pmu);
}

static void facts_of_the_open_clock_are_not_counted_yet(void **state)
{
    (void)state;
    struct p4pmu *pmu = uops_lab(NBOGUS, USR_OS, 0);
    post_uops(pmu, NBOGUS, P4PMU_WHO(0, 3), 2);
    assert_int_equal(lab_counter(pmu, CRU0_COUNTER), 0);
    p4pmu_clocks(pmu, 1);
    assert_int_equal(lab_counter(pmu, CRU0_COUNTER), 2);
    p4pmu_free(pmu);
}

static void an_escr_gives_at_most_15_a_clock(void **state)
{
    (void)state;
    struct p4pmu *pmu = uops_lab(NBOGUS, USR_OS, 0);
    post_uops(pmu, NBOGUS, P4PMU_WHO(0, 3), 14);
    post_uops(pmu, NBOGUS, P4PMU_WHO(0, 3), 300);
    p4pmu_clocks(pmu, 1);
    assert_int_equal(lab_counter(pmu, CRU0_COUNTER), 15);
    p4pmu_level(pmu, P4PMU_EV_uops_retired, NBOGUS, P4PMU_WHO(0, 3), 20);
    p4pmu_clocks(pmu, 10);
    assert_int_equal(lab_counter(pmu, CRU0_COUNTER), 165);
    p4pmu_free(pmu);
}

static void user_and_system_are_told_apart(void **state)
{
    (void)state;
    static const uint64_t expected[4] = {0, 7, 1, 8}; /* USR is ESCR bit 2, OS bit 3 */
    for (uint32_t q = 0; q < 4; q++) {
        struct p4pmu *pmu = uops_lab(NBOGUS, q << 2, 0);
        for (unsigned cpl = 0; cpl < 4; cpl++)
            post_uops(pmu, NBOGUS, P4PMU_WHO(0, cpl), cpl == 0 ? 1 : cpl == 3 ? 4 : cpl);
        p4pmu_clocks(pmu, 1);
        assert_int_equal(lab_counter(pmu, CRU0_COUNTER), expected[q]);
        p4pmu_free(pmu);
    }
}

static void a_standing_condition_counts_every_clock_until_changed(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab_new(2, false);
    p4pmu_level(pmu, P4PMU_EV_global_power_events, 1, P4PMU_WHO(0, 3),
                1); /* before anyone watches */
    lab_set_escr(pmu, P4PMU_ESCR_FSB0, 0x2600020C);
    lab_listen(pmu, 0, P4PMU_ESCR_FSB0, 0);
    p4pmu_clocks(pmu, 1000000);
    assert_int_equal(lab_counter(pmu, 0), 1000000);
    p4pmu_level(pmu, P4PMU_EV_global_power_events, 1, P4PMU_WHO(0, 3), 0);
    p4pmu_clocks(pmu, 50);
    p4pmu_level(pmu, P4PMU_EV_global_power_events, 1, P4PMU_WHO(0, 0), 1);
    p4pmu_clocks(pmu, 3);
    assert_int_equal(lab_counter(pmu, 0), 1000003);
    p4pmu_free(pmu);
}

static void every_threshold_complement_and_input_gives_its_count(void **state)
{
    (void)state;
    for (uint32_t complement = 0; complement < 2; complement++)
        for (uint32_t threshold = 0; threshold < 16; threshold++) {
            struct p4pmu *pmu =
                uops_lab(NBOGUS, USR_OS, 1u << 18 | complement << 19 | threshold << 20);
            for (unsigned input = 0; input < 16; input++) {
                uint64_t before = lab_counter(pmu, CRU0_COUNTER);
                if (input)
                    post_uops(pmu, NBOGUS, P4PMU_WHO(0, 3), input);
                p4pmu_clocks(pmu, 1);
                bool expected = complement ? input <= threshold : input > threshold;
                assert_int_equal(lab_counter(pmu, CRU0_COUNTER) - before, expected);
            }
            p4pmu_free(pmu);
        }
}

static void threshold_complement_and_edge_do_nothing_without_compare(void **state)
{
    (void)state;
    struct p4pmu *pmu = uops_lab(NBOGUS, USR_OS, 0x01F80000);
    post_uops(pmu, NBOGUS, P4PMU_WHO(0, 3), 3);
    p4pmu_clocks(pmu, 4);
    assert_int_equal(lab_counter(pmu, CRU0_COUNTER), 3);
    p4pmu_free(pmu);
}

/* All 256 sequences of eight clocks: the edge filter counts the rises, the first clock after a low
 * one. */
static void edge_counts_rises_in_every_sequence_of_eight_clocks(void **state)
{
    (void)state;
    for (uint32_t complement = 0; complement < 2; complement++)
        for (unsigned sequence = 0; sequence < 256; sequence++) {
            struct p4pmu *pmu = uops_lab(NBOGUS, USR_OS, 0x01040000 | complement << 19);
            unsigned expected = 0;
            bool last = false;
            for (unsigned i = 0; i < 8; i++) {
                bool high = sequence >> i & 1;
                if (high != complement)
                    post_uops(pmu, NBOGUS, P4PMU_WHO(0, 3), 1);
                p4pmu_clocks(pmu, 1);
                expected += high && !last;
                last = high;
            }
            assert_int_equal(lab_counter(pmu, CRU0_COUNTER), expected);
            p4pmu_free(pmu);
        }
}

static void the_always_true_comparison_counts_clocks_without_qualification(void **state)
{
    (void)state;
    struct p4pmu *pmu = uops_lab(0, 0, 0x00FC0000);
    p4pmu_clocks(pmu, 12345);
    assert_int_equal(lab_counter(pmu, CRU0_COUNTER), 12345);
    p4pmu_sleep(pmu, true);
    p4pmu_clocks(pmu, 1000);
    p4pmu_sleep(pmu, false);
    p4pmu_clocks(pmu, 5);
    assert_int_equal(lab_counter(pmu, CRU0_COUNTER), 12350);
    lab_set_escr(pmu, P4PMU_ESCR_CRU0, 0); /* a null event powers the counter off */
    p4pmu_clocks(pmu, 1000);
    assert_int_equal(lab_counter(pmu, CRU0_COUNTER), 12350);
    p4pmu_free(pmu);
}

static void a_counter_wraps_at_2_to_the_40_and_sets_ovf(void **state)
{
    (void)state;
    struct p4pmu *pmu = uops_lab(NBOGUS, USR_OS, 0);
    uint32_t cccr = p4pmu_counter(CRU0_COUNTER)->cccr_msr;
    assert_int_equal(lab_write(pmu, 0x30C, UINT64_MAX - 1), P4PMU_COUNTER_MASK - 1);
    post_uops(pmu, NBOGUS, P4PMU_WHO(0, 3), 1);
    p4pmu_clocks(pmu, 1);
    assert_int_equal(lab_read(pmu, cccr) >> 31, 0);
    post_uops(pmu, NBOGUS, P4PMU_WHO(0, 3), 3);
    p4pmu_clocks(pmu, 1);
    assert_int_equal(lab_counter(pmu, CRU0_COUNTER), 2);
    assert_int_equal(lab_read(pmu, cccr) >> 31, 1);
    lab_write(pmu, cccr, lab_read(pmu, cccr) & 0x7FFFFFFF);
    assert_int_equal(lab_read(pmu, cccr) >> 31, 0);
    p4pmu_free(pmu);
}

static void rdpmc_reads_40_bits_slowly_and_32_fast(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab_new(2, false);
    uint32_t eax, edx;
    lab_write(pmu, 0x305, 0x1234567890);
    assert_int_equal(p4pmu_rdpmc(pmu, 0, 5, &eax, &edx), P4PMU_OK);
    assert_int_equal(eax, 0x34567890);
    assert_int_equal(edx, 0x12);
    assert_int_equal(p4pmu_rdpmc(pmu, 0, 0x80000005, &eax, &edx), P4PMU_OK);
    assert_int_equal(eax, 0x34567890);
    assert_int_equal(edx, 0);
    assert_int_equal(p4pmu_rdpmc(pmu, 0, 18, &eax, &edx), P4PMU_GP_NO_SUCH_INDEX);
    assert_int_equal(p4pmu_rdpmc(pmu, 0, 0x80000012, &eax, &edx), P4PMU_GP_NO_SUCH_INDEX);
    p4pmu_free(pmu);
}

static void privilege_is_checked_as_the_instructions_do(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab_new(2, false);
    uint32_t eax, edx;
    uint64_t value;
    assert_int_equal(p4pmu_rdpmc(pmu, 0, 0, &eax, &edx), P4PMU_OK);
    p4pmu_privilege(pmu, 0, 3, false);
    assert_int_equal(p4pmu_rdpmc(pmu, 0, 0, &eax, &edx), P4PMU_GP_PRIVILEGE);
    assert_int_equal(p4pmu_rdmsr(pmu, 0, 0x300, &value), P4PMU_GP_PRIVILEGE);
    assert_int_equal(p4pmu_wrmsr(pmu, 0, 0x300, 1, NULL), P4PMU_GP_PRIVILEGE);
    p4pmu_privilege(pmu, 0, 3, true);
    assert_int_equal(p4pmu_rdpmc(pmu, 0, 0, &eax, &edx), P4PMU_OK);
    p4pmu_free(pmu);
}

static void one_escr_can_feed_several_counters_with_different_filters(void **state)
{
    (void)state;
    struct p4pmu *pmu = uops_lab(NBOGUS, USR_OS, 0);
    lab_listen(pmu, 13, P4PMU_ESCR_CRU0, 0x00140000); /* clocks with more than one */
    lab_listen(pmu, 16, P4PMU_ESCR_CRU0, 0x000C0000); /* clocks with none */
    for (unsigned i = 0; i < 10; i++) {
        if (i % 3)
            post_uops(pmu, NBOGUS, P4PMU_WHO(0, 3), i % 3);
        p4pmu_clocks(pmu, 2);
    }
    assert_int_equal(lab_counter(pmu, 12), 9);
    assert_int_equal(lab_counter(pmu, 13), 3);
    assert_int_equal(lab_counter(pmu, 16), 14);
    p4pmu_free(pmu);
}

static void an_unknown_model_gives_no_pmu(void **state)
{
    (void)state;
    assert_null(p4pmu_new(&(struct p4pmu_config){.model = 5}));
    assert_null(p4pmu_new(&(struct p4pmu_config){.model = 99}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_add_up_within_a_clock_and_between_clocks),
        cmocka_unit_test(facts_of_the_open_clock_are_not_counted_yet),
        cmocka_unit_test(an_escr_gives_at_most_15_a_clock),
        cmocka_unit_test(user_and_system_are_told_apart),
        cmocka_unit_test(a_standing_condition_counts_every_clock_until_changed),
        cmocka_unit_test(every_threshold_complement_and_input_gives_its_count),
        cmocka_unit_test(threshold_complement_and_edge_do_nothing_without_compare),
        cmocka_unit_test(edge_counts_rises_in_every_sequence_of_eight_clocks),
        cmocka_unit_test(the_always_true_comparison_counts_clocks_without_qualification),
        cmocka_unit_test(a_counter_wraps_at_2_to_the_40_and_sets_ovf),
        cmocka_unit_test(rdpmc_reads_40_bits_slowly_and_32_fast),
        cmocka_unit_test(privilege_is_checked_as_the_instructions_do),
        cmocka_unit_test(one_escr_can_feed_several_counters_with_different_filters),
        cmocka_unit_test(an_unknown_model_gives_no_pmu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
