/*
 * Shifts, rotates, multiplication, division and bit instructions of the interpreter. Their flags
 * are where the manual says "undefined" most often; what is done there is said beside each.
 */
#include "interpret_parts.h"

/* ---- shifts and rotates ------------------------------------------------------------------------
 */

enum rotate { ROL, ROR, RCL, RCR, SHL, SHR, SAL, SAR };

/* One step of rcl or rcr; CARRY in and out. */
static uint64_t rotate_through(unsigned what, uint64_t value, unsigned size, uint32_t *carry)
{
    uint32_t out;

    if (what == RCL) {
        out = value & sign_bit(size) ? 1 : 0;
        value = (value << 1 | *carry) & size_mask(size);
    } else {
        out = (uint32_t)value & 1;
        value = value >> 1 | (*carry ? sign_bit(size) : 0);
    }
    *carry = out;
    return value;
}

/* OF as for a shift by one, whatever the count (undefined for others). */
static uint32_t rotate_overflow(unsigned what, uint64_t result, uint32_t carry, unsigned size)
{
    uint32_t top = result & sign_bit(size) ? 1 : 0;
    uint32_t next = result & sign_bit(size) >> 1 ? 1 : 0;

    return (what == ROL || what == RCL ? top ^ carry : top ^ next) ? FLAG_OF : 0;
}

static uint64_t rotate(struct interpreter *machine, unsigned what, uint64_t value, unsigned count,
                       unsigned size)
{
    unsigned bits = 8 * size, turn = count & (bits - 1);
    uint32_t carry = get_flags(machine) & FLAG_CF;

    if (what == RCL || what == RCR) {
        count %= bits + 1;
        if (!count)
            return value;
        for (; count; count--)
            value = rotate_through(what, value, size, &carry);
    } else {
        if (what == ROR)
            turn = (bits - turn) & (bits - 1);
        if (turn)
            value = (value << turn | value >> (bits - turn)) & size_mask(size);
        carry = what == ROL ? (uint32_t)value & 1 : value & sign_bit(size) ? 1 : 0;
    }
    set_flags(machine, FLAG_CF | FLAG_OF, carry | rotate_overflow(what, value, carry, size));
    return value;
}

static int64_t sign_extended(uint64_t value, unsigned size)
{
    unsigned spare = 64 - 8 * size;
    return (int64_t)(value << spare) >> spare;
}

/* AF is undefined: set here. OF of counts above one likewise: as for a count of one. */
static uint64_t shift(struct interpreter *machine, unsigned what, uint64_t value, unsigned count,
                      unsigned size)
{
    unsigned bits = 8 * size;
    uint64_t result, carry;
    bool overflow;

    if (what == SAR) {
        result = (uint64_t)(sign_extended(value, size) >> count) & size_mask(size);
        carry = (uint64_t)(sign_extended(value, size) >> (count - 1)) & 1;
        overflow = false;
    } else if (what == SHR) {
        result = value >> count;
        carry = value >> (count - 1) & 1;
        overflow = (result ^ result << 1) & sign_bit(size);
    } else {
        result = (value << count) & size_mask(size);
        carry = count <= bits ? value >> (bits - count) & 1 : 0;
        overflow = (result & sign_bit(size) ? 1 : 0) != carry;
    }
    set_flags(machine, FLAGS_ARITHMETIC,
              flags_of_result(result, size) | FLAG_AF | (uint32_t)carry | (overflow ? FLAG_OF : 0));
    return result;
}

/* By an immediate or CL; only so many of its bits count. */
static unsigned shift_count(const struct interpreter *machine, const struct interpret_op *op)
{
    uint64_t count =
        op->direction == TO_RM_FROM_IMMEDIATE ? op->immediate : get_register(machine, GPR_CX, 1);

    return (unsigned)count & (op->size == 8 ? 63 : 31);
}

