/*
 * The choice of ESCRs and counters against a slow, obvious one: try every assignment.
 */
#include "cmocka_all.h"
#include "fit.h"

#include <stdio.h>
#include <string.h>

enum { NORTHWOOD = 0x27, MOST = 7 };

static uint64_t seed = 88172645463325252u;

static unsigned random_below(unsigned limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 33) % limit;
}

static struct sim_request parsed(const char *text)
{
    struct sim_request request;
    char error[512];
    if (!sim_request_parse(text, NORTHWOOD, &request, error))
        fail_msg("%s: %s", text, error);
    return request;
}

/* ---- the obvious search: plain events only, wiring asked of the counters' side
 * ------------------- */

struct obvious {
    const struct sim_request *requests;
    size_t count;
    bool used[P4PMU_COUNTERS];
    bool held[P4PMU_ESCR_COUNT];
    unsigned content[P4PMU_ESCR_COUNT][4];
};

static bool place_all(struct obvious *o, size_t i)
{
    if (i == o->count)
        return true;
    const struct sim_request *r = &o->requests[i];
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)r->event);
    const unsigned wish[4] = {info->code, r->mask, r->usr, r->os};
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++) {
        for (unsigned select = 0; select < 8; select++) {
            int escr = p4pmu_wired_escr(c, select);
            if (o->used[c] || escr == P4PMU_NONE ||
                (r->counter != P4PMU_NONE && r->counter != (int)c))
                continue;
            if (escr != info->escrs[0] && escr != info->escrs[1])
                continue;
            bool held = o->held[escr];
            if (held && memcmp(o->content[escr], wish, sizeof wish) != 0)
                continue;
            o->used[c] = o->held[escr] = true;
            memcpy(o->content[escr], wish, sizeof wish);
            bool good = place_all(o, i + 1);
            o->used[c] = false;
            o->held[escr] = held;
            if (good)
                return true;
        }
    }
    return false;
}

static bool obviously_fits(const struct sim_request *requests, size_t count)
{
    struct obvious o;
    memset(&o, 0, sizeof o);
    o.requests = requests;
    o.count = count;
    return place_all(&o, 0);
}

/* ---- what a plan must be ------------------------------------------------------------------------
 */

static void assert_legal(const struct sim_request *requests, size_t count,
                         const struct sim_plan *plan)
{
    assert_int_equal(plan->count, count);
    for (size_t i = 0; i < count; i++) {
        const struct sim_slot *s = &plan->slots[i];
        unsigned select = P4PMU_GET(CCCR, ESCR_SELECT, s->cccr_value);
        assert_int_equal(p4pmu_wired_escr((unsigned)s->counter, select), s->escr);
        assert_true(s->cccr_value & P4PMU_CCCR_ENABLE_MASK);
        if (requests[i].counter != P4PMU_NONE)
            assert_int_equal(s->counter, requests[i].counter);
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(plan->slots[k].counter, s->counter);
            if (plan->slots[k].escr == s->escr)
                assert_int_equal(plan->slots[k].escr_value, s->escr_value);
        }
    }
}

static void assert_smallest(const struct sim_request *requests, const struct sim_conflict *conflict)
{
    struct sim_request some[SIM_FIT_MAX + 1];
    struct sim_plan plan;
    struct sim_conflict again;
    assert_true(conflict->count >= 1);
    for (size_t without = 0; without < conflict->count; without++) {
        size_t count = 0;
        for (size_t i = 0; i < conflict->count; i++) {
            if (i != without)
                some[count++] = requests[conflict->requests[i]];
        }
        assert_true(sim_fit(some, count, NULL, &plan, &again));
    }
}

/* ---- random instances ---------------------------------------------------------------------------
 */

/* Events that crowd: few of them, so that both fitting and failing sets are common. */
static const char *const crowd[] = {
    "instr_retired:NBOGUSNTAG",
    "uops_retired:NBOGUS",
    "uops_retired:BOGUS",
    "mispred_branch_retired",
    "branch_retired:MMNP",
    "branch_retired:MMTM",
    "machine_clear:CLEAR",
    "replay_event:NBOGUS",
    "BSQ_allocation:0x1",
    "bsq_active_entries:0x1",
    "BSQ_cache_reference:RD_2ndL_MISS",
    "IOQ_active_entries:0x1",
    "global_power_events",
    "resource_stall",
    "ITLB_reference:MISS",
    "TC_deliver_mode:DI",
    "uop_queue_writes:FROM_ROM",
    "retired_branch_type:CALL",
    "memory_cancel:64K_CONF",
    "packed_DP_uop",
};

