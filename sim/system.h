/*
 * What stands between a logical processor and its source of instructions: the model's operating
 * system and the sampling driver. The program's instructions pass through; the kernel's come in
 * between.
 */
#ifndef SIM_SYSTEM_H
#define SIM_SYSTEM_H

#include "kernel.h"
#include "sampler.h"
#include "source.h"

enum { SYSTEM_TIMER_VECTOR = 0x31, SYSTEM_FAULTS = 1024 };

struct system {
    struct sim_kernel_options options;
    struct p4pmu *pmu;
    struct nb_machine *machine;
    struct sampler *sampler;
    struct trace_source *source;
    struct kernel kernel;
    struct kernel_pages *pages; /* that the programs have touched */
    unsigned lp;
    uint64_t kernel_serial; /* instructions of the kernel given */
    /* the last instruction of the program */
    uint16_t process, thread;
    uint64_t next_ip;
    uint64_t next_serial; /* of the program's next */
    bool call_due;        /* it was a system call */
    unsigned call_number;
    uint64_t timer_period, timer_next; /* clocks */
    struct {
        uint64_t serial, address;
    } fault[SYSTEM_FAULTS]; /* addresses of page faults to come, by serial */
};

/* PAGES are shared by logical processors that run the same address spaces. SOURCE tells registers;
 * NULL: nobody does. */
void system_init(struct system *system, struct p4pmu *pmu, struct sampler *sampler,
                 struct kernel_pages *pages, struct trace_source *source, unsigned lp);
/* The kernel is as OPTIONS say from now on; the timer runs on a processor of CORE_MHZ. */
void system_start(struct system *system, const struct sim_kernel_options *options,
                  struct nb_machine *machine, uint32_t core_mhz);

/* The kernel's next instruction, or that it must synchronise; false: the program goes on. */
bool system_next(struct system *system, struct nb_instruction *out, enum nb_input_result *result);
/* OUT is the program's next instruction IN: what the kernel makes of it. */
void system_pass(struct system *system, const struct trace_instruction *in,
                 struct nb_instruction *out);

/* Of struct nb_input. */
uint64_t system_interrupt(struct system *system, const struct nb_interrupt *taken);

#endif
