/*
 * From bytes to access recipe. Capstone gives the length and the address expression; whether an
 * operand is read, written or both comes from the opcode tables below, because the manual's
 * operation sections are the contract and Capstone's own access marks differ in places.
 */
#include "recipe.h"
#include "effects_decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <capstone/capstone.h>

/* How an address is found beyond base + index * scale + displacement. */
enum recipe_form {
    FORM_PLAIN,
    FORM_BIT_STRING, /* bt, bts, btr, btc with a register bit offset: may lie far from the operand
                      */
    FORM_XLAT,       /* ebx + al */
};

struct recipe_decoder {
    csh handle[2]; /* by enum recipe_mode */
    cs_insn *insn;
};

/*
 * What the ModRM memory operand of each opcode sees: r read, w write, m read and written, g by the
 * /digit (group tables below), . no access or no ModRM. One row per sixteen opcodes.
 */
static const char one_byte_map[] = "mmrr....mmrr...." /* 00 add, or */
                                   "mmrr....mmrr...." /* 10 adc, sbb */
                                   "mmrr....mmrr...." /* 20 and, sub */
                                   "mmrr....rrrr...." /* 30 xor, cmp */
                                   "................" /* 40 */
                                   "................" /* 50 */
                                   "..rm.....r.r...." /* 60 bound, arpl, imul */
                                   "................" /* 70 */
                                   "ggggrrmmwwrrw.rw" /* 80 group 1, test, xchg, mov, pop */
                                   "................" /* 90 */
                                   "rrww............" /* A0 mov with an absolute address */
                                   "................" /* B0 */
                                   "mm..rrww........" /* C0 shifts, les, lds, mov */
                                   "mmmm....gggggggg" /* D0 shifts, x87 */
                                   "................" /* E0 */
                                   "......gg......gg" /* F0 groups 3, 4, 5 */;

static const char two_byte_map[] =
    "ggrr.........r.." /* 00 system groups, lar, lsl, prefetchw */
    "rwrwrrrwg......." /* 10 SSE moves, prefetch */
    "........rwrwrrrr" /* 20 SSE moves, conversions, compares */
    "................" /* 30 */
    "rrrrrrrrrrrrrrrr" /* 40 cmov */
    "rrrrrrrrrrrrrrrr" /* 50 SSE arithmetic */
    "rrrrrrrrrrrrrrrr" /* 60 MMX, SSE2 */
    "r...rrr.....rrww" /* 70 */
    "................" /* 80 */
    "wwwwwwwwwwwwwwww" /* 90 setcc */
    "...rmm.....mmmgr" /* A0 bt, shld, bts, shrd, group 15, imul */
    "mmrmrrrrr.gmrrrr" /* B0 cmpxchg, lss, btr, movzx, group 8, btc */
    "mmrwr.rg........" /* C0 xadd, cmpps, movnti, pinsrw, group 9 */
    "rrrrrrwrrrrrrrrr" /* D0 */
    "rrrrrrrwrrrrrrrr" /* E0 movntq, movntdq */
    "rrrrrrr.rrrrrrrr" /* F0 lddqu */;

struct group {
    uint8_t opcode;
    char digits[9]; /* what /0 to /7 do */
};

static const struct group one_byte_groups[] = {
    {0x80, "mmmmmmmr"}, {0x81, "mmmmmmmr"}, {0x82, "mmmmmmmr"}, {0x83, "mmmmmmmr"},
    {0xd8, "rrrrrrrr"}, {0xd9, "r.wwrrww"}, {0xda, "rrrrrrrr"}, {0xdb, "rwww.r.w"},
    {0xdc, "rrrrrrrr"}, {0xdd, "rwwwr.ww"}, {0xde, "rrrrrrrr"}, {0xdf, "rwwwrrww"},
    {0xf6, "rrmmrrrr"}, {0xf7, "rrmmrrrr"}, {0xfe, "mm......"}, {0xff, "mmrrrrr."},
};

static const struct group two_byte_groups[] = {
    {0x00, "wwrrrr.."}, {0x01, "wwrrw.r."}, {0x18, "rrrr...."},
    {0xae, "wrrwwrwr"}, {0xba, "....rmmm"}, {0xc7, ".m.rww.."},
};

/* Operand sizes where Capstone's answer is not the number of bytes transferred. */
struct size_row {
    unsigned id;              /* x86_insn */
    uint16_t bytes, bytes_16; /* 32-bit form, form with an operand-size prefix */
};

