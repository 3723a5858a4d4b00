/*
 * x87 instructions: operands from the opcode bytes D8 to DF, because stack moves and the implied
 * ST(0) are part of their meaning.
 *
 * ST registers are numbered as the uops see them: a push lowers the top of stack before the uops
 * are renamed, so FLD ST(2) reads ST(3) and writes ST(0); a pop raises it afterwards. The status
 * word (C3..C0) and the control word are one register, NB_REG_FP_CONTROL: compares write it, FNSTSW
 * reads it, FLDCW writes it and the instructions that round to integer read it (model choice: other
 * arithmetic does not wait for FLDCW, whose usual alternation of two words the part renames).
 */
#include "decode.h"

static uint8_t st(unsigned i)
{
    return (uint8_t)(NB_REG_ST + (i & 7));
}

static const cs_x86_op *memory_operand(const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;
    for (unsigned i = 0; i < x86->op_count; i++)
        if (x86->operands[i].type == X86_OP_MEM)
            return &x86->operands[i];
    return &x86->operands[0];
}

static void load(const cs_insn *insn, struct nb_facts *facts)
{
    nb_add_read(facts, nb_address_of(memory_operand(insn)));
}

static void store(const cs_insn *insn, struct nb_facts *facts)
{
    nb_add_write(facts, nb_address_of(memory_operand(insn)));
}

static void compute(struct nb_facts *facts, uint8_t result, uint8_t a, uint8_t b)
{
    facts->computes = true;
    nb_add_source(facts, a);
    nb_add_source(facts, b);
    nb_add_result(facts, result);
}

/* Arithmetic with a memory operand: D8, DA, DC, DE; rows 2 and 3 compare. */
static void memory_arithmetic(const cs_insn *insn, unsigned row, struct nb_facts *facts,
                              struct nb_code *code)
{
    bool compares = row == 2 || row == 3;
    load(insn, facts);
    compute(facts, compares ? NB_REG_FP_CONTROL : st(0), st(0), NB_REG_NONE);
    if (row == 3)
        code->flags |= NB_CODE_X87_POP;
}

static void push_load(const cs_insn *insn, struct nb_facts *facts, struct nb_code *code,
                      bool converts)
{
    load(insn, facts);
    nb_add_result(facts, st(0));
    facts->computes = converts;
    code->flags |= NB_CODE_X87_PUSH;
}

static void store_top(const cs_insn *insn, struct nb_facts *facts, struct nb_code *code,
                      bool converts, bool pops)
{
    nb_add_source(facts, st(0));
    if (converts)
        nb_add_source(facts, NB_REG_FP_CONTROL);
    store(insn, facts);
    facts->computes = converts;
    if (pops)
        code->flags |= NB_CODE_X87_POP;
}

/* Control and state: FLDENV, FLDCW, FNSTENV, FNSTCW, FRSTOR, FNSAVE, FNSTSW. */
static void load_state(const cs_insn *insn, struct nb_facts *facts)
{
    load(insn, facts);
    compute(facts, NB_REG_FP_CONTROL, NB_REG_NONE, NB_REG_NONE);
    facts->fp_data = false;
}

static void store_state(const cs_insn *insn, struct nb_facts *facts)
{
    store(insn, facts);
    compute(facts, NB_REG_NONE, NB_REG_FP_CONTROL, NB_REG_NONE);
    facts->fp_data = false;
}

