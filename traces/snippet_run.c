/* A snippet on the interpreter alone: a replay without a log; see snippet_run.h. */
#include "snippet_run.h"
#include "elf_code.h"
#include "interpret_parts.h"
#include "replay.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STACK_BYTES = 8 << 20,  /* as Linux limits it unless told otherwise */
    STACK_ABOVE = 68 << 10, /* of zeros, where a program has its arguments: model choice */
    FLAGS_AT_START = 0x202, /* interrupts enabled, bit 1 is always set */
    X87_CONTROL = 0x37f,    /* as FNINIT leaves it (SDM volume 1, 8.1.5) */
    MXCSR_AT_START = 0x1f80 /* its value after a reset (SDM volume 1, 10.2.3) */
};

struct snippet_run {
    struct replay replay; /* first: with the public handle */
    struct trace_source_ops ops;
    struct elf_code *image;
    struct live_window window;
    trace_cpuid_fn *cpuid;
    void *cpuid_context;
    struct stream_buffer result; /* of an instruction that is answered here */
    char why[256];               /* no live program can run */
    bool finished;               /* the recording, too */
};

static struct snippet_run *run_of(struct replay *replay)
{
    return (struct snippet_run *)replay;
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static bool in_stack(const struct snippet_run *run, uint64_t number)
{
    uint64_t address = number << INTERPRET_PAGE_SHIFT, top = run->window.stack + STACK_ABOVE;

    return address < top && address >= top - STACK_BYTES;
}

static bool fetch(void *context, uint64_t number, uint8_t bytes[INTERPRET_PAGE_BYTES])
{
    const struct snippet_run *run = context;
    bool writable;

    if (!in_stack(run, number))
        return elf_code_page(run->image, number, bytes, &writable);
    memset(bytes, 0, INTERPRET_PAGE_BYTES);
    return true;
}

static bool writable(void *context, uint64_t number, uint8_t first_byte)
{
    const struct snippet_run *run = context;
    uint8_t bytes[INTERPRET_PAGE_BYTES];
    bool may = false;

    (void)first_byte;
    return in_stack(run, number) || (elf_code_page(run->image, number, bytes, &may) && may);
}

static bool read_code(struct space *space, uint64_t number, uint8_t bytes[CODE_PAGE_BYTES])
{
    const struct interpret_page *page = interpret_page_read(space->memory, number);
    const struct code_page *known = code_page_find(&space->pages, number);

    if (!page)
        return false;
    memcpy(bytes, page->bytes, CODE_PAGE_BYTES);
    if (space->recorder && (!known || memcmp(known->bytes, bytes, CODE_PAGE_BYTES) != 0))
        recorder_code(space->recorder, space->process, number);
    return true;
}

/* The simulated processor's own store; the program finds it there. */
static enum trace_store store(struct trace_source *source, uint16_t process, uint64_t address,
                              const void *bytes, size_t count)
{
    struct space *space = ((struct replay *)source)->spaces[0];

    (void)process;
    if (!interpret_memory_outside(space->memory, address, bytes, (unsigned)count))
        return TRACE_NO_PAGE;
    space_written(space, address, address + count);
    return TRACE_STORED;
}

/* ---- the ends ----------------------------------------------------------------------------------
 */

static enum replay_step ended(struct snippet_run *run, int how, int status)
{
    struct replay *replay = &run->replay;
    struct trace_end *end = &replay->source.end;

    end->how = how == TRACE_ENDED_SIGNAL ? TRACE_ENDED_SIGNAL : TRACE_ENDED_SNIPPET;
    end->status = status;
    replay->state = REPLAY_ENDED;
    if (how != TRACE_ENDED_SIGNAL)
        return REPLAY_STOP;
    if (replay->last)
        replay->last->flags |= TRACE_INTERRUPTED;
    if (replay->copy)
        recorder_broken(replay->copy);
    return REPLAY_STOP;
}

static enum replay_step refuse(struct snippet_run *run, const struct code_entry *entry)
{
    struct replay *replay = &run->replay;
    char text[96];

