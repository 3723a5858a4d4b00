/*
 * The DS area: buffers in memory that the processor fills with branch (BTS) and precise event
 * (PEBS) records (SDM3 17.4.9, figures 17-5 to 17-10).
 *
 * The management area holds, for each of the two buffers, base, index (the next record), absolute
 * maximum (one past the end) and interrupt threshold, then the reset value of the PEBS counter.
 * When the index reaches the threshold the performance interrupt is requested; a branch buffer
 * without BTINT wraps. A record that would not fit is dropped and the index stays (model choice for
 * PEBS and for BTS with BTINT: erratum P79 shows that a write past the end is not meant).
 *
 * A page that is not there ends the operation: MSR_MCG_MISC bit 0 is set, nothing more is written,
 * and the machine shuts the processor down. Memory is little-endian.
 *
 * PEBS (SDM3 18.15.7): only IQ_COUNTER4, and IQ_COUNTER5 for logical processor 1, and only with the
 * tagged events. After the overflow the next uop of the event stores its registers and reloads the
 * counter; facts of the clock still open count on top of the reloaded value.
 */
#include "internal.h"
#include "match.h"

#include <string.h>

/* Fields of one buffer in the management area, in order. */
enum { BASE, INDEX, MAXIMUM, THRESHOLD, BUFFER_FIELDS };
enum ds_buffer { BTS_BUFFER, PEBS_BUFFER };
enum { BTS_FIELDS = 3, BTS_PREDICTED = 1 << 4, PEBS_FIELDS_32 = 10 };

bool p4pmu_ds64(const struct p4pmu *pmu)
{
    enum { DTES64 = 1 << 2 };
    uint32_t ecx, edx;
    p4pmu_cpuid(&pmu->config, &ecx, &edx);
    return ecx & DTES64;
}

static unsigned width(const struct p4pmu *pmu)
{
    return p4pmu_ds64(pmu) ? 8 : 4;
}

static uint64_t wrap(const struct p4pmu *pmu, uint64_t address)
{
    return p4pmu_ds64(pmu) ? address : (uint32_t)address;
}

static uint64_t get(const unsigned char *bytes, unsigned n)
{
    uint64_t value = 0;
    while (n--)
        value = value << 8 | bytes[n];
    return value;
}

static void put(unsigned char *bytes, unsigned n, uint64_t value)
{
    for (unsigned i = 0; i < n; i++, value >>= 8)
        bytes[i] = (unsigned char)value;
}

static bool read_fields(struct p4pmu *pmu, unsigned lp, uint64_t address, uint64_t *fields,
                        unsigned count, unsigned bytes)
{
    unsigned char raw[BUFFER_FIELDS * 8];
    if (!pmu->memory.read ||
        !pmu->memory.read(pmu->memory.context, lp, wrap(pmu, address), raw, (size_t)count * bytes))
        return false;
    for (unsigned i = 0; i < count; i++)
        fields[i] = get(raw + (size_t)i * bytes, bytes);
    return true;
}

static bool write_fields(struct p4pmu *pmu, unsigned lp, uint64_t address, const uint64_t *fields,
                         unsigned count)
{
    unsigned char raw[P4PMU_PEBS_REGISTERS * 8];
    unsigned bytes = width(pmu);
    for (unsigned i = 0; i < count; i++)
        put(raw + (size_t)i * bytes, bytes, fields[i]);
    return pmu->memory.write && pmu->memory.write(pmu->memory.context, lp, wrap(pmu, address), raw,
                                                  (size_t)count * bytes);
}

static enum p4pmu_ds fault(struct p4pmu *pmu, unsigned lp)
{
    pmu->msr[P4PMU_MSR_MCG_MISC][lp][0] |= 1;
    return P4PMU_DS_FAULT;
}

static uint64_t area(const struct p4pmu *pmu, unsigned lp)
{
    return pmu->msr[P4PMU_MSR_DS_AREA][lp][0];
}

/* Whether a record of SIZE at INDEX lies in the buffer. */
static bool fits(const uint64_t f[BUFFER_FIELDS], uint64_t index, uint64_t size)
{
    return index >= f[BASE] && index <= f[MAXIMUM] && f[MAXIMUM] - index >= size;
}

static enum p4pmu_ds store(struct p4pmu *pmu, unsigned lp, enum ds_buffer which,
                           const uint64_t *record, unsigned count, bool circular)
{
    uint64_t f[BUFFER_FIELDS];
    uint64_t bytes = width(pmu), size = count * bytes;
    uint64_t at = area(pmu, lp) + (uint64_t)which * BUFFER_FIELDS * bytes;

    if (!read_fields(pmu, lp, at, f, BUFFER_FIELDS, (unsigned)bytes))
        return fault(pmu, lp);
    if (circular && !fits(f, f[INDEX], size))
        f[INDEX] = f[BASE];
    bool room = fits(f, f[INDEX], size);
    if (room) {
        if (!write_fields(pmu, lp, f[INDEX], record, count))
            return fault(pmu, lp);
        f[INDEX] = wrap(pmu, f[INDEX] + size);
        if (!write_fields(pmu, lp, at + INDEX * bytes, &f[INDEX], 1))
            return fault(pmu, lp);
    }
    if (f[INDEX] >= f[THRESHOLD])
        p4pmu_request_ds(pmu, lp);
    return room ? P4PMU_DS_STORED : P4PMU_DS_FULL;
}

