/*
 * One instruction of a live thread: work out what it will touch, let the processor execute it, see
 * what became of it. CPUID, RDTSC, RDPMC, RDMSR and WRMSR are answered here instead, so that the
 * program sees the model.
 *
 * Limits: without a processor to ask (trace_source_answer), RDTSC is the number of instructions
 * executed so far, and RDPMC, RDMSR and WRMSR fault as in any user program; instructions a Pentium
 * 4 did not have run natively when a program uses them in spite of CPUID.
 */
#define _GNU_SOURCE
#include "execute.h"
#include "live_check.h"
#include "live_msr.h"

#include <limits.h>
#include <string.h>
#include <sys/ptrace.h>

enum {
    BREAKPOINT = 0xcc,
    REPETITIONS_WORTH_A_BREAKPOINT = 16,
    /* errno values the kernel keeps for itself: the system call will be restarted */
    RESTART_FIRST = 512,
    RESTART_LAST = 516,
    RESTART_SYSCALL = 219,
    RT_SIGRETURN_64 = 15,
    TRAP_CODE_CALL = 1,      /* si_code TRAP_BRKPT: back from a system call */
    TRAP_CODE_STEP = 2,      /* si_code TRAP_TRACE: an instruction was executed */
    TRAP_CODE_HANDLER = 5,   /* a signal handler's frame was made */
    TRAP_CODE_KERNEL = 0x80, /* int3 */
};

/* An instruction about to be executed. */
struct attempt {
    struct space *space;
    struct code_entry *entry; /* NULL where no code can be read */
    struct recipe_registers start;
    uint64_t true_ip; /* of the stop before: not start.ip where the kernel restarts a call */
    unsigned access_count;
    struct trace_access access[TRACE_ACCESSES];
};

enum recipe_mode live_mode(const struct user_regs_struct *regs)
{
    return regs->cs == CS_64BIT ? RECIPE_64 : RECIPE_32;
}

static struct recipe_registers all_registers(const struct user_regs_struct *regs)
{
    return (struct recipe_registers){
        .gpr = {regs->rax, regs->rcx, regs->rdx, regs->rbx, regs->rsp, regs->rbp, regs->rsi,
                regs->rdi, regs->r8, regs->r9, regs->r10, regs->r11, regs->r12, regs->r13,
                regs->r14, regs->r15},
        .fs_base = regs->fs_base,
        .gs_base = regs->gs_base,
        .ip = regs->rip,
        .flags = regs->eflags,
    };
}

struct recipe_registers live_registers(const struct user_regs_struct *regs)
{
    struct recipe_registers registers = all_registers(regs);

    if (live_mode(regs) == RECIPE_64)
        return registers;
    for (unsigned i = 0; i < 16; i++)
        registers.gpr[i] = i < GPR_R8 ? registers.gpr[i] & 0xffffffff : 0;
    registers.fs_base &= 0xffffffff;
    registers.gs_base &= 0xffffffff;
    registers.ip &= 0xffffffff;
    return registers;
}

bool live_call_restarts(const struct live_thread *thread)
{
    int64_t result = (int64_t)thread->regs.rax;

    if (live_mode(&thread->regs) == RECIPE_32)
        result = (int32_t)result;
    return (int64_t)thread->regs.orig_rax >= 0 && result <= -RESTART_FIRST &&
           result >= -RESTART_LAST && !thread->inject;
}

/* A call that a signal cut short is restarted by the kernel when no handler runs: it goes back. */
static void follow_restart(struct live_thread *thread, struct recipe_registers *start)
{
    if (!live_call_restarts(thread))
        return;
    start->ip -= 2;
    start->gpr[GPR_AX] = (int32_t)thread->regs.rax == -RESTART_LAST
                             ? RESTART_SYSCALL
                             : thread->regs.orig_rax & 0xffffffff;
}

