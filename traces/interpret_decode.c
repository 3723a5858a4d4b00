/*
 * From bytes to handler. The recipe says how long the instruction is and which memory it touches;
 * here the opcode picks who executes it (Intel manual volume 2, opcode maps). Whatever is not
 * listed stays without a handler.
 */
#include "interpret_parts.h"

/* The bytes of the instruction, as they are taken apart. */
struct cursor {
    const struct recipe *recipe;
    unsigned at;
    bool wide; /* 64-bit mode */
    bool operand_16, address_32, lock;
    bool code_segment; /* CS override: writes through it fault */
    uint8_t rep;       /* F2, F3 or 0 */
    uint8_t rex;       /* the prefix, or 0 */
    uint8_t modrm, digit;
};

enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8 };

static uint8_t byte_at(const struct recipe *recipe, unsigned at)
{
    return at < recipe->length ? recipe->bytes[at] : 0;
}

static uint8_t take(struct cursor *cursor)
{
    return byte_at(cursor->recipe, cursor->at++);
}

/* An immediate of 1, 2, 4 or 8 bytes at the instruction's end, sign-extended. */
static uint64_t last_immediate(const struct recipe *recipe, unsigned size)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)byte_at(recipe, recipe->length - size + i) << 8 * i;
    return value & sign_bit(size) ? value | ~size_mask(size) : value;
}

/* False on a prefix that changes what no handler knows. */
static bool take_prefixes(struct cursor *cursor)
{
    for (;; cursor->at++) {
        switch (byte_at(cursor->recipe, cursor->at)) {
        case 0x66:
            cursor->operand_16 = true;
            break;
        case 0xf0:
            cursor->lock = true;
            break;
        case 0xf2:
        case 0xf3:
            cursor->rep = byte_at(cursor->recipe, cursor->at);
            break;
        case 0x2e:
            cursor->code_segment = !cursor->wide;
            break;
        case 0x26:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65:
            break;
        case 0x67:
            cursor->address_32 = true;
            if (!cursor->wide)
                return false;
            break;
        default:
            if (cursor->wide && (byte_at(cursor->recipe, cursor->at) & 0xf0) == 0x40)
                cursor->rex = take(cursor);
            return true;
        }
    }
}

/* A register's number with its upper bit, which is set when REX & EXTENSION is. */
static uint8_t extended(const struct cursor *cursor, unsigned number, unsigned extension)
{
    return (uint8_t)(number | (cursor->rex & extension ? 8 : 0) | (cursor->rex ? REGISTER_REX : 0));
}

static void take_modrm(struct cursor *cursor, struct interpret_op *op)
{
    cursor->modrm = take(cursor);
    cursor->digit = cursor->modrm >> 3 & 7;
    op->memory = cursor->modrm < 0xc0;
    op->reg = extended(cursor, cursor->digit, REX_R);
    op->rm = extended(cursor, cursor->modrm & 7, REX_B);
}

/* A prefix of 16-bit operands that REX.W does not overrule. */
static bool narrow(const struct cursor *cursor)
{
    return cursor->operand_16 && !(cursor->rex & REX_W);
}

static uint8_t operand_size(const struct cursor *cursor)
{
    return cursor->rex & REX_W ? 8 : cursor->operand_16 ? 2 : 4;
}

/* Of what is pushed and popped. */
static uint8_t stack_size(const struct cursor *cursor)
{
    return narrow(cursor) ? 2 : cursor->wide ? 8 : 4;
}

static int64_t take_displacement(struct cursor *cursor, unsigned bytes)
{
    uint32_t displacement = 0;

    for (unsigned i = 0; i < bytes; i++)
        displacement |= (uint32_t)take(cursor) << 8 * i;
    return bytes == 1 ? (int8_t)displacement : (int32_t)displacement;
}

/* base + index * scale + displacement, for lea. */
static struct recipe_access address_of(struct cursor *cursor)
{
    struct recipe_access address = {.index = GPR_NONE, .scale = 1};
    unsigned mod = cursor->modrm >> 6, bytes = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    unsigned base = cursor->modrm & 7, index;
    bool sib = base == 4;

    if (sib) {
        uint8_t byte = take(cursor);
        base = byte & 7;
        address.scale = (uint8_t)(1 << (byte >> 6));
        index = (byte >> 3 & 7u) | (cursor->rex & REX_X ? 8 : 0);
        address.index = index == 4 ? GPR_NONE : (uint8_t)index;
    }
    address.base = (uint8_t)(base | (cursor->rex & REX_B ? 8 : 0));
    if (base == 5 && mod == 0) {
        address.base = cursor->wide && !sib ? GPR_IP : GPR_NONE;
        bytes = 4;
    }
    address.displacement = take_displacement(cursor, bytes);
    return address;
}

