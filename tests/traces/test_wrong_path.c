/*
 * Wrong paths of made instructions: what they say is known owes nothing to what is not, and what
 * they did can be taken back.
 */
#include "lab.h"
#include "oracle_generate.h"
#include "wrong_path.h"

#include <stdlib.h>
#include <string.h>

enum {
    CASES = 300000,
    DATA_PAGE = ORACLE_DATA >> INTERPRET_PAGE_SHIFT,
    MISSING = 0x30000000, /* no page there */
    DIRECTION = 0x400,
};

/* ---- an address space of one page ---------------------------------------------------------------
 */

struct world {
    uint8_t page[INTERPRET_PAGE_BYTES];
    struct interpret_memory *memory;
    struct wrong_path *path;
    struct recipe_decoder *decoder;
    struct interpret_state state;
    struct trace_wrong_step step;
    uint64_t random;
    enum recipe_mode mode; /* of the cases */
};

static bool fetch(void *context, uint64_t number, uint8_t bytes[INTERPRET_PAGE_BYTES])
{
    const struct world *world = context;

    if (number < DATA_PAGE || number >= DATA_PAGE + 200)
        return false;
    memcpy(bytes, world->page, INTERPRET_PAGE_BYTES);
    return true;
}

static const struct interpret_backing backing = {.fetch = fetch};

/* The program touches all its pages, so that a path knows them. */
static void touch_all(struct interpret_memory *memory)
{
    for (uint64_t number = DATA_PAGE; number < DATA_PAGE + 200; number++)
        interpret_page_read(memory, number);
}

static int set_up(void **state)
{
    static struct world world;

    world = (struct world){.random = 0x9e3779b97f4a7c15u};
    world.memory = interpret_memory_new(&backing, &world);
    world.path = wrong_path_new();
    world.decoder = recipe_decoder_new();
    world.state.registers = (struct recipe_registers){.ip = ORACLE_CODE, .flags = 0x202};
    world.state.mxcsr = 0x1f80;
    if (world.memory)
        touch_all(world.memory);
    *state = &world;
    return world.memory && world.path && world.decoder ? 0 : -1;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    interpret_memory_free(world->memory);
    wrong_path_free(world->path);
    recipe_decoder_free(world->decoder);
    return 0;
}

/* False where the disassembler does not know the bytes. */
static bool step_over(struct world *world, const uint8_t *bytes, size_t count)
{
    struct interpret_op op;
    struct recipe recipe;

    if (!recipe_decode(world->decoder, world->mode, bytes, count, &recipe) ||
        recipe.length != count)
        return false;
    interpret_decode(&recipe, &op);
    wrong_path_step(world->path, ORACLE_CODE, &op, &recipe, &world->step);
    return true;
}

#define STEP(world, code) assert_true(step_over(world, (const uint8_t *)(code), sizeof(code) - 1))

static void begin(struct world *world, effect_set unknown)
{
    wrong_path_begin(world->path, &world->state, unknown, world->memory);
}

static uint64_t *gpr_of(struct world *world)
{
    return world->path->machine.state.registers.gpr;
}

/* ---- knowledge ---------------------------------------------------------------------------------
 */

static uint32_t any(struct world *world)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return (uint32_t)(world->random >> 24);
}

static void load_case(struct world *world, const struct oracle_state *state)
{
    struct interpret_state *mine = &world->state;

    mine->registers = (struct recipe_registers){.ip = ORACLE_CODE, .flags = state->flags};
    memcpy(mine->registers.gpr, state->gpr, sizeof state->gpr);
    memcpy(mine->xmm, state->xmm, sizeof state->xmm);
    mine->mxcsr = state->mxcsr;
    memcpy(&mine->x87, state->x87, sizeof state->x87);
    memcpy(world->page + (ORACLE_DATA & 4095), state->memory, ORACLE_DATA_BYTES);
    interpret_memory_drop(world->memory);
    interpret_page_read(world->memory, DATA_PAGE);
}

