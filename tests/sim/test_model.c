/*
 * Model files: what loads, and what each kind of mistake is answered with.
 */
#define _GNU_SOURCE
#include "cmocka_all.h"
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *text_of(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* Load northwood.yaml with the first FROM replaced by TO; gives the error, "" when it loads. */
static const char *error_after(const char *from, const char *to)
{
    static char error[512];
    char path[] = "/tmp/p4sim-model-XXXXXX.yaml";
    struct sim_model model;
    char *text = text_of(CONFIGS "/models/northwood.yaml"), *at = strstr(text, from);
    assert_non_null(at);
    int descriptor = mkstemps(path, 5);
    FILE *file = fdopen(descriptor, "w");
    fprintf(file, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    fclose(file);
    error[0] = '\0';
    if (sim_model_load(path, &model, error))
        sim_model_free(&model);
    else if (!strstr(error, "p4sim-model-"))
        fail_msg("the error does not name the file: %s", error);
    unlink(path);
    return error;
}

static void assert_says(const char *error, const char *expected)
{
    if (!strstr(error, expected))
        fail_msg("expected \"%s\" in \"%s\"", expected, error);
}

static void every_shipped_model_loads_with_a_source_on_each_value(void **state)
{
    (void)state;
    char names[32][32], error[512];
    size_t count = sim_model_names(names, 32);
    assert_true(count >= 2);
    for (size_t i = 0; i < count; i++) {
        struct sim_model model;
        if (!sim_model_load(names[i], &model, error))
            fail_msg("%s", error);
        assert_string_equal(model.name, names[i]);
        for (unsigned p = 0; p < NB_PARAMS; p++)
            assert_true(strlen(model.provenance[p]) > 3);
        sim_model_free(&model);
    }
}

static void the_two_models_differ_in_what_the_parts_differed_in(void **state)
{
    (void)state;
    struct sim_model w, n;
    char error[512];
    assert_true(sim_model_load("willamette", &w, error));
    assert_true(sim_model_load("northwood", &n, error));
    assert_int_equal(w.params.family_model, 1);
    assert_int_equal(n.params.family_model, 2);
    assert_int_equal(w.params.l2_sets * w.params.l2_ways * w.params.l2_line, 256 << 10);
    assert_int_equal(n.params.l2_sets * n.params.l2_ways * n.params.l2_line, 512 << 10);
    assert_int_equal(w.params.rob, n.params.rob);
    assert_int_equal(n.params.tc_sets * n.params.tc_ways * n.params.tc_line_uops, 12 << 10);
    sim_model_free(&w);
    sim_model_free(&n);
}

static void an_unknown_model_names_those_that_exist(void **state)
{
    (void)state;
    struct sim_model model;
    char error[512];
    assert_false(sim_model_load("northwod", &model, error));
    assert_says(error, "northwod");
    assert_says(error, "northwood, northwood-ht, prescott");
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    struct sim_model model;
    char error[512];
    assert_false(sim_model_load("/nowhere/m.yaml", &model, error));
    assert_says(error, "/nowhere/m.yaml: No such file");
}

static void a_value_out_of_range_gives_line_parameter_and_range(void **state)
{
    (void)state;
    const char *error = error_after("rob: {value: 126", "rob: {value: 127");
    assert_says(error, "rob is 127 uops; allowed are 3 to 126");
    assert_says(error, ".yaml:");
}

static void a_missing_parameter_is_named(void **state)
{
    (void)state;
    const char *error = error_after("  rob:", "  # rob:");
    assert_says(error, "Missing required mapping field: rob");
}

static void an_unknown_parameter_is_named_with_its_line(void **state)
{
    (void)state;
    const char *error = error_after("  rob:", "  robb:");
    assert_says(error, "robb");
    assert_says(error, "line:");
}

static void a_value_without_a_source_is_refused(void **state)
{
    (void)state;
    assert_says(error_after("rob: {value: 126, source:", "rob: {value: 126, from:"), "from");
}

static void a_word_in_place_of_a_number_is_refused(void **state)
{
    (void)state;
    const char *error = error_after("rob: {value: 126", "rob: {value: many");
    assert_says(error, "many");
}

static void text_that_is_not_yaml_is_refused(void **state)
{
    (void)state;
    assert_true(strlen(error_after("name: northwood", "name: [northwood")) > 0);
}

static void values_that_do_not_fit_each_other_are_refused(void **state)
{
    (void)state;
    assert_says(error_after("pattern_entries: {value: 4096", "pattern_entries: {value: 4095"),
                "pattern_entries");
}

static void an_unchanged_copy_loads(void **state)
{
    (void)state;
    assert_string_equal(error_after("name: northwood", "name: northwood"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shipped_model_loads_with_a_source_on_each_value),
        cmocka_unit_test(the_two_models_differ_in_what_the_parts_differed_in),
        cmocka_unit_test(an_unknown_model_names_those_that_exist),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(a_value_out_of_range_gives_line_parameter_and_range),
        cmocka_unit_test(a_missing_parameter_is_named),
        cmocka_unit_test(an_unknown_parameter_is_named_with_its_line),
        cmocka_unit_test(a_value_without_a_source_is_refused),
        cmocka_unit_test(a_word_in_place_of_a_number_is_refused),
        cmocka_unit_test(text_that_is_not_yaml_is_refused),
        cmocka_unit_test(values_that_do_not_fit_each_other_are_refused),
        cmocka_unit_test(an_unchanged_copy_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
