/*
 * Fitting: choose for every request an ESCR and a counter that the real wiring joins, or say
 * exactly why there is no such choice.
 *
 * An event can be detected by one or two ESCRs; each ESCR is heard by two or three counters; an
 * ESCR holds one event with one mask. Requests whose ESCR contents are equal share an ESCR. Metrics
 * also need an upstream ESCR, an execution tag, or the two replay tagging registers, of which there
 * is one each.
 */
#ifndef SIM_FIT_H
#define SIM_FIT_H

#include "request.h"

enum { SIM_FIT_MAX = P4PMU_COUNTERS };

/* One chosen counter with its ESCR. */
struct sim_slot {
    int escr;    /* enum p4pmu_escr */
    int counter; /* P4PMU_NONE: an upstream ESCR that needs no counter of its own */
    uint32_t escr_value, cccr_value;
};

struct sim_plan {
    size_t count;
    struct sim_slot slots[SIM_FIT_MAX]; /* of the requests, in their order */
    size_t upstream_count;
    struct sim_slot
        upstream[SIM_FIT_MAX]; /* ESCRs that tag; a counter where power gating wants one */
    unsigned request_upstream[SIM_FIT_MAX]; /* 1 + index into upstream of a request, 0: none */
    bool replay_tagging;
    uint64_t pebs_enable, pebs_matrix_vert;
};

/* IA32_PEBS_ENABLE and MSR_PEBS_MATRIX_VERT as the user gave them. */
struct sim_replay_registers {
    bool given;
    uint64_t pebs_enable, pebs_matrix_vert;
};

struct sim_conflict {
    size_t count;
    size_t requests[SIM_FIT_MAX +
                    1]; /* a smallest set that does not fit, with the request that broke it */
    char text[512];     /* who fights over what */
};

/* Choose for all COUNT requests. False with CONFLICT when they do not fit at once. The choice is
 * exact: false means that no assignment exists. PRESET may be NULL. */
bool sim_fit(const struct sim_request *requests, size_t count,
             const struct sim_replay_registers *preset, struct sim_plan *plan,
             struct sim_conflict *conflict);

/* The same without the counters in RESERVED (bit n: counter n), which somebody else uses. COUNT may
 * be one more than there are counters; it never fits then. */
bool sim_fit_around(const struct sim_request *requests, size_t count,
                    const struct sim_replay_registers *preset, uint32_t reserved,
                    struct sim_plan *plan, struct sim_conflict *conflict);

/* Whether all COUNT requests fit at once beside RESERVED, without a plan and without a reason. */
bool sim_fits(const struct sim_request *requests, size_t count, uint32_t reserved);

/* Write PLAN into PMU as software does: tagging registers, ESCRs, counters to zero, then CCCRs with
 * ENABLE. False with ERROR (register, value, fault) when a write faults. */
bool sim_program(struct p4pmu *pmu, const struct sim_plan *plan, char error[512]);
/* The counter of SLOT, by RDPMC. */
bool sim_read(struct p4pmu *pmu, const struct sim_slot *slot, uint64_t *count, char error[512]);
/* Clear ENABLE in every CCCR of PLAN, so that all counters stop at the same clock. */
bool sim_halt(struct p4pmu *pmu, const struct sim_plan *plan, char error[512]);

#endif
