/* The writing side of the recorded run; stream.h and docs/trace-format.md give the form. */
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#define COMPRESSION_LEVEL 12 /* live runs are far slower than this; replay does not notice */

struct recorder {
    int fd;
    char path[4096];
    char error[512];
    uint64_t position;
    uint64_t instructions;       /* all so far */
    uint64_t chunk_instructions; /* those before this chunk */
    uint64_t run;                /* predicted instructions not yet written */
    uint32_t sequence;
    uint32_t expected_code; /* what the stream says comes next, or STREAM_NO_CODE */
    struct stream_code *codes;
    uint32_t code_count, code_capacity;
    ZSTD_CCtx *zstd;
    size_t raw_used;
    size_t stored_capacity;
    uint8_t *stored; /* chunk header and compressed bytes */
    uint8_t raw[STREAM_CHUNK_RAW_MAX];
};

static void fail(struct recorder *recorder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct recorder *recorder, const char *format, ...)
{
    va_list arguments;

    if (recorder->error[0])
        return;
    va_start(arguments, format);
    vsnprintf(recorder->error, sizeof recorder->error, format, arguments);
    va_end(arguments);
}

static void write_out(struct recorder *recorder, const uint8_t *bytes, size_t count)
{
    while (count && !recorder->error[0]) {
        ssize_t done = write(recorder->fd, bytes, count);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            fail(recorder, "%.300s: writing the recording failed at offset %llu: %s",
                 recorder->path, (unsigned long long)recorder->position, strerror(errno));
            return;
        }
        bytes += done;
        count -= (size_t)done;
        recorder->position += (uint64_t)done;
    }
}

/* Compresses the raw bytes into a chunk of this kind and writes it. */
static void write_chunk(struct recorder *recorder, const char magic[4], const uint8_t *raw,
                        size_t raw_bytes)
{
    uint8_t *header = recorder->stored;
    size_t stored = ZSTD_compressCCtx(recorder->zstd, header + STREAM_CHUNK_HEADER,
                                      recorder->stored_capacity - STREAM_CHUNK_HEADER, raw,
                                      raw_bytes, COMPRESSION_LEVEL);

    if (ZSTD_isError(stored)) {
        fail(recorder, "%.300s: compressing the recording failed: %s", recorder->path,
             ZSTD_getErrorName(stored));
        return;
    }
    memcpy(header, magic, 4);
    stream_put32(header + CHUNK_RAW_BYTES, (uint32_t)raw_bytes);
    stream_put32(header + CHUNK_STORED_BYTES, (uint32_t)stored);
    stream_put32(header + CHUNK_SEQUENCE, recorder->sequence++);
    stream_put64(header + CHUNK_POSITION, recorder->position);
    stream_put64(header + CHUNK_FIRST, recorder->chunk_instructions);
    stream_put64(header + CHUNK_INSTRUCTIONS,
                 recorder->instructions - recorder->chunk_instructions);
    stream_put64(header + CHUNK_CHECKSUM, 0);
    stream_put64(header + CHUNK_CHECKSUM, XXH64(header, STREAM_CHUNK_HEADER + stored, 0));
    write_out(recorder, header, STREAM_CHUNK_HEADER + stored);
    recorder->chunk_instructions = recorder->instructions;
}

static void put_byte(struct recorder *recorder, unsigned byte)
{
    recorder->raw[recorder->raw_used++] = (uint8_t)byte;
}

static void put_varint(struct recorder *recorder, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_byte(recorder, (unsigned)(value & 0x7f) | 0x80);
    put_byte(recorder, (unsigned)value);
}

static void put_bytes(struct recorder *recorder, const uint8_t *bytes, size_t count)
{
    memcpy(recorder->raw + recorder->raw_used, bytes, count);
    recorder->raw_used += count;
}

