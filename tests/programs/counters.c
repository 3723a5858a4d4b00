/*
 * A program that programs the monitoring hardware itself, with WRMSR in line, and reads it with
 * RDPMC and RDTSC; only a system that grants this (or p4sim) runs it.
 *
 *   counters N        instructions of a loop of N rounds, clocks of the same; "exact" or "inexact"
 *   counters fault    what becomes of an access to a register that does not exist
 *   counters allowed  which of the instructions work
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MSR_CRU_ESCR0 = 0x3b8,
    MSR_IQ_CCCR0 = 0x36c,
    IQ_COUNTER0 = 12,
    INSTR_RETIRED_NBOGUSNTAG_USR = 2 << 25 | 1 << 9 | 1 << 2,
    CCCR_COMPARE_NOTHING = 3 << 16 | 4 << 13,
    CCCR_ENABLE = 1 << 12,
    NO_SUCH_MSR = 0x12345,
};

static void write_msr(uint32_t msr, uint64_t value)
{
    __asm__ volatile("wrmsr" ::"c"(msr), "A"(value) : "memory");
}

static uint64_t read_msr(uint32_t msr)
{
    uint64_t value;

    __asm__ volatile("rdmsr" : "=A"(value) : "c"(msr) : "memory");
    return value;
}

static uint64_t read_counter(uint32_t counter)
{
    uint64_t value;

    __asm__ volatile("rdpmc" : "=A"(value) : "c"(counter) : "memory");
    return value;
}

static uint64_t read_clock(void)
{
    uint64_t value;

    __asm__ volatile("rdtsc" : "=A"(value)::"memory");
    return value;
}

/* Instructions from one RDPMC (included) to the next (not included). */
static uint64_t count_loop(uint32_t rounds)
{
    uint32_t low, high, before_low, before_high;

    __asm__ volatile("movl %4, %%ecx\n\t"
                     "rdpmc\n\t"
                     "movl %%eax, %0\n\t"
                     "movl %%edx, %1\n\t"
                     "movl %5, %%ecx\n"
                     "1:\n\t"
                     "decl %%ecx\n\t"
                     "jnz 1b\n\t"
                     "movl %4, %%ecx\n\t"
                     "rdpmc\n\t"
                     : "=&S"(before_low), "=&D"(before_high), "=&a"(low), "=&d"(high)
                     : "i"(IQ_COUNTER0), "b"(rounds)
                     : "ecx", "memory", "cc");
    return ((uint64_t)high << 32 | low) - ((uint64_t)before_high << 32 | before_low);
}

enum { AROUND_THE_LOOP = 5 }; /* rdpmc and four moves */

static int count(uint32_t rounds)
{
    uint64_t wanted = 2 * (uint64_t)rounds + AROUND_THE_LOOP, instructions, clocks;

    write_msr(MSR_CRU_ESCR0, INSTR_RETIRED_NBOGUSNTAG_USR);
    write_msr(MSR_IQ_CCCR0, CCCR_COMPARE_NOTHING | CCCR_ENABLE);
    clocks = read_clock();
    instructions = count_loop(rounds);
    clocks = read_clock() - clocks;
    write_msr(MSR_IQ_CCCR0, 0);
    printf("%llu instructions, %s; ESCR %llx; clocks %s\n", (unsigned long long)instructions,
           instructions == wanted ? "exact" : "inexact",
           (unsigned long long)read_msr(MSR_CRU_ESCR0),
           clocks >= rounds && clocks < 4 * (uint64_t)rounds + 5000 ? "plausible" : "wrong");
    return instructions != wanted;
}

/* ---- faults ------------------------------------------------------------------------------------
 */

static sigjmp_buf back;
static volatile int code;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    code = info->si_code;
    siglongjmp(back, 1);
}

static void tell(const char *what, int works)
{
    if (works)
        printf("%s works\n", what);
    else
        printf("%s: SIGSEGV, si_code %d\n", what, code);
}

static int allowed(uint32_t msr)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
    tell("rdtsc", sigsetjmp(back, 1) == 0 && (read_clock(), 1));
    tell("rdpmc", sigsetjmp(back, 1) == 0 && (read_counter(IQ_COUNTER0), 1));
    tell("rdmsr", sigsetjmp(back, 1) == 0 && (read_msr(msr), 1));
    tell("wrmsr", sigsetjmp(back, 1) == 0 && (write_msr(msr, 0), 1));
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "1000";

    if (!strcmp(what, "fault"))
        return allowed(NO_SUCH_MSR);
    if (!strcmp(what, "allowed"))
        return allowed(MSR_CRU_ESCR0);
    return count((uint32_t)strtoul(what, NULL, 10));
}
