/* Overflow, what follows it, and when: OVF, interrupts, FORCE_OVF, cascades. */
#include "lab.h"

enum {
    IQ_COUNTER = 12,
    NBOGUS = 1,
    FORCE_OVF = 1 << 25,
    PMI_T0 = 1 << 26,
    PMI_T1 = 1 << 27,
    CASCADE = 1 << 30,
    EXTENDED = 1 << 11,
};

static const uint32_t OVF = UINT32_C(1) << 31;
static const uint64_t LAST = P4PMU_COUNTER_MASK; /* one before the wrap */

static struct p4pmu *lab(unsigned model, bool hyper_threading)
{
    struct p4pmu *pmu = lab_new(model, hyper_threading);
    p4pmu_set_lvt(pmu, 0, 0x400); /* NMI, not masked */
    p4pmu_set_lvt(pmu, 1, 0x400);
    return pmu;
}

static uint32_t cccr_of(unsigned counter)
{
    return p4pmu_counter(counter)->cccr_msr;
}

static void clear_ovf(struct p4pmu *pmu, unsigned counter)
{
    lab_write(pmu, cccr_of(counter), lab_read(pmu, cccr_of(counter)) & ~OVF);
}

/* COUNTER counts uops or, where it cannot hear CRU_ESCR0, whatever EVENT and ESCR it is given. */
static void listen_uops(struct p4pmu *pmu, unsigned counter, uint32_t more)
{
    lab_set_escr(pmu, P4PMU_ESCR_CRU0, lab_escr(P4PMU_EV_uops_retired, NBOGUS, USR_OS));
    lab_listen(pmu, counter, P4PMU_ESCR_CRU0, more);
}

static void uops(struct p4pmu *pmu, unsigned n)
{
    p4pmu_post(pmu, P4PMU_EV_uops_retired, NBOGUS, P4PMU_WHO(0, 3), n);
    p4pmu_clocks(pmu, 1);
}

static void the_count_after_the_overflow_asks_for_the_interrupt(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(2, false);
    listen_uops(pmu, IQ_COUNTER, PMI_T0);
    lab_write(pmu, 0x30C, LAST);
    p4pmu_clocks(pmu, 10);
    uops(pmu, 1);
    assert_true(lab_read(pmu, cccr_of(IQ_COUNTER)) & OVF);
    assert_false(p4pmu_interrupt(pmu, 0));
    p4pmu_clocks(pmu, 5);
    assert_false(p4pmu_interrupt(pmu, 0));
    uops(pmu, 1);
    assert_true(p4pmu_interrupt(pmu, 0));
    assert_int_equal(p4pmu_interrupt_clock(pmu, 0), 17);
    p4pmu_free(pmu);
}

static void the_origin_of_the_overflowing_fact_is_kept(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(2, false);
    uint64_t clock = 0;
    listen_uops(pmu, IQ_COUNTER, PMI_T0);
    lab_write(pmu, 0x30C, LAST - 1);
    for (uint64_t origin = 7; origin < 12; origin++) {
        p4pmu_origin(pmu, origin);
        uops(pmu, 1);
        p4pmu_clocks(pmu, 2);
    }
    assert_int_equal(p4pmu_overflow_origin(pmu, IQ_COUNTER, &clock), 8);
    assert_int_equal(clock, 4); /* the first clock of the second round of three */
    p4pmu_free(pmu);
}

struct heard {
    unsigned facts, count, who;
    uint64_t origin;
    enum p4pmu_escr escr;
};

static void hear(void *context, enum p4pmu_escr escr, unsigned who, unsigned count, uint64_t origin)
{
    struct heard *heard = context;
    heard->facts++;
    heard->count += count;
    heard->who = who;
    heard->origin = origin;
    heard->escr = escr;
}

