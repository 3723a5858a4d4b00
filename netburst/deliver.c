/*
 * Deliver mode: uops come out of the trace cache, one line of six entries every two clocks.
 *
 * A line is followed as long as the path the front end is on is the path the line was built along;
 * where a prediction leaves it, the rest of the line is not used. The next line is looked up where
 * fetch goes on. A miss ends deliver mode. Some models lose a clock every `tc_pause_lines` lines.
 */
#include "machine.h"

#define FROM_TC_DELIVER (1u << 1)

/* The line that begins where fetch is, or NULL: then build mode has been entered. */
static bool find_line(struct nb_machine *m, struct lp *lp)
{
    struct front_end *fe = &lp->fe;
    fe->line = tc_lookup(m, lp, fe->process, fe->ip, (uint8_t)fe->uop);
    fe->item = 0;
    m->active = true;
    if (!fe->line) {
        build_enter(m, lp);
        return false;
    }
    fe->line_next = m->now + m->p.tc_line_clocks;
    if (m->p.tc_pause_lines && ++fe->lines >= m->p.tc_pause_lines) {
        fe->line_next++;
        fe->lines = 0;
    }
    return true;
}

static void leave_line_unless(struct front_end *fe, bool follows)
{
    if (!follows || fe->item >= fe->line->count)
        fe->line = NULL;
}

/* The item's uops are out: go to the next item, the ROM, or another line. */
static void item_done(struct nb_machine *m, struct lp *lp, const struct trace_item *item)
{
    struct front_end *fe = &lp->fe;
    const struct trace_line *line = fe->line;
    fe->item++;
    if (fe->uop < fe->total && item->to < item->code->trace_uops) {
        fe->line = NULL; /* the instruction goes on in the next line */
    } else if (fe->uop < fe->total) {
        fe_enter_rom(m, lp);
        fe->line = NULL;
    } else {
        fe_finish(m, lp);
        fe->line = fe->wait == FE_RUN ? line : NULL;
        if (fe->line)
            leave_line_unless(fe,
                              fe->item < line->count && line->item[fe->item].code->ip == fe->ip);
    }
}

static bool begin_item(struct nb_machine *m, struct lp *lp, const struct trace_item *item)
{
    struct front_end *fe = &lp->fe;
    if (fe->has_dyn)
        return true;
    if (fe_fetch(m, lp, item->code) == FETCH_WAIT)
        return false;
    if (dyn_at(lp, fe->dyn)->code == item->code)
        return true;
    fe->line = NULL; /* the bytes have changed since the line was built */
    build_enter(m, lp);
    return false;
}

nb_clock deliver_cycle(struct nb_machine *m, struct lp *lp)
{
    struct front_end *fe = &lp->fe;
    uint32_t budget = (m->p.tc_line_uops + m->p.tc_line_clocks - 1) / m->p.tc_line_clocks;
    while (budget && fe->wait == FE_RUN) {
        if (!fe->line) {
            if (fe->line_next > m->now)
                return fe->line_next;
            if (!find_line(m, lp))
                return m->now + 1;
        }
        const struct trace_item *item = &fe->line->item[fe->item];
        if (!begin_item(m, lp, item))
            return m->active ? m->now + 1 : NB_NEVER;
        uint32_t wanted = (uint32_t)(item->to - fe->uop);
        uint32_t pushed = fe_push(m, lp, wanted < budget ? wanted : budget, FROM_TC_DELIVER, 0);
        if (!pushed && wanted)
            return NB_NEVER; /* until the allocator makes room */
        budget -= pushed;
        if (fe->uop == item->to)
            item_done(m, lp, item);
        if (fe->in_rom)
            break;
    }
    return m->now + 1;
}
