/*
 * The same sums on the x87 stack and in SSE2 registers, conversions with changed rounding (fldcw),
 * and packed SSE2 arithmetic.
 * Size: terms.
 */
#include "size.h"

#include <emmintrin.h>
#include <stdio.h>

#define TERMS 4096

static double terms[TERMS] __attribute__((aligned(16)));

static long double on_the_stack(unsigned count)
{
    long double sum = 0;

    for (unsigned i = 0; i < count; i++)
        sum += (long double)terms[i] * terms[i];
    return sum;
}

static double packed(unsigned count)
{
    __m128d sum = _mm_setzero_pd();
    double halves[2] __attribute__((aligned(16)));

    for (unsigned i = 0; i + 1 < count; i += 2) {
        __m128d pair = _mm_load_pd(&terms[i]);
        sum = _mm_add_pd(sum, _mm_mul_pd(pair, pair));
    }
    _mm_store_pd(halves, sum);
    return halves[0] + halves[1];
}

/* Towards zero through the control word, as C compilers did before SSE. */
static int32_t truncate(long double value)
{
    uint16_t usual, chopped;
    int32_t result;

    __asm__ volatile("fnstcw %0" : "=m"(usual));
    chopped = usual | 0x0c00;
    __asm__ volatile("fldcw %1\n\tfistpl %0\n\tfldcw %2"
                     : "=m"(result)
                     : "m"(chopped), "m"(usual), "t"(value)
                     : "st");
    return result;
}

int main(int argc, char **argv)
{
    unsigned count = size_argument(argc, argv, 4000), rounds = 4;
    long double stack = 0;
    double both = 0;
    int32_t whole = 0;

    if (count > TERMS)
        count = TERMS;
    for (unsigned i = 0; i < count; i++)
        terms[i] = 1.0 / (i + 1);
    while (rounds--) {
        stack += on_the_stack(count & ~1u);
        both += packed(count);
        for (unsigned i = 0; i < count; i += 8)
            whole += truncate(terms[i] * 1000);
    }
    printf("x87 %.9Lf, SSE2 %.9f, truncated %ld\n", stack, both, (long)whole);
    return 0;
}