static void flush_run(struct recorder *recorder)
{
    if (!recorder->run)
        return;
    if (recorder->run <= RECORD_SHORT_RUN_MAX) {
        put_byte(recorder, RECORD_RUN | (unsigned)recorder->run);
    } else {
        put_byte(recorder, RECORD_LONG_RUN);
        put_varint(recorder, recorder->run);
    }
    recorder->run = 0;
}

static void flush_chunk(struct recorder *recorder)
{
    flush_run(recorder);
    if (recorder->raw_used)
        write_chunk(recorder, STREAM_CHUNK_MAGIC, recorder->raw, recorder->raw_used);
    recorder->raw_used = 0;
}

/* Opens a record: ends the run before it and keeps room for the longest. */
static void begin_record(struct recorder *recorder)
{
    flush_run(recorder);
    if (recorder->raw_used > STREAM_CHUNK_RAW_MAX - 2 * STREAM_RECORD_MAX)
        flush_chunk(recorder);
}

static size_t text_value(char *text, size_t at, size_t limit, const char *key, const char *value)
{
    at += (size_t)snprintf(text + at, limit - at, "%s=", key);
    for (; *value && at + 4 < limit; value++) {
        if (*value == '\n' || *value == '\\')
            text[at++] = '\\';
        text[at++] = *value == '\n' ? 'n' : *value;
    }
    text[at++] = '\n';
    return at;
}

static void write_header(struct recorder *recorder, char *const *argv)
{
    uint8_t *out = recorder->raw;
    char *text = (char *)out + STREAM_HEADER_FIXED;
    size_t limit = STREAM_CHUNK_RAW_MAX / 2, used = 0;

    used = text_value(text, used, limit, "architecture", "ia32");
    used = text_value(text, used, limit, "made_by", TRACES_MADE_BY);
    used = text_value(text, used, limit, "program", argv[0]);
    for (size_t i = 1; argv[i] && used < limit - 64; i++)
        used = text_value(text, used, limit, "argument", argv[i]);
    memcpy(out, STREAM_MAGIC, 8);
    stream_put32(out + 8, STREAM_VERSION);
    stream_put32(out + 12, (uint32_t)used);
    stream_put64(out + STREAM_HEADER_FIXED + used, XXH64(out, STREAM_HEADER_FIXED + used, 0));
    write_out(recorder, out, STREAM_HEADER_FIXED + used + 8);
}

static bool allocate(struct recorder *recorder)
{
    recorder->stored_capacity = STREAM_CHUNK_HEADER + ZSTD_compressBound(STREAM_CHUNK_RAW_MAX);
    recorder->stored = malloc(recorder->stored_capacity);
    recorder->zstd = ZSTD_createCCtx();
    return recorder->stored && recorder->zstd;
}

struct recorder *recorder_open(const char *path, char *const *argv, char error[512])
{
    struct recorder *recorder = calloc(1, sizeof *recorder);

    if (!recorder) {
        snprintf(error, 512, "no memory to record to %.300s", path);
        return NULL;
    }
    recorder->expected_code = STREAM_NO_CODE;
    snprintf(recorder->path, sizeof recorder->path, "%s", path);
    recorder->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (recorder->fd < 0)
        fail(recorder, "%.300s: cannot create the recording: %s", path, strerror(errno));
    else if (!allocate(recorder))
        fail(recorder, "no memory to record to %.300s", path);
    else
        write_header(recorder, argv);
    if (!recorder->error[0])
        return recorder;
    snprintf(error, 512, "%s", recorder->error);
    recorder_close(recorder);
    return NULL;
}

static struct stream_code *new_code(struct recorder *recorder)
{
    if (recorder->code_count == recorder->code_capacity) {
        uint32_t capacity = recorder->code_capacity ? 2 * recorder->code_capacity : 1024;
        struct stream_code *codes = realloc(recorder->codes, capacity * sizeof *codes);
        if (!codes || capacity > STREAM_CODES_MAX) {
            free(codes ? codes : recorder->codes);
            recorder->codes = NULL;
            recorder->code_count = recorder->code_capacity = 0;
            fail(recorder, "%.300s: more static instructions than a recording can hold",
                 recorder->path);
            return NULL;
        }
        recorder->codes = codes;
        recorder->code_capacity = capacity;
    }
    return &recorder->codes[recorder->code_count++];
}

