/*
 * The log of a recorded run: its records change the state a replay executes on. A chunk that passed
 * its checksum may still be hostile, so every number is checked against what it indexes before use.
 */
#include "replay.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool replay_damaged(struct replay *replay, const char *format, ...)
{
    char what[240];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(replay->source.error, sizeof replay->source.error,
             "%.200s: offset %llu: byte %zu of the chunk: %s", reader_path(replay->reader),
             (unsigned long long)replay->chunk.position,
             (size_t)(replay->log.at - replay->chunk.raw), what);
    return false;
}

static bool reader_failed(struct replay *replay)
{
    snprintf(replay->source.error, sizeof replay->source.error, "%s", reader_error(replay->reader));
    return false;
}

/* A varint that must be below LIMIT. */
static bool get_number(struct replay *replay, uint64_t limit, const char *what, uint64_t *value)
{
    if (!stream_get_varint(&replay->log, value))
        return replay_damaged(replay, "the chunk ends inside a number: damaged");
    if (*value < limit)
        return true;
    return replay_damaged(replay, "%s is %llu, expected below %llu: damaged", what,
                          (unsigned long long)*value, (unsigned long long)limit);
}

/* ---- address spaces ----------------------------------------------------------------------------
 */

static bool no_page(void *context, uint64_t number, uint8_t bytes[INTERPRET_PAGE_BYTES])
{
    (void)context;
    (void)number;
    (void)bytes;
    return false;
}

static bool always_writable(void *context, uint64_t number, uint8_t first_byte)
{
    (void)context;
    (void)number;
    (void)first_byte;
    return true;
}

static bool read_code(struct space *space, uint64_t number, uint8_t bytes[CODE_PAGE_BYTES])
{
    const struct interpret_page *page = interpret_page_known(space->memory, number);

    if (page)
        memcpy(bytes, page->bytes, CODE_PAGE_BYTES);
    return page != NULL;
}

static bool reach(struct replay *replay, void ***table, size_t *count, size_t index)
{
    void **bigger;

    if (index < *count)
        return true;
    bigger = realloc(*table, (index + 1) * sizeof(*bigger));
    if (!bigger)
        return replay_damaged(replay, "no memory for %zu threads or processes", index + 1);
    memset(bigger + *count, 0, (index + 1 - *count) * sizeof *bigger);
    *table = bigger;
    *count = index + 1;
    return true;
}

static bool get_process(struct replay *replay, struct space **space)
{
    uint64_t process = 0;

    if (!get_number(replay, STREAM_PROCESSES_MAX, "process", &process))
        return false;
    *space = process < replay->space_count ? replay->spaces[process] : NULL;
    return *space || replay_damaged(replay, "process %llu is not there: damaged",
                                    (unsigned long long)process);
}

static bool read_process(struct replay *replay)
{
    static const struct interpret_backing backing = {.fetch = no_page, .writable = always_writable};
    void **table = (void **)replay->spaces;
    struct space *space;
    uint64_t process = 0;
    uint8_t mode = 0;

    if (!get_number(replay, STREAM_PROCESSES_MAX, "process", &process) ||
        !reach(replay, &table, &replay->space_count, process))
        return false;
    replay->spaces = (struct space **)table;
    if (!stream_get_byte(&replay->log, &mode) || (mode != 32 && mode != 64))
        return replay_damaged(replay, "a process of %u bits: damaged", mode);
    if (replay->spaces[process])
        return replay_damaged(replay, "process %llu begins twice: damaged",
                              (unsigned long long)process);
    space = replay->spaces[process] = space_new((uint16_t)process, read_code);
    if (!space || !(space->memory = interpret_memory_new(&backing, NULL)))
        return replay_damaged(replay, "no memory for another process");
    space->mode = mode == 64 ? RECIPE_64 : RECIPE_32;
    if (replay->copy)
        recorder_process(replay->copy, space->process, mode, space->memory, &space->pages);
    return true;
}

void replay_drop(struct replay *replay, struct space *space)
{
    if (space == replay->space)
        replay->space = NULL;
    replay->mapped -= space->memory->page_count;
    replay->spaces[space->process] = NULL;
    space_free(space);
}

static bool read_gone(struct replay *replay)
{
    struct space *space;

    if (!get_process(replay, &space))
        return false;
    if (replay->copy)
        recorder_gone(replay->copy, space->process);
    if (replay->last && replay->last->process == space->process)
        replay->leaving = space;
    else
        replay_drop(replay, space);
    return true;
}

