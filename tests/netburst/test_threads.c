/*
 * Two logical processors: what is shared, halved and given away, which of them is active, and whose
 * the facts are.
 */
#include "northwood.h"

#include <stdio.h>

#include "stream.h"

#define ITERATIONS 2000u

/* ESCR and CCCR of one counter. */
struct setup {
    uint32_t escr_msr, escr, counter, cccr;
};

#define NORMAL 0x00031000u /* ENABLE, ACTIVE_THREAD any; the ESCR select is added */

/* What a logical processor runs: a stream that may be idle first, and end. */
struct thread {
    struct stream *stream;
    unsigned idle; /* times it has nothing to run before it begins; UINT_MAX: it never begins */
    unsigned rest; /* the same before each iteration but the first */
    bool resting;
};

static enum nb_input_result thread_next(void *context, struct nb_instruction *out)
{
    struct thread *t = context;
    if (t->idle) {
        t->idle--;
        return NB_INPUT_IDLE;
    }
    if (!t->stream)
        return NB_INPUT_END;
    bool first_of_body = t->stream->at == 0 && t->stream->iteration;
    if (first_of_body && t->rest && !t->resting) {
        t->resting = true;
        t->idle = t->rest - 1;
        return NB_INPUT_IDLE;
    }
    t->resting = false;
    return stream_next(t->stream, out);
}

static size_t thread_code_at(void *context, uint16_t process, uint64_t ip, uint8_t bytes[15])
{
    const struct thread *t = context;
    return t->stream ? stream_code_at(t->stream, process, ip, bytes) : 0;
}

struct run {
    struct nb_stats stats, of[2];
    uint64_t counter[P4PMU_COUNTERS];
    enum nb_stop stop;
    char report[1024];
};

static struct run run_inputs(const struct nb_input *inputs, unsigned count,
                             const struct setup *setups, size_t n)
{
    struct run run = {0};
    struct p4pmu *pmu =
        p4pmu_new(&(struct p4pmu_config){.model = 2, .stepping = 9, .hyper_threading = true});
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(p4pmu_wrmsr(pmu, 0, setups[i].escr_msr, setups[i].escr, NULL), P4PMU_OK);
        assert_int_equal(p4pmu_wrmsr(pmu, 0, 0x360 + setups[i].counter, setups[i].cccr, NULL),
                         P4PMU_OK);
    }
    struct nb_machine *m = nb_new(&northwood.params, pmu, inputs, count);
    run.stop = nb_run(m, UINT64_MAX);
    run.stats = *nb_stats(m);
    for (unsigned i = 0; i < count; i++)
        run.of[i] = *nb_lp_stats(m, i);
    for (uint32_t c = 0; c < P4PMU_COUNTERS; c++)
        p4pmu_rdmsr(pmu, 0, 0x300 + c, &run.counter[c]);
    snprintf(run.report, sizeof run.report, "%s", nb_report(m));
    nb_free(m);
    p4pmu_free(pmu);
    return run;
}

/* Two threads; frees their streams. */
static struct run run_pair(struct thread a, struct thread b, const struct setup *setups, size_t n)
{
    struct thread threads[2] = {a, b};
    struct nb_input inputs[2];
    for (unsigned i = 0; i < 2; i++)
        inputs[i] = (struct nb_input){
            .context = &threads[i], .next = thread_next, .code_at = thread_code_at};
    struct run run = run_inputs(inputs, 2, setups, n);
    if (run.stop != NB_STOP_END)
        fail_msg("stop %d: %s", run.stop, run.report);
    free(a.stream);
    free(b.stream);
    return run;
}

static struct run run_alone(struct stream *s)
{
    struct nb_input input = {.context = s, .next = stream_next, .code_at = stream_code_at};
    struct run run = run_inputs(&input, 1, NULL, 0);
    assert_int_equal(run.stop, NB_STOP_END);
    free(s);
    return run;
}

static struct stream *body(const struct item *items, size_t n, uint16_t process,
                           uint64_t iterations)
{
    struct stream *s = calloc(1, sizeof *s);
    for (size_t i = 0; i < n; i++)
        stream_add(s, items[i]);
    s->process = process;
    stream_close(s, iterations);
    return s;
}

static struct stream *copies(struct item item, unsigned n, uint16_t process, uint64_t iterations)
{
    struct item items[32];
    for (unsigned i = 0; i < n; i++)
        items[i] = item;
    return body(items, n, process, iterations);
}

