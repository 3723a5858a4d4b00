/*
 * Dispatch: up to six uops a clock through four ports (OPT-2002; Agner table 5.2).
 *
 * Port 0: first half clock one of the fast scheduler (ALU0, store data, branch) or the FP move
 * scheduler; second half ALU0 alone. Port 1: ALU1 or one slow uop, then ALU1. Port 2 one load, port
 * 3 one store address a clock. A uop that goes round a replay loop has its dispatch slot before any
 * new one (replay.c).
 */
#include "machine.h"

static uint64_t age_at(const struct scheduler *s, int slot)
{
    return slot < 0 ? NB_NEVER : s->age[slot];
}

/* A unit that became FREE in the middle of a clock has begun then: only its port begins with whole
 * clocks, so a time of 4.5 clocks is 4 and 5 in turn (Agner: IMUL). */
static nb_tick unit_start(nb_tick free, nb_tick tick)
{
    return tick == free + 1 ? free : tick;
}

static void dispatch(struct nb_machine *m, struct scheduler *s, int slot, nb_tick tick)
{
    struct rob_entry *e = &m->rob[s->entry[slot]];
    scheduler_remove(m, s, slot);
    if (e->uop->unit != NB_UNIT_NONE) {
        nb_tick *free = &m->unit_free[s->unit[slot]];
        *free = unit_start(*free, tick) + own_ticks(m, e, e->uop->busy);
    }
    replay_first_pass(m, e, tick);
}

/* Whether the uop may dispatch now; when not, until when the port is closed to all but the oldest.
 */
static bool slot_free(struct nb_machine *m, const struct scheduler *s, int slot, enum port port,
                      nb_tick tick)
{
    if (is_oldest(m, &m->rob[s->entry[slot]]) || !replay_slot_taken(m, port, tick))
        return true;
    m->port_closed[port] = replay_slot_free(m, port, tick);
    return false;
}

/* First half of a clock: the fast scheduler and the one that shares its port compete, the older uop
 * wins. */
static void dispatch_shared(struct nb_machine *m, enum nb_scheduler fast, enum nb_scheduler other,
                            nb_tick tick, enum port port)
{
    struct scheduler *a = &m->scheduler[fast], *b = &m->scheduler[other];
    if (!(m->due.ripe.of[fast] | m->due.ripe.of[other]) || m->port_closed[port] > tick)
        return;
    int from_a = scheduler_oldest(m, fast, tick, PICK_ANY);
    int from_b = scheduler_oldest(m, other, tick, PICK_ANY);
    if (from_a < 0 && from_b < 0)
        return;
    bool a_goes = age_at(a, from_a) < age_at(b, from_b);
    struct scheduler *s = a_goes ? a : b;
    int slot = a_goes ? from_a : from_b;
    if (slot_free(m, s, slot, port, tick))
        dispatch(m, s, slot, tick);
}

static void dispatch_one(struct nb_machine *m, enum nb_scheduler which, nb_tick tick,
                         enum port port, enum pick pick)
{
    struct scheduler *s = &m->scheduler[which];
    if (!(m->due.ripe.of[which] & picked(s, pick)) || m->port_closed[port] > tick)
        return;
    int slot = scheduler_oldest(m, which, tick, pick);
    if (slot >= 0 && slot_free(m, s, slot, port, tick))
        dispatch(m, s, slot, tick);
}

/* When PORT may take one of the uops in SLOTS of a scheduler next. */
static nb_tick next_of(struct nb_machine *m, enum nb_scheduler which, uint16_t slots,
                       enum port port)
{
    return max64(scheduler_next(m, which, slots), m->port_closed[port]);
}

static nb_tick next_dispatch(struct nb_machine *m)
{
    uint16_t addresses = m->scheduler[NB_SCHED_MEMORY].marked;
    nb_tick next = next_of(m, NB_SCHED_MEMORY, (uint16_t)~addresses, PORT_LOAD);
    next = min64(next, next_of(m, NB_SCHED_MEMORY, addresses, PORT_STORE_ADDRESS));
    next = min64(next, next_of(m, NB_SCHED_FAST0, 0xFFFF, PORT_0));
    next = min64(next, next_of(m, NB_SCHED_FP_MOVE, 0xFFFF, PORT_0));
    next = min64(next, next_of(m, NB_SCHED_FAST1, 0xFFFF, PORT_1));
    return min64(next, next_of(m, NB_SCHED_SLOW, 0xFFFF, PORT_1));
}

nb_clock dispatch_cycle(struct nb_machine *m)
{
    nb_tick tick = 2 * m->now;
    replay_turn(m, tick);
    if (m->due.seen + 1 != tick)
        due_skip(m, tick - 1);
    due_collect(m, tick);
    replay_look_again(m, tick);
    dispatch_shared(m, NB_SCHED_FAST0, NB_SCHED_FP_MOVE, tick, PORT_0);
    dispatch_shared(m, NB_SCHED_FAST1, NB_SCHED_SLOW, tick, PORT_1);
    dispatch_one(m, NB_SCHED_MEMORY, tick, PORT_LOAD, PICK_UNMARKED);
    dispatch_one(m, NB_SCHED_MEMORY, tick, PORT_STORE_ADDRESS, PICK_MARKED);
    due_collect(m, tick + 1);
    replay_look_again(m, tick + 1);
    dispatch_one(m, NB_SCHED_FAST0, tick + 1, PORT_0, PICK_MARKED);
    dispatch_one(m, NB_SCHED_FAST1, tick + 1, PORT_1, PICK_MARKED);

    if (m->active) /* then the next clock is looked at in any case */
        return m->now + 1;
    nb_tick next = min64(replay_next(m, tick + 1), next_dispatch(m));
    return next == NB_NEVER ? NB_NEVER : max64(next / 2, m->now + 1);
}
