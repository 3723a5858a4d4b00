/*
 * Everything that can happen, again and again: in each clock every event posts one of its
 * documented sub-events (the next one in the next clock), at one of the privilege levels, between
 * none and as many at once as the event allows. At-retirement events of tags are posted only for
 * uops that the PMU tagged. There are silent clocks, clocks with one logical processor halted and
 * clocks with both.
 */
#include "bench.h"

enum { CLOCKS = 6000 };

struct world {
    struct p4pmu *pmu;
    const struct config *config;
    unsigned clock;
    unsigned active; /* logical processors */
};

static unsigned pick(const struct world *w, unsigned choices, unsigned salt)
{
    uint32_t x = (w->clock + 1) * 2654435761u ^ (salt + 1) * 40503u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return x % choices;
}

/* How many of EVENT happen at once. */
static unsigned crowd(const struct world *w, int event)
{
    unsigned most = p4pmu_event((enum p4pmu_event)event)->max_increment;
    return 1 + pick(w, most ? most : 15, (unsigned)event);
}

static unsigned who(const struct world *w, unsigned lp, int event)
{
    return P4PMU_WHO(lp, pick(w, 2, (unsigned)event * 7 + lp) ? 3u : 0u);
}

static void post(struct world *w, int event, unsigned bits)
{
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)event);
    for (unsigned lp = 0; lp < 2; lp++) {
        bool there = w->active >> lp & 1;
        if (!w->active && lp == 0)
            there = true; /* snoops are served while all is halted */
        if (!there || (info->thread == P4PMU_TI && lp == 1 && (w->active & 1)))
            continue;
        p4pmu_post(w->pmu, (enum p4pmu_event)event, bits, who(w, lp, event), crowd(w, event));
    }
}

/* A transaction of any type, direction, memory type and agent. */
static unsigned bus_queue_bits(const struct world *w)
{
    unsigned type = pick(w, 6, 1), bits = type < 5 ? 1u << type : 0; /* 0: deferred reply */
    bits |= pick(w, 2, 2) ? 1u << 5 : 1u << 6;
    bits |= 1u << (7 + pick(w, 5, 3));
    bits |= pick(w, 2, 4) ? 1u << 13 : 1u << 14;
    return bits | (pick(w, 2, 5) ? 1u << 15 : 0);
}

/* An entry as some ESCR of the configuration asks for it. */
static unsigned sequence_unit_bits(const struct world *w, int event)
{
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)event);
    uint64_t escr = 0;
    p4pmu_rdmsr(w->pmu, 0, p4pmu_escr((enum p4pmu_escr)info->escrs[0])->msr, &escr);
    return P4PMU_GET(ESCR, EVENT_MASK, escr);
}

static unsigned next_subevent(const struct world *w, int event)
{
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)event);
    return 1u << info->subevents[pick(w, (unsigned)info->subevent_count, (unsigned)event + 50)].bit;
}

static bool front_end_tag(const struct world *w, unsigned by)
{
    return p4pmu_front_end_tag(w->pmu, 1u << 1, by) || p4pmu_front_end_tag(w->pmu, 1u << 2, by);
}

static bool replay_tag(const struct world *w, unsigned by)
{
    for (int cause = 0; cause < P4PMU_REPLAY_CAUSES; cause++)
        for (int store = 0; store < 2; store++)
            if (p4pmu_replay_tag(w->pmu, (enum p4pmu_replay_cause)cause, store, by))
                return true;
    return false;
}

/* The tags that one uop of each kind got. */
static unsigned execution_tags(const struct world *w, unsigned by)
{
    unsigned tags = 0;
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)e);
        for (size_t i = 0; i < info->subevent_count; i++)
            tags |=
                p4pmu_execution_tags(w->pmu, (enum p4pmu_event)e, 1u << info->subevents[i].bit, by);
    }
    return tags;
}

/* Retirement of one uop of BY: bogus or not, with the tags it has. */
static void retire(struct world *w, unsigned by)
{
    bool bogus = pick(w, 2, 90);
    unsigned n = 1 + pick(w, 15, 91), tags = execution_tags(w, by);
    bool memory = pick(w, 2, 92); /* others get no front-end tag */
    unsigned tagged = memory && front_end_tag(w, by) ? 2u : 1u;
    p4pmu_post(w->pmu, P4PMU_EV_instr_retired, bogus ? tagged << 2 : tagged, by, n);
    if (tagged == 2)
        p4pmu_post(w->pmu, P4PMU_EV_front_end_event, bogus ? 2 : 1, by, n);
    if (replay_tag(w, by))
        p4pmu_post(w->pmu, P4PMU_EV_replay_event, bogus ? 2 : 1, by, n);
    if (tags)
        p4pmu_post(w->pmu, P4PMU_EV_execution_event, bogus ? tags << 4 : tags, by, n);
}

static bool needs_tag(int event)
{
    return event == P4PMU_EV_instr_retired || event == P4PMU_EV_front_end_event ||
           event == P4PMU_EV_replay_event || event == P4PMU_EV_execution_event;
}

static void everything(struct world *w)
{
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        enum p4pmu_logic logic = p4pmu_event((enum p4pmu_event)e)->logic;
        if (needs_tag(e))
            continue;
        post(w, e,
             logic == P4PMU_IOQ   ? bus_queue_bits(w)
             : logic == P4PMU_BSQ ? sequence_unit_bits(w, e)
                                  : next_subevent(w, e));
    }
    for (unsigned lp = 0; lp < 2; lp++)
        if (w->active >> lp & 1)
            retire(w, who(w, lp, 60));
}

/* 3, 1, 2 and 0 logical processors active in turn; without Hyper-Threading one. */
static void choose_active(struct world *w)
{
    static const unsigned phases[] = {3, 3, 1, 2, 0};
    unsigned active = phases[w->clock / 64 % 5];
    if (!w->config->hyper_threading)
        active = 1;
    if (active == w->active)
        return;
    w->active = active;
    p4pmu_active(w->pmu, 0, active & 1);
    p4pmu_active(w->pmu, 1, active >> 1);
}

static void run(struct world *w)
{
    for (w->clock = 0; w->clock < CLOCKS; w->clock++) {
        choose_active(w);
        if (pick(w, 3, 70))
            everything(w);
        p4pmu_clocks(w->pmu, 1);
    }
}

static void read_counters(struct p4pmu *pmu, uint64_t values[P4PMU_COUNTERS])
{
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++)
        p4pmu_rdmsr(pmu, 0, p4pmu_counter(i)->msr, &values[i]);
}

bool bench_run(const struct config *config, struct bench_result *result)
{
    struct world w = {.config = config, .active = 99};
    w.pmu = p4pmu_new(&(struct p4pmu_config){.model = config->model,
                                             .stepping = config->stepping,
                                             .hyper_threading = config->hyper_threading});
    if (!w.pmu)
        return false;
    for (size_t i = 0; i < config->count; i++)
        p4pmu_wrmsr(w.pmu, 0, config->write[i].msr, config->write[i].value, NULL);
    read_counters(w.pmu, result->before);
    run(&w);
    read_counters(w.pmu, result->after);
    p4pmu_free(w.pmu);
    return true;
}
