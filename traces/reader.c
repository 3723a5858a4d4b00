/* A recorded run's header, and its chunks in the file's order; see reader.h. */
#define _GNU_SOURCE
#include "reader_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

/* ---- header ------------------------------------------------------------------------------------
 */

static bool read_header_text(struct reader *reader, uint8_t *header)
{
    uint32_t text_bytes = stream_get32(header + 12);
    uint8_t *all;
    bool good;

    if (text_bytes > STREAM_HEADER_TEXT_MAX) {
        reader_fail(reader, "offset 12: header text of %lu bytes, expected at most %d: damaged",
                    (unsigned long)text_bytes, STREAM_HEADER_TEXT_MAX);
        return false;
    }
    all = malloc(STREAM_HEADER_FIXED + text_bytes + 9);
    if (!all) {
        reader_fail(reader, "no memory for the header");
        return false;
    }
    memcpy(all, header, STREAM_HEADER_FIXED);
    good = reader_read_exactly(reader, all + STREAM_HEADER_FIXED, text_bytes + 8, "the header");
    if (good && XXH64(all, STREAM_HEADER_FIXED + text_bytes, 0) !=
                    stream_get64(all + STREAM_HEADER_FIXED + text_bytes)) {
        reader_fail(reader, "offset 0: the header does not match its checksum: damaged");
        good = false;
    }
    if (good) {
        all[STREAM_HEADER_FIXED + text_bytes] = 0;
        reader->header_text = strdup((char *)all + STREAM_HEADER_FIXED);
        good = reader->header_text != NULL;
    }
    if (good && !reader_take_header_text(reader, (char *)all + STREAM_HEADER_FIXED, text_bytes)) {
        reader_fail(reader,
                    "offset %d: the header's text is not what this version understands "
                    "(expected lines key=value, architecture=ia32)",
                    STREAM_HEADER_FIXED);
        good = false;
    }
    free(all);
    return good;
}

static bool read_header(struct reader *reader)
{
    uint8_t header[STREAM_HEADER_FIXED];

    if (reader->file_bytes < sizeof header) {
        reader_fail(reader, "%llu bytes are not a recorded run (expected a p4sim trace)",
                    (unsigned long long)reader->file_bytes);
        return false;
    }
    if (!reader_read_exactly(reader, header, sizeof header, "the header"))
        return false;
    if (memcmp(header, STREAM_MAGIC, 8) != 0) {
        reader_fail(reader,
                    "offset 0: not a recorded run (expected a p4sim trace, magic \"P4SIMTR\")");
        return false;
    }
    reader->info.version = stream_get32(header + 8);
    if (reader->info.version < STREAM_OLDEST || reader->info.version > STREAM_VERSION) {
        reader_fail(reader, "offset 8: trace version %lu, expected %u to %u",
                    (unsigned long)reader->info.version, STREAM_OLDEST, STREAM_VERSION);
        return false;
    }
    return read_header_text(reader, header);
}

static bool open_path(struct reader *reader, const char *path)
{
    struct stat stat;

    reader->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (reader->fd < 0 || fstat(reader->fd, &stat) != 0) {
        reader_fail(reader, "cannot open the trace: %s", strerror(errno));
        return false;
    }
    if (!S_ISREG(stat.st_mode)) {
        reader_fail(reader, "not a regular file (expected a recorded run)");
        return false;
    }
    reader->file_bytes = reader->info.file_bytes = reader->tail = (uint64_t)stat.st_size;
    reader->stored_capacity = STREAM_CHUNK_HEADER + ZSTD_compressBound(STREAM_CHUNK_RAW_MAX);
    reader->stored = malloc(reader->stored_capacity);
    reader->raw = malloc(STREAM_CHUNK_RAW_MAX + 1);
    reader->zstd = ZSTD_createDCtx();
    if (!reader->stored || !reader->raw || !reader->zstd) {
        reader_fail(reader, "no memory to read the trace");
        return false;
    }
    return true;
}

struct reader *reader_open(const char *path, char error[512], int *status)
{
    struct reader *reader = calloc(1, sizeof *reader);

