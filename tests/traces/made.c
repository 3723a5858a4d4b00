/* Made-up runs; see made.h. */
#include "made.h"
#include "recorder.h"
#include "space.h"

#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 2, THREADS = 3, PAGES = 24, CODE = 0x1000, DATA = 0x3000 };

/* Two loops that meet: arithmetic, loads and stores that wander through the pages, calls, string
 * instructions. */
static const uint8_t program[] = {
    0x01, 0xd8,                         /* 00 add eax,ebx */
    0x69, 0xc9, 0x0d, 0x66, 0x19, 0x00, /* 02 imul ecx,ecx,1664525 */
    0x81, 0xc1, 0x5f, 0xf3, 0x6e, 0x3c, /* 08 add ecx,1013904223 */
    0x89, 0xce,                         /* 0e mov esi,ecx */
    0xc1, 0xee, 0x10,                   /* 10 shr esi,16 */
    0x01, 0x86, 0x00, 0x30, 0x00, 0x00, /* 13 add [esi+3000h],eax */
    0x8a, 0x9e, 0x00, 0x34, 0x00, 0x00, /* 19 mov bl,[esi+3400h] */
    0x50,                               /* 1f push eax */
    0xe8, 0x02, 0x00, 0x00, 0x00,       /* 20 call 27 */
    0xeb, 0xd9,                         /* 25 jmp 00 */
    0x89, 0xcf,                         /* 27 mov edi,ecx */
    0x81, 0xe7, 0xff, 0x3f, 0x00, 0x00, /* 29 and edi,3fffh */
    0x81, 0xc7, 0x00, 0x40, 0x00, 0x00, /* 2f add edi,4000h */
    0x51,                               /* 35 push ecx */
    0x83, 0xe1, 0x1f,                   /* 36 and ecx,31 */
    0xf3, 0xaa,                         /* 39 rep stosb */
    0x59,                               /* 3b pop ecx */
    0x58,                               /* 3c pop eax: the return address */
    0x89, 0x04, 0x24,                   /* 3d mov [esp],eax: over the pushed one */
    0xc3,                               /* 40 ret */
};

struct thread {
    struct interpreter machine;
    struct space *space;
};

struct world {
    uint32_t random;
    struct recorder *recorder;
    struct recipe_decoder *decoder;
    uint8_t memory[PROCESSES][PAGES][INTERPRET_PAGE_BYTES];
    struct space *spaces[PROCESSES];
    struct thread threads[THREADS];
    unsigned current;
    uint32_t codes;
    struct lab_run run;
};

static uint32_t draw(struct world *world, uint32_t limit)
{
    world->random = world->random * 1664525u + 1013904223u;
    return (world->random >> 8) % limit;
}

/* ---- the world's memory ------------------------------------------------------------------------
 */

static struct world world;

static bool fetch(void *context, uint64_t number, uint8_t bytes[INTERPRET_PAGE_BYTES])
{
    const struct space *space = context;

    if (number >= PAGES)
        return false;
    memcpy(bytes, world.memory[space->process][number], INTERPRET_PAGE_BYTES);
    return true;
}

static bool writable(void *context, uint64_t number, uint8_t first_byte)
{
    (void)context;
    (void)number;
    (void)first_byte;
    return true;
}

static bool write_back(void *context, const struct interpret_range *ranges, size_t count)
{
    const struct space *space = context;

    for (size_t i = 0; i < count; i++)
        memcpy(&world.memory[space->process][0][0] + ranges[i].address, ranges[i].bytes,
               ranges[i].count);
    return true;
}

static bool read_code(struct space *space, uint64_t number, uint8_t bytes[CODE_PAGE_BYTES])
{
    bool known = code_page_find(&space->pages, number) != NULL;

    interpret_memory_flush(space->memory);
    if (number >= PAGES)
        return false;
    memcpy(bytes, world.memory[space->process][number], CODE_PAGE_BYTES);
    interpret_memory_learn(space->memory, number, bytes);
    if (!known)
        recorder_code(world.recorder, space->process, number);
    return true;
}

static void make_world(uint32_t seed)
{
    static const struct interpret_backing backing = {
        .fetch = fetch, .writable = writable, .write_back = write_back};

    memset(&world, 0, sizeof world);
    world.random = seed;
    world.decoder = recipe_decoder_new();
    for (unsigned p = 0; p < PROCESSES; p++) {
        for (unsigned page = 0; page < PAGES; page++)
            for (unsigned i = 0; i < INTERPRET_PAGE_BYTES; i++)
                world.memory[p][page][i] = page % 3 ? (uint8_t)draw(&world, 256) : 0;
        memcpy(&world.memory[p][0][0] + CODE, program, sizeof program);
        world.spaces[p] = space_new((uint16_t)p, read_code);
        world.spaces[p]->memory = interpret_memory_new(&backing, world.spaces[p]);
    }
    for (unsigned t = 0; t < THREADS; t++) {
        struct thread *thread = &world.threads[t];
        thread->space = world.spaces[t % PROCESSES];
        thread->machine.memory = thread->space->memory;
        thread->machine.state.registers.ip = CODE;
        thread->machine.state.registers.gpr[GPR_SP] = 0x17000 - 0x100 * t;
        thread->machine.state.registers.gpr[GPR_CX] = t;
        thread->machine.state.xmm[1].q[0] = seed + t;
    }
}

static void free_world(void)
{
    for (unsigned p = 0; p < PROCESSES; p++)
        space_free(world.spaces[p]);
    recipe_decoder_free(world.decoder);
}

