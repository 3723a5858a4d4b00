/*
 * CPUID as a Pentium 4 answers it: vendor, signature, feature flags, cache descriptors, brand
 * string.
 *
 * Programs choose their code by it (SSE2 or not, which string routine, cache blocking), so a
 * program run here takes the paths it would have taken on the part. Sources: SDM volume 2, CPUID,
 * tables of leaf 1 and of the leaf 2 descriptors.
 *
 * Not modelled: the serial number leaf (the part has none) and the L3 of the Extreme Edition.
 * Virtualization is not offered by the 65 nm parts here, as it was not by the 631.
 */
#include "sim.h"

#include <stdio.h>
#include <string.h>

/* C(bit, name) of EDX: what all models have. */
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
#define FEATURE_PBE (UINT32_C(1) << 31) /* from model 3 on */

/* C(bit, name, first model, only with EM64T) of ECX, which is 0 on models 0 to 2. */
#define MORE_FEATURES(C)                                                                           \
    C(0, SSE3, 3, false)                                                                           \
    C(2, DTES64, 3, true)                                                                          \
    C(3, MONITOR, 3, false)                                                                        \
    C(4, DS_CPL, 3, false)                                                                         \
    C(7, EST, 4, true)                                                                             \
    C(10, CNXT_ID, 3, false)                                                                       \
    C(13, CX16, 3, true)                                                                           \
    C(14, XTPR, 3, false)                                                                          \
    C(15, PDCM, 6, false)

static uint32_t more_features(const struct sim_model *model)
{
    uint32_t ecx = 0;
#define C(bit, name, first, long_mode)                                                             \
    if (model->params.family_model >= (first) && (!(long_mode) || model->params.em64t))            \
        ecx |= UINT32_C(1) << (bit);
    MORE_FEATURES(C)
#undef C
    return ecx;
}

static uint32_t features(const struct sim_model *model)
{
    uint32_t edx = (model->hyper_threading ? FEATURE_HTT : 0) |
                   (model->params.family_model >= 3 ? FEATURE_PBE : 0);
#define C(bit, name) edx |= UINT32_C(1) << (bit);
    FEATURES(C)
#undef C
    return edx;
}

/* EAX: stepping, model, family 15 (extended family 0). EBX: brand index 8 (models 0, 1), 9, or none
 * (from model 3 on: the brand string), CLFLUSH line in 8-byte units, logical processors. */
