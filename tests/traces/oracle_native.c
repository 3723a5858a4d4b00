/*
 * The native half of the oracle test, a 32-bit or a 64-bit program: executes each case of a file of
 * cases on the processor, at full speed, and writes the outcome in its place.
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
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

void oracle_enter(struct oracle_state *state);
extern uint8_t oracle_fxsave[512];
extern void (*const oracle_leave_next)(void), (*const oracle_leave_taken)(void);

#if defined(__x86_64__)

__asm__(".bss\n"
        ".balign 16\n"
        "now: .skip 8\n"
        "kept_rsp: .skip 8\n"
        "kept_rax: .skip 8\n"
        ".globl oracle_fxsave\n"
        ".balign 16\n"
        "oracle_fxsave: .skip 512\n"
        ".text\n"
        ".globl oracle_enter\n"
        "oracle_enter:\n"
        "    push %rbx\n"
        "    push %rbp\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    mov %rsp, kept_rsp\n"
        "    mov %rdi, now\n"
        "    fxrstor oracle_fxsave\n"
        "    ldmxcsr 132(%rdi)\n"
        "    movups 160(%rdi), %xmm0\n"
        "    movups 176(%rdi), %xmm1\n"
        "    movups 192(%rdi), %xmm2\n"
        "    movups 208(%rdi), %xmm3\n"
        "    movups 224(%rdi), %xmm4\n"
        "    movups 240(%rdi), %xmm5\n"
        "    movups 256(%rdi), %xmm6\n"
        "    movups 272(%rdi), %xmm7\n"
        "    movups 288(%rdi), %xmm8\n"
        "    movups 304(%rdi), %xmm9\n"
        "    movups 320(%rdi), %xmm10\n"
        "    movups 336(%rdi), %xmm11\n"
        "    movups 352(%rdi), %xmm12\n"
        "    movups 368(%rdi), %xmm13\n"
        "    movups 384(%rdi), %xmm14\n"
        "    movups 400(%rdi), %xmm15\n"
        "    mov 128(%rdi), %eax\n"
        "    push %rax\n"
        "    popf\n"
        "    mov 0(%rdi), %rax\n"
        "    mov 8(%rdi), %rcx\n"
        "    mov 16(%rdi), %rdx\n"
        "    mov 24(%rdi), %rbx\n"
        "    mov 32(%rdi), %rsp\n"
        "    mov 40(%rdi), %rbp\n"
        "    mov 48(%rdi), %rsi\n"
        "    mov 64(%rdi), %r8\n"
        "    mov 72(%rdi), %r9\n"
        "    mov 80(%rdi), %r10\n"
        "    mov 88(%rdi), %r11\n"
        "    mov 96(%rdi), %r12\n"
        "    mov 104(%rdi), %r13\n"
        "    mov 112(%rdi), %r14\n"
        "    mov 120(%rdi), %r15\n"
        "    mov 56(%rdi), %rdi\n"
        "    jmp 0x10000000\n"
        "leave_taken:\n"
        "    mov %rax, kept_rax\n"
        "    mov now, %rax\n"
        "    movl $3, 136(%rax)\n" /* ORACLE_TAKEN */
        "    jmp leave\n"
        "leave_next:\n"
        "    mov %rax, kept_rax\n"
        "    mov now, %rax\n"
        "    movl $2, 136(%rax)\n" /* ORACLE_NEXT */
        "leave:\n"
        "    mov %rcx, 8(%rax)\n"
        "    mov kept_rax, %rcx\n"
        "    mov %rcx, 0(%rax)\n"
        "    mov %rdx, 16(%rax)\n"
        "    mov %rbx, 24(%rax)\n"
        "    mov %rsp, 32(%rax)\n"
        "    mov %rbp, 40(%rax)\n"
        "    mov %rsi, 48(%rax)\n"
        "    mov %rdi, 56(%rax)\n"
        "    mov %r8, 64(%rax)\n"
        "    mov %r9, 72(%rax)\n"
        "    mov %r10, 80(%rax)\n"
        "    mov %r11, 88(%rax)\n"
        "    mov %r12, 96(%rax)\n"
        "    mov %r13, 104(%rax)\n"
        "    mov %r14, 112(%rax)\n"
        "    mov %r15, 120(%rax)\n"
        "    mov kept_rsp, %rsp\n"
        "    pushf\n"
        "    pop %rcx\n"
        "    mov %ecx, 128(%rax)\n"
        "    cld\n"
        "    fxsave oracle_fxsave\n"
        "    stmxcsr 132(%rax)\n"
        "    movups %xmm0, 160(%rax)\n"
        "    movups %xmm1, 176(%rax)\n"
        "    movups %xmm2, 192(%rax)\n"
        "    movups %xmm3, 208(%rax)\n"
        "    movups %xmm4, 224(%rax)\n"
        "    movups %xmm5, 240(%rax)\n"
        "    movups %xmm6, 256(%rax)\n"
        "    movups %xmm7, 272(%rax)\n"
        "    movups %xmm8, 288(%rax)\n"
        "    movups %xmm9, 304(%rax)\n"
        "    movups %xmm10, 320(%rax)\n"
        "    movups %xmm11, 336(%rax)\n"
        "    movups %xmm12, 352(%rax)\n"
        "    movups %xmm13, 368(%rax)\n"
        "    movups %xmm14, 384(%rax)\n"
        "    movups %xmm15, 400(%rax)\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbp\n"
        "    pop %rbx\n"
        "    ret\n"
        ".globl oracle_leave_next, oracle_leave_taken\n"
        ".section .rodata\n"
        ".balign 8\n"
        "oracle_leave_next: .quad leave_next\n"
        "oracle_leave_taken: .quad leave_taken\n"
        ".text\n");

