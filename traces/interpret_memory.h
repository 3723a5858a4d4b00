/*
 * The interpreter's copy of an address space: 4096-byte pages, fetched when first touched, written
 * back when somebody else is to see them.
 *
 * A page that is written keeps a copy of what it held before, and only bytes that differ go back.
 * The kernel may fill a sleeping thread's buffer in the same page meanwhile: its bytes then stay.
 *
 * Not modelled: memory that changes while it is cached (another process with the same mapping, a
 * device). Whoever owns the cache drops it whenever that could matter.
 */
#ifndef TRACES_INTERPRET_MEMORY_H
#define TRACES_INTERPRET_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INTERPRET_PAGE_BYTES 4096
#define INTERPRET_PAGE_SHIFT 12

struct interpret_page {
    uint64_t generation; /* holds memory's bytes while this equals interpret_memory.generation */
    uint64_t number;     /* address >> INTERPRET_PAGE_SHIFT */
    bool writable;       /* found out, so far */
    bool dirty;
    bool seen;            /* bytes are those last seen, even while they hold memory's no more */
    uint32_t mark;        /* the watcher's own */
    const uint8_t *bytes; /* OWN, or lent by the backing until it is written */
    uint8_t own[INTERPRET_PAGE_BYTES];
    uint8_t before[INTERPRET_PAGE_BYTES]; /* while dirty: as fetched or last written back */
};

/* Pages beyond which a cache is dropped when that is easy: 128 MB of the program, twice that here.
 */
enum { INTERPRET_PAGES_KEPT = 1 << 15 };

enum { INTERPRET_RECENT = 512 }; /* pages found at once: model choice, as a TLB has some */

/* Changed bytes on their way back. */
struct interpret_range {
    uint64_t address;
    const uint8_t *bytes;
    size_t count;
};

enum { INTERPRET_RANGES = 64 }; /* written back at once, at most */

/* Where pages come from and go to. Each gives false when the program itself could not do it.
 * A backing may LEND pages in place of filling them (NULL: the program has none there): they must
 * stay until the cache is dropped. Without WRITE_BACK what is written stays here. */
struct interpret_backing {
    const uint8_t *(*lend)(void *context, uint64_t number);
    bool (*fetch)(void *context, uint64_t number, uint8_t bytes[INTERPRET_PAGE_BYTES]);
    bool (*writable)(void *context, uint64_t number, uint8_t first_byte);
    bool (*write_back)(void *context, const struct interpret_range *ranges, size_t count);
};

/* Told when a page's bytes turn out not to be those last seen: KNOWN is NULL where none were seen,
 * NOW where the page is no more. */
typedef void interpret_watch_fn(void *watcher, uint64_t number, const uint8_t *known,
                                const uint8_t *now);

struct interpret_memory {
    const struct interpret_backing *backing;
    void *context;
    interpret_watch_fn *watch; /* or NULL; with it no page is ever freed */
    void *watcher;
    uint64_t generation;
    struct interpret_page *recent[INTERPRET_RECENT]; /* by the number's low bits */
    struct interpret_page **slots;                   /* all pages: open addressing by number */
    size_t capacity;
    struct interpret_page **dirty;
    size_t dirty_count, dirty_capacity;
    size_t page_count;
    size_t pages_kept; /* when dropped with more, they are given back */
};

/* NULL without memory. */
struct interpret_memory *interpret_memory_new(const struct interpret_backing *backing,
                                              void *context);
void interpret_memory_free(struct interpret_memory *memory);

/* Writes changed bytes back; pages stay cached. False when some could not be written. */
bool interpret_memory_flush(struct interpret_memory *memory);

/* Forgets all pages, what is not written back included. */
void interpret_memory_drop(struct interpret_memory *memory);

/* Forgets the pages of ADDRESS to ADDRESS + COUNT (exclusive), likewise. */
void interpret_memory_drop_range(struct interpret_memory *memory, uint64_t address, uint64_t count);

/* Somebody read memory and this is in the page: the watcher is told when it is news. False without
 * memory. */
bool interpret_memory_learn(struct interpret_memory *memory, uint64_t number,
                            const uint8_t now[INTERPRET_PAGE_BYTES]);

/* Somebody else than the program stores COUNT bytes (at most a page) at ADDRESS: the watcher is
 * told. False, and nothing changed, when a page of them is out of reach. */
bool interpret_memory_outside(struct interpret_memory *memory, uint64_t address, const void *bytes,
                              unsigned count);

/* Puts COUNT bytes into the page at OFFSET and takes it for cached; a page never seen holds zeros.
 * NULL without memory. */
struct interpret_page *interpret_memory_put(struct interpret_memory *memory, uint64_t number,
                                            unsigned offset, const uint8_t *bytes, unsigned count);

