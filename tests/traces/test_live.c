/*
 * The live source on programs of every kind: what is delivered, and how the run ends.
 */
#define _GNU_SOURCE
#include "lab.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* Each instruction leads to the next one of its thread, unless it says that something came between.
 */
static void assert_flows(const struct lab_run *run)
{
    const struct trace_instruction *before = NULL;

    for (size_t i = 0; i < run->count; i++) {
        const struct trace_instruction *now = &run->instructions[i];
        if (before && !(before->flags & TRACE_INTERRUPTED)) {
            assert_int_equal(before->next_ip, now->ip);
            assert_int_equal(before->thread, now->thread);
            assert_int_equal(before->process, now->process);
        }
        before = now;
    }
}

/* Code numbers are dense in order of first appearance, and one number is one address and length. */
static void assert_codes(const struct lab_run *run)
{
    struct trace_instruction *first = calloc(run->count, sizeof *first);
    uint32_t known = 0;

    for (size_t i = 0; i < run->count; i++) {
        const struct trace_instruction *now = &run->instructions[i];
        assert_true(now->code <= known);
        if (now->code == known)
            first[known++] = *now;
        assert_int_equal(first[now->code].ip, now->ip);
        assert_int_equal(first[now->code].length, now->length);
        assert_int_equal(first[now->code].process, now->process);
    }
    free(first);
}

static struct lab_run run_program(const char *program, const char *size)
{
    struct lab_run run;

    lab_need_program(program);
    run = lab_take(lab_live(program, size, NULL, NULL));
    assert_flows(&run);
    assert_codes(&run);
    return run;
}

static void a_program_ends_with_its_status(void **state)
{
    struct lab_run run = run_program("exit7", "5");

    (void)state;
    assert_int_equal(run.end.how, TRACE_ENDED_EXIT);
    assert_int_equal(run.end.status, 7);
    assert_true(run.instructions[run.count - 1].flags & TRACE_SYSTEM_CALL);
    lab_free(&run);
}

static void a_crash_ends_with_its_signal_and_the_faulting_instruction_does_not_count(void **state)
{
    struct lab_run run = run_program("crash", "5");
    const struct trace_instruction *last = &run.instructions[run.count - 1];

    (void)state;
    assert_int_equal(run.end.how, TRACE_ENDED_SIGNAL);
    assert_int_equal(run.end.status, SIGSEGV);
    assert_true(last->flags & TRACE_INTERRUPTED);
    for (unsigned i = 0; i < last->access_count; i++)
        assert_true(last->access[i].address > 4096);
    lab_free(&run);
}

static void two_runs_are_the_same_run(void **state)
{
    struct lab_run one = run_program("sort", "30"), other = run_program("sort", "30");

    (void)state;
    lab_assert_equal(&one, &other);
    lab_free(&one);
    lab_free(&other);
}

/* tls.s reads gs:4 in one block and fs:12 in another; its status shows that it found 5 and 9. */
static void segment_bases_are_those_of_the_descriptors(void **state)
{
    struct lab_run run = run_program("tls", NULL);
    const struct trace_instruction *end = run.instructions + run.count;
    const struct trace_instruction *gs_read = end - 6, *fs_read = end - 4, *gs_write = end - 3;

    (void)state;
    assert_int_equal(run.end.status, 14);
    assert_int_equal(gs_read->access_count, 1);
    assert_int_equal(fs_read->access_count, 1);
    assert_false(gs_read->access[0].write);
    assert_true(gs_write->access[0].write);
    assert_int_equal(gs_write->access[0].address, gs_read->access[0].address + 4);
    /* block stands 16 bytes below other */
    assert_int_equal(fs_read->access[0].address, gs_read->access[0].address - 4 + 16 + 12);
    lab_free(&run);
}

static void rewritten_code_gets_new_numbers_and_known_bytes_keep_theirs(void **state)
{
    struct lab_run run = run_program("self_modifying", "12");
    uint32_t numbers[16] = {0};
    unsigned different = 0, executed = 0;
    uint64_t made = 0;

    (void)state;
    for (size_t i = 0; i < run.count; i++) { /* mov eax, imm at the start of the mapped page */
        const struct trace_instruction *now = &run.instructions[i];
        if (now->length != 5 || (now->ip & 4095) || now->ip < 0xf0000000)
            continue;
        made = now->ip;
        executed++;
        unsigned k = 0;
        while (k < different && numbers[k] != now->code)
            k++;
        if (k == different)
            numbers[different++] = now->code;
    }
    assert_true(made != 0);
    assert_int_equal(executed, 13);
    assert_int_equal(different, 5); /* constants 0 to 3, then 1000 through read() */
    lab_free(&run);
}

