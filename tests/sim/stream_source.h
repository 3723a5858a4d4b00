/*
 * The hand-made streams of tests/netburst as a source of instructions for the bench: no program is
 * executed. Instructions in `calls` (item numbers) are system calls.
 */
#ifndef TESTS_STREAM_SOURCE_H
#define TESTS_STREAM_SOURCE_H

#include "../netburst/stream.h"
#include "source.h"

struct stream_source {
    struct trace_source source;
    struct stream *stream;
    uint64_t calls; /* bit n: item n is a system call */
    uint64_t given;
    struct trace_instruction last;
    /* registers of the stream, if any: as before LAST */
    bool (*registers_before)(struct trace_source *source, struct trace_registers *out);
};

static inline enum trace_result stream_source_next(struct trace_source *source,
                                                   struct trace_instruction *out)
{
    struct stream_source *s = (struct stream_source *)source;
    uint32_t item = s->stream->at;
    struct nb_instruction in;
    if (stream_next(s->stream, &in) != NB_INPUT_OK)
        return TRACE_END;
    *out = (struct trace_instruction){.code = in.code,
                                      .repetitions = in.repetitions,
                                      .ip = in.ip,
                                      .next_ip = in.next_ip,
                                      .process = in.process,
                                      .length = in.length,
                                      .access_count = in.access_count};
    for (unsigned i = 0; i < in.access_count; i++)
        out->access[i] = (struct trace_access){.address = in.access[i].address,
                                               .size = in.access[i].size,
                                               .write = in.access[i].write};
    if (s->calls >> item & 1)
        out->flags = TRACE_SYSTEM_CALL;
    s->given++;
    s->last = *out;
    return TRACE_OK;
}

static inline size_t stream_source_code_at(struct trace_source *source, uint16_t process,
                                           uint64_t ip, uint8_t bytes[TRACE_INSTRUCTION_BYTES])
{
    return stream_code_at(((struct stream_source *)source)->stream, process, ip, bytes);
}

static inline bool stream_source_registers(struct trace_source *source, struct trace_registers *out)
{
    struct stream_source *s = (struct stream_source *)source;
    return s->registers_before && s->registers_before(source, out);
}

static inline void stream_source_close(struct trace_source *source)
{
    (void)source;
}

/* A loop of ITEMS loads of which number MISSING always misses L1 (eight lines of one set, 8 KB
 * apart); the others hit. */
static inline void stream_of_loads(struct stream *stream, unsigned items, unsigned missing,
                                   uint64_t iterations)
{
    for (unsigned i = 0; i < items; i++)
        stream_add(stream, i == missing
                               ? (struct item)READ("\x8b\x00", 4, 0x100000, 8192, 65536)
                               : (struct item)READ("\x8b\x13", 4, 0x200400 + 64 * i, 0, 0));
    stream_close(stream, iterations);
}

static inline void stream_source_init(struct stream_source *s, struct stream *stream)
{
    static const struct trace_source_ops ops = {.next = stream_source_next,
                                                .code_at = stream_source_code_at,
                                                .registers_before = stream_source_registers,
                                                .close = stream_source_close};
    memset(s, 0, sizeof *s);
    s->source.ops = &ops;
    s->stream = stream;
}

#endif
