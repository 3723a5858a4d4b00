/*
 * Loads: data TLB, the older stores, the L1 data cache, and on a miss the L2.
 *
 * load_execute() is one pass of a load whose address is there. It finds which pass of the replay
 * loop gets the data: a page walk, a missing line, a busy miss buffer send it round until they are
 * done. The data must be in L1 when the pass begins, so an L2 hit (2 + 7 clocks) takes two turns of
 * a 7-clock loop and 16 clocks in all on Northwood, which is the measured pointer-chase latency; 9
 * is the published ideal. A load waits for older stores whose address (NO_STA) or, where it wants
 * their bytes, data (NO_STD) are not known, and until the commit of a store that has some of its
 * bytes but cannot forward them (PARTIAL_DATA, UNALGN_ADDR). Forwarding rule: same address, all
 * bytes inside the store (OPT-2002 rules 19, 20); from Prescott on also inside a dword of it. A
 * line with the same linear address bits 15:6 as another cannot be in L1 together with it (64 K
 * alias). Loads of a wrong path are loads like others; those whose address nobody knows take the
 * time of a hit and touch nothing (counted). Where no page can be the walk finds nothing and the
 * load is done. Loads past the caches: uncached.c. The search among the older stores compares the
 * low address bits first: a store 16 KB away holds the load until its data are there (OPT-2002,
 * list of aliases; not from Prescott on, BOGGS04).
 */
#include "machine.h"

#define LOAD_PORT_SPLIT  (1u << 1)
#define MOB_NO_STA       (1u << 1)
#define MOB_NO_STD       (1u << 3)
#define MOB_PARTIAL_DATA (1u << 4)
#define MOB_UNALGN_ADDR  (1u << 5)
#define CANCEL_64K       (1u << 3)
#define SPLIT_LOAD_DONE  (1u << 0)

/* The access of E's instruction, or the piece of it, that E performs, and its address for E's
 * string element; NULL when not known. */
const struct nb_access *uop_access(struct nb_machine *m, const struct rob_entry *e,
                                   uint64_t *address)
{
    const struct dyn *d = dyn_of(m, e);
    bool store = e->uop->kind == NB_UOP_STORE_ADDRESS || e->uop->kind == NB_UOP_STORE_DATA;
    bool write = store && (e->uop->flags & NB_UOP_FLUSH) != NB_UOP_FLUSH; /* CLFLUSH names a line */
    unsigned index = e->uop->access + (write ? d->reads : 0u);
    if (index >= d->in.access_count || d->in.access[index].write != write ||
        (d->in.unknown >> index & 1))
        return NULL;
    const struct nb_access *a = &d->in.access[index];
    uint64_t offset = (uint64_t)e->element * a->size;
    *address = d->in.flags & NB_INSTRUCTION_BACKWARD ? a->address - offset : a->address + offset;
    if (!e->uop->piece_bytes)
        return a;
    m->piece = *a;
    m->piece.size = e->uop->piece_bytes;
    *address += e->uop->piece_offset;
    return &m->piece;
}

static void tag(struct nb_machine *m, struct rob_entry *e, enum p4pmu_replay_cause cause)
{
    if (p4pmu_replay_tag(m->pmu, cause, e->uop->kind != NB_UOP_LOAD, e->who))
        e->replay_tag = true;
}

/* The entry a page walk fills. */
static struct tlb_entry *data_walk(struct nb_machine *m, const struct rob_entry *e, uint64_t key,
                                   nb_tick tick)
{
    nb_tick ready = page_walk(m, e->who, key, tick, false);
    return tlb_fill(&m->dtlb, dtlb_key(e->lp, key), page_frame(m, key), ready);
}

/* Linear to physical; *TICK moves to the pass at which the translation is there. */
uint64_t translate(struct nb_machine *m, const struct rob_entry *e, uint64_t linear, nb_tick *tick,
                   nb_tick loop, bool *missed)
{
    uint64_t key = page_key(dyn_of(m, e)->in.process, linear);
    struct tlb_entry *t = tlb_find(&m->dtlb, dtlb_key(e->lp, key));
    *missed = !t;
    if (!t)
        t = data_walk(m, e, key, *tick);
    if (t->ready > *tick)
        *tick = replay_pass(m, *tick, t->ready, loop);
    return (t->frame << 12) | (linear & 0xFFF);
}

