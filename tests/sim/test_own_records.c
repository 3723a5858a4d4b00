/*
 * A DS area in a program's own memory: records with the registers go there, the assist's accesses
 * are there, a page that is missing ends the run, and a process that has ended is no missing page.
 */
#include "sampling_lab.h"

enum { AREA = 0x500000, BUFFER = 0x500100, BYTES = 8192, RECORD_BYTES = 40, PERIOD = 20 };

/* The program's memory: BYTES from AREA on, while its process is there. */
static uint8_t memory[BYTES];
static bool ended;

static size_t memory_at(struct trace_source *source, uint16_t process, uint64_t address,
                        void *bytes, size_t count)
{
    (void)source;
    if (process != 0 || address < AREA || address + count > AREA + BYTES)
        return 0;
    memcpy(bytes, memory + (address - AREA), count);
    return count;
}

static enum trace_store store(struct trace_source *source, uint16_t process, uint64_t address,
                              const void *bytes, size_t count)
{
    (void)source;
    if (ended)
        return TRACE_NO_PROCESS;
    if (process != 0 || (count && (address < AREA || address + count > AREA + BYTES)))
        return TRACE_NO_PAGE;
    if (count)
        memcpy(memory + (address - AREA), bytes, count);
    return TRACE_STORED;
}

static uint32_t word(size_t offset)
{
    uint32_t value;
    memcpy(&value, memory + offset, sizeof value);
    return value;
}

/* The program's own set-up, as its WRMSRs do it: the last is heard of. */
static struct lab *own_area(uint32_t records)
{
    const uint32_t end = BUFFER + records * RECORD_BYTES;
    const uint32_t fields[8] = {0, 0, 0, 0, BUFFER, BUFFER, end, end};
    const uint64_t reset = (0 - (uint64_t)PERIOD) & P4PMU_COUNTER_MASK;
    static struct trace_source_ops ops;
    struct lab *l = lab_new(ITERATIONS);
    memset(memory, 0, sizeof memory);
    memcpy(memory, fields, sizeof fields);
    memcpy(memory + sizeof fields, &reset, sizeof reset);
    ended = false;
    ops = *l->source.source.ops;
    ops.memory_at = memory_at;
    ops.store = store;
    l->source.source.ops = &ops;
    count_misses(l);
    write_msr(l, 0x310, reset);
    write_msr(l, DS_AREA, AREA);
    struct trace_register_access enable = {
        .what = TRACE_WRMSR, .index = PEBS_ENABLE, .value = 0x03000001};
    assert_true(l->source.source.registers(l->source.source.registers_context, &enable));
    return l;
}

static void the_records_are_in_the_programs_memory(void **state)
{
    (void)state;
    struct lab *l = own_area(100);
    uint32_t elsewhere = 0;
    finish(l);
    assert_int_equal(l->totals.samples, 0); /* the profiler's are none */
    uint32_t count = (word(20) - BUFFER) / RECORD_BYTES;
    assert_int_equal(count, 100);
    for (uint32_t i = 0; i < count; i++) {
        size_t at = BUFFER - AREA + (size_t)i * RECORD_BYTES;
        elsewhere += word(at + 4) != MISSES_AT;
        if (word(at + 4) == MISSES_AT)
            assert_int_equal((word(at + 8) - 0x100000) % 8192, 0); /* EAX */
        assert_int_equal(word(at), 0x202);
    }
    assert_in_range(elsewhere, 0, 5);
    for (size_t i = BUFFER - AREA + 100u * RECORD_BYTES; i < BYTES; i++)
        assert_int_equal(memory[i], 0); /* nothing behind its end */
    assert_true(l->stats.assist_clocks >= 100u * northwood.params.assist_clocks);
    lab_free(l);
}

static void a_page_that_is_not_mapped_is_missing(void **state)
{
    (void)state;
    struct lab *l = own_area(BYTES / RECORD_BYTES + 1); /* the last ones are behind the memory */
    assert_int_equal(sim_bench_run(l->bench, &(struct sim_run_options){0}), SIM_STOP_MACHINE);
    assert_non_null(strstr(sim_bench_report(l->bench), "that of 0x501f"));
    assert_int_equal(sim_bench_sampling_totals(l->bench)->faults, 1);
    lab_free(l);
}

static void what_is_in_flight_when_the_process_ends_stores_nothing(void **state)
{
    (void)state;
    struct lab *l = own_area(100);
    ended = true;
    finish(l);
    assert_int_equal(word(20), BUFFER);
    assert_int_equal(l->totals.faults, 0);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_records_are_in_the_programs_memory),
        cmocka_unit_test(a_page_that_is_not_mapped_is_missing),
        cmocka_unit_test(what_is_in_flight_when_the_process_ends_stores_nothing),
    };
    return cmocka_run_group_tests(tests, northwood_load, northwood_free);
}
