/*
 * Memory ordering: loads execute out of order, but must seem to have read in order. A load that has
 * its data while something older has not retired, and whose sector is then written by somebody
 * else, may have read too early: it makes a machine clear when it is about to retire and reads
 * again (OPT-2002, spin-wait loops; MARR02).
 *
 * Somebody else is the other agent on the bus, when it takes a sector to write (agent.c), and the
 * other logical processor, when a store of its leaves the store buffer: both share the L1, so no
 * request on the bus tells of it. A load that is already the oldest is not looked at, so that a
 * program always gets on.
 *
 * An L1 line knows which logical processors have read it, so that stores to what the other one
 * never reads need no search (an aid of the simulator). Not modelled: lines that have left the L1
 * between the load and the other one's store; code that the other logical processor changes.
 */
#include "machine.h"

static uint64_t sector_number(const struct nb_machine *m, uint64_t physical)
{
    return physical / m->p.l2_sector;
}

/* Whether E, a load, has read the sector of PHYSICAL. */
static bool has_read(struct nb_machine *m, const struct rob_entry *e, uint64_t physical)
{
    uint64_t linear, frame;
    const struct nb_access *a = uop_access(m, e, &linear);
    if (!a || !map_find(&m->pages, page_key(dyn_of(m, e)->in.process, linear), &frame))
        return false;
    uint64_t at = (frame << 12) | (linear & 0xFFF);
    return sector_number(m, at) == sector_number(m, physical) ||
           sector_number(m, at + a->size - 1) == sector_number(m, physical);
}

/* The loads of LP that have their data although something older has not retired; whether any load
 * in flight is of that sector. */
static bool look_at_loads(struct nb_machine *m, struct lp *lp, uint64_t physical, nb_tick tick)
{
    bool any = false;
    for (uint64_t s = lp->rob_head; s < lp->rob_tail; s++) {
        const struct rob_entry *e = rob_at(lp, s);
        if (e->uop->kind != NB_UOP_LOAD || e->bogus || !has_read(m, e, physical))
            continue;
        any = true;
        if (e->state == ROB_DISPATCHED && e->valid <= tick &&
            e->dyn != rob_at(lp, lp->rob_head)->dyn)
            dyn_at(lp, e->dyn)->order_violated = true;
    }
    return any;
}

/* The other agent has taken the sector of PHYSICAL. */
void order_taken(struct nb_machine *m, uint64_t physical, nb_tick tick)
{
    for (unsigned i = 0; i < m->lps; i++)
        look_at_loads(m, &m->lp[i], physical, tick);
}

static void stored(struct nb_machine *m, struct lp *reader, uint64_t physical, nb_tick tick)
{
    struct cache_line *line = cache_look(&m->l1, physical);
    uint8_t bit = (uint8_t)(1u << reader->number);
    if (line && (line->readers & bit) && !look_at_loads(m, reader, physical, tick))
        line->readers &= (uint8_t)~bit;
}

/* S leaves the store buffer while both logical processors are active. */
void order_stored(struct nb_machine *m, const struct store *s, nb_tick tick)
{
    struct lp *reader = &m->lp[(s->who >> 2) ^ 1u];
    uint64_t last = s->physical + s->size - 1;
    stored(m, reader, s->physical, tick);
    if (sector_number(m, last) != sector_number(m, s->physical))
        stored(m, reader, last, tick);
}
