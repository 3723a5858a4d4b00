/* p4sim report: samples in, one tally out, several ways to show it. */
#ifndef P4SIM_REPORT_H
#define P4SIM_REPORT_H

#include "command.h"
#include "operand.h"
#include "places.h"
#include "tally.h"

/* What samples are grouped by. K(name, title, by order, what it is) */
#define REPORT_KEYS(K)                                                                             \
    K(FUNCTION, "function", false, "functions, with their object")                                 \
    K(INSTRUCTION, "instruction", false, "instructions, with function and text")                   \
    K(LINE, "line", false, "source lines")                                                         \
    K(OBJECT, "object", false, "programs and libraries")                                           \
    K(PROCESS, "process", true, "processes")                                                       \
    K(THREAD, "thread", true, "threads")                                                           \
    K(EVENT, "event", false, "events")                                                             \
    K(ADDRESS, "address", false, "data addresses")                                                 \
    K(CACHE_LINE, "cache-line", false, "L1 cache lines of the data")                               \
    K(SET, "set", true, "L1 cache sets of the data")                                               \
    K(PAGE, "page", false, "4 KB pages of the data")                                               \
    K(VARIABLE, "variable", false, "variables and other objects of the data")                      \
    K(RANGE, "range", false, "the ranges given by --range")                                        \
    K(SKID, "skid", true, "distance from the instruction at fault, in instructions")               \
    K(TIME, "time", true, "intervals of the run")

enum report_key {
#define K(name, title, by_order, text) REPORT_BY_##name,
    REPORT_KEYS(K)
#undef K
        REPORT_KEY_COUNT
};

enum report_format { REPORT_TABLE, REPORT_CSV, REPORT_JSON };
enum report_sort { REPORT_SORT_DEFAULT, REPORT_SORT_COUNT, REPORT_SORT_ORDER, REPORT_SORT_CHANGE };

struct report_range {
    char name[64];
    uint64_t start, end; /* END is behind the last byte */
};
enum { REPORT_RANGES = 64, REPORT_INTERVALS = 50, REPORT_NAME = 640 };

struct report_options {
    const char *path, *compare, *compare_event, *event;
    enum report_key by;
    bool by_given;
    enum report_format format;
    enum report_sort sort;
    unsigned limit; /* rows; 0: all */
    bool truth;     /* the instruction at fault in place of the recorded one */
    const char *output, *plot, *export;
    struct report_range range[REPORT_RANGES];
    unsigned range_count;
};

/* One column: which samples of which file. */
struct report_column {
    struct samples *samples;
    struct places *places;
    struct operands *operands;
    unsigned event;
    bool owned; /* the three pointers are this column's */
    char title[200];
    uint64_t left_out; /* samples that have no place in this report */
    const char *why;   /* the reason of the first */
    uint64_t last_clock;
};

struct report {
    const struct report_options *options;
    struct report_column column[TALLY_COLUMNS];
    unsigned columns;
    struct tally tally;
};

const char *report_key_title(enum report_key key);
/* Every sample of every column into the tally. False without memory. */
bool report_count(struct report *report);
void report_sort(struct report *report);
/* How far the samples of a column lie from the instruction at fault. */
struct report_skid {
    uint64_t known, on_it;
    int64_t least, median, ninety, most;                              /* instructions */
    uint64_t clocks_least, clocks_median, clocks_ninety, clocks_most; /* overflow to sample */
};
/* False when no sample of the column has a known truth, or without memory. */
bool report_skid_of(const struct report_column *column, struct report_skid *skid);

void report_print(FILE *out, const struct report *report);
bool report_print_json(FILE *out, const struct report *report);
void report_print_csv(FILE *out, const struct report *report);
/* The tally as a picture, PNG or SVG by the file's name, through gnuplot. Status and complaint. */
int report_plot(const struct report *report);

/* The data address of a sample; false with the reason. */
bool report_address(const struct report_column *column, const struct samples_sample *sample,
                    uint64_t *address, const char **why);

#endif
