/*
 * Splitting a list of events into runs.
 *
 * Whether events fit together is monotone: part of a fitting set fits. So this is a packing
 * problem. A greedy packing gives an upper bound. Lower bounds are the counts against the counters
 * of their group, the distinct contents against the ESCRs that can hold them, and events of which
 * no two fit together. Where the bounds differ, a depth-first search with one run fewer decides;
 * empty runs are alike and one of them is tried, equal events are not exchanged, and a set that was
 * judged is not judged again.
 *
 * The search gives up after SEARCH_LIMIT trials; the result is then the best found and says so.
 * Lists people write stay far below: the bounds mostly meet.
 */
#include "runs.h"

#include <string.h>

enum { SEARCH_LIMIT = 20000000, EXACT_CONFLICT = 24, SMALL_CONFLICT = 3, SEEN = 1 << 16 };

/* Whether the requests of SET fit: the same sets come up again and again. */
struct seen {
    uint64_t set[2];
    bool known, fits;
};

struct packing {
    const struct sim_request *requests;
    size_t count;
    uint32_t reserved;
    size_t order[RUNS_EVENTS]; /* hardest first */
    size_t like[RUNS_EVENTS];  /* the first request with the same text */
    bool apart[RUNS_EVENTS][RUNS_EVENTS];
    size_t member[RUNS_EVENTS][SIM_FIT_MAX], size[RUNS_EVENTS]; /* of each run */
    uint64_t set[RUNS_EVENTS][2];                               /* its members as bits */
    size_t run_of[RUNS_EVENTS];
    long trials;
    struct seen seen[SEEN];
};

static bool evaluate(const struct packing *p, size_t run, size_t request)
{
    struct sim_request all[SIM_FIT_MAX];
    size_t n = p->size[run];
    if (n == SIM_FIT_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (p->apart[p->member[run][i]][request])
            return false;
        all[i] = p->requests[p->member[run][i]];
    }
    all[n] = p->requests[request];
    return sim_fits(all, n + 1, p->reserved);
}

static bool joins(struct packing *p, size_t run, size_t request)
{
    uint64_t set[2] = {p->set[run][0], p->set[run][1]};
    set[request / 64] |= UINT64_C(1) << request % 64;
    uint64_t hash = (set[0] ^ set[1] * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xD6E8FEB86659FD93);
    struct seen *s = &p->seen[hash >> 48];
    p->trials++;
    if (!s->known || s->set[0] != set[0] || s->set[1] != set[1])
        *s = (struct seen){{set[0], set[1]}, true, evaluate(p, run, request)};
    return s->fits;
}

static void put(struct packing *p, size_t run, size_t request)
{
    p->member[run][p->size[run]++] = request;
    p->set[run][request / 64] |= UINT64_C(1) << request % 64;
    p->run_of[request] = run;
}

static void take_back(struct packing *p, size_t run)
{
    size_t request = p->member[run][--p->size[run]];
    p->set[run][request / 64] &= ~(UINT64_C(1) << request % 64);
}

/* ---- bounds ------------------------------------------------------------------------------------
 */

static void find_pairs(struct packing *p)
{
    for (size_t i = 0; i < p->count; i++) {
        for (size_t k = 0; k < i; k++) {
            const struct sim_request pair[2] = {p->requests[k], p->requests[i]};
            p->apart[i][k] = p->apart[k][i] = !sim_fits(pair, 2, p->reserved);
        }
    }
}

static size_t conflicts(const struct packing *p, size_t request)
{
    size_t n = 0;
    for (size_t i = 0; i < p->count; i++)
        n += p->apart[request][i];
    return n;
}

/* How many counters a request can be counted on. */
static unsigned freedom(const struct packing *p, size_t request)
{
    const struct sim_request *r = &p->requests[request];
    uint32_t counters = 0;
    for (unsigned k = 0; k < 2; k++) {
        if (r->escrs[k] != P4PMU_NONE)
            counters |= p4pmu_escr((enum p4pmu_escr)r->escrs[k])->counters;
    }
    if (r->counter != P4PMU_NONE)
        counters &= 1u << r->counter;
    unsigned n = 0;
    for (counters &= ~p->reserved; counters; counters &= counters - 1)
        n++;
    return n;
}

static bool harder(const struct packing *p, size_t a, size_t b)
{
    size_t ca = conflicts(p, a), cb = conflicts(p, b);
    unsigned fa = freedom(p, a), fb = freedom(p, b);
    if (ca != cb)
        return ca > cb;
    return fa != fb ? fa < fb : p->like[a] < p->like[b];
}

/* Hardest first; requests with the same text stand together. */
static void sort(struct packing *p)
{
    for (size_t i = 0; i < p->count; i++) {
        p->like[i] = i;
        for (size_t k = i; k-- > 0;) {
            if (!strcmp(p->requests[k].text, p->requests[i].text))
                p->like[i] = k;
        }
    }
    for (size_t i = 0; i < p->count; i++) {
        size_t k = i;
        for (; k > 0 && harder(p, i, p->order[k - 1]); k--)
            p->order[k] = p->order[k - 1];
        p->order[k] = i;
    }
}