/* False where not a single byte can be read: executing there can only fault. */
static bool prepare(struct live *live, struct live_thread *thread, struct attempt *attempt)
{
    attempt->space = thread->space;
    attempt->access_count = 0;
    attempt->start = live_registers(&thread->regs);
    attempt->true_ip = attempt->start.ip;
    follow_restart(thread, &attempt->start);
    thread->space->tid = thread->tid;
    attempt->entry = space_fetch(thread->space, live->decoder, attempt->start.ip);
    if (!attempt->entry)
        return false;
    attempt->access_count =
        recipe_accesses(&attempt->entry->recipe, &attempt->start, attempt->access);
    return true;
}

/* ---- an instruction that was executed ----------------------------------------------------------
 */

static uint64_t count_register(const struct recipe *recipe, uint64_t value)
{
    return value & recipe->address_mask;
}

/* Did it write where code is known to stand? */
static void note_writes(const struct attempt *attempt, uint32_t repetitions)
{
    for (unsigned i = 0; i < attempt->access_count; i++) {
        uint64_t low = attempt->access[i].address;
        uint64_t size = attempt->access[i].size, bytes = size * repetitions;
        if (!attempt->access[i].write || !bytes)
            continue;
        if (attempt->entry->recipe.string && (attempt->start.flags & FLAG_DIRECTION))
            low -= bytes - size;
        space_written(attempt->space, low, low + bytes);
    }
}

static void name_code(struct live *live, uint16_t process, struct code_entry *entry,
                      uint64_t next_ip)
{
    if (entry->recipe.kind == RECIPE_UNKNOWN && next_ip > entry->ip &&
        next_ip - entry->ip <= TRACE_INSTRUCTION_BYTES)
        entry->recipe.length = (uint8_t)(next_ip - entry->ip);
    else if (entry->recipe.kind == RECIPE_UNKNOWN)
        entry->recipe.length = 1;
    entry->number = live->codes++;
    if (live->recorder)
        recorder_code_executed(live->recorder, process, entry->ip);
}

static void keep_registers(struct live *live, const struct recipe_registers *start)
{
    memcpy(live->fresh.gpr, start->gpr, sizeof live->fresh.gpr);
    live->fresh.ip = start->ip;
    live->fresh.flags = start->flags;
}

/* Fills in the executed instruction. */
static void fill_in(struct live *live, struct live_thread *thread, const struct attempt *attempt,
                    uint64_t next_ip, uint32_t repetitions, struct trace_instruction *out)
{
    const struct recipe *recipe = &attempt->entry->recipe;

    out->ip = attempt->start.ip;
    if (live->keeps_registers)
        keep_registers(live, &attempt->start);
    if (attempt->entry->number == SPACE_NO_CODE)
        name_code(live, attempt->space->process, attempt->entry, next_ip);
    out->code = attempt->entry->number;
    out->repetitions = repetitions;
    out->next_ip = next_ip;
    out->process = attempt->space->process;
    out->thread = thread->number;
    out->flags = recipe->mode == RECIPE_64 ? TRACE_64BIT : 0;
    if (recipe->kind == RECIPE_SYSTEM_CALL)
        out->flags |= TRACE_SYSTEM_CALL;
    if (recipe->string && (attempt->start.flags & FLAG_DIRECTION))
        out->flags |= TRACE_REP_BACKWARD;
    out->length = recipe->length;
    out->assist = out->precision = 0;
    out->access_count = (uint8_t)attempt->access_count;
    live->fresh_branches = recipe->effects.branch != EFFECT_NO_BRANCH;
    memcpy(out->access, attempt->access, sizeof out->access);
    live->executed++;
    live->turn++;
}

/* The processor executed the instruction; the thread's registers are those after it. */
static enum live_step executed(struct live *live, struct live_thread *thread,
                               const struct attempt *attempt, uint64_t next_ip,
                               struct trace_instruction *out)
{
    const struct recipe *recipe = &attempt->entry->recipe;
    uint32_t repetitions = 1;

    if (recipe->repeated)
        repetitions = (uint32_t)(count_register(recipe, attempt->start.gpr[GPR_CX]) -
                                 count_register(recipe, thread->regs.rcx));
    fill_in(live, thread, attempt, next_ip, repetitions, out);
    out->stack = thread->regs.rsp;
    note_writes(attempt, repetitions);
    return LIVE_EXECUTED;
}

