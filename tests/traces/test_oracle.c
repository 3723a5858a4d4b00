/*
 * The interpreter against the processor: each form of instruction it knows, with random operands
 * full of edges, executed by both; every register, flag and byte of memory must agree.
 *
 * P4SIM_ORACLE_CASES in the environment sets the number of cases (default below); with
 * P4SIM_ORACLE_ALL_FLAGS flags the manual leaves undefined must agree too.
 */
#define _GNU_SOURCE
#include "interpret.h"
#include "oracle_generate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum {
    BATCH = 16384,
    CASES = 1000000,
    FLAGS_COMPARED = 0xcd5,
    ENOUGH_CASES = 100, /* of each form, compared */
};

struct oracle {
    struct oracle_state *before, *mine, *native; /* BATCH each; native is shared with the helper */
    unsigned *forms;                             /* of each case */
    char path[64];                               /* of the shared memory */
    const char *helper;                          /* the program that executes on the processor */
    bool wide;                                   /* 64-bit mode */
    uint32_t compared[1024];
    struct recipe_decoder *decoder;
    struct interpreter machine;
    const struct oracle_state *now; /* whose memory is fetched */
};

/* ---- the interpreter's side --------------------------------------------------------------------
 */

static bool fetch(void *context, uint64_t number, uint8_t bytes[INTERPRET_PAGE_BYTES])
{
    const struct oracle *oracle = context;

    if (number != ORACLE_DATA >> INTERPRET_PAGE_SHIFT)
        return false;
    memset(bytes, 0, INTERPRET_PAGE_BYTES);
    memcpy(bytes + (ORACLE_DATA & (INTERPRET_PAGE_BYTES - 1)), oracle->now->memory,
           ORACLE_DATA_BYTES);
    return true;
}

static bool writable(void *context, uint64_t number, uint8_t first_byte)
{
    (void)context;
    (void)number;
    (void)first_byte;
    return true;
}

static const struct interpret_backing backing = {.fetch = fetch, .writable = writable};

static void load_state(struct interpreter *machine, const struct oracle_state *state)
{
    struct recipe_registers *registers = &machine->state.registers;

    *registers = (struct recipe_registers){.ip = ORACLE_CODE, .flags = state->flags};
    memcpy(registers->gpr, state->gpr, sizeof state->gpr);
    memcpy(machine->state.xmm, state->xmm, sizeof state->xmm);
    machine->state.mxcsr = state->mxcsr;
    memcpy(&machine->state.x87, state->x87, sizeof state->x87);
}

static void store_state(struct interpreter *machine, struct oracle_state *state)
{
    const struct recipe_registers *registers = &machine->state.registers;

    memcpy(state->gpr, registers->gpr, sizeof state->gpr);
    state->flags = (uint32_t)registers->flags;
    memcpy(state->xmm, machine->state.xmm, sizeof state->xmm);
    state->mxcsr = machine->state.mxcsr;
    memcpy(state->x87, &machine->state.x87, sizeof state->x87);
    interpret_load_bytes(machine->memory, ORACLE_DATA, state->memory, ORACLE_DATA_BYTES);
    state->outcome = registers->ip == ORACLE_CODE + state->length          ? ORACLE_NEXT
                     : registers->ip == ORACLE_CODE + ORACLE_TARGET_OFFSET ? ORACLE_TAKEN
                                                                           : ORACLE_FAULT;
}

/* Interprets STATE to its end; false, with STATE as it was, when it is left to others. */
static bool interpret(struct oracle *oracle, struct oracle_state *state)
{
    const struct oracle_state before = *state;
    struct trace_access access[TRACE_ACCESSES];
    struct interpret_op op;
    struct recipe recipe;
    unsigned count;

    oracle->now = &before;
    interpret_memory_drop(oracle->machine.memory);
    load_state(&oracle->machine, state);
    if (!recipe_decode(oracle->decoder, oracle->wide ? RECIPE_64 : RECIPE_32, state->code,
                       state->length, &recipe) ||
        recipe.length != state->length)
        return false;
    interpret_decode(&recipe, &op);
    bool done = interpret_step(&oracle->machine, &op, &recipe, access, &count);
    store_state(&oracle->machine, state);
    if (!done) {
        state->outcome = before.outcome;
        if (memcmp(state, &before, sizeof before) != 0)
            fail_msg("an instruction that was not interpreted changed something");
    }
    return done;
}

