/*
 * A hand-made instruction stream for tests of the machine: a loop body of given instructions, run N
 * times, at a fixed address. No program is executed: the stream says what would be.
 */
#ifndef TESTS_STREAM_H
#define TESTS_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "netburst.h"

#define STREAM_BASE 0x08048000u
#define STREAM_MOST 2048u

/* One instruction: its bytes, and at most one access whose address moves by `step` each iteration.
 */
struct item {
    const char *bytes;
    uint8_t length;
    uint8_t accesses; /* 0, 1: one read or write; 2: read then write of the same place */
    bool write;
    uint32_t size;
    uint64_t address;
    int64_t step;
    uint64_t span; /* the address comes back after this many bytes; 0: never */
};

#define PLAIN(bytes)                                                                               \
    {                                                                                              \
        bytes, sizeof(bytes) - 1, 0, false, 0, 0, 0, 0                                             \
    }
#define READ(bytes, size, address, step, span)                                                     \
    {                                                                                              \
        bytes, sizeof(bytes) - 1, 1, false, size, address, step, span                              \
    }
#define WRITE(bytes, size, address, step, span)                                                    \
    {                                                                                              \
        bytes, sizeof(bytes) - 1, 1, true, size, address, step, span                               \
    }

struct stream {
    struct item items[STREAM_MOST];
    uint32_t offset[STREAM_MOST];
    uint32_t count, at;
    uint64_t iterations, iteration;
    uint32_t repetitions; /* of the first item; 0: one */
    uint8_t image[STREAM_MOST * 8];
    uint32_t size;
    /* for conditional branches inside the body: taken in this iteration? NULL: only the loop's own
     * branch */
    bool (*taken)(const struct stream *s, uint64_t iteration, uint32_t item);
    uint64_t seed; /* for TAKEN */
    uint16_t process;
    uint64_t serial; /* of the last instruction given, from 1 on */
};

static inline void stream_add(struct stream *s, struct item item)
{
    s->offset[s->count] = s->size;
    memcpy(s->image + s->size, item.bytes, item.length);
    s->size += item.length;
    s->items[s->count++] = item;
}

/* dec ecx; jnz body */
static inline void stream_close(struct stream *s, uint64_t iterations)
{
    static char jump[6];
    stream_add(s, (struct item)PLAIN("\x49"));
    int32_t back = -(int32_t)(s->size + 6);
    jump[0] = 0x0F;
    jump[1] = (char)0x85;
    memcpy(jump + 2, &back, 4);
    stream_add(s, (struct item){jump, 6, 0, false, 0, 0, 0, 0});
    s->iterations = iterations;
}

static inline void stream_accesses(const struct stream *s, const struct item *item,
                                   struct nb_instruction *out)
{
    uint64_t moved = (uint64_t)(item->step * (int64_t)s->iteration);
    uint64_t address = item->address + (item->span ? moved % item->span : moved);
    out->access_count = item->accesses;
    for (unsigned i = 0; i < item->accesses; i++) {
        out->access[i].address = address;
        out->access[i].size = item->size;
        out->access[i].write = item->accesses == 2 ? i == 1 : item->write;
    }
}

static inline enum nb_input_result stream_next(void *context, struct nb_instruction *out)
{
    struct stream *s = context;
    if (s->iteration == s->iterations)
        return NB_INPUT_END;
    const struct item *item = &s->items[s->at];
    *out = (struct nb_instruction){.code = s->at, .repetitions = 1, .length = item->length};
    out->ip = STREAM_BASE + s->offset[s->at];
    out->process = s->process;
    out->serial = ++s->serial;
    if (s->at == 0 && s->repetitions)
        out->repetitions = s->repetitions;
    stream_accesses(s, item, out);
    bool last = s->at + 1 == s->count;
    uint32_t next = last ? 0 : s->at + 1;
    if (!last && s->taken && s->taken(s, s->iteration, s->at))
        next = s->at + 2; /* a short jump over the next instruction */
    if (last && ++s->iteration == s->iterations)
        out->next_ip = out->ip + item->length;
    else
        out->next_ip = STREAM_BASE + s->offset[next];
    s->at = next;
    return NB_INPUT_OK;
}

static inline size_t stream_code_at(void *context, uint16_t process, uint64_t ip, uint8_t bytes[15])
{
    const struct stream *s = context;
    (void)process;
    if (ip < STREAM_BASE || ip >= STREAM_BASE + s->size)
        return 0;
    size_t n = STREAM_BASE + s->size - ip;
    n = n < 15 ? n : 15;
    memcpy(bytes, s->image + (ip - STREAM_BASE), n);
    return n;
}

#endif
