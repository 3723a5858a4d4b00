/*
 * The reading side of a file of samples. A chunk that passed its checksum may still be hostile, so
 * every number is checked against what it indexes before use.
 */
#define _GNU_SOURCE
#include "form.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

enum { FRAME_BLOCK = 16384 };

struct reader {
    const char *path;
    FILE *file;
    char *error; /* 512 bytes */
    struct samples *samples;
    size_t sample_room, object_room, code_room, exact_room;
    size_t frames_used; /* in the newest block */
    uint64_t offset;    /* in the file */
    uint32_t sequence;
    /* the chunk being read */
    const uint8_t *at, *end;
    bool bad;
    struct form_last last;
    uint8_t *stored, *raw;
};

static bool fail(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct reader *r, const char *format, ...)
{
    va_list arguments;
    if (r->error[0])
        return false;
    int used = snprintf(r->error, 512, "%.200s: ", r->path);
    va_start(arguments, format);
    vsnprintf(r->error + used, 512 - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

/* One more element of an array that doubles; NULL without memory. */
static void *one_more(struct reader *r, void **array, size_t *count, size_t *room, size_t size)
{
    if (*count == *room) {
        size_t wanted = *room ? 2 * *room : 256;
        void *bigger = realloc(*array, wanted * size);
        if (!bigger) {
            fail(r, "out of memory");
            return NULL;
        }
        *array = bigger;
        *room = wanted;
    }
    return (uint8_t *)*array + size * (*count)++;
}

/* ---- numbers of a record -----------------------------------------------------------------------
 */

static unsigned take_byte(struct reader *r)
{
    if (r->at < r->end)
        return *r->at++;
    r->bad = true;
    return 0;
}

static uint64_t take_varint(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned byte = take_byte(r);
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return value;
    }
    r->bad = true;
    return 0;
}

/* A number of at most MOST. */
static uint64_t take_limited(struct reader *r, uint64_t most)
{
    uint64_t value = take_varint(r);
    if (value <= most)
        return value;
    r->bad = true;
    return 0;
}

static uint64_t take_signed(struct reader *r)
{
    return form_unzigzag(take_varint(r));
}

static uint64_t take_relative(struct reader *r, uint64_t *last)
{
    *last += take_signed(r);
    return *last;
}

static void take_bytes(struct reader *r, void *to, size_t count)
{
    if ((size_t)(r->end - r->at) < count) {
        r->bad = true;
        return;
    }
    memcpy(to, r->at, count);
    r->at += count;
}

/* ---- records -----------------------------------------------------------------------------------
 */

static void take_object(struct reader *r)
{
    struct samples *s = r->samples;
    struct trace_object object = {0};
    object.process = (uint16_t)take_limited(r, UINT16_MAX);
    object.executable = take_limited(r, 1);
    object.instruction = take_varint(r);
    object.start = take_varint(r);
    object.end = object.start + take_varint(r);
    object.offset = take_varint(r);
    object.build_id_bytes = (uint8_t)take_limited(r, TRACE_BUILD_ID_BYTES);
    take_bytes(r, object.build_id, object.build_id_bytes);
    take_bytes(r, object.path, take_limited(r, sizeof object.path - 1));
    struct trace_object *to =
        one_more(r, (void **)(void *)&s->object, &s->object_count, &r->object_room, sizeof object);
    if (to)
        *to = object;
}

static void take_code(struct reader *r)
{
    struct samples *s = r->samples;
    struct samples_code code = {0};
    code.process = (uint16_t)take_limited(r, UINT16_MAX);
    code.ip = take_relative(r, &r->last.code_ip);
    code.length = (uint8_t)take_limited(r, TRACE_INSTRUCTION_BYTES);
    take_bytes(r, code.bytes, code.length);
    struct samples_code *to =
        one_more(r, (void **)(void *)&s->code, &s->code_count, &r->code_room, sizeof code);
    if (to)
        *to = code;
}

static void take_exact(struct reader *r)
{
    struct samples *s = r->samples;
    struct samples_exact exact = {0};
    uint64_t events = s->about.event_count;
    exact.event = (unsigned)take_limited(r, events ? events - 1 : 0);
    exact.process = (uint16_t)take_limited(r, UINT16_MAX);
    exact.ip = take_relative(r, &r->last.exact_ip);
    exact.count = take_varint(r);
    struct samples_exact *to =
        one_more(r, (void **)(void *)&s->exact, &s->exact_count, &r->exact_room, sizeof exact);
    if (to)
        *to = exact;
}

static void take_registers(struct reader *r, unsigned flags, struct sim_sample *s)
{
    unsigned count = flags & FORM_WIDE ? FORM_WIDE_REGISTERS : FORM_NARROW_REGISTERS;
    for (unsigned i = 0; i < count; i++)
        s->registers.value[i] = take_relative(r, &r->last.registers[i]);
}

static void take_last_branches(struct reader *r, struct sim_sample *s)
{
    uint64_t last = s->ip;
    s->last_branch_count = (unsigned)take_limited(r, SIM_LAST_BRANCHES);
    for (unsigned i = 0; i < s->last_branch_count; i++) {
        s->last_branch[i].to = take_relative(r, &last);
        s->last_branch[i].from = take_relative(r, &last);
    }
}

/* Room for a chain in a block of frames that never moves. */
static uint64_t *room_for_frames(struct reader *r, unsigned count)
{
    struct samples *s = r->samples;
    if (!s->frame_blocks || r->frames_used + count > FRAME_BLOCK) {
        uint64_t **blocks = realloc(s->frames, (s->frame_blocks + 1) * sizeof *blocks);
        if (blocks)
            s->frames = blocks;
        uint64_t *block = blocks ? malloc(FRAME_BLOCK * sizeof *block) : NULL;
        if (!block) {
            fail(r, "out of memory");
            return NULL;
        }
        blocks[s->frame_blocks++] = block;
        r->frames_used = 0;
    }
    r->frames_used += count;
    return s->frames[s->frame_blocks - 1] + r->frames_used - count;
}

static void take_chain(struct reader *r, struct samples_sample *sample)
{
    uint64_t last = sample->about.ip;
    sample->frames = (unsigned)take_limited(r, SAMPLES_CHAIN);
    uint64_t *frame = room_for_frames(r, sample->frames);
    for (unsigned i = 0; frame && i < sample->frames; i++)
        frame[i] = take_relative(r, &last);
    sample->frame = frame;
}

static void take_truth(struct reader *r, struct sim_sample *s)
{
    s->truth_ip = s->ip + take_signed(r);
    s->overflow_clock = s->clock - take_signed(r);
}

static void take_sample(struct reader *r)
{
    struct samples *all = r->samples;
    struct samples_sample sample = {0};
    struct sim_sample *s = &sample.about;
    unsigned flags = (unsigned)take_limited(r, FORM_SKID | 3u << FORM_CHAIN_SHIFT | 0x7F);
    s->kind = (enum sim_sample_kind)(flags & FORM_KIND);
    sample.chain = (enum samples_chain)(flags >> FORM_CHAIN_SHIFT & 3);
    sample.skid_known = flags & FORM_SKID;
    sample.event = (unsigned)take_limited(r, all->about.event_count);
    unsigned who = take_byte(r);
    s->lp = who >> 2 & 1;
    s->cpl = who & 3;
    s->process = (uint16_t)take_limited(r, UINT16_MAX);
    s->thread = (uint16_t)take_limited(r, UINT16_MAX);
    s->clock = take_relative(r, &r->last.clock);
    s->ip = take_relative(r, &r->last.ip);
    s->number = all->count;
    s->counter = sample.event < all->about.event_count ? (int)all->about.event[sample.event].counter
                                                       : P4PMU_NONE;
    s->branch_predicted = flags & FORM_PREDICTED;
    s->truth_known = flags & FORM_TRUTH;
    s->registers_known = flags & FORM_REGISTERS;
    if (s->kind == SIM_SAMPLE_BRANCH)
        s->branch_to = s->ip + take_signed(r);
    if (s->truth_known)
        take_truth(r, s);
    if (sample.skid_known)
        s->skid_instructions = (int64_t)take_signed(r);
    if (s->registers_known)
        take_registers(r, flags, s);
    if (flags & FORM_LAST_BRANCHES)
        take_last_branches(r, s);
    if (sample.chain != SAMPLES_NO_CHAIN)
        take_chain(r, &sample);
    if ((flags & FORM_KIND) > SIM_SAMPLE_BRANCH)
        r->bad = true;
    struct samples_sample *to =
        one_more(r, (void **)(void *)&all->sample, &all->count, &r->sample_room, sizeof sample);
    if (to)
        *to = sample;
}

static void take_end(struct reader *r)
{
    char why[256];
    uint64_t length = take_limited(r, FORM_RECORD_MAX);
    if ((uint64_t)(r->end - r->at) < length)
        r->bad = true;
    if (r->bad)
        return;
    r->samples->complete = form_read_end((const char *)r->at, (size_t)length,
                                         r->samples->about.event_count, &r->samples->end, why);
    if (!r->samples->complete)
        fail(r, "offset %llu: %s", (unsigned long long)r->offset, why);
    r->at += length;
}

static const char *take_string(struct reader *r, size_t most)
{
    struct name_list *names = &r->samples->names;
    uint64_t length = take_limited(r, most);
    if ((uint64_t)(r->end - r->at) < length || memchr(r->at, 0, length))
        r->bad = true;
    if (r->bad)
        return NULL;
    const char *string = name_list_string(names, (const char *)r->at, (size_t)length);
    r->at += length;
    if (!string)
        fail(r, "out of memory");
    return string;
}

static void take_function(struct reader *r)
{
    struct name_list *names = &r->samples->names;
    struct trace_function function = {.rank = (uint32_t)names->count};
    function.build_id_bytes = (uint8_t)take_limited(r, TRACE_BUILD_ID_BYTES);
    take_bytes(r, function.build_id, function.build_id_bytes);
    function.path = take_string(r, sizeof((struct trace_object *)0)->path - 1);
    function.offset = take_varint(r);
    function.size = take_varint(r);
    function.name = take_string(r, TRACE_NAME_MAX);
    if (function.path && function.name && !name_list_add(names, &function))
        fail(r, "out of memory");
}

static void take_record(struct reader *r)
{
    switch (take_byte(r)) {
    case FORM_OBJECT:
        take_object(r);
        break;
    case FORM_CODE:
        take_code(r);
        break;
    case FORM_SAMPLE:
        take_sample(r);
        break;
    case FORM_EXACT:
        take_exact(r);
        break;
    case FORM_FUNCTION:
        take_function(r);
        break;
    case FORM_END:
        take_end(r);
        break;
    default:
        r->bad = true;
    }
}

/* ---- chunks ------------------------------------------------------------------------------------
 */

/* True with COUNT bytes in TO; false where the file ends, which is noted. */
static bool read_whole(struct reader *r, void *to, size_t count)
{
    size_t got = fread(to, 1, count, r->file);
    if (got == count)
        return true;
    snprintf(r->samples->missing, sizeof r->samples->missing, "the file ends at offset %llu",
             (unsigned long long)(r->offset + got));
    return false;
}

static bool check_header(struct reader *r, const uint8_t *header)
{
    if (memcmp(header, FORM_CHUNK_MAGIC, 4) != 0)
        return fail(r, "offset %llu: expected a chunk here: damaged",
                    (unsigned long long)r->offset);
    if (form_get(header + CHUNK_RAW_BYTES, 4) > FORM_CHUNK_RAW ||
        form_get(header + CHUNK_STORED_BYTES, 4) > ZSTD_compressBound(FORM_CHUNK_RAW))
        return fail(r, "offset %llu: a chunk larger than %d bytes: damaged",
                    (unsigned long long)r->offset, FORM_CHUNK_RAW);
    if (form_get(header + CHUNK_SEQUENCE, 4) != r->sequence)
        return fail(r, "offset %llu: expected chunk %u here: damaged",
                    (unsigned long long)r->offset, (unsigned)r->sequence);
    return true;
}

static bool checksum_agrees(uint8_t *header, size_t bytes)
{
    uint64_t said = form_get(header + CHUNK_CHECKSUM, 8);
    form_put(header + CHUNK_CHECKSUM, 0, 8);
    return XXH64(header, bytes, 0) == said;
}

/* False: there is no further chunk, or an error. */
static bool read_chunk(struct reader *r)
{
    uint8_t *header = r->stored;
    int next = fgetc(r->file);
    if (next == EOF)
        return false;
    ungetc(next, r->file);
    if (!read_whole(r, header, FORM_CHUNK_HEADER) || !check_header(r, header))
        return false;
    size_t stored = (size_t)form_get(header + CHUNK_STORED_BYTES, 4);
    size_t raw = (size_t)form_get(header + CHUNK_RAW_BYTES, 4);
    if (!read_whole(r, header + FORM_CHUNK_HEADER, stored))
        return false;
    if (!checksum_agrees(header, FORM_CHUNK_HEADER + stored))
        return fail(r, "offset %llu: the chunk does not match its checksum: damaged",
                    (unsigned long long)r->offset);
    if (ZSTD_decompress(r->raw, FORM_CHUNK_RAW, header + FORM_CHUNK_HEADER, stored) != raw)
        return fail(r, "offset %llu: the chunk does not unpack to its %zu bytes: damaged",
                    (unsigned long long)r->offset, raw);
    r->at = r->raw;
    r->end = r->raw + raw;
    r->last = (struct form_last){0};
    while (r->at < r->end && !r->bad && !r->error[0])
        take_record(r);
    if (r->bad)
        return fail(r, "offset %llu: a record of this chunk makes no sense: damaged",
                    (unsigned long long)r->offset);
    r->offset += FORM_CHUNK_HEADER + stored;
    r->sequence++;
    return !r->error[0];
}

static bool read_header(struct reader *r)
{
    uint8_t header[FORM_HEADER];
    char text[FORM_HEADER_TEXT_MAX], why[256];
    if (fread(header, 1, sizeof header, r->file) != sizeof header ||
        memcmp(header, FORM_MAGIC, 8) != 0)
        return fail(r, "not a file of samples; expected one that 'p4sim record' wrote");
    if (form_get(header + 8, 4) < FORM_OLDEST || form_get(header + 8, 4) > FORM_VERSION)
        return fail(r, "version %u of the form, expected %u or %u",
                    (unsigned)form_get(header + 8, 4), FORM_OLDEST, FORM_VERSION);
    size_t length = (size_t)form_get(header + 12, 4);
    if (length > sizeof text || fread(text, 1, length, r->file) != length ||
        XXH64(text, length, 0) != form_get(header + 16, 8))
        return fail(r, "the header is cut short or damaged");
    if (!form_read_about(text, length, &r->samples->about, why))
        return fail(r, "%s", why);
    r->offset = FORM_HEADER + length;
    return true;
}

/* ---- order -------------------------------------------------------------------------------------
 */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_code(const void *left, const void *right)
{
    const struct samples_code *a = left, *b = right;
    return a->process != b->process ? compare(a->process, b->process) : compare(a->ip, b->ip);
}

static int compare_exact(const void *left, const void *right)
{
    const struct samples_exact *a = left, *b = right;
    if (a->event != b->event)
        return compare(a->event, b->event);
    return a->process != b->process ? compare(a->process, b->process) : compare(a->ip, b->ip);
}

static void sort_all(struct samples *s)
{
    if (s->code_count)
        qsort(s->code, s->code_count, sizeof *s->code, compare_code);
    if (s->exact_count)
        qsort(s->exact, s->exact_count, sizeof *s->exact, compare_exact);
    if (!s->complete && !s->missing[0])
        snprintf(s->missing, sizeof s->missing, "the file has no end record");
}

/* ---- the file ----------------------------------------------------------------------------------
 */

static void read_all(struct reader *r)
{
    r->stored = malloc(FORM_CHUNK_HEADER + ZSTD_compressBound(FORM_CHUNK_RAW));
    r->raw = malloc(FORM_CHUNK_RAW);
    if (!r->stored || !r->raw)
        fail(r, "out of memory");
    else if (read_header(r))
        while (read_chunk(r))
            continue;
    free(r->stored);
    free(r->raw);
}

struct samples *samples_read(const char *path, char error[512])
{
    struct reader reader = {.path = path, .error = error};
    error[0] = '\0';
    reader.file = fopen(path, "rbe");
    if (!reader.file) {
        fail(&reader, "%s", strerror(errno));
        return NULL;
    }
    reader.samples = calloc(1, sizeof *reader.samples);
    if (reader.samples)
        read_all(&reader);
    else
        fail(&reader, "out of memory");
    fclose(reader.file);
    if (error[0]) {
        samples_free(reader.samples);
        return NULL;
    }
    sort_all(reader.samples);
    return reader.samples;
}

void samples_free(struct samples *samples)
{
    if (!samples)
        return;
    for (size_t i = 0; i < samples->frame_blocks; i++)
        free(samples->frames[i]);
    free(samples->frames);
    free(samples->sample);
    free(samples->object);
    free(samples->code);
    free(samples->exact);
    name_list_free(&samples->names);
    free(samples);
}

/* ---- finding -----------------------------------------------------------------------------------
 */

const struct samples_code *samples_code_at(const struct samples *samples, uint16_t process,
                                           uint64_t ip)
{
    struct samples_code wanted = {.process = process, .ip = ip};
    return samples->code_count
               ? bsearch(&wanted, samples->code, samples->code_count, sizeof wanted, compare_code)
               : NULL;
}

uint64_t samples_exact_at(const struct samples *samples, unsigned event, uint16_t process,
                          uint64_t ip)
{
    struct samples_exact wanted = {.event = event, .process = process, .ip = ip};
    const struct samples_exact *found =
        samples->exact_count
            ? bsearch(&wanted, samples->exact, samples->exact_count, sizeof wanted, compare_exact)
            : NULL;
    return found ? found->count : 0;
}

const struct trace_object *samples_object_at(const struct samples *samples, uint16_t process,
                                             uint64_t address)
{
    for (size_t i = samples->object_count; i-- > 0;) {
        const struct trace_object *object = &samples->object[i];
        if (object->process == process && address >= object->start && address < object->end)
            return object;
    }
    return NULL;
}
