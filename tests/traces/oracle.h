/*
 * What the oracle test and its native half share: a case is one instruction with the state it
 * starts from; the native half replaces the state by the one it ends with.
 */
#ifndef TESTS_TRACES_ORACLE_H
#define TESTS_TRACES_ORACLE_H

#include <stdint.h>

enum {
    ORACLE_CODE = 0x10000000,  /* where the instruction stands */
    ORACLE_TARGET_OFFSET = 64, /* where branches lead to, from there */
    ORACLE_DATA = 0x20000800,  /* the memory it may touch */
    ORACLE_DATA_BYTES = 256,
    ORACLE_CODE_BYTES = 16,
    ORACLE_REX_B = 1,
    ORACLE_REX_X = 2,
    ORACLE_REX_R = 4,
    ORACLE_REX_W = 8,
};

enum oracle_outcome {
    ORACLE_SKIP,  /* not to be executed */
    ORACLE_RUN,   /* to be executed */
    ORACLE_NEXT,  /* went on behind the instruction */
    ORACLE_TAKEN, /* went to the target */
    ORACLE_FAULT, /* a signal */
};

/* In 32-bit mode upper halves and the second eight registers of each kind are not used. The offsets
 * stand in oracle_native.c, too. */
struct oracle_state {
    uint64_t gpr[16]; /* eax ecx edx ebx esp ebp esi edi, r8 to r15 */
    uint32_t flags;
    uint32_t mxcsr;
    uint32_t outcome; /* enum oracle_outcome */
    uint32_t length;  /* of the code */
    uint32_t wide;    /* 64-bit mode */
    uint32_t rex;     /* the instruction's prefix, or 0 */
    uint32_t unused[2];
    uint8_t xmm[16][16];
    uint8_t x87[160]; /* as the first part of an FXSAVE image */
    uint8_t memory[ORACLE_DATA_BYTES];
    uint8_t code[ORACLE_CODE_BYTES];
};

#endif
