/*
 * Tags: what is counted at retirement must have been set upstream, and the other way round.
 *
 * Three mechanisms (SDM3 18.15.6): uop_type in a RAT ESCR marks loads and stores for
 * front_end_event; a FIRM ESCR with TAG_ENABLE gives the execution tags of its TAG_VALUE for
 * execution_event; IA32_PEBS_ENABLE and MSR_PEBS_MATRIX_VERT, for two causes with an ESCR besides,
 * mark replayed uops for replay_event.
 */
#include "check_parts.h"

#include <stdio.h>
#include <string.h>

enum { LOADS = 1, STORES = 2, BRANCHES = 16 };

/* SDM3 table 19-33: bits of IA32_PEBS_ENABLE, classes the manual lists, classes that can meet it.
 */
static const struct cause {
    uint32_t bits;
    unsigned documented, possible;
    const char *name;
} causes[] = {
    {1u << 0, LOADS, LOADS | STORES, "first-level misses"},
    {1u << 1, LOADS, LOADS | STORES, "second-level misses"},
    {1u << 2, LOADS | STORES, LOADS | STORES, "data TLB misses"},
    {1u << 9, LOADS, LOADS | STORES, "MOB replays"},
    {1u << 10, LOADS | STORES, LOADS | STORES, "split accesses"},
    {3u << 15, BRANCHES, BRANCHES, "mispredicted branches"},
};
enum { CAUSES = sizeof causes / sizeof causes[0], MOB = 3, SPLIT = 4 };

static const struct p4pmu_escr_info *escr_info(int escr)
{
    return p4pmu_escr((enum p4pmu_escr)escr);
}

static bool is_firm(int escr)
{
    return !strcmp(escr_info(escr)->unit, "FIRM");
}

bool check_is_tagger(const struct check *c, int escr)
{
    int event = check_event(c, escr);
    uint64_t enable = c->state.pebs_enable;
    if (event == P4PMU_NONE)
        return false;
    if (event == P4PMU_EV_uop_type || (check_escr(c, escr) & P4PMU_ESCR_TAG_ENABLE_MASK))
        return true;
    if (event == P4PMU_EV_MOB_load_replay)
        return enable & causes[MOB].bits;
    return (event == P4PMU_EV_load_port_replay || event == P4PMU_EV_store_port_replay) &&
           (enable & causes[SPLIT].bits);
}

/* A counter that can hear ESCR or the other half of its pair runs (SDM3 18.15.5.9). */
static bool powered(const struct check *c, int escr)
{
    for (int e = 0; e < P4PMU_ESCRS; e++) {
        if (strcmp(escr_info(e)->unit, escr_info(escr)->unit) ||
            escr_info(e)->select != escr_info(escr)->select)
            continue;
        for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
            int heard = p4pmu_wired_escr(i, P4PMU_GET(CCCR, ESCR_SELECT, check_cccr(c, i)));
            if ((escr_info(e)->counters >> i & 1) && check_started(c, i) && heard != P4PMU_NONE &&
                P4PMU_GET(ESCR, EVENT_SELECT, check_escr(c, heard)))
                return true;
        }
    }
    return false;
}

static bool has_power(struct check *c, unsigned counter, int escr)
{
    char list[96];
    if (powered(c, escr))
        return true;
    struct check_finding *f =
        check_dead(c, CHECK_TAG_UNPOWERED, counter, escr_info(escr)->msr, 0, 31);
    check_what(f, "%s marks nothing: no counter that can hear it or its pair is enabled",
               escr_info(escr)->name);
    check_todo(f, "enable one of counters %s with ESCR_SELECT %u, even if its count is not wanted",
               check_list(escr_info(escr)->counters, " and ", list), escr_info(escr)->select);
    return false;
}

/* Whether a uop that ESCR marks can have the level COUNTER asks for. */
static bool levels_meet(const struct check *c, unsigned counter, int escr)
{
    uint32_t counted = check_escr(c, c->counter[counter].escr);
    int event = check_event(c, escr);
    if (c->config->hyper_threading && p4pmu_event((enum p4pmu_event)event)->thread == P4PMU_TI)
        return true; /* it is enough that the other logical processor is at the level */
    return check_escr(c, escr) & counted & 0xF;
}

