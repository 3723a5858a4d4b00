/*
 * From the event to the addend: event select, mask, qualification, comparison.
 */
#include "check_parts.h"

#include <stdio.h>

/* Where a reason that keeps the input at 0 is found. */
struct reason {
    enum check_id id; /* CHECK_FINDINGS: there is none */
    unsigned shift, length;
};

#define BITS(reg, field) P4PMU_##reg##_##field##_SHIFT, P4PMU_##reg##_##field##_LENGTH

static const struct p4pmu_event_info *event_info(int event)
{
    return p4pmu_event((enum p4pmu_event)event);
}

/* The event select that was written, not what the unit made of it. */
static unsigned written_select(const struct check *c, int escr)
{
    const struct config_write *w = check_write(c, p4pmu_escr((enum p4pmu_escr)escr)->msr);
    return P4PMU_GET(ESCR, EVENT_SELECT, w ? w->value : 0);
}

static unsigned written_mask(const struct check *c, int escr)
{
    const struct config_write *w = check_write(c, p4pmu_escr((enum p4pmu_escr)escr)->msr);
    return P4PMU_GET(ESCR, EVENT_MASK, w ? w->value : 0);
}

static bool before_f27(const struct check *c)
{
    unsigned stepping = c->config->stepping ? c->config->stepping : 7;
    return (c->config->model << 4 | stepping) < 0x27;
}

static struct reason event_reason(const struct check *c, int escr)
{
    unsigned code = P4PMU_GET(ESCR, EVENT_SELECT, check_escr(c, escr));
    int event = p4pmu_event_by_code((enum p4pmu_escr)escr, code);
    enum check_id id = CHECK_FINDINGS;
    if (code != written_select(c, escr))
        id = CHECK_EVENT_NOT_IN_UNIT;
    else if (event == P4PMU_NONE)
        id = CHECK_EVENT_UNKNOWN;
    else if (check_event(c, escr) == P4PMU_NONE)
        id = CHECK_EVENT_ABSENT;
    else if (event == P4PMU_EV_uop_type)
        id = CHECK_TAGS_ONLY;
    else if (event == P4PMU_EV_IOQ_allocation && escr == P4PMU_ESCR_FSB1 && before_f27(c))
        id = CHECK_IOQ_ESCR1;
    return (struct reason){id, BITS(ESCR, EVENT_SELECT)};
}

enum { IOQ_TYPE = 0x1F, IOQ_DIRECTION = 0x60, IOQ_MEMORY = 0xF80, IOQ_AGENT = 0x6000 };

static bool ioq_empty(const struct check *c, unsigned mask)
{
    bool type = (mask & IOQ_TYPE) != 1, direction = mask & IOQ_DIRECTION;
    bool memory = mask & IOQ_MEMORY, agent = mask & IOQ_AGENT;
    if (c->config->model >= 2)
        return !direction || !memory || !agent;
    return !agent || !(type || direction || memory);
}

static struct reason mask_reason(const struct check *c, int escr, int event)
{
    unsigned mask = P4PMU_GET(ESCR, EVENT_MASK, check_escr(c, escr));
    enum p4pmu_logic logic = event_info(event)->logic;
    enum check_id id = CHECK_FINDINGS;
    if (!written_mask(c, escr))
        id = CHECK_EMPTY_MASK;
    else if (!(mask & check_documented(c, event)))
        id = CHECK_MASK_NOTHING;
    else if (logic == P4PMU_IOQ && ioq_empty(c, mask))
        id = CHECK_IOQ_MASK;
    return (struct reason){id, BITS(ESCR, EVENT_MASK)};
}

static struct reason privilege_reason(const struct check *c, int escr)
{
    const struct config_write *w = check_write(c, p4pmu_escr((enum p4pmu_escr)escr)->msr);
    enum check_id id = CHECK_FINDINGS;
    if (!(check_escr(c, escr) & 0xF))
        id = w && (w->value & 0xF) ? CHECK_ONLY_THREAD1 : CHECK_NO_PRIVILEGE;
    return (struct reason){id, 0, 4};
}

