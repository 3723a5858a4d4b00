/*
 * Address translation: data TLB (64 entries, fully associative), instruction TLB (128 entries,
 * 4-way, looked up in build mode only), page walks through the caches, and the page map behind
 * them.
 *
 * Physical frames are given out in order of first touch, so that a run is the same each time; page
 * tables of a process live in frames of their own. Two dependent loads (four in 64-bit mode) and a
 * fixed cost make a walk (model choice: the cost is not published); one walk at a time (BOGGS04: up
 * to Northwood a walk that misses blocks others, later it does not). Not modelled: 4 MB pages; page
 * faults are known in advance (interrupt.c).
 */
#include "machine.h"

#include <stdlib.h>

#define PAGE_BITS     12
#define KEY_NONE      NB_NEVER
#define LP_BIT        47      /* above the page number of a 48-bit linear address */
#define TABLE_PROCESS 0x8000u /* page tables are mapped under process numbers of their own */

bool tlb_init(struct tlb *t, uint32_t sets, uint32_t ways)
{
    t->sets = sets;
    t->ways = ways;
    t->entry = calloc((size_t)sets * ways, sizeof *t->entry);
    if (!t->entry)
        return false;
    tlb_flush(t);
    return true;
}

void tlb_flush(struct tlb *t)
{
    for (size_t i = 0; i < (size_t)t->sets * t->ways; i++)
        t->entry[i].page = KEY_NONE;
}

static size_t set_base(const struct tlb *t, uint64_t page)
{
    return (size_t)(page & (t->sets - 1)) * t->ways;
}

/* The entry of PAGE, or NULL. The hint table only saves a search: what it says is verified. */
struct tlb_entry *tlb_find(struct tlb *t, uint64_t page)
{
    uint16_t *hint = &t->hint[(page ^ (page >> 8)) & 255];
    size_t base = set_base(t, page);
    if (t->entry[*hint].page == page) {
        t->entry[*hint].used = ++t->stamp;
        return &t->entry[*hint];
    }
    for (uint32_t way = 0; way < t->ways; way++) {
        struct tlb_entry *e = &t->entry[base + way];
        if (e->page == page) {
            *hint = (uint16_t)(base + way);
            e->used = ++t->stamp;
            return e;
        }
    }
    return NULL;
}

struct tlb_entry *tlb_fill(struct tlb *t, uint64_t page, uint64_t frame, nb_tick ready)
{
    struct tlb_entry *set = &t->entry[set_base(t, page)];
    struct tlb_entry *oldest = set;
    for (uint32_t way = 0; way < t->ways; way++) {
        if (set[way].page == KEY_NONE) {
            oldest = &set[way];
            break;
        }
        if (set[way].used < oldest->used)
            oldest = &set[way];
    }
    *oldest = (struct tlb_entry){.page = page, .frame = frame, .used = ++t->stamp, .ready = ready};
    return oldest;
}

uint64_t page_key(uint16_t process, uint64_t linear)
{
    return ((uint64_t)process << 48) | ((linear >> PAGE_BITS) & ((UINT64_C(1) << 48) - 1));
}

/* The entries of LP, which loads CR3. */
void dtlb_flush(struct nb_machine *m, const struct lp *lp)
{
    for (size_t i = 0; i < m->p.dtlb_entries; i++)
        if ((m->dtlb.entry[i].page >> LP_BIT & 1) == lp->number)
            m->dtlb.entry[i].page = KEY_NONE;
}

/* The data TLB is shared, its entries belong to one logical processor. */
uint64_t dtlb_key(unsigned lp, uint64_t key)
{
    return key | (uint64_t)lp << LP_BIT;
}

static size_t slot_of(const struct page_map *map, uint64_t key)
{
    uint64_t hash = key * UINT64_C(0x9E3779B97F4A7C15);
    size_t slot = (size_t)(hash >> 32) & (map->capacity - 1);
    while (map->key[slot] != KEY_NONE && map->key[slot] != key)
        slot = (slot + 1) & (map->capacity - 1);
    return slot;
}

