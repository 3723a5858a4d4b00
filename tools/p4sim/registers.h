/* Registers on paper: field by field, and the path from an event to its counter. */
#ifndef P4SIM_REGISTERS_H
#define P4SIM_REGISTERS_H

#include "config.h"

#include <stdio.h>

/* The fields of MSR that VALUE sets, one line each, with what they select. */
void registers_fields(FILE *out, const struct config *config, uint32_t msr, uint64_t value);
/* The way from the event to COUNTER, tags included, one station per line. */
void registers_path(FILE *out, const struct config *config, const struct config_state *state,
                    unsigned counter);

#endif