/* ---- what happens ------------------------------------------------------------------------------
 */

static struct trace_instruction *last(void)
{
    return world.run.count ? &world.run.instructions[world.run.count - 1] : NULL;
}

/* Does an instruction at IP of this thread follow the one before? */
static void compare_flow(const struct thread *thread, uint64_t ip)
{
    struct trace_instruction *before = last();

    if (!before)
        return;
    if (before->thread != world.current || before->process != thread->space->process)
        before->flags |= TRACE_INTERRUPTED;
    else if (before->next_ip != ip) {
        before->flags |= TRACE_INTERRUPTED;
        before->next_ip = ip;
    }
}

static struct code_entry *entry_here(struct thread *thread)
{
    struct code_entry *entry =
        space_fetch(thread->space, world.decoder, thread->machine.state.registers.ip);

    assert_non_null(entry);
    return entry;
}

static struct trace_instruction *add(struct thread *thread, struct code_entry *entry)
{
    struct trace_instruction *now = &world.run.instructions[world.run.count];

    compare_flow(thread, entry->ip);
    world.run.count++;
    if (entry->number == SPACE_NO_CODE)
        entry->number = world.codes++;
    now->code = entry->number;
    now->repetitions = 1;
    now->ip = entry->ip;
    now->process = thread->space->process;
    now->thread = (uint16_t)world.current;
    now->length = entry->recipe.length;
    return now;
}

static void interpret_some(struct thread *thread, uint32_t count, size_t most)
{
    const struct recipe_registers *registers = &thread->machine.state.registers;

    recorder_resume(world.recorder, (uint16_t)world.current, thread->space->process,
                    &thread->machine.state);
    for (uint32_t i = 0; i < count && world.run.count < most; i++) {
        struct code_entry *entry = entry_here(thread);
        struct trace_instruction *now = add(thread, entry);
        unsigned accesses = 0;
        assert_true(
            interpret_step(&thread->machine, &entry->op, &entry->recipe, now->access, &accesses));
        now->access_count = (uint8_t)accesses;
        now->repetitions = thread->machine.repetitions;
        now->next_ip = registers->ip;
        recorder_interpreted(world.recorder);
    }
    recorder_pause(world.recorder);
    interpret_memory_flush(thread->space->memory);
}

/* The next instruction leaves something in the registers; only where the loop survives it. */
static void step_natively(struct thread *thread)
{
    struct recipe_registers *registers = &thread->machine.state.registers, before = *registers;
    struct code_entry *entry = entry_here(thread);
    struct trace_instruction *now;

    if (entry->ip >= CODE + 0x10)
        return;
    now = add(thread, entry);
    registers->gpr[GPR_AX] = draw(&world, 1u << 24) << 8;
    registers->ip += now->length;
    now->next_ip = registers->ip;
    recorder_native(world.recorder, (uint16_t)world.current, thread->space->process, &before,
                    registers);
}

/* The frame of a signal handler, which never returns. */
static void signal_thread(struct thread *thread)
{
    struct recipe_registers *registers = &thread->machine.state.registers;
    struct trace_instruction *before = last();

    registers->ip = CODE;
    registers->gpr[GPR_SP] = 0x16800 - 0x100 * world.current;
    if (!before || before->thread != world.current)
        return;
    before->flags |= TRACE_INTERRUPTED;
    before->next_ip = CODE;
    recorder_interrupt(world.recorder, CODE);
}

/* The kernel writes to a page, little or much of it. */
static void change_memory(struct thread *thread)
{
    uint8_t *page = world.memory[thread->space->process][3 + draw(&world, 18)];
    unsigned at = draw(&world, 4096), count = 1 + draw(&world, draw(&world, 2) ? 40 : 4096 - at);

    for (unsigned i = at; i < at + count && i < INTERPRET_PAGE_BYTES; i++)
        page[i] = (uint8_t)draw(&world, 256);
    interpret_memory_drop(thread->space->memory);
}

static void happen(size_t most)
{
    struct thread *thread = &world.threads[world.current];

    switch (draw(&world, 8)) {
    case 0:
        world.current = draw(&world, THREADS);
        break;
    case 1:
        signal_thread(thread);
        break;
    case 2:
        change_memory(thread);
        break;
    case 3:
    case 4:
        step_natively(thread);
        break;
    default:
        interpret_some(thread, draw(&world, 400), most);
        break;
    }
}

struct lab_run made_run(const char *path, uint32_t seed, size_t count, uint64_t every)
{
    char *argv[] = {(char *)(uintptr_t) "made\nup", (char *)(uintptr_t) "back\\slash", NULL};
    const struct trace_end end = {.how = TRACE_ENDED_SIGNAL,
                                  .status = 11,
                                  .processes = PROCESSES,
                                  .threads = THREADS,
                                  .signals = 9,
                                  .note = MADE_NOTE};
    char error[512];

    make_world(seed);
    world.recorder = recorder_open(
        &(struct recorder_options){
            .path = path, .argv = argv, .source = "made up", .checkpoint_every = every},
        error);
    assert_non_null(world.recorder);
    for (unsigned p = 0; p < PROCESSES; p++)
        recorder_process(world.recorder, (uint16_t)p, 32, world.spaces[p]->memory,
                         &world.spaces[p]->pages);
    world.run.instructions = calloc(count + 1, sizeof *world.run.instructions);
    while (world.run.count < count)
        happen(count);
    recorder_finish(world.recorder, &end, world.codes);
    assert_null(recorder_error(world.recorder));
    recorder_close(world.recorder);
    world.run.end = end;
    free_world();
    return world.run;
}