/* The physical address in *PHYSICAL; false when it is not there yet (*AGAIN: not before then). The
 * entry a load waits for may be replaced before it looks again; the oldest load waits for its own
 * walk. */
static bool translated(struct nb_machine *m, struct rob_entry *e, uint64_t linear, nb_tick tick,
                       uint64_t *physical, nb_tick *again)
{
    uint64_t key = page_key(dyn_of(m, e)->in.process, linear);
    struct tlb_entry *t = tlb_find(&m->dtlb, dtlb_key(e->lp, key));
    if (!t) {
        *again = m->walk_free;
        if (m->walk_free > tick)
            return false;
        tag(m, e, P4PMU_REPLAY_DTLB_MISS);
        t = data_walk(m, e, key, tick);
    }
    *again = t->ready;
    *physical = (t->frame << 12) | (linear & 0xFFF);
    return t->ready <= tick;
}

enum forward { FORWARD_NONE, FORWARD_DONE, FORWARD_WAIT };

static bool overlaps(const struct store *s, uint64_t linear, uint32_t size)
{
    return s->linear < linear + size && linear < s->linear + s->size;
}

/* The same by the low address bits of MASK, which is what the search looks at first. */
static bool seems_to_overlap(const struct store *s, uint64_t linear, uint32_t size, uint64_t mask)
{
    return s->size && ((linear - s->linear + size - 1) & mask) < (uint64_t)s->size + size - 1;
}

/* May the store give the load its bytes? At the same address, and from Prescott on inside one of
 * the store's dwords. */
static bool forwards(const struct nb_machine *m, const struct store *s, uint64_t linear,
                     uint32_t size)
{
    uint64_t offset = linear - s->linear;
    if (linear < s->linear || offset + size > s->size)
        return false;
    return !offset ||
           (m->p.forward_inside && (s->size == 4 || s->size == 8) && (offset & 3) + size <= 4);
}

/* The load must look again: the memory order buffer's event, and tags for its causes. */
static enum forward wait_for_store(struct nb_machine *m, struct rob_entry *e, unsigned why)
{
    post(m, e->who, P4PMU_EV_MOB_load_replay, why, 1);
    if (why & MOB_NO_STA)
        tag(m, e, P4PMU_REPLAY_NO_STA);
    if (why & MOB_NO_STD)
        tag(m, e, P4PMU_REPLAY_NO_STD);
    if (why & MOB_PARTIAL_DATA)
        tag(m, e, P4PMU_REPLAY_PARTIAL_DATA);
    if (why & MOB_UNALGN_ADDR)
        tag(m, e, P4PMU_REPLAY_UNALGN_ADDR);
    return FORWARD_WAIT;
}

static enum forward from_store(struct nb_machine *m, struct rob_entry *e, const struct store *s,
                               uint64_t linear, uint32_t size, nb_tick tick)
{
    unsigned why = MOB_PARTIAL_DATA;
    if (forwards(m, s, linear, size)) {
        if (s->data_tick <= tick)
            return FORWARD_DONE;
        why = MOB_NO_STD;
    } else if ((s->linear & 15) != (linear & 15)) {
        why = linear >= s->linear && linear + size <= s->linear + s->size
                  ? MOB_UNALGN_ADDR
                  : MOB_PARTIAL_DATA | MOB_UNALGN_ADDR;
    }
    return wait_for_store(m, e, why);
}

/* The youngest older store that matters to the load decides. */
static enum forward look_at_stores(struct nb_machine *m, struct rob_entry *e, uint64_t linear,
                                   uint32_t size, nb_tick tick)
{
    struct lp *lp = lp_of(m, e);
    uint64_t mask = (UINT64_C(1) << m->p.store_alias_bits) - 1;
    for (uint64_t i = lp->store_tail; i-- > lp->store_head;) {
        const struct store *s = store_at(lp, i);
        if (s->rob >= e->sequence || (s->bogus && !e->bogus) || s->flush)
            continue;
        if (s->address_tick > tick)
            return wait_for_store(m, e, MOB_NO_STA);
        if (!seems_to_overlap(s, linear, size, mask))
            continue;
        if (overlaps(s, linear, size))
            return from_store(m, e, s, linear, size, tick);
        if (s->data_tick > tick) /* found out when the data are there */
            return wait_for_store(m, e, MOB_NO_STD);
    }
    return FORWARD_NONE;
}