void recorder_static(struct recorder *recorder, const struct recipe *recipe, uint16_t process,
                     uint64_t ip)
{
    struct stream_code *code;
    uint64_t before = recorder->code_count ? recorder->codes[recorder->code_count - 1].ip : 0;

    if (recorder->error[0] || !(code = new_code(recorder)))
        return;
    *code = (struct stream_code){.ip = ip,
                                 .successor = {STREAM_NO_CODE, STREAM_NO_CODE},
                                 .repetitions = 1,
                                 .process = process,
                                 .length = recipe->length,
                                 .access_count = recipe->access_count};
    begin_record(recorder);
    put_byte(recorder, RECORD_STATIC);
    put_varint(recorder, process);
    put_varint(recorder, stream_zigzag((int64_t)(ip - before)));
    put_byte(recorder, recipe->length);
    put_bytes(recorder, recipe->bytes, recipe->length);
    put_byte(recorder, (recipe->kind == RECIPE_SYSTEM_CALL ? TRACE_SYSTEM_CALL : 0) |
                           (recipe->mode == RECIPE_64 ? TRACE_64BIT : 0));
    put_byte(recorder, recipe->access_count);
    for (unsigned i = 0; i < recipe->access_count; i++)
        put_varint(recorder, (uint64_t)recipe->access[i].size << 1 | recipe->access[i].write);
}

void recorder_page(struct recorder *recorder, uint16_t process, uint64_t page, unsigned offset,
                   const uint8_t *bytes, unsigned count)
{
    if (recorder->error[0])
        return;
    begin_record(recorder);
    put_byte(recorder, RECORD_PAGE);
    put_varint(recorder, process);
    put_varint(recorder, page);
    put_varint(recorder, offset);
    put_varint(recorder, count);
    put_bytes(recorder, bytes, count);
}

void recorder_gone(struct recorder *recorder, uint16_t process)
{
    if (recorder->error[0])
        return;
    begin_record(recorder);
    put_byte(recorder, RECORD_GONE);
    put_varint(recorder, process);
}

static void start(struct recorder *recorder, const struct trace_instruction *instruction)
{
    begin_record(recorder);
    put_byte(recorder, RECORD_START);
    put_varint(recorder, instruction->thread);
    put_varint(recorder, instruction->code);
}

static unsigned successor_bits(const struct stream_code *code, uint32_t next_code)
{
    if (next_code == STREAM_NO_CODE)
        return SUCCESSOR_BREAK;
    if (next_code == code->successor[0])
        return SUCCESSOR_PREDICTED;
    return next_code == code->successor[1] ? SUCCESSOR_ALTERNATE : SUCCESSOR_EXPLICIT;
}

/* Writes what differs from the prediction, in the order of the record's description. */
static void put_instruction(struct recorder *recorder, const struct trace_instruction *instruction,
                            const struct stream_code *code, unsigned bits, unsigned wrong_slots,
                            uint32_t next_code)
{
    begin_record(recorder);
    put_byte(recorder, RECORD_INSTRUCTION | bits);
    if (bits & INSTRUCTION_REPETITIONS)
        put_varint(recorder, (uint64_t)instruction->repetitions << 1 |
                                 !!(instruction->flags & TRACE_REP_BACKWARD));
    if (bits & INSTRUCTION_ADDRESSES) {
        put_byte(recorder, wrong_slots);
        for (unsigned i = 0; i < instruction->access_count; i++)
            if (wrong_slots & 1u << i)
                put_varint(recorder,
                           stream_zigzag((int64_t)(instruction->access[i].address -
                                                   code->slot[i].last - code->slot[i].stride)));
    }
    if ((bits & INSTRUCTION_SUCCESSOR_MASK) == SUCCESSOR_EXPLICIT)
        put_varint(recorder, stream_zigzag((int64_t)next_code - (int64_t)instruction->code));
    if ((bits & INSTRUCTION_SUCCESSOR_MASK) == SUCCESSOR_BREAK) {
        put_byte(recorder, instruction->flags & TRACE_INTERRUPTED);
        put_varint(recorder, stream_zigzag((int64_t)(instruction->next_ip - instruction->ip -
                                                     instruction->length)));
    }
}

