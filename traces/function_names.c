/* Lists of named functions, and which of them a run has executed; see function_names.h. */
#define _GNU_SOURCE
#include "function_names.h"

#include "stream.h"
#include "writer.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists -------------------------------------------------------------------------------------
 */

static bool reach(void **array, size_t *capacity, size_t count, size_t size)
{
    size_t wanted = *capacity ? 2 * *capacity : 256;
    void *bigger;

    if (count < *capacity)
        return true;
    bigger = realloc(*array, wanted * size);
    if (!bigger)
        return false;
    *array = bigger;
    *capacity = wanted;
    return true;
}

const char *name_list_string(struct name_list *list, const char *text, size_t length)
{
    void *strings = list->string;
    char *copy;

    if (!reach(&strings, &list->string_capacity, list->string_count, sizeof *list->string))
        return NULL;
    list->string = strings;
    copy = strndup(text, length);
    if (copy)
        list->string[list->string_count++] = copy;
    return copy;
}

bool name_list_add(struct name_list *list, const struct trace_function *function)
{
    void *functions = list->function;

    if (!reach(&functions, &list->capacity, list->count, sizeof *list->function))
        return false;
    list->function = functions;
    list->function[list->count++] = *function;
    return true;
}

void name_list_free(struct name_list *list)
{
    for (size_t i = 0; i < list->string_count; i++)
        free(list->string[i]);
    free(list->string);
    free(list->function);
    *list = (struct name_list){0};
}

static int by_place(const void *left, const void *right)
{
    const struct trace_function *a = left, *b = right;
    int paths = strcmp(a->path, b->path);

    if (paths)
        return paths;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return strcmp(a->name, b->name);
}

void name_list_sort(struct name_list *list)
{
    if (list->count)
        qsort(list->function, list->count, sizeof *list->function, by_place);
}

/* ---- chunks ------------------------------------------------------------------------------------
 */

static bool get_string(struct name_list *list, struct stream_cursor *cursor, size_t length,
                       const char **string)
{
    if (length > (size_t)(cursor->end - cursor->at) || memchr(cursor->at, 0, length))
        return false;
    *string = name_list_string(list, (const char *)cursor->at, length);
    cursor->at += length;
    return *string != NULL;
}

static bool get_file(struct name_list *list, struct stream_cursor *cursor,
                     struct trace_function *function)
{
    uint8_t length = 0;

    *function = (struct trace_function){0};
    return stream_get_byte(cursor, &function->build_id_bytes) &&
           function->build_id_bytes <= TRACE_BUILD_ID_BYTES &&
           stream_get_bytes(cursor, function->build_id, function->build_id_bytes) &&
           stream_get_byte(cursor, &length) && get_string(list, cursor, length, &function->path);
}

static bool get_function(struct name_list *list, struct stream_cursor *cursor,
                         struct trace_function *function)
{
    uint64_t further = 0, length = 0;

    if (!function->path || !stream_get_varint(cursor, &further) ||
        !stream_get_varint(cursor, &function->size) || !stream_get_varint(cursor, &length) ||
        length > TRACE_NAME_MAX || !get_string(list, cursor, (size_t)length, &function->name))
        return false;
    function->offset += further;
    function->rank = (uint32_t)list->count; /* they stand in order */
    return name_list_add(list, function);
}

bool name_list_read_chunk(struct name_list *list, const uint8_t *raw, size_t bytes)
{
    struct stream_cursor cursor = {raw, raw + bytes};
    struct trace_function function = {0};
    uint8_t kind = 0;

    while (stream_get_byte(&cursor, &kind)) {
        if (kind == NAME_FILE ? !get_file(list, &cursor, &function)
                              : kind != NAME_FUNCTION || !get_function(list, &cursor, &function))
            return false;
    }
    return true;
}

static bool is_of_file(const struct trace_function *a, const struct trace_function *b)
{
    return !strcmp(a->path, b->path);
}

static void put_file(struct stream_buffer *chunk, const struct trace_function *function)
{
    stream_put_byte(chunk, NAME_FILE);
    stream_put_byte(chunk, function->build_id_bytes);
    stream_put_bytes(chunk, function->build_id, function->build_id_bytes);
    stream_put_byte(chunk, (unsigned)strlen(function->path));
    stream_put_bytes(chunk, function->path, strlen(function->path));
}

/* The function BEFORE is the one before it in this chunk, or NULL. */
static void put_function(struct stream_buffer *chunk, const struct trace_function *before,
                         const struct trace_function *function)
{
    uint64_t last = before && is_of_file(before, function) ? before->offset : 0;

    if (!before || !is_of_file(before, function))
        put_file(chunk, function);
    stream_put_byte(chunk, NAME_FUNCTION);
    stream_put_varint(chunk, function->offset - last);
    stream_put_varint(chunk, function->size);
    stream_put_varint(chunk, strlen(function->name));
    stream_put_bytes(chunk, function->name, strlen(function->name));
}

