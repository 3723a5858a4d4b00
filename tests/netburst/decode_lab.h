/* Shared by the decoder's tests: hex to bytes, decode, look at uops. */
#ifndef DECODE_LAB_H
#define DECODE_LAB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "decode.h"

enum { EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI };

static inline size_t lab_bytes(const char *hex, uint8_t bytes[16])
{
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n && i < 16; i++) {
        unsigned value = 0;
        (void)sscanf(hex + 2 * i, "%2x", &value);
        bytes[i] = (uint8_t)value;
    }
    return n;
}

static inline bool lab_reads(const struct nb_uop *uop, unsigned reg)
{
    for (unsigned i = 0; uop && i < NB_UOP_SOURCES; i++)
        if (uop->source[i] == reg)
            return true;
    return false;
}

static inline unsigned lab_uops(const struct nb_code *code)
{
    return code->uop_count + (unsigned)code->body_count;
}

#endif
