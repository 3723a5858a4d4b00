/*
 * Access recipe: what a static IA-32 instruction does to memory, worked out once from its bytes, so
 * that each execution only needs the registers to give the addresses.
 *
 * An IA-32 instruction reaches memory through a ModRM operand, through the stack, or through the
 * fixed registers of the string instructions. Which of these are read and which written follows
 * from the opcode (Intel manual volume 2, "Operation" of each instruction); the tables in recipe.c
 * hold it, one letter per opcode.
 *
 * Not modelled: bases of CS, DS, ES and SS other than 0 (32-bit Linux programs run flat), and the
 * pages a gather or scatter instruction touches (no Pentium 4 had one).
 */
#ifndef TRACES_RECIPE_H
#define TRACES_RECIPE_H

#include "effects.h"
#include "source.h"

enum { RECIPE_FLAG_DIRECTION = 1 << 10 }; /* of the flags register */

/* Registers as the recipe needs them; gpr in the manual's order: eax ecx edx ebx esp ebp esi edi,
 * and r8 to r15 of 64-bit mode. In 32-bit mode upper halves are zero. */
struct recipe_registers {
    uint64_t gpr[16];
    uint64_t fs_base;
    uint64_t gs_base;
    uint64_t ip;
    uint64_t flags;
};

enum recipe_gpr {
    GPR_AX,
    GPR_CX,
    GPR_DX,
    GPR_BX,
    GPR_SP,
    GPR_BP,
    GPR_SI,
    GPR_DI,
    GPR_R8,
    GPR_R15 = 15,
    GPR_IP, /* as a base: the address of the next instruction (64-bit mode) */
    GPR_NONE,
};

/* What the processor is in: decides how bytes are read. */
enum recipe_mode { RECIPE_32, RECIPE_64 };

/* What executing the instruction asks for beyond one native step. */
enum recipe_kind {
    RECIPE_PLAIN,
    RECIPE_CPUID,
    RECIPE_RDTSC,
    RECIPE_RDPMC,
    RECIPE_RDMSR,
    RECIPE_WRMSR,
    RECIPE_PUSHF, /* the pushed flags show the trap flag of the stepping */
    RECIPE_SYSTEM_CALL,
    RECIPE_TRAP,    /* int3, int1: executes, then raises SIGTRAP */
    RECIPE_LOAD_SS, /* the processor takes no trap after it: two instructions in one step */
    RECIPE_UNKNOWN, /* bytes no decoder knows */
};

/* One access: segment base + base + index * scale + displacement (+ what `form` says). */
struct recipe_access {
    int64_t displacement;
    uint16_t size;
    uint8_t base, index; /* enum recipe_gpr */
    uint8_t scale;
    uint8_t segment; /* 0 none, 'f' FS, 'g' GS */
    uint8_t form;    /* enum recipe_form in recipe.c */
    bool write;
};

struct recipe {
    uint8_t bytes[TRACE_INSTRUCTION_BYTES];
    uint8_t length;
    uint8_t kind; /* enum recipe_kind */
    uint8_t access_count;
    bool string;        /* addresses move with DF */
    bool repeated;      /* has a rep prefix that counts in ecx */
    uint8_t bit_offset; /* register whose value moves a bt-like access, or GPR_NONE */
    uint8_t mode;       /* enum recipe_mode */
    uint64_t address_mask;
    struct recipe_access access[TRACE_ACCESSES];
    struct effects effects;
};

/* RDTSC, RDPMC, RDMSR or WRMSR? */
static inline bool recipe_reads_processor(const struct recipe *recipe)
{
    return recipe->kind >= RECIPE_RDTSC && recipe->kind <= RECIPE_WRMSR;
}

struct recipe_decoder;

/* NULL when Capstone cannot be opened. */
struct recipe_decoder *recipe_decoder_new(void);
void recipe_decoder_free(struct recipe_decoder *decoder);

/* Decode the instruction of MODE at the start of BYTES (COUNT of them, at most 15 are looked at).
 * False when COUNT bytes are not a whole instruction; the recipe then has kind RECIPE_UNKNOWN. */
bool recipe_decode(struct recipe_decoder *decoder, enum recipe_mode mode, const uint8_t *bytes,
                   size_t count, struct recipe *recipe);

/* The instruction as assembly text. */
void recipe_disassemble(struct recipe_decoder *decoder, const struct recipe *recipe, uint64_t ip,
                        char text[96]);

/* The accesses of one execution that starts with REGISTERS; gives their number. */
unsigned recipe_accesses(const struct recipe *recipe, const struct recipe_registers *registers,
                         struct trace_access out[TRACE_ACCESSES]);

#endif
