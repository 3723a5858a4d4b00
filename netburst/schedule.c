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
static unsigned choose(const struct nb_machine *m, unsigned scheduler)
{
    if (scheduler != NB_SCHED_FAST_ANY)
        return scheduler;
    return NB_SCHED_FAST0 +
           (used(&m->scheduler[NB_SCHED_FAST1]) < used(&m->scheduler[NB_SCHED_FAST0]));
}
static_assert(NB_SCHED_FAST1 == NB_SCHED_FAST0 + 1, "choose() adds one");

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
    s->ready[e->slot] = e->ready;
    due_file(m, e->scheduler, e->slot);
}

/* The microcode sequencer has a place for each logical processor (Marr 2002), and so has the unit
 * that stands for it. */
static unsigned unit_of(const struct rob_entry *e)
{
    unsigned unit = e->uop->unit;
    return unit == NB_UNIT_FLOW ? unit + e->lp : unit;
}

static uint16_t with(uint16_t mask, unsigned slot, bool set)
{
    return (uint16_t)((mask & ~(1u << slot)) | (unsigned)set << slot);
}

/* S's slot of E is E's from now on. */
static void fill_slot(struct nb_machine *m, struct scheduler *s, const struct rob_entry *e)
{
    unsigned slot = e->slot, kind = e->uop->kind;
    s->occupied = with(s->occupied, slot, true);
    s->settled = with(s->settled, slot, false);
    s->ordered = with(s->ordered, slot, needs_order(e->uop));
    s->marked = with(s->marked, slot,
                     kind == NB_UOP_STORE_ADDRESS || kind == NB_UOP_ALU || kind == NB_UOP_NOP);
    s->held[e->lp]++;
    s->entry[slot] = (uint16_t)(e - m->rob);
    s->age[slot] = e->age;
    s->unit[slot] = (uint8_t)unit_of(e);
}

static bool enter(struct nb_machine *m, struct rob_entry *e, unsigned which)
{
    struct scheduler *s = &m->scheduler[which];
    unsigned room = s->slots & ~(unsigned)s->occupied;
    if (!room || s->held[e->lp] >= m->limit.scheduler[which])
        return false;
    e->slot = (uint8_t)__builtin_ctz(room);
    e->scheduler = (uint8_t)which;
    e->state = ROB_SCHEDULED;
    e->ready = max64(e->ready, 2 * (m->now + m->p.schedule_stages));
    fill_slot(m, s, e);
    if (is_oldest(m, e))
        open_ports(m);
    scheduler_wake(m, e);
    m->active = true;
    return true;
}

/* Move the oldest uops of Q, the first of which is eligible; the next clock in which one more could
 * move. */
static nb_clock move(struct nb_machine *m, struct queue *q)
{
    for (unsigned n = 0; n < MOVES_PER_CLOCK; n++) {
        if (q->head == q->tail)
            return NB_NEVER;
        size_t at = q->head & (NB_QUEUE_RING - 1);
        if (q->entry[at].eligible > m->now)
            return q->entry[at].eligible;
        if (!enter(m, &m->rob[q->entry[at].rob], choose(m, q->entry[at].scheduler)))
            return NB_NEVER; /* until a dispatch makes room */
        q->head++;
    }
    return m->now + 1;
}

static inline nb_clock drain(struct nb_machine *m, struct queue *q)
{
    if (q->head == q->tail)
        return NB_NEVER;
    nb_clock eligible = q->entry[q->head & (NB_QUEUE_RING - 1)].eligible;
    return eligible > m->now ? eligible : move(m, q);
}

static nb_clock drain_both(struct nb_machine *m, struct lp *lp)
{
    nb_clock memory = drain(m, &lp->memory_queue);
    return min64(memory, drain(m, &lp->general_queue));
}

nb_clock schedule_cycle(struct nb_machine *m)
{
    return take_turns(m, drain_both);
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
static bool in_order(struct nb_machine *m, struct scheduler *s, int slot)
{
    const struct rob_entry *e = &m->rob[s->entry[slot]];
    if (!stores_drained(lp_of(m, e), e))
        return false;
    return e->uop->kind == NB_UOP_FENCE ? older_done(m, e, &s->ready[slot]) : is_oldest(m, e);
}

/* The uop in SLOT could go at TICK: when it does, in step with sources that still go round. */
static nb_tick in_step(struct nb_machine *m, struct scheduler *s, int slot, nb_tick tick)
{
    if (s->settled >> slot & 1)
        return tick;
    bool settled;
    nb_tick step = replay_in_step(m, &m->rob[s->entry[slot]], tick, &settled);
    s->settled |= (uint16_t)((unsigned)settled << slot);
    return step;
}

/* Whether the ripe uop in SLOT can dispatch at TICK; when not, and it is known when, it is due
 * then.
 */
static bool can_dispatch(struct nb_machine *m, unsigned which, int slot, nb_tick tick)
{
    struct scheduler *s = &m->scheduler[which];
    if ((s->ordered >> slot & 1) && !in_order(m, s, slot))
        return false;
    nb_tick ready = max64(s->ready[slot], m->unit_free[s->unit[slot]]);
    if (ready <= tick)
        ready = in_step(m, s, slot, tick);
    if (ready <= tick)
        return true;
    s->ready[slot] = ready;
    m->due.ripe.of[which] &= (uint16_t) ~(1u << slot);
    due_file(m, which, (unsigned)slot);
    return false;
}

/* The slot of the oldest uop of scheduler WHICH that PICK allows and that can dispatch at TICK, or
 * -1. */
int scheduler_oldest(struct nb_machine *m, unsigned which, nb_tick tick, enum pick pick)
{
    const struct scheduler *s = &m->scheduler[which];
    uint64_t age = NB_NEVER;
    int oldest = -1;
    for (unsigned left = m->due.ripe.of[which] & picked(s, pick); left; left &= left - 1) {
        int slot = __builtin_ctz(left);
        if (can_dispatch(m, which, slot, tick) && s->age[slot] < age) {
            oldest = slot;
            age = s->age[slot];
        }
    }
    return oldest;
}

void scheduler_remove(struct nb_machine *m, struct scheduler *s, int slot)
{
    uint16_t others = (uint16_t) ~(1u << slot);
    s->occupied &= others;
    s->candidates &= others;
    m->due.ripe.of[s - m->scheduler] &= others;
    s->held[m->rob[s->entry[slot]].lp]--;
}

/* When the first of the candidates in SLOTS can dispatch, as far as they and their units tell. */
nb_tick scheduler_next(struct nb_machine *m, unsigned which, uint16_t slots)
{
    struct scheduler *s = &m->scheduler[which];
    nb_tick next = NB_NEVER;
    for (unsigned left = s->candidates & slots; left; left &= left - 1) {
        int slot = __builtin_ctz(left);
        if (!(s->ordered >> slot & 1) || in_order(m, s, slot))
            next = min64(next, max64(s->ready[slot], m->unit_free[s->unit[slot]]));
    }
    return next;
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
            if (m->rob[s->entry[slot]].lp != lp->number)
                continue;
            due_forget(m, i, (unsigned)slot);
            scheduler_remove(m, s, slot);
        }
    }
}
