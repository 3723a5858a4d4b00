/* Page contents by number; see page_store.h. */
#include "page_store.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct content {
    XXH128_hash_t hash;
    uint32_t number_plus_one; /* 0: empty slot */
};

struct page_store {
    struct writer *writer;
    struct content *slots; /* open addressing by hash */
    size_t capacity;
    uint32_t count;
    uint64_t written; /* bytes in the file since the last flush */
    unsigned waiting;
    uint8_t bytes[STREAM_CHUNK_PAGES * STREAM_PAGE_BYTES];
};

struct page_store *page_store_new(struct writer *writer)
{
    struct page_store *store = calloc(1, sizeof *store);

    if (store)
        store->writer = writer;
    return store;
}

void page_store_free(struct page_store *store)
{
    if (!store)
        return;
    free(store->slots);
    free(store);
}

static struct content *slot_of(struct content *slots, size_t capacity, XXH128_hash_t hash)
{
    size_t at = (size_t)hash.low64 & (capacity - 1);

    while (slots[at].number_plus_one && !XXH128_isEqual(slots[at].hash, hash))
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(struct page_store *store)
{
    size_t capacity = store->capacity ? 2 * store->capacity : 1024;
    struct content *bigger = calloc(capacity, sizeof *bigger);

    if (!bigger)
        return false;
    for (size_t i = 0; i < store->capacity; i++)
        if (store->slots[i].number_plus_one)
            *slot_of(bigger, capacity, store->slots[i].hash) = store->slots[i];
    free(store->slots);
    store->slots = bigger;
    store->capacity = capacity;
    return true;
}

static void write_waiting(struct page_store *store)
{
    if (store->waiting)
        store->written +=
            writer_chunk(store->writer, STREAM_PAGES, store->count - store->waiting, store->waiting,
                         store->bytes, store->waiting * (size_t)STREAM_PAGE_BYTES);
    store->waiting = 0;
}

uint32_t page_store_number(struct page_store *store, const uint8_t bytes[STREAM_PAGE_BYTES])
{
    XXH128_hash_t hash = XXH3_128bits(bytes, STREAM_PAGE_BYTES);
    struct content *slot;

    if (2 * (size_t)store->count >= store->capacity && !grow(store)) {
        writer_fail(store->writer, "no memory for more pages");
        return 0;
    }
    slot = slot_of(store->slots, store->capacity, hash);
    if (slot->number_plus_one)
        return slot->number_plus_one - 1;
    if (store->waiting == STREAM_CHUNK_PAGES)
        write_waiting(store);
    memcpy(store->bytes + store->waiting++ * (size_t)STREAM_PAGE_BYTES, bytes, STREAM_PAGE_BYTES);
    *slot = (struct content){hash, ++store->count};
    return store->count - 1;
}

uint64_t page_store_flush(struct page_store *store)
{
    uint64_t written;

    write_waiting(store);
    written = store->written;
    store->written = 0;
    return written;
}
