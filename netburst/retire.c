/*
 * Retirement: three uops a clock, in order, right-path and bogus alike; a taken branch must be the
 * first of its group (Agner 5.7). Here the at-retirement events are posted.
 *
 * instr_retired counts an instruction when its first uop retires (SDM: starts, not completions);
 * forms documented to count twice do. A far transfer counts as a branch (Weaver: system calls do)
 * and as predicted (model choice). What is due between two instructions begins here: interrupts and
 * faults (interrupt.c), microcode flows (flow.c), machine clears (clear.c).
 */
#include "machine.h"

#define MMNP               (1u << 0)
#define MMNM               (1u << 1)
#define MMTP               (1u << 2)
#define MMTM               (1u << 3)
#define TYPE_UNCONDITIONAL (1u << 0)
#define TYPE_CONDITIONAL   (1u << 1)
#define TYPE_CALL          (1u << 2)
#define TYPE_RETURN        (1u << 3)
#define TYPE_INDIRECT      (1u << 4)
#define SSE_ASSIST_ALL     (1u << 15)

/* What one clock's group of uops, all of one logical processor and CPL, adds up to. */
struct group {
    unsigned who;
    unsigned uops[2];            /* right path, bogus */
    unsigned instructions[2][2]; /* right path or bogus; untagged, tagged */
    unsigned completed[2];       /* instructions whose last uop retired */
    unsigned front_end[2], replay[2];
    bool started; /* an instruction began and met a fault */
};

static unsigned branch_type(enum nb_branch branch)
{
    switch (branch) {
    case NB_BRANCH_CONDITIONAL:
        return TYPE_CONDITIONAL;
    case NB_BRANCH_JUMP:
        return TYPE_UNCONDITIONAL;
    case NB_BRANCH_CALL:
        return TYPE_CALL;
    case NB_BRANCH_RETURN:
        return TYPE_RETURN | TYPE_INDIRECT;
    case NB_BRANCH_INDIRECT_CALL:
        return TYPE_CALL | TYPE_INDIRECT;
    case NB_BRANCH_INDIRECT_JUMP:
        return TYPE_INDIRECT;
    case NB_BRANCH_NONE:
    case NB_BRANCH_FAR:
        break;
    }
    return 0;
}

/* Branch records: the last-branch stack, and the branch trace store with its flow. */
static void record_branch(struct nb_machine *m, struct lp *lp, const struct dyn *d)
{
    struct p4pmu_branch branch = {
        .from = d->in.ip,
        .to = d->in.next_ip,
        .cpl = d->who & 3,
        .predicted = !d->mispredicted,
        .kind = d->flow ? P4PMU_INTERRUPT_OR_EXCEPTION : P4PMU_BRANCH,
    };
    struct nb_instruction *flow = &lp->after.flow[FLOW_BRANCH_RECORD];
    if (!lp->input.branch) {
        p4pmu_branch(m->pmu, lp->number, &branch);
        return;
    }
    *flow = (struct nb_instruction){.ip = d->in.next_ip,
                                    .process = d->in.process,
                                    .flags = d->in.flags & NB_INSTRUCTION_KERNEL};
    if (lp->input.branch(lp->input.context, &branch, &d->in, flow))
        lp->after.any = lp->after.flow_due[FLOW_BRANCH_RECORD] = true;
}

static void retire_branch(struct nb_machine *m, struct lp *lp, const struct dyn *d)
{
    enum nb_branch branch = (enum nb_branch)d->code->branch;
    lp->stats.branches++;
    lp->stats.mispredicted_branches += d->mispredicted;
    unsigned direction =
        d->taken ? (d->mispredicted ? MMTM : MMTP) : (d->mispredicted ? MMNM : MMNP);
    post(m, d->who, P4PMU_EV_branch_retired, direction, 1);
    post(m, d->who, P4PMU_EV_retired_branch_type, branch_type(branch), 1);
    if (d->mispredicted) {
        post(m, d->who, P4PMU_EV_mispred_branch_retired, 1u << 0, 1);
        post(m, d->who, P4PMU_EV_retired_mispred_branch_type, branch_type(branch), 1);
    }
    predict_retire(m, lp, d);
    if (branch != NB_BRANCH_FAR)
        lp->retired_branch = (struct retired_branch){d->code, d->history, d->return_top, d->taken};
    if (d->taken && p4pmu_branches_wanted(m->pmu, lp->number))
        record_branch(m, lp, d);
}

/* Whether PEBS waits for one of the tags of E. */
static bool precise_wanted(const struct nb_machine *m, const struct rob_entry *e)
{
    return (e->replay_tag && p4pmu_pebs_wants(m->pmu, P4PMU_EV_replay_event, 1u << 0, e->who)) ||
           (e->front_end_tag &&
            p4pmu_pebs_wants(m->pmu, P4PMU_EV_front_end_event, 1u << 0, e->who)) ||
           (e->execution_tags &&
            p4pmu_pebs_wants(m->pmu, P4PMU_EV_execution_event, e->execution_tags, e->who));
}

