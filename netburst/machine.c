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

/* One core clock; the next one in which something can happen. */
static nb_clock clock_cycle(struct nb_machine *m)
{
    m->active = false;
    if (m->lps > 1 || m->lp[0].fe.wait != FE_RUN)
        halt_cycle(m);
    nb_clock next = min64(bus_cycle(m), interrupts_cycle(m));
    next = min64(next, agent_cycle(m));
    next = min64(next, turn_cycle(m));
    next = min64(next, retire_cycle(m));
    next = min64(next, store_cycle(m));
    next = min64(next, dispatch_cycle(m));
    next = min64(next, schedule_cycle(m));
    next = min64(next, allocate_cycle(m));
    next = min64(next, fe_cycle(m));
    return m->active ? m->now + 1 : max64(next, m->now + 1);
}

static bool finished(const struct nb_machine *m)
{
    for (unsigned i = 0; i < m->lps; i++)
        if (m->lp[i].fe.wait != FE_END || !lp_rests(&m->lp[i]))
            return false;
    return true;
}

static const char *const kind_names[] = {"alu",        "branch",   "load",  "store address",
                                         "store data", "prefetch", "fence", "nop"};

static void describe_oldest(struct lp *lp, char *text, size_t size)
{
    const struct rob_entry *e = rob_at(lp, lp->rob_head);
    const struct dyn *d = dyn_at(lp, e->dyn);
    snprintf(text, size,
             "oldest uop %llu is a %s of the instruction at 0x%llx (%s), state %u, waits for %u "
             "sources, complete at clock %lld",
             (unsigned long long)lp->rob_head, kind_names[e->uop->kind],
             (unsigned long long)d->code->ip, e->bogus ? "wrong path" : "right path", e->state,
             e->pending, (long long)e->complete);
}

