/*
 * Machine clears: everything younger than an instruction is thrown out and fetched again. Causes:
 * a load that somebody else's write has overtaken (order.c), and self-modifying code: a store into
 * a 1 KB block from which code has been executed also empties the trace cache (OPT-2002).
 * machine_clear CLEAR counts `clear_clocks` of each (model choice: "part of the clocks"). Not
 * modelled: a fetch close to data being written.
 */
#include "machine.h"

#include <string.h>

#define CODE_BLOCK_BITS 10
#define CLEAR           (1u << 0)

static uint64_t block_key(uint16_t process, uint64_t linear)
{
    return ((uint64_t)process << 48) | (linear >> CODE_BLOCK_BITS & ((UINT64_C(1) << 48) - 1));
}

static unsigned filter_bit(uint64_t key)
{
    return (unsigned)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 48);
}

bool smc_hits(const struct nb_machine *m, uint16_t process, uint64_t linear)
{
    uint64_t key = block_key(process, linear), value;
    unsigned bit = filter_bit(key);
    if (!(m->code_filter[bit / 64] >> (bit % 64) & 1))
        return false;
    return map_find(&m->code_blocks, key, &value);
}

void smc_executed(struct nb_machine *m, uint16_t process, uint64_t linear)
{
    uint64_t key = block_key(process, linear);
    unsigned bit = filter_bit(key);
    m->code_filter[bit / 64] |= UINT64_C(1) << (bit % 64);
    map_add(m, &m->code_blocks, key, 1);
}

/* The right-path instructions behind LAST, in order, wait to be fetched again. */
static void collect_refetch(struct lp *lp, uint32_t last)
{
    struct nb_instruction again[NB_DYN_RING];
    uint32_t n = 0;
    for (uint32_t d = last + 1; d != lp->dyn_fetched; d++)
        if (!dyn_at(lp, d)->bogus && !dyn_at(lp, d)->flow)
            again[n++] = dyn_at(lp, d)->in;
    while (lp->refetch_count) {
        again[n++] = lp->refetch[lp->refetch_head++ & (NB_DYN_RING - 1)];
        lp->refetch_count--;
    }
    memcpy(lp->refetch, again, n * sizeof again[0]);
    lp->refetch_head = 0;
    lp->refetch_count = n;
}

static void empty_back_end(struct nb_machine *m, struct lp *lp)
{
    for (uint64_t sequence = lp->rob_head; sequence < lp->rob_tail; sequence++) {
        lp->stats.flushed_uops += !rob_at(lp, sequence)->companion;
        registers_release(m, rob_at(lp, sequence)->uop);
    }
    lp->rob_tail = lp->rob_head;
    lp->stats.flushed_uops += lp->fetched_tail - lp->fetched_head;
    lp->fetched_tail = lp->fetched_head;
    schedule_forget(m, lp);
    replay_forget(m, lp);
    memset(lp->rat, 0, sizeof lp->rat);
    lp->x87_top = lp->retired_x87_top;
    lp->loads_in_flight = 0;
    while (lp->store_tail > lp->store_head && !store_at(lp, lp->store_tail - 1)->retired)
        lp->store_tail--;
}

/* The front end's past is again that behind the last branch that retired. */
static void repair_past(const struct nb_machine *m, struct lp *lp)
{
    const struct retired_branch *b = &lp->retired_branch;
    if (!b->code)
        return;
    lp->past.history = b->history;
    predict_follow(m, lp, b->code, b->taken);
    lp->past.return_top = b->return_top;
}

/* All that is younger than LAST is thrown out; the right path's part waits to be fetched again. */
void throw_out(struct nb_machine *m, struct lp *lp, uint32_t last)
{
    collect_refetch(lp, last);
    empty_back_end(m, lp);
    repair_past(m, lp);
    turns_forget(lp);
    lp->table_lost = false;
    lp->dyn_retired = lp->dyn_fetched;
}

/* The pipeline is being cleared, for a cause that has a sub-event or for none (0). */
void show_clear(struct nb_machine *m, struct lp *lp, unsigned cause_bit)
{
    if (cause_bit)
        post(m, lp->who, P4PMU_EV_machine_clear, cause_bit, 1);
    nb_clock from = max64(m->now, lp->clear_level_until), until = m->now + m->p.clear_clocks;
    if (until > from) {
        agenda_add(m, lp->who, from, P4PMU_EV_machine_clear, CLEAR, 1);
        agenda_add(m, lp->who, until, P4PMU_EV_machine_clear, CLEAR, -1);
        lp->clear_level_until = until;
    }
}

/* LAST has just retired; what is behind it starts anew. */
void machine_clear(struct nb_machine *m, struct lp *lp, uint32_t last, unsigned cause_bit)
{
    const struct dyn *d = dyn_at(lp, last);
    uint64_t ip = d->in.next_ip;
    uint16_t process = d->in.process;
    throw_out(m, lp, last);
    show_clear(m, lp, cause_bit);
    if (cause_bit == NB_CLEAR_SELF_MODIFYING) {
        lp->fe.build.count = 0;
        tc_flush(m, lp->who);
    }
    if (lp->refetch_count) {
        ip = lp->refetch[0].ip;
        process = lp->refetch[0].process;
    }
    bool ended = lp->fe.wait == FE_END && !lp->refetch_count;
    fe_restart(m, lp, ip, process);
    if (ended)
        lp->fe.wait = FE_END;
    lp->fe.busy_until = max64(lp->fe.busy_until, m->now + m->p.clear_clocks);
}
