/*
 * The interpreter's frame: its cache of pages, what happens at their borders, and that an
 * instruction that cannot be finished changes nothing. What instructions compute is test_oracle's.
 */
#include "interpret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { PAGES = 16, READ_ONLY = 6, MISSING = 8, CODE = 0x1000 };

/* An address space of sixteen pages: one read-only, one missing. */
struct world {
    uint8_t bytes[PAGES][INTERPRET_PAGE_BYTES];
    unsigned fetched, written_back;
    struct interpreter machine;
};

static bool fetch(void *context, uint64_t number, uint8_t bytes[INTERPRET_PAGE_BYTES])
{
    struct world *world = context;

    if (number >= PAGES || number == MISSING)
        return false;
    world->fetched++;
    memcpy(bytes, world->bytes[number], INTERPRET_PAGE_BYTES);
    return true;
}

static bool writable(void *context, uint64_t number, uint8_t first_byte)
{
    struct world *world = context;

    assert_int_equal(first_byte, world->bytes[number][0]);
    return number != READ_ONLY;
}

static bool write_back(void *context, const struct interpret_range *ranges, size_t count)
{
    struct world *world = context;

    for (size_t i = 0; i < count; i++) {
        uint64_t offset = ranges[i].address & (INTERPRET_PAGE_BYTES - 1);
        assert_true(offset + ranges[i].count <= INTERPRET_PAGE_BYTES);
        memcpy(&world->bytes[ranges[i].address >> INTERPRET_PAGE_SHIFT][offset], ranges[i].bytes,
               ranges[i].count);
        world->written_back += (unsigned)ranges[i].count;
    }
    return true;
}

static const struct interpret_backing backing = {
    .fetch = fetch, .writable = writable, .write_back = write_back};

static int set_up(void **state)
{
    static struct world world;

    world = (struct world){.fetched = 0};
    for (unsigned i = 0; i < PAGES; i++)
        memset(world.bytes[i], (int)i, INTERPRET_PAGE_BYTES);
    world.machine.memory = interpret_memory_new(&backing, &world);
    world.machine.state.registers = (struct recipe_registers){.ip = CODE, .flags = 0x202};
    *state = &world;
    return world.machine.memory ? 0 : -1;
}

static int tear_down(void **state)
{
    interpret_memory_free(((struct world *)*state)->machine.memory);
    return 0;
}

/* Steps over CODE with the registers as they are. */
static bool step(struct world *world, const char *code, size_t count, struct trace_access *access)
{
    struct recipe_decoder *decoder = recipe_decoder_new();
    struct interpret_op op;
    struct recipe recipe;
    unsigned accesses;

    assert_true(recipe_decode(decoder, RECIPE_32, (const uint8_t *)code, count, &recipe));
    recipe_decoder_free(decoder);
    interpret_decode(&recipe, &op);
    return interpret_step(&world->machine, &op, &recipe, access, &accesses);
}

#define STEP(world, code) step(world, code, sizeof(code) - 1, access)

static void only_changed_bytes_are_written_back(void **state)
{
    struct world *world = *state;
    struct interpret_memory *memory = world->machine.memory;

    assert_true(interpret_store(memory, 0x2010, 4, 0x02030202));
    assert_true(interpret_store(memory, 0x2800, 1, 9));
    world->bytes[2][0x100] = 77; /* the kernel's, meanwhile */
    assert_int_equal(world->written_back, 0);
    assert_true(interpret_memory_flush(memory));
    assert_int_equal(world->written_back, 2);
    assert_int_equal(world->bytes[2][0x12], 3);
    assert_int_equal(world->bytes[2][0x800], 9);
    assert_int_equal(world->bytes[2][0x100], 77);
    assert_true(interpret_memory_flush(memory));
    assert_int_equal(world->written_back, 2);
}

