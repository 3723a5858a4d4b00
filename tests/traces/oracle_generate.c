/* Cases for the oracle test; see oracle_generate.h. */
#include "oracle_generate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const struct oracle_form oracle_forms[] = {
#define F(bytes, undefined, name) {bytes, undefined, name},
#include "oracle_forms.def"
#undef F
};
const unsigned oracle_form_count = sizeof oracle_forms / sizeof *oracle_forms;

enum { ESP = 4, EBP = 5, NO_REGISTER = 8, TARGET = ORACLE_CODE + ORACLE_TARGET_OFFSET };

/* A case being made. */
struct maker {
    struct oracle_state *state;
    uint64_t *random;
    const char *form;
    bool fixed[8]; /* registers whose value matters */
    bool operand_16, in_memory;
    unsigned reg, rm;
    uint32_t address; /* of the memory operand */
};

static uint32_t chance(uint64_t *random, uint32_t among)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (uint32_t)(*random >> 24) % among;
}

static uint32_t any(uint64_t *random)
{
    return chance(random, 0x10000) << 16 | chance(random, 0x10000);
}

static uint32_t edge(uint64_t *random)
{
    static const uint32_t edges[] = {0,          1,          2,      0x7f,   0x80,   0xff,
                                     0x7fff,     0x8000,     0xffff, 0x1000, 0x1f,   0x20,
                                     0x7fffffff, 0x80000000, ~0u,    ~1u,    0xff80, 0xffff8000};

    switch (chance(random, 4)) {
    case 0:
        return edges[chance(random, sizeof edges / sizeof *edges)];
    case 1:
        return chance(random, 64);
    case 2:
        return edges[chance(random, sizeof edges / sizeof *edges)] + chance(random, 5) - 2;
    default:
        return any(random);
    }
}

static bool says(const struct maker *maker, const char *word)
{
    const char *at = strstr(maker->form, word);
    size_t length = strlen(word);

    return at && (at == maker->form || at[-1] == ' ') && (at[length] == ' ' || !at[length]);
}

/* ---- the state ---------------------------------------------------------------------------------
 */

static uint32_t float_edge(uint64_t *random)
{
    static const uint32_t edges[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000,
                                     0xff800000, 0x7fc00000, 0x7fa00000, 1,          0x007fffff,
                                     0x00800000, 0x7f7fffff, 0x3ff00000, 0x7ff00000, 0x7ff80000,
                                     0xfff00000, 0x4f000000, 0x41e00000, 0x3fe00000, 0xc0000000};

    return edges[chance(random, sizeof edges / sizeof *edges)];
}

/* Sixteen bytes: random, few different bytes, floating-point edges, small numbers. */
static void fill(uint8_t *bytes, uint64_t *random)
{
    unsigned kind = chance(random, 4);

    for (unsigned i = 0; i < 16; i += 4) {
        uint32_t value = kind == 0   ? any(random)
                         : kind == 1 ? 0xffu * (any(random) & 0x01010101)
                         : kind == 2 ? float_edge(random)
                                     : edge(random);
        memcpy(bytes + i, &value, 4);
    }
}

/* A register of ten bytes: zeros, ones, infinities, NaNs, denormals, integers, random bits. */
static void fill_extended(uint8_t *bytes, uint64_t *random)
{
    static const uint16_t exponents[] = {0,      1,      0x3fff, 0x4000, 0x3ffe, 0x4005, 0x401e,
                                         0x403e, 0x407e, 0x43fe, 0x3c01, 0x7ffe, 0x7fff};
    uint16_t exponent = chance(random, 4)
                            ? exponents[chance(random, sizeof exponents / sizeof *exponents)]
                            : (uint16_t)chance(random, 0x8000);
    uint64_t mantissa = (uint64_t)edge(random) << 32 | edge(random);

    if (chance(random, 3) == 0)
        mantissa = 0;
    if (chance(random, 8))
        mantissa |= exponent ? (uint64_t)1 << 63 : 0;
    exponent = (uint16_t)(exponent | chance(random, 2) << 15);
    memcpy(bytes, &mantissa, 8);
    memcpy(bytes + 8, &exponent, 2);
}

/* Rounding and precision at random, exceptions masked most times, any top of stack. */
static void fill_x87(uint8_t x87[160], uint64_t *random)
{
    static const uint16_t precisions[] = {0, 0x200, 0x300, 0x300};
    uint16_t control = (uint16_t)(0x7f | precisions[chance(random, 4)] | chance(random, 4) << 10);
    uint16_t status = (uint16_t)(chance(random, 0x10000) & 0x7f7f);
    uint32_t mxcsr = 0x1f80;

    if (chance(random, 16) == 0)
        control = (uint16_t)(control & ~(1u << chance(random, 6)));
    if (chance(random, 2))
        status &= 0x7f00;
    status = (uint16_t)(status & ~(~control & 0x3f)); /* none of them waits for its handler */
    memcpy(x87, &control, 2);
    memcpy(x87 + 2, &status, 2);
    x87[4] = (uint8_t)(chance(random, 4) ? 0xff : chance(random, 256));
    memcpy(x87 + 24, &mxcsr, 4);
    for (unsigned i = 0; i < 8; i++)
        fill_extended(x87 + 32 + 16 * i, random);
}

