/*
 * From a decoded instruction to what it reads and writes: the flows of decode_names.def.
 *
 * Memory accesses come in the order in which a source of instructions reports them
 * (traces/source.h): reads first, then writes. Partial registers are the whole register
 * (Agner 5.8): writing AL or AX reads EAX too. Not modelled: the direction flag as a register of
 * its own, the control registers, the alias of MMX and x87 registers.
 */
#include "decode.h"
#include <assert.h>
#include <string.h>

enum { AX = 0, CX = 1, DX = 2, BX = 3, SP = 4, BP = 5, SI = 6, DI = 7 };

void nb_add_source(struct nb_facts *facts, uint8_t reg)
{
    unsigned n = facts->sources;
    if (reg == NB_REG_NONE || n >= sizeof facts->source || memchr(facts->source, reg, n))
        return;
    facts->source[n] = reg;
    facts->sources++;
}

void nb_add_result(struct nb_facts *facts, uint8_t reg)
{
    unsigned n = facts->results;
    if (reg == NB_REG_NONE || n >= sizeof facts->result || memchr(facts->result, reg, n))
        return;
    facts->result[n] = reg;
    facts->results++;
}

void nb_add_read(struct nb_facts *facts, struct nb_address access)
{
    if (facts->reads < 2)
        facts->read[facts->reads++] = access;
}

void nb_add_write(struct nb_facts *facts, struct nb_address access)
{
    if (facts->writes < 2)
        facts->write[facts->writes++] = access;
}

static struct nb_address at(uint8_t reg)
{
    return (struct nb_address){{reg, NB_REG_NONE, NB_REG_NONE}};
}

static void read_operand(struct nb_facts *facts, const cs_x86_op *op)
{
    if (op->type == X86_OP_MEM)
        nb_add_read(facts, nb_address_of(op));
    else if (op->type == X86_OP_REG)
        nb_add_source(facts, nb_register_of(op->reg));
}

static void write_operand(struct nb_facts *facts, const cs_x86_op *op)
{
    if (op->type == X86_OP_MEM) {
        nb_add_write(facts, nb_address_of(op));
    } else if (op->type == X86_OP_REG) {
        unsigned bytes = nb_register_bytes(op->reg);
        nb_add_result(facts, nb_register_of(op->reg));
        if (bytes == 1 || bytes == 2) {
            facts->partial = true;
            nb_add_source(facts, nb_register_of(op->reg));
        }
    }
}

static void read_operands(struct nb_facts *facts, const cs_x86 *x86, unsigned from)
{
    for (unsigned i = from; i < x86->op_count; i++)
        read_operand(facts, &x86->operands[i]);
}

static void add_registers(struct nb_facts *facts, uint16_t mask,
                          void add(struct nb_facts *, uint8_t))
{
    for (uint8_t i = 0; i < 16; i++)
        if (mask & (1U << i))
            add(facts, (uint8_t)(NB_REG_GPR + i));
}

static bool same_registers(const cs_x86 *x86)
{
    return x86->op_count == 2 && x86->operands[0].type == X86_OP_REG &&
           x86->operands[1].type == X86_OP_REG && x86->operands[0].reg == x86->operands[1].reg;
}

/* XOR, SUB and PXOR of a register with itself; from Prescott on XORPS, XORPD and PSUB too (uarch
 * manuals of Agner 5.8, Intel 248966). */
static bool is_zero_idiom(const struct nb_decoder *decoder, const char *name)
{
    if (!same_registers(&decoder->insn->detail->x86))
        return false;
    if (strcmp(name, "xor") == 0 || strcmp(name, "sub") == 0 || strcmp(name, "pxor") == 0)
        return true;
    return decoder->core == NB_CORE_P4E &&
           (strcmp(name, "xorps") == 0 || strcmp(name, "xorpd") == 0 ||
            strncmp(name, "psub", 4) == 0);
}

