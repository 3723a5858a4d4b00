/*
 * Fitting with tags, reserved counters and runs, against slow and obvious ways: every assignment is
 * tried, every partition is tried.
 */
#define _GNU_SOURCE
#include "../sim/cmocka_all.h"
#include "fit.h"
#include "runs.h"

#include <stdio.h>
#include <string.h>

enum { NORTHWOOD = 0x29, NONE = P4PMU_NONE, FEW = 4, PARTS = 6 };

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

/* Events that crowd, metrics of each mechanism among them. */
static const char *const crowd[] = {
    "instr_retired:NBOGUSNTAG",
    "uops_retired:NBOGUS",
    "branch_retired:MMTM",
    "replay_event:NBOGUS",
    "front_end_event:NBOGUS",
    "execution_event:NBOGUS0",
    "packed_DP_uop",
    "x87_FP_uop:ALL:tag=2",
    "uop_type:TAGLOADS",
    "load_port_replay",
    "store_port_replay",
    "memory_complete:LSC",
    "MOB_load_replay:NO_STA",
    "1stL_cache_load_miss_retired",
    "DTLB_load_miss_retired",
    "split_load_retired",
    "split_store_retired",
    "MOB_load_replay_retired",
    "memory_loads",
    "memory_stores",
    "packed_DP_retired",
    "scalar_DP_retired",
    "X87_FP_retired",
    "resource_stall",
};
enum { CROWD = sizeof crowd / sizeof crowd[0] };

static void random_requests(struct sim_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        requests[i] = parsed(crowd[random_below(CROWD)]);
}

static uint32_t random_reserved(void)
{
    uint32_t reserved = 0;
    for (unsigned n = random_below(14); n > 0; n--)
        reserved |= 1u << random_below(P4PMU_COUNTERS);
    return random_below(2) ? reserved : 0;
}

/* ---- the obvious way ---------------------------------------------------------------------------
 */

/* What an ESCR holds: all that makes two users of it agree. */
struct content {
    int event;
    unsigned mask, tag;
    bool usr, os, tags;
};

struct obvious {
    const struct sim_request *requests;
    size_t count;
    uint32_t used, reserved;
    unsigned users[P4PMU_ESCR_COUNT];
    struct content held[P4PMU_ESCR_COUNT];
    unsigned tag_of[FEW]; /* bit each execution metric has */
};

static bool same(struct content a, struct content b)
{
    return a.event == b.event && a.mask == b.mask && a.tag == b.tag && a.usr == b.usr &&
           a.os == b.os && a.tags == b.tags;
}

static bool enter(struct obvious *o, int escr, struct content content)
{
    if (o->users[escr] && !same(o->held[escr], content))
        return false;
    o->held[escr] = content;
    o->users[escr]++;
    return true;
}

static bool is(const struct sim_request *r, enum sim_mechanism mechanism)
{
    return r->metric && r->metric->mechanism == mechanism;
}

static bool place_from(struct obvious *o, size_t i);

/* Power gating: some counter that this ESCR or the other of its pair can reach is not forbidden. */
static bool can_wake(const struct obvious *o, int escr)
{
    const struct p4pmu_escr_info *info = p4pmu_escr((enum p4pmu_escr)escr);
    for (int e = 0; e < P4PMU_ESCR_COUNT; e++) {
        const struct p4pmu_escr_info *other = p4pmu_escr((enum p4pmu_escr)e);
        if (!strcmp(other->unit, info->unit) && other->select == info->select &&
            other->counters & ~o->reserved)
            return true;
    }
    return false;
}

static bool place_upstream(struct obvious *o, size_t i)
{
    const struct sim_metric *m = o->requests[i].metric;
    if (!m || m->upstream_event == NONE)
        return place_from(o, i + 1);
    unsigned tag = m->mechanism == SIM_EXECUTION ? 1u << o->tag_of[i] : 0;
    struct content content = {m->upstream_event, m->upstream_mask, tag, true, true, tag != 0};
    for (unsigned k = 0; k < 2; k++) {
        int escr = m->upstream_escrs[k];
        if (escr == NONE || !can_wake(o, escr))
            continue;
        struct content before = o->held[escr];
        if (!enter(o, escr, content))
            continue;
        if (place_from(o, i + 1))
            return true;
        o->users[escr]--;
        o->held[escr] = before;
    }
    return false;
}

