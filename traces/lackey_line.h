/*
 * A line of valgrind --tool=lackey --trace-mem=yes: "I  ADDRESS,SIZE" for an instruction, then
 * " L ADDRESS,SIZE" for what it reads, " S " for what it writes and " M " for what it reads and
 * writes again. Addresses are hexadecimal. Valgrind's own messages begin with "==" or "--".
 */
#ifndef TRACES_LACKEY_LINE_H
#define TRACES_LACKEY_LINE_H

#include <stdint.h>

struct lackey_line {
    enum lackey_kind {
        LACKEY_INSTRUCTION,
        LACKEY_LOAD,
        LACKEY_STORE,
        LACKEY_MODIFY,
        LACKEY_MESSAGE,
        LACKEY_MALFORMED,
    } kind;
    uint32_t size;
    uint64_t address;
};

struct lackey_line lackey_line(const char *text);

#endif