/* ---- pages -------------------------------------------------------------------------------------
 */

static bool get_page(struct replay *replay, struct space **space, uint64_t *number)
{
    uint64_t difference = 0;

    if (!get_process(replay, space))
        return false;
    if (!stream_get_varint(&replay->log, &difference))
        return replay_damaged(replay, "the chunk ends inside a page number: damaged");
    *number = replay->log_page += stream_unzigzag(difference);
    if (*number < 1ull << (64 - INTERPRET_PAGE_SHIFT))
        return true;
    return replay_damaged(replay, "page number 0x%llx: damaged", (unsigned long long)*number);
}

static bool put(struct replay *replay, struct space *space, uint64_t number, unsigned offset,
                const uint8_t *bytes, unsigned count)
{
    size_t before = space->memory->page_count;

    if (replay->mapped >= STREAM_MAPPED_MAX)
        return replay_damaged(replay, "more than %d pages", STREAM_MAPPED_MAX);
    if (!interpret_memory_put(space->memory, number, offset, bytes, count))
        return replay_damaged(replay, "no memory for a page");
    replay->mapped += space->memory->page_count - before;
    if (code_page_find(&space->pages, number))
        space_touch(space);
    return true;
}

static bool read_page(struct replay *replay)
{
    struct space *space;
    uint64_t number = 0, content = 0;
    const uint8_t *bytes;

    if (!get_page(replay, &space, &number) ||
        !get_number(replay, UINT32_MAX, "page content", &content))
        return false;
    bytes = reader_page(replay->reader, content);
    if (!bytes)
        return reader_failed(replay);
    return put(replay, space, number, 0, bytes, STREAM_PAGE_BYTES);
}

static bool read_patch(struct replay *replay)
{
    uint8_t bytes[STREAM_PAGE_BYTES];
    uint64_t number = 0, offset = 0, count = 0;
    struct space *space;

    if (!get_page(replay, &space, &number) ||
        !get_number(replay, STREAM_PAGE_BYTES, "offset", &offset) ||
        !get_number(replay, STREAM_PAGE_BYTES - offset + 1, "count", &count))
        return false;
    if (!stream_get_bytes(&replay->log, bytes, count))
        return replay_damaged(replay, "the chunk ends inside a patch: damaged");
    return put(replay, space, number, (unsigned)offset, bytes, (unsigned)count);
}

static bool read_unmapped(struct replay *replay)
{
    struct space *space;
    uint64_t number = 0;

    if (!get_page(replay, &space, &number))
        return false;
    interpret_memory_unmap(space->memory, number);
    if (code_page_find(&space->pages, number))
        space_touch(space);
    return true;
}

static bool read_code_record(struct replay *replay)
{
    struct space *space;
    uint64_t number = 0;

    if (!get_page(replay, &space, &number))
        return false;
    if (replay->copy)
        recorder_code(replay->copy, space->process, number);
    if (space_know(space, number))
        return true;
    return replay_damaged(replay, "code in page 0x%llx, which is not there: damaged",
                          (unsigned long long)number);
}

/* ---- threads -----------------------------------------------------------------------------------
 */

void replay_moves(struct replay *replay)
{
    if (replay->copy)
        recorder_pause(replay->copy);
    replay->moved = true;
}

/* Keeps what the last instruction left, before something from outside changes it. */
static void keep_state(struct replay *replay)
{
    replay_moves(replay);
    if (!replay->left && replay->last)
        replay->left_state = replay->machine.state;
    replay->left |= replay->last != NULL;
}

static struct replay_thread *thread_of(struct replay *replay, uint64_t number)
{
    void **table = (void **)replay->threads;

    if (!reach(replay, &table, &replay->thread_count, number))
        return NULL;
    replay->threads = (struct replay_thread **)table;
    if (!replay->threads[number])
        replay->threads[number] = calloc(1, sizeof **replay->threads);
    if (!replay->threads[number])
        replay_damaged(replay, "no memory for another thread");
    return replay->threads[number];
}