static const struct item add_register = PLAIN("\x01\xd8"); /* add eax, ebx: a chain */
static const struct item fp_add = PLAIN("\x0f\x58\xc1");   /* addps xmm0, xmm1: a chain */
static const struct item pause_item = PLAIN("\xf3\x90");

/* Loads, stores, slow and fast uops. */
static struct stream *mixture(uint16_t process, uint64_t iterations)
{
    const struct item items[] = {
        READ("\x8b\x03", 4, 0x100000, 64, 0x4000),
        WRITE("\x89\x03", 4, 0x200000, 32, 0x4000),
        PLAIN("\xc1\xe0\x03"),
        PLAIN("\x0f\x58\xc1"),
        PLAIN("\x01\xd8"),
        PLAIN("\xd8\xc1"),
        READ("\x8b\x03", 4, 0x300000, 4160, 0),
    };
    return body(items, sizeof items / sizeof items[0], process, iterations);
}

static void facts_belong_to_their_logical_processor(void **state)
{
    (void)state;
    static const struct setup setups[] = {
        {0x3B8, 0x0400020C, 12, NORMAL | 4 << 13}, /* instr_retired of 0 */
        {0x3B9, 0x04000203, 14, NORMAL | 4 << 13}, /* ... of 1 */
        {0x3CC, 0x0C001E0C, 13, NORMAL | 5 << 13}, /* branch_retired of 0 */
        {0x3CD, 0x0C001E03, 15, NORMAL | 5 << 13}, /* ... of 1 */
        {0x3C0, 0x12000E0C, 4, NORMAL},            /* uop_queue_writes of 0 */
        {0x3C1, 0x12000E03, 6, NORMAL},            /* ... of 1 */
    };
    struct run run = run_pair((struct thread){.stream = mixture(0, ITERATIONS)},
                              (struct thread){.stream = mixture(1, ITERATIONS / 2)}, setups, 6);
    assert_int_equal(run.counter[12], run.of[0].instructions);
    assert_int_equal(run.counter[14], run.of[1].instructions);
    assert_int_equal(run.counter[13], run.of[0].branches);
    assert_int_equal(run.counter[15], run.of[1].branches);
    assert_int_equal(run.of[0].instructions, 9 * ITERATIONS);
    assert_int_equal(run.of[1].instructions, 9 * ITERATIONS / 2);
    assert_int_equal(run.stats.instructions, run.of[0].instructions + run.of[1].instructions);
    assert_int_equal(run.stats.uops, run.of[0].uops + run.of[1].uops);
    assert_true(run.counter[4] >= run.of[0].uops);
    assert_true(run.counter[6] >= run.of[1].uops);
}

/* Runs in which one pair of modes after the other occurs: threads that begin, rest and end, LATE
 * the one that begins later. */
static struct run modes_with(unsigned late, uint32_t mask)
{
    struct setup setups[] = {
        {0x3C4, 0x0200000F | mask << 9, 4, NORMAL | 1 << 13},
        {0x3A2, 0x2600020F, 0, NORMAL | 6 << 13}, /* global_power_events of both */
    };
    struct thread threads[2] = {{.stream = mixture(0, 400)}, {.stream = mixture(1, 400)}};
    threads[late].idle = threads[late].rest = 3;
    threads[!late].rest = 1;
    return run_pair(threads[0], threads[1], setups, 2);
}

static struct run modes(uint32_t mask, uint64_t *clocks)
{
    struct run run = modes_with(0, mask), other = modes_with(1, mask);
    run.counter[4] += other.counter[4];
    run.counter[0] += other.counter[0];
    run.stats.halted_clocks += other.stats.halted_clocks;
    *clocks = run.stats.clocks + other.stats.clocks;
    return run;
}

static void every_pair_of_trace_cache_modes_occurs_and_they_add_up(void **state)
{
    (void)state;
    uint64_t sum = 0, clocks = 0;
    for (unsigned bit = 0; bit < 8; bit++) {
        uint64_t n = modes(1u << bit, &clocks).counter[4];
        if (n == 0)
            fail_msg("TC_deliver_mode bit %u does not occur", bit);
        sum += n;
    }
    struct run all = modes(0xFF, &clocks);
    assert_int_equal(sum, all.counter[4]);
    /* every clock but those in which both are halted */
    assert_true(sum <= clocks);
    assert_int_equal(all.counter[0], 2 * clocks - all.stats.halted_clocks);
}

