/* Thin ptrace calls; see tracee.h. Linux on x86-64 only. */
#define _GNU_SOURCE
#include "tracee.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child could not do before exec. */
struct start_failure {
    enum { FAILED_NOT, FAILED_TRACEME, FAILED_EXEC } step;
    int error;
};

static void child(const char *path, char *const *argv, int report)
{
    struct start_failure failure = {FAILED_TRACEME, 0};

    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) {
        raise(SIGSTOP);
        failure.step = FAILED_EXEC;
        execv(path, argv);
    }
    failure.error = errno;
    if (write(report, &failure, sizeof failure) < 0)
        _exit(126);
    _exit(127);
}

static void explain_start(const struct start_failure *failure, const char *path, char error[512])
{
    if (failure->step == FAILED_TRACEME)
        snprintf(error, 512,
                 "live runs need ptrace, which is not permitted here (%s); a recorded run can be "
                 "replayed instead",
                 strerror(failure->error));
    else if (failure->error == ENOEXEC)
        snprintf(error, 512,
                 "%.300s: this kernel does not run 32-bit programs; a recorded run can be replayed "
                 "instead",
                 path);
    else if (failure->error == ENOENT)
        snprintf(error, 512,
                 "%.300s: its dynamic loader is not installed (expected /lib/ld-linux.so.2 or what "
                 "the program names; on Debian: libc6-i386)",
                 path);
    else
        snprintf(error, 512, "%.300s: cannot be started: %s", path, strerror(failure->error));
}

/* Resumes until the stop WANTED (a status as waitpid gives it); false when it ends before. */
static bool run_to(pid_t pid, int request, int wanted)
{
    int status;

    for (;;) {
        if (ptrace((enum __ptrace_request)request, pid, NULL, NULL) != 0)
            return false;
        do {
            if (waitpid(pid, &status, __WALL) < 0 && errno != EINTR)
                return false;
        } while (!WIFSTOPPED(status) && !WIFEXITED(status) && !WIFSIGNALED(status));
        if (!WIFSTOPPED(status))
            return false;
        if (status >> 8 == wanted)
            return true;
    }
}

static bool to_first_instruction(pid_t pid)
{
    const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                         PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
    int status;

    while (waitpid(pid, &status, __WALL) < 0)
        if (errno != EINTR)
            return false;
    if (!WIFSTOPPED(status))
        return false;
    if (ptrace(PTRACE_SETOPTIONS, pid, NULL, options) != 0)
        return false;
    /* The exec stop lies inside the system call; one step more ends at the first instruction. */
    return run_to(pid, PTRACE_CONT, SIGTRAP | PTRACE_EVENT_EXEC << 8) &&
           run_to(pid, PTRACE_SINGLESTEP, SIGTRAP);
}

pid_t tracee_start(const char *path, char *const *argv, bool *randomised, char error[512])
{
    struct start_failure failure = {FAILED_NOT, 0};
    int report[2], before = personality(0xffffffff);
    pid_t pid;

    if (pipe2(report, O_CLOEXEC) != 0) {
        snprintf(error, 512, "cannot start a program: %s", strerror(errno));
        return 0;
    }
    *randomised = before == -1 || personality((unsigned long)before | ADDR_NO_RANDOMIZE) == -1;
    pid = fork();
    if (pid == 0)
        child(path, argv, report[1]);
    if (!*randomised)
        personality((unsigned long)before);
    close(report[1]);
    if (pid > 0 && to_first_instruction(pid)) {
        close(report[0]);
        return pid;
    }
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, __WALL);
    }
    if (pid < 0 || read(report[0], &failure, sizeof failure) != sizeof failure)
        snprintf(error, 512, "%.300s: cannot be started: %s", path,
                 pid < 0 ? strerror(errno) : "it ended before its first instruction");
    else
        explain_start(&failure, path, error);
    close(report[0]);
    return 0;
}

bool tracee_registers(pid_t tid, struct user_regs_struct *registers)
{
    return ptrace(PTRACE_GETREGS, tid, NULL, registers) == 0;
}

bool tracee_set_registers(pid_t tid, const struct user_regs_struct *registers)
{
    return ptrace(PTRACE_SETREGS, tid, NULL, registers) == 0;
}

