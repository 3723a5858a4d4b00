/*
 * Whatever the bytes, the decoder answers, and what it answers holds together: every one-byte,
 * two-byte and three-byte opcode, with and without prefixes, with random tails, on each core and in
 * both modes.
 */
#include "decode_lab.h"

enum { TAILS = 40 };

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static void check_uop(const struct nb_uop *uop, const char *text)
{
    if (uop->kind > NB_UOP_NOP || uop->scheduler > NB_SCHED_FAST_ANY || uop->domain >= NB_DOMAINS ||
        uop->unit >= NB_UNITS || uop->fp_class >= NB_FP_CLASSES || uop->access > 1)
        fail_msg("%s: a uop's fields are out of range", text);
    for (unsigned i = 0; i < NB_UOP_SOURCES; i++)
        if (uop->source[i] >= NB_REGISTERS && uop->source[i] != NB_REG_NONE)
            fail_msg("%s: source %u", text, uop->source[i]);
    if (uop->result >= NB_REGISTERS && uop->result != NB_REG_NONE)
        fail_msg("%s: result %u", text, uop->result);
    if (uop->result2 != NB_REG_FLAGS && uop->result2 != NB_REG_LOADS && uop->result2 != NB_REG_NONE)
        fail_msg("%s: second result %u", text, uop->result2);
    bool memory = uop->kind == NB_UOP_LOAD || uop->kind == NB_UOP_STORE_ADDRESS ||
                  uop->kind == NB_UOP_PREFETCH;
    if (memory != (uop->scheduler == NB_SCHED_MEMORY))
        fail_msg("%s: kind %u in scheduler %u", text, uop->kind, uop->scheduler);
    if (uop->busy == 0 ||
        (uop->latency == 0 && uop->kind != NB_UOP_LOAD && uop->kind != NB_UOP_PREFETCH))
        fail_msg("%s: kind %u takes no time", text, uop->kind);
}

/* A temporary is written before it is read, inside the same instruction. */
static void check_temporaries(const struct nb_code *code, const char *text)
{
    bool written[8] = {false};
    for (unsigned i = 0; i < lab_uops(code); i++) {
        const struct nb_uop *uop = &code->uops[i];
        for (unsigned k = 0; k < NB_UOP_SOURCES; k++)
            if (uop->source[k] >= NB_REG_TEMP && uop->source[k] < NB_REG_TEMP + 8 &&
                !written[uop->source[k] - NB_REG_TEMP])
                fail_msg("%s: temporary %u is read before it is written", text,
                         uop->source[k] - NB_REG_TEMP);
        if (uop->result >= NB_REG_TEMP && uop->result < NB_REG_TEMP + 8)
            written[uop->result - NB_REG_TEMP] = true;
    }
}

static void check_bounds(const struct nb_code *code, const char *text)
{
    unsigned n = lab_uops(code);
    if (n == 0 || code->length == 0 || code->length > 15 || code->prefixes >= code->length ||
        code->branch > NB_BRANCH_FAR || code->trace_uops == 0 ||
        code->trace_uops > code->uop_count || code->trace_entries < code->trace_uops)
        fail_msg("%s: %u uops, %u in the trace, %u entries, length %u", text, n, code->trace_uops,
                 code->trace_entries, code->length);
    for (unsigned i = 0; i < n; i++) {
        unsigned flags = code->uops[i].flags;
        if (!!(flags & NB_UOP_FIRST) != (i == 0) || !!(flags & NB_UOP_LAST) != (i == n - 1) ||
            !!(flags & NB_UOP_FROM_ROM) != (i >= code->trace_uops))
            fail_msg("%s: uop %u of %u has flags %x", text, i, n, flags);
    }
    if (!!(code->flags & NB_CODE_REPEATS) != (code->body_count > 0))
        fail_msg("%s: repeats without a body, or a body without repeats", text);
}

static void check_stores(const struct nb_code *code, const char *text)
{
    int addresses = 0, data = 0;
    for (unsigned i = 0; i < lab_uops(code); i++) {
        const struct nb_uop *uop = &code->uops[i];
        data += uop->kind == NB_UOP_STORE_DATA;
        addresses += uop->kind == NB_UOP_STORE_ADDRESS || (uop->flags & NB_UOP_STORE_FUSED);
    }
    if (addresses != data)
        fail_msg("%s: %d store data, %d store addresses", text, data, addresses);
}

