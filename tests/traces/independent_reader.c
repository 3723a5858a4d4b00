/*
 * A reader of recorded runs written from docs/trace-format.md alone: it shares no code with p4sim.
 * It checks every rule the text gives that can be checked without executing instructions, and
 * prints what the file holds.
 *
 *   independent_reader FILE
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

enum { CHUNK_BYTES = 1 << 18, WORDS = 73, PAGES_MOST = 1 << 16, THREADS_MOST = 256 };

static uint8_t *file;
static size_t file_bytes;

static uint8_t *contents; /* 4096 bytes each */
static uint64_t content_count;

/* What the log says a page holds; writes of executed instructions are not in it. */
static struct page {
    uint64_t process, number;
    int mapped;
    uint8_t bytes[4096];
} * pages;
static size_t page_count;

static uint64_t words[THREADS_MOST][WORDS];
static uint64_t thread, process, start_ip;
static int anyone, started;

static uint64_t instructions, natives, records, checkpoints, checkpoint_pages, objects, names,
    regions;
static uint64_t trailer_instructions = UINT64_MAX;

static void wrong(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static uint64_t fixed(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* ---- a chunk's bytes ---------------------------------------------------------------------------
 */

static uint8_t raw[CHUNK_BYTES + 1];
static const uint8_t *at, *end;
static uint64_t page_named;

static uint8_t byte(void)
{
    if (at == end)
        wrong("a record ends too early");
    return *at++;
}

static uint64_t varint(void)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t part = byte();
        value |= (uint64_t)(part & 0x7f) << shift;
        if (part < 0x80)
            return value;
    }
    wrong("a varint of more than 10 bytes");
    return 0;
}

static uint64_t difference(void)
{
    uint64_t value = varint();

    return value & 1 ? ~(value >> 1) : value >> 1;
}

static void skip(uint64_t count)
{
    if (count > (uint64_t)(end - at))
        wrong("a record ends too early");
    at += count;
}

/* ---- what records do ---------------------------------------------------------------------------
 */

static void change_state(void)
{
    unsigned count = byte();

    while (count-- > 0) {
        unsigned word = byte();
        if (word >= WORDS)
            wrong("word %u of a state", word);
        words[thread][word] += difference();
    }
}

static struct page *page_here(void)
{
    uint64_t in = varint();
    uint64_t number = page_named += difference();

    for (size_t i = 0; i < page_count; i++)
        if (pages[i].process == in && pages[i].number == number)
            return &pages[i];
    if (page_count == PAGES_MOST)
        wrong("more than %d pages", PAGES_MOST);
    pages[page_count].process = in;
    pages[page_count].number = number;
    return &pages[page_count++];
}

static void take_page(int keep)
{
    struct page *page = page_here();
    uint64_t content = varint();

    if (content >= content_count)
        wrong("content %llu of %llu", (unsigned long long)content,
              (unsigned long long)content_count);
    checkpoint_pages += !keep;
    if (!keep)
        return;
    page->mapped = 1;
    memcpy(page->bytes, contents + 4096 * content, 4096);
}

static void take_patch(void)
{
    struct page *page = page_here();
    uint64_t offset = varint(), count = varint();

    if (offset + count > 4096 || !page->mapped)
        wrong("a patch of %llu bytes at %llu", (unsigned long long)count,
              (unsigned long long)offset);
    memcpy(page->bytes + offset, at, count <= (uint64_t)(end - at) ? count : 0);
    skip(count);
}

static void take_object(void)
{
    varint();
    if (byte() > 1)
        wrong("flags of an object");
    skip(byte());
    for (int i = 0; i < 4; i++)
        varint();
    skip(byte());
    objects++;
}

/* The first instruction's address and bytes, before anything has been executed. */
static void first_instruction(void)
{
    uint64_t ip = words[thread][18];

    if (started)
        return;
    started = 1;
    start_ip = ip;
    printf("first %llx", (unsigned long long)ip);
    for (size_t i = 0; i < page_count; i++)
        if (pages[i].mapped && pages[i].process == process && pages[i].number == ip >> 12)
            for (unsigned k = 0; k < 4 && (ip & 4095) + k < 4096; k++)
                printf(" %02x", pages[i].bytes[(ip & 4095) + k]);
    printf("\n");
}

static void executed(uint64_t count)
{
    if (!anyone)
        wrong("instructions of nobody");
    first_instruction();
    instructions += count;
}