static void random_request(struct sim_request *request)
{
    static const char *const filters[] = {"", "", ":u", ":t=1"};
    char text[120], error[512];
    do {
        int used =
            snprintf(text, sizeof text, "%s%s", crowd[random_below(sizeof crowd / sizeof crowd[0])],
                     filters[random_below(4)]);
        if (random_below(4) == 0)
            snprintf(text + used, sizeof text - (size_t)used, ":c=%u",
                     random_below(P4PMU_COUNTERS));
    } while (!sim_request_parse(text, NORTHWOOD, request, error));
}

static void fit_agrees_with_trying_everything(void **state)
{
    (void)state;
    unsigned fitting = 0, failing = 0;
    for (unsigned round = 0; round < 4000; round++) {
        struct sim_request requests[MOST];
        struct sim_plan plan;
        struct sim_conflict conflict;
        size_t count = 1 + random_below(MOST);
        for (size_t i = 0; i < count; i++)
            random_request(&requests[i]);
        bool fits = sim_fit(requests, count, NULL, &plan, &conflict);
        assert_int_equal(fits, obviously_fits(requests, count));
        if (fits)
            assert_legal(requests, count, &plan);
        else
            assert_smallest(requests, &conflict);
        fitting += fits;
        failing += !fits;
    }
    assert_true(fitting > 400 && failing > 400);
}

/* ---- cases people meet --------------------------------------------------------------------------
 */

static bool fit_texts(const char *const *texts, size_t count, struct sim_plan *plan,
                      struct sim_conflict *conflict)
{
    static struct sim_request requests[SIM_FIT_MAX + 1];
    for (size_t i = 0; i < count; i++)
        requests[i] = parsed(texts[i]);
    return sim_fit(requests, count, NULL, plan, conflict);
}

#define FIT(plan, conflict, ...)                                                                   \
    fit_texts((const char *const[]){__VA_ARGS__},                                                  \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), plan, conflict)

static void three_events_of_one_escr_pair_name_the_pair(void **state)
{
    (void)state;
    struct sim_plan plan;
    struct sim_conflict conflict;
    assert_false(FIT(&plan, &conflict, "global_power_events", "instr_retired:NBOGUSNTAG",
                     "branch_retired", "uops_retired:NBOGUS", "uops_retired:BOGUS"));
    assert_int_equal(conflict.count, 3);
    assert_int_equal(conflict.requests[0], 1);
    assert_int_equal(conflict.requests[1], 3);
    assert_int_equal(conflict.requests[2], 4);
    assert_non_null(strstr(conflict.text, "MSR_CRU_ESCR0, MSR_CRU_ESCR1"));
    assert_null(strstr(conflict.text, "global_power_events"));
}

static void equal_events_share_an_escr(void **state)
{
    (void)state;
    struct sim_plan plan;
    struct sim_conflict conflict;
    assert_true(FIT(&plan, &conflict, "uops_retired:NBOGUS", "uops_retired:NBOGUS:t=1",
                    "uops_retired:NBOGUS:t=2", "instr_retired:NBOGUSNTAG"));
    assert_int_equal(plan.slots[0].escr, plan.slots[1].escr);
    assert_int_equal(plan.slots[0].escr, plan.slots[2].escr);
}

static void too_many_for_the_counters_names_the_counters(void **state)
{
    (void)state;
    struct sim_plan plan;
    struct sim_conflict conflict;
    assert_false(FIT(&plan, &conflict, "BSQ_allocation:0x1", "BSQ_allocation:0x1:t=1",
                     "BSQ_allocation:0x1:t=2"));
    assert_int_equal(conflict.count, 3);
    assert_non_null(strstr(conflict.text, "counters 0, 1"));
}

static void eighteen_counters_can_all_be_used(void **state)
{
    (void)state;
    struct sim_plan plan;
    struct sim_conflict conflict;
    assert_true(FIT(&plan, &conflict, "global_power_events", "BSQ_cache_reference:RD_2ndL_MISS",
                    "page_walk_type", "BPU_fetch_request", "TC_deliver_mode:DI",
                    "TC_deliver_mode:BI", "uop_queue_writes", "retired_branch_type", "x87_FP_uop",
                    "memory_cancel:64K_CONF", "packed_DP_uop", "load_port_replay", "instr_retired",
                    "uops_retired:NBOGUS", "branch_retired", "machine_clear:CLEAR",
                    "resource_stall", "uops_retired:NBOGUS:t=2"));
    assert_int_equal(plan.count, 18);
}

