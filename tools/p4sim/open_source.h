/* Opening what is to be run: a live program, a recording, a snippet of assembly. */
#ifndef P4SIM_OPEN_SOURCE_H
#define P4SIM_OPEN_SOURCE_H

#include "sim.h"

struct source_choice {
    char *const *argv;                  /* a program with its arguments, or NULL */
    const char *recording;              /* a recorded run, or NULL */
    uint64_t from;                      /* the recording's instruction to begin with */
    const char *snippet;                /* an assembly file, or NULL */
    const char *assembly;               /* a text, or NULL */
    bool long_mode;                     /* the snippet is 64-bit code */
    bool short_turns;                   /* its threads run side by side */
    const char *record_to;              /* also record the program's run here, or NULL */
    const struct trace_region *regions; /* REGION_COUNT that the recording keeps */
    size_t region_count;
};

/* The source, or NULL with ERROR and the exit status that fits. MODEL must outlive it. */
struct trace_source *open_source(const struct source_choice *choice, struct sim_model *model,
                                 char error[512], int *status);
/* What the user named, in one line. */
void source_text(const struct source_choice *choice, char *out, size_t size);

#endif
