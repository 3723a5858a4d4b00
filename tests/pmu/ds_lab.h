/* A PMU with a small memory for its DS area: pages can be missing, single accesses can fail. */
#ifndef TESTS_PMU_DS_LAB_H
#define TESTS_PMU_DS_LAB_H

#include "lab.h"

#include <string.h>

enum {
    DS_AREA = 0x600,
    DEBUGCTLA = 0x1D9,
    MCG_MISC = 0x18A,
    PEBS_ENABLE = 0x3F1,
    AREA = 0x1000, /* linear address of the management area */
    BTS = 0x2000,  /* buffers */
    PEBS = 0x3000,
    MEMORY = 0x4000,
    PAGE = 0x1000,
    LBR = 1,
    TR = 4,
    BTS_ON = 8,
    BTINT = 16
};

struct memory {
    unsigned char bytes[MEMORY];
    bool missing[MEMORY / PAGE];
    unsigned writes;
    unsigned fail_at; /* the access of this number fails, from 1; 0: none */
    unsigned accesses;
};

static inline bool reachable(const struct memory *m, uint64_t address, size_t bytes)
{
    return address < MEMORY && bytes <= MEMORY - address && !m->missing[address / PAGE] &&
           !m->missing[(address + bytes - 1) / PAGE];
}

static inline bool read_memory(void *context, unsigned lp, uint64_t address, void *to, size_t bytes)
{
    struct memory *m = context;
    (void)lp;
    if (++m->accesses == m->fail_at || !reachable(m, address, bytes))
        return false;
    memcpy(to, m->bytes + address, bytes);
    return true;
}

static inline bool write_memory(void *context, unsigned lp, uint64_t address, const void *from,
                                size_t bytes)
{
    struct memory *m = context;
    (void)lp;
    if (++m->accesses == m->fail_at || !reachable(m, address, bytes))
        return false;
    memcpy(m->bytes + address, from, bytes);
    m->writes++;
    return true;
}

struct lab {
    struct p4pmu *pmu;
    struct memory memory;
    unsigned word; /* 4 or 8 bytes */
};

static inline void put(struct lab *l, uint64_t address, unsigned bytes, uint64_t value)
{
    memcpy(l->memory.bytes + address, &value,
           bytes); /* the test's host is little-endian, as x86 is */
}

static inline uint64_t get(const struct lab *l, uint64_t address)
{
    uint64_t value = 0;
    memcpy(&value, l->memory.bytes + address, l->word);
    return value;
}

/* Fields 0..3 of BTS, 4..7 of PEBS: base, index, maximum, threshold. */
static inline uint64_t field(const struct lab *l, unsigned n)
{
    return get(l, AREA + n * l->word);
}

static inline void set_buffer(struct lab *l, unsigned first, uint64_t base, uint64_t bytes,
                              uint64_t threshold)
{
    put(l, AREA + first * l->word, l->word, base);
    put(l, AREA + (first + 1) * l->word, l->word, base);
    put(l, AREA + (first + 2) * l->word, l->word, base + bytes);
    put(l, AREA + (first + 3) * l->word, l->word, threshold);
}

static inline void lab_open(struct lab *l, unsigned model, bool hyper_threading)
{
    memset(l, 0, sizeof *l);
    l->pmu = lab_new(model, hyper_threading);
    l->word = model >= 3 ? 8 : 4;
    p4pmu_memory(l->pmu, &(struct p4pmu_memory){&l->memory, read_memory, write_memory});
    p4pmu_set_lvt(l->pmu, 0, 0);
    p4pmu_set_lvt(l->pmu, 1, 0);
    lab_write(l->pmu, DS_AREA, AREA);
    set_buffer(l, 0, BTS, 3 * 3 * l->word, UINT32_MAX);
    set_buffer(l, 4, PEBS, UINT64_C(4) * (l->word == 8 ? 18 : 10) * l->word, UINT32_MAX);
    put(l, AREA + 8 * l->word, 8, P4PMU_COUNTER_MASK - 4); /* PEBS every fifth event */
}

#endif
