/* p4sim record: options in, a file of samples out. */
#ifndef P4SIM_RECORD_H
#define P4SIM_RECORD_H

#include "command.h"
#include "fit.h"
#include "open_source.h"
#include "exact.h"
#include "samples.h"

struct record_options {
    const char *model, *output;
    struct source_choice source;
    char events[SAMPLES_EVENTS][160];
    uint64_t period[SAMPLES_EVENTS];
    unsigned event_count, periods;
    bool precise, registers, call_chain, last_branches, branches, no_exact, no_progress, quiet;
    bool kernel, no_user, no_kernel; /* the latter: branch records */
    uint32_t buffer, threshold;
    uint64_t max_samples, max_instructions;
    uint64_t every, length; /* windows; 0: the whole run */
};

struct record_run {
    const struct record_options *options;
    struct sim_model model;
    struct sim_request request[SAMPLES_EVENTS];
    struct sim_plan plan;
    struct samples_about about;
    struct samples_end end;
    struct trace_source *source;
    struct sim_bench *bench;
    struct sim_exact *exact;
    struct samples_writer *writer;
    size_t objects; /* of the source, written so far */
    struct record_codes *codes;
    int status;
};

/* record_plan.c: the requests, on counters that can do it. A complaint and its status, or 0. */
int record_plan(struct record_run *run);
/* record_run.c: the run, from the first sample to the end of the file. Likewise. */
int record_go(struct record_run *run);
/* record_codes.c: each instruction's bytes are written once. */
struct record_codes *record_codes_new(void);
void record_codes_free(struct record_codes *codes);
void record_code(struct record_run *run, uint16_t process, uint64_t ip);
/* record_chain.c: the callers of the instruction where the registers were S's. FRAME has room for
 * SAMPLES_CHAIN; gives how many. */
unsigned record_chain(struct record_run *run, const struct sim_sample *s,
                      uint64_t frame[SAMPLES_CHAIN], enum samples_chain *how);

#endif
