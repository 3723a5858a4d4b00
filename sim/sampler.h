/*
 * The sampling driver's state: what it asked for, its DS areas, and what is remembered of the
 * instructions in flight so that a sample can say more than the hardware does.
 */
#ifndef SIM_SAMPLER_H
#define SIM_SAMPLER_H

#include "kernel.h"
#include "sampling.h"
#include "source.h"

enum { SAMPLER_LPS = 2, SAMPLER_NOTES = 8192, SAMPLER_SNAPSHOTS = 1024, SAMPLER_PENDING = 16384 };

#define SAMPLER_VECTOR 0xEFu /* of the local vector table's performance entry: model choice */

/* What is remembered of an instruction given to the machine. */
struct sampler_note {
    uint64_t serial; /* + 1; 0: none */
    uint64_t ip;
    uint16_t process, thread;
};

struct sampler_snapshot {
    uint64_t serial; /* + 1 */
    struct p4pmu_pebs_registers registers;
};

/* A DS record the processor has stored and the driver has not read: what it cannot say itself. */
struct sampler_pending {
    uint64_t clock, truth_ip;
    uint16_t process, thread;
    uint8_t cpl;
};
struct sampler_queue {
    struct sampler_pending item[SAMPLER_PENDING];
    uint64_t head, tail;
};

struct sampler {
    struct p4pmu *pmu;
    unsigned lps; /* logical processors that run something */
    struct sim_sampling options;
    bool on, wants_registers;
    bool keeps_notes; /* of instructions in flight: the driver's or a program's records need them */
    bool shut_down;   /* a DS page was missing: the processor stops (SDM3 17.4.9) */
    uint64_t missing; /* its address */
    struct sim_sampling_totals totals;
    unsigned char *ds[SAMPLER_LPS];          /* KERNEL_DS_BYTES each; NULL: none */
    struct sampler_note *notes[SAMPLER_LPS]; /* twice SAMPLER_NOTES */
    struct sampler_snapshot *snapshots[SAMPLER_LPS];
    struct sampler_queue *pebs[SAMPLER_LPS], *branches[SAMPLER_LPS];
    uint64_t interrupted[SAMPLER_LPS]; /* serial + 1 of the instruction the routine came before */
    /* whose memory a DS area outside the kernel's lies in; sampling_memory.c */
    struct trace_source *source[SAMPLER_LPS];
    uint16_t process_bit[SAMPLER_LPS]; /* in the machine's process numbers, not in the source's */
    uint16_t process[SAMPLER_LPS];     /* of the record being stored, by the source's number */
};

/* The serial numbers of instructions that a handler executes have this bit. */
#define SAMPLER_HANDLER (UINT64_C(1) << 63)

bool sampler_start(struct sampler *sampler, const struct sim_sampling *sampling, char error[512]);
void sampler_stop(struct sampler *sampler);
void sampler_free(struct sampler *sampler);

/* An instruction is given to the machine; REGISTERS as before it, or NULL. */
void sampler_note(struct sampler *sampler, unsigned lp, const struct nb_instruction *in,
                  uint16_t thread, const struct p4pmu_pebs_registers *registers);
const struct sampler_note *sampler_find(const struct sampler *sampler, unsigned lp,
                                        uint64_t serial);
bool sampler_registers(const struct sampler *sampler, unsigned lp, uint64_t serial,
                       struct p4pmu_pebs_registers *out);
void sampler_give(struct sampler *sampler, struct sim_sample *sample);

/* sampling_service.c: the service routine begins before the instruction with the serial BEFORE. */
void sampler_interrupt(struct sampler *sampler, unsigned lp, struct kernel_frame *frame,
                       uint64_t before);
void sampler_act(void *sampler, unsigned lp, enum kernel_action action, struct kernel_frame *frame);

/* sampling_ds.c */
bool sampler_ds_start(struct sampler *sampler, unsigned lp, char error[512]);
uint64_t sampler_debugctl(const struct sim_sampling *sampling);
unsigned sampler_records(struct sampler *sampler, unsigned lp);
bool sampler_drain(struct sampler *sampler, unsigned lp);
void sampler_ds_empty(struct sampler *sampler, unsigned lp);
/* Of struct nb_input: true when a record was stored; its accesses in *FLOW. */
bool sampler_pebs(struct sampler *sampler, unsigned lp, const struct nb_instruction *in,
                  struct nb_instruction *flow);
bool sampler_branch(struct sampler *sampler, unsigned lp, const struct p4pmu_branch *branch,
                    const struct nb_instruction *in, struct nb_instruction *flow);

/* sampling_memory.c. A program has written a register: the monitoring hardware may store records
 * of its own accord from now on, and what they need is kept. */
void sampler_written(void *sampler);
/* sampling.c: room for notes of LP's instructions; false without memory. */
bool sampler_keep_notes(struct sampler *sampler, unsigned lp);
/* A record of IN is about to be stored. False: its process has ended, and there is nowhere to. */
bool sampler_enter_memory(struct sampler *sampler, unsigned lp, const struct nb_instruction *in);
/* Is the DS area of LP the driver's? */
bool sampler_is_drivers(const struct sampler *sampler, unsigned lp);
uint64_t sampler_area(const struct sampler *sampler, unsigned lp);
/* Of struct p4pmu_memory. */
bool sampler_memory_read(void *sampler, unsigned lp, uint64_t address, void *to, size_t bytes);
bool sampler_memory_write(void *sampler, unsigned lp, uint64_t address, const void *from,
                          size_t bytes);
/* The counter PEBS of LP uses, or P4PMU_NONE. */
int sampler_pebs_counter(const struct sampler *sampler, unsigned lp);

#endif
