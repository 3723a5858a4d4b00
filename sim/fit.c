/*
 * Choosing ESCRs and counters.
 *
 * Every request becomes a need: an ESCR content, the ESCRs that can hold it, perhaps a counter
 * asked for. A backtracking search gives each need an ESCR that is free or holds the same, and a
 * free counter wired to it; the need with the fewest choices goes first. The four counter groups
 * (BPU, MS, FLAME, IQ) share no ESCR and no counter, and requests are added one at a time, so a
 * search never sees more than the few needs that fit into one group and one more: it is exact and
 * always short.
 *
 * When the request that comes next does not fit, the smallest subset that fails with it is the
 * conflict.
 *
 * Power gating (SDM volume 3, 18.15.5.9): an ESCR works only while a counter it or the other ESCR
 * of its pair can reach is enabled. An upstream ESCR in a group nobody counts in gets a counter of
 * its own.
 */
#include "fit_board.h"

#include <string.h>

/* ---- register contents -------------------------------------------------------------------------
 */

/* LPS: bits of the logical processors, 0 for the first. */
static uint32_t escr_content(unsigned event, unsigned mask, unsigned lps, bool usr, bool os,
                             bool tag_enable, unsigned tag)
{
    uint32_t v = 0;
    bool first = lps != 2, second = lps & 2;
    v = P4PMU_PUT(ESCR, EVENT_SELECT, v, p4pmu_event((enum p4pmu_event)event)->code);
    v = P4PMU_PUT(ESCR, EVENT_MASK, v, mask);
    v = P4PMU_PUT(ESCR, T0_USR, v, usr && first);
    v = P4PMU_PUT(ESCR, T0_OS, v, os && first);
    v = P4PMU_PUT(ESCR, T1_USR, v, usr && second);
    v = P4PMU_PUT(ESCR, T1_OS, v, os && second);
    v = P4PMU_PUT(ESCR, TAG_ENABLE, v, tag_enable);
    return P4PMU_PUT(ESCR, TAG_VALUE, v, tag);
}

uint32_t fit_cccr(const struct sim_request *r, int escr)
{
    uint32_t v = P4PMU_CCCR_ENABLE_MASK | P4PMU_CCCR_ACTIVE_THREAD_MASK;
    v = P4PMU_PUT(CCCR, ESCR_SELECT, v, p4pmu_escr((enum p4pmu_escr)escr)->select);
    if (!r)
        return v;
    if (r->active_given)
        v = P4PMU_PUT(CCCR, ACTIVE_THREAD, v & ~P4PMU_CCCR_ACTIVE_THREAD_MASK, r->active);
    v = P4PMU_PUT(CCCR, COMPARE, v, r->compare);
    v = P4PMU_PUT(CCCR, COMPLEMENT, v, r->complement);
    v = P4PMU_PUT(CCCR, THRESHOLD, v, r->threshold);
    return P4PMU_PUT(CCCR, EDGE, v, r->edge);
}

/* ---- execution tags ----------------------------------------------------------------------------
 */

bool fit_is_execution(const struct sim_request *r)
{
    return r->metric && r->metric->mechanism == SIM_EXECUTION;
}

bool fit_is_replay(const struct sim_request *r)
{
    return r->metric && r->metric->mechanism == SIM_REPLAY;
}

/* Whether R, an event with a tag of its own, is what METRIC would put into its tagging ESCR with
 * tag BIT. */
static bool is_upstream_of(const struct sim_request *r, const struct sim_metric *metric,
                           unsigned bit)
{
    return !r->raw && !r->metric && r->tag_enable && r->tag_value == 1u << bit &&
           r->event == metric->upstream_event && r->mask == metric->upstream_mask && r->usr &&
           r->os;
}

/* The tag the user's own events already give to what METRIC tags, and to nothing else; or NONE. */
static int tag_given(const struct sim_request *requests, const bool *in, size_t count,
                     const struct sim_metric *metric)
{
    for (unsigned bit = 0; bit < 4; bit++) {
        bool given = false, alone = true;
        for (size_t i = 0; i < count; i++) {
            if (!in[i] || !requests[i].tag_enable || !(requests[i].tag_value & 1u << bit))
                continue;
            given = true;
            alone = alone && is_upstream_of(&requests[i], metric, bit);
        }
        if (given && alone)
            return (int)bit;
    }
    return NONE;
}

