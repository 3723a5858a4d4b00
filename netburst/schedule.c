/*
 * From the two in-order uop queues into the schedulers, and the choice a port makes among a
 * scheduler's uops.
 *
 * Memory uops wait in one queue (16), all others in the general queue (32); each queue moves its
 * oldest uop first and stops when that one's scheduler is full (Marr 2002). A scheduler holds a uop
 * until it dispatches the first time; a uop is a candidate once all its producers have dispatched,
 * and ready when their promised results are due. Oldest first among the ready ones (model choice),
 * three moves a clock and queue (model choice: the allocator's width). With two logical processors
 * their queues take turns, and one may hold only a part of a scheduler (Marr 2002).
 */
#include "machine.h"

#define MOVES_PER_CLOCK 3u

static unsigned used(const struct scheduler *s)
{
    return (unsigned)s->held[0] + s->held[1];
}

/* A uop that either fast ALU can take goes where fewer wait. */
static unsigned choose(const struct nb_machine *m, const struct nb_uop *uop)
{
    if (uop->scheduler != NB_SCHED_FAST_ANY)
        return uop->scheduler;
    return used(&m->scheduler[NB_SCHED_FAST1]) < used(&m->scheduler[NB_SCHED_FAST0])
               ? NB_SCHED_FAST1
               : NB_SCHED_FAST0;
}

static bool is_store_address(const struct nb_uop *uop)
{
    return uop->kind == NB_UOP_STORE_ADDRESS;
}

static bool needs_order(const struct nb_uop *uop)
{
    return uop->kind == NB_UOP_FENCE || (uop->kind == NB_UOP_LOAD && (uop->flags & NB_UOP_LOCKED));
}

void scheduler_wake(struct nb_machine *m, struct rob_entry *e)
{
    if (e->state != ROB_SCHEDULED || e->pending)
        return;
    struct scheduler *s = &m->scheduler[e->scheduler];
    s->candidates |= (uint16_t)(1u << e->slot);
    nb_tick *earliest = &s->earliest[is_store_address(e->uop)];
    *earliest = min64(*earliest, e->ready);
    if (needs_order(e->uop))
        s->waits_for_order = true;
}

static bool enter(struct nb_machine *m, struct rob_entry *e)
{
    unsigned which = choose(m, e->uop);
    struct scheduler *s = &m->scheduler[which];
    uint16_t room = (uint16_t)(s->slots & ~s->occupied);
    if (!room || s->held[e->lp] >= m->limit.scheduler[which])
        return false;
    e->slot = (uint8_t)__builtin_ctz(room);
    e->scheduler = (uint8_t)which;
    e->state = ROB_SCHEDULED;
    e->ready = max64(e->ready, 2 * (m->now + m->p.schedule_stages));
    s->occupied |= (uint16_t)(1u << e->slot);
    s->held[e->lp]++;
    if (is_store_address(e->uop))
        s->store_addresses |= (uint16_t)(1u << e->slot);
    if (is_oldest(m, e))
        open_ports(m);
    s->entry[e->slot] = (uint16_t)(e - m->rob);
    s->age[e->slot] = e->age;
    scheduler_wake(m, e);
    m->active = true;
    return true;
}

/* Move the oldest uops of Q; the next clock in which one more could move. */
static nb_clock drain(struct nb_machine *m, struct lp *lp, struct queue *q)
{
    for (unsigned n = 0; n < MOVES_PER_CLOCK; n++) {
        if (q->head == q->tail)
            return NB_NEVER;
        size_t at = q->head & (NB_QUEUE_RING - 1);
        if (q->eligible[at] > m->now)
            return q->eligible[at];
        if (!enter(m, rob_at(lp, q->rob[at])))
            return NB_NEVER; /* until a dispatch makes room */
        q->head++;
    }
    return m->now + 1;
}

static nb_clock drain_both(struct nb_machine *m, struct lp *lp)
{
    nb_clock memory = drain(m, lp, &lp->memory_queue);
    return min64(memory, drain(m, lp, &lp->general_queue));
}

nb_clock schedule_cycle(struct nb_machine *m)
{
    return take_turns(m, drain_both);
}

