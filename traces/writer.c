/* The file layer of writing a recorded run; see writer.h. */
#define _GNU_SOURCE
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

enum { COMPRESSION_LEVEL = 9 }; /* model choice: live runs are slower than this */

struct writer {
    int fd;
    char path[4096];
    char error[512];
    uint64_t position;
    uint32_t sequence;
    struct stream_buffer index;
    ZSTD_CCtx *zstd;
    size_t stored_capacity;
    uint8_t *stored; /* chunk header and compressed bytes */
};

static void fail(struct writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct writer *writer, const char *format, ...)
{
    va_list arguments;

    if (writer->error[0])
        return;
    va_start(arguments, format);
    vsnprintf(writer->error, sizeof writer->error, format, arguments);
    va_end(arguments);
}

void writer_fail(struct writer *writer, const char *what)
{
    fail(writer, "%.300s: %.200s", writer->path, what);
}

static void write_out(struct writer *writer, const uint8_t *bytes, size_t count)
{
    while (count && !writer->error[0]) {
        ssize_t done = write(writer->fd, bytes, count);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            fail(writer, "%.300s: writing the recording failed at offset %llu: %s", writer->path,
                 (unsigned long long)writer->position, strerror(errno));
            return;
        }
        bytes += done;
        count -= (size_t)done;
        writer->position += (uint64_t)done;
    }
}

/* ---- chunks ------------------------------------------------------------------------------------
 */

static void add_to_index(struct writer *writer, const uint8_t *header)
{
    stream_put_bytes(&writer->index, header, 4);
    stream_put_bytes(&writer->index, header + CHUNK_COUNT, 4);
    stream_put_bytes(&writer->index, header + CHUNK_POSITION, 8);
    stream_put_bytes(&writer->index, header + CHUNK_FIRST, 8);
    if (writer->index.failed)
        fail(writer, "%.300s: no memory for the index", writer->path);
}

uint64_t writer_chunk(struct writer *writer, const char kind[4], uint64_t first, uint64_t count,
                      const uint8_t *raw, size_t raw_bytes)
{
    uint8_t *header = writer->stored;
    size_t stored;

    if (writer->error[0])
        return 0;
    stored = ZSTD_compressCCtx(writer->zstd, header + STREAM_CHUNK_HEADER,
                               writer->stored_capacity - STREAM_CHUNK_HEADER, raw, raw_bytes,
                               COMPRESSION_LEVEL);
    if (ZSTD_isError(stored)) {
        fail(writer, "%.300s: compressing the recording failed: %s", writer->path,
             ZSTD_getErrorName(stored));
        return 0;
    }
    memcpy(header, kind, 4);
    stream_put32(header + CHUNK_RAW_BYTES, (uint32_t)raw_bytes);
    stream_put32(header + CHUNK_STORED_BYTES, (uint32_t)stored);
    stream_put32(header + CHUNK_SEQUENCE, writer->sequence++);
    stream_put64(header + CHUNK_POSITION, writer->position);
    stream_put64(header + CHUNK_FIRST, first);
    stream_put64(header + CHUNK_COUNT, count);
    stream_put64(header + CHUNK_CHECKSUM, 0);
    stream_put64(header + CHUNK_CHECKSUM, XXH64(header, STREAM_CHUNK_HEADER + stored, 0));
    add_to_index(writer, header);
    write_out(writer, header, STREAM_CHUNK_HEADER + stored);
    return STREAM_CHUNK_HEADER + stored;
}

/* ---- text --------------------------------------------------------------------------------------
 */

void writer_text(struct stream_buffer *text, const char *key, const char *value)
{
    stream_put_bytes(text, key, strlen(key));
    stream_put_byte(text, '=');
    for (; *value; value++) {
        if (*value == '\n' || *value == '\\')
            stream_put_byte(text, '\\');
        stream_put_byte(text, *value == '\n' ? 'n' : (unsigned char)*value);
    }
    stream_put_byte(text, '\n');
}

void writer_text_number(struct stream_buffer *text, const char *key, uint64_t value)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    writer_text(text, key, digits);
}

/* ---- beginning and end -------------------------------------------------------------------------
 */

static void write_header(struct writer *writer, const struct stream_buffer *text)
{
    struct stream_buffer header = {0};
    uint8_t fixed[STREAM_HEADER_FIXED], checksum[8];

    memcpy(fixed, STREAM_MAGIC, 8);
    stream_put32(fixed + 8, STREAM_VERSION);
    stream_put32(fixed + 12, (uint32_t)text->used);
    stream_put_bytes(&header, fixed, sizeof fixed);
    stream_put_bytes(&header, text->bytes, text->used);
    if (header.failed || text->failed || text->used > STREAM_HEADER_TEXT_MAX) {
        fail(writer, "%.300s: the program's arguments are too long for a recording's header",
             writer->path);
    } else {
        stream_put64(checksum, XXH64(header.bytes, header.used, 0));
        write_out(writer, header.bytes, header.used);
        write_out(writer, checksum, sizeof checksum);
    }
    free(header.bytes);
}

static bool allocate(struct writer *writer)
{
    writer->stored_capacity = STREAM_CHUNK_HEADER + ZSTD_compressBound(STREAM_CHUNK_RAW_MAX);
    writer->stored = malloc(writer->stored_capacity);
    writer->zstd = ZSTD_createCCtx();
    return writer->stored && writer->zstd;
}

struct writer *writer_open(const char *path, const struct stream_buffer *text, char error[512])
{
    struct writer *writer = calloc(1, sizeof *writer);

    if (!writer) {
        snprintf(error, 512, "no memory to record to %.300s", path);
        return NULL;
    }
    snprintf(writer->path, sizeof writer->path, "%s", path);
    writer->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->fd < 0)
        fail(writer, "%.300s: cannot create the recording: %s", path, strerror(errno));
    else if (!allocate(writer))
        fail(writer, "no memory to record to %.300s", path);
    else
        write_header(writer, text);
    if (!writer->error[0])
        return writer;
    snprintf(error, 512, "%s", writer->error);
    writer_close(writer);
    return NULL;
}

/* The index in as many chunks as it takes; they are not in it themselves. */
static void write_index(struct writer *writer, uint64_t instructions)
{
    const size_t most = STREAM_CHUNK_RAW_MAX / STREAM_INDEX_ENTRY * STREAM_INDEX_ENTRY;
    size_t bytes = writer->index.used;

    for (size_t at = 0; at < bytes; at += most)
        writer_chunk(writer, STREAM_INDEX, instructions, 0, writer->index.bytes + at,
                     bytes - at < most ? bytes - at : most);
}

void writer_finish(struct writer *writer, uint64_t instructions, const struct stream_buffer *text)
{
    uint8_t footer[STREAM_FOOTER];
    uint64_t index = writer->position;

    write_index(writer, instructions);
    stream_put64(footer, index);
    memcpy(footer + 8, STREAM_FOOTER_MAGIC, 8);
    if (text->failed || text->used > STREAM_CHUNK_RAW_MAX)
        writer_fail(writer, "no memory for the trailer");
    writer_chunk(writer, STREAM_TRAILER, instructions, 0, text->bytes, text->used);
    write_out(writer, footer, sizeof footer);
}

const char *writer_error(const struct writer *writer)
{
    return writer->error[0] ? writer->error : NULL;
}

void writer_close(struct writer *writer)
{
    if (!writer)
        return;
    if (writer->fd >= 0)
        close(writer->fd);
    ZSTD_freeCCtx(writer->zstd);
    free(writer->stored);
    free(writer->index.bytes);
    free(writer);
}
