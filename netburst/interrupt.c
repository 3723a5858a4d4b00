/*
 * Interrupts and page faults: what is younger is thrown out, the entry's microcode runs, the input
 * gives the handler's instructions at CPL 0, and after its IRET what was thrown out is fetched
 * again.
 *
 * The monitoring hardware's request reaches the core through the local APIC after `apic_clocks`
 * (model choice). An interrupt is taken at the first instruction boundary of retirement, or between
 * two elements of a repeated string instruction, which starts again with the rest (and counts again
 * as an instruction, SDM instr_retired). A fault is taken when its instruction is the oldest: the
 * instruction starts (and counts as retired: Weaver 2013 finds one more for each page fault) but
 * does not complete. Handlers run with interrupts off; what arrives meanwhile waits for their IRET.
 * After an IRET something of the program retires before the next interrupt, so that a source
 * that asks all the time leaves the program alive (model choice). Not modelled: priorities, NMI
 * inside a handler, faults of wrong-path accesses (they are dropped on the part, too).
 */
#include "machine.h"

#include <string.h>

void interrupts_reset(struct lp *lp)
{
    lp->irq.due = lp->irq.monitoring_at = NB_NEVER;
    for (unsigned i = 0; i < NB_REQUESTS; i++)
        lp->irq.request[i].when = NB_NEVER;
}

static void find_due(struct interrupts *irq)
{
    irq->due = irq->monitoring ? irq->monitoring_at : NB_NEVER;
    for (unsigned i = 0; i < NB_REQUESTS; i++)
        irq->due = min64(irq->due, irq->request[i].when);
}

bool nb_interrupt_request(struct nb_machine *m, unsigned lp, unsigned vector, uint64_t when)
{
    struct interrupts *irq = &m->lp[lp % NB_LPS].irq;
    for (unsigned i = 0; i < NB_REQUESTS; i++) {
        if (irq->request[i].when != NB_NEVER)
            continue;
        irq->request[i].when = when;
        irq->request[i].vector = vector;
        find_due(irq);
        return true;
    }
    return false;
}

/* Whether LP has anything an interrupt could come between. */
static bool runs(const struct lp *lp)
{
    return lp->input.interrupt && (lp->fe.wait != FE_END || !lp_drained(lp));
}

/* The local APIC: the monitoring hardware's requests set out. The next clock in which an interrupt
 * arrives. */
nb_clock interrupts_cycle(struct nb_machine *m)
{
    nb_clock next = NB_NEVER;
    for (unsigned i = 0; i < m->lps; i++) {
        struct interrupts *irq = &m->lp[i].irq;
        if (!irq->monitoring && p4pmu_interrupt(m->pmu, i) && m->lp[i].input.interrupt) {
            irq->monitoring = true;
            irq->monitoring_at = m->now + m->p.apic_clocks;
            find_due(irq);
        }
        if (!irq->handling && irq->due > m->now && runs(&m->lp[i]))
            next = min64(next, irq->due);
    }
    return next;
}

/* Clocks that are passed in one step must not pass over a request: how many of N may be. No fact of
 * the clock still open may be outstanding. */
uint64_t interrupts_quiet(const struct nb_machine *m, uint64_t n)
{
    enum { MASKED = 1 << 16 };
    bool listens = false;
    for (unsigned i = 0; i < m->lps; i++) {
        if (!m->lp[i].input.interrupt || m->lp[i].irq.monitoring)
            continue;
        if (p4pmu_interrupt(m->pmu, i))
            return 0;
        listens |= !(p4pmu_lvt(m->pmu, i) & MASKED);
    }
    return listens ? min64(n, p4pmu_quiet_clocks(m->pmu)) : n;
}

/* ---- taking ------------------------------------------------------------------------------------
 */

/* The element of its string instruction at which LP's oldest uop begins, when an interrupt may come
 * before it: 0 for an instruction's first uop. */
static bool boundary(struct lp *lp, uint32_t *element)
{
    *element = 0;
    if (!lp->irq.inside)
        return true;
    if (lp->rob_head == lp->rob_tail)
        return false;
    const struct rob_entry *e = rob_at(lp, lp->rob_head);
    const struct nb_code *code = dyn_at(lp, e->dyn)->code;
    const struct nb_uop *body = &code->uops[code->uop_count];
    const struct nb_uop *tail = body + (code->tail_count ? code->body_count : 0);
    if (e->bogus || e->element == 0 ||
        (e->uop != (body->address_part ? body->address_part : body) &&
         e->uop != (tail->address_part ? tail->address_part : tail)))
        return false;
    *element = e->element;
    return true;
}

/* IN goes on with ELEMENT: the elements before it are done. */
static void skip_elements(struct nb_instruction *in, uint32_t element)
{
    if (element >= in->repetitions)
        element = in->repetitions;
    in->repetitions -= element;
    in->flags &= (uint8_t)~NB_INSTRUCTION_BOUNDARY; /* it has begun */
    for (unsigned i = 0; i < in->access_count; i++) {
        uint64_t done = (uint64_t)element * in->access[i].size;
        in->access[i].address += in->flags & NB_INSTRUCTION_BACKWARD ? 0 - done : done;
    }
}

