/*
 * Taking a list of writes apart: what each enabled counter counts.
 *
 * The last write of each register stands. Nothing is judged here: values are taken as written, also
 * where a part would refuse or ignore bits (p4sim check tells that).
 *
 * A metric is recognised by its registers: the counting event and, upstream, IA32_PEBS_ENABLE with
 * MSR_PEBS_MATRIX_VERT or the tagging ESCR. A counter that listens to such a tagging ESCR without
 * any filter is taken as the one that keeps the ESCR awake.
 */
#include "dialect.h"

#include <string.h>

enum { PEBS_ENABLE = 0x3F1, PEBS_MATRIX_VERT = 0x3F2, NONE = P4PMU_NONE };

struct last {
    uint32_t cccr[P4PMU_COUNTERS];
    uint64_t preset[P4PMU_COUNTERS];
    int order[P4PMU_COUNTERS];
    int count;
};

static void note_order(struct last *last, int counter)
{
    for (int i = 0; i < last->count; i++) {
        if (last->order[i] == counter)
            return;
    }
    last->order[last->count++] = counter;
}

static void take_write(const struct config_write *w, struct last *last, struct dialect_counts *c)
{
    int escr = p4pmu_escr_by_msr(w->msr);
    if (escr != NONE)
        c->escr[escr] = (uint32_t)w->value;
    if (w->msr == PEBS_ENABLE)
        c->pebs_enable = w->value;
    if (w->msr == PEBS_MATRIX_VERT)
        c->pebs_matrix_vert = w->value;
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        if (w->msr == p4pmu_counter(i)->msr)
            last->preset[i] = w->value & P4PMU_COUNTER_MASK;
        if (w->msr != p4pmu_counter(i)->cccr_msr)
            continue;
        last->cccr[i] = (uint32_t)w->value;
        if (w->value & P4PMU_CCCR_ENABLE_MASK)
            note_order(last, (int)i);
    }
}

/* NO_THREAD: ESCR bits that mean nothing on the part. */
static void take_count(const struct last *last, int counter, uint32_t no_thread,
                       struct dialect_counts *c)
{
    uint32_t cccr = last->cccr[counter];
    int escr = p4pmu_wired_escr((unsigned)counter, P4PMU_GET(CCCR, ESCR_SELECT, cccr));
    if (!(cccr & P4PMU_CCCR_ENABLE_MASK))
        return;
    struct dialect_count *d = &c->count[c->size++];
    *d = (struct dialect_count){.counter = counter,
                                .escr = escr,
                                .cccr = cccr,
                                .event = NONE,
                                .preset = last->preset[counter]};
    if (escr == NONE)
        return;
    c->heard[escr] = true;
    d->value = c->escr[escr] & ~no_thread;
    d->event = p4pmu_event_by_code((enum p4pmu_escr)escr, P4PMU_GET(ESCR, EVENT_SELECT, d->value));
}

/* ---- metrics -----------------------------------------------------------------------------------
 */

/* The ESCR among those of METRIC that holds its upstream event, with tag value TAG where it is an
 * execution tag; NONE when none does. */
static int upstream_escr(const struct dialect_counts *c, const struct sim_metric *m, unsigned tag)
{
    for (unsigned k = 0; k < 2; k++) {
        int escr = m->upstream_escrs[k];
        uint32_t v = escr == NONE ? 0 : c->escr[escr];
        if (!v || P4PMU_GET(ESCR, EVENT_MASK, v) != m->upstream_mask ||
            P4PMU_GET(ESCR, EVENT_SELECT, v) !=
                p4pmu_event((enum p4pmu_event)m->upstream_event)->code)
            continue;
        if (P4PMU_GET(ESCR, TAG_VALUE, v) == tag && P4PMU_GET(ESCR, TAG_ENABLE, v) == (tag != 0))
            return escr;
    }
    return NONE;
}

static bool is_metric(const struct dialect_counts *c, const struct dialect_count *d,
                      const struct sim_metric *m, int *upstream)
{
    unsigned mask = P4PMU_GET(ESCR, EVENT_MASK, d->value), tag = 0;
    *upstream = NONE;
    if (d->event != (int)sim_metric_downstream(m))
        return false;
    if (m->mechanism == SIM_EXECUTION) {
        if (!mask || mask > 8 || mask & (mask - 1))
            return false;
        tag = mask;
    } else if (mask != 1) {
        return false;
    }
    if (m->mechanism == SIM_REPLAY &&
        (c->pebs_enable != m->pebs_enable || c->pebs_matrix_vert != m->pebs_matrix_vert))
        return false;
    if (m->upstream_event == NONE)
        return true;
    *upstream = upstream_escr(c, m, tag);
    return *upstream != NONE;
}

static void find_metric(struct dialect_counts *c, struct dialect_count *d, bool *upstreams)
{
    const struct sim_metric *m;
    int upstream;
    for (size_t i = 0; (m = sim_metric(i)); i++) {
        if (!is_metric(c, d, m, &upstream))
            continue;
        d->metric = m;
        c->pebs_used |= m->mechanism == SIM_REPLAY;
        if (upstream != NONE)
            upstreams[upstream] = c->heard[upstream] = true;
        return;
    }
}

/* ENABLE, the select and 11b: a CCCR that filters nothing. */
static bool plain(uint32_t cccr)
{
    uint32_t rest = cccr & ~P4PMU_CCCR_ESCR_SELECT_MASK;
    return rest == (P4PMU_CCCR_ENABLE_MASK | P4PMU_CCCR_ACTIVE_THREAD_MASK);
}

