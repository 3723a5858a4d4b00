/*
 * Counts the instructions a program, 32-bit or 64-bit, executes, by nothing but single steps: the
 * independent answer p4sim's counts are compared with. It shares no code with p4sim and takes no
 * shortcut.
 *
 *   stepcount [-c CPUIDFILE] OUTPUT PROGRAM [ARGUMENT...]
 *
 * OUTPUT gets "instructions N" and then one line for each form that Pentium 4 parts were measured
 * to retire twice, with how often it was executed. CPUIDFILE holds CPUID's answers as cpuid_dump
 * prints them; without it a Northwood answers. One process with one thread is followed.
 *
 * What counts: an instruction that was executed to its end, a repeated string instruction once, a
 * system call that does not come back (exit) too; not what faults. What the program sees: addresses
 * that do not change, one processor, no vdso, AT_HWCAP as CPUID leaf 1 has it, fixed AT_RANDOM,
 * RDTSC as the number of instructions so far.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

struct answer {
    unsigned leaf, subleaf, a, b, c, d;
};

static struct answer answers[512] = {
    {0, 0, 2, 0x756e6547, 0x6c65746e, 0x49656e69},
    {1, 0, 0xf29, 0x800, 0x4400, 0x3febf9ff},
    {2, 0, 0x665b5001, 0, 0, 0x007b7040},
    {0x80000000, 0, 0x80000004, 0, 0, 0},
    {0x80000001, 0, 0, 0, 0, 0},
    {0x80000002, 0, 0x20202020, 0x20202020, 0x20202020, 0x6e492020},
    {0x80000003, 0, 0x286c6574, 0x50202952, 0x69746e65, 0x52286d75},
    {0x80000004, 0, 0x20342029, 0x20555043, 0x30382e32, 0x007a4847},
};
static unsigned answer_count = 8;

/* Forms of which one execution is retired, and counted by instr_retired, twice. */
enum twice { FLDCW, FLDENV, FRSTOR, MASKMOVQ, EMMS, CVTPD2PI, SFENCE, MFENCE, TWICE };
static const char *const twice_names[TWICE] = {
    "fldcw",  "fldenv", "frstor", "maskmovq", "emms", "cvtpd2pi_cvttpd2pi_from_memory",
    "sfence", "mfence"};

static pid_t pid;
static struct user_regs_struct regs;
static uint64_t executed, twice_count[TWICE];
static bool wide; /* a 64-bit program */

static void die(const char *what)
{
    perror(what);
    if (pid > 0)
        kill(pid, SIGKILL);
    exit(3);
}

static void read_memory(uint64_t at, void *to, size_t count)
{
    struct iovec local = {to, count}, remote = {(void *)(uintptr_t)at, count};

    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0)
        memset(to, 0, count);
}

static void write_memory(uint64_t at, const void *from, size_t count)
{
    struct iovec local = {(void *)(uintptr_t)from, count}, remote = {(void *)(uintptr_t)at, count};

    if (process_vm_writev(pid, &local, 1, &remote, 1, 0) != (ssize_t)count)
        die("writing the program's memory");
}

/* ---- what the program is told ------------------------------------------------------------------
 */

static void read_answers(const char *path)
{
    FILE *file = fopen(path, "r");
    struct answer *next = answers;

    if (!file)
        die(path);
    while (next < answers + 512 && fscanf(file, "%x %x %x %x %x %x", &next->leaf, &next->subleaf,
                                          &next->a, &next->b, &next->c, &next->d) == 6)
        next++;
    fclose(file);
    answer_count = (unsigned)(next - answers);
}

/* The exact row, else the leaf's first, else what stands for basic leaves past the last. */
static const struct answer *find_answer(unsigned leaf, unsigned subleaf)
{
    const struct answer *found = NULL, *beyond = &answers[0];

    for (const struct answer *row = answers; row < answers + answer_count; row++) {
        if (row->leaf == leaf && (row->subleaf == subleaf || !found))
            found = row;
        if (row->leaf < 0x80000000 && row->leaf >= beyond->leaf && row->subleaf == 0)
            beyond = row;
    }
    return found ? found : beyond;
}