static void check(struct nb_decoder *decoder, const uint8_t *bytes, size_t n)
{
    struct nb_code code;
    char text[128];
    if (!nb_decode(decoder, bytes, n, UINT64_C(0x8048000), &code)) {
        assert_true(code.flags & NB_CODE_INVALID);
        return;
    }
    nb_disassemble(decoder, bytes, n, UINT64_C(0x8048000), text, sizeof text);
    check_bounds(&code, text);
    check_temporaries(&code, text);
    check_stores(&code, text);
    for (unsigned i = 0; i < lab_uops(&code); i++)
        check_uop(&code.uops[i], text);
}

static void check_opcode(struct nb_decoder *decoder, const uint8_t *opcode, size_t length,
                         uint64_t *seed)
{
    static const uint8_t prefix[] = {0, 0x66, 0xF2, 0xF3, 0xF0, 0x65, 0x2E, 0x67};
    for (unsigned i = 0; i < TAILS; i++) {
        uint8_t bytes[15];
        size_t at = 0;
        if (prefix[i % sizeof prefix])
            bytes[at++] = prefix[i % sizeof prefix];
        memcpy(bytes + at, opcode, length);
        at += length;
        while (at < sizeof bytes)
            bytes[at++] = (uint8_t)next_random(seed);
        check(decoder, bytes, i % 5 ? sizeof bytes : 1 + next_random(seed) % sizeof bytes);
    }
}

static void check_every_opcode(unsigned model, bool mode_64)
{
    struct nb_decoder *decoder = nb_decoder_new(model, mode_64);
    uint64_t seed = model * 2 + mode_64 + 1;
    assert_non_null(decoder);
    for (unsigned first = 0; first < 256; first++) {
        uint8_t one[] = {(uint8_t)first}, two[] = {0x0F, (uint8_t)first};
        uint8_t map2[] = {0x0F, 0x38, (uint8_t)first}, map3[] = {0x0F, 0x3A, (uint8_t)first};
        check_opcode(decoder, one, sizeof one, &seed);
        check_opcode(decoder, two, sizeof two, &seed);
        check_opcode(decoder, map2, sizeof map2, &seed);
        check_opcode(decoder, map3, sizeof map3, &seed);
    }
    nb_decoder_free(decoder);
}

static void every_opcode_on_model_2(void **state)
{
    (void)state;
    check_every_opcode(2, false);
}

static void every_opcode_on_model_3(void **state)
{
    (void)state;
    check_every_opcode(3, false);
}

static void every_opcode_on_model_4_in_long_mode(void **state)
{
    (void)state;
    check_every_opcode(4, true);
}

/* All of the x87 space: the second byte is part of the opcode. */
static void every_x87_opcode(void **state)
{
    (void)state;
    struct nb_decoder *decoder = nb_decoder_new(2, false);
    assert_non_null(decoder);
    for (unsigned escape = 0xD8; escape <= 0xDF; escape++)
        for (unsigned modrm = 0; modrm < 256; modrm++) {
            uint8_t bytes[15] = {(uint8_t)escape, (uint8_t)modrm};
            check(decoder, bytes, sizeof bytes);
        }
    nb_decoder_free(decoder);
}

static void the_arena_outlives_many_blocks(void **state)
{
    (void)state;
    static const uint8_t div[] = {0xF7, 0xF1};
    struct nb_decoder *decoder = nb_decoder_new(2, false);
    struct nb_code first, code;
    assert_non_null(decoder);
    assert_true(nb_decode(decoder, div, sizeof div, 0, &first));
    for (unsigned i = 0; i < 2000; i++)
        assert_true(nb_decode(decoder, div, sizeof div, i, &code));
    assert_memory_equal(first.uops, code.uops, first.uop_count * sizeof *code.uops);
    nb_decoder_free(decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_opcode_on_model_2),
        cmocka_unit_test(every_opcode_on_model_3),
        cmocka_unit_test(every_opcode_on_model_4_in_long_mode),
        cmocka_unit_test(every_x87_opcode),
        cmocka_unit_test(the_arena_outlives_many_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
