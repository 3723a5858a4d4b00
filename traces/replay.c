/* A recorded run as a source; see replay.h. */
#define _GNU_SOURCE
#include "replay.h"
#include "flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct replay *replay_of(struct trace_source *source)
{
    return (struct replay *)source;
}

/* ---- making the next instruction ready ---------------------------------------------------------
 */

/* Does the instruction now ready follow the last one in its own thread's flow? */
static void compare_flow(const struct replay *replay, struct trace_instruction *last)
{
    if (!replay->space || replay->thread != last->thread ||
        replay->space->process != last->process) {
        last->flags |= TRACE_INTERRUPTED;
    } else if (replay->machine.state.registers.ip != last->next_ip) {
        last->next_ip = replay->machine.state.registers.ip;
        last->flags |= TRACE_INTERRUPTED;
    }
}

/* Reads the log up to the next instruction. False at the end and at an error. */
static bool prepare(struct replay *replay)
{
    enum replay_step step;

    do
        step = replay->origin->next(replay);
    while (step == REPLAY_RECORD);
    if (step == REPLAY_STOP || step == REPLAY_ACCESS)
        return false;
    if (!replay->space)
        return replay_damaged(replay, "an instruction of no process: damaged");
    replay->entry = space_fetch(replay->space, replay->decoder, replay->machine.state.registers.ip);
    return true;
}

/* ---- executing it ------------------------------------------------------------------------------
 */

/* Did it write where code is known to stand? */
static void note_writes(struct replay *replay, const struct trace_instruction *out)
{
    for (unsigned i = 0; i < out->access_count; i++) {
        uint64_t low = out->access[i].address;
        uint64_t size = out->access[i].size, bytes = size * out->repetitions;
        if (!out->access[i].write || !bytes)
            continue;
        if (out->flags & TRACE_REP_BACKWARD)
            low -= bytes - size;
        space_written(replay->space, low, low + bytes);
    }
}

static void name_code(struct replay *replay, struct code_entry *entry, uint64_t next_ip)
{
    if (entry->recipe.kind == RECIPE_UNKNOWN && next_ip > entry->ip &&
        next_ip - entry->ip <= TRACE_INSTRUCTION_BYTES)
        entry->recipe.length = (uint8_t)(next_ip - entry->ip);
    else if (entry->recipe.kind == RECIPE_UNKNOWN)
        entry->recipe.length = 1;
    entry->number = replay->codes++;
}

/* The executed instruction; START are the registers before it, the machine's those after. */
static void fill_in(struct replay *replay, uint64_t ip, uint64_t flags,
                    struct trace_instruction *out)
{
    struct code_entry *entry = replay->entry;

    out->ip = ip;
    out->next_ip = replay->machine.state.registers.ip;
    out->stack = replay->machine.state.registers.gpr[GPR_SP];
    if (entry->number == SPACE_NO_CODE)
        name_code(replay, entry, out->next_ip);
    out->code = entry->number;
    out->process = replay->space->process;
    out->thread = replay->thread;
    out->flags = entry->recipe.kind == RECIPE_SYSTEM_CALL ? TRACE_SYSTEM_CALL : 0;
    if (entry->recipe.mode == RECIPE_64)
        out->flags |= TRACE_64BIT;
    if (entry->recipe.string && (flags & RECIPE_FLAG_DIRECTION))
        out->flags |= TRACE_REP_BACKWARD;
    out->length = entry->recipe.length;
    out->assist = out->precision = 0;
    replay->branched = entry->recipe.effects.branch != EFFECT_NO_BRANCH;
    replay->executed++;
}

/* Of an instruction that a log says was interpreted. */
static bool cannot_interpret(struct replay *replay)
{
    return replay_damaged(replay,
                          "the instruction at 0x%llx cannot be executed here: damaged, or "
                          "recorded where the interpreter knew more (by another version of "
                          "p4sim, or with floating point on an x86 host)",
                          (unsigned long long)replay->machine.state.registers.ip);
}

