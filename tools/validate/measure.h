/*
 * One measurement: a snippet on a model, its events counted by the simulated counters between its
 * two markers.
 */
#ifndef VALIDATE_MEASURE_H
#define VALIDATE_MEASURE_H

#include "sim.h"
#include "suite.h"

enum { MEASURE_EVENTS = 4 };

struct measure {
    const struct sim_model *model;
    const struct suite_snippet *snippet;
    const char *recordings; /* folder of recorded runs, looked at first; or NULL */
    const char *event[MEASURE_EVENTS];
    unsigned events;
    const char *with; /* the one among them that is programmed and not read, or NULL */
    /* out */
    uint64_t count[MEASURE_EVENTS];
    uint64_t instructions; /* executed between the markers */
};

/* False with ERROR and *STATUS, the exit status that fits. */
bool measure_run(struct measure *measure, char error[512], int *status);

/* Where the recorded run of SNIPPET lies; its name changes with the program's text. */
void measure_recording(const struct suite_snippet *snippet, const char *folder, char path[4096]);
/* Run SNIPPET live and record it to PATH. */
bool measure_record(const struct sim_model *model, const struct suite_snippet *snippet,
                    const char *path, char error[512], int *status);

#endif
