/* The tables check themselves: every row by the rules all rows keep. */
#include "lab.h"

#include <string.h>

static unsigned ones(uint64_t value)
{
    return (unsigned)__builtin_popcountll(value);
}

static void each_event_row_has_code_escr_description_and_source(void **state)
{
    (void)state;
    for (int i = 0; i < (int)P4PMU_EVENTS; i++) {
        const struct p4pmu_event_info *e = p4pmu_event((enum p4pmu_event)i);
        assert_true(e->code >= 1 && e->code < 64);
        assert_int_not_equal(e->escrs[0], P4PMU_NONE);
        assert_int_equal(e->models & ~P4PMU_ALL_MODELS, 0);
        assert_int_not_equal(e->models, 0);
        assert_true(e->max_increment <= 15);
        assert_true(strlen(e->description) > 10);
        assert_true(strlen(e->source) > 3);
        assert_true(e->subevent_count > 0);
    }
}

static void no_two_events_share_a_code_in_one_escr(void **state)
{
    (void)state;
    for (int a = 0; a < (int)P4PMU_EVENTS; a++)
        for (int s = 0; s < 2; s++) {
            const struct p4pmu_event_info *e = p4pmu_event((enum p4pmu_event)a);
            if (e->escrs[s] != P4PMU_NONE)
                assert_int_equal(p4pmu_event_by_code((enum p4pmu_escr)e->escrs[s], e->code), a);
        }
}

static void event_codes_and_masks_fit_what_their_escr_implements(void **state)
{
    (void)state;
    for (int i = 0; i < (int)P4PMU_EVENTS; i++) {
        const struct p4pmu_event_info *e = p4pmu_event((enum p4pmu_event)i);
        uint32_t bits = e->code << 25;
        for (size_t s = 0; s < e->subevent_count; s++)
            bits |= UINT32_C(1) << (9 + e->subevents[s].bit);
        for (int s = 0; s < 2; s++)
            if (e->escrs[s] != P4PMU_NONE)
                assert_int_equal(bits & ~p4pmu_escr((enum p4pmu_escr)e->escrs[s])->implemented, 0);
    }
}

static void the_two_escrs_of_an_event_are_the_two_halves_of_one_unit(void **state)
{
    (void)state;
    for (int i = 0; i < (int)P4PMU_EVENTS; i++) {
        const int *e = p4pmu_event((enum p4pmu_event)i)->escrs;
        if (e[1] == P4PMU_NONE)
            continue;
        const struct p4pmu_escr_info *a = p4pmu_escr((enum p4pmu_escr)e[0]);
        const struct p4pmu_escr_info *b = p4pmu_escr((enum p4pmu_escr)e[1]);
        assert_string_equal(a->unit, b->unit);
        assert_int_equal(a->select, b->select);
        assert_int_equal(a->half, 0);
        assert_int_equal(b->half, 1);
    }
}

static void sub_events_have_distinct_bits_and_names_and_say_what_and_whence(void **state)
{
    (void)state;
    for (int i = 0; i < (int)P4PMU_EVENTS; i++) {
        const struct p4pmu_event_info *e = p4pmu_event((enum p4pmu_event)i);
        uint32_t seen = 0;
        for (size_t s = 0; s < e->subevent_count; s++) {
            const struct p4pmu_subevent_info *sub = &e->subevents[s];
            assert_true(sub->bit < 16);
            assert_int_equal(seen >> sub->bit & 1, 0);
            seen |= 1u << sub->bit;
            assert_ptr_equal(p4pmu_subevent_by_name((enum p4pmu_event)i, sub->name), sub);
            assert_true(strlen(sub->description) > 4);
            assert_true(strlen(sub->source) > 3);
            assert_int_equal(sub->models & ~e->models, 0);
            assert_true((sub->status == P4PMU_MODELLED) == (sub->why[0] == '\0'));
        }
    }
}

static void an_alias_names_its_sub_event(void **state)
{
    (void)state;
    assert_int_equal(p4pmu_subevent_by_name(P4PMU_EV_IOQ_allocation, "default")->bit, 0);
    assert_int_equal(p4pmu_subevent_by_name(P4PMU_EV_IOQ_allocation, "BUS_RQ_TYP0")->bit, 0);
    assert_int_equal(p4pmu_subevent_by_name(P4PMU_EV_TC_deliver_mode, "DELIVER")->bit, 2);
    assert_null(p4pmu_subevent_by_name(P4PMU_EV_TC_deliver_mode, "DELIVE"));
    assert_null(p4pmu_subevent_by_name(P4PMU_EV_TC_deliver_mode, ""));
}

static void events_are_found_by_name_in_any_case(void **state)
{
    (void)state;
    for (int i = 0; i < (int)P4PMU_EVENTS; i++)
        assert_int_equal(p4pmu_event_by_name(p4pmu_event((enum p4pmu_event)i)->name), i);
    assert_int_equal(p4pmu_event_by_name("64BIT_mmx_UOP"), P4PMU_EV_64bit_MMX_uop);
    assert_int_equal(p4pmu_event_by_name("no_such_event"), P4PMU_NONE);
}

