/*
 * libp4pmu against the slow reference: random parts, registers, facts, standing conditions and
 * clock skips. Both must agree on every counter, CCCR, interrupt and its clock, and on PEBS.
 *
 *   pmu_random [FIRST_SEED [CONFIGURATIONS]]     default: 100000 configurations from seed 1
 *
 * A failure prints its seed; "pmu_random SEED 1" plays it again and tells each step.
 */
#include "p4pmu.h"
#include "reference.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENABLE = 1 << 12 };

struct pair {
    struct p4pmu *fast;
    struct ref_pmu slow;
    struct ref_event events[P4PMU_EVENTS];
    uint64_t random;
    uint64_t seed;
    int used_events[P4PMU_COUNTERS];
    int used_escrs[P4PMU_COUNTERS];
    unsigned used_counters[P4PMU_COUNTERS];
    int used;
    unsigned cpl[2];
    bool telling;
};

static uint64_t next(struct pair *p)
{
    uint64_t z = p->random += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

static unsigned below(struct pair *p, unsigned n)
{
    return (unsigned)(next(p) >> 32) % n;
}

static bool chance(struct pair *p, unsigned percent)
{
    return below(p, 100) < percent;
}

#define TELL(p, ...)                                                                               \
    do {                                                                                           \
        if ((p)->telling)                                                                          \
            printf(__VA_ARGS__);                                                                   \
    } while (0)

static void fail(const struct pair *p, const char *what, unsigned which, uint64_t fast,
                 uint64_t slow)
{
    printf("seed %" PRIu64 ", clock %" PRIu64 ": %s %u: library %" PRIX64 ", reference %" PRIX64
           "\n",
           p->seed, p->slow.now, what, which, fast, slow);
    printf("play it again: pmu_random %" PRIu64 " 1\n", p->seed);
    exit(1);
}

static void check(const struct pair *p, const char *what, unsigned which, uint64_t fast,
                  uint64_t slow)
{
    if (fast != slow)
        fail(p, what, which, fast, slow);
}

/* ---- the part -------------------------------------------------------------------------------- */

static void describe_events(struct pair *p)
{
    for (int i = 0; i < (int)P4PMU_EVENTS; i++) {
        const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)i);
        struct ref_event *e = &p->events[i];
        bool queue = info->logic == P4PMU_IOQ, here = info->models >> p->slow.model & 1;
        *e = (struct ref_event){.number = i,
                                .code = here ? info->code : 64,
                                .thread_independent = info->thread == P4PMU_TI,
                                .logic = info->logic == P4PMU_OR    ? REF_ANY_BIT
                                         : queue                    ? REF_BUS_QUEUE
                                         : info->logic == P4PMU_BSQ ? REF_BUS_SEQUENCE
                                                                    : REF_NEVER,
                                .escr = {info->escrs[0], info->escrs[1]}};
        e->ignores_cpl =
            i == P4PMU_EV_IOQ_active_entries || (i == P4PMU_EV_IOQ_allocation && p->slow.model < 2);
        e->every_other_clock = i == P4PMU_EV_bsq_active_entries && p->slow.model >= 3;
        if (i == P4PMU_EV_IOQ_allocation && p->slow.model < 2)
            e->escr[1] = -1;
        e->role = i == P4PMU_EV_MOB_load_replay     ? REF_MOB_REPLAY
                  : i == P4PMU_EV_load_port_replay  ? REF_LOAD_PORT
                  : i == P4PMU_EV_store_port_replay ? REF_STORE_PORT
                  : i == P4PMU_EV_uop_type          ? REF_FRONT_END
                                                    : REF_NO_ROLE;
        e->drives_pebs = i == P4PMU_EV_execution_event || i == P4PMU_EV_replay_event ||
                         i == P4PMU_EV_front_end_event;
    }
    p->slow.events = p->events;
    p->slow.event_count = P4PMU_EVENTS;
}

/* ---- writes ---------------------------------------------------------------------------------- */

/* A logical processor at CPL 0, or -1. */
static int supervisor(const struct pair *p)
{
    return p->cpl[0] == 0 ? 0 : p->slow.hyper_threading && p->cpl[1] == 0 ? 1 : -1;
}

