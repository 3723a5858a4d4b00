/*
 * Microcode flows that stand between two instructions: the entry of an interrupt or fault, and the
 * assists (an operand or result the units cannot handle, the store of a PEBS or a branch record).
 *
 * What is younger is thrown out, the flow's uops come from the microcode ROM and retire; then fetch
 * goes on. They count as uops and, for an entry, as a branch (Weaver 2013: interrupts and page
 * faults count), not as instructions. An entry is the flow of INT (84 uops from the ROM and 644
 * clocks on Northwood: Agner Fog, Instruction tables), whose pushes and descriptor reads are in
 * that time. An assist waits `assist_clocks` (model choice: unpublished) and then does its memory
 * accesses one by one. Not modelled: an assist takes the place of the uop that asked for it; here
 * it follows the instruction.
 */
#include "machine.h"

enum { READ_FIELDS, READ_RESET };   /* accesses of a record's flow, reads */
enum { WRITE_RECORD, WRITE_INDEX }; /* ... and writes */

static struct nb_uop *append(struct flow_code *flow, enum nb_uop_kind kind,
                             enum nb_scheduler scheduler)
{
    struct nb_uop *uop = &flow->uops[flow->code.uop_count + flow->code.body_count];
    *uop = (struct nb_uop){.kind = (uint8_t)kind,
                           .scheduler = (uint8_t)scheduler,
                           .domain = NB_DOMAIN_ALU,
                           .flags = NB_UOP_FROM_ROM,
                           .latency = 1,
                           .busy = 2,
                           .source = {NB_REG_TEMP, NB_REG_NONE, NB_REG_NONE, NB_REG_NONE},
                           .result = NB_REG_NONE,
                           .result2 = NB_REG_NONE};
    return uop;
}

/* The uop all others wait for. */
static void begin(struct nb_machine *m, struct flow_code *flow)
{
    flow->code = (struct nb_code){.uops = flow->uops, .flags = NB_CODE_COMPLEX};
    struct nb_uop *uop = append(flow, NB_UOP_ALU, NB_SCHED_SLOW);
    uop->source[0] = NB_REG_NONE;
    uop->result = NB_REG_TEMP;
    uop->latency = (uint16_t)(2 * m->p.assist_clocks);
    flow->code.uop_count++;
}

static void add_load(struct flow_code *flow, uint8_t access)
{
    struct nb_uop *uop = append(flow, NB_UOP_LOAD, NB_SCHED_MEMORY);
    uop->domain = NB_DOMAIN_LOAD;
    uop->unit = NB_UNIT_LOAD;
    uop->latency = 0;
    uop->access = access;
    uop->result = (uint8_t)(NB_REG_TEMP + 1 + access);
    flow->code.uop_count++;
}

/* A store's two uops; COUNT is that of the flow's head or body. */
static void add_store(struct flow_code *flow, uint8_t access, uint16_t *count)
{
    struct nb_uop *address = append(flow, NB_UOP_STORE_ADDRESS, NB_SCHED_MEMORY);
    address->domain = NB_DOMAIN_LOAD;
    address->latency = 2;
    address->access = access;
    address->source[1] = NB_REG_TEMP + 1;
    (*count)++;
    struct nb_uop *data = append(flow, NB_UOP_STORE_DATA, NB_SCHED_FAST0);
    data->unit = NB_UNIT_STORE;
    data->latency = 2;
    data->access = access;
    (*count)++;
}

/* Fields read, index written, then the record's words, each a store. */
static void make_record(struct nb_machine *m, struct flow_code *flow, bool reset)
{
    begin(m, flow);
    add_load(flow, READ_FIELDS);
    if (reset)
        add_load(flow, READ_RESET);
    add_store(flow, WRITE_INDEX, &flow->code.uop_count);
    add_store(flow, WRITE_RECORD, &flow->code.body_count);
    flow->code.body_elements = 1;
    flow->code.flags |= NB_CODE_REPEATS;
}

static bool make_entry(struct nb_machine *m)
{
    static const uint8_t interrupt[] = {0xCD, 0x20};
    return nb_decode(m->decoder[0], interrupt, sizeof interrupt, 0, &m->flow[FLOW_INTERRUPT].code);
}

bool flow_init(struct nb_machine *m)
{
    begin(m, &m->flow[FLOW_ASSIST]);
    make_record(m, &m->flow[FLOW_PRECISE], true);
    make_record(m, &m->flow[FLOW_BRANCH_RECORD], false);
    return make_entry(m);
}

static uint64_t uops_of(const struct nb_code *code, uint32_t repetitions)
{
    return code->uop_count + (uint64_t)code->body_count * repetitions;
}

/* FLOW comes next; nothing younger than what has retired is in the pipeline. */
void flow_insert(struct nb_machine *m, struct lp *lp, enum flow flow,
                 const struct nb_instruction *in)
{
    struct front_end *fe = &lp->fe;
    const struct nb_code *code = &m->flow[flow].code;
    fe_restart(m, lp, in->ip, in->process);
    lp_privilege(m, lp, in->flags & NB_INSTRUCTION_KERNEL);
    struct dyn *d = dyn_at(lp, lp->dyn_fetched);
    *d = (struct dyn){.code = code, .in = *in, .who = lp->who, .flow = (uint8_t)flow};
    while (d->reads < in->access_count && !in->access[d->reads].write)
        d->reads++;
    fe->dyn = lp->dyn_fetched++;
    fe->has_dyn = true;
    fe->total = uops_of(code, in->repetitions);
    fe_enter_rom(m, lp);
    fe->busy_until = max64(fe->busy_until, m->now + m->p.clear_clocks);
    lp->irq.since = flow == FLOW_INTERRUPT ? m->now : lp->irq.since;
    lp->after.since = m->now;
}

/* A flow that is due behind LAST, which has just retired, begins; false when none is. */
bool flow_next(struct nb_machine *m, struct lp *lp, uint32_t last)
{
    for (unsigned flow = 0; flow < FLOWS; flow++) {
        if (!lp->after.flow_due[flow])
            continue;
        lp->after.flow_due[flow] = false;
        lp->after.any = false;
        for (unsigned other = 0; other < FLOWS; other++)
            lp->after.any |= lp->after.flow_due[other];
        throw_out(m, lp, last);
        show_clear(m, lp, 0);
        flow_insert(m, lp, (enum flow)flow, &lp->after.flow[flow]);
        lp->stats.assists++;
        return true;
    }
    return false;
}
