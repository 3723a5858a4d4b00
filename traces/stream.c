/* Numbers and states of a recorded run; see stream.h. */
#include "stream.h"
#include "interpret.h"

#include <stdlib.h>
#include <xxhash.h>

enum { GPRS = sizeof((struct recipe_registers *)NULL)->gpr / sizeof(uint64_t) };
enum { XMMS = sizeof((struct interpret_state *)NULL)->xmm / sizeof(union interpret_xmm) };
enum { X87_UNUSED = offsetof(struct interpret_x87, unused) / sizeof(uint64_t) };

_Static_assert(sizeof(struct interpret_x87) == 160, "the x87 part of a state has 20 words");
_Static_assert(GPRS <= 16 && XMMS <= 16, "a state has sixteen registers of each kind");

void stream_words_of(const struct interpret_state *state, uint64_t words[STREAM_WORDS])
{
    memset(words, 0, STREAM_WORDS * sizeof *words);
    memcpy(words + WORD_GPR, state->registers.gpr, sizeof state->registers.gpr);
    words[WORD_FS_BASE] = state->registers.fs_base;
    words[WORD_GS_BASE] = state->registers.gs_base;
    words[WORD_IP] = state->registers.ip;
    words[WORD_FLAGS] = state->registers.flags;
    words[WORD_MXCSR] = state->mxcsr;
    memcpy(words + WORD_X87, &state->x87, sizeof state->x87);
    words[WORD_X87 + X87_UNUSED] = 0; /* whatever the host's FXSAVE left there */
    memcpy(words + WORD_XMM, state->xmm, sizeof state->xmm);
}

void stream_state_of(const uint64_t words[STREAM_WORDS], struct interpret_state *state)
{
    memcpy(state->registers.gpr, words + WORD_GPR, sizeof state->registers.gpr);
    state->registers.fs_base = words[WORD_FS_BASE];
    state->registers.gs_base = words[WORD_GS_BASE];
    state->registers.ip = words[WORD_IP];
    state->registers.flags = words[WORD_FLAGS];
    state->mxcsr = (uint32_t)words[WORD_MXCSR];
    memcpy(&state->x87, words + WORD_X87, sizeof state->x87);
    memcpy(state->xmm, words + WORD_XMM, sizeof state->xmm);
}

uint64_t stream_hash_state(const struct interpret_state *state)
{
    uint64_t words[STREAM_WORDS];
    uint8_t bytes[8 * STREAM_WORDS];

    stream_words_of(state, words);
    for (unsigned i = 0; i < STREAM_WORDS; i++)
        stream_put64(bytes + 8 * i, words[i]);
    return XXH64(bytes, sizeof bytes, 0);
}

/* ---- writing -----------------------------------------------------------------------------------
 */

static bool make_room(struct stream_buffer *buffer, size_t count)
{
    size_t capacity = buffer->capacity ? buffer->capacity : 1 << 16;
    uint8_t *bigger;

    if (buffer->failed)
        return false;
    if (buffer->used + count <= buffer->capacity)
        return true;
    while (capacity < buffer->used + count)
        capacity *= 2;
    bigger = realloc(buffer->bytes, capacity);
    if (!bigger) {
        buffer->failed = true;
        return false;
    }
    buffer->bytes = bigger;
    buffer->capacity = capacity;
    return true;
}

void stream_put_bytes(struct stream_buffer *buffer, const void *bytes, size_t count)
{
    if (!count || !make_room(buffer, count))
        return;
    memcpy(buffer->bytes + buffer->used, bytes, count);
    buffer->used += count;
}

void stream_put_byte(struct stream_buffer *buffer, unsigned byte)
{
    if (make_room(buffer, 1))
        buffer->bytes[buffer->used++] = (uint8_t)byte;
}

void stream_put_varint(struct stream_buffer *buffer, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        stream_put_byte(buffer, (unsigned)(value & 0x7f) | 0x80);
    stream_put_byte(buffer, (unsigned)value);
}

bool stream_put_state(struct stream_buffer *buffer, const struct interpret_state *before,
                      const struct interpret_state *after)
{
    uint64_t old[STREAM_WORDS], now[STREAM_WORDS];
    size_t count_at = buffer->used;
    unsigned count = 0;

    stream_words_of(before, old);
    stream_words_of(after, now);
    stream_put_byte(buffer, 0);
    for (unsigned i = 0; i < STREAM_WORDS; i++) {
        if (old[i] == now[i])
            continue;
        stream_put_byte(buffer, i);
        stream_put_varint(buffer, stream_zigzag(now[i] - old[i]));
        count++;
    }
    if (!buffer->failed)
        buffer->bytes[count_at] = (uint8_t)count;
    return count != 0;
}

/* ---- reading -----------------------------------------------------------------------------------
 */

bool stream_get_byte(struct stream_cursor *cursor, uint8_t *byte)
{
    if (cursor->at == cursor->end)
        return false;
    *byte = *cursor->at++;
    return true;
}

bool stream_get_varint(struct stream_cursor *cursor, uint64_t *value)
{
    uint8_t byte = 0;

    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (!stream_get_byte(cursor, &byte) || (shift == 63 && byte > 1))
            return false;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

bool stream_get_bytes(struct stream_cursor *cursor, void *bytes, size_t count)
{
    if (count > (size_t)(cursor->end - cursor->at))
        return false;
    memcpy(bytes, cursor->at, count);
    cursor->at += count;
    return true;
}

bool stream_get_state(struct stream_cursor *cursor, struct interpret_state *state)
{
    uint64_t words[STREAM_WORDS], difference;
    uint8_t count = 0, index = 0;

    if (!stream_get_byte(cursor, &count))
        return false;
    stream_words_of(state, words);
    for (unsigned i = 0; i < count; i++) {
        if (!stream_get_byte(cursor, &index) || index >= STREAM_WORDS ||
            !stream_get_varint(cursor, &difference))
            return false;
        words[index] += stream_unzigzag(difference);
    }
    stream_state_of(words, state);
    return true;
}
