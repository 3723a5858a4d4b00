/*
 * Integer instructions of the interpreter: arithmetic, moves, stack and branches (Intel manual
 * volume 2, "Operation" and "Flags Affected" of each). A handler first loads, then stores to
 * memory, which may fail, and only then changes registers and flags.
 */
#include "interpret_parts.h"

/* ---- arithmetic --------------------------------------------------------------------------------
 */

static uint64_t compute(unsigned what, uint64_t a, uint64_t b, unsigned size, uint32_t *flags)
{
    uint64_t carry = (what == ALU_ADC || what == ALU_SBB) ? *flags & FLAG_CF : 0, result;

    switch (what) {
    case ALU_ADD:
    case ALU_ADC:
        result = (a + b + carry) & size_mask(size);
        *flags = flags_of_sum(a, b, result, size);
        return result;
    case ALU_SUB:
    case ALU_SBB:
    case ALU_CMP:
        result = (a - b - carry) & size_mask(size);
        *flags = flags_of_difference(a, b, result, size);
        return result;
    default:
        result = what == ALU_OR ? a | b : what == ALU_AND ? a & b : a ^ b;
        *flags = flags_of_result(result, size);
        return result;
    }
}

bool interpret_alu(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    uint64_t rm, a, b, result;
    uint32_t flags = get_flags(machine);
    bool to_rm = op->direction != TO_REG_FROM_RM;

    if (!load_rm(machine, op, access, op->size, &rm))
        return false;
    a = to_rm ? rm : get_register(machine, op->reg, op->size);
    b = op->direction == TO_RM_FROM_IMMEDIATE ? op->immediate & size_mask(op->size)
        : to_rm                               ? get_register(machine, op->reg, op->size)
                                              : rm;
    result = compute(op->what, a, b, op->size, &flags);
    if (op->what != ALU_CMP) {
        if (!to_rm)
            set_register(machine, op->reg, op->size, result);
        else if (!store_rm(machine, op, access, op->size, result))
            return false;
    }
    set_flags(machine, FLAGS_ARITHMETIC, flags);
    return true;
}

bool interpret_test(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    uint64_t a, b = op->immediate;

    if (!load_rm(machine, op, access, op->size, &a))
        return false;
    if (op->direction != TO_RM_FROM_IMMEDIATE)
        b = get_register(machine, op->reg, op->size);
    set_flags(machine, FLAGS_ARITHMETIC, flags_of_result(a & b & size_mask(op->size), op->size));
    return true;
}

bool interpret_inc(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    uint64_t a, result;

    if (!load_rm(machine, op, access, op->size, &a))
        return false;
    result = (a + 1) & size_mask(op->size);
    if (!store_rm(machine, op, access, op->size, result))
        return false;
    set_flags(machine, FLAGS_ARITHMETIC & ~FLAG_CF, flags_of_sum(a, 1, result, op->size));
    return true;
}

bool interpret_dec(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    uint64_t a, result;

    if (!load_rm(machine, op, access, op->size, &a))
        return false;
    result = (a - 1) & size_mask(op->size);
    if (!store_rm(machine, op, access, op->size, result))
        return false;
    set_flags(machine, FLAGS_ARITHMETIC & ~FLAG_CF, flags_of_difference(a, 1, result, op->size));
    return true;
}

bool interpret_not(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    uint64_t a;

    return load_rm(machine, op, access, op->size, &a) &&
           store_rm(machine, op, access, op->size, ~a & size_mask(op->size));
}

bool interpret_neg(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    uint64_t a, result;

    if (!load_rm(machine, op, access, op->size, &a))
        return false;
    result = (0 - a) & size_mask(op->size);
    if (!store_rm(machine, op, access, op->size, result))
        return false;
    set_flags(machine, FLAGS_ARITHMETIC, flags_of_difference(0, a, result, op->size));
    return true;
}

bool interpret_cmpxchg(struct interpreter *machine, const struct interpret_op *op,
                       const struct trace_access *access)
{
    uint64_t a = get_register(machine, GPR_AX, op->size), b, difference;
    bool equal;

    if (!load_rm(machine, op, access, op->size, &b))
        return false;
    equal = a == b;
    difference = (a - b) & size_mask(op->size);
    /* Memory is written either way: with its own value when they differ. */
    if (op->memory || equal)
        if (!store_rm(machine, op, access, op->size,
                      equal ? get_register(machine, op->reg, op->size) : b))
            return false;
    if (!equal)
        set_register(machine, GPR_AX, op->size, b);
    set_flags(machine, FLAGS_ARITHMETIC, flags_of_difference(a, b, difference, op->size));
    return true;
}