static bool place_counted(struct obvious *o, size_t i)
{
    const struct sim_request *r = &o->requests[i];
    unsigned mask = is(r, SIM_EXECUTION) ? r->mask << o->tag_of[i] : r->mask;
    struct content content = {r->event, mask, r->tag_value, r->usr, r->os, r->tag_enable};
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++) {
        for (unsigned select = 0; select < 8; select++) {
            int escr = p4pmu_wired_escr(c, select);
            if ((o->used | o->reserved) & 1u << c || escr == NONE ||
                (escr != r->escrs[0] && escr != r->escrs[1]))
                continue;
            struct content before = o->held[escr];
            if (!enter(o, escr, content))
                continue;
            o->used |= 1u << c;
            if (place_upstream(o, i))
                return true;
            o->used &= ~(1u << c);
            o->users[escr]--;
            o->held[escr] = before;
        }
    }
    return false;
}

/* An event that by itself tags exactly the uops of metric M. */
static bool tags_the_same(const struct sim_request *r, const struct sim_metric *m, unsigned bit)
{
    return r->tag_value == 1u << bit && r->event == m->upstream_event &&
           r->mask == m->upstream_mask && r->usr && r->os;
}

/* Tag BIT may be given to metric request I: only uops of this metric get it. */
static bool tag_free(const struct obvious *o, size_t i, unsigned bit)
{
    const struct sim_metric *m = o->requests[i].metric;
    for (size_t k = 0; k < o->count; k++) {
        const struct sim_request *other = &o->requests[k];
        if (other->tag_enable && other->tag_value & 1u << bit && !tags_the_same(other, m, bit))
            return false;
        if (k < i && is(other, SIM_EXECUTION) && o->tag_of[k] == bit && other->metric != m)
            return false;
    }
    return true;
}

static bool place_from(struct obvious *o, size_t i)
{
    if (i == o->count)
        return true;
    if (!is(&o->requests[i], SIM_EXECUTION))
        return place_counted(o, i);
    for (unsigned bit = 0; bit < 4; bit++) {
        o->tag_of[i] = bit;
        if (tag_free(o, i, bit) && place_counted(o, i))
            return true;
    }
    return false;
}

static unsigned load_store_tag(const struct sim_request *r)
{
    if (is(r, SIM_FRONT_END))
        return r->metric->upstream_mask;
    return !r->metric && r->event == P4PMU_EV_uop_type ? r->mask : 0;
}

/* The registers of which there is one. */
static bool singles_agree(const struct sim_request *a, const struct sim_request *b)
{
    if (is(a, SIM_REPLAY) && is(b, SIM_REPLAY) &&
        (a->metric->pebs_enable != b->metric->pebs_enable ||
         a->metric->pebs_matrix_vert != b->metric->pebs_matrix_vert))
        return false;
    unsigned ta = load_store_tag(a), tb = load_store_tag(b);
    return !ta || !tb || ta == tb;
}

static bool obviously_fits(const struct sim_request *requests, size_t count, uint32_t reserved)
{
    struct obvious o;
    memset(&o, 0, sizeof o);
    o.requests = requests;
    o.count = count;
    o.reserved = reserved;
    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b < a; b++) {
            if (!singles_agree(&requests[a], &requests[b]))
                return false;
        }
    }
    return place_from(&o, 0);
}

/* ---- what a plan must be ------------------------------------------------------------------------
 */

static void take_counter(const struct sim_slot *s, uint32_t *used, uint32_t reserved)
{
    assert_false((*used | reserved) & 1u << s->counter);
    *used |= 1u << s->counter;
}