static const struct size_row sizes[] = {
    {X86_INS_COMISD, 8, 8},     {X86_INS_LSL, 2, 2},         {X86_INS_PUNPCKLBW, 4, 16},
    {X86_INS_PUNPCKLWD, 4, 16}, {X86_INS_PUNPCKLDQ, 4, 16},  {X86_INS_FNSTSW, 2, 2},
    {X86_INS_COMISS, 4, 4},     {X86_INS_UCOMISS, 4, 4},     {X86_INS_FNSAVE, 108, 94},
    {X86_INS_FRSTOR, 108, 94},  {X86_INS_FNSTENV, 28, 14},   {X86_INS_FLDENV, 28, 14},
    {X86_INS_FXSAVE, 512, 512}, {X86_INS_FXRSTOR, 512, 512}, {X86_INS_LDS, 6, 4},
    {X86_INS_LES, 6, 4},        {X86_INS_LFS, 6, 4},         {X86_INS_LGS, 6, 4},
    {X86_INS_LSS, 6, 4},        {X86_INS_CMPXCHG8B, 8, 8},   {X86_INS_LCALL, 6, 4},
    {X86_INS_LJMP, 6, 4},       {X86_INS_BOUND, 8, 4},       {X86_INS_PREFETCHT0, 1, 1},
    {X86_INS_PREFETCHT1, 1, 1}, {X86_INS_PREFETCHT2, 1, 1},  {X86_INS_PREFETCHNTA, 1, 1},
    {X86_INS_PREFETCHW, 1, 1},  {X86_INS_PREFETCH, 1, 1},    {X86_INS_CLFLUSH, 1, 1},
    {X86_INS_SIDT, 6, 6},       {X86_INS_SGDT, 6, 6},
};

struct recipe_decoder *recipe_decoder_new(void)
{
    struct recipe_decoder *decoder = calloc(1, sizeof *decoder);
    bool good;

    if (!decoder)
        return NULL;
    good = cs_open(CS_ARCH_X86, CS_MODE_32, &decoder->handle[RECIPE_32]) == CS_ERR_OK &&
           cs_open(CS_ARCH_X86, CS_MODE_64, &decoder->handle[RECIPE_64]) == CS_ERR_OK;
    for (unsigned mode = 0; good && mode < 2; mode++)
        cs_option(decoder->handle[mode], CS_OPT_DETAIL, CS_OPT_ON);
    if (good)
        decoder->insn = cs_malloc(decoder->handle[RECIPE_32]);
    if (!decoder->insn) {
        recipe_decoder_free(decoder);
        return NULL;
    }
    return decoder;
}

void recipe_decoder_free(struct recipe_decoder *decoder)
{
    if (!decoder)
        return;
    if (decoder->insn)
        cs_free(decoder->insn, 1);
    for (unsigned mode = 0; mode < 2; mode++)
        if (decoder->handle[mode])
            cs_close(&decoder->handle[mode]);
    free(decoder);
}

/* The bytes of an instruction after its prefixes. */
struct opcode {
    bool two_byte, three_byte, vex;
    bool wide; /* 64-bit mode */
    bool operand_16;
    bool rep_f3, rep_f2;
    uint8_t rex;    /* the prefix, or 0 */
    uint8_t byte;   /* the opcode byte of its map */
    uint8_t digit;  /* /digit of the byte that follows */
    uint8_t modrm;  /* the byte that follows */
    uint8_t second; /* the one after */
};

enum { REX_R = 4, REX_W = 8 };

static bool is_prefix(uint8_t byte)
{
    static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
                                       0x66, 0x67, 0xf0, 0xf2, 0xf3};
    return memchr(prefixes, byte, sizeof prefixes) != NULL;
}

/* Bytes of an operand of the general size, and of one the stack holds. */
static unsigned word_size(const struct opcode *op)
{
    return op->rex & REX_W ? 8 : op->operand_16 ? 2 : 4;
}

static unsigned stack_size(const struct opcode *op)
{
    return op->operand_16 && !(op->rex & REX_W) ? 2 : op->wide ? 8 : 4;
}

static struct opcode opcode_of(enum recipe_mode mode, const uint8_t *bytes, unsigned length)
{
    uint8_t padded[TRACE_INSTRUCTION_BYTES + 6] = {0};
    struct opcode op = {.wide = mode == RECIPE_64};
    unsigned i = 0;