/* Requests of which no two fit together: each wants a run of its own. */
static size_t clique(const struct packing *p)
{
    size_t chosen[RUNS_EVENTS], n = 0;
    for (size_t i = 0; i < p->count; i++) {
        bool all = true;
        for (size_t k = 0; k < n; k++)
            all = all && p->apart[p->order[i]][chosen[k]];
        if (all)
            chosen[n++] = p->order[i];
    }
    return n;
}

static size_t up(size_t a, size_t b)
{
    return b ? (a + b - 1) / b : a;
}

/* What wants to be in an ESCR, in a form that is equal only where contents may be. */
struct item {
    int escrs[2], event;
    unsigned mask, tag;
    unsigned lps;
    bool usr, os;
    const struct sim_metric *metric; /* two metrics of a kind never share a run and an ESCR */
};

static bool same_item(const struct item *a, const struct item *b)
{
    bool plain = !a->metric && !b->metric;
    return a->event == b->event && a->mask == b->mask && a->usr == b->usr && a->os == b->os &&
           a->lps == b->lps &&
           (plain ? a->tag == b->tag : a->metric == b->metric || !a->metric || !b->metric);
}

static struct item counted_item(const struct sim_request *r)
{
    bool moves = r->event == P4PMU_EV_execution_event; /* the mask depends on the tag given */
    return (struct item){{r->escrs[0], r->escrs[1]},
                         r->event,
                         moves ? 0 : r->mask,
                         r->tag_value,
                         r->lps,
                         r->usr,
                         r->os,
                         r->metric};
}

/* The tag of an execution metric is not known yet: nothing else is said to be equal to it. */
static struct item tagging_item(const struct sim_request *r)
{
    const struct sim_metric *m = r->metric;
    bool execution = m->mechanism == SIM_EXECUTION;
    return (struct item){{m->upstream_escrs[0], m->upstream_escrs[1]},
                         m->upstream_event,
                         m->upstream_mask,
                         0,
                         r->lps,
                         true,
                         true,
                         execution ? m : NULL};
}

static bool within(const struct item *item, int a, int b)
{
    bool first = item->escrs[0] == a || item->escrs[0] == b;
    return first && (item->escrs[1] == P4PMU_NONE || item->escrs[1] == a || item->escrs[1] == b);
}

/* Distinct items that can only be in ESCRs A and B (or P4PMU_NONE), against the number of those. */
static size_t escr_bound(const struct item *items, size_t count, int a, int b)
{
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++) {
        bool fresh = within(&items[i], a, b);
        for (size_t k = 0; k < count && fresh; k++) {
            /* a plain event counts only where no metric could be it */
            bool before = k < i || (!items[i].metric && items[k].metric);
            fresh =
                !(before && k != i && within(&items[k], a, b) && same_item(&items[i], &items[k]) &&
                  (items[i].metric == items[k].metric || !items[i].metric));
        }
        distinct += fresh;
    }
    return up(distinct, b == P4PMU_NONE ? 1 : 2);
}

static size_t escr_bounds(const struct packing *p)
{
    static struct item items[2 * RUNS_EVENTS];
    size_t count = 0, most = 0;
    for (size_t i = 0; i < p->count; i++) {
        items[count++] = counted_item(&p->requests[i]);
        if (p->requests[i].metric && p->requests[i].metric->upstream_event != P4PMU_NONE)
            items[count++] = tagging_item(&p->requests[i]);
    }
    for (size_t i = 0; i < count; i++) {
        size_t bound = escr_bound(items, count, items[i].escrs[0], items[i].escrs[1]);
        most = bound > most ? bound : most;
    }
    return most;
}

static const char *group_of(const struct sim_request *r)
{
    uint32_t counters = p4pmu_escr((enum p4pmu_escr)r->escrs[0])->counters;
    unsigned c = 0;
    while (!(counters & 1u << c))
        c++;
    return p4pmu_counter(c)->group;
}

static size_t group_bound(const struct packing *p, const char *group)
{
    size_t events = 0, counters = 0;
    for (size_t i = 0; i < p->count; i++)
        events += !strcmp(group_of(&p->requests[i]), group);
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++)
        counters += !(p->reserved & 1u << c) && !strcmp(p4pmu_counter(c)->group, group);
    return up(events, counters);
}

static size_t lower_bound(const struct packing *p)
{
    size_t most = clique(p), escrs = escr_bounds(p);
    most = escrs > most ? escrs : most;
    for (size_t i = 0; i < p->count; i++) {
        size_t group = group_bound(p, group_of(&p->requests[i]));
        most = group > most ? group : most;
    }
    return most;
}

/* ---- packing -----------------------------------------------------------------------------------
 */

static void clear(struct packing *p)
{
    memset(p->size, 0, sizeof p->size);
    memset(p->set, 0, sizeof p->set);
}

