/*
 * Allocation and renaming: three uops a clock from the uop queue into the reorder buffer (126),
 * load (48) and store (24) buffers, physical registers (128 + 128) and the two queues before the
 * schedulers.
 *
 * The register alias table maps each logical register to the uop that writes it last; partial
 * registers are the whole register (Agner 5.8). x87 registers are renamed through the top of stack.
 *
 * After a misprediction the table is that of the wrong path. Published are two tables for each
 * logical processor, the front end's and one of what has retired (descriptions after Hinton 2001),
 * and none for each branch; so the front end's becomes a copy of the other one when the branch has
 * retired, and until then nothing of the new path is renamed. The P6 did so: a misprediction stops
 * its renamer until the branch's result is committed (US patent 6,079,014, by its architects); that
 * its successor does is a model choice. Bogus uops stay in the reorder buffer and are cancelled at
 * retirement (Fog 3.4).
 *
 * With two logical processors allocation serves one a clock, in turn; each has its half of the
 * buffers and queues, the registers are shared (Marr 2002). A PAUSE keeps the next uops of its
 * logical processor out for `pause_clocks`, in which the other one has the allocator to itself.
 */
#include "machine.h"

#include <string.h>

#define X87_REGISTERS 8u

static unsigned logical(const struct lp *lp, unsigned reg)
{
    if (reg < NB_REG_ST || reg >= NB_REG_ST + X87_REGISTERS)
        return reg;
    return NB_REG_ST + ((reg - NB_REG_ST + lp->x87_top) & (X87_REGISTERS - 1));
}

static bool is_fp(unsigned reg)
{
    return reg >= NB_REG_ST && reg < NB_REG_TEMP;
}

/* Which resource keeps UOP out, if any. */
enum stall {
    STALL_NONE,
    STALL_ROB,
    STALL_REGISTERS,
    STALL_LOADS,
    STALL_STORES,
    STALL_QUEUE,
    STALL_ORDER
};

static bool memory_uop(const struct nb_uop *uop)
{
    return uop->kind == NB_UOP_LOAD || uop->kind == NB_UOP_STORE_ADDRESS ||
           uop->kind == NB_UOP_PREFETCH;
}

static bool is_store(const struct nb_uop *uop)
{
    return uop->kind == NB_UOP_STORE_ADDRESS || uop->kind == NB_UOP_STORE_DATA;
}

static bool registers_free(const struct nb_machine *m, const struct nb_uop *uop)
{
    if (uop->result == NB_REG_NONE)
        return true;
    if (is_fp(uop->result))
        return m->fp_in_flight + 24 * m->lps <
               m->p.fp_registers; /* 8 x87 or MMX, 8 XMM, 8 spare hold state */
    return m->integer_in_flight + 16 * m->lps < m->p.integer_registers;
}

static bool queue_full(const struct queue *q, uint32_t limit)
{
    return q->tail - q->head >= limit;
}

static enum stall stall_of(const struct nb_machine *m, const struct lp *lp, const struct fetched *f,
                           const struct dyn *d)
{
    const struct nb_uop *uop = f->uop;
    unsigned entries = uop->address_part ? 2 : 1;
    if (lp->rob_tail - lp->rob_head + entries > m->limit.rob)
        return STALL_ROB;
    if (f->first && (d->code->flags & NB_CODE_SERIALIZING) &&
        (lp->rob_head != lp->rob_tail || lp->store_head != lp->store_tail))
        return STALL_ORDER;
    if (!registers_free(m, uop))
        return STALL_REGISTERS;
    if (uop->kind == NB_UOP_LOAD && lp->loads_in_flight >= m->limit.loads)
        return STALL_LOADS;
    if (is_store(uop) && lp->store_tail - lp->store_head >= m->limit.stores &&
        !store_has_entry(lp, f->dyn, f->element, uop))
        return STALL_STORES;
    if (uop->address_part && queue_full(&lp->memory_queue, m->limit.memory_queue))
        return STALL_QUEUE;
    if (memory_uop(uop) ? queue_full(&lp->memory_queue, m->limit.memory_queue)
                        : queue_full(&lp->general_queue, m->limit.general_queue))
        return STALL_QUEUE;
    return STALL_NONE;
}

