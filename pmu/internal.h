/*
 * The state of a PMU, and what the files of this folder know of each other.
 *
 * The registers as software wrote them are the truth; everything marked "derived" is computed from
 * them by p4pmu_configure after each change and exists so that posting facts and passing clocks is
 * quick.
 */
#ifndef P4PMU_INTERNAL_H
#define P4PMU_INTERNAL_H

#include "p4pmu.h"

#define P4PMU_NEVER UINT64_MAX

enum { WHOS = 8, SELECTS = 64, ESCR_SELECTS = 8, MSR_RANGE = 16 };
enum { INPUT_MAX = 15 }; /* four input lines of weight 1, 2, 4, 8 */

/* The other registers: one number per row of p4pmu_msrs.def. */
enum p4pmu_other_msr {
#define P4PMU_MSR(name, ...) P4PMU_MSR_##name,
#include "p4pmu_msrs.def"
    P4PMU_MSRS
};

/* Derived: an ESCR that selects an event, as posting sees it. */
struct watcher {
    uint16_t mask;
    uint8_t who;   /* who values that pass; 0: this slot is empty */
    uint8_t logic; /* enum p4pmu_logic */
    int8_t escr;
};

/* A standing condition. COUNT holds from clock SINCE on, BEFORE until then (levels.c). */
struct level {
    uint64_t since;
    uint32_t count, before;
    uint16_t bits;
    uint8_t who;
};

struct levels {
    struct level *items;
    size_t used, room;
};

/* How far an overflow has come on its way to an interrupt: it is requested by the next count. */
enum stage { STAGE_IDLE, STAGE_OVERFLOWED, STAGE_REQUESTED };

struct counter {
    uint64_t value;
    uint64_t synced;   /* VALUE is right for the end of this many clocks */
    uint64_t deadline; /* derived: end of the clock that brings something others must see */
    uint32_t cccr;
    uint8_t stage;
    bool running;    /* enabled or started by a cascade, and an event is selected */
    bool last;       /* comparator output of the clock before */
    bool gate;       /* derived: active-thread filter lets counts pass */
    bool plain;      /* derived: the input is the addend */
    bool compare;    /* derived: COMPARE */
    bool edge;       /* derived: COMPARE and EDGE */
    bool force;      /* derived: FORCE_OVF */
    bool quiet;      /* derived: its overflows ask for no interrupt (erratum CASCADE_NO_PMI) */
    bool pebs;       /* derived: overflow makes PEBS wait for its uop */
    bool armed;      /* PEBS waits */
    bool lose_carry; /* erratum N15: the open clock's carry into bit 32 is lost */
    uint8_t added;   /* in the last clock counted (erratum N17) */
    uint64_t source; /* origin of the facts being counted */
    uint64_t origin; /* ... of those of the last overflow */
    uint64_t overflow_clock;       /* at whose end it was */
    int8_t escr;                   /* derived: listens to, or P4PMU_NONE */
    uint8_t addend[INPUT_MAX + 1]; /* derived: input to addend, or to comparator output with EDGE */
};

struct p4pmu {
    struct p4pmu_watch watch; /* derived; first, for p4pmu_post */
    uint64_t dirty;           /* ESCRs with facts in the present clock */
    uint64_t now;
    uint64_t horizon;  /* derived: at or before the earliest deadline, after NOW */
    uint32_t running;  /* counters */
    uint32_t critical; /* derived: counters whose overflow or request others must see in time */
    uint32_t changed;  /* counters whose OVF or stage changed since last looked at */
    uint8_t pulse[P4PMU_ESCRS]; /* facts of the present clock, 0..15 */
    p4pmu_witness_fn *witness;
    void *witness_context;
    uint64_t origin[P4PMU_ESCRS];    /* of the last of them */
    uint32_t listeners[P4PMU_ESCRS]; /* derived: counters */
    uint64_t standing[P4PMU_ESCRS];  /* derived: sum of the matching standing conditions */
    struct watcher watcher[P4PMU_EVENTS][2];
    struct counter counter[P4PMU_COUNTERS];