bool interpret_shift(struct interpreter *machine, const struct interpret_op *op,
                     const struct trace_access *access)
{
    unsigned count = shift_count(machine, op);
    uint64_t flags = machine->state.registers.flags, value;

    if (!load_rm(machine, op, access, op->size, &value))
        return false;
    if (count)
        value = op->what >= SHL ? shift(machine, op->what, value, count, op->size)
                                : rotate(machine, op->what, value, count, op->size);
    /* A count of zero still writes memory, with what it holds, and clears a register's upper half.
     */
    if (!store_rm(machine, op, access, op->size, value)) {
        machine->state.registers.flags = flags;
        return false;
    }
    return true;
}

/* shld, shrd (`what`): 16-bit operands only with counts up to 16, beyond which results are
 * undefined. */
bool interpret_double_shift(struct interpreter *machine, const struct interpret_op *op,
                            const struct trace_access *access)
{
    unsigned bits = 8u * op->size, count = shift_count(machine, op);
    uint64_t value, result, carry, other = get_register(machine, op->reg, op->size);

    if (count > bits || !load_rm(machine, op, access, op->size, &value))
        return false;
    if (!count)
        return store_rm(machine, op, access, op->size, value);
    if (op->what) {
        result = (value >> count | other << (bits - count)) & size_mask(op->size);
        carry = value >> (count - 1) & 1;
    } else {
        result = (value << count | other >> (bits - count)) & size_mask(op->size);
        carry = value >> (bits - count) & 1;
    }
    if (!store_rm(machine, op, access, op->size, result))
        return false;
    set_flags(machine, FLAGS_ARITHMETIC,
              flags_of_result(result, op->size) | FLAG_AF | (uint32_t)carry |
                  ((result ^ value) & sign_bit(op->size) ? FLAG_OF : 0));
    return true;
}

/* ---- multiplication and division ---------------------------------------------------------------
 */

/* A product of two operands, in halves of 64 bits. */
struct product {
    uint64_t low, high;
};

static struct product multiply(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = (a0 * b0 >> 32) + (uint32_t)(a1 * b0) + (uint32_t)(a0 * b1);

    return (struct product){a * b, a1 * b1 + (a1 * b0 >> 32) + (a0 * b1 >> 32) + (middle >> 32)};
}

static struct product multiply_signed(int64_t a, int64_t b)
{
    struct product product = multiply((uint64_t)a, (uint64_t)b);

    product.high -= (a < 0 ? (uint64_t)b : 0) + (b < 0 ? (uint64_t)a : 0);
    return product;
}

/* The upper of two operands of SIZE bytes that hold the product. */
static uint64_t upper_half(struct product product, unsigned size)
{
    return size == 8 ? product.high : product.low >> 8 * size & size_mask(size);
}

/* Does the lower one, sign-extended, say it all? */
static bool fits_signed(struct product product, unsigned size)
{
    int64_t low = sign_extended(product.low, size);

    return (uint64_t)low == product.low && product.high == (low < 0 ? ~(uint64_t)0 : 0);
}

/* CF and OF tell that the upper half matters; SF, ZF, AF and PF are undefined and stay. */
static void set_product_flags(struct interpreter *machine, bool upper)
{
    set_flags(machine, FLAG_CF | FLAG_OF, upper ? FLAG_CF | FLAG_OF : 0);
}

/* mul, imul (`what`) of the accumulator. */
bool interpret_mul(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    unsigned size = op->size;
    uint64_t a = get_register(machine, GPR_AX, size), b, upper;
    struct product product;

    if (!load_rm(machine, op, access, size, &b))
        return false;
    product =
        op->what ? multiply_signed(sign_extended(a, size), sign_extended(b, size)) : multiply(a, b);
    upper = upper_half(product, size);
    if (size == 1) {
        set_register(machine, GPR_AX, 2, product.low);
    } else {
        set_register(machine, GPR_AX, size, product.low);
        set_register(machine, GPR_DX, size, upper);
    }
    set_product_flags(machine, op->what ? !fits_signed(product, size) : upper != 0);
    return true;
}

