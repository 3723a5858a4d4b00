/* Where DS recording meets its limits: buffers that end, thresholds outside, memory that fails in
 * the middle of a record, INIT. */
#include "ds_lab.h"

static const unsigned USER = P4PMU_WHO(0, 3);
static const struct p4pmu_pebs_registers registers;

static enum p4pmu_ds branch(struct lab *l)
{
    return p4pmu_branch(l->pmu, 0, &(struct p4pmu_branch){.from = 1, .to = 2, .cpl = 3});
}

static void pebs_on(struct lab *l)
{
    lab_set_escr(l->pmu, P4PMU_ESCR_CRU2, lab_escr(P4PMU_EV_replay_event, 1, USR_OS));
    lab_listen(l->pmu, 16, P4PMU_ESCR_CRU2, 0);
    lab_write(l->pmu, PEBS_ENABLE, 0x03000001);
    lab_write(l->pmu, 0x310, P4PMU_COUNTER_MASK);
}

/* The counter overflows and the next uop of the event retires. */
static enum p4pmu_ds overflow_and_store(struct lab *l)
{
    lab_write(l->pmu, 0x310, P4PMU_COUNTER_MASK);
    p4pmu_post(l->pmu, P4PMU_EV_replay_event, 1, USER, 1);
    p4pmu_clocks(l->pmu, 1);
    assert_int_equal(p4pmu_pebs_wants(l->pmu, P4PMU_EV_replay_event, 1, USER),
                     !(lab_read(l->pmu, MCG_MISC) & 1));
    return p4pmu_pebs_store(l->pmu, 0, &registers);
}

static void a_circular_buffer_with_its_threshold_inside_interrupts_all_the_same(void **state)
{
    (void)state;
    for (int inside = 0; inside < 2; inside++) {
        struct lab l;
        bool asked = false;
        lab_open(&l, 2, false);
        set_buffer(&l, 0, BTS, 36, inside ? BTS + 24 : BTS + 37);
        lab_write(l.pmu, DEBUGCTLA, TR | BTS_ON);
        for (int i = 0; i < 10; i++) {
            assert_int_equal(branch(&l), P4PMU_DS_STORED);
            asked |= p4pmu_interrupt(l.pmu, 0);
        }
        assert_int_equal(asked, inside);
        p4pmu_free(l.pmu);
    }
}

static void a_circular_buffer_that_is_no_multiple_of_the_record_wraps_before_its_end(void **state)
{
    (void)state;
    for (unsigned model = 2; model < 4; model++) {
        struct lab l;
        lab_open(&l, model, false);
        set_buffer(&l, 0, BTS, 9 * l.word + l.word - 1, UINT32_MAX);
        lab_write(l.pmu, DEBUGCTLA, TR | BTS_ON);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(branch(&l), P4PMU_DS_STORED);
        assert_int_equal(field(&l, 1), BTS + 3 * l.word);
        assert_int_equal(get(&l, BTS + 9 * l.word), 0);
        p4pmu_free(l.pmu);
    }
}

static void a_threshold_behind_the_end_never_interrupts(void **state)
{
    (void)state;
    struct lab l;
    lab_open(&l, 2, false);
    set_buffer(&l, 4, PEBS, 80, PEBS + 81);
    pebs_on(&l);
    assert_int_equal(overflow_and_store(&l), P4PMU_DS_STORED);
    assert_int_equal(overflow_and_store(&l), P4PMU_DS_STORED);
    assert_int_equal(overflow_and_store(&l), P4PMU_DS_FULL);
    assert_int_equal(lab_counter(l.pmu, 16), 0); /* not reloaded */
    assert_false(p4pmu_interrupt(l.pmu, 0));
    p4pmu_free(l.pmu);
}

