/*
 * Stand-ins: instructions for places of a run where only length and accesses of what was executed
 * are known. A stand-in is a plain IA-32 instruction that does the same kind of accesses and is
 * lengthened with prefixes that change nothing.
 */
#ifndef TRACES_STAND_IN_H
#define TRACES_STAND_IN_H

#include "source.h"

/* LENGTH (1 to 15) bytes for an instruction that reads or writes memory, or both, and leads
 * elsewhere (JUMPS) or on. False where no instruction of this length does that: then they do
 * nothing or one of both. */
bool stand_in(unsigned length, bool reads, bool writes, bool jumps,
              uint8_t bytes[TRACE_INSTRUCTION_BYTES]);

#endif
