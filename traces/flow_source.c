/*
 * A plain stream as a source of instructions. It is read one instruction ahead, because an
 * instruction leads to where the next one stands. Nothing is known of registers and of what memory
 * holds, so wrong paths have no values and no state is given.
 */
#include "flow.h"

#include <stdio.h>
#include <stdlib.h>

struct flow_source {
    struct trace_source source; /* must be first */
    struct reader *reader;
    struct flow_codes codes;
    struct stream_cursor log;
    uint64_t chunk_position;
    uint64_t left; /* instructions the chunk still has */
    struct trace_instruction ahead;
    uint64_t delivered_ip; /* of the instruction given last, and its number */
    uint32_t delivered;
    bool primed, ended, interrupted;
};

static struct flow_source *flow_of(const struct trace_source *source)
{
    return (struct flow_source *)(uintptr_t)source;
}

static bool fail(struct flow_source *flow, const char *what)
{
    if (!flow->source.error[0])
        snprintf(flow->source.error, sizeof flow->source.error,
                 "%.300s: offset %llu: in this chunk %s: damaged", reader_path(flow->reader),
                 (unsigned long long)flow->chunk_position, what);
    flow->source.error_status = 3;
    return false;
}

/* The next chunk of the stream. False: the end, or an error. */
static bool next_chunk(struct flow_source *flow)
{
    struct reader_chunk chunk;

    if (flow->left)
        return fail(flow, "are fewer instructions than it says");
    do {
        if (!reader_next(flow->reader, &chunk)) {
            snprintf(flow->source.error, sizeof flow->source.error, "%s",
                     reader_error(flow->reader));
            flow->source.error_status = 3;
            return false;
        }
        if (chunk.kind == READER_TRAILER) {
            flow->source.end = reader_info(flow->reader)->end;
            flow->ended = true;
            return false;
        }
    } while (chunk.kind != READER_LOG);
    flow->log = (struct stream_cursor){chunk.raw, chunk.raw + chunk.raw_bytes};
    flow->chunk_position = chunk.position;
    flow->left = chunk.count;
    return true;
}

static bool take_code(struct flow_source *flow)
{
    uint8_t shape, bytes[TRACE_INSTRUCTION_BYTES] = {0};
    uint64_t ip;

    if (!stream_get_byte(&flow->log, &shape) || !(shape & FLOW_LENGTH) ||
        !stream_get_varint(&flow->log, &ip) ||
        !stream_get_bytes(&flow->log, bytes, shape & FLOW_LENGTH))
        return fail(flow, "is a wrong static instruction");
    return flow_add(&flow->codes, ip, shape, bytes) || fail(flow, "are too many for the memory");
}

static bool take_accesses(struct flow_source *flow, struct flow_code *code,
                          struct trace_instruction *out)
{
    uint64_t size, difference;

    for (unsigned i = 0; i < out->access_count; i++) {
        if (!stream_get_varint(&flow->log, &size) || size >> 1 > UINT16_MAX || size < 2 ||
            !stream_get_varint(&flow->log, &difference))
            return fail(flow, "is a wrong access");
        code->last[i] += stream_unzigzag(difference);
        out->access[i] = (struct trace_access){
            .address = code->last[i], .size = (uint32_t)(size >> 1), .write = size & 1};
    }
    return true;
}

static uint8_t flags_of(unsigned code, unsigned step)
{
    return (uint8_t)((code & FLOW_LONG_MODE ? TRACE_64BIT : 0) |
                     (code & FLOW_SYSTEM_CALL ? TRACE_SYSTEM_CALL : 0) |
                     (step & FLOW_BACKWARD ? TRACE_REP_BACKWARD : 0) |
                     (step & FLOW_BROKEN ? TRACE_INTERRUPTED : 0));
}

