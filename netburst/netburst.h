/*
 * The NetBurst machine: executed instructions in, clock cycles out. Every stage posts facts to a
 * PMU.
 *
 * The machine decodes what its input gives, predicts, fetches (down wrong paths too), renames,
 * schedules, replays, accesses memory and retires. It knows no counters, does no I/O, has no
 * globals.
 */
#ifndef NETBURST_H
#define NETBURST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "p4pmu.h"

struct nb_params {
#define P(group, name, unit, lowest, highest, text) uint32_t name;
#include "netburst_params.def"
#undef P
};

enum nb_param {
#define P(group, name, unit, lowest, highest, text) NB_PARAM_##name,
#include "netburst_params.def"
#undef P
    NB_PARAMS
};

struct nb_param_info {
    const char *group, *name, *unit, *text;
    uint32_t lowest, highest;
    size_t offset; /* in struct nb_params */
};
const struct nb_param_info *nb_param_info(enum nb_param param);
/* Whether values fit each other (powers of two, sizes that divide); else WHY says which and what
 * was expected. */
bool nb_params_check(const struct nb_params *params, char why[256]);

#define NB_ACCESSES 4

/* One executed instruction, as traces/source.h describes it. */
struct nb_instruction {
    uint64_t serial; /* the input's count of instructions given: by it the input knows it again */
    uint32_t code;   /* dense number of the static instruction, among those of its input */
    uint32_t repetitions;
    uint64_t ip, next_ip;
    uint16_t process; /* address space, 0 to 7FFFH; the same one wherever the number is the same */
    uint8_t flags;    /* NB_INSTRUCTION_* */
    uint8_t length;
    uint8_t faults; /* page faults it meets before it can complete */
    uint8_t assist; /* NB_ASSIST_*: microcode has to help */
    uint8_t access_count;
    /* Wrong paths, a bit for each access: nobody knows its address; no page can be there. */
    uint8_t unknown, unmapped;
    uint8_t x87_precision; /* NB_X87_*: of the x87 control word, as an x87 instruction finds it */
    struct nb_access {
        uint64_t address;
        uint32_t size;
        bool write;
    } access[NB_ACCESSES];
};
enum {
    NB_INSTRUCTION_BACKWARD = 1,
    NB_INSTRUCTION_INTERRUPTED = 2,
    NB_INSTRUCTION_SYSTEM_CALL = 4,
    NB_INSTRUCTION_KERNEL = 8,       /* executes at CPL 0; else CPL 3 */
    NB_INSTRUCTION_HANDLER_END = 16, /* the IRET that ends an interrupt's or fault's handler */
    NB_INSTRUCTION_64BIT = 32,       /* in 64-bit mode (EM64T) */
    NB_INSTRUCTION_BOUNDARY = 64,    /* nb_input.boundary is to be told when it begins to retire */
    NB_INSTRUCTION_NEXT_KNOWN = 128  /* wrong paths: next_ip is where the path's values lead */
};
/* x87_assist's sub-events by their bits, and operands SSE needs help with. */
enum {
    NB_ASSIST_X87_UNDERFLOW = 1, /* FPSU: stack underflow */
    NB_ASSIST_X87_OVERFLOW = 2,  /* FPSO: stack overflow */
    NB_ASSIST_X87_RESULT_OVERFLOW = 4,
    NB_ASSIST_X87_RESULT_UNDERFLOW = 8,
    NB_ASSIST_X87_INPUT = 16,
    NB_ASSIST_SSE = 128
};

enum { NB_X87_EXTENDED = 0, NB_X87_SINGLE = 1, NB_X87_DOUBLE = 2 };

/* The address space of the kernel: its pages are the same ones in every process. */
#define NB_PROCESS_KERNEL 0x7FFFu

enum nb_input_result {
    NB_INPUT_OK,
    NB_INPUT_END, /* final */
    /* The next instruction reads or writes the clock or counters: the machine retires all that came
     * before and asks again. */
    NB_INPUT_SYNC,
    /* Nothing to run at present: the logical processor halts and asks again later. Not to be
     * answered when it could never change. */
    NB_INPUT_IDLE
};

enum nb_interrupt_kind {
    NB_INTERRUPT_REQUESTED,  /* by nb_interrupt_request */
    NB_INTERRUPT_MONITORING, /* the performance-monitor interrupt */
    NB_PAGE_FAULT            /* an instruction's `faults` */
};
enum { NB_VECTOR_PAGE_FAULT = 14 };
struct nb_interrupt {
    enum nb_interrupt_kind kind;
    unsigned vector;
    uint64_t ip; /* where the program goes on after the handler */
    /* The instruction there; NULL when the machine does not know it yet. */
    const struct nb_instruction *before;
};