static bool interpret(struct replay *replay, struct trace_instruction *out)
{
    const struct recipe_registers *registers = &replay->machine.state.registers;
    uint64_t ip = registers->ip, flags = registers->flags;
    unsigned count = 0;

    if (replay->copy && replay->moved)
        recorder_resume(replay->copy, replay->thread, replay->space->process,
                        &replay->machine.state);
    replay->moved = false;
    if (!interpret_step(&replay->machine, &replay->entry->op, &replay->entry->recipe, out->access,
                        &count))
        return replay->origin->cannot(replay);
    replay->run_left--;
    out->access_count = (uint8_t)count;
    out->repetitions = replay->machine.repetitions;
    fill_in(replay, ip, flags, out);
    if (replay->copy)
        recorder_interpreted(replay->copy);
    out->assist = replay->machine.assist;
    out->precision = replay->machine.precision;
    return true;
}

static uint64_t count_register(const struct recipe *recipe,
                               const struct recipe_registers *registers)
{
    return registers->gpr[GPR_CX] & recipe->address_mask;
}

/* The processor executed it, the log has what it left. */
static bool take_result(struct replay *replay, struct trace_instruction *out)
{
    const struct recipe *recipe = &replay->entry->recipe;
    const struct recipe_registers *registers = &replay->machine.state.registers;
    const struct interpret_state start = replay->machine.state;
    const struct recipe_registers before = start.registers;

    replay->native = false;
    replay_moves(replay);
    if (!stream_get_state(&replay->log, &replay->machine.state))
        return replay_damaged(replay, "not a state: damaged");
    out->access_count = (uint8_t)recipe_accesses(recipe, &before, out->access);
    out->repetitions = 1;
    if (recipe->repeated)
        out->repetitions =
            (uint32_t)(count_register(recipe, &before) - count_register(recipe, registers));
    fill_in(replay, before.ip, before.flags, out);
    if (replay->copy)
        recorder_result(replay->copy, replay->thread, replay->space->process, &start,
                        &replay->machine.state);
    return true;
}

struct trace_register_access replay_register_access(const struct replay *replay)
{
    const struct recipe_registers *registers = &replay->machine.state.registers;
    unsigned kind = replay->entry->recipe.kind;

    return (struct trace_register_access){
        .what = kind == RECIPE_RDTSC   ? TRACE_RDTSC
                : kind == RECIPE_RDPMC ? TRACE_RDPMC
                : kind == RECIPE_RDMSR ? TRACE_RDMSR
                                       : TRACE_WRMSR,
        .index = (uint32_t)registers->gpr[GPR_CX],
        .ip = registers->ip,
        .value =
            (registers->gpr[GPR_DX] & 0xffffffff) << 32 | (registers->gpr[GPR_AX] & 0xffffffff),
    };
}

/* What it does to the simulated processor. */
static void access_register(struct replay *replay)
{
    struct trace_register_access access = replay_register_access(replay);

    replay->source.registers(replay->source.registers_context, &access);
    if (replay->origin->accessed)
        replay->origin->accessed(replay, &access);
}

/* Does what the kernel does for programs, after the reader was told. True: tell it. */
static bool kernel_accesses(struct replay *replay)
{
    if (!replay->access_waits)
        return false;
    if (replay->source.registers && !replay->synchronised)
        return replay->synchronised = true;
    replay->synchronised = false;
    while (replay->access_waits) {
        if (replay->source.registers)
            replay->source.registers(replay->source.registers_context, &replay->access);
        replay->access_waits = false;
        replay->prepared = prepare(replay);
    }
    return false;
}

/* Must the machine have retired what came before? Then the reader is told first. */
static bool synchronises(struct replay *replay)
{
    if (!replay->native || !replay->source.registers || !replay->entry ||
        !recipe_reads_processor(&replay->entry->recipe))
        return false;
    replay->synchronised = !replay->synchronised;
    if (!replay->synchronised)
        access_register(replay);
    return replay->synchronised;
}

static bool execute(struct replay *replay, struct trace_instruction *out)
{
    if (!replay->entry)
        return replay_damaged(replay, "no code at 0x%llx: damaged",
                              (unsigned long long)replay->machine.state.registers.ip);
    return replay->native ? take_result(replay, out) : interpret(replay, out);
}

/* ---- the source --------------------------------------------------------------------------------
 */

static enum trace_result stop(struct replay *replay)
{
    if (replay->state == REPLAY_ENDED || replay->state == REPLAY_INTERRUPTED)
        return TRACE_END;
    replay->state = REPLAY_FAILED;
    replay->source.error_status = 3;
    return TRACE_ERROR;
}

