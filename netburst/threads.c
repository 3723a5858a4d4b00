/*
 * Hyper-Threading: which logical processors are active, what each may use, and the standing
 * conditions that follow from it.
 *
 * A logical processor is active or halted. While both are active the reorder buffer, the load and
 * store buffers, the uop queue and the two queues before the schedulers are halved, and each may
 * hold only part of each scheduler and of the write-combining buffers; a halted one leaves all of
 * it to the other. Retirement, store commit, the moves into the schedulers, allocation and the
 * front end serve one logical processor a clock, in turn; one that cannot use its clock gives it
 * to the other (take_turns). Dispatch does not look at the thread. Source of all this: Marr et
 * al., Intel Technology Journal Q1 2002.
 *
 * A logical processor halts when its input is idle or has ended and all of its work is done. When
 * it wakes, it does not fetch before the other one's uops fit into their half (model choice: how
 * the hardware takes the buffers back is not published). A logical processor's CPL is that of the
 * instructions its front end fetches: each change of CPL goes through a drained pipeline. Not
 * modelled: the time the change between the states itself takes; a logical processor in a machine
 * clear or on its way into a long microcode flow as "inactive" to TC_deliver_mode.
 */
#include "machine.h"

#define RUNNING       (1u << 0)
#define SBFULL        (1u << 5)
#define WC_GUARANTEED 2u /* write-combining buffers of each thread (OPT-2002) */

static uint32_t half(const struct nb_machine *m, uint32_t whole, uint32_t least)
{
    uint32_t part = m->both ? whole / 2 : whole;
    return part > least ? part : least;
}

/* What one logical processor may hold of each buffer. */
static void set_limits(struct nb_machine *m)
{
    const struct nb_params *p = &m->p;
    uint32_t front = p->uop_queue + 3 * (p->front_end_stages + p->decode_stages);
    uint32_t wc = p->wc_buffers;
    m->limit = (struct limits){
        .rob = half(m, p->rob, 2), /* a store may take two entries at once */
        .loads = half(m, p->load_buffers, 1),
        .stores = half(m, p->store_buffers, 1),
        .front = half(m, front < NB_QUEUE_RING ? front : NB_QUEUE_RING, 1),
        .memory_queue = half(m, p->memory_queue, 1),
        .general_queue = half(m, p->general_queue, 1),
        .wc = m->both && wc > 2 * WC_GUARANTEED ? wc - WC_GUARANTEED : half(m, wc, 1),
    };
    for (unsigned i = 0; i < NB_SCHEDULERS; i++) {
        uint32_t size = (uint32_t)__builtin_popcount(m->scheduler[i].slots);
        uint32_t cap = size * p->scheduler_cap_percent / 100;
        if (cap >= size) /* one is left to the other: else both might wait for each other */
            cap = size - 1;
        m->limit.scheduler[i] = m->both ? (cap ? cap : 1) : size;
    }
}

static bool fits(const struct nb_machine *m, const struct lp *lp)
{
    const struct limits *l = &m->limit;
    return lp->rob_tail - lp->rob_head <= l->rob && lp->loads_in_flight <= l->loads &&
           lp->store_tail - lp->store_head <= l->stores &&
           lp->fetched_tail - lp->fetched_head <= l->front &&
           lp->memory_queue.tail - lp->memory_queue.head <= l->memory_queue &&
           lp->general_queue.tail - lp->general_queue.head <= l->general_queue;
}

/* Whether LP, just woken, must not fetch yet: the other one still holds more than its half. */
bool lp_waits_for_room(const struct nb_machine *m, struct lp *lp)
{
    if (lp->wakes)
        lp->wakes = m->both && !fits(m, &m->lp[lp->number ^ 1]);
    return lp->wakes;
}

/* ---- standing conditions -----------------------------------------------------------------------
 */

/* TC_deliver_mode: the pair of modes, each delivering, building or inactive. */
static unsigned mode_bit(const struct nb_machine *m)
{
    enum { DELIVER, BUILD, INACTIVE };
    static const uint8_t bits[3][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}};
    unsigned mode[NB_LPS];
    for (unsigned i = 0; i < NB_LPS; i++)
        mode[i] = m->lp[i].halted ? INACTIVE : m->lp[i].fe.mode == FE_DELIVER ? DELIVER : BUILD;
    return 1u << bits[mode[0]][mode[1]] & 0xFFu; /* both inactive: no pair of the event's */
}

