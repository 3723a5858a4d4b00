/*
 * Prints CPUID's answers as this program gets them, one line per leaf and subleaf in hexadecimal:
 * leaf, subleaf, eax, ebx, ecx, edx. One basic leaf past the last is asked too.
 */
#include <cpuid.h>
#include <stdio.h>

static unsigned ask(unsigned leaf, unsigned subleaf)
{
    unsigned a, b, c, d;

    __cpuid_count(leaf, subleaf, a, b, c, d);
    printf("%x %x %x %x %x %x\n", leaf, subleaf, a, b, c, d);
    return a;
}

int main(void)
{
    unsigned last = ask(0, 0);

    for (unsigned leaf = 1; leaf <= last + 1 && leaf < 64; leaf++)
        for (unsigned subleaf = 0; subleaf < 4; subleaf++)
            ask(leaf, subleaf);
    last = ask(0x80000000, 0);
    for (unsigned leaf = 0x80000001; leaf <= last && leaf < 0x80000020; leaf++)
        ask(leaf, 0);
    return 0;
}
