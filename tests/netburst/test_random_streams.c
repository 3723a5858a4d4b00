/*
 * Random instruction streams: whatever mix of loads, stores, branches, long flows and locked
 * accesses comes, the machine gets to the end, counts every instruction once, and passing idle
 * clocks in one step gives what single clocks give. A failure prints the seed; P4SIM_SEED=N runs
 * that one.
 */
#include "northwood.h"

#include <stdio.h>

#include "stream.h"

#define STREAMS 25u

static uint64_t next_random(uint64_t *seed)
{
    *seed += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t x = *seed;
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Forms without memory: fast, slow, multiplied, divided, from the ROM, x87, SSE, ordering. */
static const struct item plain[] = {
    PLAIN("\x01\xd8"),
    PLAIN("\x31\xc0"),
    PLAIN("\xc1\xe0\x03"),
    PLAIN("\x0f\xaf\xc3"),
    PLAIN("\xf7\xf3"),
    PLAIN("\x11\xd8"),
    PLAIN("\x0f\x44\xc3"),
    PLAIN("\x8d\x44\x88\x05"),
    PLAIN("\xd8\xc1"),
    PLAIN("\xd9\xc9"),
    PLAIN("\x0f\x58\xc1"),
    PLAIN("\x66\x0f\xef\xc0"),
    PLAIN("\x90"),
    PLAIN("\xf3\x90"),
    PLAIN("\x0f\xae\xf0"),
    PLAIN("\xfc"),
    PLAIN("\x40"),
    PLAIN("\x0f\x31"),
    PLAIN("\x81\xc3\x78\x56\x34\x12"),
    PLAIN("\xd9\xfe"),
};

/* Forms with one read, one write, or both. */
static const struct {
    const char *bytes;
    uint8_t length, accesses;
    bool write;
    uint8_t size;
} memory[] = {
    {"\x8b\x03", 2, 1, false, 4},         {"\x89\x03", 2, 1, true, 4},
    {"\x88\x03", 2, 1, true, 1},          {"\x0f\xb6\x03", 3, 1, false, 1},
    {"\x01\x03", 2, 2, false, 4},         {"\xd9\x03", 2, 1, false, 4},
    {"\xdd\x1b", 2, 1, true, 8},          {"\xf3\x0f\x6f\x03", 4, 1, false, 16},
    {"\x66\x0f\x7f\x03", 4, 1, true, 16}, {"\xf0\x01\x03", 3, 2, false, 4},
    {"\x0f\xc3\x03", 3, 1, true, 4},      {"\x0f\x18\x03", 3, 1, false, 1},
};

static struct item random_memory(uint64_t *seed)
{
    uint64_t r = next_random(seed);
    size_t which = r % (sizeof memory / sizeof memory[0]);
    uint64_t areas[] = {0x10000, 0x10000 + (r >> 40) % 64, 0x20000 + (r >> 40) % 4096, 0x800000};
    struct item item = {memory[which].bytes,
                        memory[which].length,
                        memory[which].accesses,
                        memory[which].write,
                        memory[which].size,
                        areas[(r >> 8) & 3],
                        0,
                        0};
    static const int64_t steps[] = {0, 4, 64, -64, 4096, 65536, 12};
    item.step = steps[(r >> 16) % 7];
    item.span = (r >> 24) & 1 ? 0x4000 : 0x400000;
    return item;
}

/* A short jump skips the next instruction in a way that depends on iteration and place; no other
 * instruction is a branch. */
static bool jump_taken(const struct stream *s, uint64_t iteration, uint32_t item)
{
    uint64_t seed = s->seed ^ (iteration * 31 + item);
    return s->items[item].bytes[0] == 0x74 && next_random(&seed) % 3 == 0;
}

static struct item jump_over(const struct item *next)
{
    static char bytes[16][2];
    bytes[next->length][0] = 0x74;
    bytes[next->length][1] = (char)next->length;
    return (struct item){bytes[next->length], 2, 0, false, 0, 0, 0, 0};
}

static struct stream *random_stream(uint64_t seed)
{
    struct stream *s = calloc(1, sizeof *s);
    uint32_t length = 10 + (uint32_t)(next_random(&seed) % 120);
    for (uint32_t i = 0; i < length; i++) {
        uint64_t r = next_random(&seed);
        struct item item =
            r % 3 ? random_memory(&seed) : plain[(r >> 8) % (sizeof plain / sizeof plain[0])];
        if ((r >> 32) % 8 == 0)
            stream_add(s, jump_over(&item));
        stream_add(s, item);
    }
    s->seed = seed;
    s->taken = jump_taken;
    stream_close(s, 200);
    return s;
}

static uint64_t instructions_of(uint64_t seed)
{
    struct stream *s = random_stream(seed);
    struct nb_instruction in;
    uint64_t n = 0;
    while (stream_next(s, &in) == NB_INPUT_OK)
        n++;
    free(s);
    return n;
}

/* A stream that now and then asks for a synchronisation or has nothing to run for a while. */
struct restless {
    struct stream *stream;
    uint64_t seed;
    unsigned idle;
    bool synchronised;
};

static enum nb_input_result restless_next(void *context, struct nb_instruction *out)
{
    struct restless *r = context;
    if (r->idle) {
        r->idle--;
        return NB_INPUT_IDLE;
    }
    uint64_t chance = r->synchronised ? 2 : next_random(&r->seed) % 500;
    r->synchronised = chance == 1;
    if (chance == 1)
        return NB_INPUT_SYNC;
    if (chance == 0)
        r->idle = (unsigned)(next_random(&r->seed) % 5);
    return stream_next(r->stream, out);
}

static size_t restless_code_at(void *context, uint16_t process, uint64_t ip, uint8_t bytes[15])
{
    const struct restless *r = context;
    return stream_code_at(r->stream, process, ip, bytes);
}

#define COUNTERS 5u

struct outcome {
    struct nb_stats stats, of[2];
    uint64_t counter[COUNTERS];
};

static struct p4pmu *watching(void)
{
    static const uint32_t setups[COUNTERS][4] = {
        {0x3B8, 0x0400020C, 12, 0x00039000}, /* instr_retired NBOGUSNTAG of logical processor 0 */
        {0x3B9, 0x02000603, 14, 0x001FB000}, /* clocks with at most one uop retired by the other */
        {0x3C4, 0x0201FE0F, 4, 0x00033000},  /* TC_deliver_mode, every pair */
        {0x3A2, 0x2600020F, 0, 0x0003D000},  /* global_power_events of both */
        {0x3C0, 0x12000E03, 5, 0x00021000},  /* uop_queue_writes of 1 while both are active */
    };
    struct p4pmu *pmu =
        p4pmu_new(&(struct p4pmu_config){.model = 2, .stepping = 9, .hyper_threading = true});
    for (unsigned i = 0; i < COUNTERS; i++) {
        p4pmu_wrmsr(pmu, 0, setups[i][0], setups[i][1], NULL);
        p4pmu_wrmsr(pmu, 0, 0x360 + setups[i][2], setups[i][3], NULL);
    }
    return pmu;
}

static void read_counters(struct p4pmu *pmu, struct outcome *outcome)
{
    static const uint32_t counters[COUNTERS] = {12, 14, 4, 0, 5};
    for (unsigned i = 0; i < COUNTERS; i++)
        p4pmu_rdmsr(pmu, 0, 0x300 + counters[i], &outcome->counter[i]);
}

/* THREADS streams of SEED and SEED + 1, in address spaces of their own. */
static struct outcome run(uint64_t seed, unsigned threads, bool each_clock)
{
    struct restless input_of[2];
    struct nb_input inputs[2];
    struct outcome outcome = {0};
    for (unsigned i = 0; i < threads; i++) {
        input_of[i] = (struct restless){.stream = random_stream(seed + i), .seed = seed ^ i << 8};
        input_of[i].stream->process = (uint16_t)i;
        inputs[i] = (struct nb_input){
            .context = &input_of[i], .next = restless_next, .code_at = restless_code_at};
    }
    struct p4pmu *pmu = watching();
    struct nb_machine *m = nb_new(&northwood.params, pmu, inputs, threads);
    nb_step_each_clock(m, each_clock);
    enum nb_stop stop = nb_run(m, UINT64_MAX);
    if (stop != NB_STOP_END)
        fail_msg("seed %llu: stop %d, %s", (unsigned long long)seed, stop, nb_report(m));
    outcome.stats = *nb_stats(m);
    read_counters(pmu, &outcome);
    for (unsigned i = 0; i < threads; i++) {
        outcome.of[i] = *nb_lp_stats(m, i);
        free(input_of[i].stream);
    }
    nb_free(m);
    p4pmu_free(pmu);
    return outcome;
}

static void check(uint64_t seed, unsigned threads)
{
    struct outcome quick = run(seed, threads, false), slow = run(seed, threads, true);
    quick.stats.skipped_clocks = slow.stats.skipped_clocks = 0;
    if (memcmp(&quick, &slow, sizeof quick) != 0)
        fail_msg("seed %llu, %u threads: clocks %llu skipping, %llu singly",
                 (unsigned long long)seed, threads, (unsigned long long)quick.stats.clocks,
                 (unsigned long long)slow.stats.clocks);
    for (unsigned i = 0; i < threads; i++)
        if (quick.of[i].instructions != instructions_of(seed + i))
            fail_msg("seed %llu, %u threads: %llu instructions of logical processor %u",
                     (unsigned long long)seed, threads,
                     (unsigned long long)quick.of[i].instructions, i);
    assert_true(quick.counter[0] >=
                quick.of[0].instructions); /* some are documented to count twice */
}

static void check_all(unsigned threads)
{
    const char *one = getenv("P4SIM_SEED"), *many = getenv("P4SIM_STREAMS");
    uint64_t first = one ? strtoull(one, NULL, 10) : 1;
    uint64_t streams = many ? strtoull(many, NULL, 10) : one ? 1 : STREAMS;
    for (uint64_t seed = first; seed < first + streams; seed++)
        check(seed, threads);
}

static void every_stream_ends_and_counts_the_same_clock_by_clock(void **state)
{
    (void)state;
    check_all(1);
}

static void so_do_two_streams_on_two_logical_processors(void **state)
{
    (void)state;
    check_all(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stream_ends_and_counts_the_same_clock_by_clock),
        cmocka_unit_test(so_do_two_streams_on_two_logical_processors),
    };
    return cmocka_run_group_tests(tests, northwood_load, northwood_free);
}
