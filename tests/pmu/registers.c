/*
 * Every bit of every register on every model: held, ignored or #GP. The expected masks are written
 * down here once more, those of ESCRs and CCCRs as the MSR probe of a family F, model 4, stepping 3
 * part found them.
 */
#include "lab.h"

static const unsigned models[] = {0, 1, 2, 3, 4, 6};
enum { MODELS = 6 };

static const struct {
    uint32_t msr, held;
} probe[] = {
    {0x3A0, 0x7FFFFFFF}, {0x3A1, 0x7FFFFFFF}, {0x3A2, 0x3FFFFFFF}, {0x3A3, 0x3FFFFFFF},
    {0x3A4, 0x7FFFFFFF}, {0x3A5, 0x7FFFFFFF}, {0x3A6, 0x7FFFFFFF}, {0x3A7, 0x7FFFFFFF},
    {0x3A8, 0x1E01FE0F}, {0x3A9, 0x1E01FE0F}, {0x3AA, 0x7FFFFFFF}, {0x3AB, 0x7FFFFFFF},
    {0x3AC, 0x7FFFFFFF}, {0x3AD, 0x7FFFFFFF}, {0x3AE, 0x7FFFFFFF}, {0x3AF, 0x7FFFFFFF},
    {0x3B0, 0x0E3FFE0F}, {0x3B1, 0x0E3FFE0F}, {0x3B2, 0x1E03FFFF}, {0x3B3, 0x1E03FFFF},
    {0x3B4, 0x0E01FE0F}, {0x3B5, 0x0E01FE0F}, {0x3B6, 0x70000E1F}, {0x3B7, 0x70000E1F},
    {0x3B8, 0x0E01FE0F}, {0x3B9, 0x0E01FE0F}, {0x3BA, 0x00000000}, {0x3BB, 0x00000000},
    {0x3BC, 0x7FFFFFFF}, {0x3BD, 0x7FFFFFFF}, {0x3BE, 0x7FFFFFFF}, {0x3C0, 0x1E007E1F},
    {0x3C1, 0x1E007E1F}, {0x3C2, 0x0E01FE0F}, {0x3C3, 0x0E01FE0F}, {0x3C4, 0x1E07FE0F},
    {0x3C5, 0x1E07FE0F}, {0x3C8, 0x0E01FE0F}, {0x3C9, 0x0E01FE0F}, {0x3CA, 0x0FFFFE0F},
    {0x3CB, 0x0FFFFE0F}, {0x3CC, 0x1E0FFE0F}, {0x3CD, 0x1E0FFE0F}, {0x3E0, 0x0E00FE0F},
    {0x3E1, 0x0E00FE0F}, {0x360, 0xFFFFF000}, {0x361, 0xFFFFF000}, {0x362, 0xFFFFF000},
    {0x363, 0xFFFFF000}, {0x364, 0xFFFFF000}, {0x365, 0xFFFFF000}, {0x366, 0xFFFFF000},
    {0x367, 0xFFFFF000}, {0x368, 0xFFFFF000}, {0x369, 0xFFFFF000}, {0x36A, 0xFFFFF000},
    {0x36B, 0xFFFFF000}, {0x36C, 0xFFFFF800}, {0x36D, 0xFFFFF000}, {0x36E, 0xFFFFF000},
    {0x36F, 0xFFFFF800}, {0x370, 0xFFFFFF00}, {0x371, 0xFFFFFF00},
};

static struct p4pmu *part(unsigned model, bool hyper_threading, bool l3)
{
    struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){
        .model = model, .hyper_threading = hyper_threading, .stepping = 3, .l3 = l3});
    assert_non_null(pmu);
    return pmu;
}

/* Write 1 to each bit of MSR in turn. HELD: stays; FAULTS: #GP; else it is ignored. */
static void check_bits(struct p4pmu *pmu, uint32_t msr, uint64_t held, uint64_t faults,
                       uint64_t reset)
{
    assert_int_equal(lab_read(pmu, msr), reset);
    for (int bit = 0; bit < 64; bit++) {
        uint64_t value = UINT64_C(1) << bit, stored = 0;
        enum p4pmu_fault fault = p4pmu_wrmsr(pmu, 0, msr, value, &stored);
        assert_int_equal(fault, faults & value ? P4PMU_GP_RESERVED_BIT : P4PMU_OK);
        if (fault)
            continue;
        assert_int_equal(stored, (value & held) | (reset & ~held));
        assert_int_equal(lab_read(pmu, msr), stored);
        lab_write(pmu, msr, 0);
    }
}

