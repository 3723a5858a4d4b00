/*
 * Regions of known length: functions in assembly whose instructions can be counted by hand, called
 * directly, by a jump, from themselves, left by longjmp; marked loops, nested and repeated.
 *
 *   spin(n)   2n + 2 instructions
 *   tail(n)   1, then jumps to spin
 *   deep(n)   entered n times, 7(n - 1) + 4 instructions in all
 *   range(n)  from range_from until before range_to: 2n instructions
 */
#include <p4sim.h>

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

void spin(unsigned rounds);
void tail(unsigned rounds);
void deep(unsigned levels);
void range(unsigned rounds);

__asm__(".text\n"
        ".globl spin, tail, deep, range, range_from, range_to\n"
        ".type spin, @function\n.type tail, @function\n.type deep, @function\n"
        ".type range, @function\n"
        "spin: movl 4(%esp), %ecx\n"
        "1: decl %ecx\n"
        "jnz 1b\n"
        "ret\n"
        ".size spin, . - spin\n"
        "tail: jmp spin\n"
        ".size tail, . - tail\n"
        "deep: movl 4(%esp), %eax\n"
        "decl %eax\n"
        "jz 1f\n"
        "pushl %eax\n"
        "call deep\n"
        "popl %eax\n"
        "1: ret\n"
        ".size deep, . - deep\n"
        "range: movl 4(%esp), %ecx\n"
        "range_from: decl %ecx\n"
        "jnz range_from\n"
        "range_to: ret\n"
        ".size range, . - range\n");

static jmp_buf back;

__attribute__((noinline)) static void leaves_early(void)
{
    spin(10);
    longjmp(back, 1);
}

static void on_signal(int number)
{
    (void)number;
    spin(20);
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        P4SIM_BEGIN("outer");
        spin(100);
        P4SIM_BEGIN("inner loop");
        spin(50);
        P4SIM_END("inner loop");
        P4SIM_END("outer");
    }
    tail(30);
    deep(5);
    range(40);
    range(60);
    if (!setjmp(back))
        leaves_early();
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    puts("done");
    return 0;
}
