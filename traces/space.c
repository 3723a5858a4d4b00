/* Static instructions of an address space; see space.h. */
#define _GNU_SOURCE
#include "space.h"

#include <stdlib.h>
#include <string.h>

struct space *space_new(uint16_t process, space_read_fn *read)
{
    struct space *space = calloc(1, sizeof *space);

    if (space) {
        space->process = process;
        space->read = read;
        space->epoch = 1;
        space->users = 1;
    }
    return space;
}

void space_free(struct space *space)
{
    struct code_entry *next;

    if (!space)
        return;
    for (size_t i = 0; i < space->capacity; i++) {
        for (struct code_entry *entry = space->slots[i]; entry; entry = next) {
            next = entry->older;
            free(entry);
        }
    }
    free(space->slots);
    code_page_set_free(&space->pages);
    interpret_memory_free(space->memory);
    free(space);
}

static size_t slot_of(const struct space *space, uint64_t ip)
{
    size_t slot = (size_t)((ip * 0x9e3779b97f4a7c15u) >> 32) & (space->capacity - 1);

    while (space->slots[slot] && space->slots[slot]->ip != ip)
        slot = (slot + 1) & (space->capacity - 1);
    return slot;
}

static bool grow(struct space *space)
{
    struct space bigger = *space;

    bigger.capacity = space->capacity ? 2 * space->capacity : 4096;
    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < space->capacity; i++)
        if (space->slots[i])
            bigger.slots[slot_of(&bigger, space->slots[i]->ip)] = space->slots[i];
    free(space->slots);
    *space = bigger;
    return true;
}

struct code_page *space_know(struct space *space, uint64_t number)
{
    struct code_page *page = code_page_find(&space->pages, number);
    uint8_t now[CODE_PAGE_BYTES];

    if (page && page->epoch == space->epoch)
        return page;
    if (!space->read(space, number, now))
        return NULL;
    if (!page && !(page = code_page_add(&space->pages, number)))
        return NULL;
    memcpy(page->bytes, now, sizeof now);
    page->epoch = space->epoch;
    return page;
}

/* Decodes from the first page alone, or from both where the instruction crosses. */
static bool decode_here(struct space *space, struct recipe_decoder *decoder, uint64_t ip,
                        struct recipe *recipe)
{
    struct code_page *page = space_know(space, ip >> CODE_PAGE_SHIFT);
    size_t offset = (size_t)(ip & (CODE_PAGE_BYTES - 1));
    uint8_t bytes[TRACE_INSTRUCTION_BYTES];

    if (!page)
        return false;
    if (recipe_decode(decoder, space->mode, page->bytes + offset, CODE_PAGE_BYTES - offset, recipe))
        return true;
    if (offset > CODE_PAGE_BYTES - TRACE_INSTRUCTION_BYTES)
        space_know(space, (ip >> CODE_PAGE_SHIFT) + 1);
    recipe_decode(decoder, space->mode, bytes, code_page_copy(&space->pages, ip, bytes), recipe);
    return true;
}

/* Same instruction? The length of bytes no decoder knows is only learnt by executing them. */
static bool same_code(const struct recipe *one, const struct recipe *other)
{
    return (one->length == other->length || one->kind == RECIPE_UNKNOWN) &&
           one->kind == other->kind && memcmp(one->bytes, other->bytes, sizeof one->bytes) == 0;
}

/* The entry for these bytes: the newest at its address, an older one brought to the front, or new.
 */
static struct code_entry *entry_for(struct space *space, uint64_t ip, const struct recipe *recipe)
{
    struct code_entry **head, **link, *entry;

    if (2 * space->count >= space->capacity && !grow(space))
        return NULL;
    head = &space->slots[slot_of(space, ip)];
    for (link = head; *link; link = &(*link)->older) {
        if (!same_code(&(*link)->recipe, recipe))
            continue;
        entry = *link;
        *link = entry->older;
        entry->older = *head;
        *head = entry;
        return entry;
    }
    entry = malloc(sizeof *entry);
    if (!entry)
        return NULL;
    *entry =
        (struct code_entry){.ip = ip, .number = SPACE_NO_CODE, .older = *head, .recipe = *recipe};
    interpret_decode(&entry->recipe, &entry->op);
    if (!*head)
        space->count++;
    *head = entry;
    return entry;
}

/* Does memory still hold the entry's bytes? Only asked for entries that decoded. */
static bool still_there(struct space *space, const struct code_entry *entry)
{
    uint64_t first = entry->ip >> CODE_PAGE_SHIFT;
    uint64_t last = (entry->ip + entry->recipe.length - 1) >> CODE_PAGE_SHIFT;
    uint8_t bytes[TRACE_INSTRUCTION_BYTES];

    if (entry->recipe.kind == RECIPE_UNKNOWN || !space_know(space, first) ||
        (last != first && !space_know(space, last)))
        return false;
    return code_page_copy(&space->pages, entry->ip, bytes) >= entry->recipe.length &&
           memcmp(bytes, entry->recipe.bytes, entry->recipe.length) == 0;
}

struct code_entry *space_fetch(struct space *space, struct recipe_decoder *decoder, uint64_t ip)
{
    struct code_entry *entry = space->capacity ? space->slots[slot_of(space, ip)] : NULL;
    struct recipe recipe;

    if (entry && entry->epoch == space->epoch)
        return entry;
    if (!entry || !still_there(space, entry)) {
        if (!decode_here(space, decoder, ip, &recipe))
            return NULL;
        entry = entry_for(space, ip, &recipe);
        if (!entry)
            return NULL;
    }
    entry->epoch = space->epoch;
    return entry;
}

/* ---- for wrong paths ---------------------------------------------------------------------------
 */

struct code_entry *space_guess(struct space *space, struct recipe_decoder *decoder, uint64_t ip)
{
    struct code_entry *entry = space->capacity ? space->slots[slot_of(space, ip)] : NULL;
    uint8_t bytes[TRACE_INSTRUCTION_BYTES];
    struct recipe recipe;
    size_t count;

    if (entry && entry->epoch == space->epoch)
        return entry;
    count = code_page_copy(&space->pages, ip, bytes);
    if (entry && count >= entry->recipe.length &&
        memcmp(bytes, entry->recipe.bytes, entry->recipe.length) == 0)
        return entry;
    return recipe_decode(decoder, space->mode, bytes, count, &recipe)
               ? entry_for(space, ip, &recipe)
               : NULL;
}

void space_written(struct space *space, uint64_t low, uint64_t high)
{
    uint64_t first = low >> CODE_PAGE_SHIFT, last = (high - 1) >> CODE_PAGE_SHIFT;

    if (low >= high)
        return;
    if (last - first > 64) { /* not worth looking one by one */
        space_touch(space);
        return;
    }
    for (uint64_t page = first; page <= last; page++) {
        if (code_page_find(&space->pages, page)) {
            space_touch(space);
            return;
        }
    }
}