/* Whether request INDEX is the first of its metric and needs a tag that nobody gives yet. */
static bool wants_tag(const struct sim_request *requests, const bool *in, size_t count,
                      size_t index)
{
    const struct sim_request *r = &requests[index];
    if (!in[index] || !fit_is_execution(r) || tag_given(requests, in, count, r->metric) != NONE)
        return false;
    for (size_t k = 0; k < index; k++) {
        if (in[k] && requests[k].metric == r->metric)
            return false;
    }
    return true;
}

/* The tag bit of request INDEX: the one its uops get anyway, else the first that no request uses
 * itself, one per kind of uop; 4 when all are taken. */
unsigned fit_tag_bit(const struct sim_request *requests, const bool *in, size_t count, size_t index)
{
    unsigned taken = 0, order = 0;
    int given = tag_given(requests, in, count, requests[index].metric);
    if (given != NONE)
        return (unsigned)given;
    for (size_t i = 0; i < count; i++) {
        if (in[i] && requests[i].tag_enable)
            taken |= requests[i].tag_value;
        if (i < index && requests[i].metric == requests[index].metric && in[i])
            return fit_tag_bit(requests, in, count, i);
        order += i < index && wants_tag(requests, in, count, i);
    }
    for (unsigned bit = 0; bit < 4; bit++) {
        if (!(taken & 1u << bit) && order-- == 0)
            return bit;
    }
    return 4;
}

/* ---- needs -------------------------------------------------------------------------------------
 */

static struct need downstream_need(const struct sim_request *r, size_t index, unsigned tag)
{
    if (r->raw)
        return (struct need){r->raw_escr_value, {r->raw_escr, NONE}, r->counter, true, index};
    unsigned mask = fit_is_execution(r) ? r->mask << tag : r->mask;
    return (struct need){
        escr_content((unsigned)r->event, mask, r->lps, r->usr, r->os, r->tag_enable, r->tag_value),
        {r->escrs[0], r->escrs[1]},
        r->counter,
        true,
        index};
}

/* An upstream ESCR tags at every privilege level; the downstream event selects. */
static struct need upstream_need(const struct sim_request *r, size_t index, unsigned tag)
{
    const struct sim_metric *m = r->metric;
    bool tags = fit_is_execution(r);
    return (struct need){escr_content((unsigned)m->upstream_event, m->upstream_mask, r->lps, true,
                                      true, tags, tags ? 1u << tag : 0),
                         {m->upstream_escrs[0], m->upstream_escrs[1]},
                         NONE,
                         false,
                         index};
}

void fit_set_board(struct board *b, const struct sim_request *requests, const bool *in,
                   size_t count, uint32_t reserved)
{
    memset(b, 0, sizeof *b);
    b->reserved = reserved;
    for (size_t i = 0; i < count; i++) {
        if (!in[i])
            continue;
        unsigned tag = fit_is_execution(&requests[i]) ? fit_tag_bit(requests, in, count, i) : 0;
        b->needs[b->count++] = downstream_need(&requests[i], i, tag);
        if (requests[i].metric && requests[i].metric->upstream_event != NONE)
            b->needs[b->count++] = upstream_need(&requests[i], i, tag);
    }
}

/* ---- the search --------------------------------------------------------------------------------
 */

uint32_t fit_pair_counters(int escr)
{
    const struct p4pmu_escr_info *info = p4pmu_escr((enum p4pmu_escr)escr);
    uint32_t counters = info->counters;
    for (int e = 0; e < P4PMU_ESCR_COUNT; e++) {
        const struct p4pmu_escr_info *other = p4pmu_escr((enum p4pmu_escr)e);
        if (!strcmp(other->unit, info->unit) && other->select == info->select)
            counters |= other->counters;
    }
    return counters;
}

/* An ESCR that only tags must be kept awake by some counter of its pair. */
static bool escr_open(const struct board *b, const struct need *n, int escr)
{
    if (escr == NONE || (!n->counted && !(fit_pair_counters(escr) & ~b->reserved)))
        return false;
    return !b->users[escr] || b->held[escr] == n->value;
}

