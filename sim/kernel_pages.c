/*
 * First touches of pages: each page of code or data that a process uses for the first time costs it
 * one page fault. Model choice: no page is there at the start, each comes alone (no fault-around),
 * whoever wrote it; a page that was there once stays.
 */
#include "kernel.h"

#include <stdlib.h>

#define PAGE_BITS 12

static size_t slot_of(const struct kernel_pages *pages, uint64_t key)
{
    size_t slot = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (pages->capacity - 1);
    while (pages->key[slot] && pages->key[slot] != key)
        slot = (slot + 1) & (pages->capacity - 1);
    return slot;
}

static bool grow(struct kernel_pages *pages)
{
    struct kernel_pages old = *pages;
    pages->capacity = old.capacity ? old.capacity * 2 : 1024;
    pages->key = calloc(pages->capacity, sizeof *pages->key);
    if (!pages->key) {
        *pages = old;
        return false;
    }
    for (size_t i = 0; i < old.capacity; i++)
        if (old.key[i])
            pages->key[slot_of(pages, old.key[i])] = old.key[i];
    free(old.key);
    return true;
}

/* When memory is short a page counts as touched before: fewer faults, and the run ends soon. */
bool kernel_first_touch(struct kernel_pages *pages, uint16_t process, uint64_t page)
{
    uint64_t key = ((uint64_t)process << 48 | page) + 1;
    uint64_t *recent = &pages->recent[page % 64];
    if (*recent == key)
        return false;
    *recent = key;
    if (pages->count * 2 >= pages->capacity && !grow(pages))
        return false;
    size_t slot = slot_of(pages, key);
    if (pages->key[slot])
        return false;
    pages->key[slot] = key;
    pages->count++;
    return true;
}

static unsigned touch(struct kernel_pages *pages, uint16_t process, uint64_t low, uint64_t high,
                      uint64_t *address)
{
    unsigned faults = 0;
    for (uint64_t page = low >> PAGE_BITS; page <= high >> PAGE_BITS; page++) {
        if (kernel_first_touch(pages, process, page)) {
            *address = page << PAGE_BITS > low ? page << PAGE_BITS : low;
            faults++;
        }
    }
    return faults;
}

unsigned kernel_page_faults(struct kernel_pages *pages, const struct nb_instruction *in,
                            uint64_t *address)
{
    unsigned faults = touch(pages, in->process, in->ip, in->ip + in->length - 1u, address);
    for (unsigned i = 0; i < in->access_count; i++) {
        uint64_t bytes = (uint64_t)in->access[i].size * in->repetitions;
        uint64_t low = in->access[i].address;
        if (!bytes)
            continue;
        if (in->flags & NB_INSTRUCTION_BACKWARD)
            low -= bytes - in->access[i].size;
        faults += touch(pages, in->process, low, low + bytes - 1, address);
    }
    return faults;
}

void kernel_pages_free(struct kernel_pages *pages)
{
    free(pages->key);
    *pages = (struct kernel_pages){0};
}
