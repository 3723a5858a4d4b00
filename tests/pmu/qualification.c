/*
 * Who counts: SDM3 tables 18-66 (thread-specific) and 18-67 (thread-independent), all sixteen
 * values of ESCR[3:0], each logical processor, each level, with the other at CPL 0, above, or not
 * there; and the active-thread filter.
 */
#include "lab.h"

/* Rows by T0_OS T0_USR T1_OS T1_USR. Columns: fact of LP0 at CPL 0, LP0 user, LP1 CPL 0, LP1 user.
 */
static const char *const thread_specific[16] = {
    "....", "...x", "..x.", "..xx", ".x..", ".x.x", ".xx.", ".xxx",
    "x...", "x..x", "x.x.", "x.xx", "xx..", "xx.x", "xxx.", "xxxx",
};
/* n never, u one of the two at CPL > 0, s one of the two at CPL 0, a always. */
static const char thread_independent[17] = "nusauuaasasaaaaa";

enum { OTHER_SYSTEM, OTHER_USER, NO_OTHER, OTHERS };

static bool expected_ti(char rule, bool user, int other)
{
    switch (rule) {
    case 'n':
        return false;
    case 'u':
        return user || other == OTHER_USER;
    case 's':
        return !user || other == OTHER_SYSTEM;
    default:
        return true;
    }
}

static uint64_t counted(enum p4pmu_event event, enum p4pmu_escr escr, unsigned mask,
                        unsigned qualifiers, unsigned lp, unsigned cpl, int other)
{
    struct p4pmu *pmu = lab_new(4, other != NO_OTHER);
    unsigned counter = (unsigned)__builtin_ctz(p4pmu_escr(escr)->counters);
    lab_set_escr(pmu, escr, lab_escr(event, mask, qualifiers));
    lab_listen(pmu, counter, escr, 0);
    if (lp == 1)
        p4pmu_active(pmu, 1, true);
    p4pmu_privilege(pmu, lp ^ 1, other == OTHER_USER ? 3 : 0, true);
    p4pmu_post(pmu, event, mask, P4PMU_WHO(lp, cpl), 1);
    p4pmu_level(pmu, event, mask, P4PMU_WHO(lp, cpl), 1);
    p4pmu_clocks(pmu, 3);
    p4pmu_privilege(pmu, 0, 0, true);
    uint64_t count = lab_counter(pmu, counter);
    p4pmu_free(pmu);
    return count;
}

static void check_all(enum p4pmu_event event, enum p4pmu_escr escr, unsigned mask)
{
    bool specific = p4pmu_event(event)->thread == P4PMU_TS;
    for (unsigned q = 0; q < 16; q++)
        for (unsigned lp = 0; lp < 2; lp++)
            for (unsigned cpl = 0; cpl < 4; cpl++)
                for (int other = 0; other < OTHERS; other++) {
                    if (lp == 1 && other == NO_OTHER)
                        continue;
                    unsigned row = other == NO_OTHER ? q & 0xC : q;
                    bool yes = specific ? thread_specific[row][lp * 2 + (cpl > 0)] == 'x'
                                        : expected_ti(thread_independent[row], cpl > 0, other);
                    /* one posted fact and three clocks of a standing one */
                    assert_int_equal(counted(event, escr, mask, q, lp, cpl, other), yes ? 4 : 0);
                }
}

static void thread_specific_events_follow_table_18_66(void **state)
{
    (void)state;
    check_all(P4PMU_EV_uops_retired, P4PMU_ESCR_CRU0, 1);
    check_all(P4PMU_EV_BSQ_cache_reference, P4PMU_ESCR_BSU1, 1 << 8);
}

static void thread_independent_events_follow_table_18_67(void **state)
{
    (void)state;
    check_all(P4PMU_EV_page_walk_type, P4PMU_ESCR_PMH0, 1);
    check_all(P4PMU_EV_packed_SP_uop, P4PMU_ESCR_FIRM1, 1 << 15);
}

