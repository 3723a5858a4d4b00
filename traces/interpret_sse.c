/*
 * SSE and SSE2 instructions of the interpreter: moves between registers and memory, and the frame
 * around the computations of interpret_vector.c and interpret_float.c. Operands of 16 bytes in
 * memory must be aligned, moves that say otherwise excepted; others fault, so they are left to
 * others here.
 */
#include "interpret_float.h"
#include "interpret_parts.h"
#include "interpret_vector.h"

enum {
    MXCSR_ALL_MASKED = 0x1f80, /* exceptions that cannot trap */
    ANY_ALIGNMENT = 1,         /* interpret_op.what of moves */
};

static union interpret_xmm *xmm(struct interpreter *machine, unsigned number)
{
    return &machine->state.xmm[number & 15];
}

static bool misaligned(const struct interpret_op *op, const struct trace_access *access)
{
    return op->memory && op->bytes == 16 && op->what != ANY_ALIGNMENT && (access[0].address & 15);
}

/* The source operand; bytes past its size are zero when it comes from memory. */
static bool load_source(struct interpreter *machine, const struct interpret_op *op,
                        const struct trace_access *access, union interpret_xmm *value)
{
    if (!op->memory) {
        *value = *xmm(machine, op->rm);
        return true;
    }
    if (misaligned(op, access))
        return false;
    *value = (union interpret_xmm){.q = {0, 0}};
    return interpret_load_bytes(machine->memory, access[0].address, value, op->bytes);
}

/* ---- moves -------------------------------------------------------------------------------------
 */

/* A load replaces the whole register; between registers only the low part moves (movss, movsd). */
static bool run_load(struct interpreter *machine, const struct interpret_op *op,
                     const struct trace_access *access)
{
    union interpret_xmm value;

    if (!load_source(machine, op, access, &value))
        return false;
    if (op->memory)
        *xmm(machine, op->reg) = value;
    else
        memcpy(xmm(machine, op->reg), &value, op->bytes);
    return true;
}

static bool run_store(struct interpreter *machine, const struct interpret_op *op,
                      const struct trace_access *access)
{
    const union interpret_xmm *value = xmm(machine, op->reg);

    if (misaligned(op, access))
        return false;
    if (op->memory)
        return interpret_store_bytes(machine->memory, access[0].address, value, op->bytes);
    memmove(xmm(machine, op->rm), value, op->bytes);
    return true;
}

/* movq to a register clears the upper half, whichever opcode it has. */
static bool run_movq(struct interpreter *machine, const struct interpret_op *op,
                     const struct trace_access *access)
{
    union interpret_xmm value;

    if (op->direction == TO_RM_FROM_REG && op->memory)
        return run_store(machine, op, access);
    if (op->direction == TO_RM_FROM_REG) {
        *xmm(machine, op->rm) = (union interpret_xmm){.q = {xmm(machine, op->reg)->q[0], 0}};
        return true;
    }
    if (!load_source(machine, op, access, &value))
        return false;
    *xmm(machine, op->reg) = (union interpret_xmm){.q = {value.q[0], 0}};
    return true;
}

/* Halves: movlps, movhps (`immediate` 0 or 1) from memory; from registers movhlps and movlhps,
 * which take the other half. */
static bool run_half(struct interpreter *machine, const struct interpret_op *op,
                     const struct trace_access *access)
{
    union interpret_xmm value;

    if (!load_source(machine, op, access, &value))
        return false;
    xmm(machine, op->reg)->q[op->immediate] = value.q[op->memory ? 0 : 1 - op->immediate];
    return true;
}

static bool run_store_half(struct interpreter *machine, const struct interpret_op *op,
                           const struct trace_access *access)
{
    return interpret_store_bytes(machine->memory, access[0].address,
                                 &xmm(machine, op->reg)->q[op->immediate], 8);
}