    recipe_disassemble(replay->decoder, &entry->recipe, entry->ip, text);
    snprintf(replay->source.error, sizeof replay->source.error,
             "0x%llx: %s: the interpreter alone does not execute this; it needs the host's "
             "processor: %s",
             (unsigned long long)entry->ip, text, run->why);
    return REPLAY_STOP;
}

/* ---- faults ------------------------------------------------------------------------------------
 */

/* COUNT bytes from ADDRESS on can be read, or written. */
static bool reachable(struct snippet_run *run, uint64_t address, uint64_t count, bool write)
{
    struct interpret_memory *memory = run->replay.spaces[0]->memory;
    uint64_t first = address >> INTERPRET_PAGE_SHIFT;
    uint64_t last = (address + count - 1) >> INTERPRET_PAGE_SHIFT;

    for (uint64_t number = first; number <= last; number++) {
        const struct interpret_page *page = interpret_page_read(memory, number);
        if (!page || (write && !page->writable && !writable(run, number, 0)))
            return false;
    }
    return true;
}

/* Bytes the instruction's accesses have, in all repetitions. */
static uint64_t extent(const struct recipe *recipe, const struct recipe_registers *registers,
                       const struct trace_access *access)
{
    uint64_t count = recipe->repeated ? registers->gpr[GPR_CX] & recipe->address_mask : 1;

    return count < UINT32_MAX ? count * access->size : UINT32_MAX;
}

/* Does it reach memory that is not there, in its first repetition or in a later one? */
static bool page_fault(struct snippet_run *run, const struct code_entry *entry, bool later)
{
    const struct recipe_registers *registers = &run->replay.machine.state.registers;
    bool backward = entry->recipe.string && (registers->flags & FLAG_DF);
    struct trace_access access[TRACE_ACCESSES];
    unsigned count = recipe_accesses(&entry->recipe, registers, access);

    for (unsigned i = 0; i < count; i++) {
        uint64_t bytes = extent(&entry->recipe, registers, &access[i]), low = access[i].address;
        if (!bytes)
            continue;
        if (!later)
            bytes = access[i].size;
        if (backward)
            low -= bytes - access[i].size;
        if (!reachable(run, low, bytes, access[i].write))
            return true;
    }
    return false;
}

/* SSE operands in memory must be aligned, but for moves that say otherwise. */
static bool misaligned(const struct snippet_run *run, const struct code_entry *entry)
{
    struct trace_access access[TRACE_ACCESSES];
    unsigned count = recipe_accesses(&entry->recipe, &run->replay.machine.state.registers, access);

    for (unsigned i = 0; i < count; i++)
        if (access[i].size == 16 && access[i].address % 16 != 0)
            return true;
    return false;
}

/* Would it be executed? Tried on a copy of the registers: only for instructions that read no memory
 * which they write. */
static bool goes(const struct snippet_run *run, const struct code_entry *entry)
{
    struct interpreter trial = run->replay.machine;
    struct trace_access access[TRACE_ACCESSES];
    unsigned count;

    return interpret_step(&trial, &entry->op, &entry->recipe, access, &count);
}

static bool writes_memory(const struct recipe *recipe)
{
    for (unsigned i = 0; i < recipe->access_count; i++)
        if (recipe->access[i].write)
            return true;
    return false;
}

/* The signal the instruction ends with instead of being executed; 0: none. */
static int fault_of(struct snippet_run *run, const struct code_entry *entry)
{
    if (entry->op.run == interpret_nop) /* prefetches do not fault */
        return 0;
    if (page_fault(run, entry, false))
        return SIGSEGV;
    if (entry->op.run == interpret_div)
        return goes(run, entry) ? 0 : SIGFPE;
    if (entry->recipe.repeated && page_fault(run, entry, true)) /* comparing may end before */
        return !writes_memory(&entry->recipe) && goes(run, entry) ? 0 : SIGSEGV;
    if (misaligned(run, entry))
        return goes(run, entry) ? 0 : SIGSEGV;
    return 0;
}

static bool cannot(struct replay *replay)
{
    refuse(run_of(replay), replay->entry);
    return false;
}

/* ---- answered here -----------------------------------------------------------------------------
 */

/* The instruction that is ready leaves AFTER. */
static void leaves(struct snippet_run *run, const struct interpret_state *after)
{
    struct replay *replay = &run->replay;

    run->result.used = 0;
    stream_put_state(&run->result, &replay->machine.state, after);
    replay->log = (struct stream_cursor){run->result.bytes, run->result.bytes + run->result.used};
    replay->native = true;
}

static struct interpret_state behind(const struct replay *replay, const struct code_entry *entry)
{
    struct interpret_state after = replay->machine.state;

