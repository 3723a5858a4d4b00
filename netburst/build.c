/*
 * Build mode: on a trace cache miss instructions are fetched from the L2 (8 bytes a clock),
 * translated by the ITLB, decoded one a clock and go to the uop queue and into a trace line at the
 * same time.
 *
 * A line ends when its six entries are used, when a uop that needs two entries finds one, after
 * indirect branches, calls, returns, far transfers and microcode flows, and before a conditional
 * branch too many (Agner 5.2; the last two are model choices). Traces follow the predicted path:
 * what a taken branch leads to stands behind it in the same line, the next turn of a loop too. At
 * each trace head the trace cache is looked up, a hit ends build mode; not where a line is full
 * inside an instruction (model choice: the decoder gives an instruction's uops at once).
 */
#include "machine.h"

#define FROM_TC_BUILD   (1u << 0)
#define ITLB_HIT        (1u << 0)
#define ITLB_MISS       (1u << 1)
#define ITLB_HIT_UC     (1u << 2)
#define CODE_LINE       64u
#define STREAMING_BYTES 64u

/* From deliver mode: `build_switch_clocks` until the first instruction is decoded, its code in the
 * L2. */
void build_enter(struct nb_machine *m, struct lp *lp)
{
    fe_mode(m, lp, FE_BUILD);
    lp->fe.busy_until = m->now + m->p.build_switch_clocks;
    lp->fe.lookup_due = false;
    lp->fe.build.count = 0;
    lp->fe.code_line[0] = lp->fe.code_line[1] = NB_NEVER;
    lp->fe.code_page = NB_NEVER;
    lp->fe.fetch_bytes = STREAMING_BYTES;
    m->active = true;
}

static nb_tick code_translate(struct nb_machine *m, struct lp *lp, uint64_t linear, nb_tick tick,
                              uint64_t *physical)
{
    uint64_t key = page_key(lp->fe.process, linear);
    struct tlb_entry *t = tlb_find(&lp->itlb, key);
    if (lp->fe.code_page != key || !t) {
        bool uncacheable = t && memory_type(t->frame << 12) == NB_MEMORY_UNCACHEABLE;
        post(m, lp->who, P4PMU_EV_ITLB_reference,
             !t            ? ITLB_MISS
             : uncacheable ? ITLB_HIT_UC
                           : ITLB_HIT,
             1);
        lp->fe.code_page = key;
    }
    if (!t)
        t = tlb_fill(&lp->itlb, key, page_frame(m, key), page_walk(m, lp->who, key, tick, true));
    *physical = (t->frame << 12) | (linear & 0xFFF);
    return max64(tick, t->ready);
}

/* Whether the line of code at LINEAR is in the streaming buffer; if not it is asked for and fetch
 * waits. The first line's L2 hit latency is part of the switch, so only what goes beyond is waited
 * for. */
static bool code_line_there(struct nb_machine *m, struct lp *lp, uint64_t linear)
{
    struct front_end *fe = &lp->fe;
    uint64_t line = linear / CODE_LINE;
    if (fe->code_line[0] == line || fe->code_line[1] == line)
        return true;
    uint64_t physical;
    bool missed;
    nb_tick tick = code_translate(m, lp, linear, 2 * m->now, &physical);
    nb_tick there;
    if (!uncached_code(m, lp->who, physical, tick, &there))
        there = l2_read(m, lp->who, physical, tick, BUS_CODE, &missed);
    nb_tick hidden = 2 * (nb_tick)m->p.l2_clocks;
    fe->code_line[1] = fe->code_line[0];
    fe->code_line[0] = line;
    fe->busy_until = there > hidden ? max64(fe->busy_until, (there - hidden) / 2) : fe->busy_until;
    m->active = true;
    return fe->busy_until <= m->now;
}

static bool bytes_there(struct nb_machine *m, struct lp *lp, const struct nb_code *code)
{
    struct front_end *fe = &lp->fe;
    if (fe->fetch_bytes < code->length) {
        fe->fetch_bytes += m->p.fetch_bytes;
        m->active = true;
        return false;
    }
    fe->fetch_bytes -= code->length;
    fe->fetch_bytes = min64(fe->fetch_bytes + m->p.fetch_bytes, STREAMING_BYTES);
    return true;
}

static void line_end(struct nb_machine *m, struct lp *lp)
{
    struct front_end *fe = &lp->fe;
    if (fe->build.count)
        tc_insert(m, lp, &fe->build);
    fe->build.count = 0;
    fe->lookup_due = true;
}

static void line_begin(struct lp *lp, const struct nb_code *code, uint32_t from)
{
    struct front_end *fe = &lp->fe;
    fe->build.ip = code->ip;
    fe->build.process = fe->process;
    fe->build.from = (uint8_t)from;
    fe->build.count = fe->build.entries = 0;
    fe->build_branches = 0;
    fe->lookup_due = false;
}

