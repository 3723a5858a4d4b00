/*
 * The service routine of the performance-monitor interrupt: what its RDMSR, WRMSR and APIC writes
 * do. It follows perf's driver: branch records stop, then for each counter that has overflowed,
 * clear OVF, read how far the counter has run on, set it that much nearer to the next overflow,
 * record the interrupted address; then read out the DS buffers; last, with no OVF left, unmask the
 * vector table entry (the request stands while an OVF does).
 */
#include "sampler.h"

enum { MSR_DEBUGCTL = 0x1D9 };

void sampler_interrupt(struct sampler *s, unsigned lp, struct kernel_frame *frame, uint64_t before)
{
    uint64_t asked = p4pmu_accepted_clock(s->pmu, lp);
    s->totals.interrupts++;
    if (asked)
        s->totals.request_clocks += p4pmu_now(s->pmu) - asked;
    s->interrupted[lp] = before + 1;
    frame->counters = s->options.count;
    frame->trace = s->options.branches || s->options.last_branches;
    frame->ds = sampler_pebs_counter(s, lp) != P4PMU_NONE || s->options.branches;
}

static const struct sim_sampling_counter *counter_of(const struct sampler *s,
                                                     const struct kernel_frame *frame)
{
    return frame->counter < s->options.count ? &s->options.counters[frame->counter] : NULL;
}

static uint64_t read_msr(struct sampler *s, unsigned lp, uint32_t msr)
{
    uint64_t value = 0;
    p4pmu_rdmsr(s->pmu, lp, msr, &value);
    return value;
}

static void last_branches(struct sampler *s, unsigned lp, struct sim_sample *sample)
{
    enum { TOS_4 = 0x1DA, LASTBRANCH_4 = 0x1DB, FROM_16 = 0x680, TO_16 = 0x6C0 };
    uint64_t probe;
    bool sixteen = p4pmu_rdmsr(s->pmu, lp, FROM_16, &probe) == P4PMU_OK;
    unsigned depth = sixteen ? 16 : 4;
    uint64_t tos = read_msr(s, lp, TOS_4);
    for (unsigned i = 0; i < depth; i++) {
        unsigned at = (unsigned)(tos - i) & (depth - 1);
        struct sim_last_branch *b = &sample->last_branch[i];
        uint64_t both = sixteen ? 0 : read_msr(s, lp, LASTBRANCH_4 + at);
        b->from = sixteen ? read_msr(s, lp, FROM_16 + at) : (uint32_t)both;
        b->to = sixteen ? read_msr(s, lp, TO_16 + at) : both >> 32;
    }
    sample->last_branch_count = depth;
}

/* Which instruction's event it was, and how far away the sample is. */
static void tell_truth(struct sampler *s, unsigned lp, struct sim_sample *sample)
{
    uint64_t origin =
        p4pmu_overflow_origin(s->pmu, (unsigned)sample->counter, &sample->overflow_clock);
    uint64_t here = s->interrupted[lp];
    const struct sampler_note *note = origin ? sampler_find(s, lp, origin - 1) : NULL;
    if (!note)
        return;
    sample->truth_known = true;
    sample->truth_ip = note->ip;
    if (!((here - 1) & SAMPLER_HANDLER) && !((origin - 1) & SAMPLER_HANDLER)) {
        sample->skid_known = true;
        sample->skid_instructions = (int64_t)(here - origin);
    }
}

static void record(struct sampler *s, unsigned lp, struct kernel_frame *frame)
{
    const struct sim_sampling_counter *c = counter_of(s, frame);
    struct sim_sample sample = {.kind = SIM_SAMPLE_PMI,
                                .lp = lp,
                                .counter = (int)c->counter,
                                .process = frame->process,
                                .clock = p4pmu_now(s->pmu),
                                .ip = frame->resume_ip};
    uint64_t here = s->interrupted[lp];
    const struct sampler_note *note = sampler_find(s, lp, here - 1);
    sample.cpl = (here - 1) & SAMPLER_HANDLER ? 0 : 3;
    sample.thread = note && sample.cpl ? note->thread : frame->thread; /* NULL: not fetched yet */
    sample.registers_known =
        s->options.registers && sample.cpl && sampler_registers(s, lp, here - 1, &sample.registers);
    tell_truth(s, lp, &sample);
    if (s->options.last_branches)
        last_branches(s, lp, &sample);
    frame->sample_at += 8;
    sampler_give(s, &sample);
}

/* The counter has run on since its overflow: by so much the next period is begun. */
static void preset(struct sampler *s, unsigned lp, const struct kernel_frame *frame)
{
    const struct sim_sampling_counter *c = counter_of(s, frame);
    if (c->force_overflow)
        return;
    s->totals.lost_periods += frame->value / c->period;
    uint64_t value = (frame->value % c->period - c->period) & P4PMU_COUNTER_MASK;
    p4pmu_wrmsr(s->pmu, lp, p4pmu_counter(c->counter)->msr, value, NULL);
}

static void read_cccr(struct sampler *s, unsigned lp, struct kernel_frame *frame)
{
    const struct sim_sampling_counter *c = counter_of(s, frame);
    uint64_t cccr = c ? read_msr(s, lp, p4pmu_counter(c->counter)->cccr_msr) : 0;
    frame->overflowed =
        c && c->lp == lp && c->how == SIM_BY_PMI && (cccr & P4PMU_CCCR_OVF_MASK) != 0;
}

static void clear_overflow(struct sampler *s, unsigned lp, const struct kernel_frame *frame)
{
    uint32_t msr = p4pmu_counter(counter_of(s, frame)->counter)->cccr_msr;
    p4pmu_wrmsr(s->pmu, lp, msr, read_msr(s, lp, msr) & ~(uint64_t)P4PMU_CCCR_OVF_MASK, NULL);
}

void sampler_act(void *context, unsigned lp, enum kernel_action action, struct kernel_frame *frame)
{
    struct sampler *s = context;
    switch (action) {
    case KERNEL_ACTION_NOTHING:
        break;
    case KERNEL_ACTION_READ_CCCR:
        read_cccr(s, lp, frame);
        break;
    case KERNEL_ACTION_CLEAR_OVERFLOW:
        clear_overflow(s, lp, frame);
        break;
    case KERNEL_ACTION_READ_COUNTER:
        frame->value = read_msr(s, lp, p4pmu_counter(counter_of(s, frame)->counter)->msr);
        break;
    case KERNEL_ACTION_PRESET:
        preset(s, lp, frame);
        break;
    case KERNEL_ACTION_RECORD:
        record(s, lp, frame);
        break;
    case KERNEL_ACTION_COUNT_RECORDS:
        frame->records = sampler_records(s, lp);
        break;
    case KERNEL_ACTION_DRAIN:
        sampler_drain(s, lp);
        frame->record++;
        frame->sample_at += 8;
        break;
    case KERNEL_ACTION_RESET_DS:
        while (sampler_drain(s, lp))
            continue;
        sampler_ds_empty(s, lp);
        break;
    case KERNEL_ACTION_STOP_TRACE:
        p4pmu_wrmsr(s->pmu, lp, MSR_DEBUGCTL, 0, NULL);
        break;
    case KERNEL_ACTION_START_TRACE:
        p4pmu_wrmsr(s->pmu, lp, MSR_DEBUGCTL, sampler_debugctl(&s->options), NULL);
        break;
    case KERNEL_ACTION_UNMASK:
        p4pmu_set_lvt(s->pmu, lp, SAMPLER_VECTOR);
        break;
    }
}
