/*
 * Signals of all kinds: raised, ignored, from a fault that the handler repairs, from a fault that
 * is jumped out of, and from int3. Size: rounds.
 */
#define _GNU_SOURCE
#include "size.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

static volatile unsigned raised, repaired, escaped, traps;
static sigjmp_buf escape;
static char *page, *volatile nowhere = (char *)16;

static void on_user(int signal)
{
    (void)signal;
    raised++;
}

static void on_trap(int signal)
{
    (void)signal;
    traps++;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    if ((char *)info->si_addr == page) {
        repaired++;
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
        return;
    }
    escaped++;
    siglongjmp(escape, 1);
}

static unsigned changed;

/* Writes to the page, from an instruction whose registers a handler's return brings back. */
static void write_there(volatile char *at)
{
#ifdef __x86_64__
    const unsigned long long before = 0x123456789abcdfff;
    unsigned long long after;

    __asm__ volatile("movq %1, %%r11\n\tmovb $1, (%2)\n\tmovq %%r11, %0"
                     : "=r"(after)
                     : "r"(before), "r"(at)
                     : "r11", "memory");
    changed += after != before;
#else
    *at = 1;
#endif
}

int main(int argc, char **argv)
{
    const volatile unsigned rounds = size_argument(argc, argv, 100);
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

    page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGUSR1, on_user);
    signal(SIGUSR2, SIG_IGN);
    signal(SIGTRAP, on_trap);
    sigaction(SIGSEGV, &fault, NULL);
    for (volatile unsigned i = 0; i < rounds; i++) {
        raise(SIGUSR1);
        raise(SIGUSR2);
        __asm__ volatile("int3");
        mprotect(page, 4096, PROT_READ);
        write_there(page); /* faults, is repaired, succeeds */
        if (!sigsetjmp(escape, 1))
            *(volatile char *)nowhere = 1; /* faults for good */
    }
    printf("%u raised, %u traps, %u repaired, %u escaped\n", raised, traps, repaired, escaped);
    if (changed)
        printf("R11 is not what it was, %u times\n", changed);
    return 0;
}