/* Why the ESCR gives 0 in every clock. */
static struct reason input_reason(const struct check *c, int escr)
{
    struct reason r = event_reason(c, escr);
    int event = check_event(c, escr);
    if (r.id == CHECK_FINDINGS)
        r = mask_reason(c, escr, event);
    if (r.id == CHECK_FINDINGS)
        r = privilege_reason(c, escr);
    return r;
}

/* ---- texts -------------------------------------------------------------------------------------
 */

static void subevents(const struct check *c, int event, char *out, size_t size)
{
    const struct p4pmu_event_info *info = event_info(event);
    int used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < info->subevent_count && used >= 0 && (size_t)used < size; i++) {
        if (info->subevents[i].models >> c->config->model & 1)
            used += snprintf(out + used, size - (size_t)used, "%s%s %u", used ? ", " : "",
                             info->subevents[i].name, info->subevents[i].bit);
    }
}

/* The events an ESCR can select, for someone who wrote another number. */
static void events_of(const struct check *c, int escr, char *out, size_t size)
{
    int used = 0;
    out[0] = '\0';
    for (int e = 0; e < P4PMU_EVENTS && used >= 0 && (size_t)used < size; e++) {
        const struct p4pmu_event_info *info = event_info(e);
        if ((info->escrs[0] == escr || info->escrs[1] == escr) &&
            (info->models >> c->config->model & 1))
            used += snprintf(out + used, size - (size_t)used, "%s%s 0x%02X", used ? ", " : "",
                             info->name, info->code);
    }
}

static void say_event(const struct check *c, struct check_finding *f, int escr)
{
    const struct p4pmu_escr_info *info = p4pmu_escr((enum p4pmu_escr)escr);
    unsigned code = P4PMU_GET(ESCR, EVENT_SELECT, check_escr(c, escr));
    char list[300], name[64];
    events_of(c, escr, list, sizeof list);
    switch (f->id) {
    case CHECK_EVENT_NOT_IN_UNIT:
        check_what(f, "%s does not hold event select 0x%02X: it stores 0x%02X (%s)", info->name,
                   written_select(c, escr), code, check_event_text(c, escr, name));
        break;
    case CHECK_EVENT_UNKNOWN:
        check_what(f, "%s has no event with select 0x%02X", info->name, code);
        break;
    case CHECK_EVENT_ABSENT:
        check_what(f, "%s does not exist on model %u", check_event_text(c, escr, name),
                   c->config->model);
        check_todo(f, "'p4sim explain %s' names the models that have it", name);
        return;
    case CHECK_IOQ_ESCR1:
        check_what(f, "%s does not detect IOQ_allocation before signature F27H", info->name);
        check_todo(f, "use MSR_FSB_ESCR0 with counter 0 or 1");
        return;
    default:
        check_what(f, "%s holds uop_type, which only tags", info->name);
        check_todo(f, "count front_end_event (MSR_CRU_ESCR2 or 3, ESCR_SELECT 5)");
        return;
    }
    check_todo(f, list[0] ? "events of this ESCR: %s" : "no documented event uses this ESCR%s",
               list);
}

static void say_mask(const struct check *c, struct check_finding *f, int escr, int event)
{
    const char *name = event_info(event)->name;
    unsigned mask = written_mask(c, escr);
    char list[300];
    subevents(c, event, list, sizeof list);
    if (f->id == CHECK_EMPTY_MASK)
        check_what(f, "the mask of %s is 0", name);
    else if (f->id == CHECK_IOQ_MASK)
        check_what(f, "mask 0x%04X of %s leaves a group empty:%s%s%s", mask, name,
                   mask & IOQ_DIRECTION ? "" : " reads or writes (bits 5, 6)",
                   mask & IOQ_MEMORY ? "" : " memory type (bits 7 to 11)",
                   mask & IOQ_AGENT ? "" : " agent (bits 13, 14)");
    else
        check_what(f, "mask 0x%04X of %s has no documented sub-event", mask, name);
    check_todo(f, "sub-events, by bit from ESCR bit 9 on: %s", list);
}

