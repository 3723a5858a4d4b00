/*
 * Errata and the remarks of the event tables that concern what is counted here.
 *
 * Each row names an event, the mask bits and the condition that make the remark apply.
 */
#include "check_parts.h"

enum condition { ALWAYS, WITHOUT_EDGE, ONE_LEVEL, ONE_LEVEL_BEFORE_F27, WHILE_TAGGING };

static const struct row {
    int event;
    enum check_id id;
    enum condition when;
    const char *todo;
} rows[] = {
    {P4PMU_EV_TC_misc, CHECK_NOTE_TWICE, ALWAYS, "halve the count"},
    {P4PMU_EV_tc_ms_xfer, CHECK_NOTE_TWICE, ALWAYS, "halve the count"},
    {P4PMU_EV_BSQ_cache_reference, CHECK_NOTE_BSQ, ALWAYS,
     "compare counts with each other rather than take one for itself"},
    {P4PMU_EV_retired_branch_type, CHECK_NOTE_BRANCH_TYPE, ALWAYS,
     "for the number of branches use branch_retired"},
    {P4PMU_EV_retired_mispred_branch_type, CHECK_NOTE_BRANCH_TYPE, ALWAYS,
     "for the number of mispredictions use mispred_branch_retired"},
    {P4PMU_EV_IOQ_allocation, CHECK_NOTE_EDGE, WITHOUT_EDGE, "set COMPARE and EDGE, THRESHOLD 0"},
    {P4PMU_EV_FSB_data_activity, CHECK_NOTE_EDGE, WITHOUT_EDGE,
     "for occurrences set COMPARE and EDGE, THRESHOLD 0"},
    {P4PMU_EV_BSQ_allocation, CHECK_NOTE_EDGE, WITHOUT_EDGE, "set COMPARE and EDGE, THRESHOLD 0"},
    {P4PMU_EV_IOQ_active_entries, CHECK_NOTE_IOQ_CPL, ONE_LEVEL,
     "take the count as that of all levels"},
    {P4PMU_EV_IOQ_allocation, CHECK_NOTE_IOQ_CPL, ONE_LEVEL_BEFORE_F27,
     "take the count as that of all levels"},
    {P4PMU_EV_x87_SIMD_moves_uop, CHECK_NOTE_N43, ALWAYS, "check the count on a known program"},
    {P4PMU_EV_instr_retired, CHECK_NOTE_TAGGED, WHILE_TAGGING, "add NBOGUSTAG (mask bit 1)"},
};

const struct check_info *check_event_note(int event, size_t n)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].event == event && n-- == 0)
            return check_info(rows[i].id);
    }
    return NULL;
}

static bool tagging(const struct check *c)
{
    return check_event(c, P4PMU_ESCR_RAT0) == P4PMU_EV_uop_type ||
           check_event(c, P4PMU_ESCR_RAT1) == P4PMU_EV_uop_type;
}

static bool one_level(uint32_t escr)
{
    bool usr = escr & (P4PMU_ESCR_T0_USR_MASK | P4PMU_ESCR_T1_USR_MASK);
    bool os = escr & (P4PMU_ESCR_T0_OS_MASK | P4PMU_ESCR_T1_OS_MASK);
    return usr != os;
}

static bool applies(const struct check *c, unsigned counter, enum condition when)
{
    uint32_t escr = check_escr(c, c->counter[counter].escr);
    unsigned mask = P4PMU_GET(ESCR, EVENT_MASK, escr);
    switch (when) {
    case ALWAYS:
        return true;
    case WITHOUT_EDGE:
        return !(check_cccr(c, counter) & P4PMU_CCCR_EDGE_MASK);
    case ONE_LEVEL:
        return one_level(escr);
    case ONE_LEVEL_BEFORE_F27:
        return one_level(escr) && (c->config->model << 4 | c->config->stepping) < 0x27;
    case WHILE_TAGGING:
        return tagging(c) && (mask & 1) && !(mask & 2);
    }
    return false;
}

static void note(struct check *c, enum check_id id, unsigned counter, uint32_t msr,
                 const char *todo)
{
    struct check_finding *f = check_add(c, id, (int)counter, msr, P4PMU_ESCR_EVENT_SELECT_SHIFT,
                                        P4PMU_ESCR_EVENT_SELECT_LENGTH);
    check_what(f, "counter %u: %s", counter, check_info(id)->title);
    check_todo(f, "%s", todo);
}

static void event_notes(struct check *c, unsigned counter)
{
    const struct check_counter *k = &c->counter[counter];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].event == k->event && applies(c, counter, rows[i].when))
            note(c, rows[i].id, counter, p4pmu_escr((enum p4pmu_escr)k->escr)->msr, rows[i].todo);
    }
}

/* A write of the counter while its CCCR, as written so far, has ENABLE. */
static void carry_note(struct check *c, unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    bool running = false;
    for (size_t i = 0; i < c->config->count; i++) {
        const struct config_write *w = &c->config->write[i];
        if (w->msr == info->cccr_msr)
            running = w->value & P4PMU_CCCR_ENABLE_MASK;
        if (w->msr != info->msr || !running || c->config->model > 2)
            continue;
        struct check_finding *f =
            check_add(c, CHECK_ERRATUM_N15, (int)counter, info->msr, 0, P4PMU_COUNTER_BITS);
        check_what(f, "%s is written while counter %u runs", info->name, counter);
        check_todo(f, "write the counter before its CCCR");
        return;
    }
}

/* The last write of the ESCR comes after ENABLE. */
static void order_note(struct check *c, unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)c->counter[counter].escr);
    bool running = false, early = false;
    for (size_t i = 0; i < c->config->count; i++) {
        const struct config_write *w = &c->config->write[i];
        if (w->msr == info->cccr_msr)
            running = w->value & P4PMU_CCCR_ENABLE_MASK;
        if (w->msr == escr->msr)
            early = running;
    }
    if (!early)
        return;
    struct check_finding *f = check_add(c, CHECK_NOTE_ORDER, (int)counter, escr->msr, 0, 31);
    check_what(f, "%s is written while counter %u already runs", escr->name, counter);
    check_todo(f, "write %s before %s", escr->name, info->cccr_name);
}

void check_notes(struct check *c)
{
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        const struct check_counter *k = &c->counter[i];
        if (!k->used || !k->counts)
            continue;
        event_notes(c, i);
        carry_note(c, i);
        order_note(c, i);
        if (i == 1 && k->event != P4PMU_EV_BSQ_allocation)
            note(c, CHECK_NOTE_BPU1, i, p4pmu_counter(1)->cccr_msr,
                 "use counter 0 where it can be");
    }
}