static void each_escr_and_cccr_holds_the_bits_the_probe_found(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++)
        for (int ht = 0; ht < 2; ht++) {
            struct p4pmu *pmu = part(models[m], ht, false);
            for (size_t i = 0; i < sizeof probe / sizeof probe[0]; i++) {
                uint32_t msr = probe[i].msr, held = probe[i].held;
                bool escr = msr >= 0x3A0, iq = msr == 0x3BA || msr == 0x3BB;
                if (iq && models[m] <= 2)
                    held = 0x7FFFFFFF;
                if (!ht)
                    held &= escr ? ~UINT32_C(3) : ~(UINT32_C(1) << 27);
                if (!escr && models[m] < 2)
                    held &= ~(UINT32_C(1) << 11);
                bool there = escr && !(iq && models[m] > 2);
                check_bits(pmu, msr, held, there ? UINT32_C(1) << 31 : 0, 0);
            }
            p4pmu_free(pmu);
        }
}

static void counters_hold_40_bits_without_sign_extension(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        struct p4pmu *pmu = part(models[m], false, false);
        for (uint32_t msr = 0x300; msr < 0x312; msr++)
            check_bits(pmu, msr, UINT64_C(0xFFFFFFFFFF), 0, 0);
        p4pmu_free(pmu);
    }
}

enum { UP_TO_2 = 0x07, FROM_3 = 0x58, ALL = 0x5F };

static const struct {
    uint32_t msr;
    unsigned on; /* models */
    uint64_t held, faults, reset;
} others[] = {
    {0x18A, ALL, 1, 0, 0},
    {0x1A0, UP_TO_2, 0x188071D, 0, 0x81},
    {0x1A0, 1 << 3, 0x400000000 | 0x1CC271D, 0, 0x81},
    {0x1A0, 1 << 4 | 1 << 6, 0x400000000 | 0x1CC071D, 0, 0x81},
    {0x1D9, UP_TO_2, 0x1F, ~UINT64_C(0x1F), 0},
    {0x1D9, FROM_3, 0x7F, ~UINT64_C(0x7F), 0},
    {0x1DA, FROM_3, 0xF, 0, 0},
    {0x3F0, ALL, 0x3FFE0, 0, 0xFC00},
    {0x3F2, ALL, 0x1FFF, 0, 0},
    {0x3F5, 1 << 4, 0xFFFF, 0, 0},
    {0x3F6, 1 << 4, 0x1FFFFF, 0, 0},
    {0x3F7, 1 << 4, 0x1FFFFFFFFFFFF, 0, 0},
    {0x3F8, 1 << 4, 0xFFFFFFFFC0, 0, 0},
    {0x600, ALL, UINT64_MAX, 0, 0},
    {0x680, FROM_3, UINT64_MAX, 0, 0},
    {0x68F, FROM_3, UINT64_MAX, 0, 0},
    {0x6C0, FROM_3, UINT64_MAX, 0, 0},
    {0x6CF, FROM_3, UINT64_MAX, 0, 0},
};

static void the_other_registers_hold_their_bits(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        struct p4pmu *pmu = part(models[m], true, false);
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
            if (others[i].on >> models[m] & 1)
                check_bits(pmu, others[i].msr, others[i].held, others[i].faults, others[i].reset);
        check_bits(pmu, 0x3F1, 0x7FFFFFF, 0, 0);
        p4pmu_free(pmu);
        pmu = part(models[m], false, false);
        check_bits(pmu, 0x3F1, 0x3FFFFFF, 0, 0);
        p4pmu_free(pmu);
    }
}

static bool exists(uint32_t msr, unsigned model)
{
    if (msr >= 0x300 && msr <= 0x311)
        return true;
    if (msr >= 0x360 && msr <= 0x371)
        return true;
    if (msr >= 0x3A0 && msr <= 0x3CD)
        return msr != 0x3BF && msr != 0x3C6 && msr != 0x3C7;
    if (msr == 0x3E0 || msr == 0x3E1 || (msr >= 0x3F0 && msr <= 0x3F2))
        return true;
    if (msr >= 0x3F5 && msr <= 0x3F8)
        return model == 4;
    if (msr == 0x10 || msr == 0x2C || msr == 0x18A || msr == 0x1A0 || msr == 0x600)
        return true;
    if (msr >= 0x1D7 && msr <= 0x1DA)
        return true;
    if (msr >= 0x1DB && msr <= 0x1DE)
        return model <= 2;
    return ((msr >= 0x680 && msr <= 0x68F) || (msr >= 0x6C0 && msr <= 0x6CF)) && model >= 3;
}

