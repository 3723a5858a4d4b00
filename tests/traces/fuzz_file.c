/*
 * Hostile recordings: whatever a file holds, reading it ends with an instruction, the end or an
 * error that says where, and touches no memory it should not.
 *
 * Checksums would stop nearly every changed byte, so the input is not a file but a list of chunks
 * (kind, count, bytes of content: u8, u32, u32; then the content), from which a file with right
 * checksums is made and read in every way there is. An input that begins as a file does is read as
 * it is.
 *
 * Built with FUZZ_STEPS this changes the samples named on the command line by a random number
 * generator; with --corpus FOLDER it writes what they become as input for libFuzzer.
 */
#define _GNU_SOURCE
#include "source.h"
#include "writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LISTED = 9, KINDS = 7, LISTED_KINDS = 5, INSTRUCTIONS_MOST = 3000 };

static const char kinds[KINDS][5] = {STREAM_LOG,   STREAM_PAGES, STREAM_CHECKPOINT, STREAM_REGIONS,
                                     STREAM_NAMES, STREAM_INDEX, STREAM_TRAILER};

/* ---- making a file -----------------------------------------------------------------------------
 */

/* A path of a file in memory, made once. */
static const char *memory_path(char path[64], int *fd)
{
    if (*fd < 0)
        *fd = memfd_create("recording", MFD_CLOEXEC);
    snprintf(path, 64, "/proc/self/fd/%d", *fd);
    return path;
}

static void make_file(const char *path, const uint8_t *data, size_t size)
{
    uint64_t first[KINDS] = {0};
    struct stream_buffer header = {0}, trailer = {0};
    struct writer *writer;
    char error[512];

    writer_text(&header, "architecture", "ia32");
    writer_text(&trailer, "end", "cut");
    writer = writer_open(path, &header, error);
    while (writer && size >= LISTED) {
        unsigned kind = data[0] % KINDS;
        uint32_t count = stream_get32(data + 1), bytes = stream_get32(data + 5);
        data += LISTED;
        size -= LISTED;
        if (bytes > size || bytes > STREAM_CHUNK_RAW_MAX)
            break;
        writer_chunk(writer, kinds[kind], first[kind == 1], count, data, bytes);
        first[kind == 1] += count;
        data += bytes;
        size -= bytes;
    }
    if (writer) {
        writer_text_number(&trailer, "instructions", first[0]);
        writer_finish(writer, first[0], &trailer);
        writer_close(writer);
    }
    free(header.bytes);
    free(trailer.bytes);
}

/* ---- reading it --------------------------------------------------------------------------------
 */

static void look_around(struct trace_source *source, const struct trace_instruction *now)
{
    uint8_t bytes[TRACE_INSTRUCTION_BYTES];
    struct trace_wrong_step step;
    size_t count;

    trace_source_code_at(source, now->process, now->next_ip, bytes);
    trace_source_memory_at(source, now->process, now->access[0].address, bytes, sizeof bytes);
    trace_source_objects(source, &count);
    trace_source_functions(source, &count);
    trace_source_regions(source, &count);
    if (trace_source_wrong_begin(source) &&
        trace_source_wrong_step(source, now->ip + now->length, &step) && step.next_known)
        trace_source_wrong_step(source, step.next_ip, &step);
}

