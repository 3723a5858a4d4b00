/*
 * Recording and replay: a replay is the run it was made from, instruction by instruction and access
 * by access; damage anywhere is found and located, and what stands before it is delivered.
 */
#define _GNU_SOURCE
#include "lab.h"
#include "made.h"
#include "stream.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

/* ---- live and replay ---------------------------------------------------------------------------
 */

static void assert_replay_is_the_run(const char *program, const char *size)
{
    char path[LAB_PATH_BYTES];
    struct lab_run live, replay;

    lab_need_program(program);
    live = lab_take(lab_live(program, size, NULL, lab_path("run", path)));
    replay = lab_take(lab_file(path));
    assert_true(live.count > 0);
    lab_assert_equal(&live, &replay);
    assert_true(live.wrong_steps > 0);
    assert_int_equal(live.object_hash, replay.object_hash);
    assert_int_equal(live.wrong_steps, replay.wrong_steps);
    assert_int_equal(live.wrong_hash, replay.wrong_hash);
    lab_free(&live);
    lab_free(&replay);
}

static void the_replay_of_a_static_program_is_its_run(void **state)
{
    (void)state;
    assert_replay_is_the_run("hash_table", "50");
}

static void the_replay_of_a_dynamic_program_is_its_run(void **state)
{
    (void)state;
    assert_replay_is_the_run("hash_table_dynamic", "1");
}

static void the_replay_of_string_instructions_is_their_run(void **state)
{
    (void)state;
    assert_replay_is_the_run("strings", "1");
}

static void the_replay_of_forks_is_their_run(void **state)
{
    (void)state;
    assert_replay_is_the_run("forks", "10");
}

static void the_replay_of_threads_is_their_run(void **state)
{
    (void)state;
    assert_replay_is_the_run("threads", "50");
}

static void the_replay_of_signals_is_their_run(void **state)
{
    (void)state;
    assert_replay_is_the_run("signals", "2");
}

static void the_replay_of_a_crash_is_its_run(void **state)
{
    (void)state;
    assert_replay_is_the_run("crash", "3");
}

static void the_replay_of_self_modifying_code_is_its_run(void **state)
{
    (void)state;
    assert_replay_is_the_run("self_modifying", "20");
}

/* The traces of the repository, made by make-samples.sh, are in today's form and whole. */
static void the_committed_samples_replay(void **state)
{
    static const char *const names[] = {"hash_table", "sort",       "pointer_chase",
                                        "matrix",     "calculator", "floats",
                                        "crash",      "tls",        "markers"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[LAB_PATH_BYTES], error[512] = "";
        struct trace_info info = {0};
        struct trace_source *source;
        int status;
        snprintf(path, sizeof path, "%s/%s.p4t", SAMPLES, names[i]);
        assert_true(trace_file_info(path, true, &info, error, &status));
        assert_true(info.file_bytes < 300000);
        source = lab_file(path);
        assert_int_equal(lab_drain(source, TRACE_END), info.instructions);
        trace_source_close(source);
    }
}

/* ---- made-up runs ------------------------------------------------------------------------------
 */

static void made_up_runs_come_back_as_they_were(void **state)
{
    char path[LAB_PATH_BYTES];

    (void)state;
    lab_path("made", path);
    for (uint32_t seed = 1; seed <= 6; seed++) {
        struct lab_run made = made_run(path, seed, seed * 60000, seed * 9000);
        struct lab_run read = lab_take(lab_file(path));
        made.code_hash = read.code_hash;
        lab_assert_equal(&made, &read);
        lab_free(&made);
        lab_free(&read);
    }
}

