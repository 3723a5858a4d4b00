/*
 * Stores: the store buffer (24) in program order, write-through L1, the write-combining buffers (6)
 * in front of the L2.
 *
 * A store gets its entry at allocation, its address and data from uops, and leaves after
 * retirement, oldest first, one every `store_commit_clocks` (Agner: a store every two clocks). A
 * store to a line in L1 whose sector the L2 owns is written through; others gather in a
 * write-combining buffer, which asks for ownership at once (OPT-2002: store misses gather in
 * write-combining buffers and trigger a read for ownership). A buffer leaves when all its bytes are
 * written or, the least recently used first, when another line needs one. L1 does not allocate on a
 * store (model choice: not stated). Non-temporal stores gather the same way without ownership and
 * go to the bus: a full buffer as one transaction, one that is not full as one for each 8 bytes of
 * it. It leaves when the bus sequence queue has room, and stores wait while no buffer can leave. A
 * fence and a locked access send all of them out, a snoop the one it meets.
 */
#include "machine.h"

#define STORE_PORT_SPLIT (1u << 1)
#define SPLIT_STORE_DONE (1u << 1)
#define CANCEL_RB_FULL   (1u << 2)
#define WCB_EVICT        (1u << 0)
#define WCB_FULL_EVICT   (1u << 1)
#define WCB_HITM_EVICT   (1u << 2)
#define UNOWNED          NB_NEVER

/* Whether the youngest entry is that of this write: a sister uop has made it. */
bool store_has_entry(const struct lp *lp, uint32_t dyn, uint32_t element, const struct nb_uop *uop)
{
    const struct store *last = &lp->store[(lp->store_tail - 1) & (NB_STORES - 1)];
    return lp->store_tail > lp->store_head && last->dyn == dyn && last->element == element &&
           last->access == uop->access && last->piece == uop->piece && !last->retired;
}

static bool flushes(const struct nb_uop *uop)
{
    return (uop->flags & NB_UOP_FLUSH) == NB_UOP_FLUSH;
}

/* E gets the entry of its write, a new one where it is the first of its uops. */
void store_allocate(struct lp *lp, struct rob_entry *e)
{
    if (store_has_entry(lp, e->dyn, e->element, e->uop)) {
        e->buffer = (uint32_t)lp->store_tail - 1;
        return;
    }
    e->buffer = (uint32_t)lp->store_tail++;
    *store_at(lp, e->buffer) = (struct store){
        .rob = e->sequence,
        .dyn = e->dyn,
        .element = e->element,
        .access = e->uop->access,
        .piece = e->uop->piece,
        .who = e->who,
        .bogus = e->bogus,
        .flush = flushes(e->uop),
        .non_temporal = !flushes(e->uop) && (e->uop->flags & NB_UOP_NON_TEMPORAL) != 0,
        .locked = !flushes(e->uop) && (e->uop->flags & NB_UOP_LOCKED) != 0,
        .address_tick = NB_NEVER,
        .data_tick = NB_NEVER};
}

static void store_split(struct nb_machine *m, struct rob_entry *e, uint64_t linear, uint32_t size)
{
    if ((linear & (m->p.l1_line - 1)) + size <= m->p.l1_line)
        return;
    post(m, e->who, P4PMU_EV_store_port_replay, STORE_PORT_SPLIT, 1);
    if (p4pmu_replay_tag(m->pmu, P4PMU_REPLAY_SPLIT, true, e->who))
        e->replay_tag = true;
}

/* The address becomes known at TICK, after a walk when the data TLB misses. */
void store_address_execute(struct nb_machine *m, struct rob_entry *e, nb_tick tick)
{
    struct store *s = store_at(lp_of(m, e), e->buffer);
    uint64_t linear;
    const struct nb_access *a = uop_access(m, e, &linear);
    bool missed;
    s->address_tick = tick;
    if (!a) {
        stats_of(m, e->who)->missing_accesses += !e->bogus;
        return;
    }
    if (is_unmapped(m, e, a)) {
        s->address_tick = walk_in_vain(m, e, linear, tick);
        return;
    }
    s->linear = linear;
    s->size = a->size;
    facts_of(m, dyn_of(m, e));
    s->origin = m->origin;
    nb_tick loop = 2 * (nb_tick)m->p.replay_loop_fast;
    s->physical = translate(m, e, linear, &s->address_tick, loop, &missed);
    if (missed && p4pmu_replay_tag(m->pmu, P4PMU_REPLAY_DTLB_MISS, true, e->who))
        e->replay_tag = true;
    store_split(m, e, linear, a->size);
    facts_of(m, NULL);
}

/* A uop of a store retires: once address and data are both there the store may leave the buffer. A
 * bogus store may at once: the end of its wrong path may have cut off its other uop. */
void store_retire(struct lp *lp, struct rob_entry *e)
{
    if (!in_store_buffer(lp, e))
        return;
    struct store *s = store_at(lp, e->buffer);
    if (s->bogus || (s->address_tick != NB_NEVER && s->data_tick != NB_NEVER))
        s->retired = true;
}