static void one_thread_has_only_the_modes_with_an_inactive_second(void **state)
{
    (void)state;
    static const struct setup setup = {0x3C4, 0x0201B60F, 4, NORMAL | 1 << 13}; /* but DI, BI */
    struct thread t = {.stream = mixture(0, 100)};
    struct nb_input input = {.context = &t, .next = thread_next, .code_at = thread_code_at};
    struct run run = run_inputs(&input, 1, &setup, 1);
    free(t.stream);
    assert_int_equal(run.counter[4], 0);
}

/* All but the first clocks, in which the second logical processor finds that it has no work. */
static void alone_is_as_without_hyper_threading(void **state)
{
    (void)state;
    struct run one = run_alone(mixture(0, ITERATIONS));
    struct run two = run_pair((struct thread){.stream = mixture(0, ITERATIONS)},
                              (struct thread){.stream = NULL, .idle = 30}, NULL, 0);
    assert_in_range(two.stats.clocks, one.stats.clocks - 10, one.stats.clocks + 10);
    assert_int_equal(two.stats.halted_clocks > two.stats.clocks - 10, true);
    two.stats.clocks = one.stats.clocks;
    two.stats.halted_clocks = one.stats.halted_clocks;
    two.stats.skipped_clocks = one.stats.skipped_clocks;
    assert_memory_equal(&one.stats, &two.stats, sizeof one.stats);
}

/* Latency leaves room for a second thread. */
static void two_chains_take_the_time_of_one(void **state)
{
    (void)state;
    uint64_t one = run_alone(copies(fp_add, 16, 0, ITERATIONS)).stats.clocks;
    struct run two =
        run_pair((struct thread){.stream = copies(fp_add, 16, 0, ITERATIONS)},
                 (struct thread){.stream = copies(fp_add, 16, 1, ITERATIONS)}, NULL, 0);
    assert_in_range(two.stats.clocks, one, one + one / 20);
}

/* What fills the allocator alone leaves none. */
static void two_threads_that_fill_the_machine_take_twice_the_time(void **state)
{
    (void)state;
    const struct item items[] = {PLAIN("\x01\xd8"), PLAIN("\x01\xd9"), PLAIN("\x01\xda"),
                                 PLAIN("\x01\xde"), PLAIN("\x01\xdf"), PLAIN("\x01\xdd")};
    uint64_t one = run_alone(body(items, 6, 0, ITERATIONS)).stats.clocks;
    struct run two = run_pair((struct thread){.stream = body(items, 6, 0, ITERATIONS)},
                              (struct thread){.stream = body(items, 6, 1, ITERATIONS)}, NULL, 0);
    assert_in_range(two.stats.clocks, 2 * one - one / 5, 2 * one + one / 5);
}

/* A store leaves every other clock, so who is served may not hang on the clock being odd: both come
 * to their end at the same time. */
static void two_streams_of_stores_share_the_way_out(void **state)
{
    (void)state;
    static const struct item store = WRITE("\x89\x03", 4, 0x200000, 0, 0);
    struct thread a = {.stream = copies(store, 30, 0, 500)},
                  b = {.stream = copies(store, 30, 1, 500)};
    struct run run = run_pair(a, b, NULL, 0);
    for (unsigned i = 0; i < 2; i++)
        assert_in_range(run.of[i].halted_clocks, 0, run.stats.clocks / 10);
}

/* Fourteen stores behind a division that keeps them from retiring, and CPUID that keeps the next
 * ones away: more than half of the store buffer, less than all of it. */
static void buffers_are_halved_while_both_are_active(void **state)
{
    (void)state;
    enum { STORES = 14 };
    static const struct setup stalls = {0x3CA, 0x0200400C, 12, NORMAL | 1 << 13}; /* SBFULL of 0 */
    struct item items[2 + STORES] = {PLAIN("\x0f\xa2"), PLAIN("\xf7\xf3")};
    for (unsigned i = 0; i < STORES; i++)
        items[2 + i] = (struct item)WRITE("\x89\x03", 4, 0x100000, 4, 0x1000);
    struct stream *a = body(items, 2 + STORES, 0, 300), *b = body(items, 2 + STORES, 0, 300);
    struct run alone = run_pair((struct thread){.stream = a}, (struct thread){0}, &stalls, 1);
    struct run both = run_pair((struct thread){.stream = b},
                               (struct thread){.stream = copies(fp_add, 16, 1, 3000)}, &stalls, 1);
    assert_int_equal(alone.counter[12], 0);
    assert_true(both.counter[12] > 300);
}

