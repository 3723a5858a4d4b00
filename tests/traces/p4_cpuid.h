/*
 * CPUID as a Pentium 4 of the Northwood core answers it, for tests that need a processor: family
 * 15, model 2, stepping 9, SSE2 and no later instruction set; caches by the descriptors of leaf 2.
 */
#ifndef TESTS_P4_CPUID_H
#define TESTS_P4_CPUID_H

#include <stdint.h>

/* A trace_cpuid_fn; the context is not used. */
static inline void p4_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
    static const uint32_t basic[3][4] = {
        {2, 0x756e6547, 0x6c65746e, 0x49656e69}, /* GenuineIntel */
        {0x00000f29, 0x00000800, 0x00004400, 0x3febf9ff},
        {0x665b5001, 0x00000000, 0x00000000, 0x007b7040},
    };
    static const uint32_t brand[5][4] = {
        {0x80000004, 0, 0, 0},
        {0, 0, 0, 0},
        {0x20202020, 0x20202020, 0x20202020, 0x6e492020}, /* "Intel(R) Pentium(R) 4 CPU 2.80GHz" */
        {0x286c6574, 0x50202952, 0x69746e65, 0x52286d75},
        {0x20342029, 0x20555043, 0x30382e32, 0x007a4847},
    };
    const uint32_t *row = basic[2];

    (void)context;
    (void)subleaf;
    if (leaf < 2)
        row = basic[leaf];
    else if (leaf >= 0x80000000 && leaf <= 0x80000004)
        row = brand[leaf - 0x80000000];
    for (int i = 0; i < 4; i++)
        registers[i] = row[i];
}

#endif