/* Of an operand in general registers: 8 bytes with REX.W, whatever the other prefixes. */
static unsigned integer_size(const struct interpret_op *op)
{
    return op->size == 8 ? 8 : 4;
}

/* movd, and movq from and to general registers */
static bool run_movd(struct interpreter *machine, const struct interpret_op *op,
                     const struct trace_access *access)
{
    uint64_t value;

    if (op->direction == TO_RM_FROM_REG)
        return store_rm(machine, op, access, integer_size(op), xmm(machine, op->reg)->q[0]);
    if (!load_rm(machine, op, access, integer_size(op), &value))
        return false;
    *xmm(machine, op->reg) = (union interpret_xmm){.q = {value, 0}};
    return true;
}

/* pmovmskb, movmskps, movmskpd: the sign bits of lanes of `bytes`. */
static bool run_signs(struct interpreter *machine, const struct interpret_op *op,
                      const struct trace_access *access)
{
    const union interpret_xmm *value = xmm(machine, op->rm);
    uint32_t mask = 0;

    (void)access;
    for (unsigned i = 0; i < 16u / op->bytes; i++)
        mask |= (uint32_t)(value->b[(i + 1) * op->bytes - 1] >> 7) << i;
    set_register(machine, op->reg, 4, mask);
    return true;
}

static bool run_pinsrw(struct interpreter *machine, const struct interpret_op *op,
                       const struct trace_access *access)
{
    uint64_t value;

    if (!load_rm(machine, op, access, 2, &value))
        return false;
    xmm(machine, op->reg)->w[op->immediate & 7] = (uint16_t)value;
    return true;
}

static bool run_pextrw(struct interpreter *machine, const struct interpret_op *op,
                       const struct trace_access *access)
{
    (void)access;
    set_register(machine, op->reg, 4, xmm(machine, op->rm)->w[op->immediate & 7]);
    return true;
}

/* ---- computations ------------------------------------------------------------------------------
 */

static bool run_vector(struct interpreter *machine, const struct interpret_op *op,
                       const struct trace_access *access)
{
    union interpret_xmm source;

    if (!load_source(machine, op, access, &source))
        return false;
    op->xmm(xmm(machine, op->reg), &source, (unsigned)op->immediate);
    return true;
}

/* Shifts by an immediate have their register in the rm field. */
static bool run_vector_shift(struct interpreter *machine, const struct interpret_op *op,
                             const struct trace_access *access)
{
    (void)access;
    op->xmm(xmm(machine, op->rm), NULL, (unsigned)op->immediate);
    return true;
}

static bool may_trap(const struct interpreter *machine)
{
    return (machine->state.mxcsr & MXCSR_ALL_MASKED) != MXCSR_ALL_MASKED;
}

/* The exceptions of one instruction are told from earlier ones, which are sticky. */
enum {
    MXCSR_STICKY = 0x3f,
    MXCSR_DENORMAL = 1 << 1,
    MXCSR_UNDERFLOW = 1 << 4,
    MXCSR_FTZ = 1 << 15
};

static uint32_t put_aside(struct interpreter *machine)
{
    uint32_t earlier = machine->state.mxcsr & MXCSR_STICKY;

    machine->state.mxcsr ^= earlier;
    return earlier;
}

static void note_assist(struct interpreter *machine, uint32_t earlier)
{
    uint32_t now = machine->state.mxcsr;

    if ((now & MXCSR_DENORMAL) || ((now & MXCSR_UNDERFLOW) && !(now & MXCSR_FTZ)))
        machine->assist = TRACE_ASSIST_SSE;
    machine->state.mxcsr |= earlier;
}

static bool run_float(struct interpreter *machine, const struct interpret_op *op,
                      const struct trace_access *access)
{
    union interpret_xmm source;
    uint32_t earlier;

    if (may_trap(machine) || !load_source(machine, op, access, &source))
        return false;
    earlier = put_aside(machine);
    op->arithmetic(xmm(machine, op->reg), &source, &machine->state.mxcsr);
    note_assist(machine, earlier);
    return true;
}