    after.registers.ip += entry->recipe.length;
    return after;
}

static enum replay_step answer_cpuid(struct snippet_run *run, const struct code_entry *entry)
{
    struct interpret_state after = behind(&run->replay, entry);
    uint64_t *gpr = after.registers.gpr;
    uint32_t registers[4] = {0};

    run->cpuid(run->cpuid_context, (uint32_t)gpr[GPR_AX], (uint32_t)gpr[GPR_CX], registers);
    gpr[GPR_AX] = registers[0];
    gpr[GPR_BX] = registers[1];
    gpr[GPR_CX] = registers[2];
    gpr[GPR_DX] = registers[3];
    leaves(run, &after);
    return REPLAY_READY;
}

static void accessed(struct replay *replay, const struct trace_register_access *access)
{
    struct interpret_state after = behind(replay, replay->entry);

    if (access->what != TRACE_WRMSR) {
        after.registers.gpr[GPR_AX] = access->value & 0xffffffff;
        after.registers.gpr[GPR_DX] = access->value >> 32;
    }
    leaves(run_of(replay), &after);
}

/* Whether it may be done; without a processor to ask, RDTSC is the number of instructions. The
 * processor does it when it has retired what came before (replay.c). */
static enum replay_step answer_register(struct snippet_run *run, struct code_entry *entry)
{
    struct replay *replay = &run->replay;
    struct trace_register_access access = {.what = TRACE_RDTSC, .value = replay->executed};
    bool may = entry->recipe.kind == RECIPE_RDTSC;

    replay->entry = entry;
    if (replay->source.registers) {
        access = replay_register_access(replay);
        access.ask = true;
        may = replay->source.registers(replay->source.registers_context, &access);
    }
    if (!may)
        return ended(run, TRACE_ENDED_SIGNAL, SIGSEGV);
    accessed(replay, &access);
    return REPLAY_READY;
}

/* ---- what comes next ---------------------------------------------------------------------------
 */

static enum replay_step judge(struct snippet_run *run, struct code_entry *entry)
{
    int fault;

    if (entry->recipe.kind == RECIPE_CPUID && run->cpuid)
        return answer_cpuid(run, entry);
    if (recipe_reads_processor(&entry->recipe))
        return answer_register(run, entry);
    if (entry->recipe.length == 2 && memcmp(entry->recipe.bytes, "\x0f\x0b", 2) == 0) /* ud2 */
        return ended(run, TRACE_ENDED_SIGNAL, SIGILL);
    if (!entry->op.run)
        return refuse(run, entry);
    fault = fault_of(run, entry);
    if (fault)
        return ended(run, TRACE_ENDED_SIGNAL, fault);
    run->replay.run_left = 1;
    return REPLAY_READY;
}

static enum replay_step next(struct replay *replay)
{
    struct snippet_run *run = run_of(replay);
    uint64_t ip = replay->machine.state.registers.ip;
    struct code_entry *entry;

    if (replay->run_left || replay->native)
        return REPLAY_READY;
    if (ip < run->window.low || ip >= run->window.high)
        return ended(run, TRACE_ENDED_SNIPPET, 0);
    entry = space_fetch(replay->space, replay->decoder, ip);
    return entry ? judge(run, entry) : ended(run, TRACE_ENDED_SIGNAL, SIGSEGV);
}

/* ---- the source --------------------------------------------------------------------------------
 */

static void finish(struct snippet_run *run)
{
    struct replay *replay = &run->replay;

    run->finished = true;
    replay->source.end.interpreted = replay->executed;
    if (!replay->copy)
        return;
    recorder_pause(replay->copy);
    recorder_finish(replay->copy, &replay->source.end, replay->codes);
}

static enum trace_result advance(struct trace_source *source, struct trace_instruction *out)
{
    struct snippet_run *run = (struct snippet_run *)source;
    enum trace_result result = replay_advance(source, out);
    const char *trouble;