static bool grow(struct page_map *map)
{
    struct page_map old = *map;
    size_t capacity = old.capacity ? old.capacity * 2 : 1024;
    uint64_t *key = malloc(capacity * sizeof *key);
    uint64_t *frame = malloc(capacity * sizeof *frame);
    if (!key || !frame) {
        free(key);
        free(frame);
        return false;
    }
    for (size_t i = 0; i < capacity; i++)
        key[i] = KEY_NONE;
    map->key = key;
    map->frame = frame;
    map->capacity = capacity;
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.key[i] != KEY_NONE) {
            size_t slot = slot_of(map, old.key[i]);
            map->key[slot] = old.key[i];
            map->frame[slot] = old.frame[i];
        }
    }
    free(old.key);
    free(old.frame);
    return true;
}

bool map_find(const struct page_map *map, uint64_t key, uint64_t *value)
{
    if (!map->capacity)
        return false;
    size_t slot = slot_of(map, key);
    if (map->key[slot] == KEY_NONE)
        return false;
    *value = map->frame[slot];
    return true;
}

bool map_add(struct nb_machine *m, struct page_map *map, uint64_t key, uint64_t value)
{
    if (map->count * 2 >= map->capacity && !grow(map)) {
        m->out_of_memory = true;
        return false;
    }
    size_t slot = slot_of(map, key);
    if (map->key[slot] == KEY_NONE)
        map->count++;
    map->key[slot] = key;
    map->frame[slot] = value;
    return true;
}

/* The physical frame of a page, given out at first touch. */
uint64_t page_frame(struct nb_machine *m, uint64_t key)
{
    uint64_t frame = 0;
    if (map_find(&m->pages, key, &frame))
        return frame;
    frame = m->pages.next_frame;
    if (m->ranges && !(key >> 48 & TABLE_PROCESS))
        frame |= (uint64_t)memory_type_at(m, key << PAGE_BITS & ((UINT64_C(1) << 60) - 1))
                 << (NB_TYPE_SHIFT - PAGE_BITS);
    if (!map_add(m, &m->pages, key, frame))
        return 0;
    m->pages.next_frame++;
    return frame;
}

/* Page tables of a mode: two levels of 1024 entries of four bytes, or four of 512 of eight (SDM
 * volume 3, paging). */
struct table_form {
    unsigned levels, index_bits, entry_bits;
};

static const struct table_form *table_form(const struct nb_machine *m, unsigned who)
{
    static const struct table_form forms[2] = {{2, 10, 2}, {4, 9, 3}};
    return &forms[m->lp[who >> 2].fe.mode_64];
}

/* Where the entry of KEY lies in the tables of LEVEL, 0 being the one that names the page. */
static uint64_t table_entry(struct nb_machine *m, const struct table_form *form, uint64_t key,
                            unsigned level)
{
    uint16_t process = (uint16_t)((key >> 48) | TABLE_PROCESS);
    uint64_t page = key & ((UINT64_C(1) << 48) - 1);
    uint64_t index = page >> (form->index_bits * level);
    uint64_t table = ((uint64_t)level << 44) + (index << form->entry_bits);
    return (page_frame(m, page_key(process, table)) << PAGE_BITS) | (table & 0xFFF);
}

/* A walk for KEY asked for at TICK: when it is done. */
nb_tick page_walk(struct nb_machine *m, unsigned who, uint64_t key, nb_tick tick, bool code)
{
    const struct table_form *form = table_form(m, who);
    nb_tick miss = NB_NEVER; /* when the first read that missed began */
    bool missed;
    post(m, who, P4PMU_EV_page_walk_type, code ? 1u << 1 : 1u << 0, 1);
    tick = max64(tick, m->walk_free);
    for (unsigned level = form->levels; level-- > 0;) {
        nb_tick begin = tick;
        tick = l2_read(m, who, table_entry(m, form, key, level), tick, BUS_READ, &missed);
        if (missed && miss == NB_NEVER)
            miss = begin;
    }
    tick += 2 * (nb_tick)m->p.walk_clocks;
    m->walk_free = m->p.walks_overlap && miss < tick ? miss : tick;
    return tick;
}
