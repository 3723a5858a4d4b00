/* The part of effects.h that sees the disassembler. */
#ifndef TRACES_EFFECTS_DECODE_H
#define TRACES_EFFECTS_DECODE_H

#include "effects.h"

#include <capstone/capstone.h>

struct effects effects_of(csh handle, const cs_insn *insn);

/* The string instruction has a rep prefix: it counts, perhaps to zero. */
void effects_repeat(struct effects *effects);

#endif
