/* Between regions a live program runs natively; see region_gaps.h. */
#include "region_gaps.h"

#include <stdio.h>

static bool is_entry(struct region_codes *codes, uint64_t address)
{
    size_t count;
    const uint64_t *entry = region_codes_entries(codes, &count);

    for (size_t i = 0; i < count; i++)
        if (entry[i] == address)
            return true;
    return false;
}

/* At the next instruction, which would not be stopped at, a region may begin; so may one of another
 * thread, where that comes next. */
void region_gaps_judge(struct region_gaps *gaps, const struct trace_instruction *instruction,
                       struct region_codes *codes, const struct region_threads *threads)
{
    gaps->may_leave = !(instruction->flags & TRACE_INTERRUPTED) &&
                      region_threads_all_outside(threads) && region_codes_all_found(codes) &&
                      !is_entry(codes, instruction->next_ip);
}

/* The stack pointer at a function's first instruction is where its return address stands: asked for
 * when that instruction has been delivered, but kept from here on. */
static void keep_registers(struct trace_source *source)
{
    struct trace_registers unused;

    (void)trace_source_registers_before(source, &unused);
}

enum trace_result region_gaps_cross(struct region_gaps *gaps, struct trace_source *source,
                                    struct region_codes *codes, struct region_threads *threads)
{
    enum trace_result result;
    size_t count;

    if (!gaps->may_leave)
        return TRACE_OK;
    gaps->may_leave = false;
    const uint64_t *entry = region_codes_entries(codes, &count);
    if (!entry) {
        snprintf(source->error, sizeof source->error, "out of memory");
        source->error_status = 4;
        return TRACE_ERROR;
    }
    keep_registers(source);
    result = trace_source_run_natively(source, entry, count);
    if (result == TRACE_ERROR)
        return result;
    gaps->stretches++;
    gaps->arrived = true;
    region_threads_forget(threads);
    return TRACE_OK; /* behind the end the source says so again */
}
