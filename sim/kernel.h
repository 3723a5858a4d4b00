/*
 * The model's operating system: what the processor executes at CPL 0. One struct kernel is the
 * kernel as one logical processor runs it: a system call's routine, and above it the handler of an
 * interrupt or exception, row by row of kernel_stub.def.
 */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "netburst.h"

/* Linear addresses of the kernel: model choices, in the range a kernel of its time had. */
#define KERNEL_CODE        0xC0100000u
#define KERNEL_DATA        0xC0300000u
#define KERNEL_TASKS       0xC4000000u
#define KERNEL_DIRECTORIES 0xC5000000u
#define KERNEL_SAMPLES     0xC6000000u
#define KERNEL_DS          0xC7000000u
#define KERNEL_STACKS      0xC8000000u
#define KERNEL_TABLES      0xD0000000u
#define KERNEL_APIC        0xFEE00000u
enum { KERNEL_STACK_BYTES = 8192, KERNEL_SAMPLE_BYTES = 1 << 20, KERNEL_DS_BYTES = 1 << 22 };

enum kernel_routine {
#define ROUTINE(name, text) KERNEL_##name,
#define K(...)
#include "kernel_stub.def"
#undef K
#undef ROUTINE
    KERNEL_ROUTINES,
    KERNEL_NONE = KERNEL_ROUTINES
};

enum kernel_access {
    KERNEL_ACCESS_NONE,
    KERNEL_ACCESS_PUSH,
    KERNEL_ACCESS_POP,
    KERNEL_ACCESS_PUSH_ALL,
    KERNEL_ACCESS_POP_ALL,
    KERNEL_ACCESS_DROP,
    KERNEL_ACCESS_FRAME, /* what the processor pushed */
    KERNEL_ACCESS_STACK_READ,
    KERNEL_ACCESS_STACK_WRITE,
    KERNEL_ACCESS_THREAD_READ,
    KERNEL_ACCESS_TASK_READ,
    KERNEL_ACCESS_TASK_MODIFY,
    KERNEL_ACCESS_DATA_READ,
    KERNEL_ACCESS_DATA_WRITE,
    KERNEL_ACCESS_DATA_MODIFY,
    KERNEL_ACCESS_CALL_SLOT,
    KERNEL_ACCESS_DIRECTORY_READ,
    KERNEL_ACCESS_TABLE_READ,
    KERNEL_ACCESS_TABLE_WRITE,
    KERNEL_ACCESS_APIC_WRITE,
    KERNEL_ACCESS_COUNTER_READ,
    KERNEL_ACCESS_SAMPLE_WRITE,
    KERNEL_ACCESS_DS_READ,
    KERNEL_ACCESS_DS_WRITE,
    KERNEL_ACCESS_RECORD_READ,
};

enum kernel_flow {
    KERNEL_FLOW_NEXT,
    KERNEL_FLOW_NOT_TAKEN,
    KERNEL_FLOW_CALL,
    KERNEL_FLOW_RETURN,
    KERNEL_FLOW_LEAVE,
    KERNEL_FLOW_UNLESS_OVERFLOWED,
    KERNEL_FLOW_WHILE_COUNTERS,
    KERNEL_FLOW_UNLESS_TRACE,
    KERNEL_FLOW_UNLESS_DS,
    KERNEL_FLOW_UNLESS_RECORDS,
    KERNEL_FLOW_WHILE_RECORDS,
};

/* What a driver's instruction does besides what every instruction does. */
enum kernel_action {
    KERNEL_ACTION_NOTHING,
    KERNEL_ACTION_READ_CCCR,
    KERNEL_ACTION_CLEAR_OVERFLOW,
    KERNEL_ACTION_READ_COUNTER,
    KERNEL_ACTION_PRESET,
    KERNEL_ACTION_RECORD,
    KERNEL_ACTION_COUNT_RECORDS,
    KERNEL_ACTION_DRAIN,
    KERNEL_ACTION_RESET_DS,
    KERNEL_ACTION_STOP_TRACE,
    KERNEL_ACTION_START_TRACE,
    KERNEL_ACTION_UNMASK,
};

/* One instruction of the stub. */
struct kernel_row {
    const char *text, *bytes;
    uint8_t length, access, size, flow, target, action;
    uint16_t operand;
    uint32_t address;
};
/* The rows, in the order of their addresses, and how many. */
const struct kernel_row *kernel_rows(size_t *count);
/* The first row of a routine. */
size_t kernel_routine_row(enum kernel_routine routine);
const char *kernel_routine_name(enum kernel_routine routine);
const char *kernel_routine_text(enum kernel_routine routine);

/* A routine that is being executed. */
struct kernel_frame {
    size_t row, return_row;
    uint32_t esp;
    uint16_t process, thread;
    bool handler, acted; /* the row's action has been done */
    unsigned vector;
    uint64_t fault_address, resume_ip;
    unsigned call_number;
    /* the service routine of the performance-monitor interrupt */
    unsigned counter, counters; /* the one looked at, and how many */
    bool overflowed, trace, ds;
    uint64_t value;           /* read from the counter */
    unsigned records, record; /* in the DS buffers, and the one being read */
    uint64_t sample_at;       /* bytes of the sample buffer in use */
};

enum { KERNEL_FRAMES = 2 }; /* a system call, and a handler above it */

struct kernel {
    unsigned lp;
    unsigned depth;
    struct kernel_frame frame[KERNEL_FRAMES];
    /* the driver behind the actions */
    void (*act)(void *context, unsigned lp, enum kernel_action action, struct kernel_frame *frame);
    void *context;
};

/* A routine begins, of PROCESS, that will resume at RESUME_IP. */
struct kernel_frame *kernel_enter(struct kernel *kernel, enum kernel_routine routine,
                                  uint16_t process, uint64_t resume_ip);
/* The next instruction of the routine that runs; false: the kernel has nothing to do. *SYNC: the
 * instruction acts on the monitoring hardware, so everything older must have retired; call again
 * then. */
bool kernel_next(struct kernel *kernel, struct nb_instruction *out, bool *sync);
/* Code bytes at IP of the kernel. */
size_t kernel_code_at(uint64_t ip, uint8_t bytes[15]);
/* kernel_access.c: the accesses of a row, and where they move the stack pointer. */
void kernel_accesses(const struct kernel *kernel, struct kernel_frame *frame,
                     const struct kernel_row *row, struct nb_instruction *out);

/* Pages a process has touched. Zero is the empty set. */
struct kernel_pages {
    uint64_t *key; /* key + 1; 0: free */
    size_t capacity, count;
    uint64_t recent[64];
};
/* PAGE (linear address >> 12) of PROCESS is touched: whether that was the first time. */
bool kernel_first_touch(struct kernel_pages *pages, uint16_t process, uint64_t page);
/* How many pages INSTRUCTION touches first, each a page fault before it can complete; *ADDRESS is
 * in the last of them. */
unsigned kernel_page_faults(struct kernel_pages *pages, const struct nb_instruction *instruction,
                            uint64_t *address);
void kernel_pages_free(struct kernel_pages *pages);

#endif