static void a_witness_hears_of_each_selected_fact_as_far_as_it_counts(void **state)
{
    struct p4pmu *pmu = lab_new(2, false);
    struct heard heard = {0};
    (void)state;
    lab_set_escr(pmu, P4PMU_ESCR_CRU0, lab_escr(P4PMU_EV_uops_retired, 1, USR_OS));
    lab_listen(pmu, 12, P4PMU_ESCR_CRU0, 0);
    p4pmu_witness(pmu, hear, &heard);
    p4pmu_origin(pmu, 4711);
    p4pmu_post(pmu, P4PMU_EV_uops_retired, 1u << 1, P4PMU_WHO(0, 3), 3); /* bogus: not selected */
    assert_int_equal(heard.facts, 0);
    p4pmu_post(pmu, P4PMU_EV_uops_retired, 1u << 0, P4PMU_WHO(0, 3), 3);
    assert_int_equal(heard.count, 3);
    assert_int_equal(heard.origin, 4711);
    assert_int_equal(heard.who, P4PMU_WHO(0, 3));
    assert_int_equal(heard.escr, P4PMU_ESCR_CRU0);
    p4pmu_post(pmu, P4PMU_EV_uops_retired, 1u << 0, P4PMU_WHO(0, 3),
               14); /* 15 is all a clock has */
    p4pmu_clocks(pmu, 1);
    assert_int_equal(heard.count, 15);
    assert_int_equal(lab_counter(pmu, 12), 15);
    p4pmu_witness(pmu, NULL, NULL);
    p4pmu_post(pmu, P4PMU_EV_uops_retired, 1u << 0, P4PMU_WHO(0, 3), 1);
    assert_int_equal(heard.facts, 2);
    p4pmu_free(pmu);
}

static void an_overflow_by_standing_conditions_has_no_origin(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(2, false);
    uint64_t clock = 0;
    lab_set_escr(pmu, P4PMU_ESCR_FSB0, lab_escr(P4PMU_EV_global_power_events, 1, USR_OS));
    lab_listen(pmu, 0, P4PMU_ESCR_FSB0, PMI_T0);
    p4pmu_origin(pmu, 7);
    p4pmu_level(pmu, P4PMU_EV_global_power_events, 1, P4PMU_WHO(0, 3), 1);
    lab_write(pmu, 0x300, LAST - 9);
    p4pmu_clocks(pmu, 100);
    assert_int_equal(p4pmu_overflow_origin(pmu, 0, &clock), 0);
    assert_int_equal(clock, 10);
    p4pmu_free(pmu);
}

/* Preset -N+1 for an interrupt on the N-th count (SDM3 18.15.5.8). */
static void a_preset_of_minus_n_plus_1_interrupts_on_the_nth_count(void **state)
{
    (void)state;
    for (uint64_t n = 2; n < 50; n++) {
        struct p4pmu *pmu = lab(2, false);
        listen_uops(pmu, IQ_COUNTER, PMI_T0);
        lab_write(pmu, 0x30C, (0 - n + 1) & P4PMU_COUNTER_MASK);
        uint64_t counts = 0;
        while (!p4pmu_interrupt(pmu, 0)) {
            uops(pmu, 1);
            counts++;
        }
        assert_int_equal(counts, n);
        p4pmu_free(pmu);
    }
}

static void the_request_stands_until_ovf_is_cleared_and_accepting_masks_the_lvt(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(2, false);
    listen_uops(pmu, IQ_COUNTER, PMI_T0);
    lab_write(pmu, 0x30C, LAST);
    uops(pmu, 1);
    uops(pmu, 1);
    assert_int_equal(p4pmu_accept(pmu, 0), 0x400);
    assert_int_equal(p4pmu_lvt(pmu, 0), 0x10400);
    assert_false(p4pmu_interrupt(pmu, 0));
    p4pmu_set_lvt(pmu, 0, 0x400); /* unmasked too early: it comes again */
    assert_true(p4pmu_interrupt(pmu, 0));
    p4pmu_accept(pmu, 0);
    clear_ovf(pmu, IQ_COUNTER);
    p4pmu_set_lvt(pmu, 0, 0x400);
    assert_false(p4pmu_interrupt(pmu, 0));
    assert_int_equal(p4pmu_interrupt_clock(pmu, 0), 0);
    p4pmu_free(pmu);
}

static void without_ovf_pmi_nothing_is_asked_for(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(2, false);
    listen_uops(pmu, IQ_COUNTER, 0);
    lab_write(pmu, 0x30C, LAST);
    uops(pmu, 3);
    uops(pmu, 3);
    assert_false(p4pmu_interrupt(pmu, 0));
    p4pmu_free(pmu);
}

