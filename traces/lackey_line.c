/* See lackey_line.h. */
#include "lackey_line.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    INSTRUCTION_BYTES_MAX = 15, /* manual volume 3, on instruction length */
    ACCESS_BYTES_MAX = 4096,    /* more than any instruction does at once */
};

static enum lackey_kind kind_of(const char *text)
{
    static const char starts[][4] = {
        [LACKEY_INSTRUCTION] = "I  ",
        [LACKEY_LOAD] = " L ",
        [LACKEY_STORE] = " S ",
        [LACKEY_MODIFY] = " M ",
    };

    if (!strncmp(text, "==", 2) || !strncmp(text, "--", 2))
        return LACKEY_MESSAGE;
    for (unsigned i = 0; i < LACKEY_MESSAGE; i++)
        if (!strncmp(text, starts[i], 3))
            return (enum lackey_kind)i;
    return LACKEY_MALFORMED;
}

/* A number that fills the text up to END. False: it does not. */
static bool number(const char *text, int base, char end, const char **behind, uint64_t *value)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    size_t count = strspn(text, digits);
    char *stop;

    errno = 0;
    *value = strtoull(text, &stop, base);
    *behind = stop + 1;
    return count && !errno && stop == text + count && *stop == end;
}

struct lackey_line lackey_line(const char *text)
{
    struct lackey_line line = {.kind = kind_of(text)};
    uint64_t most, size;
    const char *rest;

    if (line.kind >= LACKEY_MESSAGE)
        return line;
    most = line.kind == LACKEY_INSTRUCTION ? INSTRUCTION_BYTES_MAX : ACCESS_BYTES_MAX;
    if (number(text + 3, 16, ',', &rest, &line.address) &&
        (number(rest, 10, '\n', &rest, &size) || number(rest, 10, 0, &rest, &size)) && size &&
        size <= most)
        line.size = (uint32_t)size;
    else
        line.kind = LACKEY_MALFORMED;
    return line;
}
