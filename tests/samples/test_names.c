/*
 * Names for addresses, data addresses, exports. The program whose names are asked for is this test
 * itself: it knows where its functions are.
 */
#define _GNU_SOURCE
#include "export.h"
#include "lab.h"
#include "objects.h"
#include "operand.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) int a_function_with_a_name(int value)
{
    return value * 3 + 1; /* line HERE */
}
enum { HERE = __LINE__ - 2 };

/* This process's own mappings as a run of process 0. */
static struct samples *myself(void)
{
    struct samples *samples = calloc(1, sizeof *samples);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4600];
    assert_non_null(samples);
    if (!maps)
        skip();
    samples->object = calloc(256, sizeof *samples->object);
    while (fgets(line, sizeof line, maps) && samples->object_count < 256) {
        struct trace_object *object = &samples->object[samples->object_count];
        unsigned long long start, end, offset;
        char access[8];
        if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %255s", &start, &end, access, &offset,
                   object->path) != 5)
            continue;
        object->start = start;
        object->end = end;
        object->offset = offset;
        object->executable = access[2] == 'x';
        object->build_id_bytes = (uint8_t)object_build_id(object->path, object->build_id);
        samples->object_count++;
    }
    fclose(maps);
    return samples;
}

static uint64_t address_of(int (*function)(int))
{
    uint64_t address = 0;
    memcpy(&address, &function, sizeof function);
    return address;
}

static void functions_and_lines_have_names(void **state)
{
    struct samples *samples = myself();
    struct places *places = places_new(samples);
    uint64_t address = address_of(a_function_with_a_name);
    (void)state;
    struct place place = places_find(places, 0, address + 1);
    assert_string_equal(place.function, "a_function_with_a_name");
    assert_int_equal(place.offset, 1);
    assert_int_equal(place.start, address);
    assert_true(place.size > 1);
    assert_string_equal(place.object, "test_samples_names");
    assert_non_null(place.file);
    assert_non_null(strstr(place.file, "test_names.c"));
    assert_in_range(place.line, HERE - 1, HERE + 1);
    assert_string_equal(places_find(places, 0, 12).object, "[unknown]");
    assert_null(places_trouble(places, 0));
    assert_true(places_function(places, 0, "a_function_with_a_name", &place));
    assert_int_equal(place.start, address);
    assert_false(places_function(places, 0, "no_such_function", &place));
    places_free(places);
    samples_free(samples);
}

static void code_is_read_from_the_file(void **state)
{
    struct samples *samples = myself();
    struct places *places = places_new(samples);
    uint64_t address = address_of(a_function_with_a_name);
    uint8_t bytes[4];
    (void)state;
    assert_int_equal(places_bytes(places, 0, address, bytes, sizeof bytes), sizeof bytes);
    assert_memory_equal(bytes, (const void *)(uintptr_t)address, sizeof bytes);
    places_free(places);
    samples_free(samples);
}

static void another_build_of_a_file_names_nothing(void **state)
{
    struct samples *samples = myself();
    uint64_t address = address_of(a_function_with_a_name);
    (void)state;
    for (size_t i = 0; i < samples->object_count; i++) {
        samples->object[i].build_id_bytes = 20;
        samples->object[i].build_id[0] ^= 1;
    }
    struct places *places = places_new(samples);
    assert_null(places_find(places, 0, address).function);
    assert_string_equal(places_find(places, 0, address).object, "test_samples_names");
    assert_non_null(strstr(places_trouble(places, 0), "build ids differ"));
    places_free(places);
    samples_free(samples);
}

/* ---- data addresses ----------------------------------------------------------------------------
 */

/* EAX 1000h, EBX 2000h, ... by their place in a PEBS record. */
static bool address_in(const char *bytes, size_t length, bool wide, uint64_t *address,
                       const char **why)
{
    struct operands *operands = operands_new(wide);
    struct samples_code code = {.length = (uint8_t)length, .ip = 0x401000};
    struct sim_sample sample = {.registers_known = true};
    memcpy(code.bytes, bytes, length);
    for (unsigned i = 2; i < P4PMU_PEBS_REGISTERS; i++)
        sample.registers.value[i] = 0x1000 * (i - 1);
    bool known = operand_address(operands, &code, &sample, address, why);
    operands_free(operands);
    return known;
}

#define ADDRESS(wide, bytes, expected)                                                             \
    do {                                                                                           \
        uint64_t address = 0;                                                                      \
        const char *why;                                                                           \
        assert_true(address_in(bytes, sizeof bytes - 1, wide, &address, &why));                    \
        assert_int_equal(address, expected);                                                       \
    } while (0)
#define NO_ADDRESS(wide, bytes, reason)                                                            \
    do {                                                                                           \
        uint64_t address;                                                                          \
        const char *why;                                                                           \
        assert_false(address_in(bytes, sizeof bytes - 1, wide, &address, &why));                   \
        assert_non_null(strstr(why, reason));                                                      \
    } while (0)

