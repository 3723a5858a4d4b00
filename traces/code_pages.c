/* Known code pages of one address space: a small hash set, see code_pages.h. */
#include "code_pages.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct code_page_set *set, uint64_t number)
{
    size_t slot = (size_t)((number * 0x9e3779b97f4a7c15u) >> 32) & (set->capacity - 1);

    while (set->slots[slot] && set->slots[slot]->number != number)
        slot = (slot + 1) & (set->capacity - 1);
    return slot;
}

struct code_page *code_page_find(const struct code_page_set *set, uint64_t number)
{
    return set->capacity ? set->slots[slot_of(set, number)] : NULL;
}

static bool grow(struct code_page_set *set)
{
    struct code_page_set bigger = {.capacity = set->capacity ? 2 * set->capacity : 16};

    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i])
            bigger.slots[slot_of(&bigger, set->slots[i]->number)] = set->slots[i];
    bigger.count = set->count;
    free(set->slots);
    *set = bigger;
    return true;
}

struct code_page *code_page_add(struct code_page_set *set, uint64_t number)
{
    struct code_page *page;

    if (2 * set->count >= set->capacity && !grow(set))
        return NULL;
    page = calloc(1, sizeof *page);
    if (!page)
        return NULL;
    page->number = number;
    set->slots[slot_of(set, number)] = page;
    set->count++;
    return page;
}

size_t code_page_copy(const struct code_page_set *set, uint64_t ip,
                      uint8_t bytes[TRACE_INSTRUCTION_BYTES])
{
    size_t done = 0;

    while (done < TRACE_INSTRUCTION_BYTES) {
        const struct code_page *page = code_page_find(set, (ip + done) >> CODE_PAGE_SHIFT);
        size_t offset = (size_t)((ip + done) & (CODE_PAGE_BYTES - 1));
        size_t part = CODE_PAGE_BYTES - offset;
        if (!page)
            break;
        if (part > TRACE_INSTRUCTION_BYTES - done)
            part = TRACE_INSTRUCTION_BYTES - done;
        memcpy(bytes + done, page->bytes + offset, part);
        done += part;
    }
    return done;
}

void code_page_set_free(struct code_page_set *set)
{
    for (size_t i = 0; i < set->capacity; i++)
        free(set->slots[i]);
    free(set->slots);
    *set = (struct code_page_set){0};
}
