/*
 * The native half of the oracle test, a 32-bit program: executes each case of a file of cases on
 * the processor, at full speed, and writes the outcome in its place.
 *
 *   oracle_native FILE
 *
 * An instruction stands alone at a fixed address. Behind it, and at the target of branches, stands
 * a jump to code that saves every register with instructions that change no flag.
 */
#define _GNU_SOURCE
#include "oracle.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

void oracle_enter(struct oracle_state *state);
extern uint8_t oracle_fxsave[512];
extern void (*const oracle_leave_next)(void), (*const oracle_leave_taken)(void);

__asm__(".bss\n"
        "now: .skip 4\n"
        "kept_esp: .skip 4\n"
        "kept_eax: .skip 4\n"
        ".globl oracle_fxsave\n"
        ".balign 16\n"
        "oracle_fxsave: .skip 512\n"
        ".text\n"
        ".globl oracle_enter\n"
        "oracle_enter:\n"
        "    pusha\n"
        "    mov %esp, kept_esp\n"
        "    mov 36(%esp), %eax\n"
        "    mov %eax, now\n"
        "    fxrstor oracle_fxsave\n"
        "    ldmxcsr 36(%eax)\n"
        "    movups 48(%eax), %xmm0\n"
        "    movups 64(%eax), %xmm1\n"
        "    movups 80(%eax), %xmm2\n"
        "    movups 96(%eax), %xmm3\n"
        "    movups 112(%eax), %xmm4\n"
        "    movups 128(%eax), %xmm5\n"
        "    movups 144(%eax), %xmm6\n"
        "    movups 160(%eax), %xmm7\n"
        "    pushl 32(%eax)\n"
        "    popf\n"
        "    mov 4(%eax), %ecx\n"
        "    mov 8(%eax), %edx\n"
        "    mov 12(%eax), %ebx\n"
        "    mov 16(%eax), %esp\n"
        "    mov 20(%eax), %ebp\n"
        "    mov 24(%eax), %esi\n"
        "    mov 28(%eax), %edi\n"
        "    mov 0(%eax), %eax\n"
        "    jmp 0x10000000\n"
        "leave_taken:\n"
        "    mov %eax, kept_eax\n"
        "    mov now, %eax\n"
        "    movl $3, 40(%eax)\n" /* ORACLE_TAKEN */
        "    jmp leave\n"
        "leave_next:\n"
        "    mov %eax, kept_eax\n"
        "    mov now, %eax\n"
        "    movl $2, 40(%eax)\n" /* ORACLE_NEXT */
        "leave:\n"
        "    mov %ecx, 4(%eax)\n"
        "    mov kept_eax, %ecx\n"
        "    mov %ecx, 0(%eax)\n"
        "    mov %edx, 8(%eax)\n"
        "    mov %ebx, 12(%eax)\n"
        "    mov %esp, 16(%eax)\n"
        "    mov %ebp, 20(%eax)\n"
        "    mov %esi, 24(%eax)\n"
        "    mov %edi, 28(%eax)\n"
        "    mov kept_esp, %esp\n"
        "    pushf\n"
        "    popl 32(%eax)\n"
        "    cld\n"
        "    fxsave oracle_fxsave\n"
        "    stmxcsr 36(%eax)\n"
        "    movups %xmm0, 48(%eax)\n"
        "    movups %xmm1, 64(%eax)\n"
        "    movups %xmm2, 80(%eax)\n"
        "    movups %xmm3, 96(%eax)\n"
        "    movups %xmm4, 112(%eax)\n"
        "    movups %xmm5, 128(%eax)\n"
        "    movups %xmm6, 144(%eax)\n"
        "    movups %xmm7, 160(%eax)\n"
        "    popa\n"
        "    ret\n"
        ".globl oracle_leave_next, oracle_leave_taken\n"
        ".section .rodata\n"
        "oracle_leave_next: .long leave_next\n"
        "oracle_leave_taken: .long leave_taken\n"
        ".text\n");

static sigjmp_buf faulted;

static void on_fault(int signal)
{
    (void)signal;
    siglongjmp(faulted, 1);
}

/* jmp *POINTER */
static void put_jump(uint8_t *at, const void *pointer)
{
    uint32_t address = (uint32_t)pointer;

    at[0] = 0xff;
    at[1] = 0x25;
    memcpy(at + 2, &address, 4);
}

static void run(struct oracle_state *state)
{
    uint8_t *code = (uint8_t *)ORACLE_CODE, *data = (uint8_t *)ORACLE_DATA;

    memcpy(code, state->code, state->length);
    put_jump(code + state->length, &oracle_leave_next);
    memcpy(data, state->memory, ORACLE_DATA_BYTES);
    memcpy(oracle_fxsave, state->x87, sizeof state->x87);
    if (sigsetjmp(faulted, 1) == 0)
        oracle_enter(state);
    else
        state->outcome = ORACLE_FAULT;
    memcpy(state->memory, data, ORACLE_DATA_BYTES);
    memcpy(state->x87, oracle_fxsave, sizeof state->x87);
}

static int map(uint32_t address, int protection)
{
    void *wanted = (void *)(address & ~4095u);

    return mmap(wanted, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == wanted;
}

static void catch_faults(void)
{
    static uint8_t stack[16384];
    const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};

    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}

int main(int argc, char **argv)
{
    struct oracle_state *states;
    struct stat status;
    int fd = argc == 2 ? open(argv[1], O_RDWR) : -1;

    if (fd < 0 || fstat(fd, &status) != 0)
        return 2;
    states = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (states == MAP_FAILED || !map(ORACLE_CODE, PROT_READ | PROT_WRITE | PROT_EXEC) ||
        !map(ORACLE_DATA, PROT_READ | PROT_WRITE))
        return 2;
    catch_faults();
    put_jump((uint8_t *)ORACLE_CODE + ORACLE_TARGET_OFFSET, &oracle_leave_taken);
    for (size_t i = 0; i < (size_t)status.st_size / sizeof *states; i++)
        if (states[i].outcome == ORACLE_RUN)
            run(&states[i]);
    return 0;
}