bool names_write(const struct name_list *list, struct writer *writer, uint64_t instructions)
{
    struct stream_buffer chunk = {0};
    bool good = true;

    for (size_t at = 0, count; at < list->count && good; at += count) {
        chunk.used = 0;
        for (count = 0;
             at + count < list->count && chunk.used < STREAM_CHUNK_RAW_MAX - STREAM_RECORD_MAX;
             count++)
            put_function(&chunk, count ? &list->function[at + count - 1] : NULL,
                         &list->function[at + count]);
        good = !chunk.failed;
        if (good)
            writer_chunk(writer, STREAM_NAMES, instructions, count, chunk.bytes, chunk.used);
    }
    free(chunk.bytes);
    return good;
}

/* ---- what was executed -------------------------------------------------------------------------
 */

static bool find_object(struct place_log *log, const struct object_log *objects, uint16_t process,
                        uint64_t ip)
{
    const struct trace_object *object;

    if (log->objects == objects->count && log->object < objects->count) {
        object = &objects->object[log->object];
        if (object->process == process && ip >= object->start && ip < object->end)
            return true;
    }
    for (size_t i = objects->count; i-- > 0;) {
        object = &objects->object[i];
        if (object->process != process || ip < object->start || ip >= object->end)
            continue;
        log->object = i;
        log->objects = objects->count;
        return true;
    }
    return false;
}

void place_log_add(struct place_log *log, const struct object_log *objects, uint16_t process,
                   uint64_t ip)
{
    const struct trace_object *object;
    void *places = log->place;

    if (!find_object(log, objects, process, ip))
        return;
    object = &objects->object[log->object];
    if (object->path[0] != '/')
        return; /* a stack, a heap */
    if (!reach(&places, &log->capacity, log->count, sizeof *log->place)) {
        log->out_of_memory = true;
        return;
    }
    log->place = places;
    log->place[log->count++] =
        (struct executed_place){log->object, ip - object->start + object->offset};
}

void place_log_free(struct place_log *log)
{
    free(log->place);
    *log = (struct place_log){0};
}

/* The first object of the log with the same path: mappings of a file are one. */
static size_t first_of_file(const struct object_log *objects, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (!strcmp(objects->object[i].path, objects->object[index].path))
            return i;
    return index;
}

static bool to_files(struct place_log *log, const struct object_log *objects)
{
    size_t *first = calloc(objects->count + 1, sizeof *first);

    if (!first)
        return false;
    for (size_t i = 0; i < objects->count; i++)
        first[i] = first_of_file(objects, i);
    for (size_t i = 0; i < log->count; i++)
        log->place[i].object = first[log->place[i].object];
    free(first);
    return true;
}

static int by_file(const void *left, const void *right)
{
    const struct executed_place *a = left, *b = right;

    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    return a->offset == b->offset ? 0 : a->offset < b->offset ? -1 : 1;
}

/* Does one of COUNT sorted places lie in FUNCTION? */
static bool was_executed(const struct executed_place *place, size_t count,
                         const struct trace_function *function)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (place[middle].offset < function->offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && place[low].offset - function->offset < function->size;
}

/* Those of FROM that are of OBJECT and were executed at COUNT places. */
static bool take_used(const struct name_list *from, const struct trace_object *object,
                      const struct executed_place *place, size_t count, struct name_list *used)
{
    for (size_t i = 0; i < from->count; i++) {
        struct trace_function function = from->function[i];
        if (strcmp(function.path, object->path) != 0 || !was_executed(place, count, &function))
            continue;
        function.path = name_list_string(used, function.path, strlen(function.path));
        function.name = name_list_string(used, function.name, strlen(function.name));
        if (!function.path || !function.name || !name_list_add(used, &function))
            return false;
    }
    return true;
}

bool place_log_names(struct place_log *log, const struct object_log *objects,
                     const struct name_list *known, struct name_list *used)
{
    bool good = !log->out_of_memory && to_files(log, objects);

    if (log->count)
        qsort(log->place, log->count, sizeof *log->place, by_file);
    for (size_t at = 0, count; good && at < log->count; at += count) {
        const struct executed_place *place = &log->place[at];
        const struct trace_object *object = &objects->object[place->object];
        struct name_list own = {0};
        for (count = 1; at + count < log->count && place[count].object == place->object;)
            count++;
        if (!known)
            name_list_read_file(&own, object);
        good = take_used(known ? known : &own, object, place, count, used);
        name_list_free(&own);
    }
    name_list_sort(used);
    return good;
}
