/*
 * What the reader's files share: reader.c (header, the file's order), reader_chunk.c (one chunk),
 * reader_text.c (key=value lines), reader_index.c (where chunks stand), reader_pages.c (page
 * contents).
 */
#ifndef TRACES_READER_PARTS_H
#define TRACES_READER_PARTS_H

#include "reader.h"

#include <zstd.h>

/* A chunk as its header has it. */
struct reader_entry {
    enum reader_kind kind;
    uint32_t count;
    uint64_t position, first;
};

struct reader_entries {
    struct reader_entry *list;
    size_t count, capacity;
};

/* Page contents kept unpacked, a chunk each. */
struct reader_kept {
    uint64_t position; /* 0: none */
    uint64_t used;
    uint8_t *raw;
};

enum { READER_KEPT = 8 };

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
    struct reader_entries pages, checkpoints, logs, regions, names;
    struct reader_kept kept[READER_KEPT];
    uint64_t uses;
    char *header_text;
    struct trace_info info;
    ZSTD_DCtx *zstd;
    size_t stored_capacity;
    uint8_t *stored; /* chunk header and compressed bytes */
    uint8_t *raw;
};

/* The error, in words, behind the file's name. */
void reader_fail(struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads COUNT bytes at the position; false and an error that names WHAT when they are not there. */
bool reader_read_exactly(struct reader *reader, uint8_t *bytes, size_t count, const char *what);

/* Names of the kinds, as they stand in the file. */
extern const char reader_kinds[READER_TRAILER + 1][5];
bool reader_kind_of(const uint8_t *magic, enum reader_kind *kind);

/* Takes a chunk's header, read from POSITION into reader->stored. */
bool reader_take_chunk_header(struct reader *reader, uint64_t position, struct reader_chunk *chunk);
/* Reads the chunk at the position and moves behind it. */
bool reader_read_chunk(struct reader *reader, uint8_t *into, struct reader_chunk *chunk);
/* Likewise from another place; the position stays. */
bool reader_read_chunk_at(struct reader *reader, uint64_t position, enum reader_kind kind,
                          uint8_t *into, struct reader_chunk *chunk);

/* Notes where a chunk stands. Entries come in the file's order; FIRST never falls, page contents
 * follow each other. */
bool reader_note(struct reader *reader, struct reader_entry entry);
struct reader_entry reader_entry_of(const struct reader_chunk *chunk);
/* Is the chunk in reader->stored the one that follows what has been passed? */
bool reader_check_order(struct reader *reader, const struct reader_chunk *chunk);

/* The trailer's contents, in reader->raw, and the footer behind it. */
bool reader_take_trailer(struct reader *reader, const struct reader_chunk *chunk);

/* Lines of header and trailer; TEXT has room for a final 0 at [COUNT]. */
bool reader_take_header_text(struct reader *reader, char *text, size_t count);
bool reader_take_trailer_text(struct reader *reader, char *text, size_t count);

#endif