/* What was thrown out waits for the handler's end, in front of what waits already. */
static void hold(struct lp *lp)
{
    struct interrupts *irq = &lp->irq;
    struct nb_instruction *again = lp->refetch;
    uint32_t n = lp->refetch_count;
    while (irq->held_count && n < NB_DYN_RING) {
        again[n++] = irq->held[irq->held_head++];
        irq->held_count--;
    }
    memcpy(irq->held, again, n * sizeof again[0]);
    irq->held_head = 0;
    irq->held_count = n;
    lp->refetch_count = lp->refetch_head = 0;
    irq->held_sync |= lp->sync_due;
    lp->sync_due = false;
}

/* The pipeline is empty: the entry's flow begins. */
static void enter(struct nb_machine *m, struct lp *lp, enum nb_interrupt_kind kind, unsigned vector)
{
    struct interrupts *irq = &lp->irq;
    struct nb_interrupt taken = {.kind = kind, .vector = vector, .ip = irq->ip};
    if (irq->held_count) {
        taken.before = &irq->held[irq->held_head];
        taken.ip = taken.before->ip;
    }
    uint64_t handler = lp->input.interrupt(lp->input.context, &taken);
    lp_wake(m, lp);
    show_clear(m, lp, 0);
    flow_insert(m, lp, FLOW_INTERRUPT,
                &(struct nb_instruction){.repetitions = 1,
                                         .ip = taken.ip,
                                         .next_ip = handler,
                                         .process = lp->fe.process,
                                         .flags = NB_INSTRUCTION_KERNEL});
    irq->handling = irq->handler_open = true;
    m->active = true;
}

/* The earliest of the interrupts that have arrived; its vector. */
static enum nb_interrupt_kind accept(struct nb_machine *m, struct lp *lp, unsigned *vector)
{
    struct interrupts *irq = &lp->irq;
    unsigned first = NB_REQUESTS;
    nb_clock when = irq->monitoring ? irq->monitoring_at : NB_NEVER;
    for (unsigned i = 0; i < NB_REQUESTS; i++) {
        if (irq->request[i].when < when) {
            when = irq->request[i].when;
            first = i;
        }
    }
    if (first == NB_REQUESTS) {
        irq->monitoring = false;
        *vector = p4pmu_accept(m->pmu, lp->number) & 0xFF;
    } else {
        irq->request[first].when = NB_NEVER;
        *vector = irq->request[first].vector;
    }
    find_due(irq);
    return first == NB_REQUESTS ? NB_INTERRUPT_MONITORING : NB_INTERRUPT_REQUESTED;
}

/* An interrupt that has arrived is taken now if it can be. */
bool interrupt_take(struct nb_machine *m, struct lp *lp)
{
    uint32_t element;
    unsigned vector;
    if (lp->irq.handling || !runs(lp) || !boundary(lp, &element))
        return false;
    if (lp->irq.returned && lp->fe.wait != FE_IDLE)
        return false;
    if (element)
        skip_elements(&dyn_at(lp, lp->dyn_retired)->in, element);
    throw_out(m, lp, lp->dyn_retired - 1);
    lp->irq.inside = false;
    hold(lp);
    enum nb_interrupt_kind kind = accept(m, lp, &vector);
    lp->stats.interrupts++;
    enter(m, lp, kind, vector);
    return true;
}

/* DYN, the oldest instruction, meets a page fault. */
bool interrupt_fault(struct nb_machine *m, struct lp *lp, uint32_t dyn)
{
    struct dyn *d = dyn_at(lp, dyn);
    if (!lp->input.interrupt || lp->irq.handling)
        return false;
    d->in.faults--;
    throw_out(m, lp, dyn - 1);
    hold(lp);
    lp->stats.page_faults++;
    enter(m, lp, NB_PAGE_FAULT, NB_VECTOR_PAGE_FAULT);
    return true;
}

/* The handler's IRET has retired. */
void interrupt_return(struct nb_machine *m, struct lp *lp)
{
    lp->irq.handling = false;
    lp->irq.returned = true;
    lp->stats.handler_clocks += m->now - lp->irq.since;
}

/* The next instruction when a handler runs or has run: *DONE tells that there was one to give, or
 * that the input has none now. */
enum nb_input_result interrupt_pull(struct lp *lp, struct nb_instruction *in, bool *done)
{
    struct interrupts *irq = &lp->irq;
    *done = true;
    if (irq->handler_open) {
        if (lp->sync_due && !lp_drained(lp))
            return NB_INPUT_SYNC;
        enum nb_input_result result = lp->input.next(lp->input.context, in);
        lp->sync_due = result == NB_INPUT_SYNC;
        if (result == NB_INPUT_OK && (in->flags & NB_INSTRUCTION_HANDLER_END)) {
            irq->handler_open = false;
            lp->sync_due = irq->held_sync;
            irq->held_sync = false;
        }
        return result;
    }
    *done = irq->held_count != 0;
    if (*done) {
        *in = irq->held[irq->held_head++];
        irq->held_count--;
    }
    return NB_INPUT_OK;
}