static void set(struct interpret_op *op, interpret_fn *run, unsigned what)
{
    op->run = run;
    op->what = (uint8_t)what;
}

/* ---- one-byte opcodes --------------------------------------------------------------------------
 */

/* One of SIZE bytes, or of four that are extended to eight. */
static void set_immediate(struct cursor *cursor, struct interpret_op *op, unsigned size)
{
    op->direction = TO_RM_FROM_IMMEDIATE;
    op->immediate = last_immediate(cursor->recipe, size < 4 ? size : 4);
}

/* 00 to 3F: the eight operations in six forms each. */
static void decode_alu(struct cursor *cursor, struct interpret_op *op, uint8_t opcode)
{
    unsigned form = opcode & 7;

    if (form > 5)
        return;
    set(op, interpret_alu, opcode >> 3 & 7);
    if (form < 4) {
        take_modrm(cursor, op);
        op->direction = form < 2 ? TO_RM_FROM_REG : TO_REG_FROM_RM;
    } else {
        op->rm = GPR_AX;
        set_immediate(cursor, op, op->size);
    }
}

/* 80, 81, 83 */
static void decode_group_1(struct cursor *cursor, struct interpret_op *op, uint8_t opcode)
{
    take_modrm(cursor, op);
    set(op, interpret_alu, cursor->digit);
    set_immediate(cursor, op, opcode == 0x81 ? op->size : 1);
}

/* C0, C1, D0 to D3 */
static void decode_group_2(struct cursor *cursor, struct interpret_op *op, uint8_t opcode)
{
    take_modrm(cursor, op);
    set(op, interpret_shift, cursor->digit == 6 ? 4 : cursor->digit);
    if (opcode < 0xd2)
        set_immediate(cursor, op, 1);
    if (opcode == 0xd0 || opcode == 0xd1)
        op->immediate = 1;
}

/* F6, F7 */
static void decode_group_3(struct cursor *cursor, struct interpret_op *op)
{
    static interpret_fn *const handlers[8] = {
        interpret_test, interpret_test, interpret_not, interpret_neg,
        interpret_mul,  interpret_mul,  interpret_div, interpret_div,
    };

    take_modrm(cursor, op);
    set(op, handlers[cursor->digit], cursor->digit & 1);
    if (cursor->digit < 2)
        set_immediate(cursor, op, op->size);
}

/* FE, FF */
static void decode_group_5(struct cursor *cursor, struct interpret_op *op, uint8_t opcode)
{
    static interpret_fn *const handlers[8] = {
        interpret_inc,    interpret_dec, interpret_call_rm, NULL,
        interpret_jmp_rm, NULL,          interpret_push_rm, NULL,
    };

    take_modrm(cursor, op);
    if (opcode == 0xff || cursor->digit < 2)
        set(op, handlers[cursor->digit], 0);
    if ((cursor->digit == 2 || cursor->digit == 4) && narrow(cursor))
        op->run = NULL;
    if (cursor->digit == 6)
        op->size = stack_size(cursor);
}

static void decode_string(struct cursor *cursor, struct interpret_op *op, uint8_t opcode)
{
    set(op, interpret_string, opcode & 0xfe);
    op->reg = cursor->rep;
    cursor->rep = 0;
}

/* Branches with a displacement at the end; 16-bit ones cut the target and are left out. */
static void decode_branch(struct cursor *cursor, struct interpret_op *op, interpret_fn *run,
                          unsigned what, unsigned size)
{
    if (narrow(cursor))
        return;
    set(op, run, what);
    op->immediate = last_immediate(cursor->recipe, size);
    cursor->rep = 0; /* branch hints of later processors */
}

static void decode_moffs(struct interpret_op *op, uint8_t opcode)
{
    set(op, interpret_mov, 0);
    op->memory = true;
    op->reg = GPR_AX;
    op->direction = opcode < 0xa2 ? TO_REG_FROM_RM : TO_RM_FROM_REG;
}

static void decode_lea(struct cursor *cursor, struct interpret_op *op)
{
    take_modrm(cursor, op);
    if (!op->memory)
        return;
    set(op, interpret_lea, 0);
    op->address = address_of(cursor);
}

