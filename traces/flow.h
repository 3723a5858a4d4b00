/*
 * A plain stream: the instructions of a run that another program wrote down, one by one, with their
 * accesses and nothing else. It cannot be executed again, because nobody knows a value; it has the
 * file layer of a recorded run (reader.h, writer.h), and its log's chunks hold the records below
 * (docs/trace-format.md). The header has the line contents=flow.
 */
#ifndef TRACES_FLOW_H
#define TRACES_FLOW_H

#include "reader.h"
#include "source.h"

#define FLOW_CONTENTS "contents=flow\n"

/* First byte of a record; none is one of the other log's. */
enum {
    FLOW_CODE = 0x20, /* a static instruction, the next number: shape, ip, its bytes */
    FLOW_STEP = 0x21, /* one is executed: number, shape, what it does to memory */
};

enum {
    FLOW_LENGTH = 0x0f,    /* of a code's shape: how many bytes */
    FLOW_STAND_IN = 0x10,  /* nobody knows its bytes: these have its length and accesses */
    FLOW_LONG_MODE = 0x20, /* 64-bit mode */
    FLOW_SYSTEM_CALL = 0x40,

    FLOW_ACCESSES = 0x07, /* of a step's shape: how many accesses */
    FLOW_REPEATED = 0x08, /* the number of repetitions follows; else it is 1 */
    FLOW_BACKWARD = 0x10, /* string instruction with DF=1 */
    FLOW_BROKEN = 0x20,   /* the next instruction is not where this one leads */
};

/* A static instruction. The steps' addresses are differences from its last ones. */
struct flow_code {
    uint64_t ip;
    uint64_t last[TRACE_ACCESSES];
    uint8_t shape;
    uint8_t bytes[TRACE_INSTRUCTION_BYTES];
};

/* Numbered from 0; all zero is an empty table. */
struct flow_codes {
    struct flow_code *list;
    uint32_t *slots; /* number + 1 by ip, open addressing */
    uint32_t count, capacity;
};

/* NULL without memory. The pointer is good until the next one is added. */
struct flow_code *flow_add(struct flow_codes *codes, uint64_t ip, unsigned shape,
                           const uint8_t *bytes);

/* Number of the first code at IP that TEST accepts (NULL: any), or -1. */
typedef bool flow_test(const void *wanted, const struct flow_code *code);
int64_t flow_find(const struct flow_codes *codes, uint64_t ip, flow_test *test, const void *wanted);

void flow_free(struct flow_codes *codes);

/* Takes the reader in any case. NULL: without memory. */
struct trace_source *flow_open(struct reader *reader);
/* Is this one of flow_open()'s? */
bool flow_is(const struct trace_source *source);

#endif
