/*
 * Event texts: what they mean, and how mistakes are answered.
 */
#include "cmocka_all.h"
#include "request.h"

#include <stdio.h>
#include <string.h>

enum { WILLAMETTE = 0x12, NORTHWOOD = 0x27 }; /* signatures */

static struct sim_request parsed(const char *text)
{
    struct sim_request request;
    char error[512];
    if (!sim_request_parse(text, NORTHWOOD, &request, error))
        fail_msg("%s: %s", text, error);
    return request;
}

static void assert_refused(const char *text, const char *expected)
{
    struct sim_request request;
    char error[512];
    if (sim_request_parse(text, NORTHWOOD, &request, error))
        fail_msg("'%s' was taken", text);
    if (!strstr(error, expected))
        fail_msg("'%s': expected \"%s\" in \"%s\"", text, expected, error);
}

static void subevents_join_by_plus_or_colon(void **state)
{
    (void)state;
    struct sim_request a = parsed("branch_retired:MMTM+MMNM:u");
    struct sim_request b = parsed("branch_retired:MMTM:u:MMNM");
    assert_int_equal(a.event, P4PMU_EV_branch_retired);
    assert_int_equal(a.mask, 0xA);
    assert_int_equal(b.mask, 0xA);
    assert_true(a.usr && !a.os && b.usr && !b.os);
}

static void names_ignore_case_and_masks_may_be_numbers(void **state)
{
    (void)state;
    assert_int_equal(parsed("BRANCH_RETIRED:mmtm").mask, 0x8);
    assert_int_equal(parsed("branch_retired:0x8+MMNM").mask, 0xA);
}

static void both_privileges_are_the_default(void **state)
{
    (void)state;
    struct sim_request r = parsed("instr_retired:NBOGUSNTAG");
    assert_true(r.usr && r.os);
    r = parsed("instr_retired:k");
    assert_true(!r.usr && r.os);
    r = parsed("instr_retired:uk");
    assert_true(r.usr && r.os);
}

static void filters_set_compare(void **state)
{
    (void)state;
    struct sim_request r = parsed("uops_retired:NBOGUS:t=2:cmpl:e");
    assert_true(r.compare && r.complement && r.edge);
    assert_int_equal(r.threshold, 2);
    assert_true(parsed("uops_retired:edge").compare);
    assert_true(parsed("uops_retired:thr=0").compare);
    assert_false(parsed("uops_retired").compare);
}

static void an_event_with_one_subevent_needs_none(void **state)
{
    (void)state;
    assert_int_equal(parsed("global_power_events").mask, 1);
    assert_int_equal(parsed("packed_DP_uop").mask, 0x8000);
}

static void defaults_are_sums_that_mean_one_thing(void **state)
{
    (void)state;
    assert_int_equal(parsed("instr_retired").mask, 0x3);
    assert_int_equal(parsed("branch_retired").mask, 0xF);
    assert_refused("BSQ_cache_reference", "needs a sub-event");
    assert_refused("BSQ_cache_reference", "RD_2ndL_MISS");
    assert_refused("TC_deliver_mode", "DD, DB, DI");
}

static void a_metric_brings_its_tagging(void **state)
{
    (void)state;
    struct sim_request r = parsed("1stL_cache_load_miss_retired:u");
    assert_int_equal(r.event, P4PMU_EV_replay_event);
    assert_int_equal(r.metric->pebs_enable, 0x1000001);
    assert_int_equal(r.metric->pebs_matrix_vert, 1);
    assert_refused("memory_loads:NBOGUS", "is a metric");
}

static void the_raw_form_is_taken_as_perfctr_prints_it(void **state)
{
    (void)state;
    struct sim_request r = parsed("0x0003B000/0x12000204@0x8000000C");
    assert_true(r.raw);
    assert_int_equal(r.counter, 12);
    assert_int_equal(r.raw_escr, P4PMU_ESCR_CRU2);
    assert_int_equal(r.event, P4PMU_EV_replay_event);
    assert_int_equal(r.mask, 1);
    assert_true(r.usr && !r.os);
    assert_int_equal(r.raw_cccr_value, 0x3B000);
    assert_int_equal(r.raw_escr_value, 0x12000204);
}

static void raw_mistakes_are_told_apart(void **state)
{
    (void)state;
    assert_refused("0x3B000/zz@0xC", "not a hexadecimal ESCR");
    assert_refused("0x3B000/0x1@0x12", "no counter 0x12");
    assert_refused("0x3F000/0x1@0xC", "reaches no ESCR");
    assert_refused("0x1003B0000/0x1@0xC", "too large");
}

