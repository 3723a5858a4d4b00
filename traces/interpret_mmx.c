/*
 * MMX instructions of the interpreter. The eight MMX registers are the mantissas of the x87
 * registers, by their own numbers, not by the top of stack. Every MMX instruction but EMMS makes
 * the top of stack 0 and all registers valid, and one that writes a register sets its exponent and
 * sign to ones (Intel manual volume 1, 9.5). What the instructions compute is what their SSE2 forms
 * do to eight of their sixteen bytes.
 *
 * Left to others: maskmovq, conversions from and to floating point, moves between MMX and XMM
 * registers, and anything while an x87 exception waits.
 */
#include "interpret_parts.h"
#include "interpret_vector.h"

enum {
    EXCEPTION_WAITS = 0x80, /* of the status word */
    TOP = 7 << 11,
    ALL_VALID = 0xff,
    ONES = 0xff,
    NARROW = 4, /* bytes that punpckl reads of memory */
};

/* How the eight bytes are found in the result of the SSE2 form. */
enum half { LOW_HALF, UNPACKED_HIGH, PACKED };

/* The top of stack becomes 0: the image begins with another register. False while an exception
 * waits. */
static bool enter(struct interpreter *machine)
{
    struct interpret_x87 *x87 = &machine->state.x87, before = *x87;
    unsigned top = x87->status >> 11 & 7;

    if (x87->status & EXCEPTION_WAITS)
        return false;
    for (unsigned i = 0; top && i < 8; i++)
        memcpy(x87->st[(i + top) & 7], before.st[i], sizeof x87->st[0]);
    x87->status &= (uint16_t)~TOP;
    x87->tags = ALL_VALID;
    return true;
}

static uint64_t get(const struct interpreter *machine, unsigned number)
{
    uint64_t value;

    memcpy(&value, machine->state.x87.st[number & 7], sizeof value);
    return value;
}

static void put(struct interpreter *machine, unsigned number, uint64_t value)
{
    uint8_t *st = machine->state.x87.st[number & 7];

    memcpy(st, &value, sizeof value);
    st[8] = st[9] = ONES;
}

/* The source: a register or memory. Registers must have been entered. */
static bool load(struct interpreter *machine, const struct interpret_op *op,
                 const struct trace_access *access, union interpret_xmm *value)
{
    *value = (union interpret_xmm){.q = {0, 0}};
    if (op->memory)
        return interpret_load_bytes(machine->memory, access[0].address, value, op->bytes);
    value->q[0] = get(machine, op->rm);
    return true;
}

/* An instruction that does not succeed leaves everything as it was. */
static bool give_up(struct interpreter *machine, const struct interpret_x87 *before)
{
    machine->state.x87 = *before;
    return false;
}

static bool run_packed(struct interpreter *machine, const struct interpret_op *op,
                       const struct trace_access *access)
{
    const struct interpret_x87 before = machine->state.x87;
    union interpret_xmm a = {.q = {0, 0}}, b;

    if (!enter(machine))
        return false;
    if (!load(machine, op, access, &b))
        return give_up(machine, &before);
    a.q[0] = get(machine, op->reg);
    op->xmm(&a, &b, (unsigned)op->immediate);
    if (op->what == PACKED)
        a.d[1] = a.d[2];
    put(machine, op->reg, op->what == UNPACKED_HIGH ? a.q[1] : a.q[0]);
    return true;
}

/* Groups 12 to 14: the register is in the rm field. */
static bool run_shift(struct interpreter *machine, const struct interpret_op *op,
                      const struct trace_access *access)
{
    union interpret_xmm a = {.q = {0, 0}};

    (void)access;
    if (!enter(machine))
        return false;
    a.q[0] = get(machine, op->rm);
    op->xmm(&a, NULL, (unsigned)op->immediate);
    put(machine, op->rm, a.q[0]);
    return true;
}

/* movq to a register; movd with its source in general registers or memory. */
static bool run_load(struct interpreter *machine, const struct interpret_op *op,
                     const struct trace_access *access)
{
    const struct interpret_x87 before = machine->state.x87;
    union interpret_xmm value;
    uint64_t word = 0;
    bool good;

    if (!enter(machine))
        return false;
    good = op->what ? load_rm(machine, op, access, op->size, &word)
                    : load(machine, op, access, &value);
    if (!good)
        return give_up(machine, &before);
    put(machine, op->reg, op->what ? word : value.q[0]);
    return true;
}