static void assert_awake(int escr, uint32_t used)
{
    const struct p4pmu_escr_info *info = p4pmu_escr((enum p4pmu_escr)escr);
    uint32_t reach = 0;
    for (int e = 0; e < P4PMU_ESCR_COUNT; e++) {
        if (!strcmp(p4pmu_escr((enum p4pmu_escr)e)->unit, info->unit))
            reach |= p4pmu_escr((enum p4pmu_escr)e)->counters;
    }
    assert_true(reach & used);
}

static void assert_legal(const struct sim_plan *plan, uint32_t reserved)
{
    uint32_t used = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const struct sim_slot *s = &plan->slots[i];
        take_counter(s, &used, reserved);
        assert_int_equal(
            p4pmu_wired_escr((unsigned)s->counter, P4PMU_GET(CCCR, ESCR_SELECT, s->cccr_value)),
            s->escr);
    }
    for (size_t i = 0; i < plan->upstream_count; i++) {
        if (plan->upstream[i].counter != NONE)
            take_counter(&plan->upstream[i], &used, reserved);
    }
    for (size_t i = 0; i < plan->upstream_count; i++)
        assert_awake(plan->upstream[i].escr, used);
}

static void fitting_with_tags_and_reserved_counters_agrees_with_trying_everything(void **state)
{
    (void)state;
    unsigned fitting = 0, failing = 0;
    for (unsigned round = 0; round < 6000; round++) {
        struct sim_request requests[FEW];
        struct sim_plan plan;
        struct sim_conflict conflict;
        size_t count = 1 + random_below(FEW);
        uint32_t reserved = random_reserved();
        random_requests(requests, count);
        bool fits = sim_fit_around(requests, count, NULL, reserved, &plan, &conflict);
        if (fits != obviously_fits(requests, count, reserved)) {
            char all[400] = "";
            for (size_t i = 0; i < count; i++) {
                strcat(all, " ");
                strcat(all, requests[i].text);
            }
            fail_msg("%s beside 0x%X: %d here", all, (unsigned)reserved, fits);
        }
        assert_int_equal(fits, sim_fits(requests, count, reserved));
        if (fits)
            assert_legal(&plan, reserved);
        fitting += fits;
        failing += !fits;
    }
    assert_true(fitting > 1000 && failing > 1000);
}

/* ---- runs --------------------------------------------------------------------------------------
 */

/* The fewest runs, by trying for each set of requests every part of it that fits. */
static unsigned fewest(const struct sim_request *requests, size_t count)
{
    unsigned best[1u << PARTS];
    best[0] = 0;
    for (unsigned set = 1; set < 1u << count; set++) {
        best[set] = 100;
        for (unsigned part = set; part; part = (part - 1) & set) {
            struct sim_request some[PARTS];
            size_t n = 0;
            if (best[set & ~part] + 1 >= best[set])
                continue;
            for (size_t i = 0; i < count; i++) {
                if (part & 1u << i)
                    some[n++] = requests[i];
            }
            if (sim_fits(some, n, 0))
                best[set] = best[set & ~part] + 1;
        }
    }
    return best[(1u << count) - 1];
}

static void assert_runs_fit(const struct sim_request *requests, size_t count,
                            const struct runs *runs)
{
    for (size_t run = 0; run < runs->count; run++) {
        struct sim_request some[SIM_FIT_MAX];
        size_t n = 0;
        for (size_t i = 0; i < count; i++) {
            if (runs->run_of[i] == run)
                some[n++] = requests[i];
        }
        assert_true(n > 0);
        assert_true(sim_fits(some, n, 0));
    }
}

static void runs_are_as_few_as_can_be(void **state)
{
    (void)state;
    unsigned more_than_one = 0;
    for (unsigned round = 0; round < 300; round++) {
        struct sim_request requests[PARTS];
        struct sim_conflict conflict;
        struct runs runs;
        size_t count = 2 + random_below(PARTS - 1);
        random_requests(requests, count);
        assert_true(runs_split(requests, count, 0, &runs, &conflict));
        assert_true(runs.least);
        assert_int_equal(runs.count, fewest(requests, count));
        assert_runs_fit(requests, count, &runs);
        more_than_one += runs.count > 1;
    }
    assert_true(more_than_one > 100);
}