/* ---- flows: one group of instructions each ------------------------------------------- */

static void flow_modify(struct nb_facts *facts, const cs_x86 *x86)
{
    facts->computes = true;
    read_operands(facts, x86, 0);
    write_operand(facts, &x86->operands[0]);
}

static void flow_write(struct nb_facts *facts, const cs_x86 *x86)
{
    facts->computes = true;
    read_operands(facts, x86, 1);
    write_operand(facts, &x86->operands[0]);
}

/* Moves: a load, a store, or a register move. A load that merges (AL, AX) goes through a computing
 * uop. */
static void flow_move(struct nb_facts *facts, const cs_x86 *x86)
{
    flow_write(facts, x86);
    bool memory = facts->reads > 0 || facts->writes > 0;
    facts->computes = !memory || (facts->reads > 0 && facts->partial);
}

/* MOVSS, MOVSD: between registers the upper part of the destination stays. */
static void flow_move_scalar(struct nb_facts *facts, const cs_x86 *x86)
{
    flow_move(facts, x86);
    if (facts->computes)
        read_operand(facts, &x86->operands[0]);
}

/* MOVHPS and its kin: loads keep the other half of the destination. */
static void flow_merge(struct nb_facts *facts, const cs_x86 *x86)
{
    flow_write(facts, x86);
    facts->computes = facts->writes == 0;
    if (facts->computes)
        read_operand(facts, &x86->operands[0]);
}

static void flow_lea(struct nb_facts *facts, const cs_x86 *x86)
{
    struct nb_address address = nb_address_of(&x86->operands[1]);
    facts->computes = true;
    nb_add_source(facts, address.reg[0]);
    nb_add_source(facts, address.reg[1]);
    write_operand(facts, &x86->operands[0]);
}

static void flow_exchange(struct nb_facts *facts, const cs_x86 *x86, bool add)
{
    facts->computes = true;
    read_operands(facts, x86, 0);
    write_operand(facts, &x86->operands[0]);
    write_operand(facts, &x86->operands[1]);
    /* XCHG with memory is locked without the prefix. */
    facts->locked = facts->locked || (!add && facts->writes > 0);
}

static void flow_implied(struct nb_facts *facts)
{
    facts->computes = true;
}

static void flow_far_pointer(struct nb_facts *facts, const cs_x86 *x86)
{
    flow_write(facts, x86);
    nb_add_result(facts, NB_REG_SEGMENT);
}

static void move_stack(struct nb_facts *facts)
{
    facts->stack = true;
    facts->stack_source = SP;
}

static void flow_push(struct nb_facts *facts, const cs_x86 *x86)
{
    read_operands(facts, x86, 0);
    nb_add_write(facts, at(SP));
    move_stack(facts);
}

static void flow_pop(struct nb_facts *facts, const cs_x86 *x86)
{
    nb_add_read(facts, at(SP));
    if (x86->op_count > 0)
        write_operand(facts, &x86->operands[0]);
    facts->computes = facts->partial || facts->flags_written;
    move_stack(facts);
    if (facts->results == 1 && facts->result[0] == SP)
        facts->stack = false; /* pop esp: the loaded value is the new stack pointer */
}

static void flow_leave(struct nb_facts *facts)
{
    nb_add_read(facts, at(BP));
    nb_add_result(facts, BP);
    facts->stack = true;
    facts->stack_source = BP;
}

static void flow_call(struct nb_facts *facts, const cs_x86 *x86, struct nb_code *code)
{
    bool direct = x86->operands[0].type == X86_OP_IMM;
    read_operands(facts, x86, 0);
    nb_add_write(facts, at(SP));
    move_stack(facts);
    facts->branches = true;
    code->branch = direct ? NB_BRANCH_CALL : NB_BRANCH_INDIRECT_CALL;
}

