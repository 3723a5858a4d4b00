/* Tags: which uops get them under which registers (SDM3 18.15.6, tables 19-31 to 19-33). */
#include "lab.h"

static const unsigned USER = P4PMU_WHO(0, 3);

static struct p4pmu *replay_lab(uint32_t enable, uint32_t matrix)
{
    struct p4pmu *pmu = lab_new(2, false);
    lab_write(pmu, 0x3F1, enable);
    lab_write(pmu, 0x3F2, matrix);
    return pmu;
}

/* Rows of table 19-33 that need no further ESCR: enable bits and the causes they choose. */
static void each_cause_needs_its_bits_the_tag_enable_and_its_class(void **state)
{
    (void)state;
    static const struct {
        enum p4pmu_replay_cause cause;
        uint32_t bits;
    } causes[] = {
        {P4PMU_REPLAY_L1_MISS, 1}, {P4PMU_REPLAY_L2_MISS, 2}, {P4PMU_REPLAY_DTLB_MISS, 4}};
    for (int set = 0; set < 3; set++)
        for (uint32_t tag = 0; tag < 2; tag++)
            for (uint32_t matrix = 0; matrix < 4; matrix++) {
                struct p4pmu *pmu = replay_lab(causes[set].bits | tag << 24, matrix);
                for (int cause = 0; cause < 3; cause++)
                    for (int store = 0; store < 2; store++)
                        assert_int_equal(p4pmu_replay_tag(pmu, causes[cause].cause, store, USER),
                                         tag && cause == set && (matrix >> store & 1));
                p4pmu_free(pmu);
            }
}

static void a_mispredicted_branch_needs_bits_15_and_16_and_matrix_bit_4(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 4; bits++)
        for (uint32_t matrix = 0; matrix < 32; matrix += 16) {
            struct p4pmu *pmu = replay_lab(1u << 24 | bits << 15, matrix);
            assert_int_equal(p4pmu_replay_tag(pmu, P4PMU_REPLAY_MISPREDICT, false, USER),
                             bits == 3 && matrix);
            p4pmu_free(pmu);
        }
}

/* ESCR selects EVENT with MASK; COUNTER runs or not. */
static void upstream(struct p4pmu *pmu, enum p4pmu_escr escr, enum p4pmu_event event, unsigned mask,
                     uint32_t low)
{
    lab_set_escr(pmu, escr, lab_escr(event, mask, low));
    lab_listen(pmu, (unsigned)__builtin_ctz(p4pmu_escr(escr)->counters), escr, 0);
}

static void mob_and_split_tags_need_their_upstream_escr(void **state)
{
    (void)state;
    struct p4pmu *pmu = replay_lab(0x01000600, 3);
    assert_false(p4pmu_replay_tag(pmu, P4PMU_REPLAY_PARTIAL_DATA, false, USER));
    assert_false(p4pmu_replay_tag(pmu, P4PMU_REPLAY_SPLIT, false, USER));
    upstream(pmu, P4PMU_ESCR_MOB0, P4PMU_EV_MOB_load_replay, 0x30, USR_OS);
    assert_true(p4pmu_replay_tag(pmu, P4PMU_REPLAY_PARTIAL_DATA, false, USER));
    assert_true(p4pmu_replay_tag(pmu, P4PMU_REPLAY_UNALGN_ADDR, false, USER));
    assert_false(p4pmu_replay_tag(pmu, P4PMU_REPLAY_NO_STD, false, USER));
    upstream(pmu, P4PMU_ESCR_MOB0, P4PMU_EV_MOB_load_replay, 0x08, USR_OS);
    assert_true(p4pmu_replay_tag(pmu, P4PMU_REPLAY_NO_STD, false, USER));
    assert_false(p4pmu_replay_tag(pmu, P4PMU_REPLAY_PARTIAL_DATA, false, USER));
    upstream(pmu, P4PMU_ESCR_SAAT0, P4PMU_EV_load_port_replay, 2, USR_OS);
    assert_false(p4pmu_replay_tag(pmu, P4PMU_REPLAY_SPLIT, false, USER)); /* loads: ESCR1 */
    upstream(pmu, P4PMU_ESCR_SAAT1, P4PMU_EV_load_port_replay, 2, USR_OS);
    assert_true(p4pmu_replay_tag(pmu, P4PMU_REPLAY_SPLIT, false, USER));
    assert_false(p4pmu_replay_tag(pmu, P4PMU_REPLAY_SPLIT, true, USER));
    upstream(pmu, P4PMU_ESCR_SAAT0, P4PMU_EV_store_port_replay, 2, USR_OS);
    assert_true(p4pmu_replay_tag(pmu, P4PMU_REPLAY_SPLIT, true, USER));
    p4pmu_free(pmu);
}

static void an_upstream_escr_tags_only_while_a_counter_of_its_pair_runs(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab_new(2, false);
    lab_set_escr(pmu, P4PMU_ESCR_FIRM0, lab_escr(P4PMU_EV_x87_FP_uop, 0x8000, USR_OS) | 0x30);
    assert_int_equal(p4pmu_execution_tags(pmu, P4PMU_EV_x87_FP_uop, 0x8000, USER), 0);
    lab_set_escr(pmu, P4PMU_ESCR_FIRM1, lab_escr(P4PMU_EV_packed_DP_uop, 0x8000, USR_OS));
    lab_listen(pmu, 10, P4PMU_ESCR_FIRM1, 0); /* a counter of the other half */
    assert_int_equal(p4pmu_execution_tags(pmu, P4PMU_EV_x87_FP_uop, 0x8000, USER), 1);
    lab_write(pmu, 0x36A, 0);
    assert_int_equal(p4pmu_execution_tags(pmu, P4PMU_EV_x87_FP_uop, 0x8000, USER), 0);
    p4pmu_free(pmu);
}