static void leaf_signature(const struct sim_model *model, uint32_t registers[4])
{
    uint32_t number = model->params.family_model;
    registers[0] = 15u << 8 | number << 4 | model->stepping;
    registers[1] = (number < 2   ? 8u
                    : number < 3 ? 9u
                                 : 0u) |
                   8u << 8 | (model->hyper_threading ? 2u : 1u) << 16;
    registers[2] = more_features(model);
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
static const struct descriptor l1_data_8_ways[] = {{16, 0x60}};
static const struct descriptor l2_sectored[] = {
    {128, 0x79}, {256, 0x7A}, {512, 0x7B}, {1024, 0x7C}, {2048, 0x7D}};

enum {
    ITLB_64 = 0x50, /* the parts say 64 entries although the manual's cache table says 128 */
    DTLB_64 = 0x5B,
    NO_L3 = 0x40
};

static void leaf_caches(const struct sim_model *model, uint32_t registers[4])
{
    const struct nb_params *p = &model->params;
    uint32_t l1_kbytes = p->l1_sets * p->l1_ways * p->l1_line >> 10;
    uint32_t l1 =
        p->l1_ways == 8 ? DESCRIPTOR(l1_data_8_ways, l1_kbytes) : DESCRIPTOR(l1_data, l1_kbytes);
    uint32_t l2 =
        DESCRIPTOR(l2_sectored, (uint32_t)((uint64_t)p->l2_sets * p->l2_ways * p->l2_line >> 10));
    uint32_t tc = DESCRIPTOR(trace_cache, p->tc_sets * p->tc_ways * p->tc_line_uops >> 10);
    registers[0] = 1 | ITLB_64 << 8 | DTLB_64 << 16 | l1 << 24;
    registers[1] = 0;
    registers[2] = 0;
    registers[3] = NO_L3 | tc << 8 | l2 << 16;
}

/* Leaf 4, from model 3 on: one data cache of level 1, one unified of level 2, then none. */
static void leaf_cache_parameters(const struct sim_model *model, uint32_t index,
                                  uint32_t registers[4])
{
    enum { DATA = 1, UNIFIED = 3, SELF_INITIALIZING = 1 << 8, FIRST_LEVEL = 1 << 5 };
    const struct nb_params *p = &model->params;
    uint32_t sharing = (model->hyper_threading ? 1u : 0u) << 14;

    if (index == 0) {
        registers[0] = DATA | FIRST_LEVEL | SELF_INITIALIZING | sharing;
        registers[1] = (p->l1_line - 1) | (p->l1_ways - 1) << 22;
        registers[2] = p->l1_sets - 1;
    } else if (index == 1) { /* each sector is told as a line of its own */
        registers[0] = UNIFIED | 2 * FIRST_LEVEL | SELF_INITIALIZING | sharing;
        registers[1] = (p->l2_sector - 1) | (p->l2_ways - 1) << 22;
        registers[2] = p->l2_sets * (p->l2_line / p->l2_sector) - 1;
    }
}

/* Leaf 5, from model 3 on: MONITOR watches one L1 line. */
static void leaf_monitor(const struct sim_model *model, uint32_t registers[4])
{
    registers[0] = registers[1] = model->params.l1_line;
}

/* ---- extended leaves ------------------------------------------------------------------- */

static void leaf_extended_features(const struct sim_model *model, uint32_t registers[4])
{
    enum { SYSCALL = 1 << 11, EXECUTE_DISABLE = 1 << 20, LONG_MODE = 1 << 29 };

    if (model->params.em64t)
        registers[3] = SYSCALL | EXECUTE_DISABLE | LONG_MODE;
}

/* L2: KB, 8 ways (6), line. */
static void leaf_l2(const struct sim_model *model, uint32_t registers[4])
{
    const struct nb_params *p = &model->params;
    uint32_t kbytes = (uint32_t)((uint64_t)p->l2_sets * p->l2_ways * p->l2_line >> 10);

    registers[2] = kbytes << 16 | 6u << 12 | p->l2_sector;
}

/* 36 physical address bits, and 48 linear ones with EM64T. */
static void leaf_address_bits(const struct sim_model *model, uint32_t registers[4])
{
    registers[0] = 36 | (model->params.em64t ? 48u : 32u) << 8;
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

static uint32_t last_leaf(const struct sim_model *model)
{
    return model->params.family_model >= 3 ? 5 : 2;
}

static void leaf_vendor(const struct sim_model *model, uint32_t registers[4])
{
    registers[0] = last_leaf(model);
    memcpy(&registers[1], "Genu", 4);
    memcpy(&registers[3], "ineI", 4);
    memcpy(&registers[2], "ntel", 4);
}

static void extended_leaf(const struct sim_model *model, uint32_t leaf, uint32_t registers[4])
{
    if (leaf == 0x80000000)
        registers[0] = model->params.family_model >= 3 ? 0x80000008 : 0x80000004;
    else if (leaf == 0x80000001)
        leaf_extended_features(model, registers);
    else if (leaf <= 0x80000004)
        leaf_brand(model, leaf - 0x80000002, registers);
    else if (leaf == 0x80000006)
        leaf_l2(model, registers);
    else if (leaf == 0x80000008)
        leaf_address_bits(model, registers);
}

static void basic_leaf(const struct sim_model *model, uint32_t leaf, uint32_t subleaf,
                       uint32_t registers[4])
{
    if (leaf == 0)
        leaf_vendor(model, registers);
    else if (leaf == 1)
        leaf_signature(model, registers);
    else if (leaf == 2)
        leaf_caches(model, registers);
    else if (leaf == 4)
        leaf_cache_parameters(model, subleaf, registers);
    else if (leaf == 5)
        leaf_monitor(model, registers);
}

/* A leaf beyond the last gives the last basic one (SDM volume 2). */
void sim_model_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
    const struct sim_model *model = context;
    uint32_t last_extended = model->params.family_model >= 3 ? 0x80000008 : 0x80000004;

    memset(registers, 0, 4 * sizeof *registers);
    if (leaf >= 0x80000000 && leaf <= last_extended)
        extended_leaf(model, leaf, registers);
    else
        basic_leaf(model, leaf < last_leaf(model) ? leaf : last_leaf(model), subleaf, registers);
}
