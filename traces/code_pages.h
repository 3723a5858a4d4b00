/*
 * The program's code as far as a source knows it: the 4096-byte pages of one address space in which
 * an instruction has been executed, as they were then. A live source fills the set from the
 * process, a replay from the file; both answer trace_source_code_at() from it, so wrong paths see
 * the same bytes either way.
 */
#ifndef TRACES_CODE_PAGES_H
#define TRACES_CODE_PAGES_H

#include "source.h"

#define CODE_PAGE_BYTES 4096
#define CODE_PAGE_SHIFT 12

struct code_page {
    uint64_t number; /* address >> CODE_PAGE_SHIFT */
    uint64_t epoch;  /* live: the space's epoch in which the bytes were last compared */
    uint8_t bytes[CODE_PAGE_BYTES];
};

/* Open addressing; empty slots are NULL. All zero is an empty set. */
struct code_page_set {
    struct code_page **slots;
    size_t capacity; /* 0 or a power of two */
    size_t count;
};

struct code_page *code_page_find(const struct code_page_set *set, uint64_t number);

/* A new zeroed page of this number, which must not be in the set; NULL without memory. */
struct code_page *code_page_add(struct code_page_set *set, uint64_t number);

/* Up to 15 bytes from IP on, as many as are known without a gap; gives their number. */
size_t code_page_copy(const struct code_page_set *set, uint64_t ip,
                      uint8_t bytes[TRACE_INSTRUCTION_BYTES]);

void code_page_set_free(struct code_page_set *set);

#endif
