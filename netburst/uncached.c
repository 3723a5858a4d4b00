/*
 * Memory types, and the accesses that go past the caches: uncacheable and write-combining reads,
 * uncacheable, write-through and write-protected writes, and locked accesses that need the bus.
 *
 * Write-back memory is the default; ranges of linear addresses can have another type, as page
 * attributes give them on the part (SDM volume 3, memory cache control). The type travels with the
 * physical address, in the bits above NB_TYPE_SHIFT. An uncacheable load is not speculative: it
 * waits until it is the oldest and all older stores have left, then reads its 8-byte chunks over
 * the bus. A locked access inside one line of write-back memory needs no more than the line (SDM:
 * cache locking); one across a line, or elsewhere, locks the bus for its read and its write.
 *
 * Model choices: an ordered write leaves when the bus has room for it and does not wait for its
 * end; the caches keep their copies at a bus lock.
 */
#include "machine.h"

#define UNCACHEABLE_SPLIT (1u << 2) /* memory_complete USC */
#define UNCACHEABLE_LOAD  (1u << 3) /* memory_complete ULC */
#define CODE_CHUNK        8u

bool nb_memory_range(struct nb_machine *m, uint64_t from, uint64_t to, enum nb_memory_type type)
{
    if (m->ranges == NB_RANGES || from >= to || (from & 0xFFF) || (to & 0xFFF))
        return false;
    m->range[m->ranges++] = (struct memory_range){from, to, (uint8_t)type};
    return true;
}

enum nb_memory_type memory_type_at(const struct nb_machine *m, uint64_t linear)
{
    for (unsigned i = 0; i < m->ranges; i++)
        if (linear >= m->range[i].from && linear < m->range[i].to)
            return (enum nb_memory_type)m->range[i].type;
    return NB_MEMORY_WRITE_BACK;
}

/* Every store older than E has left the store buffer. */
bool stores_drained(const struct lp *lp, const struct rob_entry *e)
{
    return lp->store_head == lp->store_tail ||
           lp->store[lp->store_head & (NB_STORES - 1)].rob >= e->sequence;
}

static bool crosses_line(const struct nb_machine *m, uint64_t linear, uint32_t size)
{
    return size && (linear & (m->p.l1_line - 1)) + size > m->p.l1_line;
}

static bool uncacheable(uint64_t physical)
{
    return memory_type(physical) == NB_MEMORY_UNCACHEABLE;
}

static bool locks_bus(const struct nb_machine *m, uint64_t linear, uint64_t physical, uint32_t size)
{
    return memory_type(physical) != NB_MEMORY_WRITE_BACK || crosses_line(m, linear, size);
}

bool goes_past_caches(const struct nb_machine *m, const struct nb_uop *uop, uint64_t linear,
                      uint64_t physical, uint32_t size)
{
    enum nb_memory_type type = memory_type(physical);
    return type == NB_MEMORY_UNCACHEABLE || type == NB_MEMORY_WRITE_COMBINING ||
           ((uop->flags & NB_UOP_LOCKED) && locks_bus(m, linear, physical, size));
}

/* Up to the 8-byte boundaries, a transaction for each chunk; when the last of them is through. */
static nb_tick chunks(struct nb_machine *m, unsigned who, enum bus_kind kind, uint64_t physical,
                      uint32_t size, nb_tick tick)
{
    uint64_t first = physical & ~UINT64_C(7),
             last = (physical + (size ? size - 1 : 0)) & ~UINT64_C(7);
    bool split = first != last && size <= 8;
    nb_tick done = tick;
    for (uint64_t chunk = first; chunk <= last; chunk += 8)
        done = bus_chunk(m, who, kind, chunk, split, tick);
    return done;
}

nb_tick uncached_load(struct nb_machine *m, struct rob_entry *e, uint64_t linear, uint64_t physical,
                      uint32_t size, nb_tick tick, nb_tick *again)
{
    if (e->bogus) /* never executed: it would have to be on the right path to be the oldest */
        return tick;
    if (!is_oldest(m, e) || !stores_drained(lp_of(m, e), e)) {
        *again = tick + 1;
        return NB_NEVER;
    }
    bool locked = (e->uop->flags & NB_UOP_LOCKED) && locks_bus(m, linear, physical, size);
    if (uncacheable(physical))
        post(m, e->who, P4PMU_EV_memory_complete,
             crosses_line(m, linear, size) ? UNCACHEABLE_LOAD | UNCACHEABLE_SPLIT
                                           : UNCACHEABLE_LOAD,
             1);
    wc_drain(m, e->who, tick);
    return chunks(m, e->who, locked ? BUS_LOCKED_READ : BUS_READ_PART, physical, size, tick);
}

/* A write-protected line must not stay behind a write to its memory. */
static void drop_line(struct nb_machine *m, uint64_t physical)
{
    struct cache_line *line = cache_find(&m->l1, physical);
    if (line)
        line->tag = NB_NEVER;
    l2_snoop(m, physical, true);
    if (m->l3.line)
        l3_snoop(m, physical, true);
}

/* A store that the bus must see, at TICK. TICK: it is one for the caches after all; NB_NEVER: done;
 * else when to try again. */
nb_tick uncached_store(struct nb_machine *m, const struct store *s, nb_tick tick)
{
    enum nb_memory_type type = memory_type(s->physical);
    bool locked = s->locked && locks_bus(m, s->linear, s->physical, s->size);
    if (!locked && (type == NB_MEMORY_WRITE_BACK || type == NB_MEMORY_WRITE_COMBINING)) {
        if (s->locked)
            wc_drain(m, s->who, tick);
        return tick;
    }
    nb_tick room = bus_free(m);
    if (room > tick)
        return room;
    wc_drain(m, s->who, tick);
    if (type == NB_MEMORY_UNCACHEABLE && crosses_line(m, s->linear, s->size))
        post(m, s->who, P4PMU_EV_memory_complete, UNCACHEABLE_SPLIT, 1);
    if (type == NB_MEMORY_WRITE_PROTECTED)
        drop_line(m, s->physical);
    chunks(m, s->who, locked ? BUS_LOCKED_WRITE : BUS_WRITE_PART, s->physical, s->size, tick);
    return NB_NEVER;
}

/* The 64 bytes of code around PHYSICAL when they are not cacheable: 8 reads of the bus. False: they
 * are. */
bool uncached_code(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick,
                   nb_tick *there)
{
    enum nb_memory_type type = memory_type(physical);
    if (type != NB_MEMORY_UNCACHEABLE && type != NB_MEMORY_WRITE_COMBINING)
        return false;
    uint64_t line = physical & ~UINT64_C(63);
    for (uint64_t at = line; at < line + 64; at += CODE_CHUNK)
        *there = bus_chunk(m, who, BUS_CODE_PART, at, false, tick);
    return true;
}
