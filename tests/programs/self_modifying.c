/*
 * Writes a function, runs it, changes it, runs it again: once by rewriting one instruction's
 * constant in place, once by a page the kernel fills through read().
 * Size: rounds.
 */
#define _GNU_SOURCE
#include "size.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uint32_t function(void);

/* mov eax, imm32; ret */
static void write_function(unsigned char *code, uint32_t value)
{
    code[0] = 0xb8;
    memcpy(code + 1, &value, 4);
    code[5] = 0xc3;
}

static uint32_t call(unsigned char *code)
{
    function *made;

    memcpy(&made, &code, sizeof made);
    return made();
}

int main(int argc, char **argv)
{
    unsigned rounds = size_argument(argc, argv, 2000);
    unsigned char *code =
        mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *crossing = code + 4096 - 3; /* an instruction over two pages */
    unsigned char by_pipe[6];
    uint32_t sum = 0;
    int channel[2];

    if (code == MAP_FAILED || pipe(channel) != 0)
        return 1;
    for (unsigned i = 0; i < rounds; i++) {
        write_function(code, i & 3);
        write_function(crossing, 7);
        sum += call(code) + call(crossing);
    }
    write_function(by_pipe, 1000);
    if (write(channel[1], by_pipe, 6) != 6 || read(channel[0], code, 6) != 6)
        return 2;
    sum += call(code);
    printf("%u rounds, sum %lu\n", rounds, (unsigned long)sum);
    return 0;
}