/* A transaction for each 8 bytes with something in them. */
static void write_chunks(struct nb_machine *m, unsigned who, const struct wc_buffer *b,
                         uint64_t physical, nb_tick tick)
{
    for (unsigned chunk = 0; chunk < 8; chunk++)
        if (b->bytes >> (8 * chunk) & 0xFF)
            bus_chunk(m, who, BUS_WRITE_PART,
                      with_type(physical, NB_MEMORY_WRITE_COMBINING) + 8 * chunk, false, tick);
}

static void wc_evict(struct nb_machine *m, unsigned who, struct wc_buffer *b, unsigned why,
                     nb_tick tick)
{
    m->wc_waiting -= b->waits;
    b->waits = false;
    post(m, who, P4PMU_EV_WC_Buffer, why, 1);
    uint64_t physical = b->line << m->l1.line_bits;
    if (b->ready != UNOWNED)
        l2_write(m, who, physical, tick);
    else if (b->bytes == ~UINT64_C(0))
        bus_transaction(m, who, BUS_WRITE_COMBINED, with_type(physical, NB_MEMORY_WRITE_COMBINING),
                        tick);
    else
        write_chunks(m, who, b, physical, tick);
    b->line = NB_NEVER;
}

/* A snoop looks for the sector of PHYSICAL, which a buffer may own without the L2 having its bytes
 * yet. */
void wc_snoop(struct nb_machine *m, uint64_t physical, nb_tick tick)
{
    for (uint32_t i = 0; i < m->p.wc_buffers; i++) {
        struct wc_buffer *b = &m->wc[i];
        if (b->line == physical >> m->l1.line_bits && b->ready != UNOWNED)
            wc_evict(m, b->who, b, WCB_EVICT | WCB_HITM_EVICT, tick);
    }
}

/* All that gathers for the bus goes. */
void wc_drain(struct nb_machine *m, unsigned who, nb_tick tick)
{
    for (uint32_t i = 0; i < m->p.wc_buffers; i++)
        if (m->wc[i].line != NB_NEVER && m->wc[i].ready == UNOWNED)
            wc_evict(m, who, &m->wc[i], WCB_EVICT, tick);
}

static uint64_t byte_mask(const struct nb_machine *m, uint64_t physical, uint32_t size)
{
    unsigned first = (unsigned)(physical & (m->p.l1_line - 1));
    uint64_t bytes = size >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << size) - 1;
    return first < 64 ? bytes << first : 0;
}

static struct wc_buffer *wc_find(struct nb_machine *m, uint64_t line)
{
    for (uint32_t i = 0; i < m->p.wc_buffers; i++)
        if (m->wc[i].line == line)
            return &m->wc[i];
    return NULL;
}

/* A free buffer, else the least recently used; one of LP's own when it has as many as it may. */
static struct wc_buffer *wc_oldest(struct nb_machine *m, unsigned lp)
{
    struct wc_buffer *oldest = NULL, *own = NULL, *free = NULL;
    uint32_t owned = 0;
    for (uint32_t i = 0; i < m->p.wc_buffers; i++) {
        struct wc_buffer *b = &m->wc[i];
        if (b->line == NB_NEVER) {
            if (!free)
                free = b;
            continue;
        }
        if (!oldest || b->used < oldest->used)
            oldest = b;
        owned += b->lp == lp;
        if (b->lp == lp && (!own || b->used < own->used))
            own = b;
    }
    if (owned >= m->limit.wc)
        return own;
    return free ? free : oldest;
}

/* From when on the buffer can leave: its line is owned, or the bus has room for what goes there. */
static nb_tick wc_free_to_go(struct nb_machine *m, const struct wc_buffer *b)
{
    return b->ready == UNOWNED ? bus_free(m) : b->ready;
}

static bool wc_complete(struct nb_machine *m, const struct wc_buffer *b, nb_tick tick)
{
    return b->bytes == ~UINT64_C(0) && wc_free_to_go(m, b) <= tick;
}

/* Non-temporal stores and those to write-combining memory need no ownership. */
static bool gathers_for_bus(const struct store *s)
{
    return s->non_temporal || memory_type(s->physical) == NB_MEMORY_WRITE_COMBINING;
}

/* A buffer for LINE, or NULL when the one to be given up cannot leave yet (*RETRY says until when).
 */
static struct wc_buffer *wc_take(struct nb_machine *m, const struct store *s, uint64_t line,
                                 nb_tick tick, nb_tick *retry)
{
    struct wc_buffer *b = wc_oldest(m, s->who >> 2);
    bool missed;
    if (b->line != NB_NEVER) {
        *retry = wc_free_to_go(m, b);
        if (*retry > tick) {
            post(m, s->who, P4PMU_EV_memory_cancel, CANCEL_RB_FULL, 1);
            return NULL;
        }
        wc_evict(m, s->who, b, wc_complete(m, b, tick) ? WCB_EVICT : WCB_EVICT | WCB_FULL_EVICT,
                 tick);
    }
    b->lp = s->who >> 2;
    b->line = line;
    b->bytes = 0;
    b->who = s->who;
    if (gathers_for_bus(s))
        b->ready = UNOWNED;
    else if (l2_owns(m, s->physical))
        b->ready = tick;
    else
        b->ready = l2_read(m, s->who, s->physical, tick, BUS_OWNERSHIP, &missed);
    return b;
}

