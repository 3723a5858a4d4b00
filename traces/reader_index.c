/* Where the chunks of a recorded run stand, as passed or by the index; see reader.h. */
#define _GNU_SOURCE
#include "reader_parts.h"

#include <stdlib.h>
#include <string.h>

static bool add_entry(struct reader *reader, struct reader_entries *entries,
                      struct reader_entry entry)
{
    size_t capacity = entries->capacity ? 2 * entries->capacity : 64;
    struct reader_entry *bigger;

    if (entries->count == entries->capacity) {
        bigger = realloc(entries->list, capacity * sizeof *bigger);
        if (!bigger) {
            reader_fail(reader, "no memory for the index");
            return false;
        }
        entries->list = bigger;
        entries->capacity = capacity;
    }
    entries->list[entries->count++] = entry;
    return true;
}

bool reader_note(struct reader *reader, struct reader_entry entry)
{
    struct reader_entries *entries = entry.kind == READER_PAGES        ? &reader->pages
                                     : entry.kind == READER_CHECKPOINT ? &reader->checkpoints
                                     : entry.kind == READER_REGIONS    ? &reader->regions
                                     : entry.kind == READER_NAMES      ? &reader->names
                                                                       : &reader->logs;
    const struct reader_entry *last = entries->count ? &entries->list[entries->count - 1] : NULL;
    uint64_t expected = !last ? 0 : last->first + (entry.kind == READER_PAGES ? last->count : 0);

    if (last && entry.position <= last->position)
        return true; /* passed already */
    reader->info.names += entry.kind == READER_NAMES ? entry.count : 0;
    reader->info.regions += entry.kind == READER_REGIONS ? entry.count : 0;
    reader->info.checkpoints +=
        entry.kind == READER_CHECKPOINT && (!last || entry.first != last->first);
    if (entry.kind == READER_PAGES ? entry.first == expected : entry.first >= expected)
        return add_entry(reader, entries, entry);
    reader_fail(reader, "offset %llu: a chunk \"%.4s\" begins with %llu, expected %llu: damaged",
                (unsigned long long)entry.position, reader_kinds[entry.kind],
                (unsigned long long)entry.first, (unsigned long long)expected);
    return false;
}

struct reader_entry reader_entry_of(const struct reader_chunk *chunk)
{
    return (struct reader_entry){chunk->kind, (uint32_t)chunk->count, chunk->position,
                                 chunk->first};
}

bool reader_check_order(struct reader *reader, const struct reader_chunk *chunk)
{
    const uint8_t *header = reader->stored;
    uint64_t first = chunk->kind == READER_PAGES ? reader->contents : reader->instructions;

    if (!reader->in_order)
        return true;
    if (stream_get32(header + CHUNK_SEQUENCE) == reader->sequence && chunk->first == first)
        return true;
    reader_fail(
        reader, "offset %llu: chunk %lu begins with %llu, expected chunk %lu with %llu: damaged",
        (unsigned long long)chunk->position, (unsigned long)stream_get32(header + CHUNK_SEQUENCE),
        (unsigned long long)chunk->first, (unsigned long)reader->sequence,
        (unsigned long long)first);
    return false;
}

/* ---- out of order ------------------------------------------------------------------------------
 */

/* The entries of an index chunk; COUNT is as that of a chunk's header. */
static bool take_index(struct reader *reader, const struct reader_chunk *chunk)
{
    struct reader_entry entry;

    for (size_t at = 0; at + STREAM_INDEX_ENTRY <= chunk->raw_bytes; at += STREAM_INDEX_ENTRY) {
        const uint8_t *bytes = chunk->raw + at;
        if (!reader_kind_of(bytes, &entry.kind) || entry.kind > READER_NAMES) {
            reader_fail(reader, "offset %llu: the index names a chunk \"%.4s\": damaged",
                        (unsigned long long)chunk->position, (const char *)bytes);
            return false;
        }
        entry.count = stream_get32(bytes + 4);
        entry.position = stream_get64(bytes + 8);
        entry.first = stream_get64(bytes + 16);
        if (!reader_note(reader, entry))
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
    if (!reader_read_exactly(reader, footer, sizeof footer, "the footer"))
        return false;
    if (memcmp(footer + 8, STREAM_FOOTER_MAGIC, 8) != 0 ||
        stream_get64(footer) >= reader->file_bytes) {
        reader_fail(
            reader,
            "offset %llu: expected the trailer's footer: the file is truncated or its recording "
            "was cut short",
            (unsigned long long)(reader->file_bytes - STREAM_FOOTER));
        return false;
    }
    reader->in_order = false;
    reader->position = reader->tail = stream_get64(footer);
    do {
        if (!reader_read_chunk(reader, reader->raw, &chunk))
            return false;
        if (chunk.kind == READER_INDEX && !take_index(reader, &chunk))
            return false;
        if (chunk.kind == READER_TRAILER)
            return reader_take_trailer(reader, &chunk);
    } while (chunk.kind == READER_INDEX);
    reader_fail(reader, "offset %llu: expected index and trailer here: damaged",
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
        if (!reader_read_exactly(reader, reader->stored, STREAM_CHUNK_HEADER, "a chunk header") ||
            !reader_take_chunk_header(reader, position, &chunk) || chunk.kind > READER_NAMES)
            break;
        stored = stream_get32(reader->stored + CHUNK_STORED_BYTES);
        if (stored > reader->file_bytes - reader->position ||
            !reader_note(reader, reader_entry_of(&chunk)))
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
    return reader_read_chunk_at(reader, reader->checkpoints.list[number].position,
                                READER_CHECKPOINT, reader->raw, chunk);
}

bool reader_names(struct reader *reader, size_t number, struct reader_chunk *chunk)
{
    return number < reader->names.count &&
           reader_read_chunk_at(reader, reader->names.list[number].position, READER_NAMES,
                                reader->raw, chunk);
}

bool reader_regions(struct reader *reader, size_t number, struct reader_chunk *chunk)
{
    return number < reader->regions.count &&
           reader_read_chunk_at(reader, reader->regions.list[number].position, READER_REGIONS,
                                reader->raw, chunk);
}

void reader_seek_log(struct reader *reader, uint64_t instruction)
{
    size_t at = 0;

    while (at < reader->logs.count && reader->logs.list[at].first < instruction)
        at++;
    reader->position = at < reader->logs.count ? reader->logs.list[at].position : reader->tail;
    reader->instructions = instruction;
}
