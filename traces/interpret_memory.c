/* The interpreter's cache of pages; see interpret_memory.h. */
#include "interpret_memory.h"

#include <stdlib.h>

enum {
    DIFFERENT_FAR = 16, /* equal bytes that end a written-back range: fewer cost less than a call */
};

struct interpret_memory *interpret_memory_new(const struct interpret_backing *backing,
                                              void *context)
{
    struct interpret_memory *memory = calloc(1, sizeof *memory);

    if (memory) {
        memory->backing = backing;
        memory->context = context;
        memory->generation = 1;
        memory->pages_kept = INTERPRET_PAGES_KEPT;
    }
    return memory;
}

static void free_pages(struct interpret_memory *memory)
{
    for (size_t i = 0; i < memory->capacity; i++)
        free(memory->slots[i]);
    free(memory->slots);
    memory->slots = NULL;
    memory->capacity = 0;
    memory->page_count = 0;
    memset(memory->recent, 0, sizeof memory->recent);
}

void interpret_memory_free(struct interpret_memory *memory)
{
    if (!memory)
        return;
    free_pages(memory);
    free(memory->dirty);
    free(memory);
}

/* ---- writing back ------------------------------------------------------------------------------
 */

static bool differ(const struct interpret_page *page, size_t at)
{
    return page->bytes[at] != page->before[at];
}

/* The end of the changes that begin at AT: followed by many equal bytes, or by the page's end. */
static size_t changes_end(const struct interpret_page *page, size_t at)
{
    size_t end = at + 1;

    for (size_t i = end; i < INTERPRET_PAGE_BYTES && i < end + DIFFERENT_FAR; i++)
        if (differ(page, i))
            end = i + 1;
    return end;
}

/* Ranges that wait to be written back together. */
struct batch {
    struct interpret_memory *memory;
    struct interpret_range ranges[INTERPRET_RANGES];
    size_t count;
    bool good;
};

static void send(struct batch *batch)
{
    struct interpret_memory *memory = batch->memory;

    if (batch->count)
        batch->good &= memory->backing->write_back(memory->context, batch->ranges, batch->count);
    batch->count = 0;
}

static void flush_page(struct batch *batch, struct interpret_page *page)
{
    uint64_t base = page->number << INTERPRET_PAGE_SHIFT;
    size_t end;

    for (size_t at = 0; at < INTERPRET_PAGE_BYTES; at++) {
        if (at % 64 == 0 && memcmp(page->bytes + at, page->before + at, 64) == 0) {
            at += 63;
            continue;
        }
        if (!differ(page, at))
            continue;
        end = changes_end(page, at);
        if (batch->count == INTERPRET_RANGES)
            send(batch);
        batch->ranges[batch->count++] =
            (struct interpret_range){base + at, page->bytes + at, end - at};
        at = end - 1;
    }
    page->dirty = false;
}

bool interpret_memory_flush(struct interpret_memory *memory)
{
    struct batch batch = {.memory = memory, .good = true};

    for (size_t i = 0; i < memory->dirty_count; i++)
        if (memory->dirty[i]->generation == memory->generation && memory->dirty[i]->dirty)
            flush_page(&batch, memory->dirty[i]);
    send(&batch);
    memory->dirty_count = 0;
    return batch.good;
}

void interpret_memory_drop(struct interpret_memory *memory)
{
    memory->generation++;
    memory->dirty_count = 0;
    if (memory->page_count > memory->pages_kept && !memory->watch)
        free_pages(memory);
}

void interpret_memory_drop_range(struct interpret_memory *memory, uint64_t address, uint64_t count)
{
    uint64_t first = address >> INTERPRET_PAGE_SHIFT;
    uint64_t last = (address + count - 1) >> INTERPRET_PAGE_SHIFT;
    struct interpret_page *page;

    if (!count)
        return;
    for (uint64_t number = first; number <= last; number++)
        if ((page = interpret_page_cached(memory, number)))
            page->generation = 0;
}

/* ---- pages -------------------------------------------------------------------------------------
 */

static size_t slot_of(const struct interpret_memory *memory, uint64_t number)
{
    size_t slot = (size_t)((number * 0x9e3779b97f4a7c15u) >> 32) & (memory->capacity - 1);

    while (memory->slots[slot] && memory->slots[slot]->number != number)
        slot = (slot + 1) & (memory->capacity - 1);
    return slot;
}

