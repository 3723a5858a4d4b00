/* PEBS, BTS and branch records, with a small memory that can lack pages. */
#include "ds_lab.h"

/* ---- branches ---- */

static enum p4pmu_ds branch(struct lab *l, uint64_t from, uint64_t to)
{
    return p4pmu_branch(
        l->pmu, 0, &(struct p4pmu_branch){.from = from, .to = to, .cpl = 3, .predicted = from & 1});
}

static void a_branch_record_has_from_to_and_the_predicted_bit(void **state)
{
    (void)state;
    for (unsigned model = 2; model < 4; model++) {
        struct lab l;
        lab_open(&l, model, false);
        lab_write(l.pmu, DEBUGCTLA, TR | BTS_ON);
        assert_int_equal(branch(&l, 0x401, 0x500), P4PMU_DS_STORED);
        assert_int_equal(branch(&l, 0x502, 0x600), P4PMU_DS_STORED);
        static const uint64_t expected[6] = {0x401, 0x500, 0x10, 0x502, 0x600, 0};
        for (unsigned i = 0; i < 6; i++)
            assert_int_equal(get(&l, BTS + i * l.word), expected[i]);
        assert_int_equal(field(&l, 1), BTS + 6 * l.word);
        p4pmu_free(l.pmu);
    }
}

static void without_btint_the_branch_buffer_wraps_and_with_it_records_are_lost(void **state)
{
    (void)state;
    for (int btint = 0; btint < 2; btint++) {
        struct lab l;
        lab_open(&l, 2, false);
        lab_write(l.pmu, DEBUGCTLA, TR | BTS_ON | (btint ? BTINT : 0));
        for (uint64_t i = 0; i < 4; i++)
            assert_int_equal(branch(&l, 0x100 + i * 2, 0),
                             btint && i == 3 ? P4PMU_DS_FULL : P4PMU_DS_STORED);
        assert_int_equal(get(&l, BTS), btint ? 0x100 : 0x106);
        assert_int_equal(field(&l, 1), BTS + (btint ? 36 : 12));
        p4pmu_free(l.pmu);
    }
}

static void the_branch_threshold_interrupts(void **state)
{
    (void)state;
    struct lab l;
    lab_open(&l, 2, false);
    set_buffer(&l, 0, BTS, 1200, BTS + 24);
    lab_write(l.pmu, DEBUGCTLA, TR | BTS_ON | BTINT);
    branch(&l, 1, 2);
    assert_false(p4pmu_interrupt(l.pmu, 0));
    branch(&l, 1, 2);
    assert_true(p4pmu_interrupt(l.pmu, 0));
    p4pmu_accept(l.pmu, 0);
    p4pmu_set_lvt(l.pmu, 0, 0);
    assert_false(p4pmu_interrupt(l.pmu, 0)); /* asked for once, not a level */
    branch(&l, 1, 2);
    assert_true(p4pmu_interrupt(l.pmu, 0));
    p4pmu_free(l.pmu);
}

static void only_tr_and_bts_together_store_and_the_filters_hold_back(void **state)
{
    (void)state;
    for (unsigned ctl = 0; ctl < 0x80; ctl++)
        for (unsigned cpl = 0; cpl < 4; cpl += 3) {
            struct lab l;
            lab_open(&l, 3, false);
            lab_write(l.pmu, DEBUGCTLA, ctl);
            bool off = ctl >> (cpl ? 6 : 5) & 1;
            bool stores = (ctl & (TR | BTS_ON)) == (TR | BTS_ON);
            struct p4pmu_branch b = {.from = 1, .to = 2, .cpl = cpl};
            assert_int_equal(p4pmu_branches_wanted(l.pmu, 0), stores || (ctl & LBR));
            assert_int_equal(p4pmu_branch(l.pmu, 0, &b),
                             stores && !off ? P4PMU_DS_STORED : P4PMU_DS_NOTHING);
            p4pmu_free(l.pmu);
        }
}

static void a_missing_page_stops_recording_and_nothing_is_written(void **state)
{
    (void)state;
    for (int page = 1; page < 3; page++) { /* the management area, the buffer */
        struct lab l;
        lab_open(&l, 2, false);
        l.memory.missing[page] = true;
        lab_write(l.pmu, DEBUGCTLA, TR | BTS_ON);
        assert_int_equal(branch(&l, 1, 2), P4PMU_DS_FAULT);
        assert_int_equal(lab_read(l.pmu, MCG_MISC), 1);
        l.memory.missing[page] = false;
        assert_int_equal(branch(&l, 1, 2), P4PMU_DS_NOTHING);
        assert_int_equal(l.memory.writes, 0);
        lab_write(l.pmu, MCG_MISC, 0);
        assert_int_equal(branch(&l, 1, 2), P4PMU_DS_STORED);
        p4pmu_free(l.pmu);
    }
}

