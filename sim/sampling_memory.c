/*
 * The memory a DS area lies in: the driver's, kernel memory, one area for each logical processor;
 * or a program's own, in the address space of the instruction whose record is stored. There a page
 * that is not mapped or cannot be written is missing, and the processor shuts down, as documented.
 */
#include "sampler.h"

#include <string.h>

enum { MSR_DS_AREA = 0x600, MSR_PEBS = 0x3F1 };

static uint32_t drivers_area(unsigned lp)
{
    return KERNEL_DS + lp * KERNEL_DS_BYTES;
}

static uint64_t read_msr(const struct sampler *s, unsigned lp, uint32_t msr)
{
    uint64_t value = 0;
    p4pmu_rdmsr(s->pmu, lp, msr, &value);
    return value;
}

uint64_t sampler_area(const struct sampler *s, unsigned lp)
{
    return read_msr(s, lp, MSR_DS_AREA);
}

bool sampler_is_drivers(const struct sampler *s, unsigned lp)
{
    return s->on && s->ds[lp] && sampler_area(s, lp) == drivers_area(lp);
}

void sampler_written(void *sampler)
{
    const uint64_t any_thread =
        P4PMU_PEBS_ENABLE_MY_THREAD_MASK | P4PMU_PEBS_ENABLE_OTHER_THREAD_MASK;
    struct sampler *s = sampler;
    for (unsigned lp = 0; lp < s->lps; lp++)
        if ((read_msr(s, lp, MSR_PEBS) & any_thread) && sampler_area(s, lp) &&
            !sampler_is_drivers(s, lp) && sampler_keep_notes(s, lp))
            s->keeps_notes = s->wants_registers = true;
}

bool sampler_enter_memory(struct sampler *s, unsigned lp, const struct nb_instruction *in)
{
    if (in->process != NB_PROCESS_KERNEL)
        s->process[lp] = (uint16_t)(in->process & ~(unsigned)s->process_bit[lp]);
    return !s->source[lp] || sampler_is_drivers(s, lp) ||
           trace_source_store(s->source[lp], s->process[lp], sampler_area(s, lp), "", 0) !=
               TRACE_NO_PROCESS;
}

/* Where ADDRESS is in the driver's area, while that is LP's; else NULL. */
static unsigned char *place(const struct sampler *s, unsigned lp, uint64_t address, size_t bytes)
{
    uint64_t offset = address - drivers_area(lp);
    bool inside = offset < KERNEL_DS_BYTES && bytes <= KERNEL_DS_BYTES - offset;
    return inside && sampler_is_drivers(s, lp) ? s->ds[lp] + offset : NULL;
}

static bool is_there(struct sampler *s, uint64_t address, bool there)
{
    if (!there)
        s->missing = address;
    return there;
}

bool sampler_memory_read(void *sampler, unsigned lp, uint64_t address, void *to, size_t bytes)
{
    struct sampler *s = sampler;
    const unsigned char *from = place(s, lp, address, bytes);
    if (!from)
        return is_there(s, address,
                        s->source[lp] && trace_source_memory_at(s->source[lp], s->process[lp],
                                                                address, to, bytes) == bytes);
    memcpy(to, from, bytes);
    return true;
}

bool sampler_memory_write(void *sampler, unsigned lp, uint64_t address, const void *from,
                          size_t bytes)
{
    struct sampler *s = sampler;
    unsigned char *to = place(s, lp, address, bytes);
    if (!to)
        return is_there(s, address,
                        s->source[lp] && trace_source_store(s->source[lp], s->process[lp], address,
                                                            from, bytes) != TRACE_NO_PAGE);
    memcpy(to, from, bytes);
    return true;
}