/* ---- answered here -----------------------------------------------------------------------------
 */

static enum live_step answered(struct live *live, struct live_thread *thread,
                               const struct attempt *attempt, struct trace_instruction *out)
{
    thread->regs.rip = attempt->start.ip + attempt->entry->recipe.length;
    thread->regs.orig_rax = ~0ull; /* no system call to restart */
    tracee_set_registers(thread->tid, &thread->regs);
    return executed(live, thread, attempt, thread->regs.rip, out);
}

static enum live_step answer_cpuid(struct live *live, struct live_thread *thread,
                                   const struct attempt *attempt, struct trace_instruction *out)
{
    uint32_t registers[4] = {0};

    live->cpuid(live->cpuid_context, (uint32_t)thread->regs.rax, (uint32_t)thread->regs.rcx,
                registers);
    thread->regs.rax = registers[0];
    thread->regs.rbx = registers[1];
    thread->regs.rcx = registers[2];
    thread->regs.rdx = registers[3];
    return answered(live, thread, attempt, out);
}

/* A load of SS with the value it has: nothing happens, but a native step would run one too far. */
static bool loads_same_ss(const struct live_thread *thread, const struct attempt *attempt)
{
    const struct recipe *recipe = &attempt->entry->recipe;
    uint16_t value = 0;

    if (attempt->access_count)
        return tracee_read(thread->tid, attempt->access[0].address, &value, 2) == 2 &&
               value == thread->regs.ss && recipe->bytes[0] != 0x0f;
    return recipe->bytes[0] == 0x8e &&
           (uint16_t)attempt->start.gpr[recipe->bytes[1] & 7] == thread->regs.ss;
}

static enum live_step answer_load_ss(struct live *live, struct live_thread *thread,
                                     const struct attempt *attempt, struct trace_instruction *out)
{
    if (attempt->entry->recipe.bytes[0] == 0x17)
        thread->regs.rsp += 4;
    return answered(live, thread, attempt, out);
}

/* ---- executed natively -------------------------------------------------------------------------
 */

/* A step's SIGTRAP that finds SIGTRAP blocked would reset the program's handler of it (kernel,
 * force_sig_info); handlers therefore run with it unblocked. The mask comes back at their return.
 */
static void unblock_traps(pid_t tid)
{
    uint64_t mask;

    if (ptrace(PTRACE_GETSIGMASK, tid, sizeof mask, &mask) != 0)
        return;
    mask &= ~(1ull << (SIGTRAP - 1));
    ptrace(PTRACE_SETSIGMASK, tid, sizeof mask, &mask);
}

/* The frame of a signal handler was made: what came before leads there. */
static enum live_step entered_handler(struct live *live, struct live_thread *thread)
{
    live->source.end.signals++;
    if (live->has_pending && live->pending.thread == thread->number) {
        live->pending.flags |= TRACE_INTERRUPTED;
        live->pending.next_ip = thread->regs.rip;
        if (live->recorder)
            recorder_interrupt(live->recorder, thread->regs.rip);
    }
    unblock_traps(thread->tid);
    space_touch(thread->space);
    return LIVE_NOTHING;
}

/* pushf shows the stepping's own trap flag; take it out again. */
static void hide_trap_flag(struct live_thread *thread, const struct attempt *attempt)
{
    uint16_t flags;

    if (tracee_read(thread->tid, attempt->access[0].address, &flags, 2) != 2 ||
        !(flags & FLAG_TRAP))
        return;
    flags = (uint16_t)(flags & ~FLAG_TRAP);
    tracee_write(thread->tid, attempt->access[0].address, &flags, 2);
}

/* syscall keeps the flags in r11, the stepping's own trap flag among them; take it out again.
 * Behind rt_sigreturn r11 is what it was where the signal came. */
