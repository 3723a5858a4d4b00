/*
 * Register effects from Capstone's operand and flag marks (checked by a test that changes registers
 * which are said not to be read and looks for a difference); see effects.h.
 */
#include "effects_decode.h"

#define ALL_OF(kind)                                                                               \
    (X86_EFLAGS_##kind##_CF | X86_EFLAGS_##kind##_PF | X86_EFLAGS_##kind##_AF |                    \
     X86_EFLAGS_##kind##_ZF | X86_EFLAGS_##kind##_SF | X86_EFLAGS_##kind##_OF)

static bool within(x86_reg reg, x86_reg first, x86_reg last)
{
    return reg >= first && reg <= last;
}

/* Number of the general register REG is or is part of, or -1. */
static int gpr_number(x86_reg reg)
{
    static const x86_reg parts[8][6] = {
        {X86_REG_AL, X86_REG_AH, X86_REG_AX, X86_REG_EAX, X86_REG_RAX},
        {X86_REG_CL, X86_REG_CH, X86_REG_CX, X86_REG_ECX, X86_REG_RCX},
        {X86_REG_DL, X86_REG_DH, X86_REG_DX, X86_REG_EDX, X86_REG_RDX},
        {X86_REG_BL, X86_REG_BH, X86_REG_BX, X86_REG_EBX, X86_REG_RBX},
        {X86_REG_SPL, X86_REG_SP, X86_REG_ESP, X86_REG_RSP},
        {X86_REG_BPL, X86_REG_BP, X86_REG_EBP, X86_REG_RBP},
        {X86_REG_SIL, X86_REG_SI, X86_REG_ESI, X86_REG_RSI},
        {X86_REG_DIL, X86_REG_DI, X86_REG_EDI, X86_REG_RDI},
    };

    for (int i = 0; i < 8; i++)
        for (int j = 0; parts[i][j] != X86_REG_INVALID; j++)
            if (parts[i][j] == reg)
                return i;
    if (within(reg, X86_REG_R8, X86_REG_R15))
        return 8 + (int)(reg - X86_REG_R8);
    if (within(reg, X86_REG_R8B, X86_REG_R15B))
        return 8 + (int)(reg - X86_REG_R8B);
    if (within(reg, X86_REG_R8D, X86_REG_R15D))
        return 8 + (int)(reg - X86_REG_R8D);
    if (within(reg, X86_REG_R8W, X86_REG_R15W))
        return 8 + (int)(reg - X86_REG_R8W);
    return -1;
}

static effect_set set_of(x86_reg reg)
{
    int gpr = gpr_number(reg);

    if (gpr >= 0)
        return EFFECT_GPR(gpr);
    if (within(reg, X86_REG_XMM0, X86_REG_XMM15))
        return EFFECT_XMM(reg - X86_REG_XMM0);
    if (within(reg, X86_REG_ST0, X86_REG_ST7) || within(reg, X86_REG_MM0, X86_REG_MM7) ||
        within(reg, X86_REG_FP0, X86_REG_FP7) || reg == X86_REG_FPSW)
        return EFFECT_X87;
    if (reg == X86_REG_FS || reg == X86_REG_GS)
        return EFFECT_SEGMENTS;
    return reg == X86_REG_EFLAGS ? EFFECT_FLAGS : 0;
}

/* A write of 8 or 16 bits leaves the rest of the register as it was. */
static bool is_narrow(x86_reg reg)
{
    static const x86_reg narrow[] = {X86_REG_AL,  X86_REG_AH, X86_REG_AX,  X86_REG_CL, X86_REG_CH,
                                     X86_REG_CX,  X86_REG_DL, X86_REG_DH,  X86_REG_DX, X86_REG_BL,
                                     X86_REG_BH,  X86_REG_BX, X86_REG_SPL, X86_REG_SP, X86_REG_BP,
                                     X86_REG_BPL, X86_REG_SI, X86_REG_SIL, X86_REG_DI, X86_REG_DIL};

    for (unsigned i = 0; i < sizeof narrow / sizeof *narrow; i++)
        if (narrow[i] == reg)
            return true;
    return within(reg, X86_REG_R8B, X86_REG_R15B) || within(reg, X86_REG_R8W, X86_REG_R15W);
}

/* Instructions whose XMM destination is new in all its bytes. Scalar loads are among them only
 * with a memory operand. */
static bool replaces_xmm(const cs_insn *insn)
{
    switch (insn->id) {
    case X86_INS_MOVAPS:
    case X86_INS_MOVAPD:
    case X86_INS_MOVUPS:
    case X86_INS_MOVUPD:
    case X86_INS_MOVDQA:
    case X86_INS_MOVDQU:
    case X86_INS_MOVD:
    case X86_INS_MOVQ:
    case X86_INS_LDDQU:
    case X86_INS_PSHUFD:
        return true;
    case X86_INS_MOVSS:
    case X86_INS_MOVSD:
        return insn->detail->x86.op_count == 2 && insn->detail->x86.operands[1].type == X86_OP_MEM;
    default:
        return false;
    }
}

/* The result of these with one register twice does not depend on it. */
static bool breaks_dependence(const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;

    switch (insn->id) {
    case X86_INS_XOR:
    case X86_INS_SUB:
    case X86_INS_PXOR:
    case X86_INS_XORPS:
    case X86_INS_XORPD:
    case X86_INS_PSUBB:
    case X86_INS_PSUBW:
    case X86_INS_PSUBD:
    case X86_INS_PSUBQ:
    case X86_INS_PCMPEQB:
    case X86_INS_PCMPEQW:
    case X86_INS_PCMPEQD:
        return x86->op_count == 2 && x86->operands[0].type == X86_OP_REG &&
               x86->operands[1].type == X86_OP_REG &&
               x86->operands[0].reg == x86->operands[1].reg && !is_narrow(x86->operands[0].reg) &&
               !within(x86->operands[0].reg, X86_REG_MM0, X86_REG_MM7);
    default:
        return false;
    }
}

/* ---- flags -------------------------------------------------------------------------------------
 */

/* Shifts and rotates by a count that may be zero leave the flags alone then. */
static bool shifts(const cs_insn *insn)
{
    switch (insn->id) {
    case X86_INS_SHL:
    case X86_INS_SAL:
    case X86_INS_SHR:
    case X86_INS_SAR:
    case X86_INS_ROL:
    case X86_INS_ROR:
    case X86_INS_RCL:
    case X86_INS_RCR:
    case X86_INS_SHLD:
    case X86_INS_SHRD:
        return true;
    default:
        return false;
    }
}

/* Does every arithmetic flag get a value that owes nothing to its old one? */
static bool replaces_flags(const cs_insn *insn)
{
    switch (insn->id) {
    case X86_INS_ADD:
    case X86_INS_SUB:
    case X86_INS_CMP:
    case X86_INS_NEG:
    case X86_INS_AND:
    case X86_INS_OR:
    case X86_INS_XOR:
    case X86_INS_TEST:
    case X86_INS_XADD:
    case X86_INS_CMPXCHG:
    case X86_INS_COMISS:
    case X86_INS_COMISD:
    case X86_INS_UCOMISS:
    case X86_INS_UCOMISD:
        return true;
    default:
        return false;
    }
}

static void add_flags(struct effects *effects, const cs_insn *insn)
{
    const uint64_t flags = insn->detail->x86.eflags;
    const uint64_t changes = ALL_OF(MODIFY) | ALL_OF(UNDEFINED) | ALL_OF(RESET) | ALL_OF(SET);

    if (replaces_flags(insn)) {
        effects->writes |= EFFECT_FLAGS;
    } else if (insn->id != X86_INS_NOT && ((flags & changes) || shifts(insn))) {
        effects->writes |= EFFECT_FLAGS;
        effects->reads |= EFFECT_FLAGS;
    }
    if (flags & ALL_OF(TEST))
        effects->reads |= EFFECT_FLAGS;
    if (flags & (X86_EFLAGS_SET_DF | X86_EFLAGS_RESET_DF))
        effects->writes |= EFFECT_DIRECTION;
}

/* ---- what the marks do not say ------------------------------------------------------------------
 */

static void add_string(struct effects *effects, const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;
    const effect_set pointers = EFFECT_GPR(6) | EFFECT_GPR(7);
    uint8_t low = (uint8_t)(x86->opcode[0] & 0xfe);

    if (x86->opcode[1] || (low != 0xa4 && low != 0xa6 && low != 0xaa && low != 0xac && low != 0xae))
        return;
    effects->reads |= EFFECT_DIRECTION;
    if (low == 0xa4 || low == 0xa6)
        effects->reads |= pointers, effects->writes |= pointers;
    else if (low == 0xac)
        effects->reads |= EFFECT_GPR(6), effects->writes |= EFFECT_GPR(6) | EFFECT_GPR(0);
    else
        effects->reads |= EFFECT_GPR(7), effects->writes |= EFFECT_GPR(7);
    if (low == 0xaa || low == 0xae || low == 0xac)
        effects->reads |= EFFECT_GPR(0);
    if (low == 0xa6 || low == 0xae)
        effects->writes |= EFFECT_FLAGS;
}

static bool is_x87(const cs_insn *insn)
{
    const uint8_t *opcode = insn->detail->x86.opcode;

    return (opcode[0] >= 0xd8 && opcode[0] <= 0xdf) || opcode[0] == 0x9b;
}

static void add_special(struct effects *effects, const cs_insn *insn)
{
    const uint8_t *opcode = insn->detail->x86.opcode;

    if (is_x87(insn)) {
        effects->reads |= EFFECT_X87;
        effects->writes |= EFFECT_X87;
        if (opcode[0] == 0xda || opcode[0] == 0xdb) /* fcmov; compares into flags are marked */
            effects->reads |= EFFECT_FLAGS;
        if (opcode[0] == 0xdf && insn->id == X86_INS_FNSTSW &&
            !insn->detail->x86.operands[0].mem.base)
            effects->writes |= EFFECT_GPR(0), effects->reads |= EFFECT_GPR(0);
    }
    switch (insn->id) {
    case X86_INS_LDMXCSR:
        effects->reads |= EFFECT_ALL_XMM | EFFECT_X87; /* they stay as they are */
        effects->writes |= EFFECT_ALL_XMM | EFFECT_X87;
        break;
    case X86_INS_FXRSTOR:
        effects->writes |= EFFECT_ALL_XMM | EFFECT_X87;
        break;
    case X86_INS_FXSAVE:
        effects->reads |= EFFECT_ALL_XMM | EFFECT_X87;
        break;
    case X86_INS_EMMS:
        effects->reads |= EFFECT_X87;
        effects->writes |= EFFECT_X87;
        break;
    case X86_INS_LAHF:
    case X86_INS_SALC:
        effects->reads |= EFFECT_FLAGS | EFFECT_GPR(0);
        break;
    case X86_INS_SAHF:
        effects->reads |= EFFECT_GPR(0) | EFFECT_FLAGS;
        effects->writes |= EFFECT_FLAGS;
        break;
    case X86_INS_PUSHF:
    case X86_INS_PUSHFD:
    case X86_INS_PUSHFQ:
        effects->reads |= EFFECT_FLAGS | EFFECT_DIRECTION;
        break;
    case X86_INS_POPF:
    case X86_INS_POPFD:
    case X86_INS_POPFQ:
        effects->writes |= EFFECT_FLAGS | EFFECT_DIRECTION;
        break;
    case X86_INS_CMPXCHG:
        effects->reads |= EFFECT_GPR(0);
        effects->writes |= EFFECT_GPR(0);
        break;
    case X86_INS_XLATB:
        effects->reads |= EFFECT_GPR(0) | EFFECT_GPR(3);
        effects->writes |= EFFECT_GPR(0);
        break;
    case X86_INS_RDPMC:
        effects->writes |= EFFECT_GPR(0) | EFFECT_GPR(2);
        break;
    default:
        break;
    }
}

/* ---- operands ----------------------------------------------------------------------------------
 */

/* 63 with an operand-size prefix writes 16 bits, which Capstone does not say. */
static bool is_narrow_movsxd(const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;

    return insn->id == X86_INS_MOVSXD && x86->prefix[2] == X86_PREFIX_OPSIZE && !(x86->rex & 8);
}

/* Every explicit register operand, whatever Capstone's access marks say: the first is written
 * unless the instruction only compares or stores. */
static void add_operands(struct effects *effects, const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;

    for (unsigned i = 0; i < x86->op_count; i++) {
        const cs_x86_op *operand = &x86->operands[i];
        if (operand->type == X86_OP_MEM)
            effects->reads |= set_of(operand->mem.base) | set_of(operand->mem.index) |
                              set_of(operand->mem.segment);
        else if (operand->type == X86_OP_REG && i > 0)
            effects->reads |= set_of(operand->reg);
        if (operand->type != X86_OP_REG)
            continue;
        if (within(operand->reg, X86_REG_MM0, X86_REG_MM7)) { /* the unit changes its state */
            effects->reads |= EFFECT_X87;
            effects->writes |= EFFECT_X87;
        }
        if (!(effects->writes & set_of(operand->reg)))
            continue;
        if (is_narrow(operand->reg) || is_narrow_movsxd(insn) ||
            ((set_of(operand->reg) & EFFECT_ALL_XMM) && !replaces_xmm(insn)))
            effects->reads |= set_of(operand->reg);
    }
    if ((insn->id == X86_INS_BSF || insn->id == X86_INS_BSR) && x86->op_count)
        effects->reads |= set_of(x86->operands[0].reg); /* stays when the source is zero */
    if (insn->id == X86_INS_XADD || insn->id == X86_INS_XCHG || insn->id == X86_INS_CMPXCHG)
        for (unsigned i = 0; i < x86->op_count; i++)
            if (x86->operands[i].type == X86_OP_REG) {
                effects->reads |= set_of(x86->operands[i].reg);
                effects->writes |= set_of(x86->operands[i].reg);
            }
}

/* ---- stack and branches -------------------------------------------------------------------------
 */

static int32_t word_of(const cs_insn *insn)
{
    if (insn->detail->x86.prefix[2] == X86_PREFIX_OPSIZE)
        return 2;
    return insn->detail->x86.addr_size == 8 ? 8 : 4;
}

static void add_stack(struct effects *effects, const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;
    int32_t word = word_of(insn);

    switch (insn->id) {
    case X86_INS_PUSH:
    case X86_INS_PUSHF:
    case X86_INS_PUSHFD:
    case X86_INS_PUSHFQ:
    case X86_INS_CALL:
        effects->stack = -word;
        break;
    case X86_INS_PUSHAL:
    case X86_INS_PUSHAW:
        effects->stack = -8 * word;
        break;
    case X86_INS_POPAL:
    case X86_INS_POPAW:
        effects->stack = 8 * word;
        break;
    case X86_INS_POP:
        if (x86->operands[0].type != X86_OP_REG || set_of(x86->operands[0].reg) != EFFECT_GPR(4))
            effects->stack = word;
        break;
    case X86_INS_POPF:
    case X86_INS_POPFD:
    case X86_INS_POPFQ:
        effects->stack = word;
        break;
    case X86_INS_RET:
        effects->stack = word + (x86->op_count ? (int32_t)x86->operands[0].imm : 0);
        break;
    case X86_INS_LEAVE:
        effects->leave = true;
        effects->reads |= EFFECT_GPR(5);
        effects->writes |= EFFECT_GPR(4) | EFFECT_GPR(5);
        break;
    default:
        return;
    }
    effects->reads |= effects->stack ? EFFECT_GPR(4) : 0;
    effects->writes |= effects->stack ? EFFECT_GPR(4) : 0;
}

static bool is_branch(csh handle, const cs_insn *insn)
{
    return cs_insn_group(handle, insn, CS_GRP_JUMP) || cs_insn_group(handle, insn, CS_GRP_CALL) ||
           cs_insn_group(handle, insn, CS_GRP_RET) || insn->id == X86_INS_LOOP ||
           insn->id == X86_INS_LOOPE || insn->id == X86_INS_LOOPNE || insn->id == X86_INS_JECXZ ||
           insn->id == X86_INS_JCXZ || insn->id == X86_INS_JRCXZ;
}

/* movq between XMM registers with a REX.W that means nothing: Capstone takes it for another form.
 */
static bool is_misread(const cs_insn *insn)
{
    bool repeat = false;
    unsigned i = 0;

    for (; i < insn->size && insn->bytes[i] != 0x0f; i++)
        repeat |= insn->bytes[i] == 0xf3;
    return repeat && i + 1 < insn->size && insn->bytes[i + 1] == 0x7e &&
           (insn->detail->x86.rex & 8);
}

void effects_repeat(struct effects *effects)
{
    effects->reads |= EFFECT_GPR(1) | (effects->writes & EFFECT_FLAGS);
    effects->writes |= EFFECT_GPR(1);
}

struct effects effects_of(csh handle, const cs_insn *insn)
{
    struct effects effects = {.branch = is_branch(handle, insn) ? EFFECT_BRANCH : EFFECT_NO_BRANCH};
    cs_regs read, written;
    uint8_t read_count = 0, written_count = 0;

    if (is_misread(insn) ||
        cs_regs_access(handle, insn, read, &read_count, written, &written_count) != CS_ERR_OK)
        return (struct effects){
            .reads = EFFECT_ALL, .writes = EFFECT_ALL, .branch = effects.branch};
    for (unsigned i = 0; i < read_count; i++)
        effects.reads |= set_of(read[i]);
    for (unsigned i = 0; i < written_count; i++) {
        effects.writes |= set_of(written[i]);
        if (is_narrow(written[i]))
            effects.reads |= set_of(written[i]);
    }
    effects.reads &= ~EFFECT_FLAGS; /* the flags' own marks say more */
    effects.writes &= ~EFFECT_FLAGS;
    add_flags(&effects, insn);
    add_operands(&effects, insn);
    add_string(&effects, insn);
    add_special(&effects, insn);
    add_stack(&effects, insn);
    if (breaks_dependence(insn))
        effects.reads = 0;
    return effects;
}