static void flow_jump(struct nb_facts *facts, const cs_x86 *x86, struct nb_code *code)
{
    read_operands(facts, x86, 0);
    facts->branches = true;
    code->branch = x86->operands[0].type == X86_OP_IMM ? NB_BRANCH_JUMP : NB_BRANCH_INDIRECT_JUMP;
}

static void flow_return(struct nb_facts *facts, struct nb_code *code)
{
    nb_add_read(facts, at(SP));
    move_stack(facts);
    facts->branches = true;
    code->branch = NB_BRANCH_RETURN;
}

static void flow_conditional(struct nb_facts *facts, struct nb_code *code)
{
    facts->branches = true;
    facts->computes = facts->results > 0;
    code->branch = NB_BRANCH_CONDITIONAL;
}

/* Far calls push, far returns pop the return address in one access; an interrupt's pushes are the
 * kernel's. */
static void far_stack(struct nb_facts *facts, const char *name)
{
    if (strcmp(name, "lcall") == 0)
        nb_add_write(facts, at(SP));
    else if (strcmp(name, "retf") == 0 || strcmp(name, "iret") == 0)
        nb_add_read(facts, at(SP));
    else
        return;
    move_stack(facts);
}

static void flow_far(const struct nb_decoder *decoder, const char *name, struct nb_facts *facts,
                     struct nb_code *code)
{
    const cs_insn *insn = decoder->insn;
    facts->branches = true;
    facts->computes = true;
    code->branch = NB_BRANCH_FAR;
    if (insn->detail->x86.op_count > 0 && insn->detail->x86.operands[0].type == X86_OP_MEM)
        read_operands(facts, &insn->detail->x86, 0);
    far_stack(facts, name);
    bool linux_call = insn->id == X86_INS_INT && insn->detail->x86.operands[0].imm == 0x80;
    if (linux_call || insn->id == X86_INS_SYSENTER || insn->id == X86_INS_SYSCALL)
        code->flags |= NB_CODE_SYSTEM_CALL;
}

static void flow_string(struct nb_facts *facts, const cs_x86 *x86, enum nb_flow flow)
{
    facts->element_bytes = x86->opcode[0] % 2 == 0 ? 1 : x86->prefix[2] ? 2 : x86->rex & 8 ? 8 : 4;
    if (flow != NB_FLOW_STORE_STRING && flow != NB_FLOW_SCAN_STRING)
        nb_add_read(facts, at(SI));
    if (flow == NB_FLOW_SCAN_STRING || flow == NB_FLOW_COMPARE_STRING)
        nb_add_read(facts, at(DI));
    if (flow == NB_FLOW_STORE_STRING || flow == NB_FLOW_MOVE_STRING)
        nb_add_write(facts, at(DI));
    bool lods = (x86->opcode[0] & 0xFE) == 0xAC; /* OUTS loads too, but not into a register */
    if (lods)
        nb_add_result(facts, AX);
    if (lods && facts->element_bytes < 4)
        nb_add_source(facts, AX);
    facts->computes = flow != NB_FLOW_STORE_STRING && flow != NB_FLOW_MOVE_STRING;
    if (flow != NB_FLOW_STORE_STRING && flow != NB_FLOW_SCAN_STRING)
        facts->step[facts->steps++] = SI;
    if (flow != NB_FLOW_LOAD_STRING)
        facts->step[facts->steps++] = DI;
}

static void flow_prefetch(struct nb_facts *facts, const cs_x86 *x86, const char *name)
{
    read_operands(facts, x86, 0);
    facts->prefetches = true;
    facts->non_temporal = strcmp(name, "prefetchnta") == 0;
}

static void flow_masked_store(struct nb_facts *facts, const cs_x86 *x86)
{
    read_operands(facts, x86, 0);
    nb_add_write(facts, at(DI));
    facts->computes = true;
    facts->non_temporal = true;
}

/* What is saved and restored goes in pieces: as many loads and stores as were counted (Weaver,
 * deterministic events). */