/* A record of the log; in a checkpoint (LIVE is 0) state and pages are only read over. */
static void take_record(int live)
{
    uint8_t kind = byte();

    records++;
    if (kind > 0x80) {
        executed(kind == 0xff ? varint() : kind & 0x7fu);
        return;
    }
    switch (kind) {
    case 0x01:
        varint();
        kind = byte();
        if (kind != 32 && kind != 64)
            wrong("a process of %u bits", kind);
        break;
    case 0x02:
        thread = varint();
        process = varint();
        if (thread >= THREADS_MOST)
            wrong("thread %llu", (unsigned long long)thread);
        anyone = 1;
        break;
    case 0x03:
        change_state();
        break;
    case 0x04:
        executed(1);
        natives++;
        change_state();
        break;
    case 0x05:
        take_page(live);
        break;
    case 0x06:
        take_patch();
        break;
    case 0x07:
        if (live)
            page_here()->mapped = 0;
        else
            page_here();
        break;
    case 0x08:
    case 0x09:
        varint();
        break;
    case 0x0a:
    case 0x0e:
        break;
    case 0x0b:
        skip(8);
        break;
    case 0x0c:
        memset(words, 0, sizeof words);
        break;
    case 0x0d:
        page_here();
        break;
    case 0x0f:
        take_object();
        break;
    case 0x10:
        byte();
        for (int i = 0; i < 4; i++)
            varint();
        break;
    default:
        wrong("record 0x%02x", kind);
    }
}

/* ---- chunks ------------------------------------------------------------------------------------
 */

static void take_records(int live)
{
    static uint64_t kept[THREADS_MOST][WORDS];
    uint64_t kept_thread = thread, kept_process = process;

    if (!live)
        memcpy(kept, words, sizeof kept);
    page_named = 0;
    while (at < end)
        take_record(live);
    if (live)
        return;
    memcpy(words, kept, sizeof kept);
    thread = kept_thread;
    process = kept_process;
}

static void take_trailer(void)
{
    char *line = (char *)raw;

    raw[end - raw] = 0;
    if (!(line = strstr(line, "instructions=")))
        wrong("no instructions in the trailer");
    trailer_instructions = strtoull(line + 13, NULL, 10);
}

/* The index must name the chunks that were there, in order. */
static void take_index(const uint8_t *first_chunk)
{
    static const uint8_t *chunk;

    if (!chunk)
        chunk = first_chunk;
    for (; at < end; at += 24) {
        if (memcmp(at, chunk, 4) != 0 || fixed(at + 4, 4) != fixed(chunk + 32, 8) ||
            fixed(at + 8, 8) != (uint64_t)(chunk - file) ||
            fixed(at + 16, 8) != fixed(chunk + 24, 8))
            wrong("an entry of the index that is not the chunk at %td", chunk - file);
        chunk += 48 + fixed(chunk + 8, 4);
    }
}

/* Names of functions, in the order of their places in each file. */
static void take_names(uint64_t count)
{
    uint64_t before = names;
    int of_a_file = 0;

    while (at < end) {
        uint8_t kind = byte();
        if (kind == 1) {
            uint8_t id = byte();
            if (id > 20)
                wrong("a build id of %u bytes", id);
            skip(id);
            skip(byte());
            of_a_file = 1;
        } else if (kind == 2 && of_a_file) {
            varint();
            varint();
            skip(varint());
            names++;
        } else {
            wrong("a name of kind %u", kind);
        }
    }
    if (names - before != count)
        wrong("a chunk holds another number of names");
}

/* Regions asked for, and markers that were executed: a byte for which, a length, a text. */
static void take_regions(uint64_t count)
{
    uint64_t found = 0;

    for (; at < end; found++) {
        uint8_t kind = byte(), length = byte();
        if ((kind != 1 && kind != 2) || !length || length > 127)
            wrong("a region of kind %u with %u bytes", kind, length);
        for (; length; length--)
            if (byte() < ' ')
                wrong("a region with a control character");
    }
    if (found != count)
        wrong("a chunk holds another number of regions");
    regions += found;
}

