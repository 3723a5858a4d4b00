/*
 * The decoder's own data: what an instruction reads, writes and does (facts), between Capstone's
 * answer and the uops. Only decode*.c, uop_build*.c and the decoder's tests use it.
 */
#ifndef NETBURST_DECODE_H
#define NETBURST_DECODE_H

#include <capstone/capstone.h>
#include <string.h>
#include "uop.h"
#include "uop_forms.h"

/* Flows of decode_names.def. */
enum nb_flow {
    NB_FLOW_READ,
    NB_FLOW_WRITE,
    NB_FLOW_MODIFY,
    NB_FLOW_MOVE,
    NB_FLOW_MOVE_SCALAR,
    NB_FLOW_MERGE,
    NB_FLOW_INCREMENT,
    NB_FLOW_LEA,
    NB_FLOW_EXCHANGE,
    NB_FLOW_COMPARE_EXCHANGE,
    NB_FLOW_MULTIPLY,
    NB_FLOW_IMPLIED,
    NB_FLOW_TABLE,
    NB_FLOW_FAR_POINTER,
    NB_FLOW_PUSH,
    NB_FLOW_POP,
    NB_FLOW_PUSH_ALL,
    NB_FLOW_POP_ALL,
    NB_FLOW_ENTER,
    NB_FLOW_LEAVE,
    NB_FLOW_JUMP,
    NB_FLOW_CONDITIONAL,
    NB_FLOW_CALL,
    NB_FLOW_RETURN,
    NB_FLOW_FAR,
    NB_FLOW_LOAD_STRING,
    NB_FLOW_STORE_STRING,
    NB_FLOW_MOVE_STRING,
    NB_FLOW_SCAN_STRING,
    NB_FLOW_COMPARE_STRING,
    NB_FLOW_NOTHING,
    NB_FLOW_PREFETCH,
    NB_FLOW_FENCE,
    NB_FLOW_X87,
    NB_FLOW_STATE,
    NB_FLOW_MASKED_STORE,
    NB_FLOW_LOAD_CONTROL,
    NB_FLOW_STORE_CONTROL
};

enum nb_name_flags { NB_FLAGS_NONE = 0, NB_FLAGS_READ = 1, NB_FLAGS_WRITE = 2, NB_FLAGS_BOTH = 3 };
/* PACKED_SP .. X87 are those of enum nb_fp_class; VECTOR and MOVE depend on operands and port. */
enum nb_name_class {
    NB_CLASS_NONE,
    NB_CLASS_PACKED_SP,
    NB_CLASS_PACKED_DP,
    NB_CLASS_SCALAR_SP,
    NB_CLASS_SCALAR_DP,
    NB_CLASS_VECTOR,
    NB_CLASS_X87,
    NB_CLASS_MOVE
};
enum nb_name_isa { NB_ISA_BASE, NB_ISA_MMX, NB_ISA_SSE, NB_ISA_SSE2, NB_ISA_SSE3, NB_ISA_LONG };

/* One row of decode_names.def. */
struct nb_name {
    const char *name;
    uint8_t flow, flags, class, isa;
    uint16_t reads, writes; /* bit n: general register n */
};

#define NB_NAME_BYTES 24
/* Most names a name is compared with differ in the first letter. */
static inline bool nb_same_name(const char *a, const char *b)
{
    return a[0] == b[0] && strcmp(a, b) == 0;
}
/* The family name of an instruction (see decode_names.def), from Capstone's name and the opcode. */
void nb_canonical_name(csh capstone, const cs_insn *insn, char name[NB_NAME_BYTES]);
/* The row of a family name, or NULL: the part did not have it. */
const struct nb_name *nb_name_find(const char *name);
const struct nb_name *nb_name_at(size_t index);

/* Registers an address is made of, NB_REG_NONE where unused. */
struct nb_address {
    uint8_t reg[3];
};

