/*
 * The driver's DS area: where it lies, how it is set up and read out. The processor writes records
 * into these bytes through p4pmu_memory, the driver reads them back from there: what a record says
 * has been through memory in the documented format.
 *
 * A program may point IA32_DS_AREA at memory of its own: then the records are its own too, and the
 * driver hears nothing of them.
 */
#include "sampler.h"

#include <stdio.h>
#include <string.h>

enum { BUFFER_PEBS = 4096, BUFFER_BTS = KERNEL_DS_BYTES / 2 };
enum { BTS_FIRST = 0, PEBS_FIRST = 4, RESET = 8 }; /* management fields */
enum { BTS_FIELDS = 3, PEBS_FIELDS_32 = 10 };
enum { MSR_DS_AREA = 0x600, MSR_PEBS = 0x3F1, MSR_DEBUGCTL = 0x1D9 };

static uint32_t ds_address(unsigned lp)
{
    return KERNEL_DS + lp * KERNEL_DS_BYTES;
}

static unsigned width(const struct sampler *s)
{
    return p4pmu_ds64(s->pmu) ? 8 : 4;
}

static unsigned pebs_fields(const struct sampler *s)
{
    return p4pmu_ds64(s->pmu) ? P4PMU_PEBS_REGISTERS : PEBS_FIELDS_32;
}

/* ---- little-endian fields ----------------------------------------------------------------------
 */

static uint64_t get(const struct sampler *s, unsigned lp, size_t offset, unsigned bytes)
{
    uint64_t value = 0;
    while (bytes--)
        value = value << 8 | s->ds[lp][offset + bytes];
    return value;
}

static void put(struct sampler *s, unsigned lp, size_t offset, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++, value >>= 8)
        s->ds[lp][offset + i] = (unsigned char)value;
}

static uint64_t field(const struct sampler *s, unsigned lp, unsigned number)
{
    return get(s, lp, (size_t)number * width(s), width(s));
}

static void set_field(struct sampler *s, unsigned lp, unsigned number, uint64_t value)
{
    put(s, lp, (size_t)number * width(s), width(s), value);
}

/* ---- setting up --------------------------------------------------------------------------------
 */

/* Base, index, maximum and threshold of one buffer. */
static void set_buffer(struct sampler *s, unsigned lp, unsigned first, uint32_t offset,
                       unsigned record_bytes)
{
    uint64_t base = ds_address(lp) + offset;
    set_field(s, lp, first, base);
    set_field(s, lp, first + 1, base);
    set_field(s, lp, first + 2, base + (uint64_t)s->options.records * record_bytes);
    set_field(s, lp, first + 3, base + (uint64_t)s->options.threshold * record_bytes);
}

int sampler_pebs_counter(const struct sampler *s, unsigned lp)
{
    for (unsigned i = 0; i < s->options.count; i++) {
        const struct sim_sampling_counter *c = &s->options.counters[i];
        if (c->how == SIM_BY_PEBS && c->lp == lp)
            return (int)c->counter;
    }
    return P4PMU_NONE;
}

static uint64_t pebs_period(const struct sampler *s, unsigned lp)
{
    for (unsigned i = 0; i < s->options.count; i++)
        if (s->options.counters[i].how == SIM_BY_PEBS && s->options.counters[i].lp == lp)
            return s->options.counters[i].period;
    return 0;
}

static bool write_msr(struct sampler *s, unsigned lp, uint32_t msr, uint64_t clear, uint64_t set,
                      char error[512])
{
    uint64_t value = 0;
    enum p4pmu_fault fault = p4pmu_rdmsr(s->pmu, lp, msr, &value);
    if (fault == P4PMU_OK)
        fault = p4pmu_wrmsr(s->pmu, lp, msr, (value & ~clear) | set, NULL);
    if (fault == P4PMU_OK)
        return true;
    snprintf(error, 512, "MSR 0x%X of logical processor %u: %s", (unsigned)msr, lp,
             p4pmu_fault_text(fault));
    return false;
}

/* Not only the last-branch stack: a record goes to the DS area. */
static bool stores_branches(const struct sampler *s, unsigned lp)
{
    uint64_t control = 0;
    p4pmu_rdmsr(s->pmu, lp, MSR_DEBUGCTL, &control);
    return (control & P4PMU_DEBUGCTLA_TR_MASK) && (control & P4PMU_DEBUGCTLA_BTS_MASK);
}

/* What MSR_DEBUGCTLA holds while branches are recorded. */
uint64_t sampler_debugctl(const struct sim_sampling *o)
{
    uint64_t value = o->last_branches ? P4PMU_DEBUGCTLA_LBR_MASK : 0;
    if (o->branches)
        value |= P4PMU_DEBUGCTLA_TR_MASK | P4PMU_DEBUGCTLA_BTS_MASK | P4PMU_DEBUGCTLA_BTINT_MASK;
    if (o->no_kernel)
        value |= P4PMU_DEBUGCTLA_BTS_OFF_OS_MASK;
    if (o->no_user)
        value |= P4PMU_DEBUGCTLA_BTS_OFF_USR_MASK;
    return value;
}

