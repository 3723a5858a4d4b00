/* Regions in a recording; see regions.h. */
#define _GNU_SOURCE
#include "regions.h"

#include "marker.h"
#include "reader.h"
#include "writer.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists -------------------------------------------------------------------------------------
 */

/* Length of a text that may stand in a file, else 0. */
static size_t good_length(const char *text)
{
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return 0;
    return length < TRACE_REGION_BYTES ? length : 0;
}

static bool has(const struct region_list *list, bool asked, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->region[i].asked == asked && !strcmp(list->region[i].text, text))
            return true;
    return false;
}

bool region_list_add(struct region_list *list, bool asked, const char *text)
{
    size_t length = good_length(text), capacity = list->capacity ? 2 * list->capacity : 16;
    struct trace_region *bigger;

    if (!length || list->count == STREAM_REGIONS_MAX || has(list, asked, text))
        return true;
    if (list->count == list->capacity) {
        bigger = realloc(list->region, capacity * sizeof *bigger);
        if (!bigger)
            return false;
        list->region = bigger;
        list->capacity = capacity;
    }
    list->region[list->count] = (struct trace_region){.asked = asked};
    memcpy(list->region[list->count++].text, text, length + 1);
    return true;
}

void region_list_free(struct region_list *list)
{
    free(list->region);
    *list = (struct region_list){0};
}

/* ---- chunks ------------------------------------------------------------------------------------
 */

static bool get_region(struct region_list *list, struct stream_cursor *cursor)
{
    char text[TRACE_REGION_BYTES] = "";
    uint8_t kind = 0, length = 0;

    return stream_get_byte(cursor, &kind) && (kind == REGION_ASKED || kind == REGION_MARKER) &&
           stream_get_byte(cursor, &length) && length < sizeof text &&
           stream_get_bytes(cursor, text, length) && good_length(text) == length && length &&
           region_list_add(list, kind == REGION_ASKED, text);
}

bool region_list_read_chunk(struct region_list *list, const uint8_t *raw, size_t bytes,
                            uint64_t count)
{
    struct stream_cursor cursor = {raw, raw + bytes};

    for (; count && get_region(list, &cursor); count--)
        ;
    return !count && cursor.at == cursor.end;
}

void region_list_read_file(struct region_list *list, const char *path)
{
    struct reader_chunk chunk;
    char ignored[512];
    int also_ignored;
    struct reader *reader = reader_open(path, ignored, &also_ignored);

    if (reader)
        reader_index(reader);
    for (size_t i = 0; reader && reader_regions(reader, i, &chunk); i++)
        if (!region_list_read_chunk(list, chunk.raw, chunk.raw_bytes, chunk.count))
            break;
    reader_close(reader);
}

bool regions_write(const struct region_list *list, bool asked, struct writer *writer,
                   uint64_t instructions)
{
    struct stream_buffer chunk = {0};
    uint64_t count = 0;
    bool good;

    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->region[i].text;
        if (list->region[i].asked != asked)
            continue;
        stream_put_byte(&chunk, asked ? REGION_ASKED : REGION_MARKER);
        stream_put_byte(&chunk, (unsigned)strlen(text));
        stream_put_bytes(&chunk, text, strlen(text));
        count++;
    }
    good = !chunk.failed;
    if (good && count)
        writer_chunk(writer, STREAM_REGIONS, instructions, count, chunk.bytes, chunk.used);
    free(chunk.bytes);
    return good;
}

/* ---- markers, as code is executed --------------------------------------------------------------
 */

/* As many of COUNT bytes at IP as are known. */
static size_t bytes_at(const struct code_page_set *pages, uint64_t ip, uint8_t *bytes, size_t count)
{
    uint8_t part[TRACE_INSTRUCTION_BYTES];
    size_t done = 0, got;

    while (done < count && (got = code_page_copy(pages, ip + done, part))) {
        got = got < count - done ? got : count - done;
        memcpy(bytes + done, part, got);
        done += got;
    }
    return done;
}

bool marker_look_again(struct marker_look *look, struct region_list *list,
                       const struct code_page_set *pages)
{
    uint8_t bytes[TRACE_MARKER_BYTES];
    struct trace_marker marker;

    look->waits = false;
    return !trace_marker(bytes, bytes_at(pages, look->ip, bytes, sizeof bytes), &marker) ||
           region_list_add(list, false, marker.name);
}

bool marker_look_at(struct marker_look *look, struct region_list *list,
                    const struct code_page_set *pages, uint16_t process, uint64_t ip)
{
    uint8_t bytes[TRACE_MARKER_BYTES];
    size_t known = bytes_at(pages, ip, bytes, 2), length;

    if (known < 2 || !(length = trace_marker_length(bytes)))
        return true;
    *look = (struct marker_look){ip, process, true};
    known = bytes_at(pages, ip, bytes, length);
    return known < length || marker_look_again(look, list, pages);
}
