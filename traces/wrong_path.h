/*
 * A wrong path: what the processor executes behind a mispredicted branch until that resolves, with
 * the program's real values.
 *
 * The path runs on a copy of the registers and on copies of the pages it touches, both dropped at
 * its end: nothing it does is seen by the program. Values nobody knows (an instruction that is not
 * interpreted, memory the program has not touched) are followed: what is computed from them is
 * unknown, an access whose address comes from them is marked so, and a branch that hangs on them
 * has no outcome. The memory a store with an unknown address would have changed keeps its value
 * (model choice: it may be any byte, and nearly always is none that is read next).
 *
 * A path may turn: at a branch that was followed as predicted, the state behind it is kept, and the
 * path can go back to it. Bytes that stores overwrite meanwhile are kept in a journal; when it is
 * full, memory is unknown after the way back.
 *
 * What memory holds is known of pages that instructions of the program have touched, as they last
 * saw it, so that a recorded run knows as much as the live one.
 *
 * Nothing is allocated per instruction; a path that touches more pages or leaves more unknown
 * places than there is room for finds the rest unknown.
 */
#ifndef TRACES_WRONG_PATH_H
#define TRACES_WRONG_PATH_H

#include "interpret.h"

enum {
    WRONG_PATH_PAGES = 64,    /* a path may touch, more is unknown: model choice, a full window's */
    WRONG_PATH_KEPT = 16,     /* bytes that a source keeps of an access it must undo, at most */
    WRONG_PATH_UNKNOWN = 64,  /* places in memory with unknown bytes; more, and all memory is */
    WRONG_PATH_MARKS = 8,     /* branches of a path to which it may go back: model choice */
    WRONG_PATH_JOURNAL = 512, /* overwritten pieces of memory behind the first of them */
};

struct wrong_place {
    uint64_t address;
    uint64_t end;
};

/* The state behind a branch. */
struct wrong_mark {
    struct interpret_state state;
    effect_set unknown;
    unsigned journal; /* pieces in the journal then */
    bool memory_lost; /* the journal is not complete */
    bool all_memory_unknown;
    unsigned unknown_count;
    struct wrong_place unknown_place[WRONG_PATH_UNKNOWN];
};

struct wrong_path {
    struct interpreter machine; /* its memory is the copies of pages */
    struct interpret_memory *below;
    effect_set unknown;
    unsigned pages; /* copied for this path */
    bool all_memory_unknown;
    unsigned unknown_count;
    struct wrong_place unknown_place[WRONG_PATH_UNKNOWN];
    unsigned marks;
    struct wrong_mark mark[WRONG_PATH_MARKS];
    unsigned journal_count; /* nothing is written down while there is no mark */
    struct wrong_piece {
        uint64_t address;
        uint32_t size;
        uint8_t bytes[WRONG_PATH_KEPT];
    } journal[WRONG_PATH_JOURNAL];
};

/* Is the state before such an instruction known? Every source must say the same. What a system call
 * or many repetitions change is not kept. */
static inline bool wrong_path_may_begin_before(const struct recipe *recipe)
{
    return recipe->kind != RECIPE_SYSTEM_CALL && !recipe->repeated;
}

/* NULL without memory. */
struct wrong_path *wrong_path_new(void);
void wrong_path_free(struct wrong_path *path);

/* A path begins with these registers, of which those in UNKNOWN are not known, on MEMORY, which
 * must not be dropped or written before the path's end. */
void wrong_path_begin(struct wrong_path *path, const struct interpret_state *state,
                      effect_set unknown, struct interpret_memory *memory);

/* What these bytes of memory held when the path began; NULL: nobody knows. Before the first step.
 */
void wrong_path_memory_was(struct wrong_path *path, uint64_t address, const void *bytes,
                           uint32_t count);

/* Executes the instruction at IP as far as values are known. */
void wrong_path_step(struct wrong_path *path, uint64_t ip, const struct interpret_op *op,
                     const struct recipe *recipe, struct trace_wrong_step *out);

/* Keeps the state behind the last step as mark NUMBER, of which all below must be there; those from
 * NUMBER on are forgotten. False: no more are kept. */
bool wrong_path_mark(struct wrong_path *path, unsigned number);

/* The path is again where mark NUMBER was made, which is forgotten with all above it. False: there
 * is none. */
bool wrong_path_back(struct wrong_path *path, unsigned number);

#endif