static void say_privilege(const struct check *c, struct check_finding *f, int escr)
{
    const struct p4pmu_escr_info *info = p4pmu_escr((enum p4pmu_escr)escr);
    uint32_t both = P4PMU_ESCR_T0_USR_MASK | P4PMU_ESCR_T0_OS_MASK;
    check_what(f,
               f->id == CHECK_NO_PRIVILEGE
                   ? "%s selects no privilege level: bits 3:0 are 0"
                   : "%s selects logical processor 1 only, which this part does not have",
               info->name);
    check_todo(f,
               "set T0_USR (bit 2) for CPL 1 to 3, T0_OS (bit 3) for CPL 0: %s = 0x%08X for both",
               info->name, check_escr(c, escr) | both);
}

static void say(const struct check *c, struct check_finding *f, int escr)
{
    int event = check_event(c, escr);
    if (f->id == CHECK_NO_PRIVILEGE || f->id == CHECK_ONLY_THREAD1)
        say_privilege(c, f, escr);
    else if (f->id == CHECK_EMPTY_MASK || f->id == CHECK_MASK_NOTHING || f->id == CHECK_IOQ_MASK)
        say_mask(c, f, escr, event);
    else
        say_event(c, f, escr);
}

/* Whether ESCR detects its event at all, for those who need it upstream; a finding when not. */
bool check_detects(struct check *c, unsigned counter, int escr)
{
    const struct p4pmu_escr_info *info = p4pmu_escr((enum p4pmu_escr)escr);
    int event = check_event(c, escr);
    struct reason r = mask_reason(c, escr, event);
    if (r.id == CHECK_FINDINGS)
        r = privilege_reason(c, escr);
    if (r.id == CHECK_FINDINGS)
        return true;
    say(c, check_dead(c, r.id, counter, info->msr, r.shift, r.length), escr);
    return false;
}

/* ---- the comparison ----------------------------------------------------------------------------
 */

static bool has(const struct check *c, unsigned counter, uint32_t mask)
{
    return check_cccr(c, counter) & mask;
}

bool check_always(const struct check *c, unsigned counter)
{
    return has(c, counter, P4PMU_CCCR_COMPARE_MASK) &&
           has(c, counter, P4PMU_CCCR_COMPLEMENT_MASK) &&
           P4PMU_GET(CCCR, THRESHOLD, check_cccr(c, counter)) == CHECK_THRESHOLD_MOST;
}

static unsigned most(const struct check *c, int escr, int event)
{
    const struct p4pmu_event_info *info = event_info(event);
    uint32_t v = check_escr(c, escr);
    unsigned lps = (v & 0x3 ? 1u : 0u) + (v & 0xC ? 1u : 0u);
    unsigned n = info->max_increment ? info->max_increment : CHECK_THRESHOLD_MOST;
    if (info->thread == P4PMU_TS && lps == 2)
        n *= 2;
    return n < CHECK_THRESHOLD_MOST ? n : CHECK_THRESHOLD_MOST;
}

static void judge_threshold(struct check *c, unsigned counter)
{
    int escr = c->counter[counter].escr, event = c->counter[counter].event;
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    unsigned threshold = P4PMU_GET(CCCR, THRESHOLD, check_cccr(c, counter));
    if (!has(c, counter, P4PMU_CCCR_COMPARE_MASK) || has(c, counter, P4PMU_CCCR_COMPLEMENT_MASK) ||
        event == P4PMU_NONE || threshold < most(c, escr, event))
        return;
    struct check_finding *f =
        check_dead(c, CHECK_THRESHOLD_NEVER, counter, info->cccr_msr, BITS(CCCR, THRESHOLD));
    check_what(f, "counts clocks with more than %u, and %s gives %u at most", threshold,
               event_info(event)->name, most(c, escr, event));
    check_todo(
        f,
        "THRESHOLD 0 counts clocks with at least one; with COMPLEMENT set, clocks with %u or fewer",
        threshold);
}

