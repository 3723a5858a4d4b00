/* The long text of an item, for `list --long` and `explain`; and as data. */
#ifndef P4SIM_DESCRIBE_H
#define P4SIM_DESCRIBE_H

#include "items.h"

#include <jansson.h>

void describe(FILE *out, const struct item *item);
json_t *describe_json(const struct item *item);
/* TEXT in lines of at most 88 letters, each after INDENT blanks. */
void describe_wrap(FILE *out, const char *text, unsigned indent);

#endif