static bool write(struct pair *p, uint32_t msr, uint64_t value, uint64_t *stored)
{
    int lp = supervisor(p);
    if (lp < 0)
        return false;
    TELL(p, "wrmsr %X %" PRIX64 "\n", (unsigned)msr, value);
    enum p4pmu_fault fault = p4pmu_wrmsr(p->fast, (unsigned)lp, msr, value, stored);
    check(p, "fault of", msr, fault, P4PMU_OK);
    return true;
}

static void write_escr(struct pair *p, int escr, uint32_t value)
{
    uint64_t stored;
    if (write(p, p4pmu_escr((enum p4pmu_escr)escr)->msr, value & 0x7FFFFFFF, &stored))
        ref_write_escr(&p->slow, escr, (uint32_t)stored);
}

static void write_cccr(struct pair *p, unsigned counter, uint32_t value)
{
    uint64_t stored;
    if (write(p, 0x360 + counter, value, &stored))
        ref_write_cccr(&p->slow, (int)counter, (uint32_t)stored);
}

static void write_counter(struct pair *p, unsigned counter, uint64_t value)
{
    uint64_t stored;
    if (write(p, 0x300 + counter, value, &stored))
        p->slow.counter[counter] = stored;
}

static uint32_t some_of(struct pair *p, const uint32_t *bits, int n)
{
    uint32_t value = 0;
    for (int i = 0; i < n; i++)
        if (chance(p, 60))
            value |= bits[i];
    return value;
}

/* IA32_PEBS_ENABLE as the writing logical processor gives it: bit 25 is its own. */
static void write_pebs(struct pair *p)
{
    static const uint32_t bits[] = {1, 2, 4, 0x200, 0x400, 0x18000, 1 << 24, 1 << 25, 1 << 26};
    static const uint32_t classes[] = {1, 2, 0x10};
    uint64_t stored;
    int lp = supervisor(p);
    uint32_t value = some_of(p, bits, 9), matrix = some_of(p, classes, 3);

    if (write(p, 0x3F1, value, &stored)) {
        bool mine = value >> 25 & 1, other = (value >> 26 & 1) && p->slow.hyper_threading;
        p->slow.pebs_enable = (value & 0x1FFFFFF) | (uint32_t)(lp ? other : mine) << 25 |
                              (uint32_t)(lp ? mine : other) << 26;
        ref_settle(&p->slow);
    }
    if (write(p, 0x3F2, matrix, &stored))
        p->slow.matrix_vert = (uint32_t)stored;
}

/* ---- random registers ------------------------------------------------------------------------ */

static uint32_t random_mask(struct pair *p, int event)
{
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)event);
    uint32_t mask = 0;
    if (chance(p, 15))
        return below(p, 0x10000);
    for (size_t i = 0; i < info->subevent_count; i++)
        if (chance(p, 60))
            mask |= 1u << info->subevents[i].bit;
    return mask;
}

static uint32_t random_escr(struct pair *p, int event)
{
    uint32_t qualifiers = chance(p, 70) ? 0xC | below(p, 4) : below(p, 16);
    if (chance(p, 5))
        return (uint32_t)next(p);
    return p4pmu_event((enum p4pmu_event)event)->code << 25 | random_mask(p, event) << 9 |
           below(p, 32) << 4 | qualifiers;
}

static uint32_t random_cccr(struct pair *p, int escr)
{
    uint32_t value = p4pmu_escr((enum p4pmu_escr)escr)->select << 13;
    value |= (uint32_t)chance(p, 75) << 12;
    value |= (chance(p, 70) ? 3 : below(p, 4)) << 16;
    if (chance(p, 50))
        value |= 1u << 18 | below(p, 2) << 19 | (chance(p, 70) ? below(p, 4) : below(p, 16)) << 20;
    value |= (uint32_t)chance(p, 30) << 24;
    value |= (uint32_t)chance(p, 8) << 25;
    value |= (chance(p, 40) ? below(p, 4) : 0) << 26;
    value |= (uint32_t)chance(p, 30) << 30;
    value |= (uint32_t)chance(p, 25) << 11;
    value |= (uint32_t)chance(p, 5) << 31;
    return chance(p, 3) ? (uint32_t)next(p) : value;
}