/* From the middle on, at a checkpoint and between two, the replay is the rest of the run. */
static void a_replay_from_the_middle_is_the_rest_of_the_run(void **state)
{
    static const uint64_t starts[] = {0, 1, 9999, 10000, 10001, 33333, 40007, 99998};
    char path[LAB_PATH_BYTES], error[512];
    struct lab_run made = made_run(lab_path("middle", path), 8, 100000, 10000);
    int status;

    (void)state;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        struct trace_source *source = trace_open_file_at(path, starts[i], error, &status);
        struct trace_instruction now;
        assert_non_null(source);
        for (size_t at = starts[i]; at < made.count; at++) {
            assert_int_equal(trace_source_next(source, &now), TRACE_OK);
            assert_int_equal(now.ip, made.instructions[at].ip);
            assert_int_equal(now.next_ip, made.instructions[at].next_ip);
            assert_int_equal(now.flags, made.instructions[at].flags);
            assert_int_equal(now.thread, made.instructions[at].thread);
            assert_int_equal(now.access_count, made.instructions[at].access_count);
            for (unsigned k = 0; k < now.access_count; k++)
                assert_int_equal(now.access[k].address, made.instructions[at].access[k].address);
        }
        assert_int_equal(lab_drain(source, TRACE_END), 0);
        trace_source_close(source);
    }
    assert_null(trace_open_file_at(path, 100001, error, &status));
    assert_non_null(strstr(error, "it has 100000 instructions"));
    lab_free(&made);
}

static void the_info_tells_what_was_recorded(void **state)
{
    char path[LAB_PATH_BYTES], error[512];
    struct lab_run made = made_run(lab_path("made", path), 3, 50000, 20000);
    struct trace_info quick = {0}, thorough = {0};
    int status;

    (void)state;
    assert_true(trace_file_info(path, false, &quick, error, &status));
    assert_true(trace_file_info(path, true, &thorough, error, &status));
    assert_true(quick.complete);
    assert_int_equal(quick.instructions, 50000);
    assert_int_equal(thorough.instructions, 50000);
    assert_int_equal(quick.codes, thorough.codes);
    assert_string_equal(quick.program, MADE_PROGRAM);
    assert_string_equal(quick.end.note, MADE_NOTE);
    assert_int_equal(quick.end.how, TRACE_ENDED_SIGNAL);
    assert_int_equal(quick.end.signals, 9);
    lab_free(&made);
}

/* ---- damage ------------------------------------------------------------------------------------
 */

/* Reads what can be read; the instructions before the damage must be those of the run. */
static size_t read_damaged(const char *path, const struct lab_run *run, char error[512])
{
    struct trace_instruction instruction;
    struct trace_source *source;
    enum trace_result result;
    size_t count = 0;
    int status = 0;

    error[0] = 0;
    source = trace_open_file(path, error, &status);
    if (!source) {
        assert_int_equal(status, 3);
        return 0;
    }
    while ((result = trace_source_next(source, &instruction)) == TRACE_OK) {
        assert_true(count < run->count);
        assert_int_equal(instruction.ip, run->instructions[count].ip);
        count++;
    }
    if (result == TRACE_ERROR) {
        assert_int_equal(source->error_status, 3);
        snprintf(error, 512, "%s", source->error);
        assert_int_equal(trace_source_next(source, &instruction), TRACE_ERROR);
    }
    trace_source_close(source);
    return count;
}

/* Every place near both ends of the file, where header and trailer are; steps in between. */
static size_t next_place(size_t at, size_t size, size_t step)
{
    if (at < 300 || at + 300 >= size)
        return at + 1;
    return at + 300 + step < size ? at + step : size - 300;
}

static void a_flipped_bit_anywhere_is_found_and_located(void **state)
{
    char path[LAB_PATH_BYTES], error[512];
    struct lab_run run = made_run(lab_path("bits", path), 5, 60000, 20000);
    size_t size, step;
    uint8_t *bytes = lab_read(path, &size);

    (void)state;
    step = size / 700 + 1;
    for (size_t at = 0; at < size; at = next_place(at, size, step)) {
        bytes[at] ^= (uint8_t)(1 << at % 8);
        lab_write(path, bytes, size);
        size_t count = read_damaged(path, &run, error);
        if (!error[0])
            print_error("a flip at offset %zu was not noticed\n", at);
        assert_int_not_equal(error[0], 0);
        assert_non_null(strstr(error, path));
        assert_true(count <= run.count);
        bytes[at] ^= (uint8_t)(1 << at % 8);
    }
    free(bytes);
    lab_free(&run);
}