static void retire_tags(struct nb_machine *m, struct rob_entry *e, const struct dyn *d,
                        struct group *g)
{
    if (d->mispredicted && e->uop->kind == NB_UOP_BRANCH && !e->bogus &&
        p4pmu_replay_tag(m->pmu, P4PMU_REPLAY_MISPREDICT, false, e->who))
        e->replay_tag = true;
    g->front_end[e->bogus] += e->front_end_tag;
    g->replay[e->bogus] += e->replay_tag;
    if (!(e->front_end_tag | e->replay_tag | e->execution_tags))
        return;
    if (e->execution_tags)
        post(m, d->who, P4PMU_EV_execution_event,
             e->bogus ? (unsigned)e->execution_tags << 4 : e->execution_tags, 1);
    if (!e->bogus && precise_wanted(m, e))
        lp_of(m, e)->after.precise = true;
}

static void retire_memory(struct nb_machine *m, struct lp *lp, struct rob_entry *e,
                          const struct dyn *d)
{
    if (e->uop->kind == NB_UOP_LOAD) {
        lp->loads_in_flight--;
        lp->stats.loads += !e->bogus;
        return;
    }
    if (e->uop->kind != NB_UOP_STORE_ADDRESS && e->uop->kind != NB_UOP_STORE_DATA)
        return;
    uint64_t linear;
    if (!e->bogus && uop_access(m, e, &linear) && smc_hits(m, d->in.process, linear))
        lp->clear_after_instruction = true;
    lp->stats.stores += !e->bogus && e->uop->kind == NB_UOP_STORE_DATA;
    store_retire(lp, e);
}

static void follow_x87_top(struct lp *lp, const struct nb_code *code)
{
    unsigned top = lp->retired_x87_top;
    top -= (code->flags & NB_CODE_X87_PUSH) != 0;
    top += code->flags & NB_CODE_X87_POP2 ? 2u : (code->flags & NB_CODE_X87_POP) != 0;
    lp->retired_x87_top = (uint8_t)(top & 7);
}

/* Microcode between two instructions is done. */
static void retire_flow(struct nb_machine *m, struct lp *lp, struct dyn *d)
{
    if (d->flow == FLOW_INTERRUPT) {
        d->taken = true;
        retire_branch(m, lp, d);
    } else {
        lp->stats.assist_clocks += m->now - lp->after.since;
    }
}

/* Operands or results that the units cannot handle. */
static void ask_assist(struct nb_machine *m, struct lp *lp, const struct dyn *d)
{
    unsigned x87 = d->in.assist & 0x1Fu;
    if (x87)
        post(m, d->who, P4PMU_EV_x87_assist, x87, 1);
    if (d->in.assist & NB_ASSIST_SSE)
        post(m, d->who, P4PMU_EV_SSE_input_assist, SSE_ASSIST_ALL, 1);
    lp->after.flow[FLOW_ASSIST] =
        (struct nb_instruction){.repetitions = 1,
                                .ip = d->in.next_ip,
                                .process = d->in.process,
                                .flags = d->in.flags & NB_INSTRUCTION_KERNEL};
    lp->after.any = lp->after.flow_due[FLOW_ASSIST] = true;
}

static void retire_instruction(struct nb_machine *m, struct lp *lp, struct dyn *d)
{
    if (d->flow) {
        retire_flow(m, lp, d);
        return;
    }
    lp->stats.instructions++;
    lp->stats.approximate_instructions += (d->code->flags & NB_CODE_APPROXIMATE) != 0;
    follow_x87_top(lp, d->code);
    if (d->code->branch != NB_BRANCH_NONE)
        retire_branch(m, lp, d);
    if (d->in.assist)
        ask_assist(m, lp, d);
    if (d->in.flags & NB_INSTRUCTION_HANDLER_END)
        interrupt_return(m, lp);
}

/* The PEBS assist: the record has the registers as before the instruction; its flow follows. */
static void ask_precise(struct nb_machine *m, struct lp *lp, const struct dyn *d)
{
    struct nb_instruction *flow = &lp->after.flow[FLOW_PRECISE];
    lp->after.precise = false;
    *flow = (struct nb_instruction){.ip = d->in.next_ip,
                                    .process = d->in.process,
                                    .flags = d->in.flags & NB_INSTRUCTION_KERNEL};
    if (lp->input.precise && lp->input.precise(lp->input.context, &d->in, flow))
        lp->after.any = lp->after.flow_due[FLOW_PRECISE] = true;
    (void)m;
}

/* The oldest uop, which is complete, cannot retire: its instruction meets a page fault. The
 * instruction has started (instr_retired) and will again. */
static bool page_fault(struct nb_machine *m, struct lp *lp, const struct rob_entry *e,
                       struct group *g)
{
    const struct dyn *d = dyn_at(lp, e->dyn);
    if (!e->first || e->bogus || !d->in.faults || d->flow)
        return false;
    unsigned tagged = d->tagged;
    if (!interrupt_fault(m, lp, e->dyn))
        return false;
    g->instructions[0][tagged]++;
    g->started = true;
    return true;
}

