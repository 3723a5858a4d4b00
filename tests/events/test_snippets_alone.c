/* The programs of all suites, executed by the interpreter alone: instruction by instruction what
 * they are as live programs, as far as the interpreter knows their instructions. */
#include "snippet.h"
#include "suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    COMPARED_AT_MOST = 30000, /* of a program: every turn of its loop is like the others */
};

/* Answers as any model might: no leaf beyond 2 is asked for. */
static void cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
    (void)context;
    (void)subleaf;
    for (uint32_t i = 0; i < 4; i++)
        registers[i] = leaf + i;
}

/* A processor whose clock is always the same. */
static bool answer(void *context, struct trace_register_access *access)
{
    (void)context;
    if (!access->ask && access->what != TRACE_WRMSR)
        access->value = 0x1000;
    return true;
}

static struct trace_source *opened(const struct suite_snippet *snippet, const char *text,
                                   bool interpret)
{
    const struct snippet_options options = {
        .text = text, .name = snippet->name, .cpuid = cpuid, .interpret = interpret};
    char error[512] = "";
    int status;
    struct trace_source *source = snippet_open(&options, error, &status);

    if (!source)
        fail_msg("%s: %s", snippet->name, error);
    trace_source_answer(source, answer, NULL, 1);
    return source;
}

static bool same(const struct trace_instruction *one, const struct trace_instruction *other)
{
    bool equal = one->code == other->code && one->repetitions == other->repetitions &&
                 one->ip == other->ip && one->next_ip == other->next_ip &&
                 one->stack == other->stack && one->flags == other->flags &&
                 one->length == other->length && one->assist == other->assist &&
                 one->precision == other->precision && one->access_count == other->access_count;

    for (unsigned i = 0; equal && i < one->access_count; i++)
        equal = one->access[i].address == other->access[i].address &&
                one->access[i].size == other->access[i].size &&
                one->access[i].write == other->access[i].write;
    return equal;
}

/* True when the interpreter knew all of it. */
static bool compare(const struct suite_snippet *snippet, const char *text)
{
    struct trace_source *live = opened(snippet, text, false), *alone = opened(snippet, text, true);
    struct trace_instruction one, other;
    enum trace_result a = TRACE_OK, b = TRACE_OK;
    bool known;

    for (unsigned i = 0; i < COMPARED_AT_MOST && (a == TRACE_OK || a == TRACE_SYNC); i++) {
        a = trace_source_next(live, &one);
        b = trace_source_next(alone, &other);
        if (b == TRACE_ERROR && a == TRACE_OK)
            break;
        if (a != b || (a == TRACE_OK && !same(&one, &other)))
            fail_msg("%s: instruction %u: 0x%llx and 0x%llx, results %d and %d: %s", snippet->name,
                     i, (unsigned long long)one.ip, (unsigned long long)other.ip, (int)a, (int)b,
                     alone->error);
    }
    known = b != TRACE_ERROR;
    if (!known && !strstr(alone->error, "needs the host's processor"))
        fail_msg("%s: %s", snippet->name, alone->error);
    if (!known)
        print_message("%s: %s\n", snippet->name, alone->error);
    trace_source_close(live);
    trace_source_close(alone);
    return known;
}

static void compare_suite(const char *path)
{
    char error[512], *text;
    struct suite *suite = suite_load(path, error);
    unsigned known = 0;

    if (!suite)
        fail_msg("%s", error);
    for (unsigned i = 0; i < suite->snippets_count; i++) {
        text = suite_program(&suite->snippets[i]);
        assert_non_null(text);
        known += compare(&suite->snippets[i], text);
        free(text);
    }
    print_message("%s: %u of %u programs\n", path, known, suite->snippets_count);
    assert_true(2 * known >= suite->snippets_count); /* the others ask the kernel for memory */
    suite_free(suite);
}

static void programs_run_as_they_do_live(void **state)
{
    char reason[256];

    (void)state;
    if (!trace_live_possible(reason) || system("as --version >/dev/null 2>&1") != 0) {
        print_message("skipped: %s\n", reason[0] ? reason : "no assembler (as) here");
        skip();
    }
    compare_suite(EVENTS "/events.yaml");
    compare_suite(EVENTS "/mechanisms.yaml");
    compare_suite(PUBLISHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_run_as_they_do_live)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
