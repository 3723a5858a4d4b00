/* Plain lists of MSR writes; what config_parse does for CONFIG_MSR_LIST. */
#ifndef TOOLS_CONFIG_DIALECT_MSR_H
#define TOOLS_CONFIG_DIALECT_MSR_H

#include "config.h"

/* "REGISTER VALUE" or "REGISTER = VALUE" per line; # and // begin comments. Writes are appended;
 * false with ERROR (line, what, what was expected). */
bool config_parse_msr_list(const char *text, struct config *config, char error[512]);
/* The writes of CONFIG in that form, into OUT of SIZE bytes. */
void config_print_msr_list(const struct config *config, char *out, size_t size);

#endif