static void add_source(struct nb_machine *m, struct lp *lp, struct rob_entry *e, uint64_t sequence)
{
    struct rob_entry *producer = rob_at(lp, sequence);
    unsigned slot = e->sources++;
    e->source[slot] = (uint32_t)sequence;
    if (producer->state == ROB_DISPATCHED) {
        e->ready = max64(e->ready, producer->promise + crossing(producer->uop, e->uop));
        return;
    }
    e->next_waiter[slot] = producer->waiter;
    producer->waiter = (uint16_t)((size_t)(e - m->rob) * NB_UOP_SOURCES + slot + 1);
    e->pending++;
}

/* No load goes before an older LFENCE or MFENCE. */
static void wait_for_fence(struct nb_machine *m, struct lp *lp, struct rob_entry *e)
{
    uint64_t fence = lp->rat[NB_REG_LOADS];
    if (e->uop->kind == NB_UOP_LOAD && fence >= lp->rob_head && e->sources < NB_UOP_SOURCES)
        add_source(m, lp, e, fence);
}

static void rename_sources(struct nb_machine *m, struct lp *lp, struct rob_entry *e)
{
    if (e->uop->flags & NB_UOP_BREAKS_DEPENDENCE)
        return;
    unsigned n = e->uop->address_part && !e->companion ? e->uop->data_sources : NB_UOP_SOURCES;
    for (unsigned i = 0; i < n; i++) {
        unsigned reg = e->uop->source[i];
        if (reg == NB_REG_NONE)
            continue;
        uint64_t sequence = lp->rat[logical(lp, reg)];
        if (sequence >= lp->rob_head)
            add_source(m, lp, e, sequence);
    }
}

static void rename_results(struct nb_machine *m, struct lp *lp, const struct rob_entry *e)
{
    const struct nb_uop *uop = e->uop;
    if (uop->result != NB_REG_NONE) {
        lp->rat[logical(lp, uop->result)] = e->sequence;
        if (is_fp(uop->result))
            m->fp_in_flight++;
        else
            m->integer_in_flight++;
    }
    if (uop->result2 != NB_REG_NONE)
        lp->rat[logical(lp, uop->result2)] = e->sequence;
}

/* A register is committed, or its uop thrown out. */
void registers_release(struct nb_machine *m, const struct nb_uop *uop)
{
    if (uop->result == NB_REG_NONE)
        return;
    if (is_fp(uop->result))
        m->fp_in_flight--;
    else
        m->integer_in_flight--;
}

static void x87_before(struct lp *lp, const struct nb_code *code)
{
    if (code->flags & NB_CODE_X87_PUSH)
        lp->x87_top = (uint8_t)((lp->x87_top - 1) & (X87_REGISTERS - 1));
}

static void x87_after(struct lp *lp, const struct nb_code *code)
{
    if (code->flags & NB_CODE_FXCH) {
        uint64_t *a = &lp->rat[logical(lp, NB_REG_ST)];
        uint64_t *b = &lp->rat[logical(lp, NB_REG_ST + code->fxch)];
        uint64_t swap = *a;
        *a = *b;
        *b = swap;
    }
    unsigned pops = code->flags & NB_CODE_X87_POP2 ? 2 : code->flags & NB_CODE_X87_POP ? 1 : 0;
    lp->x87_top = (uint8_t)((lp->x87_top + pops) & (X87_REGISTERS - 1));
}

static void front_end_tag(struct nb_machine *m, struct lp *lp, struct rob_entry *e)
{
    if (e->uop->kind == NB_UOP_LOAD)
        e->front_end_tag = p4pmu_front_end_tag(m->pmu, 1u << 1, e->who);
    else if (e->uop->kind == NB_UOP_STORE_DATA || /* one tag a store: the data uop (model choice) */
             (e->uop->kind == NB_UOP_FENCE && (e->uop->flags & NB_UOP_NON_TEMPORAL)))
        e->front_end_tag = p4pmu_front_end_tag(m->pmu, 1u << 2, e->who);
    if (e->front_end_tag)
        dyn_at(lp, e->dyn)->tagged = true;
}

static void take_buffers(struct lp *lp, struct rob_entry *e)
{
    if (e->uop->kind == NB_UOP_LOAD)
        lp->loads_in_flight++;
    else if (is_store(e->uop))
        store_allocate(lp, e);
}

