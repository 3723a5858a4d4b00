/*
 * What a mask selects: plain masks, the bus queue expressions of both kinds of model (SDM3 table
 * 19-28, IOQ_allocation notes 4a and 4b), the fields of the bus sequence unit.
 */
#include "lab.h"

static void a_plain_mask_selects_what_has_a_bit_in_common(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab_new(2, false);
    lab_listen(pmu, 0, P4PMU_ESCR_BSU0, 0);
    for (unsigned mask = 0; mask < 0x1000; mask += 37)
        for (unsigned fact = 1; fact < 0x1000; fact += 41) {
            lab_set_escr(pmu, P4PMU_ESCR_BSU0,
                         lab_escr(P4PMU_EV_BSQ_cache_reference, mask, USR_OS));
            lab_write(pmu, 0x300, 0);
            p4pmu_post(pmu, P4PMU_EV_BSQ_cache_reference, fact, P4PMU_WHO(0, 0), 1);
            p4pmu_clocks(pmu, 1);
            assert_int_equal(lab_counter(pmu, 0), (mask & fact) != 0);
        }
    p4pmu_free(pmu);
}

struct transaction {
    unsigned type;
    bool write, prefetch, other;
    unsigned memory; /* 0 UC, 1 WC, 2 WT, 3 WP, 4 WB */
};

static unsigned fact_of(const struct transaction *t)
{
    return t->type | (t->write ? 0x40u : 0x20u) | 0x80u << t->memory |
           (t->other ? 0x4000u : 0x2000u) | (t->prefetch ? 0x8000u : 0);
}

struct wish {
    unsigned type, directions, memories, agents;
    bool prefetch;
};

static unsigned mask_of(const struct wish *w)
{
    return w->type | w->directions << 5 | w->memories << 7 | w->agents << 13 |
           (w->prefetch ? 0x8000u : 0);
}

static bool wanted(const struct wish *w, const struct transaction *t, unsigned model)
{
    bool type = w->type == t->type, direction = w->directions >> t->write & 1;
    bool memory = w->memories >> t->memory & 1, agent = w->agents >> t->other & 1;

    if (t->prefetch && !t->write && !w->prefetch)
        return false;
    if (model >= 2)
        return (type || w->type == 1) && direction && memory && agent;
    if (w->directions)
        memory = false;
    return ((type && w->type != 1) || direction || memory) && agent;
}

static void check_transactions(struct p4pmu *pmu, const struct wish *w, unsigned model)
{
    lab_set_escr(pmu, P4PMU_ESCR_FSB0, lab_escr(P4PMU_EV_IOQ_allocation, mask_of(w), USR_OS));
    lab_write(pmu, 0x300, 0);
    uint64_t expected = 0;
    for (unsigned i = 0; i < 2 * 2 * 2 * 2 * 5; i++) {
        struct transaction t = {.type = i & 1 ? 5 : 1,
                                .write = i >> 1 & 1,
                                .prefetch = i >> 2 & 1,
                                .other = i >> 3 & 1,
                                .memory = i >> 4};
        p4pmu_post(pmu, P4PMU_EV_IOQ_allocation, fact_of(&t), P4PMU_WHO(0, 0), 1);
        p4pmu_clocks(pmu, 1);
        expected += wanted(w, &t, model);
        assert_int_equal(lab_counter(pmu, 0), expected);
    }
}

/* Every choice of directions, memory types, agents and prefetch, with three request types. */
static void bus_queue_masks_follow_the_expression_of_their_model(void **state)
{
    (void)state;
    static const unsigned types[] = {1, 0, 5};
    for (unsigned model = 1; model < 3; model++) {
        struct p4pmu *pmu = lab_new(model, false);
        lab_listen(pmu, 0, P4PMU_ESCR_FSB0, 0);
        for (unsigned i = 0; i < 3 * 4 * 32 * 4 * 2; i++) {
            struct wish w = {.prefetch = i & 1,
                             .agents = i >> 1 & 3,
                             .directions = i >> 3 & 3,
                             .memories = i >> 5 & 31,
                             .type = types[i >> 10]};
            check_transactions(pmu, &w, model);
        }
        p4pmu_free(pmu);
    }
}

/* Type, length, memory type and demand must be equal; the other attributes are required when set.
 */