/* Put trace uop INDEX of CODE into the line under construction, beginning a new one where it does
 * not fit. */
static void line_add(struct nb_machine *m, struct lp *lp, const struct nb_code *code,
                     uint32_t index)
{
    struct trace_line *line = &lp->fe.build;
    uint32_t wide = (uint32_t)(code->trace_entries - code->trace_uops);
    uint32_t entries = index < wide ? 2 : 1;
    if (line->count && line->entries + entries > m->p.tc_line_uops)
        line_end(m, lp);
    if (!line->count)
        line_begin(lp, code, index);
    struct trace_item *last = &line->item[line->count ? line->count - 1u : 0];
    if (!line->count || last->code != code || last->to != index)
        line->item[line->count++] = (struct trace_item){code, (uint8_t)index, (uint8_t)(index + 1)};
    else
        last->to++;
    line->entries = (uint8_t)(line->entries + entries);
}

static bool ends_line(const struct nb_code *code)
{
    switch ((enum nb_branch)code->branch) {
    case NB_BRANCH_CALL:
    case NB_BRANCH_RETURN:
    case NB_BRANCH_INDIRECT_CALL:
    case NB_BRANCH_INDIRECT_JUMP:
    case NB_BRANCH_FAR:
        return true;
    default:
        return (code->flags & (NB_CODE_COMPLEX | NB_CODE_SERIALIZING)) != 0;
    }
}

/* Whether CODE must begin a line: its first uop does not fit behind what the line under
 * construction has, or is a conditional branch too many. */
static bool line_is_full(const struct nb_machine *m, const struct lp *lp,
                         const struct nb_code *code)
{
    const struct front_end *fe = &lp->fe;
    uint32_t entries = code->trace_entries > code->trace_uops ? 2 : code->trace_uops ? 1 : 0;
    if (!fe->build.count)
        return false;
    return fe->build.entries + entries > m->p.tc_line_uops ||
           (code->branch == NB_BRANCH_CONDITIONAL && fe->build_branches >= m->p.tc_line_branches);
}

static void after_instruction(struct nb_machine *m, struct lp *lp, const struct nb_code *code)
{
    struct front_end *fe = &lp->fe;
    fe->build_branches = (uint8_t)(fe->build_branches + (code->branch == NB_BRANCH_CONDITIONAL));
    if (ends_line(code) || fe->build.entries >= m->p.tc_line_uops)
        line_end(m, lp);
}

/* The trace that begins where fetch is, at the instruction CODE when that has been fetched. */
static bool head_found(struct nb_machine *m, struct lp *lp, const struct nb_code *code)
{
    struct front_end *fe = &lp->fe;
    fe->lookup_due = false;
    m->active = true;
    if (fe->build.count)
        return false;
    const struct trace_line *line = tc_lookup(m, lp, fe->process, fe->ip, 0);
    if (!line || (code && line->item[0].code != code))
        return false;
    fe_mode(m, lp, FE_DELIVER);
    fe->line = line;
    fe->item = 0;
    fe->line_next = m->now + m->p.tc_line_clocks;
    return true;
}

/* Decode the instruction that fetch holds: its trace uops go out at once. */
static nb_clock decode(struct nb_machine *m, struct lp *lp)
{
    struct front_end *fe = &lp->fe;
    const struct nb_code *code = dyn_at(lp, fe->dyn)->code;
    if (fe_room(m, lp) < code->trace_uops)
        return NB_NEVER; /* until the allocator makes room */
    if (line_is_full(m, lp, code)) {
        line_end(m, lp);
        if (head_found(m, lp, code))
            return deliver_cycle(m, lp);
    }
    for (uint32_t i = (uint32_t)fe->uop; i < code->trace_uops; i++)
        line_add(m, lp, code, i);
    fe_push(m, lp, code->trace_uops - (uint32_t)fe->uop, FROM_TC_BUILD, m->p.decode_stages);
    fe->busy_until = m->now + 1 + code->prefixes / m->p.prefixes_per_clock;
    if (fe->uop < fe->total)
        fe_enter_rom(m, lp);
    else
        fe_finish(m, lp);
    after_instruction(m, lp, code);
    return m->now + 1;
}

nb_clock build_cycle(struct nb_machine *m, struct lp *lp)
{
    struct front_end *fe = &lp->fe;
    if (!fe->has_dyn) {
        if (fe->lookup_due && fe->ip != NB_NEVER && head_found(m, lp, NULL))
            return deliver_cycle(m, lp);
        if (fe_fetch(m, lp, NULL) == FETCH_WAIT)
            return NB_NEVER;
    }
    const struct nb_code *code = dyn_at(lp, fe->dyn)->code;
    if (!code_line_there(m, lp, code->ip) || !code_line_there(m, lp, code->ip + code->length - 1u))
        return max64(fe->busy_until, m->now + 1);
    if (!bytes_there(m, lp, code))
        return m->now + 1;
    return decode(m, lp);
}
