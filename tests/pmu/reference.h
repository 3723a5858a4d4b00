/*
 * The rules of counting written to be read, not to be quick: every clock looks at every counter,
 * every fact is kept until its clock ends. Nothing here is shared with libp4pmu but the numbers of
 * events (enum p4pmu_event) and the parameters of an event, which the caller gives.
 *
 * Register contents are taken as they are stored (what a write keeps is tested elsewhere). Errata
 * are off. The stepping is one that knows IOQ_allocation in both FSB ESCRs (F27H and later).
 */
#ifndef TESTS_PMU_REFERENCE_H
#define TESTS_PMU_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

enum { REF_ESCRS = 45, REF_COUNTERS = 18, REF_LEVELS = 64 };

/* An event as the rules need it. */
struct ref_event {
    int number;
    unsigned code;
    bool thread_independent;
    enum { REF_ANY_BIT, REF_BUS_QUEUE, REF_BUS_SEQUENCE, REF_NEVER } logic;
    bool ignores_cpl;
    bool drives_pebs;
    bool every_other_clock; /* standing conditions are looked at in even clocks only */
    enum { REF_NO_ROLE, REF_MOB_REPLAY, REF_LOAD_PORT, REF_STORE_PORT, REF_FRONT_END } role;
    int escr[2]; /* -1: none */
};

struct ref_fact {
    int event;
    unsigned bits, lp, cpl;
    uint64_t count;
    uint64_t sampled; /* of a level: what is seen of an event that is updated every other clock */
};

struct ref_pmu {
    unsigned model;
    bool hyper_threading;
    const struct ref_event *events;
    int event_count;

    uint32_t escr[REF_ESCRS];
    uint32_t cccr[REF_COUNTERS];
    uint64_t counter[REF_COUNTERS];
    bool comparator[REF_COUNTERS];  /* output in the last clock the counter worked */
    bool pmi_pending[REF_COUNTERS]; /* overflowed, waits for the next count */
    bool pmi_requested[REF_COUNTERS];
    uint32_t pebs_enable; /* bit 25 for LP0, 26 for LP1 */
    uint32_t matrix_vert;
    bool pebs_armed[2];
    bool active[2];
    bool user[2]; /* CPL 1..3 */
    bool asleep;

    struct ref_fact level[REF_LEVELS];
    int levels;
    uint64_t gathered[REF_ESCRS]; /* facts of the open clock */
    uint64_t now;
    bool interrupt[2];
    uint64_t interrupt_clock[2];
};

void ref_post(struct ref_pmu *pmu, const struct ref_fact *fact);
/* False when there is no room for another standing condition. */
bool ref_level(struct ref_pmu *pmu, const struct ref_fact *level);
void ref_clock(struct ref_pmu *pmu);
void ref_write_cccr(struct ref_pmu *pmu, int counter, uint32_t value);
void ref_write_escr(struct ref_pmu *pmu, int escr, uint32_t value);
/* Registers or surroundings changed: what follows at once. */
void ref_settle(struct ref_pmu *pmu);

/* Tags. An uop's own event (packed_SP_uop, ...) with mask bits, or a load or store for the front
 * end. */
unsigned ref_execution_tags(const struct ref_pmu *pmu, const struct ref_fact *uop);
bool ref_front_end_tag(const struct ref_pmu *pmu, const struct ref_fact *uop);
/* The rows of table 19-33, in the manual's order of bits: L1, L2, DTLB, MOB, split, mispredicted
 * branch. */
bool ref_replay_tag(const struct ref_pmu *pmu, int cause, bool store, unsigned lp, unsigned cpl);

#endif
