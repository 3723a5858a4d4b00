/*
 * Can live runs work here? Asked by doing it: a 32-bit program of a few bytes is started under
 * ptrace and one instruction is stepped.
 */
#define _GNU_SOURCE
#include "source.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_BASE 0x08048000u

/* An ELF file that exits at once: mov eax, 1; xor ebx, ebx; int 0x80. */
struct probe {
    Elf32_Ehdr header;
    Elf32_Phdr segment;
    uint8_t code[9];
};

static struct probe make_probe(void)
{
    struct probe probe = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
                               EV_CURRENT},
                   .e_type = ET_EXEC,
                   .e_machine = EM_386,
                   .e_version = EV_CURRENT,
                   .e_entry = PROBE_BASE + offsetof(struct probe, code),
                   .e_phoff = offsetof(struct probe, segment),
                   .e_ehsize = sizeof(Elf32_Ehdr),
                   .e_phentsize = sizeof(Elf32_Phdr),
                   .e_phnum = 1},
        .segment = {.p_type = PT_LOAD,
                    .p_vaddr = PROBE_BASE,
                    .p_paddr = PROBE_BASE,
                    .p_filesz = sizeof(struct probe),
                    .p_memsz = sizeof(struct probe),
                    .p_flags = PF_R | PF_X,
                    .p_align = 4096},
        .code = {0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80},
    };
    return probe;
}

static void probe_child(int fd)
{
    char *none[] = {NULL};

    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(1);
    fexecve(fd, none, none);
    _exit(2);
}

/* One stop at exec, one step, then its end. */
static bool judge(pid_t pid, char reason[256])
{
    int status = 0;

    waitpid(pid, &status, 0);
    if (WIFSTOPPED(status) && ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0)
        waitpid(pid, &status, 0);
    if (WIFSTOPPED(status)) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return true;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        snprintf(reason, 256, "this kernel does not run 32-bit programs");
    else
        snprintf(reason, 256, "ptrace is not permitted here");
    return false;
}

bool trace_live_possible(char reason[256])
{
    struct probe probe = make_probe();
    int fd = memfd_create("probe", MFD_CLOEXEC);
    bool possible = false;
    pid_t pid;

    reason[0] = 0;
    if (fd < 0 || write(fd, &probe, sizeof probe) != (ssize_t)sizeof probe || (pid = fork()) < 0) {
        snprintf(reason, 256, "a test program cannot be started here: %s", strerror(errno));
    } else {
        if (pid == 0)
            probe_child(fd);
        possible = judge(pid, reason);
    }
    if (fd >= 0)
        close(fd);
    return possible;
}