/* D9, DB, DD, DF with a memory operand: loads, stores, control. */
static void memory_move(const cs_insn *insn, unsigned escape, unsigned row, struct nb_facts *facts,
                        struct nb_code *code)
{
    bool integer = escape == 0xDB || escape == 0xDF;
    switch (row) {
    case 0:
        push_load(insn, facts, code, integer);
        break;
    case 1:
        store_top(insn, facts, code, true, true);
        break; /* FISTTP */
    case 2:
        store_top(insn, facts, code, integer, false);
        break;
    case 3:
        store_top(insn, facts, code, integer, true);
        break;
    case 4:
        if (escape == 0xDF)
            push_load(insn, facts, code, true); /* FBLD */
        else
            load_state(insn, facts);
        break;
    case 5:
        if (integer)
            push_load(insn, facts, code, escape == 0xDF); /* FLD m80, FILD m64 */
        else
            load_state(insn, facts); /* FLDCW */
        break;
    case 6:
        if (escape == 0xDF)
            store_top(insn, facts, code, true, true); /* FBSTP */
        else
            store_state(insn, facts);
        break;
    default:
        if (integer)
            store_top(insn, facts, code, escape == 0xDF, true); /* FSTP m80, FISTP m64 */
        else
            store_state(insn, facts); /* FNSTCW, FNSTSW */
        break;
    }
}

static void compare(struct nb_facts *facts, struct nb_code *code, unsigned i, unsigned pops)
{
    compute(facts, NB_REG_FP_CONTROL, st(0), st(i));
    if (pops > 0)
        code->flags |= pops == 1 ? NB_CODE_X87_POP : NB_CODE_X87_POP2;
}

/* FCOMI and FUCOMI: the result goes to EFLAGS. */
static void compare_to_flags(struct nb_facts *facts, struct nb_code *code, unsigned i, bool pops)
{
    facts->computes = true;
    facts->flags_written = true;
    nb_add_source(facts, st(0));
    nb_add_source(facts, st(i));
    if (pops)
        code->flags |= NB_CODE_X87_POP;
}

/* D9 E0 to FF: one operand, constants, transcendental functions. */
static void d9_function(unsigned modrm, struct nb_facts *facts, struct nb_code *code)
{
    switch (modrm) {
    case 0xE4:
    case 0xE5: /* FTST, FXAM */
        compute(facts, NB_REG_FP_CONTROL, st(0), NB_REG_NONE);
        break;
    case 0xE8:
    case 0xE9:
    case 0xEA:
    case 0xEB:
    case 0xEC:
    case 0xED:
    case 0xEE: /* constants */
        compute(facts, st(0), NB_REG_NONE, NB_REG_NONE);
        code->flags |= NB_CODE_X87_PUSH;
        break;
    case 0xF1:
    case 0xF3:
    case 0xF9: /* FYL2X, FPATAN, FYL2XP1 */
        compute(facts, st(1), st(0), st(1));
        code->flags |= NB_CODE_X87_POP;
        break;
    case 0xF2:
    case 0xF4:
    case 0xFB: /* FPTAN, FXTRACT, FSINCOS: two results; the operand is ST(1) after the push */
        compute(facts, st(0), st(1), NB_REG_NONE);
        nb_add_result(facts, st(1));
        code->flags |= NB_CODE_X87_PUSH;
        break;
    case 0xF5:
    case 0xF8:
    case 0xFD: /* FPREM1, FPREM, FSCALE */
        compute(facts, st(0), st(0), st(1));
        break;
    case 0xF6:
        code->flags |= NB_CODE_X87_PUSH;
        break; /* FDECSTP */
    case 0xF7:
        code->flags |= NB_CODE_X87_POP;
        break; /* FINCSTP */
    case 0xFC: /* FRNDINT */
        compute(facts, st(0), st(0), NB_REG_FP_CONTROL);
        break;
    default:
        compute(facts, st(0), st(0), NB_REG_NONE);
        break;
    }
}

static void d9_register(unsigned modrm, struct nb_facts *facts, struct nb_code *code)
{
    unsigned i = modrm & 7;
    switch ((modrm >> 3) & 7) {
    case 0: /* FLD ST(i) */
        compute(facts, st(0), st(i + 1), NB_REG_NONE);
        code->flags |= NB_CODE_X87_PUSH;
        break;
    case 1:
        code->flags |= NB_CODE_FXCH;
        code->fxch = (uint8_t)i;
        break;
    case 2:
        break; /* FNOP */
    case 3:
        compute(facts, st(i), st(0), NB_REG_NONE); /* FSTPNCE */
        code->flags |= NB_CODE_X87_POP;
        break;
    default:
        d9_function(modrm, facts, code);
        break;
    }
}