static nb_tick *free_miss_buffer(struct nb_machine *m)
{
    nb_tick *best = m->l1_miss_free;
    for (uint32_t i = 1; i < m->p.l1_misses; i++)
        if (m->l1_miss_free[i] < *best)
            best = &m->l1_miss_free[i];
    return best;
}

/* The line of PHYSICAL's set whose linear address agrees in the bits below the alias limit, or
 * NULL. */
static struct cache_line *l1_alias(struct nb_machine *m, uint64_t physical, uint64_t alias)
{
    struct cache *c = &m->l1;
    size_t set = (size_t)((physical >> c->line_bits) & (c->sets - 1));
    for (uint32_t way = 0; way < c->ways; way++) {
        struct cache_line *line = &c->line[set * c->ways + way];
        if (line->tag != NB_NEVER && line->alias == alias)
            return line;
    }
    return NULL;
}

/* From when on a pass gets a line that comes at READY: it must be there; a load that waited in the
 * replay queue meets it as it comes (model choice: 4 + 18 clocks are the published L2 hit). */
static nb_tick usable(const struct nb_machine *m, nb_tick ready)
{
    return m->p.replay_queue ? ready - 2 * (nb_tick)m->p.l1_integer_clocks : ready;
}

static nb_tick l1_miss(struct nb_machine *m, struct rob_entry *e, uint64_t linear,
                       uint64_t physical, nb_tick tick, nb_tick loop)
{
    uint64_t alias = (linear & ((UINT64_C(1) << m->p.alias_bits) - 1)) >> m->l1.line_bits;
    bool missed;
    struct cache_line *line = l1_alias(m, physical, alias);
    if (line)
        post(m, e->who, P4PMU_EV_memory_cancel, CANCEL_64K, 1);
    nb_tick known = tick + 2 * (nb_tick)m->p.l1_integer_clocks;
    nb_tick there = l2_read(m, e->who, physical, known, BUS_READ, &missed);
    if (missed)
        tag(m, e, P4PMU_REPLAY_L2_MISS);
    *free_miss_buffer(m) = there;
    if (!line)
        line = cache_victim(&m->l1, physical);
    cache_claim(&m->l1, line, physical);
    line->state[0] = MESI_S;
    line->readers = (uint8_t)(1u << e->lp);
    line->ready[0] = there;
    line->alias = alias;
    return replay_pass(m, tick, usable(m, there), loop);
}

/* The pass at which the line of LINEAR is in L1, or NB_NEVER when all miss buffers are busy
 * (*AGAIN: not before then). */
static nb_tick l1_read(struct nb_machine *m, struct rob_entry *e, uint64_t linear,
                       uint64_t physical, nb_tick tick, nb_tick loop, nb_tick *again)
{
    struct cache_line *line = cache_find(&m->l1, physical);
    if (line)
        line->readers |= (uint8_t)(1u << e->lp);
    if (line && line->ready[0] <= tick)
        return tick;
    if (!line && *free_miss_buffer(m) > tick) {
        *again = *free_miss_buffer(m);
        return NB_NEVER;
    }
    stats_of(m, e->who)->l1_load_misses++;
    tag(m, e, P4PMU_REPLAY_L1_MISS);
    if (line)
        return replay_pass(m, tick, usable(m, line->ready[0]), loop);
    return l1_miss(m, e, linear, physical, tick, loop);
}

static bool splits(const struct nb_machine *m, uint64_t linear, uint32_t size)
{
    return size && (linear & (m->p.l1_line - 1)) + size > m->p.l1_line;
}

/* The other line of a split access, after the first: its parts are done near retirement, not
 * pipelined. */
static nb_tick read_second_half(struct nb_machine *m, struct rob_entry *e, uint64_t linear,
                                uint32_t size, nb_tick tick, nb_tick loop)
{
    uint64_t second = (linear + size - 1) & ~(uint64_t)(m->p.l1_line - 1);
    bool missed;
    nb_tick again = 0;
    post(m, e->who, P4PMU_EV_load_port_replay, LOAD_PORT_SPLIT, 1);
    post(m, e->who, P4PMU_EV_memory_complete, SPLIT_LOAD_DONE, 1);
    tag(m, e, P4PMU_REPLAY_SPLIT);
    uint64_t physical = translate(m, e, second, &tick, loop, &missed);
    nb_tick at = l1_read(m, e, second, physical, tick, loop, &again);
    if (at == NB_NEVER)
        at = l1_miss(m, e, second, physical, replay_pass(m, tick, again, loop), loop);
    return replay_pass(m, tick, at + 2 * (nb_tick)m->p.split_clocks, loop);
}