bool interpret_xadd(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    uint64_t a, b = get_register(machine, op->reg, op->size), sum;

    if (!load_rm(machine, op, access, op->size, &a))
        return false;
    sum = (a + b) & size_mask(op->size);
    if (op->memory && !store_rm(machine, op, access, op->size, sum))
        return false;
    set_register(machine, op->reg, op->size, a);
    if (!op->memory)
        store_rm(machine, op, access, op->size, sum);
    set_flags(machine, FLAGS_ARITHMETIC, flags_of_sum(a, b, sum, op->size));
    return true;
}

/* ---- moves -------------------------------------------------------------------------------------
 */

bool interpret_mov(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    uint64_t value = op->immediate;

    if (op->direction == TO_REG_FROM_RM) {
        if (!load_rm(machine, op, access, op->size, &value))
            return false;
        set_register(machine, op->reg, op->size, value);
        return true;
    }
    if (op->direction == TO_RM_FROM_REG)
        value = get_register(machine, op->reg, op->size);
    return store_rm(machine, op, access, op->size, value);
}

/* movzx, and movsx where `what` is set; `bytes` is the source's size. */
bool interpret_extend(struct interpreter *machine, const struct interpret_op *op,
                      const struct trace_access *access)
{
    uint64_t value;

    if (!load_rm(machine, op, access, op->bytes, &value))
        return false;
    if (op->what && (value & sign_bit(op->bytes)))
        value |= ~size_mask(op->bytes);
    set_register(machine, op->reg, op->size, value);
    return true;
}

bool interpret_lea(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    const uint64_t *gpr = machine->state.registers.gpr;
    uint64_t address = (uint64_t)op->address.displacement;

    (void)access;
    if (op->address.base == GPR_IP)
        address += machine->next_ip;
    else if (op->address.base != GPR_NONE)
        address += gpr[op->address.base];
    if (op->address.index != GPR_NONE)
        address += gpr[op->address.index] * op->address.scale;
    set_register(machine, op->reg, op->size, op->wide ? address : (uint32_t)address);
    return true;
}

bool interpret_xchg(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    uint64_t rm, reg = get_register(machine, op->reg, op->size);

    if (!load_rm(machine, op, access, op->size, &rm) ||
        !store_rm(machine, op, access, op->size, reg))
        return false;
    set_register(machine, op->reg, op->size, rm);
    return true;
}

bool interpret_xlat(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    uint64_t value;

    (void)op;
    if (!interpret_load(machine->memory, access[0].address, 1, &value))
        return false;
    set_register(machine, GPR_AX, 1, value);
    return true;
}

bool interpret_setcc(struct interpreter *machine, const struct interpret_op *op,
                     const struct trace_access *access)
{
    return store_rm(machine, op, access, 1, condition_holds(get_flags(machine), op->what));
}

/* A memory operand is read whatever the condition says, and a register's upper half is cleared. */
bool interpret_cmov(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    uint64_t value;

    if (!load_rm(machine, op, access, op->size, &value))
        return false;
    if (!condition_holds(get_flags(machine), op->what))
        value = get_register(machine, op->reg, op->size);
    set_register(machine, op->reg, op->size, value);
    return true;
}

bool interpret_bswap(struct interpreter *machine, const struct interpret_op *op,
                     const struct trace_access *access)
{
    uint64_t value = get_register(machine, op->rm, op->size), swapped = 0;

    (void)access;
    for (unsigned i = 0; i < op->size; i++)
        swapped |= (value >> 8 * i & 0xff) << 8 * (op->size - 1u - i);
    set_register(machine, op->rm, op->size, swapped);
    return true;
}

/* cbw, cwde: `size` is the result's. */
bool interpret_cwde(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    uint64_t value = get_register(machine, GPR_AX, op->size / 2);

    (void)access;
    if (value & sign_bit(op->size / 2))
        value |= ~size_mask(op->size / 2);
    set_register(machine, GPR_AX, op->size, value);
    return true;
}

/* cwd, cdq */
bool interpret_cdq(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    uint64_t value = get_register(machine, GPR_AX, op->size);

    (void)access;
    set_register(machine, GPR_DX, op->size, value & sign_bit(op->size) ? ~(uint64_t)0 : 0);
    return true;
}

bool interpret_nop(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    (void)machine;
    (void)op;
    (void)access;
    return true;
}

/* ---- flags -------------------------------------------------------------------------------------
 */

enum { FLAGS_OF_AH = FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF, FLAG_ALWAYS_SET = 2 };

bool interpret_sahf(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    (void)op;
    (void)access;
    set_flags(machine, FLAGS_OF_AH, (uint32_t)get_register(machine, REGISTER_AH, 1));
    return true;
}

bool interpret_lahf(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    (void)op;
    (void)access;
    set_register(machine, REGISTER_AH, 1, (get_flags(machine) & FLAGS_OF_AH) | FLAG_ALWAYS_SET);
    return true;
}

