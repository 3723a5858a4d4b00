/*
 * CPUID of the models against the parts' documented answers (SDM volume 2, CPUID).
 */
#include "cmocka_all.h"
#include "sim.h"

#include <string.h>

static struct sim_model load(const char *name)
{
    struct sim_model model;
    char error[512];
    if (!sim_model_load(name, &model, error))
        fail_msg("%s", error);
    return model;
}

static void the_vendor_is_genuine_intel(void **state)
{
    (void)state;
    struct sim_model model = load("northwood");
    uint32_t r[4];
    char vendor[13] = "";
    sim_model_cpuid(&model, 0, 0, r);
    assert_int_equal(r[0], 2);
    memcpy(vendor, &r[1], 4);
    memcpy(vendor + 4, &r[3], 4);
    memcpy(vendor + 8, &r[2], 4);
    assert_string_equal(vendor, "GenuineIntel");
    sim_model_free(&model);
}

static void the_signature_is_family_15_with_the_model_and_stepping(void **state)
{
    (void)state;
    struct sim_model w = load("willamette"), n = load("northwood");
    uint32_t r[4];
    sim_model_cpuid(&w, 1, 0, r);
    assert_int_equal(r[0], 0xF12);
    assert_int_equal(r[1] & 0xFF, 8);
    sim_model_cpuid(&n, 1, 0, r);
    assert_int_equal(r[0], 0xF27);
    assert_int_equal(r[1] & 0xFF, 9);
    sim_model_free(&w);
    sim_model_free(&n);
}

static void sse2_is_there_and_sse3_is_not(void **state)
{
    (void)state;
    struct sim_model model = load("northwood");
    uint32_t r[4];
    sim_model_cpuid(&model, 1, 0, r);
    assert_true(r[3] & 1u << 26);
    assert_int_equal(r[2], 0);
    assert_int_equal(r[3], 0x2FEBFBFF);
    sim_model_free(&model);
}

static void htt_is_set_only_with_hyper_threading(void **state)
{
    (void)state;
    struct sim_model model = load("northwood");
    uint32_t r[4];
    model.hyper_threading = true;
    sim_model_cpuid(&model, 1, 0, r);
    assert_true(r[3] & 1u << 28);
    assert_int_equal(r[1] >> 16 & 0xFF, 2);
    sim_model_free(&model);
}

static void the_cache_descriptors_are_those_of_the_parts(void **state)
{
    (void)state;
    struct sim_model w = load("willamette"), n = load("northwood");
    uint32_t r[4];
    sim_model_cpuid(&w, 2, 0, r);
    assert_int_equal(r[0], 0x665B5001);
    assert_int_equal(r[3], 0x007A7040);
    sim_model_cpuid(&n, 2, 0, r);
    assert_int_equal(r[0], 0x665B5001);
    assert_int_equal(r[3], 0x007B7040);
    sim_model_free(&w);
    sim_model_free(&n);
}

static void the_brand_string_ends_in_the_clock(void **state)
{
    (void)state;
    struct sim_model model = load("northwood");
    uint32_t r[4];
    char brand[49] = "";
    for (uint32_t part = 0; part < 3; part++) {
        sim_model_cpuid(&model, 0x80000002 + part, 0, r);
        memcpy(brand + 16 * part, r, 16);
    }
    assert_int_equal(strlen(brand), 47);
    assert_non_null(strstr(brand, "Intel(R) Pentium(R) 4 CPU 2.40GHz"));
    sim_model_free(&model);
}

static void a_leaf_above_the_last_gives_the_last_basic_leaf(void **state)
{
    (void)state;
    struct sim_model model = load("northwood");
    uint32_t last[4], beyond[4];
    sim_model_cpuid(&model, 2, 0, last);
    sim_model_cpuid(&model, 7, 0, beyond);
    assert_memory_equal(last, beyond, sizeof last);
    sim_model_free(&model);
}

static void from_prescott_on_sse3_and_from_em64t_on_long_mode_are_told(void **state)
{
    (void)state;
    struct sim_model p = load("prescott"), l = load("prescott-64"), c = load("cedar-mill");
    uint32_t r[4];
    sim_model_cpuid(&p, 1, 0, r);
    assert_int_equal(r[0], 0xF34);
    assert_int_equal(r[2], 0x4419);
    assert_int_equal(r[3], 0xAFEBFBFF);
    sim_model_cpuid(&p, 0x80000001, 0, r);
    assert_int_equal(r[3], 0);
    sim_model_cpuid(&l, 1, 0, r);
    assert_int_equal(r[0], 0xF43);
    assert_int_equal(r[2], 0x649D);
    sim_model_cpuid(&l, 0x80000001, 0, r);
    assert_int_equal(r[3], 0x20100800);
    sim_model_cpuid(&c, 1, 0, r);
    assert_int_equal(r[0], 0xF64);
    assert_int_equal(r[2], 0xE49D);
    sim_model_free(&p);
    sim_model_free(&l);
    sim_model_free(&c);
}

static void nothing_after_sse3_is_told_by_any_model(void **state)
{
    (void)state;
    const uint32_t later = 1u << 9 | 1u << 12 | 1u << 19 | 1u << 20 | 1u << 22 | 1u << 23 |
                           1u << 25 | 7u << 26 | 3u << 29; /* SSSE3, FMA ... XSAVE, AVX, F16C */
    char names[32][32];
    size_t count = sim_model_names(names, 32);
    for (size_t i = 0; i < count; i++) {
        struct sim_model model = load(names[i]);
        uint32_t r[4];
        sim_model_cpuid(&model, 1, 0, r);
        assert_int_equal(r[2] & later, 0);
        sim_model_cpuid(&model, 0, 0, r);
        assert_true(r[0] < 7); /* no leaf of later features */
        sim_model_free(&model);
    }
}

static void the_caches_of_leaf_4_are_those_of_the_model(void **state)
{
    (void)state;
    struct sim_model model = load("prescott-64");
    const uint32_t sizes[] = {16 << 10, 2 << 20};
    uint32_t r[4];
    for (uint32_t i = 0; i < 2; i++) {
        sim_model_cpuid(&model, 4, i, r);
        assert_int_equal(((r[1] >> 22) + 1) * ((r[1] & 0xFFF) + 1) * (r[2] + 1), sizes[i]);
        assert_int_equal(r[0] >> 5 & 7, i + 1);
    }
    sim_model_cpuid(&model, 4, 2, r);
    assert_int_equal(r[0] & 31, 0);
    sim_model_cpuid(&model, 2, 0, r);
    assert_int_equal(r[0], 0x605B5001);
    assert_int_equal(r[3], 0x007D7040);
    sim_model_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vendor_is_genuine_intel),
        cmocka_unit_test(the_signature_is_family_15_with_the_model_and_stepping),
        cmocka_unit_test(sse2_is_there_and_sse3_is_not),
        cmocka_unit_test(htt_is_set_only_with_hyper_threading),
        cmocka_unit_test(the_cache_descriptors_are_those_of_the_parts),
        cmocka_unit_test(the_brand_string_ends_in_the_clock),
        cmocka_unit_test(a_leaf_above_the_last_gives_the_last_basic_leaf),
        cmocka_unit_test(from_prescott_on_sse3_and_from_em64t_on_long_mode_are_told),
        cmocka_unit_test(nothing_after_sse3_is_told_by_any_model),
        cmocka_unit_test(the_caches_of_leaf_4_are_those_of_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
