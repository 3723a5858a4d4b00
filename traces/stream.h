/*
 * The form of a recorded run, shared by the recorder and the replay; docs/trace-format.md describes
 * it for readers in other languages.
 *
 * A run is almost predictable: an instruction is mostly followed by the one that followed it last
 * time, and its addresses mostly move by the same step. Both sides keep the same small memory per
 * static instruction; the stream says only where the run differs from what that memory predicts.
 * Runs of fully predicted instructions cost one byte; zstd squeezes the rest.
 */
#ifndef TRACES_STREAM_H
#define TRACES_STREAM_H

#include "source.h"
#include "recipe.h"

#define STREAM_VERSION       1u

#define STREAM_MAGIC         "P4SIMTR\n"
#define STREAM_FOOTER_MAGIC  "P4SIMEND"
#define STREAM_CHUNK_MAGIC   "CHNK"
#define STREAM_TRAILER_MAGIC "TRLR"

enum {
    STREAM_HEADER_FIXED = 16, /* magic, version, bytes of text */
    STREAM_HEADER_TEXT_MAX = 1 << 20,
    STREAM_CHUNK_HEADER = 48,
    STREAM_CHUNK_RAW_MAX = 1 << 19, /* model choice: large enough for zstd, small enough to keep */
    STREAM_RECORD_MAX = 8192,       /* no record is longer, a whole page included */
    STREAM_FOOTER = 16,
    STREAM_CODES_MAX = 1 << 24, /* limits on what a file may ask a reader to hold */
    STREAM_PAGES_MAX = 1 << 18,
    STREAM_PROCESSES_MAX = 1 << 16,
    STREAM_THREADS_MAX = 1 << 16,
};

/* Offsets of a chunk header's fields; all numbers of the file are little-endian. */
enum {
    CHUNK_RAW_BYTES = 4,
    CHUNK_STORED_BYTES = 8,
    CHUNK_SEQUENCE = 12,
    CHUNK_POSITION = 16,
    CHUNK_FIRST = 24,
    CHUNK_INSTRUCTIONS = 32,
    CHUNK_CHECKSUM = 40,
};

/*
 * First byte of a record. With the top bit: a run of predicted instructions, its length in the
 * other bits, or RECORD_LONG_RUN and a varint. Without: an instruction with the bits below, or
 * another kind.
 */
enum {
    RECORD_RUN = 0x80,
    RECORD_LONG_RUN = 0xff,
    RECORD_SHORT_RUN_MAX = 0x7e,

    RECORD_INSTRUCTION = 0x00,
    RECORD_INSTRUCTION_LAST = 0x0f,
    RECORD_START = 0x10, /* thread, code: the next instruction, where the one before does not say */
    RECORD_PAGE = 0x20,  /* process, page number, offset, count, bytes */
    RECORD_GONE = 0x30,  /* process: its address space and pages are no more */
    RECORD_STATIC = 0x40, /* the next static instruction */

    INSTRUCTION_SUCCESSOR_MASK = 0x03,
    SUCCESSOR_PREDICTED = 0,
    SUCCESSOR_ALTERNATE = 1, /* the one before the last */
    SUCCESSOR_EXPLICIT = 2,  /* varint: zigzag of its code minus this one */
    SUCCESSOR_BREAK = 3, /* flags, zigzag of next_ip minus the end of this one; a START follows */
    INSTRUCTION_ADDRESSES = 0x04,
    INSTRUCTION_REPETITIONS = 0x08,
};

#define STREAM_NO_CODE UINT32_MAX

struct stream_slot {
    uint64_t last;
    uint64_t stride;
};

/* One static instruction: what it is, and what it did last time. */
struct stream_code {
    uint64_t ip;
    uint32_t successor[2]; /* predicted, alternate */
    uint32_t repetitions;
    uint16_t process;
    uint8_t length;
    uint8_t access_count;
    uint8_t static_flags; /* TRACE_SYSTEM_CALL, TRACE_64BIT */
    uint8_t backward;     /* TRACE_REP_BACKWARD or 0 */
    uint32_t size[TRACE_ACCESSES];
    bool write[TRACE_ACCESSES];
    struct stream_slot slot[TRACE_ACCESSES];
};

static inline uint64_t stream_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t stream_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Learn the successor that came after this instruction. */
static inline void stream_learn_successor(struct stream_code *code, uint32_t successor)
{
    if (successor == code->successor[0])
        return;
    code->successor[1] = code->successor[0];
    code->successor[0] = successor;
}

/* Learn the address; true when it was the predicted one. */
static inline bool stream_learn_address(struct stream_slot *slot, uint64_t address)
{
    bool predicted = address == slot->last + slot->stride;

    slot->stride = address - slot->last;
    slot->last = address;
    return predicted;
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
