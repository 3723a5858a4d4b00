/*
 * Call chains: at the interrupt, the chain of frame pointers is walked as a profiler's service
 * routine would.
 *
 * What is not known: code without frame pointers breaks the chain (it ends there and says so), and
 * in the first and last instructions of a function its caller is left out. The stack's memory is
 * that of the program a few instructions later, when what was in the pipeline had been executed
 * already: a frame that was given up and used again in between is read wrongly.
 */
#include "record.h"

enum { EBP = 8, ESP = 9 }; /* in a PEBS record */

/* One frame: the caller's frame pointer and the return address. */
static bool read_frame(struct record_run *run, uint16_t process, uint64_t pointer, uint64_t *next,
                       uint64_t *back)
{
    unsigned bytes = run->about.wide ? 8 : 4;
    uint8_t words[16];
    if (trace_source_memory_at(run->source, process, pointer, words, 2 * (size_t)bytes) !=
        2 * bytes)
        return false;
    *next = *back = 0;
    for (unsigned i = bytes; i-- > 0;) {
        *next = *next << 8 | words[i];
        *back = *back << 8 | words[bytes + i];
    }
    return true;
}

/* Does an instruction stand there, as far as the source knows code? */
static bool is_code(struct record_run *run, uint16_t process, uint64_t address)
{
    uint8_t bytes[TRACE_INSTRUCTION_BYTES];
    return address && trace_source_code_at(run->source, process, address, bytes) != 0;
}

unsigned record_chain(struct record_run *run, const struct sim_sample *s,
                      uint64_t frame[SAMPLES_CHAIN], enum samples_chain *how)
{
    uint64_t pointer = s->registers.value[EBP], low = s->registers.value[ESP];
    unsigned count = 0;
    *how = SAMPLES_NO_CHAIN;
    if (!s->registers_known)
        return 0;
    *how = SAMPLES_CHAIN_BROKEN;
    while (pointer >= low && count < SAMPLES_CHAIN) {
        uint64_t next, back;
        if (!read_frame(run, s->process, pointer, &next, &back) || !is_code(run, s->process, back))
            return count;
        frame[count++] = back;
        if (next == 0) {
            *how = SAMPLES_CHAIN_WHOLE;
            return count;
        }
        if (next <= pointer)
            return count;
        low = pointer = next;
    }
    if (count == SAMPLES_CHAIN)
        *how = SAMPLES_CHAIN_LONG;
    else if (pointer == 0)
        *how = SAMPLES_CHAIN_WHOLE; /* the outermost function itself */
    return count;
}