static void in_pieces(struct nb_facts *facts, const char *name)
{
    static const struct {
        const char *name;
        uint16_t bytes;
        uint8_t pieces;
    } rows[] = {{"fldenv", 28, 7},   {"fnstenv", 28, 7},  {"frstor", 108, 23},
                {"fnsave", 108, 23}, {"fxsave", 512, 26}, {"fxrstor", 512, 26}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (nb_same_name(rows[i].name, name)) {
            facts->memory_bytes = rows[i].bytes;
            facts->memory_pieces = rows[i].pieces;
        }
    }
}

/* FXSAVE writes, FXRSTOR reads all 512 bytes in one access. */
static void flow_state(struct nb_facts *facts, const cs_x86 *x86, const char *name)
{
    facts->computes = true;
    if (strcmp(name, "fxsave") == 0)
        nb_add_write(facts, nb_address_of(&x86->operands[0]));
    else
        nb_add_read(facts, nb_address_of(&x86->operands[0]));
}

static void flow_control(struct nb_facts *facts, const cs_x86 *x86, bool load)
{
    facts->computes = true;
    if (load) {
        read_operands(facts, x86, 0);
        nb_add_result(facts, NB_REG_FP_CONTROL);
    } else {
        nb_add_source(facts, NB_REG_FP_CONTROL);
        nb_add_write(facts, nb_address_of(&x86->operands[0]));
    }
}

static void flow_enter(struct nb_facts *facts, const cs_x86 *x86)
{
    if (x86->op_count > 1 && (x86->operands[1].imm & 31) > 1)
        nb_add_read(facts, at(BP)); /* the outer frames' pointers */
    facts->computes = true;
    nb_add_write(facts, at(SP));
}

static void flow_table(struct nb_facts *facts)
{
    struct nb_address access = {{BX, AX, NB_REG_NONE}};
    nb_add_read(facts, access);
    facts->computes = true;
}

static void flow_push_all(struct nb_facts *facts)
{
    nb_add_write(facts, at(SP));
    facts->computes = true;
    move_stack(facts);
}

static void flow_pop_all(struct nb_facts *facts)
{
    nb_add_read(facts, at(SP));
    facts->computes = true;
    move_stack(facts);
}

static void flow_read(struct nb_facts *facts, const cs_x86 *x86)
{
    facts->computes = true;
    read_operands(facts, x86, 0);
}

static void flow_increment(struct nb_facts *facts, const cs_x86 *x86)
{
    flow_modify(facts, x86);
    facts->flags_merge = true;
}

/* Operands to operands. */
static bool data_flow(const struct nb_decoder *decoder, const struct nb_name *name,
                      struct nb_facts *facts, struct nb_code *code)
{
    const cs_x86 *x86 = &decoder->insn->detail->x86;
    (void)code;
    switch ((enum nb_flow)name->flow) {
    case NB_FLOW_READ:
    case NB_FLOW_MULTIPLY:
        flow_read(facts, x86);
        return true;
    case NB_FLOW_WRITE:
        flow_write(facts, x86);
        return true;
    case NB_FLOW_MODIFY:
        flow_modify(facts, x86);
        return true;
    case NB_FLOW_MOVE:
        flow_move(facts, x86);
        return true;
    case NB_FLOW_MOVE_SCALAR:
        flow_move_scalar(facts, x86);
        return true;
    case NB_FLOW_MERGE:
        flow_merge(facts, x86);
        return true;
    case NB_FLOW_INCREMENT:
        flow_increment(facts, x86);
        return true;
    case NB_FLOW_LEA:
        flow_lea(facts, x86);
        return true;
    case NB_FLOW_EXCHANGE:
        flow_exchange(facts, x86, name->flags != 0);
        return true;
    case NB_FLOW_COMPARE_EXCHANGE:
        flow_modify(facts, x86);
        return true;
    case NB_FLOW_IMPLIED:
        flow_implied(facts);
        return true;
    default:
        return false;
    }
}

