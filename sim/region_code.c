/* Static facts about instructions; see region_code.h. */
#include "region_code.h"

#include "marker.h"

#include <stdlib.h>
#include <string.h>

/* Where a function of the options stands. */
struct entry {
    uint16_t process;
    uint8_t region;
    uint64_t address;
};

struct region_codes {
    const struct sim_parts_options *options;
    struct trace_source *source;
    int (*region_of_marker)(void *context, const char *name);
    void *context;
    struct region_code *code;
    size_t count, capacity;
    struct entry *entry;
    size_t entry_count;
    size_t objects; /* of the source's log that were looked through */
    bool found[SIM_REGIONS];
    uint64_t *begin; /* where regions begin, of whichever process */
    size_t begin_count;
    bool failed;
};

struct region_codes *region_codes_new(const struct sim_parts_options *options,
                                      struct trace_source *source,
                                      int (*region_of_marker)(void *context, const char *name),
                                      void *context)
{
    struct region_codes *codes = calloc(1, sizeof *codes);

    if (!codes)
        return NULL;
    codes->options = options;
    codes->source = source;
    codes->region_of_marker = region_of_marker;
    codes->context = context;
    return codes;
}

void region_codes_free(struct region_codes *codes)
{
    if (!codes)
        return;
    free(codes->code);
    free(codes->entry);
    free(codes->begin);
    free(codes);
}

bool region_codes_found(const struct region_codes *codes, size_t region)
{
    return codes->found[region];
}

/* ---- functions ---------------------------------------------------------------------------------
 */

static void add_begin(struct region_codes *codes, uint64_t address)
{
    uint64_t *begin;

    for (size_t i = 0; i < codes->begin_count; i++)
        if (codes->begin[i] == address)
            return;
    begin = realloc(codes->begin, (codes->begin_count + 1) * sizeof *begin);
    if (!begin) {
        codes->failed = true;
        return;
    }
    begin[codes->begin_count++] = address;
    codes->begin = begin;
}

static void add_entry(struct region_codes *codes, uint16_t process, size_t region, uint64_t address)
{
    struct entry *entry = realloc(codes->entry, (codes->entry_count + 1) * sizeof *entry);

    if (!entry) {
        codes->failed = true;
        return;
    }
    entry[codes->entry_count++] = (struct entry){process, (uint8_t)region, address};
    codes->entry = entry;
    codes->found[region] = true;
    add_begin(codes, address);
}

/* Which of the regions asked for begin with the marker? */
static void take_marker(struct region_codes *codes, const char *name, uint64_t address)
{
    const struct sim_parts_options *options = codes->options;

    for (size_t i = 0; i < options->region_count; i++) {
        const struct sim_region_spec *region = &options->regions[i];
        if (region->kind != SIM_REGION_MARKER || (region->name[0] && strcmp(region->name, name)))
            continue;
        codes->found[i] = true;
        add_begin(codes, address);
    }
}

static void look_for_markers(struct region_codes *codes, const struct trace_object *object)
{
    uint8_t bytes[4096 + TRACE_MARKER_BYTES];
    struct trace_marker marker;
    size_t got;

    for (uint64_t at = object->start; at < object->end; at += 4096) {
        got = trace_source_memory_at(codes->source, object->process, at, bytes, sizeof bytes);
        for (size_t i = 0; i < got && i < 4096; i++)
            if (trace_marker(bytes + i, got - i, &marker) && marker.begin)
                take_marker(codes, marker.name, at + i);
    }
}

static bool wants_markers(const struct sim_parts_options *options)
{
    for (size_t i = 0; i < options->region_count; i++)
        if (options->regions[i].kind == SIM_REGION_MARKER)
            return true;
    return false;
}

/* By the names a recording has: the file may be gone, or be another one by now. */
static bool find_recorded(struct trace_source *source, const struct trace_object *object,
                          const char *name, uint64_t *address)
{
    size_t count;
    const struct trace_function *one = trace_source_functions(source, &count);

    for (size_t i = 0; i < count; i++, one++) {
        if (strcmp(one->name, name) != 0 || strcmp(one->path, object->path) != 0 ||
            one->build_id_bytes != object->build_id_bytes ||
            memcmp(one->build_id, object->build_id, one->build_id_bytes) != 0 ||
            one->offset < object->offset ||
            one->offset - object->offset >= object->end - object->start)
            continue;
        *address = object->start + (one->offset - object->offset);
        return true;
    }
    return false;
}

static bool find_function(struct region_codes *codes, const struct trace_object *object,
                          const char *name, uint64_t *address)
{
    const struct sim_parts_options *options = codes->options;

    return (options->resolve &&
            options->resolve(options->resolve_context, object, name, address)) ||
           find_recorded(codes->source, object, name, address);
}

static void look_through(struct region_codes *codes, const struct trace_object *object)
{
    const struct sim_parts_options *options = codes->options;
    uint64_t address;

    if (!object->executable)
        return;
    if (options->only_regions && wants_markers(options))
        look_for_markers(codes, object);
    for (size_t i = 0; i < options->region_count; i++) {
        if (options->regions[i].kind == SIM_REGION_FUNCTION &&
            find_function(codes, object, options->regions[i].name, &address))
            add_entry(codes, object->process, i, address);
    }
}

static void look_through_new_objects(struct region_codes *codes)
{
    size_t count;
    const struct trace_object *object = trace_source_objects(codes->source, &count);

    for (; codes->objects < count; codes->objects++)
        look_through(codes, &object[codes->objects]);
}