    *status = 3;
    if (!reader) {
        snprintf(error, 512, "%.300s: no memory to read the trace", path);
        return NULL;
    }
    snprintf(reader->path, sizeof reader->path, "%s", path);
    reader->in_order = true;
    reader->fd = -1;
    if (open_path(reader, path) && read_header(reader)) {
        reader->header_bytes = reader->position;
        return reader;
    }
    snprintf(error, 512, "%s", reader->error);
    reader_close(reader);
    return NULL;
}

/* ---- in the file's order -----------------------------------------------------------------------
 */

static bool check_footer(struct reader *reader)
{
    uint8_t footer[STREAM_FOOTER];

    if (!reader_read_exactly(reader, footer, sizeof footer, "the footer"))
        return false;
    if (memcmp(footer + 8, STREAM_FOOTER_MAGIC, 8) == 0 && stream_get64(footer) == reader->tail &&
        reader->position == reader->file_bytes)
        return true;
    reader_fail(reader, "offset %llu: expected the footer and the end of the file: damaged",
                (unsigned long long)(reader->position - sizeof footer));
    return false;
}

bool reader_take_trailer(struct reader *reader, const struct reader_chunk *chunk)
{
    if (!check_footer(reader))
        return false;
    reader->info.instructions = 0;
    if (!reader_take_trailer_text(reader, (char *)reader->raw, chunk->raw_bytes)) {
        reader_fail(reader, "offset %llu: the trailer's text is not what this version understands",
                    (unsigned long long)chunk->position);
        return false;
    }
    if (reader->in_order && reader->info.instructions != reader->instructions) {
        reader_fail(reader, "offset %llu: the trailer says %llu instructions, the chunks held %llu",
                    (unsigned long long)chunk->position,
                    (unsigned long long)reader->info.instructions,
                    (unsigned long long)reader->instructions);
        return false;
    }
    reader->info.complete = true;
    return true;
}

/* What the chunk adds to what has been passed. */
static bool pass(struct reader *reader, const struct reader_chunk *chunk)
{
    switch (chunk->kind) {
    case READER_LOG:
        reader->instructions += chunk->count;
        reader->info.instructions = reader->instructions;
        return reader_note(reader, reader_entry_of(chunk));
    case READER_PAGES:
        reader->contents += chunk->count;
        return reader_note(reader, reader_entry_of(chunk));
    case READER_CHECKPOINT:
    case READER_REGIONS:
    case READER_NAMES:
        return reader_note(reader, reader_entry_of(chunk));
    case READER_INDEX:
        return true;
    case READER_TRAILER:
        return reader_take_trailer(reader, chunk);
    }
    return false;
}

bool reader_next(struct reader *reader, struct reader_chunk *chunk)
{
    if (reader->position == reader->file_bytes) {
        reader_fail(
            reader,
            "offset %llu: the file ends here, expected a chunk or the trailer: it is truncated or "
            "its recording was cut short after %llu instructions",
            (unsigned long long)reader->position, (unsigned long long)reader->instructions);
        return false;
    }
    if (!reader_read_chunk(reader, reader->raw, chunk) || !reader_check_order(reader, chunk))
        return false;
    if (chunk->kind >= READER_INDEX && chunk->position < reader->tail)
        reader->tail = chunk->position;
    reader->sequence++;
    return pass(reader, chunk);
}

/* ---- what is known, and the end ----------------------------------------------------------------
 */

const struct trace_info *reader_info(const struct reader *reader)
{
    return &reader->info;
}

const char *reader_header_text(const struct reader *reader)
{
    return reader->header_text;
}

double reader_share_done(const struct reader *reader)
{
    return reader->file_bytes ? (double)reader->position / (double)reader->file_bytes : 1.0;
}

const char *reader_path(const struct reader *reader)
{
    return reader->path;
}

const char *reader_error(const struct reader *reader)
{
    return reader->error;
}

void reader_close(struct reader *reader)
{
    if (!reader)
        return;
    if (reader->fd >= 0)
        close(reader->fd);
    ZSTD_freeDCtx(reader->zstd);
    for (unsigned i = 0; i < READER_KEPT; i++)
        free(reader->kept[i].raw);
    free(reader->header_text);
    free(reader->pages.list);
    free(reader->checkpoints.list);
    free(reader->logs.list);
    free(reader->regions.list);
    free(reader->names.list);
    free(reader->stored);
    free(reader->raw);
    free(reader);
}
