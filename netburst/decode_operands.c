/*
 * Operands: Capstone's registers as the renamer's, addresses, and the tokens the form table
 * matches.
 */
#include "decode.h"
#include <stdio.h>
#include <string.h>

/* General registers by number, one column per width. */
static const x86_reg general[16][5] = {
    {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
    {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
    {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
    {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
    {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL, X86_REG_INVALID},
    {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL, X86_REG_INVALID},
    {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL, X86_REG_INVALID},
    {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL, X86_REG_INVALID},
    {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B, X86_REG_INVALID},
    {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B, X86_REG_INVALID},
    {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B, X86_REG_INVALID},
    {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B, X86_REG_INVALID},
    {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B, X86_REG_INVALID},
    {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B, X86_REG_INVALID},
    {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B, X86_REG_INVALID},
    {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B, X86_REG_INVALID},
};

static bool find_general(x86_reg reg, unsigned *number, unsigned *bytes)
{
    static const unsigned width[5] = {8, 4, 2, 1, 1};
    if (reg == X86_REG_INVALID)
        return false;
    for (unsigned i = 0; i < 16; i++)
        for (unsigned column = 0; column < 5; column++)
            if (general[i][column] == reg) {
                *number = i;
                *bytes = width[column];
                return true;
            }
    return false;
}

static bool is_segment(x86_reg reg)
{
    return reg == X86_REG_CS || reg == X86_REG_DS || reg == X86_REG_ES || reg == X86_REG_FS ||
           reg == X86_REG_GS || reg == X86_REG_SS;
}

uint8_t nb_register_of(x86_reg reg)
{
    unsigned number, bytes;
    if (find_general(reg, &number, &bytes))
        return (uint8_t)(NB_REG_GPR + number);
    if (reg >= X86_REG_XMM0 && reg <= X86_REG_XMM15)
        return (uint8_t)(NB_REG_XMM + (unsigned)(reg - X86_REG_XMM0));
    if (reg >= X86_REG_YMM0 && reg <= X86_REG_YMM15)
        return (uint8_t)(NB_REG_XMM + (unsigned)(reg - X86_REG_YMM0));
    if (reg >= X86_REG_MM0 && reg <= X86_REG_MM7)
        return (uint8_t)(NB_REG_MMX + (unsigned)(reg - X86_REG_MM0));
    if (reg >= X86_REG_ST0 && reg <= X86_REG_ST7)
        return (uint8_t)(NB_REG_ST + (unsigned)(reg - X86_REG_ST0));
    if (reg == X86_REG_EFLAGS)
        return NB_REG_FLAGS;
    return is_segment(reg) ? NB_REG_SEGMENT : NB_REG_NONE;
}

unsigned nb_register_bytes(x86_reg reg)
{
    unsigned number, bytes;
    return find_general(reg, &number, &bytes) ? bytes : 0;
}

bool nb_is_high_byte(x86_reg reg)
{
    return reg == X86_REG_AH || reg == X86_REG_BH || reg == X86_REG_CH || reg == X86_REG_DH;
}

struct nb_address nb_address_of(const cs_x86_op *op)
{
    struct nb_address access = {
        {nb_register_of(op->mem.base), nb_register_of(op->mem.index), NB_REG_NONE}};
    if (op->mem.segment == X86_REG_FS || op->mem.segment == X86_REG_GS)
        access.reg[2] = NB_REG_SEGMENT;
    return access;
}

/* The shape of an address as LEA's rows name it: its parts and whether the index is scaled. */
static const char *address_shape(const cs_x86_op *op)
{
    bool base = op->mem.base != X86_REG_INVALID, index = op->mem.index != X86_REG_INVALID;
    bool displaced = op->mem.disp != 0;
    if (!base && !index)
        return "[m]|[r+r/i]";
    if (!index || op->mem.scale == 1)
        return base && index && displaced ? "[r+r+i]" : "[r+r/i]";
    if (!base)
        return "[r*i]";
    return displaced ? "[r+r*i+i]" : "[r+r*i]";
}

static const char *general_token(x86_reg reg, unsigned bytes)
{
    if (reg == X86_REG_CL)
        return "r|r8|cl";
    return bytes == 1 ? "r|r8" : bytes == 2 ? "r|r16" : bytes == 4 ? "r|r32" : "r|r64";
}

static const char *register_token(x86_reg reg)
{
    unsigned number, bytes;
    if (find_general(reg, &number, &bytes))
        return general_token(reg, bytes);
    if (reg >= X86_REG_XMM0 && reg <= X86_REG_XMM15)
        return "xmm|x";
    if (reg >= X86_REG_MM0 && reg <= X86_REG_MM7)
        return "mm|x";
    if (reg >= X86_REG_ST0 && reg <= X86_REG_ST7)
        return "st";
    return is_segment(reg) ? "sr" : "cr";
}

/* The names of an operand in memory that are needed often; NULL: one to be put together. */
static const char *memory_token(unsigned bytes)
{
    return bytes == 1 ? "m|m8" : bytes == 2 ? "m|m16" : bytes == 4 ? "m|m32" : NULL;
}

static const char *operand_token(const cs_x86_op *op, bool lea)
{
    switch ((int)op->type) {
    case X86_OP_REG:
        return register_token(op->reg);
    case X86_OP_IMM:
        return op->imm == 0 ? "i|0" : op->imm == 1 ? "i|1" : "i";
    default:
        return lea ? address_shape(op) : memory_token(op->size);
    }
}

/* The names of OP to TEXT, as far as they go in; how long they are there. */
static size_t write_token(const cs_x86_op *op, bool lea, char *text, size_t size)
{
    char other[16];
    const char *token = operand_token(op, lea);
    if (!token) {
        snprintf(other, sizeof other, "m|m%u", op->size * 8U);
        token = other;
    }
    size_t n = strlen(token);
    if (n >= size)
        return 0;
    memcpy(text, token, n + 1);
    return n;
}

void nb_operand_tokens(const cs_insn *insn, const char *name, char *tokens, size_t size)
{
    const cs_x86 *x86 = &insn->detail->x86;
    bool lea = strcmp(name, "lea") == 0;
    size_t used = 0;
    tokens[0] = '\0';
    for (unsigned i = 0; i < x86->op_count && used + 2 < size; i++) {
        if (strcmp(tokens, "st") == 0)
            return; /* x87 rows name one register, Capstone one or both */
        if (i > 0)
            tokens[used++] = ',';
        used += write_token(&x86->operands[i], lea, tokens + used, size - used);
    }
    tokens[used < size ? used : size - 1] = '\0';
}

bool nb_in_group(const cs_insn *insn, uint8_t group)
{
    return memchr(insn->detail->groups, group, insn->detail->groups_count) != NULL;
}

/* A trace cache entry holds 16 bits of data on models 0 to 2, 32 bits on Prescott (Agner 5.3). */
static unsigned pieces(enum nb_core core, unsigned bytes, int64_t value)
{
    if (bytes == 0 || value == 0)
        return 0;
    if (core == NB_CORE_P4E)
        return bytes == 8 && value != (int32_t)value ? 2 : 1;
    return bytes == 8 && value != (int32_t)value ? 4 : value != (int16_t)value ? 2 : 1;
}

static int64_t immediate_of(const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;
    int64_t immediate = 0;
    for (unsigned i = 0; i < x86->op_count; i++)
        if (x86->operands[i].type == X86_OP_IMM)
            immediate = x86->operands[i].imm;
    if (nb_in_group(insn, CS_GRP_JUMP) || nb_in_group(insn, CS_GRP_CALL))
        immediate -= (int64_t)insn->address + insn->size;
    return x86->encoding.imm_size == 8 ? immediate : (int32_t)immediate;
}

uint8_t nb_data_pieces(const cs_insn *insn, enum nb_core core)
{
    const cs_x86_encoding *encoding = &insn->detail->x86.encoding;
    int64_t displacement = insn->detail->x86.disp;
    if (encoding->disp_size < 8)
        displacement = (int32_t)displacement;
    return (uint8_t)(pieces(core, encoding->disp_size, displacement) +
                     pieces(core, encoding->imm_size, immediate_of(insn)));
}
