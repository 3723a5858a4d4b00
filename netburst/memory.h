/*
 * Caches, TLBs, store buffer, bus and the other agent on it. Folder-private, part of machine.h.
 */
#ifndef NETBURST_MEMORY_H
#define NETBURST_MEMORY_H

#include "in_flight.h"

#define NB_STORES     64u
#define NB_STANDING   256u
#define NB_RANGES     16u /* of linear addresses with a memory type of their own */
#define NB_TYPE_SHIFT 60u /* physical addresses have their memory type above it */

struct nb_machine;
struct lp;
struct rob_entry;

struct store {
    uint64_t rob;          /* sequence number of its first uop */
    uint32_t dyn, element; /* which write of which instruction */
    uint8_t access, who;
    uint8_t piece;
    uint64_t linear, physical;
    uint32_t size; /* 0: nothing to write (wrong path) */
    bool retired, bogus, non_temporal, locked, flush;
    uint64_t origin;                 /* of the facts it causes when it leaves */
    nb_tick address_tick, data_tick; /* NB_NEVER: not known yet */
};

struct cache_line {
    uint64_t tag;          /* line address; NB_NEVER: empty */
    uint64_t used;         /* age for LRU */
    uint8_t state[2];      /* per sector: enum mesi; L1 uses the first */
    nb_tick ready[2];      /* when the sector's data are there */
    uint8_t readers;       /* L1: the logical processors that have loaded from it, a bit each */
    uint8_t prefetched[2]; /* the sector was asked for by a prefetch and not wanted since */
    uint64_t alias; /* L1: the linear address bits by which a line is found, above the offset */
};
enum mesi { MESI_I, MESI_S, MESI_E, MESI_M };

struct cache {
    struct cache_line *line;
    uint32_t sets, ways, line_bits;
    uint64_t stamp;
};

struct tlb_entry {
    uint64_t page, frame, used; /* page NB_NEVER: empty */
    nb_tick ready;
};
struct tlb {
    struct tlb_entry *entry;
    uint32_t sets, ways;
    uint64_t stamp;
    uint16_t hint[256]; /* where a page was last found */
};

struct wc_buffer {
    uint8_t lp;    /* who took it */
    uint64_t line; /* line address; NB_NEVER: free */
    uint64_t used;
    uint64_t bytes; /* one bit per byte written */
    uint8_t who;
    bool waits;      /* full, for room on the bus */
    uint64_t origin; /* of the store that filled it */
    nb_tick ready;   /* ownership arrived */
};

struct page_map {
    uint64_t *key, *frame;
    size_t capacity, count;
    uint64_t next_frame;
};

/* Kinds of bus transaction, as IOQ and BSQ facts tell them apart. */
enum bus_kind {
    BUS_READ,
    BUS_READ_ADJACENT,
    BUS_OWNERSHIP,
    BUS_UPGRADE, /* ownership of a sector whose data are here, shared */
    BUS_WRITEBACK,
    BUS_CODE,
    BUS_PREFETCH,
    BUS_PREFETCH_ADJACENT,
    BUS_WRITE_COMBINED,
    BUS_READ_PART, /* up to 8 bytes, past the caches */
    BUS_CODE_PART,
    BUS_WRITE_PART,
    BUS_LOCKED_READ, /* the same while the bus is locked */
    BUS_LOCKED_WRITE,
    BUS_KINDS
};

/* Something the bus or a queue does in a later clock. */
struct agenda_item {
    nb_clock when;
    uint16_t event; /* enum p4pmu_event */
    uint16_t bits;
    uint8_t who;
    int8_t change; /* of the standing count, or 0: one pulse */
    uint64_t origin;
};

struct bus {
    nb_tick address_free, data_free;
    nb_tick ioq[32]; /* when each in-order queue entry is free again */
    nb_tick bsq[32];
    uint32_t clock_ticks;       /* ticks of a bus clock */
    struct agenda_item *agenda; /* binary heap, soonest first */
    uint32_t agenda_count, agenda_capacity;
    struct {
        uint16_t event, bits;
        uint8_t who;
        uint32_t count;
    } standing[NB_STANDING];
    uint32_t standing_count;
};

/* Linear addresses [from, to) that are not write-back. */
struct memory_range {
    uint64_t from, to;
    uint8_t type; /* enum nb_memory_type */
};

/* The other agent on the bus: what it still has to do, and which sectors it holds. */
struct agent {
    struct nb_agent_action *action; /* its own copy; clock and count are those still to come */
    unsigned actions;
    nb_clock next; /* of the soonest; NB_NEVER */
    struct page_map holds;
};

struct stream {
    uint64_t page, last_line;
    int8_t direction;
    uint64_t used;
};

/* load.c, store.c, cache.c, tlb.c, l2.c, bus.c */
bool memory_init(struct nb_machine *m);
void memory_free(struct nb_machine *m);
const struct nb_access *uop_access(struct nb_machine *m, const struct rob_entry *e,
                                   uint64_t *address);
/* Wrong paths: no page can be there. */
bool is_unmapped(struct nb_machine *m, const struct rob_entry *e, const struct nb_access *a);
nb_tick walk_in_vain(struct nb_machine *m, const struct rob_entry *e, uint64_t linear,
                     nb_tick tick);