/* Opcodes whose low three bits are a register. */
static bool decode_register(struct cursor *cursor, struct interpret_op *op, uint8_t opcode)
{
    static interpret_fn *const handlers[4] = {interpret_inc, interpret_dec, interpret_push,
                                              interpret_pop};

    op->rm = extended(cursor, opcode & 7, REX_B);
    if (opcode >= 0x40 && opcode < 0x60) {
        set(op, handlers[opcode >> 3 & 3], 0);
        if (opcode >= 0x50)
            op->size = stack_size(cursor);
    } else if (opcode == 0x90 && !(cursor->rex & REX_B)) {
        set(op, interpret_nop, 0);
        cursor->rep = 0; /* pause */
    } else if (opcode >= 0x90 && opcode < 0x98) {
        set(op, interpret_xchg, 0);
        op->reg = GPR_AX;
    } else if (opcode >= 0xb0 && opcode < 0xc0) {
        op->size = opcode < 0xb8 ? 1 : op->size;
        set(op, interpret_mov, 0);
        op->direction = TO_RM_FROM_IMMEDIATE;
        op->immediate = last_immediate(cursor->recipe, op->size);
    } else {
        return false;
    }
    return true;
}

/* Opcodes with ModRM, one row each. */
static void decode_modrm(struct cursor *cursor, struct interpret_op *op, uint8_t opcode)
{
    switch (opcode) {
    case 0x63: /* movsxd */
        take_modrm(cursor, op);
        op->size = operand_size(cursor);
        op->bytes = 4;
        if (cursor->wide)
            set(op, interpret_extend, 1);
        break;
    case 0x69:
    case 0x6b:
        take_modrm(cursor, op);
        set(op, interpret_imul, 0);
        set_immediate(cursor, op, opcode == 0x69 ? op->size : 1);
        break;
    case 0x84:
    case 0x85:
        take_modrm(cursor, op);
        set(op, interpret_test, 0);
        break;
    case 0x86:
    case 0x87:
        take_modrm(cursor, op);
        set(op, interpret_xchg, 0);
        break;
    case 0x88:
    case 0x89:
    case 0x8a:
    case 0x8b:
        take_modrm(cursor, op);
        set(op, interpret_mov, 0);
        op->direction = opcode < 0x8a ? TO_RM_FROM_REG : TO_REG_FROM_RM;
        break;
    case 0x8f:
        take_modrm(cursor, op);
        op->size = stack_size(cursor);
        if (cursor->digit == 0)
            set(op, op->memory ? interpret_pop_rm : interpret_pop, 0);
        break;
    case 0xc6:
    case 0xc7:
        take_modrm(cursor, op);
        if (cursor->digit == 0)
            set(op, interpret_mov, 0);
        set_immediate(cursor, op, op->size);
        break;
    default:
        break;
    }
}

/* The rest: fixed registers, stack, branches. */
static void decode_fixed(struct cursor *cursor, struct interpret_op *op, uint8_t opcode)
{
    switch (opcode) {
    case 0x68:
    case 0x6a:
        op->size = stack_size(cursor);
        set(op, interpret_push, 0);
        set_immediate(cursor, op, opcode == 0x68 ? op->size : 1);
        break;
    case 0x98:
        set(op, interpret_cwde, 0);
        op->size = operand_size(cursor);
        break;
    case 0x99:
        set(op, interpret_cdq, 0);
        break;
    case 0x9c:
    case 0x9d:
        set(op, opcode == 0x9c ? interpret_pushf : interpret_popf, 0);
        op->size = stack_size(cursor);
        break;
    case 0x9e:
    case 0x9f:
        set(op, opcode == 0x9e ? interpret_sahf : interpret_lahf, 0);
        break;
    case 0xa8:
    case 0xa9:
        op->rm = GPR_AX;
        set(op, interpret_test, 0);
        set_immediate(cursor, op, op->size);
        break;
    case 0xc2:
    case 0xc3:
        decode_branch(cursor, op, interpret_ret, 0, 2);
        op->immediate = opcode == 0xc2 ? op->immediate & 0xffff : 0;
        break;
    case 0xc9:
        if (!narrow(cursor))
            set(op, interpret_leave, 0);
        break;
    case 0xd7:
        set(op, interpret_xlat, 0);
        break;
    case 0xe0:
    case 0xe1:
    case 0xe2:
        decode_branch(cursor, op, interpret_loop, opcode & 3, 1);
        break;
    case 0xe3:
        decode_branch(cursor, op, interpret_jecxz, 0, 1);
        break;
    case 0xe8:
        decode_branch(cursor, op, interpret_call, 0, 4);
        break;
    case 0xe9:
    case 0xeb:
        decode_branch(cursor, op, interpret_jmp, 0, opcode == 0xe9 ? 4 : 1);
        break;
    case 0xf5:
    case 0xf8:
    case 0xf9:
    case 0xfc:
    case 0xfd:
        set(op, interpret_flag, opcode & 15);
        break;
    default:
        break;
    }
}

