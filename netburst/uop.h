/*
 * What an IA-32 instruction becomes: uops. One struct nb_code per static instruction, built once by
 * the decoder (decode.c, from the rows of uop_forms.def) and used for every execution.
 *
 * Time here is in ticks: half core clocks, the rhythm of the double-pumped ALUs.
 */
#ifndef NETBURST_UOP_H
#define NETBURST_UOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers as the renamer sees them. Partial registers are the whole register: AL, AH, AX all
 * depend on EAX (Agner 5.8). ST registers are relative to the top of stack; the renamer adds it. */
enum nb_register {
    NB_REG_GPR = 0, /* EAX ECX EDX EBX ESP EBP ESI EDI, room for R8..R15 */
    NB_REG_FLAGS = 16,
    NB_REG_ST = 17,         /* ST(0)..ST(7) */
    NB_REG_MMX = 25,        /* MM0..MM7 */
    NB_REG_XMM = 33,        /* XMM0..XMM7, room for XMM8..XMM15 */
    NB_REG_TEMP = 49,       /* eight temporaries inside one instruction's flow */
    NB_REG_FP_CONTROL = 57, /* x87 control and status word, MXCSR */
    NB_REG_SEGMENT = 58,    /* segment registers, as one */
    NB_REG_LOADS = 59,      /* no register: what loads wait for, written by LFENCE and MFENCE */
    NB_REGISTERS = 60,
    NB_REG_NONE = 255
};

enum nb_uop_kind {
    NB_UOP_ALU, /* computes: any unit that is not memory or branch */
    NB_UOP_BRANCH,
    NB_UOP_LOAD,          /* port 2 */
    NB_UOP_STORE_ADDRESS, /* port 3 */
    NB_UOP_STORE_DATA,    /* port 0 */
    NB_UOP_PREFETCH,      /* port 2, never replays, wakes nobody */
    NB_UOP_FENCE,         /* waits until everything older (stores included) is done */
    NB_UOP_NOP            /* takes slots, needs no unit beyond its scheduler's port */
};

/* Which scheduler takes it, hence which port: Agner table 5.2, OPT-2002. */
enum nb_scheduler {
    NB_SCHED_FAST0,   /* port 0: ALU0 twice a clock; store data and branches once a clock */
    NB_SCHED_FAST1,   /* port 1: ALU1 twice a clock */
    NB_SCHED_SLOW,    /* port 1: shifts, multiplies, divides, FP, MMX, SSE arithmetic */
    NB_SCHED_FP_MOVE, /* port 0: FP/MMX/SSE moves, FP store data, FXCH */
    NB_SCHED_MEMORY,  /* ports 2 (load) and 3 (store address) */
    NB_SCHEDULERS,
    NB_SCHED_FAST_ANY = NB_SCHEDULERS /* FAST0 or FAST1, chosen when the uop leaves its queue */
};

/* Domains between which a result needs extra time (uop column "additional latency"). */
enum nb_domain {
    NB_DOMAIN_ALU,
    NB_DOMAIN_INT,
    NB_DOMAIN_FP,
    NB_DOMAIN_MMX,
    NB_DOMAIN_LOAD,
    NB_DOMAINS
};

/* Units that can be busy: the undivided or partly pipelined ones. */
enum nb_unit {
    NB_UNIT_NONE,
    NB_UNIT_FP_ADD,
    NB_UNIT_FP_MUL,
    NB_UNIT_FP_DIV,
    NB_UNIT_FP_MISC,
    NB_UNIT_FP_MOVE,
    NB_UNIT_MMX_ALU,
    NB_UNIT_MMX_SHIFT,
    NB_UNIT_MMX_MISC,
    NB_UNIT_INT,
    NB_UNIT_LOAD,
    NB_UNIT_STORE,
    NB_UNIT_FLOW, /* the microcode sequencer, for flows whose throughput is known and no unit is */
    NB_UNITS
};

/* Which of the FIRM unit's events sees the uop execute; order of the enum is of no meaning. */
enum nb_fp_class {
    NB_FP_NONE,
    NB_FP_PACKED_SP,
    NB_FP_PACKED_DP,
    NB_FP_SCALAR_SP,
    NB_FP_SCALAR_DP,
    NB_FP_MMX64,
    NB_FP_MMX128,
    NB_FP_X87,
    NB_FP_MOVE_P0,
    NB_FP_MOVE_P2,
    NB_FP_CLASSES
};

enum nb_uop_flags {
    NB_UOP_FROM_ROM = 1 << 0, /* delivered by the microcode ROM */
    NB_UOP_FIRST = 1 << 1,    /* first uop of its instruction */
    NB_UOP_LAST = 1 << 2,     /* last uop of its instruction */
    NB_UOP_BREAKS_DEPENDENCE =
        1 << 3,              /* xor/sub/pxor same register: sources listed but not waited for */
    NB_UOP_FP_LOAD = 1 << 4, /* load into an x87, MMX or XMM register: longer latency */
    NB_UOP_LOCKED = 1 << 5,  /* locked access */
    NB_UOP_NON_TEMPORAL = 1 << 6,                       /* movnt store, prefetchnta */
    NB_UOP_FLUSH = NB_UOP_LOCKED | NB_UOP_NON_TEMPORAL, /* of a store, both: CLFLUSH */
    NB_UOP_STORE_FUSED = 1 << 7, /* STORE_DATA that does the store address's work too */
};

#define NB_UOP_SOURCES 4