void recorder_instruction(struct recorder *recorder, const struct trace_instruction *instruction,
                          uint32_t next_code)
{
    struct stream_code *code;
    unsigned wrong_slots = 0, bits;

    if (recorder->error[0])
        return;
    if (recorder->expected_code != instruction->code)
        start(recorder, instruction);
    code = &recorder->codes[instruction->code];
    for (unsigned i = 0; i < instruction->access_count; i++)
        if (instruction->access[i].address != code->slot[i].last + code->slot[i].stride)
            wrong_slots |= 1u << i;
    bits = successor_bits(code, next_code);
    if (wrong_slots)
        bits |= INSTRUCTION_ADDRESSES;
    if (instruction->repetitions != code->repetitions ||
        (instruction->flags & TRACE_REP_BACKWARD) != code->backward)
        bits |= INSTRUCTION_REPETITIONS;
    if (bits)
        put_instruction(recorder, instruction, code, bits, wrong_slots, next_code);
    else
        recorder->run++;
    recorder->instructions++;
    for (unsigned i = 0; i < instruction->access_count; i++)
        stream_learn_address(&code->slot[i], instruction->access[i].address);
    code->repetitions = instruction->repetitions;
    code->backward = instruction->flags & TRACE_REP_BACKWARD;
    if (next_code != STREAM_NO_CODE)
        stream_learn_successor(code, next_code);
    recorder->expected_code = next_code;
}

static void write_trailer(struct recorder *recorder, const struct trace_end *end)
{
    static const char *const how[] = {"exit", "signal", "snippet", "cut"};
    char *text = (char *)recorder->raw;
    size_t used, limit = STREAM_RECORD_MAX;
    uint8_t footer[STREAM_FOOTER];
    uint64_t position = recorder->position;

    used = (size_t)snprintf(
        text, limit,
        "instructions=%llu\ncodes=%lu\nend=%s\nstatus=%d\nprocesses=%lu\n"
        "threads=%lu\nsignals=%llu\nuncounted_processes=%llu\n",
        (unsigned long long)recorder->instructions, (unsigned long)recorder->code_count,
        how[end->how], end->status, (unsigned long)end->processes, (unsigned long)end->threads,
        (unsigned long long)end->signals, (unsigned long long)end->uncounted_processes);
    used = text_value(text, used, limit, "note", end->note);
    write_chunk(recorder, STREAM_TRAILER_MAGIC, recorder->raw, used);
    stream_put64(footer, position);
    memcpy(footer + 8, STREAM_FOOTER_MAGIC, 8);
    write_out(recorder, footer, sizeof footer);
}

void recorder_finish(struct recorder *recorder, const struct trace_end *end)
{
    if (recorder->error[0])
        return;
    flush_chunk(recorder);
    write_trailer(recorder, end);
    if (!recorder->error[0] && close(recorder->fd) != 0)
        fail(recorder, "%.300s: closing the recording failed: %s", recorder->path, strerror(errno));
    recorder->fd = -1;
}

const char *recorder_error(const struct recorder *recorder)
{
    return recorder->error[0] ? recorder->error : NULL;
}

void recorder_close(struct recorder *recorder)
{
    if (!recorder)
        return;
    if (recorder->fd >= 0)
        close(recorder->fd);
    ZSTD_freeCCtx(recorder->zstd);
    free(recorder->stored);
    free(recorder->codes);
    free(recorder);
}