static void decode_one_byte(struct cursor *cursor, struct interpret_op *op, uint8_t opcode)
{
    uint8_t pair = opcode & 0xfe;

    op->size = opcode & 1 ? operand_size(cursor) : 1;
    if (opcode < 0x40)
        decode_alu(cursor, op, opcode);
    else if (opcode >> 4 == 7)
        decode_branch(cursor, op, interpret_jcc, opcode & 15, 1);
    else if (opcode >= 0xd8 && opcode <= 0xdf) {
        take_modrm(cursor, op);
        interpret_decode_x87(op, opcode, cursor->recipe);
    } else if (opcode == 0x9b)
        interpret_decode_x87(op, opcode, cursor->recipe);
    else if (opcode == 0x80 || opcode == 0x81 || opcode == 0x83)
        decode_group_1(cursor, op, opcode);
    else if (pair == 0xc0 || pair == 0xd0 || pair == 0xd2)
        decode_group_2(cursor, op, opcode);
    else if (pair == 0xf6)
        decode_group_3(cursor, op);
    else if (pair == 0xfe)
        decode_group_5(cursor, op, opcode);
    else if (pair == 0xa4 || pair == 0xa6 || (pair >= 0xaa && pair <= 0xae))
        decode_string(cursor, op, opcode);
    else if (pair == 0xa0 || pair == 0xa2)
        decode_moffs(op, opcode);
    else if ((opcode & 0xf0) == 0x40 || (opcode & 0xf0) == 0x50 || (opcode & 0xf8) == 0x90 ||
             (opcode & 0xf0) == 0xb0) {
        op->size = operand_size(cursor);
        decode_register(cursor, op, opcode);
    } else if (opcode == 0x8d) {
        decode_lea(cursor, op);
    } else {
        decode_modrm(cursor, op, opcode);
        if (!op->run)
            decode_fixed(cursor, op, opcode);
    }
}

/* ---- two-byte opcodes --------------------------------------------------------------------------
 */

static void decode_extend(struct cursor *cursor, struct interpret_op *op, uint8_t opcode)
{
    take_modrm(cursor, op);
    set(op, interpret_extend, opcode >= 0xbe);
    op->bytes = opcode & 1 ? 2 : 1;
}

static void decode_bit_group(struct cursor *cursor, struct interpret_op *op)
{
    take_modrm(cursor, op);
    if (cursor->digit < 4)
        return;
    set(op, interpret_bit_test, cursor->digit & 3);
    set_immediate(cursor, op, 1);
}

static void decode_double_shift(struct cursor *cursor, struct interpret_op *op, uint8_t opcode)
{
    take_modrm(cursor, op);
    set(op, interpret_double_shift, opcode >= 0xac);
    if (!(opcode & 1))
        set_immediate(cursor, op, 1);
}

static bool decode_two_byte_integer(struct cursor *cursor, struct interpret_op *op, uint8_t opcode)
{
    op->size = operand_size(cursor);
    switch (opcode) {
    case 0x0d: /* prefetchw */
    case 0x18: /* prefetch */
    case 0x1e:
    case 0x1f: /* nop with an operand */
        take_modrm(cursor, op);
        if (op->memory || opcode >= 0x1e)
            set(op, interpret_nop, 0);
        cursor->rep = 0;
        return true;
    case 0xae: /* ldmxcsr, stmxcsr, lfence, mfence, sfence */
        take_modrm(cursor, op);
        if (op->memory && (cursor->digit == 2 || cursor->digit == 3) && !cursor->operand_16) {
            set(op, cursor->digit == 2 ? interpret_ldmxcsr : interpret_stmxcsr, 0);
            op->uses_xmm = true;
        }
        if (!op->memory && cursor->digit >= 5 && !cursor->operand_16)
            set(op, interpret_nop, 0);
        return true;
    case 0xa3:
    case 0xab:
    case 0xb3:
    case 0xbb:
        take_modrm(cursor, op);
        set(op, interpret_bit_test, opcode >> 3 & 3);
        return true;
    case 0xa4:
    case 0xa5:
    case 0xac:
    case 0xad:
        decode_double_shift(cursor, op, opcode);
        return true;
    case 0xaf:
        take_modrm(cursor, op);
        set(op, interpret_imul, 0);
        return true;
    case 0xb0:
    case 0xb1:
    case 0xc0:
    case 0xc1:
        op->size = opcode & 1 ? op->size : 1;
        take_modrm(cursor, op);
        set(op, opcode < 0xc0 ? interpret_cmpxchg : interpret_xadd, 0);
        return true;
    case 0xb6:
    case 0xb7:
    case 0xbe:
    case 0xbf:
        decode_extend(cursor, op, opcode);
        return true;
    case 0xba:
        decode_bit_group(cursor, op);
        return true;
    case 0xbc:
    case 0xbd:
        take_modrm(cursor, op);
        set(op, interpret_bit_scan, opcode & 1);
        if (opcode == 0xbc && cursor->rep == 0xf3) /* bsf, on processors without tzcnt */
            cursor->rep = 0;
        return true;
    case 0xc3: /* movnti */
        take_modrm(cursor, op);
        if (op->memory && !narrow(cursor))
            set(op, interpret_mov, 0);
        return true;
    default:
        return false;
    }
}