static bool run_store(struct interpreter *machine, const struct interpret_op *op,
                      const struct trace_access *access)
{
    const struct interpret_x87 before = machine->state.x87;
    uint64_t value;

    if (!enter(machine))
        return false;
    value = get(machine, op->reg);
    if (op->what)
        return store_rm(machine, op, access, op->size, value) || give_up(machine, &before);
    if (!op->memory) {
        put(machine, op->rm, value);
        return true;
    }
    return interpret_store_bytes(machine->memory, access[0].address, &value, 8) ||
           give_up(machine, &before);
}

static bool run_signs(struct interpreter *machine, const struct interpret_op *op,
                      const struct trace_access *access)
{
    uint64_t value, mask = 0;

    (void)access;
    if (!enter(machine))
        return false;
    value = get(machine, op->rm);
    for (unsigned i = 0; i < 8; i++)
        mask |= (value >> (8 * i + 7) & 1) << i;
    set_register(machine, op->reg, 4, mask);
    return true;
}

static bool run_insert(struct interpreter *machine, const struct interpret_op *op,
                       const struct trace_access *access)
{
    const struct interpret_x87 before = machine->state.x87;
    unsigned shift = 16 * (op->immediate & 3);
    uint64_t word;

    if (!enter(machine))
        return false;
    if (!load_rm(machine, op, access, 2, &word))
        return give_up(machine, &before);
    put(machine, op->reg, (get(machine, op->reg) & ~((uint64_t)0xffff << shift)) | word << shift);
    return true;
}

static bool run_extract(struct interpreter *machine, const struct interpret_op *op,
                        const struct trace_access *access)
{
    (void)access;
    if (!enter(machine))
        return false;
    set_register(machine, op->reg, 4, get(machine, op->rm) >> 16 * (op->immediate & 3) & 0xffff);
    return true;
}

static bool run_emms(struct interpreter *machine, const struct interpret_op *op,
                     const struct trace_access *access)
{
    (void)op;
    (void)access;
    if (!enter(machine))
        return false;
    machine->state.x87.tags = 0;
    return true;
}

/* ---- from opcode to handler --------------------------------------------------------------------
 */

static void decode_move(struct interpret_op *op, uint8_t opcode)
{
    op->what = opcode == 0x6e || opcode == 0x7e; /* movd */
    op->size = op->size == 8 ? 8 : 4;
    if (opcode == 0x6e || opcode == 0x6f)
        op->run = run_load;
    else if (opcode == 0x7e || opcode == 0x7f || op->memory)
        op->run = run_store;
}

/* Opcodes whose SSE2 form does the same to each half. */
static bool is_packed(uint8_t opcode)
{
    switch (opcode) {
    case 0x6c: /* punpcklqdq, punpckhqdq: none in MMX */
    case 0x6d:
    case 0xd6:
    case 0xe6:
    case 0xf0:
        return false;
    default:
        return (opcode >= 0x60 && opcode < 0x6c) || (opcode >= 0x74 && opcode < 0x77) ||
               opcode >= 0xd1;
    }
}

static void decode_packed(struct interpret_op *op, uint8_t opcode)
{
    /* The upper halves' unpack of SSE2 starts at byte 8; here that of the lower halves does. */
    bool high = opcode >= 0x68 && opcode <= 0x6a;

    op->xmm = interpret_vector(PREFIX_66, high ? (uint8_t)(opcode - 8) : opcode);
    if (!op->xmm)
        return;
    op->run = run_packed;
    op->what = high                                                 ? UNPACKED_HIGH
               : opcode == 0x63 || opcode == 0x67 || opcode == 0x6b ? PACKED
                                                                    : LOW_HALF;
    op->bytes = opcode <= 0x62 ? NARROW : 8;
}

void interpret_decode_mmx(struct interpret_op *op, uint8_t opcode, uint8_t immediate)
{
    op->bytes = 8;
    op->immediate = immediate;
    if (opcode == 0x6e || opcode == 0x6f || opcode == 0x7e || opcode == 0x7f || opcode == 0xe7) {
        decode_move(op, opcode);
    } else if (opcode == 0x77) {
        op->run = run_emms;
    } else if (opcode == 0x70) { /* pshufw: the low half of pshuflw */
        op->xmm = interpret_vector(PREFIX_F2, opcode);
        op->run = op->xmm ? run_packed : NULL;
        op->what = LOW_HALF;
    } else if (opcode >= 0x71 && opcode <= 0x73) {
        if (!op->memory && !(opcode == 0x73 && (op->reg & 1)))
            op->xmm = interpret_vector_shift(opcode, op->reg & 7);
        op->run = op->xmm ? run_shift : NULL;
    } else if (opcode == 0xc4) {
        op->run = run_insert;
    } else if (opcode == 0xc5 || opcode == 0xd7) {
        op->run = op->memory ? NULL : opcode == 0xc5 ? run_extract : run_signs;
    } else if (is_packed(opcode)) {
        decode_packed(op, opcode);
    }
}