static void facts_of_a_logical_processor_that_is_not_there_do_not_count(void **state)
{
    (void)state;
    assert_int_equal(counted(P4PMU_EV_uops_retired, P4PMU_ESCR_CRU0, 1, 15, 1, 3, NO_OTHER), 0);
}

/* 00 none, 01 exactly one, 10 both, 11 any; without Hyper-Threading the field has no effect. */
static void the_active_thread_field_opens_the_gate(void **state)
{
    (void)state;
    static const char *const open[4] = {"x...", ".xx.", "...x", ".xxx"};
    for (unsigned field = 0; field < 4; field++)
        for (unsigned active = 0; active < 4; active++)
            for (int ht = 0; ht < 2; ht++) {
                struct p4pmu *pmu = lab_new(2, ht);
                p4pmu_active(pmu, 0, active & 1);
                p4pmu_active(pmu, 1, active >> 1);
                lab_set_escr(pmu, P4PMU_ESCR_FSB0, 0x2600020F);
                lab_write(pmu, 0x360, 0x0000D000 | field << 16);
                p4pmu_level(pmu, P4PMU_EV_global_power_events, 1, P4PMU_WHO(0, 0), 1);
                p4pmu_clocks(pmu, 9);
                assert_int_equal(lab_counter(pmu, 0), !ht || open[field][active] == 'x' ? 9 : 0);
                p4pmu_free(pmu);
            }
}

static void bus_queue_events_ignore_the_level_as_their_notes_say(void **state)
{
    (void)state;
    const unsigned bits = 0xEFE1, fact = 1 | 1 << 5 | 1 << 11 | 1 << 13;
    for (unsigned stepping = 4; stepping < 10; stepping += 5)
        for (unsigned q = 4; q <= 8; q += 4) {
            struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){.model = 2, .stepping = stepping});
            lab_set_escr(pmu, P4PMU_ESCR_FSB0, lab_escr(P4PMU_EV_IOQ_allocation, bits, q));
            lab_set_escr(pmu, P4PMU_ESCR_FSB1, lab_escr(P4PMU_EV_IOQ_active_entries, bits, q));
            lab_listen(pmu, 0, P4PMU_ESCR_FSB0, 0);
            lab_listen(pmu, 2, P4PMU_ESCR_FSB1, 0);
            p4pmu_post(pmu, P4PMU_EV_IOQ_allocation, fact, P4PMU_WHO(0, 3), 1);
            p4pmu_level(pmu, P4PMU_EV_IOQ_active_entries, fact, P4PMU_WHO(0, 3), 2);
            p4pmu_clocks(pmu, 1);
            assert_int_equal(lab_counter(pmu, 0), stepping < 7 || q == 4);
            assert_int_equal(lab_counter(pmu, 2), 2);
            p4pmu_free(pmu);
        }
}

static void ioq_allocation_needs_fsb_escr0_before_f27(void **state)
{
    (void)state;
    for (unsigned stepping = 6; stepping < 8; stepping++) {
        struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){.model = 2, .stepping = stepping});
        lab_set_escr(pmu, P4PMU_ESCR_FSB1, lab_escr(P4PMU_EV_IOQ_allocation, 0xEFE1, USR_OS));
        lab_listen(pmu, 2, P4PMU_ESCR_FSB1, 0);
        p4pmu_post(pmu, P4PMU_EV_IOQ_allocation, 0x2821, P4PMU_WHO(0, 0), 1);
        p4pmu_clocks(pmu, 1);
        assert_int_equal(lab_counter(pmu, 2), stepping == 7);
        p4pmu_free(pmu);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thread_specific_events_follow_table_18_66),
        cmocka_unit_test(thread_independent_events_follow_table_18_67),
        cmocka_unit_test(facts_of_a_logical_processor_that_is_not_there_do_not_count),
        cmocka_unit_test(the_active_thread_field_opens_the_gate),
        cmocka_unit_test(bus_queue_events_ignore_the_level_as_their_notes_say),
        cmocka_unit_test(ioq_allocation_needs_fsb_escr0_before_f27),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
