/* Two recorded programs side by side on the logical processors of northwood-ht. */
#ifndef EVENTS_PAIRS_H
#define EVENTS_PAIRS_H

#include "judge.h"

#include <stdbool.h>
#include <stdint.h>

/* What EVENT counts in the whole run of the recordings of FIRST and SECOND, snippets of SUITE, in
 * FOLDER. False with ERROR. */
bool pair_count(const struct suite *suite, const char *folder, const char *first,
                const char *second, const char *event, uint64_t *count, char error[512]);

#endif
