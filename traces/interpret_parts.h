/*
 * What the handlers of the interpreter share: registers by number and size, the ModRM operand, and
 * the six arithmetic flags.
 */
#ifndef TRACES_INTERPRET_PARTS_H
#define TRACES_INTERPRET_PARTS_H

#include "interpret.h"

enum {
    FLAG_CF = 1 << 0,
    FLAG_PF = 1 << 2,
    FLAG_AF = 1 << 4,
    FLAG_ZF = 1 << 6,
    FLAG_SF = 1 << 7,
    FLAG_DF = 1 << 10,
    FLAG_OF = 1 << 11,
    FLAGS_ARITHMETIC = FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF | FLAG_OF,
};

/* The arithmetic operations in the order of their opcodes (00, 08, ... 38), then more. */
enum interpret_alu { ALU_ADD, ALU_OR, ALU_ADC, ALU_SBB, ALU_AND, ALU_SUB, ALU_XOR, ALU_CMP };

/* ---- the handlers
 * --------------------------------------------------------------------------------
 */

/* interpret_integer.c */
interpret_fn interpret_alu;
interpret_fn interpret_test;
interpret_fn interpret_inc;
interpret_fn interpret_dec;
interpret_fn interpret_not;
interpret_fn interpret_neg;
interpret_fn interpret_mov;
interpret_fn interpret_extend;
interpret_fn interpret_lea;
interpret_fn interpret_xchg;
interpret_fn interpret_push;
interpret_fn interpret_push_rm;
interpret_fn interpret_pop;
interpret_fn interpret_pop_rm;
interpret_fn interpret_leave;
interpret_fn interpret_call;
interpret_fn interpret_call_rm;
interpret_fn interpret_ret;
interpret_fn interpret_jmp;
interpret_fn interpret_jmp_rm;
interpret_fn interpret_jcc;
interpret_fn interpret_jecxz;
interpret_fn interpret_loop;
interpret_fn interpret_setcc;
interpret_fn interpret_cmov;
interpret_fn interpret_nop;
interpret_fn interpret_cwde;
interpret_fn interpret_cdq;
interpret_fn interpret_sahf;
interpret_fn interpret_lahf;
interpret_fn interpret_flag;
interpret_fn interpret_bswap;
interpret_fn interpret_cmpxchg;
interpret_fn interpret_xadd;
interpret_fn interpret_xlat;

/* interpret_bits.c */
interpret_fn interpret_shift;
interpret_fn interpret_double_shift;
interpret_fn interpret_mul;
interpret_fn interpret_imul;
interpret_fn interpret_div;
interpret_fn interpret_bit_test;
interpret_fn interpret_bit_scan;

/* interpret_control.c */
interpret_fn interpret_pushf;
interpret_fn interpret_popf;
interpret_fn interpret_ldmxcsr;
interpret_fn interpret_stmxcsr;

/* interpret_string.c */
interpret_fn interpret_string;

/* ---- registers ---------------------------------------------------------------------------------
 */

static inline uint64_t size_mask(unsigned size)
{
    return ~(uint64_t)0 >> (64 - 8 * size);
}

static inline uint64_t sign_bit(unsigned size)
{
    return (uint64_t)1 << (8 * size - 1);
}

/* Of a register's number: the instruction has a REX prefix. Without one, byte registers 4 to 7 are
 * the second bytes of the first four. */
enum { REGISTER_REX = 16, REGISTER_AH = 4 };

static inline bool second_byte(unsigned number)
{
    return number >= REGISTER_AH && number < 8;
}

static inline uint64_t get_register(const struct interpreter *machine, unsigned number,
                                    unsigned size)
{
    const uint64_t *gpr = machine->state.registers.gpr;

    if (size == 1 && second_byte(number))
        return gpr[number & 3] >> 8 & 0xff;
    return gpr[number & 15] & size_mask(size);
}

