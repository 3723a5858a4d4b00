/*
 * The contents of pages on their way into a recording: each is written once, whichever process and
 * address had it; equal ones are found by their XXH3 hash of 128 bits.
 */
#ifndef TRACES_PAGE_STORE_H
#define TRACES_PAGE_STORE_H

#include "writer.h"

struct page_store;

/* NULL without memory. */
struct page_store *page_store_new(struct writer *writer);
void page_store_free(struct page_store *store);

/* The number of the content BYTES; new ones are counted from 0. */
uint32_t page_store_number(struct page_store *store, const uint8_t bytes[STREAM_PAGE_BYTES]);

/* Writes what is not in the file yet. Gives the bytes it takes there. */
uint64_t page_store_flush(struct page_store *store);

#endif
