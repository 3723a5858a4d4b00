/* Files of samples: what is written is read, cut short or damaged files are dealt with as told. */
#define _GNU_SOURCE
#include "lab.h"
#include "form.h"
#include "tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

enum { MANY = 20000 }; /* several chunks */

static void assert_sample(const struct samples_sample *read, uint64_t number, bool wide)
{
    struct samples_sample made;
    uint64_t frames[SAMPLES_CHAIN];
    lab_sample(number, wide, &made, frames);
    assert_memory_equal(&read->about, &made.about, sizeof made.about);
    assert_int_equal(read->event, made.event);
    assert_int_equal(read->skid_known, made.skid_known);
    assert_int_equal(read->chain, made.chain);
    assert_int_equal(read->frames, made.frames);
    if (made.frames)
        assert_memory_equal(read->frame, frames, made.frames * sizeof frames[0]);
}

static void round_trip(bool wide)
{
    const char *path = lab_path("round");
    lab_write(path, MANY, wide, true);
    struct samples *samples = lab_read(path);
    assert_true(samples->complete);
    assert_int_equal(samples->count, MANY);
    for (size_t i = 0; i < samples->count; i++)
        assert_sample(&samples->sample[i], i, wide);
    assert_string_equal(samples->about.program, "/usr/bin/made up");
    assert_int_equal(samples->about.event[1].period, 777);
    assert_int_equal(samples->about.event[1].how, SIM_BY_PEBS);
    assert_true(samples->end.counted[0] && !samples->end.counted[1]);
    assert_int_equal(samples->end.count[0], 4711);
    assert_int_equal(samples->end.totals.lost_records, 3);
    samples_free(samples);
    unlink(path);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    round_trip(false);
    round_trip(true);
}

static void code_exact_counts_and_objects_are_found_by_address(void **state)
{
    const char *path = lab_path("found");
    (void)state;
    lab_write(path, 1, false, true);
    struct samples *samples = lab_read(path);
    assert_int_equal(samples_code_at(samples, 0, 0x8048007)->ip, 0x8048007);
    assert_null(samples_code_at(samples, 1, 0x8048007));
    assert_int_equal(samples_exact_at(samples, 1, 0, 0x8048007), 7);
    assert_int_equal(samples_exact_at(samples, 0, 0, 0x8048007), 0);
    assert_string_equal(samples_object_at(samples, 0, 0x8048007)->path, "/usr/bin/made");
    assert_string_equal(samples_object_at(samples, 0, 0x8048807)->path, "/usr/bin/later");
    assert_null(samples_object_at(samples, 0, 0x8049000));
    samples_free(samples);
    unlink(path);
}

static size_t load(const char *path, uint8_t **bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size_t count = (size_t)ftell(file);
    rewind(file);
    *bytes = malloc(count);
    assert_int_equal(fread(*bytes, 1, count, file), count);
    fclose(file);
    return count;
}

