/*
 * The machine as a whole: one clock, the clocks in which nothing can happen, start and end.
 *
 * One clock calls the stages, last stage first, so that what a stage frees is there for the stage
 * before it in the same clock and what it produces reaches the next stage in a later one. Each
 * stage returns the next clock in which it may have work, NB_NEVER when it waits for another stage.
 * When no stage did anything, the clocks up to the earliest of these are passed in one step: in
 * them, nothing can happen.
 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The mispredicted branch's outcome reaches the front end. */
static void resolve_misprediction(struct nb_machine *m)
{
    const struct dyn *d = dyn_at(m, m->misprediction_dyn);
    m->misprediction = false;
    m->resolve_at = NB_NEVER;
    m->bp.history = d->history;
    predict_follow(m, d->code, d->taken);
    m->bp.return_top = d->return_top;
    rename_restore(m);
    fe_restart(m, d->in.next_ip, d->in.process);
    m->active = true;
}

/* One core clock; the next one in which something can happen. */
static nb_clock clock_cycle(struct nb_machine *m)
{
    m->active = false;
    nb_clock next = bus_cycle(m);
    if (m->resolve_at <= m->now)
        resolve_misprediction(m);
    next = min64(next, retire_cycle(m));
    next = min64(next, store_cycle(m));
    next = min64(next, dispatch_cycle(m));
    next = min64(next, schedule_cycle(m));
    next = min64(next, allocate_cycle(m));
    next = min64(next, fe_cycle(m));
    next = min64(next, m->resolve_at);
    return m->active ? m->now + 1 : max64(next, m->now + 1);
}

static bool finished(const struct nb_machine *m)
{
    return m->fe.wait == FE_END && m->rob_head == m->rob_tail &&
           m->fetched_head == m->fetched_tail && m->store_head == m->store_tail;
}

static const char *const kind_names[] = {"alu",        "branch",   "load",  "store address",
                                         "store data", "prefetch", "fence", "nop"};

static void report_stuck(struct nb_machine *m)
{
    char oldest[400] = "no uop in the reorder buffer";
    if (m->rob_head < m->rob_tail) {
        const struct rob_entry *e = rob_at(m, m->rob_head);
        const struct dyn *d = dyn_at(m, e->dyn);
        snprintf(
            oldest, sizeof oldest,
            "oldest uop %llu is a %s of the instruction at 0x%llx (%s), state %u, waits for %u "
            "sources, complete at clock %lld",
            (unsigned long long)m->rob_head, kind_names[e->uop->kind],
            (unsigned long long)d->code->ip, e->bogus ? "wrong path" : "right path", e->state,
            e->pending, (long long)e->complete);
    }
    snprintf(m->report, sizeof m->report,
             "nothing retired since clock %llu (now %llu): %s; uop queue %llu, memory queue %llu, "
             "general queue %llu, store buffer %llu, front end mode %u wait %u",
             (unsigned long long)m->last_retire, (unsigned long long)m->now, oldest,
             (unsigned long long)(m->fetched_tail - m->fetched_head),
             (unsigned long long)(m->memory_queue.tail - m->memory_queue.head),
             (unsigned long long)(m->general_queue.tail - m->general_queue.head),
             (unsigned long long)(m->store_tail - m->store_head), (unsigned)m->fe.mode,
             (unsigned)m->fe.wait);
    m->stop = NB_STOP_STUCK;
    m->stopped = true;
}

static void pass_clocks(struct nb_machine *m, nb_clock next)
{
    uint64_t n = next - m->now;
    p4pmu_clocks(m->pmu, n);
    m->now = next;
    m->stats.clocks += n;
    m->stats.skipped_clocks += n - 1;
}

/* What ends a call of nb_run besides its limit; true when the machine stands. */
static bool ended(struct nb_machine *m, nb_clock next)
{
    if (m->out_of_memory) {
        m->stop = NB_STOP_NO_MEMORY;
        return true;
    }
    if (finished(m)) {
        if (!m->stopped)
            m->stop = NB_STOP_END;
        return true;
    }
    if (next == NB_NEVER || m->now - m->last_retire > NB_WATCHDOG_CLOCKS) {
        report_stuck(m);
        return true;
    }
    return false;
}