bool sampler_ds_start(struct sampler *s, unsigned lp, char error[512])
{
    bool precise = sampler_pebs_counter(s, lp) != P4PMU_NONE;
    set_buffer(s, lp, BTS_FIRST, BUFFER_BTS, BTS_FIELDS * width(s));
    set_buffer(s, lp, PEBS_FIRST, BUFFER_PEBS, pebs_fields(s) * width(s));
    put(s, lp, (size_t)RESET * width(s), 8, (0 - pebs_period(s, lp)) & P4PMU_COUNTER_MASK);
    if ((precise || s->options.branches) &&
        !write_msr(s, lp, MSR_DS_AREA, UINT64_MAX, ds_address(lp), error))
        return false;
    if (precise && !write_msr(s, lp, MSR_PEBS, 0, P4PMU_PEBS_ENABLE_MY_THREAD_MASK, error))
        return false;
    uint64_t control = sampler_debugctl(&s->options);
    if (!control || write_msr(s, lp, MSR_DEBUGCTL, UINT64_MAX, control, error))
        return true;
    if (s->options.no_user || s->options.no_kernel)
        snprintf(error, 512,
                 "branch records cannot be chosen by privilege level on this model: BTS_OFF_OS and "
                 "BTS_OFF_USR of MSR_DEBUGCTLA came with model 3");
    return false;
}

/* ---- records -----------------------------------------------------------------------------------
 */

static void push(struct sampler_queue *q, const struct sampler_pending *pending)
{
    q->item[q->tail++ % SAMPLER_PENDING] = *pending;
}

/* What goes with the oldest record; records nobody told of (a program's own) have nothing. */
static struct sampler_pending pop(struct sampler_queue *q)
{
    if (q->head == q->tail)
        return (struct sampler_pending){0};
    return q->item[q->head++ % SAMPLER_PENDING];
}

static struct sampler_pending pending_of(const struct sampler *s, unsigned lp,
                                         const struct nb_instruction *in)
{
    const struct sampler_note *note = sampler_find(s, lp, in->serial);
    return (struct sampler_pending){.clock = p4pmu_now(s->pmu),
                                    .truth_ip = in->ip,
                                    .process = in->process,
                                    .thread = note ? note->thread : 0,
                                    .cpl = in->flags & NB_INSTRUCTION_KERNEL ? 0 : 3};
}

static void count_result(struct sampler *s, enum p4pmu_ds result)
{
    s->shut_down |= result == P4PMU_DS_FAULT;
    s->totals.lost_records += result == P4PMU_DS_FULL;
    s->totals.faults += result == P4PMU_DS_FAULT;
}

/* What goes with a record in the driver's area. */
static void remember(struct sampler *s, unsigned lp, struct sampler_queue *queue,
                     const struct nb_instruction *in)
{
    struct sampler_pending pending = pending_of(s, lp, in);
    push(queue, &pending);
}

static void add(struct nb_instruction *flow, uint64_t address, unsigned size, bool write)
{
    flow->access[flow->access_count++] =
        (struct nb_access){.address = address, .size = size, .write = write};
}

/* A field of the management area that IA32_DS_AREA points at, whosever it is. */
static uint64_t area_field(struct sampler *s, unsigned lp, unsigned number)
{
    unsigned char raw[8] = {0};
    uint64_t value = 0;
    unsigned bytes = width(s);
    sampler_memory_read(s, lp, sampler_area(s, lp) + (uint64_t)number * bytes, raw, bytes);
    while (bytes--)
        value = value << 8 | raw[bytes];
    return value;
}

/* What the microcode reads and writes to store a record: the buffer's fields, the reset value, the
 * record word by word, the index. */
static void describe_flow(const struct sampler *s, unsigned lp, unsigned first, unsigned fields,
                          uint64_t record, struct nb_instruction *flow)
{
    unsigned bytes = width(s);
    uint64_t area = sampler_area(s, lp);
    add(flow, area + (uint64_t)first * bytes, 4 * bytes, false);
    if (first == PEBS_FIRST)
        add(flow, area + (uint64_t)RESET * bytes, 8, false);
    add(flow, record, bytes, true);
    add(flow, area + (first + 1ull) * bytes, bytes, true);
    flow->repetitions = fields;
}

