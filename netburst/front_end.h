/*
 * Front end: predictors, trace cache, decoded code, and the two modes of fetching. Folder-private,
 * part of machine.h.
 */
#ifndef NETBURST_FRONT_END_H
#define NETBURST_FRONT_END_H

#include "in_flight.h"

#define NB_TRACE_ITEMS 12u

struct nb_machine;
struct lp;

struct trace_item {
    const struct nb_code *code;
    uint8_t from, to; /* its trace-cache uops [from, to) */
};
struct trace_line {
    uint64_t ip; /* head; NB_NEVER: empty */
    uint64_t used;
    uint16_t process;
    uint8_t lp;
    uint8_t from; /* first uop of the head instruction */
    uint8_t count, entries;
    struct trace_item item[NB_TRACE_ITEMS];
};

struct btb_entry {
    uint64_t ip;
    uint64_t target;
    uint64_t used;
    uint8_t bias;
};
struct btb {
    struct btb_entry *entry;
    uint32_t sets, ways;
    uint64_t stamp;
};

struct target_entry {
    uint64_t ip, target; /* ip with the logical processor's mark */
};

struct predictor {
    struct btb front_end, trace;
    uint8_t *pattern;            /* two-bit counters: agree, or taken */
    struct target_entry *target; /* of indirect branches, or NULL */
};

/* What the predictor keeps for each logical processor. */
struct past {
    uint32_t history; /* as the front end sees it: predictions shifted in */
    uint64_t return_address[64];
    uint8_t return_top;
};

enum fe_mode { FE_DELIVER, FE_BUILD };
enum fe_wait {
    FE_RUN,
    FE_DRAIN,        /* until all has retired: the stream goes on elsewhere */
    FE_SYNC,         /* until all has retired: the input wants to know */
    FE_IDLE,         /* the input has nothing to run; it is asked again at busy_until */
    FE_UNKNOWN_CODE, /* a wrong path ended */
    FE_END
};

struct front_end {
    enum fe_mode mode;
    enum fe_wait wait;
    bool wrong_path;
    bool mode_64; /* the instructions of this path are of 64-bit mode */
    uint16_t process;
    uint64_t ip; /* next instruction to fetch */
    nb_clock busy_until;
    /* the instruction being delivered */
    bool has_dyn;
    uint32_t dyn;
    uint64_t uop;   /* next uop of it */
    uint64_t total; /* uops it has in all, repetitions included */
    bool in_rom;
    /* the line being delivered */
    const struct trace_line *line;
    uint8_t item;
    nb_clock line_next; /* earliest start of the next line */
    uint8_t lines;      /* delivered since the last pause */
    /* the line being built */
    struct trace_line build;
    uint8_t build_branches;
    bool lookup_due;       /* a trace head: look the trace cache up first */
    uint64_t code_line[2]; /* code lines in the streaming buffer, the newer first */
    uint64_t code_page;
    uint64_t fetch_bytes; /* bytes of code fetched and not yet decoded */
};

struct trace_cache {
    struct trace_line *line;
    uint64_t stamp;
};

struct code_chunk {
    struct code_chunk *next;
    size_t used;
    struct nb_code code[1024];
};

struct part_chunk {
    struct part_chunk *next;
    size_t used;
    struct nb_uop uop[512];
};

struct code_map {
    struct part_chunk *parts;  /* owns the address parts of fused stores */
    struct code_chunk *chunks; /* owns every decoded instruction */
    struct nb_code **by_number;
    size_t numbers;
    struct nb_code **slot; /* hash by process and ip */
    uint16_t *process;
    size_t capacity, count;
};

/* codes.c */
bool codes_init(struct lp *lp);
void codes_free(struct lp *lp);
const struct nb_code *codes_executed(struct nb_machine *m, struct lp *lp,
                                     const struct nb_instruction *in);
const struct nb_code *codes_at(struct nb_machine *m, struct lp *lp, uint16_t process, uint64_t ip);

/* predict.c */
bool predict_init(struct nb_machine *m);
void predict_free(struct nb_machine *m);
uint64_t predict_next(struct nb_machine *m, struct lp *lp, const struct nb_code *code, bool *known);
void predict_follow(const struct nb_machine *m, struct lp *lp, const struct nb_code *code,
                    bool taken);
void predict_retire(struct nb_machine *m, struct lp *lp, const struct dyn *d);

/* trace_cache.c */
bool tc_init(struct nb_machine *m);
void tc_free(struct nb_machine *m);
const struct trace_line *tc_lookup(struct nb_machine *m, struct lp *lp, uint16_t process,
                                   uint64_t ip, uint8_t from);
void tc_insert(struct nb_machine *m, struct lp *lp, const struct trace_line *line);
void tc_flush(struct nb_machine *m, unsigned who);

/* front_end.c: both modes, and instructions; deliver.c, build.c: one mode each */
void fe_reset(struct lp *lp);
nb_clock fe_cycle(struct nb_machine *m);
void fe_restart(struct nb_machine *m, struct lp *lp, uint64_t ip, uint16_t process);
void fe_mode(struct nb_machine *m, struct lp *lp, enum fe_mode mode);
enum fetch_result { FETCHED, FETCH_WAIT };
enum fetch_result fe_fetch(struct nb_machine *m, struct lp *lp, const struct nb_code *expected);
void fe_finish(struct nb_machine *m, struct lp *lp);
uint32_t fe_room(const struct nb_machine *m, const struct lp *lp);
uint32_t fe_push(struct nb_machine *m, struct lp *lp, uint32_t count, unsigned source_bit,
                 uint32_t more_clocks);
nb_clock fe_rom_cycle(struct nb_machine *m, struct lp *lp);
void fe_enter_rom(struct nb_machine *m, struct lp *lp);
nb_clock deliver_cycle(struct nb_machine *m, struct lp *lp);
void build_enter(struct nb_machine *m, struct lp *lp);
nb_clock build_cycle(struct nb_machine *m, struct lp *lp);

#endif