static uint64_t random_value(struct pair *p)
{
    if (chance(p, 80))
        return P4PMU_COUNTER_MASK - below(p, chance(p, 50) ? 8 : 200);
    return next(p);
}

/* One more counter, listening to an event; half of them in the range with extended cascades. */
static void add_counter(struct pair *p)
{
    int event, escr;
    uint32_t counters;
    unsigned counter;

    static const int tagged[] = {P4PMU_EV_execution_event, P4PMU_EV_replay_event,
                                 P4PMU_EV_front_end_event};
    static const int special[] = {P4PMU_EV_MOB_load_replay,   P4PMU_EV_load_port_replay,
                                  P4PMU_EV_store_port_replay, P4PMU_EV_uop_type,
                                  P4PMU_EV_packed_SP_uop,     P4PMU_EV_x87_SIMD_moves_uop};
    bool for_pebs = chance(p, 10), for_tags = chance(p, 10);
    do {
        event = for_pebs   ? tagged[below(p, 3)]
                : for_tags ? special[below(p, 6)]
                           : (int)below(p, P4PMU_EVENTS);
        escr = p4pmu_event((enum p4pmu_event)event)->escrs[below(p, 2)];
    } while (escr == P4PMU_NONE);
    counters = p4pmu_escr((enum p4pmu_escr)escr)->counters;
    do
        counter = for_pebs ? 16 + below(p, 2) : below(p, P4PMU_COUNTERS);
    while (!(counters >> counter & 1));
    p->used_events[p->used] = event;
    p->used_escrs[p->used] = escr;
    p->used_counters[p->used++] = counter;
    write_escr(p, escr, random_escr(p, event));
    write_cccr(p, counter, random_cccr(p, escr));
    write_counter(p, counter, random_value(p));
    if (for_pebs || for_tags)
        write_pebs(p);
}

/* ---- random happenings ----------------------------------------------------------------------- */

static struct ref_fact random_fact(struct pair *p)
{
    int i = (int)below(p, (unsigned)p->used);
    uint32_t escr = p->slow.escr[p->used_escrs[i]];
    struct ref_fact f = {.event = chance(p, 90) ? p->used_events[i] : (int)below(p, P4PMU_EVENTS)};

    f.bits = chance(p, 60) ? escr >> 9 & 0xFFFF : below(p, 0x10000);
    if (chance(p, 30))
        f.bits &= below(p, 0x10000);
    if (f.bits == 0)
        f.bits = 1u << below(p, 16);
    f.lp = p->slow.hyper_threading ? below(p, 2) : 0;
    f.cpl = chance(p, 50) ? 0 : below(p, 4);
    f.count = chance(p, 5) ? 10 + below(p, 30) : 1 + below(p, 3);
    return f;
}

static void post(struct pair *p)
{
    struct ref_fact f = random_fact(p);
    TELL(p, "post %s %04X lp%u cpl%u %u\n", p4pmu_event((enum p4pmu_event)f.event)->name, f.bits,
         f.lp, f.cpl, (unsigned)f.count);
    p4pmu_post(p->fast, (enum p4pmu_event)f.event, f.bits, P4PMU_WHO(f.lp, f.cpl),
               (unsigned)f.count);
    ref_post(&p->slow, &f);
}

static void level(struct pair *p)
{
    struct ref_fact f = random_fact(p);
    if (p->slow.levels && chance(p, 50)) /* change or end one that stands */
        f = p->slow.level[below(p, (unsigned)p->slow.levels)];
    f.count = chance(p, 40) ? 0 : chance(p, 10) ? 20 : 1 + below(p, 3);
    if (!ref_level(&p->slow, &f))
        return;
    TELL(p, "level %s %04X lp%u cpl%u %u\n", p4pmu_event((enum p4pmu_event)f.event)->name, f.bits,
         f.lp, f.cpl, (unsigned)f.count);
    p4pmu_level(p->fast, (enum p4pmu_event)f.event, f.bits, P4PMU_WHO(f.lp, f.cpl),
                (unsigned)f.count);
}

