/* Snippets on the interpreter alone: instruction by instruction what live ones are. */
#define _GNU_SOURCE
#include "lab.h"
#include "p4_cpuid.h"
#include "snippet.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void need_assembler(void)
{
    if (system("as --version >/dev/null 2>&1") == 0)
        return;
    print_message("skipped: as is not installed\n");
    skip();
}

static struct trace_source *opened(const char *text, bool long_mode, bool interpret,
                                   const char *record_to)
{
    const struct snippet_options options = {.text = text,
                                            .name = "test.s",
                                            .long_mode = long_mode,
                                            .cpuid = p4_cpuid,
                                            .record_to = record_to,
                                            .interpret = interpret};
    char error[512] = "";
    int status;
    struct trace_source *source = snippet_open(&options, error, &status);

    if (!source)
        print_error("%s\n", error);
    assert_non_null(source);
    return source;
}

static struct lab_run taken(struct trace_source *source)
{
    struct lab_run run = lab_take(source);

    run.end.note[0] = 0; /* says that it was interpreted */
    return run;
}

static void assert_same_run(const struct lab_run *one, const struct lab_run *other)
{
    lab_assert_equal(one, other);
    assert_int_equal(one->wrong_steps, other->wrong_steps);
    assert_true(one->wrong_hash == other->wrong_hash);
}

static const char rep[] = "        mov $buffer, %edi\n"
                          "        mov $100, %ecx\n"
                          "        mov $0x5a, %al\n"
                          "        rep stosb\n"
                          "        mov $buffer + 99, %esi\n"
                          "        mov $buffer + 199, %edi\n"
                          "        mov $50, %ecx\n"
                          "        std\n"
                          "        rep movsb\n"
                          "        cld\n"
                          "        rep movsb\n" /* none */
                          "        mov $buffer, %edi\n"
                          "        mov $200, %ecx\n"
                          "        repe scasb\n"
                          "        .lcomm buffer, 8192\n";

static const char state_at_start[] = "        pushf\n"
                                     "        sub $64, %esp\n"
                                     "        fnstcw (%esp)\n"
                                     "        stmxcsr 4(%esp)\n"
                                     "        cmpl $0x1f80, 4(%esp)\n"
                                     "        jne 1f\n"
                                     "        cmpw $0x37f, (%esp)\n"
                                     "        jne 1f\n"
                                     "        cmpl $0x202, 64(%esp)\n"
                                     "        jne 1f\n"
                                     "        or %edi, %eax\n"
                                     "        or %esi, %eax\n"
                                     "        or %ebp, %eax\n"
                                     "        or %ebx, %eax\n"
                                     "        or %ecx, %eax\n"
                                     "        or %edx, %eax\n"
                                     "        jne 1f\n"
                                     "        mov 68(%esp), %eax\n"
                                     "        movups %xmm0, (%esp)\n"
                                     "        cmpl $0, (%esp)\n"
                                     "        jne 1f\n"
                                     "        ret\n"
                                     "1:      ud2\n";

static const char branches[] = "        mov $200, %ecx\n"
                               "        mov $1, %eax\n"
                               "1:      imul $1103515245, %eax\n"
                               "        add $12345, %eax\n"
                               "        test $0x10000, %eax\n"
                               "        jz 2f\n"
                               "        push %eax\n"
                               "        call 4f\n"
                               "        pop table(,%ecx,4)\n"
                               "2:      dec %ecx\n"
                               "        jnz 1b\n"
                               "        jmp 5f\n"
                               "4:      rdtsc\n"
                               "        add %eax, table\n"
                               "        ret\n"
                               "5:      lea -300000(%esp), %esp\n"
                               "        push %ebx\n" /* where the kernel would grow the stack */
                               "        pop %ebx\n"
                               "        .lcomm table, 4096\n";

static const char floating[] = "        fld1\n"
                               "        fldpi\n"
                               "        fmulp\n"
                               "        fsqrt\n"
                               "        fstpl buffer\n"
                               "        movsd buffer, %xmm0\n"
                               "        mulsd %xmm0, %xmm0\n"
                               "        cvttsd2si %xmm0, %eax\n"
                               "        movd %eax, %mm0\n"
                               "        paddd %mm0, %mm0\n"
                               "        movq %mm0, buffer\n"
                               "        emms\n"
                               "        movaps aligned, %xmm1\n"
                               "        pxor %xmm1, %xmm1\n"
                               "        movups %xmm1, aligned + 1\n"
                               "        .data\n"
                               "        .balign 16\n"
                               "aligned: .fill 32, 1, 7\n"
                               "buffer: .fill 16\n";