static nb_tick without_address(struct nb_machine *m, const struct rob_entry *e, nb_tick tick)
{
    stats_of(m, e->who)->missing_accesses += !e->bogus;
    return tick;
}

bool is_unmapped(struct nb_machine *m, const struct rob_entry *e, const struct nb_access *a)
{
    const struct dyn *d = dyn_of(m, e);
    if (!d->in.unmapped)
        return false;
    for (unsigned i = 0; i < NB_ACCESSES; i++)
        if (a == &d->in.access[i])
            return d->in.unmapped >> i & 1;
    return false; /* a piece of a string move */
}

/* The walk finds no page: nothing enters the TLB, and the fault is for retirement, which a wrong
 * path never sees. */
nb_tick walk_in_vain(struct nb_machine *m, const struct rob_entry *e, uint64_t linear, nb_tick tick)
{
    return page_walk(m, e->who, page_key(dyn_of(m, e)->in.process, linear), tick, false);
}

static nb_tick access_memory(struct nb_machine *m, struct rob_entry *e, nb_tick tick, nb_tick loop,
                             nb_tick *again)
{
    uint64_t linear, physical;
    const struct nb_access *a = uop_access(m, e, &linear);
    *again = 0;
    if (!a)
        return without_address(m, e, tick);
    if (is_unmapped(m, e, a))
        return replay_pass(m, tick, walk_in_vain(m, e, linear, tick), loop);
    bool missed, oldest = is_oldest(m, e);
    if (oldest)
        physical = translate(m, e, linear, &tick, loop, &missed);
    else if (!translated(m, e, linear, tick, &physical, again))
        return NB_NEVER;
    if (oldest && missed)
        tag(m, e, P4PMU_REPLAY_DTLB_MISS);
    if (goes_past_caches(m, e->uop, linear, physical, a->size)) {
        nb_tick there = uncached_load(m, e, linear, physical, a->size, tick, again);
        return there == NB_NEVER ? NB_NEVER : replay_pass(m, tick, there, loop);
    }
    enum forward forward = look_at_stores(m, e, linear, a->size, tick);
    if (forward == FORWARD_DONE)
        return tick;
    if (forward == FORWARD_WAIT)
        return NB_NEVER;
    nb_tick done = l1_read(m, e, linear, physical, tick, loop, again);
    if (done != NB_NEVER && splits(m, linear, a->size))
        done = read_second_half(m, e, linear, a->size, done, loop);
    return done;
}

nb_tick load_execute(struct nb_machine *m, struct rob_entry *e, nb_tick tick, nb_tick loop,
                     nb_tick *again)
{
    facts_of(m, dyn_of(m, e));
    nb_tick done = access_memory(m, e, tick, loop, again);
    facts_of(m, NULL);
    return done;
}

/* The translation for a prefetch, NULL where it is not there or not there yet: it is dropped then.
 * From Prescott on a miss starts a walk (BOGGS04), whose end moves *TICK. */
static const struct tlb_entry *prefetch_translation(struct nb_machine *m, const struct rob_entry *e,
                                                    uint64_t key, nb_tick *tick)
{
    struct tlb_entry *t = tlb_find(&m->dtlb, dtlb_key(e->lp, key));
    if (!t && m->p.prefetch_walks) {
        t = data_walk(m, e, key, *tick);
        *tick = t->ready;
    }
    return t && t->ready <= *tick ? t : NULL;
}

/* A software prefetch brings a line into the L2. */
void prefetch_execute(struct nb_machine *m, struct rob_entry *e, nb_tick tick)
{
    uint64_t linear;
    bool missed;
    const struct nb_access *a = uop_access(m, e, &linear);
    if (!a || is_unmapped(m, e, a))
        return;
    uint64_t key = page_key(dyn_of(m, e)->in.process, linear);
    const struct tlb_entry *t = prefetch_translation(m, e, key, &tick);
    uint64_t physical = t ? (t->frame << 12) | (linear & 0xFFF) : 0;
    if (!t || goes_past_caches(m, e->uop, linear, physical, a->size))
        return;
    facts_of(m, dyn_of(m, e));
    l2_read(m, e->who, physical, tick, BUS_PREFETCH, &missed);
    facts_of(m, NULL);
}
