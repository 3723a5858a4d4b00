/*
 * Files of samples: what `p4sim record` writes and `p4sim report` and `p4sim annotate` read.
 * docs/sample-format.md describes the form for readers in other languages.
 *
 *   struct samples_writer *w = samples_create(path, &about, error);
 *   samples_put_object(w, &object); samples_put_code(w, ...); samples_put(w, &sample);
 *   samples_finish(w, &end);
 *
 *   struct samples *s = samples_read(path, error);
 *   for (i = 0; i < s->count; i++) use(&s->sample[i]);
 */
#ifndef SAMPLES_H
#define SAMPLES_H

#include "function_names.h"
#include "sampling.h"

#define SAMPLES_EVENTS P4PMU_COUNTERS
#define SAMPLES_CHAIN  64 /* frames of a call chain: model choice, deeper ones are cut */

/* What was sampled: one counter. */
struct samples_event {
    char text[160]; /* as the user asked for it */
    unsigned counter, lp;
    enum sim_sampling_how how;
    uint64_t period;
};

/* The header: how the samples came about. */
struct samples_about {
    char made_by[64];
    char model[32];
    char program[512]; /* program, recording or snippet as the user named it */
    unsigned core_mhz;
    unsigned l1_line_bytes, l1_sets; /* for profiles by cache set */
    bool wide;                       /* 64-bit program */
    uint64_t every, length;          /* windows: LENGTH of EVERY instructions; 0: the whole run */
    size_t event_count;
    struct samples_event event[SAMPLES_EVENTS];
};

/* How a walk over the frame pointers came to its end. */
enum samples_chain {
    SAMPLES_NO_CHAIN,
    SAMPLES_CHAIN_WHOLE,  /* the outermost frame was reached: its frame pointer is 0 */
    SAMPLES_CHAIN_BROKEN, /* a frame pointer led nowhere: code without frame pointers */
    SAMPLES_CHAIN_LONG    /* more than SAMPLES_CHAIN frames */
};

struct samples_sample {
    struct sim_sample about;
    unsigned event;  /* index into samples_about.event; event_count for branch records */
    bool skid_known; /* about.skid_instructions is */
    enum samples_chain chain;
    unsigned frames;
    const uint64_t *frame; /* return addresses, the innermost caller first */
};

/* The bytes of an instruction that a sample or an exact count names. */
struct samples_code {
    uint16_t process;
    uint8_t length;
    uint8_t bytes[TRACE_INSTRUCTION_BYTES];
    uint64_t ip;
};

/* How often an instruction really made an event count. */
struct samples_exact {
    unsigned event;
    uint16_t process;
    uint64_t ip;
    uint64_t count;
};

/* What sampling did to the program, in simulated clocks and events. T(name) */
#define SAMPLES_TOTALS(T)                                                                          \
    T(samples)                                                                                     \
    T(interrupts)       /* runs of the service routine */                                          \
    T(interrupt_clocks) /* from the interrupts' acceptance to the routine's IRET */                \
    T(request_clocks)   /* from the requests to their acceptance */                                \
    T(pebs_records)                                                                                \
    T(assist_clocks)                                                                               \
    T(branch_records)                                                                              \
    T(lost_records) /* DS buffer full */                                                           \
    T(lost_periods) /* whole periods that went by before the routine read the counter */           \
    T(faults)       /* a DS page was missing: recording stopped */
struct samples_totals {
#define T(name) uint64_t name;
    SAMPLES_TOTALS(T)
#undef T
};

/* The end of the run. */
struct samples_end {
    uint64_t clocks, instructions; /* simulated, the kernel's among them */
    uint64_t executed, skipped;    /* windows: instructions of the program, those between them */
    bool counted[SAMPLES_EVENTS];  /* count[] is known */
    uint64_t count[SAMPLES_EVENTS];
    bool exact[SAMPLES_EVENTS]; /* exact counts were kept for the event */
    struct samples_totals totals;
    char how[200]; /* how the run ended, in words */
};

/* A file, read. */
struct samples {
    struct samples_about about;
    struct samples_sample *sample;
    size_t count;
    struct trace_object *object;
    size_t object_count;
    struct name_list names;    /* of functions, as a recording had them */
    struct samples_code *code; /* sorted by process and ip */
    size_t code_count;
    struct samples_exact *exact; /* sorted by event, process, ip */
    size_t exact_count;
    bool complete;     /* END is known */
    char missing[256]; /* why not, for a note: "the file ends at offset 4711" */
    struct samples_end end;
    uint64_t **frames; /* owned blocks of frames */
    size_t frame_blocks;
};

/* ---- writing. Errors stick: the first is kept in words, later calls do nothing. */
struct samples_writer;
struct samples_writer *samples_create(const char *path, const struct samples_about *about,
                                      char error[512]);
void samples_put_object(struct samples_writer *writer, const struct trace_object *object);
/* By file and place, as a recording has them. */
void samples_put_function(struct samples_writer *writer, const struct trace_function *function);
void samples_put_code(struct samples_writer *writer, const struct samples_code *code);
void samples_put_exact(struct samples_writer *writer, const struct samples_exact *exact);
void samples_put(struct samples_writer *writer, const struct samples_sample *sample);
/* Completes the file with END and closes it. END NULL: as it is, without an end. False with ERROR
 * when anything was lost. */
bool samples_finish(struct samples_writer *writer, const struct samples_end *end, char error[512]);
const char *samples_writer_error(const struct samples_writer *writer);

/* ---- reading. A file cut short is read up to where it ends; damage is an error. */
struct samples *samples_read(const char *path, char error[512]);
void samples_free(struct samples *samples);
/* The bytes at IP of PROCESS, or NULL. */
const struct samples_code *samples_code_at(const struct samples *samples, uint16_t process,
                                           uint64_t ip);
/* The exact count, 0 when the instruction never made the event count. */
uint64_t samples_exact_at(const struct samples *samples, unsigned event, uint16_t process,
                          uint64_t ip);
/* What is mapped at ADDRESS of PROCESS, the latest entry; NULL when nothing is known of it. */
const struct trace_object *samples_object_at(const struct samples *samples, uint16_t process,
                                             uint64_t address);

#endif