static void the_two_pmi_bits_choose_the_logical_processor(void **state)
{
    (void)state;
    for (uint32_t which = 0; which < 4; which++) {
        struct p4pmu *pmu = lab(2, true);
        listen_uops(pmu, IQ_COUNTER, which << 26);
        lab_write(pmu, 0x30C, LAST);
        uops(pmu, 1);
        uops(pmu, 1);
        assert_int_equal(p4pmu_interrupt(pmu, 0), which & 1);
        assert_int_equal(p4pmu_interrupt(pmu, 1), which >> 1);
        p4pmu_free(pmu);
    }
}

static void software_that_sets_ovf_gets_no_interrupt(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(2, false);
    listen_uops(pmu, IQ_COUNTER, PMI_T0 | OVF);
    uops(pmu, 1);
    uops(pmu, 1);
    assert_false(p4pmu_interrupt(pmu, 0));
    p4pmu_free(pmu);
}

static void force_ovf_overflows_on_every_count(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(2, false);
    listen_uops(pmu, IQ_COUNTER, FORCE_OVF | PMI_T0);
    p4pmu_clocks(pmu, 100);
    assert_false(lab_read(pmu, cccr_of(IQ_COUNTER)) & OVF);
    uops(pmu, 2);
    assert_true(lab_read(pmu, cccr_of(IQ_COUNTER)) & OVF);
    assert_int_equal(lab_counter(pmu, IQ_COUNTER), 2);
    assert_false(p4pmu_interrupt(pmu, 0));
    uops(pmu, 1);
    assert_true(p4pmu_interrupt(pmu, 0));
    p4pmu_free(pmu);
}

static void an_interrupt_inside_a_skip_has_its_exact_clock(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(2, false);
    lab_set_escr(pmu, P4PMU_ESCR_FSB0, 0x2600020C);
    lab_listen(pmu, 0, P4PMU_ESCR_FSB0, PMI_T0);
    p4pmu_level(pmu, P4PMU_EV_global_power_events, 1, P4PMU_WHO(0, 0), 1);
    lab_write(pmu, 0x300, P4PMU_COUNTER_MASK - 999999);
    assert_int_equal(p4pmu_quiet_clocks(pmu), 1000000);
    p4pmu_clocks(pmu, 5000000);
    assert_true(p4pmu_interrupt(pmu, 0));
    assert_int_equal(p4pmu_interrupt_clock(pmu, 0), 1000001);
    assert_int_equal(lab_counter(pmu, 0), 4000000);
    p4pmu_free(pmu);
}

/* Many wraps in one call: 15 a clock for 2^39 clocks and a few, more than seven times round. */
static void a_skip_of_many_wraps_is_exact(void **state)
{
    (void)state;
    const uint64_t clocks = (UINT64_C(1) << 39) + 12345, start = 1000;
    struct p4pmu *pmu = lab(2, false);
    listen_uops(pmu, IQ_COUNTER, PMI_T0);
    p4pmu_level(pmu, P4PMU_EV_uops_retired, NBOGUS, P4PMU_WHO(0, 3), 15);
    lab_write(pmu, 0x30C, start);
    p4pmu_clocks(pmu, clocks);
    assert_int_equal(lab_counter(pmu, IQ_COUNTER), (start + 15 * clocks) & P4PMU_COUNTER_MASK);
    uint64_t overflow = (P4PMU_COUNTER_MASK - start) / 15 + 1;
    assert_int_equal(p4pmu_interrupt_clock(pmu, 0), overflow + 1);
    assert_int_equal(p4pmu_now(pmu), clocks);
    p4pmu_free(pmu);
}

/* A pair of counters that both count clocks; ESCRs with a non-null event and the always-true
 * filter. */
static void count_clocks(struct p4pmu *pmu, unsigned counter, uint32_t flags)
{
    enum p4pmu_escr escr = (enum p4pmu_escr)p4pmu_wired_escr(counter, counter < 12 ? 0 : 4);
    lab_set_escr(pmu, escr, 0x0200000C);
    lab_write(pmu, cccr_of(counter),
              0x00FF0000 | p4pmu_escr(escr)->select << 13 | flags); /* no ENABLE */
}

