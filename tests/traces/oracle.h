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
};

enum oracle_outcome {
    ORACLE_SKIP,  /* not to be executed */
    ORACLE_RUN,   /* to be executed */
    ORACLE_NEXT,  /* went on behind the instruction */
    ORACLE_TAKEN, /* went to the target */
    ORACLE_FAULT, /* a signal */
};

struct oracle_state {
    uint32_t gpr[8]; /* eax ecx edx ebx esp ebp esi edi */
    uint32_t flags;
    uint32_t mxcsr;
    uint32_t outcome; /* enum oracle_outcome */
    uint32_t length;  /* of the code */
    uint8_t xmm[8][16];
    uint8_t x87[160]; /* as the first part of an FXSAVE image */
    uint8_t memory[ORACLE_DATA_BYTES];
    uint8_t code[ORACLE_CODE_BYTES];
};

#endif
