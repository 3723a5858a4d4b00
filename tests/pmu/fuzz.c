/*
 * Any sequence of register accesses, facts, standing conditions, clocks and surroundings leaves a
 * PMU in a consistent state. A libFuzzer target (P4SIM_FUZZ=ON with clang); without libFuzzer the
 * same steps run on pseudo-random bytes, so that the sanitizer builds exercise them too:
 *
 *   pmu_fuzz_steps [SEED [ROUNDS]]
 */
#include "p4pmu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct input {
    const uint8_t *bytes;
    size_t left;
};

static uint64_t take(struct input *in, unsigned n)
{
    uint64_t value = 0;
    for (; n && in->left; n--, in->left--)
        value = value << 8 | *in->bytes++;
    return value;
}

/* Memory of which one page in four is missing and the rest reads as what the address says. */
static bool present(uint64_t address)
{
    return (address >> 12 & 3) != 3;
}

static bool read_memory(void *context, unsigned lp, uint64_t address, void *to, size_t bytes)
{
    (void)context;
    (void)lp;
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)to)[i] = (uint8_t)((address + i) * 37 >> 3);
    return present(address);
}

static bool write_memory(void *context, unsigned lp, uint64_t address, const void *from,
                         size_t bytes)
{
    (void)context;
    (void)lp;
    (void)from;
    (void)bytes;
    return present(address);
}

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "inconsistent: %s\n", #condition);                                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Most addresses near registers, some anywhere. */
static uint32_t take_msr(struct input *in)
{
    static const uint16_t near[] = {0x300, 0x360, 0x3A0, 0x3B0, 0x3C0, 0x3E0,
                                    0x3F0, 0x1D0, 0x600, 0x680, 0x6C0, 0x10};
    uint32_t which = (uint32_t)take(in, 1);
    if (which >= 240)
        return (uint32_t)take(in, 4);
    return near[which % 12] + (uint32_t)(take(in, 1) & 0x1F);
}

static void write_some(struct p4pmu *pmu, struct input *in)
{
    uint32_t msr = take_msr(in);
    unsigned lp = (unsigned)take(in, 1) & 1;
    uint64_t stored = 0, read = 0, value = take(in, 8);
    if (p4pmu_wrmsr(pmu, lp, msr, value, &stored))
        return;
    MUST(p4pmu_rdmsr(pmu, lp, msr, &read) == P4PMU_OK);
    MUST(read == stored);
    MUST(p4pmu_wrmsr(pmu, lp, msr, stored, &read) ==
         P4PMU_OK); /* what is held can be written back */
    MUST(msr == 0x10 || read == stored);
}

static void post_some(struct p4pmu *pmu, struct input *in, bool standing)
{
    enum p4pmu_event event = (enum p4pmu_event)(take(in, 1) % P4PMU_EVENTS);
    unsigned bits = (unsigned)take(in, 2), who = (unsigned)take(in, 1) & 7;
    unsigned count = (unsigned)take(in, 1);
    if (standing) {
        p4pmu_level(pmu, event, bits, who, count);
    } else {
        p4pmu_post(pmu, event, bits, who, count);
        (void)p4pmu_execution_tags(pmu, event, bits, who);
        (void)p4pmu_front_end_tag(pmu, bits, who);
    }
}

static void retire_some(struct p4pmu *pmu, struct input *in)
{
    static const struct p4pmu_pebs_registers registers;
    unsigned lp = (unsigned)take(in, 1) & 1;
    struct p4pmu_branch branch = {.from = take(in, 4),
                                  .to = take(in, 4),
                                  .cpl = (unsigned)take(in, 1) & 3,
                                  .kind = (enum p4pmu_branch_kind)(take(in, 1) % 3)};
    (void)p4pmu_branch(pmu, lp, &branch);
    (void)p4pmu_pebs_store(pmu, lp, &registers);
    (void)p4pmu_pebs_wants(pmu, P4PMU_EV_replay_event, 1, lp << 2);
}

static void surround(struct p4pmu *pmu, struct input *in)
{
    unsigned lp = (unsigned)take(in, 1) & 1, value = (unsigned)take(in, 1);
    switch (take(in, 1) % 7) {
    case 0:
        p4pmu_active(pmu, lp, value & 1);
        break;
    case 1:
        p4pmu_privilege(pmu, lp, value & 3 ? 0 : 3, value & 4);
        break;
    case 2:
        p4pmu_sleep(pmu, value & 1);
        break;
    case 3:
        p4pmu_set_lvt(pmu, lp, value << 9);
        break;
    case 4:
        p4pmu_ds_suspend(pmu, lp, value & 1);
        break;
    case 5:
        p4pmu_init(pmu, lp);
        break;
    default:
        if (p4pmu_interrupt(pmu, lp)) {
            p4pmu_accept(pmu, lp);
            MUST(!p4pmu_interrupt(pmu, lp));
        }
    }
}

static void check(struct p4pmu *pmu)
{
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++) {
        uint32_t low, high, fast;
        if (p4pmu_rdpmc(pmu, 0, c, &low, &high) == P4PMU_OK) {
            MUST(high < 0x100);
            MUST(p4pmu_rdpmc(pmu, 0, 0x80000000u | c, &fast, &high) == P4PMU_OK);
            MUST(fast == low && high == 0);
        }
    }
    uint64_t stamp;
    if (p4pmu_rdtsc(pmu, 0, &stamp))
        MUST(stamp == 0);
    MUST(p4pmu_quiet_clocks(pmu) > 0);
}

static void step(struct p4pmu *pmu, struct input *in)
{
    uint64_t before = p4pmu_now(pmu), clocks;
    switch (take(in, 1) % 10) {
    case 0:
    case 1:
    case 2:
        write_some(pmu, in);
        break;
    case 3:
    case 4:
        post_some(pmu, in, false);
        break;
    case 5:
        post_some(pmu, in, true);
        break;
    case 6:
        surround(pmu, in);
        break;
    case 7:
        retire_some(pmu, in);
        break;
    default:
        clocks = take(in, 1) + 1;
        if (clocks > 250)
            clocks = take(in, 6) + 1;
        p4pmu_clocks(pmu, clocks);
        MUST(p4pmu_now(pmu) == before + clocks);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    static const unsigned models[] = {0, 1, 2, 3, 4, 6, 5};
    struct p4pmu_config config = {.model = models[take(&in, 1) % 7],
                                  .hyper_threading = take(&in, 1) & 1,
                                  .stepping = (unsigned)take(&in, 1) & 15,
                                  .errata = (uint32_t)take(&in, 1),
                                  .l3 = take(&in, 1) & 1};
    unsigned without = (unsigned)take(&in, 1);
    config.no_bts = (without & 3) == 3;
    config.no_pebs = (without & 12) == 12;
    struct p4pmu *pmu = p4pmu_new(&config);
    if (!pmu)
        return 0;
    p4pmu_memory(pmu, &(struct p4pmu_memory){NULL, read_memory, write_memory});
    while (in.left) {
        step(pmu, &in);
        check(pmu);
    }
    p4pmu_reset(pmu);
    check(pmu);
    p4pmu_free(pmu);
    return 0;
}

#ifdef FUZZ_STEPS
int main(int argc, char **argv)
{
    uint64_t state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 2000;
    uint8_t bytes[2048];

    for (unsigned long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            bytes[i] = (uint8_t)(state >> 56);
        }
        LLVMFuzzerTestOneInput(bytes, sizeof bytes);
    }
    return 0;
}
#endif
