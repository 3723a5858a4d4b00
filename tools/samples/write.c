/* The writing side of a file of samples. */
#define _GNU_SOURCE
#include "form.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

enum { COMPRESSION_LEVEL = 6 };

struct samples_writer {
    FILE *file;
    char path[4096];
    char error[512];
    struct samples_about about;
    struct form_last last;
    uint32_t sequence;
    size_t used, stored_bytes;
    uint8_t *stored;
    uint8_t raw[FORM_CHUNK_RAW];
};

static void fail(struct samples_writer *writer, const char *what, const char *why)
{
    if (!writer->error[0])
        snprintf(writer->error, sizeof writer->error, "%.300s: %s: %s", writer->path, what, why);
}

static void write_out(struct samples_writer *writer, const void *bytes, size_t count)
{
    if (!writer->error[0] && fwrite(bytes, 1, count, writer->file) != count)
        fail(writer, "writing the samples failed", strerror(errno));
}

static void flush_chunk(struct samples_writer *writer)
{
    uint8_t *header = writer->stored;
    if (!writer->used)
        return;
    size_t stored = ZSTD_compress(header + FORM_CHUNK_HEADER, writer->stored_bytes, writer->raw,
                                  writer->used, COMPRESSION_LEVEL);
    if (ZSTD_isError(stored)) {
        fail(writer, "compressing the samples failed", ZSTD_getErrorName(stored));
        return;
    }
    memcpy(header, FORM_CHUNK_MAGIC, 4);
    form_put(header + CHUNK_RAW_BYTES, writer->used, 4);
    form_put(header + CHUNK_STORED_BYTES, stored, 4);
    form_put(header + CHUNK_SEQUENCE, writer->sequence++, 4);
    form_put(header + CHUNK_CHECKSUM, 0, 8);
    form_put(header + CHUNK_CHECKSUM, XXH64(header, FORM_CHUNK_HEADER + stored, 0), 8);
    write_out(writer, header, FORM_CHUNK_HEADER + stored);
    writer->used = 0;
    writer->last = (struct form_last){0};
}

static void put_byte(struct samples_writer *writer, unsigned byte)
{
    writer->raw[writer->used++] = (uint8_t)byte;
}

static void put_varint(struct samples_writer *writer, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_byte(writer, (unsigned)(value & 0x7F) | 0x80);
    put_byte(writer, (unsigned)value);
}

/* VALUE relative to *LAST, which becomes VALUE. */
static void put_relative(struct samples_writer *writer, uint64_t *last, uint64_t value)
{
    put_varint(writer, form_zigzag(value - *last));
    *last = value;
}

static void put_bytes(struct samples_writer *writer, const void *bytes, size_t count)
{
    memcpy(writer->raw + writer->used, bytes, count);
    writer->used += count;
}

static void begin(struct samples_writer *writer, enum form_record kind)
{
    if (writer->used > FORM_CHUNK_RAW - FORM_RECORD_MAX)
        flush_chunk(writer);
    put_byte(writer, kind);
}

/* ---- records -----------------------------------------------------------------------------------
 */

void samples_put_object(struct samples_writer *writer, const struct trace_object *object)
{
    size_t length = strlen(object->path);
    begin(writer, FORM_OBJECT);
    put_varint(writer, object->process);
    put_varint(writer, object->executable);
    put_varint(writer, object->instruction);
    put_varint(writer, object->start);
    put_varint(writer, object->end - object->start);
    put_varint(writer, object->offset);
    put_varint(writer, object->build_id_bytes);
    put_bytes(writer, object->build_id, object->build_id_bytes);
    put_varint(writer, length);
    put_bytes(writer, object->path, length);
}

void samples_put_function(struct samples_writer *writer, const struct trace_function *function)
{
    size_t path = strlen(function->path), name = strlen(function->name);
    begin(writer, FORM_FUNCTION);
    put_varint(writer, function->build_id_bytes);
    put_bytes(writer, function->build_id, function->build_id_bytes);
    put_varint(writer, path);
    put_bytes(writer, function->path, path);
    put_varint(writer, function->offset);
    put_varint(writer, function->size);
    put_varint(writer, name);
    put_bytes(writer, function->name, name);
}

void samples_put_code(struct samples_writer *writer, const struct samples_code *code)
{
    size_t length = code->length < sizeof code->bytes ? code->length : sizeof code->bytes;
    begin(writer, FORM_CODE);
    put_varint(writer, code->process);
    put_relative(writer, &writer->last.code_ip, code->ip);
    put_varint(writer, length);
    put_bytes(writer, code->bytes, length);
}

void samples_put_exact(struct samples_writer *writer, const struct samples_exact *exact)
{
    begin(writer, FORM_EXACT);
    put_varint(writer, exact->event);
    put_varint(writer, exact->process);
    put_relative(writer, &writer->last.exact_ip, exact->ip);
    put_varint(writer, exact->count);
}