/* A word of the program's size. */
static uint64_t read_word(uint64_t at)
{
    uint64_t word = 0;

    read_memory(at, &word, wide ? 8 : 4);
    return word;
}

static void edit_start(void)
{
    unsigned size = wide ? 8 : 4;
    uint64_t at = regs.rsp + size * (read_word(regs.rsp) + 2), word, pair[2];

    do {
        word = read_word(at);
        at += size;
    } while (word);
    for (;; at += 2 * size) {
        pair[0] = read_word(at);
        pair[1] = read_word(at + size);
        if (pair[0] == AT_NULL)
            return;
        if (pair[0] == AT_RANDOM)
            write_memory(pair[1], "p4sim AT_RANDOM", 16);
        if (pair[0] == AT_HWCAP)
            pair[1] = find_answer(1, 0)->d;
        if (pair[0] == AT_HWCAP2)
            pair[1] = 0;
        if (pair[0] == AT_SYSINFO || pair[0] == AT_SYSINFO_EHDR)
            pair[0] = AT_IGNORE;
        write_memory(at, &pair[0], size);
        write_memory(at + size, &pair[1], size);
    }
}

/* ---- the instruction at hand -------------------------------------------------------------------
 */

struct instruction {
    uint8_t bytes[16];
    const uint8_t *opcode; /* behind the prefixes */
    bool repeat, operand_16;
};

static const struct instruction *look(void)
{
    static struct instruction now;

    memset(&now, 0, sizeof now);
    for (unsigned count = 15; count > 0; count--) { /* the page may end soon */
        struct iovec local = {now.bytes, count};
        struct iovec remote = {(void *)(uintptr_t)regs.rip, count};
        if (process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)count)
            break;
    }
    now.opcode = now.bytes;
    for (; strchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", *now.opcode) && *now.opcode;
         now.opcode++) {
        now.repeat |= *now.opcode == 0xf2 || *now.opcode == 0xf3;
        now.operand_16 |= *now.opcode == 0x66;
    }
    if (wide && (*now.opcode & 0xf0) == 0x40) /* REX */
        now.opcode++;
    return &now;
}

static bool is_repeated_string(const struct instruction *now)
{
    uint8_t byte = now->opcode[0];

    return now->repeat && ((byte >= 0xa4 && byte <= 0xa7) || (byte >= 0xaa && byte <= 0xaf) ||
                           (byte >= 0x6c && byte <= 0x6f));
}

static void note_twice(const struct instruction *now)
{
    const uint8_t *op = now->opcode;
    bool memory = op[1] < 0xc0, memory2 = op[2] < 0xc0;
    unsigned digit = op[1] >> 3 & 7;

    if (op[0] == 0xd9 && memory && (digit == 4 || digit == 5))
        twice_count[digit == 5 ? FLDCW : FLDENV]++;
    if (op[0] == 0xdd && memory && digit == 4)
        twice_count[FRSTOR]++;
    if (op[0] != 0x0f)
        return;
    if (op[1] == 0xf7 && !now->operand_16)
        twice_count[MASKMOVQ]++;
    if (op[1] == 0x77)
        twice_count[EMMS]++;
    if ((op[1] == 0x2c || op[1] == 0x2d) && now->operand_16 && memory2)
        twice_count[CVTPD2PI]++;
    if (op[1] == 0xae && op[2] >= 0xf8)
        twice_count[SFENCE]++;
    if (op[1] == 0xae && op[2] >= 0xf0 && op[2] < 0xf8)
        twice_count[MFENCE]++;
}

static void count(const struct instruction *now)
{
    executed++;
    note_twice(now);
}

/* CPUID and RDTSC are answered here. True when it was one of them. */
static bool answered(const struct instruction *now)
{
    if (now->opcode[0] != 0x0f || (now->opcode[1] != 0xa2 && now->opcode[1] != 0x31))
        return false;
    if (now->opcode[1] == 0xa2) {
        const struct answer *answer = find_answer((unsigned)regs.rax, (unsigned)regs.rcx);
        regs.rax = answer->a;
        regs.rbx = answer->b;
        regs.rcx = answer->c;
        regs.rdx = answer->d;
    } else {
        regs.rax = executed & 0xffffffff;
        regs.rdx = executed >> 32;
    }
    regs.rip += (uint64_t)(now->opcode - now->bytes) + 2;
    regs.orig_rax = ~0ull;
    ptrace(PTRACE_SETREGS, pid, NULL, &regs);
    count(now);
    return true;
}