static void hide_kept_trap_flag(struct live_thread *thread, const struct attempt *attempt)
{
    if (live_mode(&thread->regs) != RECIPE_64 || !(thread->regs.r11 & FLAG_TRAP) ||
        attempt->start.gpr[GPR_AX] == RT_SIGRETURN_64)
        return;
    thread->regs.r11 &= ~(unsigned long long)FLAG_TRAP;
    tracee_set_registers(thread->tid, &thread->regs);
}

/* After popf the kernel takes its own trap flag for the program's; programs are taken to set none.
 */
static void forget_trap_flag(struct live_thread *thread)
{
    thread->regs.eflags &= ~(unsigned long long)FLAG_TRAP;
    tracee_set_registers(thread->tid, &thread->regs);
}

/* The step ended in SIGTRAP. Was it the step's own, and did it execute the instruction? */
static enum live_step after_trap(struct live *live, struct live_thread *thread,
                                 const struct attempt *attempt, bool injected,
                                 struct trace_instruction *out)
{
    unsigned kind = attempt->entry ? attempt->entry->recipe.kind : RECIPE_UNKNOWN;
    bool moved = thread->regs.rip != attempt->true_ip;

    if (!moved || injected || kind == RECIPE_TRAP || !attempt->entry) {
        int code = tracee_stop_code(thread->tid);
        if (code == TRAP_CODE_HANDLER)
            return entered_handler(live, thread);
        if (code != TRAP_CODE_STEP && code != TRAP_CODE_CALL && (kind == RECIPE_TRAP || !moved))
            thread->inject = SIGTRAP; /* the program's own */
        if (!moved && thread->inject)
            return LIVE_NOTHING;
    }
    if (!attempt->entry) {
        live_fail(live, 3, "cannot read the program's code at 0x%llx",
                  (unsigned long long)attempt->start.ip);
        return LIVE_FAILED;
    }
    if (thread->regs.eflags & FLAG_TRAP)
        forget_trap_flag(thread);
    if (kind == RECIPE_PUSHF)
        hide_trap_flag(thread, attempt);
    if (kind == RECIPE_SYSTEM_CALL) {
        space_touch(attempt->space);
        hide_kept_trap_flag(thread, attempt);
        live_objects_after_call(live, thread, &attempt->start);
    }
    return executed(live, thread, attempt, thread->regs.rip, out);
}

/* A system call from which the thread does not (yet) come back was executed all the same. */
static enum live_step in_the_kernel(struct live *live, struct live_thread *thread,
                                    const struct attempt *attempt, struct trace_instruction *out)
{
    return executed(live, thread, attempt, attempt->start.ip + attempt->entry->recipe.length, out);
}

static enum live_step after_stop(struct live *live, struct live_thread *thread,
                                 const struct attempt *attempt, enum live_stop stop, bool injected,
                                 struct trace_instruction *out)
{
    switch (stop) {
    case STOP_TRAP:
        return after_trap(live, thread, attempt, injected, out);
    case STOP_SIGNAL: /* faults stop before their instruction, traps after it */
        if (thread->regs.rip == attempt->true_ip || !attempt->entry)
            return LIVE_NOTHING;
        return executed(live, thread, attempt, thread->regs.rip, out);
    case STOP_BLOCKED:
        return in_the_kernel(live, thread, attempt, out);
    case STOP_KILLED:
        return LIVE_NOTHING;
    case STOP_GONE:
        break;
    }
    if (attempt->entry && attempt->entry->recipe.kind == RECIPE_SYSTEM_CALL && !injected)
        return in_the_kernel(live, thread, attempt, out);
    return LIVE_NOTHING;
}

static enum live_step step_natively(struct live *live, struct live_thread *thread,
                                    const struct attempt *attempt, struct trace_instruction *out)
{
    bool injected = thread->inject != 0;
    bool call = attempt->entry && attempt->entry->recipe.kind == RECIPE_SYSTEM_CALL && !injected;
    enum live_step result;
    enum live_stop stop;

    attempt->space->users++; /* it stays until the instruction is dealt with */
    stop = live_resume(live, thread, PTRACE_SINGLESTEP, call);
    result = live->source.error[0] ? LIVE_FAILED
                                   : after_stop(live, thread, attempt, stop, injected, out);
    if (--attempt->space->users == 0)
        live->spaces_to_drop = true;
    return result;
}