static void rewrite(struct pair *p)
{
    int i = (int)below(p, (unsigned)p->used);
    unsigned counter = p->used_counters[i];
    switch (below(p, 9)) {
    case 0:
        write_escr(p, p->used_escrs[i], random_escr(p, p->used_events[i]));
        break;
    case 1:
        write_cccr(p, counter, random_cccr(p, p->used_escrs[i]));
        break;
    case 2:
        write_counter(p, counter, random_value(p));
        break;
    case 3:
        write_pebs(p);
        break;
    case 4:
    case 5: /* stop or start */
        write_cccr(p, counter, p->slow.cccr[counter] ^ ENABLE);
        break;
    default: /* as a handler does: clear OVF */
        write_cccr(p, counter, p->slow.cccr[counter] & 0x7FFFFFFF);
    }
}

static void surroundings(struct pair *p)
{
    unsigned lp = p->slow.hyper_threading ? below(p, 2) : 0;
    unsigned what = below(p, 3);
    if (what == 0) {
        p->slow.active[lp] = !p->slow.active[lp];
        TELL(p, "active %u %d\n", lp, p->slow.active[lp]);
        p4pmu_active(p->fast, lp, p->slow.active[lp]);
    } else if (what == 1) {
        p->cpl[lp] = chance(p, 60) ? 0 : 3;
        p->slow.user[lp] = p->cpl[lp] > 0;
        TELL(p, "cpl %u %u\n", lp, p->cpl[lp]);
        p4pmu_privilege(p->fast, lp, p->cpl[lp], true);
    } else {
        p->slow.asleep = !p->slow.asleep && chance(p, 30);
        TELL(p, "asleep %d\n", p->slow.asleep);
        p4pmu_sleep(p->fast, p->slow.asleep);
    }
    ref_settle(&p->slow);
}

static unsigned skip(struct pair *p)
{
    unsigned kind = below(p, 100);
    return kind < 60   ? 1
           : kind < 85 ? 2 + below(p, 7)
           : kind < 97 ? 9 + below(p, 30)
                       : below(p, 150) + 1;
}

/* No interrupt may come inside the clocks that are promised to be quiet. */
static void clocks(struct pair *p)
{
    unsigned n = skip(p);
    uint64_t quiet = p4pmu_quiet_clocks(p->fast);
    bool facts = false;
    for (int e = 0; e < REF_ESCRS; e++)
        facts |= p->slow.gathered[e] > 0;
    TELL(p, "clocks %u\n", n);
    p4pmu_clocks(p->fast, n);
    for (unsigned i = 1; i <= n; i++) {
        uint64_t before[2] = {p->slow.interrupt_clock[0], p->slow.interrupt_clock[1]};
        ref_clock(&p->slow);
        for (int lp = 0; lp < 2; lp++)
            if (!facts && i < quiet && p->slow.interrupt_clock[lp] != before[lp])
                fail(p, "quiet clocks, interrupt of logical processor", (unsigned)lp, quiet, i);
    }
}

/* ---- comparison ------------------------------------------------------------------------------ */

static void compare_interrupts(const struct pair *p)
{
    for (unsigned lp = 0; lp < (p->slow.hyper_threading ? 2u : 1u); lp++) {
        check(p, "interrupt of logical processor", lp, p4pmu_interrupt(p->fast, lp),
              p->slow.interrupt[lp]);
        check(p, "interrupt clock of logical processor", lp, p4pmu_interrupt_clock(p->fast, lp),
              p->slow.interrupt_clock[lp]);
    }
}

static void compare_counter(const struct pair *p, unsigned counter)
{
    uint32_t low, high;
    uint64_t cccr;
    int lp = supervisor(p);
    p4pmu_rdpmc(p->fast, 0, counter, &low, &high);
    check(p, "counter", counter, (uint64_t)high << 32 | low, p->slow.counter[counter]);
    if (lp >= 0) {
        p4pmu_rdmsr(p->fast, (unsigned)lp, 0x360 + counter, &cccr);
        check(p, "CCCR", counter, cccr, p->slow.cccr[counter]);
    }
}

