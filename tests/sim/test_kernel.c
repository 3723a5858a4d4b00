/*
 * The model's operating system: its stub is the code it says, and system calls, page faults and
 * timer ticks execute it a known number of times at CPL 0.
 */
#include "../netburst/northwood.h"
#include "kernel.h"
#include "stream_source.h"

#include <capstone/capstone.h>
#include <stdio.h>

enum { USER, OS, COUNTERS };

struct result {
    uint64_t count[COUNTERS], branches;
    struct nb_stats stats;
};

static void count(struct p4pmu *pmu, uint32_t escr, uint32_t value, unsigned counter)
{
    assert_int_equal(p4pmu_wrmsr(pmu, 0, escr, value, NULL), P4PMU_OK);
    assert_int_equal(p4pmu_wrmsr(pmu, 0, 0x360 + counter, 0x00039000, NULL), P4PMU_OK);
}

static struct result run(struct stream *stream, uint64_t calls,
                         const struct sim_kernel_options *options)
{
    char error[512];
    struct stream_source source;
    struct result result;
    stream_source_init(&source, stream);
    source.calls = calls;
    struct sim_bench *bench = sim_bench_new(&northwood, &source.source, error);
    assert_non_null(bench);
    if (options)
        sim_bench_kernel(bench, options);
    count(sim_bench_pmu(bench), 0x3B8, 0x04000204, 12); /* instr_retired NBOGUSNTAG, user */
    count(sim_bench_pmu(bench), 0x3B9, 0x04000208, 14); /* the same, kernel */
    enum sim_stop stop = sim_bench_run(bench, &(struct sim_run_options){0});
    if (stop != SIM_STOP_END)
        fail_msg("stopped: %s", sim_bench_report(bench));
    result.stats = *sim_bench_stats(bench);
    p4pmu_rdmsr(sim_bench_pmu(bench), 0, 0x30C, &result.count[USER]);
    p4pmu_rdmsr(sim_bench_pmu(bench), 0, 0x30E, &result.count[OS]);
    sim_bench_free(bench);
    free(stream);
    return result;
}

/* Rows of a routine that runs through from its beginning to its IRET, calls included. */
static unsigned rows_of(enum kernel_routine routine)
{
    struct kernel kernel = {0};
    struct nb_instruction in;
    bool sync;
    unsigned n = 0;
    kernel_enter(&kernel, routine, 0, 0x1000);
    while (kernel_next(&kernel, &in, &sync))
        n += !sync;
    return n;
}

/* ---- the stub ----------------------------------------------------------------------------------
 */

static void each_row_is_one_instruction_and_rows_lie_one_behind_the_other(void **state)
{
    (void)state;
    size_t count;
    csh capstone;
    cs_insn *insn;
    const struct kernel_row *rows = kernel_rows(&count);
    assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_32, &capstone), CS_ERR_OK);
    uint64_t address = KERNEL_CODE;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(rows[i].address, address);
        size_t n =
            cs_disasm(capstone, (const uint8_t *)rows[i].bytes, rows[i].length, address, 0, &insn);
        if (n != 1 || insn->size != rows[i].length)
            fail_msg("row %zu, %s: its bytes are not one instruction", i, rows[i].text);
        size_t name = strcspn(rows[i].text, " ");
        bool suffixed = rows[i].text[name - 1] == 'l' || rows[i].text[name - 1] == 'b';
        if (strncmp(insn->mnemonic, rows[i].text, name) != 0 &&
            !(suffixed && strncmp(insn->mnemonic, rows[i].text, name - 1) == 0) &&
            strcmp(insn->mnemonic, "iretd") != 0 && strcmp(insn->mnemonic, "pushal") != 0 &&
            strcmp(insn->mnemonic, "popal") != 0)
            fail_msg("row %zu is %s and its bytes are %s", i, rows[i].text, insn->mnemonic);
        cs_free(insn, n);
        address += rows[i].length;
    }
    cs_close(&capstone);
}

static void jumps_lead_to_the_routine_they_name(void **state)
{
    (void)state;
    size_t count;
    const struct kernel_row *rows = kernel_rows(&count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].text[0] != 'j')
            continue;
        int64_t target = (int64_t)rows[i].address + 2 + (signed char)rows[i].bytes[1];
        const char *name = kernel_routine_name((enum kernel_routine)rows[i].target);
        assert_string_equal(strchr(rows[i].text, ' ') + 1, name);
        assert_int_equal(target,
                         rows[kernel_routine_row((enum kernel_routine)rows[i].target)].address);
    }
}

static void code_bytes_are_given_across_rows(void **state)
{
    (void)state;
    size_t count;
    uint8_t bytes[15];
    const struct kernel_row *rows = kernel_rows(&count);
    assert_int_equal(kernel_code_at(KERNEL_CODE - 1, bytes), 0);
    assert_int_equal(kernel_code_at(rows[count - 1].address, bytes), 1);
    assert_int_equal(kernel_code_at(rows[count - 1].address + 1, bytes), 0);
    assert_int_equal(kernel_code_at(KERNEL_CODE, bytes), 15);
    assert_int_equal(bytes[0], 0x50);
    assert_int_equal(bytes[1], 0xFC);
}