    if (result == TRACE_END && !run->finished)
        finish(run);
    trouble = run->replay.copy ? recorder_error(run->replay.copy) : NULL;
    if (!trouble || result == TRACE_ERROR)
        return result;
    snprintf(source->error, sizeof source->error, "%s", trouble);
    source->error_status = 3;
    return TRACE_ERROR;
}

static void close_run(struct trace_source *source)
{
    struct snippet_run *run = (struct snippet_run *)source;

    recorder_close(run->replay.copy);
    elf_code_close(run->image);
    free(run->result.bytes);
    replay_close(source);
}

/* ---- opening -----------------------------------------------------------------------------------
 */

static bool make_space(struct snippet_run *run, bool long_mode)
{
    static const struct interpret_backing backing = {.fetch = fetch, .writable = writable};
    struct replay *replay = &run->replay;

    replay->spaces = calloc(1, sizeof(*replay->spaces));
    if (!replay->spaces || !(replay->spaces[0] = space_new(0, read_code)))
        return false;
    replay->space_count = 1;
    replay->space = replay->spaces[0];
    replay->space->mode = long_mode ? RECIPE_64 : RECIPE_32;
    replay->space->memory = interpret_memory_new(&backing, run);
    replay->machine.memory = replay->space->memory;
    replay->decoder = recipe_decoder_new();
    return replay->machine.memory && replay->decoder;
}

static void set_registers(struct snippet_run *run)
{
    struct interpret_state *state = &run->replay.machine.state;

    state->registers.ip = run->window.low;
    state->registers.gpr[GPR_SP] = run->window.stack;
    state->registers.flags = FLAGS_AT_START;
    state->x87.control = X87_CONTROL;
    state->mxcsr = MXCSR_AT_START;
}

static bool record(struct snippet_run *run, const struct trace_live_options *options,
                   char error[512])
{
    struct replay *replay = &run->replay;

    replay->copy = recorder_open(&(struct recorder_options){.path = options->record_to,
                                                            .argv = options->argv,
                                                            .source = "interpreted"},
                                 error);
    if (!replay->copy)
        return false;
    replay->space->recorder = replay->copy;
    replay->moved = true;
    recorder_process(replay->copy, 0, options->long_mode ? 64 : 32, replay->space->memory,
                     &replay->space->pages);
    return true;
}

static void set_ops(struct snippet_run *run)
{
    static const struct replay_origin origin = {
        .next = next, .cannot = cannot, .accessed = accessed};

    run->replay.origin = &origin;
    run->ops = replay_ops;
    run->ops.next = advance;
    run->ops.store = store;
    run->ops.close = close_run;
    run->ops.functions = NULL;
    run->ops.regions = NULL;
    run->ops.share_done = NULL;
    run->replay.source.ops = &run->ops;
}

struct trace_source *snippet_run_open(const char *program, const struct trace_live_options *options,
                                      const struct live_window *window, const char *why,
                                      char error[512])
{
    struct snippet_run *run = calloc(1, sizeof *run);

    snprintf(error, 512, "no memory for a snippet");
    if (!run)
        return NULL;
    set_ops(run);
    run->window = *window;
    run->cpuid = options->cpuid;
    run->cpuid_context = options->cpuid_context;
    snprintf(run->why, sizeof run->why, "%.*s", (int)strcspn(why, ";"), why);
    snprintf(run->replay.source.end.note, sizeof run->replay.source.end.note,
             "the interpreter alone executed the snippet: %.200s", run->why);
    run->replay.source.end.processes = run->replay.source.end.threads = 1;
    if (make_space(run, options->long_mode) && (run->image = elf_code_open(program, 0, error)) &&
        (!options->record_to || record(run, options, error))) {
        set_registers(run);
        return &run->replay.source;
    }
    close_run(&run->replay.source);
    return NULL;
}
