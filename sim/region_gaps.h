/*
 * Only regions are simulated: a live program runs at the processor's own speed up to the next one.
 *
 * What is delivered from here is what lies in a region, and the one instruction behind it, in which
 * the region's end takes effect: it belongs to the rest, of which nothing else is counted. The
 * machine's caches and predictors stay as the regions leave them.
 *
 * The program is interpreted, and not simulated, until each function and marker that was asked for
 * has been found in a file it has mapped, and while one thread is in a region and another is not.
 * What is mapped while it runs natively is not looked into.
 */
#ifndef SIM_REGION_GAPS_H
#define SIM_REGION_GAPS_H

#include "region_code.h"
#include "region_threads.h"

struct region_gaps {
    uint64_t stretches; /* that ran natively */
    bool may_leave;     /* behind the instruction delivered last */
    bool arrived;       /* the next instruction is the first behind a stretch */
};

/* Before the source is asked for the next instruction: TRACE_OK to do that now, TRACE_ERROR when
 * the source or memory (then source->error says so) failed. */
enum trace_result region_gaps_cross(struct region_gaps *gaps, struct trace_source *source,
                                    struct region_codes *codes, struct region_threads *threads);
/* Behind INSTRUCTION, which was followed and lies in no region: may the program run natively now?
 */
void region_gaps_judge(struct region_gaps *gaps, const struct trace_instruction *instruction,
                       struct region_codes *codes, const struct region_threads *threads);

#endif
