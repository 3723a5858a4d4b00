/*
 * Works for a while, then follows a null pointer: the run must end with SIGSEGV, its count intact.
 * Size: rounds before the crash.
 */
#include "size.h"

int main(int argc, char **argv)
{
    unsigned rounds = size_argument(argc, argv, 30000);
    volatile uint32_t sum = 0;
    uint32_t state = 1;

    for (unsigned i = 0; i < rounds; i++)
        sum += next_random(&state);
    return *(volatile int *)(uintptr_t)(sum & 0);
}
