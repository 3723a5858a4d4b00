/*
 * The L3 of the Xeon MP and Extreme Edition: between the L2 and the bus, lines of 128 bytes in two
 * sectors as the L2's, write-back, not inclusive (model choice).
 *
 * A line that comes from the bus is entered in both; a modified line that the L2 gives up is
 * written here, an L3 line that must make room goes to the bus when it is modified. A line that is
 * modified here is exclusive in the L2 until it is written again there. BSQ_cache_reference counts
 * one read for each demand read that missed the L2, and one write for each sector the L2 gives up.
 * Latency: Intel 248966-013 (2006). Not modelled: bandwidth of its own.
 */
#include "machine.h"

#define RD_HIT_S (1u << 3)
#define RD_HIT_E (1u << 4)
#define RD_HIT_M (1u << 5)
#define WR_HIT   (1u << 7)
#define RD_MISS  (1u << 9)
#define WR_MISS  (1u << 11)

static unsigned sector_of(const struct nb_machine *m, uint64_t physical)
{
    return physical & m->p.l2_sector ? 1u : 0u;
}

static struct cache_line *entered(struct nb_machine *m, unsigned who, uint64_t physical,
                                  nb_tick tick)
{
    struct cache_line *line = cache_find(&m->l3, physical);
    if (line)
        return line;
    line = cache_victim(&m->l3, physical);
    for (unsigned s = 0; s < 2 && line->tag != NB_NEVER; s++)
        if (line->state[s] == MESI_M)
            bus_transaction(m, who, BUS_WRITEBACK,
                            (line->tag << m->l3.line_bits) + s * m->p.l2_sector, tick);
    cache_claim(&m->l3, line, physical);
    return line;
}

/* The state of the sector of PHYSICAL, and in *THERE when its data arrive in the L2. */
unsigned l3_read(struct nb_machine *m, unsigned who, uint64_t physical, bool demand, nb_tick tick,
                 nb_tick *there)
{
    static const unsigned hit[] = {
        [MESI_I] = RD_MISS, [MESI_S] = RD_HIT_S, [MESI_E] = RD_HIT_E, [MESI_M] = RD_HIT_M};
    struct cache_line *line = cache_find(&m->l3, physical);
    unsigned s = sector_of(m, physical), state = line ? line->state[s] : MESI_I;
    if (demand)
        post(m, who, P4PMU_EV_BSQ_cache_reference, hit[state], 1);
    if (state != MESI_I)
        *there = max64(tick + 2 * (nb_tick)m->p.l3_clocks, line->ready[s]);
    return state;
}

/* A sector came over the bus, or is modified and comes from the L2. */
void l3_enter(struct nb_machine *m, unsigned who, uint64_t physical, unsigned state, nb_tick tick)
{
    struct cache_line *line = entered(m, who, physical, tick);
    unsigned s = sector_of(m, physical);
    line->state[s] = (uint8_t)state;
    line->ready[s] = tick;
}

void l3_write(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick)
{
    const struct cache_line *line = cache_find(&m->l3, physical);
    bool there = line && line->state[sector_of(m, physical)] != MESI_I;
    post(m, who, P4PMU_EV_BSQ_cache_reference, there ? WR_HIT : WR_MISS, 1);
    l3_enter(m, who, physical, MESI_M, tick);
}

/* Another agent's request; whether the sector was modified here. */
bool l3_snoop(struct nb_machine *m, uint64_t physical, bool invalidate)
{
    struct cache_line *line = m->l3.line ? cache_find(&m->l3, physical) : NULL;
    if (!line)
        return false;
    uint8_t *state = &line->state[sector_of(m, physical)];
    bool modified = *state == MESI_M;
    if (*state != MESI_I)
        *state = invalidate ? MESI_I : MESI_S;
    return modified;
}