static void every_other_address_is_a_fault(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        struct p4pmu *pmu = part(models[m], false, false);
        for (uint32_t msr = 0; msr < 0x20000; msr++) {
            uint64_t value;
            bool there = exists(msr, models[m]);
            assert_int_equal(p4pmu_rdmsr(pmu, 0, msr, &value),
                             there ? P4PMU_OK : P4PMU_GP_NO_SUCH_MSR);
            if (!there)
                assert_int_equal(p4pmu_wrmsr(pmu, 0, msr, 0, NULL), P4PMU_GP_NO_SUCH_MSR);
        }
        p4pmu_free(pmu);
    }
}

static void what_cannot_be_written_faults(void **state)
{
    (void)state;
    static const struct {
        uint32_t msr;
        unsigned on;
    } read_only[] = {{0x2C, ALL},      {0x1D7, ALL},     {0x1D8, ALL},
                     {0x1DA, UP_TO_2}, {0x1DB, UP_TO_2}, {0x1DE, UP_TO_2}};
    for (int m = 0; m < MODELS; m++) {
        struct p4pmu *pmu = part(models[m], false, false);
        for (size_t i = 0; i < sizeof read_only / sizeof read_only[0]; i++)
            if (read_only[i].on >> models[m] & 1)
                assert_int_equal(p4pmu_wrmsr(pmu, 0, read_only[i].msr, 0, NULL),
                                 P4PMU_GP_READ_ONLY);
        p4pmu_free(pmu);
    }
}

static void the_l3_counters_exist_on_xeon_mp_from_model_3(void **state)
{
    (void)state;
    uint64_t value;
    uint32_t low, high;
    for (int m = 0; m < MODELS; m++) {
        struct p4pmu *pmu = part(models[m], true, true);
        bool there = models[m] >= 3;
        assert_int_equal(p4pmu_rdmsr(pmu, 0, 0x107CC, &value),
                         there ? P4PMU_OK : P4PMU_GP_NO_SUCH_MSR);
        assert_int_equal(p4pmu_rdpmc(pmu, 0, 25, &low, &high),
                         there ? P4PMU_OK : P4PMU_GP_NO_SUCH_INDEX);
        assert_int_equal(p4pmu_rdpmc(pmu, 0, 26, &low, &high), P4PMU_GP_NO_SUCH_INDEX);
        if (there) {
            lab_write(pmu, 0x107D3, 0x123456789ABCDEF0);
            p4pmu_rdpmc(pmu, 0, 25, &low, &high);
            assert_int_equal(low, 0x9ABCDEF0);
            assert_int_equal(high, 0);
        }
        p4pmu_free(pmu);
    }
}

static void a_write_of_the_time_stamp_clears_its_upper_half_before_model_3(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        struct p4pmu *pmu = part(models[m], true, false);
        uint64_t value;
        p4pmu_clocks(pmu, 1000);
        assert_int_equal(lab_read(pmu, 0x10), 1000);
        lab_write(pmu, 0x10, 0x500000007);
        p4pmu_clocks(pmu, 10);
        uint64_t expected = models[m] < 3 ? 17 : UINT64_C(0x500000011);
        assert_int_equal(p4pmu_rdtsc(pmu, 0, &value), P4PMU_OK);
        assert_int_equal(value, expected);
        assert_int_equal(p4pmu_rdtsc(pmu, 1, &value),
                         P4PMU_OK); /* one for each logical processor */
        assert_int_equal(value, 1010);
        p4pmu_free(pmu);
    }
}

