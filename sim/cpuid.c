/*
 * CPUID as a Pentium 4 answers it: vendor, signature, feature flags, cache descriptors, brand
 * string.
 *
 * Programs choose their code by it (SSE2 or not, which string routine, cache blocking), so a
 * program run here takes the paths it would have taken on the part. Sources: SDM volume 2, CPUID,
 * tables of leaf 1 and of the leaf 2 descriptors.
 *
 * Not modelled: the serial number leaf (the part has none) and the L3 of the Extreme Edition.
 */
#include "sim.h"

#include <stdio.h>
#include <string.h>

/* C(register, bit, name): what family 15 models 0 to 2 have. EDX only; ECX, with SSE3 and MONITOR,
 * is 0. */
#define FEATURES(C)                                                                                \
    C(0, FPU)                                                                                      \
    C(1, VME)                                                                                      \
    C(2, DE)                                                                                       \
    C(3, PSE)                                                                                      \
    C(4, TSC)                                                                                      \
    C(5, MSR)                                                                                      \
    C(6, PAE)                                                                                      \
    C(7, MCE)                                                                                      \
    C(8, CX8)                                                                                      \
    C(9, APIC)                                                                                     \
    C(11, SEP)                                                                                     \
    C(12, MTRR)                                                                                    \
    C(13, PGE)                                                                                     \
    C(14, MCA)                                                                                     \
    C(15, CMOV)                                                                                    \
    C(16, PAT)                                                                                     \
    C(17, PSE36)                                                                                   \
    C(19, CLFSH)                                                                                   \
    C(21, DS)                                                                                      \
    C(22, ACPI)                                                                                    \
    C(23, MMX)                                                                                     \
    C(24, FXSR)                                                                                    \
    C(25, SSE)                                                                                     \
    C(26, SSE2)                                                                                    \
    C(27, SS)                                                                                      \
    C(29, TM)

#define FEATURE_HTT (UINT32_C(1) << 28)

static uint32_t features(const struct sim_model *model)
{
    uint32_t edx = model->hyper_threading ? FEATURE_HTT : 0;
#define C(bit, name) edx |= UINT32_C(1) << (bit);
    FEATURES(C)
#undef C
    return edx;
}

/* EAX: stepping, model, family 15 (extended family 0). EBX: brand index 8 (models 0, 1) or 9,
 * CLFLUSH line in 8-byte units, logical processors. */
static void leaf_signature(const struct sim_model *model, uint32_t registers[4])
{
    uint32_t number = model->params.family_model;
    registers[0] = 15u << 8 | number << 4 | model->stepping;
    registers[1] = (number < 2 ? 8u : 9u) | 8u << 8 | (model->hyper_threading ? 2u : 1u) << 16;
    registers[2] = 0;
    registers[3] = features(model);
}

struct descriptor {
    uint32_t amount; /* KB, or K uops for the trace cache */
    uint8_t code;
};

static uint8_t descriptor_of(const struct descriptor *table, size_t count, uint32_t amount)
{
    for (size_t i = 0; i < count; i++) {
        if (table[i].amount == amount)
            return table[i].code;
    }
    return 0; /* the null descriptor: nothing documented has this size */
}

#define DESCRIPTOR(table, amount) descriptor_of(table, sizeof(table) / sizeof(table)[0], amount)

static const struct descriptor trace_cache[] = {{12, 0x70}, {16, 0x71}, {32, 0x72}};
static const struct descriptor l1_data[] = {{8, 0x66}, {16, 0x67}, {32, 0x68}};
static const struct descriptor l2_sectored[] = {
    {128, 0x79}, {256, 0x7A}, {512, 0x7B}, {1024, 0x7C}};

enum {
    ITLB_64 = 0x50, /* the parts say 64 entries although the manual's cache table says 128 */
    DTLB_64 = 0x5B,
    NO_L3 = 0x40
};

static void leaf_caches(const struct sim_model *model, uint32_t registers[4])
{
    const struct nb_params *p = &model->params;
    uint32_t l1 = DESCRIPTOR(l1_data, p->l1_sets * p->l1_ways * p->l1_line >> 10);
    uint32_t l2 =
        DESCRIPTOR(l2_sectored, (uint32_t)((uint64_t)p->l2_sets * p->l2_ways * p->l2_line >> 10));
    uint32_t tc = DESCRIPTOR(trace_cache, p->tc_sets * p->tc_ways * p->tc_line_uops >> 10);
    registers[0] = 1 | ITLB_64 << 8 | DTLB_64 << 16 | l1 << 24;
    registers[1] = 0;
    registers[2] = 0;
    registers[3] = NO_L3 | tc << 8 | l2 << 16;
}

/* 48 bytes, right-justified as the parts have it, the last one zero. */
static void leaf_brand(const struct sim_model *model, unsigned part, uint32_t registers[4])
{
    char text[48], brand[49];
    uint32_t mhz = model->params.core_mhz;
    snprintf(text, sizeof text, "Intel(R) Pentium(R) 4 CPU %u.%02uGHz", mhz / 1000,
             mhz % 1000 / 10);
    snprintf(brand, sizeof brand, "%47s", text);
    memcpy(registers, brand + 16 * part, 16);
}

void sim_model_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
    const struct sim_model *model = context;
    (void)subleaf;
    memset(registers, 0, 4 * sizeof *registers);
    if (leaf == 0) {
        registers[0] = 2;
        memcpy(&registers[1], "Genu", 4);
        memcpy(&registers[3], "ineI", 4);
        memcpy(&registers[2], "ntel", 4);
    } else if (leaf == 1) {
        leaf_signature(model, registers);
    } else if (leaf == 0x80000000) {
        registers[0] = 0x80000004;
    } else if (leaf == 0x80000001) {
        return; /* no extended feature of models 0 to 2 */
    } else if (leaf >= 0x80000002 && leaf <= 0x80000004) {
        leaf_brand(model, leaf - 0x80000002, registers);
    } else {
        leaf_caches(model,
                    registers); /* leaf 2, and what every unknown leaf gives (SDM volume 2) */
    }
}
