/*
 * One measurement: a snippet on a model, its events counted by the simulated counters between its
 * two markers; on a model with Hyper-Threading perhaps with a second one beside it all the time.
 */
#ifndef VALIDATE_MEASURE_H
#define VALIDATE_MEASURE_H

#include "fit.h"
#include "sim.h"
#include "suite.h"

enum { MEASURE_EVENTS = 4, MEASURE_PEBS_COUNTER = 16 /* MSR_IQ_COUNTER4, SDM3 18.15.7 */ };

/* PEBS records by what they say. */
enum { MEASURE_KEYS = 256 };
struct measure_keys {
    unsigned count; /* different ones; those beyond MEASURE_KEYS are left out */
    struct {
        uint64_t key, times;
    } of[MEASURE_KEYS];
};
struct measure_records {
    uint64_t taken;
    struct measure_keys ip, eax;
    uint64_t cause, cause_times; /* the instruction that made most of the events */
};

struct measure {
    const struct sim_model *model;
    const struct suite_snippet *snippet;
    const struct suite_snippet *beside; /* on the second logical processor; NULL: it is halted */
    const char *recordings;             /* folder of recorded runs, looked at first; or NULL */
    const char *event[MEASURE_EVENTS];
    unsigned events;
    const char *with; /* the one among them that is programmed and not read, or NULL */
    uint32_t
        period; /* of PEBS records of the first event, then RECORDS is filled; 0: it is counted */
    /* out */
    struct measure_records records;
    uint64_t count[MEASURE_EVENTS];
    uint64_t instructions; /* of the snippet, executed between the markers */
};

/* False with ERROR and *STATUS, the exit status that fits. */
bool measure_run(struct measure *measure, char error[512], int *status);

/* measure_records.c: run BENCH to its end with records of PLAN's first event. */
bool measure_take_records(struct measure *measure, struct sim_bench *bench,
                          const struct sim_plan *plan, char error[512]);
/* Until logical processor 0 of BENCH has retired INSTRUCTIONS. */
bool measure_run_to(struct sim_bench *bench, uint64_t instructions, char error[512]);

/* The two programs of a snippet: the one that is measured, and the one that runs beside another. */
enum measure_role { MEASURE_FIRST, MEASURE_BESIDE };

/* Where the recorded run of SNIPPET lies; its name changes with the program's text. */
void measure_recording(const struct suite_snippet *snippet, enum measure_role role,
                       const char *folder, char path[4096]);
/* Run SNIPPET live and record it to PATH. */
bool measure_record(const struct sim_model *model, const struct suite_snippet *snippet,
                    enum measure_role role, const char *path, char error[512], int *status);

#endif