    memcpy(padded, bytes, length);
    for (; i < length && is_prefix(padded[i]); i++) {
        op.operand_16 |= padded[i] == 0x66;
        op.rep_f3 |= padded[i] == 0xf3;
        op.rep_f2 |= padded[i] == 0xf2;
    }
    if (op.wide && (padded[i] & 0xf0) == 0x40)
        op.rex = padded[i++];
    op.vex = (padded[i] == 0xc4 || padded[i] == 0xc5 || padded[i] == 0x62) &&
             (op.wide || padded[i + 1] >= 0xc0);
    if (padded[i] == 0x0f) {
        op.two_byte = true;
        i++;
        if (padded[i] == 0x38 || padded[i] == 0x3a) {
            op.three_byte = true;
            i++;
        }
    }
    op.byte = padded[i];
    op.modrm = padded[i + 1];
    op.digit = (op.modrm >> 3) & 7;
    op.second = padded[i + 2];
    return op;
}

static char group_letter(const struct group *groups, size_t count, const struct opcode *op)
{
    for (size_t i = 0; i < count; i++)
        if (groups[i].opcode == op->byte)
            return groups[i].digits[op->digit];
    return '.';
}

/* 'r', 'w', 'm' or '.': what the instruction does to its explicit memory operand. */
static char operand_letter(const struct opcode *op, unsigned operand)
{
    char letter;

    if (op->vex || op->three_byte)
        return operand == 0 ? 'w' : 'r';
    if (op->two_byte) {
        if (op->byte == 0x7e && op->rep_f3)
            return 'r'; /* movq load shares the opcode of the movd store */
        letter = two_byte_map[op->byte];
        return letter == 'g' ? group_letter(two_byte_groups,
                                            sizeof two_byte_groups / sizeof *two_byte_groups, op)
                             : letter;
    }
    if (op->wide && op->byte == 0x63)
        return 'r'; /* movsxd stands where arpl was */
    letter = one_byte_map[op->byte];
    return letter == 'g'
               ? group_letter(one_byte_groups, sizeof one_byte_groups / sizeof *one_byte_groups, op)
               : letter;
}

static uint16_t operand_size(const cs_insn *insn, const struct opcode *op, unsigned capstone_size)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].id == insn->id)
            return op->operand_16 ? sizes[i].bytes_16 : sizes[i].bytes;
    return (uint16_t)(capstone_size ? capstone_size : 4);
}

/* The registers an address can be made of. */
static uint8_t gpr_of(x86_reg reg)
{
    static const x86_reg names[][3] = {
        {X86_REG_AX, X86_REG_EAX, X86_REG_RAX},    {X86_REG_CX, X86_REG_ECX, X86_REG_RCX},
        {X86_REG_DX, X86_REG_EDX, X86_REG_RDX},    {X86_REG_BX, X86_REG_EBX, X86_REG_RBX},
        {X86_REG_SP, X86_REG_ESP, X86_REG_RSP},    {X86_REG_BP, X86_REG_EBP, X86_REG_RBP},
        {X86_REG_SI, X86_REG_ESI, X86_REG_RSI},    {X86_REG_DI, X86_REG_EDI, X86_REG_RDI},
        {X86_REG_R8W, X86_REG_R8D, X86_REG_R8},    {X86_REG_R9W, X86_REG_R9D, X86_REG_R9},
        {X86_REG_R10W, X86_REG_R10D, X86_REG_R10}, {X86_REG_R11W, X86_REG_R11D, X86_REG_R11},
        {X86_REG_R12W, X86_REG_R12D, X86_REG_R12}, {X86_REG_R13W, X86_REG_R13D, X86_REG_R13},
        {X86_REG_R14W, X86_REG_R14D, X86_REG_R14}, {X86_REG_R15W, X86_REG_R15D, X86_REG_R15},
        {X86_REG_IP, X86_REG_EIP, X86_REG_RIP},
    };

    for (uint8_t i = 0; i < sizeof names / sizeof *names; i++)
        if (reg == names[i][0] || reg == names[i][1] || reg == names[i][2])
            return i;
    return GPR_NONE;
}

static uint8_t segment_of(x86_reg reg)
{
    return reg == X86_REG_FS ? 'f' : reg == X86_REG_GS ? 'g' : 0;
}