static bool read_switch(struct replay *replay)
{
    struct replay_thread *thread;
    struct space *space;
    uint64_t number = 0;

    if (!get_number(replay, STREAM_THREADS_MAX, "thread", &number) || !get_process(replay, &space))
        return false;
    keep_state(replay);
    if (replay->thread < replay->thread_count && replay->threads[replay->thread])
        replay->threads[replay->thread]->state = replay->machine.state;
    thread = thread_of(replay, number);
    if (!thread)
        return false;
    thread->process = space->process;
    replay->thread = (uint16_t)number;
    replay->space = space;
    replay->machine.state = thread->state;
    replay->machine.memory = space->memory;
    return true;
}

static bool get_state(struct replay *replay)
{
    return stream_get_state(&replay->log, &replay->machine.state) ||
           replay_damaged(replay, "not a state: damaged");
}

static bool read_state(struct replay *replay)
{
    keep_state(replay);
    return get_state(replay);
}

static bool read_check(struct replay *replay)
{
    uint8_t hash[8];

    if (!stream_get_bytes(&replay->log, hash, sizeof hash))
        return replay_damaged(replay, "the chunk ends inside a check: damaged");
    if (stream_get64(hash) == stream_hash_state(&replay->machine.state))
        return true;
    return replay_damaged(replay,
                          "after %llu instructions the registers are not those of the "
                          "recorded run: damaged, or this host computes differently",
                          (unsigned long long)replay->executed);
}

static bool read_forget(struct replay *replay)
{
    for (size_t i = 0; i < replay->thread_count; i++) {
        free(replay->threads[i]);
        replay->threads[i] = NULL;
    }
    replay->space = NULL;
    memset(&replay->machine.state, 0, sizeof replay->machine.state);
    return true;
}

/* What came between the last instruction and the next. At the start of a replay there is none. */
static bool read_interrupt(struct replay *replay, bool handler)
{
    uint64_t ip = 0;

    if (handler && !stream_get_varint(&replay->log, &ip))
        return replay_damaged(replay, "the chunk ends inside an interrupt: damaged");
    if (replay->copy && handler)
        recorder_interrupt(replay->copy, ip);
    else if (replay->copy)
        recorder_broken(replay->copy);
    if (!replay->last)
        return true;
    replay->last->flags |= TRACE_INTERRUPTED;
    if (handler)
        replay->last->next_ip = ip;
    return true;
}

/* ---- files and registers -----------------------------------------------------------------------
 */

static bool get_numbers(struct replay *replay, uint64_t *const numbers[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!stream_get_varint(&replay->log, numbers[i]))
            return replay_damaged(replay, "the chunk ends inside a number: damaged");
    return true;
}

static bool read_object(struct replay *replay)
{
    struct trace_object object = {0};
    uint64_t *const numbers[] = {&object.instruction, &object.start, &object.end, &object.offset};
    struct space *space;
    uint8_t flags = 0, length = 0;

    if (!get_process(replay, &space))
        return false;
    if (!stream_get_byte(&replay->log, &flags) ||
        !stream_get_byte(&replay->log, &object.build_id_bytes) ||
        object.build_id_bytes > TRACE_BUILD_ID_BYTES ||
        !stream_get_bytes(&replay->log, object.build_id, object.build_id_bytes))
        return replay_damaged(replay, "not a mapped file: damaged");
    if (!get_numbers(replay, numbers, 4))
        return false;
    if (!stream_get_byte(&replay->log, &length) ||
        !stream_get_bytes(&replay->log, object.path, length))
        return replay_damaged(replay, "not the name of a mapped file: damaged");
    object.process = space->process;
    object.executable = flags & OBJECT_EXECUTABLE;
    object.end += object.start;
    object_log_add(&replay->objects, &object);
    if (replay->copy)
        recorder_object(replay->copy, &object);
    return true;
}

static bool read_register(struct replay *replay)
{
    struct trace_register_access *access = &replay->access;
    uint64_t processor = 0, index = 0;
    uint64_t *const numbers[] = {&processor, &index, &access->ip, &access->value};
    uint8_t flags = 0;

    *access = (struct trace_register_access){.by_driver = true};
    if (!stream_get_byte(&replay->log, &flags))
        return replay_damaged(replay, "not a register access: damaged");
    if (!get_numbers(replay, numbers, 4))
        return false;
    access->what = flags & REGISTER_WRITE ? TRACE_WRMSR : TRACE_RDMSR;
    access->logical_processor = (unsigned)processor;
    access->index = (uint32_t)index;
    replay->access_waits = true;
    if (replay->copy && replay->space) {
        recorder_at(replay->copy, replay->thread, replay->space->process,
                    &replay->machine.state.registers);
        recorder_register(replay->copy, access);
    }
    return true;
}

