/* Data addresses from registers and operands, through Capstone. */
#include "operand.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct operands {
    csh handle;
    cs_insn *instruction;
    bool wide;
};

struct operands *operands_new(bool wide)
{
    struct operands *operands = calloc(1, sizeof *operands);
    if (!operands)
        return NULL;
    operands->wide = wide;
    if (cs_open(CS_ARCH_X86, wide ? CS_MODE_64 : CS_MODE_32, &operands->handle) != CS_ERR_OK) {
        free(operands);
        return NULL;
    }
    cs_option(operands->handle, CS_OPT_DETAIL, CS_OPT_ON);
    operands->instruction = cs_malloc(operands->handle);
    return operands;
}

void operands_free(struct operands *operands)
{
    if (!operands)
        return;
    cs_free(operands->instruction, 1);
    cs_close(&operands->handle);
    free(operands);
}

static bool decode(struct operands *operands, const uint8_t *bytes, size_t count, uint64_t ip)
{
    return operands->instruction &&
           cs_disasm_iter(operands->handle, &bytes, &count, &ip, operands->instruction);
}

/* Where a register stands in a PEBS record, and how much of it is meant. */
static const struct {
    x86_reg reg;
    uint8_t index;
    uint64_t mask;
} registers[] = {
    {X86_REG_EAX, 2, UINT32_MAX},  {X86_REG_EBX, 3, UINT32_MAX},  {X86_REG_ECX, 4, UINT32_MAX},
    {X86_REG_EDX, 5, UINT32_MAX},  {X86_REG_ESI, 6, UINT32_MAX},  {X86_REG_EDI, 7, UINT32_MAX},
    {X86_REG_EBP, 8, UINT32_MAX},  {X86_REG_ESP, 9, UINT32_MAX},  {X86_REG_RAX, 2, UINT64_MAX},
    {X86_REG_RBX, 3, UINT64_MAX},  {X86_REG_RCX, 4, UINT64_MAX},  {X86_REG_RDX, 5, UINT64_MAX},
    {X86_REG_RSI, 6, UINT64_MAX},  {X86_REG_RDI, 7, UINT64_MAX},  {X86_REG_RBP, 8, UINT64_MAX},
    {X86_REG_RSP, 9, UINT64_MAX},  {X86_REG_R8, 10, UINT64_MAX},  {X86_REG_R9, 11, UINT64_MAX},
    {X86_REG_R10, 12, UINT64_MAX}, {X86_REG_R11, 13, UINT64_MAX}, {X86_REG_R12, 14, UINT64_MAX},
    {X86_REG_R13, 15, UINT64_MAX}, {X86_REG_R14, 16, UINT64_MAX}, {X86_REG_R15, 17, UINT64_MAX},
    {X86_REG_BX, 3, UINT16_MAX},   {X86_REG_SI, 6, UINT16_MAX},   {X86_REG_DI, 7, UINT16_MAX},
    {X86_REG_BP, 8, UINT16_MAX},
};

/* The value of REG before the instruction; false when the record does not hold it. */
static bool value_of(const struct sim_sample *s, const cs_insn *in, x86_reg reg, uint64_t *value)
{
    *value = 0;
    if (reg == X86_REG_INVALID || reg == X86_REG_EIZ || reg == X86_REG_RIZ)
        return true;
    if (reg == X86_REG_RIP || reg == X86_REG_EIP) {
        *value = in->address + in->size;
        return true;
    }
    for (size_t i = 0; i < sizeof registers / sizeof registers[0]; i++) {
        if (registers[i].reg != reg)
            continue;
        *value = s->registers.value[registers[i].index] & registers[i].mask;
        return true;
    }
    return false;
}

static bool touches_memory(const cs_insn *in)
{
    return in->id != X86_INS_LEA && in->id != X86_INS_NOP;
}

/* The memory operand that counts: the first that is read, else the first. */
static const cs_x86_op *memory_operand(const cs_insn *in)
{
    const cs_x86 *x86 = &in->detail->x86;
    const cs_x86_op *first = NULL;
    for (unsigned i = 0; i < x86->op_count && touches_memory(in); i++) {
        const cs_x86_op *operand = &x86->operands[i];
        if (operand->type != X86_OP_MEM)
            continue;
        if (operand->access & CS_AC_READ)
            return operand;
        if (!first)
            first = operand;
    }
    return first;
}

/* push, pop, call, ret: the stack, which Capstone gives no operand for. */
static bool stack_address(const struct operands *operands, const cs_insn *in,
                          const struct sim_sample *s, uint64_t *address)
{
    uint64_t esp = s->registers.value[9];
    if (in->id == X86_INS_POP || in->id == X86_INS_RET) {
        *address = esp;
        return true;
    }
    if (in->id != X86_INS_PUSH && in->id != X86_INS_CALL)
        return false;
    *address = esp - (operands->wide ? 8 : 4);
    return true;
}

bool operand_address(struct operands *operands, const struct samples_code *code,
                     const struct sim_sample *s, uint64_t *address, const char **why)
{
    const cs_insn *in = operands->instruction;
    uint64_t base, index;
    *why = NULL;
    if (!s->registers_known)
        *why = "the sample has no registers";
    else if (!code || !decode(operands, code->bytes, code->length, code->ip))
        *why = "the instruction's bytes are not known";
    if (*why)
        return false;
    const cs_x86_op *operand = memory_operand(in);
    if (!operand) {
        if (stack_address(operands, in, s, address))
            return true;
        *why = "the instruction touches no memory";
        return false;
    }
    if (operand->mem.segment == X86_REG_FS || operand->mem.segment == X86_REG_GS) {
        *why = "the segment's base is not recorded (fs, gs)";
        return false;
    }
    if (!value_of(s, in, (x86_reg)operand->mem.base, &base) ||
        !value_of(s, in, (x86_reg)operand->mem.index, &index)) {
        *why = "an address register is not recorded";
        return false;
    }
    *address = base + index * (uint64_t)operand->mem.scale + (uint64_t)operand->mem.disp;
    if (!operands->wide)
        *address &= UINT32_MAX;
    return true;
}

unsigned operand_text(struct operands *operands, const uint8_t *bytes, size_t count, uint64_t ip,
                      char *text, size_t size)
{
    if (!decode(operands, bytes, count, ip)) {
        snprintf(text, size, "(bad)");
        return 0;
    }
    const cs_insn *in = operands->instruction;
    snprintf(text, size, "%s%s%s", in->mnemonic, in->op_str[0] ? " " : "", in->op_str);
    return in->size;
}
