/*
 * The file layer of reading a recorded run: header, chunks with their checksums, trailer. Whatever
 * the bytes are, the answer is data that passed its checksum or an error that says where it is.
 * The meaning of a chunk's records is the replay's business.
 */
#ifndef TRACES_READER_H
#define TRACES_READER_H

#include "stream.h"

struct reader;

struct reader_chunk {
    const uint8_t *raw; /* valid until the next call */
    size_t raw_bytes;
    uint64_t position; /* of its header in the file */
    uint64_t first_instruction;
    uint64_t instructions;
};

enum reader_result {
    READER_CHUNK,
    READER_TRAILER, /* the info is complete */
    READER_ERROR,
};

/* Opens and reads the header. Same errors as trace_open_file(). */
struct reader *reader_open(const char *path, char error[512], int *status);

enum reader_result reader_next(struct reader *reader, struct reader_chunk *chunk);

/* Goes to the trailer at once, by the footer. READER_TRAILER or READER_ERROR. */
enum reader_result reader_seek_trailer(struct reader *reader);

/* What header and, once read, trailer say. */
const struct trace_info *reader_info(const struct reader *reader);

/* Share of the file that has been read, 0..1. */
double reader_share_done(const struct reader *reader);

const char *reader_path(const struct reader *reader);
const char *reader_error(const struct reader *reader);
void reader_close(struct reader *reader);

#endif