static void recording_pauses_while_suspended_and_ends_with_init(void **state)
{
    (void)state;
    struct lab l;
    lab_open(&l, 2, false);
    lab_write(l.pmu, DEBUGCTLA, TR | BTS_ON);
    p4pmu_ds_suspend(l.pmu, 0, true);
    assert_int_equal(branch(&l, 1, 2), P4PMU_DS_NOTHING);
    p4pmu_ds_suspend(l.pmu, 0, false);
    assert_int_equal(branch(&l, 1, 2), P4PMU_DS_STORED);
    p4pmu_init(l.pmu, 0);
    assert_int_equal(branch(&l, 1, 2), P4PMU_DS_NOTHING);
    assert_int_equal(lab_read(l.pmu, DS_AREA), 0);
    p4pmu_free(l.pmu);
}

static void the_branch_stack_has_four_records_before_model_3_and_sixteen_after(void **state)
{
    (void)state;
    for (unsigned model = 2; model < 5; model++) {
        struct lab l;
        lab_open(&l, model, false);
        unsigned depth = model <= 2 ? 4 : 16;
        lab_write(l.pmu, DEBUGCTLA, LBR);
        for (uint64_t i = 0; i < depth + 2; i++)
            branch(&l, 0x1000 + i, 0x2000 + i);
        assert_int_equal(lab_read(l.pmu, 0x1DA), 2);
        if (model <= 2) {
            assert_int_equal(lab_read(l.pmu, 0x1DB + 2), UINT64_C(0x200500001005));
            assert_int_equal(lab_read(l.pmu, 0x1DB + 3), UINT64_C(0x200200001002));
        } else {
            assert_int_equal(lab_read(l.pmu, 0x680 + 2), 0x1011);
            assert_int_equal(lab_read(l.pmu, 0x6C0 + 2), 0x2011);
            assert_int_equal(lab_read(l.pmu, 0x680 + 3), 0x1002);
        }
        p4pmu_free(l.pmu);
    }
}

static void an_exception_saves_the_last_branch_and_a_debug_exception_stops_recording(void **state)
{
    (void)state;
    for (unsigned model = 2; model < 4; model++) {
        struct lab l;
        lab_open(&l, model, false);
        lab_write(l.pmu, DEBUGCTLA, LBR | TR);
        branch(&l, 0x10, 0x20);
        struct p4pmu_branch fault = {
            .from = 0x24, .to = 0x9000, .kind = P4PMU_INTERRUPT_OR_EXCEPTION};
        p4pmu_branch(l.pmu, 0, &fault);
        assert_int_equal(lab_read(l.pmu, 0x1D7), 0x10);
        assert_int_equal(lab_read(l.pmu, 0x1D8), 0x20);
        assert_int_equal(lab_read(l.pmu, DEBUGCTLA), LBR | TR);
        fault.kind = P4PMU_DEBUG_EXCEPTION;
        p4pmu_branch(l.pmu, 0, &fault);
        assert_int_equal(lab_read(l.pmu, 0x1D7), 0x24);
        assert_int_equal(lab_read(l.pmu, DEBUGCTLA), 0);
        p4pmu_free(l.pmu);
    }
}

/* ---- PEBS ---- */

static const unsigned USER = P4PMU_WHO(0, 3);

static void pebs_on(struct lab *l, unsigned lp)
{
    enum p4pmu_escr escr = lp ? P4PMU_ESCR_CRU3 : P4PMU_ESCR_CRU2;
    lab_set_escr(l->pmu, escr, lab_escr(P4PMU_EV_replay_event, 1, lp ? 0x3 : 0xC));
    lab_listen(l->pmu, 16 + lp, escr, 0);
    lab_write(l->pmu, PEBS_ENABLE, 0x01000001 | 1u << (25 + lp));
    lab_write(l->pmu, 0x310 + lp, P4PMU_COUNTER_MASK - 4);
}

/* N uops retire, one in a clock; each that takes the assist stores its number in EIP. Gives their
 * sum. */