static void there_are_45_escrs_at_their_addresses_and_none_at_3BF(void **state)
{
    (void)state;
    uint32_t last = 0;
    for (int i = 0; i < P4PMU_ESCRS; i++) {
        const struct p4pmu_escr_info *e = p4pmu_escr((enum p4pmu_escr)i);
        assert_true(e->msr > last);
        last = e->msr;
        assert_int_equal(p4pmu_escr_by_msr(e->msr), i);
        assert_int_equal(p4pmu_escr_by_name(e->name), i);
        assert_int_equal(e->implemented >> 31, 0);
        assert_true(strlen(e->description) > 3 && strlen(e->source) > 3);
    }
    assert_int_equal(p4pmu_escr_by_msr(0x3BF), P4PMU_NONE);
    assert_int_equal(P4PMU_ESCR_COUNT, 45);
}

/* Even ESCRs feed counters 0, 1 (and 4 of the IQ block), odd ones 2, 3 (and 5): SDM3 table 18-63.
 */
static void the_half_of_an_escr_decides_the_counters_of_its_block(void **state)
{
    (void)state;
    for (int i = 0; i < P4PMU_ESCRS; i++) {
        const struct p4pmu_escr_info *e = p4pmu_escr((enum p4pmu_escr)i);
        unsigned first = (unsigned)__builtin_ctz(e->counters) & ~3u;
        uint32_t expected = (e->half ? 0xCu : 0x3u) << first;
        if (first == 12)
            expected |= 1u << (e->half ? 17 : 16);
        assert_int_equal(e->counters, expected);
        for (unsigned c = 0; c < P4PMU_COUNTERS; c++)
            if (e->counters >> c & 1)
                assert_int_equal(p4pmu_counter(c)->half, e->half);
    }
}

static void counters_and_cccrs_stand_in_a_row(void **state)
{
    (void)state;
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++) {
        const struct p4pmu_counter_info *info = p4pmu_counter(c);
        assert_int_equal(info->msr, 0x300 + c);
        assert_int_equal(info->cccr_msr, 0x360 + c);
        assert_non_null(strstr(info->name, info->group));
        assert_non_null(strstr(info->cccr_name, info->group));
        assert_true(strlen(info->source) > 3);
    }
    assert_null(p4pmu_counter(P4PMU_COUNTERS));
}

static void cascades_go_to_the_neighbour_pair_and_back(void **state)
{
    (void)state;
    for (int c = 0; c < 16; c++)
        assert_int_equal(p4pmu_counter((unsigned)c)->cascade_source, c ^ 2);
    assert_int_equal(p4pmu_counter(16)->cascade_source, 14);
    assert_int_equal(p4pmu_counter(17)->cascade_source, 15);
    static const int extended[P4PMU_COUNTERS] = {[12] = 16, [15] = 17, [16] = 17, [17] = 16};
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++)
        assert_int_equal(p4pmu_counter(c)->extended_source, extended[c] ? extended[c] : P4PMU_NONE);
}

static void tables_hold_what_the_manual_counts(void **state)
{
    (void)state;
    size_t subs = 0;
    unsigned with_events = 0;
    for (int i = 0; i < (int)P4PMU_EVENTS; i++)
        subs += p4pmu_event((enum p4pmu_event)i)->subevent_count;
    for (int e = 0; e < P4PMU_ESCRS; e++) {
        unsigned codes = 0;
        for (unsigned code = 0; code < 64; code++)
            codes += p4pmu_event_by_code((enum p4pmu_escr)e, code) != P4PMU_NONE;
        with_events += codes > 0;
    }
    assert_int_equal(P4PMU_EVENTS, 47);
    assert_int_equal(subs, 181);
    assert_int_equal(with_events, 32); /* 13 have no documented event */
    assert_int_equal(ones(P4PMU_ALL_MODELS), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_event_row_has_code_escr_description_and_source),
        cmocka_unit_test(no_two_events_share_a_code_in_one_escr),
        cmocka_unit_test(event_codes_and_masks_fit_what_their_escr_implements),
        cmocka_unit_test(the_two_escrs_of_an_event_are_the_two_halves_of_one_unit),
        cmocka_unit_test(sub_events_have_distinct_bits_and_names_and_say_what_and_whence),
        cmocka_unit_test(an_alias_names_its_sub_event),
        cmocka_unit_test(events_are_found_by_name_in_any_case),
        cmocka_unit_test(there_are_45_escrs_at_their_addresses_and_none_at_3BF),
        cmocka_unit_test(the_half_of_an_escr_decides_the_counters_of_its_block),
        cmocka_unit_test(counters_and_cccrs_stand_in_a_row),
        cmocka_unit_test(cascades_go_to_the_neighbour_pair_and_back),
        cmocka_unit_test(tables_hold_what_the_manual_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