static void fill_state(struct maker *maker)
{
    struct oracle_state *state = maker->state;
    uint64_t *random = maker->random;

    for (unsigned i = 0; i < 8; i++)
        state->gpr[i] = edge(random);
    /* CF, PF, AF, ZF, SF, OF at random; DF now and then; interrupts are enabled. */
    state->flags = (any(random) & 0x8d5) | (chance(random, 4) ? 0 : 0x400) | 0x202;
    /* Sticky bits, rounding, denormals as zero at random; exceptions masked, most times. */
    state->mxcsr = (any(random) & 0xe07f) | 0x1f80;
    if (chance(random, 16) == 0)
        state->mxcsr &= ~0x80u << chance(random, 6) & 0xffff;
    for (unsigned i = 0; i < 8; i++)
        fill(state->xmm[i], random);
    for (unsigned i = 0; i < ORACLE_DATA_BYTES; i += 16)
        fill(state->memory + i, random);
    fill_x87(state->x87, random);
}

static uint32_t place(struct maker *maker)
{
    return ORACLE_DATA + 80 + chance(maker->random, 90);
}

static void fix(struct maker *maker, unsigned number, uint32_t value)
{
    maker->state->gpr[number] = value;
    maker->fixed[number] = true;
}

/* What the words of the form ask for before the operand is made. */
static void arrange(struct maker *maker)
{
    struct oracle_state *state = maker->state;

    if (says(maker, "stack"))
        fix(maker, ESP, place(maker));
    if (says(maker, "frame"))
        fix(maker, EBP, place(maker));
    if (says(maker, "table"))
        fix(maker, 3, ORACLE_DATA);
    if (says(maker, "string")) {
        fix(maker, 6, place(maker));
        fix(maker, 7, place(maker));
        fix(maker, 1, chance(maker->random, 4) ? chance(maker->random, 17) : 0);
    }
    if (says(maker, "return"))
        memcpy(state->memory + state->gpr[ESP] - ORACLE_DATA, &(uint32_t){TARGET}, 4);
    if (says(maker, "divide") && chance(maker->random, 8)) {
        state->gpr[2] = chance(maker->random, 2) ? chance(maker->random, 3) - 1 : 0;
        if (chance(maker->random, 2))
            state->gpr[0] = any(maker->random) & 0x1fff;
    }
}

/* ---- the instruction ---------------------------------------------------------------------------
 */

static void put(struct maker *maker, uint32_t value, unsigned bytes)
{
    struct oracle_state *state = maker->state;

    memcpy(state->code + state->length, &value, bytes);
    state->length += bytes;
}

/* A register that may hold any value, or NO_REGISTER. */
static unsigned free_register(struct maker *maker, unsigned not )
{
    unsigned number = chance(maker->random, 8);

    return maker->fixed[number] || number == not ? NO_REGISTER : number;
}

/* ModRM, SIB and displacement of a memory operand whose registers are then set to fit. */
static void put_memory(struct maker *maker)
{
    uint64_t *random = maker->random;
    uint32_t displacement = chance(random, 2) ? any(random) : chance(random, 256) - 128;
    unsigned base = free_register(maker, says(maker, "bits") ? maker->reg : NO_REGISTER);
    unsigned index = chance(random, 2) ? NO_REGISTER : chance(random, 8);
    unsigned scale = chance(random, 4);
    uint32_t rest;

    maker->address = place(maker);
    if (says(maker, "aligned") && chance(random, 8))
        maker->address &= ~15u;
    if (index == ESP || index == base)
        index = NO_REGISTER;
    rest = maker->address - (index == NO_REGISTER ? 0 : maker->state->gpr[index] << scale);
    if (base == NO_REGISTER)
        displacement = rest;
    else
        maker->state->gpr[base] = rest - displacement;
    if (base == NO_REGISTER && index == NO_REGISTER) {
        put(maker, maker->reg << 3 | 5, 1);
        put(maker, displacement, 4);
        return;
    }
    bool narrow = base != NO_REGISTER && displacement + 128 < 256;
    unsigned mod = base == NO_REGISTER ? 0 : narrow ? 1 : 2;
    bool sib = index != NO_REGISTER || base == ESP || base == NO_REGISTER;
    put(maker, mod << 6 | maker->reg << 3 | (sib ? 4 : base), 1);
    if (sib)
        put(maker,
            scale << 6 | (index == NO_REGISTER ? ESP : index) << 3 |
                (base == NO_REGISTER ? EBP : base),
            1);
    put(maker, displacement, narrow ? 1 : 4);
}