static void judge_filters(struct check *c, unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    uint32_t cccr = check_cccr(c, counter);
    struct check_finding *f;
    if (has(c, counter, P4PMU_CCCR_COMPARE_MASK)) {
        if (!check_always(c, counter) || !has(c, counter, P4PMU_CCCR_EDGE_MASK))
            return;
        f = check_add(c, CHECK_EDGE_ONCE, (int)counter, info->cccr_msr, BITS(CCCR, EDGE));
        check_what(f,
                   "COMPLEMENT with THRESHOLD 15 always holds: with EDGE at most one is counted");
        check_todo(f, "clear EDGE to count clocks: %s = 0x%08X", info->cccr_name,
                   cccr & ~P4PMU_CCCR_EDGE_MASK);
        return;
    }
    if (has(c, counter, P4PMU_CCCR_EDGE_MASK)) {
        f = check_add(c, CHECK_EDGE_ALONE, (int)counter, info->cccr_msr, BITS(CCCR, EDGE));
        check_what(f, "EDGE is set and COMPARE is not: the counter adds its plain input");
    } else if (has(c, counter, P4PMU_CCCR_THRESHOLD_MASK | P4PMU_CCCR_COMPLEMENT_MASK)) {
        f = check_add(c, CHECK_THRESHOLD_ALONE, (int)counter, info->cccr_msr,
                      BITS(CCCR, THRESHOLD));
        check_what(f, "%s is set and COMPARE is not: the counter adds its plain input",
                   has(c, counter, P4PMU_CCCR_THRESHOLD_MASK) ? "THRESHOLD" : "COMPLEMENT");
    } else {
        return;
    }
    check_todo(f, "set COMPARE (bit 18): %s = 0x%08X", info->cccr_name,
               cccr | P4PMU_CCCR_COMPARE_MASK);
}

/* ---- threads -----------------------------------------------------------------------------------
 */

static void judge_active(struct check *c, unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    unsigned active = P4PMU_GET(CCCR, ACTIVE_THREAD, check_cccr(c, counter));
    bool ht = c->config->hyper_threading;
    if (ht ? active != 0 : active == 3)
        return;
    struct check_finding *f = check_add(c, ht ? CHECK_ACTIVE_NONE : CHECK_ACTIVE_THREAD,
                                        (int)counter, info->cccr_msr, BITS(CCCR, ACTIVE_THREAD));
    check_what(f,
               ht ? "ACTIVE_THREAD is %u: counts only while both logical processors are halted"
                  : "ACTIVE_THREAD is %u; without Hyper-Threading it must be 3",
               active);
    check_todo(f, "set bits 17:16: %s = 0x%08X", info->cccr_name,
               check_cccr(c, counter) | P4PMU_CCCR_ACTIVE_THREAD_MASK);
}

static void judge_thread_independent(struct check *c, int escr, int event)
{
    const struct p4pmu_escr_info *info = p4pmu_escr((enum p4pmu_escr)escr);
    uint32_t v = check_escr(c, escr);
    if (!c->config->hyper_threading || event_info(event)->thread != P4PMU_TI ||
        (v & 3) == (v >> 2 & 3) || check_has(c, CHECK_TI_QUALIFIED, info->msr))
        return;
    struct check_finding *f = check_add(c, CHECK_TI_QUALIFIED, P4PMU_NONE, info->msr, 0, 4);
    check_what(f, "%s is thread-independent: bits 3:0 = 0x%X do not choose a logical processor",
               event_info(event)->name, v & 0xF);
    unsigned both = (v & 3) | (v >> 2 & 3);
    check_todo(f, "set the bits of both threads alike: %s = 0x%08X", info->name,
               (v & ~0xFu) | both | both << 2);
}

/* ---- all of it ---------------------------------------------------------------------------------
 */