static void compare_all(const struct pair *p)
{
    check(p, "clock", 0, p4pmu_now(p->fast), p->slow.now);
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++)
        compare_counter(p, c);
}

/* With no memory behind it, the PEBS assist faults exactly when it is due. */
static void compare_pebs(const struct pair *p)
{
    static const struct p4pmu_pebs_registers zero;
    for (unsigned lp = 0; lp < (p->slow.hyper_threading ? 2u : 1u); lp++)
        check(p, "PEBS of logical processor", lp,
              p4pmu_pebs_store(p->fast, lp, &zero) == P4PMU_DS_FAULT, p->slow.pebs_armed[lp]);
}

static void compare_tags(struct pair *p)
{
    struct ref_fact uop = random_fact(p);
    unsigned who = P4PMU_WHO(uop.lp, uop.cpl);
    if (p->events[uop.event].logic == REF_ANY_BIT)
        check(p, "execution tags of event", (unsigned)uop.event,
              p4pmu_execution_tags(p->fast, (enum p4pmu_event)uop.event, uop.bits, who),
              ref_execution_tags(&p->slow, &uop));
    check(p, "front-end tag of", uop.bits, p4pmu_front_end_tag(p->fast, uop.bits, who),
          ref_front_end_tag(&p->slow, &uop));
    for (int cause = 0; cause < P4PMU_REPLAY_CAUSES; cause++)
        for (int store = 0; store < 2; store++)
            check(p, "replay tag of cause", (unsigned)cause,
                  p4pmu_replay_tag(p->fast, (enum p4pmu_replay_cause)cause, store, who),
                  ref_replay_tag(&p->slow, cause, store, uop.lp, uop.cpl));
}

static void step(struct pair *p)
{
    unsigned what = below(p, 100);
    if (what < 44)
        post(p);
    else if (what < 54)
        level(p);
    else if (what < 59)
        rewrite(p);
    else if (what < 61)
        surroundings(p);
    else
        clocks(p);
    compare_interrupts(p);
    if (chance(p, 5))
        compare_counter(p, p->used_counters[below(p, (unsigned)p->used)]);
    if (chance(p, 5))
        compare_tags(p);
}

static uint64_t run(struct pair *p, uint64_t seed, bool telling)
{
    static const unsigned models[] = {0, 1, 2, 3, 4, 6};
    memset(p, 0, sizeof *p);
    p->seed = seed;
    p->random = seed * 0xD1342543DE82EF95 + 1;
    p->telling = telling;
    p->slow.model = models[below(p, 6)];
    p->slow.hyper_threading = chance(p, 50);
    p->slow.active[0] = true;
    describe_events(p);
    p->fast = p4pmu_new(&(struct p4pmu_config){
        .model = p->slow.model, .hyper_threading = p->slow.hyper_threading, .stepping = 9});
    if (!p->fast)
        exit(1);
    p4pmu_set_lvt(p->fast, 0, 0);
    p4pmu_set_lvt(p->fast, 1, 0);
    p4pmu_privilege(p->fast, 0, 0, true);
    p4pmu_privilege(p->fast, 1, 0, true);
    for (unsigned n = 1 + below(p, chance(p, 20) ? P4PMU_COUNTERS : 5); n; n--)
        add_counter(p);
    for (int i = 0; i < 60; i++)
        step(p);
    clocks(p);
    compare_pebs(p);
    compare_all(p);
    p4pmu_free(p->fast);
    return p->slow.now;
}

int main(int argc, char **argv)
{
    static struct pair pair;
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 100000;
    uint64_t clocks_done = 0;

    for (uint64_t i = 0; i < count; i++)
        clocks_done += run(&pair, first + i, argc > 2 && count == 1);
    printf("%" PRIu64 " configurations, %" PRIu64 " clocks: library and reference agree\n", count,
           clocks_done);
    return 0;
}