/* /r, /0 and so on; LETTER is m or r where only memory or registers will do. */
static void put_modrm(struct maker *maker, char digit, char letter)
{
    maker->reg = digit == 'r' ? chance(maker->random, 8) : (unsigned)(digit - '0');
    maker->in_memory = letter == 'm' || (letter != 'r' && chance(maker->random, 2));
    if (maker->in_memory) {
        if (says(maker, "bits"))
            fix(maker, maker->reg, chance(maker->random, 1024) - 512);
        put_memory(maker);
        return;
    }
    maker->rm = chance(maker->random, 8);
    put(maker, 0xc0 | maker->reg << 3 | maker->rm, 1);
}

static void put_prefixes(struct maker *maker)
{
    static const uint8_t segments[] = {0x26, 0x2e, 0x36, 0x3e};

    if (chance(maker->random, 16) == 0)
        put(maker, segments[chance(maker->random, 4)], 1);
    if (says(maker, "rep") && chance(maker->random, 3))
        put(maker, 0xf2 + chance(maker->random, 2), 1);
    maker->operand_16 = says(maker, "o16") && chance(maker->random, 2);
    if (maker->operand_16)
        put(maker, 0x66, 1);
    if (says(maker, "lock") && chance(maker->random, 4) == 0)
        put(maker, 0xf0, 1);
}

static void put_opcode(struct maker *maker, const char *word)
{
    uint32_t byte = (uint32_t)strtoul(word, NULL, 16);

    if (word[2] == '+')
        byte += word[3] == 'a'   ? 8 * chance(maker->random, 8)
                : word[3] == 'c' ? chance(maker->random, 16)
                                 : chance(maker->random, 8);
    put(maker, byte, 1);
}

static void put_relative(struct maker *maker, unsigned bytes)
{
    put(maker, ORACLE_TARGET_OFFSET - maker->state->length - bytes, bytes);
}

/* One word of the form that stands for bytes. False: from here on it is words about the state. */
static bool put_word(struct maker *maker, const char *word, size_t length)
{
    if (word[0] == '/')
        put_modrm(maker, word[1], length > 2 ? word[2] : 0);
    else if (!strncmp(word, "ib", length))
        put(maker, edge(maker->random) & 0xff, 1);
    else if (!strncmp(word, "iw", length))
        put(maker, edge(maker->random) & 0xffff, 2);
    else if (!strncmp(word, "iz", length))
        put(maker, edge(maker->random), maker->operand_16 ? 2 : 4);
    else if (!strncmp(word, "rel8", length))
        put_relative(maker, 1);
    else if (!strncmp(word, "rel32", length))
        put_relative(maker, 4);
    else if (!strncmp(word, "moffs", length))
        put(maker, place(maker), 4);
    else if (length == 2 || (length == 4 && word[2] == '+'))
        put_opcode(maker, word);
    else
        return false;
    return true;
}

static void put_instruction(struct maker *maker)
{
    const char *word = maker->form;

    put_prefixes(maker);
    while (*word) {
        size_t length = strcspn(word, " ");
        if (!put_word(maker, word, length))
            return;
        word += length + (word[length] == ' ');
    }
}

/* An indirect branch finds the target in its operand. */
static void aim(struct maker *maker)
{
    if (!says(maker, "target"))
        return;
    if (maker->in_memory)
        memcpy(maker->state->memory + maker->address - ORACLE_DATA, &(uint32_t){TARGET}, 4);
    else
        maker->state->gpr[maker->rm] = TARGET;
}

struct oracle_state oracle_generate(const struct oracle_form *form, uint64_t *random)
{
    struct oracle_state state = {.outcome = ORACLE_RUN};
    struct maker maker = {.state = &state, .random = random, .form = form->bytes};

    fill_state(&maker);
    arrange(&maker);
    put_instruction(&maker);
    aim(&maker);
    return state;
}

/* ---- what may differ ---------------------------------------------------------------------------
 */

/* The count of a shift: the last byte, or CL. */
static unsigned shift_count(const struct oracle_form *form, const struct oracle_state *state)
{
    if (strstr(form->name, ", cl"))
        return state->gpr[1] & 31;
    return strstr(form->name, ", 1") ? 1 : state->code[state->length - 1] & 31;
}

uint32_t oracle_undefined_flags(const struct oracle_form *form, const struct oracle_state *state)
{
    static const char letters[] = "CPAZSO";
    static const uint32_t flags[] = {1, 4, 0x10, 0x40, 0x80, 0x800};
    uint32_t mask = 0;

    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
        bool always = strchr(form->undefined, letters[i]) != NULL;
        bool by_count = strchr(form->undefined, letters[i] + ('a' - 'A')) != NULL;
        if (always || (by_count && shift_count(form, state) != 1))
            mask |= flags[i];
    }
    return mask;
}
