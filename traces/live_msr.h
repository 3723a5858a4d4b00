/*
 * /dev/cpu/N/msr for the programs of a run: the kernel's driver of the model specific registers
 * (msr(4)), answered by the simulated processor whether or not the host has such files.
 *
 * The program gets a descriptor of an empty memory file in place of the device; its number lives
 * on as descriptors do (dup, fork, exec, close, passing to others) and the kernel keeps its
 * position. What belongs to the device is found by the file's inode. Reads and writes of it are
 * answered here: 8 bytes at a time, the register's number is the position, which does not move, and
 * an access that raises #GP fails with EIO.
 *
 * Answered: open, openat, openat2, creat; read, write, pread, pwrite; fstat and its kin. lseek, dup
 * and close are the kernel's own. Vector transfers (readv and such) fail with EINVAL. Not answered:
 * stat by name, listings of /dev/cpu, names that lead there through symbolic links.
 */
#ifndef TRACES_LIVE_MSR_H
#define TRACES_LIVE_MSR_H

#include "live.h"

/* A system call about to be made. */
struct live_call {
    bool wide; /* 64-bit numbers and arguments */
    uint64_t number;
    uint64_t argument[6];
};

/* From the registers; NUMBER is orig_rax when the kernel has been entered, else rax. */
struct live_call live_call_of(const struct user_regs_struct *regs, bool wide, uint64_t number);

struct msr_call {
    enum {
        MSR_NOT_OURS,
        MSR_ANSWERED, /* RESULT, without the kernel */
        MSR_TRANSFER, /* reads or writes registers: msr_transfer() gives the result */
        MSR_OPEN,     /* the kernel makes SUBSTITUTE instead: msr_opened() with its result */
        MSR_LOOK,     /* the kernel makes it: then msr_looked() */
    } what;
    int64_t result;
    struct live_call call;       /* as it was made */
    struct live_call substitute; /* MSR_OPEN */
    unsigned logical_processor;
    unsigned access; /* MSR_OPEN: O_RDONLY, O_WRONLY, O_RDWR */
    bool write;      /* MSR_TRANSFER */
    uint32_t index;
};

/* What thread TID is about to ask. Cheap when no run's program ever opened such a file. */
struct msr_call msr_judge(struct live *live, pid_t tid, const struct live_call *call);

/* Has the machine come to rest for a transfer? Else the reader is told first. */
bool live_may_transfer(struct live *live);
/* Transfers; the result of the call. IP is for messages. */
int64_t msr_transfer(struct live *live, pid_t tid, const struct msr_call *msr, uint64_t ip);
/* The substitute gave RESULT, a descriptor or a negative error. */
void msr_opened(struct live *live, pid_t tid, const struct msr_call *msr, int64_t result);
/* The kernel filled in what it knows of the memory file: it becomes the device. */
void msr_looked(struct live *live, pid_t tid, const struct msr_call *msr, int64_t result);

/* Registers with the call's number in rax and its arguments. */
void live_put_call(struct user_regs_struct *regs, const struct live_call *call);

#endif