/* In the kernel no registers are known: the record has the address alone. */
bool sampler_pebs(struct sampler *s, unsigned lp, const struct nb_instruction *in,
                  struct nb_instruction *flow)
{
    struct p4pmu_pebs_registers registers = {{0}};
    if (!sampler_enter_memory(s, lp, in))
        return false;
    uint64_t record = area_field(s, lp, PEBS_FIRST + 1);
    sampler_registers(s, lp, in->serial, &registers);
    registers.value[1] = in->ip;
    enum p4pmu_ds result = p4pmu_pebs_store(s->pmu, lp, &registers);
    count_result(s, result);
    if (result != P4PMU_DS_STORED)
        return false;
    if (sampler_is_drivers(s, lp)) {
        remember(s, lp, s->pebs[lp], in);
        s->totals.pebs_records++;
    }
    describe_flow(s, lp, PEBS_FIRST, pebs_fields(s), record, flow);
    return true;
}

bool sampler_branch(struct sampler *s, unsigned lp, const struct p4pmu_branch *branch,
                    const struct nb_instruction *in, struct nb_instruction *flow)
{
    if (!sampler_enter_memory(s, lp, in))
        return false;
    uint64_t record = stores_branches(s, lp) ? area_field(s, lp, BTS_FIRST + 1) : 0;
    enum p4pmu_ds result = p4pmu_branch(s->pmu, lp, branch);
    count_result(s, result);
    if (result != P4PMU_DS_STORED)
        return false;
    if (sampler_is_drivers(s, lp)) {
        remember(s, lp, s->branches[lp], in);
        s->totals.branch_records++;
    }
    describe_flow(s, lp, BTS_FIRST, BTS_FIELDS, record, flow);
    return true;
}

static unsigned in_buffer(const struct sampler *s, unsigned lp, unsigned first, unsigned fields)
{
    uint64_t bytes = field(s, lp, first + 1) - field(s, lp, first);
    return (unsigned)(bytes / (fields * width(s)));
}

static unsigned queued(const struct sampler_queue *q)
{
    return (unsigned)(q->tail - q->head);
}

unsigned sampler_records(struct sampler *s, unsigned lp)
{
    return queued(s->pebs[lp]) + queued(s->branches[lp]);
}

/* Where the oldest unread record of a buffer lies. */
static size_t oldest(const struct sampler *s, unsigned lp, unsigned first, unsigned fields,
                     const struct sampler_queue *q)
{
    unsigned number = in_buffer(s, lp, first, fields) - queued(q);
    uint64_t address = field(s, lp, first) + (uint64_t)number * fields * width(s);
    return (size_t)(address - ds_address(lp));
}

static void fill(struct sim_sample *sample, const struct sampler_pending *pending, unsigned lp)
{
    sample->lp = lp;
    sample->cpl = pending->cpl;
    sample->clock = sample->overflow_clock = pending->clock;
    sample->process = pending->process;
    sample->thread = pending->thread;
    sample->truth_known = true;
    sample->truth_ip = pending->truth_ip;
}

static void drain_pebs(struct sampler *s, unsigned lp)
{
    unsigned bytes = width(s), fields = pebs_fields(s);
    size_t at = oldest(s, lp, PEBS_FIRST, fields, s->pebs[lp]);
    struct sampler_pending pending = pop(s->pebs[lp]);
    struct sim_sample sample = {.kind = SIM_SAMPLE_PEBS, .counter = sampler_pebs_counter(s, lp)};
    fill(&sample, &pending, lp);
    for (unsigned i = 0; i < fields; i++)
        sample.registers.value[i] = get(s, lp, at + (size_t)i * bytes, bytes);
    sample.registers_known = pending.cpl != 0;
    sample.ip = sample.registers.value[1];
    sample.skid_known = true;
    sampler_give(s, &sample);
}

static void drain_branch(struct sampler *s, unsigned lp)
{
    unsigned bytes = width(s);
    size_t at = oldest(s, lp, BTS_FIRST, BTS_FIELDS, s->branches[lp]);
    struct sampler_pending pending = pop(s->branches[lp]);
    struct sim_sample sample = {.kind = SIM_SAMPLE_BRANCH, .counter = P4PMU_NONE};
    fill(&sample, &pending, lp);
    sample.ip = get(s, lp, at, bytes);
    sample.branch_to = get(s, lp, at + bytes, bytes);
    sample.branch_predicted = get(s, lp, at + 2 * (size_t)bytes, bytes) >> 4 & 1;
    sampler_give(s, &sample);
}

/* Read the oldest record; false when there is none. */
bool sampler_drain(struct sampler *s, unsigned lp)
{
    if (queued(s->pebs[lp]))
        drain_pebs(s, lp);
    else if (queued(s->branches[lp]))
        drain_branch(s, lp);
    else
        return false;
    return true;
}

/* Both indexes go back to their bases. */
void sampler_ds_empty(struct sampler *s, unsigned lp)
{
    set_field(s, lp, BTS_FIRST + 1, field(s, lp, BTS_FIRST));
    set_field(s, lp, PEBS_FIRST + 1, field(s, lp, PEBS_FIRST));
}