/* Makes the instruction after OUT ready, which tells how OUT ends. In a run nothing comes between.
 */
static void look_ahead(struct replay *replay, struct trace_instruction *out)
{
    replay->last = out;
    if (replay->run_left) {
        replay->entry = space_fetch_after(replay->space, replay->decoder,
                                          replay->machine.state.registers.ip, replay->entry);
        replay->prepared = true;
    } else {
        replay->prepared = prepare(replay);
        if (replay->prepared || replay->access_waits)
            compare_flow(replay, out);
    }
    replay->last = NULL;
}

static void keep_registers(struct replay *replay)
{
    const struct recipe_registers *now = &replay->machine.state.registers;

    memcpy(replay->before.gpr, now->gpr, sizeof replay->before.gpr);
    replay->before.ip = now->ip;
    replay->before.flags = now->flags;
}

enum trace_result replay_advance(struct trace_source *source, struct trace_instruction *out)
{
    struct replay *replay = replay_of(source);

    replay->left = replay->on_wrong_path = false;
    if (replay->leaving)
        replay_drop(replay, replay->leaving);
    replay->leaving = NULL;
    if (replay->state != REPLAYING || source->error[0])
        return stop(replay);
    if (!replay->prepared)
        replay->prepared = prepare(replay);
    if (kernel_accesses(replay))
        return TRACE_SYNC;
    if (!replay->prepared)
        return stop(replay);
    if (synchronises(replay))
        return TRACE_SYNC;
    replay->prepared = false;
    if (replay->keeps_registers)
        keep_registers(replay);
    if (!execute(replay, out))
        return stop(replay);
    replay->delivered_thread = out->thread;
    replay->delivered_process = out->process;
    note_writes(replay, out);
    look_ahead(replay, out);
    replay->stored_count = 0;
    return TRACE_OK;
}

static size_t replay_code_at(struct trace_source *source, uint16_t process, uint64_t ip,
                             uint8_t bytes[TRACE_INSTRUCTION_BYTES])
{
    const struct replay *replay = replay_of(source);
    const struct space *space = process < replay->space_count ? replay->spaces[process] : NULL;

    return space ? code_page_copy(&space->pages, ip, bytes) : 0;
}

static bool replay_state(struct trace_source *source, struct interpret_state *out)
{
    const struct replay *replay = replay_of(source);

    *out = replay->left ? replay->left_state : replay->machine.state;
    return replay->executed != 0;
}

static bool replay_registers_before(struct trace_source *source, struct trace_registers *out)
{
    struct replay *replay = replay_of(source);

    replay->keeps_registers = true;
    *out = replay->before;
    return out->ip != 0;
}

/* ---- wrong paths --------------------------------------------------------------------------------
 */

/* What a live run does not keep of the memory its next instruction writes. */
static void forget_what_was_not_kept(struct replay *replay)
{
    struct trace_access access[TRACE_ACCESSES];
    unsigned count =
        recipe_accesses(&replay->entry->recipe, &replay->machine.state.registers, access);

    for (unsigned i = 0; i < count; i++)
        if (access[i].write && access[i].size > WRONG_PATH_KEPT)
            wrong_path_memory_was(replay->wrong, access[i].address, NULL, access[i].size);
}

/* Known in the cases in which a live run knows: live_wrong.c says which. The instruction that comes
 * next is ready and has not been executed. */
static bool replay_wrong_begin(struct trace_source *source)
{
    struct replay *replay = replay_of(source);
    const struct recipe *next = replay->prepared && replay->entry ? &replay->entry->recipe : NULL;

    replay->on_wrong_path = false;
    if (!next || !replay->branched || !wrong_path_may_begin_before(next) ||
        replay->thread != replay->delivered_thread ||
        replay->space->process != replay->delivered_process)
        return false;
    if (!replay->wrong && !(replay->wrong = wrong_path_new()))
        return false;
    wrong_path_begin(replay->wrong, &replay->machine.state, 0, replay->space->memory);
    forget_what_was_not_kept(replay);
    replay->on_wrong_path = true;
    return true;
}

static bool replay_wrong_step(struct trace_source *source, uint64_t ip,
                              struct trace_wrong_step *out)
{
    struct replay *replay = replay_of(source);
    const struct code_entry *entry =
        replay->on_wrong_path ? space_guess(replay->space, replay->decoder, ip) : NULL;

