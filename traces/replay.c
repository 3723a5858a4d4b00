/*
 * A recorded run as a source. Decodes the records of docs/trace-format.md into executed
 * instructions; the common case, a run of predicted instructions, is a table walk without reading
 * a byte. A chunk that passed its checksum may still be hostile, so every number is checked against
 * what it indexes before use.
 */
#define _GNU_SOURCE
#include "source.h"
#include "code_pages.h"
#include "reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct replay {
    struct trace_source source; /* first: the public handle */
    struct reader *reader;
    uint64_t total; /* instructions of the run, 0 when the trailer does not tell */
    struct reader_chunk chunk;
    const uint8_t *at;   /* next record */
    uint64_t run_left;   /* predicted instructions before it */
    uint64_t chunk_left; /* instructions the chunk still owes */
    uint32_t expected;   /* code of the next instruction, or STREAM_NO_CODE before a START */
    uint16_t thread;
    enum { REPLAYING, REPLAY_ENDED, REPLAY_FAILED, REPLAY_INTERRUPTED } state;
    struct stream_code *codes;
    uint32_t code_count, code_capacity;
    struct code_page_set *pages; /* by process */
    size_t page_sets;
    size_t page_count;
};

static struct replay *replay_of(struct trace_source *source)
{
    return (struct replay *)source;
}

/* ---- reading numbers ---------------------------------------------------------------------------
 */