/* The steps' own trap flag shall not be seen: pushf stores it, and popf makes it look real. */
static void hide_trap_flag(const struct instruction *now)
{
    uint16_t flags;

    if (now->opcode[0] == 0x9c) {
        read_memory(regs.rsp, &flags, 2);
        flags &= 0xfeff;
        write_memory(regs.rsp, &flags, 2);
    }
    if (regs.eflags & 0x100) {
        regs.eflags &= ~0x100ull;
        ptrace(PTRACE_SETREGS, pid, NULL, &regs);
    }
}

static void unblock_traps(void)
{
    uint64_t mask;

    ptrace(PTRACE_GETSIGMASK, pid, sizeof mask, &mask);
    mask &= ~(1ull << (SIGTRAP - 1));
    ptrace(PTRACE_SETSIGMASK, pid, sizeof mask, &mask);
}

/* ---- the loop ----------------------------------------------------------------------------------
 */

static bool is_system_call(const struct instruction *now)
{
    return (now->opcode[0] == 0xcd && now->opcode[1] == 0x80) ||
           (now->opcode[0] == 0x0f && (now->opcode[1] == 0x34 || now->opcode[1] == 0x05));
}

/* A kernel that restarts a call sets the program back before the step. */
static bool is_restarted_call(void)
{
    int64_t result = wide ? (int64_t)regs.rax : (int32_t)regs.rax;

    return (int64_t)regs.orig_rax >= 0 && result <= -512 && result >= -516;
}

/* A SIGTRAP stop: the instruction executed (then it counts), or something else stopped it. */
static int after_trap(const struct instruction *now, uint64_t before)
{
    siginfo_t info = {0};

    ptrace(PTRACE_GETSIGINFO, pid, NULL, &info);
    ptrace(PTRACE_GETREGS, pid, NULL, &regs);
    if (info.si_code == SIGTRAP) { /* a handler's frame was made */
        unblock_traps();
        return 0;
    }
    if (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT) {
        if (regs.rip == before && is_repeated_string(now))
            return 0;
        count(now);
        hide_trap_flag(now);
        return 0;
    }
    if (regs.rip != before)
        count(now); /* int3 */
    return SIGTRAP;
}

static int run(void)
{
    int signal = 0, status = 0;

    for (;;) {
        const struct instruction *now = look();
        uint64_t before = regs.rip;
        if (!signal && !is_restarted_call() && answered(now))
            continue;
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, (long)signal) != 0)
            die("ptrace");
        if (waitpid(pid, &status, __WALL) < 0)
            die("waitpid");
        if (!WIFSTOPPED(status)) {
            if (!signal && is_system_call(now))
                count(now);
            return status;
        }
        signal = WSTOPSIG(status);
        if (signal == SIGTRAP) {
            signal = after_trap(now, before);
        } else {
            ptrace(PTRACE_GETREGS, pid, NULL, &regs);
            if (regs.rip != before && !is_restarted_call())
                count(now);
        }
    }
}

static void start(char **argv)
{
    cpu_set_t one;
    int status;

    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pid = fork();
    if (pid == 0) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(argv[0], argv);
        die(argv[0]);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
        die(argv[0]);
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (long)PTRACE_O_EXITKILL);
    ptrace(PTRACE_GETREGS, pid, NULL, &regs);
    wide = regs.cs == 0x33;
    edit_start();
}

int main(int argc, char **argv)
{
    FILE *output;

    if (argc > 2 && !strcmp(argv[1], "-c")) {
        read_answers(argv[2]);
        argv += 2;
        argc -= 2;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: stepcount [-c CPUIDFILE] OUTPUT PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    start(argv + 2);
    run();
    output = fopen(argv[1], "w");
    if (!output)
        die(argv[1]);
    fprintf(output, "instructions %llu\n", (unsigned long long)executed);
    for (unsigned i = 0; i < TWICE; i++)
        fprintf(output, "%s %llu\n", twice_names[i], (unsigned long long)twice_count[i]);
    return fclose(output) != 0;
}
