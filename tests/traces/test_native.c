/*
 * Parts of a live run left to the processor: it stops exactly where it is told, and what is
 * delivered from there on is what a run without the gap gives.
 */
#include "lab.h"

enum { BEHIND_THE_START = 100000 };

/* An instruction that is executed for the first time this late, or the count. */
static size_t first_new(const struct lab_run *run, size_t from)
{
    for (size_t i = from; i < run->count; i++) {
        bool is_new = true;
        for (size_t j = 0; j < i && is_new; j++)
            is_new = run->instructions[j].ip != run->instructions[i].ip;
        if (is_new)
            return i;
    }
    return run->count;
}

static size_t next_at(const struct lab_run *run, size_t from, uint64_t ip)
{
    while (from < run->count && run->instructions[from].ip != ip)
        from++;
    return from;
}

/* Delivers to the end what RUN has from AT on. */
static void rest_is(struct trace_source *source, const struct lab_run *run, size_t at)
{
    struct trace_instruction now;

    while (trace_source_next(source, &now) == TRACE_OK) {
        const struct trace_instruction *wanted = &run->instructions[at++];
        assert_true(at <= run->count);
        assert_int_equal(now.ip, wanted->ip);
        assert_int_equal(now.next_ip, wanted->next_ip);
        assert_int_equal(now.repetitions, wanted->repetitions);
        for (unsigned i = 0; i < now.access_count; i++)
            assert_int_equal(now.access[i].address, wanted->access[i].address);
    }
    assert_int_equal(at, run->count);
    assert_int_equal(source->end.status, run->end.status);
}

static void behind_a_gap_the_run_goes_on_as_without_it(void **state)
{
    struct trace_source *source;
    struct lab_run run;
    uint64_t stop;
    size_t at;

    (void)state;
    lab_need_program("sort");
    run = lab_take(lab_live("sort", "400", NULL, NULL));
    at = first_new(&run, BEHIND_THE_START);
    if (at == run.count)
        fail_msg("the program is too short: %zu instructions", run.count);
    stop = run.instructions[at].ip;
    source = lab_live("sort", "400", NULL, NULL);
    assert_int_equal(trace_source_run_natively(source, &stop, 1), TRACE_OK);
    assert_true(source->end.interpreted < at);
    rest_is(source, &run, at);
    trace_source_close(source);
    lab_free(&run);
}

static void the_instruction_it_stands_at_is_not_a_stop(void **state)
{
    struct trace_instruction now;
    struct trace_source *source;
    struct lab_run run;
    uint64_t stop;
    size_t at;

    (void)state;
    lab_need_program("sort");
    run = lab_take(lab_live("sort", "400", NULL, NULL));
    at = BEHIND_THE_START;
    while (run.instructions[at].access_count ||
           next_at(&run, at + 1, run.instructions[at].ip) == run.count)
        at++;
    stop = run.instructions[at].ip;
    at = next_at(&run, 0, stop);
    source = lab_live("sort", "400", NULL, NULL);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(trace_source_run_natively(source, &stop, 1), TRACE_OK);
        if (i < 4)
            at = next_at(&run, at + 1, stop);
    }
    assert_int_equal(trace_source_next(source, &now), TRACE_OK);
    assert_int_equal(now.ip, stop);
    rest_is(source, &run, at + 1);
    trace_source_close(source);
    lab_free(&run);
}

static void without_a_stop_the_program_runs_to_its_end(const char *program)
{
    const uint64_t nowhere = 0x10;
    struct trace_instruction now;
    struct trace_source *source;
    struct lab_run run;

    lab_need_program(program);
    run = lab_take(lab_live(program, "1", NULL, NULL));
    source = lab_live(program, "1", NULL, NULL);
    assert_int_equal(trace_source_run_natively(source, &nowhere, 1), TRACE_END);
    assert_int_equal(trace_source_next(source, &now), TRACE_END);
    assert_int_equal(source->end.how, run.end.how);
    assert_int_equal(source->end.status, run.end.status);
    assert_int_equal(source->end.threads, run.end.threads);
    assert_int_equal(source->end.processes, run.end.processes);
    trace_source_close(source);
    lab_free(&run);
}

static void programs_of_every_kind_run_natively_to_their_end(void **state)
{
    static const char *const programs[] = {"sort",  "threads", "forks",         "signals",
                                           "exit7", "crash",   "self_modifying"};

    (void)state;
    for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++)
        without_a_stop_the_program_runs_to_its_end(programs[i]);
}

static void a_thread_that_reaches_the_stop_stops_them_all(void **state)
{
    struct trace_instruction now;
    struct trace_source *source;
    struct lab_run run;
    uint64_t stop = 0;

    (void)state;
    lab_need_program("threads");
    run = lab_take(lab_live("threads", "3000", NULL, NULL));
    for (size_t i = run.count; i-- > BEHIND_THE_START && !stop;)
        if (run.instructions[i].thread != 0)
            stop = run.instructions[i].ip;
    assert_true(stop);
    source = lab_live("threads", "3000", NULL, NULL);
    assert_int_equal(trace_source_run_natively(source, &stop, 1), TRACE_OK);
    assert_int_equal(trace_source_next(source, &now), TRACE_OK);
    assert_int_equal(now.ip, stop);
    assert_true(lab_drain(source, TRACE_END) > 10);
    assert_int_equal(source->end.status, run.end.status);
    assert_int_equal(source->end.threads, run.end.threads);
    trace_source_close(source);
    lab_free(&run);
}

static void a_snippet_leaves_nothing_out(void **state)
{
    const uint64_t nowhere = 0x10;
    struct trace_source *source;

    (void)state;
    lab_need_snippets();
    source = lab_snippet("nop\n");
    assert_int_equal(trace_source_run_natively(source, &nowhere, 1), TRACE_ERROR);
    assert_string_equal(source->error, "a snippet cannot leave parts out");
    trace_source_close(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_a_gap_the_run_goes_on_as_without_it),
        cmocka_unit_test(the_instruction_it_stands_at_is_not_a_stop),
        cmocka_unit_test(programs_of_every_kind_run_natively_to_their_end),
        cmocka_unit_test(a_thread_that_reaches_the_stop_stops_them_all),
        cmocka_unit_test(a_snippet_leaves_nothing_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
