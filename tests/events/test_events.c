/*
 * Every modelled sub-event counts what a program makes it count, and nothing in a similar program:
 * the rows of events.yaml. A sub-event that is said to be modelled, wholly or partly, and lacks a
 * row fails, too. mechanisms.yaml shows single rules of the machine the same way.
 *
 * The programs are recorded runs beside the table; where one is missing it is assembled and run,
 * which needs ptrace.
 */
#include "../sim/cmocka_all.h"
#include "judge.h"
#include "p4pmu.h"
#include "pairs.h"

#include <stdio.h>
#include <unistd.h>

static struct suite *suite, *rules;

static bool recorded(const struct suite *s, const struct suite_row *row)
{
    char path[4096];
    measure_recording(suite_snippet(s, row->snippet), MEASURE_FIRST, EVENTS "/recordings", path);
    return access(path, R_OK) == 0;
}

static void judge_all(const struct suite *s)
{
    static struct judge judge;
    char reason[256] = "";
    bool live = trace_live_possible(reason);
    unsigned failed = 0, left_out = 0;
    judge = (struct judge){.suite = s, .recordings = EVENTS "/recordings"};
    for (unsigned i = 0; i < s->rows_count; i++) {
        const struct suite_row *row = &s->rows[i];
        struct judged judged;
        if (!live && !recorded(s, row)) {
            left_out++;
            continue;
        }
        judge_row(&judge, row, &judged);
        if (judged.verdict == VERDICT_WITHIN)
            continue;
        print_error("%s (%s): counted %.0f, expected %.0f to %.0f %s\n", row->id, row->snippet,
                    judged.simulated, row->from, row->to, judged.trouble);
        failed++;
    }
    judge_free(&judge);
    if (left_out)
        print_message("%u rows left out, they have no recorded run: %s\n", left_out, reason);
    assert_int_equal(failed, 0);
}

static void rows_count_what_they_say(void **state)
{
    (void)state;
    judge_all(suite);
}

static void rules_of_the_machine_are_seen_by_its_counters(void **state)
{
    (void)state;
    judge_all(rules);
}

/* A program assembled and traced here counts what its recorded run does. */
static void live_runs_count_what_recorded_ones_do(void **state)
{
    (void)state;
    static struct judge live, replay;
    char reason[256] = "";
    if (!trace_live_possible(reason)) {
        print_message("left out: %s\n", reason);
        skip();
    }
    live = (struct judge){.suite = suite};
    replay = (struct judge){.suite = suite, .recordings = EVENTS "/recordings"};
    for (unsigned i = 0; i < suite->rows_count; i += 8) {
        struct judged a, b;
        judge_row(&live, &suite->rows[i], &a);
        judge_row(&replay, &suite->rows[i], &b);
        if (a.verdict != b.verdict || a.simulated > b.simulated || a.simulated < b.simulated)
            fail_msg("%s: %.0f live %s, %.0f recorded %s", suite->rows[i].id, a.simulated,
                     a.trouble, b.simulated, b.trouble);
    }
    judge_free(&live);
    judge_free(&replay);
}

static const struct suite_row *row_named(const char *id)
{
    for (unsigned i = 0; i < suite->rows_count; i++)
        if (strcmp(suite->rows[i].id, id) == 0)
            return &suite->rows[i];
    return NULL;
}

/* Sub-events that need a program on each logical processor: the pairs of snippets in which they
 * count, and do not, or only at the start. */
static const struct pair {
    const char *id, *first, *second;
    unsigned from, to;
    const char *quiet_first, *quiet_second;
} pairs[] = {
    {"TC_deliver_mode:DD", "warm_loop", "warm_loop", 3100, 4250, "straight", "straight"},
    {"TC_deliver_mode:DB", "warm_loop", "straight", 2750, 3800, "straight", "nothing"},
    {"TC_deliver_mode:BD", "straight", "warm_loop", 1650, 2300, "nothing", "straight"},
    {"TC_deliver_mode:BB", "straight", "straight", 3050, 4150, "straight", "nothing"},
    {"TC_deliver_mode:ID", "nothing", "warm_loop", 2150, 2950, "nothing", "straight"},
    {"TC_deliver_mode:IB", "nothing", "straight", 2550, 3550, "straight", "nothing"},
};

static const struct pair *pair_of(const char *id)
{
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (strcmp(pairs[i].id, id) == 0)
            return &pairs[i];
    return NULL;
}

static uint64_t count_of(const struct pair *p, const char *first, const char *second)
{
    char error[512] = "?";
    uint64_t count = 0;
    if (!pair_count(suite, EVENTS "/recordings", first, second, p->id, &count, error))
        fail_msg("%s beside %s: %s", first, second, error);
    return count;
}

static void pairs_of_programs_count_what_they_say(void **state)
{
    (void)state;
    unsigned failed = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const struct pair *p = &pairs[i];
        uint64_t n = count_of(p, p->first, p->second);
        uint64_t quiet = count_of(p, p->quiet_first, p->quiet_second);
        if (n >= p->from && n <= p->to && 2 * quiet <= p->from)
            continue;
        print_error("%s: counted %u beside each other, expected %u to %u; else %u\n", p->id,
                    (unsigned)n, p->from, p->to, (unsigned)quiet);
        failed++;
    }
    assert_int_equal(failed, 0);
}

static unsigned missing(const char *event, const struct p4pmu_subevent_info *s)
{
    char id[100], not_id[110];
    snprintf(id, sizeof id, "%s:%s", event, s->name);
    snprintf(not_id, sizeof not_id, "%s not", id);
    if (pair_of(id))
        return 0;
    const struct suite_row *fires = row_named(id), *quiet = row_named(not_id);
    if (!fires || fires->from <= 0)
        print_error("%s is said to be modelled and no row makes it count\n", id);
    else if (!quiet || quiet->to >= fires->from)
        print_error("%s has no row in which it counts nothing, or less\n", id);
    else
        return 0;
    return 1;
}

/* A row that a count twice or half as large as the model's would satisfy shows nothing. */
static void bounds_are_narrow(void **state)
{
    (void)state;
    unsigned failed = 0;
    for (unsigned i = 0; i < suite->rows_count; i++) {
        const struct suite_row *row = &suite->rows[i];
        if (row->from <= 0 || row->to <= 2.5 * row->from)
            continue;
        print_error("%s: from %.0f to %.0f is anything\n", row->id, row->from, row->to);
        failed++;
    }
    assert_int_equal(failed, 0);
}

static void every_modelled_subevent_has_its_rows(void **state)
{
    (void)state;
    unsigned count = 0;
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)e);
        for (size_t i = 0; i < info->subevent_count; i++)
            if (info->subevents[i].status != P4PMU_NOT_MODELLED)
                count += missing(info->name, &info->subevents[i]);
    }
    assert_int_equal(count, 0);
}

int main(void)
{
    char error[512];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_modelled_subevent_has_its_rows),
        cmocka_unit_test(bounds_are_narrow),
        cmocka_unit_test(rows_count_what_they_say),
        cmocka_unit_test(rules_of_the_machine_are_seen_by_its_counters),
        cmocka_unit_test(pairs_of_programs_count_what_they_say),
        cmocka_unit_test(live_runs_count_what_recorded_ones_do),
    };
    suite = suite_load(EVENTS "/events.yaml", error);
    if (!suite || !(rules = suite_load(EVENTS "/mechanisms.yaml", error))) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    suite_free(suite);
    suite_free(rules);
    return failed;
}
