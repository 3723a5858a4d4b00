/*
 * Effects: which registers a static instruction reads and writes, worked out once, so that a value
 * nobody knows can be followed through instructions whose result need not be known.
 *
 * Sets are generous where it costs little: a register written in part counts as read too, and x87
 * with its stack and the MMX registers is one register. MXCSR is in none of them: an instruction
 * that loads it counts as writing every XMM register.
 */
#ifndef TRACES_EFFECTS_H
#define TRACES_EFFECTS_H

#include <stdbool.h>
#include <stdint.h>

/* A set of registers, a bit each. */
typedef uint64_t effect_set;

#define EFFECT_GPR(number) ((effect_set)1 << (number)) /* numbers as encoded, 0 to 15 */
#define EFFECT_XMM(number) ((effect_set)1 << (16 + (number)))
#define EFFECT_FLAGS       ((effect_set)1 << 32) /* carry, parity, adjust, zero, sign, overflow */
#define EFFECT_DIRECTION   ((effect_set)1 << 33)
#define EFFECT_X87         ((effect_set)1 << 34) /* the MMX registers are its own */
#define EFFECT_SEGMENTS    ((effect_set)1 << 35) /* the bases of FS and GS */
#define EFFECT_ALL_XMM     ((effect_set)0xffff << 16)
#define EFFECT_ALL         (((effect_set)1 << 36) - 1)

enum effect_branch {
    EFFECT_NO_BRANCH,
    EFFECT_BRANCH, /* also direct ones: what follows is where the executor says */
};

struct effects {
    effect_set reads, writes;
    int32_t stack;  /* bytes a push, pop, call or return moves the stack pointer by; else 0 */
    uint8_t branch; /* enum effect_branch */
    bool leave;     /* the stack pointer becomes the frame pointer plus one word */
};

#endif