struct nb_uop {
    const struct nb_uop *address_part; /* STORE_FUSED: its address work as a uop of the memory
                                          scheduler; set by the machine, not by the decoder */
    uint8_t kind;                      /* enum nb_uop_kind */
    uint8_t scheduler;                 /* enum nb_scheduler */
    uint8_t domain;                    /* enum nb_domain of its result */
    uint8_t unit;                      /* enum nb_unit */
    uint8_t fp_class;                  /* enum nb_fp_class */
    uint8_t flags;                     /* enum nb_uop_flags */
    uint8_t
        access;    /* LOAD: index among the instruction's reads; STORE_*, PREFETCH likewise
                      (STORE_ADDRESS and STORE_DATA of one write share the index among its writes) */
    uint8_t extra; /* ticks more when a consumer sits in another domain */
    uint16_t
        latency;   /* ticks from dispatch to result; loads: ticks beyond the memory's own latency */
    uint16_t busy; /* ticks its unit takes before the next uop of that unit */
    uint8_t source[NB_UOP_SOURCES]; /* enum nb_register, NB_REG_NONE where unused */
    uint8_t result;                 /* register written, or NB_REG_NONE */
    uint8_t data_sources; /* STORE_FUSED: so many leading entries of source[] are the data, the rest
                             the address */
    uint8_t piece, piece_bytes; /* an access done in pieces: number and size; 0 bytes: all of it */
    uint16_t piece_offset;      /* of the piece in the access */
    uint8_t result2;            /* NB_REG_FLAGS when flags are written too, NB_REG_LOADS, or none */
};

enum nb_branch {
    NB_BRANCH_NONE,
    NB_BRANCH_CONDITIONAL,
    NB_BRANCH_JUMP,
    NB_BRANCH_CALL,
    NB_BRANCH_RETURN,
    NB_BRANCH_INDIRECT_JUMP,
    NB_BRANCH_INDIRECT_CALL,
    NB_BRANCH_FAR /* int, iret, far transfers, sysenter: not predicted, drains the pipeline */
};

enum nb_code_flags {
    NB_CODE_SERIALIZING = 1 << 0,   /* cpuid and the like: drains before and after */
    NB_CODE_RETIRES_TWICE = 1 << 1, /* documented to add 2 to instr_retired (fldcw, ... : Weaver) */
    NB_CODE_REPEATS = 1 << 2,       /* rep string: uops are head, then body per `body_elements` */
    NB_CODE_APPROXIMATE = 1 << 3,   /* no row for this form: built from its operands alone */
    NB_CODE_NOT_ON_MODEL = 1 << 4,  /* the part did not have this instruction */
    NB_CODE_COMPLEX = 1 << 5,       /* has ROM uops: delivery moves to the microcode ROM */
    NB_CODE_X87_PUSH = 1 << 6,      /* top of stack goes down by one before the uops are renamed */
    NB_CODE_X87_POP = 1 << 7,       /* ... up by one after */
    NB_CODE_X87_POP2 = 1 << 8,
    NB_CODE_FXCH = 1 << 9,     /* exchanges two rename entries: ST(0) and ST(i), i in fxch */
    NB_CODE_INVALID = 1 << 10, /* bytes are no instruction */
    NB_CODE_SYSTEM_CALL = 1 << 11,
    NB_CODE_PAUSE = 1 << 12,
    NB_CODE_REPLACED = 1 << 13, /* codes.c: other bytes have been met at its address since */
};

struct nb_code {
    uint64_t ip;
    uint64_t target;       /* of a direct branch */
    struct nb_uop *uops;   /* uop_count of them; trace-cache uops first, then ROM uops */
    uint16_t uop_count;    /* REPEATS: head only */
    uint16_t body_count;   /* REPEATS: uops of the body, they follow the head in `uops` */
    uint8_t body_elements; /* REPEATS: string elements one pass of the body handles */
    uint16_t tail_count;   /* REPEATS: uops for one element that is left over, behind the body; 0:
                              the last pass of the body handles what is left */
    uint8_t trace_uops;    /* uops stored in the trace cache (at most 4 as a rule) */
    uint8_t trace_entries; /* entries these take: wide immediates take a second one */
    uint8_t length;        /* bytes */
    uint8_t prefixes;      /* number of prefix bytes: each costs a decode clock */
    uint8_t branch;        /* enum nb_branch */
    uint8_t hint;          /* 0, or the branch hint prefix byte 0x2E or 0x3E */
    uint8_t fxch;
    uint16_t flags;    /* enum nb_code_flags */
    uint16_t mnemonic; /* Capstone's instruction id, for statistics and reports */
    uint8_t bytes[15]; /* codes.c: what it was decoded from */
};

struct nb_decoder;

/* A decoder for one model; NULL when Capstone cannot be opened. MODEL is DisplayModel, MODE_64 for
 * long mode. */
struct nb_decoder *nb_decoder_new(unsigned model, bool mode_64);
void nb_decoder_free(struct nb_decoder *decoder);
/* Decode the instruction at IP from N bytes into *CODE. Its uops live until nb_decoder_free. False
 * when the bytes are cut short or are no instruction (flags NB_CODE_INVALID). */
bool nb_decode(struct nb_decoder *decoder, const uint8_t *bytes, size_t n, uint64_t ip,
               struct nb_code *code);
/* Disassembly "mov eax, dword ptr [esp + 4]" for reports; text has SIZE bytes. */
void nb_disassemble(struct nb_decoder *decoder, const uint8_t *bytes, size_t n, uint64_t ip,
                    char *text, size_t size);

#endif