static void metrics_that_need_other_replay_registers_conflict(void **state)
{
    (void)state;
    struct sim_plan plan;
    struct sim_conflict conflict;
    assert_false(
        FIT(&plan, &conflict, "1stL_cache_load_miss_retired", "2ndL_cache_load_miss_retired"));
    assert_non_null(strstr(conflict.text, "IA32_PEBS_ENABLE"));
    assert_true(
        FIT(&plan, &conflict, "1stL_cache_load_miss_retired", "1stL_cache_load_miss_retired:u"));
    assert_int_equal(plan.pebs_enable, 0x1000001);
    assert_int_equal(plan.pebs_matrix_vert, 1);
}

static void metrics_conflict_with_registers_given_by_hand(void **state)
{
    (void)state;
    const struct sim_replay_registers preset = {true, 0x1000002, 1};
    struct sim_plan plan;
    struct sim_conflict conflict;
    struct sim_request r = parsed("1stL_cache_load_miss_retired");
    assert_false(sim_fit(&r, 1, &preset, &plan, &conflict));
    r = parsed("replay_event");
    assert_true(sim_fit(&r, 1, &preset, &plan, &conflict));
    assert_int_equal(plan.pebs_enable, 0x1000002);
}

static void there_is_one_front_end_tag(void **state)
{
    (void)state;
    struct sim_plan plan;
    struct sim_conflict conflict;
    assert_false(FIT(&plan, &conflict, "memory_loads", "memory_stores"));
    assert_non_null(strstr(conflict.text, "front-end tag"));
    assert_true(FIT(&plan, &conflict, "memory_loads", "memory_loads:u"));
}

static void execution_metrics_get_tags_of_their_own(void **state)
{
    (void)state;
    struct sim_plan plan;
    struct sim_conflict conflict;
    assert_true(FIT(&plan, &conflict, "packed_DP_retired", "scalar_DP_retired"));
    assert_int_equal(plan.upstream_count, 2);
    assert_int_equal(P4PMU_GET(ESCR, TAG_VALUE, plan.upstream[0].escr_value), 1);
    assert_int_equal(P4PMU_GET(ESCR, TAG_VALUE, plan.upstream[1].escr_value), 2);
    assert_int_equal(P4PMU_GET(ESCR, EVENT_MASK, plan.slots[0].escr_value), 1);
    assert_int_equal(P4PMU_GET(ESCR, EVENT_MASK, plan.slots[1].escr_value), 2);
}

static void an_upstream_escr_in_a_sleeping_group_gets_a_counter(void **state)
{
    (void)state;
    struct sim_plan plan;
    struct sim_conflict conflict;
    assert_true(FIT(&plan, &conflict, "split_load_retired"));
    assert_int_equal(plan.upstream_count, 1);
    assert_int_equal(plan.upstream[0].escr, P4PMU_ESCR_SAAT1);
    assert_int_not_equal(plan.upstream[0].counter, P4PMU_NONE);
    assert_true(FIT(&plan, &conflict, "split_load_retired", "memory_complete:LSC"));
    assert_int_equal(plan.upstream[0].counter, P4PMU_NONE);
}

static void a_plan_programs_and_reads_back(void **state)
{
    (void)state;
    struct sim_plan plan;
    struct sim_conflict conflict;
    char error[512];
    uint64_t count = 0;
    struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){.model = 2});
    assert_true(FIT(&plan, &conflict, "uops_retired:NBOGUS", "uops_retired:NBOGUS:t=1"));
    if (!sim_program(pmu, &plan, error))
        fail_msg("%s", error);
    for (unsigned i = 0; i < 3; i++) {
        p4pmu_post(pmu, P4PMU_EV_uops_retired, 1, P4PMU_WHO(0, 3), i);
        p4pmu_clocks(pmu, 1);
    }
    assert_true(sim_halt(pmu, &plan, error));
    assert_true(sim_read(pmu, &plan.slots[0], &count, error));
    assert_int_equal(count, 3);
    assert_true(sim_read(pmu, &plan.slots[1], &count, error));
    assert_int_equal(count, 1);
    p4pmu_free(pmu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fit_agrees_with_trying_everything),
        cmocka_unit_test(three_events_of_one_escr_pair_name_the_pair),
        cmocka_unit_test(equal_events_share_an_escr),
        cmocka_unit_test(too_many_for_the_counters_names_the_counters),
        cmocka_unit_test(eighteen_counters_can_all_be_used),
        cmocka_unit_test(metrics_that_need_other_replay_registers_conflict),
        cmocka_unit_test(metrics_conflict_with_registers_given_by_hand),
        cmocka_unit_test(there_is_one_front_end_tag),
        cmocka_unit_test(execution_metrics_get_tags_of_their_own),
        cmocka_unit_test(an_upstream_escr_in_a_sleeping_group_gets_a_counter),
        cmocka_unit_test(a_plan_programs_and_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