static void a_long_list_is_split_into_a_proven_number_of_runs(void **state)
{
    (void)state;
    struct sim_request requests[40];
    struct sim_conflict conflict;
    struct runs runs;
    /* Forty different masks for two ESCRs: twenty runs, by counting. */
    for (unsigned i = 0; i < 40; i++) {
        char text[60];
        snprintf(text, sizeof text, "BSQ_cache_reference:0x%X", i + 1);
        requests[i] = parsed(text);
    }
    assert_true(runs_split(requests, 40, 0, &runs, &conflict));
    assert_true(runs.least);
    assert_int_equal(runs.count, 20);
    assert_runs_fit(requests, 40, &runs);
}

static void a_request_that_fits_nowhere_is_named(void **state)
{
    (void)state;
    struct sim_request requests[2] = {parsed("uops_retired:NBOGUS"), parsed("split_load_retired")};
    struct sim_conflict conflict;
    struct runs runs;
    assert_false(runs_split(requests, 2, 0xF00, &runs, &conflict));
    assert_int_equal(conflict.count, 1);
    assert_int_equal(conflict.requests[0], 1);
    assert_non_null(strstr(conflict.text, "MSR_SAAT_ESCR1"));
    assert_non_null(strstr(conflict.text, "reserved counters 8, 9, 10, 11"));
}

/* ---- conflicts ---------------------------------------------------------------------------------
 */

/* The size of the smallest part of REQUESTS that does not fit; 0: all fit. */
static size_t smallest(const struct sim_request *requests, size_t count)
{
    size_t best = 0;
    for (unsigned set = 1; set < 1u << count; set++) {
        struct sim_request some[PARTS];
        size_t n = 0;
        for (size_t i = 0; i < count; i++) {
            if (set & 1u << i)
                some[n++] = requests[i];
        }
        if (!sim_fits(some, n, 0) && (!best || n < best))
            best = n;
    }
    return best;
}

static void the_conflict_is_a_smallest_set_whatever_the_order(void **state)
{
    (void)state;
    unsigned tried = 0;
    while (tried < 200) {
        struct sim_request requests[PARTS], some[PARTS];
        struct sim_conflict conflict;
        random_requests(requests, PARTS);
        size_t size = smallest(requests, PARTS);
        if (!size)
            continue;
        runs_conflict(requests, PARTS, 0, &conflict);
        assert_int_equal(conflict.count, size);
        for (size_t i = 0; i < conflict.count; i++)
            some[i] = requests[conflict.requests[i]];
        assert_false(sim_fits(some, conflict.count, 0));
        assert_true(conflict.text[0]);
        tried++;
    }
}

static void eighteen_random_events_are_answered(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        struct sim_request requests[SIM_FIT_MAX];
        struct sim_conflict conflict;
        struct runs runs;
        random_requests(requests, SIM_FIT_MAX);
        if (!sim_fits(requests, SIM_FIT_MAX, 0))
            runs_conflict(requests, SIM_FIT_MAX, 0, &conflict);
        assert_true(runs_split(requests, SIM_FIT_MAX, 0, &runs, &conflict));
        assert_runs_fit(requests, SIM_FIT_MAX, &runs);
        assert_true(runs.least);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fitting_with_tags_and_reserved_counters_agrees_with_trying_everything),
        cmocka_unit_test(runs_are_as_few_as_can_be),
        cmocka_unit_test(a_long_list_is_split_into_a_proven_number_of_runs),
        cmocka_unit_test(a_request_that_fits_nowhere_is_named),
        cmocka_unit_test(the_conflict_is_a_smallest_set_whatever_the_order),
        cmocka_unit_test(eighteen_random_events_are_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
