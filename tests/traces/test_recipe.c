/*
 * What each kind of instruction reads and writes, against the manual's operation sections: one row
 * per form, its bytes and the accesses expected with the registers below.
 */
#include "recipe.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct recipe_registers registers = {
    .gpr = {0x10005, 0x20000, 0x30000, 0x40000, 0x50000, 0x60000, 0x70000, 0x80000},
    .fs_base = 0xf0000000,
    .gs_base = 0xe0000000,
};

struct row {
    const char *text, *bytes, *accesses;
};

static const struct row rows[] = {
    /* moves and arithmetic */
    {"mov eax, ebx", "89d8", ""},
    {"mov eax, [ebx]", "8b03", "r40000/4"},
    {"mov [ebx+ecx*4-8], eax", "89448bf8", "wbfff8/4"},
    {"mov [0x1234], eax", "a334120000", "w1234/4"},
    {"mov al, [0x1234]", "a034120000", "r1234/1"},
    {"mov word [ebx], 1", "66c7030100", "w40000/2"},
    {"mov gs:[4], eax", "65a304000000", "we0000004/4"},
    {"mov eax, fs:[ebx]", "648b03", "rf0040000/4"},
    {"mov [ebx], ds", "8c1b", "w40000/2"},
    {"lea eax, [ebx]", "8d03", ""},
    {"nop [eax]", "0f1f4000", ""},
    {"add [ebx], eax", "0103", "r40000/4 w40000/4"},
    {"lock add [ebx], eax", "f00103", "r40000/4 w40000/4"},
    {"add eax, [ebx]", "0303", "r40000/4"},
    {"cmp [ebx], eax", "3903", "r40000/4"},
    {"cmp dword [ebx], 1", "833b01", "r40000/4"},
    {"sub dword [ebx], 1", "832b01", "r40000/4 w40000/4"},
    {"test [ebx], al", "8403", "r40000/1"},
    {"test dword [ebx], 1", "f70301000000", "r40000/4"},
    {"not byte [ebx]", "f613", "r40000/1 w40000/1"},
    {"mul dword [ebx]", "f723", "r40000/4"},
    {"idiv word [ebx]", "66f73b", "r40000/2"},
    {"imul eax, [ebx], 3", "6b0303", "r40000/4"},
    {"inc dword [ebx]", "ff03", "r40000/4 w40000/4"},
    {"shl dword [ebx], 1", "d123", "r40000/4 w40000/4"},
    {"shld [ebx], eax, 1", "0fa40301", "r40000/4 w40000/4"},
    {"xchg [ebx], eax", "8703", "r40000/4 w40000/4"},
    {"cmpxchg [ebx], ecx", "0fb10b", "r40000/4 w40000/4"},
    {"cmpxchg8b [ebx]", "0fc70b", "r40000/8 w40000/8"},
    {"xadd [ebx], ecx", "0fc10b", "r40000/4 w40000/4"},
    {"movzx eax, byte [ebx]", "0fb603", "r40000/1"},
    {"movsx eax, word [ebx]", "0fbf03", "r40000/2"},
    {"cmovz eax, [ebx]", "0f4403", "r40000/4"},
    {"setz [ebx]", "0f9403", "w40000/1"},
    {"bswap eax", "0fc8", ""},
    {"bt [ebx], eax", "0fa303", "r42000/4"},
    {"bts [ebx], eax", "0fab03", "r42000/4 w42000/4"},
    {"bt dword [ebx], 5", "0fba2305", "r40000/4"},
    {"btr dword [ebx], 5", "0fba3305", "r40000/4 w40000/4"},
    {"bsf eax, [ebx]", "0fbc03", "r40000/4"},
    {"lds eax, [ebx]", "c503", "r40000/6"},
    {"bound eax, [ebx]", "6203", "r40000/8"},
    {"mov eax, [bx+si+0x10]", "678b4010", "r10/4"},
    {"xlat", "d7", "r40005/1"},
    /* stack and control */
    {"push eax", "50", "w4fffc/4"},
    {"push ax", "6650", "w4fffe/2"},
    {"push 1", "6a01", "w4fffc/4"},
    {"push [ebx]", "ff33", "r40000/4 w4fffc/4"},
    {"push [esp+4]", "ff742404", "r50004/4 w4fffc/4"},
    {"push gs", "0fa8", "w4fffc/4"},
    {"pop eax", "58", "r50000/4"},
    {"pop [ebx]", "8f03", "r50000/4 w40000/4"},
    {"pop [esp]", "8f0424", "r50000/4 w50004/4"},
    {"pop fs", "0fa1", "r50000/4"},
    {"pusha", "60", "w4ffe0/32"},
    {"popa", "61", "r50000/32"},
    {"pushf", "9c", "w4fffc/4"},
    {"popf", "9d", "r50000/4"},
    {"call rel", "e800000000", "w4fffc/4"},
    {"call [ebx]", "ff13", "r40000/4 w4fffc/4"},
    {"call eax", "ffd0", "w4fffc/4"},
    {"jmp [ebx]", "ff23", "r40000/4"},
    {"jmp rel", "eb00", ""},
    {"ret", "c3", "r50000/4"},
    {"ret 8", "c20800", "r50000/4"},
    {"rep ret", "f3c3", "r50000/4"},
    {"call far [ebx]", "ff1b", "r40000/6 w4fff8/8"},
    {"enter 8, 0", "c8080000", "w4fffc/4"},
    {"leave", "c9", "r60000/4"},
    {"int 0x80", "cd80", ""},
    /* string instructions: one element */
    {"movsb", "a4", "r70000/1 w80000/1"},
    {"rep movsd", "f3a5", "r70000/4 w80000/4"},
    {"movsw from fs", "64 66 a5", "rf0070000/2 w80000/2"},
    {"stosd", "ab", "w80000/4"},
    {"lodsb", "ac", "r70000/1"},
    {"repne scasb", "f2ae", "r80000/1"},
    {"repe cmpsd", "f3a7", "r70000/4 r80000/4"},
    {"cmpsb from gs", "65a6", "re0070000/1 r80000/1"},
    /* x87 */
    {"fld dword [ebx]", "d903", "r40000/4"},
    {"fst dword [ebx]", "d913", "w40000/4"},
    {"fld qword [ebx]", "dd03", "r40000/8"},
    {"fstp qword [ebx]", "dd1b", "w40000/8"},
    {"fld tbyte [ebx]", "db2b", "r40000/10"},
    {"fstp tbyte [ebx]", "db3b", "w40000/10"},
    {"fild word [ebx]", "df03", "r40000/2"},
    {"fistp qword [ebx]", "df3b", "w40000/8"},
    {"fbld [ebx]", "df23", "r40000/10"},
    {"fbstp [ebx]", "df33", "w40000/10"},
    {"fadd qword [ebx]", "dc03", "r40000/8"},
    {"ficom dword [ebx]", "da13", "r40000/4"},
    {"fldcw [ebx]", "d92b", "r40000/2"},
    {"fnstcw [ebx]", "d93b", "w40000/2"},
    {"fnstsw [ebx]", "dd3b", "w40000/2"},
    {"fnstsw ax", "dfe0", ""},
    {"fldenv [ebx]", "d923", "r40000/28"},
    {"fnstenv [ebx]", "d933", "w40000/28"},
    {"frstor [ebx]", "dd23", "r40000/108"},
    {"fnsave [ebx]", "dd33", "w40000/108"},
    {"fxsave [ebx]", "0fae03", "w40000/512"},
    {"fxrstor [ebx]", "0fae0b", "r40000/512"},
    {"fld st1", "d9c1", ""},
    /* MMX, SSE, SSE2 */
    {"movd mm0, [ebx]", "0f6e03", "r40000/4"},
    {"movd [ebx], mm0", "0f7e03", "w40000/4"},
    {"movq mm0, [ebx]", "0f6f03", "r40000/8"},
    {"movq [ebx], mm0", "0f7f03", "w40000/8"},
    {"movq xmm0, [ebx]", "f30f7e03", "r40000/8"},
    {"movq [ebx], xmm0", "660fd603", "w40000/8"},
    {"movdqa xmm0, [ebx]", "660f6f03", "r40000/16"},
    {"movdqa [ebx], xmm0", "660f7f03", "w40000/16"},
    {"movups [ebx], xmm0", "0f1103", "w40000/16"},
    {"movss xmm0, [ebx]", "f30f1003", "r40000/4"},
    {"movsd [ebx], xmm0", "f20f1103", "w40000/8"},
    {"movlps [ebx], xmm0", "0f1303", "w40000/8"},
    {"movhps xmm0, [ebx]", "0f1603", "r40000/8"},
    {"movhpd [ebx], xmm0", "660f1703", "w40000/8"},
    {"movntps [ebx], xmm0", "0f2b03", "w40000/16"},
    {"movnti [ebx], eax", "0fc303", "w40000/4"},
    {"movntq [ebx], mm0", "0fe703", "w40000/8"},
    {"addps xmm0, [ebx]", "0f5803", "r40000/16"},
    {"addsd xmm0, [ebx]", "f20f5803", "r40000/8"},
    {"comiss xmm0, [ebx]", "0f2f03", "r40000/4"},
    {"comisd xmm0, [ebx]", "660f2f03", "r40000/8"},
    {"punpcklbw mm0, [ebx]", "0f6003", "r40000/4"},
    {"punpcklbw xmm0, [ebx]", "660f6003", "r40000/16"},
    {"cvtsi2sd xmm0, [ebx]", "f20f2a03", "r40000/4"},
    {"cvtps2pd xmm0, [ebx]", "0f5a03", "r40000/8"},
    {"cvttpd2pi mm0, [ebx]", "660f2c03", "r40000/16"},
    {"pinsrw xmm0, [ebx], 1", "660fc40301", "r40000/2"},
    {"pshufd xmm0, [ebx], 1", "660f700301", "r40000/16"},
    {"paddd mm0, [ebx]", "0ffe03", "r40000/8"},
    {"maskmovq mm0, mm1", "0ff7c1", "w80000/8"},
    {"maskmovdqu xmm0, xmm1", "660ff7c1", "w80000/16"},
    {"ldmxcsr [ebx]", "0fae13", "r40000/4"},
    {"stmxcsr [ebx]", "0fae1b", "w40000/4"},
    {"prefetcht0 [ebx]", "0f180b", "r40000/1"},
    {"prefetchnta [ebx]", "0f1803", "r40000/1"},
    {"clflush [ebx]", "0fae3b", "r40000/1"},
    {"mfence", "0faef0", ""},
    {"emms", "0f77", ""},
    {"pause", "f390", ""},
    /* later than the Pentium 4's first models, seen in programs all the same */
    {"lddqu xmm0, [ebx]", "f20ff003", "r40000/16"},
    {"movddup xmm0, [ebx]", "f20f1203", "r40000/8"},
    {"fisttp dword [ebx]", "db0b", "w40000/4"},
    {"pextrb [ebx], xmm0, 1", "660f3a140301", "w40000/1"},
    {"pshufb xmm0, [ebx]", "660f380003", "r40000/16"},
    {"endbr32", "f30f1efb", ""},
};

