/*
 * Interrupts and page faults of the machine on hand-made streams: taken at boundaries, handlers run
 * at CPL 0, what was thrown out comes again and nothing is lost or done twice; skipping clocks
 * changes nothing.
 */
#include "northwood.h"
#include "stream.h"

#define HANDLER 0xC0100000u
enum { TIMER_VECTOR = 0x31, HANDLER_INSTRUCTIONS = 3 };

/* push %eax; pop %eax; iret */
static const struct {
    const char *bytes;
    uint8_t length;
} handler[HANDLER_INSTRUCTIONS] = {{"\x50", 1}, {"\x58", 1}, {"\xcf", 1}};

struct bench {
    struct stream *stream;
    struct nb_machine *machine;
    unsigned at; /* row of the handler, 0: none runs */
    bool runs;
    uint64_t period, next; /* of the timer; 0: none */
    uint64_t taken, faults_taken;
    uint64_t resume;
    uint64_t faulting; /* every so many instructions one has two page faults; 0: none */
    uint64_t given;
};

static enum nb_input_result next(void *context, struct nb_instruction *out)
{
    struct bench *b = context;
    if (!b->runs) {
        enum nb_input_result result = stream_next(b->stream, out);
        out->serial = b->given++;
        if (b->faulting && b->given % b->faulting == 0)
            out->faults = 2;
        return result;
    }
    uint64_t ip = HANDLER + b->at;
    *out = (struct nb_instruction){.repetitions = 1,
                                   .ip = ip,
                                   .next_ip = ip + 1,
                                   .process = NB_PROCESS_KERNEL,
                                   .flags = NB_INSTRUCTION_KERNEL,
                                   .length = handler[b->at].length,
                                   .access_count = 1};
    out->access[0] =
        (struct nb_access){.address = 0xC8000000, .size = b->at == 2 ? 12 : 4, .write = b->at == 0};
    if (++b->at == HANDLER_INSTRUCTIONS) {
        out->flags |= NB_INSTRUCTION_HANDLER_END;
        out->next_ip = b->resume;
        b->runs = false;
    }
    return NB_INPUT_OK;
}

static size_t code_at(void *context, uint16_t process, uint64_t ip, uint8_t bytes[15])
{
    struct bench *b = context;
    if (process != NB_PROCESS_KERNEL)
        return stream_code_at(b->stream, process, ip, bytes);
    size_t n = 0;
    for (uint64_t i = ip - HANDLER; i < HANDLER_INSTRUCTIONS; i++)
        bytes[n++] = (uint8_t)handler[i].bytes[0];
    return n;
}

static uint64_t interrupt(void *context, const struct nb_interrupt *taken)
{
    struct bench *b = context;
    assert_false(b->runs);
    b->runs = true;
    b->at = 0;
    b->resume = taken->ip;
    if (taken->kind == NB_PAGE_FAULT) {
        assert_int_equal(taken->vector, NB_VECTOR_PAGE_FAULT);
        b->faults_taken++;
        return HANDLER;
    }
    assert_int_equal(taken->vector, TIMER_VECTOR);
    b->taken++;
    b->next += b->period;
    assert_true(nb_interrupt_request(b->machine, 0, TIMER_VECTOR, b->next));
    return HANDLER;
}

enum { USER, KERNEL, BRANCHES, COUNTS };

struct result {
    struct nb_stats stats;
    uint64_t count[COUNTS], taken, faults;
};

static struct result run(struct stream *s, uint64_t period, uint64_t faulting, bool each_clock)
{
    static const uint32_t escrs[COUNTS][4] = {
        {0x3B8, 0x04000204, 12, 0x00039000},  /* instr_retired NBOGUSNTAG, user */
        {0x3B9, 0x04000208, 14, 0x00039000},  /* the same, kernel */
        {0x3CC, 0x0C001E0C, 13, 0x0003B000}}; /* branch_retired, all */
    struct bench b = {.stream = s, .period = period, .next = period, .faulting = faulting};
    struct result result;
    struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){.model = northwood.params.family_model});
    struct nb_input input = {
        .context = &b, .next = next, .code_at = code_at, .interrupt = interrupt};
    for (unsigned i = 0; i < COUNTS; i++) {
        assert_int_equal(p4pmu_wrmsr(pmu, 0, escrs[i][0], escrs[i][1], NULL), P4PMU_OK);
        assert_int_equal(p4pmu_wrmsr(pmu, 0, 0x360 + escrs[i][2], escrs[i][3], NULL), P4PMU_OK);
    }
    b.machine = nb_new(&northwood.params, pmu, &input, 1);
    if (period)
        assert_true(nb_interrupt_request(b.machine, 0, TIMER_VECTOR, period));
    nb_step_each_clock(b.machine, each_clock);
    enum nb_stop stop = nb_run(b.machine, UINT64_MAX);
    if (stop != NB_STOP_END)
        fail_msg("stopped with %d: %s", stop, nb_report(b.machine));
    result.stats = *nb_stats(b.machine);
    for (unsigned i = 0; i < COUNTS; i++)
        p4pmu_rdmsr(pmu, 0, 0x300 + escrs[i][2], &result.count[i]);
    result.taken = b.taken;
    result.faults = b.faults_taken;
    nb_free(b.machine);
    p4pmu_free(pmu);
    return result;
}