static void a_page_is_fetched_once_until_it_is_dropped(void **state)
{
    struct world *world = *state;
    struct interpret_memory *memory = world->machine.memory;
    uint64_t value;

    for (unsigned i = 0; i < 100; i++)
        assert_true(interpret_load(memory, 0x3000 + i, 4, &value));
    assert_int_equal(world->fetched, 1);
    world->bytes[3][0] = 5;
    interpret_memory_drop(memory);
    assert_true(interpret_load(memory, 0x3000, 1, &value));
    assert_int_equal(value, 5);
    assert_int_equal(world->fetched, 2);
    interpret_memory_drop_range(memory, 0x2fff, 1);
    assert_true(interpret_load(memory, 0x3000, 1, &value));
    assert_int_equal(world->fetched, 2);
    interpret_memory_drop_range(memory, 0x2fff, 2);
    assert_true(interpret_load(memory, 0x3000, 1, &value));
    assert_int_equal(world->fetched, 3);
}

static void operands_cross_pages(void **state)
{
    struct world *world = *state;
    struct interpret_memory *memory = world->machine.memory;
    uint64_t value;

    assert_true(interpret_load(memory, 0x3ffe, 4, &value));
    assert_int_equal(value, 0x04040303);
    assert_true(interpret_store(memory, 0x3fff, 2, 0xaabb));
    assert_true(interpret_memory_flush(memory));
    assert_int_equal(world->bytes[3][4095], 0xbb);
    assert_int_equal(world->bytes[4][0], 0xaa);
}

static void a_store_half_out_of_reach_changes_nothing(void **state)
{
    struct world *world = *state;
    struct interpret_memory *memory = world->machine.memory;
    uint64_t value;

    assert_false(interpret_store(memory, 0x5ffe, 4, 0)); /* into the read-only page */
    assert_false(interpret_store(memory, 0x7ffe, 4, 0)); /* into the missing page */
    assert_false(interpret_load(memory, 0x7ffe, 4, &value));
    assert_true(interpret_load(memory, 0x5ffe, 2, &value));
    assert_int_equal(value, 0x0505);
    assert_true(interpret_memory_flush(memory));
    assert_int_equal(world->written_back, 0);
}

static void what_would_fault_is_not_interpreted_and_changes_nothing(void **state)
{
    static const char *const codes[] = {
        "\x01\x03",             /* add [ebx], eax */
        "\x87\x03",             /* xchg [ebx], eax */
        "\xd1\x23",             /* shl dword [ebx], 1 */
        "\x0f\xb1\x03",         /* cmpxchg [ebx], eax */
        "\x0f\xc1\x03",         /* xadd [ebx], eax */
        "\x8f\x03",             /* pop dword [ebx] */
        "\xf7\xf1",             /* div ecx, which is 0 */
        "\x66\x0f\x7f\x46\x01", /* movdqa [esi+1], xmm0 */
        "\xf3\xa4",             /* rep movsb into the read-only page */
        "\xd9\xe8",             /* fld1 */
        "\xcd\x80",             /* int 0x80 */
        "\x0f\x31",             /* rdtsc */
    };
    struct world *world = *state;
    struct recipe_registers *registers = &world->machine.state.registers;
    struct trace_access access[TRACE_ACCESSES];

    registers->gpr[GPR_BX] = READ_ONLY << 12;
    registers->gpr[GPR_SP] = 0x3000;
    registers->gpr[GPR_AX] = 0x06060606;
    registers->gpr[GPR_SI] = 0x4000;
    for (unsigned i = 0; i < sizeof codes / sizeof *codes; i++) {
        registers->gpr[GPR_DI] = 0x5f00;
        registers->gpr[GPR_CX] = codes[i][0] == '\xf3' ? 0x200 : 0;
        const struct interpret_state before = world->machine.state;
        assert_false(step(world, codes[i], strlen(codes[i]), access));
        assert_memory_equal(&before, &world->machine.state, sizeof before);
    }
    assert_true(interpret_memory_flush(world->machine.memory));
    assert_int_equal(world->written_back, 0);
}