static void repeated_string_instructions_are_one_instruction_each(void **state)
{
    struct lab_run run = run_program("strings", "1");
    unsigned forward = 0, backward = 0, none = 0;

    (void)state;
    for (size_t i = 0; i < run.count; i++) {
        const struct trace_instruction *now = &run.instructions[i];
        forward += now->repetitions == 3000 && !(now->flags & TRACE_REP_BACKWARD);
        backward += now->repetitions == 1500 && (now->flags & TRACE_REP_BACKWARD);
        none += now->repetitions == 0;
    }
    assert_int_equal(backward, 1);
    assert_true(forward >= 3); /* rep movsb, repne scasb, repe cmpsb */
    assert_true(none >= 1);    /* rep movsb with ecx = 0 */
    lab_free(&run);
}

static void processes_are_followed_with_their_own_numbers(void **state)
{
    struct lab_run run = run_program("forks", "20");
    uint64_t seen[8] = {0};

    (void)state;
    for (size_t i = 0; i < run.count; i++)
        seen[run.instructions[i].process]++;
    assert_int_equal(run.end.processes, 5); /* three children, one of them anew by exec */
    assert_int_equal(run.end.threads, 4);
    for (unsigned i = 0; i < 5; i++)
        assert_true(seen[i] > 100);
    assert_int_equal(run.end.status, 0);
    lab_free(&run);
}

static const struct trace_object *object_named(const struct trace_source *source, const char *part)
{
    size_t count;
    const struct trace_object *object = trace_source_objects(source, &count);

    for (size_t i = 0; i < count; i++)
        if (object[i].executable && strstr(object[i].path, part))
            return &object[i];
    return NULL;
}

static void mapped_files_are_known_by_name_as_soon_as_they_are_mapped(void **state)
{
    struct trace_source *source;
    struct trace_instruction instruction;
    const struct trace_object *program, *library = NULL;

    (void)state;
    lab_need_program("hash_table_dynamic");
    source = lab_live("hash_table_dynamic", "5", NULL, NULL);
    program = object_named(source, "/hash_table_dynamic");
    assert_non_null(program);
    assert_int_equal(program->process, 0);
    assert_int_equal(program->instruction, 0);
    assert_null(object_named(source, "/libc."));
    while (!library && trace_source_next(source, &instruction) == TRACE_OK)
        library = object_named(source, "/libc.");
    assert_non_null(library);
    assert_true(library->end > library->start && library->instruction > 0);
    assert_int_equal(library->build_id_bytes, 20); /* Debian builds its libc with a SHA-1 id */
    trace_source_close(source);
}

static void threads_are_followed_in_one_process(void **state)
{
    struct lab_run run = run_program("threads", "200");
    uint64_t seen[5] = {0};

    (void)state;
    for (size_t i = 0; i < run.count; i++) {
        assert_int_equal(run.instructions[i].process, 0);
        seen[run.instructions[i].thread]++;
    }
    assert_int_equal(run.end.threads, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_true(seen[i] > 1000);
    lab_free(&run);
}

static void signal_handlers_are_followed(void **state)
{
    struct lab_run run = run_program("signals", "3");
    unsigned interrupted = 0;

    (void)state;
    for (size_t i = 0; i < run.count; i++)
        interrupted += !!(run.instructions[i].flags & TRACE_INTERRUPTED);
    assert_int_equal(run.end.signals, 3 * 4); /* raise, int3, two faults; the ignored one is none */
    assert_true(interrupted >= 12);
    assert_int_equal(run.end.how, TRACE_ENDED_EXIT);
    lab_free(&run);
}

static void a_64_bit_child_is_reported_as_uncounted(void **state)
{
    struct lab_run run = run_program("runs64", NULL);

    (void)state;
    assert_int_equal(run.end.uncounted_processes, 1);
    assert_non_null(strstr(run.end.note, "64-bit"));
    assert_int_equal(run.end.status, 0);
    lab_free(&run);
}

struct way {
    const char *name;
    unsigned how, processes, threads;
    int status;
};

/* families.c with each of its ways to begin and end. */
static const struct way ways[] = {
    {"vfork", TRACE_ENDED_EXIT, 2, 2, 4},
    {"thread-execs", TRACE_ENDED_EXIT, 2, 2, 3},
    {"thread-ends-all", TRACE_ENDED_EXIT, 1, 2, 5},
    {"leader-ends-first", TRACE_ENDED_EXIT, 1, 2, 5},
    {"crash-beside-thread", TRACE_ENDED_SIGNAL, 1, 2, SIGSEGV},
    {"kill-sleeping-child", TRACE_ENDED_EXIT, 2, 2, SIGKILL},
    {"terminate-spinning-child", TRACE_ENDED_EXIT, 2, 2, SIGTERM},
    {"become-64-bit", TRACE_ENDED_EXIT, 1, 1, 0},
};

static void every_way_to_begin_and_end_is_followed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct lab_run run = run_program("families", ways[i].name);
        if (run.end.status != ways[i].status || run.end.processes != ways[i].processes)
            print_error("%s: status %d\n", ways[i].name, run.end.status);
        assert_int_equal(run.end.how, ways[i].how);
        assert_int_equal(run.end.status, ways[i].status);
        assert_int_equal(run.end.processes, ways[i].processes);
        assert_int_equal(run.end.threads, ways[i].threads);
        lab_free(&run);
    }
}