static uint64_t retire(struct lab *l, unsigned who, unsigned n, enum p4pmu_ds *last)
{
    uint64_t sum = 0;
    for (unsigned i = 1; i <= n; i++) {
        p4pmu_post(l->pmu, P4PMU_EV_replay_event, 1, who, 1);
        if (p4pmu_pebs_wants(l->pmu, P4PMU_EV_replay_event, 1, who)) {
            struct p4pmu_pebs_registers r;
            for (unsigned k = 0; k < P4PMU_PEBS_REGISTERS; k++)
                r.value[k] = k == 1 ? i : 0x7000 + k;
            *last = p4pmu_pebs_store(l->pmu, who >> 2, &r);
            sum += i;
        }
        p4pmu_clocks(l->pmu, 1);
    }
    return sum;
}

static void pebs_stores_the_uop_after_the_overflow_and_reloads(void **state)
{
    (void)state;
    for (unsigned model = 2; model < 4; model++) {
        struct lab l;
        enum p4pmu_ds last = P4PMU_DS_NOTHING;
        lab_open(&l, model, false);
        pebs_on(&l, 0);
        /* preset -5: five counts to the overflow, the sixth uop is stored; then every fifth */
        assert_int_equal(retire(&l, USER, 17, &last), 6 + 11 + 16);
        assert_int_equal(last, P4PMU_DS_STORED);
        unsigned registers = model >= 3 ? 18 : 10;
        for (unsigned record = 0; record < 3; record++)
            for (unsigned k = 0; k < registers; k++)
                assert_int_equal(get(&l, PEBS + (record * registers + k) * l.word),
                                 k == 1 ? 6 + 5 * record : 0x7000 + k);
        assert_int_equal(field(&l, 5), PEBS + 3 * registers * l.word);
        assert_int_equal(lab_counter(l.pmu, 16), P4PMU_COUNTER_MASK - 4 + 2);
        p4pmu_free(l.pmu);
    }
}

static void each_logical_processor_has_its_pebs_counter(void **state)
{
    (void)state;
    for (unsigned lp = 0; lp < 2; lp++) {
        struct lab l;
        enum p4pmu_ds last = P4PMU_DS_NOTHING;
        lab_open(&l, 2, true);
        p4pmu_wrmsr(l.pmu, lp, DS_AREA, AREA, NULL);
        pebs_on(&l, lp);
        assert_int_equal(retire(&l, P4PMU_WHO(lp ^ 1, 3), 20, &last), 0);
        assert_int_equal(retire(&l, P4PMU_WHO(lp, 3), 7, &last), 6);
        p4pmu_free(l.pmu);
    }
}

static void pebs_interrupts_at_its_threshold_and_stops_at_the_end(void **state)
{
    (void)state;
    struct lab l;
    enum p4pmu_ds last = P4PMU_DS_NOTHING;
    lab_open(&l, 2, false);
    set_buffer(&l, 4, PEBS, 3 * 40, PEBS + 2 * 40);
    pebs_on(&l, 0);
    retire(&l, USER, 6, &last);
    assert_false(p4pmu_interrupt(l.pmu, 0));
    retire(&l, USER, 5, &last);
    assert_true(p4pmu_interrupt(l.pmu, 0));
    retire(&l, USER, 5, &last);
    assert_int_equal(last, P4PMU_DS_STORED);
    retire(&l, USER, 5, &last);
    assert_int_equal(last, P4PMU_DS_FULL);
    assert_int_equal(field(&l, 5), PEBS + 120);
    assert_int_equal(get(&l, PEBS + 120), 0);
    p4pmu_free(l.pmu);
}

static void pebs_needs_a_tagged_event_its_counter_and_its_enable(void **state)
{
    (void)state;
    struct lab l;
    enum p4pmu_ds last = P4PMU_DS_NOTHING;
    lab_open(&l, 2, false);
    pebs_on(&l, 0);
    lab_write(l.pmu, PEBS_ENABLE, 0x01000001);
    assert_int_equal(retire(&l, USER, 20, &last), 0);
    pebs_on(&l, 0);
    lab_set_escr(l.pmu, P4PMU_ESCR_CRU2, lab_escr(P4PMU_EV_branch_retired, 0xF, USR_OS));
    p4pmu_post(l.pmu, P4PMU_EV_branch_retired, 1, USER, 15);
    p4pmu_clocks(l.pmu, 1);
    assert_false(p4pmu_pebs_wants(l.pmu, P4PMU_EV_branch_retired, 1, USER));
    p4pmu_free(l.pmu);
}

