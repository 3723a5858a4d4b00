/*
 * Dialects: how other tools write a counter configuration. Private to tools/config and its tests.
 *
 * Reading: a dialect that names registers appends MSR writes itself. A dialect that names events
 * fills in wishes; dialect_place chooses ESCRs and counters by sim/fit.h and appends the writes.
 *
 * Writing: dialect_counts takes the writes apart into what each enabled counter counts; the dialect
 * spells that, and tells in a note what it cannot say.
 */
#ifndef TOOLS_DIALECT_H
#define TOOLS_DIALECT_H

#include "config.h"
#include "fit.h"

#include <stdio.h>

/* ---- words -------------------------------------------------------------------------------------
 */

/* The longest list of sub-events is about 200 letters. */
enum { DIALECT_WORD = 512 };

/* The words of a text, one after the other; what follows # on a line is a comment. A word that is
 * too long ends in "...", which no form takes for anything. */
struct dialect_words {
    const char *at;
    const char *separators; /* besides white space */
    unsigned line;          /* of the word returned last */
    char word[DIALECT_WORD];
};
struct dialect_words dialect_words(const char *text, const char *separators);
bool dialect_next(struct dialect_words *words);

/* "line N: ..." into ERROR; gives false back. */
bool dialect_error(char error[512], unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Remarks on a translation. LOST counts what could not be carried over; DROPPED what would have
 * changed the count, so that the whole event is left out. TO may be NULL. */
struct dialect_notes {
    FILE *to;
    unsigned lost, dropped;
};
void dialect_remark(struct dialect_notes *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void dialect_lose(struct dialect_notes *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Lost, but the count is the same without it (a preset, an interrupt). */
void dialect_shorten(struct dialect_notes *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A line that appears only when nothing was lost by dialect_lose since its beginning. */
struct dialect_line {
    FILE *file;
    char *text;
    size_t size;
    unsigned dropped;
};
bool dialect_line_begin(struct dialect_line *line, const struct dialect_notes *notes);
void dialect_line_end(struct dialect_line *line, FILE *out, const struct dialect_notes *notes);

/* A whole word as a number: base 0 takes 0x, 0 and decimal; 16 takes an optional 0x. */
bool dialect_number(const char *word, int base, uint64_t *value);

/* ---- reading: wishes ---------------------------------------------------------------------------
 */

struct dialect_wish {
    struct sim_request request;
    uint32_t escr_set, cccr_set, cccr_clear; /* bits beyond what a request can say */
    uint64_t preset; /* what to load into the counter, 40 bits; 0: nothing */
    unsigned line;
};

struct dialect_wishes {
    struct dialect_wish wish[SIM_FIT_MAX];
    size_t count;
    struct sim_replay_registers replay;
    uint32_t reserved; /* counters not to use */
};

/* The DisplayModel and stepping of CONFIG as sim/request.h wants it. */
unsigned dialect_signature(const struct config *config);
/* A new wish for EVENT on the part of CONFIG, both privilege levels off; NULL with ERROR when there
 * are too many or the part has no such event. */
struct dialect_wish *dialect_wish(struct dialect_wishes *wishes, const struct config *config,
                                  enum p4pmu_event event, const char *text, unsigned line,
                                  char error[512]);
/* Ask for the replay tagging registers of METRIC; false with ERROR when others are asked for. */
bool dialect_replay(struct dialect_wishes *wishes, const struct sim_metric *metric, unsigned line,
                    char error[512]);
/* Choose for all wishes and append the writes to CONFIG. */
bool dialect_place(struct dialect_wishes *wishes, struct config *config, char error[512]);

/* ---- writing: counts ---------------------------------------------------------------------------
 */

struct dialect_count {
    int counter, escr;               /* the ESCR it listens to */
    uint32_t cccr, value;            /* values of CCCR and ESCR */
    uint64_t preset;                 /* loaded into the counter, or 0 */
    int event;                       /* or P4PMU_NONE */
    const struct sim_metric *metric; /* of which this is the counting half, or NULL */
    bool wakes;                      /* only keeps the tagging ESCR of a metric awake */
};

struct dialect_counts {
    struct dialect_count count[P4PMU_COUNTERS];
    size_t size;
    uint32_t escr[P4PMU_ESCRS]; /* last value written; 0: none */
    bool heard[P4PMU_ESCRS];    /* an enabled counter listens, or a metric uses it upstream */
    uint64_t pebs_enable, pebs_matrix_vert;
    bool pebs_used; /* a metric accounts for the two */
};

/* What CONFIG counts, in the order in which its counters were switched on. */
void dialect_counts(const struct config *config, struct dialect_counts *counts);
/* Forms that have a word for an ESCR only as part of a count: give the ESCRs that tag for a metric,
 * and with ALL every ESCR that is written, a free counter to listen. */
void dialect_give_counters(struct dialect_counts *counts, bool all, const char *name,
                           struct dialect_notes *notes);
/* Say what of COUNTS an event dialect named NAME cannot carry: ESCRs nobody listens to, tagging
 * registers, and of each count whatever is set in its CCCR or ESCR outside the masks given. */
void dialect_leftovers(const struct dialect_counts *counts, const char *name,
                       struct dialect_notes *notes);
bool dialect_sayable(const struct dialect_count *count, const char *name, uint32_t escr_mask,
                     uint32_t cccr_mask, struct dialect_notes *notes);

/* ---- spelling ----------------------------------------------------------------------------------
 */

/* The name DIALECT has for EVENT, in OUT; false when it has none. */
bool dialect_event_name(enum config_dialect dialect, enum p4pmu_event event, char *out,
                        size_t size);
/* The event DIALECT calls NAME, or P4PMU_NONE. */
int dialect_event_by_name(enum config_dialect dialect, const char *name);
/* The name DIALECT has for sub-event BIT of EVENT, in OUT; false when it has none. */
bool dialect_mask_name(enum config_dialect dialect, enum p4pmu_event event, unsigned bit, char *out,
                       size_t size);
/* The mask bit DIALECT calls NAME in EVENT, or -1. */
int dialect_mask_by_name(enum config_dialect dialect, enum p4pmu_event event, const char *name);
/* All mask bits of EVENT that DIALECT has a name for. */
unsigned dialect_all_bits(enum config_dialect dialect, enum p4pmu_event event);
/* ERROR for an event or a sub-event DIALECT does not know, with near matches. */
bool dialect_unknown_event(enum config_dialect dialect, const char *name, unsigned line,
                           char error[512]);
bool dialect_unknown_mask(enum config_dialect dialect, enum p4pmu_event event, const char *name,
                          unsigned line, char error[512]);

/* ---- the dialects ------------------------------------------------------------------------------
 */

/* The parsers append to CONFIG. The printers write lines to OUT and remarks to NOTES. */
#define DIALECT(name)                                                                              \
    bool dialect_parse_##name(const char *text, struct config *config,                             \
                              struct dialect_notes *notes, char error[512]);                       \
    void dialect_print_##name(const struct config *config, FILE *out, struct dialect_notes *notes);
DIALECT(perfex)
DIALECT(libpfm4)
DIALECT(linux)
DIALECT(oprofile)
DIALECT(freebsd)
DIALECT(papi)
DIALECT(p4sim)
#undef DIALECT
/* Command lines of msr-tools. */
bool dialect_parse_wrmsr(const char *text, struct config *config, struct dialect_notes *notes,
                         char error[512]);
void dialect_print_wrmsr(const struct config *config, FILE *out, struct dialect_notes *notes);
/* libpfm4's codes: ESCR, CCCR and Linux event index, as its check_events example prints them. */
void dialect_print_libpfm4_codes(const struct config *config, FILE *out,
                                 struct dialect_notes *notes);

/* Everything by dialect; NOTES may be NULL. config_parse of config.h is the same without notes. */
bool dialect_parse(enum config_dialect dialect, const char *text, struct config *config,
                   struct dialect_notes *notes, char error[512]);
bool dialect_print(enum config_dialect dialect, const struct config *config, FILE *out,
                   struct dialect_notes *notes);
/* The dialect of that name, or -1. */
int dialect_by_name(const char *name);
/* One line each: what it looks like. */
const char *dialect_example(enum config_dialect dialect);

/* Whether WORD (up to a colon or comma) is a name of a common event in Linux perf. */
bool dialect_linux_knows(const char *word);
/* Linux's event index (enum P4_EVENTS of its perf_event_p4.h) of EVENT, or -1. */
int dialect_linux_index(enum p4pmu_event event);

#endif
