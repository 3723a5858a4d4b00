/*
 * Wires: which ESCR a counter hears, and which it was meant to hear.
 *
 * Each counter block has eight wires per half; CCCR[15:13] is the number of the wire. A counter
 * that hears nothing useful while an ESCR with an event is heard by nobody is most often a wrong
 * number there, so the two are told together.
 */
#include "check_parts.h"

#include <stdio.h>

/* ESCRs that hold an event nobody hears and no other finding explains. */
static bool is_orphan(const struct check *c, int escr)
{
    return P4PMU_GET(ESCR, EVENT_SELECT, check_escr(c, escr)) && !check_listeners(c, escr) &&
           !(c->explained >> escr & 1) && !check_is_tagger(c, escr);
}

/* An orphan that COUNTER can reach, or (REACH false) any. */
static int orphan_for(const struct check *c, unsigned counter, bool reach)
{
    for (int e = 0; e < P4PMU_ESCRS; e++) {
        bool wired = p4pmu_escr((enum p4pmu_escr)e)->counters >> counter & 1;
        if (is_orphan(c, e) && (wired || !reach))
            return e;
    }
    return P4PMU_NONE;
}

/* The ESCR a CCCR without one was meant for: reachable, or in any case in the same block. */
static void say_select(struct check *c, struct check_finding *f, unsigned counter, int meant)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)meant);
    uint32_t cccr = P4PMU_PUT(CCCR, ESCR_SELECT, check_cccr(c, counter), escr->select);
    check_todo(f, "%s is reached with ESCR_SELECT %u: write %s = 0x%08X", escr->name, escr->select,
               info->cccr_name, cccr);
    c->explained |= UINT64_C(1) << meant;
}

static void say_counters(struct check *c, struct check_finding *f, unsigned counter, int meant)
{
    const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)meant);
    char list[96], other[200] = "";
    (void)counter;
    for (int e = 0; e < P4PMU_ESCRS; e++) {
        const struct p4pmu_escr_info *pair = p4pmu_escr((enum p4pmu_escr)e);
        int event = p4pmu_event_by_code((enum p4pmu_escr)e,
                                        P4PMU_GET(ESCR, EVENT_SELECT, check_escr(c, meant)));
        if (e == meant || event == P4PMU_NONE || event != check_event(c, meant) ||
            !(pair->counters >> counter & 1))
            continue;
        snprintf(other, sizeof other,
                 ", or write the ESCR value to %s instead and set ESCR_SELECT %u", pair->name,
                 pair->select);
    }
    check_todo(f, "%s is wired to counters %s with ESCR_SELECT %u: use one of them%s", escr->name,
               check_list(escr->counters, " and ", list), escr->select, other);
    c->explained |= UINT64_C(1) << meant;
}

static uint32_t select_bits(const struct check *c, unsigned counter)
{
    return P4PMU_GET(CCCR, ESCR_SELECT, check_cccr(c, counter));
}

static bool no_wire(struct check *c, unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    int meant = orphan_for(c, counter, true), far = orphan_for(c, counter, false);
    struct check_finding *f =
        check_dead(c, CHECK_SELECT_NO_ESCR, counter, info->cccr_msr, P4PMU_CCCR_ESCR_SELECT_SHIFT,
                   P4PMU_CCCR_ESCR_SELECT_LENGTH);
    uint32_t selects = 0;
    char list[96];
    for (unsigned s = 0; s < 8; s++)
        selects |= (uint32_t)(p4pmu_wired_escr(counter, s) != P4PMU_NONE) << s;
    check_what(f, "ESCR_SELECT %u reaches no ESCR from counter %u; there are %s",
               select_bits(c, counter), counter, check_list(selects, " and ", list));
    check_todo(f, "'p4sim explain %s' shows the wires of this counter", info->cccr_name);
    if (meant != P4PMU_NONE)
        say_select(c, f, counter, meant);
    else if (far != P4PMU_NONE)
        say_counters(c, f, counter, far);
    return false;
}

static void say_elsewhere(struct check *c, unsigned counter, int heard, int meant, bool dead)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    char name[64], other[64] = "no event";
    struct check_finding *f =
        dead ? check_dead(c, CHECK_SELECT_ELSEWHERE, counter, info->cccr_msr,
                          P4PMU_CCCR_ESCR_SELECT_SHIFT, P4PMU_CCCR_ESCR_SELECT_LENGTH)
             : check_add(c, CHECK_SELECT_ELSEWHERE, (int)counter, info->cccr_msr,
                         P4PMU_CCCR_ESCR_SELECT_SHIFT, P4PMU_CCCR_ESCR_SELECT_LENGTH);
    if (P4PMU_GET(ESCR, EVENT_SELECT, check_escr(c, heard)))
        check_event_text(c, heard, other);
    check_what(f,
               "ESCR_SELECT %u listens to %s, which holds %s; %s holds %s and nobody listens to it",
               select_bits(c, counter), p4pmu_escr((enum p4pmu_escr)heard)->name, other,
               p4pmu_escr((enum p4pmu_escr)meant)->name, check_event_text(c, meant, name));
    say_select(c, f, counter, meant);
}

