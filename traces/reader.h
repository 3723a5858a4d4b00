/*
 * The file layer of reading a recorded run: header, chunks with their checksums, page contents,
 * trailer. Whatever the bytes are, the answer is data that passed its checksum or an error that
 * says where it is. The meaning of the log's records is the replay's business.
 */
#ifndef TRACES_READER_H
#define TRACES_READER_H

#include "source.h"
#include "stream.h"

struct reader;

enum reader_kind {
    READER_LOG,
    READER_PAGES,
    READER_CHECKPOINT,
    READER_REGIONS,
    READER_NAMES,
    READER_INDEX,
    READER_TRAILER
};

struct reader_chunk {
    enum reader_kind kind;
    const uint8_t *raw; /* valid until the next call */
    size_t raw_bytes;
    uint64_t position; /* of its header in the file */
    uint64_t first;    /* instruction, or page content */
    uint64_t count;    /* instructions, or page contents */
};

/* Opens and reads the header. Same errors as trace_open_file(). */
struct reader *reader_open(const char *path, char error[512], int *status);

/* The next chunk, in the file's order. With the trailer the info is complete. False: an error. */
bool reader_next(struct reader *reader, struct reader_chunk *chunk);

/* A page's content by its number, of a chunk passed or indexed. NULL: an error. Valid until the
 * next call. */
const uint8_t *reader_page(struct reader *reader, uint64_t content);

/* Goes to the trailer at once, by footer and index. */
bool reader_seek_trailer(struct reader *reader);

/*
 * For starting in the middle: reads the whole index (or, in a file without one, the headers of all
 * chunks up to the damage). Then reader_checkpoint() gives the chunks of the checkpoints up to
 * INSTRUCTION one after the other; false and no error: no more. reader_seek_log() goes on with the
 * first chunk of the log that begins at INSTRUCTION or later.
 */
void reader_index(struct reader *reader);
/* The last checkpoint that is not after INSTRUCTION. 0: there is none. */
uint64_t reader_last_checkpoint(const struct reader *reader, uint64_t instruction);
bool reader_checkpoint(struct reader *reader, size_t number, uint64_t instruction,
                       struct reader_chunk *chunk);
void reader_seek_log(struct reader *reader, uint64_t instruction);

/* After reader_seek_trailer(): the chunk NUMBER of names of functions; false and no error: no more.
 */
bool reader_names(struct reader *reader, size_t number, struct reader_chunk *chunk);

/* After reader_index(): likewise, of regions. */
bool reader_regions(struct reader *reader, size_t number, struct reader_chunk *chunk);

/* The header's lines, as they stand in the file. */
const char *reader_header_text(const struct reader *reader);

/* What header and, once read, trailer say. */
const struct trace_info *reader_info(const struct reader *reader);

/* Share of the file that has been read, 0..1. */
double reader_share_done(const struct reader *reader);

const char *reader_path(const struct reader *reader);
const char *reader_error(const struct reader *reader); /* "" while all is well */
void reader_close(struct reader *reader);

#endif
