/*
 * The L2: 128-byte lines in two 64-byte sectors with MESI state each, write-back, write-allocate,
 * not inclusive; one operation every two clocks. Reads are loads, walks, code and ownership
 * requests; writes come from the write-combining buffers and from stores that hit L1.
 *
 * A read miss of a load, walk or code fetches both sectors, a request for ownership one (OPT-2002
 * table 1-1). Lines arrive exclusive, or shared where the other agent of the bus has a copy; the
 * ownership of a shared sector costs a request without data. The hardware prefetcher follows up
 * to 8 streams, one to a 4 KB page, forward or backward, and keeps 256 bytes ahead inside the page
 * (OPT-2002); it starts on the second miss in a row of lines (OPT-2006). BSQ_cache_reference does
 * not see prefetches (from signature F21H); a read that wants a sector whose prefetch is still
 * under way makes a demand of it and counts as a miss (SDM, note on transactions that begin as
 * prefetches).
 */
#include "machine.h"

#define SECTORS               2u
#define BSQ_RD_HIT_BIT(state) ((state) == MESI_M ? 1u << 2 : (state) == MESI_E ? 1u << 1 : 1u << 0)
#define BSQ_WR_HIT_BIT        (1u << 6)
#define BSQ_RD_MISS_BIT       (1u << 8)
#define BSQ_WR_MISS_BIT       (1u << 10)
#define STREAMS               8u
#define AHEAD_BYTES           256u
#define FAR_AHEAD_TICKS       128u

static unsigned sector_of(const struct nb_machine *m, uint64_t physical)
{
    return physical & m->p.l2_sector ? 1u : 0u;
}

static void write_back(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick)
{
    if (m->l3.line)
        l3_write(m, who, physical, tick);
    else
        bus_transaction(m, who, BUS_WRITEBACK, physical, tick);
}

static void evict(struct nb_machine *m, unsigned who, struct cache_line *line, nb_tick tick)
{
    if (line->tag == NB_NEVER)
        return;
    for (unsigned s = 0; s < SECTORS; s++)
        if (line->state[s] == MESI_M)
            write_back(m, who, (line->tag << m->l2.line_bits) + s * m->p.l2_sector, tick);
}

static struct cache_line *claim(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick)
{
    struct cache_line *line = cache_victim(&m->l2, physical);
    evict(m, who, line, tick);
    cache_claim(&m->l2, line, physical);
    return line;
}

static bool from_l3(struct nb_machine *m, unsigned who, struct cache_line *line, unsigned s,
                    uint64_t physical, nb_tick tick, enum bus_kind kind)
{
    bool demand = kind == BUS_READ || kind == BUS_CODE || kind == BUS_OWNERSHIP;
    unsigned state = l3_read(m, who, physical, demand, tick, &line->ready[s]);
    if (state == MESI_I || (state == MESI_S && kind == BUS_OWNERSHIP))
        return false;
    line->state[s] = state == MESI_S ? MESI_S : MESI_E;
    return true;
}

/* Sector S of LINE from the L3 or over the bus. */
static void fill(struct nb_machine *m, unsigned who, struct cache_line *line, unsigned s,
                 nb_tick tick, enum bus_kind kind)
{
    uint64_t physical = (line->tag << m->l2.line_bits) + s * m->p.l2_sector;
    line->prefetched[s] = kind == BUS_PREFETCH || kind == BUS_PREFETCH_ADJACENT;
    if (m->l3.line && from_l3(m, who, line, s, physical, tick, kind))
        return;
    bool shared = kind != BUS_OWNERSHIP && agent_holds(m, physical);
    if (kind == BUS_OWNERSHIP)
        agent_loses(m, physical);
    line->state[s] = shared ? MESI_S : MESI_E;
    line->ready[s] = bus_transaction(m, who, kind, physical, tick);
    if (m->l3.line)
        l3_enter(m, who, physical, line->state[s], line->ready[s]);
}

static void prefetch_line(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick)
{
    if (cache_find(&m->l2, physical))
        return;
    struct cache_line *line = claim(m, who, physical, tick);
    fill(m, who, line, 0, tick, BUS_PREFETCH);
    fill(m, who, line, 1, tick, BUS_PREFETCH_ADJACENT);
}

static struct stream *stream_of(struct nb_machine *m, uint64_t page)
{
    struct stream *oldest = m->stream;
    for (unsigned i = 0; i < STREAMS; i++) {
        if (m->stream[i].page == page)
            return &m->stream[i];
        if (m->stream[i].used < oldest->used)
            oldest = &m->stream[i];
    }
    *oldest = (struct stream){.page = page, .last_line = NB_NEVER};
    return oldest;
}

/* The prefetcher sees an L2 read: MISSED trains a stream, any read of a trained one keeps it ahead.
 */
