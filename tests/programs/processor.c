/*
 * What the program sees of its processor: CPUID's name and features, the clock's steps, the flags,
 * the hardware capabilities the kernel hands over.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

static unsigned long long clock_now(void)
{
    return __builtin_ia32_rdtsc();
}

static unsigned long flags_now(void)
{
    unsigned long flags;

    __asm__ volatile("pushfl; popl %0" : "=r"(flags));
    return flags;
}

int main(void)
{
    unsigned registers[4] = {0};
    unsigned long long before = clock_now(), after = clock_now();
    char vendor[13] = {0};

    __get_cpuid(0, &registers[0], &registers[1], &registers[3], &registers[2]);
    memcpy(vendor, &registers[1], 12);
    __get_cpuid(1, &registers[0], &registers[1], &registers[2], &registers[3]);
    printf("%s signature %x features %x %x\n", vendor, registers[0], registers[3], registers[2]);
    printf("trap flag %lu, hwcap %lx, hwcap2 %lx, vdso %lx\n", flags_now() >> 8 & 1,
           getauxval(AT_HWCAP), getauxval(AT_HWCAP2), getauxval(AT_SYSINFO_EHDR));
    printf("clock moves by %llu\n", after - before);
    return 0;
}