/* Other values in the registers of SET. */
static void change(struct world *world, effect_set set)
{
    struct interpret_state *state = &world->state;

    for (unsigned i = 0; i < 16; i++) {
        if (set & EFFECT_GPR(i))
            state->registers.gpr[i] ^=
                any(world) | 1 | (world->mode == RECIPE_64 ? (uint64_t)any(world) << 32 : 0);
        if (set & EFFECT_XMM(i))
            for (unsigned j = 0; j < 4; j++)
                state->xmm[i].d[j] ^= any(world);
        if ((set & EFFECT_X87) && i < 8)
            state->x87.st[i][any(world) % 8] ^= 0x55;
    }
    if (set & EFFECT_FLAGS)
        state->registers.flags ^= any(world) & 0x8d5;
    if (set & EFFECT_DIRECTION)
        state->registers.flags ^= any(world) & DIRECTION;
}

struct outcome {
    struct interpret_state state;
    effect_set unknown;
    struct trace_wrong_step step;
    unsigned places;
    struct wrong_place place[WRONG_PATH_UNKNOWN];
    uint8_t memory[ORACLE_DATA_BYTES];
};

static bool run_case(struct world *world, const struct oracle_state *state, effect_set unknown,
                     struct outcome *outcome)
{
    struct wrong_path *path = world->path;

    memset(outcome, 0, sizeof *outcome);
    begin(world, unknown);
    memset(&world->step, 0, sizeof world->step);
    if (!step_over(world, state->code, state->length))
        return false;
    outcome->state = path->machine.state;
    outcome->unknown = path->unknown;
    outcome->step = world->step;
    outcome->places = path->unknown_count;
    memcpy(outcome->place, path->unknown_place,
           path->unknown_count * sizeof path->unknown_place[0]);
    assert_true(interpret_load_bytes(path->machine.memory, ORACLE_DATA, outcome->memory,
                                     ORACLE_DATA_BYTES));
    for (unsigned i = 0; i < outcome->places; i++)
        for (uint64_t at = outcome->place[i].address; at < outcome->place[i].end; at++)
            if (at - ORACLE_DATA < ORACLE_DATA_BYTES)
                outcome->memory[at - ORACLE_DATA] = 0;
    return true;
}

/* What both say they know is the same. */
static bool know_the_same(const struct outcome *a, const struct outcome *b)
{
    uint32_t flags =
        (a->unknown & EFFECT_FLAGS ? 0 : 0x8d5) | (a->unknown & EFFECT_DIRECTION ? 0 : DIRECTION);
    bool same = a->unknown == b->unknown && a->places == b->places &&
                !memcmp(a->place, b->place, a->places * sizeof a->place[0]) &&
                !memcmp(a->memory, b->memory, sizeof a->memory) &&
                !((a->state.registers.flags ^ b->state.registers.flags) & flags) &&
                a->step.next_known == b->step.next_known &&
                (!a->step.next_known || a->step.next_ip == b->step.next_ip) &&
                a->step.access_count == b->step.access_count && a->step.unknown == b->step.unknown;

    for (unsigned i = 0; i < 16; i++) {
        same &=
            (a->unknown & EFFECT_GPR(i)) || a->state.registers.gpr[i] == b->state.registers.gpr[i];
        same &= (a->unknown & EFFECT_XMM(i)) ||
                !memcmp(&a->state.xmm[i], &b->state.xmm[i], sizeof a->state.xmm[i]);
        same &= i >= 8 || (a->unknown & EFFECT_X87) ||
                !memcmp(a->state.x87.st[i], b->state.x87.st[i], 10);
    }
    for (unsigned i = 0; i < a->step.access_count; i++)
        same &= a->step.access[i].address == b->step.access[i].address;
    return same;
}

static void print_case(const struct oracle_form *form, const struct oracle_state *state,
                       effect_set unknown, const struct outcome *a, const struct outcome *b)
{
    print_error("%s, bytes", form->name);
    for (unsigned i = 0; i < state->length; i++)
        print_error(" %02x", state->code[i]);
    print_error("\nunknown before %llx, after %llx and %llx, next known %d %d\n",
                (unsigned long long)unknown, (unsigned long long)a->unknown,
                (unsigned long long)b->unknown, a->step.next_known, b->step.next_known);
    for (unsigned i = 0; i < 16; i++)
        print_error("  gpr%u %llx %llx\n", i, (unsigned long long)a->state.registers.gpr[i],
                    (unsigned long long)b->state.registers.gpr[i]);
    print_error("  flags %llx %llx, memory %s\n", (unsigned long long)a->state.registers.flags,
                (unsigned long long)b->state.registers.flags,
                memcmp(a->memory, b->memory, sizeof a->memory) ? "differs" : "agrees");
}

