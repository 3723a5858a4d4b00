/* Cases for the oracle test; see oracle_generate.h. */
#include "oracle_generate.h"

#include <stdlib.h>
#include <string.h>

const struct oracle_form oracle_forms[] = {
#define F(bytes, undefined, name) {bytes, undefined, name},
#include "oracle_forms.def"
#undef F
};
const unsigned oracle_form_count = sizeof oracle_forms / sizeof *oracle_forms;

enum { ESP = 4, EBP = 5, NO_REGISTER = 16, TARGET = ORACLE_CODE + ORACLE_TARGET_OFFSET };

/* A case being made. */
struct maker {
    struct oracle_state *state;
    uint64_t *random;
    const char *form;
    bool wide;      /* 64-bit mode */
    bool fixed[16]; /* registers whose value matters */
    bool operand_16, in_memory;
    uint8_t rex;     /* waits for the opcode */
    unsigned opcode; /* its last byte */
    unsigned reg, rm;
    uint64_t address;  /* of the memory operand */
    unsigned relative; /* where a displacement stands that is from the instruction's end, or 0 */
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

/* An edge of the register's size: one of 32 bits, extended or moved up, or two of them. */
static uint64_t register_edge(const struct maker *maker)
{
    uint64_t value = edge(maker->random);

    if (!maker->wide)
        return value;
    switch (chance(maker->random, 4)) {
    case 0:
        return (uint64_t)(int64_t)(int32_t)value;
    case 1:
        return value;
    default:
        return (uint64_t)edge(maker->random) << 32 | value;
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

    for (unsigned i = 0; i < (maker->wide ? 16 : 8); i++)
        state->gpr[i] = register_edge(maker);
    /* CF, PF, AF, ZF, SF, OF at random; DF now and then; interrupts are enabled. */
    state->flags = (any(random) & 0x8d5) | (chance(random, 4) ? 0 : 0x400) | 0x202;
    /* Sticky bits, rounding, denormals as zero at random; exceptions masked, most times. */
    state->mxcsr = (any(random) & 0xe07f) | 0x1f80;
    if (chance(random, 16) == 0)
        state->mxcsr &= ~0x80u << chance(random, 6) & 0xffff;
    for (unsigned i = 0; i < (maker->wide ? 16 : 8); i++)
        fill(state->xmm[i], random);
    for (unsigned i = 0; i < ORACLE_DATA_BYTES; i += 16)
        fill(state->memory + i, random);
    fill_x87(state->x87, random);
}

static uint32_t place(struct maker *maker)
{
    return ORACLE_DATA + 80 + chance(maker->random, 90);
}

static void fix(struct maker *maker, unsigned number, uint64_t value)
{
    maker->state->gpr[number] = maker->wide ? value : (uint32_t)value;
    maker->fixed[number] = true;
}

/* A pointer to the branches' target at ADDRESS. */
static void put_target(struct maker *maker, uint64_t address)
{
    uint64_t target = TARGET;

    memcpy(maker->state->memory + (address - ORACLE_DATA), &target, maker->wide ? 8 : 4);
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
        fix(maker, 1, chance(maker->random, 4) ? chance(maker->random, maker->wide ? 9 : 17) : 0);
    }
    if (says(maker, "flags")) {
        uint32_t flags = (any(maker->random) & 0xcd5) | 0x202;
        memcpy(state->memory + state->gpr[ESP] - ORACLE_DATA, &flags, 4);
    }
    if (says(maker, "return"))
        put_target(maker, state->gpr[ESP]);
    if (says(maker, "divide") && chance(maker->random, 8)) {
        state->gpr[2] = chance(maker->random, 2) ? (uint64_t)chance(maker->random, 3) - 1 : 0;
        if (!maker->wide)
            state->gpr[2] &= 0xffffffff;
        if (chance(maker->random, 2))
            state->gpr[0] = any(maker->random) & 0x1fff;
    }
}

/* ---- the instruction ---------------------------------------------------------------------------
 */

static void put(struct maker *maker, uint64_t value, unsigned bytes)
{
    struct oracle_state *state = maker->state;

    memcpy(state->code + state->length, &value, bytes);
    state->length += bytes;
}

/* A register that may hold any value, or NO_REGISTER. */
static unsigned free_register(struct maker *maker, unsigned not )
{
    unsigned number = chance(maker->random, 8) | (maker->state->rex & ORACLE_REX_B ? 8 : 0);

    return maker->fixed[number] || number == not ? NO_REGISTER : number;
}

/* A displacement alone: absolute, or from the instruction's end where a SIB byte does not forbid
 * it. */
static void put_displacement(struct maker *maker, uint64_t displacement)
{
    if (maker->wide && !(maker->state->rex & ORACLE_REX_X) && chance(maker->random, 2)) {
        put(maker, (maker->reg & 7) << 3 | 4, 1);
        put(maker, 0x25, 1); /* no base, no index */
    } else {
        put(maker, (maker->reg & 7) << 3 | 5, 1);
        maker->relative = maker->wide ? maker->state->length : 0;
    }
    put(maker, displacement, 4);
}

/* An index register, or NO_REGISTER; number 4 stands for none (12 does not). */
static unsigned index_register(struct maker *maker, unsigned base)
{
    unsigned index = chance(maker->random, 8) | (maker->state->rex & ORACLE_REX_X ? 8 : 0);

    if ((base & 7) == ESP && (maker->state->rex & ORACLE_REX_X) && base < NO_REGISTER)
        return base == 12 ? 8 : 12; /* a SIB byte with some index */
    return chance(maker->random, 2) || index == ESP || index == base ? NO_REGISTER : index;
}

/* ModRM, SIB and displacement of a memory operand whose registers are then set to fit. */
static void put_memory(struct maker *maker)
{
    uint64_t *random = maker->random, mask = maker->wide ? ~(uint64_t)0 : 0xffffffff, rest;
    uint64_t displacement =
        (uint64_t)(int64_t)(chance(random, 2) ? (int32_t)any(random)
                                              : (int32_t)chance(random, 256) - 128);
    unsigned base = free_register(maker, says(maker, "bits") ? maker->reg : NO_REGISTER);
    unsigned index = index_register(maker, base), scale = chance(random, 4);

    maker->address = place(maker);
    if (says(maker, "aligned") && chance(random, 8))
        maker->address &= ~(uint64_t)15;
    if (maker->wide && base == NO_REGISTER)
        index = NO_REGISTER; /* the displacement alone could not make up for it */
    rest = maker->address - (index == NO_REGISTER ? 0 : maker->state->gpr[index] << scale);
    if (base == NO_REGISTER)
        displacement = rest;
    else
        maker->state->gpr[base] = (rest - displacement) & mask;
    if (base == NO_REGISTER && index == NO_REGISTER) {
        put_displacement(maker, displacement);
        return;
    }
    bool narrow = base != NO_REGISTER && displacement + 128 < 256;
    unsigned mod = base == NO_REGISTER ? 0 : narrow ? 1 : 2;
    bool sib = index != NO_REGISTER || (base & 7) == ESP || base == NO_REGISTER;
    put(maker, mod << 6 | (maker->reg & 7) << 3 | (sib ? 4 : base & 7), 1);
    if (sib)
        put(maker,
            scale << 6 | (index == NO_REGISTER ? ESP : index & 7) << 3 |
                (base == NO_REGISTER ? EBP : base & 7),
            1);
    put(maker, displacement, narrow ? 1 : 4);
}

/* /r, /0 and so on; LETTER is m or r where only memory or registers will do. */
static void put_modrm(struct maker *maker, char digit, char letter)
{
    maker->reg = digit == 'r'
                     ? chance(maker->random, 8) | (maker->state->rex & ORACLE_REX_R ? 8 : 0)
                     : (unsigned)(digit - '0');
    maker->in_memory = letter == 'm' || (letter != 'r' && chance(maker->random, 2));
    if (maker->in_memory) {
        if (says(maker, "bits"))
            fix(maker, maker->reg, (uint64_t)(int64_t)((int)chance(maker->random, 1024) - 512));
        put_memory(maker);
        return;
    }
    maker->rm = chance(maker->random, 8);
    put(maker, 0xc0 | (maker->reg & 7) << 3 | maker->rm, 1);
    maker->rm |= maker->state->rex & ORACLE_REX_B ? 8 : 0;
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
    if (maker->wide && chance(maker->random, 4))
        maker->rex = (uint8_t)(0x40 | chance(maker->random, 16));
    maker->state->rex = maker->rex;
}

static bool is_mandatory_prefix(uint32_t byte)
{
    return byte == 0x66 || byte == 0xf2 || byte == 0xf3;
}

static void put_opcode(struct maker *maker, const char *word)
{
    uint32_t byte = (uint32_t)strtoul(word, NULL, 16);

    if (word[2] == '+')
        byte += word[3] == 'a'   ? 8 * chance(maker->random, 8)
                : word[3] == 'c' ? chance(maker->random, 16)
                                 : chance(maker->random, 8);
    if (maker->rex && !is_mandatory_prefix(byte)) {
        put(maker, maker->rex, 1); /* the last prefix of all */
        maker->rex = 0;
    }
    maker->opcode = byte;
    put(maker, byte, 1);
}

static void put_relative(struct maker *maker, unsigned bytes)
{
    put(maker, ORACLE_TARGET_OFFSET - (uint64_t)maker->state->length - bytes, bytes);
}

/* 16 or 32 bits by the operand size; 64 only for mov r, imm. */
static void put_immediate(struct maker *maker)
{
    bool quad = maker->state->rex & ORACLE_REX_W;

    if (quad && (maker->opcode & 0xf8) == 0xb8)
        put(maker, register_edge(maker), 8);
    else
        put(maker, edge(maker->random), maker->operand_16 && !quad ? 2 : 4);
}

/* One word of the form that stands for bytes. False: from here on it is words about the state. */
static bool put_word(struct maker *maker, const char *word, size_t length)
{
    if (word[0] == '/')
        put_modrm(maker, word[1], length > 2 ? word[2] : 0);
    else if (!strncmp(word, "ib", length))
        put(maker, edge(maker->random) & 0xff, 1);
    else if (!strncmp(word, "predicate", length))
        put(maker, chance(maker->random, 8), 1);
    else if (!strncmp(word, "iw", length))
        put(maker, edge(maker->random) & 0xffff, 2);
    else if (!strncmp(word, "iz", length))
        put_immediate(maker);
    else if (!strncmp(word, "rel8", length))
        put_relative(maker, 1);
    else if (!strncmp(word, "rel32", length))
        put_relative(maker, 4);
    else if (!strncmp(word, "moffs", length))
        put(maker, place(maker), maker->wide ? 8 : 4);
    else if (length == 2 || (length == 4 && word[2] == '+'))
        put_opcode(maker, word);
    else
        return false;
    return true;
}

static void put_instruction(struct maker *maker)
{
    const char *word = maker->form;
    struct oracle_state *state = maker->state;

    put_prefixes(maker);
    while (*word) {
        size_t length = strcspn(word, " ");
        if (!put_word(maker, word, length))
            break;
        word += length + (word[length] == ' ');
    }
    if (maker->relative) {
        uint32_t distance = (uint32_t)(maker->address - (ORACLE_CODE + state->length));
        memcpy(state->code + maker->relative, &distance, 4);
    }
}

/* An indirect branch finds the target in its operand, ldmxcsr a value without reserved bits. */
static void aim(struct maker *maker)
{
    if (says(maker, "mxcsr")) {
        uint32_t value = any(maker->random) & 0xffff;
        memcpy(maker->state->memory + maker->address - ORACLE_DATA, &value, 4);
    }
    if (!says(maker, "target"))
        return;
    if (maker->in_memory)
        put_target(maker, maker->address);
    else
        maker->state->gpr[maker->rm] = TARGET;
}

bool oracle_form_exists(const struct oracle_form *form, bool wide)
{
    const struct maker maker = {.form = form->bytes};

    return !says(&maker, wide ? "legacy" : "long");
}

struct oracle_state oracle_generate(const struct oracle_form *form, bool wide, uint64_t *random)
{
    struct oracle_state state = {.outcome = ORACLE_RUN, .wide = wide};
    struct maker maker = {.state = &state, .random = random, .form = form->bytes, .wide = wide};

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
    unsigned mask = state->rex & ORACLE_REX_W ? 63 : 31;

    if (strstr(form->name, ", cl"))
        return (unsigned)state->gpr[1] & mask;
    return strstr(form->name, ", 1") ? 1 : state->code[state->length - 1] & mask;
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
