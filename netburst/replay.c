/*
 * Replay: uops are dispatched on the promise of a result, and go round a loop until the promise is
 * kept.
 *
 * A scheduler lets a uop go when its sources are promised: a load promises an L1 hit. When the
 * check finds that a source was not there (or, for a load, that the data were not), the uop goes
 * round the loop and dispatches again 7 clocks later (12 for slow units), as often as it takes,
 * each time taking a dispatch slot of its port. Its own consumers were promised a result as well
 * and go round too.
 *
 * Once it is known when every source is there, the pass that succeeds is known: the first one not
 * before that time. So a uop in a loop costs the simulator nothing per pass. Its slots are kept as
 * "port, phase of the loop, until when": a phase can hold one uop only, because new uops do not
 * dispatch into a taken slot. Uops whose sources' times are not known yet wait in the source's
 * list; loads that must look at memory again sit in the wheel.
 *
 * Each pass tells the schedulers anew when the result is due, so a uop that becomes ready while its
 * source goes round dispatches in step with one of the source's passes, not between two (model
 * choice: a uop out of step would wait for the rest of a loop after its source is there, and a
 * chain once late would stay late).
 *
 * With `replay_queue` (Prescott) a uop goes round once and then waits in a queue for what it needs:
 * the second pass is in time and takes no slots before (model choice; how its queue works is not
 * published). A load that waits for something whose time is not known looks again once a loop.
 *
 * Loop lengths: names RL-7 and RL-12 of published articles, see the model files. Two uops of loops
 * of different length that meet in one slot are both let through (model choice).
 */
#include "machine.h"

#include <string.h>

static unsigned loop_kind(const struct nb_uop *uop)
{
    return uop->scheduler == NB_SCHED_SLOW || uop->scheduler == NB_SCHED_FP_MOVE;
}

static nb_tick loop_ticks(const struct nb_machine *m, const struct nb_uop *uop)
{
    return m->loop[loop_kind(uop)];
}

/* The loops have turned on to TICK. (Phases are followed, not computed: division is slow, and every
 * dispatch asks for them.) */
void replay_turn(struct nb_machine *m, nb_tick tick)
{
    nb_tick passed = tick - m->phase_tick;
    m->phase_tick = tick;
    for (unsigned kind = 0; kind < 2; kind++) {
        nb_tick phase = m->phase[kind] + passed;
        if (phase >= m->loop[kind])
            phase = phase < 2 * m->loop[kind] ? phase - m->loop[kind] : phase % m->loop[kind];
        m->phase[kind] = (uint32_t)phase;
    }
}

/* Of the loop of KIND at TICK, which is at most some turns ahead of the clock. */
static uint32_t phase_at(const struct nb_machine *m, unsigned kind, nb_tick tick)
{
    uint32_t phase = m->phase[kind] + (uint32_t)(tick - m->phase_tick);
    while (phase >= m->loop[kind])
        phase -= m->loop[kind];
    return phase;
}

static enum port port_of(const struct rob_entry *e)
{
    switch (e->uop->kind) {
    case NB_UOP_LOAD:
    case NB_UOP_PREFETCH:
        return PORT_LOAD;
    case NB_UOP_STORE_ADDRESS:
        return PORT_STORE_ADDRESS;
    default:
        return e->scheduler == NB_SCHED_FAST1 || e->scheduler == NB_SCHED_SLOW ? PORT_1 : PORT_0;
    }
}

bool replay_slot_taken(struct nb_machine *m, enum port port, nb_tick tick)
{
    return m->loop_busy[port][0][phase_at(m, 0, tick)] >= tick ||
           m->loop_busy[port][1][phase_at(m, 1, tick)] >= tick;
}

/* The first tick after TICK at which PORT has a slot, as far as one turn of the longest loop tells.
 * The memory ports have one slot a clock, the others one each half clock. */
nb_tick replay_slot_free(struct nb_machine *m, enum port port, nb_tick tick)
{
    uint32_t clocks = m->p.replay_loop_fast > m->p.replay_loop_slow ? m->p.replay_loop_fast
                                                                    : m->p.replay_loop_slow;
    nb_tick step = port == PORT_LOAD || port == PORT_STORE_ADDRESS ? 2 : 1,
            last = tick + 2 * (nb_tick)clocks;
    for (tick += step; tick < last; tick += step)
        if (!replay_slot_taken(m, port, tick))
            return tick;
    return last;
}