/* What an instruction reads and writes, as far as uops and renaming need it. */
struct nb_facts {
    struct nb_address read[2], write[2];
    uint8_t reads, writes;
    uint8_t source[10], sources; /* registers the computing uops read, FLAGS included */
    uint8_t result[8], results;  /* registers written besides FLAGS and the stack pointer */
    bool flags_written;
    bool flags_merge; /* INC, DEC: the flags not written come from the old ones, in a uop of their
                         own */
    bool computes;    /* something happens between what is read and what is written */
    bool fp_data;     /* memory operands go to or come from an x87, MMX or XMM register */
    bool breaks;      /* same-register idiom: result does not depend on the sources */
    bool stack;       /* the stack pointer is moved by a uop of its own ... */
    uint8_t stack_source;   /* ... from this register (ESP, or EBP for LEAVE) */
    uint8_t step[2], steps; /* string pointers, each moved by a uop of its own */
    uint8_t element_bytes;  /* of a string instruction */
    bool branches;          /* ends in a branch uop */
    bool prefetches, fences, non_temporal, locked;
    bool flushes;   /* CLFLUSH: its store takes the line out of the caches */
    bool high_byte; /* exactly one operand is AH, BH, CH or DH */
    bool sib;
    bool partial;          /* result narrower than its register: merges into the old value */
    uint8_t core;          /* enum nb_core */
    uint8_t fp_class;      /* of the computing uop */
    uint16_t memory_bytes; /* of an access done in so many pieces; 0: in one */
    uint8_t memory_pieces;
    bool fence_orders_stores; /* not LFENCE */
    bool fence_orders_loads;  /* not SFENCE */
    uint8_t data_pieces;      /* of immediate and displacement: as many uops have room for them */
};

struct nb_arena; /* uops live here until the decoder is freed */
struct nb_uop *nb_arena_take(struct nb_arena *arena, size_t uops);

struct nb_decoder {
    csh capstone;
    cs_insn *insn;
    unsigned model;
    bool mode_64;
    enum nb_core core;
    struct nb_arena *arena;
};

/* decode_operands.c: operands as registers and tokens. */
uint8_t nb_register_of(x86_reg reg);
unsigned nb_register_bytes(x86_reg reg);
bool nb_is_high_byte(x86_reg reg);
struct nb_address nb_address_of(const cs_x86_op *op);
void nb_operand_tokens(const cs_insn *insn, const char *name, char *tokens, size_t size);
bool nb_in_group(const cs_insn *insn, uint8_t group);
/* Pieces of displacement and immediate, each as large as a trace cache entry of CORE can hold; a
 * branch's immediate is its relative displacement. */
uint8_t nb_data_pieces(const cs_insn *insn, enum nb_core core);

/* decode_facts.c, decode_x87.c: fill FACTS (zeroed before) and CODE's branch and flag fields. */
void nb_add_source(struct nb_facts *facts, uint8_t reg);
void nb_add_result(struct nb_facts *facts, uint8_t reg);
void nb_add_read(struct nb_facts *facts, struct nb_address access);
void nb_add_write(struct nb_facts *facts, struct nb_address access);
void nb_facts_of(const struct nb_decoder *decoder, const struct nb_name *name,
                 struct nb_facts *facts, struct nb_code *code);
void nb_x87_facts(const cs_insn *insn, struct nb_facts *facts, struct nb_code *code);

/* decode.c, for tests: the row nb_decode takes for these bytes, NULL when it takes none. */
const struct nb_form *nb_decode_form(struct nb_decoder *decoder, const uint8_t *bytes, size_t n);

/* uop_build.c: the uops of an instruction; FORM NULL: the generic rule. False: memory is short. */
bool nb_build(struct nb_arena *arena, const struct nb_form *form, const struct nb_facts *facts,
              struct nb_code *code);
/* Ticks the computing chain takes by the row's latency and path. */
unsigned nb_chain_ticks(const struct nb_form *form, const struct nb_facts *facts);

/* uop_build_repeat.c: REP strings. False when FAMILY has no REP row or memory is short. */
bool nb_build_repeat(struct nb_arena *arena, enum nb_core core, const char *family,
                     const struct nb_facts *facts, struct nb_code *code);

#endif