static bool take_step(struct flow_source *flow, struct trace_instruction *out)
{
    uint64_t number, repetitions = 1;
    struct flow_code *code;
    uint8_t shape;

    if (!flow->left || !stream_get_varint(&flow->log, &number) || number >= flow->codes.count ||
        !stream_get_byte(&flow->log, &shape) || (shape & FLOW_ACCESSES) > TRACE_ACCESSES ||
        ((shape & FLOW_REPEATED) && !stream_get_varint(&flow->log, &repetitions)) ||
        repetitions > UINT32_MAX)
        return fail(flow, "is a wrong instruction");
    flow->left--;
    code = &flow->codes.list[number];
    *out = (struct trace_instruction){
        .code = (uint32_t)number,
        .repetitions = (uint32_t)repetitions,
        .ip = code->ip,
        .next_ip = code->ip + (code->shape & FLOW_LENGTH),
        .flags = flags_of(code->shape, shape),
        .length = code->shape & FLOW_LENGTH,
        .access_count = shape & FLOW_ACCESSES,
    };
    return take_accesses(flow, code, out);
}

/* The next one of the file. False: the end, or an error. */
static bool read_step(struct flow_source *flow, struct trace_instruction *out)
{
    uint8_t kind;

    for (;;) {
        if (flow->log.at == flow->log.end && !next_chunk(flow))
            return false;
        if (!stream_get_byte(&flow->log, &kind))
            continue;
        if (kind == FLOW_STEP)
            return take_step(flow, out);
        if (kind != FLOW_CODE)
            return fail(flow, "is an unknown record");
        if (!take_code(flow))
            return false;
    }
}

static enum trace_result flow_next(struct trace_source *source, struct trace_instruction *out)
{
    struct flow_source *flow = flow_of(source);

    if (!flow->primed && !flow->ended)
        flow->primed = read_step(flow, &flow->ahead);
    if (!flow->primed || flow->interrupted)
        return source->error[0] ? TRACE_ERROR : TRACE_END;
    *out = flow->ahead;
    flow->delivered_ip = out->ip;
    flow->delivered = out->code;
    flow->primed = read_step(flow, &flow->ahead);
    if (flow->primed)
        out->next_ip = flow->ahead.ip;
    return TRACE_OK;
}

/* Instructions seen so far, as they follow each other in memory. */
static size_t flow_code_at(struct trace_source *source, uint16_t process, uint64_t ip,
                           uint8_t bytes[TRACE_INSTRUCTION_BYTES])
{
    const struct flow_codes *codes = &flow_of(source)->codes;
    size_t known = 0;

    while (!process && codes->count && known < TRACE_INSTRUCTION_BYTES) {
        int64_t number = flow_of(source)->delivered_ip == ip + known
                             ? flow_of(source)->delivered
                             : flow_find(codes, ip + known, NULL, NULL);
        size_t length = number < 0 ? 0 : codes->list[number].shape & FLOW_LENGTH;
        if (!length)
            break;
        if (length > TRACE_INSTRUCTION_BYTES - known)
            length = TRACE_INSTRUCTION_BYTES - known;
        memcpy(bytes + known, codes->list[number].bytes, length);
        known += length;
    }
    return known;
}

static double flow_share_done(const struct trace_source *source)
{
    return reader_share_done(flow_of(source)->reader);
}

/* May be called from a signal handler: only the state changes. */
static void flow_interrupt(struct trace_source *source)
{
    flow_of(source)->interrupted = true;
    source->end.how = TRACE_ENDED_CUT;
}

static void flow_close(struct trace_source *source)
{
    struct flow_source *flow = flow_of(source);

    flow_free(&flow->codes);
    reader_close(flow->reader);
    free(flow);
}

static const struct trace_source_ops flow_ops = {
    .next = flow_next,
    .code_at = flow_code_at,
    .share_done = flow_share_done,
    .interrupt = flow_interrupt,
    .close = flow_close,
};

bool flow_is(const struct trace_source *source)
{
    return source->ops == &flow_ops;
}

struct trace_source *flow_open(struct reader *reader)
{
    struct flow_source *flow = calloc(1, sizeof *flow);

    if (!flow) {
        reader_close(reader);
        return NULL;
    }
    flow->source.ops = &flow_ops;
    flow->source.end.how = TRACE_ENDED_CUT;
    flow->reader = reader;
    return &flow->source;
}