static size_t from_hex(const char *text, uint8_t bytes[TRACE_INSTRUCTION_BYTES])
{
    size_t count = 0;

    while (*text) {
        char pair[3] = {text[0], text[1], 0};
        if (*text == ' ') {
            text++;
            continue;
        }
        bytes[count++] = (uint8_t)strtoul(pair, NULL, 16);
        text += 2;
    }
    return count;
}

static void in_words(const struct recipe *recipe, char out[200])
{
    struct trace_access access[TRACE_ACCESSES];
    unsigned count = recipe_accesses(recipe, &registers, access);
    size_t used = 0;

    out[0] = 0;
    for (unsigned i = 0; i < count; i++)
        used += (size_t)snprintf(out + used, 200 - used, "%s%c%" PRIx64 "/%" PRIu32, i ? " " : "",
                                 access[i].write ? 'w' : 'r', access[i].address, access[i].size);
}

static void each_form_touches_what_the_manual_says(void **state)
{
    struct recipe_decoder *decoder = recipe_decoder_new();
    unsigned wrong = 0;

    (void)state;
    assert_non_null(decoder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t bytes[TRACE_INSTRUCTION_BYTES] = {0};
        size_t count = from_hex(rows[i].bytes, bytes);
        struct recipe recipe;
        char text[200];
        bool known = recipe_decode(decoder, RECIPE_32, bytes, count, &recipe);
        in_words(&recipe, text);
        if (!known || recipe.length != count || strcmp(text, rows[i].accesses) != 0) {
            print_error("%s (%s): length %u, \"%s\", expected length %zu, \"%s\"\n", rows[i].text,
                        rows[i].bytes, recipe.length, text, count, rows[i].accesses);
            wrong++;
        }
    }
    recipe_decoder_free(decoder);
    assert_int_equal(wrong, 0);
}