static const char own_code[] = "        .section .text, \"awx\", @progbits\n"
                               "        mov $3, %ecx\n"
                               "1:      nop\n"
                               "        dec %ecx\n"
                               "        jnz 1b\n"
                               "        cpuid\n";

static const char long_mode[] = "        mov $5, %r8\n"
                                "        lea data(%rip), %r9\n"
                                "1:      push %r8\n"
                                "        add %r8, (%r9)\n"
                                "        pop %rax\n"
                                "        dec %r8\n"
                                "        jnz 1b\n"
                                "        call 2f\n"
                                "        xor %eax, %eax\n"
                                "        cpuid\n"
                                "        rdtsc\n"
                                "        jmp 3f\n"
                                "2:      ret\n"
                                "3:      .data\n"
                                "data:   .quad 0\n";

static const struct {
    const char *text;
    bool long_mode;
    int signal; /* it ends with, or 0 */
} cases[] = {
    {"        mov $3, %ecx\n1: push %ecx\n pop %eax\n loop 1b\n nop\n", false, 0},
    {rep, false, 0},
    {state_at_start, false, 0},
    {branches, false, 0},
    {floating, false, 0},
    {own_code, false, 0},
    {long_mode, true, 0},
    {"        nop\n        mov 0, %eax\n", false, SIGSEGV},
    {"        prefetcht0 0\n        push %eax\n        mov %eax, here\nhere: nop\n", false,
     SIGSEGV},
    {"        mov $1, %eax\n        div %ecx\n", false, SIGFPE},
    {"        mov $0x7fffffff, %edx\n        mov $2, %ecx\n        idiv %ecx\n", false, SIGFPE},
    {"        movaps (%esp), %xmm0\n        movaps 1(%esp), %xmm0\n", false, SIGSEGV},
    {"        nop\n        ud2\n", false, SIGILL},
    {"        nop\n        mov $1, %ecx\n        rdpmc\n", false, SIGSEGV},
    {"        jmp 0x1000\n", false, 0}, /* out of the window */
    {"        movaps %xmm0, (%esp)\n        movaps %xmm0, 1(%esp)\n", false, SIGSEGV},
    {"        lea -1(%esp), %edi\n        mov $20000, %ecx\n        rep stosl\n", false, SIGSEGV},
    {"        mov $zeros, %edi\n        mov $20000, %ecx\n        repe scasl\n"
     "        .lcomm zeros, 256\n",
     false, SIGSEGV},
    {"        push $1\n        mov %esp, %edi\n        mov $200000, %ecx\n        repe scasl\n",
     false, 0},
    {"        mov $here, %edi\n        mov $1, %ecx\n        rep stosl\nhere: nop\n", false,
     SIGSEGV},
};

static void a_snippet_runs_as_it_does_live(void **state)
{
    (void)state;
    lab_need_snippets();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lab_run live = taken(opened(cases[i].text, cases[i].long_mode, false, NULL));
        struct lab_run alone = taken(opened(cases[i].text, cases[i].long_mode, true, NULL));
        if (live.count != alone.count)
            print_error("case %zu: %zu and %zu instructions\n", i, live.count, alone.count);
        assert_same_run(&live, &alone);
        lab_free(&live);
        lab_free(&alone);
    }
}

static void it_ends_as_it_should(void **state)
{
    (void)state;
    need_assembler();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lab_run alone = taken(opened(cases[i].text, cases[i].long_mode, true, NULL));
        assert_true(alone.count > 0);
        assert_int_equal(alone.end.how, cases[i].signal ? TRACE_ENDED_SIGNAL : TRACE_ENDED_SNIPPET);
        assert_int_equal(alone.end.status, cases[i].signal);
        lab_free(&alone);
    }
}

