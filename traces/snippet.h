/* Opening an assembled snippet with all there is to choose. */
#ifndef TRACES_SNIPPET_H
#define TRACES_SNIPPET_H

#include "source.h"

struct snippet_options {
    const char *text, *name; /* name as the assembler's messages show it, or NULL */
    bool long_mode;
    trace_cpuid_fn *cpuid;
    void *cpuid_context;
    const char *record_to; /* or NULL */
    bool interpret;        /* by the interpreter alone, although a live program might run */
};

/* As trace_open_snippet(). */
struct trace_source *snippet_open(const struct snippet_options *options, char error[512],
                                  int *status);

#endif