static void a_file_truncated_anywhere_is_found_and_read_up_to_there(void **state)
{
    char path[LAB_PATH_BYTES], error[512];
    struct lab_run run = made_run(lab_path("short", path), 6, 100000, 20000);
    size_t size, most = 0, step;
    uint8_t *bytes = lab_read(path, &size);

    (void)state;
    step = size / 300 + 1;
    for (size_t length = 0; length < size; length = next_place(length, size, step)) {
        lab_write(path, bytes, length);
        size_t count = read_damaged(path, &run, error);
        assert_int_not_equal(error[0], 0);
        assert_true(count >= most); /* a longer rest never gives less */
        most = count;
    }
    assert_int_equal(most, run.count); /* only the trailer's end was missing */
    lab_write(path, bytes, size);
    assert_int_equal(read_damaged(path, &run, error), run.count);
    assert_string_equal(error, "");
    free(bytes);
    lab_free(&run);
}

/* Chunks with right checksums but wrong contents: read without harm, to an end or an error. */
static void hostile_chunks_do_no_harm(void **state)
{
    static uint8_t raw[STREAM_CHUNK_RAW_MAX];
    char path[LAB_PATH_BYTES];
    struct lab_run run = made_run(lab_path("hostile", path), 7, 3000, 0);
    size_t size, header, stored, raw_bytes;
    uint8_t *bytes = lab_read(path, &size), *made = malloc(1 << 20);
    uint32_t random = 99;

    (void)state;
    header = STREAM_HEADER_FIXED + stream_get32(bytes + 12) + 8;
    stored = stream_get32(bytes + header + CHUNK_STORED_BYTES);
    raw_bytes = ZSTD_decompress(raw, sizeof raw, bytes + header + STREAM_CHUNK_HEADER, stored);
    assert_int_equal(raw_bytes, stream_get32(bytes + header + CHUNK_RAW_BYTES));
    memcpy(made, bytes, header + STREAM_CHUNK_HEADER);
    for (int round = 0; round < 3000; round++) {
        struct trace_instruction instruction;
        struct trace_source *source;
        uint8_t kept[4];
        size_t at[4], packed;
        for (int i = 0; i < 4; i++) {
            random = random * 1664525u + 1013904223u;
            at[i] = (random >> 4) % raw_bytes;
            kept[i] = raw[at[i]];
            raw[at[i]] = (uint8_t)(random >> 20);
        }
        packed = ZSTD_compress(made + header + STREAM_CHUNK_HEADER, 1 << 19, raw, raw_bytes, 1);
        stream_put32(made + header + CHUNK_STORED_BYTES, (uint32_t)packed);
        stream_put64(made + header + CHUNK_CHECKSUM, 0);
        stream_put64(made + header + CHUNK_CHECKSUM,
                     XXH64(made + header, STREAM_CHUNK_HEADER + packed, 0));
        lab_write(path, made, header + STREAM_CHUNK_HEADER + packed);
        source = lab_file(path);
        size_t count = 0;
        while (trace_source_next(source, &instruction) == TRACE_OK)
            count++;
        assert_true(count <= 3000);
        assert_int_not_equal(source->error[0], 0); /* at the latest, the trailer is missing */
        trace_source_close(source);
        for (int i = 4; i-- > 0;)
            raw[at[i]] = kept[i];
    }
    free(made);
    free(bytes);
    lab_free(&run);
}

static void assert_not_opened(const char *path, const char *because)
{
    char error[512] = "";
    int status = 0;

    assert_null(trace_open_file(path, error, &status));
    assert_non_null(strstr(error, because));
    assert_int_equal(status, 3);
}

