/*
 * Why requests do not fit: the smallest set that fails, and what it fights over.
 *
 * Two kinds of shortage: a register of which there is one (the two replay tagging registers, the
 * front-end tag, the four execution tags) is wanted with different contents, or ESCRs and counters
 * run out.
 */
#include "fit_board.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- registers of which there is one -----------------------------------------------------------
 */

static bool same_replay(const struct sim_metric *a, const struct sim_metric *b)
{
    return a->pebs_enable == b->pebs_enable && a->pebs_matrix_vert == b->pebs_matrix_vert;
}

/* The mask by which request R makes the RAT tag uops; 0 when it does not. */
static unsigned front_end_mask(const struct sim_request *r)
{
    if (r->metric)
        return r->metric->mechanism == SIM_FRONT_END ? r->metric->upstream_mask : 0;
    return r->event == P4PMU_EV_uop_type ? r->mask : 0;
}

static bool explain(struct sim_conflict *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->text, sizeof c->text, format, arguments);
    va_end(arguments);
    return false;
}

static bool replay_agrees(const struct sim_request *a, const struct sim_request *b,
                          struct sim_conflict *c)
{
    if (!fit_is_replay(a) || !fit_is_replay(b) || same_replay(a->metric, b->metric))
        return true;
    return explain(
        c,
        "%s and %s need different values in IA32_PEBS_ENABLE and MSR_PEBS_MATRIX_VERT: 0x%llX, "
        "0x%llX against 0x%llX, 0x%llX",
        a->text, b->text, (unsigned long long)a->metric->pebs_enable,
        (unsigned long long)a->metric->pebs_matrix_vert, (unsigned long long)b->metric->pebs_enable,
        (unsigned long long)b->metric->pebs_matrix_vert);
}

static bool front_end_agrees(const struct sim_request *a, const struct sim_request *b,
                             struct sim_conflict *c)
{
    unsigned ma = front_end_mask(a), mb = front_end_mask(b);
    if (!ma || !mb || ma == mb)
        return true;
    return explain(c,
                   "%s and %s need different uops tagged at renaming (uop_type 0x%X against 0x%X), "
                   "and there is "
                   "one front-end tag",
                   a->text, b->text, ma, mb);
}

static bool preset_agrees(const struct sim_request *r, const struct sim_replay_registers *preset,
                          struct sim_conflict *c)
{
    if (!preset || !preset->given || !fit_is_replay(r))
        return true;
    if (r->metric->pebs_enable == preset->pebs_enable &&
        r->metric->pebs_matrix_vert == preset->pebs_matrix_vert)
        return true;
    return explain(c,
                   "%s needs IA32_PEBS_ENABLE 0x%llX and MSR_PEBS_MATRIX_VERT 0x%llX, but other "
                   "values were given "
                   "for them",
                   r->text, (unsigned long long)r->metric->pebs_enable,
                   (unsigned long long)r->metric->pebs_matrix_vert);
}

static bool tags_left(const struct sim_request *requests, size_t count, struct sim_conflict *c)
{
    bool in[SIM_FIT_MAX + 1];
    for (size_t i = 0; i < count; i++)
        in[i] = true;
    for (size_t i = 0; i < count; i++) {
        if (fit_is_execution(&requests[i]) && fit_tag_bit(requests, in, count, i) > 3) {
            c->count = 1;
            c->requests[0] = i;
            return explain(c, "%s finds none of the four execution tags free", requests[i].text);
        }
    }
    return true;
}

bool fit_singles_agree(const struct sim_request *requests, size_t count,
                       const struct sim_replay_registers *preset, struct sim_conflict *c)
{
    size_t last = count - 1;
    c->count = 1;
    c->requests[0] = last;
    if (!preset_agrees(&requests[last], preset, c))
        return false;
    for (size_t i = 0; i < last; i++) {
        if (replay_agrees(&requests[i], &requests[last], c) &&
            front_end_agrees(&requests[i], &requests[last], c))
            continue;
        c->count = 2;
        c->requests[0] = i;
        c->requests[1] = last;
        return false;
    }
    return tags_left(requests, count, c);
}

/* ---- conflicts ---------------------------------------------------------------------------------
 */

static bool fits(const struct sim_request *requests, const bool *in, size_t count,
                 uint32_t reserved)
{
    struct board b;
    fit_set_board(&b, requests, in, count, reserved);
    return fit_solve(&b);
}

static bool grow(const struct sim_request *requests, bool *in, size_t count, uint32_t reserved,
                 size_t from, size_t more)
{
    if (more == 0)
        return !fits(requests, in, count, reserved);
    for (size_t i = from; i + more <= count - 1; i++) {
        in[i] = true;
        if (grow(requests, in, count, reserved, i + 1, more - 1))
            return true;
        in[i] = false;
    }
    return false;
}

static size_t add_name(char *out, size_t used, size_t size, const char *before, const char *name)
{
    if (used < size) {
        int n = snprintf(out + used, size - used, "%s%s", before, name);
        used += n > 0 ? (size_t)n : 0;
    }
    return used;
}

struct demand {
    bool escr[P4PMU_ESCR_COUNT];
    size_t escrs, contents, counted;
    uint32_t counters;
};

