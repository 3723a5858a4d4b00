/* A loop with one branch in its middle, item 60, between two blocks of 60 instructions. */
#ifndef TESTS_BRANCHY_H
#define TESTS_BRANCHY_H

#include "stream.h"

typedef bool branchy_fn(const struct stream *s, uint64_t iteration, uint32_t item);

/* Taken at random: the branch cannot be predicted. */
static inline bool random_at_60(const struct stream *s, uint64_t iteration, uint32_t item)
{
    (void)s;
    uint64_t x = iteration * UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 29;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    return item == 60 && ((x >> 40) & 1);
}

/* The branch is taken as TAKEN says; FIRST, two bytes, is the instruction of the first block. */
static inline struct stream *branchy_stream(const char *first, branchy_fn *taken,
                                            uint64_t iterations)
{
    struct stream *s = calloc(1, sizeof *s);
    for (uint32_t i = 0; i < 60; i++)
        stream_add(s, (struct item){.bytes = first, .length = 2});
    stream_add(s, (struct item)PLAIN("\x74\x01")); /* jz over the nop */
    stream_add(s, (struct item)PLAIN("\x90"));
    for (uint32_t i = 0; i < 60; i++)
        stream_add(s, (struct item)PLAIN("\x31\xdb")); /* xor ebx,ebx */
    s->taken = taken;
    stream_close(s, iterations);
    return s;
}

#endif