struct interpret_page *interpret_page_find(struct interpret_memory *memory, uint64_t number)
{
    struct interpret_page *page = memory->capacity ? memory->slots[slot_of(memory, number)] : NULL;

    if (page)
        memory->recent[number % INTERPRET_RECENT] = page;
    return page;
}

static bool grow(struct interpret_memory *memory)
{
    struct interpret_memory bigger = {.capacity = memory->capacity ? 2 * memory->capacity : 256};

    bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < memory->capacity; i++)
        if (memory->slots[i])
            bigger.slots[slot_of(&bigger, memory->slots[i]->number)] = memory->slots[i];
    free(memory->slots);
    memory->slots = bigger.slots;
    memory->capacity = bigger.capacity;
    return true;
}

static struct interpret_page *page_of(struct interpret_memory *memory, uint64_t number)
{
    struct interpret_page *page = interpret_page_find(memory, number);

    if (page || (2 * memory->page_count >= memory->capacity && !grow(memory)))
        return page;
    page = malloc(sizeof *page);
    if (!page)
        return NULL;
    page->generation = 0;
    page->number = number;
    page->seen = false;
    page->mark = 0;
    page->bytes = page->own;
    memory->slots[slot_of(memory, number)] = page;
    memory->page_count++;
    return page;
}

/* Takes over what is in the page now. */
static void see(struct interpret_memory *memory, struct interpret_page *page,
                const uint8_t now[INTERPRET_PAGE_BYTES])
{
    if (memory->watch && (!page->seen || memcmp(page->bytes, now, INTERPRET_PAGE_BYTES) != 0))
        memory->watch(memory->watcher, page->number, page->seen ? page->bytes : NULL, now);
    memcpy(page->own, now, INTERPRET_PAGE_BYTES);
    page->seen = true;
}

static bool borrow(struct interpret_memory *memory, struct interpret_page *page)
{
    const uint8_t *lent = memory->backing->lend(memory->context, page->number);

    page->seen = lent != NULL;
    page->bytes = lent ? lent : page->own;
    return page->seen;
}

static bool fetch(struct interpret_memory *memory, struct interpret_page *page)
{
    uint8_t now[INTERPRET_PAGE_BYTES];

    if (memory->backing->lend)
        return borrow(memory, page);
    if (!memory->watch) {
        page->seen = memory->backing->fetch(memory->context, page->number, page->own);
        return page->seen;
    }
    if (memory->backing->fetch(memory->context, page->number, now)) {
        see(memory, page, now);
        return true;
    }
    if (page->seen)
        memory->watch(memory->watcher, page->number, page->bytes, NULL);
    page->seen = false;
    return false;
}

const struct interpret_page *interpret_page_known(struct interpret_memory *memory, uint64_t number)
{
    const struct interpret_page *page = interpret_page_find(memory, number);

    return page && page->seen ? page : NULL;
}

bool interpret_memory_learn(struct interpret_memory *memory, uint64_t number,
                            const uint8_t now[INTERPRET_PAGE_BYTES])
{
    struct interpret_page *page = page_of(memory, number);

    if (page)
        see(memory, page, now);
    return page != NULL;
}

struct interpret_page *interpret_memory_put(struct interpret_memory *memory, uint64_t number,
                                            unsigned offset, const uint8_t *bytes, unsigned count)
{
    struct interpret_page *page = page_of(memory, number);
    uint8_t now[INTERPRET_PAGE_BYTES];

    if (!page)
        return NULL;
    if (!page->seen)
        memset(page->own, 0, sizeof page->own);
    if (memory->watch) {
        memcpy(now, page->bytes, sizeof now);
        memcpy(now + offset, bytes, count);
        see(memory, page, now);
    }
    if (page->generation != memory->generation)
        page->writable = page->dirty = false;
    memcpy(page->own + offset, bytes, count);
    page->generation = memory->generation;
    page->seen = true;
    return page;
}

void interpret_memory_unmap(struct interpret_memory *memory, uint64_t number)
{
    struct interpret_page *page = page_of(memory, number);

    if (!page)
        return;
    if (memory->watch && page->seen)
        memory->watch(memory->watcher, number, page->bytes, NULL);
    page->generation = 0;
    page->seen = false;
}