static bool decode_two_byte_rows(struct cursor *cursor, struct interpret_op *op, uint8_t opcode)
{
    unsigned condition = opcode & 15;

    switch (opcode >> 4) {
    case 4:
        take_modrm(cursor, op);
        set(op, interpret_cmov, condition);
        return true;
    case 8:
        decode_branch(cursor, op, interpret_jcc, condition, 4);
        return true;
    case 9:
        take_modrm(cursor, op);
        set(op, interpret_setcc, condition);
        return true;
    default:
        break;
    }
    if (opcode < 0xc8 || opcode > 0xcf)
        return false;
    op->rm = extended(cursor, opcode & 7, REX_B);
    if (!narrow(cursor))
        set(op, interpret_bswap, 0);
    return true;
}

static void decode_two_byte(struct cursor *cursor, struct interpret_op *op)
{
    uint8_t opcode = take(cursor);
    enum interpret_prefix prefix = cursor->rep == 0xf3   ? PREFIX_F3
                                   : cursor->rep == 0xf2 ? PREFIX_F2
                                   : cursor->operand_16  ? PREFIX_66
                                                         : PREFIX_NONE;

    if (decode_two_byte_integer(cursor, op, opcode) || decode_two_byte_rows(cursor, op, opcode))
        return;
    take_modrm(cursor, op);
    interpret_decode_sse(op, prefix, opcode, byte_at(cursor->recipe, cursor->recipe->length - 1u));
    if (op->run)
        cursor->rep = 0;
}

/* ---- all ---------------------------------------------------------------------------------------
 */

/* lock is allowed with a read-modify-write of memory; only one thread runs at a time, so that there
 * is nothing to lock against. */
static bool may_lock(const struct interpret_op *op)
{
    interpret_fn *const handlers[] = {
        interpret_inc,  interpret_dec,  interpret_not,     interpret_neg,
        interpret_xchg, interpret_xadd, interpret_cmpxchg, NULL};

    if (!op->memory)
        return false;
    for (unsigned i = 0; handlers[i]; i++)
        if (op->run == handlers[i])
            return true;
    if (op->run == interpret_alu)
        return op->direction != TO_REG_FROM_RM && op->what != ALU_CMP;
    return op->run == interpret_bit_test && op->what;
}

/* Pointers and counts of the address size, which handlers take to be the mode's. */
static bool counts_in_address_size(const struct interpret_op *op)
{
    return op->run == interpret_lea || op->run == interpret_string || op->run == interpret_loop ||
           op->run == interpret_jecxz;
}

static bool writes(const struct recipe *recipe)
{
    return recipe->access_count && recipe->access[recipe->access_count - 1].write;
}

void interpret_decode(const struct recipe *recipe, struct interpret_op *op)
{
    struct cursor cursor = {.recipe = recipe, .wide = recipe->mode == RECIPE_64};
    uint8_t opcode;

    *op = (struct interpret_op){.length = recipe->length, .wide = cursor.wide};
    if ((recipe->kind != RECIPE_PLAIN && recipe->kind != RECIPE_PUSHF) || !take_prefixes(&cursor))
        return;
    opcode = take(&cursor);
    if (opcode == 0x0f)
        decode_two_byte(&cursor, op);
    else
        decode_one_byte(&cursor, op, opcode);
    if (cursor.rep || (cursor.address_32 && counts_in_address_size(op)) ||
        (cursor.lock && !may_lock(op)) || (cursor.code_segment && writes(recipe)))
        op->run = NULL;
}