static size_t greedy(struct packing *p)
{
    size_t runs = 0;
    clear(p);
    for (size_t i = 0; i < p->count; i++) {
        size_t run = 0;
        while (run < runs && !joins(p, run, p->order[i]))
            run++;
        put(p, run, p->order[i]);
        runs += run == runs;
    }
    return runs;
}

/* Equal requests may be exchanged, so each goes into no earlier run than the one before it. */
static size_t first_run(const struct packing *p, size_t i)
{
    if (i == 0)
        return 0;
    size_t before = p->order[i - 1];
    return p->like[before] == p->like[p->order[i]] ? p->run_of[before] : 0;
}

/* Put the requests from number I of the order into at most RUNS runs, of which USED are begun. */
static bool pack(struct packing *p, size_t i, size_t used, size_t runs)
{
    if (i == p->count)
        return true;
    for (size_t run = first_run(p, i); run < runs && run <= used; run++) {
        if (p->trials > SEARCH_LIMIT)
            return false;
        if (run < used && !joins(p, run, p->order[i]))
            continue;
        put(p, run, p->order[i]);
        if (pack(p, i + 1, used + (run == used), runs))
            return true;
        take_back(p, run);
    }
    return false;
}

static void take(const struct packing *p, size_t runs, struct runs *out)
{
    out->count = runs;
    memcpy(out->run_of, p->run_of, sizeof out->run_of);
}

/* Runs in the order in which the user's events first want them. */
static void number_runs(size_t count, struct runs *out)
{
    size_t number[RUNS_EVENTS], next = 0;
    bool known[RUNS_EVENTS] = {false};
    for (size_t i = 0; i < count; i++) {
        size_t run = out->run_of[i];
        if (!known[run])
            number[run] = next++;
        known[run] = true;
        out->run_of[i] = number[run];
    }
}

bool runs_split(const struct sim_request *requests, size_t count, uint32_t reserved,
                struct runs *runs, struct sim_conflict *conflict)
{
    static struct packing p;
    struct sim_plan plan;
    memset(&p, 0, sizeof p);
    p.requests = requests;
    p.count = count;
    p.reserved = reserved;
    for (size_t i = 0; i < count; i++) {
        if (!sim_fit_around(&requests[i], 1, NULL, reserved, &plan, conflict)) {
            conflict->requests[0] = i;
            return false;
        }
    }
    find_pairs(&p);
    sort(&p);
    size_t least = lower_bound(&p);
    take(&p, greedy(&p), runs);
    runs->least = runs->count == least;
    while (!runs->least) {
        p.trials = 0;
        clear(&p);
        if (!pack(&p, 0, 0, runs->count - 1)) {
            runs->least = p.trials <= SEARCH_LIMIT;
            break;
        }
        take(&p, runs->count - 1, runs);
        runs->least = runs->count == least;
    }
    number_runs(count, runs);
    return true;
}

/* ---- the smallest conflict ---------------------------------------------------------------------
 */

struct subset {
    const struct sim_request *requests;
    size_t count;
    uint32_t reserved;
    size_t chosen[SIM_FIT_MAX + 1], size;
};

static void copy_chosen(const struct subset *s, struct sim_request *all)
{
    for (size_t i = 0; i < s->size; i++)
        all[i] = s->requests[s->chosen[i]];
}

/* Choose MORE further requests from FROM on so that all chosen do not fit. */
static bool fails(struct subset *s, size_t from, size_t more)
{
    if (more == 0) {
        struct sim_request all[SIM_FIT_MAX + 1];
        copy_chosen(s, all);
        return !sim_fits(all, s->size, s->reserved);
    }
    for (size_t i = from; i + more <= s->count; i++) {
        s->chosen[s->size++] = i;
        if (fails(s, i + 1, more - 1))
            return true;
        s->size--;
    }
    return false;
}

static void explain(const struct subset *s, struct sim_conflict *conflict)
{
    struct sim_request all[SIM_FIT_MAX + 1];
    struct sim_plan plan;
    copy_chosen(s, all);
    sim_fit_around(all, s->size, NULL, s->reserved, &plan, conflict);
    for (size_t i = 0; i < conflict->count; i++)
        conflict->requests[i] = s->chosen[conflict->requests[i]];
}

void runs_conflict(const struct sim_request *requests, size_t count, uint32_t reserved,
                   struct sim_conflict *conflict)
{
    struct sim_plan plan;
    size_t first = count > SIM_FIT_MAX + 1 ? SIM_FIT_MAX + 1 : count;
    sim_fit_around(requests, first, NULL, reserved, &plan, conflict);
    size_t most = conflict->count;
    if (count > EXACT_CONFLICT && most > SMALL_CONFLICT + 1)
        most = SMALL_CONFLICT + 1;
    for (size_t size = 1; size < most; size++) {
        struct subset s = {requests, count, reserved, {0}, 0};
        if (fails(&s, 0, size)) {
            explain(&s, conflict);
            return;
        }
    }
}
