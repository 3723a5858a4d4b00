/*
 * p4pm at work: nested measurements of loops of known length.
 *
 *   gcc -m32 -O2 -o measure measure.c p4pm.c && p4sim run -- ./measure
 */
#include "p4pm.h"

/* 2 ROUNDS instructions. */
static inline void spin(unsigned rounds)
{
    __asm__ volatile("1: decl %0\n\tjnz 1b" : "+r"(rounds)::"cc");
}

static void __attribute__((noinline)) measured(const char *name, unsigned rounds)
{
    p4pm_begin(name);
    spin(rounds);
    p4pm_end();
}

int main(void)
{
    p4pm_open();
    p4pm_begin("all");
    measured("short", 1000);
    for (int i = 0; i < 3; i++)
        measured("long", 5000);
    p4pm_end();
    p4pm_close();
    return p4pm_write(stdout) ? 0 : 1;
}