static void prefetcher(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick,
                       bool missed)
{
    uint64_t page = physical >> 12, line = physical / m->p.l2_line;
    struct stream *s = stream_of(m, page);
    s->used = ++m->l2.stamp;
    if (s->last_line == NB_NEVER || line == s->last_line + 1 || line + 1 == s->last_line) {
        if (s->last_line != NB_NEVER && (missed || s->direction))
            s->direction = line > s->last_line ? 1 : -1;
        if (missed || s->direction)
            s->last_line = line;
    } else if (line != s->last_line && missed) {
        s->direction = 0;
        s->last_line = line;
    }
    if (!s->direction)
        return;
    for (uint32_t ahead = 1; ahead <= AHEAD_BYTES / m->p.l2_line; ahead++) {
        uint64_t wanted =
            (line + (uint64_t)((int64_t)s->direction * (int64_t)ahead)) * m->p.l2_line;
        if (wanted >> 12 == page)
            prefetch_line(m, who, wanted, tick);
    }
}

static nb_tick miss(struct nb_machine *m, unsigned who, struct cache_line *line, uint64_t physical,
                    nb_tick tick, enum bus_kind kind)
{
    unsigned s = sector_of(m, physical);
    if (!line)
        line = claim(m, who, physical, tick);
    fill(m, who, line, s, tick, kind);
    if (kind != BUS_OWNERSHIP && line->state[s ^ 1] == MESI_I)
        fill(m, who, line, s ^ 1, tick,
             kind == BUS_PREFETCH ? BUS_PREFETCH_ADJACENT : BUS_READ_ADJACENT);
    return line->ready[s];
}

/* The L2's next free time from TICK on is taken. A request for far ahead (the second read of a page
 * walk whose first one missed) does not keep others out meanwhile. */
static nb_tick take_port(struct nb_machine *m, nb_tick tick)
{
    if (tick > 2 * m->now + FAR_AHEAD_TICKS)
        return tick;
    nb_tick start = max64(tick, m->l2_free);
    m->l2_free = start + 2 * (nb_tick)m->p.l2_interval_clocks;
    return start;
}

/* The sector is here, shared: ownership without data. */
static nb_tick upgrade(struct nb_machine *m, unsigned who, struct cache_line *line, unsigned s,
                       uint64_t physical, nb_tick tick)
{
    agent_loses(m, physical);
    line->state[s] = MESI_E;
    return bus_transaction(m, who, BUS_UPGRADE, physical, tick);
}

/* A read asked for at TICK: when its data leave the L2. */
nb_tick l2_read(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick,
                enum bus_kind kind, bool *missed)
{
    nb_tick start = take_port(m, tick);
    struct cache_line *line = cache_find(&m->l2, physical);
    unsigned s = sector_of(m, physical);
    nb_tick done = start + 2 * (nb_tick)m->p.l2_clocks;
    *missed = !line || line->state[s] == MESI_I;
    if (*missed) {
        post(m, who, P4PMU_EV_BSQ_cache_reference, BSQ_RD_MISS_BIT, 1);
        stats_of(m, who)->l2_read_misses++;
        done = miss(m, who, line, physical, done, kind);
    } else {
        bool under_way = line->prefetched[s] && line->ready[s] > start;
        post(m, who, P4PMU_EV_BSQ_cache_reference,
             under_way ? BSQ_RD_MISS_BIT : BSQ_RD_HIT_BIT(line->state[s]), 1);
        if (kind != BUS_PREFETCH && under_way) /* the transaction brings both sectors */
            line->prefetched[0] = line->prefetched[1] = false;
        if (kind == BUS_OWNERSHIP && line->state[s] == MESI_S)
            line->ready[s] = upgrade(m, who, line, s, physical, done);
        done = max64(done, line->ready[s]);
    }
    if (m->p.hardware_prefetch)
        prefetcher(m, who, physical, start, *missed);
    return done;
}

bool l2_owns(struct nb_machine *m, uint64_t physical)
{
    const struct cache_line *line = cache_find(&m->l2, physical);
    return line && line->state[sector_of(m, physical)] >= MESI_E;
}

/* A write of a sector the L2 owns; a sector it lost meanwhile goes to the bus. */
void l2_write(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick)
{
    struct cache_line *line = cache_find(&m->l2, physical);
    unsigned s = sector_of(m, physical);
    take_port(m, tick);
    if (line && line->state[s] != MESI_I) {
        post(m, who, P4PMU_EV_BSQ_cache_reference, BSQ_WR_HIT_BIT, 1);
        line->state[s] = MESI_M;
        return;
    }
    post(m, who, P4PMU_EV_BSQ_cache_reference, BSQ_WR_MISS_BIT, 1);
    write_back(m, who, physical, tick);
}

/* Another agent's request; whether the sector was modified here. */
bool l2_snoop(struct nb_machine *m, uint64_t physical, bool invalidate)
{
    struct cache_line *line = cache_find(&m->l2, physical);
    if (!line)
        return false;
    uint8_t *state = &line->state[sector_of(m, physical)];
    bool modified = *state == MESI_M;
    if (*state != MESI_I)
        *state = invalidate ? MESI_I : MESI_S;
    return modified;
}