static void the_stack_is_back_where_it_was_at_the_iret(void **state)
{
    (void)state;
    for (unsigned routine = 0; routine < KERNEL_ROUTINES; routine++) {
        struct kernel kernel = {0};
        struct nb_instruction in = {0};
        bool sync;
        if (routine != KERNEL_SYSTEM_CALL && routine != KERNEL_PAGE_FAULT &&
            routine != KERNEL_TIMER && routine != KERNEL_PMI)
            continue;
        uint32_t top = kernel_enter(&kernel, (enum kernel_routine)routine, 3, 0x1000)->esp;
        if (routine == KERNEL_PAGE_FAULT) /* the error code, which the routine drops */
            top += 4;
        while (kernel_next(&kernel, &in, &sync))
            continue;
        assert_int_equal(in.access_count, 1); /* the IRET reads its frame */
        assert_int_equal(in.access[0].address, top);
        assert_int_equal(in.next_ip, 0x1000);
    }
}

/* ---- running it --------------------------------------------------------------------------------
 */

enum { ITERATIONS = 100, CALL_ITEM = 1 };

static struct stream *calling(void)
{
    struct stream *s = calloc(1, sizeof *s);
    stream_add(s, (struct item)PLAIN("\x01\xd8"));
    stream_add(s, (struct item)PLAIN("\xcd\x80"));
    stream_close(s, ITERATIONS);
    return s;
}

static void without_a_kernel_nothing_runs_at_cpl_0(void **state)
{
    (void)state;
    struct result r = run(calling(), 1u << CALL_ITEM, NULL);
    assert_int_equal(r.count[USER], 4 * ITERATIONS);
    assert_int_equal(r.count[OS], 0);
    assert_int_equal(r.stats.instructions, 4 * ITERATIONS);
}

static void a_system_call_executes_its_routine_once(void **state)
{
    (void)state;
    unsigned call = rows_of(KERNEL_SYSTEM_CALL), fault = rows_of(KERNEL_PAGE_FAULT);
    struct result r = run(calling(), 1u << CALL_ITEM, &(struct sim_kernel_options){.on = true});
    assert_int_equal(r.stats.page_faults, 1); /* the code's page */
    assert_int_equal(r.count[OS], ITERATIONS * call + fault);
    assert_int_equal(r.count[USER], 4 * ITERATIONS + 1); /* the fault's instruction starts twice */
    assert_int_equal(r.stats.interrupts, 0);
}

static void each_page_faults_once(void **state)
{
    (void)state;
    enum { PAGES = 37 };
    struct stream *s = calloc(1, sizeof *s);
    stream_add(s, (struct item)READ("\x8b\x03", 4, 0x100000, 512, PAGES * 4096));
    stream_close(s, 16 * PAGES);
    struct result r = run(s, 0, &(struct sim_kernel_options){.on = true});
    assert_int_equal(r.stats.page_faults, PAGES + 1);
    assert_int_equal(r.count[OS], (PAGES + 1) * rows_of(KERNEL_PAGE_FAULT));
    assert_int_equal(r.count[USER], 16 * PAGES * 3 + PAGES + 1);
}

static void an_access_over_two_new_pages_faults_twice(void **state)
{
    (void)state;
    struct stream *s = calloc(1, sizeof *s);
    stream_add(s, (struct item)READ("\x8b\x03", 4, 0x101FFE, 0, 0));
    stream_close(s, 10);
    struct result r = run(s, 0, &(struct sim_kernel_options){.on = true});
    assert_int_equal(r.stats.page_faults, 3);
}

static void the_timer_ticks_at_its_rate(void **state)
{
    (void)state;
    enum { HZ = 100000 }; /* 24000 clocks at 2400 MHz */
    struct stream *s = calloc(1, sizeof *s);
    for (unsigned i = 0; i < 50; i++)
        stream_add(s, (struct item)PLAIN("\x0f\xaf\xc3")); /* imul: 14 clocks each */
    stream_close(s, 1000);
    struct result r = run(s, 0, &(struct sim_kernel_options){.on = true, .timer_hz = HZ});
    assert_int_equal(r.stats.interrupts, r.stats.clocks / 24000);
    assert_int_equal(r.count[OS], r.stats.interrupts * rows_of(KERNEL_TIMER) +
                                      r.stats.page_faults * rows_of(KERNEL_PAGE_FAULT));
    assert_int_equal(r.count[USER], 52 * 1000 + r.stats.page_faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_is_one_instruction_and_rows_lie_one_behind_the_other),
        cmocka_unit_test(jumps_lead_to_the_routine_they_name),
        cmocka_unit_test(code_bytes_are_given_across_rows),
        cmocka_unit_test(the_stack_is_back_where_it_was_at_the_iret),
        cmocka_unit_test(without_a_kernel_nothing_runs_at_cpl_0),
        cmocka_unit_test(a_system_call_executes_its_routine_once),
        cmocka_unit_test(each_page_faults_once),
        cmocka_unit_test(an_access_over_two_new_pages_faults_twice),
        cmocka_unit_test(the_timer_ticks_at_its_rate),
    };
    return cmocka_run_group_tests(tests, northwood_load, northwood_free);
}
