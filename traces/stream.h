/*
 * The form of a recorded run, shared by the writing and the reading side; docs/trace-format.md
 * describes it for readers in other languages.
 *
 * A run is a starting state and a log of what came from outside: what was in a page when it was
 * first touched, what a system call or an instruction left to the processor gave, where a signal or
 * a switch of threads came between. Everything else follows by executing again, so a loop costs
 * nothing however long it runs.
 */
#ifndef TRACES_STREAM_H
#define TRACES_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAM_VERSION      4u
#define STREAM_OLDEST       2u /* read as well: no names of functions; 3: no regions */

#define STREAM_MAGIC        "P4SIMTR\n"
#define STREAM_FOOTER_MAGIC "P4SIMEND"

/* Kinds of chunks, as they stand in the file. */
#define STREAM_LOG        "LOG "
#define STREAM_PAGES      "PAGE"
#define STREAM_CHECKPOINT "CKPT"
#define STREAM_REGIONS    "REGN"
#define STREAM_NAMES      "NAME"
#define STREAM_INDEX      "INDX"
#define STREAM_TRAILER    "TRLR"

enum {
    STREAM_HEADER_FIXED = 16, /* magic, version, bytes of text */
    STREAM_HEADER_TEXT_MAX = 1 << 20,
    STREAM_CHUNK_HEADER = 48,
    STREAM_CHUNK_RAW_MAX = 1 << 18,
    STREAM_CHUNK_PAGES = 32,             /* at most: one is read to get at any of its pages */
    STREAM_CHUNK_INSTRUCTIONS = 1 << 18, /* at most */
    STREAM_RECORD_MAX = 8192,            /* no record is longer */
    STREAM_FOOTER = 16,
    STREAM_PAGE_BYTES = 4096,
    STREAM_PROCESSES_MAX = 1 << 16, /* limits on what a file may ask a reader to hold */
    STREAM_THREADS_MAX = 1 << 16,
    STREAM_MAPPED_MAX = 1 << 19, /* pages at one time */
    STREAM_REGIONS_MAX = 1 << 10,
    STREAM_INDEX_ENTRY = 24,
};

/* Offsets of a chunk header's fields; all numbers of the file are little-endian. */
enum {
    CHUNK_RAW_BYTES = 4,
    CHUNK_STORED_BYTES = 8,
    CHUNK_SEQUENCE = 12,
    CHUNK_POSITION = 16,
    CHUNK_FIRST = 24, /* first instruction, or first page content */
    CHUNK_COUNT = 32, /* instructions, or page contents */
    CHUNK_CHECKSUM = 40,
};

/* First byte of a record of the log, and of a checkpoint, which rebuilds a state by the same. */
enum {
    RECORD_RUN = 0x80, /* that many instructions of the current thread, executed again */
    RECORD_LONG_RUN = 0xff,
    RECORD_SHORT_RUN_MAX = 0x7e,

    RECORD_PROCESS = 0x01,   /* process, mode: a new address space */
    RECORD_SWITCH = 0x02,    /* thread, process: who executes from here on */
    RECORD_STATE = 0x03,     /* state: registers changed from outside */
    RECORD_NATIVE = 0x04,    /* state: one instruction, with what it left in the registers */
    RECORD_PAGE = 0x05,      /* process, page number, content: what the page holds */
    RECORD_PATCH = 0x06,     /* process, page number, offset, count, bytes: what changed in it */
    RECORD_UNMAPPED = 0x07,  /* process, page number: the page is no more */
    RECORD_GONE = 0x08,      /* process: its address space is no more */
    RECORD_INTERRUPT = 0x09, /* ip: a signal handler there comes after the instruction before */
    RECORD_BROKEN = 0x0a,    /* the flow of the instruction before ends with it */
    RECORD_CHECK = 0x0b,     /* hash of the current thread's state */
    RECORD_FORGET = 0x0c,    /* all threads are forgotten (first of a checkpoint) */
    RECORD_CODE = 0x0d,      /* process, page number: an instruction has been executed there */
    RECORD_COMPLETE = 0x0e,  /* the checkpoint is whole */
    RECORD_OBJECT = 0x0f,    /* a file is mapped */
    RECORD_REGISTER = 0x10,  /* the kernel accessed a register of the processor for a program */
};

/* First byte of a record of a chunk of regions. */
enum {
    REGION_ASKED = 0x01,  /* text, as p4sim stat --region takes it */
    REGION_MARKER = 0x02, /* name */
};

/* First byte of a record of a chunk of names. */
enum {
    NAME_FILE = 0x01,     /* build id, path: the functions behind it are this file's */
    NAME_FUNCTION = 0x02, /* offset in the file, size, name */
};

/* ---- a thread's state as numbered words of 64 bits ----------------------------------------------
 */

enum {
    WORD_GPR = 0, /* sixteen */
    WORD_FS_BASE = 16,
    WORD_GS_BASE,
    WORD_IP,
    WORD_FLAGS,
    WORD_MXCSR,
    WORD_X87,                 /* the first 160 bytes of an FXSAVE image, 0 where that has MXCSR */
    WORD_XMM = WORD_X87 + 20, /* two for each of sixteen registers */
    STREAM_WORDS = WORD_XMM + 32,
};

/* Flags of an object, and of a register access. */
enum {
    OBJECT_EXECUTABLE = 1,
    REGISTER_WRITE = 1,
};

struct interpret_state;

void stream_words_of(const struct interpret_state *state, uint64_t words[STREAM_WORDS]);
void stream_state_of(const uint64_t words[STREAM_WORDS], struct interpret_state *state);
uint64_t stream_hash_state(const struct interpret_state *state);

/* ---- writing -----------------------------------------------------------------------------------
 */

/* Bytes being put together. Without memory nothing more is taken and FAILED is set. */
struct stream_buffer {
    uint8_t *bytes;
    size_t used, capacity;
    bool failed;
};

void stream_put_bytes(struct stream_buffer *buffer, const void *bytes, size_t count);
void stream_put_byte(struct stream_buffer *buffer, unsigned byte);
void stream_put_varint(struct stream_buffer *buffer, uint64_t value);
/* What differs between two states; true when anything does. */
bool stream_put_state(struct stream_buffer *buffer, const struct interpret_state *before,
                      const struct interpret_state *after);

/* ---- reading -----------------------------------------------------------------------------------
 */

struct stream_cursor {
    const uint8_t *at, *end;
};

/* Each gives false when the bytes end too early or a number has more than 64 bits. */
bool stream_get_byte(struct stream_cursor *cursor, uint8_t *byte);
bool stream_get_varint(struct stream_cursor *cursor, uint64_t *value);
bool stream_get_bytes(struct stream_cursor *cursor, void *bytes, size_t count);
bool stream_get_state(struct stream_cursor *cursor, struct interpret_state *state);

static inline uint64_t stream_zigzag(uint64_t difference)
{
    return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static inline uint64_t stream_unzigzag(uint64_t value)
{
    return value >> 1 ^ (value & 1 ? UINT64_MAX : 0);
}

static inline void stream_put32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline void stream_put64(uint8_t *at, uint64_t value)
{
    stream_put32(at, (uint32_t)value);
    stream_put32(at + 4, (uint32_t)(value >> 32));
}

static inline uint32_t stream_get32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t stream_get64(const uint8_t *at)
{
    return stream_get32(at) | (uint64_t)stream_get32(at + 4) << 32;
}

#endif