static struct trace_source *to_interrupt;

static void on_alarm(int signal)
{
    (void)signal;
    trace_source_interrupt(to_interrupt);
}

/* The program would run for an hour; the alarm comes from outside like a Ctrl-C. */
static void an_interrupt_ends_the_run_and_completes_the_recording(void **state)
{
    char path[LAB_PATH_BYTES], error[512];
    struct trace_info info = {0};
    struct itimerval soon = {.it_value = {.tv_usec = 200000}};
    uint64_t count;
    int status;

    (void)state;
    lab_need_program("matrix");
    lab_path("interrupted", path);
    to_interrupt = lab_live("matrix", "1000", NULL, path);
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &soon, NULL);
    count = lab_drain(to_interrupt, TRACE_END);
    assert_int_equal(to_interrupt->end.how, TRACE_ENDED_CUT);
    trace_source_close(to_interrupt);
    assert_true(count > 0);
    assert_true(trace_file_info(path, true, &info, error, &status));
    assert_int_equal(info.instructions, count);
    assert_int_equal(info.end.how, TRACE_ENDED_CUT);
}

static void closing_in_mid_run_completes_the_recording(void **state)
{
    char path[LAB_PATH_BYTES], error[512];
    struct trace_instruction instruction;
    struct trace_source *source;
    struct trace_info info = {0};
    int status;

    (void)state;
    lab_need_program("threads");
    source = lab_live("threads", "200", NULL, lab_path("closed", path));
    for (int i = 0; i < 1000; i++)
        assert_int_equal(trace_source_next(source, &instruction), TRACE_OK);
    trace_source_close(source);
    assert_true(trace_file_info(path, true, &info, error, &status));
    assert_true(info.instructions >= 1000);
    assert_int_equal(info.end.how, TRACE_ENDED_CUT);
}

/* ---- what cannot be run ------------------------------------------------------------------------
 */

static void assert_refused(char *program, const char *because)
{
    char *argv[] = {program, NULL};
    struct trace_live_options options = {.argv = argv};
    char error[512] = "";
    int status = 0;

    assert_null(trace_open_live(&options, error, &status));
    if (!strstr(error, because))
        print_error("\"%s\" does not say \"%s\"\n", error, because);
    assert_non_null(strstr(error, because));
    assert_int_equal(status, 3);
}

static void each_unfit_program_is_refused_with_its_reason(void **state)
{
    char path[LAB_PATH_BYTES];
    static const char script[] = "#!/bin/sh\n";
    char reason[256];

    (void)state;
    if (!trace_live_possible(reason))
        skip();
    assert_refused((char *)(uintptr_t) "no-such-program-here", "no such program in PATH");
    assert_refused((char *)(uintptr_t) "./no-such-program", "no such program");
    assert_refused((char *)(uintptr_t) "/proc/self/exe", "64-bit program on a 32-bit model");
    assert_refused((char *)(uintptr_t) "/", "not a regular file");
    lab_write(lab_path("empty", path), NULL, 0);
    assert_refused(path, "not an ELF file");
    lab_write(lab_path("script", path), (const uint8_t *)script, sizeof script - 1);
    assert_refused(path, "name its interpreter: \"/bin/sh");
}

static void a_program_without_permission_is_refused(void **state)
{
    char path[LAB_PATH_BYTES], program[LAB_PATH_BYTES];
    size_t count;
    uint8_t *bytes;

    (void)state;
    lab_need_program("tls");
    snprintf(program, sizeof program, "%s/tls", PROGRAMS);
    bytes = lab_read(program, &count);
    lab_write(lab_path("no-permission", path), bytes, count); /* mode 0666 at most */
    free(bytes);
    assert_refused(path, "not executable");
}