/* ---- the clock and the monitoring hardware ------------------------------------------------------
 */

/* #GP(0) as the host's kernel makes SIGSEGV of it: RDMSR always faults in a program, so it stands
 * in for the instruction that must. */
static enum live_step general_protection(struct live *live, struct live_thread *thread,
                                         const struct attempt *attempt,
                                         struct trace_instruction *out)
{
    static const uint8_t rdmsr[2] = {0x0f, 0x32};
    const struct recipe *recipe = &attempt->entry->recipe;
    uint64_t at = attempt->start.ip + recipe->length - sizeof rdmsr;
    enum live_step result;

    tracee_write(thread->tid, at, rdmsr, sizeof rdmsr);
    result = step_natively(live, thread, attempt, out);
    tracee_write(thread->tid, at, recipe->bytes + recipe->length - sizeof rdmsr, sizeof rdmsr);
    return result;
}

/* Not before the machine has retired what came before: the reader is told first. */
static enum live_step wait_for_machine(struct live *live, const struct live_thread *thread,
                                       const struct attempt *attempt, struct trace_instruction *out)
{
    if (attempt->entry->number == SPACE_NO_CODE)
        name_code(live, attempt->space->process, attempt->entry, 0);
    out->code = attempt->entry->number;
    out->ip = attempt->start.ip;
    out->process = attempt->space->process;
    out->thread = thread->number;
    return LIVE_SYNC;
}

static enum live_step answer_register(struct live *live, struct live_thread *thread,
                                      const struct attempt *attempt, struct trace_instruction *out)
{
    unsigned kind = attempt->entry->recipe.kind;

    if (!live->synchronised && !live_may_access_register(live, &thread->regs, kind))
        return general_protection(live, thread, attempt, out);
    if (!live->synchronised && live->source.registers)
        return wait_for_machine(live, thread, attempt, out);
    live->synchronised = false;
    live_access_register(live, &thread->regs, kind);
    return answered(live, thread, attempt, out);
}

/* ---- /dev/cpu/N/msr ----------------------------------------------------------------------------
 */

/* The kernel opens another file in the device's place. */
static enum live_step open_substitute(struct live *live, struct live_thread *thread,
                                      const struct attempt *attempt, const struct msr_call *msr,
                                      struct trace_instruction *out)
{
    enum live_step result;

    live_put_call(&thread->regs, &msr->substitute);
    tracee_set_registers(thread->tid, &thread->regs);
    result = step_natively(live, thread, attempt, out);
    if (result != LIVE_EXECUTED)
        return result;
    uint64_t descriptor = thread->regs.rax;
    msr_opened(live, thread->tid, msr, (int32_t)descriptor);
    live_put_call(&thread->regs, &msr->call);
    thread->regs.rax = descriptor;
    tracee_set_registers(thread->tid, &thread->regs);
    return live->source.error[0] ? LIVE_FAILED : result;
}

static enum live_step look_at_substitute(struct live *live, struct live_thread *thread,
                                         const struct attempt *attempt, const struct msr_call *msr,
                                         struct trace_instruction *out)
{
    enum live_step result = step_natively(live, thread, attempt, out);

    if (result == LIVE_EXECUTED)
        msr_looked(live, thread->tid, msr, (int32_t)thread->regs.rax);
    return result;
}

static enum live_step transfer(struct live *live, struct live_thread *thread,
                               const struct attempt *attempt, const struct msr_call *msr,
                               struct trace_instruction *out)
{
    if (!live_may_transfer(live))
        return wait_for_machine(live, thread, attempt, out);
    if (live->recorder)
        recorder_at(live->recorder, thread->number, attempt->space->process, &attempt->start);
    thread->regs.rax = (uint64_t)msr_transfer(live, thread->tid, msr, attempt->start.ip);
    return answered(live, thread, attempt, out);
}