/* imul with a register as destination. */
bool interpret_imul(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    uint64_t a, b = op->immediate;
    struct product product;

    if (!load_rm(machine, op, access, op->size, &a))
        return false;
    if (op->direction != TO_RM_FROM_IMMEDIATE)
        b = get_register(machine, op->reg, op->size);
    product = multiply_signed(sign_extended(a, op->size), sign_extended(b, op->size));
    set_register(machine, op->reg, op->size, product.low);
    set_product_flags(machine, !fits_signed(product, op->size));
    return true;
}

/* False for one of more than 64 bits that matter: left to others. */
static bool dividend(const struct interpreter *machine, const struct interpret_op *op,
                     uint64_t *value)
{
    unsigned size = op->size;
    uint64_t low = get_register(machine, GPR_AX, size), high = get_register(machine, GPR_DX, size);

    if (size == 1)
        *value = get_register(machine, GPR_AX, 2);
    else if (size == 8)
        *value = low;
    else
        *value = high << 8 * size | low;
    return size != 8 || high == (op->what && (int64_t)low < 0 ? ~(uint64_t)0 : 0);
}

/* Quotient and remainder, or false where the processor raises a divide error. */
static bool divide(uint64_t a, uint64_t b, unsigned size, bool with_sign, uint64_t *quotient,
                   uint64_t *remainder)
{
    int64_t signed_a = sign_extended(a, size == 8 ? 8 : 2 * size), signed_b;

    signed_b = sign_extended(b, size);
    if (!b || (with_sign && signed_a == INT64_MIN && signed_b == -1))
        return false;
    if (!with_sign) {
        *quotient = a / b;
        *remainder = a % b;
        return *quotient <= size_mask(size);
    }
    *quotient = (uint64_t)(signed_a / signed_b);
    *remainder = (uint64_t)(signed_a % signed_b);
    return sign_extended(*quotient, size) == (int64_t)*quotient;
}

/* div, idiv (`what`). All flags are undefined: they stay. */
bool interpret_div(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    uint64_t a, b, quotient, remainder;

    if (!load_rm(machine, op, access, op->size, &b) || !dividend(machine, op, &a) ||
        !divide(a, b, op->size, op->what, &quotient, &remainder))
        return false;
    set_register(machine, GPR_AX, op->size, quotient);
    set_register(machine, op->size == 1 ? REGISTER_AH : GPR_DX, op->size, remainder);
    return true;
}

/* ---- bits --------------------------------------------------------------------------------------
 */

/* bt, bts, btr, btc (`what` 0 to 3). The access already lies at the bit's own word. */
bool interpret_bit_test(struct interpreter *machine, const struct interpret_op *op,
                        const struct trace_access *access)
{
    uint64_t offset = op->direction == TO_RM_FROM_IMMEDIATE
                          ? op->immediate
                          : get_register(machine, op->reg, op->size);
    uint64_t value, bit = (uint64_t)1 << (offset & (8u * op->size - 1)), result;

    if (!load_rm(machine, op, access, op->size, &value))
        return false;
    result = op->what == 1 ? value | bit : op->what == 2 ? value & ~bit : value ^ bit;
    if (op->what && !store_rm(machine, op, access, op->size, result))
        return false;
    set_flags(machine, FLAG_CF, value & bit ? FLAG_CF : 0);
    return true;
}

/* bsf, bsr (`what`). A source of zero leaves the destination alone. Of the flags only ZF is
 * defined; here PF is that of the result and the others are cleared. */
bool interpret_bit_scan(struct interpreter *machine, const struct interpret_op *op,
                        const struct trace_access *access)
{
    uint64_t value, at = op->what ? 8u * op->size - 1 : 0;

    if (!load_rm(machine, op, access, op->size, &value))
        return false;
    if (!value) {
        set_flags(machine, FLAGS_ARITHMETIC, FLAG_ZF | FLAG_PF);
        return true;
    }
    while (!(value >> at & 1))
        at = op->what ? at - 1 : at + 1;
    set_register(machine, op->reg, op->size, at);
    set_flags(machine, FLAGS_ARITHMETIC, flags_of_result(at, 1) & FLAG_PF);
    return true;
}
