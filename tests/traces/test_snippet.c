/* Assembled snippets: what is delivered is the snippet, nothing before and nothing behind it. */
#define _GNU_SOURCE
#include "lab.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void exactly_the_snippet_is_delivered(void **state)
{
    struct lab_run run;

    (void)state;
    lab_need_snippets();
    run = lab_take(lab_snippet("        mov $3, %ecx\n"
                               "1:      push %ecx\n"
                               "        pop %eax\n"
                               "        loop 1b\n"
                               "        nop\n"));
    assert_int_equal(run.count, 1 + 3 * 3 + 1);
    assert_int_equal(run.end.how, TRACE_ENDED_SNIPPET);
    for (size_t i = 0; i < run.count; i++) /* numbered from 0 in order of appearance */
        assert_true(run.instructions[i].code <= 4);
    assert_int_equal(run.instructions[0].code, 0);
    assert_int_equal(run.instructions[run.count - 1].code, 4);
    assert_int_equal(run.instructions[run.count - 1].next_ip,
                     run.instructions[run.count - 1].ip + 1);
    assert_int_equal(run.instructions[run.count - 1].flags, 0);
    lab_free(&run);
}

/* The recording of a snippet has no instruction more and none less than its run. */
static void the_recording_is_the_run(void **state)
{
    static const char text[] = "        nop\n        nop\n";
    static const char path[] = "test_snippet.p4t";
    char error[512];
    int status;

    (void)state;
    lab_need_snippets();
    struct lab_run run = lab_take(lab_snippet(text));
    if (!trace_record_snippet(text, "nops", path, NULL, NULL, error, &status))
        fail_msg("%s", error);
    struct trace_source *source = trace_open_file(path, error, &status);
    assert_non_null(source);
    struct lab_run replay = lab_take(source);
    assert_int_equal(replay.count, run.count);
    assert_int_equal(replay.instructions[0].ip, run.instructions[0].ip);
    lab_free(&run);
    lab_free(&replay);
    unlink(path);
}

static void intel_syntax_and_data_work(void **state)
{
    struct lab_run run;

    (void)state;
    lab_need_snippets();
    run = lab_take(lab_snippet(".intel_syntax noprefix\n"
                               "        mov eax, [number]\n"
                               "        mov [number + 4], eax\n"
                               "        .data\n"
                               "number: .long 5, 0\n"));
    assert_int_equal(run.count, 2);
    assert_int_equal(run.instructions[1].access[0].address,
                     run.instructions[0].access[0].address + 4);
    assert_true(run.instructions[1].access[0].write);
    lab_free(&run);
}

static void cpuid_is_the_models(void **state)
{
    struct lab_run run;

    (void)state;
    lab_need_snippets();
    run = lab_take(lab_snippet("        xor %eax, %eax\n"
                               "        cpuid\n"
                               "        cmp $0x756e6547, %ebx\n" /* Genu */
                               "        je 1f\n"
                               "        ud2\n"
                               "1:\n"));
    assert_int_equal(run.count, 4);
    assert_int_equal(run.end.how, TRACE_ENDED_SNIPPET);
    lab_free(&run);
}

static void the_clock_counts_executed_instructions(void **state)
{
    struct lab_run run;

    (void)state;
    lab_need_snippets();
    run = lab_take(lab_snippet("        rdtsc\n"
                               "        mov %eax, %ecx\n"
                               "        nop\n"
                               "        rdtsc\n"
                               "        sub %ecx, %eax\n"
                               "        cmp $3, %eax\n"
                               "        je 1f\n"
                               "        ud2\n"
                               "1:\n"));
    assert_int_equal(run.count, 7);
    assert_int_equal(run.end.how, TRACE_ENDED_SNIPPET);
    lab_free(&run);
}

static void pushed_flags_do_not_show_the_stepping(void **state)
{
    struct lab_run run;

    (void)state;
    lab_need_snippets();
    run = lab_take(lab_snippet("        pushf\n"
                               "        popf\n"
                               "        pushf\n"
                               "        pop %eax\n"
                               "        test $0x100, %eax\n"
                               "        jz 1f\n"
                               "        ud2\n"
                               "1:\n"));
    assert_int_equal(run.count, 6);
    lab_free(&run);
}

/* Loading SS holds off the trap of the step; both instructions count all the same. */
static void loading_ss_does_not_swallow_the_next_instruction(void **state)
{
    struct lab_run run;

    (void)state;
    lab_need_snippets();
    run = lab_take(lab_snippet("        mov %ss, %eax\n"
                               "        mov %eax, %ss\n"
                               "        nop\n"
                               "        push %ss\n"
                               "        pop %ss\n"
                               "        nop\n"));
    assert_int_equal(run.count, 6);
    lab_free(&run);
}

static void a_crash_in_a_snippet_ends_with_its_signal(void **state)
{
    struct lab_run run;

    (void)state;
    lab_need_snippets();
    run = lab_take(lab_snippet("        nop\n"
                               "        mov 0, %eax\n"));
    assert_int_equal(run.count, 1);
    assert_int_equal(run.end.how, TRACE_ENDED_SIGNAL);
    assert_int_equal(run.end.status, SIGSEGV);
    lab_free(&run);
}

static void the_assemblers_complaint_is_passed_on_with_its_line(void **state)
{
    char error[512] = "";
    int status = 0;

    (void)state;
    lab_need_snippets();
    assert_null(trace_open_snippet("nop\nfrobnicate %eax\n", "folder/loop.s", false, NULL, NULL,
                                   error, &status));
    assert_non_null(strstr(error, "loop.s:2"));
    assert_non_null(strstr(error, "frobnicate"));
    assert_int_equal(status, 3);
}

static void a_missing_assembler_is_named(void **state)
{
    char error[512] = "", *path = strdup(getenv("PATH"));
    int status = 0;

    (void)state;
    lab_need_snippets();
    setenv("PATH", "/nonexistent", 1);
    assert_null(trace_open_snippet("nop\n", NULL, false, NULL, NULL, error, &status));
    setenv("PATH", path, 1);
    free(path);
    assert_non_null(strstr(error, "`as`"));
    assert_non_null(strstr(error, "not installed"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_the_snippet_is_delivered),
        cmocka_unit_test(the_recording_is_the_run),
        cmocka_unit_test(intel_syntax_and_data_work),
        cmocka_unit_test(cpuid_is_the_models),
        cmocka_unit_test(the_clock_counts_executed_instructions),
        cmocka_unit_test(pushed_flags_do_not_show_the_stepping),
        cmocka_unit_test(loading_ss_does_not_swallow_the_next_instruction),
        cmocka_unit_test(a_crash_in_a_snippet_ends_with_its_signal),
        cmocka_unit_test(the_assemblers_complaint_is_passed_on_with_its_line),
        cmocka_unit_test(a_missing_assembler_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