/* Accesses are kept reads first, then writes, each kind in the order in which they are added. */
static void add_access(struct recipe *recipe, struct recipe_access access)
{
    unsigned at = recipe->access_count;

    if (at == TRACE_ACCESSES)
        return;
    if (!access.write)
        while (at > 0 && recipe->access[at - 1].write)
            at--;
    memmove(&recipe->access[at + 1], &recipe->access[at],
            (recipe->access_count - at) * sizeof recipe->access[0]);
    recipe->access[at] = access;
    recipe->access_count++;
}

static void add_register_access(struct recipe *recipe, enum recipe_gpr base, int32_t displacement,
                                unsigned size, bool write)
{
    add_access(recipe, (struct recipe_access){.base = (uint8_t)base,
                                              .index = GPR_NONE,
                                              .scale = 1,
                                              .displacement = displacement,
                                              .size = (uint16_t)size,
                                              .write = write});
}

static void add_push(struct recipe *recipe, unsigned size)
{
    add_register_access(recipe, GPR_SP, -(int32_t)size, size, true);
}

static void add_pop(struct recipe *recipe, unsigned size)
{
    add_register_access(recipe, GPR_SP, 0, size, false);
}

/* The ModRM or absolute operand of insn, with its direction from the opcode tables. */
static void add_explicit(struct recipe *recipe, const cs_insn *insn, const struct opcode *op)
{
    const cs_x86 *x86 = &insn->detail->x86;

    for (uint8_t i = 0; i < x86->op_count; i++) {
        const cs_x86_op *operand = &x86->operands[i];
        char letter = operand_letter(op, i);
        if (operand->type != X86_OP_MEM || letter == '.')
            continue;
        struct recipe_access access = {
            .base = gpr_of(operand->mem.base),
            .index = gpr_of(operand->mem.index),
            .scale = (uint8_t)operand->mem.scale,
            .displacement = operand->mem.disp,
            .segment = segment_of(operand->mem.segment),
            .size = operand_size(insn, op, operand->size),
        };
        if (!op->two_byte && op->byte == 0x8f && access.base == GPR_SP)
            access.displacement += stack_size(op); /* pop: ESP is already incremented */
        if (recipe->bit_offset != GPR_NONE)
            access.form = FORM_BIT_STRING;
        access.write = letter == 'w';
        add_access(recipe, access);
        access.write = true;
        if (letter == 'm')
            add_access(recipe, access);
        return;
    }
}

/* String instructions: the source may carry a segment override, the destination never. */
static bool add_string(struct recipe *recipe, const cs_insn *insn, const struct opcode *op)
{
    unsigned size = op->byte & 1 ? word_size(op) : 1;
    uint8_t low = op->byte & 0xfe;
    bool compares = low == 0xa6 || low == 0xae;
    bool source = low == 0xa4 || low == 0xa6 || low == 0xac || low == 0x6e;
    bool destination = low == 0xa4 || low == 0xaa || low == 0x6c || compares;

    if (op->two_byte || op->vex || !(source || destination))
        return false;
    recipe->string = true;
    recipe->repeated = op->rep_f3 || op->rep_f2;
    if (source) {
        add_register_access(recipe, GPR_SI, 0, size, false);
        for (unsigned i = 0; i < insn->size && is_prefix(recipe->bytes[i]); i++)
            if (recipe->bytes[i] == 0x64 || recipe->bytes[i] == 0x65)
                recipe->access[0].segment = recipe->bytes[i] == 0x64 ? 'f' : 'g';
    }
    if (destination)
        add_register_access(recipe, GPR_DI, 0, size, !compares);
    return true;
}

static void add_enter(struct recipe *recipe, unsigned level, unsigned word)
{
    level &= 31;
    if (level > 1)
        add_register_access(recipe, GPR_BP, -(int32_t)(word * (level - 1)), word * (level - 1),
                            false);
    add_push(recipe, word * (level + 1));
}