static bool same_level(struct check *c, unsigned counter, int escr)
{
    uint32_t counted = check_escr(c, c->counter[counter].escr);
    if (levels_meet(c, counter, escr))
        return true;
    struct check_finding *f = check_dead(c, CHECK_TAG_LEVEL, counter, escr_info(escr)->msr, 0, 4);
    check_what(f, "%s marks uops with bits 3:0 = 0x%X, and counter %u counts those with 0x%X",
               escr_info(escr)->name, check_escr(c, escr) & 0xF, counter, counted & 0xF);
    check_todo(f, "tag at every level: %s = 0x%08X", escr_info(escr)->name,
               check_escr(c, escr) | (c->config->hyper_threading ? 0xF : 0xC));
    return false;
}

/* ESCR marks uops of its event for COUNTER. */
static bool marks(const struct check *c, unsigned counter, int escr)
{
    unsigned mask = P4PMU_GET(ESCR, EVENT_MASK, check_escr(c, escr));
    return (mask & check_documented(c, check_event(c, escr))) && (check_escr(c, escr) & 0xF) &&
           levels_meet(c, counter, escr) && powered(c, escr);
}

static bool marks_or_says_why(struct check *c, unsigned counter, int escr)
{
    return check_detects(c, counter, escr) && same_level(c, counter, escr) &&
           has_power(c, counter, escr);
}

static bool never_set(struct check *c, unsigned counter, const char *todo)
{
    const struct check_counter *k = &c->counter[counter];
    struct check_finding *f =
        check_dead(c, CHECK_TAG_NEVER_SET, counter, escr_info(k->escr)->msr,
                   P4PMU_ESCR_EVENT_SELECT_SHIFT, P4PMU_ESCR_EVENT_SELECT_LENGTH);
    check_what(f, "counter %u counts %s, and nothing sets the tag", counter,
               p4pmu_event((enum p4pmu_event)k->event)->name);
    check_todo(f, "%s", todo);
    return false;
}

/* ---- front end ---------------------------------------------------------------------------------
 */

static bool front_end_tagged(struct check *c, unsigned counter)
{
    static const int rat[] = {P4PMU_ESCR_RAT0, P4PMU_ESCR_RAT1};
    size_t found = 0;
    int candidate = P4PMU_NONE;
    for (size_t i = 0; i < 2; i++) {
        if (check_event(c, rat[i]) != P4PMU_EV_uop_type)
            continue;
        candidate = rat[i];
        found++;
        if (marks(c, counter, rat[i]))
            return true;
    }
    if (!found)
        return never_set(c, counter,
                         "write uop_type to MSR_RAT_ESCR0, 0x0400040C for loads, 0x0400080C for "
                         "stores, 0x04000C0C for both");
    return marks_or_says_why(c, counter, candidate);
}

/* ---- execution ---------------------------------------------------------------------------------
 */

static bool tag_value_fits(struct check *c, unsigned counter, int escr, unsigned wanted)
{
    uint32_t v = check_escr(c, escr);
    unsigned value = P4PMU_GET(ESCR, TAG_VALUE, v);
    struct check_finding *f;
    if (!(v & P4PMU_ESCR_TAG_ENABLE_MASK)) {
        f = check_dead(c, CHECK_TAG_ENABLE_OFF, counter, escr_info(escr)->msr,
                       P4PMU_ESCR_TAG_ENABLE_SHIFT, 1);
        check_what(f, "%s has TAG_VALUE %u and TAG_ENABLE 0: it marks nothing",
                   escr_info(escr)->name, value);
        check_todo(f, "set bit 4: %s = 0x%08X", escr_info(escr)->name,
                   P4PMU_PUT(ESCR, TAG_VALUE, v, value ? value : wanted) |
                       P4PMU_ESCR_TAG_ENABLE_MASK);
        return false;
    }
    if (value & wanted)
        return true;
    f = check_dead(c, CHECK_TAG_VALUE, counter, escr_info(escr)->msr, P4PMU_ESCR_TAG_VALUE_SHIFT,
                   P4PMU_ESCR_TAG_VALUE_LENGTH);
    check_what(f, "%s gives tags 0x%X, and execution_event counts tags 0x%X", escr_info(escr)->name,
               value, wanted);
    check_todo(f, "give the tag that is counted: %s = 0x%08X", escr_info(escr)->name,
               P4PMU_PUT(ESCR, TAG_VALUE, v, wanted));
    return false;
}

static unsigned wanted_tags(const struct check *c, unsigned counter)
{
    unsigned mask = P4PMU_GET(ESCR, EVENT_MASK, check_escr(c, c->counter[counter].escr));
    return (mask | mask >> 4) & 0xF;
}

