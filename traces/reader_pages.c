/* Page contents of a recorded run by their numbers; see reader.h. */
#define _GNU_SOURCE
#include "reader_parts.h"

#include <stdlib.h>

/* The place for another chunk of contents: the one used least lately. */
static struct reader_kept *place_for(struct reader *reader, uint64_t position)
{
    struct reader_kept *place = &reader->kept[0];

    for (unsigned i = 0; i < READER_KEPT; i++) {
        if (reader->kept[i].position == position)
            return &reader->kept[i];
        if (reader->kept[i].used < place->used)
            place = &reader->kept[i];
    }
    if (!place->raw && !(place->raw = malloc(STREAM_CHUNK_RAW_MAX)))
        reader_fail(reader, "no memory for pages");
    return place->raw ? place : NULL;
}

static const struct reader_entry *find_content(const struct reader *reader, uint64_t content)
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
    const struct reader_entry *entry = find_content(reader, content);
    struct reader_chunk chunk;
    struct reader_kept *place;

    if (!entry) {
        reader_fail(reader, "page content %llu is not in the file: damaged",
                    (unsigned long long)content);
        return NULL;
    }
    place = place_for(reader, entry->position);
    if (!place)
        return NULL;
    if (place->position != entry->position) {
        place->position = 0;
        if (!reader_read_chunk_at(reader, entry->position, READER_PAGES, place->raw, &chunk))
            return NULL;
        if (chunk.first != entry->first || chunk.count != entry->count) {
            reader_fail(reader, "offset %llu: not the page contents the index tells of: damaged",
                        (unsigned long long)entry->position);
            return NULL;
        }
        place->position = entry->position;
    }
    place->used = ++reader->uses;
    return place->raw + (content - entry->first) * STREAM_PAGE_BYTES;
}