#else

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
        "    ldmxcsr 132(%eax)\n"
        "    movups 160(%eax), %xmm0\n"
        "    movups 176(%eax), %xmm1\n"
        "    movups 192(%eax), %xmm2\n"
        "    movups 208(%eax), %xmm3\n"
        "    movups 224(%eax), %xmm4\n"
        "    movups 240(%eax), %xmm5\n"
        "    movups 256(%eax), %xmm6\n"
        "    movups 272(%eax), %xmm7\n"
        "    pushl 128(%eax)\n"
        "    popf\n"
        "    mov 8(%eax), %ecx\n"
        "    mov 16(%eax), %edx\n"
        "    mov 24(%eax), %ebx\n"
        "    mov 32(%eax), %esp\n"
        "    mov 40(%eax), %ebp\n"
        "    mov 48(%eax), %esi\n"
        "    mov 56(%eax), %edi\n"
        "    mov 0(%eax), %eax\n"
        "    jmp 0x10000000\n"
        "leave_taken:\n"
        "    mov %eax, kept_eax\n"
        "    mov now, %eax\n"
        "    movl $3, 136(%eax)\n" /* ORACLE_TAKEN */
        "    jmp leave\n"
        "leave_next:\n"
        "    mov %eax, kept_eax\n"
        "    mov now, %eax\n"
        "    movl $2, 136(%eax)\n" /* ORACLE_NEXT */
        "leave:\n"
        "    mov %ecx, 8(%eax)\n"
        "    mov kept_eax, %ecx\n"
        "    mov %ecx, 0(%eax)\n"
        "    mov %edx, 16(%eax)\n"
        "    mov %ebx, 24(%eax)\n"
        "    mov %esp, 32(%eax)\n"
        "    mov %ebp, 40(%eax)\n"
        "    mov %esi, 48(%eax)\n"
        "    mov %edi, 56(%eax)\n"
        "    mov kept_esp, %esp\n"
        "    pushf\n"
        "    popl 128(%eax)\n"
        "    cld\n"
        "    fxsave oracle_fxsave\n"
        "    stmxcsr 132(%eax)\n"
        "    movups %xmm0, 160(%eax)\n"
        "    movups %xmm1, 176(%eax)\n"
        "    movups %xmm2, 192(%eax)\n"
        "    movups %xmm3, 208(%eax)\n"
        "    movups %xmm4, 224(%eax)\n"
        "    movups %xmm5, 240(%eax)\n"
        "    movups %xmm6, 256(%eax)\n"
        "    movups %xmm7, 272(%eax)\n"
        "    popa\n"
        "    ret\n"
        ".globl oracle_leave_next, oracle_leave_taken\n"
        ".section .rodata\n"
        "oracle_leave_next: .long leave_next\n"
        "oracle_leave_taken: .long leave_taken\n"
        ".text\n");

#endif

_Static_assert(offsetof(struct oracle_state, flags) == 128, "as in the code above");
_Static_assert(offsetof(struct oracle_state, xmm) == 160, "as in the code above");

static sigjmp_buf faulted;

static void on_fault(int signal)
{
    (void)signal;
    siglongjmp(faulted, 1);
}

/* jmp *POINTER */
static void put_jump(uint8_t *at, const void *pointer)
{
    uintptr_t address = (uintptr_t)pointer;

#if defined(__x86_64__)
    address -= (uintptr_t)(at + 6); /* relative to the next instruction */
#endif

    at[0] = 0xff;
    at[1] = 0x25;
    memcpy(at + 2, &address, 4);
}

static void run(struct oracle_state *state)
{
    uint8_t *code = (uint8_t *)(uintptr_t)ORACLE_CODE, *data = (uint8_t *)(uintptr_t)ORACLE_DATA;

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
    void *wanted = (void *)(uintptr_t)(address & ~4095u);

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
    put_jump((uint8_t *)(uintptr_t)ORACLE_CODE + ORACLE_TARGET_OFFSET, &oracle_leave_taken);
    for (size_t i = 0; i < (size_t)status.st_size / sizeof *states; i++)
        if (states[i].outcome == ORACLE_RUN)
            run(&states[i]);
    return 0;
}