static void bus_sequence_fields_must_be_equal(void **state)
{
    (void)state;
    struct p4pmu *pmu = lab_new(2, false);
    lab_listen(pmu, 0, P4PMU_ESCR_BSU0, 0);
    const unsigned numbers = 0x3A0F, attributes = 0x05E0;
    uint64_t random = 1;
    for (unsigned mask = 0; mask < 0x4000; mask += 3) {
        lab_set_escr(pmu, P4PMU_ESCR_BSU0, lab_escr(P4PMU_EV_BSQ_allocation, mask, USR_OS));
        lab_write(pmu, 0x300, 0);
        uint64_t expected = 0;
        for (int i = 0; i < 8; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            unsigned fact = random >> 40 & 0x3FEF;
            if (i < 4) /* equal numbers, so that the attributes decide */
                fact = (fact & ~numbers) | (mask & numbers);
            if (fact == 0)
                continue;
            p4pmu_post(pmu, P4PMU_EV_BSQ_allocation, fact, P4PMU_WHO(0, 3), 1);
            p4pmu_clocks(pmu, 1);
            bool equal = ((mask ^ fact) & numbers) == 0;
            expected += equal && (mask & attributes & ~fact) == 0;
            assert_int_equal(lab_counter(pmu, 0), expected);
        }
    }
    p4pmu_free(pmu);
}

/* Clock by clock: the condition stands from clock 1 to 4, the register is written in clock 1 or
 * before. */
static void bsq_entries_are_seen_every_other_clock_from_model_3(void **state)
{
    (void)state;
    static const uint64_t every[6] = {0, 2, 4, 6, 8, 8}, other[6] = {0, 0, 2, 4, 6, 8};
    for (unsigned model = 2; model < 5; model++)
        for (int late = 0; late < 2; late++) {
            struct p4pmu *pmu = lab_new(model, false);
            uint32_t escr = lab_escr(P4PMU_EV_bsq_active_entries, 0x200, USR_OS);
            lab_listen(pmu, 2, P4PMU_ESCR_BSU1, 0);
            if (!late)
                lab_set_escr(pmu, P4PMU_ESCR_BSU1, escr);
            for (unsigned clock = 0; clock < 6; clock++) {
                if (clock == 1 || clock == 5)
                    p4pmu_level(pmu, P4PMU_EV_bsq_active_entries, 0x200, 0, clock == 1 ? 2 : 0);
                if (clock == 1 && late)
                    lab_set_escr(pmu, P4PMU_ESCR_BSU1, escr);
                p4pmu_clocks(pmu, 1);
                assert_int_equal(lab_counter(pmu, 2), model < 3 ? every[clock] : other[clock]);
            }
            p4pmu_free(pmu);
        }
}

static void an_event_of_later_models_selects_nothing_before_them(void **state)
{
    (void)state;
    for (unsigned model = 0; model < 5; model++) {
        struct p4pmu *pmu = lab_new(model, false);
        lab_set_escr(pmu, P4PMU_ESCR_CRU0, lab_escr(P4PMU_EV_instr_completed, 1, USR_OS));
        lab_listen(pmu, 12, P4PMU_ESCR_CRU0, 0);
        p4pmu_post(pmu, P4PMU_EV_instr_completed, 1, P4PMU_WHO(0, 3), 2);
        p4pmu_clocks(pmu, 1);
        assert_int_equal(lab_counter(pmu, 12), model >= 3 ? 2 : 0);
        p4pmu_free(pmu);
    }
}

static void the_self_modifying_code_bit_is_6_or_with_the_switch_3(void **state)
{
    (void)state;
    for (unsigned asked = 0; asked < 2; asked++)
        for (unsigned bit = 0; bit < 8; bit++) {
            struct p4pmu *pmu = p4pmu_new(
                &(struct p4pmu_config){.model = 2, .errata = asked << P4PMU_ERRATUM_SMC_BIT_3});
            lab_set_escr(pmu, P4PMU_ESCR_CRU2, lab_escr(P4PMU_EV_machine_clear, 1u << bit, USR_OS));
            lab_listen(pmu, 12, P4PMU_ESCR_CRU2, 0);
            p4pmu_post(pmu, P4PMU_EV_machine_clear, 1u << 6, P4PMU_WHO(0, 3), 1);
            p4pmu_clocks(pmu, 1);
            assert_int_equal(lab_counter(pmu, 12), bit == (asked ? 3 : 6));
            p4pmu_free(pmu);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_mask_selects_what_has_a_bit_in_common),
        cmocka_unit_test(bus_queue_masks_follow_the_expression_of_their_model),
        cmocka_unit_test(bus_sequence_fields_must_be_equal),
        cmocka_unit_test(bsq_entries_are_seen_every_other_clock_from_model_3),
        cmocka_unit_test(an_event_of_later_models_selects_nothing_before_them),
        cmocka_unit_test(the_self_modifying_code_bit_is_6_or_with_the_switch_3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
