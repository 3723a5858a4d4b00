/*
 * Shifts, rotates, multiplication, division and bit instructions of the interpreter. Their flags
 * are where the manual says "undefined" most often; what is done there is said beside each.
 */
#include "interpret_parts.h"

/* ---- shifts and rotates ------------------------------------------------------------------------
 */

enum rotate { ROL, ROR, RCL, RCR, SHL, SHR, SAL, SAR };

/* One step of rcl or rcr; CARRY in and out. */
static uint32_t rotate_through(unsigned what, uint32_t value, unsigned size, uint32_t *carry)
{
    uint32_t out;

    if (what == RCL) {
        out = value & sign_bit(size) ? 1 : 0;
        value = (value << 1 | *carry) & size_mask(size);
    } else {
        out = value & 1;
        value = value >> 1 | (*carry ? sign_bit(size) : 0);
    }
    *carry = out;
    return value;
}

/* OF as for a shift by one, whatever the count (undefined for others). */
static uint32_t rotate_overflow(unsigned what, uint32_t result, uint32_t carry, unsigned size)
{
    uint32_t top = result & sign_bit(size) ? 1 : 0;
    uint32_t next = result & sign_bit(size) >> 1 ? 1 : 0;

    return (what == ROL || what == RCL ? top ^ carry : top ^ next) ? FLAG_OF : 0;
}

static uint32_t rotate(struct interpreter *machine, unsigned what, uint32_t value, unsigned count,
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
        carry = what == ROL ? value & 1 : value & sign_bit(size) ? 1 : 0;
    }
    set_flags(machine, FLAG_CF | FLAG_OF, carry | rotate_overflow(what, value, carry, size));
    return value;
}

/* AF is undefined: set here. OF of counts above one likewise: as for a count of one. */
static uint32_t shift(struct interpreter *machine, unsigned what, uint32_t value, unsigned count,
                      unsigned size)
{
    uint32_t mask = size_mask(size), result, carry, overflow;
    uint64_t wide = value;
    int64_t extended = value & sign_bit(size) ? (int64_t)(value | ~(uint64_t)mask) : value;

    if (what == SAR) {
        result = (uint32_t)(extended >> count) & mask;
        carry = extended >> (count - 1) & 1;
        overflow = 0;
    } else if (what == SHR) {
        result = (uint32_t)(wide >> count);
        carry = wide >> (count - 1) & 1;
        overflow = (result ^ result << 1) & sign_bit(size);
    } else {
        result = (uint32_t)(wide << count) & mask;
        carry = (wide << count) >> (8 * size) & 1;
        overflow = (result & sign_bit(size) ? 1 : 0) ^ carry;
    }
    set_flags(machine, FLAGS_ARITHMETIC,
              flags_of_result(result, size) | FLAG_AF | carry | (overflow ? FLAG_OF : 0));
    return result;
}

