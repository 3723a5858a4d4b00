/*
 * The interpreter: executes the common user-mode instructions of IA-32, in 32-bit and in 64-bit
 * mode, on a copy of registers and pages, exactly, or says that it does not. Whoever runs it has
 * something else for the rest (the processor, or a log of what the processor did), so coverage buys
 * speed and never decides correctness.
 *
 * Operands in memory are those of the instruction's access recipe, so what is executed and what is
 * reported as accessed cannot differ.
 *
 * Not interpreted: far transfers, segment registers, system instructions, 16-bit addresses and
 * 16-bit branches, and whatever would fault. Flags that the manual leaves undefined are given as
 * AMD processors of the Zen family leave them, but for those after a division, which stay (model
 * choice: that is where they could be compared). F3 0F BC is bsf as on the Pentium 4, which has no
 * tzcnt; compilers write it where both agree.
 */
#ifndef TRACES_INTERPRET_H
#define TRACES_INTERPRET_H

#include "interpret_memory.h"
#include "recipe.h"

union interpret_xmm {
    uint8_t b[16];
    uint16_t w[8];
    uint32_t d[4];
    uint64_t q[2];
};

/* The x87 unit as the first part of an FXSAVE image (Intel manual volume 1, table 10-2). */
struct interpret_x87 {
    uint16_t control, status;
    uint8_t tags, reserved; /* a bit for each register that is not empty */
    uint16_t opcode;
    uint64_t ip, data;
    uint32_t unused[2];
    uint8_t st[8][16]; /* ten bytes each, from the top of the stack */
};

/* The architectural state the interpreter knows; everything else stays where it is. */
struct interpret_state {
    struct recipe_registers registers;
    union interpret_xmm xmm[16]; /* eight of them in 32-bit mode */
    uint32_t mxcsr;
    struct interpret_x87 x87;
};

struct interpreter {
    struct interpret_state state;
    struct interpret_memory *memory;
    uint64_t next_ip;     /* of the instruction being executed */
    uint8_t assist;       /* enum trace_assist of the last instruction */
    uint8_t precision;    /* enum trace_precision of it */
    uint32_t repetitions; /* of the last string instruction with a rep prefix; else 1 */
};

struct interpret_op;

/* Executes; false when it cannot, with nothing changed. */
typedef bool interpret_fn(struct interpreter *machine, const struct interpret_op *op,
                          const struct trace_access *access);
/* What an SSE instruction does to its destination register. */
typedef void interpret_xmm_fn(union interpret_xmm *destination, const union interpret_xmm *source,
                              unsigned immediate);
/* Arithmetic under the rounding and exception control of MXCSR. */
typedef void interpret_float_fn(union interpret_xmm *destination, const union interpret_xmm *source,
                                uint32_t *mxcsr);

/* Where the second operand comes from, and the result goes. */
enum interpret_direction {
    TO_RM_FROM_REG,
    TO_REG_FROM_RM,
    TO_RM_FROM_IMMEDIATE,
};

/* A static instruction made ready. */
struct interpret_op {
    interpret_fn *run; /* NULL: not interpreted */
    interpret_xmm_fn *xmm;
    interpret_float_fn *arithmetic;
    uint64_t immediate; /* sign-extended; branch displacement */
    uint8_t length;
    uint8_t size;      /* bytes of the operand */
    uint8_t what;      /* which of the handler's operations; the condition */
    uint8_t direction; /* enum interpret_direction */
    uint8_t reg, rm;   /* of ModRM and REX, REGISTER_REX set where there is one */
    bool memory;       /* rm is a memory operand */
    bool wide;         /* 64-bit mode: stack, string pointers and branches have 64 bits */
    bool uses_xmm;     /* needs XMM registers or MXCSR */
    uint8_t bytes;     /* bytes of an SSE memory operand, or of a narrow source */
    struct recipe_access address; /* lea */
};

/* Makes a decoded instruction ready; run stays NULL where it is left to others. */
void interpret_decode(const struct recipe *recipe, struct interpret_op *op);

/* Parts of interpret_decode(): opcodes after 0F, with mandatory prefix NONE, 66, F3 or F2. */
enum interpret_prefix { PREFIX_NONE, PREFIX_66, PREFIX_F3, PREFIX_F2, PREFIX_KINDS };
void interpret_decode_sse(struct interpret_op *op, enum interpret_prefix prefix, uint8_t opcode,
                          uint8_t immediate);
/* Opcodes after 0F without mandatory prefix, on MMX registers. */
void interpret_decode_mmx(struct interpret_op *op, uint8_t opcode, uint8_t immediate);
/* Opcodes D8 to DF with ModRM taken, and 9B. */
void interpret_decode_x87(struct interpret_op *op, uint8_t opcode, const struct recipe *recipe);

/*
 * Executes one instruction whose address is registers.ip. True: state and memory are those after
 * it, ACCESS holds its *COUNT accesses. False: nothing has changed.
 */
static inline bool interpret_step(struct interpreter *machine, const struct interpret_op *op,
                                  const struct recipe *recipe,
                                  struct trace_access access[TRACE_ACCESSES], unsigned *count)
{
    struct recipe_registers *registers = &machine->state.registers;

    if (!op->run)
        return false;
    *count = recipe_accesses(recipe, registers, access);
    machine->next_ip = registers->ip + op->length;
    machine->repetitions = 1;
    machine->assist = machine->precision = 0;
    if (!op->run(machine, op, access))
        return false;
    registers->ip = op->wide ? machine->next_ip : (uint32_t)machine->next_ip;
    return true;
}

#endif