/* Registers among which some are made unknown, in turn. */
static effect_set choose_unknown(struct world *world)
{
    effect_set set = 0;

    for (unsigned i = 0; i < 35; i++)
        if (any(world) % 8 == 0)
            set |= (effect_set)1 << i;
    return world->mode == RECIPE_64 ? set : set & ~(EFFECT_GPR(8) * 0xff) & ~(EFFECT_XMM(8) * 0xff);
}

static void what_is_known_owes_nothing_to_what_is_not(void **state)
{
    static struct outcome one, other;
    struct world *world = *state;
    uint64_t random = 0x2545f4914f6cdd1du;

    for (unsigned i = 0; i < CASES; i++) {
        const struct oracle_form *form = &oracle_forms[i % oracle_form_count];
        const struct oracle_state before = oracle_generate(form, world->mode == RECIPE_64, &random);
        effect_set unknown = choose_unknown(world);
        load_case(world, &before);
        if (!run_case(world, &before, unknown, &one))
            continue;
        change(world, unknown);
        run_case(world, &before, unknown, &other);
        if (!know_the_same(&one, &other)) {
            print_case(form, &before, unknown, &one, &other);
            fail();
        }
    }
}

static void in_64_bit_mode_too(void **state)
{
    struct world *world = *state;

    world->mode = RECIPE_64;
    what_is_known_owes_nothing_to_what_is_not(state);
    world->mode = RECIPE_32;
}

/* Nothing unknown among what an interpreted instruction reads: its result is the interpreter's. */
static void with_all_known_it_is_the_interpreter(void **state)
{
    struct world *world = *state;
    uint64_t random = 0x2545f4914f6cdd1du;
    unsigned compared = 0;

    for (unsigned i = 0; i < CASES / 4; i++) {
        const struct oracle_form *form = &oracle_forms[i % oracle_form_count];
        const struct oracle_state before = oracle_generate(form, world->mode == RECIPE_64, &random);
        struct interpreter machine = {.memory = world->memory};
        struct trace_access access[TRACE_ACCESSES];
        static struct outcome mine;
        struct interpret_op op;
        struct recipe recipe;
        unsigned count;

        load_case(world, &before);
        if (!run_case(world, &before, 0, &mine))
            continue;
        recipe_decode(world->decoder, world->mode, before.code, before.length, &recipe);
        interpret_decode(&recipe, &op);
        machine.state = world->state;
        interpret_memory_drop(world->memory);
        world->memory->backing = &(const struct interpret_backing){
            .fetch = fetch, .writable = world->path->machine.memory->backing->writable};
        if (interpret_step(&machine, &op, &recipe, access, &count)) {
            compared++;
            assert_true(mine.step.next_known);
            assert_int_equal(mine.unknown, 0);
            assert_int_equal(mine.step.next_ip, machine.state.registers.ip);
            assert_int_equal(mine.step.repetitions, machine.repetitions);
            assert_memory_equal(&mine.state.registers, &machine.state.registers,
                                sizeof machine.state.registers);
            assert_memory_equal(mine.state.xmm, machine.state.xmm, sizeof machine.state.xmm);
        }
        world->memory->backing = &backing;
    }
    assert_true(compared > CASES / 8);
}

