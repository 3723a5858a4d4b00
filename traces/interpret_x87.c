/*
 * x87 instructions of the interpreter. Eighty-bit arithmetic with its tags, condition codes and
 * sticky exceptions is best done by the one thing that has it all: the host's own x87 unit executes
 * the instruction on the program's x87 state, with the memory operand in a buffer of ours. A table
 * of all instructions, each followed by a return, is laid out by the assembler.
 *
 * Left to others: environments and whole states in memory, encodings no manual lists, and anything
 * while an exception is not masked. The unit's pointers to its last instruction and operand are not
 * kept up to date (only handlers of exceptions look at them). On hosts that are not x86-64 nothing
 * is interpreted.
 */
#include "interpret_parts.h"

#if defined(__x86_64__)

enum {
    ALL_MASKED = 0x3f,       /* of the control word */
    EXCEPTION_WAITS = 0x80,  /* of the status word */
    MEMORY_STUBS = 8 * 8 * 4 /* bytes before the register forms */
};

/* Four bytes for each: D8 to DF with /0 to /7 and [rdi]; then D8 to DF with C0 to FF. */
extern const uint8_t interpret_x87_stubs[];
__asm__(".text\n"
        ".globl interpret_x87_stubs\n"
        ".hidden interpret_x87_stubs\n"
        "interpret_x87_stubs:\n"
        ".set x87_opcode, 0xd8\n"
        ".rept 8\n"
        ".set x87_digit, 0\n"
        ".rept 8\n"
        ".byte x87_opcode, x87_digit * 8 + 7, 0xc3, 0x90\n"
        ".set x87_digit, x87_digit + 1\n"
        ".endr\n"
        ".set x87_opcode, x87_opcode + 1\n"
        ".endr\n"
        ".set x87_opcode, 0xd8\n"
        ".rept 8\n"
        ".set x87_modrm, 0xc0\n"
        ".rept 64\n"
        ".byte x87_opcode, x87_modrm, 0xc3, 0x90\n"
        ".set x87_modrm, x87_modrm + 1\n"
        ".endr\n"
        ".set x87_opcode, x87_opcode + 1\n"
        ".endr\n");

struct fxsave_image {
    _Alignas(16) uint8_t bytes[512];
};

