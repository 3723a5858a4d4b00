/*
 * The oracle over real programs: interpreted and stepped by the processor alone, they deliver the
 * same instructions, addresses and accesses, and know the same code.
 */
#include "lab.h"

#include <stdio.h>

static struct lab_run take(const char *program, const char *argument, bool native_only)
{
    lab_need_program(program);
    return lab_take(lab_live_how(program, argument, native_only));
}

static void assert_same_both_ways(const char *program, const char *argument)
{
    struct lab_run interpreted = take(program, argument, false);
    struct lab_run native = take(program, argument, true);

    lab_assert_equal(&interpreted, &native);
    assert_int_equal(native.end.interpreted, 0);
    assert_int_equal(native.end.stepped, native.count);
    assert_int_equal(interpreted.end.interpreted + interpreted.end.stepped, interpreted.count);
    lab_free(&interpreted);
    lab_free(&native);
}

static void arithmetic_and_branches(void **state)
{
    (void)state;
    assert_same_both_ways("sort", "20");
}

static void string_instructions_and_the_string_functions_of_the_c_library(void **state)
{
    (void)state;
    assert_same_both_ways("strings", "1");
}

static void floating_point(void **state)
{
    (void)state;
    assert_same_both_ways("floats", "1");
}

static void signals_and_faults(void **state)
{
    (void)state;
    assert_same_both_ways("signals", "1");
    assert_same_both_ways("crash", "1");
}

static void code_that_is_rewritten(void **state)
{
    (void)state;
    assert_same_both_ways("self_modifying", "12");
}

static void segments_and_processor_identification(void **state)
{
    (void)state;
    assert_same_both_ways("tls", NULL);
    assert_same_both_ways("processor", NULL);
}

static void child_processes(void **state)
{
    (void)state;
    assert_same_both_ways("families", "vfork");
    assert_same_both_ways("forks", "1");
}

static void programs_of_64_bit_mode(void **state)
{
    static const char *const programs[][2] = {
        {"sort_64", "5"},  {"floats_64", "1"},          {"signals_64", "1"},
        {"crash_64", "1"}, {"self_modifying_64", "12"}, {"forks_64", "1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        assert_same_both_ways(programs[i][0], programs[i][1]);
}

/* A child that spins is still reached by its parent's signal. */
static void a_loop_without_system_calls_can_be_ended(void **state)
{
    struct lab_run run = take("families", "terminate-spinning-child", false);

    (void)state;
    assert_true(run.end.interpreted > 0);
    lab_free(&run);
}

static void nearly_everything_is_interpreted(void **state)
{
    struct lab_run run = take("hash_table", "500", false);

    (void)state;
    assert_true(run.end.stepped < run.count / 100);
    lab_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_and_branches),
        cmocka_unit_test(string_instructions_and_the_string_functions_of_the_c_library),
        cmocka_unit_test(floating_point),
        cmocka_unit_test(signals_and_faults),
        cmocka_unit_test(code_that_is_rewritten),
        cmocka_unit_test(segments_and_processor_identification),
        cmocka_unit_test(child_processes),
        cmocka_unit_test(programs_of_64_bit_mode),
        cmocka_unit_test(a_loop_without_system_calls_can_be_ended),
        cmocka_unit_test(nearly_everything_is_interpreted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