/* What moves the stack pointer. */
static bool stack_flow(const struct nb_decoder *decoder, const struct nb_name *name,
                       struct nb_facts *facts, struct nb_code *code)
{
    const cs_x86 *x86 = &decoder->insn->detail->x86;
    (void)code;
    switch ((enum nb_flow)name->flow) {
    case NB_FLOW_PUSH:
        flow_push(facts, x86);
        return true;
    case NB_FLOW_POP:
        flow_pop(facts, x86);
        return true;
    case NB_FLOW_PUSH_ALL:
        flow_push_all(facts);
        return true;
    case NB_FLOW_POP_ALL:
        flow_pop_all(facts);
        return true;
    case NB_FLOW_ENTER:
        flow_enter(facts, x86);
        return true;
    case NB_FLOW_LEAVE:
        flow_leave(facts);
        return true;
    default:
        return false;
    }
}

/* What may go somewhere else. */
static bool branch_flow(const struct nb_decoder *decoder, const struct nb_name *name,
                        struct nb_facts *facts, struct nb_code *code)
{
    const cs_x86 *x86 = &decoder->insn->detail->x86;
    switch ((enum nb_flow)name->flow) {
    case NB_FLOW_JUMP:
        flow_jump(facts, x86, code);
        return true;
    case NB_FLOW_CONDITIONAL:
        flow_conditional(facts, code);
        return true;
    case NB_FLOW_CALL:
        flow_call(facts, x86, code);
        return true;
    case NB_FLOW_RETURN:
        flow_return(facts, code);
        return true;
    case NB_FLOW_FAR:
        flow_far(decoder, name->name, facts, code);
        return true;
    default:
        return false;
    }
}

/* Memory by other rules than the operands. */
static bool memory_flow(const struct nb_decoder *decoder, const struct nb_name *name,
                        struct nb_facts *facts, struct nb_code *code)
{
    const cs_x86 *x86 = &decoder->insn->detail->x86;
    (void)code;
    switch ((enum nb_flow)name->flow) {
    case NB_FLOW_TABLE:
        flow_table(facts);
        return true;
    case NB_FLOW_FAR_POINTER:
        flow_far_pointer(facts, x86);
        return true;
    case NB_FLOW_LOAD_STRING:
    case NB_FLOW_STORE_STRING:
    case NB_FLOW_MOVE_STRING:
    case NB_FLOW_SCAN_STRING:
    case NB_FLOW_COMPARE_STRING:
        flow_string(facts, x86, name->flow);
        return true;
    case NB_FLOW_PREFETCH:
        flow_prefetch(facts, x86, name->name);
        return true;
    case NB_FLOW_FENCE:
        facts->fences = true;
        facts->fence_orders_stores = strcmp(name->name, "lfence") != 0;
        facts->fence_orders_loads = strcmp(name->name, "sfence") != 0;
        return true;
    case NB_FLOW_MASKED_STORE:
        flow_masked_store(facts, x86);
        return true;
    default:
        return false;
    }
}

/* Units with a state of their own, and nothing at all. */
static bool system_flow(const struct nb_decoder *decoder, const struct nb_name *name,
                        struct nb_facts *facts, struct nb_code *code)
{
    const cs_x86 *x86 = &decoder->insn->detail->x86;
    switch ((enum nb_flow)name->flow) {
    case NB_FLOW_NOTHING:
        return true;
    case NB_FLOW_X87:
        nb_x87_facts(decoder->insn, facts, code);
        return true;
    case NB_FLOW_STATE:
        flow_state(facts, x86, name->name);
        return true;
    case NB_FLOW_LOAD_CONTROL:
        flow_control(facts, x86, true);
        return true;
    case NB_FLOW_STORE_CONTROL:
        flow_control(facts, x86, false);
        return true;
    default:
        return false;
    }
}