static void its_recording_is_the_run(void **state)
{
    char path[LAB_PATH_BYTES];

    (void)state;
    need_assembler();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lab_run alone = taken(opened(cases[i].text, cases[i].long_mode, true, NULL));
        struct lab_run recorded =
            taken(opened(cases[i].text, cases[i].long_mode, true, lab_path("alone.p4t", path)));
        struct lab_run replayed = taken(lab_file(path));
        lab_assert_equal(&alone, &recorded);
        assert_same_run(&alone, &replayed);
        lab_free(&alone);
        lab_free(&recorded);
        lab_free(&replayed);
    }
    lab_remove_folder();
}

static void what_the_interpreter_does_not_know_is_named(void **state)
{
    struct trace_instruction instruction;
    struct trace_source *source;

    (void)state;
    need_assembler();
    source = opened("        nop\n        int $0x80\n        nop\n", false, true, NULL);
    assert_int_equal(trace_source_next(source, &instruction), TRACE_OK);
    assert_int_equal(instruction.flags, 0);
    assert_int_equal(trace_source_next(source, &instruction), TRACE_ERROR);
    assert_int_equal(trace_source_next(source, &instruction), TRACE_ERROR);
    assert_non_null(strstr(source->error, "0x8049001: int 0x80: "));
    assert_non_null(strstr(source->error, "needs the host's processor"));
    assert_int_equal(source->error_status, 3);
    trace_source_close(source);
}

/* Answers as a processor would whose clock stands still. */
static bool answer(void *context, struct trace_register_access *access)
{
    unsigned *accesses = context;

    if (access->ask)
        return access->what != TRACE_RDMSR;
    ++*accesses;
    if (access->what == TRACE_WRMSR)
        assert_true(access->value == 0x100000002 && access->index == 0x360);
    access->value = 0x123456789a;
    return true;
}

static void registers_are_the_simulated_processors(void **state)
{
    struct trace_instruction instruction;
    unsigned accesses = 0, told = 0;
    enum trace_result result;
    struct trace_source *source;

    (void)state;
    need_assembler();
    source = opened("        rdtsc\n"
                    "        cmp $0x3456789a, %eax\n"
                    "        jne 1f\n"
                    "        cmp $0x12, %edx\n"
                    "        jne 1f\n"
                    "        mov $0x360, %ecx\n"
                    "        mov $1, %edx\n"
                    "        mov $2, %eax\n"
                    "        wrmsr\n"
                    "        rdmsr\n" /* refused */
                    "1:      ud2\n",
                    false, true, NULL);
    trace_source_answer(source, answer, &accesses, 1);
    while ((result = trace_source_next(source, &instruction)) == TRACE_OK || result == TRACE_SYNC)
        told += result == TRACE_SYNC;
    assert_int_equal(result, TRACE_END);
    assert_int_equal(source->end.how, TRACE_ENDED_SIGNAL);
    assert_int_equal(source->end.status, SIGSEGV);
    assert_int_equal(accesses, 2);
    assert_int_equal(told, 2);
    trace_source_close(source);
}

static void what_the_processor_stores_the_program_finds(void **state)
{
    const uint32_t stored = 77;
    struct trace_instruction instruction;
    struct trace_source *source;
    uint32_t found = 0;
    uint64_t place;

    (void)state;
    need_assembler();
    source = opened("        nop\n"
                    "        mov number, %eax\n"
                    "        mov number, %eax\n"
                    "        cmp $77, %eax\n"
                    "        je 1f\n"
                    "        ud2\n"
                    "1:      .data\n"
                    "number: .long 5\n",
                    false, true, NULL);
    for (int i = 0; i < 2; i++)
        assert_int_equal(trace_source_next(source, &instruction), TRACE_OK);
    place = instruction.access[0].address;
    assert_int_equal(trace_source_memory_at(source, 0, place, &found, 4), 4);
    assert_int_equal(found, 5);
    assert_int_equal(trace_source_store(source, 0, place, &stored, 4), TRACE_STORED);
    assert_int_equal(trace_source_store(source, 0, 0x1000, &stored, 4), TRACE_NO_PAGE);
    lab_drain(source, TRACE_END);
    assert_int_equal(source->end.how, TRACE_ENDED_SNIPPET);
    trace_source_close(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snippet_runs_as_it_does_live),
        cmocka_unit_test(it_ends_as_it_should),
        cmocka_unit_test(its_recording_is_the_run),
        cmocka_unit_test(what_the_interpreter_does_not_know_is_named),
        cmocka_unit_test(registers_are_the_simulated_processors),
        cmocka_unit_test(what_the_processor_stores_the_program_finds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