static void retire_uop(struct nb_machine *m, struct lp *lp, struct rob_entry *e, struct group *g)
{
    struct dyn *d = dyn_at(lp, e->dyn);
    g->uops[e->bogus] += !e->companion;
    if (e->first && !d->flow)
        g->instructions[e->bogus][d->tagged] += d->code->flags & NB_CODE_RETIRES_TWICE ? 2u : 1u;
    retire_tags(m, e, d, g);
    registers_release(m, e->uop);
    retire_memory(m, lp, e, d);
    lp->rob_head++;
    lp->dyn_retired = e->dyn + (e->last ? 1u : 0u);
    g->completed[e->bogus] += e->last && !d->flow;
    lp->irq.inside = !e->last && !e->bogus;
    lp->irq.returned &= e->bogus;
    if (!e->last || e->bogus) {
        if (e->last && (d->in.assist & NB_ASSIST_SSE)) /* asked for, and nobody helps */
            post(m, d->who, P4PMU_EV_SSE_input_assist, SSE_ASSIST_ALL, 1);
        return;
    }
    uint32_t dyn = e->dyn;
    lp->irq.ip = d->in.next_ip;
    if (lp->after.precise)
        ask_precise(m, lp, d);
    retire_instruction(m, lp, d);
    if (lp->clear_after_instruction) {
        lp->clear_after_instruction = false;
        machine_clear(m, lp, dyn, NB_CLEAR_SELF_MODIFYING);
    } else if (lp->dyn_retired != lp->dyn_fetched && dyn_at(lp, lp->dyn_retired)->order_violated) {
        machine_clear(m, lp, dyn, NB_CLEAR_MEMORY_ORDER);
    }
    if (lp->after.any)
        flow_next(m, lp, lp->dyn_retired - 1);
}

static void post_group(struct nb_machine *m, const struct group *g)
{
    for (unsigned bogus = 0; bogus < 2; bogus++) {
        if (!g->uops[bogus] && !(g->started && !bogus))
            continue;
        if (g->uops[bogus])
            post(m, g->who, P4PMU_EV_uops_retired, 1u << bogus, g->uops[bogus]);
        for (unsigned tagged = 0; tagged < 2; tagged++)
            if (g->instructions[bogus][tagged])
                post(m, g->who, P4PMU_EV_instr_retired, 1u << (2 * bogus + tagged),
                     g->instructions[bogus][tagged]);
        if (g->completed[bogus])
            post(m, g->who, P4PMU_EV_instr_completed, 1u << bogus, g->completed[bogus]);
        if (g->front_end[bogus])
            post(m, g->who, P4PMU_EV_front_end_event, 1u << bogus, g->front_end[bogus]);
        if (g->replay[bogus])
            post(m, g->who, P4PMU_EV_replay_event, 1u << bogus, g->replay[bogus]);
    }
}

static void finish_group(struct nb_machine *m, struct lp *lp, const struct group *g)
{
    lp->stats.uops += g->uops[0];
    lp->stats.bogus_uops += g->uops[1];
    post_group(m, g);
}

/* One uop, a group of its own: what it adds is posted as its instruction's. */
static void retire_named(struct nb_machine *m, struct lp *lp, struct rob_entry *e)
{
    struct group alone = {.who = e->who};
    facts_of(m, dyn_at(lp, e->dyn));
    uint64_t origin = m->origin;
    retire_uop(m, lp, e, &alone);
    facts_from(m, origin);
    finish_group(m, lp, &alone);
    facts_of(m, NULL);
}

/* Does its input want to know when this uop's instruction begins to retire? */
static bool at_boundary(struct nb_machine *m, const struct rob_entry *e)
{
    return e->first && !e->bogus && (dyn_of(m, e)->in.flags & NB_INSTRUCTION_BOUNDARY);
}

static bool must_be_first(struct nb_machine *m, const struct rob_entry *e, const struct group *g)
{
    return e->who != g->who || at_boundary(m, e) ||
           (e->uop->kind == NB_UOP_BRANCH && !e->bogus && dyn_of(m, e)->taken);
}

static nb_clock retire_some(struct nb_machine *m, struct lp *lp)
{
    struct group g = {0};
    unsigned n = 0;
    bool any = false;
    nb_clock next = NB_NEVER;
    if (lp->irq.due <= m->now && interrupt_take(m, lp))
        return m->now + 1;
    while (n < m->p.retire_width && lp->rob_head < lp->rob_tail) {
        struct rob_entry *e = rob_at(lp, lp->rob_head);
        if (e->complete > m->now) {
            next = e->complete;
            break;
        }
        if (n && must_be_first(m, e, &g))
            break;
        g.who = e->who;
        any = true;
        if (page_fault(m, lp, e, &g))
            break;
        if (at_boundary(m, e))
            lp->input.boundary(lp->input.context);
        n += !e->companion;
        if (m->origins)
            retire_named(m, lp, e);
        else
            retire_uop(m, lp, e, &g);
    }
    if (!any)
        return next;
    m->active = true;
    open_ports(m);
    lp->last_retire = m->now;
    finish_group(m, lp, &g);
    return m->now + 1;
}

nb_clock retire_cycle(struct nb_machine *m)
{
    return take_turns(m, retire_some);
}
