/* Which register bits exist, as pure functions of the part, and the reset of the registers. */
#ifndef P4PMU_REGISTERS_H
#define P4PMU_REGISTERS_H

#include "p4pmu.h"

/* Bits of ESCR[30:0] and CCCR[31:0] that hold what is written. */
uint32_t p4pmu_escr_implemented(const struct p4pmu_config *config, enum p4pmu_escr escr);
uint32_t p4pmu_cccr_implemented(const struct p4pmu_config *config, unsigned counter);

void p4pmu_reset_msrs(struct p4pmu *pmu);

#endif