static void conditional_move(unsigned i, struct nb_facts *facts)
{
    compute(facts, st(0), st(0), st(i));
    nb_add_source(facts, NB_REG_FLAGS);
}

static void db_register(unsigned escape, unsigned row, unsigned i, struct nb_facts *facts,
                        struct nb_code *code)
{
    if (row < 4)
        conditional_move(i, facts);
    else if (row == 5 && escape == 0xDA)
        compare(facts, code, 1, 2); /* FUCOMPP */
    else if (row == 5 || row == 6)
        compare_to_flags(facts, code, i, false);
    else if (i == 2 || i == 3)
        compute(facts, NB_REG_FP_CONTROL, NB_REG_NONE, NB_REG_NONE); /* FNCLEX, FNINIT */
}

static void dd_register(unsigned row, unsigned i, struct nb_facts *facts, struct nb_code *code)
{
    switch (row) {
    case 2:
    case 3: /* FST, FSTP ST(i) */
        compute(facts, st(i), st(0), NB_REG_NONE);
        if (row == 3)
            code->flags |= NB_CODE_X87_POP;
        break;
    case 4:
    case 5:
        compare(facts, code, i, row == 5 ? 1 : 0);
        break;
    default:
        break; /* FFREE: only the tag */
    }
}

static void df_register(unsigned modrm, struct nb_facts *facts, struct nb_code *code)
{
    unsigned row = (modrm >> 3) & 7;
    if (modrm == 0xE0) { /* FNSTSW AX */
        compute(facts, NB_REG_GPR, NB_REG_FP_CONTROL, NB_REG_GPR);
        facts->fp_data = false;
    } else if (row == 5 || row == 6) {
        compare_to_flags(facts, code, modrm & 7, true);
    } else {
        code->flags |= NB_CODE_X87_POP; /* FFREEP */
    }
}

/* D8, DC, DE between registers: D8 writes ST(0), the others ST(i); DE pops. */
static void register_arithmetic(unsigned escape, unsigned modrm, struct nb_facts *facts,
                                struct nb_code *code)
{
    unsigned row = (modrm >> 3) & 7, i = modrm & 7;
    if (row == 2 || row == 3) {
        compare(facts, code, i, escape == 0xDE ? (modrm == 0xD9 ? 2 : 1) : row - 2);
        return;
    }
    compute(facts, escape == 0xD8 ? st(0) : st(i), st(0), st(i));
    if (escape == 0xDE)
        code->flags |= NB_CODE_X87_POP;
}

static void register_form(unsigned escape, unsigned modrm, struct nb_facts *facts,
                          struct nb_code *code)
{
    unsigned row = (modrm >> 3) & 7, i = modrm & 7;
    switch (escape) {
    case 0xD9:
        d9_register(modrm, facts, code);
        break;
    case 0xDA:
    case 0xDB:
        db_register(escape, row, i, facts, code);
        break;
    case 0xDD:
        dd_register(row, i, facts, code);
        break;
    case 0xDF:
        df_register(modrm, facts, code);
        break;
    default:
        register_arithmetic(escape, modrm, facts, code);
        break;
    }
}

void nb_x87_facts(const cs_insn *insn, struct nb_facts *facts, struct nb_code *code)
{
    unsigned escape = insn->detail->x86.opcode[0], modrm = insn->detail->x86.modrm;
    if (escape < 0xD8 || escape > 0xDF)
        return; /* WAIT */
    facts->fp_data = true;
    if (modrm >= 0xC0)
        register_form(escape, modrm, facts, code);
    else if (escape % 2 == 0)
        memory_arithmetic(insn, (modrm >> 3) & 7, facts, code);
    else
        memory_move(insn, escape, (modrm >> 3) & 7, facts, code);
}