static void enqueue(struct nb_machine *m, struct lp *lp, const struct rob_entry *e)
{
    struct queue *q = memory_uop(e->uop) ? &lp->memory_queue : &lp->general_queue;
    size_t at = q->tail++ & (NB_QUEUE_RING - 1);
    q->entry[at].rob = (uint16_t)(e - m->rob);
    q->entry[at].scheduler = e->uop->scheduler;
    q->entry[at].eligible = m->now + m->p.rename_stages + 1;
}

/* The rest of E, its times and lists above all, counts for nothing before it is set. */
static void clear_entry(struct rob_entry *e)
{
    e->state = ROB_WAITING;
    e->pending = e->sources = 0;
    e->first = e->last = false;
    e->front_end_tag = e->replay_tag = false;
    e->execution_tags = 0;
    e->waiter = 0;
    e->ready = 0;
    e->valid = e->complete = NB_NEVER;
}

static struct rob_entry *enter(struct nb_machine *m, struct lp *lp, const struct fetched *f,
                               const struct dyn *d, const struct nb_uop *uop, bool companion)
{
    uint64_t sequence = lp->rob_tail++;
    struct rob_entry *e = rob_at(lp, sequence);
    clear_entry(e);
    e->uop = uop;
    e->sequence = sequence;
    e->age = m->age++;
    e->dyn = f->dyn;
    e->element = f->element;
    e->lp = lp->number;
    e->who = d->who;
    e->bogus = d->bogus;
    e->companion = companion;
    rename_sources(m, lp, e);
    wait_for_fence(m, lp, e);
    rename_results(m, lp, e);
    take_buffers(lp, e);
    enqueue(m, lp, e);
    return e;
}

static void allocate(struct nb_machine *m, struct lp *lp, const struct fetched *f,
                     const struct dyn *d)
{
    if (f->first)
        x87_before(lp, d->code);
    if (f->uop->address_part)
        enter(m, lp, f, d, f->uop->address_part, true);
    struct rob_entry *e = enter(m, lp, f, d, f->uop, false);
    e->first = f->first;
    e->last = f->last;
    front_end_tag(m, lp, e);
    if (!f->last)
        return;
    x87_after(lp, d->code);
    if (d->code->flags & NB_CODE_PAUSE)
        lp->allocate_next = m->now + m->p.pause_clocks;
}

static void show_stall(struct nb_machine *m, struct lp *lp, bool stores)
{
    if (stores == lp->stall_posted)
        return;
    lp->stall_posted = stores;
    p4pmu_level(m->pmu, P4PMU_EV_resource_stall, 1u << 5, lp->who, stores);
}

/* The branch whose path goes on here has retired: all that is in flight is bogus, so every register
 * is where the retirement table says. */
static bool table_back(struct lp *lp)
{
    if ((int32_t)(lp->dyn_retired - lp->table_back_dyn) <= 0)
        return false;
    memset(lp->rat, 0, sizeof lp->rat);
    lp->x87_top = lp->retired_x87_top;
    lp->table_lost = false;
    return true;
}

static nb_clock allocate_some(struct nb_machine *m, struct lp *lp)
{
    nb_clock next = m->now + 1;
    enum stall stall = STALL_NONE;
    if (lp->table_lost && !table_back(lp)) {
        show_stall(m, lp, false);
        return NB_NEVER; /* until it retires */
    }
    for (unsigned n = 0; n < m->p.allocate_width; n++) {
        if (lp->fetched_head == lp->fetched_tail) {
            next = NB_NEVER;
            break;
        }
        const struct fetched *f = &lp->fetched[lp->fetched_head & (NB_QUEUE_RING - 1)];
        if (f->ready > m->now) {
            next = f->ready;
            break;
        }
        if (lp->allocate_next > m->now) {
            next = lp->allocate_next;
            break;
        }
        const struct dyn *d = dyn_at(lp, f->dyn);
        stall = stall_of(m, lp, f, d);
        if (stall != STALL_NONE) {
            next = NB_NEVER; /* until another stage frees it */
            break;
        }
        allocate(m, lp, f, d);
        m->active = true;
        lp->fetched_head++;
    }
    show_stall(m, lp, stall == STALL_STORES);
    return next;
}

nb_clock allocate_cycle(struct nb_machine *m)
{
    return take_turns(m, allocate_some);
}