static void save(const char *path, const uint8_t *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static void a_file_cut_short_is_read_up_to_there(void **state)
{
    const char *path = lab_path("cut");
    uint8_t *bytes;
    size_t last = SIZE_MAX;
    (void)state;
    lab_write(path, MANY, false, true);
    size_t count = load(path, &bytes);
    for (size_t keep = count - 1; keep > 600; keep = keep * 3 / 4) {
        save(path, bytes, keep);
        struct samples *samples = lab_read(path);
        assert_false(samples->complete);
        assert_non_null(strstr(samples->missing, "the file"));
        assert_true(samples->count <= last && samples->count < MANY);
        for (size_t i = 0; i < samples->count; i += 97)
            assert_sample(&samples->sample[i], i, false);
        last = samples->count;
        samples_free(samples);
    }
    assert_true(last < MANY / 2);
    free(bytes);
    unlink(path);
}

static void a_run_that_was_not_ended_says_so(void **state)
{
    const char *path = lab_path("unended");
    (void)state;
    lab_write(path, 10, false, false);
    struct samples *samples = lab_read(path);
    assert_int_equal(samples->count, 10);
    assert_false(samples->complete);
    assert_string_equal(samples->missing, "the file has no end record");
    samples_free(samples);
    unlink(path);
}

/* Any byte changed is found: by a checksum, or because the header is no header. */
static void damage_is_an_error_that_says_where(void **state)
{
    const char *path = lab_path("damage");
    char error[512];
    uint8_t *bytes;
    (void)state;
    lab_write(path, 500, false, true);
    size_t count = load(path, &bytes);
    for (size_t i = 0; i < count; i += 1 + i / 50) {
        bytes[i] ^= 0x55;
        save(path, bytes, count);
        struct samples *samples = samples_read(path, error);
        /* a chunk that claims to be longer is one cut short */
        if (samples) {
            assert_false(samples->complete);
            samples_free(samples);
        } else {
            assert_non_null(strstr(error, path));
        }
        bytes[i] ^= 0x55;
    }
    free(bytes);
    unlink(path);
}

/* A chunk of BYTES as they are, with the checksum it should have. */
static size_t make_chunk(uint8_t *to, size_t room, const uint8_t *bytes, size_t count)
{
    size_t stored =
        ZSTD_compress(to + FORM_CHUNK_HEADER, room - FORM_CHUNK_HEADER, bytes, count, 1);
    memset(to, 0, FORM_CHUNK_HEADER);
    memcpy(to, FORM_CHUNK_MAGIC, 4);
    form_put(to + CHUNK_RAW_BYTES, count, 4);
    form_put(to + CHUNK_STORED_BYTES, stored, 4);
    form_put(to + CHUNK_CHECKSUM, XXH64(to, FORM_CHUNK_HEADER + stored, 0), 8);
    return FORM_CHUNK_HEADER + stored;
}

/* Whoever makes the checksum right can still write nonsense: it is refused, or read as it stands.
 */
static void hostile_records_do_no_harm(void **state)
{
    const char *path = lab_path("hostile");
    uint8_t *whole, raw[300], file[4096];
    char error[512];
    unsigned refused = 0;
    uint64_t chance = 1;
    (void)state;
    lab_write(path, 0, false, false);
    load(path, &whole);
    size_t header = FORM_HEADER + (size_t)form_get(whole + 12, 4);
    memcpy(file, whole, header);
    for (unsigned i = 0; i < 3000; i++) {
        for (unsigned b = 0; b < sizeof raw; b++) {
            chance = chance * 6364136223846793005u + 1442695040888963407u;
            raw[b] = (uint8_t)(chance >> 56);
        }
        raw[0] = (uint8_t)(1 + i % 5);
        size_t bytes = make_chunk(file + header, sizeof file - header, raw, 1 + i % sizeof raw);
        save(path, file, header + bytes);
        struct samples *samples = samples_read(path, error);
        refused += !samples;
        samples_free(samples);
    }
    assert_in_range(refused, 1000, 3000);
    free(whole);
    unlink(path);
}

static void other_files_are_refused(void **state)
{
    const char *path = lab_path("other");
    char error[512];
    (void)state;
    save(path, (const uint8_t *)"hello, this is some text and no file of samples", 40);
    assert_null(samples_read(path, error));
    assert_non_null(strstr(error, "not a file of samples"));
    unlink(path);
    assert_null(samples_read(path, error));
    assert_non_null(strstr(error, "No such file"));
}

static void a_full_disk_is_told(void **state)
{
    char error[512] = "";
    struct samples_about about = {.made_by = "t", .model = "m", .program = "p"};
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    struct samples_writer *writer = samples_create("/dev/full", &about, error);
    assert_non_null(writer);
    assert_false(samples_finish(writer, &(struct samples_end){0}, error));
    assert_non_null(strstr(error, "No space left"));
}

static void tallies_count_and_sort(void **state)
{
    struct tally tally = {0};
    char name[32];
    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "name %u", i % 1000);
        tally_add(&tally, i % 2, name, i % 1000, i % 1000 == 7 ? 5 : 1);
    }
    assert_int_equal(tally.count, 1000);
    tally_sort(&tally);
    assert_string_equal(tally.row[0].name, "name 7");
    assert_string_equal(tally.row[1].name, "name 0");
    assert_int_equal(tally.row[0].count[0] + tally.row[0].count[1], 15);
    tally_add(&tally, 0, "name 7", 7, 1); /* still known after sorting */
    assert_int_equal(tally.count, 1000);
    tally_sort_by_order(&tally);
    assert_string_equal(tally.row[999].name, "name 999");
    tally_sort_by_change(&tally);
    assert_string_equal(tally.row[0].name, "name 7");
    tally_free(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(code_exact_counts_and_objects_are_found_by_address),
        cmocka_unit_test(a_file_cut_short_is_read_up_to_there),
        cmocka_unit_test(a_run_that_was_not_ended_says_so),
        cmocka_unit_test(damage_is_an_error_that_says_where),
        cmocka_unit_test(hostile_records_do_no_harm),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(tallies_count_and_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