static bool run_from_integer(struct interpreter *machine, const struct interpret_op *op,
                             const struct trace_access *access)
{
    union interpret_xmm source = {.q = {0, 0}};

    if (may_trap(machine) || !load_rm(machine, op, access, integer_size(op), &source.q[0]))
        return false;
    op->arithmetic(xmm(machine, op->reg), &source, &machine->state.mxcsr);
    return true;
}

static bool run_to_integer(struct interpreter *machine, const struct interpret_op *op,
                           const struct trace_access *access)
{
    union interpret_xmm source;
    uint32_t earlier;

    if (may_trap(machine) || !load_source(machine, op, access, &source))
        return false;
    earlier = put_aside(machine);
    set_register(machine, op->reg, integer_size(op),
                 interpret_float_to_integer((enum interpret_prefix)op->direction, op->what,
                                            integer_size(op), &source, &machine->state.mxcsr));
    note_assist(machine, earlier);
    return true;
}

static bool run_compare(struct interpreter *machine, const struct interpret_op *op,
                        const struct trace_access *access)
{
    union interpret_xmm source;
    uint32_t earlier;

    if (may_trap(machine) || !load_source(machine, op, access, &source))
        return false;
    earlier = put_aside(machine);
    set_flags(machine, FLAGS_ARITHMETIC,
              interpret_float_compare((enum interpret_prefix)op->direction, op->what,
                                      xmm(machine, op->reg), &source, &machine->state.mxcsr));
    note_assist(machine, earlier);
    return true;
}

/* ---- from opcode to handler --------------------------------------------------------------------
 */

/* Bytes of the operand of a move or an arithmetic instruction by prefix: packed or scalar. */
static uint8_t operand_bytes(enum interpret_prefix prefix)
{
    return prefix == PREFIX_F3 ? 4 : prefix == PREFIX_F2 ? 8 : 16;
}

/* Moves of whole or scalar operands. */
static void decode_move(struct interpret_op *op, enum interpret_prefix prefix, uint8_t opcode)
{
    bool packed = prefix == PREFIX_NONE || prefix == PREFIX_66;
    bool integer = prefix == PREFIX_66 || prefix == PREFIX_F3;

    op->bytes = operand_bytes(prefix);
    if (opcode == 0x10 || opcode == 0x11) { /* movups, movupd, movss, movsd */
        op->run = opcode == 0x10 ? run_load : run_store;
        op->what = ANY_ALIGNMENT;
    } else if ((opcode == 0x28 || opcode == 0x29) && packed) { /* movaps, movapd */
        op->run = opcode == 0x28 ? run_load : run_store;
    } else if ((opcode == 0x6f || opcode == 0x7f) && integer) { /* movdqa, movdqu */
        op->run = opcode == 0x6f ? run_load : run_store;
        op->what = prefix == PREFIX_F3 ? ANY_ALIGNMENT : 0;
        op->bytes = 16;
    } else if (((opcode == 0x2b && packed) || (opcode == 0xe7 && prefix == PREFIX_66)) &&
               op->memory) { /* movntps, movntpd, movntdq */
        op->run = run_store;
    }
}