    struct p4pmu_config config;
    uint32_t escr[P4PMU_ESCRS];
    uint64_t msr[P4PMU_MSRS][2][MSR_RANGE]; /* by LP (0 when shared) and number in a range */
    struct levels levels[P4PMU_EVENTS];
    uint64_t lost_levels;
    bool resample; /* bsq_active_entries changed in an odd clock: it is seen in the next */
    int8_t event_at[P4PMU_ESCRS][SELECTS];     /* event on this model, or P4PMU_NONE */
    int8_t wire[P4PMU_COUNTERS][ESCR_SELECTS]; /* ESCR a counter hears, or P4PMU_NONE */
    uint32_t power[P4PMU_ESCRS];               /* counters that can hear an ESCR or its pair */

    unsigned active, user; /* logical processors: bit n */
    unsigned told;         /* p4pmu_runs_at has said whether it is a user */
    unsigned cpl[2];
    bool cr4_pce[2], cr4_tsd[2];
    bool asleep;

    unsigned requests;     /* derived: logical processors an overflow asks for */
    unsigned ds_requests;  /* logical processors a DS threshold asks for */
    unsigned ds_suspended; /* logical processors */
    uint64_t request_clock[2];
    uint64_t accepted_request[2]; /* of the request accepted last, the clock it came up in */
    uint32_t lvt[2];
    struct p4pmu_memory memory;

    uint64_t powered_escrs; /* derived: ESCRs that detect something (power gating) */
    uint8_t replay_who[P4PMU_REPLAY_CAUSES][2];
    struct tagger { /* derived: ESCRs with TAG_ENABLE by event */
        uint16_t mask[2];
        uint8_t who[2], value[2];
    } tagger[P4PMU_EVENTS];
    struct tagger front_end;
    uint64_t tagging_events; /* derived: events with a tagger */
};

/* configure.c: registers changed: recompute all that is derived. Counters must be caught up. */
void p4pmu_configure(struct p4pmu *pmu);
/* Which counters run, after a change of OVF, CCCR, ESCR or sleep; those that change are at NOW. */
void p4pmu_update_running(struct p4pmu *pmu);
/* The who values an ESCR lets pass for EVENT. */
unsigned p4pmu_escr_who(const struct p4pmu *pmu, int escr, int event);
/* The event an ESCR selects, or P4PMU_NONE. */
int p4pmu_selected_event(const struct p4pmu *pmu, int escr);

/* count.c */
/* A counter that is caught up gets a new value. */
void p4pmu_load_counter(struct p4pmu *pmu, unsigned counter, uint64_t value);
void p4pmu_catch_up(struct p4pmu *pmu, unsigned counter);
void p4pmu_catch_up_all(struct p4pmu *pmu);
/* Deadlines and horizon from the state of the counters. */
void p4pmu_plan(struct p4pmu *pmu);
/* OVF or a stage of a critical counter changed, or a deadline was reached. */
void p4pmu_transition(struct p4pmu *pmu);

/* registers.c */
void p4pmu_reset_msrs(struct p4pmu *pmu);

/* interrupts.c */
#define P4PMU_LVT_RESET UINT32_C(0x00010000)
/* Stages or OVF_PMI bits changed: which logical processors are asked for. */
void p4pmu_update_requests(struct p4pmu *pmu);
/* A DS index of LP reached its threshold. */
void p4pmu_request_ds(struct p4pmu *pmu, unsigned lp);
/* It was accepted, or INIT forgets it. */
void p4pmu_drop_request(struct p4pmu *pmu, unsigned lp);

/* ds.c */
/* The PEBS counter of LP. */
static inline unsigned p4pmu_pebs_counter(unsigned lp)
{
    return 16 + lp;
}
/* Whether PEBS of LP is on and its counter's ESCR selects an event that can drive it. */
bool p4pmu_pebs_on(const struct p4pmu *pmu, unsigned lp);
/* Store a branch record of LP. */
enum p4pmu_ds p4pmu_bts_store(struct p4pmu *pmu, unsigned lp, const struct p4pmu_branch *branch);

/* levels.c */
uint64_t p4pmu_standing(const struct p4pmu *pmu, int event, const struct watcher *watcher);
/* Whether EVENT is seen only in even clocks on this model. */
bool p4pmu_sampled(const struct p4pmu *pmu, int event);
/* An even clock begins in which changes of the clock before are seen. */
void p4pmu_resample(struct p4pmu *pmu);

/* tags.c */
void p4pmu_configure_tags(struct p4pmu *pmu);

static inline unsigned p4pmu_lps(const struct p4pmu *pmu)
{
    return pmu->config.hyper_threading ? 2 : 1;
}

#endif