/* ---- the log -----------------------------------------------------------------------------------
 */

static bool read_run(struct replay *replay, uint8_t byte)
{
    replay->run_left = byte & 0x7f;
    if (byte == RECORD_LONG_RUN && !stream_get_varint(&replay->log, &replay->run_left))
        return replay_damaged(replay, "the chunk ends inside a run: damaged");
    if (replay->run_left > replay->chunk_left)
        return replay_damaged(
            replay, "a run of %llu instructions where the chunk has %llu left: damaged",
            (unsigned long long)replay->run_left, (unsigned long long)replay->chunk_left);
    replay->chunk_left -= replay->run_left;
    return true;
}

static bool read_native(struct replay *replay)
{
    if (!replay->chunk_left)
        return replay_damaged(replay, "more instructions than the chunk's %llu: damaged",
                              (unsigned long long)replay->chunk.count);
    replay->chunk_left--;
    replay->native = true;
    return true;
}

/* Records that only change the state: those of checkpoints, too. */
static bool read_change(struct replay *replay, uint8_t byte)
{
    switch (byte) {
    case RECORD_PROCESS:
        return read_process(replay);
    case RECORD_SWITCH:
        return read_switch(replay);
    case RECORD_STATE:
        return read_state(replay);
    case RECORD_PAGE:
        return read_page(replay);
    case RECORD_UNMAPPED:
        return read_unmapped(replay);
    case RECORD_GONE:
        return read_gone(replay);
    case RECORD_CODE:
        return read_code_record(replay);
    case RECORD_OBJECT:
        return read_object(replay);
    default:
        return replay_damaged(replay, "record 0x%02x: damaged", byte);
    }
}

static bool read_record(struct replay *replay)
{
    uint8_t byte = *replay->log.at++;

    if (byte > RECORD_RUN)
        return read_run(replay, byte);
    switch (byte) {
    case RECORD_NATIVE:
        return read_native(replay);
    case RECORD_PATCH:
        return read_patch(replay);
    case RECORD_INTERRUPT:
    case RECORD_BROKEN:
        return read_interrupt(replay, byte == RECORD_INTERRUPT);
    case RECORD_CHECK:
        return read_check(replay);
    case RECORD_REGISTER:
        return read_register(replay);
    default:
        return read_change(replay, byte);
    }
}

static void begin_chunk(struct replay *replay, const struct reader_chunk *chunk)
{
    replay->chunk = *chunk;
    replay->log = (struct stream_cursor){chunk->raw, chunk->raw + chunk->raw_bytes};
    replay->log_page = 0;
}

bool replay_checkpoint(struct replay *replay, const struct reader_chunk *chunk)
{
    uint8_t byte;

    begin_chunk(replay, chunk);
    while (stream_get_byte(&replay->log, &byte)) {
        bool good = byte == RECORD_FORGET     ? read_forget(replay)
                    : byte == RECORD_COMPLETE ? true
                                              : read_change(replay, byte);
        if (!good)
            return false;
    }
    return true;
}

/* Checkpoints are for those who do not come by way of the log. */
static bool next_chunk(struct replay *replay)
{
    struct reader_chunk chunk;

    if (replay->chunk_left)
        return replay_damaged(replay, "the chunk ends %llu instructions early: damaged",
                              (unsigned long long)replay->chunk_left);
    if (!reader_next(replay->reader, &chunk))
        return reader_failed(replay);
    if (chunk.kind == READER_TRAILER) {
        replay->source.end = reader_info(replay->reader)->end;
        replay->state = REPLAY_ENDED;
        return false;
    }
    if (chunk.kind == READER_LOG) {
        begin_chunk(replay, &chunk);
        replay->chunk_left = chunk.count;
    }
    return true;
}

enum replay_step replay_log(struct replay *replay)
{
    bool good;

    if (replay->run_left || replay->native)
        return REPLAY_READY;
    if (replay->access_waits)
        return REPLAY_ACCESS;
    good = replay->log.at == replay->log.end ? next_chunk(replay) : read_record(replay);
    return good ? REPLAY_RECORD : REPLAY_STOP;
}
