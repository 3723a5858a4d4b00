/*
 * The wiring, from outside: all 45 ESCRs against all 18 counters under all 8 selects. A counter
 * counts an ESCR's clocks exactly when the table of SDM3 18-63, written down here once more by
 * unit, says so.
 */
#include "lab.h"

#include <string.h>

/* Per block and select: the unit heard; the half of the counter chooses ESCR0 or ESCR1. */
static const char *const heard[4][8] = {
    {"BPU_ESCR%", "IS_ESCR%", "MOB_ESCR%", "ITLB_ESCR%", "PMH_ESCR%", "IX_ESCR%", "FSB_ESCR%",
     "BSU_ESCR%"},
    {"MS_ESCR%", "TC_ESCR%", "TBPU_ESCR%"},
    {"FLAME_ESCR%", "FIRM_ESCR%", "SAAT_ESCR%", "U2L_ESCR%", NULL, "DAC_ESCR%"},
    {"IQ_ESCR%", "ALF_ESCR%", "RAT_ESCR%", "SSU_ESCR%", "CRU_ESCR%", "CRU_ESCR%+2", "CRU_ESCR%+4"},
};

static int expected_escr(unsigned counter, unsigned select)
{
    unsigned block = counter / 4 < 3 ? counter / 4 : 3;
    unsigned half = counter < 16 ? counter >> 1 & 1 : counter & 1;
    const char *unit = heard[block][select];
    char name[32] = "MSR_";

    if (!unit)
        return P4PMU_NONE;
    size_t stem = strcspn(unit, "%");
    memcpy(name + 4, unit, stem);
    unsigned plus = unit[stem + 1] == '+' ? (unsigned)(unit[stem + 2] - '0') : 0;
    name[4 + stem] = (char)('0' + half + plus);
    return p4pmu_escr_by_name(name);
}

static void a_select_reaches_the_escr_of_the_table(void **state)
{
    (void)state;
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++)
        for (unsigned s = 0; s < 8; s++)
            assert_int_equal(p4pmu_wired_escr(c, s), expected_escr(c, s));
    assert_int_equal(p4pmu_wired_escr(18, 0), P4PMU_NONE);
    assert_int_equal(p4pmu_wired_escr(0, 8), P4PMU_NONE);
}

/* Any non-null code with the always-true comparison counts clocks, whatever the ESCR can detect. */
static void a_counter_counts_an_escr_exactly_when_wired_to_it(void **state)
{
    (void)state;
    const uint32_t always = 0x00FC0000; /* compare, complement, threshold 15 */
    for (int e = 0; e < P4PMU_ESCRS; e++) {
        struct p4pmu *pmu = lab_new(2, false);
        lab_write(pmu, p4pmu_escr((enum p4pmu_escr)e)->msr, 0x7E00000C);
        for (unsigned c = 0; c < P4PMU_COUNTERS; c++)
            for (unsigned s = 0; s < 8; s++) {
                lab_write(pmu, 0x300 + c, 0);
                lab_write(pmu, 0x360 + c, ENABLE | ANY_THREAD | always | s << 13);
                p4pmu_clocks(pmu, 7);
                assert_int_equal(lab_counter(pmu, c), expected_escr(c, s) == e ? 7 : 0);
                lab_write(pmu, 0x360 + c, 0);
            }
        p4pmu_free(pmu);
    }
}

/* The same with real facts: each event through each of its ESCRs, each sub-event. */
static void each_sub_event_counts_on_every_wired_counter_and_nowhere_else(void **state)
{
    (void)state;
    for (int ev = 0; ev < (int)P4PMU_EVENTS; ev++) {
        const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)ev);
        for (int k = 0; k < 2; k++)
            for (size_t s = 0; s < info->subevent_count && info->escrs[k] != P4PMU_NONE; s++) {
                struct p4pmu *pmu = lab_new(4, false);
                enum p4pmu_escr escr = (enum p4pmu_escr)info->escrs[k];
                unsigned bit = 1u << info->subevents[s].bit;
                bool counts = info->logic == P4PMU_OR || info->logic == P4PMU_BSQ;
                lab_set_escr(pmu, escr, lab_escr((enum p4pmu_event)ev, bit, USR_OS));
                for (unsigned c = 0; c < P4PMU_COUNTERS; c++)
                    lab_listen(pmu, c, escr, 0);
                p4pmu_post(pmu, (enum p4pmu_event)ev, bit, P4PMU_WHO(0, 3), 2);
                p4pmu_clocks(pmu, 1);
                for (unsigned c = 0; c < P4PMU_COUNTERS; c++)
                    assert_int_equal(lab_counter(pmu, c),
                                     counts && (p4pmu_escr(escr)->counters >> c & 1) ? 2 : 0);
                p4pmu_free(pmu);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_select_reaches_the_escr_of_the_table),
        cmocka_unit_test(a_counter_counts_an_escr_exactly_when_wired_to_it),
        cmocka_unit_test(each_sub_event_counts_on_every_wired_counter_and_nowhere_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
