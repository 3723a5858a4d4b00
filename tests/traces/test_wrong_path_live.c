/*
 * Wrong paths of live programs: behind every branch they begin where the program is, they change
 * nothing of it, and a replay's know what the live run's knew.
 */
#include "lab.h"

#include <stdlib.h>
#include <string.h>

enum { AHEAD = 24 };

/* What a path that goes the right way foretold. */
struct forecast {
    struct trace_wrong_step step[AHEAD];
    uint64_t ip[AHEAD];
    unsigned count, at;
};

static void foretell(struct trace_source *source, const struct trace_instruction *from,
                     struct forecast *forecast)
{
    uint64_t ip = from->next_ip;

    forecast->count = forecast->at = 0;
    if ((from->flags & TRACE_INTERRUPTED) || !trace_source_wrong_begin(source))
        return;
    while (forecast->count < AHEAD) {
        struct trace_wrong_step *step = &forecast->step[forecast->count];
        if (!trace_source_wrong_step(source, ip, step))
            return;
        forecast->ip[forecast->count++] = ip;
        if (!step->next_known || (step->flags & TRACE_SYSTEM_CALL))
            return;
        ip = step->next_ip;
    }
}

/* The run itself says whether the forecast was right. Accesses with known addresses. */
static unsigned check(struct forecast *forecast, const struct trace_instruction *now)
{
    const struct trace_wrong_step *step = &forecast->step[forecast->at];
    unsigned known = 0;

    assert_int_equal(now->ip, forecast->ip[forecast->at]);
    assert_int_equal(now->access_count, step->access_count);
    for (unsigned i = 0; i < now->access_count; i++) {
        if (step->unknown >> i & 1)
            continue;
        assert_int_equal(now->access[i].address, step->access[i].address);
        known++;
    }
    forecast->at = now->flags & TRACE_INTERRUPTED ? forecast->count : forecast->at + 1;
    return known;
}

static void a_path_along_the_right_way_of(const char *program)
{
    struct trace_instruction now;
    static struct forecast forecast;
    uint64_t known = 0, count = 0, length = 1, branches = 0, begun = 0;
    struct trace_source *source;

    lab_need_program(program);
    source = lab_live(program, "1", NULL, NULL);
    while (trace_source_next(source, &now) == TRACE_OK && count < 1000000) {
        bool branch = count++ && now.next_ip != now.ip + now.length;
        if (forecast.at < forecast.count)
            known += check(&forecast, &now);
        branches += branch;
        if (branch && forecast.at >= forecast.count && ++length % 3) {
            foretell(source, &now, &forecast);
            begun += forecast.count > 0;
        }
    }
    forecast.at = forecast.count = 0;
    assert_string_equal(source->error, "");
    trace_source_close(source);
    if (begun < 1000 || known < 5000)
        fail_msg("%s: %llu paths of %llu branches, %llu known accesses", program,
                 (unsigned long long)begun, (unsigned long long)branches,
                 (unsigned long long)known);
}

static void behind_every_branch_a_path_begins_where_the_program_is(void **state)
{
    static const char *const programs[] = {"sort", "strings", "hash_table", "floats", "calculator"};

    (void)state;
    for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++)
        a_path_along_the_right_way_of(programs[i]);
}