/* 2: ESCR gives a tag that is wanted, 1: it was meant to, 0: it has nothing to do with tags. */
static int gives_tag(const struct check *c, unsigned counter, int escr, unsigned wanted)
{
    uint32_t v = check_escr(c, escr);
    int event = check_event(c, escr);
    if (event == P4PMU_NONE || !is_firm(escr))
        return 0;
    bool on = v & P4PMU_ESCR_TAG_ENABLE_MASK, value = P4PMU_GET(ESCR, TAG_VALUE, v) & wanted;
    if (on && value && marks(c, counter, escr))
        return 2;
    return on || P4PMU_GET(ESCR, TAG_VALUE, v) || !check_listeners(c, escr);
}

static bool execution_tagged(struct check *c, unsigned counter)
{
    unsigned wanted = wanted_tags(c, counter);
    int candidate = P4PMU_NONE;
    for (int e = 0; e < P4PMU_ESCRS; e++) {
        int gives = gives_tag(c, counter, e, wanted);
        if (gives == 2)
            return true;
        if (gives == 1 && candidate == P4PMU_NONE)
            candidate = e;
    }
    if (candidate == P4PMU_NONE)
        return never_set(c, counter,
                         "write an event of the FIRM ESCRs with TAG_ENABLE and TAG_VALUE, for "
                         "example packed_DP_uop: MSR_FIRM_ESCR0 = 0x1900003C");
    c->explained |= UINT64_C(1) << candidate;
    return tag_value_fits(c, counter, candidate, wanted) &&
           marks_or_says_why(c, counter, candidate);
}

/* ---- replay ------------------------------------------------------------------------------------
 */

static bool complete(const struct check *c, const struct cause *cause)
{
    return (c->state.pebs_enable & cause->bits) == cause->bits;
}

/* An ESCR that holds EVENT, rather one that marks uops for COUNTER. */
static int upstream_candidate(const struct check *c, unsigned counter, int event, int only)
{
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)event);
    int found = P4PMU_NONE;
    for (int i = 0; i < 2; i++) {
        int escr = info->escrs[i];
        if ((only != P4PMU_NONE && escr != only) || check_event(c, escr) != event)
            continue;
        if (found == P4PMU_NONE || marks(c, counter, escr))
            found = escr;
    }
    return found;
}

static bool upstream_missing(struct check *c, unsigned counter, const char *what, const char *todo)
{
    struct check_finding *f =
        check_dead(c, CHECK_REPLAY_UPSTREAM, counter, CHECK_PEBS_ENABLE, 0, 13);
    check_what(f, "%s", what);
    check_todo(f, "%s", todo);
    return false;
}

static bool mob_upstream(struct check *c, unsigned counter)
{
    int escr = upstream_candidate(c, counter, P4PMU_EV_MOB_load_replay, P4PMU_NONE);
    if (escr == P4PMU_NONE)
        return upstream_missing(c, counter,
                                "MOB replays are tagged only where a MOB ESCR selects them",
                                "write MOB_load_replay to MSR_MOB_ESCR0 = 0x0600600C and enable a "
                                "counter of its block, for example MSR_BPU_CCCR0 = 0x00035000");
    return marks_or_says_why(c, counter, escr);
}

static bool split_upstream(struct check *c, unsigned counter)
{
    unsigned matrix = (unsigned)c->state.pebs_matrix_vert;
    int load = upstream_candidate(c, counter, P4PMU_EV_load_port_replay, P4PMU_ESCR_SAAT1);
    int store = upstream_candidate(c, counter, P4PMU_EV_store_port_replay, P4PMU_NONE);
    int escr = matrix & LOADS && load != P4PMU_NONE ? load : matrix & STORES ? store : P4PMU_NONE;
    if (escr != P4PMU_NONE)
        return marks_or_says_why(c, counter, escr);
    if ((matrix & LOADS) && check_event(c, P4PMU_ESCR_SAAT0) == P4PMU_EV_load_port_replay)
        return upstream_missing(
            c, counter,
            "split loads are tagged by MSR_SAAT_ESCR1, and load_port_replay "
            "stands in MSR_SAAT_ESCR0",
            "write it to MSR_SAAT_ESCR1 = 0x0800040C, with a counter of 10, 11");
    if (matrix & LOADS)
        return upstream_missing(c, counter,
                                "split loads are tagged only where MSR_SAAT_ESCR1 selects them",
                                "write load_port_replay to MSR_SAAT_ESCR1 = 0x0800040C and enable "
                                "a counter of its block, for example MSR_FLAME_CCCR2 = 0x00035000");
    return upstream_missing(c, counter,
                            "split stores are tagged only where a SAAT ESCR selects them",
                            "write store_port_replay to MSR_SAAT_ESCR0 = 0x0A00040C and enable a "
                            "counter of its block, for example MSR_FLAME_CCCR0 = 0x00035000");
}

