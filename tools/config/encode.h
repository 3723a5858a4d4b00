/* From event names to MSR writes. */
#ifndef TOOLS_CONFIG_ENCODE_H
#define TOOLS_CONFIG_ENCODE_H

#include "config.h"
#include "fit.h"
#include "metrics.h"

struct encoding {
    struct sim_request request[SIM_FIT_MAX];
    char letter[SIM_FIT_MAX][8]; /* of a metric's term, or "" */
    size_t count;
    struct sim_replay_registers replay;
    struct sim_plan plan;
};

/* The named metric NAME stands for, or NULL: events and tagged metrics come before it. */
const struct metric_row *encode_metric(const char *name);
/* Add an event text, or all terms of a named metric. False with ERROR. CONFIG says the part. */
bool encode_add(struct encoding *encoding, const struct config *config, const char *text,
                char error[512]);
/* Choose ESCRs and counters and append the writes to CONFIG in the order of the manual: tagging
 * registers, ESCRs, counters to zero, CCCRs. With Hyper-Threading events count for logical
 * processor 0, and thread-independent events have the bits of both. False with ERROR. */
bool encode_place(struct encoding *encoding, struct config *config, char error[512]);

#endif
