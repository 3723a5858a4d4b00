/* Four functions that call each other, with frame pointers: the innermost does the work. */
#include <stdint.h>

static volatile uint32_t sink;

__attribute__((noinline)) static void inner(uint32_t seed)
{
    volatile uint32_t kept = seed; /* in memory: the function has a frame */
    for (int i = 0; i < 400; i++)
        kept = kept * 1664525u + 1013904223u;
    sink = kept;
}

__attribute__((noinline)) static void middle(uint32_t seed)
{
    inner(seed + 1);
    sink += seed;
}

__attribute__((noinline)) static void outer(uint32_t seed)
{
    middle(seed + 2);
    sink += seed;
}

int main(void)
{
    for (uint32_t i = 0; i < 200; i++)
        outer(i);
    return 0;
}