    if (!entry)
        return false;
    wrong_path_step(replay->wrong, ip, &entry->op, &entry->recipe, out);
    return true;
}

static bool replay_wrong_mark(struct trace_source *source, unsigned number)
{
    struct replay *replay = replay_of(source);

    return replay->on_wrong_path && wrong_path_mark(replay->wrong, number);
}

static bool replay_wrong_back(struct trace_source *source, unsigned number)
{
    struct replay *replay = replay_of(source);

    return replay->on_wrong_path && wrong_path_back(replay->wrong, number);
}

static const struct trace_object *replay_objects(const struct trace_source *source, size_t *count)
{
    const struct replay *replay = (const struct replay *)source;

    *count = replay->objects.count;
    return replay->objects.object;
}

/* By a reader of its own: the log's stays where it is. */
static void read_names(struct replay *replay)
{
    struct reader_chunk chunk;
    char ignored[512];
    int also_ignored;
    struct reader *reader = reader_open(reader_path(replay->reader), ignored, &also_ignored);

    replay->names_read = true;
    if (reader && reader_seek_trailer(reader))
        for (size_t i = 0; reader_names(reader, i, &chunk); i++)
            if (!name_list_read_chunk(&replay->names, chunk.raw, chunk.raw_bytes))
                break;
    reader_close(reader);
}

static const struct trace_function *replay_functions(struct trace_source *source, size_t *count)
{
    struct replay *replay = replay_of(source);

    if (!replay->names_read)
        read_names(replay);
    *count = replay->names.count;
    return replay->names.function;
}

static const struct trace_region *replay_regions(struct trace_source *source, size_t *count)
{
    struct replay *replay = replay_of(source);

    if (!replay->regions_read)
        region_list_read_file(&replay->regions, reader_path(replay->reader));
    replay->regions_read = true;
    *count = replay->regions.count;
    return replay->regions.region;
}

/* ---- the rest ----------------------------------------------------------------------------------
 */

static double replay_share_done(const struct trace_source *source)
{
    const struct replay *replay = (const struct replay *)source;

    if (replay->state == REPLAY_ENDED)
        return 1.0;
    return replay->total ? (double)replay->executed / (double)replay->total
                         : reader_share_done(replay->reader);
}

/* May be called from a signal handler: only the state changes. */
static void replay_interrupt(struct trace_source *source)
{
    struct replay *replay = replay_of(source);

    if (replay->state != REPLAYING)
        return;
    replay->state = REPLAY_INTERRUPTED;
    source->end.how = TRACE_ENDED_CUT;
}

void replay_close(struct trace_source *source)
{
    struct replay *replay = replay_of(source);

    for (size_t i = 0; i < replay->space_count; i++)
        space_free(replay->spaces[i]);
    for (size_t i = 0; i < replay->thread_count; i++)
        free(replay->threads[i]);
    free(replay->spaces);
    free(replay->threads);
    object_log_free(&replay->objects);
    name_list_free(&replay->names);
    region_list_free(&replay->regions);
    wrong_path_free(replay->wrong);
    free(replay->stored);
    recipe_decoder_free(replay->decoder);
    reader_close(replay->reader);
    free(replay);
}

const struct trace_source_ops replay_ops = {
    .next = replay_advance,
    .code_at = replay_code_at,
    .state = replay_state,
    .registers_before = replay_registers_before,
    .memory_at = replay_memory_at,
    .store = replay_store,
    .objects = replay_objects,
    .functions = replay_functions,
    .regions = replay_regions,
    .wrong_begin = replay_wrong_begin,
    .wrong_step = replay_wrong_step,
    .wrong_mark = replay_wrong_mark,
    .wrong_back = replay_wrong_back,
    .share_done = replay_share_done,
    .interrupt = replay_interrupt,
    .close = replay_close,
};

/* ---- opening -----------------------------------------------------------------------------------
 */

static const struct replay_origin log_origin = {.next = replay_log, .cannot = cannot_interpret};

/* The file is a plain stream: another source reads it. */
static struct trace_source *open_flow(struct replay *replay, char error[512])
{
    struct trace_source *source = flow_open(replay->reader);

    replay->reader = NULL;
    replay_close(&replay->source);
    if (!source)
        snprintf(error, 512, "no memory to read a plain stream");
    return source;
}

