/*
 * The threads of one source spread over two logical processors: the source gives them as one stream
 * in which they take turns, here each logical processor has its own.
 */
#ifndef SIM_SPREAD_H
#define SIM_SPREAD_H

#include "source.h"

struct sim_spread;

enum sim_spread_result {
    SIM_SPREAD_OK,
    SIM_SPREAD_SYNC, /* let all that LP was given retire and ask again */
    SIM_SPREAD_IDLE, /* no thread of LP's can run now: ask again later */
    SIM_SPREAD_END,
    SIM_SPREAD_ERROR /* see the source's error */
};

/* NULL when memory is short. SOURCE must outlive it. */
struct sim_spread *sim_spread_new(struct trace_source *source);
void sim_spread_free(struct sim_spread *spread);
/* The logical processor on which THREAD runs. */
unsigned sim_spread_lp(uint16_t thread);
/* The next instruction of the threads of LP. */
enum sim_spread_result sim_spread_next(struct sim_spread *spread, unsigned lp,
                                       struct trace_instruction *out);
/* The bytes of static instruction CODE as they were when it first came from the source, which may
 * be ahead of the logical processors by now; 0 when not known. */
size_t sim_spread_code(const struct sim_spread *spread, uint32_t code,
                       uint8_t bytes[TRACE_INSTRUCTION_BYTES]);
/* Whether the instruction LP was given last is the last that the source gave: only then does the
 * source know the state behind it. */
bool sim_spread_latest(const struct sim_spread *spread, unsigned lp);

#endif