void dialect_counts(const struct config *config, struct dialect_counts *c)
{
    const uint32_t t1 = P4PMU_ESCR_T1_USR_MASK | P4PMU_ESCR_T1_OS_MASK;
    struct last last;
    bool upstreams[P4PMU_ESCRS] = {false};
    memset(&last, 0, sizeof last);
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < config->count; i++)
        take_write(&config->write[i], &last, c);
    for (int i = 0; i < last.count; i++)
        take_count(&last, last.order[i], config->hyper_threading ? 0 : t1, c);
    for (size_t i = 0; i < c->size; i++)
        find_metric(c, &c->count[i], upstreams);
    for (size_t i = 0; i < c->size; i++) {
        struct dialect_count *d = &c->count[i];
        d->wakes = d->escr != NONE && upstreams[d->escr] && plain(d->cccr) && !d->preset;
    }
}

/* ---- ESCRs without a counter -------------------------------------------------------------------
 */

static bool has_counter(const struct dialect_counts *c, int escr)
{
    for (size_t i = 0; i < c->size; i++) {
        if (c->count[i].escr == escr)
            return true;
    }
    return false;
}

/* A counter wired to ESCR that nothing uses, or P4PMU_NONE. */
static int free_counter(const struct dialect_counts *c, int escr)
{
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        bool used = !(p4pmu_escr((enum p4pmu_escr)escr)->counters & 1u << i);
        for (size_t k = 0; k < c->size; k++)
            used = used || c->count[k].counter == (int)i;
        if (!used)
            return (int)i;
    }
    return NONE;
}

void dialect_give_counters(struct dialect_counts *c, bool all, const char *name,
                           struct dialect_notes *notes)
{
    for (int e = 0; e < P4PMU_ESCRS; e++) {
        const struct p4pmu_escr_info *info = p4pmu_escr((enum p4pmu_escr)e);
        if (!c->escr[e] || has_counter(c, e) || !(all || c->heard[e]))
            continue;
        int counter = free_counter(c, e);
        if (counter == NONE) {
            dialect_lose(notes,
                         "%s writes an ESCR only with a counter, and none is free for %s = 0x%08X",
                         name, info->name, (unsigned)c->escr[e]);
            continue;
        }
        dialect_remark(notes, "%s writes an ESCR only with a counter: counter %d listens to %s",
                       name, counter, info->name);
        uint32_t cccr = P4PMU_CCCR_ENABLE_MASK | P4PMU_CCCR_ACTIVE_THREAD_MASK;
        c->heard[e] = true;
        c->count[c->size++] = (struct dialect_count){
            .counter = counter,
            .escr = e,
            .cccr = P4PMU_PUT(CCCR, ESCR_SELECT, cccr, info->select),
            .value = c->escr[e],
            .event =
                p4pmu_event_by_code((enum p4pmu_escr)e, P4PMU_GET(ESCR, EVENT_SELECT, c->escr[e]))};
    }
}

/* ---- what is left over -------------------------------------------------------------------------
 */

void dialect_leftovers(const struct dialect_counts *c, const char *name,
                       struct dialect_notes *notes)
{
    for (int e = 0; e < P4PMU_ESCRS; e++) {
        if (c->escr[e] && !c->heard[e])
            dialect_lose(notes,
                         "%s has no word for %s = 0x%08X, which no enabled counter listens to",
                         name, p4pmu_escr((enum p4pmu_escr)e)->name, (unsigned)c->escr[e]);
    }
    if ((c->pebs_enable || c->pebs_matrix_vert) && !c->pebs_used)
        dialect_lose(
            notes,
            "%s has no word for IA32_PEBS_ENABLE = 0x%llX with MSR_PEBS_MATRIX_VERT = 0x%llX", name,
            (unsigned long long)c->pebs_enable, (unsigned long long)c->pebs_matrix_vert);
}

/* The names of the fields of REG that have bits in BITS. */
static void field_names(const char *reg, uint32_t bits, char *out, size_t size)
{
    const struct p4pmu_field_info *f;
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; (f = p4pmu_field(i)) && used < size; i++) {
        uint32_t mask = (uint32_t)((((uint64_t)1 << f->length) - 1) << f->shift);
        if (!strcmp(f->reg, reg) && bits & mask)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", f->name);
    }
}

bool dialect_sayable(const struct dialect_count *d, const char *name, uint32_t escr_mask,
                     uint32_t cccr_mask, struct dialect_notes *notes)
{
    const char *counter = p4pmu_counter((unsigned)d->counter)->name;
    char fields[200];
    if (d->escr == NONE || d->event == NONE) {
        dialect_lose(notes, "%s: CCCR 0x%08X and ESCR 0x%08X select no event %s has a name for",
                     counter, (unsigned)d->cccr, (unsigned)d->value, name);
        return false;
    }
    uint32_t quiet = P4PMU_CCCR_OVF_PMI_T0_MASK | P4PMU_CCCR_OVF_PMI_T1_MASK | P4PMU_CCCR_OVF_MASK;
    uint32_t escr = d->value & ~escr_mask, cccr = d->cccr & ~cccr_mask;
    if (escr) {
        field_names("ESCR", escr, fields, sizeof fields);
        dialect_lose(notes, "%s is left out: %s cannot say ESCR %s (0x%08X)", counter, name, fields,
                     (unsigned)escr);
    }
    if (cccr & ~quiet) {
        field_names("CCCR", cccr, fields, sizeof fields);
        dialect_lose(notes, "%s is left out: %s cannot say CCCR %s (0x%08X)", counter, name, fields,
                     (unsigned)cccr);
    } else if (cccr) {
        field_names("CCCR", cccr, fields, sizeof fields);
        dialect_shorten(notes, "%s: %s cannot say CCCR %s (0x%08X)", counter, name, fields,
                        (unsigned)cccr);
    }
    return !escr && !(cccr & ~quiet);
}
