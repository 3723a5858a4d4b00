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

/* A chunk as its header has it. */
struct entry {
    enum reader_kind kind;
    uint32_t count;
    uint64_t position, first;
};

/* Page contents kept unpacked, a chunk each. */
struct kept {
    uint64_t position; /* 0: none */
    uint64_t used;
    uint8_t *raw;
};

enum { KEPT = 8 };

struct entries {
    struct entry *list;
    size_t count, capacity;
};

struct reader {
    int fd;
    char path[4096];
    char error[512];
    uint64_t position; /* of the next byte to read */
    uint64_t file_bytes;
    uint64_t header_bytes;
    uint64_t tail; /* where index and trailer begin; the file's end when that is not known */
    uint32_t sequence;
    uint64_t instructions; /* in the chunks read so far */
    uint64_t contents;     /* likewise, page contents */
    bool in_order;         /* every chunk so far was read */
    struct entries pages, checkpoints, logs, names;
    struct kept kept[KEPT];
    uint64_t uses;
    char *header_text;
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
    if (!strcmp(key, "model"))
        snprintf(info->model, sizeof info->model, "%.63s", value);
    if (!strcmp(key, "source"))
        snprintf(info->source, sizeof info->source, "%.63s", value);
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
        return number_of(value, UINT32_MAX, &info->codes);
    if (!strcmp(key, "interpreted"))
        return number_of(value, UINT64_MAX, &info->end.interpreted);
    if (!strcmp(key, "stepped"))
        return number_of(value, UINT64_MAX, &info->end.stepped);
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
    if (good) {
        all[STREAM_HEADER_FIXED + text_bytes] = 0;
        reader->header_text = strdup((char *)all + STREAM_HEADER_FIXED);
        good = reader->header_text != NULL;
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
    if (reader->info.version < STREAM_OLDEST || reader->info.version > STREAM_VERSION) {
        fail(reader, "offset 8: trace version %lu, expected %u or %u",
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
        fail(reader, "cannot open the trace: %s", strerror(errno));
        return false;
    }
    if (!S_ISREG(stat.st_mode)) {
        fail(reader, "not a regular file (expected a recorded run)");
        return false;
    }
    reader->file_bytes = reader->info.file_bytes = reader->tail = (uint64_t)stat.st_size;
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
    if (open_path(reader, path) && read_header(reader)) {
        reader->header_bytes = reader->position;
        return reader;
    }
    snprintf(error, 512, "%s", reader->error);
    reader_close(reader);
    return NULL;
}

/* ---- chunks ------------------------------------------------------------------------------------
 */

static const char kinds[][5] = {
    [READER_LOG] = STREAM_LOG,
    [READER_PAGES] = STREAM_PAGES,
    [READER_CHECKPOINT] = STREAM_CHECKPOINT,
    [READER_NAMES] = STREAM_NAMES,
    [READER_INDEX] = STREAM_INDEX,
    [READER_TRAILER] = STREAM_TRAILER,
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static bool kind_of(const uint8_t *magic, enum reader_kind *kind)
{
    for (unsigned i = 0; i < KINDS; i++) {
        if (memcmp(magic, kinds[i], 4) == 0) {
            *kind = (enum reader_kind)i;
            return true;
        }
    }
    return false;
}

static bool check_counts(struct reader *reader, const struct reader_chunk *chunk)
{
    uint64_t most = chunk->kind == READER_LOG     ? STREAM_CHUNK_INSTRUCTIONS
                    : chunk->kind == READER_PAGES ? STREAM_CHUNK_PAGES
                    : chunk->kind == READER_NAMES ? chunk->raw_bytes
                                                  : 0;

    if (chunk->count <= most &&
        (chunk->kind != READER_PAGES || chunk->raw_bytes == chunk->count * STREAM_PAGE_BYTES))
        return true;
    fail(reader, "offset %llu: a chunk \"%.4s\" of %llu things in %zu bytes: damaged",
         (unsigned long long)chunk->position, kinds[chunk->kind], (unsigned long long)chunk->count,
         chunk->raw_bytes);
    return false;
}

/* The header of a chunk is in reader->stored, read from POSITION. */
static bool take_chunk_header(struct reader *reader, uint64_t position, struct reader_chunk *chunk)
{
    const uint8_t *header = reader->stored;
    uint32_t raw = stream_get32(header + CHUNK_RAW_BYTES);
    uint32_t stored = stream_get32(header + CHUNK_STORED_BYTES);

    *chunk = (struct reader_chunk){.raw_bytes = raw,
                                   .position = position,
                                   .first = stream_get64(header + CHUNK_FIRST),
                                   .count = stream_get64(header + CHUNK_COUNT)};
    if (!kind_of(header, &chunk->kind))
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
        fail(reader, "offset %llu: the chunk does not match its checksum: damaged",
             (unsigned long long)position);
        return false;
    }
    size = ZSTD_decompressDCtx(reader->zstd, into, STREAM_CHUNK_RAW_MAX,
                               header + STREAM_CHUNK_HEADER, stored);
    if (!ZSTD_isError(size) && size == raw)
        return true;
    fail(reader, "offset %llu: the chunk does not unpack to its %lu bytes: damaged",
         (unsigned long long)position, (unsigned long)raw);
    return false;
}

/* Reads the chunk at the position and moves behind it. */
static bool read_chunk(struct reader *reader, uint8_t *into, struct reader_chunk *chunk)
{
    uint64_t position = reader->position;

    if (!read_exactly(reader, reader->stored, STREAM_CHUNK_HEADER, "a chunk header") ||
        !take_chunk_header(reader, position, chunk) ||
        !read_exactly(reader, reader->stored + STREAM_CHUNK_HEADER,
                      stream_get32(reader->stored + CHUNK_STORED_BYTES), "a chunk") ||
        !unpack(reader, position, into))
        return false;
    chunk->raw = into;
    return true;
}

/* Likewise from another place; the position stays. */
static bool read_chunk_at(struct reader *reader, uint64_t position, enum reader_kind kind,
                          uint8_t *into, struct reader_chunk *chunk)
{
    uint64_t here = reader->position;
    bool good;

    reader->position = position;
    good = read_chunk(reader, into, chunk);
    reader->position = here;
    if (good && chunk->kind != kind) {
        fail(reader, "offset %llu: expected a chunk \"%.4s\" here: damaged",
             (unsigned long long)position, kinds[kind]);
        good = false;
    }
    return good;
}

/* ---- the order of chunks -----------------------------------------------------------------------
 */

static bool add_entry(struct reader *reader, struct entries *entries, struct entry entry)
{
    size_t capacity = entries->capacity ? 2 * entries->capacity : 64;
    struct entry *bigger;

    if (entries->count == entries->capacity) {
        bigger = realloc(entries->list, capacity * sizeof *bigger);
        if (!bigger) {
            fail(reader, "no memory for the index");
            return false;
        }
        entries->list = bigger;
        entries->capacity = capacity;
    }
    entries->list[entries->count++] = entry;
    return true;
}

/* Entries come in the file's order; FIRST never falls, page contents follow each other. */
static bool note(struct reader *reader, struct entry entry)
{
    struct entries *entries = entry.kind == READER_PAGES        ? &reader->pages
                              : entry.kind == READER_CHECKPOINT ? &reader->checkpoints
                              : entry.kind == READER_NAMES      ? &reader->names
                                                                : &reader->logs;
    const struct entry *last = entries->count ? &entries->list[entries->count - 1] : NULL;
    uint64_t expected = !last ? 0 : last->first + (entry.kind == READER_PAGES ? last->count : 0);

    if (last && entry.position <= last->position)
        return true; /* passed already */
    reader->info.names += entry.kind == READER_NAMES ? entry.count : 0;
    reader->info.checkpoints +=
        entry.kind == READER_CHECKPOINT && (!last || entry.first != last->first);
    if (entry.kind == READER_PAGES ? entry.first == expected : entry.first >= expected)
        return add_entry(reader, entries, entry);
    fail(reader, "offset %llu: a chunk \"%.4s\" begins with %llu, expected %llu: damaged",
         (unsigned long long)entry.position, kinds[entry.kind], (unsigned long long)entry.first,
         (unsigned long long)expected);
    return false;
}

static struct entry entry_of(const struct reader_chunk *chunk)
{
    return (struct entry){chunk->kind, (uint32_t)chunk->count, chunk->position, chunk->first};
}

static bool check_order(struct reader *reader, const struct reader_chunk *chunk)
{
    const uint8_t *header = reader->stored;
    uint64_t first = chunk->kind == READER_PAGES ? reader->contents : reader->instructions;

    if (!reader->in_order)
        return true;
    if (stream_get32(header + CHUNK_SEQUENCE) == reader->sequence && chunk->first == first)
        return true;
    fail(reader, "offset %llu: chunk %lu begins with %llu, expected chunk %lu with %llu: damaged",
         (unsigned long long)chunk->position, (unsigned long)stream_get32(header + CHUNK_SEQUENCE),
         (unsigned long long)chunk->first, (unsigned long)reader->sequence,
         (unsigned long long)first);
    return false;
}

/* ---- page contents -----------------------------------------------------------------------------
 */

/* The place for another chunk of contents: the one used least lately. */
static struct kept *place_for(struct reader *reader, uint64_t position)
{
    struct kept *place = &reader->kept[0];

    for (unsigned i = 0; i < KEPT; i++) {
        if (reader->kept[i].position == position)
            return &reader->kept[i];
        if (reader->kept[i].used < place->used)
            place = &reader->kept[i];
    }
    if (!place->raw && !(place->raw = malloc(STREAM_CHUNK_RAW_MAX)))
        fail(reader, "no memory for pages");
    return place->raw ? place : NULL;
}

static const struct entry *find_content(const struct reader *reader, uint64_t content)
{
    size_t low = 0, high = reader->pages.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (reader->pages.list[middle].first <= content)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || content - reader->pages.list[low - 1].first >= reader->pages.list[low - 1].count)
        return NULL;
    return &reader->pages.list[low - 1];
}

const uint8_t *reader_page(struct reader *reader, uint64_t content)
{
    const struct entry *entry = find_content(reader, content);
    struct reader_chunk chunk;
    struct kept *place;

    if (!entry) {
        fail(reader, "page content %llu is not in the file: damaged", (unsigned long long)content);
        return NULL;
    }
    place = place_for(reader, entry->position);
    if (!place)
        return NULL;
    if (place->position != entry->position) {
        place->position = 0;
        if (!read_chunk_at(reader, entry->position, READER_PAGES, place->raw, &chunk))
            return NULL;
        if (chunk.first != entry->first || chunk.count != entry->count) {
            fail(reader, "offset %llu: not the page contents the index tells of: damaged",
                 (unsigned long long)entry->position);
            return NULL;
        }
        place->position = entry->position;
    }
    place->used = ++reader->uses;
    return place->raw + (content - entry->first) * STREAM_PAGE_BYTES;
}

/* ---- in the file's order -----------------------------------------------------------------------
 */

static bool check_footer(struct reader *reader)
{
    uint8_t footer[STREAM_FOOTER];

    if (!read_exactly(reader, footer, sizeof footer, "the footer"))
        return false;
    if (memcmp(footer + 8, STREAM_FOOTER_MAGIC, 8) == 0 && stream_get64(footer) == reader->tail &&
        reader->position == reader->file_bytes)
        return true;
    fail(reader, "offset %llu: expected the footer and the end of the file: damaged",
         (unsigned long long)(reader->position - sizeof footer));
    return false;
}

static bool take_trailer(struct reader *reader, const struct reader_chunk *chunk)
{
    if (!check_footer(reader))
        return false;
    if (!each_line(reader, (char *)reader->raw, chunk->raw_bytes, take_trailer_line)) {
        fail(reader, "offset %llu: the trailer's text is not what this version understands",
             (unsigned long long)chunk->position);
        return false;
    }
    if (reader->in_order && reader->info.instructions != reader->instructions) {
        fail(reader, "offset %llu: the trailer says %llu instructions, the chunks held %llu",
             (unsigned long long)chunk->position, (unsigned long long)reader->info.instructions,
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
        return note(reader, entry_of(chunk));
    case READER_PAGES:
        reader->contents += chunk->count;
        return note(reader, entry_of(chunk));
    case READER_CHECKPOINT:
    case READER_NAMES:
        return note(reader, entry_of(chunk));
    case READER_INDEX:
        return true;
    case READER_TRAILER:
        return take_trailer(reader, chunk);
    }
    return false;
}

bool reader_next(struct reader *reader, struct reader_chunk *chunk)
{
    if (reader->position == reader->file_bytes) {
        fail(reader,
             "offset %llu: the file ends here, expected a chunk or the trailer: it is truncated or "
             "its recording was cut short after %llu instructions",
             (unsigned long long)reader->position, (unsigned long long)reader->instructions);
        return false;
    }
    if (!read_chunk(reader, reader->raw, chunk) || !check_order(reader, chunk))
        return false;
    if (chunk->kind >= READER_INDEX && chunk->position < reader->tail)
        reader->tail = chunk->position;
    reader->sequence++;
    return pass(reader, chunk);
}

/* ---- out of order ------------------------------------------------------------------------------
 */

/* The entries of an index chunk; COUNT is as that of a chunk's header. */
static bool take_index(struct reader *reader, const struct reader_chunk *chunk)
{
    struct entry entry;

    for (size_t at = 0; at + STREAM_INDEX_ENTRY <= chunk->raw_bytes; at += STREAM_INDEX_ENTRY) {
        const uint8_t *bytes = chunk->raw + at;
        if (!kind_of(bytes, &entry.kind) || entry.kind > READER_NAMES) {
            fail(reader, "offset %llu: the index names a chunk \"%.4s\": damaged",
                 (unsigned long long)chunk->position, (const char *)bytes);
            return false;
        }
        entry.count = stream_get32(bytes + 4);
        entry.position = stream_get64(bytes + 8);
        entry.first = stream_get64(bytes + 16);
        if (!note(reader, entry))
            return false;
    }
    return true;
}

bool reader_seek_trailer(struct reader *reader)
{
    uint8_t footer[STREAM_FOOTER];
    struct reader_chunk chunk = {0};

    if (reader->file_bytes >= reader->position + STREAM_FOOTER)
        reader->position = reader->file_bytes - STREAM_FOOTER;
    if (!read_exactly(reader, footer, sizeof footer, "the footer"))
        return false;
    if (memcmp(footer + 8, STREAM_FOOTER_MAGIC, 8) != 0 ||
        stream_get64(footer) >= reader->file_bytes) {
        fail(reader,
             "offset %llu: expected the trailer's footer: the file is truncated or its recording "
             "was cut short",
             (unsigned long long)(reader->file_bytes - STREAM_FOOTER));
        return false;
    }
    reader->in_order = false;
    reader->position = reader->tail = stream_get64(footer);
    do {
        if (!read_chunk(reader, reader->raw, &chunk))
            return false;
        if (chunk.kind == READER_INDEX && !take_index(reader, &chunk))
            return false;
        if (chunk.kind == READER_TRAILER)
            return take_trailer(reader, &chunk);
    } while (chunk.kind == READER_INDEX);
    fail(reader, "offset %llu: expected index and trailer here: damaged",
         (unsigned long long)stream_get64(footer));
    return false;
}

/* Without an index: the headers one after the other, as far as they are good. */
static void scan_headers(struct reader *reader)
{
    struct reader_chunk chunk;

    reader->position = reader->header_bytes;
    reader->tail = reader->file_bytes;
    while (reader->position + STREAM_CHUNK_HEADER <= reader->file_bytes) {
        uint64_t position = reader->position, stored;
        if (!read_exactly(reader, reader->stored, STREAM_CHUNK_HEADER, "a chunk header") ||
            !take_chunk_header(reader, position, &chunk) || chunk.kind > READER_NAMES)
            break;
        stored = stream_get32(reader->stored + CHUNK_STORED_BYTES);
        if (stored > reader->file_bytes - reader->position || !note(reader, entry_of(&chunk)))
            break;
        reader->position += stored;
    }
    reader->error[0] = 0;
}

void reader_index(struct reader *reader)
{
    if (!reader_seek_trailer(reader)) {
        reader->error[0] = 0;
        scan_headers(reader);
    }
    reader->in_order = false;
    reader->position = reader->header_bytes;
}

uint64_t reader_last_checkpoint(const struct reader *reader, uint64_t instruction)
{
    size_t at = reader->checkpoints.count;

    while (at && reader->checkpoints.list[at - 1].first > instruction)
        at--;
    return at ? reader->checkpoints.list[at - 1].first : 0;
}

bool reader_checkpoint(struct reader *reader, size_t number, uint64_t instruction,
                       struct reader_chunk *chunk)
{
    if (number >= reader->checkpoints.count || reader->checkpoints.list[number].first > instruction)
        return false;
    return read_chunk_at(reader, reader->checkpoints.list[number].position, READER_CHECKPOINT,
                         reader->raw, chunk);
}

bool reader_names(struct reader *reader, size_t number, struct reader_chunk *chunk)
{
    return number < reader->names.count &&
           read_chunk_at(reader, reader->names.list[number].position, READER_NAMES, reader->raw,
                         chunk);
}

void reader_seek_log(struct reader *reader, uint64_t instruction)
{
    size_t at = 0;

    while (at < reader->logs.count && reader->logs.list[at].first < instruction)
        at++;
    reader->position = at < reader->logs.count ? reader->logs.list[at].position : reader->tail;
    reader->instructions = instruction;
}

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
    for (unsigned i = 0; i < KEPT; i++)
        free(reader->kept[i].raw);
    free(reader->header_text);
    free(reader->pages.list);
    free(reader->checkpoints.list);
    free(reader->logs.list);
    free(reader->names.list);
    free(reader->stored);
    free(reader->raw);
    free(reader);
}
