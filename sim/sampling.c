/*
 * The sampling driver: judging what is asked for, setting the registers, remembering instructions.
 *
 * Presets are -period (SDM3 18.15.5.8 presets -period + 1 because the interrupt comes with the
 * count after the overflow; then the overflow is one count early. Here the overflow itself is the
 * sample, so that samples times period is the count).
 */
#include "sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_PERIOD_BITS = 39, DEFAULT_RECORDS = 64, MOST_RECORDS = 8192 };

static bool refuse(char error[512], const struct sim_sampling_counter *c, const char *why)
{
    snprintf(error, 512, "counter %u (%s): %s", c->counter,
             c->counter < P4PMU_COUNTERS ? p4pmu_counter(c->counter)->name : "no such counter",
             why);
    return false;
}

static bool check_counter(const struct sim_sampling_counter *c, unsigned lps, char error[512])
{
    if (c->counter >= P4PMU_COUNTERS)
        return refuse(error, c, "there are counters 0 to 17");
    if (c->lp >= lps)
        return refuse(error, c,
                      lps > 1 ? "there are logical processors 0 and 1"
                              : "there is logical processor 0 alone");
    if (!c->force_overflow && (c->period == 0 || c->period > UINT64_C(1) << LONGEST_PERIOD_BITS))
        return refuse(error, c, "the period must be from 1 to 2^39, half of what a counter holds");
    if (c->how == SIM_BY_PEBS && c->counter != 16 + c->lp)
        return refuse(error, c,
                      "PEBS works with MSR_IQ_COUNTER4 alone, and with MSR_IQ_COUNTER5 for logical "
                      "processor 1 (SDM3 18.15.7)");
    if (c->how == SIM_BY_PEBS && c->force_overflow)
        return refuse(error, c, "PEBS needs a period; FORCE_OVF leaves none");
    return true;
}

static bool check(const struct sim_sampling *s, unsigned lps, char error[512])
{
    uint32_t seen = 0;
    if (s->count > SIM_SAMPLING_COUNTERS) {
        snprintf(error, 512, "%u counters asked for; there are 18", s->count);
        return false;
    }
    for (unsigned i = 0; i < s->count; i++) {
        if (!check_counter(&s->counters[i], lps, error))
            return false;
        if (seen >> s->counters[i].counter & 1)
            return refuse(error, &s->counters[i], "is asked for twice");
        seen |= 1u << s->counters[i].counter;
    }
    if (s->records > MOST_RECORDS || s->threshold > 2 * MOST_RECORDS) {
        snprintf(error, 512,
                 "a DS buffer of %u records with its threshold at %u; expected at most %d records "
                 "(a threshold beyond the end never interrupts)",
                 s->records, s->threshold, MOST_RECORDS);
        return false;
    }
    return true;
}

static bool write_msr(struct sampler *s, unsigned lp, uint32_t msr, uint64_t value, char error[512])
{
    enum p4pmu_fault fault = p4pmu_wrmsr(s->pmu, lp, msr, value, NULL);
    if (fault == P4PMU_OK)
        return true;
    snprintf(error, 512, "writing 0x%llX to MSR 0x%X: %s", (unsigned long long)value, (unsigned)msr,
             p4pmu_fault_text(fault));
    return false;
}

static bool start_counter(struct sampler *s, const struct sim_sampling_counter *c, char error[512])
{
    const struct p4pmu_counter_info *info = p4pmu_counter(c->counter);
    uint64_t cccr = 0, preset = (0 - c->period) & P4PMU_COUNTER_MASK;
    if (p4pmu_rdmsr(s->pmu, c->lp, info->cccr_msr, &cccr) != P4PMU_OK)
        return refuse(error, c, "its CCCR does not exist on this model");
    if (c->how == SIM_BY_PMI)
        cccr |= c->lp ? P4PMU_CCCR_OVF_PMI_T1_MASK : P4PMU_CCCR_OVF_PMI_T0_MASK;
    if (c->force_overflow)
        cccr |= P4PMU_CCCR_FORCE_OVF_MASK;
    else if (!write_msr(s, c->lp, info->msr, preset, error))
        return false;
    return write_msr(s, c->lp, info->cccr_msr, cccr & ~(uint64_t)P4PMU_CCCR_OVF_MASK, error);
}

static bool memory_for(struct sampler *s, unsigned lp)
{
    s->pebs[lp] = calloc(1, sizeof *s->pebs[lp]);
    s->branches[lp] = calloc(1, sizeof *s->branches[lp]);
    s->ds[lp] = calloc(1, KERNEL_DS_BYTES);
    return s->pebs[lp] && s->branches[lp] && s->ds[lp] && sampler_keep_notes(s, lp);
}

bool sampler_keep_notes(struct sampler *s, unsigned lp)
{
    if (!s->notes[lp])
        s->notes[lp] = calloc(2 * SAMPLER_NOTES, sizeof *s->notes[lp]);
    if (!s->snapshots[lp])
        s->snapshots[lp] = calloc(SAMPLER_SNAPSHOTS, sizeof *s->snapshots[lp]);
    return s->notes[lp] && s->snapshots[lp];
}