void interpret_memory_each(struct interpret_memory *memory, interpret_each_fn *call, void *context)
{
    for (size_t i = 0; i < memory->capacity; i++)
        if (memory->slots[i])
            call(context, memory->slots[i]);
}

struct interpret_page *interpret_page_fetch(struct interpret_memory *memory, uint64_t number)
{
    struct interpret_page *page = page_of(memory, number);

    if (!page || !fetch(memory, page))
        return NULL;
    page->generation = memory->generation;
    page->writable = false;
    page->dirty = false;
    return page;
}

static bool list_dirty(struct interpret_memory *memory, struct interpret_page *page)
{
    size_t wanted = memory->dirty_capacity ? 2 * memory->dirty_capacity : 64;
    struct interpret_page **bigger;

    if (memory->dirty_count == memory->dirty_capacity) {
        bigger = realloc(memory->dirty, wanted * sizeof(*bigger));
        if (!bigger)
            return false;
        memory->dirty = bigger;
        memory->dirty_capacity = wanted;
    }
    memory->dirty[memory->dirty_count++] = page;
    return true;
}

struct interpret_page *interpret_page_dirty(struct interpret_memory *memory, uint64_t number)
{
    struct interpret_page *page = interpret_page_read(memory, number);

    if (!page || page->dirty)
        return page;
    if (!page->writable) {
        if (!memory->backing->writable(memory->context, number, page->bytes[0]))
            return NULL;
        page->writable = true;
    }
    if (!list_dirty(memory, page))
        return NULL;
    if (page->bytes != page->own)
        memcpy(page->own, page->bytes, sizeof page->own);
    page->bytes = page->own;
    if (memory->backing->write_back)
        memcpy(page->before, page->own, sizeof page->before);
    page->dirty = true;
    return page;
}

bool interpret_load_across(struct interpret_memory *memory, uint64_t address, void *bytes,
                           unsigned count)
{
    unsigned offset = address & (INTERPRET_PAGE_BYTES - 1), part = INTERPRET_PAGE_BYTES - offset;
    uint64_t number = address >> INTERPRET_PAGE_SHIFT;
    struct interpret_page *one = interpret_page_read(memory, number);
    struct interpret_page *other = interpret_page_read(memory, number + 1);

    if (!one || !other)
        return false;
    memcpy(bytes, one->bytes + offset, part);
    memcpy((uint8_t *)bytes + part, other->bytes, count - part);
    return true;
}

bool interpret_store_across(struct interpret_memory *memory, uint64_t address, const void *bytes,
                            unsigned count)
{
    unsigned offset = address & (INTERPRET_PAGE_BYTES - 1), part = INTERPRET_PAGE_BYTES - offset;
    uint64_t number = address >> INTERPRET_PAGE_SHIFT;
    struct interpret_page *one = interpret_page_write(memory, number);
    struct interpret_page *other = interpret_page_write(memory, number + 1);

    if (!one || !other)
        return false;
    memcpy(one->own + offset, bytes, part);
    memcpy(other->own, (const uint8_t *)bytes + part, count - part);
    return true;
}

static void store_part(struct interpret_memory *memory, struct interpret_page *page,
                       unsigned offset, const void *bytes, unsigned count)
{
    uint8_t now[INTERPRET_PAGE_BYTES];

    memcpy(now, page->bytes, sizeof now);
    memcpy(now + offset, bytes, count);
    see(memory, page, now);
}

bool interpret_memory_outside(struct interpret_memory *memory, uint64_t address, const void *bytes,
                              unsigned count)
{
    unsigned offset = address & (INTERPRET_PAGE_BYTES - 1), part = INTERPRET_PAGE_BYTES - offset;
    uint64_t number = address >> INTERPRET_PAGE_SHIFT;
    struct interpret_page *one = interpret_page_write(memory, number), *other = NULL;

    if (part > count)
        part = count;
    if (part < count)
        other = interpret_page_write(memory, number + 1);
    if (!one || (part < count && !other))
        return false;
    store_part(memory, one, offset, bytes, part);
    if (other)
        store_part(memory, other, 0, (const uint8_t *)bytes + part, count - part);
    return true;
}
