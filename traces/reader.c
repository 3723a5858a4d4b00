/* The file layer of reading a recorded run; see reader.h. Sizes are checked before they are used.
 */
#define _GNU_SOURCE
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

struct reader {
    int fd;
    char path[4096];
    char error[512];
    uint64_t position; /* of the next byte to read */
    uint64_t file_bytes;
    uint32_t sequence;
    uint64_t instructions; /* in the chunks read so far */
    bool in_order;         /* every chunk so far was read */
    struct trace_info info;
    ZSTD_DCtx *zstd;
    size_t stored_capacity;
    uint8_t *stored; /* chunk header and compressed bytes */
    uint8_t *raw;
};

static void fail(struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct reader *reader, const char *format, ...)
{
    va_list arguments;
    int used = snprintf(reader->error, sizeof reader->error, "%.240s: ", reader->path);

    va_start(arguments, format);
    vsnprintf(reader->error + used, sizeof reader->error - (size_t)used, format, arguments);
    va_end(arguments);
}

/* Reads COUNT bytes at the position; false and an error that names WHAT when they are not there. */
static bool read_exactly(struct reader *reader, uint8_t *bytes, size_t count, const char *what)
{
    size_t have = 0;

    while (have < count) {
        ssize_t done =
            pread(reader->fd, bytes + have, count - have, (off_t)(reader->position + have));
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            fail(reader, "offset %llu: reading failed: %s",
                 (unsigned long long)(reader->position + have), strerror(errno));
            return false;
        }
        if (done == 0) {
            fail(reader,
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

/* ---- key=value text of header and trailer ------------------------------------------------------
 */

typedef bool text_fn(struct reader *reader, const char *key, const char *value);

static void unescape(char *value)
{
    char *to = value;

    for (; *value; value++) {
        if (*value == '\\' && value[1]) {
            value++;
            *to++ = *value == 'n' ? '\n' : *value;
        } else {
            *to++ = *value;
        }
    }
    *to = 0;
}

/* TEXT has room for a final 0 at [count]. */
static bool each_line(struct reader *reader, char *text, size_t count, text_fn *take)
{
    text[count] = 0;
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n');
        char *equals = strchr(line, '=');
        if (!end || !equals || equals > end)
            return false;
        *end = 0;
        *equals = 0;
        unescape(equals + 1);
        if (!take(reader, line, equals + 1))
            return false;
        line = end + 1;
    }
    return true;
}

static bool take_header_line(struct reader *reader, const char *key, const char *value)
{
    struct trace_info *info = &reader->info;
    size_t used = strlen(info->program);

    if (!strcmp(key, "architecture"))
        return !strcmp(value, "ia32");
    if (!strcmp(key, "made_by"))
        snprintf(info->made_by, sizeof info->made_by, "%.63s", value);
    if (!strcmp(key, "program") || !strcmp(key, "argument"))
        snprintf(info->program + used, sizeof info->program - used, "%s%s", used ? " " : "", value);
    return true;
}

static bool number_of(const char *value, uint64_t limit, uint64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoull(value, &end, 10);
    return *value >= '0' && *value <= '9' && !*end && !errno && *number <= limit;
}

static bool take_end(struct trace_end *end, const char *value)
{
    static const char *const how[] = {"exit", "signal", "snippet", "cut"};

    for (unsigned i = 0; i < 4; i++) {
        if (!strcmp(how[i], value)) {
            end->how = i;
            return true;
        }
    }
    return false;
}

static bool take_trailer_line(struct reader *reader, const char *key, const char *value)
{
    struct trace_info *info = &reader->info;
    uint64_t number = 0;

    if (!strcmp(key, "end"))
        return take_end(&info->end, value);
    if (!strcmp(key, "note")) {
        snprintf(info->end.note, sizeof info->end.note, "%s", value);
        return true;
    }
    if (!strcmp(key, "instructions"))
        return number_of(value, UINT64_MAX, &info->instructions);
    if (!strcmp(key, "codes"))
        return number_of(value, STREAM_CODES_MAX, &info->codes);
    if (!strcmp(key, "signals"))
        return number_of(value, UINT64_MAX, &info->end.signals);
    if (!strcmp(key, "uncounted_processes"))
        return number_of(value, UINT64_MAX, &info->end.uncounted_processes);
    if (!strcmp(key, "status") || !strcmp(key, "processes") || !strcmp(key, "threads")) {
        if (!number_of(value, INT32_MAX, &number))
            return false;
        if (key[0] == 's')
            info->end.status = (int)number;
        else if (key[0] == 'p')
            info->end.processes = (uint32_t)number;
        else
            info->end.threads = (uint32_t)number;
    }
    return true;
}

/* ---- header ------------------------------------------------------------------------------------
 */

static bool read_header_text(struct reader *reader, uint8_t *header)
{
    uint32_t text_bytes = stream_get32(header + 12);
    uint8_t *all;
    bool good;

    if (text_bytes > STREAM_HEADER_TEXT_MAX) {
        fail(reader, "offset 12: header text of %lu bytes, expected at most %d: damaged",
             (unsigned long)text_bytes, STREAM_HEADER_TEXT_MAX);
        return false;
    }
    all = malloc(STREAM_HEADER_FIXED + text_bytes + 9);
    if (!all) {
        fail(reader, "no memory for the header");
        return false;
    }
    memcpy(all, header, STREAM_HEADER_FIXED);
    good = read_exactly(reader, all + STREAM_HEADER_FIXED, text_bytes + 8, "the header");
    if (good && XXH64(all, STREAM_HEADER_FIXED + text_bytes, 0) !=
                    stream_get64(all + STREAM_HEADER_FIXED + text_bytes)) {
        fail(reader, "offset 0: the header does not match its checksum: damaged");
        good = false;
    }
    if (good &&
        !each_line(reader, (char *)all + STREAM_HEADER_FIXED, text_bytes, take_header_line)) {
        fail(reader,
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
        fail(reader, "%llu bytes are not a recorded run (expected a p4sim trace)",
             (unsigned long long)reader->file_bytes);
        return false;
    }
    if (!read_exactly(reader, header, sizeof header, "the header"))
        return false;
    if (memcmp(header, STREAM_MAGIC, 8) != 0) {
        fail(reader, "offset 0: not a recorded run (expected a p4sim trace, magic \"P4SIMTR\")");
        return false;
    }
    reader->info.version = stream_get32(header + 8);
    if (reader->info.version != STREAM_VERSION) {
        fail(reader, "offset 8: trace version %lu, expected %u",
             (unsigned long)reader->info.version, STREAM_VERSION);
        return false;
    }
    return read_header_text(reader, header);
}

static bool open_path(struct reader *reader, const char *path)
{
    struct stat stat;

    reader->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (reader->fd < 0 || fstat(reader->fd, &stat) != 0) {
        fail(reader, "cannot open the trace: %s", strerror(errno));
        return false;
    }
    if (!S_ISREG(stat.st_mode)) {
        fail(reader, "not a regular file (expected a recorded run)");
        return false;
    }
    reader->file_bytes = reader->info.file_bytes = (uint64_t)stat.st_size;
    reader->stored_capacity = STREAM_CHUNK_HEADER + ZSTD_compressBound(STREAM_CHUNK_RAW_MAX);
    reader->stored = malloc(reader->stored_capacity);
    reader->raw = malloc(STREAM_CHUNK_RAW_MAX + 1);
    reader->zstd = ZSTD_createDCtx();
    if (!reader->stored || !reader->raw || !reader->zstd) {
        fail(reader, "no memory to read the trace");
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
    if (open_path(reader, path) && read_header(reader))
        return reader;
    snprintf(error, 512, "%s", reader->error);
    reader_close(reader);
    return NULL;
}

/* ---- chunks ------------------------------------------------------------------------------------
 */

static bool check_chunk_header(struct reader *reader, uint64_t position)
{
    const uint8_t *header = reader->stored;
    uint32_t raw = stream_get32(header + CHUNK_RAW_BYTES);
    uint32_t stored = stream_get32(header + CHUNK_STORED_BYTES);

    if (memcmp(header, STREAM_CHUNK_MAGIC, 4) != 0 && memcmp(header, STREAM_TRAILER_MAGIC, 4) != 0)
        fail(reader, "offset %llu: expected a chunk here: damaged", (unsigned long long)position);
    else if (raw > STREAM_CHUNK_RAW_MAX || stored > reader->stored_capacity - STREAM_CHUNK_HEADER)
        fail(reader, "offset %llu: chunk of %lu bytes (%lu stored), expected at most %d: damaged",
             (unsigned long long)position, (unsigned long)raw, (unsigned long)stored,
             STREAM_CHUNK_RAW_MAX);
    else if (stream_get64(header + CHUNK_POSITION) != position)
        fail(reader, "offset %llu: this chunk was written for offset %llu: damaged",
             (unsigned long long)position,
             (unsigned long long)stream_get64(header + CHUNK_POSITION));
    else
        return true;
    return false;
}

static bool check_order(struct reader *reader, uint64_t position)
{
    const uint8_t *header = reader->stored;
    uint64_t count = stream_get64(header + CHUNK_INSTRUCTIONS);

    if (!reader->in_order)
        return true;
    if (stream_get32(header + CHUNK_SEQUENCE) == reader->sequence &&
        stream_get64(header + CHUNK_FIRST) == reader->instructions &&
        count <= UINT64_MAX - reader->instructions)
        return true;
    fail(reader, "offset %llu: chunk %lu at instruction %llu, expected chunk %lu at %llu: damaged",
         (unsigned long long)position, (unsigned long)stream_get32(header + CHUNK_SEQUENCE),
         (unsigned long long)stream_get64(header + CHUNK_FIRST), (unsigned long)reader->sequence,
         (unsigned long long)reader->instructions);
    return false;
}

static bool unpack(struct reader *reader, uint64_t position)
{
    uint8_t *header = reader->stored;
    uint32_t raw = stream_get32(header + CHUNK_RAW_BYTES);
    uint32_t stored = stream_get32(header + CHUNK_STORED_BYTES);
    uint64_t checksum = stream_get64(header + CHUNK_CHECKSUM);
    size_t size;

    stream_put64(header + CHUNK_CHECKSUM, 0);
    if (XXH64(header, STREAM_CHUNK_HEADER + stored, 0) != checksum) {
        fail(reader, "offset %llu: the chunk does not match its checksum: damaged",
             (unsigned long long)position);
        return false;
    }
    size = ZSTD_decompressDCtx(reader->zstd, reader->raw, STREAM_CHUNK_RAW_MAX,
                               header + STREAM_CHUNK_HEADER, stored);
    if (!ZSTD_isError(size) && size == raw)
        return true;
    fail(reader, "offset %llu: the chunk does not unpack to its %lu bytes: damaged",
         (unsigned long long)position, (unsigned long)raw);
    return false;
}

static bool check_footer(struct reader *reader, uint64_t trailer)
{
    uint8_t footer[STREAM_FOOTER];

    if (!read_exactly(reader, footer, sizeof footer, "the footer"))
        return false;
    if (memcmp(footer + 8, STREAM_FOOTER_MAGIC, 8) == 0 && stream_get64(footer) == trailer &&
        reader->position == reader->file_bytes)
        return true;
    fail(reader, "offset %llu: expected the footer and the end of the file: damaged",
         (unsigned long long)(reader->position - sizeof footer));
    return false;
}

static enum reader_result take_trailer(struct reader *reader, uint64_t position)
{
    size_t count = stream_get32(reader->stored + CHUNK_RAW_BYTES);

    if (!check_footer(reader, position))
        return READER_ERROR;
    if (!each_line(reader, (char *)reader->raw, count, take_trailer_line)) {
        fail(reader, "offset %llu: the trailer's text is not what this version understands",
             (unsigned long long)position);
        return READER_ERROR;
    }
    if (reader->in_order && reader->info.instructions != reader->instructions) {
        fail(reader, "offset %llu: the trailer says %llu instructions, the chunks held %llu",
             (unsigned long long)position, (unsigned long long)reader->info.instructions,
             (unsigned long long)reader->instructions);
        return READER_ERROR;
    }
    reader->info.complete = true;
    return READER_TRAILER;
}

enum reader_result reader_next(struct reader *reader, struct reader_chunk *chunk)
{
    uint64_t position = reader->position;

    if (position == reader->file_bytes) {
        fail(reader,
             "offset %llu: the file ends here, expected a chunk or the trailer: it is truncated or "
             "its recording was cut short after %llu instructions",
             (unsigned long long)position, (unsigned long long)reader->instructions);
        return READER_ERROR;
    }
    if (!read_exactly(reader, reader->stored, STREAM_CHUNK_HEADER, "a chunk header") ||
        !check_chunk_header(reader, position) ||
        !read_exactly(reader, reader->stored + STREAM_CHUNK_HEADER,
                      stream_get32(reader->stored + CHUNK_STORED_BYTES), "a chunk") ||
        !unpack(reader, position) || !check_order(reader, position))
        return READER_ERROR;
    reader->sequence++;
    if (memcmp(reader->stored, STREAM_TRAILER_MAGIC, 4) == 0)
        return take_trailer(reader, position);
    *chunk = (struct reader_chunk){
        .raw = reader->raw,
        .raw_bytes = stream_get32(reader->stored + CHUNK_RAW_BYTES),
        .position = position,
        .first_instruction = reader->instructions,
        .instructions = stream_get64(reader->stored + CHUNK_INSTRUCTIONS),
    };
    reader->instructions += chunk->instructions;
    return READER_CHUNK;
}

enum reader_result reader_seek_trailer(struct reader *reader)
{
    uint8_t footer[STREAM_FOOTER];
    struct reader_chunk chunk;
    enum reader_result result;

    if (reader->file_bytes >= reader->position + STREAM_FOOTER)
        reader->position = reader->file_bytes - STREAM_FOOTER;
    if (!read_exactly(reader, footer, sizeof footer, "the footer"))
        return READER_ERROR;
    if (memcmp(footer + 8, STREAM_FOOTER_MAGIC, 8) != 0 ||
        stream_get64(footer) >= reader->file_bytes) {
        fail(reader,
             "offset %llu: expected the trailer's footer: the file is truncated or its recording "
             "was cut short",
             (unsigned long long)(reader->file_bytes - STREAM_FOOTER));
        return READER_ERROR;
    }
    reader->in_order = false;
    reader->position = stream_get64(footer);
    result = reader_next(reader, &chunk);
    if (result != READER_CHUNK)
        return result;
    fail(reader, "offset %llu: expected the trailer here: damaged",
         (unsigned long long)stream_get64(footer));
    return READER_ERROR;
}

const struct trace_info *reader_info(const struct reader *reader)
{
    return &reader->info;
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
    free(reader->stored);
    free(reader->raw);
    free(reader);
}