static void judge_odd(struct check *c, const struct cause *cause)
{
    unsigned odd = (unsigned)c->state.pebs_matrix_vert & ~cause->documented;
    if (!odd || check_has(c, CHECK_REPLAY_ODD, CHECK_MATRIX))
        return;
    struct check_finding *f = check_add(c, CHECK_REPLAY_ODD, P4PMU_NONE, CHECK_MATRIX, 0, 13);
    check_what(f, "%s are documented with MSR_PEBS_MATRIX_VERT 0x%X, not with 0x%X", cause->name,
               cause->documented, (unsigned)c->state.pebs_matrix_vert);
    check_todo(f, "write MSR_PEBS_MATRIX_VERT = 0x%X",
               (unsigned)c->state.pebs_matrix_vert & cause->documented
                   ? (unsigned)c->state.pebs_matrix_vert & cause->documented
                   : cause->documented);
}

static bool replay_dead(struct check *c, unsigned counter, enum check_id id, uint32_t msr,
                        unsigned shift, const char *todo)
{
    struct check_finding *f =
        check_dead(c, id, counter, msr, shift, id == CHECK_PEBS_BIT24 ? 1 : 13);
    check_what(f, "IA32_PEBS_ENABLE = 0x%llX, MSR_PEBS_MATRIX_VERT = 0x%llX: %s",
               (unsigned long long)c->state.pebs_enable,
               (unsigned long long)c->state.pebs_matrix_vert, check_info(id)->title);
    check_todo(f, "%s", todo);
    return false;
}

static bool replay_cause(struct check *c, unsigned counter, const struct cause *cause)
{
    judge_odd(c, cause);
    if (cause == &causes[MOB])
        return mob_upstream(c, counter);
    return cause != &causes[SPLIT] || split_upstream(c, counter);
}

static bool replay_tagged(struct check *c, unsigned counter)
{
    uint64_t enable = c->state.pebs_enable, matrix = c->state.pebs_matrix_vert;
    const struct cause *whole = NULL, *met = NULL;
    char todo[100];
    for (size_t i = 0; i < CAUSES; i++) {
        if (!complete(c, &causes[i]))
            continue;
        whole = whole ? whole : &causes[i];
        met = met || !(matrix & causes[i].possible) ? met : &causes[i];
    }
    if (!enable && !matrix)
        return never_set(c, counter,
                         "write IA32_PEBS_ENABLE and MSR_PEBS_MATRIX_VERT, for example 0x1000001 "
                         "and 0x1 for loads that miss the first level");
    if (!(enable & P4PMU_PEBS_ENABLE_UOP_TAG_MASK)) {
        snprintf(todo, sizeof todo, "set bit 24: IA32_PEBS_ENABLE = 0x%llX",
                 (unsigned long long)(enable | P4PMU_PEBS_ENABLE_UOP_TAG_MASK));
        return replay_dead(c, counter, CHECK_PEBS_BIT24, CHECK_PEBS_ENABLE,
                           P4PMU_PEBS_ENABLE_UOP_TAG_SHIFT, todo);
    }
    if (!whole)
        return replay_dead(c, counter, CHECK_REPLAY_CAUSE, CHECK_PEBS_ENABLE, 0,
                           "set the bits of a cause: 0x1 first level, 0x2 second level, 0x4 data "
                           "TLB, 0x200 MOB, 0x400 split, 0x18000 mispredicted branches");
    if (met)
        return replay_cause(c, counter, met);
    snprintf(todo, sizeof todo, "write MSR_PEBS_MATRIX_VERT = 0x%X for %s", whole->documented,
             whole->name);
    return replay_dead(c, counter, CHECK_REPLAY_MATRIX, CHECK_MATRIX, 0, todo);
}

/* ---- which of them -----------------------------------------------------------------------------
 */

enum { NBOGUSTAG = 1 << 1, BOGUSTAG = 1 << 3 };