static bool allowed(const struct nb_uop *uop, enum pick pick)
{
    switch (pick) {
    case PICK_ALU:
        return uop->kind == NB_UOP_ALU || uop->kind == NB_UOP_NOP;
    case PICK_LOAD:
        return uop->kind == NB_UOP_LOAD || uop->kind == NB_UOP_PREFETCH;
    case PICK_STORE_ADDRESS:
        return uop->kind == NB_UOP_STORE_ADDRESS;
    case PICK_ANY:
        break;
    }
    return true;
}

/* Whether everything older than E has its result, or when it will have. */
static bool older_done(struct nb_machine *m, const struct rob_entry *e, nb_tick *done)
{
    struct lp *lp = lp_of(m, e);
    for (uint64_t s = lp->rob_head; s < e->sequence; s++) {
        const struct rob_entry *older = rob_at(lp, s);
        if (older->state != ROB_DISPATCHED || older->valid == NB_NEVER)
            return false;
        *done = max64(*done, older->valid);
    }
    return true;
}

/* A locked access waits until it is the oldest, a fence until everything older has executed, both
 * until every older store has left the store buffer. */
static bool in_order(struct nb_machine *m, struct rob_entry *e)
{
    if (!stores_drained(lp_of(m, e), e))
        return false;
    return e->uop->kind == NB_UOP_FENCE ? older_done(m, e, &e->ready) : is_oldest(m, e);
}

/* When E may dispatch as far as its sources and its unit tell; a uop that could go at TICK must be
 * in step with sources that still go round. */
static nb_tick dispatchable(struct nb_machine *m, struct rob_entry *e, nb_tick tick, enum pick pick)
{
    nb_tick ready = max64(e->ready, *unit_free(m, e));
    if (ready > tick || !allowed(e->uop, pick))
        return ready;
    nb_tick step = replay_in_step(m, e, tick);
    if (step > tick)
        e->ready = step;
    return step;
}

/* The slot of the oldest uop that can dispatch at TICK, or -1. */
int scheduler_peek(struct nb_machine *m, struct scheduler *s, nb_tick tick, enum pick pick)
{
    if (!s->candidates || (s->earliest[pick == PICK_STORE_ADDRESS] > tick && !s->waits_for_order))
        return -1;
    int best = -1;
    nb_tick earliest[2] = {NB_NEVER, NB_NEVER};
    bool order = false;
    for (unsigned left = s->candidates; left; left &= left - 1) {
        int slot = __builtin_ctz(left);
        struct rob_entry *e = &m->rob[s->entry[slot]];
        if (needs_order(e->uop)) {
            order = true;
            if (!in_order(m, e))
                continue;
        }
        nb_tick ready = dispatchable(m, e, tick, pick);
        nb_tick *kind = &earliest[is_store_address(e->uop)];
        *kind = min64(*kind, ready);
        if (ready > tick || !allowed(e->uop, pick))
            continue;
        if (best < 0 || s->age[slot] < s->age[best])
            best = slot;
    }
    s->earliest[0] = earliest[0];
    s->earliest[1] = earliest[1];
    s->waits_for_order = order;
    return best;
}

void scheduler_remove(struct nb_machine *m, struct scheduler *s, int slot)
{
    uint16_t others = (uint16_t)(0xFFFFu ^ (1u << slot));
    s->occupied &= others;
    s->held[m->rob[s->entry[slot]].lp]--;
    s->candidates &= others;
    s->store_addresses &= others;
}

/* The uops of LP are thrown out. */
void schedule_forget(struct nb_machine *m, struct lp *lp)
{
    lp->memory_queue.tail = lp->memory_queue.head;
    lp->general_queue.tail = lp->general_queue.head;
    for (unsigned i = 0; i < NB_SCHEDULERS; i++) {
        struct scheduler *s = &m->scheduler[i];
        for (unsigned left = s->occupied; left; left &= left - 1) {
            int slot = __builtin_ctz(left);
            if (m->rob[s->entry[slot]].lp == lp->number)
                scheduler_remove(m, s, slot);
        }
        if (!s->candidates) {
            s->earliest[0] = s->earliest[1] = NB_NEVER;
            s->waits_for_order = false;
        }
    }
}
