/*
 * Windows: what lies in them is simulated and counted, what lies between them is executed and not
 * counted, and windows without anything between them change nothing.
 */
#include "sampling_lab.h"
#include "windows.h"

enum { COUNTER = 12, COUNTER_MSR = 0x300 + COUNTER };

static struct lab *run(uint64_t every, uint64_t length)
{
    struct lab *l = lab_new(ITERATIONS);
    count_instructions(l, COUNTER);
    sim_bench_windows(l->bench, every, length);
    start(l, by_interrupt(COUNTER, 500));
    finish(l);
    return l;
}

static uint64_t counted(struct lab *l)
{
    uint64_t value = 0;
    p4pmu_rdmsr(l->pmu, 0, COUNTER_MSR, &value);
    return l->seen.count * 500 + (value + 500) % (P4PMU_COUNTER_MASK + 1) % 500;
}

static void what_lies_in_windows_is_counted(void **state)
{
    (void)state;
    const uint64_t total = (uint64_t)ITERATIONS * PER_ITERATION, every = 1009, length = 100;
    struct lab *l = run(every, length);
    uint64_t skipped, last = total % every, wanted = total / every * length;
    wanted += last < length ? last : length;
    assert_int_equal(sim_bench_executed(l->bench, &skipped), total);
    assert_int_equal(total - skipped, wanted);
    assert_int_equal(counted(l), wanted);
    assert_in_range(l->seen.count, wanted / 500 - 1, wanted / 500);
    lab_free(l);
}

static void windows_with_nothing_between_them_are_the_whole_run(void **state)
{
    (void)state;
    struct lab *whole = run(0, 0), *windows = run(1009, 1009);
    assert_int_equal(whole->stats.clocks, windows->stats.clocks);
    assert_int_equal(whole->seen.count, windows->seen.count);
    for (size_t i = 0; i < whole->seen.count; i++)
        assert_int_equal(whole->seen.sample[i].ip, windows->seen.sample[i].ip);
    lab_free(whole);
    lab_free(windows);
}

/* An access to the counters between windows waits for the machine like any other. */
static enum trace_result next_with_access(struct trace_source *source,
                                          struct trace_instruction *out)
{
    static bool told;
    struct stream_source *s = (struct stream_source *)source;
    if (s->given == 150 && !told) {
        told = true;
        return TRACE_SYNC;
    }
    return stream_source_next(source, out);
}

static void an_access_between_windows_synchronises(void **state)
{
    (void)state;
    struct lab *l = lab_new(ITERATIONS);
    struct trace_source_ops ops = *l->source.source.ops;
    struct trace_instruction in;
    struct windows w = {.every = 200, .length = 100};
    ops.next = next_with_access;
    l->source.source.ops = &ops;
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(windows_next(&w, &l->source.source, NULL, &in), TRACE_OK);
    assert_int_equal(in.flags & TRACE_INTERRUPTED, TRACE_INTERRUPTED);
    assert_int_equal(windows_next(&w, &l->source.source, NULL, &in), TRACE_SYNC);
    assert_int_equal(w.skipped, 50);
    assert_int_equal(windows_next(&w, &l->source.source, NULL, &in), TRACE_OK);
    assert_int_equal(w.skipped, 100);
    assert_int_equal(l->source.given, 201);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_in_windows_is_counted),
        cmocka_unit_test(windows_with_nothing_between_them_are_the_whole_run),
        cmocka_unit_test(an_access_between_windows_synchronises),
    };
    return cmocka_run_group_tests(tests, northwood_load, northwood_free);
}