static void judge_stray_bits(struct check *c, int escr, int event)
{
    const struct p4pmu_escr_info *info = p4pmu_escr((enum p4pmu_escr)escr);
    unsigned stray = written_mask(c, escr) & ~check_documented(c, event);
    char list[300];
    if (!stray || check_has(c, CHECK_MASK_UNDOCUMENTED, info->msr))
        return;
    struct check_finding *f =
        check_add(c, CHECK_MASK_UNDOCUMENTED, P4PMU_NONE, info->msr, BITS(ESCR, EVENT_MASK));
    check_what(f, "mask bits 0x%04X of %s are not documented", stray, event_info(event)->name);
    subevents(c, event, list, sizeof list);
    check_todo(f, "sub-events, by bit from ESCR bit 9 on: %s", list);
}

void check_say_always(struct check *c, unsigned counter, const char *why)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    struct check_finding *f = check_add(c, CHECK_COMPLEMENT_NOTHING, (int)counter, info->cccr_msr,
                                        BITS(CCCR, COMPLEMENT));
    check_what(f, "every clock counts, because the input is always 0: %s", why);
    check_todo(f, "mend that, or set THRESHOLD 15 if clocks are wanted: %s = 0x%08X",
               info->cccr_name, check_cccr(c, counter) | P4PMU_CCCR_THRESHOLD_MASK);
}

static bool tags_are_counted(const struct check *c)
{
    return check_listeners(c, P4PMU_ESCR_CRU2) | check_listeners(c, P4PMU_ESCR_CRU3);
}

/* The unit made another documented event of the number: that one is counted, if it can be. */
static void judge_other_event(struct check *c, unsigned counter, struct reason r)
{
    struct check_counter *k = &c->counter[counter];
    uint32_t msr = p4pmu_escr((enum p4pmu_escr)k->escr)->msr;
    say(c, check_add(c, r.id, (int)counter, msr, r.shift, r.length), k->escr);
    r = mask_reason(c, k->escr, k->event);
    if (r.id == CHECK_FINDINGS)
        r = privilege_reason(c, k->escr);
    if (r.id == CHECK_FINDINGS) {
        judge_threshold(c, counter);
        return;
    }
    k->counts = false;
    snprintf(k->why, sizeof k->why, "%s", check_info(r.id)->title);
}

static void judge_reason(struct check *c, unsigned counter, struct reason r)
{
    int escr = c->counter[counter].escr;
    bool null_event = !P4PMU_GET(ESCR, EVENT_SELECT, check_escr(c, escr));
    if (!null_event && check_always(c, counter))
        return;
    if (!null_event && has(c, counter, P4PMU_CCCR_COMPARE_MASK) &&
        has(c, counter, P4PMU_CCCR_COMPLEMENT_MASK)) {
        check_say_always(c, counter, check_info(r.id)->title);
        return;
    }
    if (r.id == CHECK_TAGS_ONLY && tags_are_counted(c)) {
        c->counter[counter].counts = false;
        snprintf(c->counter[counter].why, sizeof c->counter[counter].why,
                 "uop_type only tags, for the counters that count the tags");
        return;
    }
    uint32_t msr = p4pmu_escr((enum p4pmu_escr)escr)->msr;
    if (r.id == CHECK_EVENT_NOT_IN_UNIT && c->counter[counter].event != P4PMU_NONE)
        judge_other_event(c, counter, r);
    else
        say(c, check_dead(c, r.id, counter, msr, r.shift, r.length), escr);
}

void check_input(struct check *c, unsigned counter)
{
    int escr = c->counter[counter].escr, event = c->counter[counter].event;
    struct reason r = input_reason(c, escr);
    if (r.id != CHECK_FINDINGS)
        judge_reason(c, counter, r);
    else
        judge_threshold(c, counter);
    judge_filters(c, counter);
    judge_active(c, counter);
    if (event != P4PMU_NONE && r.id == CHECK_FINDINGS && !check_always(c, counter)) {
        judge_stray_bits(c, escr, event);
        judge_thread_independent(c, escr, event);
    }
}
