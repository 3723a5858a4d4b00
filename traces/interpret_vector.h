/*
 * Pure functions of XMM registers: what the SSE and SSE2 integer, logical and shuffling
 * instructions compute. Found by mandatory prefix and opcode.
 */
#ifndef TRACES_INTERPRET_VECTOR_H
#define TRACES_INTERPRET_VECTOR_H

#include "interpret.h"

/* Destination and source of 16 bytes, perhaps an immediate byte; NULL: none with this opcode. */
interpret_xmm_fn *interpret_vector(enum interpret_prefix prefix, uint8_t opcode);

/* Shifts by an immediate: group 12 to 14 (opcodes 71 to 73), by digit. The count is the immediate;
 * the source is not used. */
interpret_xmm_fn *interpret_vector_shift(uint8_t opcode, unsigned digit);

#endif