/* Index outside of the buffer, buffer of no size, end before the base: nothing is written. */
static void a_buffer_without_sense_takes_no_record(void **state)
{
    (void)state;
    static const uint64_t senseless[][3] = {
        /* base, index, maximum */
        {PEBS, PEBS - 4, PEBS + 400},   {PEBS, PEBS + 400, PEBS + 400},
        {PEBS, PEBS + 404, PEBS + 400}, {PEBS, PEBS, PEBS},
        {PEBS, PEBS, PEBS - 100},       {0, 0xFFFFFFF8, 0xFFFFFFFF}};
    for (size_t i = 0; i < sizeof senseless / sizeof senseless[0]; i++)
        for (unsigned first = 0; first < 8; first += 4) {
            struct lab l;
            lab_open(&l, 2, false);
            for (unsigned k = 0; k < 3; k++)
                put(&l, AREA + (first + k) * l.word, l.word, senseless[i][k]);
            if (first == 0) {
                lab_write(l.pmu, DEBUGCTLA, TR | BTS_ON | BTINT);
                assert_int_equal(branch(&l), P4PMU_DS_FULL);
            } else {
                pebs_on(&l);
                assert_int_equal(overflow_and_store(&l), P4PMU_DS_FULL);
            }
            assert_int_equal(l.memory.writes, 0);
            p4pmu_free(l.pmu);
        }
}

/* Each access of a record fails once: recording stops, and nothing outside of the buffer and its
 * index has changed. */
static void a_failure_at_any_access_stops_recording_and_touches_nothing_else(void **state)
{
    (void)state;
    for (int pebs = 0; pebs < 2; pebs++)
        for (unsigned at = 1; at < 10; at++) {
            struct lab l;
            lab_open(&l, 3, false);
            unsigned char before[MEMORY];
            memcpy(before, l.memory.bytes, MEMORY);
            l.memory.fail_at = at;
            if (pebs)
                pebs_on(&l);
            else
                lab_write(l.pmu, DEBUGCTLA, TR | BTS_ON);
            enum p4pmu_ds result = pebs ? overflow_and_store(&l) : branch(&l);
            unsigned needed = pebs ? 4 : 3; /* fields (and reset), record, index */
            assert_int_equal(result, at <= needed ? P4PMU_DS_FAULT : P4PMU_DS_STORED);
            assert_int_equal(lab_read(l.pmu, MCG_MISC), at <= needed);
            if (at < needed)
                assert_memory_equal(before, l.memory.bytes, MEMORY);
            if (at == needed) { /* the record stands, its index does not */
                uint64_t base = pebs ? PEBS : BTS, end = base + (pebs ? 18 : 3) * l.word;
                assert_memory_equal(before, l.memory.bytes, base);
                assert_memory_equal(before + end, l.memory.bytes + end, MEMORY - end);
            }
            l.memory.fail_at = 0;
            if (at <= needed) {
                unsigned writes = l.memory.writes;
                assert_int_equal(pebs ? overflow_and_store(&l) : branch(&l), P4PMU_DS_NOTHING);
                assert_int_equal(l.memory.writes, writes);
            }
            p4pmu_free(l.pmu);
        }
}

static void the_32_bit_area_has_32_bit_addresses(void **state)
{
    (void)state;
    struct lab l;
    lab_open(&l, 2, false);
    lab_write(l.pmu, DS_AREA, UINT64_C(0x700000000) | AREA);
    lab_write(l.pmu, DEBUGCTLA, TR | BTS_ON);
    assert_int_equal(branch(&l), P4PMU_DS_STORED);
    assert_int_equal(field(&l, 1), BTS + 12);
    p4pmu_free(l.pmu);
}

static void a_buffers_request_waits_while_the_vector_entry_is_masked(void **state)
{
    (void)state;
    struct lab l;
    lab_open(&l, 2, false);
    set_buffer(&l, 0, BTS, 1200, BTS + 12);
    lab_write(l.pmu, DEBUGCTLA, TR | BTS_ON | BTINT);
    p4pmu_set_lvt(l.pmu, 0, 0x10400);
    branch(&l);
    assert_false(p4pmu_interrupt(l.pmu, 0));
    p4pmu_set_lvt(l.pmu, 0, 0x400);
    assert_true(p4pmu_interrupt(l.pmu, 0));
    p4pmu_free(l.pmu);
}

