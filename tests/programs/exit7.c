/*
 * Ends with status 7, as a program that found something wrong does.
 * Size: rounds before it does.
 */
#include "size.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    unsigned rounds = size_argument(argc, argv, 30000);
    uint32_t state = 1, sum = 0;

    for (unsigned i = 0; i < rounds; i++)
        sum += next_random(&state) & 1;
    fprintf(stderr, "%lu odd numbers: giving up\n", (unsigned long)sum);
    return 7;
}