/* E's slot of its loop is taken up to UNTIL. */
static void take_slots(struct nb_machine *m, const struct rob_entry *e, nb_tick until)
{
    if (m->p.replay_queue)
        return;
    enum port port = port_of(e);
    m->loop_busy[port][loop_kind(e->uop)][e->phase] = until;
    m->port_closed[port] = 0;
}

/* The first pass, of a uop that dispatched at FIRST, that is not before WANTED. */
nb_tick replay_pass(const struct nb_machine *m, nb_tick first, nb_tick wanted, nb_tick loop)
{
    if (m->p.replay_queue && wanted > first)
        return first + max64(loop, (wanted - first + 1) & ~(nb_tick)1);
    return wanted <= first ? first : first + (wanted - first + loop - 1) / loop * loop;
}

/* More time from a producer to a consumer of another domain (uop table, "additional latency").
 * Addresses and store data are taken without (model choice). */
nb_tick crossing(const struct nb_uop *producer, const struct nb_uop *consumer)
{
    if (producer->domain == consumer->domain || consumer->domain == NB_DOMAIN_LOAD)
        return 0;
    return producer->extra;
}

static nb_tick result_ticks(struct nb_machine *m, const struct rob_entry *e)
{
    const struct nb_uop *uop = e->uop;
    if (uop->kind != NB_UOP_LOAD)
        return own_ticks(m, e, uop->latency);
    uint32_t clocks = uop->flags & NB_UOP_FP_LOAD ? m->p.l1_fp_clocks : m->p.l1_integer_clocks;
    return 2 * (nb_tick)clocks + uop->latency;
}

/* The first tick from TICK on that is in step with the passes of E's sources that are still going
 * round. *SETTLED: none is. */
nb_tick replay_in_step(struct nb_machine *m, const struct rob_entry *e, nb_tick tick, bool *settled)
{
    struct lp *lp = lp_of(m, e);
    *settled = true;
    if (m->p.replay_queue)
        return tick;
    for (unsigned i = 0; i < e->sources; i++) {
        if (!in_flight(lp, e->source[i]))
            continue;
        const struct rob_entry *producer = rob_at(lp, e->source[i]);
        if (producer->valid > tick) {
            *settled = false;
            tick = replay_pass(m, producer->promise + crossing(producer->uop, e->uop), tick,
                               loop_ticks(m, producer->uop));
        }
    }
    return tick;
}

static uint16_t take_list(struct rob_entry *e)
{
    uint16_t list = e->waiter;
    e->waiter = 0;
    return list;
}

static void tell_promise(struct nb_machine *m, struct rob_entry *e)
{
    for (uint16_t w = take_list(e); w;) {
        struct rob_entry *consumer = &m->rob[(w - 1u) / NB_UOP_SOURCES];
        w = consumer->next_waiter[(w - 1u) % NB_UOP_SOURCES];
        consumer->ready = max64(consumer->ready, e->promise + crossing(e->uop, consumer->uop));
        consumer->pending--;
        scheduler_wake(m, consumer);
    }
}

static void wheel_put(struct nb_machine *m, struct rob_entry *e, nb_tick tick)
{
    nb_tick limit = 2 * m->now + NB_WHEEL_TICKS - 4;
    e->wheel_tick = tick;
    if (tick > limit)
        tick = limit;
    size_t bucket = tick % NB_WHEEL_TICKS;
    e->wheel_next = m->wheel[bucket];
    m->wheel[bucket] = (uint16_t)(e - m->rob + 1);
    m->wheel_map[bucket / 64] |= UINT64_C(1) << (bucket % 64);
    m->wheel_count++;
}

static const enum p4pmu_event class_event[NB_FP_CLASSES] = {
    [NB_FP_PACKED_SP] = P4PMU_EV_packed_SP_uop,
    [NB_FP_PACKED_DP] = P4PMU_EV_packed_DP_uop,
    [NB_FP_SCALAR_SP] = P4PMU_EV_scalar_SP_uop,
    [NB_FP_SCALAR_DP] = P4PMU_EV_scalar_DP_uop,
    [NB_FP_MMX64] = P4PMU_EV_64bit_MMX_uop,
    [NB_FP_MMX128] = P4PMU_EV_128bit_MMX_uop,
    [NB_FP_X87] = P4PMU_EV_x87_FP_uop,
    [NB_FP_MOVE_P0] = P4PMU_EV_x87_SIMD_moves_uop,
    [NB_FP_MOVE_P2] = P4PMU_EV_x87_SIMD_moves_uop,
};