static bool sometimes(const struct stream *s, uint64_t iteration, uint32_t item)
{
    (void)s;
    return item == 2 && (iteration * iteration >> 2 & 1);
}

enum { ITEMS = 7, ITERATIONS = 400 };

/* Loads that miss, stores, a branch that is hard to predict. */
static struct stream *body(void)
{
    struct stream *s = calloc(1, sizeof *s);
    stream_add(s, (struct item)READ("\x8b\x03", 4, 0x100000, 4160, 0));
    stream_add(s, (struct item)WRITE("\x89\x07", 4, 0x300000, 64, 0x4000));
    stream_add(s, (struct item)PLAIN("\x74\x01")); /* jz over the nop */
    stream_add(s, (struct item)PLAIN("\x90"));
    stream_add(s, (struct item)PLAIN("\x01\xd8"));
    s->taken = sometimes;
    stream_close(s, ITERATIONS);
    return s;
}

static void an_interrupt_loses_and_repeats_no_instruction(void **state)
{
    (void)state;
    struct stream *s = body();
    struct result quiet = run(s, 0, 0, false);
    free(s);
    s = body();
    struct result r = run(s, 911, 0, false);
    free(s);
    assert_true(r.taken > 20);
    assert_int_equal(r.stats.interrupts, r.taken);
    assert_int_equal(r.count[USER], quiet.count[USER]);
    assert_int_equal(r.count[KERNEL], r.taken * HANDLER_INSTRUCTIONS);
    assert_int_equal(quiet.count[KERNEL], 0);
    /* the entry and the IRET are branches */
    assert_int_equal(r.count[BRANCHES], quiet.count[BRANCHES] + 2 * r.taken);
    assert_int_equal(r.stats.instructions,
                     quiet.stats.instructions + r.taken * HANDLER_INSTRUCTIONS);
    assert_true(r.stats.handler_clocks >= r.taken * 644);
    assert_true(r.stats.clocks > quiet.stats.clocks + r.stats.handler_clocks / 2);
}

static void an_interrupt_comes_between_two_elements_of_a_string_instruction(void **state)
{
    (void)state;
    struct stream *s = calloc(1, sizeof *s);
    struct result r;
    stream_add(s, (struct item){"\xf3\xab", 2, 1, true, 4, 0x200000, 0, 0}); /* rep stosl */
    s->repetitions = 20000;
    stream_close(s, 1);
    r = run(s, 5003, 0, false);
    free(s);
    assert_true(r.taken > 4);
    /* each continuation counts as an instruction that starts (SDM, instr_retired) */
    assert_in_range(r.count[USER], 3 + r.taken - 2, 3 + r.taken);
    assert_int_equal(r.stats.instructions, 3 + HANDLER_INSTRUCTIONS * r.taken);
    assert_int_equal(r.stats.stores, 20000 + r.taken); /* one push each */
}

static void a_page_fault_starts_its_instruction_twice(void **state)
{
    (void)state;
    struct stream *s = body();
    struct result quiet = run(s, 0, 0, false);
    free(s);
    s = body();
    struct result r = run(s, 0, 50, false);
    free(s);
    assert_int_equal(r.faults, 2 * (quiet.stats.instructions / 50));
    assert_int_equal(r.stats.page_faults, r.faults);
    assert_int_equal(r.count[USER], quiet.count[USER] + r.faults);
    assert_int_equal(r.count[KERNEL], r.faults * HANDLER_INSTRUCTIONS);
    assert_int_equal(r.stats.instructions,
                     quiet.stats.instructions + r.faults * HANDLER_INSTRUCTIONS);
}

static void stepping_each_clock_gives_the_same_interrupts(void **state)
{
    (void)state;
    for (uint64_t period = 700; period < 1500; period += 190) {
        struct stream *a = body(), *b = body();
        struct result skipping = run(a, period, 37, false), stepping = run(b, period, 37, true);
        stepping.stats.skipped_clocks = skipping.stats.skipped_clocks;
        assert_memory_equal(&skipping, &stepping, sizeof skipping);
        free(a);
        free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interrupt_loses_and_repeats_no_instruction),
        cmocka_unit_test(an_interrupt_comes_between_two_elements_of_a_string_instruction),
        cmocka_unit_test(a_page_fault_starts_its_instruction_twice),
        cmocka_unit_test(stepping_each_clock_gives_the_same_interrupts),
    };
    return cmocka_run_group_tests(tests, northwood_load, northwood_free);
}