static void negative_bit_offsets_reach_below_the_operand(void **state)
{
    static const uint8_t bt[] = {0x0f, 0xa3, 0x03}; /* bt [ebx], eax */
    struct recipe_decoder *decoder = recipe_decoder_new();
    struct recipe_registers before = registers;
    struct trace_access access[TRACE_ACCESSES];
    struct recipe recipe;

    (void)state;
    before.gpr[GPR_AX] = 0xffffffff; /* bit -1 lies in the word below */
    assert_true(recipe_decode(decoder, RECIPE_32, bt, sizeof bt, &recipe));
    assert_int_equal(recipe_accesses(&recipe, &before, access), 1);
    assert_int_equal(access[0].address, 0x3fffc);
    recipe_decoder_free(decoder);
}

static void addresses_wrap_at_four_gigabytes(void **state)
{
    static const uint8_t mov[] = {0x65, 0x8b, 0x43, 0xfc}; /* mov eax, gs:[ebx-4] */
    struct recipe_decoder *decoder = recipe_decoder_new();
    struct recipe_registers before = registers;
    struct trace_access access[TRACE_ACCESSES];
    struct recipe recipe;

    (void)state;
    before.gpr[GPR_BX] = 0; /* TLS of i386: offsets below the thread pointer */
    assert_true(recipe_decode(decoder, RECIPE_32, mov, sizeof mov, &recipe));
    recipe_accesses(&recipe, &before, access);
    assert_int_equal(access[0].address, 0xdffffffc);
    recipe_decoder_free(decoder);
}

static void half_an_instruction_is_not_decoded(void **state)
{
    static const uint8_t mov[] = {0xb8, 1, 2, 3, 4};
    struct recipe_decoder *decoder = recipe_decoder_new();
    struct recipe recipe;

    (void)state;
    assert_false(recipe_decode(decoder, RECIPE_32, mov, 4, &recipe));
    assert_int_equal(recipe.kind, RECIPE_UNKNOWN);
    assert_true(recipe_decode(decoder, RECIPE_32, mov, 5, &recipe));
    recipe_decoder_free(decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_touches_what_the_manual_says),
        cmocka_unit_test(negative_bit_offsets_reach_below_the_operand),
        cmocka_unit_test(addresses_wrap_at_four_gigabytes),
        cmocka_unit_test(half_an_instruction_is_not_decoded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
