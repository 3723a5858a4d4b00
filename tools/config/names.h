/* Registers by name and address, in both directions. */
#ifndef TOOLS_CONFIG_NAMES_H
#define TOOLS_CONFIG_NAMES_H

#include "config.h"

enum names_kind { NAMES_ESCR, NAMES_CCCR, NAMES_COUNTER, NAMES_OTHER, NAMES_NONE };

/* What MSR is on any model; INDEX (may be NULL): the ESCR, the counter, or the row of p4pmu_msr. */
enum names_kind names_kind(uint32_t msr, unsigned *index);
/* "MSR_CRU_ESCR0", or "MSR 0x123" when there is no such register. Gives OUT back. */
const char *names_register(uint32_t msr, char out[48]);
/* A name (MSR_ or IA32_ may be left out, case ignored) or an address (0x3B8, 3B8H, 952). False with
 * ERROR and near matches when it is neither. */
bool names_parse_register(const char *word, uint32_t *msr, char error[512]);
/* A value: 0x..., ...H, decimal, or -N for the 40-bit two's complement of N. */
bool names_parse_value(const char *word, uint64_t *value);
/* The name fields of a register have in p4pmu_field: "ESCR", "CCCR", "PEBS_ENABLE", ...; NULL: none
 * are known. */
const char *names_fields(uint32_t msr);
/* "ESCR_SELECT" for the bits SHIFT, LENGTH of MSR, or NULL. */
const struct p4pmu_field_info *names_field(uint32_t msr, unsigned shift);

#endif
