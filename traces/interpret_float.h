/*
 * SSE and SSE2 floating-point arithmetic. The rules (rounding, denormals, sticky exception bits of
 * MXCSR) are those of the host's own instruction, executed on the program's operands under the
 * program's MXCSR; on hosts without SSE2 nothing is found.
 *
 * Not here: the approximations rcp and rsqrt (they differ from processor to processor) and
 * conversions between MMX and XMM registers.
 */
#ifndef TRACES_INTERPRET_FLOAT_H
#define TRACES_INTERPRET_FLOAT_H

#include "interpret.h"

/* All exceptions must be masked in *mxcsr. NULL: none with this opcode. */
interpret_float_fn *interpret_float(enum interpret_prefix prefix, uint8_t opcode);

/* cmpps, cmppd, cmpss, cmpsd (0F C2) with this predicate. */
interpret_float_fn *interpret_float_predicate(enum interpret_prefix prefix, unsigned predicate);

/* cvtsi2ss, cvtsi2sd (0F 2A) of an integer of 64 bits, the source's first lane. */
interpret_float_fn *interpret_float_from_quad(enum interpret_prefix prefix);

/* ucomiss, ucomisd (0F 2E), comiss, comisd (0F 2F): ZF, PF and CF. */
uint32_t interpret_float_compare(enum interpret_prefix prefix, uint8_t opcode,
                                 const union interpret_xmm *a, const union interpret_xmm *b,
                                 uint32_t *mxcsr);

/* cvt(t)ss2si, cvt(t)sd2si (2D, 2C) into an integer of 4 or 8 bytes. */
uint64_t interpret_float_to_integer(enum interpret_prefix prefix, uint8_t opcode, unsigned bytes,
                                    const union interpret_xmm *source, uint32_t *mxcsr);

#endif