/* Whatever an instruction does behind a mark, going back takes it back. */
static void going_back_takes_everything_back(void **state)
{
    static struct outcome nothing;
    struct world *world = *state;
    uint64_t random = 0x2545f4914f6cdd1du;
    uint8_t now[ORACLE_DATA_BYTES];

    for (unsigned i = 0; i < CASES / 4; i++) {
        const struct oracle_form *form = &oracle_forms[i % oracle_form_count];
        const struct oracle_state before = oracle_generate(form, world->mode == RECIPE_64, &random);
        struct wrong_path *path = world->path;
        effect_set unknown = i % 2 ? choose_unknown(world) : 0;

        load_case(world, &before);
        if (!run_case(world, &before, unknown,
                      &nothing)) /* a place unknown, another line of code */
            continue;
        nothing.state = path->machine.state;
        nothing.unknown = path->unknown;
        nothing.places = path->unknown_count;
        assert_true(interpret_load_bytes(path->machine.memory, ORACLE_DATA, nothing.memory,
                                         ORACLE_DATA_BYTES));
        assert_true(wrong_path_mark(path, 0));
        step_over(world, before.code, before.length);
        assert_true(wrong_path_mark(path, 1));
        step_over(world, before.code, before.length);
        assert_true(wrong_path_back(path, i % 3 ? 0 : 1));
        if (i % 3 == 0)
            assert_true(wrong_path_back(path, 0));
        assert_int_equal(path->marks, 0);
        assert_memory_equal(&path->machine.state, &nothing.state, sizeof nothing.state);
        assert_true(path->unknown == nothing.unknown);
        assert_int_equal(path->unknown_count, nothing.places);
        assert_true(
            interpret_load_bytes(path->machine.memory, ORACLE_DATA, now, ORACLE_DATA_BYTES));
        assert_memory_equal(now, nothing.memory, ORACLE_DATA_BYTES);
    }
}

/* ---- single cases ------------------------------------------------------------------------------
 */

static void a_store_is_seen_by_the_path_alone(void **state)
{
    struct world *world = *state;
    uint8_t byte = 1;

    world->state.registers.gpr[GPR_AX] = 0x77;
    world->state.registers.gpr[GPR_SI] = ORACLE_DATA;
    begin(world, 0);
    STEP(world, "\x88\x06"); /* mov [esi], al */
    assert_int_equal(world->step.access_count, 1);
    assert_int_equal(world->step.access[0].address, ORACLE_DATA);
    assert_int_equal(world->step.unknown, 0);
    STEP(world, "\x8a\x0e"); /* mov cl, [esi] */
    assert_int_equal(gpr_of(world)[GPR_CX], 0x77);
    assert_true(interpret_load_bytes(world->memory, ORACLE_DATA, &byte, 1));
    assert_int_equal(byte, 0);
    begin(world, 0);
    STEP(world, "\x8a\x0e");
    assert_int_equal(gpr_of(world)[GPR_CX], 0);
}

static void memory_that_is_not_there_gives_an_unknown_address_to_the_next_load(void **state)
{
    struct world *world = *state;

    world->state.registers.gpr[GPR_SI] = MISSING;
    begin(world, 0);
    STEP(world, "\x8b\x06"); /* mov eax, [esi] */
    assert_int_equal(world->step.unknown, 0);
    assert_int_equal(world->step.access[0].address, MISSING);
    assert_true(world->path->unknown == EFFECT_GPR(GPR_AX));
    STEP(world, "\x8b\x14\x88"); /* mov edx, [eax+ecx*4] */
    assert_int_equal(world->step.unknown, 1);
    assert_true(world->path->unknown == (EFFECT_GPR(GPR_AX) | EFFECT_GPR(GPR_DX)));
    STEP(world, "\x31\xc0"); /* xor eax, eax */
    assert_true(world->path->unknown == EFFECT_GPR(GPR_DX));
    STEP(world, "\x85\xd2"); /* test edx, edx */
    STEP(world, "\x74\x10"); /* je */
    assert_false(world->step.next_known);
    STEP(world, "\x39\xc9"); /* cmp ecx, ecx */
    STEP(world, "\x74\x10");
    assert_true(world->step.next_known);
    assert_int_equal(world->step.next_ip, ORACLE_CODE + 0x12);
}