/* Every stream with wrong paths in it is the stream without. */
static void a_path_changes_nothing(void **state)
{
    struct trace_instruction now;
    struct trace_wrong_step step;
    struct trace_source *source;
    struct lab_run run;
    size_t at = 0;

    (void)state;
    lab_need_program("sort");
    run = lab_take(lab_live("sort", "1", NULL, NULL));
    source = lab_live("sort", "1", NULL, NULL);
    while (trace_source_next(source, &now) == TRACE_OK) {
        uint64_t ip = now.ip + now.length; /* the way it may not have gone */
        assert_true(at < run.count);
        const struct trace_instruction *wanted = &run.instructions[at++];
        assert_int_equal(now.ip, wanted->ip);
        assert_int_equal(now.next_ip, wanted->next_ip);
        assert_int_equal(now.access_count, wanted->access_count);
        for (unsigned i = 0; i < now.access_count; i++)
            assert_int_equal(now.access[i].address, wanted->access[i].address);
        if (trace_source_wrong_begin(source))
            for (unsigned i = 0; i < 20 && trace_source_wrong_step(source, ip, &step); i++)
                ip = step.next_known ? step.next_ip : ip + 1;
    }
    assert_int_equal(at, run.count);
    trace_source_close(source);
    lab_free(&run);
}

static void same_step(const struct trace_wrong_step *one, const struct trace_wrong_step *other)
{
    assert_int_equal(one->next_known, other->next_known);
    if (one->next_known)
        assert_int_equal(one->next_ip, other->next_ip);
    assert_int_equal(one->repetitions, other->repetitions);
    assert_int_equal(one->flags, other->flags);
    assert_int_equal(one->unknown, other->unknown);
    assert_int_equal(one->unmapped, other->unmapped);
    assert_int_equal(one->access_count, other->access_count);
    for (unsigned i = 0; i < one->access_count; i++)
        assert_int_equal(one->access[i].address, other->access[i].address);
}

/* Both go the way NOW did not go, as far as that is known. */
static unsigned same_path(struct trace_source *one, struct trace_source *other,
                          const struct trace_instruction *now)
{
    struct trace_wrong_step step[2];
    uint64_t ip = now->ip + now->length, marked = 0;
    bool begun = trace_source_wrong_begin(one), more;
    unsigned steps = 0;

    assert_int_equal(begun, trace_source_wrong_begin(other));
    for (more = begun; more && steps < AHEAD; steps++) {
        if (steps == AHEAD / 4) {
            assert_true(trace_source_wrong_mark(one, 0) && trace_source_wrong_mark(other, 0));
            marked = ip;
        }
        if (steps == AHEAD * 3 / 4) {
            assert_true(trace_source_wrong_back(one, 0) && trace_source_wrong_back(other, 0));
            ip = marked;
        }
        more = trace_source_wrong_step(one, ip, &step[0]);
        assert_int_equal(more, trace_source_wrong_step(other, ip, &step[1]));
        if (!more)
            break;
        same_step(&step[0], &step[1]);
        ip = step[0].next_known ? step[0].next_ip : ip + 2;
    }
    return steps;
}

static void both_know_the_same(const char *program, const char *size)
{
    struct trace_instruction now, replayed;
    struct trace_source *live, *replay;
    char path[LAB_PATH_BYTES];
    uint64_t steps = 0;

    lab_need_program(program);
    lab_path("wrong.p4t", path);
    live = lab_live(program, size, NULL, path);
    lab_drain(live, TRACE_END);
    trace_source_close(live);
    live = lab_live(program, size, NULL, NULL);
    replay = lab_file(path);
    while (trace_source_next(live, &now) == TRACE_OK) {
        assert_int_equal(trace_source_next(replay, &replayed), TRACE_OK);
        assert_int_equal(now.ip, replayed.ip);
        if (!(now.flags & TRACE_INTERRUPTED) && now.next_ip != now.ip + now.length)
            steps += same_path(live, replay, &now);
    }
    assert_true(steps > 10000);
    trace_source_close(live);
    trace_source_close(replay);
}

static void a_replay_knows_what_the_live_run_knew(void **state)
{
    static const char *const programs[] = {"sort", "strings", "hash_table", "floats", "calculator"};

    (void)state;
    for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++)
        both_know_the_same(programs[i], "5");
    lab_remove_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_every_branch_a_path_begins_where_the_program_is),
        cmocka_unit_test(a_path_changes_nothing),
        cmocka_unit_test(a_replay_knows_what_the_live_run_knew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