/* ---- the comparison ----------------------------------------------------------------------------
 */

static void print_state(const char *what, const struct oracle_state *state)
{
    static const char *const names[] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
    unsigned registers = state->wide ? 16 : 8;

    print_error("%s: outcome %u flags %08x mxcsr %08x\n ", what, state->outcome, state->flags,
                state->mxcsr);
    for (unsigned i = 0; i < 8; i++)
        print_error(" %s %llx", names[i], (unsigned long long)state->gpr[i]);
    for (unsigned i = 8; i < registers; i++)
        print_error(" r%u %llx", i, (unsigned long long)state->gpr[i]);
    print_error("\n");
    for (unsigned i = 0; i < registers; i++) {
        uint64_t halves[2];
        memcpy(halves, state->xmm[i], 16);
        print_error("  xmm%u %016llx%016llx\n", i, (unsigned long long)halves[1],
                    (unsigned long long)halves[0]);
    }
    print_error("  x87 control %02x%02x status %02x%02x tags %02x\n", state->x87[1], state->x87[0],
                state->x87[3], state->x87[2], state->x87[4]);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t mantissa;
        memcpy(&mantissa, state->x87 + 32 + 16 * i, 8);
        print_error("  st%u %02x%02x %016llx\n", i, state->x87[41 + 16 * i],
                    state->x87[40 + 16 * i], (unsigned long long)mantissa);
    }
}

static void print_difference(const struct oracle *oracle, unsigned at)
{
    const struct oracle_form *form = &oracle_forms[oracle->forms[at]];
    const struct oracle_state *mine = &oracle->mine[at], *native = &oracle->native[at];

    print_error("%s [%s], bytes", form->name, form->bytes);
    for (unsigned i = 0; i < mine->length; i++)
        print_error(" %02x", mine->code[i]);
    print_error("\n");
    print_state("before", &oracle->before[at]);
    print_state("interpreted", mine);
    print_state("processor", native);
    for (unsigned i = 0; i < ORACLE_DATA_BYTES; i++)
        if (mine->memory[i] != native->memory[i])
            print_error("  memory %08x: before %02x interpreted %02x processor %02x\n",
                        ORACLE_DATA + i, oracle->before[at].memory[i], mine->memory[i],
                        native->memory[i]);
}

/* Control, status, tags, and ten bytes of each register. */
static bool x87_agrees(const uint8_t mine[160], const uint8_t native[160])
{
    bool equal = memcmp(mine, native, 5) == 0;

    for (unsigned i = 0; i < 8; i++)
        equal &= memcmp(mine + 32 + 16 * i, native + 32 + 16 * i, 10) == 0;
    return equal;
}

static bool agree(const struct oracle *oracle, unsigned at)
{
    const struct oracle_form *form = &oracle_forms[oracle->forms[at]];
    const struct oracle_state *mine = &oracle->mine[at], *native = &oracle->native[at];
    uint32_t flags = FLAGS_COMPARED;

    if (!getenv("P4SIM_ORACLE_ALL_FLAGS"))
        flags &= ~oracle_undefined_flags(form, &oracle->before[at]);
    return mine->outcome == native->outcome && mine->mxcsr == native->mxcsr &&
           !((mine->flags ^ native->flags) & flags) &&
           !memcmp(mine->gpr, native->gpr, sizeof mine->gpr) &&
           !memcmp(mine->xmm, native->xmm, sizeof mine->xmm) &&
           !memcmp(mine->memory, native->memory, sizeof mine->memory) &&
           x87_agrees(mine->x87, native->x87);
}