static unsigned flags_of(const struct samples_writer *writer, const struct samples_sample *sample)
{
    const struct sim_sample *s = &sample->about;
    return (unsigned)s->kind | (s->registers_known ? FORM_REGISTERS : 0) |
           (writer->about.wide ? FORM_WIDE : 0) | (s->truth_known ? FORM_TRUTH : 0) |
           (s->branch_predicted ? FORM_PREDICTED : 0) |
           (s->last_branch_count ? FORM_LAST_BRANCHES : 0) | (sample->skid_known ? FORM_SKID : 0) |
           (unsigned)sample->chain << FORM_CHAIN_SHIFT;
}

static void put_registers(struct samples_writer *writer, const struct sim_sample *s)
{
    unsigned count = writer->about.wide ? FORM_WIDE_REGISTERS : FORM_NARROW_REGISTERS;
    for (unsigned i = 0; i < count; i++)
        put_relative(writer, &writer->last.registers[i], s->registers.value[i]);
}

static void put_last_branches(struct samples_writer *writer, const struct sim_sample *s)
{
    uint64_t last = s->ip;
    put_varint(writer, s->last_branch_count);
    for (unsigned i = 0; i < s->last_branch_count; i++) {
        put_relative(writer, &last, s->last_branch[i].to);
        put_relative(writer, &last, s->last_branch[i].from);
    }
}

static void put_chain(struct samples_writer *writer, const struct samples_sample *sample)
{
    uint64_t last = sample->about.ip;
    put_varint(writer, sample->frames);
    for (unsigned i = 0; i < sample->frames; i++)
        put_relative(writer, &last, sample->frame[i]);
}

void samples_put(struct samples_writer *writer, const struct samples_sample *sample)
{
    const struct sim_sample *s = &sample->about;
    begin(writer, FORM_SAMPLE);
    put_varint(writer, flags_of(writer, sample));
    put_varint(writer, sample->event);
    put_byte(writer, s->lp << 2 | s->cpl);
    put_varint(writer, s->process);
    put_varint(writer, s->thread);
    put_relative(writer, &writer->last.clock, s->clock);
    put_relative(writer, &writer->last.ip, s->ip);
    if (s->kind == SIM_SAMPLE_BRANCH)
        put_varint(writer, form_zigzag(s->branch_to - s->ip));
    if (s->truth_known) {
        put_varint(writer, form_zigzag(s->truth_ip - s->ip));
        put_varint(writer, form_zigzag(s->clock - s->overflow_clock));
    }
    if (sample->skid_known)
        put_varint(writer, form_zigzag((uint64_t)s->skid_instructions));
    if (s->registers_known)
        put_registers(writer, s);
    if (s->last_branch_count)
        put_last_branches(writer, s);
    if (sample->chain != SAMPLES_NO_CHAIN)
        put_chain(writer, sample);
}

/* ---- the file ----------------------------------------------------------------------------------
 */

static void put_header(struct samples_writer *writer)
{
    uint8_t header[FORM_HEADER];
    char *text = form_about_text(&writer->about);
    if (!text) {
        fail(writer, "the header cannot be made", "no memory, or a name that is not UTF-8");
        return;
    }
    size_t length = strlen(text);
    memcpy(header, FORM_MAGIC, 8);
    form_put(header + 8, FORM_VERSION, 4);
    form_put(header + 12, length, 4);
    form_put(header + 16, XXH64(text, length, 0), 8);
    write_out(writer, header, sizeof header);
    write_out(writer, text, length);
    free(text);
}

static void close_writer(struct samples_writer *writer)
{
    if (fclose(writer->file) != 0)
        fail(writer, "writing the samples failed", strerror(errno));
    writer->file = NULL;
}

struct samples_writer *samples_create(const char *path, const struct samples_about *about,
                                      char error[512])
{
    struct samples_writer *writer = calloc(1, sizeof *writer);
    size_t bound = ZSTD_compressBound(FORM_CHUNK_RAW);
    uint8_t *stored = malloc(FORM_CHUNK_HEADER + bound);
    FILE *file = writer && stored ? fopen(path, "wbe") : NULL;
    if (!file) {
        snprintf(error, 512, "%.300s: %s", path,
                 writer && stored ? strerror(errno) : "out of memory");
        free(stored);
        free(writer);
        return NULL;
    }
    snprintf(writer->path, sizeof writer->path, "%s", path);
    writer->file = file;
    writer->stored = stored;
    writer->stored_bytes = bound;
    writer->about = *about;
    put_header(writer);
    return writer;
}

const char *samples_writer_error(const struct samples_writer *writer)
{
    return writer->error[0] ? writer->error : NULL;
}

static void put_end(struct samples_writer *writer, const struct samples_end *end)
{
    char *text = form_end_text(&writer->about, end);
    size_t length = text ? strlen(text) : 0;
    if (!text || length > FORM_RECORD_MAX / 2) {
        fail(writer, "the end record cannot be made", "no memory, or a name that is not UTF-8");
    } else {
        begin(writer, FORM_END);
        put_varint(writer, length);
        put_bytes(writer, text, length);
    }
    free(text);
}

bool samples_finish(struct samples_writer *writer, const struct samples_end *end, char error[512])
{
    if (end)
        put_end(writer, end);
    flush_chunk(writer);
    close_writer(writer);
    bool good = !writer->error[0];
    if (!good)
        snprintf(error, 512, "%s", writer->error);
    free(writer->stored);
    free(writer);
    return good;
}
