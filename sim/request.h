/*
 * Requests: from the text of an event to what an ESCR and a CCCR must hold, before any is chosen.
 *
 *   NAME[:SUB[+SUB...]][:modifier...]     instr_retired:NBOGUSNTAG+NBOGUSTAG:u
 *   METRIC[:modifier...]                  1stL_cache_load_miss_retired
 *   CCCR/ESCR@COUNTER                     0x0003B000/0x12000204@0x8000000C (perfctr's raw form)
 */
#ifndef SIM_REQUEST_H
#define SIM_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "p4pmu.h"

enum sim_mechanism { SIM_REPLAY, SIM_FRONT_END, SIM_EXECUTION };

/* A count that needs more than one ESCR and counter; rows of metrics.def. */
struct sim_metric {
    const char *name;
    enum sim_mechanism mechanism;
    int upstream_event; /* enum p4pmu_event, or P4PMU_NONE */
    unsigned upstream_mask;
    int upstream_escrs[2]; /* enum p4pmu_escr or P4PMU_NONE */
    uint64_t pebs_enable, pebs_matrix_vert;
    const char *description, *source;
};

/* Row INDEX of metrics.def; NULL past the end. */
const struct sim_metric *sim_metric(size_t index);
/* The event a metric is counted in: replay_event, front_end_event or execution_event. */
enum p4pmu_event sim_metric_downstream(const struct sim_metric *metric);

struct sim_request {
    char text[160]; /* as the user wrote it */
    unsigned model; /* of family 0FH, that it was made for */
    int event;      /* enum p4pmu_event; P4PMU_NONE for a raw select no event has */
    int escrs[2];   /* enum p4pmu_escr that can detect it on this part, or P4PMU_NONE */
    unsigned mask;  /* sub-event bits */
    bool usr, os;
    unsigned lps;         /* logical processors whose facts count: bits; 0: not said, the first */
    bool active_given;    /* CCCR active thread field: */
    unsigned active;      /* none, single, both or any (0 to 3) */
    bool hyper_threading; /* set by who knows that the part has two logical processors */
    bool compare, complement, edge;
    unsigned threshold;
    bool tag_enable;
    unsigned tag_value;
    int counter;                     /* asked for, or P4PMU_NONE */
    const struct sim_metric *metric; /* NULL for a plain event */
    bool raw;
    int raw_escr; /* enum p4pmu_escr */
    uint32_t raw_cccr_value, raw_escr_value;
};

/* The request TEXT describes on the part of family 0FH with SIGNATURE (model << 4 | stepping);
 * false with ERROR (what is wrong, what was expected, near matches) when it describes none. */
bool sim_request_parse(const char *text, unsigned signature, struct sim_request *request,
                       char error[512]);

/* Why this request can never count anything in this version of the simulator, or NULL: no fact of
 * its kind is ever posted, or all its registers exclude what is simulated. */
const char *sim_request_cannot_count(const struct sim_request *request);

/* Up to three names near to WORD among COUNT names (edit distance, case ignored), as " a, b or c"
 * in OUT; OUT is "" when nothing is near. */
void sim_near(const char *word, const char *const *names, size_t count, char *out, size_t size);

#endif