static void rdtsc_asks_cr4_tsd(void **state)
{
    (void)state;
    struct p4pmu *pmu = part(2, false, false);
    uint64_t value;
    p4pmu_privilege(pmu, 0, 3, false);
    assert_int_equal(p4pmu_rdtsc(pmu, 0, &value), P4PMU_OK);
    p4pmu_time_stamp_disable(pmu, 0, true);
    assert_int_equal(p4pmu_rdtsc(pmu, 0, &value), P4PMU_GP_PRIVILEGE);
    p4pmu_privilege(pmu, 0, 0, false);
    assert_int_equal(p4pmu_rdtsc(pmu, 0, &value), P4PMU_OK);
    p4pmu_free(pmu);
}

/* PEBS_ENABLE is one register with a "my" and an "other" bit. */
static void the_pebs_bits_change_places_for_the_other_logical_processor(void **state)
{
    (void)state;
    struct p4pmu *pmu = part(3, true, false);
    uint64_t value;
    lab_write(pmu, 0x3F1, 1u << 25 | 1);
    assert_int_equal(p4pmu_rdmsr(pmu, 1, 0x3F1, &value), P4PMU_OK);
    assert_int_equal(value, 1u << 26 | 1);
    assert_int_equal(p4pmu_wrmsr(pmu, 1, 0x3F1, 1u << 25, NULL), P4PMU_OK);
    assert_int_equal(lab_read(pmu, 0x3F1), 1u << 26);
    p4pmu_free(pmu);
}

static void shared_and_own_registers_are_told_apart(void **state)
{
    (void)state;
    static const uint32_t own[] = {0x18A, 0x1D9, 0x600},
                          shared[] = {0x300, 0x36C, 0x3B8, 0x3F2, 0x1A0};
    struct p4pmu *pmu = part(4, true, false);
    uint64_t value;
    for (int i = 0; i < 3; i++) {
        lab_write(pmu, own[i], 1);
        p4pmu_rdmsr(pmu, 1, own[i], &value);
        assert_int_equal(value, 0);
    }
    for (int i = 0; i < 5; i++) {
        uint64_t stored = lab_write(pmu, shared[i], 0x1001);
        p4pmu_rdmsr(pmu, 1, shared[i], &value);
        assert_int_equal(value, stored);
    }
    p4pmu_free(pmu);
}

static void reset_restores_every_register(void **state)
{
    (void)state;
    struct p4pmu *pmu = part(4, true, false), *fresh = part(4, true, false);
    for (uint32_t msr = 0; msr < 0x1000; msr++)
        p4pmu_wrmsr(pmu, 0, msr, 0x0355AA7F, NULL);
    p4pmu_level(pmu, P4PMU_EV_uops_retired, 1, 0, 3);
    p4pmu_clocks(pmu, 100);
    p4pmu_reset(pmu);
    for (uint32_t msr = 0; msr < 0x1000; msr++) {
        uint64_t a = 0, b = 0;
        assert_int_equal(p4pmu_rdmsr(pmu, 0, msr, &a), p4pmu_rdmsr(fresh, 0, msr, &b));
        assert_int_equal(a, b);
    }
    p4pmu_free(pmu);
    p4pmu_free(fresh);
}

static void cpuid_announces_what_the_model_has(void **state)
{
    (void)state;
    uint32_t ecx, edx;
    p4pmu_cpuid(&(struct p4pmu_config){.model = 2}, &ecx, &edx);
    assert_int_equal(ecx, 0);
    assert_int_equal(edx, 0x00200230);
    p4pmu_cpuid(&(struct p4pmu_config){.model = 3, .hyper_threading = true}, &ecx, &edx);
    assert_int_equal(ecx, 0x1C);
    assert_int_equal(edx, 0x10200230);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_escr_and_cccr_holds_the_bits_the_probe_found),
        cmocka_unit_test(counters_hold_40_bits_without_sign_extension),
        cmocka_unit_test(the_other_registers_hold_their_bits),
        cmocka_unit_test(every_other_address_is_a_fault),
        cmocka_unit_test(what_cannot_be_written_faults),
        cmocka_unit_test(the_l3_counters_exist_on_xeon_mp_from_model_3),
        cmocka_unit_test(a_write_of_the_time_stamp_clears_its_upper_half_before_model_3),
        cmocka_unit_test(rdtsc_asks_cr4_tsd),
        cmocka_unit_test(the_pebs_bits_change_places_for_the_other_logical_processor),
        cmocka_unit_test(shared_and_own_registers_are_told_apart),
        cmocka_unit_test(reset_restores_every_register),
        cmocka_unit_test(cpuid_announces_what_the_model_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