static bool uses(const struct sim_sampling *s, unsigned lp)
{
    bool used = lp == 0 || s->branches || s->last_branches;
    for (unsigned i = 0; i < s->count; i++)
        used = used || s->counters[i].lp == lp;
    return used;
}

static bool start_lp(struct sampler *s, unsigned lp, char error[512])
{
    if (!s->ds[lp] && !memory_for(s, lp)) {
        snprintf(error, 512, "out of memory");
        return false;
    }
    if (!sampler_ds_start(s, lp, error))
        return false;
    p4pmu_set_lvt(s->pmu, lp, SAMPLER_VECTOR);
    return true;
}

bool sampler_start(struct sampler *s, const struct sim_sampling *sampling, char error[512])
{
    if (!check(sampling, s->lps, error))
        return false;
    s->options = *sampling;
    if (!s->options.records)
        s->options.records = DEFAULT_RECORDS;
    if (!s->options.threshold)
        s->options.threshold = s->options.records;
    memset(&s->totals, 0, sizeof s->totals);
    for (unsigned lp = 0; lp < s->lps; lp++)
        if (uses(&s->options, lp) && !start_lp(s, lp, error))
            return false;
    for (unsigned i = 0; i < s->options.count; i++)
        if (!start_counter(s, &s->options.counters[i], error))
            return false;
    s->wants_registers = s->options.registers || sampler_pebs_counter(s, 0) != P4PMU_NONE ||
                         sampler_pebs_counter(s, 1) != P4PMU_NONE;
    s->on = s->keeps_notes = true;
    return true;
}

/* The counters go on as plain counters. */
static void quiet(struct sampler *s)
{
    char error[512];
    for (unsigned i = 0; i < s->options.count; i++) {
        const struct sim_sampling_counter *c = &s->options.counters[i];
        uint32_t msr = p4pmu_counter(c->counter)->cccr_msr;
        uint64_t cccr = 0;
        p4pmu_rdmsr(s->pmu, c->lp, msr, &cccr);
        cccr &= ~(uint64_t)(P4PMU_CCCR_OVF_PMI_T0_MASK | P4PMU_CCCR_OVF_PMI_T1_MASK |
                            P4PMU_CCCR_FORCE_OVF_MASK | P4PMU_CCCR_OVF_MASK);
        write_msr(s, c->lp, msr, cccr, error);
    }
}

void sampler_stop(struct sampler *s)
{
    enum { MASKED = 1 << 16 };
    if (!s->on)
        return;
    for (unsigned lp = 0; lp < SAMPLER_LPS; lp++) {
        if (!s->ds[lp])
            continue;
        p4pmu_set_lvt(s->pmu, lp, SAMPLER_VECTOR | MASKED);
        while (sampler_drain(s, lp))
            continue;
        sampler_ds_empty(s, lp);
    }
    quiet(s);
    s->on = false;
}

void sampler_free(struct sampler *s)
{
    for (unsigned lp = 0; lp < SAMPLER_LPS; lp++) {
        free(s->notes[lp]);
        free(s->snapshots[lp]);
        free(s->pebs[lp]);
        free(s->branches[lp]);
        free(s->ds[lp]);
    }
}

/* A handler's instructions have numbers of their own, and do not take the place of the program's.
 */
static size_t slot_of(uint64_t serial)
{
    return (serial & SAMPLER_HANDLER ? SAMPLER_NOTES : 0) + (size_t)(serial % SAMPLER_NOTES);
}

void sampler_note(struct sampler *s, unsigned lp, const struct nb_instruction *in, uint16_t thread,
                  const struct p4pmu_pebs_registers *registers)
{
    if (!s->notes[lp])
        return;
    s->notes[lp][slot_of(in->serial)] = (struct sampler_note){
        .serial = in->serial + 1, .ip = in->ip, .process = in->process, .thread = thread};
    if (registers)
        s->snapshots[lp][in->serial % SAMPLER_SNAPSHOTS] =
            (struct sampler_snapshot){in->serial + 1, *registers};
}

const struct sampler_note *sampler_find(const struct sampler *s, unsigned lp, uint64_t serial)
{
    if (!s->notes[lp])
        return NULL;
    const struct sampler_note *note = &s->notes[lp][slot_of(serial)];
    return note->serial == serial + 1 ? note : NULL;
}

bool sampler_registers(const struct sampler *s, unsigned lp, uint64_t serial,
                       struct p4pmu_pebs_registers *out)
{
    const struct sampler_snapshot *snapshot =
        s->snapshots[lp] ? &s->snapshots[lp][serial % SAMPLER_SNAPSHOTS] : NULL;
    if (!snapshot || snapshot->serial != serial + 1)
        return false;
    *out = snapshot->registers;
    return true;
}

void sampler_give(struct sampler *s, struct sim_sample *sample)
{
    if (!s->on || (s->options.max_samples && s->totals.samples >= s->options.max_samples))
        return;
    sample->number = s->totals.samples++;
    if (s->options.sample)
        s->options.sample(s->options.context, sample);
    if (s->totals.samples == s->options.max_samples)
        quiet(s);
}
