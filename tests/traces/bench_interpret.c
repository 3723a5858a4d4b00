/*
 * How fast is the interpreter alone? Runs loops of machine code with their access records and
 * prints millions of instructions per second.
 *
 *   bench_interpret [MILLIONS]
 */
#define _POSIX_C_SOURCE 200809L
#include "interpret.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CODE = 0x1000, DATA = 0x8000, STACK = 0xf000 };

struct loop {
    const char *name;
    uint8_t length, bytes[64];
};

/* Each jumps back to its start for ever. */
static const struct loop loops[] = {
    {"registers",
     12, /* add eax,ebx; xor ecx,eax; shr edx,3; lea esi,[esi+edi*4+8]; jmp */
     {0x01, 0xd8, 0x31, 0xc1, 0xc1, 0xea, 0x03, 0x8d, 0x74, 0xbe, 0x08, 0xeb}},
    {"memory",
     19, /* mov eax,[esi+ecx*4]; add [edi],eax; mov [edi+4],al; movzx edx,byte [esi];
            inc ecx; and ecx,63; cmp ecx,5; jmp */
     {0x8b, 0x04, 0x8e, 0x01, 0x07, 0x88, 0x47, 0x04, 0x0f, 0xb6, 0x16, 0x41, 0x83, 0xe1, 0x3f,
      0x83, 0xf9, 0x05, 0xeb}},
    {"calls",
     13, /* push eax; call +3; pop eax; jmp 0; (3:) push ebp; pop ebp; ret */
     {0x50, 0xe8, 0x03, 0x00, 0x00, 0x00, 0x58, 0xeb, 0xf7, 0x55, 0x5d, 0xc3, 0x90}},
    {"sse2",
     22, /* movdqu xmm0,[esi]; pcmpeqb xmm1,xmm0; pminub xmm2,xmm0; pmovmskb eax,xmm1; test
            eax,eax; jmp */
     {0xf3, 0x0f, 0x6f, 0x06, 0x66, 0x0f, 0x74, 0xc8, 0x66, 0x0f, 0xda,
      0xd0, 0x66, 0x0f, 0xd7, 0xc1, 0x85, 0xc0, 0x90, 0x90, 0x90, 0xeb}},
};

static bool fetch(void *context, uint64_t number, uint8_t bytes[INTERPRET_PAGE_BYTES])
{
    (void)context;
    (void)number;
    memset(bytes, 0, INTERPRET_PAGE_BYTES);
    return true;
}

static bool writable(void *context, uint64_t number, uint8_t first_byte)
{
    (void)context;
    (void)number;
    (void)first_byte;
    return true;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void decode_all(const struct loop *loop, struct recipe recipes[64],
                       struct interpret_op ops[64])
{
    struct recipe_decoder *decoder = recipe_decoder_new();
    uint8_t bytes[64];

    memcpy(bytes, loop->bytes, sizeof bytes);
    if (bytes[loop->length - 1] == 0xeb) /* jmp to the start */
        bytes[loop->length] = (uint8_t)(-(loop->length + 1));
    for (unsigned i = 0; i < 64; i++) {
        recipe_decode(decoder, RECIPE_32, bytes + i, 64 - i, &recipes[i]);
        interpret_decode(&recipes[i], &ops[i]);
    }
    recipe_decoder_free(decoder);
}

static int run(const struct loop *loop, uint64_t count)
{
    static const struct interpret_backing backing = {.fetch = fetch, .writable = writable};
    struct interpreter machine = {.memory = interpret_memory_new(&backing, NULL)};
    struct recipe_registers *registers = &machine.state.registers;
    struct trace_access access[TRACE_ACCESSES];
    struct recipe recipes[64];
    struct interpret_op ops[64];
    uint64_t accesses = 0;
    unsigned number = 0;
    double start = seconds(), spent;

    decode_all(loop, recipes, ops);
    registers->gpr[GPR_SI] = DATA;
    registers->gpr[GPR_DI] = DATA + 2048;
    registers->gpr[GPR_SP] = STACK;
    registers->ip = CODE;
    for (uint64_t i = 0; i < count; i++) {
        unsigned at = (unsigned)(registers->ip - CODE) & 63;
        if (!interpret_step(&machine, &ops[at], &recipes[at], access, &number)) {
            fprintf(stderr, "%s: the instruction at offset %u is not interpreted\n", loop->name,
                    at);
            return 1;
        }
        accesses += number;
    }
    spent = seconds() - start;
    printf("%-10s %7.1f million instructions/s  %.2f accesses/instruction\n", loop->name,
           (double)count / spent / 1e6, (double)accesses / (double)count);
    interpret_memory_free(machine.memory);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t millions = argc > 1 ? strtoull(argv[1], NULL, 10) : 20;
    int failed = 0;

    if (!millions) {
        fprintf(stderr, "usage: %s [MILLIONS]\n", argv[0]);
        return 2;
    }

    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        failed |= run(&loops[i], millions * 1000000);
    return failed;
}