static void read_from(const char *path, uint64_t instruction)
{
    struct trace_instruction now = {0};
    char error[512];
    int status;
    struct trace_source *source = trace_open_file_at(path, instruction, error, &status);

    for (int i = 0; source && i < INSTRUCTIONS_MOST; i++) {
        if (trace_source_next(source, &now) != TRACE_OK)
            break;
        look_around(source, &now);
    }
    if (source)
        trace_source_close(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1, copy_fd = -1;
    char path[64], copy_path[64], error[512], damage[512];
    struct trace_copy copy = {.count = 500, .checkpoint_every = 100};
    struct trace_info info;
    uint64_t instructions;
    int status;

    memory_path(path, &fd);
    if (size >= 8 && !memcmp(data, STREAM_MAGIC, 8)) {
        if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
            return 0;
    } else {
        make_file(path, data, size);
    }
    copy.from = path;
    copy.to = memory_path(copy_path, &copy_fd);
    trace_file_info(path, true, &info, error, &status);
    read_from(path, 0);
    read_from(path, size % 300);
    trace_copy(&copy, &instructions, damage, error, &status);
    return 0;
}

#ifdef FUZZ_STEPS

/* ---- without libFuzzer -------------------------------------------------------------------------
 */

static uint8_t input[1 << 22];

/* The chunks of a recording as a list; gives its size. */
static size_t list_chunks(const char *path)
{
    FILE *file = fopen(path, "rb");
    static uint8_t bytes[1 << 22];
    size_t count = file ? fread(bytes, 1, sizeof bytes, file) : 0, used = 0, at;

    if (!file || count < STREAM_HEADER_FIXED)
        return 0;
    fclose(file);
    at = STREAM_HEADER_FIXED + stream_get32(bytes + 12) + 8;
    while (at + STREAM_CHUNK_HEADER < count) {
        const uint8_t *header = bytes + at;
        uint32_t raw = stream_get32(header + CHUNK_RAW_BYTES);
        uint32_t stored = stream_get32(header + CHUNK_STORED_BYTES);
        unsigned kind = 0;
        while (kind < KINDS && memcmp(header, kinds[kind], 4) != 0)
            kind++;
        if (kind >= LISTED_KINDS || used + LISTED + raw > sizeof input)
            break;
        input[used] = (uint8_t)kind;
        stream_put32(input + used + 1, stream_get32(header + CHUNK_COUNT));
        stream_put32(input + used + 5, raw);
        ZSTD_decompress(input + used + LISTED, raw, header + STREAM_CHUNK_HEADER, stored);
        used += LISTED + raw;
        at += STREAM_CHUNK_HEADER + stored;
    }
    return used;
}

static uint32_t draw(uint32_t *random, uint32_t limit)
{
    *random = *random * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)*random * limit >> 32);
}

/* Changes a few bytes, tries, and changes them back; nearly all in the log, which is short. */
static void try_changes(size_t size, uint32_t *random)
{
    size_t at[6], places = 1 + draw(random, 6);
    uint8_t kept[6];

    for (size_t i = 0; i < places; i++) {
        at[i] = draw(random, (uint32_t)size);
        if (draw(random, 8) && size > 4000)
            at[i] = size - 1 - draw(random, 4000);
        kept[i] = input[at[i]];
        uint32_t value = draw(random, 3) ? draw(random, 256) : kept[i] ^ (1u << draw(random, 8));
        input[at[i]] = (uint8_t)(value & 0xFF);
    }
    LLVMFuzzerTestOneInput(input, draw(random, 20) ? size : draw(random, (uint32_t)size));
    while (places-- > 0)
        input[at[places]] = kept[places];
}

static int write_corpus(const char *folder, int number, size_t size)
{
    char path[4096];
    FILE *file;
    int failed;

    snprintf(path, sizeof path, "%s/%d", folder, number);
    file = fopen(path, "wb");
    if (!file)
        return 1;
    failed = fwrite(input, 1, size, file) != size;
    return fclose(file) != 0 || failed;
}

int main(int argc, char **argv)
{
    uint32_t random = 1;
    const char *corpus = argc > 2 && !strcmp(argv[1], "--corpus") ? argv[2] : NULL;

    for (int i = corpus ? 3 : 1; i < argc; i++) {
        size_t size = list_chunks(argv[i]);
        if (!size || (corpus && write_corpus(corpus, i, size))) {
            fprintf(stderr, "%s: no chunks, or the corpus cannot be written\n", argv[i]);
            return 1;
        }
        for (int round = 0; !corpus && round < FUZZ_STEPS; round++)
            try_changes(size, &random);
    }
    return 0;
}

#endif
