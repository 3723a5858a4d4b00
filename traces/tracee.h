/*
 * One traced process, seen through ptrace: start it, look at it, change it. The calls here are
 * thin; what they are used for is the live source's business.
 *
 * The program shall find a machine that is the same on every host: addresses are not randomised, it
 * runs on one processor, the kernel's vdso is hidden (its code differs from kernel to kernel), the
 * C library's hardware capabilities come from CPUID leaf 1 of the model, and AT_RANDOM holds fixed
 * bytes.
 */
#ifndef TRACES_TRACEE_H
#define TRACES_TRACEE_H

#include "source.h"
#include "recipe.h"

#include <sys/types.h>
#include <sys/user.h>

enum {
    CS_32BIT = 0x23, /* user code segment selectors of Linux on x86-64 */
    CS_64BIT = 0x33,
    STOP_IN_CALL = 0x80, /* with SIGTRAP: before or after a system call (PTRACE_O_TRACESYSGOOD) */
    FLAG_TRAP = 1 << 8,
    FLAG_DIRECTION = 1 << 10,
};

/*
 * Starts PATH with ARGV stopped at its first instruction, with every option for following children
 * set. 0 and ERROR when that fails. RANDOMISED tells whether addresses could not be fixed.
 */
pid_t tracee_start(const char *path, char *const *argv, bool *randomised, char error[512]);

bool tracee_registers(pid_t tid, struct user_regs_struct *registers);
bool tracee_set_registers(pid_t tid, const struct user_regs_struct *registers);

/* As many of COUNT bytes at ADDRESS as can be read without a gap. */
size_t tracee_read(pid_t tid, uint64_t address, void *bytes, size_t count);
/* Writes even where the program itself may not (breakpoints). */
bool tracee_write(pid_t tid, uint64_t address, const void *bytes, size_t count);

/* si_code of the stop, or INT_MIN when it has none. */
int tracee_stop_code(pid_t tid);

/* State letter of /proc/TID/stat: 'R' runs, 'S' sleeps, 'D', 't' stopped, 0 unknown. */
char tracee_state(pid_t tid);

/* After exec: edit the auxiliary vector as described above. HWCAP is leaf 1 EDX, or NULL to keep.
 */
bool tracee_edit_auxv(pid_t tid, const struct user_regs_struct *registers, const uint32_t *hwcap);

#endif