/* A full buffer stays until the bus has room. */
static void wc_wait(struct nb_machine *m, struct wc_buffer *b, const struct store *s)
{
    m->wc_waiting += !b->waits;
    b->waits = true;
    b->origin = s->origin;
}

static struct wc_buffer *wc_waits_longest(struct nb_machine *m)
{
    struct wc_buffer *longest = NULL;
    for (uint32_t i = 0; i < m->p.wc_buffers; i++) {
        struct wc_buffer *b = &m->wc[i];
        if (b->waits && (!longest || b->used < longest->used))
            longest = b;
    }
    return longest;
}

/* The full buffers leave in turn; when the next one can. */
static nb_clock wc_send(struct nb_machine *m)
{
    while (m->wc_waiting) {
        struct wc_buffer *b = wc_waits_longest(m);
        nb_tick room = bus_free(m);
        if (room > 2 * m->now)
            return (room + 1) / 2;
        facts_from(m, b->origin);
        wc_evict(m, b->who, b, WCB_EVICT, 2 * m->now);
        facts_from(m, 0);
        m->active = true;
    }
    return NB_NEVER;
}

/* CLFLUSH: the line leaves all caches, to memory where it is modified. */
static void flush_line(struct nb_machine *m, const struct store *s, nb_tick tick)
{
    struct cache_line *line = cache_find(&m->l1, s->physical);
    wc_snoop(m, s->physical, tick);
    bool modified = l2_snoop(m, s->physical, true);
    modified |= l3_snoop(m, s->physical, true);
    if (line)
        line->tag = NB_NEVER;
    if (modified)
        bus_transaction(m, s->who, BUS_WRITEBACK, s->physical, tick);
}

/* Write one store; NB_NEVER when done, else when to try again. */
static nb_tick write_out(struct nb_machine *m, const struct store *s, nb_tick tick)
{
    uint64_t line = s->physical >> m->l1.line_bits;
    if (s->flush) {
        flush_line(m, s, tick);
        return NB_NEVER;
    }
    if (memory_type(s->physical) != NB_MEMORY_WRITE_BACK || s->locked) {
        nb_tick again = uncached_store(m, s, tick);
        if (again != tick)
            return again;
    }
    struct wc_buffer *b = wc_find(m, line);
    if (!b && !gathers_for_bus(s) && cache_find(&m->l1, s->physical) && l2_owns(m, s->physical)) {
        l2_write(m, s->who, s->physical, tick);
        return NB_NEVER;
    }
    nb_tick retry = NB_NEVER;
    if (!b)
        b = wc_take(m, s, line, tick, &retry);
    if (!b)
        return retry;
    b->used = ++m->l2.stamp;
    b->bytes |= byte_mask(m, s->physical, s->size);
    if (wc_complete(m, b, tick))
        wc_evict(m, s->who, b, WCB_EVICT, tick);
    else if (b->bytes == ~UINT64_C(0) && b->ready == UNOWNED)
        wc_wait(m, b, s);
    return NB_NEVER;
}

static void leave(struct nb_machine *m, struct lp *lp, const struct store *s, nb_tick tick)
{
    uint32_t interval = m->p.store_commit_clocks;
    if (s->size && (s->linear & (m->p.l1_line - 1)) + s->size > m->p.l1_line) {
        post(m, s->who, P4PMU_EV_memory_complete, SPLIT_STORE_DONE, 1);
        interval *= 2; /* two lines, two writes */
    }
    if (m->both)
        order_stored(m, s, tick);
    lp->store_head++;
    m->active = true;
    m->store_next = tick + 2 * (nb_tick)interval;
    m->store_turn = lp->number ^ 1;
}

static void write_next(struct nb_machine *m, struct lp *lp, const struct store *s, nb_tick tick)
{
    facts_from(m, s->origin);
    nb_tick retry = write_out(m, s, tick);
    if (retry != NB_NEVER)
        m->store_next = (retry + 1) & ~(nb_tick)1;
    else
        leave(m, lp, s, tick);
    facts_from(m, 0);
}

/* The oldest retired store leaves; wrong-path entries just go. */
static nb_clock commit(struct nb_machine *m, struct lp *lp)
{
    nb_tick tick = 2 * m->now;
    while (lp->store_head < lp->store_tail) {
        const struct store *s = store_at(lp, lp->store_head);
        if (!s->retired)
            return NB_NEVER; /* until it retires */
        if (s->bogus || !s->size) {
            lp->store_head++;
            m->active = true;
            continue;
        }
        if (m->store_next > tick)
            return m->store_next / 2;
        write_next(m, lp, s, tick);
    }
    return NB_NEVER;
}

/* Stores leave every other clock: turns by the clock would always be the same one's. */
nb_clock store_cycle(struct nb_machine *m)
{
    nb_clock sent = wc_send(m);
    return min64(sent, take_turns_from(m, m->store_turn, commit));
}