static void an_unknown_value_stays_so_in_memory_until_overwritten(void **state)
{
    struct world *world = *state;

    world->state.registers.gpr[GPR_SP] = ORACLE_DATA + 64;
    begin(world, EFFECT_GPR(GPR_AX));
    STEP(world, "\x50"); /* push eax */
    assert_int_equal(gpr_of(world)[GPR_SP], ORACLE_DATA + 60);
    assert_false(world->path->unknown & EFFECT_GPR(GPR_SP));
    STEP(world, "\xc6\x44\x24\x01\x05"); /* mov byte [esp+1], 5 */
    STEP(world, "\x8a\x4c\x24\x01");     /* mov cl, [esp+1] */
    assert_true(world->path->unknown == EFFECT_GPR(GPR_AX));
    assert_int_equal(gpr_of(world)[GPR_CX], 5);
    STEP(world, "\x8a\x54\x24\x02"); /* mov dl, [esp+2] */
    assert_true(world->path->unknown == (EFFECT_GPR(GPR_AX) | EFFECT_GPR(GPR_DX)));
    STEP(world, "\x5b"); /* pop ebx */
    assert_true(world->path->unknown & EFFECT_GPR(GPR_BX));
    assert_int_equal(gpr_of(world)[GPR_SP], ORACLE_DATA + 64);
    STEP(world, "\xc7\x44\x24\xfc\x01\x00\x00\x00"); /* mov dword [esp-4], 1 */
    STEP(world, "\x8b\x5c\x24\xfc");                 /* mov ebx, [esp-4] */
    assert_false(world->path->unknown & EFFECT_GPR(GPR_BX));
    assert_int_equal(world->path->unknown_count, 0);
}

static void only_pages_the_program_touched_are_known(void **state)
{
    struct world *world = *state;

    interpret_memory_free(world->memory);
    world->memory = interpret_memory_new(&backing, world);
    assert_non_null(world->memory);
    world->state.registers.gpr[GPR_SI] = ORACLE_DATA;
    begin(world, 0);
    STEP(world, "\x8b\x06"); /* mov eax, [esi] */
    assert_true(world->path->unknown == EFFECT_GPR(GPR_AX));
    interpret_page_read(world->memory, DATA_PAGE);
    begin(world, 0);
    STEP(world, "\x8b\x06");
    assert_int_equal(world->path->unknown, 0);
    world->state.registers.gpr[GPR_SI] = 8;
    begin(world, 0);
    STEP(world, "\x8b\x06");
    assert_int_equal(world->step.unmapped, 1);
}

static void bytes_that_were_other_before_are_taken_back(void **state)
{
    struct world *world = *state;
    const uint32_t was = 0x12345678;

    world->state.registers.gpr[GPR_SI] = ORACLE_DATA;
    begin(world, 0);
    wrong_path_memory_was(world->path, ORACLE_DATA, &was, 4);
    wrong_path_memory_was(world->path, ORACLE_DATA + 4, NULL, 4);
    STEP(world, "\x8b\x06"); /* mov eax, [esi] */
    assert_int_equal(gpr_of(world)[GPR_AX], was);
    STEP(world, "\x8b\x46\x04"); /* mov eax, [esi+4] */
    assert_true(world->path->unknown == EFFECT_GPR(GPR_AX));
}

static void pages_beyond_the_limit_are_unknown(void **state)
{
    struct world *world = *state;

    for (unsigned round = 0; round < 20; round++) {
        begin(world, 0);
        for (unsigned i = 0; i < WRONG_PATH_PAGES + 10; i++) {
            gpr_of(world)[GPR_SI] = (uint32_t)(DATA_PAGE + (i + 7 * round) % 200) << 12;
            world->path->unknown = 0;
            STEP(world, "\x8b\x06");
            assert_int_equal(world->path->unknown != 0, i >= WRONG_PATH_PAGES);
        }
        assert_true(world->path->machine.memory->page_count <= 6 * WRONG_PATH_PAGES);
    }
}

static void a_string_instruction_of_unknown_data_still_moves_its_pointers(void **state)
{
    struct world *world = *state;

    world->state.registers.gpr[GPR_DI] = ORACLE_DATA;
    world->state.registers.gpr[GPR_CX] = 4;
    begin(world, EFFECT_GPR(GPR_AX));
    STEP(world, "\xf3\xab"); /* rep stosd */
    assert_true(world->path->unknown == EFFECT_GPR(GPR_AX));
    assert_int_equal(gpr_of(world)[GPR_DI], ORACLE_DATA + 16);
    assert_int_equal(gpr_of(world)[GPR_CX], 0);
    assert_int_equal(world->path->unknown_place[0].end - world->path->unknown_place[0].address, 16);
}