static bool wants_front_end(const struct check *c, int escr, int event)
{
    unsigned mask = P4PMU_GET(ESCR, EVENT_MASK, check_escr(c, escr)) & 0xF;
    return event == P4PMU_EV_front_end_event ||
           (event == P4PMU_EV_instr_retired && !(mask & ~(unsigned)(NBOGUSTAG | BOGUSTAG)));
}

void check_tagged(struct check *c, unsigned counter)
{
    struct check_counter *k = &c->counter[counter];
    size_t before = c->count;
    if (k->event == P4PMU_NONE || check_always(c, counter))
        return;
    if (wants_front_end(c, k->escr, k->event))
        front_end_tagged(c, counter);
    else if (k->event == P4PMU_EV_execution_event)
        execution_tagged(c, counter);
    else if (k->event == P4PMU_EV_replay_event)
        replay_tagged(c, counter);
    uint32_t absence = P4PMU_CCCR_COMPARE_MASK | P4PMU_CCCR_COMPLEMENT_MASK;
    if (!k->counts && (check_cccr(c, counter) & absence) == absence) {
        enum check_id id = c->finding[c->count - 1].id;
        c->count = before;
        k->counts = true;
        check_say_always(c, counter, check_info(id)->title);
    }
}

/* ---- set and not counted -----------------------------------------------------------------------
 */

/* Some started counter hears EVENT, or (EVENT instr_retired) its tagged sub-events. */
static bool counted(const struct check *c, int event)
{
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        const struct check_counter *k = &c->counter[i];
        if (!k->used || k->event != event)
            continue;
        if (event != P4PMU_EV_instr_retired ||
            (P4PMU_GET(ESCR, EVENT_MASK, check_escr(c, k->escr)) & (NBOGUSTAG | BOGUSTAG)))
            return true;
    }
    return false;
}

static void left(struct check *c, uint32_t msr, unsigned shift, const char *what, const char *todo)
{
    struct check_finding *f = check_add(c, CHECK_TAG_NOT_COUNTED, P4PMU_NONE, msr, shift, 1);
    check_what(f, "%s", what);
    check_todo(f, "%s", todo);
}

static void escr_left(struct check *c, int escr, int event)
{
    uint32_t msr = escr_info(escr)->msr;
    if (event == P4PMU_EV_uop_type && !check_has(c, CHECK_TAGS_ONLY, msr) &&
        !counted(c, P4PMU_EV_front_end_event) && !counted(c, P4PMU_EV_instr_retired))
        left(c, msr, P4PMU_ESCR_EVENT_SELECT_SHIFT,
             "uop_type tags, and no counter counts front_end_event",
             "count front_end_event: MSR_CRU_ESCR2 = 0x1000020C, MSR_IQ_CCCR0 = 0x0003B000");
    if (!(check_escr(c, escr) & P4PMU_ESCR_TAG_ENABLE_MASK))
        return;
    if (is_firm(escr)) {
        if (!counted(c, P4PMU_EV_execution_event))
            left(c, msr, P4PMU_ESCR_TAG_ENABLE_SHIFT,
                 "TAG_ENABLE is set, and no counter counts execution_event",
                 "count execution_event: MSR_CRU_ESCR2 = 0x1800020C, MSR_IQ_CCCR0 = 0x0003B000; or "
                 "clear TAG_ENABLE");
        return;
    }
    struct check_finding *f =
        check_add(c, CHECK_TAG_ENABLE_ODD, P4PMU_NONE, msr, P4PMU_ESCR_TAG_ENABLE_SHIFT, 1);
    check_what(f, "%s cannot give execution tags", p4pmu_event((enum p4pmu_event)event)->name);
    check_todo(f, "clear TAG_ENABLE and TAG_VALUE: %s = 0x%08X", escr_info(escr)->name,
               check_escr(c, escr) & ~(P4PMU_ESCR_TAG_ENABLE_MASK | P4PMU_ESCR_TAG_VALUE_MASK));
}

void check_tags_left(struct check *c)
{
    uint64_t cause_bits = 0x7FFF | 3u << 15;
    for (int e = 0; e < P4PMU_ESCRS; e++) {
        int event = check_event(c, e);
        if (event != P4PMU_NONE)
            escr_left(c, e, event);
    }
    if ((c->state.pebs_enable & cause_bits) && !counted(c, P4PMU_EV_replay_event))
        left(c, CHECK_PEBS_ENABLE, 0, "replay tags are set, and no counter counts replay_event",
             "count replay_event: MSR_CRU_ESCR2 = 0x1200020C, MSR_IQ_CCCR0 = 0x0003B000");
}
