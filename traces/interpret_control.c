/* Flags as a whole, and MXCSR, in the interpreter. */
#include "interpret_parts.h"

enum {
    FLAG_TF = 1 << 8,
    FLAG_RF = 1 << 16,
    FLAG_VM = 1 << 17,
    /* What popf may change in a user program beside the flags every instruction changes: nested
     * task, alignment check, identification. Left to the processor. */
    FLAGS_SELDOM = 1 << 14 | 1 << 18 | 1 << 21,
};

static void move_stack(struct interpreter *machine, const struct interpret_op *op, uint64_t bytes)
{
    uint64_t *gpr = machine->state.registers.gpr, moved = gpr[GPR_SP] + bytes;

    gpr[GPR_SP] = op->wide ? moved : (uint32_t)moved;
}

bool interpret_pushf(struct interpreter *machine, const struct interpret_op *op,
                     const struct trace_access *access)
{
    uint64_t flags = get_flags(machine) & ~(uint32_t)(FLAG_RF | FLAG_VM | FLAG_TF);

    if (!interpret_store(machine->memory, access[0].address, op->size, flags))
        return false;
    move_stack(machine, op, 0 - (uint64_t)op->size);
    return true;
}

/* A program that sets its trap flag is stepped by the processor. */
bool interpret_popf(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    uint32_t changed, seldom = op->size == 2 ? FLAGS_SELDOM & 0xffff : FLAGS_SELDOM;
    uint64_t value;

    if (!interpret_load(machine->memory, access[0].address, op->size, &value))
        return false;
    changed = (uint32_t)value ^ get_flags(machine);
    if ((value & FLAG_TF) || (changed & seldom))
        return false;
    set_flags(machine, FLAGS_ARITHMETIC | FLAG_DF, (uint32_t)value);
    move_stack(machine, op, op->size);
    return true;
}

/* Reserved bits fault. */
bool interpret_ldmxcsr(struct interpreter *machine, const struct interpret_op *op,
                       const struct trace_access *access)
{
    uint64_t value;

    (void)op;
    if (!interpret_load(machine->memory, access[0].address, 4, &value) || value > 0xffff)
        return false;
    machine->state.mxcsr = (uint32_t)value;
    return true;
}

bool interpret_stmxcsr(struct interpreter *machine, const struct interpret_op *op,
                       const struct trace_access *access)
{
    (void)op;
    return interpret_store(machine->memory, access[0].address, 4, machine->state.mxcsr);
}
