/*
 * Instructions of samples: their text, and the data address that follows from recorded registers.
 *
 * The registers of a sample are those before the instruction, so the address of its memory operand
 * is base + index * scale + displacement, as the processor computed it. With two memory operands
 * (movs, cmps) the first that is read counts.
 */
#ifndef OPERAND_H
#define OPERAND_H

#include "samples.h"

struct operands;
/* WIDE: 64-bit programs. NULL when Capstone cannot be opened. */
struct operands *operands_new(bool wide);
void operands_free(struct operands *operands);

/* The address sample S touched; false with *WHY when it cannot be known. */
bool operand_address(struct operands *operands, const struct samples_code *code,
                     const struct sim_sample *s, uint64_t *address, const char **why);
/* "mov eax, dword ptr [eax]"; gives the instruction's length, 0 and "(bad)" when it is none. */
unsigned operand_text(struct operands *operands, const uint8_t *bytes, size_t count, uint64_t ip,
                      char *text, size_t size);

#endif