static int clean(void **state)
{
    (void)state;
    lab_remove_folder();
    return 0;
}

/* ---- the clock and the monitoring hardware ------------------------------------------------------
 */

struct register_log {
    uint64_t accesses[4];
    uint64_t delivered, delivered_at_sync; /* instructions */
    bool early;                            /* an access came before the reader was told */
};

/* Every register counts the accesses of its kind, but for one that does not exist. */
static bool answer_registers(void *context, struct trace_register_access *access)
{
    struct register_log *log = context;

    if (access->index == 0x12345)
        return false;
    if (access->ask)
        return true;
    log->early |= log->delivered != log->delivered_at_sync;
    log->delivered_at_sync = UINT64_MAX;
    access->value = log->accesses[access->what]++;
    return true;
}

static void read_all(struct trace_source *source, struct register_log *log)
{
    struct trace_instruction now;
    enum trace_result result;
    uint64_t next_ip = 0;
    bool flows = false;

    while ((result = trace_source_next(source, &now)) != TRACE_END) {
        assert_int_not_equal(result, TRACE_ERROR);
        if (result == TRACE_SYNC) {
            log->delivered_at_sync = log->delivered;
            continue;
        }
        if (flows)
            assert_int_equal(now.ip, next_ip);
        next_ip = now.next_ip;
        flows = !(now.flags & TRACE_INTERRUPTED);
        log->delivered++;
    }
}

static void before_the_clock_or_a_counter_is_read_all_older_instructions_are_delivered(void **state)
{
    struct register_log log = {.delivered_at_sync = UINT64_MAX};
    struct trace_source *source;

    (void)state;
    lab_need_program("counters");
    source = lab_live("counters", "100", NULL, NULL);
    trace_source_answer(source, answer_registers, &log, 1);
    read_all(source, &log);
    trace_source_close(source);
    assert_false(log.early);
    assert_int_equal(log.accesses[TRACE_RDPMC], 2);
    assert_int_equal(log.accesses[TRACE_WRMSR], 3);
    assert_int_equal(log.accesses[TRACE_RDMSR], 1);
    assert_true(log.accesses[TRACE_RDTSC] >= 2);
}

static void an_access_that_is_refused_becomes_a_signal_of_the_program(void **state)
{
    struct register_log log = {.delivered_at_sync = UINT64_MAX};
    struct trace_source *source;

    (void)state;
    lab_need_program("counters");
    source = lab_live("counters", "fault", NULL, NULL);
    trace_source_answer(source, answer_registers, &log, 1);
    read_all(source, &log);
    assert_int_equal(source->end.signals, 2);
    assert_int_equal(source->end.how, TRACE_ENDED_EXIT);
    trace_source_close(source);
    assert_int_equal(log.accesses[TRACE_RDPMC], 1);
    assert_int_equal(log.accesses[TRACE_RDMSR] + log.accesses[TRACE_WRMSR], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_ends_with_its_status),
        cmocka_unit_test(a_crash_ends_with_its_signal_and_the_faulting_instruction_does_not_count),
        cmocka_unit_test(two_runs_are_the_same_run),
        cmocka_unit_test(segment_bases_are_those_of_the_descriptors),
        cmocka_unit_test(rewritten_code_gets_new_numbers_and_known_bytes_keep_theirs),
        cmocka_unit_test(repeated_string_instructions_are_one_instruction_each),
        cmocka_unit_test(processes_are_followed_with_their_own_numbers),
        cmocka_unit_test(mapped_files_are_known_by_name_as_soon_as_they_are_mapped),
        cmocka_unit_test(threads_are_followed_in_one_process),
        cmocka_unit_test(signal_handlers_are_followed),
        cmocka_unit_test(every_way_to_begin_and_end_is_followed),
        cmocka_unit_test(a_64_bit_child_is_reported_as_uncounted),
        cmocka_unit_test(an_interrupt_ends_the_run_and_completes_the_recording),
        cmocka_unit_test(closing_in_mid_run_completes_the_recording),
        cmocka_unit_test(each_unfit_program_is_refused_with_its_reason),
        cmocka_unit_test(a_program_without_permission_is_refused),
        cmocka_unit_test(
            before_the_clock_or_a_counter_is_read_all_older_instructions_are_delivered),
        cmocka_unit_test(an_access_that_is_refused_becomes_a_signal_of_the_program),
    };

    return cmocka_run_group_tests(tests, NULL, clean);
}