bool interpret_shift(struct interpreter *machine, const struct interpret_op *op,
                     const struct trace_access *access)
{
    unsigned count =
        (op->direction == TO_RM_FROM_IMMEDIATE ? op->immediate : get_register(machine, GPR_CX, 1)) &
        31;
    uint64_t flags = machine->state.registers.flags;
    uint32_t value;

    if (!load_rm(machine, op, access, op->size, &value))
        return false;
    if (count)
        value = op->what >= SHL ? shift(machine, op->what, value, count, op->size)
                                : rotate(machine, op->what, value, count, op->size);
    /* A count of zero still writes a memory operand: with what it holds. */
    if ((count || op->memory) && !store_rm(machine, op, access, op->size, value)) {
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
    unsigned bits = 8u * op->size;
    unsigned count =
        (op->direction == TO_RM_FROM_IMMEDIATE ? op->immediate : get_register(machine, GPR_CX, 1)) &
        31;
    uint32_t value, result, carry, other = get_register(machine, op->reg, op->size);

    if (count > bits || !load_rm(machine, op, access, op->size, &value))
        return false;
    if (!count)
        return !op->memory || store_rm(machine, op, access, op->size, value);
    if (op->what) {
        uint64_t both = (uint64_t)other << bits | value;
        result = (uint32_t)(both >> count) & size_mask(op->size);
        carry = both >> (count - 1) & 1;
    } else {
        uint64_t both = (uint64_t)value << bits | other;
        result = (uint32_t)(both << count >> bits) & size_mask(op->size);
        carry = both >> (2 * bits - count) & 1;
    }
    if (!store_rm(machine, op, access, op->size, result))
        return false;
    set_flags(machine, FLAGS_ARITHMETIC,
              flags_of_result(result, op->size) | FLAG_AF | carry |
                  ((result ^ value) & sign_bit(op->size) ? FLAG_OF : 0));
    return true;
}

/* ---- multiplication and division ---------------------------------------------------------------
 */

static int64_t sign_extended(uint64_t value, unsigned size)
{
    unsigned spare = 64 - 8 * size;
    return (int64_t)(value << spare) >> spare;
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
    unsigned size = op->size, bits = 8 * size;
    uint32_t a = get_register(machine, GPR_AX, size), b;
    uint64_t product;
    bool upper;

    if (!load_rm(machine, op, access, size, &b))
        return false;
    if (op->what) {
        product = (uint64_t)(sign_extended(a, size) * sign_extended(b, size));
        upper = sign_extended(product, size) != (int64_t)product;
    } else {
        product = (uint64_t)a * b;
        upper = product >> bits != 0;
    }
    if (size == 1) {
        set_register(machine, GPR_AX, 2, (uint32_t)product);
    } else {
        set_register(machine, GPR_AX, size, (uint32_t)product);
        set_register(machine, GPR_DX, size, (uint32_t)(product >> bits));
    }
    set_product_flags(machine, upper);
    return true;
}

/* imul with a register as destination. */
bool interpret_imul(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    uint32_t a, b = op->immediate;
    int64_t product;

    if (!load_rm(machine, op, access, op->size, &a))
        return false;
    if (op->direction != TO_RM_FROM_IMMEDIATE)
        b = get_register(machine, op->reg, op->size);
    product = sign_extended(a, op->size) * sign_extended(b, op->size);
    set_register(machine, op->reg, op->size, (uint32_t)product);
    set_product_flags(machine, sign_extended((uint64_t)product, op->size) != product);
    return true;
}

static uint64_t dividend(const struct interpreter *machine, unsigned size)
{
    if (size == 1)
        return get_register(machine, GPR_AX, 2);
    return (uint64_t)get_register(machine, GPR_DX, size) << (8 * size) |
           get_register(machine, GPR_AX, size);
}

/* Quotient and remainder, or false where the processor raises a divide error. */
static bool divide(uint64_t a, uint32_t b, unsigned size, bool with_sign, uint64_t *quotient,
                   uint64_t *remainder)
{
    int64_t signed_a = sign_extended(a, 2 * size), signed_b = sign_extended(b, size);

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
    uint64_t quotient, remainder;
    uint32_t b;

    if (!load_rm(machine, op, access, op->size, &b) ||
        !divide(dividend(machine, op->size), b, op->size, op->what, &quotient, &remainder))
        return false;
    set_register(machine, GPR_AX, op->size, (uint32_t)quotient);
    set_register(machine, op->size == 1 ? 4 : GPR_DX, op->size, (uint32_t)remainder);
    return true;
}

/* ---- bits --------------------------------------------------------------------------------------
 */

/* bt, bts, btr, btc (`what` 0 to 3). The access already lies at the bit's own word. */
bool interpret_bit_test(struct interpreter *machine, const struct interpret_op *op,
                        const struct trace_access *access)
{
    uint32_t offset = op->direction == TO_RM_FROM_IMMEDIATE
                          ? op->immediate
                          : get_register(machine, op->reg, op->size);
    uint32_t value, bit = 1u << (offset & (8u * op->size - 1)), result;

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
    uint32_t value, at = op->what ? 8u * op->size - 1 : 0;

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
