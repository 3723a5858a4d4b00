/*
 * What a program's accesses to the clock and the monitoring hardware do, and what is refused.
 */
#include "cmocka_all.h"
#include "registers.h"

#include <string.h>

enum { MSR_CRU_ESCR0 = 0x3b8, MSR_IQ_COUNTER0 = 0x30c, IQ_COUNTER0 = 12, NO_SUCH_MSR = 0x12345 };

static struct sim_registers make(struct p4pmu **pmu, struct sim_access_rules rules)
{
    *pmu = p4pmu_new(&(struct p4pmu_config){.model = 2});
    assert_non_null(*pmu);
    p4pmu_privilege(*pmu, 0, 3, false);
    return (struct sim_registers){.pmu = *pmu, .rules = rules};
}

static bool access(struct sim_registers *r, enum trace_access_kind what, uint32_t index,
                   uint64_t *value)
{
    struct trace_register_access a = {.index = index, .value = *value};
    bool good;

    a.what = what;
    a.ask = true;
    good = sim_registers_access(r, &a);
    a.ask = false;
    assert_int_equal(sim_registers_access(r, &a),
                     good); /* asking tells the same and changes nothing */
    *value = a.value;
    return good;
}

static void the_laboratory_grants_everything_the_part_has(void **state)
{
    struct p4pmu *pmu;
    struct sim_registers r = make(&pmu, (struct sim_access_rules){0});
    uint64_t value = 0x4000204;

    (void)state;
    assert_true(access(&r, TRACE_WRMSR, MSR_CRU_ESCR0, &value));
    value = 0;
    assert_true(access(&r, TRACE_RDMSR, MSR_CRU_ESCR0, &value));
    assert_int_equal(value, 0x4000204);
    value = 77;
    assert_true(access(&r, TRACE_WRMSR, MSR_IQ_COUNTER0, &value));
    value = 0;
    assert_true(access(&r, TRACE_RDPMC, IQ_COUNTER0, &value));
    assert_int_equal(value, 77);
    p4pmu_clocks(pmu, 1234);
    assert_true(access(&r, TRACE_RDTSC, 0, &value));
    assert_int_equal(value, 1234);
    assert_int_equal(r.accesses.count[TRACE_WRMSR], 2);
    assert_int_equal(p4pmu_cpl(pmu, 0, NULL), 3);
    p4pmu_free(pmu);
}

static void what_the_part_does_not_have_is_refused_with_a_reason(void **state)
{
    struct p4pmu *pmu;
    struct sim_registers r = make(&pmu, (struct sim_access_rules){0});
    uint64_t value = UINT64_MAX;

    (void)state;
    assert_false(access(&r, TRACE_RDMSR, NO_SUCH_MSR, &value));
    assert_non_null(strstr(r.accesses.first_fault, "RDMSR of MSR 0x12345"));
    assert_false(access(&r, TRACE_RDPMC, 18, &value));
    value = UINT64_MAX;
    assert_int_equal(p4pmu_wrmsr_fault(pmu, 0, MSR_CRU_ESCR0, value), P4PMU_GP_PRIVILEGE);
    assert_int_equal(r.accesses.count[TRACE_RDMSR], 0);
    p4pmu_free(pmu);
}

static void strict_is_a_user_program(void **state)
{
    struct p4pmu *pmu;
    struct sim_registers r = make(&pmu, (struct sim_access_rules){.strict = true});
    uint64_t value = 0;
    struct trace_register_access driver = {.by_driver = true, .index = MSR_CRU_ESCR0};

    (void)state;
    assert_false(access(&r, TRACE_RDMSR, MSR_CRU_ESCR0, &value));
    assert_false(access(&r, TRACE_WRMSR, MSR_CRU_ESCR0, &value));
    assert_false(access(&r, TRACE_RDPMC, IQ_COUNTER0, &value));
    assert_true(access(&r, TRACE_RDTSC, 0, &value));
    r.rules.rdpmc_granted = true;
    assert_true(access(&r, TRACE_RDPMC, IQ_COUNTER0, &value));
    assert_false(access(&r, TRACE_RDMSR, MSR_CRU_ESCR0, &value));
    driver.what = TRACE_RDMSR;
    assert_true(sim_registers_access(&r, &driver)); /* the kernel's driver runs at CPL 0 */
    p4pmu_free(pmu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_laboratory_grants_everything_the_part_has),
        cmocka_unit_test(what_the_part_does_not_have_is_refused_with_a_reason),
        cmocka_unit_test(strict_is_a_user_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