static void check_cascade(unsigned model, unsigned source, unsigned target, uint32_t bit)
{
    struct p4pmu *pmu = lab(model, false);
    count_clocks(pmu, source, ENABLE);
    count_clocks(pmu, target, bit);
    lab_write(pmu, 0x300 + source, P4PMU_COUNTER_MASK - 99); /* overflows in the 100th clock */
    p4pmu_clocks(pmu, 250);
    assert_int_equal(lab_counter(pmu, source), 150);
    assert_int_equal(lab_counter(pmu, target), 150);
    assert_int_equal(lab_read(pmu, cccr_of(target)) & ENABLE, 0);
    clear_ovf(pmu, source);
    p4pmu_clocks(pmu, 50);
    assert_int_equal(lab_counter(pmu, target), 150);
    p4pmu_free(pmu);
}

static void every_cascade_starts_its_counter_in_the_clock_after_the_overflow(void **state)
{
    (void)state;
    for (unsigned target = 0; target < P4PMU_COUNTERS; target++)
        check_cascade(2, target < 16 ? target ^ 2 : target - 2, target, CASCADE);
}

static void extended_cascades_do_so_on_the_models_that_have_them(void **state)
{
    (void)state;
    static const unsigned pair[4][2] = {{16, 12}, {17, 15}, {17, 16}, {16, 17}};
    static const unsigned models[] = {2, 3, 4, 6};
    for (int m = 0; m < 4; m++)
        for (int i = 0; i < 4; i++)
            check_cascade(models[m], pair[i][0], pair[i][1], EXTENDED);
    for (unsigned model = 0; model < 2; model++) {
        struct p4pmu *pmu = lab(model, false);
        assert_int_equal(lab_write(pmu, cccr_of(12), EXTENDED), 0);
        p4pmu_free(pmu);
    }
}

/* All 18 x 18: setting CASCADE on one counter lets exactly its source start it. */
static void no_other_counter_starts_a_cascade(void **state)
{
    (void)state;
    for (unsigned target = 0; target < P4PMU_COUNTERS; target++)
        for (unsigned source = 0; source < P4PMU_COUNTERS; source++) {
            if (source == target)
                continue;
            struct p4pmu *pmu = lab(4, false);
            count_clocks(pmu, target, CASCADE | (target == 12 || target >= 15 ? EXTENDED : 0));
            lab_write(pmu, cccr_of(source), OVF);
            p4pmu_clocks(pmu, 10);
            static const int extended[P4PMU_COUNTERS] = {
                [12] = 16, [15] = 17, [16] = 17, [17] = 16};
            bool starts = source == (target < 16 ? target ^ 2 : target - 2) ||
                          (extended[target] && (int)source == extended[target]);
            assert_int_equal(lab_counter(pmu, target), starts ? 10 : 0);
            p4pmu_free(pmu);
        }
}

static void cascades_alternate_between_two_counters(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab(2, false);
    count_clocks(pmu, 12, ENABLE);
    count_clocks(pmu, 14, CASCADE | PMI_T0);
    lab_write(pmu, 0x30C, P4PMU_COUNTER_MASK - 9);
    lab_write(pmu, 0x30E, P4PMU_COUNTER_MASK - 19);
    p4pmu_clocks(pmu, 1000);
    /* 10 clocks to the first overflow, 20 more to the second, one more count to the interrupt */
    assert_int_equal(p4pmu_interrupt_clock(pmu, 0), 31);
    p4pmu_free(pmu);
}

static void errata_act_only_where_asked_for_and_documented(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++)
        for (unsigned model = 2; model < 5; model++) {
            struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){
                .model = model,
                .stepping = 4,
                .errata = asked ? UINT32_C(1) << P4PMU_ERRATUM_CASCADE_NO_PMI : 0});
            p4pmu_set_lvt(pmu, 0, 0);
            count_clocks(pmu, 12, ENABLE);
            count_clocks(pmu, 14, CASCADE | PMI_T0);
            lab_write(pmu, 0x30C, LAST);
            lab_write(pmu, 0x30E, LAST);
            p4pmu_clocks(pmu, 100);
            assert_true(lab_read(pmu, cccr_of(14)) & OVF);
            assert_int_equal(p4pmu_interrupt(pmu, 0), !(asked && model == 2));
            p4pmu_free(pmu);
        }
}