/* A load reads at TICK. When its data's time is known, the pass from which the result follows is
 * given; NB_NEVER: it must go round the loop and look again, not before *AGAIN. */
nb_tick load_execute(struct nb_machine *m, struct rob_entry *e, nb_tick tick, nb_tick loop,
                     nb_tick *again);
void prefetch_execute(struct nb_machine *m, struct rob_entry *e, nb_tick tick);
uint64_t translate(struct nb_machine *m, const struct rob_entry *e, uint64_t linear, nb_tick *tick,
                   nb_tick loop, bool *missed);
void store_address_execute(struct nb_machine *m, struct rob_entry *e, nb_tick tick);
bool store_has_entry(const struct lp *lp, uint32_t dyn, uint32_t element, const struct nb_uop *uop);
void store_allocate(struct lp *lp, struct rob_entry *e);
void store_retire(struct lp *lp, struct rob_entry *e);
nb_clock store_cycle(struct nb_machine *m);

bool l2_owns(struct nb_machine *m, uint64_t physical);
void agenda_add(struct nb_machine *m, unsigned who, nb_clock when, enum p4pmu_event event,
                unsigned bits, int change);
bool cache_init(struct cache *c, uint32_t sets, uint32_t ways, uint32_t line_bytes);
struct cache_line *cache_find(struct cache *c, uint64_t address);
struct cache_line *cache_look(struct cache *c, uint64_t address);
struct cache_line *cache_victim(struct cache *c, uint64_t address);
void cache_claim(struct cache *c, struct cache_line *line, uint64_t address);
bool tlb_init(struct tlb *t, uint32_t sets, uint32_t ways);
struct tlb_entry *tlb_find(struct tlb *t, uint64_t page);
struct tlb_entry *tlb_fill(struct tlb *t, uint64_t page, uint64_t frame, nb_tick ready);
void tlb_flush(struct tlb *t);
uint64_t page_key(uint16_t process, uint64_t linear);
uint64_t dtlb_key(unsigned lp, uint64_t key);
void dtlb_flush(struct nb_machine *m, const struct lp *lp);
uint64_t page_frame(struct nb_machine *m, uint64_t key);
nb_tick page_walk(struct nb_machine *m, unsigned who, uint64_t key, nb_tick tick, bool code);
enum nb_memory_type memory_type_at(const struct nb_machine *m, uint64_t linear);
static inline enum nb_memory_type memory_type(uint64_t physical)
{
    return (enum nb_memory_type)(physical >> NB_TYPE_SHIFT);
}
static inline uint64_t with_type(uint64_t physical, enum nb_memory_type type)
{
    return (physical & ((UINT64_C(1) << NB_TYPE_SHIFT) - 1)) | (uint64_t)type << NB_TYPE_SHIFT;
}
nb_tick l2_read(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick,
                enum bus_kind kind, bool *missed);
void l2_write(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick);
bool l2_snoop(struct nb_machine *m, uint64_t physical, bool invalidate);
nb_tick bus_transaction(struct nb_machine *m, unsigned who, enum bus_kind kind, uint64_t physical,
                        nb_tick tick);
nb_tick bus_chunk(struct nb_machine *m, unsigned who, enum bus_kind kind, uint64_t physical,
                  bool split, nb_tick tick);
void bus_other(struct nb_machine *m, unsigned type, bool write, bool ours, nb_tick tick);
nb_tick bus_free(struct nb_machine *m);
nb_clock bus_cycle(struct nb_machine *m);

/* l3.c */
unsigned l3_read(struct nb_machine *m, unsigned who, uint64_t physical, bool demand, nb_tick tick,
                 nb_tick *there);
void l3_enter(struct nb_machine *m, unsigned who, uint64_t physical, unsigned state, nb_tick tick);
void l3_write(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick);
bool l3_snoop(struct nb_machine *m, uint64_t physical, bool invalidate);

/* uncached.c, agent.c */
bool stores_drained(const struct lp *lp, const struct rob_entry *e);
bool goes_past_caches(const struct nb_machine *m, const struct nb_uop *uop, uint64_t linear,
                      uint64_t physical, uint32_t size);
nb_tick uncached_load(struct nb_machine *m, struct rob_entry *e, uint64_t linear, uint64_t physical,
                      uint32_t size, nb_tick tick, nb_tick *again);
nb_tick uncached_store(struct nb_machine *m, const struct store *s, nb_tick tick);
bool uncached_code(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick,
                   nb_tick *there);
void wc_snoop(struct nb_machine *m, uint64_t physical, nb_tick tick);
void wc_drain(struct nb_machine *m, unsigned who, nb_tick tick);
nb_clock agent_cycle(struct nb_machine *m);
bool agent_holds(const struct nb_machine *m, uint64_t physical);
void agent_loses(struct nb_machine *m, uint64_t physical);
void agent_free(struct nb_machine *m);
void order_taken(struct nb_machine *m, uint64_t physical, nb_tick tick);
void order_stored(struct nb_machine *m, const struct store *s, nb_tick tick);
bool map_add(struct nb_machine *m, struct page_map *map, uint64_t key, uint64_t value);
bool map_find(const struct page_map *map, uint64_t key, uint64_t *value);

#endif