static void what_is_no_recording_is_refused_with_its_reason(void **state)
{
    static const uint8_t text[] = "this is not a recorded run, just some text";
    char path[LAB_PATH_BYTES];
    struct lab_run run = made_run(lab_path("version", path), 1, 10, 0);
    size_t size;
    uint8_t *bytes = lab_read(path, &size);

    (void)state;
    bytes[8] = 99;
    lab_write(path, bytes, size);
    assert_not_opened(path, "offset 8: trace version 99, expected 2 to 4");
    lab_write(path, text, sizeof text);
    assert_not_opened(path, "offset 0: not a recorded run");
    lab_write(path, text, 3);
    assert_not_opened(path, "3 bytes are not a recorded run");
    assert_not_opened("/nonexistent/trace", "cannot open the trace");
    assert_not_opened("/", "not a regular file");
    free(bytes);
    lab_free(&run);
}

/* ---- a full disk -------------------------------------------------------------------------------
 */

static void recording_to_a_full_disk_is_refused_at_once(void **state)
{
    char program[LAB_PATH_BYTES], error[512] = "";
    char *argv[] = {program, NULL};
    struct trace_live_options options = {.argv = argv, .record_to = "/dev/full"};
    int status = 0;

    (void)state;
    lab_need_program("tls");
    snprintf(program, sizeof program, "%s/tls", PROGRAMS);
    assert_null(trace_open_live(&options, error, &status));
    assert_non_null(strstr(error, "/dev/full"));
    assert_non_null(strstr(error, "No space left"));
    assert_int_equal(status, 3);
}

/* The disk fills when the first chunk is written, here by a limit on the size of files. */
static void a_disk_that_fills_in_mid_run_is_reported_and_the_counts_stand(void **state)
{
    struct rlimit usual, small;
    char path[LAB_PATH_BYTES];
    struct trace_source *source;

    (void)state;
    lab_need_program("exit7");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &usual);
    small = usual;
    small.rlim_cur = 5000;
    source = lab_live("exit7", "5", NULL, lab_path("filled", path));
    setrlimit(RLIMIT_FSIZE, &small);
    assert_true(lab_drain(source, TRACE_ERROR) > 30000);
    setrlimit(RLIMIT_FSIZE, &usual);
    assert_non_null(strstr(source->error, path));
    assert_non_null(strstr(source->error, "writing the recording failed"));
    assert_int_equal(source->error_status, 3);
    trace_source_close(source);
}

static int clean(void **state)
{
    (void)state;
    lab_remove_folder();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_replay_of_a_static_program_is_its_run),
        cmocka_unit_test(the_replay_of_a_dynamic_program_is_its_run),
        cmocka_unit_test(the_replay_of_string_instructions_is_their_run),
        cmocka_unit_test(the_replay_of_forks_is_their_run),
        cmocka_unit_test(the_replay_of_threads_is_their_run),
        cmocka_unit_test(the_replay_of_signals_is_their_run),
        cmocka_unit_test(the_replay_of_a_crash_is_its_run),
        cmocka_unit_test(the_replay_of_self_modifying_code_is_its_run),
        cmocka_unit_test(the_committed_samples_replay),
        cmocka_unit_test(made_up_runs_come_back_as_they_were),
        cmocka_unit_test(a_replay_from_the_middle_is_the_rest_of_the_run),
        cmocka_unit_test(the_info_tells_what_was_recorded),
        cmocka_unit_test(a_flipped_bit_anywhere_is_found_and_located),
        cmocka_unit_test(a_file_truncated_anywhere_is_found_and_read_up_to_there),
        cmocka_unit_test(hostile_chunks_do_no_harm),
        cmocka_unit_test(what_is_no_recording_is_refused_with_its_reason),
        cmocka_unit_test(recording_to_a_full_disk_is_refused_at_once),
        cmocka_unit_test(a_disk_that_fills_in_mid_run_is_reported_and_the_counts_stand),
    };

    return cmocka_run_group_tests(tests, NULL, clean);
}