const uint64_t *region_codes_entries(struct region_codes *codes, size_t *count)
{
    const struct sim_parts_options *options = codes->options;

    for (size_t i = 0; i < options->region_count; i++)
        if (options->regions[i].kind == SIM_REGION_ADDRESS)
            add_begin(codes, options->regions[i].from);
    *count = codes->begin_count;
    return codes->failed ? NULL : codes->begin;
}

bool region_codes_all_found(struct region_codes *codes)
{
    const struct sim_parts_options *options = codes->options;

    look_through_new_objects(codes);
    for (size_t i = 0; i < options->region_count; i++)
        if (options->regions[i].kind != SIM_REGION_ADDRESS && !codes->found[i])
            return false;
    return true;
}

/* ---- instructions ------------------------------------------------------------------------------
 */

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
           byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65;
}

/* The opcode behind prefixes; REX bytes are no instructions of their own when more follows. */
static size_t opcode_at(const uint8_t *bytes, size_t length)
{
    size_t at = 0;

    while (at + 1 < length && is_prefix(bytes[at]))
        at++;
    if (at + 1 < length && (bytes[at] & 0xf0) == 0x40)
        at++;
    return at;
}

static uint8_t kind_of(const uint8_t *bytes, size_t length)
{
    size_t at = opcode_at(bytes, length);
    unsigned digit = at + 1 < length ? bytes[at + 1] >> 3 & 7 : 0;

    if (bytes[at] == 0xe8 || bytes[at] == 0x9a || (bytes[at] == 0xff && (digit == 2 || digit == 3)))
        return CODE_CALL;
    if (bytes[at] == 0xc2 || bytes[at] == 0xc3 || bytes[at] == 0xca || bytes[at] == 0xcb)
        return CODE_RETURN;
    if ((bytes[at] & 0xf0) == 0x70 || (bytes[at] >= 0xe0 && bytes[at] <= 0xe3) ||
        (bytes[at] >= 0xe9 && bytes[at] <= 0xeb) || (bytes[at] == 0xff && digit >= 4) ||
        (bytes[at] == 0x0f && at + 1 < length && (bytes[at + 1] & 0xf0) == 0x80))
        return CODE_BRANCH;
    return CODE_PLAIN;
}

/* As many of COUNT bytes at IP as are known. */
static size_t bytes_at(struct trace_source *source, uint16_t process, uint64_t ip, uint8_t *bytes,
                       size_t count)
{
    uint8_t part[TRACE_INSTRUCTION_BYTES];
    size_t done = 0, got;

    while (done < count && (got = trace_source_code_at(source, process, ip + done, part))) {
        got = got < count - done ? got : count - done;
        memcpy(bytes + done, part, got);
        done += got;
    }
    return done;
}

static void look_for_marker(struct region_codes *codes, const struct trace_instruction *in,
                            struct region_code *code)
{
    uint8_t bytes[TRACE_MARKER_BYTES];
    struct trace_marker marker;
    size_t length;

    if (bytes_at(codes->source, in->process, in->ip, bytes, 2) != 2 ||
        !(length = trace_marker_length(bytes)))
        return;
    length = bytes_at(codes->source, in->process, in->ip, bytes, length);
    if (!trace_marker(bytes, length, &marker))
        return;
    code->kind = marker.begin ? CODE_BEGIN : CODE_END;
    code->marker = (int8_t)codes->region_of_marker(codes->context, marker.name);
}

static struct region_code look_at(struct region_codes *codes, const struct trace_instruction *in)
{
    const struct sim_parts_options *options = codes->options;
    struct region_code code = {.marker = -1};
    uint8_t bytes[TRACE_INSTRUCTION_BYTES] = {0};

    look_through_new_objects(codes);
    for (size_t i = 0; i < codes->entry_count; i++)
        if (codes->entry[i].process == in->process && codes->entry[i].address == in->ip)
            code.functions |= 1ull << codes->entry[i].region;
    code.enters = code.functions;
    for (size_t i = 0; i < options->region_count; i++) {
        if (options->regions[i].kind != SIM_REGION_ADDRESS)
            continue;
        code.enters |= (uint64_t)(options->regions[i].from == in->ip) << i;
        code.leaves |= (uint64_t)(options->regions[i].to == in->ip) << i;
    }
    if (bytes_at(codes->source, in->process, in->ip, bytes, in->length) == in->length)
        code.kind = kind_of(bytes, in->length);
    look_for_marker(codes, in, &code);
    return code;
}

static bool make_room(struct region_codes *codes, size_t count)
{
    size_t wanted = codes->capacity ? codes->capacity : 4096;
    struct region_code *code;

    if (count <= codes->capacity)
        return true;
    while (wanted < count)
        wanted *= 2;
    code = realloc(codes->code, wanted * sizeof *code);
    if (!code)
        return false;
    memset(code + codes->capacity, 0, (wanted - codes->capacity) * sizeof *code);
    codes->code = code;
    codes->capacity = wanted;
    return true;
}

const struct region_code *region_codes_at(struct region_codes *codes,
                                          const struct trace_instruction *instruction)
{
    if (instruction->code >= codes->count) {
        if (codes->failed || !make_room(codes, (size_t)instruction->code + 1))
            return NULL;
        codes->code[instruction->code] = look_at(codes, instruction);
        codes->count = (size_t)instruction->code + 1;
    }
    return &codes->code[instruction->code];
}