static void pebs_waits_through_a_suspension_and_forgets_when_it_is_switched_off(void **state)
{
    (void)state;
    for (int off = 0; off < 2; off++) {
        struct lab l;
        lab_open(&l, 2, false);
        pebs_on(&l);
        p4pmu_ds_suspend(l.pmu, 0, true);
        p4pmu_post(l.pmu, P4PMU_EV_replay_event, 1, USER, 1);
        p4pmu_clocks(l.pmu, 1);
        assert_false(p4pmu_pebs_wants(l.pmu, P4PMU_EV_replay_event, 1, USER));
        assert_int_equal(p4pmu_pebs_store(l.pmu, 0, &registers), P4PMU_DS_NOTHING);
        if (off) {
            lab_write(l.pmu, PEBS_ENABLE, 0x01000001);
            lab_write(l.pmu, PEBS_ENABLE, 0x03000001);
        }
        p4pmu_ds_suspend(l.pmu, 0, false);
        assert_int_equal(p4pmu_pebs_wants(l.pmu, P4PMU_EV_replay_event, 1, USER), !off);
        p4pmu_free(l.pmu);
    }
}

static void init_masks_the_vector_entry_and_leaves_the_counters(void **state)
{
    (void)state;
    struct lab l;
    uint32_t low, high;
    lab_open(&l, 2, true);
    set_buffer(&l, 0, BTS, 1200, BTS + 12);
    lab_write(l.pmu, DEBUGCTLA, TR | BTS_ON | BTINT);
    pebs_on(&l);
    branch(&l);
    assert_true(p4pmu_interrupt(l.pmu, 0));
    p4pmu_privilege(l.pmu, 0, 3, true);
    p4pmu_time_stamp_disable(l.pmu, 0, true);
    p4pmu_init(l.pmu, 0);
    assert_int_equal(p4pmu_lvt(l.pmu, 0), 0x10000);
    assert_int_equal(p4pmu_lvt(l.pmu, 1), 0);
    assert_int_equal(p4pmu_interrupt_clock(l.pmu, 0), 0);
    assert_int_equal(lab_read(l.pmu, PEBS_ENABLE), 0x01000001); /* at CPL 0 again */
    assert_int_equal(lab_read(l.pmu, DEBUGCTLA), 0);
    assert_int_equal(lab_read(l.pmu, DS_AREA), 0);
    assert_int_equal(lab_counter(l.pmu, 16), P4PMU_COUNTER_MASK);
    p4pmu_privilege(l.pmu, 0, 3, false);
    assert_int_equal(p4pmu_rdpmc(l.pmu, 0, 0, &low, &high), P4PMU_GP_PRIVILEGE);
    p4pmu_post(l.pmu, P4PMU_EV_replay_event, 1, USER, 3);
    p4pmu_clocks(l.pmu, 1);
    p4pmu_privilege(l.pmu, 0, 0, false);
    assert_int_equal(lab_counter(l.pmu, 16), 2);
    p4pmu_free(l.pmu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_circular_buffer_with_its_threshold_inside_interrupts_all_the_same),
        cmocka_unit_test(a_circular_buffer_that_is_no_multiple_of_the_record_wraps_before_its_end),
        cmocka_unit_test(a_threshold_behind_the_end_never_interrupts),
        cmocka_unit_test(a_buffer_without_sense_takes_no_record),
        cmocka_unit_test(a_failure_at_any_access_stops_recording_and_touches_nothing_else),
        cmocka_unit_test(the_32_bit_area_has_32_bit_addresses),
        cmocka_unit_test(a_buffers_request_waits_while_the_vector_entry_is_masked),
        cmocka_unit_test(pebs_waits_through_a_suspension_and_forgets_when_it_is_switched_off),
        cmocka_unit_test(init_masks_the_vector_entry_and_leaves_the_counters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