static void marks_are_a_stack(void **state)
{
    struct world *world = *state;

    begin(world, 0);
    assert_false(wrong_path_back(world->path, 0));
    assert_false(wrong_path_mark(world->path, 1));
    for (unsigned i = 0; i < WRONG_PATH_MARKS; i++) {
        assert_true(wrong_path_mark(world->path, i));
        STEP(world, "\x41"); /* inc ecx */
    }
    assert_false(wrong_path_mark(world->path, WRONG_PATH_MARKS));
    assert_true(wrong_path_back(world->path, 3));
    assert_int_equal(gpr_of(world)[GPR_CX], world->state.registers.gpr[GPR_CX] + 3);
    assert_false(wrong_path_back(world->path, 3));
    assert_true(wrong_path_mark(world->path, 3));
    begin(world, 0);
    assert_false(wrong_path_back(world->path, 0));
}

/* A path that overwrote more than is kept knows nothing of memory when it comes back. */
static void memory_is_unknown_when_the_journal_was_too_small(void **state)
{
    struct world *world = *state;
    uint32_t most = WRONG_PATH_JOURNAL * WRONG_PATH_KEPT / 4;

    for (unsigned more = 0; more < 2; more++) {
        world->state.registers.gpr[GPR_DI] = ORACLE_DATA & ~UINT64_C(4095);
        world->state.registers.gpr[GPR_SI] = ORACLE_DATA;
        world->state.registers.gpr[GPR_CX] = most + more;
        begin(world, 0);
        assert_true(wrong_path_mark(world->path, 0));
        STEP(world, "\xf3\xab"); /* rep stosd */
        assert_int_equal(world->path->unknown_count, 0);
        assert_true(wrong_path_back(world->path, 0));
        STEP(world, "\x8b\x06"); /* mov eax, [esi] */
        assert_true(world->path->unknown == (more ? EFFECT_GPR(GPR_AX) : 0));
    }
}

/* Registers of a wrong path can be anything: a push at the end of all addresses, a string of 2^32
 * elements. */
static void stores_at_the_end_of_memory_and_endless_strings_take_no_time(void **state)
{
    struct world *world = *state;

    world->mode = RECIPE_64;
    world->state.registers.gpr[GPR_DI] = 0xffffffffffffe000;
    world->state.registers.gpr[GPR_SI] = 0xfffffffffffffff0;
    world->state.registers.gpr[GPR_CX] = 0xffffffff;
    begin(world, 0);
    assert_true(wrong_path_mark(world->path, 0));
    STEP(world, "\x89\x46\x08"); /* mov [rsi+8], eax */
    STEP(world, "\xf3\xab");     /* rep stosd */
    assert_true(world->path->machine.memory->page_count <= 6 * WRONG_PATH_PAGES);
    assert_true(wrong_path_back(world->path, 0));
    assert_int_equal(gpr_of(world)[GPR_CX], 0xffffffff);
    world->mode = RECIPE_32;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_known_owes_nothing_to_what_is_not),
        TEST(in_64_bit_mode_too),
        TEST(with_all_known_it_is_the_interpreter),
        TEST(going_back_takes_everything_back),
        TEST(a_store_is_seen_by_the_path_alone),
        TEST(memory_that_is_not_there_gives_an_unknown_address_to_the_next_load),
        TEST(an_unknown_value_stays_so_in_memory_until_overwritten),
        TEST(only_pages_the_program_touched_are_known),
        TEST(bytes_that_were_other_before_are_taken_back),
        TEST(pages_beyond_the_limit_are_unknown),
        TEST(a_string_instruction_of_unknown_data_still_moves_its_pointers),
        TEST(marks_are_a_stack),
        TEST(stores_at_the_end_of_memory_and_endless_strings_take_no_time),
        TEST(memory_is_unknown_when_the_journal_was_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