enum nb_stop nb_run(struct nb_machine *m, uint64_t instructions)
{
    uint64_t limit = m->stats.instructions + instructions;
    if (limit < instructions)
        limit = UINT64_MAX;
    if (m->stopped)
        return m->stop;
    while (m->stats.instructions < limit) {
        nb_clock next = clock_cycle(m);
        if (ended(m, next)) {
            pass_clocks(m, m->now + 1);
            return m->stop;
        }
        pass_clocks(m, m->each_clock ? m->now + 1 : next);
    }
    return NB_STOP_LIMIT;
}

static void reset_state(struct nb_machine *m)
{
    m->rob_head = m->rob_tail = 1; /* 0 means "no writer in flight" */
    m->resolve_at = NB_NEVER;
    for (unsigned i = 0; i < NB_SCHEDULERS; i++)
        m->scheduler[i].earliest[0] = m->scheduler[i].earliest[1] = NB_NEVER;
    const uint32_t sizes[NB_SCHEDULERS] = {m->p.scheduler_fast0, m->p.scheduler_fast1,
                                           m->p.scheduler_slow, m->p.scheduler_fp_move,
                                           m->p.scheduler_memory};
    for (unsigned i = 0; i < NB_SCHEDULERS; i++)
        m->scheduler[i].slots = (uint16_t)((1u << sizes[i]) - 1);
    m->pages.next_frame = 1;
    p4pmu_active(m->pmu, 0, true);
    p4pmu_active(m->pmu, 1, false);
    p4pmu_level(m->pmu, P4PMU_EV_global_power_events, 1u << 0, m->who, 1);
    fe_reset(m);
}

bool memory_init(struct nb_machine *m)
{
    const struct nb_params *p = &m->p;
    for (uint32_t i = 0; i < sizeof m->wc / sizeof m->wc[0]; i++)
        m->wc[i].line = NB_NEVER;
    for (uint32_t i = 0; i < sizeof m->stream / sizeof m->stream[0]; i++)
        m->stream[i].page = NB_NEVER;
    m->bus.clock_ticks = 2 * p->core_mhz / p->bus_mhz;
    return cache_init(&m->l1, p->l1_sets, p->l1_ways, p->l1_line) &&
           cache_init(&m->l2, p->l2_sets, p->l2_ways, p->l2_line) &&
           tlb_init(&m->dtlb, 1, p->dtlb_entries) && tlb_init(&m->itlb, p->itlb_sets, p->itlb_ways);
}

void memory_free(struct nb_machine *m)
{
    free(m->l1.line);
    free(m->l2.line);
    free(m->dtlb.entry);
    free(m->itlb.entry);
    free(m->pages.key);
    free(m->pages.frame);
    free(m->code_blocks.key);
    free(m->code_blocks.frame);
    free(m->bus.agenda);
}

struct nb_machine *nb_new(const struct nb_params *params, struct p4pmu *pmu,
                          const struct nb_input *input)
{
    struct nb_machine *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->p = *params;
    m->pmu = pmu;
    m->input = *input;
    m->who = P4PMU_WHO(0, 3);
    m->decoder = nb_decoder_new(params->family_model, false);
    if (!m->decoder || !codes_init(m) || !predict_init(m) || !tc_init(m) || !memory_init(m)) {
        nb_free(m);
        return NULL;
    }
    reset_state(m);
    return m;
}

void nb_free(struct nb_machine *m)
{
    if (!m)
        return;
    if (m->decoder)
        nb_decoder_free(m->decoder);
    codes_free(m);
    predict_free(m);
    tc_free(m);
    memory_free(m);
    free(m);
}

void nb_step_each_clock(struct nb_machine *machine, bool each)
{
    machine->each_clock = each;
}

const struct nb_stats *nb_stats(const struct nb_machine *machine)
{
    return &machine->stats;
}

const char *nb_report(const struct nb_machine *machine)
{
    return machine->report;
}