/* Moves of halves, and between XMM and general registers. */
static void decode_part(struct interpret_op *op, enum interpret_prefix prefix, uint8_t opcode)
{
    bool packed = prefix == PREFIX_NONE || prefix == PREFIX_66;

    op->immediate = opcode == 0x16 || opcode == 0x17;
    op->bytes = 8;
    if ((opcode == 0x12 || opcode == 0x16) && (prefix == PREFIX_NONE || (packed && op->memory)))
        op->run = run_half;
    else if ((opcode == 0x13 || opcode == 0x17) && packed && op->memory)
        op->run = run_store_half;
    else if (opcode == 0x7e && prefix == PREFIX_F3)
        op->run = run_movq, op->direction = TO_REG_FROM_RM;
    else if (opcode == 0xd6 && prefix == PREFIX_66)
        op->run = run_movq, op->direction = TO_RM_FROM_REG;
    else if ((opcode == 0x6e || opcode == 0x7e) && prefix == PREFIX_66) {
        op->run = run_movd;
        op->direction = opcode == 0x6e ? TO_REG_FROM_RM : TO_RM_FROM_REG;
    } else if (((opcode == 0xd7 && prefix == PREFIX_66) || (opcode == 0x50 && packed)) &&
               !op->memory) {
        op->run = run_signs;
        op->bytes = opcode == 0xd7 ? 1 : prefix == PREFIX_66 ? 8 : 4;
    }
}

static void decode_words(struct interpret_op *op, enum interpret_prefix prefix, uint8_t opcode,
                         uint8_t immediate)
{
    if (prefix != PREFIX_66)
        return;
    op->immediate = immediate;
    if (opcode == 0xc4)
        op->run = run_pinsrw;
    else if (opcode == 0xc5 && !op->memory)
        op->run = run_pextrw;
}

static void decode_vector(struct interpret_op *op, enum interpret_prefix prefix, uint8_t opcode,
                          uint8_t immediate)
{
    op->immediate = immediate;
    op->bytes = 16;
    if ((op->xmm = interpret_vector(prefix, opcode)))
        op->run = run_vector;
    else if (prefix == PREFIX_66 && !op->memory &&
             (op->xmm = interpret_vector_shift(opcode, op->reg & 7)))
        op->run = run_vector_shift;
}

#if defined(__SSE2__)
static uint8_t float_bytes(enum interpret_prefix prefix, uint8_t opcode)
{
    if ((opcode == 0x5a && prefix == PREFIX_NONE) || (opcode == 0xe6 && prefix == PREFIX_F3))
        return 8;
    return opcode == 0x5b || opcode == 0xe6 ? 16 : operand_bytes(prefix);
}

static void decode_float(struct interpret_op *op, enum interpret_prefix prefix, uint8_t opcode)
{
    bool scalar = prefix == PREFIX_F3 || prefix == PREFIX_F2;

    op->what = opcode;
    op->direction = (uint8_t)prefix;
    op->bytes = float_bytes(prefix, opcode);
    if (opcode == 0x2a && integer_size(op) == 8)
        op->arithmetic = interpret_float_from_quad(prefix);
    else if (opcode == 0xc2)
        op->arithmetic = interpret_float_predicate(prefix, (unsigned)op->immediate);
    else
        op->arithmetic = interpret_float(prefix, opcode);
    if (op->arithmetic) {
        op->run = opcode == 0x2a ? run_from_integer : run_float;
    } else if ((opcode == 0x2e || opcode == 0x2f) && !scalar) {
        op->run = run_compare;
        op->bytes = prefix == PREFIX_66 ? 8 : 4;
    } else if ((opcode == 0x2c || opcode == 0x2d) && scalar) {
        op->run = run_to_integer;
    }
}
#else
static void decode_float(struct interpret_op *op, enum interpret_prefix prefix, uint8_t opcode)
{
    (void)op;
    (void)prefix;
    (void)opcode;
}
#endif

void interpret_decode_sse(struct interpret_op *op, enum interpret_prefix prefix, uint8_t opcode,
                          uint8_t immediate)
{
    op->what = 0;
    decode_move(op, prefix, opcode);
    if (!op->run)
        decode_part(op, prefix, opcode);
    if (!op->run)
        decode_words(op, prefix, opcode, immediate);
    if (!op->run)
        decode_vector(op, prefix, opcode, immediate);
    if (!op->run)
        decode_float(op, prefix, opcode);
    if (!op->run && prefix == PREFIX_NONE)
        interpret_decode_mmx(op, opcode, immediate);
    op->uses_xmm = op->run != NULL;
}