static unsigned class_bits(unsigned fp_class)
{
    if (fp_class == NB_FP_MOVE_P0)
        return 1u << 3;
    return fp_class == NB_FP_MOVE_P2 ? 1u << 4 : 1u << 15;
}

/* Executions are counted each time round, wrong path or not (Weaver measured the excess). */
static void post_executions(struct nb_machine *m, struct rob_entry *e, uint64_t passes)
{
    unsigned fp_class = e->uop->fp_class;
    if (!fp_class || !passes)
        return;
    enum p4pmu_event event = class_event[fp_class];
    facts_of(m, dyn_of(m, e));
    post(m, e->who, event, class_bits(fp_class), passes > 15 ? 15u : (unsigned)passes);
    facts_of(m, NULL);
    e->execution_tags |= (uint8_t)p4pmu_execution_tags(m->pmu, event, class_bits(fp_class), e->who);
}

static void look(struct nb_machine *m, struct rob_entry *e);

static void tell_validity(struct nb_machine *m, struct rob_entry *e)
{
    for (uint16_t w = take_list(e); w;) {
        struct rob_entry *consumer = &m->rob[(w - 1u) / NB_UOP_SOURCES];
        w = consumer->next_waiter[(w - 1u) % NB_UOP_SOURCES];
        look(m, consumer);
    }
}

static nb_clock resolve_clock(const struct nb_machine *m, nb_tick pass)
{
    return pass / 2 + m->p.execute_stages + m->p.branch_check_stages + 1;
}

/* The pass at PASS succeeds: from here everything about E is known. */
static void settle(struct nb_machine *m, struct rob_entry *e, nb_tick pass)
{
    struct lp *lp = lp_of(m, e);
    nb_tick loop = loop_ticks(m, e->uop);
    uint64_t passes = pass == e->dispatched ? 0 : (pass - e->dispatched) / loop;
    if (m->p.replay_queue && passes)
        passes = 1;
    if (passes) {
        lp->stats.replays += passes;
        take_slots(m, e, pass);
        post_executions(m, e, passes);
    }
    e->valid = pass + result_ticks(m, e);
    m->active = true;
    e->complete = (e->valid + 1) / 2 + m->p.execute_stages + 1;
    if (e->uop->kind == NB_UOP_STORE_DATA && in_store_buffer(lp, e))
        store_at(lp, e->buffer)->data_tick = pass;
    if (e->uop->kind == NB_UOP_BRANCH && lp->turns && e->last)
        turn_executed(lp, e->dyn, resolve_clock(m, pass));
    tell_validity(m, e);
}

/* When every source of E is there, or NB_NEVER after putting E in the list of one whose time is
 * unknown. */
static nb_tick sources_valid(struct nb_machine *m, struct rob_entry *e)
{
    struct lp *lp = lp_of(m, e);
    nb_tick valid = 0;
    for (unsigned i = 0; i < e->sources; i++) {
        if (!in_flight(lp, e->source[i]))
            continue;
        struct rob_entry *producer = rob_at(lp, e->source[i]);
        if (producer->valid == NB_NEVER) {
            e->next_waiter[i] = producer->waiter;
            producer->waiter = (uint16_t)((size_t)(e - m->rob) * NB_UOP_SOURCES + i + 1);
            return NB_NEVER;
        }
        valid = max64(valid, producer->valid + crossing(producer->uop, e->uop));
    }
    return valid;
}

/* Find out which pass of E succeeds, as far as that is known now. */
static void look(struct nb_machine *m, struct rob_entry *e)
{
    nb_tick loop = loop_ticks(m, e->uop);
    nb_tick valid = sources_valid(m, e);
    if (valid == NB_NEVER) {
        take_slots(m, e, NB_NEVER);
        return;
    }
    nb_tick pass = replay_pass(m, e->dispatched, max64(valid, e->wheel_tick), loop);
    if (e->uop->kind == NB_UOP_LOAD) {
        if (pass > 2 * m->now + 1) {
            take_slots(m, e, pass);
            wheel_put(m, e, pass);
            return;
        }
        nb_tick again, done = load_execute(m, e, pass, loop, &again);
        if (done == NB_NEVER) {
            pass = replay_pass(m, pass, max64(again, pass + 1), loop);
            take_slots(m, e, pass);
            wheel_put(m, e, pass);
            return;
        }
        pass = done;
    } else if (e->uop->kind == NB_UOP_PREFETCH) {
        prefetch_execute(m, e, pass);
    } else if (e->uop->kind == NB_UOP_STORE_ADDRESS) {
        store_address_execute(m, e, pass);
    } else if (e->uop->kind == NB_UOP_FENCE && (e->uop->flags & NB_UOP_NON_TEMPORAL)) {
        wc_drain(m, e->who, pass);
    }
    settle(m, e, pass);
}