/* A result of 32 bits clears the upper half, a shorter one leaves the rest of the register. */
static inline void set_register(struct interpreter *machine, unsigned number, unsigned size,
                                uint64_t value)
{
    uint64_t *gpr = machine->state.registers.gpr, mask = size_mask(size);

    if (size >= 4)
        gpr[number & 15] = value & mask;
    else if (size == 1 && second_byte(number))
        gpr[number & 3] = (gpr[number & 3] & ~(mask << 8)) | (value & mask) << 8;
    else
        gpr[number & 15] = (gpr[number & 15] & ~mask) | (value & mask);
}

/* ---- the r/m operand ---------------------------------------------------------------------------
 */

static inline bool load_rm(struct interpreter *machine, const struct interpret_op *op,
                           const struct trace_access *access, unsigned size, uint64_t *value)
{
    if (op->memory)
        return interpret_load(machine->memory, access[0].address, size, value);
    *value = get_register(machine, op->rm, size);
    return true;
}

/* ACCESS[0] is also where a read-modify-write instruction writes. */
static inline bool store_rm(struct interpreter *machine, const struct interpret_op *op,
                            const struct trace_access *access, unsigned size, uint64_t value)
{
    if (op->memory)
        return interpret_store(machine->memory, access[0].address, size, value);
    set_register(machine, op->rm, size, value);
    return true;
}

/* ---- flags -------------------------------------------------------------------------------------
 */

static inline uint32_t get_flags(const struct interpreter *machine)
{
    return (uint32_t)machine->state.registers.flags;
}

/* The flags of MASK become those of VALUE. */
static inline void set_flags(struct interpreter *machine, uint32_t mask, uint32_t value)
{
    uint64_t *flags = &machine->state.registers.flags;
    *flags = (*flags & ~(uint64_t)mask) | (value & mask);
}

/* Sign, zero, parity of a result cut to its size. */
static inline uint32_t flags_of_result(uint64_t result, unsigned size)
{
    unsigned folded = (unsigned)(result ^ result >> 4) & 15;
    uint32_t parity = 0x9669u >> folded & 1; /* 1 where the low byte has an even number of ones */

    return (result & sign_bit(size) ? FLAG_SF : 0) | (result == 0 ? FLAG_ZF : 0) | parity << 2;
}

/* Carries out of each bit of a + b = r, or borrows of a - b = r, become CF, AF and OF. */
static inline uint32_t flags_of_carries(uint64_t carries, uint64_t overflow, unsigned size)
{
    return (carries & sign_bit(size) ? FLAG_CF : 0) | (carries & 8 ? FLAG_AF : 0) |
           (overflow & sign_bit(size) ? FLAG_OF : 0);
}

static inline uint32_t flags_of_sum(uint64_t a, uint64_t b, uint64_t result, unsigned size)
{
    return flags_of_result(result, size) |
           flags_of_carries((a & b) | ((a | b) & ~result), (a ^ result) & (b ^ result), size);
}

static inline uint32_t flags_of_difference(uint64_t a, uint64_t b, uint64_t result, unsigned size)
{
    return flags_of_result(result, size) |
           flags_of_carries((~a & b) | ((~a | b) & result), (a ^ b) & (a ^ result), size);
}

/* Condition codes in the order of the opcodes: o, b, z, be, s, p, l, le; odd numbers negate. */
static inline bool condition_holds(uint32_t flags, unsigned condition)
{
    bool less = !(flags & FLAG_SF) != !(flags & FLAG_OF);
    bool holds = false;

    switch (condition >> 1) {
    case 0:
        holds = flags & FLAG_OF;
        break;
    case 1:
        holds = flags & FLAG_CF;
        break;
    case 2:
        holds = flags & FLAG_ZF;
        break;
    case 3:
        holds = flags & (FLAG_CF | FLAG_ZF);
        break;
    case 4:
        holds = flags & FLAG_SF;
        break;
    case 5:
        holds = flags & FLAG_PF;
        break;
    case 6:
        holds = less;
        break;
    default:
        holds = less || (flags & FLAG_ZF);
        break;
    }
    return holds != (condition & 1);
}

#endif