struct trace_source *trace_open_file(const char *path, char error[512], int *status)
{
    struct replay *replay = calloc(1, sizeof *replay);
    struct trace_info info;
    char ignored[512];
    int also_ignored;

    *status = 3;
    if (!replay || !(replay->decoder = recipe_decoder_new())) {
        snprintf(error, 512, "%.300s: no memory to replay", path);
        free(replay);
        return NULL;
    }
    replay->source.ops = &replay_ops;
    replay->origin = &log_origin;
    replay->reader = reader_open(path, error, status);
    if (!replay->reader) {
        replay_close(&replay->source);
        return NULL;
    }
    if (strstr(reader_header_text(replay->reader), FLOW_CONTENTS))
        return open_flow(replay, error);
    if (trace_file_info(path, false, &info, ignored, &also_ignored))
        replay->total = info.instructions;
    return &replay->source;
}

/* The state of the last checkpoint that is not after INSTRUCTION, and the log from there on. */
static bool go_to_checkpoint(struct replay *replay, uint64_t instruction)
{
    struct reader *reader = replay->reader;
    struct reader_chunk chunk;
    uint64_t from;

    reader_index(reader);
    from = reader_last_checkpoint(reader, instruction);
    for (size_t i = 0; from && reader_checkpoint(reader, i, from, &chunk); i++)
        if (!replay_checkpoint(replay, &chunk))
            return false;
    if (!reader_error(reader)[0] && from)
        reader_seek_log(reader, from);
    replay->executed = from;
    replay->log.at = replay->log.end = NULL;
    snprintf(replay->source.error, sizeof replay->source.error, "%s", reader_error(reader));
    return !replay->source.error[0];
}

struct trace_source *trace_open_file_at(const char *path, uint64_t instruction, char error[512],
                                        int *status)
{
    struct trace_source *source = trace_open_file(path, error, status);
    struct trace_instruction skipped;
    enum trace_result result = TRACE_OK;
    uint64_t at = 0;

    if (!source || !instruction)
        return source;
    if (flow_is(source) || go_to_checkpoint(replay_of(source), instruction)) {
        at = flow_is(source) ? 0 : replay_of(source)->executed;
        while (at < instruction && (result = trace_source_next(source, &skipped)) == TRACE_OK)
            at++;
    }
    if (!source->error[0] && result == TRACE_OK)
        return source;
    if (source->error[0])
        snprintf(error, 512, "%s", source->error);
    else
        snprintf(error, 512, "%.300s: it has %llu instructions, expected more than %llu", path,
                 (unsigned long long)at, (unsigned long long)instruction);
    *status = 3;
    trace_source_close(source);
    return NULL;
}

/* Does the chunk hold what its kind says? The log's are looked into when they are executed. */
static bool check_contents(const struct reader_chunk *chunk)
{
    struct name_list names = {0};
    struct region_list regions = {0};
    bool good = true;

    if (chunk->kind == READER_NAMES)
        good = name_list_read_chunk(&names, chunk->raw, chunk->raw_bytes) &&
               names.count == chunk->count;
    else if (chunk->kind == READER_REGIONS)
        good = region_list_read_chunk(&regions, chunk->raw, chunk->raw_bytes, chunk->count);
    name_list_free(&names);
    region_list_free(&regions);
    return good;
}

/* Every chunk, in order, with its checksum. */
static bool read_all(struct reader *reader, char error[512])
{
    struct reader_chunk chunk = {0};

    while (chunk.kind != READER_TRAILER) {
        if (!reader_next(reader, &chunk)) {
            snprintf(error, 512, "%s", reader_error(reader));
            return false;
        }
        if (!check_contents(&chunk)) {
            snprintf(error, 512, "%.300s: offset %llu: not what this kind of chunk holds: damaged",
                     reader_path(reader), (unsigned long long)chunk.position);
            return false;
        }
    }
    return true;
}

/* Reads all of it, or the trailer alone. */
bool trace_file_info(const char *path, bool verify, struct trace_info *info, char error[512],
                     int *status)
{
    struct reader *reader = reader_open(path, error, status);
    bool good;

    if (!reader)
        return false;
    good = verify ? read_all(reader, error) : reader_seek_trailer(reader);
    *info = *reader_info(reader);
    if (!good && !verify)
        snprintf(error, 512, "%s", reader_error(reader));
    reader_close(reader);
    return good;
}
