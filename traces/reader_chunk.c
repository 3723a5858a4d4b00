/* The chunks of a recorded run, by their place in the file; see reader.h. Sizes are checked before
 * they are used. */
#define _GNU_SOURCE
#include "reader_parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

void reader_fail(struct reader *reader, const char *format, ...)
{
    va_list arguments;
    int used = snprintf(reader->error, sizeof reader->error, "%.240s: ", reader->path);

    va_start(arguments, format);
    vsnprintf(reader->error + used, sizeof reader->error - (size_t)used, format, arguments);
    va_end(arguments);
}

bool reader_read_exactly(struct reader *reader, uint8_t *bytes, size_t count, const char *what)
{
    size_t have = 0;

    while (have < count) {
        ssize_t done =
            pread(reader->fd, bytes + have, count - have, (off_t)(reader->position + have));
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            reader_fail(reader, "offset %llu: reading failed: %s",
                        (unsigned long long)(reader->position + have), strerror(errno));
            return false;
        }
        if (done == 0) {
            reader_fail(
                reader,
                "offset %llu: the file ends inside %s (expected %zu bytes from offset %llu on): "
                "it is truncated",
                (unsigned long long)(reader->position + have), what, count,
                (unsigned long long)reader->position);
            return false;
        }
        have += (size_t)done;
    }
    reader->position += count;
    return true;
}

enum { KINDS = READER_TRAILER + 1 };

const char reader_kinds[KINDS][5] = {
    [READER_LOG] = STREAM_LOG,
    [READER_PAGES] = STREAM_PAGES,
    [READER_CHECKPOINT] = STREAM_CHECKPOINT,
    [READER_REGIONS] = STREAM_REGIONS,
    [READER_NAMES] = STREAM_NAMES,
    [READER_INDEX] = STREAM_INDEX,
    [READER_TRAILER] = STREAM_TRAILER,
};

bool reader_kind_of(const uint8_t *magic, enum reader_kind *kind)
{
    for (unsigned i = 0; i < KINDS; i++) {
        if (memcmp(magic, reader_kinds[i], 4) == 0) {
            *kind = (enum reader_kind)i;
            return true;
        }
    }
    return false;
}

static bool check_counts(struct reader *reader, const struct reader_chunk *chunk)
{
    bool names = chunk->kind == READER_NAMES || chunk->kind == READER_REGIONS;
    uint64_t most = chunk->kind == READER_LOG     ? STREAM_CHUNK_INSTRUCTIONS
                    : chunk->kind == READER_PAGES ? STREAM_CHUNK_PAGES
                    : names                       ? chunk->raw_bytes
                                                  : 0;

    if (chunk->count <= most &&
        (chunk->kind != READER_PAGES || chunk->raw_bytes == chunk->count * STREAM_PAGE_BYTES))
        return true;
    reader_fail(reader, "offset %llu: a chunk \"%.4s\" of %llu things in %zu bytes: damaged",
                (unsigned long long)chunk->position, reader_kinds[chunk->kind],
                (unsigned long long)chunk->count, chunk->raw_bytes);
    return false;
}

bool reader_take_chunk_header(struct reader *reader, uint64_t position, struct reader_chunk *chunk)
{
    const uint8_t *header = reader->stored;
    uint32_t raw = stream_get32(header + CHUNK_RAW_BYTES);
    uint32_t stored = stream_get32(header + CHUNK_STORED_BYTES);

    *chunk = (struct reader_chunk){.raw_bytes = raw,
                                   .position = position,
                                   .first = stream_get64(header + CHUNK_FIRST),
                                   .count = stream_get64(header + CHUNK_COUNT)};
    if (!reader_kind_of(header, &chunk->kind))
        reader_fail(reader, "offset %llu: expected a chunk here: damaged",
                    (unsigned long long)position);
    else if (raw > STREAM_CHUNK_RAW_MAX || stored > reader->stored_capacity - STREAM_CHUNK_HEADER)
        reader_fail(reader,
                    "offset %llu: chunk of %lu bytes (%lu stored), expected at most %d: damaged",
                    (unsigned long long)position, (unsigned long)raw, (unsigned long)stored,
                    STREAM_CHUNK_RAW_MAX);
    else if (stream_get64(header + CHUNK_POSITION) != position)
        reader_fail(reader, "offset %llu: this chunk was written for offset %llu: damaged",
                    (unsigned long long)position,
                    (unsigned long long)stream_get64(header + CHUNK_POSITION));
    else
        return check_counts(reader, chunk);
    return false;
}

static bool unpack(struct reader *reader, uint64_t position, uint8_t *into)
{
    uint8_t *header = reader->stored;
    uint32_t raw = stream_get32(header + CHUNK_RAW_BYTES);
    uint32_t stored = stream_get32(header + CHUNK_STORED_BYTES);
    uint64_t checksum = stream_get64(header + CHUNK_CHECKSUM);
    size_t size;

    stream_put64(header + CHUNK_CHECKSUM, 0);
    if (XXH64(header, STREAM_CHUNK_HEADER + stored, 0) != checksum) {
        reader_fail(reader, "offset %llu: the chunk does not match its checksum: damaged",
                    (unsigned long long)position);
        return false;
    }
    size = ZSTD_decompressDCtx(reader->zstd, into, STREAM_CHUNK_RAW_MAX,
                               header + STREAM_CHUNK_HEADER, stored);
    if (!ZSTD_isError(size) && size == raw)
        return true;
    reader_fail(reader, "offset %llu: the chunk does not unpack to its %lu bytes: damaged",
                (unsigned long long)position, (unsigned long)raw);
    return false;
}

bool reader_read_chunk(struct reader *reader, uint8_t *into, struct reader_chunk *chunk)
{
    uint64_t position = reader->position;

    if (!reader_read_exactly(reader, reader->stored, STREAM_CHUNK_HEADER, "a chunk header") ||
        !reader_take_chunk_header(reader, position, chunk) ||
        !reader_read_exactly(reader, reader->stored + STREAM_CHUNK_HEADER,
                             stream_get32(reader->stored + CHUNK_STORED_BYTES), "a chunk") ||
        !unpack(reader, position, into))
        return false;
    chunk->raw = into;
    return true;
}

bool reader_read_chunk_at(struct reader *reader, uint64_t position, enum reader_kind kind,
                          uint8_t *into, struct reader_chunk *chunk)
{
    uint64_t here = reader->position;
    bool good;

    reader->position = position;
    good = reader_read_chunk(reader, into, chunk);
    reader->position = here;
    if (good && chunk->kind != kind) {
        reader_fail(reader, "offset %llu: expected a chunk \"%.4s\" here: damaged",
                    (unsigned long long)position, reader_kinds[kind]);
        good = false;
    }
    return good;
}