static void add_demand(struct demand *d, const struct need *n, uint32_t reserved)
{
    for (unsigned k = 0; k < 2; k++) {
        if (n->escrs[k] == NONE)
            continue;
        d->escrs += !d->escr[n->escrs[k]];
        d->escr[n->escrs[k]] = true;
        if (n->counted)
            d->counters |= n->counter == NONE ? p4pmu_escr((enum p4pmu_escr)n->escrs[k])->counters
                                              : 1u << n->counter;
    }
    d->counters &= ~reserved;
    d->counted += n->counted;
}

static bool same_escrs(const struct need *a, const struct need *b)
{
    return a->escrs[0] == b->escrs[0] && a->escrs[1] == b->escrs[1];
}

/* What the needs of B ask for together: distinct ESCR contents against ESCRs, counts against
 * counters. Only the needs that can use the same ESCRs as LIKE, unless that is NULL. */
static struct demand demand_of(const struct board *b, const struct need *like)
{
    struct demand d;
    memset(&d, 0, sizeof d);
    for (size_t i = 0; i < b->count; i++) {
        const struct need *n = &b->needs[i];
        bool fresh = true;
        if (like && !same_escrs(n, like))
            continue;
        for (size_t k = 0; k < i; k++)
            fresh = fresh && !(b->needs[k].value == n->value && same_escrs(&b->needs[k], n));
        d.contents += fresh;
        add_demand(&d, n, b->reserved);
    }
    return d;
}

/* The pair of ESCRs that is overfull by itself where there is one; else all that is asked for. */
static struct demand scarcest(const struct board *b)
{
    for (size_t i = 0; i < b->count; i++) {
        struct demand d = demand_of(b, &b->needs[i]);
        if (d.contents > d.escrs)
            return d;
    }
    return demand_of(b, NULL);
}

static size_t name_counters(uint32_t counters, const char *before, char *out, size_t used,
                            size_t size)
{
    bool first = true;
    if (!counters)
        return add_name(out, used, size, before, "any counter");
    used = add_name(out, used, size, before, fit_bits(counters) == 1 ? "counter" : "counters");
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++) {
        char number[8];
        if (!(counters & 1u << c))
            continue;
        snprintf(number, sizeof number, "%u", c);
        used = add_name(out, used, size, first ? " " : ", ", number);
        first = false;
    }
    return used;
}

static size_t name_resource(const struct demand *d, char *out, size_t used, size_t size)
{
    bool first = true;
    bool escrs_short = d->contents > d->escrs, counters_short = d->counted > fit_bits(d->counters);
    if (escrs_short || !counters_short) {
        used = add_name(out, used, size, "", d->escrs == 1 ? "ESCR " : "ESCRs ");
        for (int e = 0; e < P4PMU_ESCR_COUNT; e++) {
            if (!d->escr[e])
                continue;
            used =
                add_name(out, used, size, first ? "" : ", ", p4pmu_escr((enum p4pmu_escr)e)->name);
            first = false;
        }
    }
    if (escrs_short)
        return used;
    if (!counters_short)
        used = add_name(out, used, size, "", " and ");
    return name_counters(d->counters, "", out, used, size);
}

/* A tagging ESCR all of whose pair's counters are reserved sleeps (power gating); NONE: there is
 * none. */
static int sleeper(const struct board *b)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct need *n = &b->needs[i];
        if (!n->counted && !(fit_pair_counters(n->escrs[0]) & ~b->reserved))
            return n->escrs[0];
    }
    return NONE;
}

static void describe_conflict(const struct sim_request *requests, const bool *in, size_t count,
                              uint32_t reserved, struct sim_conflict *c)
{
    struct board b;
    size_t used = 0;
    fit_set_board(&b, requests, in, count, reserved);
    c->count = 0;
    for (size_t i = 0; i < count && c->count <= SIM_FIT_MAX; i++) {
        if (!in[i])
            continue;
        used =
            add_name(c->text, used, sizeof c->text - 200, c->count ? ", " : "", requests[i].text);
        c->requests[c->count++] = i;
    }
    if (used > sizeof c->text - 200)
        used = sizeof c->text - 201;
    used = add_name(c->text, used, sizeof c->text,
                    c->count == 1 ? " cannot have " : " do not fit together into ", "");
    int asleep = sleeper(&b);
    if (asleep != NONE) {
        used = add_name(c->text, used, sizeof c->text, "an awake ",
                        p4pmu_escr((enum p4pmu_escr)asleep)->name);
        name_counters(fit_pair_counters(asleep), ", for it needs one of the reserved ", c->text,
                      used, sizeof c->text);
        return;
    }
    struct demand d = scarcest(&b);
    used = name_resource(&d, c->text, used, sizeof c->text);
    if (reserved)
        name_counters(reserved, " beside the reserved ", c->text, used, sizeof c->text);
}

void fit_find_conflict(const struct sim_request *requests, size_t count, uint32_t reserved,
                       struct sim_conflict *c)
{
    bool in[SIM_FIT_MAX + 1] = {false};
    for (size_t size = 0; size < count; size++) {
        memset(in, 0, sizeof in);
        in[count - 1] = true;
        if (grow(requests, in, count, reserved, 0, size))
            break;
    }
    describe_conflict(requests, in, count, reserved, c);
}