static bool suspended(const struct p4pmu *pmu, unsigned lp)
{
    return (pmu->ds_suspended >> lp & 1) || (pmu->msr[P4PMU_MSR_MCG_MISC][lp][0] & 1);
}

enum p4pmu_ds p4pmu_bts_store(struct p4pmu *pmu, unsigned lp, const struct p4pmu_branch *branch)
{
    uint64_t record[BTS_FIELDS] = {branch->from, branch->to, branch->predicted ? BTS_PREDICTED : 0};
    bool stop = pmu->msr[P4PMU_MSR_DEBUGCTLA][lp][0] & P4PMU_DEBUGCTLA_BTINT_MASK;
    if (suspended(pmu, lp) || pmu->config.no_bts)
        return P4PMU_DS_NOTHING;
    return store(pmu, lp, BTS_BUFFER, record, BTS_FIELDS, !stop);
}

bool p4pmu_pebs_on(const struct p4pmu *pmu, unsigned lp)
{
    uint64_t enable = pmu->msr[P4PMU_MSR_PEBS_ENABLE][0][0];
    const struct counter *c = &pmu->counter[p4pmu_pebs_counter(lp)];

    if (pmu->config.no_pebs || lp >= p4pmu_lps(pmu) || c->escr == P4PMU_NONE ||
        !(enable >> (P4PMU_PEBS_ENABLE_MY_THREAD_SHIFT + lp) & 1))
        return false;
    int event = p4pmu_selected_event(pmu, c->escr);
    return event == P4PMU_EV_execution_event || event == P4PMU_EV_front_end_event ||
           event == P4PMU_EV_replay_event;
}

bool p4pmu_pebs_wants(const struct p4pmu *pmu, enum p4pmu_event event, unsigned bits, unsigned who)
{
    unsigned lp = who >> 2 & (p4pmu_lps(pmu) - 1);
    const struct counter *c = &pmu->counter[p4pmu_pebs_counter(lp)];

    if (!c->armed || suspended(pmu, lp) || p4pmu_selected_event(pmu, c->escr) != (int)event)
        return false;
    return (p4pmu_escr_who(pmu, c->escr, (int)event) >> (who & 7) & 1) &&
           p4pmu_match(P4PMU_OR, P4PMU_GET(ESCR, EVENT_MASK, pmu->escr[c->escr]), bits,
                       pmu->config.model);
}

enum p4pmu_ds p4pmu_pebs_store(struct p4pmu *pmu, unsigned lp,
                               const struct p4pmu_pebs_registers *registers)
{
    lp &= p4pmu_lps(pmu) - 1;
    unsigned counter = p4pmu_pebs_counter(lp);
    unsigned count = p4pmu_ds64(pmu) ? P4PMU_PEBS_REGISTERS : PEBS_FIELDS_32;
    uint64_t reset;

    if (!pmu->counter[counter].armed || suspended(pmu, lp))
        return P4PMU_DS_NOTHING;
    p4pmu_catch_up(pmu, counter);
    pmu->changed = 0;
    pmu->counter[counter].armed = false;
    enum p4pmu_ds result;
    /* read first: when it is not there, nothing is written */
    if (read_fields(pmu, lp, area(pmu, lp) + 2 * BUFFER_FIELDS * width(pmu), &reset, 1, 8))
        result = store(pmu, lp, PEBS_BUFFER, registers->value, count, false);
    else
        result = fault(pmu, lp);
    if (result == P4PMU_DS_STORED)
        p4pmu_load_counter(pmu, counter, reset);
    p4pmu_plan(pmu);
    return result;
}

void p4pmu_memory(struct p4pmu *pmu, const struct p4pmu_memory *memory)
{
    pmu->memory = memory ? *memory : (struct p4pmu_memory){0};
}

void p4pmu_ds_suspend(struct p4pmu *pmu, unsigned lp, bool suspend)
{
    unsigned bit = 1u << (lp & (p4pmu_lps(pmu) - 1));
    pmu->ds_suspended = suspend ? pmu->ds_suspended | bit : pmu->ds_suspended & ~bit;
}

void p4pmu_init(struct p4pmu *pmu, unsigned lp)
{
    lp &= p4pmu_lps(pmu) - 1;
    p4pmu_catch_up_all(pmu);
    pmu->changed = 0;
    pmu->msr[P4PMU_MSR_DEBUGCTLA][lp][0] = 0;
    pmu->msr[P4PMU_MSR_DS_AREA][lp][0] = 0;
    pmu->msr[P4PMU_MSR_PEBS_ENABLE][0][0] &= ~((uint64_t)P4PMU_PEBS_ENABLE_MY_THREAD_MASK << lp);
    pmu->ds_suspended &= ~(1u << lp);
    p4pmu_drop_request(pmu, lp);
    pmu->lvt[lp] = P4PMU_LVT_RESET;
    pmu->cr4_tsd[lp] = false;
    p4pmu_privilege(pmu, lp, 0, false);
    p4pmu_configure(pmu);
}
