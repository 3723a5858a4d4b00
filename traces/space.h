/*
 * The code of one address space: every static instruction met so far with its recipe, and the
 * pages they stand in. Decoding happens once per instruction; a program may rewrite its code, so
 * whenever something may have changed (a store into a known code page, a system call, a switch of
 * processes) the epoch moves on and an instruction is compared with memory again before its next
 * use.
 */
#ifndef TRACES_SPACE_H
#define TRACES_SPACE_H

#include "code_pages.h"
#include "interpret.h"
#include "recipe.h"

#include <sys/types.h>

#define SPACE_NO_CODE UINT32_MAX

struct code_entry {
    uint64_t ip;
    uint64_t epoch;           /* in which it was last compared */
    uint32_t number;          /* code, or SPACE_NO_CODE before its first execution */
    struct code_entry *older; /* other bytes that stood at this address */
    struct code_entry *after; /* the one that came behind it last, or NULL: saves a search */
    struct recipe recipe;
    struct interpret_op op;
};

struct space;

/* Reads a page of the program's code as it is now; false when it cannot be read. */
typedef bool space_read_fn(struct space *space, uint64_t number, uint8_t bytes[CODE_PAGE_BYTES]);

struct space {
    uint16_t process;
    enum recipe_mode mode; /* of its program */
    space_read_fn *read;
    unsigned users; /* threads */
    uint64_t epoch;
    struct code_page_set pages;
    struct code_entry **slots; /* open addressing by ip */
    size_t capacity, count;
    struct interpret_memory *memory; /* the interpreter's pages of it, or NULL */
    pid_t tid;                       /* live: through which they are reached */
    struct recorder *recorder;       /* live: who is told of code, or NULL */
    bool portable;                   /* likewise: nothing of the host's in what is interpreted */
};

struct space *space_new(uint16_t process, space_read_fn *read);
void space_free(struct space *space);

/*
 * The instruction at IP, compared with memory if need be. NULL without memory or where no byte can
 * be read (executing there faults).
 */
struct code_entry *space_fetch(struct space *space, struct recipe_decoder *decoder, uint64_t ip);

/* The instruction at IP, which comes behind BEFORE (of the same space): mostly the same one as last
 * time. */
static inline struct code_entry *space_fetch_after(struct space *space,
                                                   struct recipe_decoder *decoder, uint64_t ip,
                                                   struct code_entry *before)
{
    struct code_entry *entry = before->after;
    if (!entry || entry->ip != ip || entry->epoch != space->epoch)
        before->after = entry = space_fetch(space, decoder, ip);
    return entry;
}

/* The code page as it is now, known from here on; NULL when it cannot be read. */
struct code_page *space_know(struct space *space, uint64_t number);

/* The instruction a wrong path finds at IP; NULL when nothing is known there. */
struct code_entry *space_guess(struct space *space, struct recipe_decoder *decoder, uint64_t ip);

/* Code may have changed anywhere. */
static inline void space_touch(struct space *space)
{
    space->epoch++;
}

/* The program wrote bytes LOW to HIGH (exclusive). */
void space_written(struct space *space, uint64_t low, uint64_t high);

#endif