/* clc, stc, cmc, cld, std by their last opcode digit. */
bool interpret_flag(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    uint32_t flag = op->what == 0xc || op->what == 0xd ? FLAG_DF : FLAG_CF;
    uint32_t value = op->what == 5 ? ~get_flags(machine) : op->what & 1 ? flag : 0;

    (void)access;
    set_flags(machine, flag, value);
    return true;
}

/* ---- stack -------------------------------------------------------------------------------------
 */

static void move_stack(struct interpreter *machine, const struct interpret_op *op, uint64_t bytes)
{
    uint64_t *gpr = machine->state.registers.gpr, moved = gpr[GPR_SP] + bytes;

    gpr[GPR_SP] = op->wide ? moved : (uint32_t)moved;
}

/* Bytes of an address on the stack, and of a branch's target. */
static unsigned address_size(const struct interpret_op *op)
{
    return op->wide ? 8 : 4;
}

static bool push(struct interpreter *machine, const struct interpret_op *op,
                 const struct trace_access *access, unsigned size, uint64_t value)
{
    if (!interpret_store(machine->memory, access->address, size, value))
        return false;
    move_stack(machine, op, 0 - (uint64_t)size);
    return true;
}

bool interpret_push(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    uint64_t value = op->direction == TO_RM_FROM_IMMEDIATE
                         ? op->immediate
                         : get_register(machine, op->rm, op->size);
    return push(machine, op, &access[0], op->size, value);
}

bool interpret_push_rm(struct interpreter *machine, const struct interpret_op *op,
                       const struct trace_access *access)
{
    uint64_t value;

    return load_rm(machine, op, access, op->size, &value) &&
           push(machine, op, &access[op->memory ? 1 : 0], op->size, value);
}

/* pop esp ends with the value read. */
bool interpret_pop(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    uint64_t value;

    if (!interpret_load(machine->memory, access[0].address, op->size, &value))
        return false;
    move_stack(machine, op, op->size);
    set_register(machine, op->rm, op->size, value);
    return true;
}

bool interpret_pop_rm(struct interpreter *machine, const struct interpret_op *op,
                      const struct trace_access *access)
{
    uint64_t value;

    if (!interpret_load(machine->memory, access[0].address, op->size, &value) ||
        !interpret_store(machine->memory, access[1].address, op->size, value))
        return false;
    move_stack(machine, op, op->size);
    return true;
}

bool interpret_leave(struct interpreter *machine, const struct interpret_op *op,
                     const struct trace_access *access)
{
    uint64_t *gpr = machine->state.registers.gpr;
    uint64_t value;

    if (!interpret_load(machine->memory, access[0].address, address_size(op), &value))
        return false;
    gpr[GPR_SP] = gpr[GPR_BP];
    move_stack(machine, op, address_size(op));
    gpr[GPR_BP] = value;
    return true;
}

/* ---- branches ----------------------------------------------------------------------------------
 */

bool interpret_call(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    if (!push(machine, op, &access[0], address_size(op), machine->next_ip))
        return false;
    machine->next_ip += op->immediate;
    return true;
}

bool interpret_call_rm(struct interpreter *machine, const struct interpret_op *op,
                       const struct trace_access *access)
{
    uint64_t target;

    if (!load_rm(machine, op, access, address_size(op), &target) ||
        !push(machine, op, &access[op->memory ? 1 : 0], address_size(op), machine->next_ip))
        return false;
    machine->next_ip = target;
    return true;
}

bool interpret_ret(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    if (!interpret_load(machine->memory, access[0].address, address_size(op), &machine->next_ip))
        return false;
    move_stack(machine, op, address_size(op) + op->immediate);
    return true;
}

bool interpret_jmp(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    (void)access;
    machine->next_ip += op->immediate;
    return true;
}

bool interpret_jmp_rm(struct interpreter *machine, const struct interpret_op *op,
                      const struct trace_access *access)
{
    return load_rm(machine, op, access, address_size(op), &machine->next_ip);
}

bool interpret_jcc(struct interpreter *machine, const struct interpret_op *op,
                   const struct trace_access *access)
{
    (void)access;
    if (condition_holds(get_flags(machine), op->what))
        machine->next_ip += op->immediate;
    return true;
}

bool interpret_jecxz(struct interpreter *machine, const struct interpret_op *op,
                     const struct trace_access *access)
{
    (void)access;
    if (get_register(machine, GPR_CX, address_size(op)) == 0)
        machine->next_ip += op->immediate;
    return true;
}

/* loopne (0), loope (1), loop (2) */
bool interpret_loop(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    uint64_t count = get_register(machine, GPR_CX, address_size(op)) - 1;
    bool zero = get_flags(machine) & FLAG_ZF;

    (void)access;
    set_register(machine, GPR_CX, address_size(op), count);
    if (count && (op->what == 2 || (op->what == 1) == zero))
        machine->next_ip += op->immediate;
    return true;
}