static void near_matches_are_offered(void **state)
{
    (void)state;
    assert_refused("instr_retird", "did you mean instr_retired");
    assert_refused("replay_evnt", "replay_event");
    assert_refused("instr_retired:NBOGUSNTG", "NBOGUSNTAG");
    assert_refused("1stL_load_miss_retired", "1stL_cache_load_miss_retired");
    assert_refused("zzz", "p4sim list");
}

static void an_event_of_other_models_is_refused(void **state)
{
    (void)state;
    struct sim_request request;
    char error[512];
    assert_refused("instr_completed", "models 3, 4, 6");
    assert_true(sim_request_parse("instr_completed", 0x34, &request, error));
}

static void before_f27_only_one_escr_detects_ioq_allocation(void **state)
{
    (void)state;
    struct sim_request request;
    char error[512];
    assert_int_equal(parsed("IOQ_allocation:ReqA0").escrs[1], P4PMU_ESCR_FSB1);
    assert_true(sim_request_parse("IOQ_allocation:ReqA0", WILLAMETTE, &request, error));
    assert_int_equal(request.escrs[1], P4PMU_NONE);
    assert_false(sim_request_parse("IOQ_allocation:ReqA0:c=2", WILLAMETTE, &request, error));
}

static void modifiers_have_limits(void **state)
{
    (void)state;
    assert_refused("instr_retired:t=16", "0 to 15");
    assert_refused("instr_retired:c=18", "0 to 17");
    assert_refused("instr_retired:tag=x", "out of range");
    assert_refused("instr_retired:q=1", "not a modifier");
    assert_refused("", "unknown event");
    assert_refused("instr_retired::u", "no sub-event");
}

static void a_counter_no_wire_leads_to_is_refused_with_those_that_fit(void **state)
{
    (void)state;
    assert_refused("instr_retired:c=0", "12, 13, 16 (MSR_CRU_ESCR0) or 14, 15, 17 (MSR_CRU_ESCR1)");
    assert_refused("BSQ_allocation:0x1:c=2", "0, 1 (MSR_BSU_ESCR0)");
    assert_int_equal(parsed("instr_retired:c=17").counter, 17);
}

/* For every event and counter: refused exactly when no ESCR of the event is wired to it. */
static void the_wiring_is_enforced_for_all_events_and_counters(void **state)
{
    (void)state;
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)e);
        for (unsigned c = 0; c < P4PMU_COUNTERS; c++) {
            struct sim_request request;
            char text[100], error[512];
            bool wired = false;
            for (unsigned select = 0; select < 8; select++) {
                int escr = p4pmu_wired_escr(c, select);
                wired = wired ||
                        (escr != P4PMU_NONE && (escr == info->escrs[0] || escr == info->escrs[1]));
            }
            snprintf(text, sizeof text, "%s:0x1:c=%u", info->name, c);
            unsigned signature = info->models & 4 ? NORTHWOOD : 0x34;
            assert_int_equal(sim_request_parse(text, signature, &request, error), wired);
        }
    }
}

static void what_cannot_count_has_a_reason(void **state)
{
    (void)state;
    struct sim_request r = parsed("instr_retired:k"); /* the kernel's instructions */
    assert_null(sim_request_cannot_count(&r));
    r = parsed("instr_retired");
    assert_null(sim_request_cannot_count(&r));
    r = parsed("instr_retired:k:t=15:cmpl"); /* the manual's clock recipe counts whatever CPL is
                                                selected */
    assert_null(sim_request_cannot_count(&r));
    r = parsed("0x00038000/0x0400020C@0x8000000C");
    assert_non_null(strstr(sim_request_cannot_count(&r), "ENABLE"));
    r = parsed("uop_type:TAGLOADS");
    assert_non_null(strstr(sim_request_cannot_count(&r), "front_end_event"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subevents_join_by_plus_or_colon),
        cmocka_unit_test(names_ignore_case_and_masks_may_be_numbers),
        cmocka_unit_test(both_privileges_are_the_default),
        cmocka_unit_test(filters_set_compare),
        cmocka_unit_test(an_event_with_one_subevent_needs_none),
        cmocka_unit_test(defaults_are_sums_that_mean_one_thing),
        cmocka_unit_test(a_metric_brings_its_tagging),
        cmocka_unit_test(the_raw_form_is_taken_as_perfctr_prints_it),
        cmocka_unit_test(raw_mistakes_are_told_apart),
        cmocka_unit_test(near_matches_are_offered),
        cmocka_unit_test(an_event_of_other_models_is_refused),
        cmocka_unit_test(before_f27_only_one_escr_detects_ioq_allocation),
        cmocka_unit_test(modifiers_have_limits),
        cmocka_unit_test(a_counter_no_wire_leads_to_is_refused_with_those_that_fit),
        cmocka_unit_test(the_wiring_is_enforced_for_all_events_and_counters),
        cmocka_unit_test(what_cannot_count_has_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
