/*
 * Counting: facts and clocks in, counter values out.
 *
 * In each clock an ESCR gives its counters a number from 0 to 15: the facts of the clock and the
 * standing conditions it selects, clipped. A counter adds the number, or 1 when a comparison with
 * the threshold holds, or 1 when it begins to hold (SDM3 18.15.5.2), and the active-thread filter
 * may close the gate behind that. Between facts the input of a counter is constant, so it is not
 * touched: SYNCED says up to which clock its value is right, and it is caught up when a fact
 * arrives or someone looks. What must not be late, an overflow that starts another counter or asks
 * for an interrupt, has a deadline that is computed in advance; HORIZON is the earliest.
 *
 * Not modelled: bsq_active_entries being updated only every other clock on models 3 and 4 (the mean
 * is the same); lower latency of fast RDPMC.
 */
#include "internal.h"
#include "match.h"

static unsigned lowest(uint64_t bits)
{
    return (unsigned)__builtin_ctzll(bits);
}

static unsigned clip(uint64_t input)
{
    return input > INPUT_MAX ? INPUT_MAX : (unsigned)input;
}

/* Clocks of ADDEND each until the counter overflows; the last of them is the overflowing one. */
static uint64_t clocks_to_overflow(const struct counter *c, unsigned addend)
{
    if (c->force)
        return 1;
    return (P4PMU_COUNTER_MASK - c->value + addend) / addend;
}

/* The counter overflowed; COUNTED_SINCE: and has counted again after that. True when something
 * changed. */
static bool overflow(struct counter *c, bool counted_since)
{
    bool changed = c->pebs && !c->armed;
    c->armed = c->armed || c->pebs;
    if (changed || c->stage == STAGE_IDLE) {
        c->origin = c->source;
        c->overflow_clock = c->synced;
    }
    if (c->stage != STAGE_IDLE)
        return changed;
    c->cccr |= P4PMU_CCCR_OVF_MASK;
    if (!c->quiet)
        c->stage = counted_since ? STAGE_REQUESTED : STAGE_OVERFLOWED;
    return true;
}

/* An overflow of an earlier clock waits for a count, and here is one. */
static bool request(struct counter *c)
{
    if (c->stage != STAGE_OVERFLOWED)
        return false;
    c->stage = STAGE_REQUESTED;
    return true;
}

/* One clock of ADDEND (>= 1). True when OVF, the stage or PEBS changed. */
static bool count(struct counter *c, unsigned addend)
{
    uint64_t sum = c->value + addend;
    bool changed = request(c);
    c->value = sum & P4PMU_COUNTER_MASK;
    if (sum > P4PMU_COUNTER_MASK || c->force)
        changed |= overflow(c, false);
    return changed;
}

/* CLOCKS (>= 1) clocks of ADDEND (>= 1) each. */
static bool count_many(struct counter *c, unsigned addend, uint64_t clocks)
{
    uint64_t first = clocks_to_overflow(c, addend);
    bool changed = request(c);
    c->value = (c->value + addend * clocks) & P4PMU_COUNTER_MASK;
    if (first <= clocks)
        changed |= overflow(c, first < clocks);
    return changed;
}

/* Erratum N15: nothing leaves bit 31. */
static bool count_without_carry(struct counter *c, unsigned addend)
{
    uint64_t high = c->value & ~(uint64_t)UINT32_MAX;
    bool changed = count(c, addend);
    c->value = high | (uint32_t)c->value;
    return changed;
}

/* One clock whose input is INPUT, through the filters. */
static bool filter_clock(struct counter *c, unsigned input)
{
    unsigned addend = c->addend[input];
    bool high = c->compare && addend;
    bool lose_carry = c->lose_carry;

    if (c->edge && c->last)
        addend = 0;
    if (!c->gate)
        addend = 0;
    c->last = high;
    c->added = (uint8_t)addend;
    c->lose_carry = false;
    if (!addend)
        return false;
    return lose_carry ? count_without_carry(c, addend) : count(c, addend);
}

