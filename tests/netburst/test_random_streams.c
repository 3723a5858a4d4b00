/*
 * Random instruction streams: whatever mix of loads, stores, branches, long flows and locked
 * accesses comes, the machine gets to the end, counts every instruction once, and passing idle
 * clocks in one step gives what single clocks give. A failure prints the seed; P4SIM_SEED=N runs
 * that one.
 */
#include "northwood.h"

#include <stdio.h>

#include "stream.h"

#define STREAMS 40u

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

static uint64_t taken_seed;

/* A short jump skips the next instruction in a way that depends on iteration and place. */
static bool taken(uint64_t iteration, uint32_t item)
{
    uint64_t seed = taken_seed ^ (iteration * 31 + item);
    return next_random(&seed) % 3 == 0;
}

static struct item jump_over(const struct item *next)
{
    static char bytes[16][2];
    bytes[next->length][0] = 0x74;
    bytes[next->length][1] = (char)next->length;
    return (struct item){bytes[next->length], 2, 0, false, 0, 0, 0, 0};
}

/* The stream's own rule "taken" is asked for every item; only jumps may say yes. */
static const struct stream *asked;
static bool jump_taken(uint64_t iteration, uint32_t item)
{
    return asked->items[item].bytes[0] == 0x74 && taken(iteration, item);
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
    taken_seed = seed;
    s->taken = jump_taken;
    stream_close(s, 200);
    return s;
}

static uint64_t instructions_of(uint64_t seed)
{
    struct stream *s = random_stream(seed);
    struct nb_instruction in;
    uint64_t n = 0;
    asked = s;
    while (stream_next(s, &in) == NB_INPUT_OK)
        n++;
    free(s);
    return n;
}

static struct nb_stats run(uint64_t seed, bool each_clock, uint64_t counter[2])
{
    struct stream *s = random_stream(seed);
    asked = s;
    struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){.model = 2});
    p4pmu_wrmsr(pmu, 0, 0x3B8, 0x0400020C, NULL); /* instr_retired NBOGUSNTAG, counter 12 */
    p4pmu_wrmsr(pmu, 0, 0x36C, 0x00039000, NULL);
    p4pmu_wrmsr(pmu, 0, 0x3B9, 0x0200060C,
                NULL); /* clocks with at most one uop retired, counter 14 */
    p4pmu_wrmsr(pmu, 0, 0x36E, 0x001F9000, NULL);
    struct nb_input input = {s, stream_next, stream_code_at};
    struct nb_machine *m = nb_new(&northwood.params, pmu, &input, 1);
    nb_step_each_clock(m, each_clock);
    enum nb_stop stop = nb_run(m, UINT64_MAX);
    if (stop != NB_STOP_END)
        fail_msg("seed %llu: stop %d, %s", (unsigned long long)seed, stop, nb_report(m));
    struct nb_stats stats = *nb_stats(m);
    p4pmu_rdmsr(pmu, 0, 0x30C, &counter[0]);
    p4pmu_rdmsr(pmu, 0, 0x30E, &counter[1]);
    nb_free(m);
    p4pmu_free(pmu);
    free(s);
    return stats;
}

static void check(uint64_t seed)
{
    uint64_t quick_counter[2], slow_counter[2], expected = instructions_of(seed);
    struct nb_stats quick = run(seed, false, quick_counter), slow = run(seed, true, slow_counter);
    quick.skipped_clocks = slow.skipped_clocks = 0;
    if (quick.instructions != expected || memcmp(&quick, &slow, sizeof quick) != 0 ||
        memcmp(quick_counter, slow_counter, sizeof quick_counter) != 0)
        fail_msg("seed %llu: %llu instructions, expected %llu; clocks %llu skipping, %llu singly",
                 (unsigned long long)seed, (unsigned long long)quick.instructions,
                 (unsigned long long)expected, (unsigned long long)quick.clocks,
                 (unsigned long long)slow.clocks);
}

static void every_stream_ends_and_counts_the_same_clock_by_clock(void **state)
{
    (void)state;
    const char *one = getenv("P4SIM_SEED");
    if (one) {
        check(strtoull(one, NULL, 10));
        return;
    }
    const char *many = getenv("P4SIM_STREAMS");
    uint64_t streams = many ? strtoull(many, NULL, 10) : STREAMS;
    for (uint64_t seed = 1; seed <= streams; seed++)
        check(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stream_ends_and_counts_the_same_clock_by_clock),
    };
    return cmocka_run_group_tests(tests, northwood_load, northwood_free);
}