static uint64_t conflicts(uint64_t second_address)
{
    static const struct setup setup = {0x3A8, 0x0400100F, 8, NORMAL | 5 << 13}; /* 64K_CONF */
    struct item first[4], second[4];
    for (unsigned i = 0; i < 4; i++) {
        first[i] = (struct item)READ("\x8b\x03", 4, 0x100000 + 64 * i, 0, 0);
        second[i] = (struct item)READ("\x8b\x03", 4, second_address + 64 * i, 0, 0);
    }
    return run_pair((struct thread){.stream = body(first, 4, 0, ITERATIONS)},
                    (struct thread){.stream = body(second, 4, 1, ITERATIONS)}, &setup, 1)
        .counter[8];
}

/* Two stacks at the same linear address exclude each other's lines from the first level. */
static void threads_with_equal_address_bits_conflict_in_the_first_level(void **state)
{
    (void)state;
    assert_true(conflicts(0x100000) > 1000);
    assert_true(conflicts(0x100000 + 0x1400) < 10);
}

/* A thread that reads SHARED behind a load that misses, beside one that writes WRITTEN. */
static struct run reader_and_writer(uint64_t written, uint16_t process)
{
    static const struct setup setups[] = {
        {0x3CC, 0x0400080C, 12, NORMAL | 5 << 13}, /* machine_clear MOCLEAR of 0 */
        {0x3CD, 0x04000803, 14, NORMAL | 5 << 13}, /* ... of 1 */
    };
    const struct item reads[] = {READ("\x8b\x03", 4, 0x400000, 4160, 0),
                                 READ("\x8b\x0b", 4, 0x100000, 0, 0), PLAIN("\x01\xd8")};
    const struct item writes[] = {WRITE("\x89\x03", 4, written, 0, 0), PLAIN("\xf7\xf3"),
                                  PLAIN("\xf7\xf3"), PLAIN("\xf7\xf3")};
    return run_pair((struct thread){.stream = body(reads, 3, 0, 300)},
                    (struct thread){.stream = body(writes, 4, process, 300)}, setups, 2);
}

/* Loads that the other thread's stores overtake clear the pipeline of the thread that loads: the
 * price of a spin-wait loop without PAUSE. */
static void a_store_of_one_thread_to_what_the_other_has_read_is_a_clear(void **state)
{
    (void)state;
    struct run shared = reader_and_writer(0x100000, 0), apart = reader_and_writer(0x100040, 0);
    assert_in_range(shared.counter[12], 60, 200);
    assert_int_equal(shared.counter[14], 0);
    assert_int_equal(shared.of[0].instructions, apart.of[0].instructions);
    assert_true(shared.of[0].flushed_uops > apart.of[0].flushed_uops);
    assert_int_equal(apart.counter[12] + apart.counter[14], 0);
}

/* Equal addresses of two address spaces are different memory. */
static void address_spaces_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct run run = reader_and_writer(0x100000, 1);
    assert_int_equal(run.counter[12] + run.counter[14], 0);
}

/* Two threads of one program that execute the same code and read the same pages. */
static struct run same_work(struct thread first, struct thread second)
{
    static const struct setup setups[] = {
        {0x3B2, 0x0600020C, 0, NORMAL | 0 << 13}, /* BPU_fetch_request of 0 */
        {0x3B3, 0x06000203, 2, NORMAL | 0 << 13}, /* ... of 1 */
        {0x3AC, 0x0200020F, 1, NORMAL | 4 << 13}, /* page_walk_type DTMISS of both */
    };
    return run_pair(first, second, setups, 3);
}

static struct stream *reads_ten_pages(void)
{
    struct item items[20];
    for (unsigned i = 0; i < 20; i++)
        items[i] = (struct item)READ("\x8b\x03", 4, 0x400000 + 4160 * (i % 10), 0, 0);
    return body(items, 20, 0, 50);
}

/* Lines of the trace cache and entries of the data TLB carry the thread's number: neither finds
 * those of the other, although they are in the same arrays. */
static void trace_lines_and_translations_belong_to_one_thread(void **state)
{
    (void)state;
    struct run one = same_work((struct thread){.stream = reads_ten_pages()}, (struct thread){0});
    struct run two = same_work((struct thread){.stream = reads_ten_pages()},
                               (struct thread){.stream = reads_ten_pages(), .idle = 4});
    assert_true(one.counter[0] > 3);
    assert_int_equal(one.counter[2], 0);
    assert_in_range(two.counter[2], one.counter[0] - 1, one.counter[0] + 1);
    assert_int_equal(one.counter[1], 10);
    assert_int_equal(two.counter[1], 20);
}