void show_modes(struct nb_machine *m)
{
    unsigned bit = mode_bit(m), who = m->lp[m->lp[0].halted].who;
    if (bit == m->mode_bit && who == m->mode_who)
        return;
    if (m->mode_bit)
        p4pmu_level(m->pmu, P4PMU_EV_TC_deliver_mode, m->mode_bit, m->mode_who, 0);
    if (bit)
        p4pmu_level(m->pmu, P4PMU_EV_TC_deliver_mode, bit, who, 1);
    m->mode_bit = (uint8_t)bit;
    m->mode_who = (uint8_t)who;
}

/* The conditions that belong to LP at its present CPL begin or end. */
static void stand(struct nb_machine *m, const struct lp *lp, bool begin)
{
    p4pmu_level(m->pmu, P4PMU_EV_global_power_events, RUNNING, lp->who, begin);
    p4pmu_level(m->pmu, P4PMU_EV_resource_stall, SBFULL, lp->who, begin && lp->stall_posted);
}

/* From now on LP runs at CPL 0 or 3. */
void lp_privilege(struct nb_machine *m, struct lp *lp, bool kernel)
{
    uint8_t who = (uint8_t)P4PMU_WHO(lp->number, kernel ? 0 : 3);
    if (who == lp->who)
        return;
    stand(m, lp, false);
    lp->who = who;
    stand(m, lp, true);
    show_modes(m);
    p4pmu_runs_at(m->pmu, lp->number, who & 3u);
}

/* ---- halt and wake -----------------------------------------------------------------------------
 */

static void states_changed(struct nb_machine *m)
{
    m->both = m->lps == 2 && !m->lp[0].halted && !m->lp[1].halted;
    set_limits(m);
    show_modes(m);
    p4pmu_sleep(m->pmu, m->lp[0].halted && m->lp[1].halted);
    open_ports(m);
    m->active = true;
}

/* HLT is executed at CPL 0. */
static void halt(struct nb_machine *m, struct lp *lp)
{
    stand(m, lp, false);
    lp->halted = true;
    lp->halted_since = m->now;
    p4pmu_active(m->pmu, lp->number, false);
    p4pmu_runs_at(m->pmu, lp->number, 0);
    states_changed(m);
}

/* LP has work again. */
void lp_wake(struct nb_machine *m, struct lp *lp)
{
    lp->last_retire = m->now;
    if (!lp->halted)
        return;
    lp->halted = false;
    lp->wakes = true;
    lp->stats.halted_clocks += m->now - lp->halted_since;
    p4pmu_active(m->pmu, lp->number, true);
    p4pmu_runs_at(m->pmu, lp->number, lp->who & 3u);
    stand(m, lp, true);
    states_changed(m);
}

/* Nothing of LP is left in the pipeline and nothing more is known to come. */
bool lp_rests(const struct lp *lp)
{
    return (lp->fe.wait == FE_END || lp->fe.wait == FE_IDLE) && lp_drained(lp) &&
           lp->store_head == lp->store_tail;
}

/* A logical processor whose work was done at the end of the last clock halts, unless that is the
 * end of it all. */
void halt_cycle(struct nb_machine *m)
{
    bool ended = true;
    for (unsigned i = 0; i < m->lps; i++)
        ended &= m->lp[i].fe.wait == FE_END && lp_rests(&m->lp[i]);
    if (ended)
        return;
    for (unsigned i = 0; i < m->lps; i++)
        if (!m->lp[i].halted && lp_rests(&m->lp[i]))
            halt(m, &m->lp[i]);
}

void lp_reset(struct nb_machine *m, struct lp *lp)
{
    lp->rob = &m->rob[lp->number * NB_ROB_RING];
    lp->rob_head = lp->rob_tail = 1; /* 0 means "no writer in flight" */
    turns_forget(lp);
    lp->halted = lp->number > 0; /* as if it waited for its SIPI, until its input has work */
    p4pmu_active(m->pmu, lp->number, !lp->halted);
    p4pmu_runs_at(m->pmu, lp->number, lp->halted ? 0 : lp->who & 3u);
    interrupts_reset(lp);
    fe_reset(lp);
    if (lp->halted)
        lp->fe.wait = FE_IDLE;
    else
        stand(m, lp, true);
}

void threads_reset(struct nb_machine *m)
{
    for (unsigned i = 0; i < NB_LPS; i++) {
        m->lp[i].number = (uint8_t)i;
        m->lp[i].who = (uint8_t)P4PMU_WHO(i, 3);
        lp_reset(m, &m->lp[i]);
    }
    states_changed(m);
}

/* The statistics know how long the logical processors that are halted have been so. */
void count_halted(struct nb_machine *m)
{
    for (unsigned i = 0; i < m->lps; i++) {
        struct lp *lp = &m->lp[i];
        if (!lp->halted)
            continue;
        lp->stats.halted_clocks += m->now - lp->halted_since;
        lp->halted_since = m->now;
    }
}