/* Damage inside a chunk: the chunk's place in the file and the record's place in it. */
static bool damaged(struct replay *replay, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool damaged(struct replay *replay, const char *format, ...)
{
    char what[200];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(replay->source.error, sizeof replay->source.error,
             "%.240s: offset %llu: byte %zu of the chunk: %s: damaged", reader_path(replay->reader),
             (unsigned long long)replay->chunk.position, (size_t)(replay->at - replay->chunk.raw),
             what);
    return false;
}

static size_t bytes_left(const struct replay *replay)
{
    return replay->chunk.raw_bytes - (size_t)(replay->at - replay->chunk.raw);
}

static bool get_byte(struct replay *replay, uint8_t *byte)
{
    if (!bytes_left(replay))
        return damaged(replay, "the chunk ends inside a record");
    *byte = *replay->at++;
    return true;
}

static bool get_varint(struct replay *replay, uint64_t *value)
{
    uint8_t byte = 0;

    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (!get_byte(replay, &byte))
            return false;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return damaged(replay, "a number longer than 64 bits");
}

/* A varint that must be below LIMIT. */
static bool get_number(struct replay *replay, uint64_t limit, const char *what, uint64_t *value)
{
    if (!get_varint(replay, value))
        return false;
    if (*value < limit)
        return true;
    return damaged(replay, "%s is %llu, expected below %llu", what, (unsigned long long)*value,
                   (unsigned long long)limit);
}

/* ---- records that are no instructions ----------------------------------------------------------
 */

static struct stream_code *new_code(struct replay *replay)
{
    if (replay->code_count == STREAM_CODES_MAX) {
        damaged(replay, "more than %d static instructions", STREAM_CODES_MAX);
        return NULL;
    }
    if (replay->code_count == replay->code_capacity) {
        uint32_t capacity = replay->code_capacity ? 2 * replay->code_capacity : 1024;
        struct stream_code *codes = realloc(replay->codes, capacity * sizeof *codes);
        if (!codes) {
            damaged(replay, "no memory for %lu static instructions", (unsigned long)capacity);
            return NULL;
        }
        replay->codes = codes;
        replay->code_capacity = capacity;
    }
    return &replay->codes[replay->code_count];
}

static bool read_static_accesses(struct replay *replay, struct stream_code *code)
{
    uint64_t value;

    for (unsigned i = 0; i < code->access_count; i++) {
        if (!get_number(replay, UINT32_MAX, "access size", &value))
            return false;
        code->size[i] = (uint32_t)(value >> 1);
        code->write[i] = value & 1;
    }
    return true;
}

static bool read_static(struct replay *replay)
{
    struct stream_code *code = new_code(replay);
    uint64_t process, ip;

    if (!code || !get_number(replay, STREAM_PROCESSES_MAX, "process", &process) ||
        !get_varint(replay, &ip))
        return false;
    *code = (struct stream_code){.successor = {STREAM_NO_CODE, STREAM_NO_CODE}, .repetitions = 1};
    code->process = (uint16_t)process;
    code->ip = (replay->code_count ? replay->codes[replay->code_count - 1].ip : 0) +
               (uint64_t)stream_unzigzag(ip);
    if (!get_byte(replay, &code->length))
        return false;
    if (code->length > TRACE_INSTRUCTION_BYTES || code->length > bytes_left(replay))
        return damaged(replay, "instruction of %u bytes", code->length);
    replay->at += code->length;
    if (!get_byte(replay, &code->static_flags) || !get_byte(replay, &code->access_count))
        return false;
    if (code->access_count > TRACE_ACCESSES ||
        (code->static_flags & ~(TRACE_SYSTEM_CALL | TRACE_64BIT)))
        return damaged(replay, "static instruction with %u accesses, flags %u", code->access_count,
                       code->static_flags);
    if (!read_static_accesses(replay, code))
        return false;
    replay->code_count++;
    return true;
}

static struct code_page_set *pages_of(struct replay *replay, size_t process)
{
    if (process >= replay->page_sets) {
        struct code_page_set *sets = realloc(replay->pages, (process + 1) * sizeof *sets);
        if (!sets)
            return NULL;
        memset(sets + replay->page_sets, 0, (process + 1 - replay->page_sets) * sizeof *sets);
        replay->pages = sets;
        replay->page_sets = process + 1;
    }
    return &replay->pages[process];
}

static bool store_page(struct replay *replay, uint64_t process, uint64_t number, uint64_t offset,
                       uint64_t count)
{
    struct code_page_set *set = pages_of(replay, (size_t)process);
    struct code_page *page = set ? code_page_find(set, number) : NULL;

    if (!page && count != CODE_PAGE_BYTES)
        return damaged(replay, "page 0x%llx changes before it is known",
                       (unsigned long long)number);
    if (!page) {
        if (++replay->page_count > STREAM_PAGES_MAX)
            return damaged(replay, "more than %d code pages", STREAM_PAGES_MAX);
        page = set ? code_page_add(set, number) : NULL;
    }
    if (!page)
        return damaged(replay, "no memory for %zu code pages", replay->page_count);
    memcpy(page->bytes + offset, replay->at, count);
    replay->at += count;
    return true;
}

static bool read_page(struct replay *replay)
{
    uint64_t process, number, offset, count;

    if (!get_number(replay, STREAM_PROCESSES_MAX, "process", &process) ||
        !get_varint(replay, &number) ||
        !get_number(replay, CODE_PAGE_BYTES, "offset in the page", &offset) ||
        !get_number(replay, CODE_PAGE_BYTES - offset + 1, "bytes of the page", &count))
        return false;
    if (count > bytes_left(replay))
        return damaged(replay, "the chunk ends inside a page");
    return store_page(replay, process, number, offset, count);
}

static bool read_gone(struct replay *replay)
{
    uint64_t process;

    if (!get_number(replay, STREAM_PROCESSES_MAX, "process", &process))
        return false;
    if (process < replay->page_sets) {
        replay->page_count -= replay->pages[process].count;
        code_page_set_free(&replay->pages[process]);
    }
    return true;
}

static bool read_start(struct replay *replay)
{
    uint64_t thread, code;

    if (!get_number(replay, STREAM_THREADS_MAX, "thread", &thread) ||
        !get_number(replay, replay->code_count, "static instruction", &code))
        return false;
    if (replay->expected != STREAM_NO_CODE)
        return damaged(replay, "a start where static instruction %lu was announced",
                       (unsigned long)replay->expected);
    replay->thread = (uint16_t)thread;
    replay->expected = (uint32_t)code;
    return true;
}

/* ---- instructions ------------------------------------------------------------------------------
 */

/* Fills what the static instruction and its last execution tell. */
static void fill(const struct replay *replay, const struct stream_code *code,
                 struct trace_instruction *out)
{
    out->code = replay->expected;
    out->repetitions = code->repetitions;
    out->ip = code->ip;
    out->process = code->process;
    out->thread = replay->thread;
    out->flags = code->static_flags | code->backward;
    out->length = code->length;
    out->access_count = code->access_count;
    for (unsigned i = 0; i < code->access_count; i++) {
        out->access[i].size = code->size[i];
        out->access[i].write = code->write[i];
    }
}

static bool deliver_predicted(struct replay *replay, struct trace_instruction *out)
{
    struct stream_code *code = &replay->codes[replay->expected];
    uint32_t next = code->successor[0];

    if (next == STREAM_NO_CODE)
        return damaged(replay, "a predicted successor where none is known");
    fill(replay, code, out);
    for (unsigned i = 0; i < code->access_count; i++)
        out->access[i].address = code->slot[i].last += code->slot[i].stride;
    out->next_ip = replay->codes[next].ip;
    replay->expected = next;
    return true;
}

static bool read_repetitions(struct replay *replay, struct stream_code *code)
{
    uint64_t value;

    if (!get_number(replay, 1ull << 33, "repetitions", &value))
        return false;
    code->repetitions = (uint32_t)(value >> 1);
    code->backward = value & 1 ? TRACE_REP_BACKWARD : 0;
    return true;
}

static bool read_addresses(struct replay *replay, struct stream_code *code, uint8_t bits,
                           struct trace_instruction *out)
{
    uint8_t wrong = 0;
    uint64_t delta;

    if ((bits & INSTRUCTION_ADDRESSES) && !get_byte(replay, &wrong))
        return false;
    if (wrong >> code->access_count)
        return damaged(replay, "addresses 0x%x of an instruction with %u accesses", wrong,
                       code->access_count);
    for (unsigned i = 0; i < code->access_count; i++) {
        uint64_t address = code->slot[i].last + code->slot[i].stride;
        if (wrong & 1u << i) {
            if (!get_varint(replay, &delta))
                return false;
            address += (uint64_t)stream_unzigzag(delta);
        }
        stream_learn_address(&code->slot[i], address);
        out->access[i].address = address;
    }
    return true;
}

/* The stream breaks after this instruction: a switch, a signal, the end. */
static bool read_break(struct replay *replay, struct trace_instruction *out)
{
    uint8_t flags = 0;
    uint64_t delta;

    if (!get_byte(replay, &flags) || !get_varint(replay, &delta))
        return false;
    if (flags & ~TRACE_INTERRUPTED)
        return damaged(replay, "instruction flags 0x%x", flags);
    out->flags |= flags;
    out->next_ip = out->ip + out->length + (uint64_t)stream_unzigzag(delta);
    replay->expected = STREAM_NO_CODE;
    return true;
}

static bool read_successor(struct replay *replay, struct stream_code *code, uint8_t bits,
                           struct trace_instruction *out)
{
    uint32_t next = code->successor[bits & 1];
    uint64_t delta;

    if ((bits & INSTRUCTION_SUCCESSOR_MASK) == SUCCESSOR_BREAK)
        return read_break(replay, out);
    if ((bits & INSTRUCTION_SUCCESSOR_MASK) == SUCCESSOR_EXPLICIT) {
        if (!get_varint(replay, &delta))
            return false;
        uint64_t number = replay->expected + (uint64_t)stream_unzigzag(delta);
        next = number < replay->code_count ? (uint32_t)number : STREAM_NO_CODE;
    }
    if (next == STREAM_NO_CODE)
        return damaged(replay, "the next static instruction is not known");
    stream_learn_successor(code, next);
    out->next_ip = replay->codes[next].ip;
    replay->expected = next;
    return true;
}

static bool read_instruction(struct replay *replay, uint8_t bits, struct trace_instruction *out)
{
    struct stream_code *code;

    if (replay->expected == STREAM_NO_CODE)
        return damaged(replay, "an instruction before a start");
    if (!replay->chunk_left)
        return damaged(replay, "more instructions than the chunk's %llu",
                       (unsigned long long)replay->chunk.instructions);
    replay->chunk_left--;
    code = &replay->codes[replay->expected];
    if ((bits & INSTRUCTION_REPETITIONS) && !read_repetitions(replay, code))
        return false;
    fill(replay, code, out);
    return read_addresses(replay, code, bits, out) && read_successor(replay, code, bits, out);
}

static bool read_run(struct replay *replay, uint8_t byte)
{
    replay->run_left = byte & 0x7f;
    if (byte == RECORD_LONG_RUN && !get_varint(replay, &replay->run_left))
        return false;
    if (replay->expected == STREAM_NO_CODE)
        return damaged(replay, "a run before a start");
    if (replay->run_left > replay->chunk_left)
        return damaged(replay, "a run of %llu instructions where the chunk has %llu left",
                       (unsigned long long)replay->run_left,
                       (unsigned long long)replay->chunk_left);
    replay->chunk_left -= replay->run_left;
    return true;
}

/* ---- the source --------------------------------------------------------------------------------
 */

static bool next_chunk(struct replay *replay)
{
    if (replay->chunk_left)
        return damaged(replay, "the chunk ends %llu instructions early",
                       (unsigned long long)replay->chunk_left);
    switch (reader_next(replay->reader, &replay->chunk)) {
    case READER_CHUNK:
        replay->at = replay->chunk.raw;
        replay->chunk_left = replay->chunk.instructions;
        return true;
    case READER_TRAILER:
        replay->source.end = reader_info(replay->reader)->end;
        replay->state = REPLAY_ENDED;
        return false;
    case READER_ERROR:
        break;
    }
    snprintf(replay->source.error, sizeof replay->source.error, "%s", reader_error(replay->reader));
    return false;
}

/* Reads one record; true in DELIVERED when it was an instruction. */
static bool read_record(struct replay *replay, struct trace_instruction *out, bool *delivered)
{
    uint8_t byte = *replay->at++;

    if (byte > RECORD_RUN)
        return read_run(replay, byte);
    if (byte <= RECORD_INSTRUCTION_LAST) {
        *delivered = true;
        return read_instruction(replay, byte, out);
    }
    switch (byte) {
    case RECORD_START:
        return read_start(replay);
    case RECORD_PAGE:
        return read_page(replay);
    case RECORD_GONE:
        return read_gone(replay);
    case RECORD_STATIC:
        return read_static(replay);
    default:
        return damaged(replay, "record 0x%02x", byte);
    }
}

static enum trace_result stop(struct replay *replay)
{
    if (replay->state == REPLAY_ENDED || replay->state == REPLAY_INTERRUPTED)
        return TRACE_END;
    replay->state = REPLAY_FAILED;
    replay->source.error_status = 3;
    return TRACE_ERROR;
}

static enum trace_result replay_next(struct trace_source *source, struct trace_instruction *out)
{
    struct replay *replay = replay_of(source);
    bool delivered = false;

    if (replay->state != REPLAYING)
        return stop(replay);
    while (!delivered) {
        if (replay->run_left) {
            replay->run_left--;
            return deliver_predicted(replay, out) ? TRACE_OK : stop(replay);
        }
        if (!bytes_left(replay)) {
            if (!next_chunk(replay))
                return stop(replay);
        } else if (!read_record(replay, out, &delivered)) {
            return stop(replay);
        }
    }
    return TRACE_OK;
}

static size_t replay_code_at(struct trace_source *source, uint16_t process, uint64_t ip,
                             uint8_t bytes[TRACE_INSTRUCTION_BYTES])
{
    struct replay *replay = replay_of(source);

    return process < replay->page_sets ? code_page_copy(&replay->pages[process], ip, bytes) : 0;
}

static double replay_share_done(const struct trace_source *source)
{
    const struct replay *replay = (const struct replay *)source;
    const struct reader_chunk *chunk = &replay->chunk;
    uint64_t done = chunk->first_instruction + chunk->instructions - replay->chunk_left;

    if (replay->state == REPLAY_ENDED)
        return 1.0;
    return replay->total ? (double)(done - replay->run_left) / (double)replay->total
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

static void replay_close(struct trace_source *source)
{
    struct replay *replay = replay_of(source);

    for (size_t i = 0; i < replay->page_sets; i++)
        code_page_set_free(&replay->pages[i]);
    free(replay->pages);
    free(replay->codes);
    reader_close(replay->reader);
    free(replay);
}

static const struct trace_source_ops replay_ops = {
    .next = replay_next,
    .code_at = replay_code_at,
    .share_done = replay_share_done,
    .interrupt = replay_interrupt,
    .close = replay_close,
};

struct trace_source *trace_open_file(const char *path, char error[512], int *status)
{
    struct replay *replay = calloc(1, sizeof *replay);
    struct trace_info info;
    char ignored[512];

    *status = 3;
    if (!replay) {
        snprintf(error, 512, "%.300s: no memory to replay", path);
        return NULL;
    }
    replay->reader = reader_open(path, error, status);
    if (!replay->reader) {
        free(replay);
        return NULL;
    }
    replay->source.ops = &replay_ops;
    if (trace_file_info(path, false, &info, ignored, status))
        replay->total = info.instructions;
    replay->expected = STREAM_NO_CODE;
    return &replay->source;
}

bool trace_file_info(const char *path, bool verify, struct trace_info *info, char error[512],
                     int *status)
{
    struct reader *reader = reader_open(path, error, status);
    struct reader_chunk chunk;
    enum reader_result result;

    if (!reader)
        return false;
    if (verify)
        while ((result = reader_next(reader, &chunk)) == READER_CHUNK)
            continue;
    else
        result = reader_seek_trailer(reader);
    *info = *reader_info(reader);
    if (result == READER_ERROR)
        snprintf(error, 512, "%s", reader_error(reader));
    reader_close(reader);
    return result == READER_TRAILER;
}
