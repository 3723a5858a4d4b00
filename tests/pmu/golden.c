/*
 * Register values as manuals and tools publish them, played through the library: the tables give
 * the published encoding, the registers hold it, and the counter counts what the metric says.
 */
#include "lab.h"

#include <stdio.h>
#include <string.h>

enum { P4PMU_EV_NONE = P4PMU_NONE };

static const struct golden {
    const char *metric, *term;
    int event;
    unsigned mask;
    int escr;
    uint32_t escr_value;
    unsigned counter;
    uint32_t cccr_value, pebs_enable, matrix_vert;
    const char *source;
} rows[] = {
#define GOLDEN(metric, term, event, mask, escr, escr_value, counter, cccr_value, pebs_enable,      \
               matrix_vert, source)                                                                \
    {#metric,                                                                                      \
     #term,                                                                                        \
     (int)P4PMU_EV_##event,                                                                        \
     mask,                                                                                         \
     (int)P4PMU_ESCR_##escr,                                                                       \
     escr_value,                                                                                   \
     counter,                                                                                      \
     cccr_value,                                                                                   \
     pebs_enable,                                                                                  \
     matrix_vert,                                                                                  \
     source},
#include "golden.def"
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void fail_at(const struct golden *g, const char *what)
{
    fail_msg("golden.def, %s term %s (%s): %s", g->metric, g->term, g->source, what);
}

static void the_tables_give_the_published_escr_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const struct golden *g = &rows[i];
        if (g->event == P4PMU_NONE)
            continue;
        uint32_t tags = g->escr_value & 0x1F0;
        if ((lab_escr((enum p4pmu_event)g->event, g->mask, USR_OS) | tags) != g->escr_value)
            fail_at(g, "ESCR value differs");
        if (p4pmu_escr((enum p4pmu_escr)g->escr)->select != (g->cccr_value >> 13 & 7))
            fail_at(g, "CCCR select differs");
        if (p4pmu_wired_escr(g->counter, g->cccr_value >> 13 & 7) != g->escr)
            fail_at(g, "the counter does not hear the ESCR");
    }
}

/* In ten clocks, three have a fact that has all bits of the mask. */
static uint64_t expected(const struct golden *g)
{
    bool compare = g->cccr_value >> 18 & 1, complement = g->cccr_value >> 19 & 1;
    if (g->event != P4PMU_NONE && p4pmu_event((enum p4pmu_event)g->event)->logic == P4PMU_TAG_ONLY)
        return 0;
    if (compare && complement)
        return 10;
    return g->event == P4PMU_NONE || g->mask == 0 ? 0 : 3;
}

/* The model a metric is for: its name says so for the bus, its event for the rest. */
static unsigned model_of(const struct golden *g)
{
    if (strstr(g->metric, "_lt2"))
        return 0;
    return g->event == P4PMU_EV_instr_completed ? 3 : 2;
}

static void the_published_registers_count_what_they_are_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const struct golden *g = &rows[i];
        struct p4pmu *pmu = lab_new(model_of(g), false);
        lab_write(pmu, 0x3F1, g->pebs_enable);
        lab_write(pmu, 0x3F2, g->matrix_vert);
        lab_set_escr(pmu, (enum p4pmu_escr)g->escr, g->escr_value);
        if (lab_write(pmu, 0x360 + g->counter, g->cccr_value) != g->cccr_value)
            fail_at(g, "CCCR value is not held");
        for (int clock = 0; clock < 10; clock++) {
            if (clock % 4 == 1 && g->event != P4PMU_NONE && g->mask)
                p4pmu_post(pmu, (enum p4pmu_event)g->event, g->mask, P4PMU_WHO(0, 3), 1);
            p4pmu_clocks(pmu, 1);
        }
        if (lab_counter(pmu, g->counter) != expected(g))
            fail_at(g, "count differs");
        p4pmu_free(pmu);
    }
}

/* perfctr's command line for L1 load misses: -e 0x0003B000/0x12000204@0x8000000C
 * --p4pe=0x01000001 --p4pmv=0x1 (replay_event NBOGUS, user only). */
static void the_classic_perfctr_line_counts_tagged_l1_misses(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab_new(2, false);
    uint32_t low, high;
    unsigned user = P4PMU_WHO(0, 3);
    lab_write(pmu, 0x3F1, 0x01000001);
    lab_write(pmu, 0x3F2, 0x1);
    lab_write(pmu, 0x3CC, 0x12000204);
    lab_write(pmu, 0x36C, 0x0003B000);
    for (int load = 0; load < 5; load++) {
        bool miss = load != 2;
        if (miss && p4pmu_replay_tag(pmu, P4PMU_REPLAY_L1_MISS, false, user))
            p4pmu_post(pmu, P4PMU_EV_replay_event, 1, user, 1);
        p4pmu_clocks(pmu, 3);
    }
    assert_int_equal(p4pmu_rdpmc(pmu, 0, 0x8000000C, &low, &high), P4PMU_OK);
    assert_int_equal(low, 4);
    p4pmu_free(pmu);
}

/* SDM3 example of 18.15.5.7: CRU_ESCR2 0C001E0CH style branches on CCCR select 5, cascading 14
 * into 16. */
static void the_watchdog_recipe_counts_every_clock(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab_new(2, false);
    assert_int_equal(lab_write(pmu, 0x3B8, 0x7E00000C),
                     0x0E00000C); /* CRU_ESCR0 has 3 select bits */
    lab_write(pmu, 0x36C, 0x00FF9000);
    p4pmu_clocks(pmu, 4321);
    assert_int_equal(lab_counter(pmu, 12), 4321);
    p4pmu_free(pmu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tables_give_the_published_escr_value),
        cmocka_unit_test(the_published_registers_count_what_they_are_for),
        cmocka_unit_test(the_classic_perfctr_line_counts_tagged_l1_misses),
        cmocka_unit_test(the_watchdog_recipe_counts_every_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