static void apply_flow(const struct nb_decoder *decoder, const struct nb_name *name,
                       struct nb_facts *facts, struct nb_code *code)
{
    bool known = data_flow(decoder, name, facts, code) || stack_flow(decoder, name, facts, code) ||
                 branch_flow(decoder, name, facts, code) ||
                 memory_flow(decoder, name, facts, code) || system_flow(decoder, name, facts, code);
    assert(known);
    (void)known;
}

static bool is_vector(uint8_t reg)
{
    return reg >= NB_REG_MMX && reg < NB_REG_TEMP;
}

static void look_at_operands(const cs_x86 *x86, struct nb_facts *facts)
{
    unsigned high = 0;
    for (unsigned i = 0; i < x86->op_count; i++) {
        if (x86->operands[i].type != X86_OP_REG)
            continue;
        high += nb_is_high_byte(x86->operands[i].reg);
        facts->fp_data = facts->fp_data || is_vector(nb_register_of(x86->operands[i].reg));
    }
    facts->high_byte = high == 1;
    facts->sib = (x86->modrm & 7) == 4 && x86->modrm < 0xC0 && x86->addr_size != 2 &&
                 x86->encoding.modrm_offset != 0;
}

static bool uses_xmm(const cs_x86 *x86)
{
    for (unsigned i = 0; i < x86->op_count; i++)
        if (x86->operands[i].type == X86_OP_REG &&
            nb_register_of(x86->operands[i].reg) >= NB_REG_XMM &&
            is_vector(nb_register_of(x86->operands[i].reg)))
            return true;
    return false;
}

static uint8_t class_of(const struct nb_name *name, const struct nb_facts *facts, const cs_x86 *x86)
{
    switch ((enum nb_name_class)name->class) {
    case NB_CLASS_PACKED_SP:
        return NB_FP_PACKED_SP;
    case NB_CLASS_PACKED_DP:
        return NB_FP_PACKED_DP;
    case NB_CLASS_SCALAR_SP:
        return NB_FP_SCALAR_SP;
    case NB_CLASS_SCALAR_DP:
        return NB_FP_SCALAR_DP;
    case NB_CLASS_VECTOR:
        return uses_xmm(x86) ? NB_FP_MMX128 : NB_FP_MMX64;
    case NB_CLASS_X87:
        return NB_FP_X87;
    case NB_CLASS_MOVE:
        return facts->reads || facts->writes ? NB_FP_NONE : NB_FP_MOVE_P0;
    case NB_CLASS_NONE:
        break;
    }
    return NB_FP_NONE;
}

void nb_facts_of(const struct nb_decoder *decoder, const struct nb_name *name,
                 struct nb_facts *facts, struct nb_code *code)
{
    const cs_x86 *x86 = &decoder->insn->detail->x86;
    look_at_operands(x86, facts);
    facts->locked = x86->prefix[0] == X86_PREFIX_LOCK;
    facts->core = (uint8_t)decoder->core;
    facts->data_pieces = nb_data_pieces(decoder->insn, decoder->core);
    facts->flags_written = name->flags & NB_FLAGS_WRITE;
    add_registers(facts, name->reads, nb_add_source);
    apply_flow(decoder, name, facts, code);
    add_registers(facts, name->writes, nb_add_result);
    if (name->flags & NB_FLAGS_READ)
        nb_add_source(facts, NB_REG_FLAGS);
    facts->breaks = !facts->partial && is_zero_idiom(decoder, name->name);
    facts->non_temporal = facts->non_temporal || strncmp(name->name, "movnt", 5) == 0;
    facts->flushes = strcmp(name->name, "clflush") == 0;
    in_pieces(facts, name->name);
    if (strcmp(name->name, "cpuid") == 0) /* a store of its own, too (Weaver) */
        facts->fences = facts->fence_orders_stores = true;
    facts->fp_class = class_of(name, facts, x86);
}
