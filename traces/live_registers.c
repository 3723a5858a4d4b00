/*
 * RDTSC, RDPMC, RDMSR and WRMSR of a live program: the processor that is simulated answers them
 * (trace_source_answer), at the time to which its machine has come.
 *
 * Without one, RDTSC is the number of instructions executed so far, and the others fault as they do
 * in a user program of a system that grants nothing.
 */
#define _GNU_SOURCE
#include "live.h"

static uint64_t edx_eax(const struct user_regs_struct *regs)
{
    return (regs->rdx & 0xffffffff) << 32 | (regs->rax & 0xffffffff);
}

/* RDTSC, RDPMC and RDMSR clear the upper halves where there are any (SDM volume 2). */
static void set_edx_eax(struct user_regs_struct *regs, uint64_t value)
{
    regs->rax = value & 0xffffffff;
    regs->rdx = value >> 32;
}

static struct trace_register_access access_of(const struct live *live,
                                              const struct user_regs_struct *regs, unsigned kind)
{
    return (struct trace_register_access){
        .what = kind == RECIPE_RDTSC   ? TRACE_RDTSC
                : kind == RECIPE_RDPMC ? TRACE_RDPMC
                : kind == RECIPE_RDMSR ? TRACE_RDMSR
                                       : TRACE_WRMSR,
        .index = (uint32_t)regs->rcx,
        .thread = live->threads[live->current]->number,
        .ip = regs->rip,
        .value = edx_eax(regs),
    };
}

bool live_may_access_register(struct live *live, const struct user_regs_struct *regs, unsigned kind)
{
    struct trace_register_access access = access_of(live, regs, kind);

    access.ask = true;
    return live->source.registers ? live->source.registers(live->source.registers_context, &access)
                                  : kind == RECIPE_RDTSC;
}

void live_access_register(struct live *live, struct user_regs_struct *regs, unsigned kind)
{
    struct trace_register_access access = access_of(live, regs, kind);

    if (!live->source.registers)
        set_edx_eax(regs, live->executed);
    else if (live->source.registers(live->source.registers_context, &access) &&
             access.what != TRACE_WRMSR)
        set_edx_eax(regs, access.value);
}