struct nb_input {
    void *context;
    /* The next instruction of the right path, in *OUT. */
    enum nb_input_result (*next)(void *context, struct nb_instruction *out);
    /* Code bytes at IP as known so far; 0 when unknown. */
    size_t (*code_at)(void *context, uint16_t process, uint64_t ip, uint8_t bytes[15]);
    /* The rest may be NULL. An interrupt or fault is taken: gives the handler's first address. The
     * following next() calls give the handler's instructions, until one has HANDLER_END; then the
     * machine repeats what it had thrown out. NULL: nothing interrupts, faults are ignored. */
    uint64_t (*interrupt)(void *context, const struct nb_interrupt *interrupt);
    /* A uop of IN that PEBS waits for retires: do what the assist does. True when it stored a
     * record; *FLOW then has the accesses: a read of the buffer's fields, a read of the reset value
     * (an empty one where there is none), REPETITIONS words written from an address on, a write of
     * the index. */
    bool (*precise)(void *context, const struct nb_instruction *in, struct nb_instruction *flow);
    /* A taken branch, interrupt or exception retires while the PMU records branches: the same.
     * NULL: the machine tells the PMU itself, and a stored record costs nothing. */
    bool (*branch)(void *context, const struct p4pmu_branch *branch,
                   const struct nb_instruction *in, struct nb_instruction *flow);
    /* An instruction with BOUNDARY begins to retire, the first of its clock's group (the group
     * before it ends early): everything older has retired in earlier clocks. */
    void (*boundary)(void *context);
    /* A wrong path begins where the instruction SERIAL left registers and memory; false when nobody
     * knows them (then none of the path's addresses are known). It ends with the next call of
     * next(). NULL: never known. */
    bool (*wrong_begin)(void *context, uint64_t serial);
    /* Executes the instruction at IP on the path: its accesses and repetitions, and where it leads
     * as far as that is known, in *OUT. False when they are not known. */
    bool (*wrong_step)(void *context, uint64_t ip, struct nb_instruction *out);
    /* Keeps the state of the path behind the last step as mark NUMBER; the marks from NUMBER on
     * that there are already are forgotten. Back: the path goes on from that mark, which is
     * forgotten with those above it. False where that cannot be; NULL: never. */
    bool (*wrong_mark)(void *context, unsigned number);
    bool (*wrong_back)(void *context, unsigned number);
};

/* Statistics: what the simulator knows of itself, beyond the counters. S(name, unit, text) */
struct nb_stats {
#define S(name, unit, text) uint64_t name;
#include "netburst_stats.def"
#undef S
};

enum nb_stop {
    NB_STOP_END,   /* the input ended and everything retired */
    NB_STOP_LIMIT, /* the instruction limit of this call was reached */
    NB_STOP_STUCK, /* nothing retired for too long: nb_report says what waits for what */
    NB_STOP_NO_MEMORY,
    NB_STOP_NOT_ON_MODEL, /* an instruction the part did not have: nb_report has address and
                             disassembly */
};

struct nb_machine;
/* A machine in its reset state, or NULL when memory is short or the decoder cannot start. It has
 * INPUT_COUNT (1 or 2) logical processors with an input each. PMU and what the INPUTS need must
 * outlive it. */
struct nb_machine *nb_new(const struct nb_params *params, struct p4pmu *pmu,
                          const struct nb_input *inputs, unsigned input_count);
void nb_free(struct nb_machine *machine);
/* Run until the input ends or INSTRUCTIONS more have retired. May be called again after LIMIT. */
enum nb_stop nb_run(struct nb_machine *machine, uint64_t instructions);
/* Of the whole machine; of one logical processor as far as it belongs to one. */
const struct nb_stats *nb_stats(struct nb_machine *machine);
const struct nb_stats *nb_lp_stats(const struct nb_machine *machine, unsigned lp);
/* Interrupt VECTOR of LP is asked for at clock WHEN of nb_stats (at once when that is past). It is
 * taken at the next instruction boundary of retirement, after the handler that may be running;
 * false when too many are outstanding. */
bool nb_interrupt_request(struct nb_machine *machine, unsigned lp, unsigned vector, uint64_t when);
/* Post each fact with the instruction it comes from: p4pmu_origin() is the `serial` of struct
 * nb_instruction plus 1; 0 for wrong paths, microcode between instructions, fetching ahead of any
 * instruction, and standing conditions. Counts are the same; it takes a little time. */
void nb_name_origins(struct nb_machine *machine, bool named);
/* Take each clock by itself instead of passing clocks in which nothing can happen in one step.
 * Slower; the results must be the same, which tests verify. */
void nb_step_each_clock(struct nb_machine *machine, bool each);
/* Why the last nb_run stopped as it did, for STUCK and NOT_ON_MODEL. */
const char *nb_report(const struct nb_machine *machine);
enum nb_memory_type {
    NB_MEMORY_WRITE_BACK,
    NB_MEMORY_UNCACHEABLE,
    NB_MEMORY_WRITE_COMBINING,
    NB_MEMORY_WRITE_THROUGH,
    NB_MEMORY_WRITE_PROTECTED
};
/* Linear addresses [FROM, TO), whole pages, of every process get TYPE instead of write-back. To be
 * said before the run. False when there are too many ranges or they are no whole pages. */
bool nb_memory_range(struct nb_machine *machine, uint64_t from, uint64_t to,
                     enum nb_memory_type type);

/* What the other agent on the bus does: at CLOCK, and then every PERIOD clocks until it has done so
 * COUNT times. LINEAR is an address of process 0. */
enum nb_agent_kind {
    NB_AGENT_READ,  /* reads the line; keeps a copy */
    NB_AGENT_OWN,   /* reads the line to write it: nobody else keeps a copy */
    NB_AGENT_WRITE, /* writes the whole line to memory, as a device does */
};
struct nb_agent_action {
    enum nb_agent_kind kind;
    uint64_t clock, period, count;
    uint64_t linear;
};
/* Give the machine another agent with COUNT actions. False when memory is short. */
bool nb_agent(struct nb_machine *machine, const struct nb_agent_action *actions, unsigned count);

/* Static facts about statistics for tables: name, unit, text by index; NULL past the end. */
const char *nb_stat_describe(size_t index, const char **unit, const char **text, size_t *offset);

#endif