/* The ESCR this counter hears selects no event. */
static bool empty_escr(struct check *c, unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    int heard = c->counter[counter].escr;
    const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)heard);
    int meant = orphan_for(c, counter, true), far = orphan_for(c, counter, false);
    char name[64];
    struct check_finding *f;
    if (check_has(c, CHECK_ESCR_ABSENT, escr->msr)) {
        c->counter[counter].counts = false;
        snprintf(c->counter[counter].why, sizeof c->counter[counter].why, "%s is not on this model",
                 escr->name);
    } else if (meant != P4PMU_NONE) {
        say_elsewhere(c, counter, heard, meant, true);
    } else if (far != P4PMU_NONE) {
        f = check_dead(c, CHECK_ESCR_UNREACHABLE, counter, info->cccr_msr,
                       P4PMU_CCCR_ESCR_SELECT_SHIFT, P4PMU_CCCR_ESCR_SELECT_LENGTH);
        check_what(f, "counter %u cannot hear %s, which holds %s: no wire leads there", counter,
                   p4pmu_escr((enum p4pmu_escr)far)->name, check_event_text(c, far, name));
        say_counters(c, f, counter, far);
    } else {
        f = check_dead(c, CHECK_ESCR_EMPTY, counter, escr->msr, P4PMU_ESCR_EVENT_SELECT_SHIFT,
                       P4PMU_ESCR_EVENT_SELECT_LENGTH);
        check_what(f, "counter %u listens to %s, which selects no event", counter, escr->name);
        check_todo(f, "write an event to %s (MSR 0x%X)", escr->name, (unsigned)escr->msr);
    }
    return false;
}

bool check_wire(struct check *c, unsigned counter)
{
    int heard = c->counter[counter].escr;
    if (heard == P4PMU_NONE)
        return no_wire(c, counter);
    if (!P4PMU_GET(ESCR, EVENT_SELECT, check_escr(c, heard)) &&
        !check_has(c, CHECK_EVENT_NOT_IN_UNIT, p4pmu_escr((enum p4pmu_escr)heard)->msr)) {
        const struct config_write *w = check_write(c, p4pmu_escr((enum p4pmu_escr)heard)->msr);
        if (w && (w->value & P4PMU_ESCR_EVENT_SELECT_MASK) &&
            p4pmu_escr((enum p4pmu_escr)heard)->models >> c->config->model & 1)
            return true; /* the unit does not hold the event: judged there */
        return empty_escr(c, counter);
    }
    return true;
}

/* Another started counter that hears the same ESCR with the same filters. */
static bool doubled(const struct check *c, unsigned counter)
{
    uint32_t filters = P4PMU_CCCR_COMPARE_MASK | P4PMU_CCCR_COMPLEMENT_MASK |
                       P4PMU_CCCR_THRESHOLD_MASK | P4PMU_CCCR_EDGE_MASK | P4PMU_CCCR_CASCADE_MASK |
                       P4PMU_CCCR_ENABLE_MASK;
    uint32_t others = check_listeners(c, c->counter[counter].escr) & ~(1u << counter);
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        if ((others >> i & 1) && !((check_cccr(c, i) ^ check_cccr(c, counter)) & filters))
            return true;
    }
    return false;
}

void check_unheard(struct check *c)
{
    for (unsigned i = P4PMU_COUNTERS; i-- > 0;) {
        if (!c->counter[i].used || !c->counter[i].counts || !check_started(c, i) || !doubled(c, i))
            continue;
        int meant = orphan_for(c, i, true);
        if (meant != P4PMU_NONE)
            say_elsewhere(c, i, c->counter[i].escr, meant, false);
    }
    for (int e = 0; e < P4PMU_ESCRS; e++) {
        const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)e);
        char list[96], name[64];
        if (!is_orphan(c, e))
            continue;
        struct check_finding *f =
            check_add(c, CHECK_ESCR_UNHEARD, P4PMU_NONE, escr->msr, P4PMU_ESCR_EVENT_SELECT_SHIFT,
                      P4PMU_ESCR_EVENT_SELECT_LENGTH);
        check_what(f, "%s selects %s, and no enabled counter listens to it", escr->name,
                   check_event_text(c, e, name));
        check_todo(f, "enable counter %s with ESCR_SELECT %u",
                   check_list(escr->counters, " or ", list), escr->select);
    }
}