static uint32_t open_counters(const struct board *b, const struct need *n, int escr)
{
    uint32_t wired = p4pmu_escr((enum p4pmu_escr)escr)->counters & ~b->counters & ~b->reserved;
    return n->counter == NONE ? wired : wired & 1u << n->counter;
}

unsigned fit_bits(uint32_t x)
{
    unsigned n = 0;
    for (; x; x &= x - 1)
        n++;
    return n;
}

static unsigned choices(const struct board *b, const struct need *n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 2; i++) {
        if (escr_open(b, n, n->escrs[i]))
            sum += n->counted ? fit_bits(open_counters(b, n, n->escrs[i])) : 1;
    }
    return sum;
}

static size_t most_constrained(const struct board *b)
{
    size_t best = b->count;
    unsigned least = 1000;
    for (size_t i = 0; i < b->count; i++) {
        unsigned c = b->placed[i] || b->muted[i] ? 1000 : choices(b, &b->needs[i]);
        if (c < least) {
            least = c;
            best = i;
        }
    }
    return best;
}

static void place(struct board *b, size_t i, int escr, int counter)
{
    b->placed[i] = true;
    b->escr[i] = escr;
    b->counter_of[i] = counter;
    b->users[escr]++;
    b->held[escr] = b->needs[i].value;
    if (counter != NONE)
        b->counters |= 1u << counter;
}

static void lift(struct board *b, size_t i)
{
    b->placed[i] = false;
    b->users[b->escr[i]]--;
    if (b->counter_of[i] != NONE)
        b->counters &= ~(1u << b->counter_of[i]);
}

static bool search(struct board *b);

static bool try_escr(struct board *b, size_t i, int escr)
{
    struct need *n = &b->needs[i];
    if (!n->counted) {
        place(b, i, escr, NONE);
        if (search(b))
            return true;
        lift(b, i);
        return false;
    }
    uint32_t open = open_counters(b, n, escr);
    for (int c = 0; c < P4PMU_COUNTERS; c++) {
        if (!(open & 1u << c))
            continue;
        place(b, i, escr, c);
        if (search(b))
            return true;
        lift(b, i);
    }
    return false;
}

static bool search(struct board *b)
{
    size_t i = most_constrained(b);
    if (i == b->count)
        return true;
    for (unsigned k = 0; k < 2; k++) {
        int escr = b->needs[i].escrs[k];
        if (escr_open(b, &b->needs[i], escr) && try_escr(b, i, escr))
            return true;
    }
    return false;
}

/* The counter group of a need: the groups share nothing, so each is searched by itself. */
static const char *group_of(const struct need *n)
{
    uint32_t counters = p4pmu_escr((enum p4pmu_escr)n->escrs[0])->counters;
    unsigned c = 0;
    while (!(counters & 1u << c))
        c++;
    return p4pmu_counter(c)->group;
}

bool fit_solve(struct board *b)
{
    for (size_t start = 0; start < b->count; start++) {
        if (b->placed[start])
            continue;
        const char *group = group_of(&b->needs[start]);
        for (size_t i = 0; i < b->count; i++)
            b->muted[i] = strcmp(group_of(&b->needs[i]), group) != 0;
        if (!search(b))
            return false;
    }
    return true;
}

/* ---- the plan ----------------------------------------------------------------------------------
 */

static int lowest(uint32_t set)
{
    for (int c = 0; c < P4PMU_COUNTERS; c++) {
        if (set & 1u << c)
            return c;
    }
    return NONE;
}

/* The upstream slot of need I; equal contents in one ESCR are one slot. */
static unsigned add_upstream(struct sim_plan *plan, const struct board *b, size_t i)
{
    for (unsigned k = 0; k < plan->upstream_count; k++) {
        if (plan->upstream[k].escr == b->escr[i])
            return k + 1;
    }
    plan->upstream[plan->upstream_count] =
        (struct sim_slot){b->escr[i], NONE, b->needs[i].value, 0};
    return (unsigned)++plan->upstream_count;
}

/* A counter of its own for each tagging ESCR that sleeps; one wired to the other ESCR of the pair
 * where its own are reserved (the select is the same for both). */
