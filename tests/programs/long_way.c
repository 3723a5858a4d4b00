/*
 * A long way to a short piece of work, four times: what one wants to measure lies behind a million
 * instructions that one does not. An argument says how many (default 1000000).
 *
 *   work(n)   entered four times, 3n + 3 instructions each
 */
#include <p4sim.h>

#include <stdio.h>
#include <stdlib.h>

unsigned work(unsigned rounds);

__asm__(".text\n"
        ".globl work, work_from, work_to\n"
        ".type work, @function\n"
        "work: movl 4(%esp), %ecx\n"
        "xorl %eax, %eax\n"
        "work_from: addl %ecx, %eax\n"
        "decl %ecx\n"
        "jnz work_from\n"
        "work_to: ret\n"
        ".size work, . - work\n");

static unsigned long_way(unsigned steps)
{
    volatile unsigned state = 1;

    for (unsigned i = 0; i < steps; i++)
        state = state * 1664525 + 1013904223;
    return state;
}

int main(int argc, char **argv)
{
    unsigned steps = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 1000000;
    unsigned sum = 0;

    for (int i = 0; i < 4; i++) {
        sum += long_way(steps);
        P4SIM_BEGIN("piece");
        sum += work(1000);
        P4SIM_END("piece");
    }
    printf("%u\n", sum);
    return 0;
}
