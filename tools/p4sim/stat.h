/* p4sim stat: options in, one result out, three ways to print it. */
#ifndef P4SIM_STAT_H
#define P4SIM_STAT_H

#include "command.h"
#include "fit.h"
#include "regions.h"
#include "sim.h"

enum { STAT_EVENTS = 64 };

enum stat_format { STAT_TABLE, STAT_JSON, STAT_CSV };
enum stat_kernel { STAT_KERNEL_WHEN_ASKED, STAT_KERNEL_ON, STAT_KERNEL_OFF };
enum stat_source { STAT_PROGRAM, STAT_TRACE, STAT_SNIPPET };

/* What one logical processor runs. */
struct stat_input {
    enum stat_source source;
    char *const *argv;    /* STAT_PROGRAM */
    const char *path;     /* STAT_TRACE, STAT_SNIPPET from a file */
    const char *assembly; /* STAT_SNIPPET from the command line */
};

struct stat_options {
    const char *model;
    const char *output; /* NULL: standard error for the table, standard output for data */
    enum stat_format format;
    bool registers, statistics, no_progress;
    const char *record;
    uint64_t max_instructions;
    uint64_t from_instruction; /* of a recording */
    const char *surroundings;  /* file, or NULL */
    unsigned passes;           /* most runs over the same instructions */
    enum stat_kernel kernel;   /* WHEN_ASKED: when an event is of CPL 0 alone */
    uint32_t timer_hz;         /* of the kernel */
    struct sim_replay_registers replay;
    struct stat_input input[2];
    unsigned input_count;
    unsigned logical_processors; /* 0: as many as the model has and the inputs can use */
    struct regions regions;
    bool no_regions;       /* those of a recording are left alone */
    bool regions_recorded; /* they are a recording's */
    bool per_process;
    bool only_regions; /* the rest runs natively */
    bool passes_given;
    struct sim_access_rules access;
    bool long_mode; /* STAT_SNIPPET as 64-bit code */
    char events[STAT_EVENTS][200];
    size_t event_count;
};

/* One event of the result. */
struct stat_row {
    struct sim_request request;
    unsigned pass;        /* from 0 */
    struct sim_slot slot; /* counter and ESCR; valid unless !placed */
    bool placed;
    struct sim_slot upstream;
    bool has_upstream;
    bool counted;
    uint64_t count;
    const char *why_not; /* when not counted */
    bool of_regions;     /* counted in the regions alone */
};

struct stat_pass {
    struct sim_plan plan;
    size_t members[SIM_FIT_MAX];
};

/* A region, the rest or a process. */
struct stat_part {
    struct sim_part part;      /* of the first pass */
    size_t index;              /* among the bench's */
    uint64_t own[STAT_EVENTS]; /* by row: counted while it was the innermost region */
    uint64_t all[STAT_EVENTS]; /* while it was open */
    const char *native;        /* the rest: why it has no counts, or NULL */
};

struct stat_result {
    struct sim_kernel_options kernel; /* what ran at CPL 0 */
    struct sim_model model;
    char what[512]; /* the program, recording or snippet as the user named it */
    enum stat_source source[2];
    unsigned source_count;
    struct stat_row rows[STAT_EVENTS];
    size_t row_count;
    struct stat_pass passes[STAT_EVENTS];
    size_t pass_count, passes_run;
    struct stat_part *parts;
    size_t part_count, parts_lost;
    uint64_t stretches;    /* that ran natively, with --only-regions */
    char native_text[160]; /* of the rest, in words; else "" */
    char split[512];       /* why there is more than one pass */
    struct nb_stats stats, lp_stats[2];
    unsigned lps;
    double seconds;
    enum sim_stop stop;
    bool partial;
    char trouble[1100];      /* what ended the run early, or "" */
    struct trace_end end[2]; /* how the programs ended */
    int signal;              /* that interrupted us, or 0 */
    int status;              /* exit status of the command */
};

/* Split the rows into passes; a complaint and its status when they do not fit, 0 when they do. */
int stat_plan(const struct stat_options *options, struct stat_result *result);
/* Run all passes. 0, or a status after a complaint when there is nothing to print. */
int stat_run(const struct stat_options *options, struct stat_result *result);

/* stat_parts.c: divide the run as the options say, read what was counted; false without memory. */
bool stat_divide(const struct stat_options *options, const struct stat_pass *pass,
                 struct sim_bench *bench);
bool stat_read_parts(const struct stat_options *options, struct stat_result *result, size_t pass,
                     struct sim_bench *bench);
/* "region", "rest" or "process". */
const char *stat_part_kind(const struct stat_part *part);
/* Why nothing was counted in it, or NULL. */
const char *stat_part_missing(const struct stat_part *part);

void stat_print_table(FILE *out, const struct stat_options *options,
                      const struct stat_result *result);
bool stat_print_json(FILE *out, const struct stat_options *options,
                     const struct stat_result *result);
void stat_print_csv(FILE *out, const struct stat_options *options,
                    const struct stat_result *result);

/* "live", "recording" or "snippet", for readers of data. */
const char *stat_source_name(enum stat_source source);
/* How program WHICH ended, in words: "exited with status 0". */
void stat_end_text(const struct stat_result *result, unsigned which, char *out, size_t size);

/* stat_inputs.c: what the command line names. GO_ON (-1), or a status after a complaint. */
int stat_take_input(struct stat_options *options, enum stat_source source, const char *path,
                    const char *assembly);
int stat_check_inputs(struct stat_options *options, int argc, char **argv);
void stat_name_inputs(const struct stat_options *options, char *out, size_t size);
/* How many logical processors run; 0 after a complaint. */
unsigned stat_logical_processors(const struct stat_options *options, const struct sim_model *model);

/* A count set in relation to another: value and unit, e.g. 0.52 and "per clock". */
struct stat_derived {
    bool known;
    double value;
    const char *unit;
};
struct stat_derived stat_derive(const struct stat_row *row, const struct nb_stats *stats);

/* The progress line on a terminal; a sim_run_options.progress. The context is a struct
 * stat_progress. */
struct stat_progress {
    unsigned pass, passes;
};
void stat_progress_show(void *context, const struct sim_progress *progress);
void stat_progress_clear(void);

#endif
