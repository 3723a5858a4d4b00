/*
 * Branch prediction: front-end BTB (4096 entries), trace cache BTB (512), an agree predictor on 16
 * bits of global history, static rules, return address stack.
 *
 * - A BTB entry keeps the branch's last target and a two-bit local bias. It is made the first time
 * the branch is taken (Agner 3.4). Deliver mode asks the trace BTB first, then the front-end BTB;
 * build mode the front-end BTB.
 * - Models with `agree` 0 (Prescott) have counters of "taken" instead, and with `indirect_entries`
 * a table of targets of indirect branches by history and address, for those the BTB was wrong about
 * (BOGGS04, after the Pentium M; size and hash: model choice).
 * - The pattern table holds two-bit counters of "the bias is right" (agree), indexed by history and
 * address (hash: model choice; unpublished). All conditional branches shift into the history,
 * others do not.
 * - Without an entry: hint prefix, else backward taken (from Prescott on only up to a distance),
 * forward not taken; indirect branches fall through (OPT-2002).
 * - The front end shifts predictions into the history and a misprediction repairs it. The return
 * stack's top is repaired too, what a wrong path wrote over its entries is not.
 * - Bias, pattern and BTBs learn at retirement (model choice).
 * - Entries of BTBs and pattern table belong to one logical processor, history and return stack
 * there is one for each (Marr 2002).
 * Not modelled: far transfers are never predicted; the 64H alternating hint.
 */
#include "machine.h"

#include <stdlib.h>

#define HINT_TAKEN     0x3E
#define HINT_NOT_TAKEN 0x2E
#define FRESH          2    /* weakly agree, or taken */
#define UNTRAINED      0x80 /* without agreement: nothing was learnt, the bias decides */

static bool btb_init(struct btb *b, uint32_t sets, uint32_t ways)
{
    b->sets = sets;
    b->ways = ways;
    b->entry = calloc((size_t)sets * ways, sizeof *b->entry);
    if (!b->entry)
        return false;
    for (size_t i = 0; i < (size_t)sets * ways; i++)
        b->entry[i].ip = NB_NEVER;
    return true;
}

bool predict_init(struct nb_machine *m)
{
    const struct nb_params *p = &m->p;
    m->bp.pattern = malloc(p->pattern_entries);
    if (!m->bp.pattern || !btb_init(&m->bp.front_end, p->fe_btb_sets, p->fe_btb_ways) ||
        !btb_init(&m->bp.trace, p->trace_btb_sets, p->trace_btb_ways))
        return false;
    for (uint32_t i = 0; i < p->pattern_entries; i++)
        m->bp.pattern[i] = p->agree ? FRESH : UNTRAINED;
    if (p->indirect_entries)
        m->bp.target = calloc(p->indirect_entries, sizeof *m->bp.target);
    return m->bp.target || !p->indirect_entries;
}

void predict_free(struct nb_machine *m)
{
    free(m->bp.pattern);
    free(m->bp.target);
    free(m->bp.front_end.entry);
    free(m->bp.trace.entry);
}

static struct btb_entry *btb_set(struct btb *b, uint64_t ip)
{
    return &b->entry[((ip ^ (ip >> 12)) & (b->sets - 1)) * b->ways];
}

static struct btb_entry *btb_find(struct btb *b, uint64_t ip)
{
    struct btb_entry *set = btb_set(b, ip);
    for (uint32_t way = 0; way < b->ways; way++)
        if (set[way].ip == ip)
            return &set[way];
    return NULL;
}

static struct btb_entry *btb_make(struct btb *b, uint64_t ip)
{
    struct btb_entry *set = btb_set(b, ip);
    struct btb_entry *oldest = set;
    for (uint32_t way = 0; way < b->ways; way++) {
        if (set[way].ip == NB_NEVER) {
            oldest = &set[way];
            break;
        }
        if (set[way].used < oldest->used)
            oldest = &set[way];
    }
    *oldest = (struct btb_entry){.ip = ip, .bias = 2};
    return oldest;
}

/* BTB entries belong to a logical processor. */
static uint64_t tagged(const struct lp *lp, uint64_t ip)
{
    return ip ^ (uint64_t)lp->number << 63;
}

static struct btb_entry *known(struct nb_machine *m, struct lp *lp, uint64_t ip)
{
    struct btb_entry *e = NULL;
    if (lp->fe.mode == FE_DELIVER)
        e = btb_find(&m->bp.trace, tagged(lp, ip));
    return e ? e : btb_find(&m->bp.front_end, tagged(lp, ip));
}

static uint8_t *pattern_of(struct nb_machine *m, uint64_t ip, uint32_t history)
{
    uint32_t mask = m->p.pattern_entries - 1;
    uint32_t folded = history ^ (history >> 12) * 0x11u;
    uint32_t place = (uint32_t)(ip ^ (ip >> 7) ^ (ip >> 15)) * 0x9E5u;
    return &m->bp.pattern[(folded ^ place) & mask];
}

/* An entry of the pattern table belongs to a logical processor: bit 2. To the other one it says
 * nothing: as a fresh one. */
static bool agrees(const struct lp *lp, uint8_t entry)
{
    return entry >> 2 != lp->number || (entry & 3) >= 2;
}

static bool static_taken(const struct nb_machine *m, const struct nb_code *code)
{
    if (code->hint == HINT_TAKEN)
        return true;
    if (code->hint == HINT_NOT_TAKEN)
        return false;
    uint32_t reach = m->p.static_backward_bytes;
    return code->target <= code->ip && (!reach || code->ip - code->target <= reach);
}