/* Executes a stub on the host's unit; gives the flags it left. */
static uint32_t run_on_host(const uint8_t *stub, struct interpret_x87 *x87, void *operand,
                            uint32_t flags)
{
    struct fxsave_image image;
    uint64_t host_flags = (flags & FLAGS_ARITHMETIC) | 0x202;
    uint16_t host_control;

    memcpy(image.bytes, x87, sizeof *x87);
    __asm__ volatile("fnstcw %[control]\n\t"
                     "stmxcsr 24(%[image])\n\t"
                     "fxrstor64 (%[image])\n\t"
                     "lea -128(%%rsp), %%rsp\n\t" /* past the red zone */
                     "push %[flags]\n\t"
                     "popfq\n\t"
                     "call *%[stub]\n\t"
                     "pushfq\n\t"
                     "pop %[flags]\n\t"
                     "lea 128(%%rsp), %%rsp\n\t"
                     "fxsave64 (%[image])\n\t"
                     "fninit\n\t"
                     "fldcw %[control]"
                     : [flags] "+a"(host_flags), [control] "=m"(host_control)
                     : [image] "S"(image.bytes), [stub] "c"(stub), "D"(operand)
                     : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                       "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                       "xmm15");
    memcpy(x87, image.bytes, sizeof *x87);
    return (uint32_t)host_flags;
}

static bool may_trap(const struct interpret_x87 *x87)
{
    return (x87->control & ALL_MASKED) != ALL_MASKED || (x87->status & EXCEPTION_WAITS);
}

/* Sticky bits of the status word are put aside, so that those of one instruction can be seen. */
enum { DENORMAL = 1 << 1, OVERFLOWS = 1 << 3, UNDERFLOWS = 1 << 4, STACK = 1 << 6, C1 = 1 << 9 };
enum { STICKY = 0x7f };

/* Instructions that read, clear or unmask the sticky bits: fldcw, fnstsw to memory, fnclex, fninit.
 */
static bool is_about_status(uint64_t stub)
{
    enum { D9_5 = 4 * (1 * 8 + 5), DD_7 = 4 * (5 * 8 + 7) };
    enum { DB_E2 = MEMORY_STUBS + 4 * (3 * 64 + 0x22), DB_E3 = DB_E2 + 4 };

    return stub == D9_5 || stub == DD_7 || stub == DB_E2 || stub == DB_E3;
}

/* What the part's microcode would have had to do, from the exceptions (all masked) it raised. */
static uint8_t assist_of(uint16_t status)
{
    unsigned assist = 0;

    if (status & STACK)
        assist |= status & C1 ? TRACE_ASSIST_X87_OVERFLOW : TRACE_ASSIST_X87_UNDERFLOW;
    if (status & OVERFLOWS)
        assist |= TRACE_ASSIST_X87_RESULT_OVERFLOW;
    if (status & UNDERFLOWS)
        assist |= TRACE_ASSIST_X87_RESULT_UNDERFLOW;
    if (status & DENORMAL)
        assist |= TRACE_ASSIST_X87_INPUT;
    return (uint8_t)assist;
}

static uint8_t precision_of(uint16_t control)
{
    static const uint8_t precision[] = {TRACE_SINGLE, TRACE_EXTENDED, TRACE_DOUBLE, TRACE_EXTENDED};

    return precision[control >> 8 & 3];
}

static bool run_x87(struct interpreter *machine, const struct interpret_op *op,
                    const struct trace_access *access)
{
    struct interpret_x87 *now = &machine->state.x87, after = *now;
    uint8_t operand[16] = {0};
    uint64_t address = op->memory ? access[0].address : 0;
    uint32_t flags;
    bool writes = op->memory && access[0].write;

    if (may_trap(now) || (op->memory && !writes &&
                          !interpret_load_bytes(machine->memory, address, operand, op->bytes)))
        return false;
    if (!is_about_status(op->immediate))
        after.status &= (uint16_t)~STICKY;
    flags = run_on_host(interpret_x87_stubs + op->immediate, &after, operand, get_flags(machine));
    if (writes && !interpret_store_bytes(machine->memory, address, operand, op->bytes))
        return false;
    if (!is_about_status(op->immediate)) {
        machine->assist = assist_of(after.status);
        machine->precision = precision_of(now->control);
        after.status |= now->status & STICKY;
    }
    after.opcode = now->opcode;
    after.ip = now->ip;
    after.data = now->data;
    *now = after;
    set_flags(machine, FLAGS_ARITHMETIC, flags);
    return true;
}

/* fnstsw ax */
static bool run_status(struct interpreter *machine, const struct interpret_op *op,
                       const struct trace_access *access)
{
    (void)op;
    (void)access;
    set_register(machine, GPR_AX, 2, machine->state.x87.status);
    return true;
}

/* fwait */
static bool run_wait(struct interpreter *machine, const struct interpret_op *op,
                     const struct trace_access *access)
{
    (void)op;
    (void)access;
    return !may_trap(&machine->state.x87);
}

/* Memory forms that move operands, a bit for each digit; the others move environments, or are none.
 */
static const uint8_t operand_forms[8] = {0xff, 0xad, 0xff, 0xaf, 0xff, 0x8f, 0xff, 0xff};

/* Register forms the manual lists, a bit for each ModRM byte from C0 on. */
static const uint64_t register_forms[8] = {
    0xffffffffffffffff, /* D8: arithmetic */
    0xffff7f330001ffff, /* D9: fld, fxch, fnop, signs, tests, constants, functions */
    0x00000200ffffffff, /* DA: fcmov, fucompp */
    0x00ffff0cffffffff, /* DB: fcmov, fnclex, fninit, compares into flags */
    0xffffffff0000ffff, /* DC: arithmetic */
    0x0000ffffffff00ff, /* DD: ffree, fst, fucom */
    0xffffffff0200ffff, /* DE: arithmetic that pops */
    0x00ffff0000000000, /* DF: compares into flags; fnstsw is apart */
};

void interpret_decode_x87(struct interpret_op *op, uint8_t opcode, const struct recipe *recipe)
{
    unsigned row = opcode & 7, digit = op->reg & 7, modrm = digit << 3 | (op->rm & 7);

    op->uses_xmm = true;
    if (opcode == 0x9b) {
        op->run = run_wait;
    } else if (op->memory) {
        if (!(operand_forms[row] >> digit & 1) || recipe->access_count != 1 ||
            recipe->access[0].size > 10)
            return;
        op->run = run_x87;
        op->bytes = (uint8_t)recipe->access[0].size;
        op->immediate = 4 * (row * 8 + digit);
    } else if (opcode == 0xdf && modrm == 0x20) {
        op->run = run_status;
    } else if (register_forms[row] >> modrm & 1) {
        op->run = run_x87;
        op->immediate = MEMORY_STUBS + 4 * (row * 64 + modrm);
    }
}

#else

void interpret_decode_x87(struct interpret_op *op, uint8_t opcode, const struct recipe *recipe)
{
    (void)op;
    (void)opcode;
    (void)recipe;
}

#endif