static enum live_step system_call(struct live *live, struct live_thread *thread,
                                  const struct attempt *attempt, struct trace_instruction *out)
{
    const uint8_t *bytes = attempt->entry->recipe.bytes;
    bool wide = thread->regs.cs == CS_64BIT && bytes[0] == 0x0f && bytes[1] == 0x05;
    struct live_call call = live_call_of(&thread->regs, wide, thread->regs.rax);
    struct msr_call msr = {.what = MSR_NOT_OURS};

    if (!live_call_restarts(thread))
        msr = msr_judge(live, thread->tid, &call);
    switch (msr.what) {
    case MSR_NOT_OURS:
        break;
    case MSR_ANSWERED:
        thread->regs.rax = (uint64_t)msr.result;
        return answered(live, thread, attempt, out);
    case MSR_TRANSFER:
        return transfer(live, thread, attempt, &msr, out);
    case MSR_OPEN:
        return open_substitute(live, thread, attempt, &msr, out);
    case MSR_LOOK:
        return look_at_substitute(live, thread, attempt, &msr, out);
    }
    return step_natively(live, thread, attempt, out);
}

/* ---- repeated string instructions ---------------------------------------------------------------
 */

/* May a breakpoint stand behind the instruction without the instruction seeing it? */
static bool breakpoint_fits(const struct attempt *attempt, uint64_t at)
{
    uint64_t count = count_register(&attempt->entry->recipe, attempt->start.gpr[GPR_CX]);

    if (count < REPETITIONS_WORTH_A_BREAKPOINT)
        return false;
    for (unsigned i = 0; i < attempt->access_count; i++) {
        uint64_t address = attempt->access[i].address, reach = count * attempt->access[i].size;
        uint64_t distance = at > address ? at - address : address - at;
        if (distance < reach + 16) /* either direction; the breakpoint is written as a word */
            return false;
    }
    return true;
}

/* Runs up to the instruction's end at full speed. */
static enum live_stop resume_to(struct live *live, struct live_thread *thread, uint64_t end)
{
    const uint8_t breakpoint = BREAKPOINT;
    uint8_t byte;
    enum live_stop stop;

    if (tracee_read(thread->tid, end, &byte, 1) != 1 ||
        !tracee_write(thread->tid, end, &breakpoint, 1))
        return live_resume(live, thread, PTRACE_SINGLESTEP, false);
    stop = live_resume(live, thread, PTRACE_CONT, false);
    if (stop == STOP_GONE || stop == STOP_KILLED)
        return stop;
    tracee_write(thread->tid, end, &byte, 1);
    if (stop == STOP_TRAP && thread->regs.rip == end + 1 &&
        tracee_stop_code(thread->tid) == TRAP_CODE_KERNEL) {
        thread->regs.rip = end;
        thread->regs.orig_rax = ~0ull;
        tracee_set_registers(thread->tid, &thread->regs);
    }
    return stop;
}

/*
 * One instruction however often it repeats: on until ip leaves it. When a signal cuts it short for
 * a handler, only the resumed rest is delivered later.
 */
static enum live_step run_repeated(struct live *live, struct live_thread *thread,
                                   const struct attempt *attempt, struct trace_instruction *out)
{
    uint64_t end = attempt->start.ip + attempt->entry->recipe.length;
    bool fits = breakpoint_fits(attempt, end);

    for (;;) {
        enum live_stop stop = fits ? resume_to(live, thread, end)
                                   : live_resume(live, thread, PTRACE_SINGLESTEP, false);
        if (stop == STOP_GONE || stop == STOP_KILLED)
            return LIVE_NOTHING;
        if (thread->regs.rip != attempt->start.ip)
            return executed(live, thread, attempt, thread->regs.rip, out);
        if (stop == STOP_TRAP && tracee_stop_code(thread->tid) != TRAP_CODE_STEP)
            thread->inject = SIGTRAP;
        if (thread->inject)
            return LIVE_NOTHING;
    }
}