static void wake_upstream(struct sim_plan *plan, uint32_t used, uint32_t reserved)
{
    for (size_t i = 0; i < plan->upstream_count; i++) {
        struct sim_slot *slot = &plan->upstream[i];
        uint32_t pair = fit_pair_counters(slot->escr) & ~reserved;
        uint32_t own = p4pmu_escr((enum p4pmu_escr)slot->escr)->counters & pair;
        if (fit_pair_counters(slot->escr) & used)
            continue;
        slot->counter = lowest(own ? own : pair);
        slot->cccr_value = fit_cccr(NULL, slot->escr);
        used |= 1u << slot->counter;
    }
}

static void take_plan(const struct board *b, const struct sim_request *requests, size_t count,
                      const struct sim_replay_registers *preset, struct sim_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    plan->count = count;
    for (size_t i = 0; i < b->count; i++) {
        const struct need *n = &b->needs[i];
        const struct sim_request *r = &requests[n->request];
        if (n->counted)
            plan->slots[n->request] =
                (struct sim_slot){b->escr[i], b->counter_of[i], n->value,
                                  r->raw ? r->raw_cccr_value : fit_cccr(r, b->escr[i])};
        else
            plan->request_upstream[n->request] = add_upstream(plan, b, i);
        if (fit_is_replay(r)) {
            plan->replay_tagging = true;
            plan->pebs_enable = r->metric->pebs_enable;
            plan->pebs_matrix_vert = r->metric->pebs_matrix_vert;
        }
    }
    if (preset && preset->given) {
        plan->replay_tagging = true;
        plan->pebs_enable = preset->pebs_enable;
        plan->pebs_matrix_vert = preset->pebs_matrix_vert;
    }
    wake_upstream(plan, b->counters, b->reserved);
}

/* Whether the first COUNT requests fit, given that the first COUNT - 1 do; B has the choice. */
static bool step(const struct sim_request *requests, size_t count,
                 const struct sim_replay_registers *preset, uint32_t reserved, struct board *b,
                 struct sim_conflict *c)
{
    bool in[SIM_FIT_MAX + 1] = {false};
    if (!fit_singles_agree(requests, count, preset, c))
        return false;
    for (size_t i = 0; i < count; i++)
        in[i] = true;
    fit_set_board(b, requests, in, count, reserved);
    if (fit_solve(b))
        return true;
    fit_find_conflict(requests, count, reserved, c);
    return false;
}

bool sim_fit_around(const struct sim_request *requests, size_t count,
                    const struct sim_replay_registers *preset, uint32_t reserved,
                    struct sim_plan *plan, struct sim_conflict *conflict)
{
    struct board b;
    memset(&b, 0, sizeof b);
    memset(conflict, 0, sizeof *conflict);
    for (size_t i = 1; i <= count; i++) {
        if (!step(requests, i, preset, reserved, &b, conflict))
            return false;
    }
    take_plan(&b, requests, count, preset, plan);
    return true;
}

bool sim_fit(const struct sim_request *requests, size_t count,
             const struct sim_replay_registers *preset, struct sim_plan *plan,
             struct sim_conflict *conflict)
{
    return sim_fit_around(requests, count, preset, 0, plan, conflict);
}

/* More counts than counters in some group: then no search is needed, and without it none is long.
 */
static bool crowded(const struct board *b)
{
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++) {
        const char *group = p4pmu_counter(c)->group;
        unsigned wanted = 0, there = 0;
        if (c && !strcmp(p4pmu_counter(c - 1)->group, group))
            continue;
        for (unsigned k = c; k < P4PMU_COUNTERS && !strcmp(p4pmu_counter(k)->group, group); k++)
            there += !(b->reserved & 1u << k);
        for (size_t i = 0; i < b->count; i++)
            wanted += b->needs[i].counted && !strcmp(group_of(&b->needs[i]), group);
        if (wanted > there)
            return true;
    }
    return false;
}

bool sim_fits(const struct sim_request *requests, size_t count, uint32_t reserved)
{
    bool in[SIM_FIT_MAX + 1] = {false};
    struct sim_conflict c;
    struct board b;
    if (count > SIM_FIT_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        in[i] = true;
        if (!fit_singles_agree(requests, i + 1, NULL, &c))
            return false;
    }
    fit_set_board(&b, requests, in, count, reserved);
    return !crowded(&b) && fit_solve(&b);
}