/* What one logical processor waits for; characters written. */
static size_t describe_lp(struct nb_machine *m, struct lp *lp, char *text, size_t size)
{
    char oldest[400] = "no uop in the reorder buffer", which[32] = "";
    if (m->lps > 1)
        snprintf(which, sizeof which, "logical processor %u: ", lp->number);
    if (lp->rob_head < lp->rob_tail)
        describe_oldest(lp, oldest, sizeof oldest);
    int n =
        snprintf(text, size,
                 "%snothing retired since clock %llu (now %llu): %s; uop queue %llu, memory queue "
                 "%llu, general queue %llu, store buffer %llu, front end mode %u wait %u",
                 which, (unsigned long long)lp->last_retire, (unsigned long long)m->now, oldest,
                 (unsigned long long)(lp->fetched_tail - lp->fetched_head),
                 (unsigned long long)(lp->memory_queue.tail - lp->memory_queue.head),
                 (unsigned long long)(lp->general_queue.tail - lp->general_queue.head),
                 (unsigned long long)(lp->store_tail - lp->store_head), (unsigned)lp->fe.mode,
                 (unsigned)lp->fe.wait);
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

static void report_stuck(struct nb_machine *m)
{
    size_t used = 0;
    for (unsigned i = 0; i < m->lps; i++) {
        if (used)
            used += (size_t)snprintf(m->report + used, sizeof m->report - used, "; ");
        used += describe_lp(m, &m->lp[i], m->report + used, sizeof m->report - used);
    }
    m->stop = NB_STOP_STUCK;
    m->stopped = true;
}

/* A logical processor with work has retired nothing for too long. */
static bool stuck(const struct nb_machine *m)
{
    for (unsigned i = 0; i < m->lps; i++)
        if (m->now - m->lp[i].last_retire > NB_WATCHDOG_CLOCKS && !lp_rests(&m->lp[i]))
            return true;
    return false;
}

static void pass_clocks(struct nb_machine *m, nb_clock next)
{
    uint64_t n = next - m->now;
    p4pmu_clocks(m->pmu, 1);
    if (n > 1)
        n = 1 + interrupts_quiet(m, n - 1);
    if (n > 1)
        p4pmu_clocks(m->pmu, n - 1);
    m->now += n;
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
    if (next == NB_NEVER || stuck(m)) {
        report_stuck(m);
        return true;
    }
    return false;
}

static uint64_t retired(const struct nb_machine *m)
{
    return m->lp[0].stats.instructions + m->lp[1].stats.instructions;
}

enum nb_stop nb_run(struct nb_machine *m, uint64_t instructions)
{
    uint64_t limit = retired(m) + instructions;
    if (limit < instructions)
        limit = UINT64_MAX;
    if (m->stopped)
        return m->stop;
    while (retired(m) < limit) {
        nb_clock next = clock_cycle(m);
        if (ended(m, next)) {
            pass_clocks(m, m->now + 1);
            count_halted(m);
            return m->stop;
        }
        pass_clocks(m, m->each_clock ? m->now + 1 : next);
    }
    count_halted(m);
    return NB_STOP_LIMIT;
}

static void reset_state(struct nb_machine *m)
{
    m->due.seen = NB_NEVER; /* the tick before 0 */
    m->due.far_next = NB_NEVER;
    const uint32_t sizes[NB_SCHEDULERS] = {m->p.scheduler_fast0, m->p.scheduler_fast1,
                                           m->p.scheduler_slow, m->p.scheduler_fp_move,
                                           m->p.scheduler_memory};
    for (unsigned i = 0; i < NB_SCHEDULERS; i++)
        m->scheduler[i].slots = (uint16_t)((1u << sizes[i]) - 1);
    m->loop[0] = 2 * m->p.replay_loop_fast;
    m->loop[1] = 2 * m->p.replay_loop_slow;
    m->pages.next_frame = 1;
    threads_reset(m);
}

bool memory_init(struct nb_machine *m)
{
    const struct nb_params *p = &m->p;
    for (uint32_t i = 0; i < sizeof m->wc / sizeof m->wc[0]; i++)
        m->wc[i].line = NB_NEVER;
    for (uint32_t i = 0; i < sizeof m->stream / sizeof m->stream[0]; i++)
        m->stream[i].page = NB_NEVER;
    m->bus.clock_ticks = 2 * p->core_mhz / p->bus_mhz;
    m->agent.next = NB_NEVER;
    if (p->l3_sets && !cache_init(&m->l3, p->l3_sets, p->l3_ways, p->l2_line))
        return false;
    return cache_init(&m->l1, p->l1_sets, p->l1_ways, p->l1_line) &&
           cache_init(&m->l2, p->l2_sets, p->l2_ways, p->l2_line) &&
           tlb_init(&m->dtlb, 1, p->dtlb_entries);
}

void memory_free(struct nb_machine *m)
{
    free(m->l1.line);
    free(m->l2.line);
    free(m->dtlb.entry);
    free(m->pages.key);
    free(m->pages.frame);
    free(m->code_blocks.key);
    free(m->code_blocks.frame);
    free(m->bus.agenda);
    free(m->l3.line);
    agent_free(m);
}

static bool lp_init(struct nb_machine *m, unsigned number, const struct nb_input *input)
{
    struct lp *lp = &m->lp[number];
    lp->input = *input;
    return codes_init(lp) && tlb_init(&lp->itlb, m->p.itlb_sets, m->p.itlb_ways);
}

static bool init(struct nb_machine *m, const struct nb_input *inputs)
{
    for (unsigned mode = 0; mode < 2; mode++)
        m->decoder[mode] = nb_decoder_new(m->p.family_model, mode);
    if (!m->decoder[0] || !m->decoder[1] || !predict_init(m) || !tc_init(m) || !memory_init(m) ||
        !flow_init(m))
        return false;
    for (unsigned i = 0; i < m->lps; i++)
        if (!lp_init(m, i, &inputs[i]))
            return false;
    return true;
}

struct nb_machine *nb_new(const struct nb_params *params, struct p4pmu *pmu,
                          const struct nb_input *inputs, unsigned input_count)
{
    struct nb_machine *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->p = *params;
    m->pmu = pmu;
    m->lps = input_count < NB_LPS ? input_count : NB_LPS;
    if (!init(m, inputs)) {
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
    for (unsigned mode = 0; mode < 2; mode++)
        nb_decoder_free(m->decoder[mode]);
    for (unsigned i = 0; i < m->lps; i++) {
        codes_free(&m->lp[i]);
        free(m->lp[i].itlb.entry);
    }
    predict_free(m);
    tc_free(m);
    memory_free(m);
    free(m);
}

void nb_name_origins(struct nb_machine *m, bool named)
{
    m->origins = named;
    m->origin = 0;
    p4pmu_origin(m->pmu, 0);
}

void nb_step_each_clock(struct nb_machine *machine, bool each)
{
    machine->each_clock = each;
}

static void add_stats(struct nb_stats *sum, const struct nb_stats *part)
{
#define S(name, unit, text) sum->name += part->name;
#include "netburst_stats.def"
#undef S
}

const struct nb_stats *nb_stats(struct nb_machine *machine)
{
    machine->total = machine->stats;
    for (unsigned i = 0; i < machine->lps; i++)
        add_stats(&machine->total, &machine->lp[i].stats);
    return &machine->total;
}

const struct nb_stats *nb_lp_stats(const struct nb_machine *machine, unsigned lp)
{
    return &machine->lp[lp % NB_LPS].stats;
}

const char *nb_report(const struct nb_machine *machine)
{
    return machine->report;
}