/* The overflow may come from standing facts inside a skip, again and again, with OVF left at 1. */
static void pebs_waits_again_after_each_overflow_within_skips(void **state)
{
    (void)state;
    struct lab l;
    static const struct p4pmu_pebs_registers registers;
    lab_open(&l, 2, false);
    pebs_on(&l, 0);
    p4pmu_level(l.pmu, P4PMU_EV_replay_event, 1, USER, 1);
    for (int i = 0; i < 3; i++) {
        uint64_t quiet = p4pmu_quiet_clocks(l.pmu);
        assert_true(quiet <= 5);
        p4pmu_clocks(l.pmu, 4);
        assert_false(p4pmu_pebs_wants(l.pmu, P4PMU_EV_replay_event, 1, USER));
        p4pmu_clocks(l.pmu, 1);
        assert_true(p4pmu_pebs_wants(l.pmu, P4PMU_EV_replay_event, 1, USER));
        assert_int_equal(p4pmu_pebs_store(l.pmu, 0, &registers), P4PMU_DS_STORED);
    }
    p4pmu_free(l.pmu);
}

static void a_part_without_bts_and_pebs_says_so_and_stores_nothing(void **state)
{
    (void)state;
    struct lab l;
    enum p4pmu_ds last = P4PMU_DS_NOTHING;
    lab_open(&l, 2, false);
    p4pmu_free(l.pmu);
    l.pmu = p4pmu_new(&(struct p4pmu_config){.model = 2, .no_bts = true, .no_pebs = true});
    p4pmu_memory(l.pmu, &(struct p4pmu_memory){&l.memory, read_memory, write_memory});
    lab_write(l.pmu, DS_AREA, AREA);
    assert_int_equal(lab_read(l.pmu, 0x1A0), 0x1881);
    lab_write(l.pmu, DEBUGCTLA, TR | BTS_ON);
    assert_int_equal(branch(&l, 1, 2), P4PMU_DS_NOTHING);
    pebs_on(&l, 0);
    assert_int_equal(retire(&l, USER, 20, &last), 0);
    assert_true(p4pmu_replay_tag(l.pmu, P4PMU_REPLAY_L1_MISS, false, USER) == false);
    lab_write(l.pmu, 0x3F2, 1); /* replay tagging needs the register, not PEBS */
    assert_true(p4pmu_replay_tag(l.pmu, P4PMU_REPLAY_L1_MISS, false, USER));
    p4pmu_free(l.pmu);
}

static void a_pebs_page_fault_stops_pebs(void **state)
{
    (void)state;
    struct lab l;
    enum p4pmu_ds last = P4PMU_DS_NOTHING;
    lab_open(&l, 2, false);
    l.memory.missing[3] = true;
    pebs_on(&l, 0);
    retire(&l, USER, 30, &last);
    assert_int_equal(last, P4PMU_DS_FAULT);
    assert_int_equal(lab_read(l.pmu, MCG_MISC), 1);
    assert_int_equal(l.memory.writes, 0);
    p4pmu_free(l.pmu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_branch_record_has_from_to_and_the_predicted_bit),
        cmocka_unit_test(without_btint_the_branch_buffer_wraps_and_with_it_records_are_lost),
        cmocka_unit_test(the_branch_threshold_interrupts),
        cmocka_unit_test(only_tr_and_bts_together_store_and_the_filters_hold_back),
        cmocka_unit_test(a_missing_page_stops_recording_and_nothing_is_written),
        cmocka_unit_test(recording_pauses_while_suspended_and_ends_with_init),
        cmocka_unit_test(the_branch_stack_has_four_records_before_model_3_and_sixteen_after),
        cmocka_unit_test(an_exception_saves_the_last_branch_and_a_debug_exception_stops_recording),
        cmocka_unit_test(pebs_stores_the_uop_after_the_overflow_and_reloads),
        cmocka_unit_test(each_logical_processor_has_its_pebs_counter),
        cmocka_unit_test(pebs_interrupts_at_its_threshold_and_stops_at_the_end),
        cmocka_unit_test(pebs_needs_a_tagged_event_its_counter_and_its_enable),
        cmocka_unit_test(pebs_waits_again_after_each_overflow_within_skips),
        cmocka_unit_test(a_part_without_bts_and_pebs_says_so_and_stores_nothing),
        cmocka_unit_test(a_pebs_page_fault_stops_pebs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