/* One clock whose input is INPUT. Most counters have no filter. */
static inline bool count_clock(struct counter *c, unsigned input)
{
    if (!c->plain || c->lose_carry)
        return filter_clock(c, input);
    c->last = false;
    c->added = (uint8_t)input;
    return input && count(c, input);
}

static void note(struct p4pmu *pmu, unsigned counter, bool changed)
{
    pmu->changed |= (uint32_t)changed << counter;
}

void p4pmu_catch_up(struct p4pmu *pmu, unsigned counter)
{
    struct counter *c = &pmu->counter[counter];
    uint64_t clocks = pmu->now - c->synced;

    c->synced = pmu->now;
    if (clocks == 0 || !c->running)
        return;
    c->source = 0;
    unsigned input = clip(pmu->standing[c->escr]);
    note(pmu, counter, count_clock(c, input));
    if (--clocks == 0)
        return;
    if (c->edge)
        c->added = 0; /* it rose in the first of the clocks, if at all */
    else if (c->added)
        note(pmu, counter, count_many(c, c->added, clocks));
}

void p4pmu_catch_up_all(struct p4pmu *pmu)
{
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++)
        p4pmu_catch_up(pmu, i);
}

static bool watches(const struct p4pmu *pmu, const struct watcher *w, unsigned bits, unsigned who)
{
    if (!(w->who >> (who & 7) & 1))
        return false;
    return w->logic == P4PMU_OR ? (w->mask & bits) != 0
                                : p4pmu_match(w->logic, w->mask, bits, pmu->config.model);
}

/* W's ESCR detects COUNT more. The number by which its output rises. */
static inline unsigned detect(struct p4pmu *pmu, const struct watcher *w, unsigned count)
{
    unsigned before = pmu->pulse[w->escr], pulse = clip((uint64_t)before + count);
    pmu->pulse[w->escr] = (uint8_t)pulse;
    pmu->origin[w->escr] = pmu->watch.origin;
    pmu->dirty |= UINT64_C(1) << w->escr;
    return pulse - before;
}

static void detect_witnessed(struct p4pmu *pmu, const struct watcher *w, unsigned who,
                             unsigned count)
{
    unsigned rise = detect(pmu, w, count);
    pmu->witness(pmu->witness_context, (enum p4pmu_escr)w->escr, who, rise, pmu->watch.origin);
}

void p4pmu_post_watched(struct p4pmu *pmu, enum p4pmu_event event, unsigned bits, unsigned who,
                        unsigned count)
{
    const struct watcher *w = pmu->watcher[event];
    for (int i = 0; i < 2; i++, w++) {
        if (!w->who || !watches(pmu, w, bits, who))
            continue;
        if (pmu->witness)
            detect_witnessed(pmu, w, who, count);
        else
            detect(pmu, w, count);
    }
}

/* When a counter next does something others must see, if no fact comes. */
static uint64_t deadline(const struct p4pmu *pmu, unsigned counter)
{
    const struct counter *c = &pmu->counter[counter];
    unsigned addend = c->running && c->gate ? c->addend[clip(pmu->standing[c->escr])] : 0;

    if (!addend || (c->edge && c->last) || (c->stage == STAGE_REQUESTED && (!c->pebs || c->armed)))
        return P4PMU_NEVER;
    uint64_t clocks = c->stage == STAGE_OVERFLOWED ? 1 : clocks_to_overflow(c, addend);
    if (c->edge && clocks > 1)
        return P4PMU_NEVER;
    return c->synced + clocks;
}

static void plan_one(struct p4pmu *pmu, unsigned counter)
{
    uint64_t when = deadline(pmu, counter);
    pmu->counter[counter].deadline = when;
    if (when < pmu->horizon)
        pmu->horizon = when;
}

void p4pmu_plan(struct p4pmu *pmu)
{
    pmu->horizon = pmu->resample ? pmu->now + 1 : P4PMU_NEVER;
    for (uint32_t left = pmu->critical; left; left &= left - 1)
        plan_one(pmu, lowest(left));
}

