/* What the tests of libp4pmu share: a PMU on the table, registers written and read without
 * ceremony. */
#ifndef TESTS_PMU_LAB_H
#define TESTS_PMU_LAB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "p4pmu.h"

enum { USR_OS = 0xC, ENABLE = 0x1000, ANY_THREAD = 0x30000 };

static inline struct p4pmu *lab_new(unsigned model, bool hyper_threading)
{
    struct p4pmu *pmu = p4pmu_new(
        &(struct p4pmu_config){.model = model, .hyper_threading = hyper_threading, .stepping = 9});
    assert_non_null(pmu);
    return pmu;
}

static inline uint64_t lab_write(struct p4pmu *pmu, uint32_t msr, uint64_t value)
{
    uint64_t stored = 0;
    assert_int_equal(p4pmu_wrmsr(pmu, 0, msr, value, &stored), P4PMU_OK);
    return stored;
}

static inline uint64_t lab_read(struct p4pmu *pmu, uint32_t msr)
{
    uint64_t value = 0;
    assert_int_equal(p4pmu_rdmsr(pmu, 0, msr, &value), P4PMU_OK);
    return value;
}

static inline uint64_t lab_counter(struct p4pmu *pmu, unsigned counter)
{
    return lab_read(pmu, p4pmu_counter(counter)->msr);
}

/* ESCR value for an event and mask with qualifiers ESCR[3:0]. */
static inline uint32_t lab_escr(enum p4pmu_event event, uint32_t mask, uint32_t qualifiers)
{
    return p4pmu_event(event)->code << 25 | mask << 9 | qualifiers;
}

static inline void lab_set_escr(struct p4pmu *pmu, enum p4pmu_escr escr, uint32_t value)
{
    lab_write(pmu, p4pmu_escr(escr)->msr, value);
}

/* Enable COUNTER on ESCR with further CCCR bits MORE. */
static inline void lab_listen(struct p4pmu *pmu, unsigned counter, enum p4pmu_escr escr,
                              uint32_t more)
{
    lab_write(pmu, p4pmu_counter(counter)->cccr_msr,
              ENABLE | ANY_THREAD | p4pmu_escr(escr)->select << 13 | more);
}

#endif