static void a_repeated_move_is_one_instruction_over_many_pages(void **state)
{
    struct world *world = *state;
    struct recipe_registers *registers = &world->machine.state.registers;
    struct trace_access access[TRACE_ACCESSES];

    registers->gpr[GPR_SI] = 0x2ff0;
    registers->gpr[GPR_DI] = 0x9010;
    registers->gpr[GPR_CX] = 0x1000;
    assert_true(STEP(world, "\xf3\xa4"));
    assert_int_equal(world->machine.repetitions, 0x1000);
    assert_int_equal(registers->gpr[GPR_CX], 0);
    assert_int_equal(registers->gpr[GPR_SI], 0x3ff0);
    assert_int_equal(registers->ip, CODE + 2);
    assert_int_equal(access[0].address, 0x2ff0);
    assert_int_equal(access[1].address, 0x9010);
    assert_true(access[1].write);
    assert_true(interpret_memory_flush(world->machine.memory));
    assert_int_equal(world->bytes[9][0x1f], 2);
    assert_int_equal(world->bytes[9][0x20], 3);
    assert_int_equal(world->bytes[10][0x0f], 3);
    assert_int_equal(world->bytes[10][0x10], 10);
}

static void a_scan_ends_where_it_finds(void **state)
{
    struct world *world = *state;
    struct recipe_registers *registers = &world->machine.state.registers;
    struct trace_access access[TRACE_ACCESSES];

    world->bytes[5][7] = 0;
    registers->gpr[GPR_DI] = 0x5000;
    registers->gpr[GPR_CX] = 0xffffffff;
    assert_true(STEP(world, "\xf2\xae")); /* repne scasb, al = 0 */
    assert_int_equal(world->machine.repetitions, 8);
    assert_int_equal(registers->gpr[GPR_DI], 0x5008);
    assert_int_equal(registers->flags & 0x40, 0x40);
}

static void accesses_come_in_the_order_of_the_contract(void **state)
{
    struct world *world = *state;
    struct recipe_registers *registers = &world->machine.state.registers;
    struct trace_access access[TRACE_ACCESSES];

    registers->gpr[GPR_SP] = 0x3000;
    registers->gpr[GPR_BX] = 0x4000;
    assert_true(STEP(world, "\xff\x13")); /* call [ebx] */
    assert_int_equal(registers->ip, 0x04040404);
    assert_int_equal(registers->gpr[GPR_SP], 0x2ffc);
    assert_int_equal(access[0].address, 0x4000);
    assert_false(access[0].write);
    assert_int_equal(access[1].address, 0x2ffc);
    assert_true(access[1].write);
}

/* Where tzcnt, which later processors make of these bytes, would set CF and give 32. */
static void a_repeated_bsf_is_bsf(void **state)
{
    struct world *world = *state;
    struct recipe_registers *registers = &world->machine.state.registers;
    struct trace_access access[TRACE_ACCESSES];

    registers->gpr[GPR_CX] = 0x50;
    assert_true(STEP(world, "\xf3\x0f\xbc\xc1")); /* eax, ecx */
    assert_int_equal(registers->gpr[GPR_AX], 4);
    assert_int_equal(registers->flags & 0x41, 0);
    registers->gpr[GPR_CX] = 0;
    assert_true(STEP(world, "\xf3\x0f\xbc\xc1"));
    assert_int_equal(registers->gpr[GPR_AX], 4);
    assert_int_equal(registers->flags & 0x41, 0x40);
}

#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_WORLD(only_changed_bytes_are_written_back),
        IN_A_WORLD(a_page_is_fetched_once_until_it_is_dropped),
        IN_A_WORLD(operands_cross_pages),
        IN_A_WORLD(a_store_half_out_of_reach_changes_nothing),
        IN_A_WORLD(what_would_fault_is_not_interpreted_and_changes_nothing),
        IN_A_WORLD(a_repeated_move_is_one_instruction_over_many_pages),
        IN_A_WORLD(a_scan_ends_where_it_finds),
        IN_A_WORLD(a_repeated_bsf_is_bsf),
        IN_A_WORLD(accesses_come_in_the_order_of_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