/* Counter I hears INPUT from ESCR in the present clock. */
static void hear(struct p4pmu *pmu, unsigned i, unsigned escr, unsigned input)
{
    struct counter *c = &pmu->counter[i];
    if (c->synced != pmu->now)
        p4pmu_catch_up(pmu, i);
    c->synced++;
    c->source = pmu->origin[escr];
    note(pmu, i, count_clock(c, input));
}

/* The same where the counter is of the plainest sort and no overflow is near, as most often: with
 * no standing condition there is nothing to catch up with. False: it is not so. */
static inline bool hear_plainly(struct p4pmu *pmu, struct counter *c, unsigned escr, unsigned input)
{
    uint64_t sum = c->value + input;
    if (c->stage != STAGE_IDLE || c->force || c->lose_carry || !c->plain || pmu->standing[escr] ||
        sum > P4PMU_COUNTER_MASK)
        return false;
    c->value = sum;
    c->last = false;
    c->added = (uint8_t)input;
    c->synced = pmu->now + 1;
    c->source = pmu->origin[escr];
    return true;
}

/* Its listeners hear what ESCR detected in the present clock. Gives the counters touched. */
static uint32_t count_escr(struct p4pmu *pmu, unsigned escr)
{
    unsigned input = clip(pmu->standing[escr] + pmu->pulse[escr]);
    uint32_t listeners = pmu->listeners[escr] & pmu->running;

    pmu->pulse[escr] = 0;
    for (uint32_t left = listeners; left; left &= left - 1) {
        unsigned i = lowest(left);
        if (!hear_plainly(pmu, &pmu->counter[i], escr, input))
            hear(pmu, i, escr, input);
    }
    return listeners;
}

/* The clock the facts belong to. */
static void count_facts(struct p4pmu *pmu)
{
    uint32_t touched = 0;
    for (uint64_t left = pmu->dirty; left; left &= left - 1)
        touched |= count_escr(pmu, lowest(left));
    pmu->dirty = 0;
    pmu->now++;
    for (uint32_t left = touched & pmu->critical; left; left &= left - 1)
        plan_one(pmu, lowest(left));
    if (pmu->now >= pmu->horizon || (pmu->changed & pmu->critical))
        p4pmu_transition(pmu);
    pmu->changed = 0;
}

static void pass_deadlines(struct p4pmu *pmu, uint64_t n)
{
    while (pmu->horizon != P4PMU_NEVER && n >= pmu->horizon - pmu->now) {
        n -= pmu->horizon - pmu->now;
        pmu->now = pmu->horizon;
        p4pmu_transition(pmu);
    }
    pmu->now += n;
}

void p4pmu_clocks(struct p4pmu *pmu, uint64_t n)
{
    if (pmu->dirty && n) {
        count_facts(pmu);
        n--;
    }
    if (n < pmu->horizon - pmu->now)
        pmu->now += n;
    else
        pass_deadlines(pmu, n);
}

void p4pmu_transition(struct p4pmu *pmu)
{
    if (pmu->resample)
        p4pmu_resample(pmu);
    for (uint32_t left = pmu->critical; left; left &= left - 1)
        p4pmu_catch_up(pmu, lowest(left));
    pmu->changed = 0;
    p4pmu_update_running(
        pmu); /* a cascade stays in its block, so it powers no further tagging ESCR */
    p4pmu_update_requests(pmu);
    p4pmu_plan(pmu);
}

void p4pmu_load_counter(struct p4pmu *pmu, unsigned counter, uint64_t value)
{
    pmu->counter[counter].value = value & P4PMU_COUNTER_MASK;
    p4pmu_plan(pmu);
}

void p4pmu_witness(struct p4pmu *pmu, p4pmu_witness_fn *witness, void *context)
{
    pmu->witness = witness;
    pmu->witness_context = context;
}

uint64_t p4pmu_overflow_origin(const struct p4pmu *pmu, unsigned counter, uint64_t *clock)
{
    const struct counter *c = &pmu->counter[counter % P4PMU_COUNTERS];
    if (clock)
        *clock = c->overflow_clock;
    return c->origin;
}

uint64_t p4pmu_now(const struct p4pmu *pmu)
{
    return pmu->now;
}
