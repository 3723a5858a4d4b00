/*
 * Static facts about a program's instructions, for following regions: where one begins or ends,
 * what calls and returns. Looked at once for each static instruction.
 */
#ifndef SIM_REGION_CODE_H
#define SIM_REGION_CODE_H

#include "parts.h"

enum region_code_kind {
    CODE_PLAIN,
    CODE_BRANCH, /* another one */
    CODE_CALL,
    CODE_RETURN,
    CODE_BEGIN, /* a marker: its region begins behind it */
    CODE_END,   /* a marker: its region ends before it */
};

struct region_code {
    uint64_t enters;    /* regions that begin before it: functions, addresses; a bit each */
    uint64_t functions; /* those of them that are functions */
    uint64_t leaves;    /* regions that end before it: addresses */
    uint8_t kind;       /* enum region_code_kind */
    int8_t marker;      /* region of a marker, or -1 */
};

struct region_codes;
/* PART is called for a marker's name and gives its region, or -1. */
struct region_codes *region_codes_new(const struct sim_parts_options *options,
                                      struct trace_source *source,
                                      int (*region_of_marker)(void *context, const char *name),
                                      void *context);
void region_codes_free(struct region_codes *codes);
/* NULL without memory. */
const struct region_code *region_codes_at(struct region_codes *codes,
                                          const struct trace_instruction *instruction);
/* Whether some file of the program has the function of region REGION of the options. */
bool region_codes_found(const struct region_codes *codes, size_t region);
/* Where regions begin, as far as known: functions, addresses, markers, each address once. NULL
 * without memory. */
const uint64_t *region_codes_entries(struct region_codes *codes, size_t *count);
/* Each function and marker that was asked for has been found in a file of the program (one for all
 * markers). Looks through the files the program has mapped meanwhile. */
bool region_codes_all_found(struct region_codes *codes);

#endif