static void data_addresses_follow_from_registers_and_operand(void **state)
{
    (void)state;
    ADDRESS(false, "\x8b\x00", 0x1000);                             /* mov eax, [eax] */
    ADDRESS(false, "\x8b\x44\x8b\x10", 0x2000 + 4 * 0x3000 + 0x10); /* mov eax, [ebx+ecx*4+10h] */
    ADDRESS(false, "\x03\x1d\x78\x56\x34\x12", 0x12345678);         /* add ebx, [12345678h] */
    ADDRESS(false, "\x8b\x40\xff", 0xFFF);                          /* mov eax, [eax-1] */
    ADDRESS(false, "\x50", 0x8000 - 4);                             /* push eax */
    ADDRESS(false, "\xc3", 0x8000);                                 /* ret */
    ADDRESS(false, "\xa5", 0x5000);                                 /* movsd: [esi] is read */
    ADDRESS(false, "\xff\x30", 0x1000);                             /* push dword [eax]: the load */
    ADDRESS(true, "\x49\x8b\x00", 0x9000);                          /* mov rax, [r8] */
    ADDRESS(true, "\x8b\x05\x10\x00\x00\x00", 0x401016);            /* mov eax, [rip+10h] */
    NO_ADDRESS(false, "\x01\xd8", "no memory");                     /* add eax, ebx */
    NO_ADDRESS(false, "\x8d\x00", "no memory");                     /* lea eax, [eax] */
    NO_ADDRESS(false, "\x65\xa1\x14\x00\x00\x00", "segment");       /* mov eax, gs:[14h] */
    NO_ADDRESS(false, "\x0f", "not known");
}

static void a_sample_without_registers_has_no_address(void **state)
{
    struct operands *operands = operands_new(false);
    struct samples_code code = {.length = 2, .bytes = {0x8b, 0x00}};
    struct sim_sample sample = {0};
    uint64_t address;
    const char *why;
    (void)state;
    assert_false(operand_address(operands, &code, &sample, &address, &why));
    assert_non_null(strstr(why, "no registers"));
    operands_free(operands);
}

/* ---- exports -----------------------------------------------------------------------------------
 */

/* Three samples in this test: two in the named function called from an unknown place, one outside.
 */
static struct samples *three(uint64_t frame[1])
{
    struct samples *samples = myself();
    samples->about = (struct samples_about){.made_by = "p4sim test",
                                            .model = "northwood",
                                            .program = "/bin/prog --option",
                                            .core_mhz = 1000,
                                            .event_count = 1,
                                            .event = {{"instr_retired", 12, 0, SIM_BY_PMI, 100}}};
    samples->sample = calloc(3, sizeof *samples->sample);
    samples->count = 3;
    frame[0] = 0x13;
    for (unsigned i = 0; i < 3; i++) {
        struct samples_sample *sample = &samples->sample[i];
        sample->about.clock = 2000000 * (i + 1);
        sample->about.ip = i < 2 ? address_of(a_function_with_a_name) + i : 0x10;
        sample->frame = frame;
        sample->frames = i < 2;
        sample->chain = i < 2 ? SAMPLES_CHAIN_WHOLE : SAMPLES_NO_CHAIN;
    }
    return samples;
}

typedef bool export_fn(FILE *out, const struct samples *samples, struct places *places);

static char *exported(export_fn *export)
{
    uint64_t frame[1];
    struct samples *samples = three(frame);
    struct places *places = places_new(samples);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_true(export(out, samples, places));
    fclose(out);
    places_free(places);
    samples_free(samples);
    return text;
}

static void stacks_collapse(void **state)
{
    char *text = exported(export_collapsed);
    (void)state;
    assert_string_equal(text, "prog;[unknown] 1\nprog;[unknown];a_function_with_a_name 2\n");
    free(text);
}

static bool perf_script(FILE *out, const struct samples *samples, struct places *places)
{
    export_perf_script(out, samples, places);
    return true;
}

static void perf_script_has_a_line_a_sample_and_one_a_frame(void **state)
{
    char *text = exported(perf_script);
    (void)state;
    assert_non_null(strstr(text, "prog 1/1 [000] 0.002000000:        100 instr_retired:\n"));
    assert_non_null(strstr(text, " a_function_with_a_name+0x1 (test_samples_names)\n\t"));
    assert_non_null(strstr(text, "\t              12 [unknown] ([unknown])\n\n"));
    free(text);
}

static void the_gecko_profile_is_json_whose_tables_fit(void **state)
{
    char *text = exported(export_gecko);
    json_t *root = json_loads(text, 0, NULL), *thread, *data;
    (void)state;
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "meta"), "version")),
                     24);
    thread = json_array_get(json_object_get(root, "threads"), 0);
    data = json_object_get(json_object_get(thread, "samples"), "data");
    assert_int_equal(json_array_size(data), 3);
    assert_int_equal(json_array_size(json_object_get(thread, "stringTable")), 2);
    json_t *stacks = json_object_get(json_object_get(thread, "stackTable"), "data");
    assert_int_equal(json_array_size(stacks), 2);
    /* the inner stack's prefix is the outer one */
    assert_true(json_is_null(json_array_get(json_array_get(stacks, 0), 0)));
    assert_int_equal(json_integer_value(json_array_get(json_array_get(stacks, 1), 0)), 0);
    json_decref(root);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_and_lines_have_names),
        cmocka_unit_test(code_is_read_from_the_file),
        cmocka_unit_test(another_build_of_a_file_names_nothing),
        cmocka_unit_test(data_addresses_follow_from_registers_and_operand),
        cmocka_unit_test(a_sample_without_registers_has_no_address),
        cmocka_unit_test(stacks_collapse),
        cmocka_unit_test(perf_script_has_a_line_a_sample_and_one_a_frame),
        cmocka_unit_test(the_gecko_profile_is_json_whose_tables_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