static bool conditional_taken(struct nb_machine *m, struct lp *lp, const struct nb_code *code,
                              bool *was_known)
{
    const struct btb_entry *e = known(m, lp, code->ip);
    *was_known = e != NULL;
    if (!e)
        return static_taken(m, code);
    uint8_t entry = *pattern_of(m, code->ip, lp->past.history);
    bool bias = e->bias >= 2;
    if (m->p.agree)
        return agrees(lp, entry) == bias;
    return entry >> 2 == lp->number ? (entry & 3) >= 2 : bias;
}

static struct target_entry *target_of(struct nb_machine *m, uint64_t ip, uint32_t history)
{
    uint32_t place = history ^ (uint32_t)(ip ^ (ip >> 9)) * 0x9E5u;
    return m->bp.target ? &m->bp.target[place & (m->p.indirect_entries - 1)] : NULL;
}

/* By history where that is known, else the last target. */
static uint64_t indirect_target(struct nb_machine *m, struct lp *lp, const struct nb_code *code,
                                const struct btb_entry *e)
{
    uint64_t ip = tagged(lp, code->ip);
    const struct target_entry *t = target_of(m, ip, lp->past.history);
    if (t && t->ip == ip)
        return t->target;
    return e ? e->target : code->ip + code->length;
}

static uint64_t pop_return(struct past *past, uint32_t entries)
{
    past->return_top = (uint8_t)((past->return_top + entries - 1) % entries);
    return past->return_address[past->return_top];
}

static void push_return(struct past *past, uint32_t entries, uint64_t address)
{
    past->return_address[past->return_top] = address;
    past->return_top = (uint8_t)((past->return_top + 1) % entries);
}

/* Where the front end believes CODE goes next. *WAS_KNOWN: a BTB or the return stack said so, not a
 * static rule. */
uint64_t predict_next(struct nb_machine *m, struct lp *lp, const struct nb_code *code,
                      bool *was_known)
{
    uint64_t after = code->ip + code->length;
    const struct btb_entry *e;
    *was_known = true;
    switch ((enum nb_branch)code->branch) {
    case NB_BRANCH_CONDITIONAL:
        return conditional_taken(m, lp, code, was_known) ? code->target : after;
    case NB_BRANCH_JUMP:
        *was_known = known(m, lp, code->ip) != NULL;
        return code->target;
    case NB_BRANCH_CALL:
        *was_known = known(m, lp, code->ip) != NULL;
        push_return(&lp->past, m->p.return_stack, after);
        return code->target;
    case NB_BRANCH_RETURN:
        return pop_return(&lp->past, m->p.return_stack);
    case NB_BRANCH_INDIRECT_CALL:
        push_return(&lp->past, m->p.return_stack, after);
        /* fall through */
    case NB_BRANCH_INDIRECT_JUMP:
        e = known(m, lp, code->ip);
        *was_known = e != NULL;
        return indirect_target(m, lp, code, e);
    case NB_BRANCH_NONE:
    case NB_BRANCH_FAR:
        break;
    }
    return after;
}

/* The front end's history follows what it believes (or, after a repair, what happened). */
void predict_follow(const struct nb_machine *m, struct lp *lp, const struct nb_code *code,
                    bool taken)
{
    if (code->branch != NB_BRANCH_CONDITIONAL)
        return;
    uint32_t mask = m->p.history_bits >= 32 ? ~0u : (1u << m->p.history_bits) - 1;
    lp->past.history = ((lp->past.history << 1) | (taken ? 1u : 0u)) & mask;
}

static void count(uint8_t *counter, bool up)
{
    if (up && *counter < 3)
        (*counter)++;
    else if (!up && *counter > 0)
        (*counter)--;
}

static void learn_pattern(const struct lp *lp, uint8_t *entry, bool agree)
{
    uint8_t counter = entry[0] >> 2 == lp->number ? entry[0] & 3 : FRESH;
    count(&counter, agree);
    *entry = (uint8_t)(lp->number << 2 | counter);
}

static void learn_in(struct btb *b, uint64_t ip, const struct dyn *d)
{
    struct btb_entry *e = btb_find(b, ip);
    if (!e && !d->taken)
        return;
    if (!e)
        e = btb_make(b, ip);
    e->used = ++b->stamp;
    count(&e->bias, d->taken);
    if (d->taken)
        e->target = d->in.next_ip;
}

/* Where the last target was not the right one. */
static void learn_target(struct nb_machine *m, const struct lp *lp, const struct dyn *d)
{
    uint64_t ip = tagged(lp, d->code->ip);
    struct target_entry *t = target_of(m, ip, d->history);
    const struct btb_entry *e = btb_find(&m->bp.front_end, ip);
    if (t && (t->ip == ip || (e && e->target != d->in.next_ip)))
        *t = (struct target_entry){ip, d->in.next_ip};
}

/* A right-path branch retires: the tables learn. */
void predict_retire(struct nb_machine *m, struct lp *lp, const struct dyn *d)
{
    const struct nb_code *code = d->code;
    if (code->branch == NB_BRANCH_FAR || code->branch == NB_BRANCH_RETURN)
        return;
    if (code->branch == NB_BRANCH_CONDITIONAL) {
        const struct btb_entry *e = btb_find(&m->bp.front_end, tagged(lp, code->ip));
        if (e)
            learn_pattern(lp, pattern_of(m, code->ip, d->history),
                          m->p.agree ? (e->bias >= 2) == d->taken : d->taken);
    } else if (code->branch == NB_BRANCH_INDIRECT_JUMP || code->branch == NB_BRANCH_INDIRECT_CALL) {
        learn_target(m, lp, d);
    }
    learn_in(&m->bp.front_end, tagged(lp, code->ip), d);
    learn_in(&m->bp.trace, tagged(lp, code->ip), d);
}