/* E dispatches for the first time. */
void replay_first_pass(struct nb_machine *m, struct rob_entry *e, nb_tick tick)
{
    m->active = true;
    e->state = ROB_DISPATCHED;
    e->dispatched = tick;
    e->phase = (uint8_t)phase_at(m, loop_kind(e->uop), tick);
    e->wheel_tick = 0;
    e->promise = tick + result_ticks(m, e);
    tell_promise(m, e);
    post_executions(m, e, 1);
    look(m, e);
}

/* Loads whose next pass is at TICK look at memory again. */
void replay_look_again(struct nb_machine *m, nb_tick tick)
{
    size_t bucket = tick % NB_WHEEL_TICKS;
    if (!m->wheel_count || !m->wheel[bucket])
        return;
    uint16_t w = m->wheel[bucket];
    m->wheel[bucket] = 0;
    m->wheel_map[bucket / 64] &= ~(UINT64_C(1) << (bucket % 64));
    while (w) {
        struct rob_entry *e = &m->rob[w - 1u];
        w = e->wheel_next;
        m->wheel_count--;
        if (e->wheel_tick > tick)
            wheel_put(m, e, e->wheel_tick);
        else
            look(m, e);
    }
}

static void empty_wheel(struct nb_machine *m)
{
    memset(m->wheel, 0, sizeof m->wheel);
    memset(m->wheel_map, 0, sizeof m->wheel_map);
    m->wheel_count = 0;
}

/* Only LP's uops are gone: those of the others stay in the wheel, in order. */
static void leave_wheel(struct nb_machine *m, const struct lp *lp)
{
    for (size_t bucket = 0; bucket < NB_WHEEL_TICKS; bucket++) {
        uint16_t *at = &m->wheel[bucket];
        while (*at) {
            struct rob_entry *e = &m->rob[*at - 1u];
            if (e->lp == lp->number) {
                *at = e->wheel_next;
                m->wheel_count--;
            } else {
                at = &e->wheel_next;
            }
        }
        if (!m->wheel[bucket])
            m->wheel_map[bucket / 64] &= ~(UINT64_C(1) << (bucket % 64));
    }
}

/* E goes on round its loop: until its time in the wheel, the pass that succeeds, or for ever as far
 * as is known. */
static void keep_slots(struct nb_machine *m, struct rob_entry *e)
{
    nb_tick until = e->valid != NB_NEVER             ? e->valid - result_ticks(m, e)
                    : e->wheel_tick > 2 * m->now + 1 ? e->wheel_tick
                                                     : NB_NEVER;
    if (e->state == ROB_DISPATCHED && until > e->dispatched)
        take_slots(m, e, until);
}

/* The uops of LP are thrown out. */
void replay_forget(struct nb_machine *m, const struct lp *lp)
{
    memset(m->loop_busy, 0, sizeof m->loop_busy);
    open_ports(m);
    if (m->lps == 1) {
        empty_wheel(m);
        return;
    }
    leave_wheel(m, lp);
    struct lp *other = &m->lp[lp->number ^ 1];
    for (uint64_t sequence = other->rob_head; sequence < other->rob_tail; sequence++)
        keep_slots(m, rob_at(other, sequence));
}

/* The next tick after AFTER at which a load looks again. */
nb_tick replay_next(const struct nb_machine *m, nb_tick after)
{
    if (!m->wheel_count)
        return NB_NEVER;
    for (nb_tick step = 1; step < NB_WHEEL_TICKS;) {
        size_t bucket = (after + step) % NB_WHEEL_TICKS;
        uint64_t word = m->wheel_map[bucket / 64] >> (bucket % 64);
        if (word)
            return after + step + (nb_tick)__builtin_ctzll(word);
        step += 64 - bucket % 64;
    }
    return NB_NEVER;
}