/* ---- the step ----------------------------------------------------------------------------------
 */

static enum live_step by_the_processor(struct live *live, struct live_thread *thread,
                                       struct attempt *attempt, struct trace_instruction *out)
{
    if (!prepare(live, thread, attempt) || thread->inject)
        return step_natively(live, thread, attempt, out);
    if (live->has_pending && live->pending_branches && !live->undo.known)
        live_keep_undo(live, thread, &attempt->entry->recipe, &attempt->start);
    switch (attempt->entry->recipe.kind) {
    case RECIPE_CPUID:
        if (live->cpuid)
            return answer_cpuid(live, thread, attempt, out);
        break;
    case RECIPE_RDTSC:
    case RECIPE_RDPMC:
    case RECIPE_RDMSR:
    case RECIPE_WRMSR:
        return answer_register(live, thread, attempt, out);
    case RECIPE_SYSTEM_CALL:
        return system_call(live, thread, attempt, out);
    case RECIPE_LOAD_SS:
        if (loads_same_ss(thread, attempt))
            return answer_load_ss(live, thread, attempt, out);
        break;
    default:
        break;
    }
    if (attempt->entry->recipe.repeated)
        return run_repeated(live, thread, attempt, out);
    return step_natively(live, thread, attempt, out);
}

/* True when it could be done without the processor. */
static bool interpreted(struct live *live, struct live_thread *thread, struct attempt *attempt,
                        struct trace_instruction *out)
{
    const struct interpreter *machine = &thread->machine;

    if (!execute_may_interpret(thread))
        return false;
    attempt->space = thread->space;
    attempt->start = machine->state.registers;
    attempt->entry = space_fetch(thread->space, live->decoder, attempt->start.ip);
    if (!attempt->entry)
        return false;
    if (live->has_pending && live->pending_branches)
        live_keep_undo(live, thread, &attempt->entry->recipe, &attempt->start);
    if (!execute_interpret(thread, attempt->entry, attempt->access, &attempt->access_count))
        return false;
    fill_in(live, thread, attempt, machine->state.registers.ip, machine->repetitions, out);
    out->stack = machine->state.registers.gpr[GPR_SP];
    out->assist = machine->assist;
    out->precision = machine->precision;
    note_writes(attempt, machine->repetitions);
    live->source.end.interpreted++;
    if (live->recorder)
        recorder_interpreted(live->recorder);
    return true;
}

/* What the processor left; where the thread does not come back, all but the address is as before.
 */
static void record_native(struct live *live, const struct live_thread *thread,
                          const struct attempt *attempt, const struct trace_instruction *out)
{
    struct recipe_registers after = live_registers(&thread->regs);

    if (after.ip != out->next_ip) {
        after = attempt->start;
        after.ip = out->next_ip;
    }
    recorder_native(live->recorder, thread->number, out->process, &attempt->start, &after);
}

enum live_step live_step(struct live *live, struct live_thread *thread,
                         struct trace_instruction *out)
{
    struct attempt attempt;
    enum live_step result;

    bool checked = live_check_due(live);

    live->undo.known = false;
    if (!live->native_only && !checked && !live->synchronised &&
        interpreted(live, thread, &attempt, out))
        return LIVE_EXECUTED;
    execute_settle(thread);
    attempt.access_count = 0;
    if (checked)
        live_check_predict(live, thread);
    result = by_the_processor(live, thread, &attempt, out);
    if (result == LIVE_SYNC)
        return result;
    if (checked && result == LIVE_EXECUTED && !live_check_agrees(live, thread))
        result = LIVE_FAILED;
    execute_stepped(thread, attempt.space, attempt.entry ? &attempt.entry->recipe : NULL,
                    attempt.access, attempt.access_count, result == LIVE_EXECUTED);
    live->source.end.stepped += result == LIVE_EXECUTED;
    if (live->recorder && result == LIVE_EXECUTED)
        record_native(live, thread, &attempt, out);
    return result;
}