static void erratum_pmi_t1_dead_keeps_the_second_processors_interrupt(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++)
        for (unsigned model = 3; model < 5; model++) {
            struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){
                .model = model,
                .hyper_threading = true,
                .stepping = 4,
                .errata = asked ? UINT32_C(1) << P4PMU_ERRATUM_PMI_T1_DEAD : 0});
            p4pmu_set_lvt(pmu, 0, 0);
            p4pmu_set_lvt(pmu, 1, 0);
            count_clocks(pmu, 12, ENABLE | PMI_T0 | PMI_T1);
            lab_write(pmu, 0x30C, LAST);
            p4pmu_clocks(pmu, 100);
            assert_true(p4pmu_interrupt(pmu, 0));
            assert_int_equal(p4pmu_interrupt(pmu, 1), !(asked && model == 4)); /* F44H only */
            p4pmu_free(pmu);
        }
}

static void erratum_n15_loses_the_carry_of_the_clock_of_the_write(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){
            .model = 2, .errata = asked ? UINT32_C(1) << P4PMU_ERRATUM_N15 : 0});
        listen_uops(pmu, IQ_COUNTER, 0);
        p4pmu_post(pmu, P4PMU_EV_uops_retired, NBOGUS, P4PMU_WHO(0, 3), 3);
        lab_write(pmu, 0x30C, 0x12FFFFFFFF);
        p4pmu_clocks(pmu, 1);
        assert_int_equal(lab_counter(pmu, IQ_COUNTER), asked ? 0x1200000002 : 0x1300000002);
        p4pmu_free(pmu);
    }
}

static void erratum_n17_loses_2_to_the_32_at_the_stop(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){
            .model = 2, .errata = asked ? UINT32_C(1) << P4PMU_ERRATUM_N17 : 0});
        listen_uops(pmu, IQ_COUNTER, 0);
        lab_write(pmu, 0x30C, 0x12FFFFFFFE);
        uops(pmu, 3);
        lab_write(pmu, cccr_of(IQ_COUNTER), 0x38000);
        assert_int_equal(lab_counter(pmu, IQ_COUNTER), asked ? 0x1200000001 : 0x1300000001);
        p4pmu_free(pmu);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_count_after_the_overflow_asks_for_the_interrupt),
        cmocka_unit_test(the_origin_of_the_overflowing_fact_is_kept),
        cmocka_unit_test(a_witness_hears_of_each_selected_fact_as_far_as_it_counts),
        cmocka_unit_test(an_overflow_by_standing_conditions_has_no_origin),
        cmocka_unit_test(a_preset_of_minus_n_plus_1_interrupts_on_the_nth_count),
        cmocka_unit_test(the_request_stands_until_ovf_is_cleared_and_accepting_masks_the_lvt),
        cmocka_unit_test(without_ovf_pmi_nothing_is_asked_for),
        cmocka_unit_test(the_two_pmi_bits_choose_the_logical_processor),
        cmocka_unit_test(software_that_sets_ovf_gets_no_interrupt),
        cmocka_unit_test(force_ovf_overflows_on_every_count),
        cmocka_unit_test(an_interrupt_inside_a_skip_has_its_exact_clock),
        cmocka_unit_test(a_skip_of_many_wraps_is_exact),
        cmocka_unit_test(every_cascade_starts_its_counter_in_the_clock_after_the_overflow),
        cmocka_unit_test(extended_cascades_do_so_on_the_models_that_have_them),
        cmocka_unit_test(no_other_counter_starts_a_cascade),
        cmocka_unit_test(cascades_alternate_between_two_counters),
        cmocka_unit_test(errata_act_only_where_asked_for_and_documented),
        cmocka_unit_test(erratum_pmi_t1_dead_keeps_the_second_processors_interrupt),
        cmocka_unit_test(erratum_n15_loses_the_carry_of_the_clock_of_the_write),
        cmocka_unit_test(erratum_n17_loses_2_to_the_32_at_the_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
