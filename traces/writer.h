/*
 * The file layer of writing a recorded run: header, chunks with their checksums, index, trailer.
 * What the chunks mean is the recorder's business. Errors stick: the first one is kept in words,
 * later calls do nothing. Each chunk is in the file when its call returns, so whatever ends the
 * writing, what was written is a valid beginning.
 */
#ifndef TRACES_WRITER_H
#define TRACES_WRITER_H

#include "stream.h"

struct writer;

/* Creates PATH with a header of TEXT; NULL and ERROR when that fails. */
struct writer *writer_open(const char *path, const struct stream_buffer *text, char error[512]);

/* A line of header or trailer text. */
void writer_text(struct stream_buffer *text, const char *key, const char *value);
void writer_text_number(struct stream_buffer *text, const char *key, uint64_t value);

/* Compresses RAW (at most STREAM_CHUNK_RAW_MAX bytes) into a chunk and writes it. FIRST and COUNT
 * are of its instructions or page contents. Gives the bytes it takes in the file, 0 on error. */
uint64_t writer_chunk(struct writer *writer, const char kind[4], uint64_t first, uint64_t count,
                      const uint8_t *raw, size_t raw_bytes);

/* Index, trailer of TEXT and footer: the file is complete. */
void writer_finish(struct writer *writer, uint64_t instructions, const struct stream_buffer *text);

/* An error of the caller's; kept when it is the first. */
void writer_fail(struct writer *writer, const char *what);

/* NULL while all is well, else what went wrong. */
const char *writer_error(const struct writer *writer);

/* Frees; a file that was not finished stays without its trailer. */
void writer_close(struct writer *writer);

#endif