static void take_chunk(const uint8_t *header, const uint8_t *first_chunk)
{
    uint64_t before = instructions;

    if (!memcmp(header, "LOG ", 4)) {
        if (fixed(header + 24, 8) != instructions)
            wrong("a chunk of the log begins with another instruction");
        take_records(1);
        if (instructions - before != fixed(header + 32, 8))
            wrong("a chunk of the log holds another number of instructions");
    } else if (!memcmp(header, "PAGE", 4)) {
        if (fixed(header + 24, 8) != content_count || (end - at) % 4096)
            wrong("page contents out of order");
        contents = realloc(contents, 4096 * content_count + (size_t)(end - at));
        memcpy(contents + 4096 * content_count, at, (size_t)(end - at));
        content_count += (uint64_t)(end - at) / 4096;
    } else if (!memcmp(header, "CKPT", 4)) {
        checkpoints += end > at && end[-1] == 0x0e;
        take_records(0);
    } else if (!memcmp(header, "REGN", 4)) {
        take_regions(fixed(header + 32, 8));
    } else if (!memcmp(header, "NAME", 4)) {
        take_names(fixed(header + 32, 8));
    } else if (!memcmp(header, "INDX", 4)) {
        take_index(first_chunk);
    } else if (!memcmp(header, "TRLR", 4)) {
        take_trailer();
    } else {
        wrong("a chunk of unknown kind at %td", header - file);
    }
}

static const uint8_t *read_chunk(const uint8_t *header, unsigned sequence, const uint8_t *first)
{
    uint8_t copy[48];
    size_t unpacked = fixed(header + 4, 4), stored = fixed(header + 8, 4);
    XXH64_state_t *hash = XXH64_createState();

    if (stored > file_bytes - (size_t)(header - file) - 48 || unpacked > CHUNK_BYTES)
        wrong("a chunk of impossible size at %td", header - file);
    memcpy(copy, header, 48);
    memset(copy + 40, 0, 8);
    XXH64_reset(hash, 0);
    XXH64_update(hash, copy, 48);
    XXH64_update(hash, header + 48, stored);
    if (XXH64_digest(hash) != fixed(header + 40, 8))
        wrong("checksum of the chunk at %td", header - file);
    XXH64_freeState(hash);
    if (fixed(header + 12, 4) != sequence || fixed(header + 16, 8) != (uint64_t)(header - file))
        wrong("the chunk at %td is not where it belongs", header - file);
    if (ZSTD_decompress(raw, CHUNK_BYTES, header + 48, stored) != unpacked)
        wrong("the chunk at %td does not unpack", header - file);
    at = raw;
    end = raw + unpacked;
    take_chunk(header, first);
    return header + 48 + stored;
}

/* ---- the file ----------------------------------------------------------------------------------
 */

static void read_file(const char *path)
{
    FILE *stream = fopen(path, "rb");

    if (!stream || fseek(stream, 0, SEEK_END) != 0)
        wrong("%s: cannot be read", path);
    file_bytes = (size_t)ftell(stream);
    rewind(stream);
    file = malloc(file_bytes);
    if (!file || fread(file, 1, file_bytes, stream) != file_bytes)
        wrong("%s: cannot be read", path);
    fclose(stream);
}

static const uint8_t *read_header(void)
{
    size_t text = file_bytes < 32 ? 0 : fixed(file + 12, 4);

    if (file_bytes < 32 || memcmp(file, "P4SIMTR\n", 8) != 0 || fixed(file + 8, 4) < 2 ||
        fixed(file + 8, 4) > 4)
        wrong("not a recorded run of version 2 to 4");
    if (text > file_bytes - 32 || XXH64(file, 16 + text, 0) != fixed(file + 16 + text, 8))
        wrong("checksum of the header");
    printf("%.*s", (int)text, (const char *)file + 16);
    return file + 16 + text + 8;
}

int main(int argc, char **argv)
{
    const uint8_t *chunk, *first, *tail;

    if (argc != 2)
        wrong("usage: independent_reader FILE");
    read_file(argv[1]);
    pages = calloc(PAGES_MOST, sizeof *pages);
    first = chunk = read_header();
    tail = file + file_bytes - 16;
    if (memcmp(tail + 8, "P4SIMEND", 8) != 0)
        wrong("no footer");
    for (unsigned sequence = 0; chunk < tail; sequence++)
        chunk = read_chunk(chunk, sequence, first);
    if (chunk != tail || trailer_instructions != instructions)
        wrong("the trailer says %llu instructions, the log holds %llu",
              (unsigned long long)trailer_instructions, (unsigned long long)instructions);
    if (memcmp(file + fixed(tail, 8), "INDX", 4) != 0)
        wrong("the footer does not lead to the index");
    printf("instructions %llu\nnatives %llu\nrecords %llu\ncontents %llu\npages %zu\n"
           "checkpoints %llu\nobjects %llu\nnames %llu\nregions %llu\n",
           (unsigned long long)instructions, (unsigned long long)natives,
           (unsigned long long)records, (unsigned long long)content_count, page_count,
           (unsigned long long)checkpoints, (unsigned long long)objects, (unsigned long long)names,
           (unsigned long long)regions);
    return 0;
}
