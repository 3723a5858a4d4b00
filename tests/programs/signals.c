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
        *(volatile char *)page = 1; /* faults, is repaired, succeeds */
        if (!sigsetjmp(escape, 1))
            *(volatile char *)nowhere = 1; /* faults for good */
    }
    printf("%u raised, %u traps, %u repaired, %u escaped\n", raised, traps, repaired, escaped);
    return 0;
}