static void run_native(const struct oracle *oracle)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        execl(oracle->helper, oracle->helper, oracle->path, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void run_batch(struct oracle *oracle, uint32_t first_form, uint64_t *random)
{
    for (unsigned i = 0; i < BATCH; i++) {
        oracle->forms[i] = (first_form + i) % oracle_form_count;
        const struct oracle_form *form = &oracle_forms[oracle->forms[i]];
        oracle->before[i] = oracle_generate(form, oracle->wide, random);
        oracle->mine[i] = oracle->native[i] = oracle->before[i];
        if (!oracle_form_exists(form, oracle->wide) || !interpret(oracle, &oracle->mine[i]))
            oracle->native[i].outcome = ORACLE_SKIP;
    }
    run_native(oracle);
    for (unsigned i = 0; i < BATCH; i++) {
        if (oracle->native[i].outcome == ORACLE_SKIP)
            continue;
        oracle->compared[oracle->forms[i]]++;
        if (!agree(oracle, i)) {
            print_difference(oracle, i);
            fail();
        }
    }
}

/* ---- the tests ---------------------------------------------------------------------------------
 */

static struct oracle *oracle_new(const char *helper, bool wide)
{
    struct oracle *oracle = calloc(1, sizeof *oracle);
    size_t bytes = BATCH * sizeof(struct oracle_state);
    int fd = memfd_create("oracle", 0);

    assert_non_null(oracle);
    oracle->helper = helper;
    oracle->wide = wide;
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    snprintf(oracle->path, sizeof oracle->path, "/proc/%d/fd/%d", (int)getpid(), fd);
    oracle->native = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    oracle->before = malloc(bytes);
    oracle->mine = malloc(bytes);
    oracle->forms = calloc(BATCH, sizeof *oracle->forms);
    oracle->decoder = recipe_decoder_new();
    oracle->machine.memory = interpret_memory_new(&backing, oracle);
    assert_true(oracle->native != MAP_FAILED && oracle->before && oracle->mine && oracle->forms &&
                oracle->decoder && oracle->machine.memory);
    return oracle;
}

static void oracle_free(struct oracle *oracle)
{
    munmap(oracle->native, BATCH * sizeof(struct oracle_state));
    free(oracle->before);
    free(oracle->mine);
    free(oracle->forms);
    recipe_decoder_free(oracle->decoder);
    interpret_memory_free(oracle->machine.memory);
    free(oracle);
}

static void compare_all(const char *helper, bool wide)
{
    const char *wanted = getenv("P4SIM_ORACLE_CASES");
    uint64_t cases = wanted ? strtoull(wanted, NULL, 10) : CASES, total = 0;
    uint64_t random = 0x9e3779b97f4a7c15u;
    struct oracle *oracle;

    if (access(helper, X_OK) != 0) {
        print_message("skipped: %s is not built (gcc -m32 or -m64 is missing)\n", helper);
        skip();
    }
    assert_true(oracle_form_count <= 1024);
    oracle = oracle_new(helper, wide);
    for (uint64_t done = 0; done < cases; done += BATCH)
        run_batch(oracle, (uint32_t)(done % oracle_form_count), &random);
    for (unsigned i = 0; i < oracle_form_count; i++) {
        total += oracle->compared[i];
        if (cases >= CASES && oracle_form_exists(&oracle_forms[i], wide) &&
            oracle->compared[i] < ENOUGH_CASES)
            fail_msg("%s was compared only %u times", oracle_forms[i].name, oracle->compared[i]);
    }
    print_message("%llu instructions of %u forms compared\n", (unsigned long long)total,
                  oracle_form_count);
    oracle_free(oracle);
}

static void every_interpreted_form_does_what_the_processor_does(void **state)
{
    (void)state;
    compare_all(ORACLE_NATIVE, false);
}

static void in_64_bit_mode_too(void **state)
{
    (void)state;
    compare_all(ORACLE_NATIVE "64", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_interpreted_form_does_what_the_processor_does),
        cmocka_unit_test(in_64_bit_mode_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
