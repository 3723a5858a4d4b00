/*
 * The trace cache: 2048 lines of six uop entries, 8 ways of 256 sets on the parts to Northwood.
 *
 * A line is found by its head: the address of its first instruction and, where an instruction's
 * uops are spread over two lines, the first uop. Traces whose heads differ by a multiple of sets *
 * 64 bytes (16 KB) exclude each other (OPT-2002, aliasing list): the set index is made of address
 * bits above the 64-byte block, and a fill evicts the line whose lower bits are equal, among those
 * of its logical processor, whose number is part of the tag (model choice). LRU replacement is a
 * model choice.
 */
#include "machine.h"

#include <stdlib.h>

#define HEAD_BLOCK_BITS 6
#define SPREAD          37u /* odd, so that the heads of a block fall into different sets */

bool tc_init(struct nb_machine *m)
{
    size_t lines = (size_t)m->p.tc_sets * m->p.tc_ways;
    m->tc.line = calloc(lines, sizeof *m->tc.line);
    if (!m->tc.line)
        return false;
    for (size_t i = 0; i < lines; i++)
        m->tc.line[i].ip = NB_NEVER;
    return true;
}

void tc_free(struct nb_machine *m)
{
    free(m->tc.line);
}

static struct trace_line *set_of(struct nb_machine *m, uint64_t ip)
{
    uint64_t block = ip >> HEAD_BLOCK_BITS, inside = ip & ((1u << HEAD_BLOCK_BITS) - 1);
    return &m->tc.line[((block + inside * SPREAD) & (m->p.tc_sets - 1)) * m->p.tc_ways];
}

const struct trace_line *tc_lookup(struct nb_machine *m, struct lp *lp, uint16_t process,
                                   uint64_t ip, uint8_t from)
{
    struct trace_line *set = set_of(m, ip);
    for (uint32_t way = 0; way < m->p.tc_ways; way++) {
        if (set[way].ip == ip && set[way].from == from && set[way].process == process &&
            set[way].lp == lp->number) {
            set[way].used = ++m->tc.stamp;
            return &set[way];
        }
    }
    post(m, lp->who, P4PMU_EV_BPU_fetch_request, 1u << 0, 1);
    return NULL;
}

static bool excludes(const struct nb_machine *m, const struct trace_line *a,
                     const struct trace_line *b)
{
    uint64_t alias = ((uint64_t)m->p.tc_sets << HEAD_BLOCK_BITS) - 1;
    return (a->ip & alias) == (b->ip & alias) && a->from == b->from;
}

/* Nobody goes on delivering a line that is not there any more: PLACE, or all when NULL. */
static void leave_lines(struct nb_machine *m, const struct trace_line *place)
{
    for (unsigned i = 0; i < m->lps; i++)
        if (!place || m->lp[i].fe.line == place)
            m->lp[i].fe.line = NULL;
}

void tc_insert(struct nb_machine *m, struct lp *lp, const struct trace_line *line)
{
    struct trace_line *set = set_of(m, line->ip);
    struct trace_line *place = set;
    for (uint32_t way = 0; way < m->p.tc_ways; way++) {
        if (set[way].ip != NB_NEVER && set[way].lp == lp->number && excludes(m, &set[way], line)) {
            place = &set[way];
            break;
        }
        if (set[way].ip == NB_NEVER || set[way].used < place->used)
            place = &set[way];
        if (place->ip == NB_NEVER)
            place->used = 0;
    }
    *place = *line;
    place->lp = lp->number;
    leave_lines(m, place);
    place->used = ++m->tc.stamp;
}

void tc_flush(struct nb_machine *m, unsigned who)
{
    size_t lines = (size_t)m->p.tc_sets * m->p.tc_ways;
    for (size_t i = 0; i < lines; i++)
        m->tc.line[i].ip = NB_NEVER;
    leave_lines(m, NULL);
    post(m, who, P4PMU_EV_TC_misc, 1u << 4, 2); /* counts twice per flush: SDM, TC_misc */
}