/* The page as far as it was seen, or NULL; nothing is fetched. */
const struct interpret_page *interpret_page_known(struct interpret_memory *memory, uint64_t number);

/* The page is no more. */
void interpret_memory_unmap(struct interpret_memory *memory, uint64_t number);

/* Calls for every page there ever was, seen or not. */
typedef void interpret_each_fn(void *context, struct interpret_page *page);
void interpret_memory_each(struct interpret_memory *memory, interpret_each_fn *call, void *context);

/* The slow ways: fetch the page, find out whether it may be written. NULL: the program could not.
 */
struct interpret_page *interpret_page_fetch(struct interpret_memory *memory, uint64_t number);
struct interpret_page *interpret_page_dirty(struct interpret_memory *memory, uint64_t number);

/* The page among all, NULL when it is not there. */
struct interpret_page *interpret_page_find(struct interpret_memory *memory, uint64_t number);

static inline struct interpret_page *interpret_page_cached(struct interpret_memory *memory,
                                                           uint64_t number)
{
    struct interpret_page *page = memory->recent[number % INTERPRET_RECENT];

    if (!page || page->number != number)
        page = interpret_page_find(memory, number);
    return page && page->generation == memory->generation ? page : NULL;
}

/* The page for reading. */
static inline struct interpret_page *interpret_page_read(struct interpret_memory *memory,
                                                         uint64_t number)
{
    struct interpret_page *page = interpret_page_cached(memory, number);
    return page ? page : interpret_page_fetch(memory, number);
}

/* The page for writing, which makes it dirty. */
static inline struct interpret_page *interpret_page_write(struct interpret_memory *memory,
                                                          uint64_t number)
{
    struct interpret_page *page = interpret_page_cached(memory, number);
    return page && page->dirty ? page : interpret_page_dirty(memory, number);
}

/* COUNT bytes (at most a page) from or to ADDRESS. False, and nothing changed, when a page of them
 * is out of reach. */
bool interpret_load_across(struct interpret_memory *memory, uint64_t address, void *bytes,
                           unsigned count);
bool interpret_store_across(struct interpret_memory *memory, uint64_t address, const void *bytes,
                            unsigned count);

static inline bool interpret_load_bytes(struct interpret_memory *memory, uint64_t address,
                                        void *bytes, unsigned count)
{
    unsigned offset = address & (INTERPRET_PAGE_BYTES - 1);
    struct interpret_page *page;

    if (offset + count > INTERPRET_PAGE_BYTES)
        return interpret_load_across(memory, address, bytes, count);
    page = interpret_page_read(memory, address >> INTERPRET_PAGE_SHIFT);
    if (!page)
        return false;
    memcpy(bytes, page->bytes + offset, count);
    return true;
}

static inline bool interpret_store_bytes(struct interpret_memory *memory, uint64_t address,
                                         const void *bytes, unsigned count)
{
    unsigned offset = address & (INTERPRET_PAGE_BYTES - 1);
    struct interpret_page *page;

    if (offset + count > INTERPRET_PAGE_BYTES)
        return interpret_store_across(memory, address, bytes, count);
    page = interpret_page_write(memory, address >> INTERPRET_PAGE_SHIFT);
    if (!page)
        return false;
    memcpy(page->own + offset, bytes, count);
    return true;
}

/* An operand of 1, 2, 4 or 8 bytes, little-endian, zero-extended. */
static inline bool interpret_load(struct interpret_memory *memory, uint64_t address, unsigned size,
                                  uint64_t *value)
{
    uint8_t bytes[8] = {0};
    bool good = size == 4   ? interpret_load_bytes(memory, address, bytes, 4)
                : size == 8 ? interpret_load_bytes(memory, address, bytes, 8)
                : size == 1 ? interpret_load_bytes(memory, address, bytes, 1)
                            : interpret_load_bytes(memory, address, bytes, 2);

    *value = (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 |
             (uint64_t)bytes[3] << 24 | (uint64_t)bytes[4] << 32 | (uint64_t)bytes[5] << 40 |
             (uint64_t)bytes[6] << 48 | (uint64_t)bytes[7] << 56;
    return good;
}

static inline bool interpret_store(struct interpret_memory *memory, uint64_t address, unsigned size,
                                   uint64_t value)
{
    const uint8_t bytes[8] = {(uint8_t)value,         (uint8_t)(value >> 8),
                              (uint8_t)(value >> 16), (uint8_t)(value >> 24),
                              (uint8_t)(value >> 32), (uint8_t)(value >> 40),
                              (uint8_t)(value >> 48), (uint8_t)(value >> 56)};

    return size == 4   ? interpret_store_bytes(memory, address, bytes, 4)
           : size == 8 ? interpret_store_bytes(memory, address, bytes, 8)
           : size == 1 ? interpret_store_bytes(memory, address, bytes, 1)
                       : interpret_store_bytes(memory, address, bytes, 2);
}

#endif
