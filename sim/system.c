/*
 * The model's operating system joined to a program: system calls enter the kernel behind their
 * instruction, first touches of pages before theirs, timer and monitoring interrupts anywhere.
 */
#include "system.h"

void system_init(struct system *s, struct p4pmu *pmu, struct sampler *sampler,
                 struct kernel_pages *pages, struct trace_source *source, unsigned lp)
{
    s->pages = pages;
    s->source = source;
    s->pmu = pmu;
    s->sampler = sampler;
    s->lp = lp;
    s->kernel.lp = lp;
    s->kernel.act = sampler_act;
    s->kernel.context = sampler;
}

void system_start(struct system *s, const struct sim_kernel_options *options,
                  struct nb_machine *machine, uint32_t core_mhz)
{
    s->options = *options;
    s->machine = machine;
    if (!options->on || !options->timer_hz)
        return;
    s->timer_period = (uint64_t)core_mhz * 1000000 / options->timer_hz;
    s->timer_next = p4pmu_now(s->pmu) + s->timer_period;
    nb_interrupt_request(machine, s->lp, SYSTEM_TIMER_VECTOR, s->timer_next);
}

static void number(struct system *s, struct nb_instruction *out)
{
    out->serial = SAMPLER_HANDLER | s->kernel_serial++;
    if (s->sampler->keeps_notes)
        sampler_note(s->sampler, s->lp, out, 0, NULL);
}

bool system_next(struct system *s, struct nb_instruction *out, enum nb_input_result *result)
{
    bool sync;
    if (s->call_due && !s->kernel.depth) {
        s->call_due = false;
        kernel_enter(&s->kernel, KERNEL_SYSTEM_CALL, s->process, s->next_ip)->call_number =
            s->call_number;
    }
    if (!kernel_next(&s->kernel, out, &sync))
        return false;
    *result = sync ? NB_INPUT_SYNC : NB_INPUT_OK;
    if (!sync)
        number(s, out);
    return true;
}

static void meet_page_faults(struct system *s, struct nb_instruction *out)
{
    uint64_t address = 0;
    unsigned faults = kernel_page_faults(s->pages, out, &address);
    if (!faults)
        return;
    out->faults = (uint8_t)(faults < UINT8_MAX ? faults : UINT8_MAX);
    s->fault[out->serial % SYSTEM_FAULTS].serial = out->serial;
    s->fault[out->serial % SYSTEM_FAULTS].address = address;
}

static uint64_t routine_address(enum kernel_routine routine)
{
    size_t count;
    return kernel_rows(&count)[kernel_routine_row(routine)].address;
}

/* The registers before the instruction just delivered, in a PEBS record's order. */
static bool registers_before(struct system *s, uint64_t ip, struct p4pmu_pebs_registers *out)
{
    enum { AX, CX, DX, BX, SP, BP, SI, DI, R8, FIRST_OF_64 = 10 };
    static const uint8_t order[] = {AX, BX, CX, DX, SI, DI, BP, SP};
    struct trace_registers now;
    if (!s->sampler->wants_registers || !s->source ||
        !trace_source_registers_before(s->source, &now) || now.ip != ip)
        return false;
    out->value[0] = now.flags;
    out->value[1] = now.ip;
    for (unsigned i = 0; i < sizeof order; i++)
        out->value[2 + i] = now.gpr[order[i]];
    for (unsigned i = 0; i < 8; i++)
        out->value[FIRST_OF_64 + i] = now.gpr[R8 + i];
    return true;
}

void system_pass(struct system *s, const struct trace_instruction *in, struct nb_instruction *out)
{
    s->process = out->process;
    s->thread = in->thread;
    s->next_serial = out->serial + 1;
    s->next_ip = in->next_ip;
    if (s->options.on) {
        meet_page_faults(s, out);
        s->call_due = (in->flags & TRACE_SYSTEM_CALL) != 0;
        if (s->call_due)
            out->next_ip = routine_address(KERNEL_SYSTEM_CALL);
    }
    if (s->sampler->keeps_notes) {
        struct p4pmu_pebs_registers registers;
        bool known = registers_before(s, in->ip, &registers);
        sampler_note(s->sampler, s->lp, out, in->thread, known ? &registers : NULL);
    }
}

static void next_tick(struct system *s)
{
    uint64_t now = p4pmu_now(s->pmu);
    s->timer_next += s->timer_period;
    if (s->timer_next <= now)
        s->timer_next = now + s->timer_period;
    nb_interrupt_request(s->machine, s->lp, SYSTEM_TIMER_VECTOR, s->timer_next);
}

static uint64_t fault_address(const struct system *s, const struct nb_instruction *before)
{
    if (!before)
        return 0;
    uint64_t serial = before->serial;
    return s->fault[serial % SYSTEM_FAULTS].serial == serial
               ? s->fault[serial % SYSTEM_FAULTS].address
               : before->ip;
}

static enum kernel_routine routine_of(const struct nb_interrupt *taken)
{
    switch (taken->kind) {
    case NB_PAGE_FAULT:
        return KERNEL_PAGE_FAULT;
    case NB_INTERRUPT_MONITORING:
        return KERNEL_PMI;
    case NB_INTERRUPT_REQUESTED:
        break;
    }
    return KERNEL_TIMER;
}

uint64_t system_interrupt(struct system *s, const struct nb_interrupt *taken)
{
    enum kernel_routine routine = routine_of(taken);
    uint16_t process = s->process;
    if (s->kernel.depth)
        process = s->kernel.frame[s->kernel.depth - 1].process;
    else if (taken->before && taken->before->process != NB_PROCESS_KERNEL)
        process = taken->before->process;
    uint64_t next = s->kernel.depth ? SAMPLER_HANDLER | s->kernel_serial : s->next_serial;
    struct kernel_frame *frame = kernel_enter(&s->kernel, routine, process, taken->ip);
    frame->thread = s->thread;
    if (routine == KERNEL_PAGE_FAULT)
        frame->fault_address = fault_address(s, taken->before);
    else if (routine == KERNEL_PMI)
        sampler_interrupt(s->sampler, s->lp, frame, taken->before ? taken->before->serial : next);
    else
        next_tick(s);
    return routine_address(routine);
}