/* Stack accesses and fixed-register accesses of the one-byte opcodes. */
static void add_implicit_one_byte(struct recipe *recipe, const struct opcode *op)
{
    unsigned word = stack_size(op),
             far = word_size(op); /* far transfers have operands of their own */

    switch (op->byte) {
    case 0x06:
    case 0x0e:
    case 0x16:
    case 0x1e: /* push segment register */
    case 0x50:
    case 0x51:
    case 0x52:
    case 0x53:
    case 0x54: /* push register */
    case 0x55:
    case 0x56:
    case 0x57:
    case 0x68:
    case 0x6a: /* push immediate */
    case 0x9c: /* pushf */
    case 0xe8: /* call */
        add_push(recipe, word);
        break;
    case 0x07:
    case 0x17:
    case 0x1f: /* pop segment register */
    case 0x58:
    case 0x59:
    case 0x5a:
    case 0x5b:
    case 0x5c: /* pop register */
    case 0x5d:
    case 0x5e:
    case 0x5f:
    case 0x8f: /* pop memory */
    case 0x9d: /* popf */
    case 0xc2:
    case 0xc3: /* ret */
        add_pop(recipe, word);
        break;
    case 0x60:
        add_push(recipe, 8 * word);
        break;
    case 0x61:
        add_pop(recipe, 8 * word);
        break;
    case 0x9a:
        add_push(recipe, 2 * far);
        break;
    case 0xca:
    case 0xcb:
        add_pop(recipe, 2 * far);
        break;
    case 0xcf:
        add_pop(recipe, (op->wide ? 5 : 3) * far);
        break;
    case 0xc8:
        add_enter(recipe, recipe->bytes[recipe->length - 1], op->wide ? 8 : 4);
        break;
    case 0xc9:
        add_register_access(recipe, GPR_BP, 0, word, false);
        break;
    case 0xff:
        if (op->digit == 2 || op->digit == 6)
            add_push(recipe, word);
        else if (op->digit == 3)
            add_push(recipe, 2 * far);
        break;
    case 0xd7:
        add_register_access(recipe, GPR_BX, 0, 1, false);
        recipe->access[recipe->access_count - 1].form = FORM_XLAT;
        break;
    default:
        break;
    }
}

static void add_implicit_two_byte(struct recipe *recipe, const struct opcode *op)
{
    unsigned word = stack_size(op);

    switch (op->byte) {
    case 0xa0:
    case 0xa8: /* push fs, gs */
        add_push(recipe, word);
        break;
    case 0xa1:
    case 0xa9: /* pop fs, gs */
        add_pop(recipe, word);
        break;
    case 0xf7: /* maskmovq, maskmovdqu */
        add_register_access(recipe, GPR_DI, 0, op->operand_16 ? 16 : 8, true);
        break;
    default:
        break;
    }
}

static uint8_t kind_of(const struct opcode *op)
{
    if (op->vex || op->three_byte)
        return RECIPE_PLAIN;
    if (op->two_byte)
        return op->byte == 0xa2                       ? RECIPE_CPUID
               : op->byte == 0x31                     ? RECIPE_RDTSC
               : op->byte == 0x33                     ? RECIPE_RDPMC
               : op->byte == 0x32                     ? RECIPE_RDMSR
               : op->byte == 0x30                     ? RECIPE_WRMSR
               : op->byte == 0x34 || op->byte == 0x05 ? RECIPE_SYSTEM_CALL
               : op->byte == 0xb2                     ? RECIPE_LOAD_SS
                                                      : RECIPE_PLAIN;
    switch (op->byte) {
    case 0x9c:
        return RECIPE_PUSHF;
    case 0xcd:
        return op->modrm == 0x80 ? RECIPE_SYSTEM_CALL : RECIPE_TRAP;
    case 0xcc:
    case 0xf1:
    case 0xce:
        return RECIPE_TRAP;
    case 0x17:
        return RECIPE_LOAD_SS;
    case 0x8e:
        return op->digit == 2 ? RECIPE_LOAD_SS : RECIPE_PLAIN;
    default:
        return RECIPE_PLAIN;
    }
}

/* bt, bts, btr, btc m, reg: the register is a signed bit offset from the operand's address. */
static uint8_t bit_offset_register(const struct opcode *op)
{
    bool bit_test = op->two_byte && !op->three_byte &&
                    (op->byte == 0xa3 || op->byte == 0xab || op->byte == 0xb3 || op->byte == 0xbb);
    return bit_test ? (uint8_t)(op->digit | (op->rex & REX_R ? 8 : 0)) : GPR_NONE;
}

/* Addresses of BYTES; instructions that have none say 0. */
static uint64_t mask_of(unsigned bytes, enum recipe_mode mode)
{
    if (!bytes)
        bytes = mode == RECIPE_64 ? 8 : 4;
    return ~(uint64_t)0 >> (64 - 8 * bytes);
}

