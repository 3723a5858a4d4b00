/*
 * Rows of uop_forms.def and uop_forms_prescott.def: instruction forms with uop counts, latencies
 * and units.
 *
 * A form is an instruction name and an operand pattern. The decoder describes the operands of a
 * decoded instruction as tokens and takes the first row whose pattern fits.
 */
#ifndef NETBURST_UOP_FORMS_H
#define NETBURST_UOP_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nb_core { NB_CORE_P4, NB_CORE_P4E };

/*
 * Execution resources a row can name.
 * EXEC(name, scheduler, domain, unit, step, least)
 * step: ticks one uop of a longer flow takes on the way; least: ticks of the computing uop where
 * the sheet gives no latency. Both are model choices: a step is one ALU tick in the fast units, one
 * clock elsewhere; least is the latency the sheet has for the unit's commonest single-uop
 * instruction. Integer shifts and multiplies borrow the MMX shifter and the FP multiplier (Agner,
 * Instruction tables, unit and subunit columns), whose domain is INT all the same.
 */
#define NB_EXEC_LIST(EXEC)                                                                         \
    EXEC(ALU, FAST_ANY, ALU, NONE, 1, 1)                                                           \
    EXEC(ALU0, FAST0, ALU, NONE, 1, 1)                                                             \
    EXEC(ALU1, FAST1, ALU, NONE, 1, 1)                                                             \
    EXEC(INT, SLOW, INT, INT, 2, 8)                                                                \
    EXEC(SHIFT, SLOW, INT, MMX_SHIFT, 2, 8)                                                        \
    EXEC(IMUL, SLOW, INT, FP_MUL, 2, 28)                                                           \
    EXEC(IDIV, SLOW, INT, FP_DIV, 2, 100)                                                          \
    EXEC(FADD, SLOW, FP, FP_ADD, 2, 10)                                                            \
    EXEC(FMUL, SLOW, FP, FP_MUL, 2, 14)                                                            \
    EXEC(FDIV, SLOW, FP, FP_DIV, 2, 86)                                                            \
    EXEC(FMISC, SLOW, FP, FP_MISC, 2, 4)                                                           \
    EXEC(FMOV, FP_MOVE, FP, FP_MOVE, 2, 12)                                                        \
    EXEC(MALU, SLOW, MMX, MMX_ALU, 2, 4)                                                           \
    EXEC(MSHIFT, SLOW, MMX, MMX_SHIFT, 2, 4)                                                       \
    EXEC(MMISC, SLOW, MMX, MMX_MISC, 2, 4)                                                         \
    EXEC(LOAD, FAST_ANY, ALU, NONE, 2, 2)                                                          \
    EXEC(STORE, FAST_ANY, ALU, NONE, 2, 2)                                                         \
    EXEC(FLOW, FAST_ANY, ALU, FLOW, 2, 2)

enum nb_exec {
#define EXEC(name, scheduler, domain, unit, step, least) NB_EXEC_##name,
    NB_EXEC_LIST(EXEC)
#undef EXEC
        NB_EXECS
};

enum nb_path {
    NB_PATH_UNKNOWN,
    NB_PATH_REG,
    NB_PATH_LOAD,
    NB_PATH_STORE,
    NB_PATH_LOOP,
    NB_PATH_STACK,
    NB_PATH_BRANCH
};

enum nb_form_marks {
    M_HIGH = 1 << 0,
    M_SIB = 1 << 1,
    M_FALSE_FLAGS = 1 << 2,
    M_DERIVED = 1 << 3,
    M_PICKED = 1 << 4,
    M_CHOICE = 1 << 5
};

struct nb_form {
    const char *name;
    const char *pattern;
    uint16_t trace_uops;
    uint16_t rom_uops;
    uint16_t latency;
    uint16_t extra;
    uint16_t busy;
    uint8_t core;
    uint8_t path;
    uint8_t exec;
    uint8_t marks;
};

/* Row INDEX of the whole table (all cores), NULL past the end. */
const struct nb_form *nb_form_at(size_t index);
/* Does PATTERN fit the operand TOKENS? Tokens: one alternative list per operand, "r32,m32"; an
 * operand has up to three names, parted by '|', each of which may be the one the pattern asks for:
 * "r|r32|cl,i|1". */
bool nb_pattern_fits(const char *pattern, const char *tokens);
/* First row of CORE (models 3 on: then of P4) called NAME whose pattern fits TOKENS; NULL when
 * there is none. */
const struct nb_form *nb_form_find(enum nb_core core, const char *name, const char *tokens);

#endif