/* Word by word, for pages the program itself cannot read (execute-only). */
static size_t peek(pid_t tid, uint64_t address, uint8_t *bytes, size_t count)
{
    size_t done = 0;

    while (done < count) {
        uint64_t at = address + done;
        size_t offset = (size_t)(at & (sizeof(long) - 1));
        size_t part = sizeof(long) - offset;
        errno = 0;
        long word = ptrace(PTRACE_PEEKDATA, tid, (void *)(uintptr_t)(at - offset), NULL);
        if (errno)
            break;
        if (part > count - done)
            part = count - done;
        memcpy(bytes + done, (const uint8_t *)&word + offset, part);
        done += part;
    }
    return done;
}

size_t tracee_read(pid_t tid, uint64_t address, void *bytes, size_t count)
{
    struct iovec local = {bytes, count};
    struct iovec remote = {(void *)(uintptr_t)address, count};
    ssize_t done = process_vm_readv(tid, &local, 1, &remote, 1, 0);

    if (done < 0)
        done = 0;
    if ((size_t)done == count)
        return count;
    return (size_t)done +
           peek(tid, address + (uint64_t)done, (uint8_t *)bytes + done, count - (size_t)done);
}

bool tracee_write(pid_t tid, uint64_t address, const void *bytes, size_t count)
{
    const uint8_t *from = bytes;

    while (count) {
        size_t offset = (size_t)(address & (sizeof(long) - 1));
        size_t part = sizeof(long) - offset < count ? sizeof(long) - offset : count;
        void *at = (void *)(uintptr_t)(address - offset);
        errno = 0;
        long word = ptrace(PTRACE_PEEKDATA, tid, at, NULL);
        if (errno)
            return false;
        memcpy((uint8_t *)&word + offset, from, part);
        if (ptrace(PTRACE_POKEDATA, tid, at, word) != 0)
            return false;
        from += part;
        address += part;
        count -= part;
    }
    return true;
}

int tracee_stop_code(pid_t tid)
{
    siginfo_t info;

    return ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 ? info.si_code : INT_MIN;
}

char tracee_state(pid_t tid)
{
    char path[64], text[256];
    int fd;
    ssize_t count;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    count = read(fd, text, sizeof text - 1);
    close(fd);
    if (count <= 0)
        return 0;
    text[count] = 0;
    char *after_name = strrchr(text, ')');
    return after_name && after_name[1] ? after_name[2] : 0;
}

/* ---- the auxiliary vector ----------------------------------------------------------------------
 */

/* Words of the program's own size. */
struct words {
    pid_t tid;
    unsigned size;
};

static uint64_t read_word(const struct words *words, uint64_t address)
{
    uint64_t value = 0;

    tracee_read(words->tid, address, &value, words->size);
    return value;
}

static bool write_word(const struct words *words, uint64_t address, uint64_t value)
{
    return tracee_write(words->tid, address, &value, words->size);
}

/* The vector stands above argc, the argument pointers and the environment pointers. */
static uint64_t auxv_address(const struct words *words, uint64_t stack)
{
    uint64_t at = stack + words->size * (2 + read_word(words, stack));

    while (read_word(words, at))
        at += words->size;
    return at + words->size;
}

static bool edit_entry(const struct words *words, uint64_t at, uint64_t type, const uint32_t *hwcap)
{
    static const uint8_t fixed[16] = "p4sim AT_RANDOM";

    switch (type) {
    case AT_SYSINFO:
    case AT_SYSINFO_EHDR:
        return write_word(words, at, AT_IGNORE);
    case AT_HWCAP:
        return !hwcap || write_word(words, at + words->size, *hwcap);
    case AT_HWCAP2:
        return write_word(words, at + words->size, 0);
    case AT_RANDOM:
        return tracee_write(words->tid, read_word(words, at + words->size), fixed, sizeof fixed);
    default:
        return true;
    }
}

bool tracee_edit_auxv(pid_t tid, const struct user_regs_struct *registers, const uint32_t *hwcap)
{
    const struct words words = {tid, registers->cs == CS_64BIT ? 8 : 4};
    uint64_t at = auxv_address(&words, registers->rsp), type;

    for (; (type = read_word(&words, at)) != AT_NULL; at += 2 * words.size)
        if (!edit_entry(&words, at, type, hwcap))
            return false;
    return true;
}