static void load_and_store_uops_are_tagged_by_uop_type_which_counts_nothing(void **state)
{
    (void)state;
    for (unsigned mask = 0; mask < 8; mask += 2) {
        struct p4pmu *pmu = lab_new(2, false);
        upstream(pmu, P4PMU_ESCR_RAT1, P4PMU_EV_uop_type, mask, 0x4);
        for (unsigned bits = 2; bits <= 4; bits += 2) {
            assert_int_equal(p4pmu_front_end_tag(pmu, bits, USER), (mask & bits) != 0);
            assert_false(p4pmu_front_end_tag(pmu, bits, P4PMU_WHO(0, 0)));
            p4pmu_post(pmu, P4PMU_EV_uop_type, bits, USER, 1);
            p4pmu_clocks(pmu, 1);
        }
        assert_int_equal(lab_counter(pmu, 14), 0);
        p4pmu_free(pmu);
    }
}

static void every_tag_value_is_given_and_several_escrs_add_theirs(void **state)
{
    (void)state;
    for (uint32_t a = 0; a < 16; a++)
        for (uint32_t b = 0; b < 16; b++) {
            struct p4pmu *pmu = lab_new(2, false);
            upstream(pmu, P4PMU_ESCR_FIRM0, P4PMU_EV_packed_SP_uop, 0x8000, USR_OS | 0x10 | a << 5);
            upstream(pmu, P4PMU_ESCR_FIRM1, P4PMU_EV_packed_SP_uop, 0x8000, USR_OS | 0x10 | b << 5);
            assert_int_equal(p4pmu_execution_tags(pmu, P4PMU_EV_packed_SP_uop, 0x8000, USER),
                             a | b);
            assert_int_equal(p4pmu_execution_tags(pmu, P4PMU_EV_packed_DP_uop, 0x8000, USER), 0);
            p4pmu_free(pmu);
        }
}

static void without_tag_enable_the_tag_value_does_nothing(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab_new(2, false);
    upstream(pmu, P4PMU_ESCR_FIRM0, P4PMU_EV_packed_SP_uop, 0x8000, USR_OS | 0x1E0);
    assert_int_equal(p4pmu_execution_tags(pmu, P4PMU_EV_packed_SP_uop, 0x8000, USER), 0);
    p4pmu_free(pmu);
}

static void a_uop_with_two_selected_tags_counts_once(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab_new(2, false);
    lab_set_escr(pmu, P4PMU_ESCR_CRU2, lab_escr(P4PMU_EV_execution_event, 0x3, USR_OS));
    lab_listen(pmu, 12, P4PMU_ESCR_CRU2, 0);
    p4pmu_post(pmu, P4PMU_EV_execution_event, 0x3, USER, 1);
    p4pmu_post(pmu, P4PMU_EV_execution_event, 0xC, USER, 1);
    p4pmu_clocks(pmu, 1);
    assert_int_equal(lab_counter(pmu, 12), 1);
    p4pmu_free(pmu);
}

static void the_three_mechanisms_do_not_touch_each_other(void **state)
{
    (void)state;
    struct p4pmu *pmu = replay_lab(0x01000001, 1);
    upstream(pmu, P4PMU_ESCR_RAT0, P4PMU_EV_uop_type, 2, USR_OS);
    upstream(pmu, P4PMU_ESCR_FIRM0, P4PMU_EV_x87_FP_uop, 0x8000, USR_OS | 0x10 | 4 << 5);
    assert_true(p4pmu_replay_tag(pmu, P4PMU_REPLAY_L1_MISS, false, USER));
    assert_true(p4pmu_front_end_tag(pmu, 2, USER));
    assert_int_equal(p4pmu_execution_tags(pmu, P4PMU_EV_x87_FP_uop, 0x8000, USER), 4);
    lab_write(pmu, 0x3F1, 0);
    assert_false(p4pmu_replay_tag(pmu, P4PMU_REPLAY_L1_MISS, false, USER));
    assert_true(p4pmu_front_end_tag(pmu, 2, USER));
    assert_int_equal(p4pmu_execution_tags(pmu, P4PMU_EV_x87_FP_uop, 0x8000, USER), 4);
    p4pmu_free(pmu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cause_needs_its_bits_the_tag_enable_and_its_class),
        cmocka_unit_test(a_mispredicted_branch_needs_bits_15_and_16_and_matrix_bit_4),
        cmocka_unit_test(mob_and_split_tags_need_their_upstream_escr),
        cmocka_unit_test(an_upstream_escr_tags_only_while_a_counter_of_its_pair_runs),
        cmocka_unit_test(load_and_store_uops_are_tagged_by_uop_type_which_counts_nothing),
        cmocka_unit_test(every_tag_value_is_given_and_several_escrs_add_theirs),
        cmocka_unit_test(without_tag_enable_the_tag_value_does_nothing),
        cmocka_unit_test(a_uop_with_two_selected_tags_counts_once),
        cmocka_unit_test(the_three_mechanisms_do_not_touch_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