static uint64_t with_neighbour(struct item item)
{
    const struct item items[] = {PLAIN("\x01\xd8"), PLAIN("\x01\xd9"), PLAIN("\x01\xda"),
                                 PLAIN("\x01\xde"), PLAIN("\x01\xdf"), PLAIN("\x01\xdd")};
    static const struct setup setup = {0x3A2, 0x2600020C, 0, NORMAL | 6 << 13}; /* RUNNING of 0 */
    struct stream *work = body(items, 6, 0, ITERATIONS);
    return run_pair((struct thread){.stream = work},
                    (struct thread){.stream = copies(item, 4, 1, 6 * ITERATIONS)}, &setup, 1)
        .counter[0];
}

static void a_pause_leaves_the_machine_to_the_other_thread(void **state)
{
    (void)state;
    const struct item items[] = {PLAIN("\x01\xd8"), PLAIN("\x01\xd9"), PLAIN("\x01\xda"),
                                 PLAIN("\x01\xde"), PLAIN("\x01\xdf"), PLAIN("\x01\xdd")};
    uint64_t alone = run_alone(body(items, 6, 0, ITERATIONS)).stats.clocks;
    uint64_t pausing = with_neighbour(pause_item), spinning = with_neighbour(add_register);
    assert_in_range(pausing, alone, alone + alone / 4);
    assert_true(spinning > alone + alone / 2);
}

/* CCCR active thread: none, single, both, any. */
static void counters_can_ask_how_many_are_active(void **state)
{
    (void)state;
    static const struct setup setups[] = {
        {0x3A2, 0x2600020F, 0, 0x00001000 | 6 << 13},
        {0x3A2, 0x2600020F, 1, 0x00011000 | 6 << 13},
        {0x3A3, 0x2600020F, 2, 0x00021000 | 6 << 13},
        {0x3A3, 0x2600020F, 3, 0x00031000 | 6 << 13},
    };
    struct run run =
        run_pair((struct thread){.stream = mixture(0, 400)},
                 (struct thread){.stream = mixture(1, 300), .idle = 3, .rest = 3}, setups, 4);
    assert_int_equal(run.counter[0], 0);
    assert_true(run.counter[1] > 0);
    assert_true(run.counter[2] > 0);
    assert_int_equal(run.counter[3], run.counter[1] + run.counter[2]);
    assert_int_equal(run.counter[3], 2 * run.stats.clocks - run.stats.halted_clocks);
    assert_true(run.counter[2] % 2 == 0);
}

static enum nb_input_result never(void *context, struct nb_instruction *out)
{
    (void)context;
    (void)out;
    return NB_INPUT_SYNC;
}

static void a_stuck_machine_says_what_each_logical_processor_waits_for(void **state)
{
    (void)state;
    const struct nb_input inputs[2] = {{.next = never}, {.next = never}};
    struct run run = run_inputs(inputs, 2, NULL, 0);
    assert_int_equal(run.stop, NB_STOP_STUCK);
    assert_non_null(strstr(run.report, "logical processor 0: nothing retired"));
    assert_non_null(strstr(run.report, "logical processor 1: nothing retired"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_belong_to_their_logical_processor),
        cmocka_unit_test(every_pair_of_trace_cache_modes_occurs_and_they_add_up),
        cmocka_unit_test(one_thread_has_only_the_modes_with_an_inactive_second),
        cmocka_unit_test(alone_is_as_without_hyper_threading),
        cmocka_unit_test(two_chains_take_the_time_of_one),
        cmocka_unit_test(two_threads_that_fill_the_machine_take_twice_the_time),
        cmocka_unit_test(two_streams_of_stores_share_the_way_out),
        cmocka_unit_test(buffers_are_halved_while_both_are_active),
        cmocka_unit_test(threads_with_equal_address_bits_conflict_in_the_first_level),
        cmocka_unit_test(a_store_of_one_thread_to_what_the_other_has_read_is_a_clear),
        cmocka_unit_test(address_spaces_do_not_disturb_each_other),
        cmocka_unit_test(trace_lines_and_translations_belong_to_one_thread),
        cmocka_unit_test(a_pause_leaves_the_machine_to_the_other_thread),
        cmocka_unit_test(counters_can_ask_how_many_are_active),
        cmocka_unit_test(a_stuck_machine_says_what_each_logical_processor_waits_for),
    };
    return cmocka_run_group_tests(tests, northwood_load, northwood_free);
}
