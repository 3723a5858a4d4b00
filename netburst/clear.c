/*
 * Machine clears: everything younger than an instruction is thrown out and fetched again. The cause
 * modelled is self-modifying code: a store into a 1 KB block from which code has been executed also
 * empties the trace cache (OPT-2002). machine_clear CLEAR counts `clear_clocks` of each (model
 * choice: "part of the clocks"). Not modelled: memory-ordering clears (they need a second agent); a
 * fetch close to data being written.
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
static void collect_refetch(struct nb_machine *m, uint32_t last)
{
    struct nb_instruction again[NB_DYN_RING];
    uint32_t n = 0;
    for (uint32_t d = last + 1; d != m->dyn_fetched; d++)
        if (!dyn_at(m, d)->bogus)
            again[n++] = dyn_at(m, d)->in;
    while (m->refetch_count) {
        again[n++] = m->refetch[m->refetch_head++ & (NB_DYN_RING - 1)];
        m->refetch_count--;
    }
    memcpy(m->refetch, again, n * sizeof again[0]);
    m->refetch_head = 0;
    m->refetch_count = n;
}

static void empty_back_end(struct nb_machine *m)
{
    m->rob_tail = m->rob_head;
    m->fetched_tail = m->fetched_head;
    m->memory_queue.tail = m->memory_queue.head;
    m->general_queue.tail = m->general_queue.head;
    for (unsigned i = 0; i < NB_SCHEDULERS; i++) {
        struct scheduler *s = &m->scheduler[i];
        s->occupied = s->candidates = s->store_addresses = 0;
        s->earliest[0] = s->earliest[1] = NB_NEVER;
        s->waits_for_order = false;
    }
    memset(m->rat, 0, sizeof m->rat);
    memset(m->loop_busy, 0, sizeof m->loop_busy);
    open_ports(m);
    memset(m->wheel, 0, sizeof m->wheel);
    memset(m->wheel_map, 0, sizeof m->wheel_map);
    m->wheel_count = 0;
    m->x87_top = m->retired_x87_top;
    m->integer_in_flight = m->fp_in_flight = m->loads_in_flight = 0;
    while (m->store_tail > m->store_head && !store_at(m, m->store_tail - 1)->retired)
        m->store_tail--;
}

static void show_clear(struct nb_machine *m, unsigned cause_bit)
{
    post(m, P4PMU_EV_machine_clear, cause_bit, 1);
    nb_clock from = max64(m->now, m->clear_level_until), until = m->now + m->p.clear_clocks;
    if (until > from) {
        agenda_add(m, from, P4PMU_EV_machine_clear, CLEAR, 1);
        agenda_add(m, until, P4PMU_EV_machine_clear, CLEAR, -1);
        m->clear_level_until = until;
    }
}

/* LAST has just retired; what is behind it starts anew. */
void machine_clear(struct nb_machine *m, uint32_t last, unsigned cause_bit)
{
    const struct dyn *d = dyn_at(m, last);
    uint64_t ip = d->in.next_ip;
    uint16_t process = d->in.process;
    collect_refetch(m, last);
    empty_back_end(m);
    m->misprediction = m->have_saved = false;
    m->resolve_at = NB_NEVER;
    m->dyn_retired = m->dyn_fetched;
    show_clear(m, cause_bit);
    tc_flush(m);
    if (m->refetch_count) {
        ip = m->refetch[0].ip;
        process = m->refetch[0].process;
    }
    bool ended = m->fe.wait == FE_END && !m->refetch_count;
    fe_restart(m, ip, process);
    if (ended)
        m->fe.wait = FE_END;
    m->fe.busy_until = max64(m->fe.busy_until, m->now + m->p.clear_clocks);
}