bool recipe_decode(struct recipe_decoder *decoder, enum recipe_mode mode, const uint8_t *bytes,
                   size_t count, struct recipe *recipe)
{
    const uint8_t *code = bytes;
    size_t left = count < TRACE_INSTRUCTION_BYTES ? count : TRACE_INSTRUCTION_BYTES;
    uint64_t address = 0;

    *recipe = (struct recipe){.kind = RECIPE_UNKNOWN,
                              .bit_offset = GPR_NONE,
                              .mode = (uint8_t)mode,
                              .effects = {.reads = EFFECT_ALL, .writes = EFFECT_ALL}};
    memcpy(recipe->bytes, bytes, left);
    if (!cs_disasm_iter(decoder->handle[mode], &code, &left, &address, decoder->insn))
        return false;
    const cs_insn *insn = decoder->insn;
    struct opcode op = opcode_of(mode, bytes, insn->size);
    recipe->length = (uint8_t)insn->size;
    memset(recipe->bytes + insn->size, 0, sizeof recipe->bytes - insn->size);
    recipe->kind = kind_of(&op);
    recipe->address_mask = mask_of(insn->detail->x86.addr_size, mode);
    recipe->bit_offset = bit_offset_register(&op);
    recipe->effects = effects_of(decoder->handle[mode], insn);
    if (add_string(recipe, insn, &op)) {
        if (recipe->repeated)
            effects_repeat(&recipe->effects);
        return true;
    }
    add_explicit(recipe, insn, &op);
    if (op.vex || op.three_byte)
        return true;
    if (op.two_byte)
        add_implicit_two_byte(recipe, &op);
    else
        add_implicit_one_byte(recipe, &op);
    return true;
}

/* Bytes by which a register bit offset moves the access (manual: BitBase plus whole operands). */
static uint64_t bit_string_bytes(const struct recipe *recipe, const struct recipe_access *access,
                                 const struct recipe_registers *registers)
{
    uint64_t value = registers->gpr[recipe->bit_offset & 15];

    if (access->size == 8)
        return (uint64_t)(((int64_t)value >> 6) * 8);
    if (access->size == 2)
        return (uint64_t)((int64_t)((int16_t)value >> 4) * 2);
    return (uint64_t)((int64_t)((int32_t)value >> 5) * 4);
}

static uint64_t access_address(const struct recipe *recipe, const struct recipe_access *access,
                               const struct recipe_registers *registers)
{
    uint64_t address = (uint64_t)access->displacement;
    uint64_t widest = recipe->mode == RECIPE_64 ? ~(uint64_t)0 : 0xffffffff;

    if (access->base == GPR_IP)
        address += registers->ip + recipe->length;
    else if (access->base != GPR_NONE)
        address += registers->gpr[access->base];
    if (access->index != GPR_NONE)
        address += registers->gpr[access->index] * access->scale;
    if (access->form == FORM_BIT_STRING)
        address += bit_string_bytes(recipe, access, registers);
    else if (access->form == FORM_XLAT)
        address += registers->gpr[GPR_AX] & 0xff;
    /* The stack's address size is the mode's whatever the prefix says. */
    address &= access->base == GPR_SP ? widest : recipe->address_mask;
    if (access->segment == 'f')
        address += registers->fs_base;
    else if (access->segment == 'g')
        address += registers->gs_base;
    return address & widest;
}

unsigned recipe_accesses(const struct recipe *recipe, const struct recipe_registers *registers,
                         struct trace_access out[TRACE_ACCESSES])
{
    for (unsigned i = 0; i < recipe->access_count; i++) {
        out[i].address = access_address(recipe, &recipe->access[i], registers);
        out[i].size = recipe->access[i].size;
        out[i].write = recipe->access[i].write;
    }
    return recipe->access_count;
}

void recipe_disassemble(struct recipe_decoder *decoder, const struct recipe *recipe, uint64_t ip,
                        char text[96])
{
    const uint8_t *code = recipe->bytes;
    size_t left = recipe->length;

    snprintf(text, 96, "(unknown bytes)");
    if (cs_disasm_iter(decoder->handle[recipe->mode], &code, &left, &ip, decoder->insn))
        snprintf(text, 96, "%.32s%s%.60s", decoder->insn->mnemonic,
                 decoder->insn->op_str[0] ? " " : "", decoder->insn->op_str);
}
