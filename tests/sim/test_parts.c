/*
 * Parts of a run on streams made by hand: each instruction retires as it comes, two clocks each.
 */
#include "cmocka_all.h"
#include "parts.h"

#include <stdio.h>
#include <string.h>

enum { BASE = 0x1000, STACK = 0x8000, CODE_BYTES = 4096 };

/* A source of which only the code and the mapped file are asked for. */
struct program {
    struct trace_source source;
    uint8_t code[CODE_BYTES];
    struct trace_object object;
    struct sim_parts *parts;
    struct p4pmu *pmu;
    uint64_t instructions;
    uint32_t known[CODE_BYTES], codes; /* code number + 1 by offset */
    uint64_t stack[2];                 /* of each thread */
    uint64_t slot[2][64];
    unsigned depth[2];
};

static size_t code_at(struct trace_source *source, uint16_t process, uint64_t ip,
                      uint8_t bytes[TRACE_INSTRUCTION_BYTES])
{
    const struct program *p = (const struct program *)source;
    size_t count = TRACE_INSTRUCTION_BYTES;

    (void)process;
    if (ip < BASE || ip >= BASE + CODE_BYTES)
        return 0;
    if (count > BASE + CODE_BYTES - ip)
        count = (size_t)(BASE + CODE_BYTES - ip);
    memcpy(bytes, p->code + (ip - BASE), count);
    return count;
}

static const struct trace_object *objects(const struct trace_source *source, size_t *count)
{
    *count = 1;
    return &((const struct program *)source)->object;
}

static const struct trace_source_ops ops = {.code_at = code_at, .objects = objects};

/* Functions are named by the hexadecimal digits of their address. */
static bool resolve(void *context, const struct trace_object *object, const char *function,
                    uint64_t *address)
{
    (void)context;
    (void)object;
    return sscanf(function, "at_%lx", address) == 1;
}

static void set_up(struct program *p, const char *const *regions, size_t count, bool processes)
{
    static struct sim_region_spec spec[8];
    char error[512];

    memset(p, 0, sizeof *p);
    p->source.ops = &ops;
    p->object = (struct trace_object){.executable = true, .start = BASE, .path = "/bin/program"};
    memset(p->code, 0x90, sizeof p->code);
    p->stack[0] = STACK;
    p->stack[1] = 2 * STACK;
    for (size_t i = 0; i < count; i++)
        assert_true(sim_region_parse(regions[i], &spec[i], error));
    p->parts = sim_parts_new(
        &(struct sim_parts_options){
            .regions = spec, .region_count = count, .processes = processes, .resolve = resolve},
        &p->source);
    p->pmu = p4pmu_new(&(struct p4pmu_config){.model = 2});
    assert_non_null(p->parts);
    assert_non_null(p->pmu);
}

static void tear_down(struct program *p)
{
    sim_parts_free(p->parts);
    p4pmu_free(p->pmu);
}

static void execute(struct program *p, struct trace_instruction *in)
{
    uint32_t *known = &p->known[in->ip - BASE];

    if (!*known)
        *known = ++p->codes;
    in->code = *known - 1;
    if (!in->next_ip)
        in->next_ip = in->ip + in->length;
    in->stack = p->stack[in->thread];
    if (sim_parts_follow(p->parts, in))
        sim_parts_boundary(p->parts, p->pmu, 2 * p->instructions, p->instructions);
    p->instructions++;
}

/* COUNT one-byte instructions of THREAD from IP on. */
static void plain(struct program *p, unsigned thread, uint64_t ip, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        execute(p,
                &(struct trace_instruction){.ip = ip + i, .length = 1, .thread = (uint16_t)thread});
}

static void call(struct program *p, unsigned thread, uint64_t ip)
{
    p->code[ip - BASE] = 0xe8;
    p->stack[thread] -= 4;
    p->slot[thread][p->depth[thread]++] = p->stack[thread];
    execute(p, &(struct trace_instruction){.ip = ip,
                                           .length = 5,
                                           .thread = (uint16_t)thread,
                                           .access_count = 1,
                                           .access = {{p->stack[thread], 4, true}}});
}

static void ret(struct program *p, unsigned thread, uint64_t ip)
{
    uint64_t slot = p->slot[thread][--p->depth[thread]];

    p->code[ip - BASE] = 0xc3;
    p->stack[thread] = slot + 4;
    execute(p, &(struct trace_instruction){.ip = ip,
                                           .length = 1,
                                           .thread = (uint16_t)thread,
                                           .access_count = 1,
                                           .access = {{slot, 4, false}}});
}

static const struct sim_part *part(struct program *p, const char *name)
{
    size_t count, lost;
    const struct sim_part *all;

    sim_parts_settle(p->parts, p->pmu, 2 * p->instructions, p->instructions);
    all = sim_parts_all(p->parts, &count, &lost);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(all[i].name, name))
            return &all[i];
    fail_msg("no part %s", name);
    return NULL;
}

static void has(struct program *p, const char *name, uint64_t entries, uint64_t own, uint64_t all)
{
    const struct sim_part *one = part(p, name);

    assert_int_equal(one->entries, entries);
    assert_int_equal(one->own.instructions, own);
    assert_int_equal(one->all.instructions, all);
    assert_int_equal(one->own.clocks, 2 * own);
    assert_int_equal(one->all.clocks, 2 * all);
}

/* The rest and the regions' own counts are the whole. */
static void adds_up(struct program *p)
{
    size_t count, lost;
    const struct sim_part *all = sim_parts_all(p->parts, &count, &lost);
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += all[i].kind == SIM_PART_PROCESS ? 0 : all[i].own.instructions;
    assert_int_equal(sum, p->instructions);
}

/* ---- tests -------------------------------------------------------------------------------------
 */

static void a_function_lasts_from_its_first_instruction_to_its_return(void **state)
{
    static const char *const regions[] = {"function:at_1100", "function:at_1200"};
    struct program p;

    (void)state;
    set_up(&p, regions, 2, false);
    plain(&p, 0, 0x1000, 3);
    call(&p, 0, 0x1003);
    plain(&p, 0, 0x1100, 4);
    call(&p, 0, 0x1104);
    plain(&p, 0, 0x1200, 10);
    ret(&p, 0, 0x120a);
    plain(&p, 0, 0x1109, 2);
    ret(&p, 0, 0x110b);
    plain(&p, 0, 0x1008, 7);
    has(&p, "function:at_1100", 1, 4 + 1 + 2 + 1, 4 + 1 + 11 + 2 + 1);
    has(&p, "function:at_1200", 1, 11, 11);
    has(&p, "rest", 0, 3 + 1 + 7, 3 + 1 + 7);
    adds_up(&p);
    tear_down(&p);
}

static void recursion_counts_each_entry_and_each_instruction_once(void **state)
{
    static const char *const regions[] = {"function:at_1100"};
    struct program p;

    (void)state;
    set_up(&p, regions, 1, false);
    call(&p, 0, 0x1000);
    for (unsigned i = 0; i < 20; i++) {
        plain(&p, 0, 0x1100, 2);
        call(&p, 0, 0x1102);
    }
    plain(&p, 0, 0x1100, 1);
    for (unsigned i = 0; i < 21; i++)
        ret(&p, 0, 0x1107);
    plain(&p, 0, 0x1005, 5);
    has(&p, "function:at_1100", 21, 20 * 3 + 1 + 21, 20 * 3 + 1 + 21);
    adds_up(&p);
    tear_down(&p);
}

static void a_function_that_is_jumped_to_ends_with_its_callers_return(void **state)
{
    static const char *const regions[] = {"function:at_1100", "function:at_1200"};
    struct program p;

    (void)state;
    set_up(&p, regions, 2, false);
    call(&p, 0, 0x1000);
    p.code[0x100] = 0xeb;
    execute(&p, &(struct trace_instruction){.ip = 0x1100, .length = 2, .next_ip = 0x1200});
    plain(&p, 0, 0x1200, 3);
    ret(&p, 0, 0x1203);
    plain(&p, 0, 0x1005, 5);
    has(&p, "function:at_1100", 1, 1, 5);
    has(&p, "function:at_1200", 1, 4, 4);
    adds_up(&p);
    tear_down(&p);
}

static void a_frame_that_the_stack_pointer_leaves_is_over(void **state)
{
    static const char *const regions[] = {"function:at_1100"};
    struct program p;

    (void)state;
    set_up(&p, regions, 1, false);
    call(&p, 0, 0x1000);
    plain(&p, 0, 0x1100, 3);
    p.stack[0] = STACK; /* what longjmp does with the last of them */
    plain(&p, 0, 0x1103, 1);
    plain(&p, 0, 0x1005, 9);
    has(&p, "function:at_1100", 1, 4, 4);
    adds_up(&p);
    tear_down(&p);
}

static void a_signal_handler_is_over_with_a_return_that_no_call_asked_for(void **state)
{
    static const char *const regions[] = {"function:at_1100", "function:at_1200"};
    struct program p;

    (void)state;
    set_up(&p, regions, 2, false);
    call(&p, 0, 0x1000);
    plain(&p, 0, 0x1100, 2);
    execute(&p, &(struct trace_instruction){
                    .ip = 0x1102, .length = 1, .next_ip = 0x1200, .flags = TRACE_INTERRUPTED});
    p.stack[0] -= 64; /* the kernel's frame, its return address at the bottom */
    p.slot[0][p.depth[0]++] = p.stack[0];
    plain(&p, 0, 0x1200, 4);
    ret(&p, 0, 0x1204);
    p.code[0x300] = 0x90;
    execute(&p, &(struct trace_instruction){.ip = 0x1300,
                                            .length = 2,
                                            .next_ip = 0x1103,
                                            .flags = TRACE_SYSTEM_CALL | TRACE_INTERRUPTED});
    p.stack[0] += 60;
    plain(&p, 0, 0x1103, 2);
    ret(&p, 0, 0x1105);
    plain(&p, 0, 0x1005, 3);
    has(&p, "function:at_1200", 1, 5, 5);
    has(&p, "function:at_1100", 1, 3 + 1 + 3, 3 + 5 + 1 + 3);
    adds_up(&p);
    tear_down(&p);
}

static void each_thread_is_in_its_own_regions(void **state)
{
    static const char *const regions[] = {"function:at_1100"};
    struct program p;

    (void)state;
    set_up(&p, regions, 1, false);
    call(&p, 0, 0x1000);
    plain(&p, 0, 0x1100, 2);
    plain(&p, 1, 0x1005, 10); /* another thread, elsewhere */
    plain(&p, 0, 0x1102, 3);
    call(&p, 1, 0x1000);
    plain(&p, 1, 0x1100, 1);
    ret(&p, 0, 0x1105);
    plain(&p, 0, 0x1005, 4);
    ret(&p, 1, 0x1105);
    plain(&p, 1, 0x1005, 4);
    has(&p, "function:at_1100", 2, 2 + 3 + 1 + 1 + 1, 2 + 3 + 1 + 1 + 1);
    adds_up(&p);
    tear_down(&p);
}

static void addresses_begin_and_end_before_their_instructions(void **state)
{
    static const char *const regions[] = {"address:0x1010-0x1014"};
    struct program p;

    (void)state;
    set_up(&p, regions, 1, false);
    for (unsigned i = 0; i < 3; i++)
        plain(&p, 0, 0x1000, 32);
    plain(&p, 0, 0x1010, 1);
    plain(&p, 0, 0x1010, 1); /* again while it is open: no entry */
    has(&p, "address:0x1010-0x1014", 4, 3 * 4 + 2, 3 * 4 + 2);
    adds_up(&p);
    tear_down(&p);
}

static void put_marker(struct program *p, uint64_t at, const char *text)
{
    uint8_t *code = p->code + (at - BASE);

    code[0] = 0xeb;
    code[1] = (uint8_t)(strlen(text) + 1);
    memcpy(code + 2, text, strlen(text) + 1);
}

static void marker(struct program *p, uint64_t at)
{
    execute(p, &(struct trace_instruction){
                   .ip = at, .length = 2, .next_ip = at + 2 + p->code[at + 1 - BASE]});
}

static void markers_bracket_what_stands_between_their_jumps(void **state)
{
    static const char *const all[] = {"marker"}, *const one[] = {"marker:a longer name"};
    struct program p;

    (void)state;
    for (unsigned every = 0; every < 2; every++) {
        set_up(&p, every ? all : one, 1, false);
        put_marker(&p, 0x1000, "p4sim:Bouter");
        put_marker(&p, 0x1040, "p4sim:Ba longer name");
        put_marker(&p, 0x1080, "p4sim:Ea longer name");
        put_marker(&p, 0x10c0, "p4sim:Eouter");
        put_marker(&p, 0x1200, "p4sin:Bouter"); /* not one */
        for (unsigned i = 0; i < 2; i++) {
            marker(&p, 0x1000);
            plain(&p, 0, 0x1020, 3);
            marker(&p, 0x1040);
            plain(&p, 0, 0x1060, 5);
            marker(&p, 0x1080);
            marker(&p, 0x10c0);
            marker(&p, 0x1200);
            plain(&p, 0, 0x1300, 7);
        }
        has(&p, "marker:a longer name", 2, 2 * 5, 2 * 5);
        if (every)
            has(&p, "marker:outer", 2, 2 * (3 + 2), 2 * (3 + 1 + 5 + 1));
        adds_up(&p);
        tear_down(&p);
    }
}

static void processes_add_up_to_the_whole(void **state)
{
    struct program p;
    uint64_t each[3] = {0};

    (void)state;
    set_up(&p, NULL, 0, true);
    for (unsigned i = 0; i < 30; i++) {
        unsigned process = i * i % 3, count = i % 7 + 1;
        for (unsigned k = 0; k < count; k++)
            execute(&p, &(struct trace_instruction){
                            .ip = 0x1000, .length = 1, .process = (uint16_t)process});
        each[process] += count;
    }
    assert_int_equal(part(&p, "process 0 (program)")->own.instructions, each[0]);
    assert_int_equal(part(&p, "process 1")->own.instructions, each[1]);
    tear_down(&p);
}

static void what_is_no_region_is_refused(void **state)
{
    static const char *const wrong[] = {"",           "function",    "function:",    "address:1",
                                        "address:1-", "address:2-2", "address:-1-2", "marker:",
                                        "markers",    "address:1-2x"};
    struct sim_region_spec spec;
    char error[512];

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(sim_region_parse(wrong[i], &spec, error));
        assert_non_null(strstr(error, "expected function:NAME"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_lasts_from_its_first_instruction_to_its_return),
        cmocka_unit_test(recursion_counts_each_entry_and_each_instruction_once),
        cmocka_unit_test(a_function_that_is_jumped_to_ends_with_its_callers_return),
        cmocka_unit_test(a_frame_that_the_stack_pointer_leaves_is_over),
        cmocka_unit_test(a_signal_handler_is_over_with_a_return_that_no_call_asked_for),
        cmocka_unit_test(each_thread_is_in_its_own_regions),
        cmocka_unit_test(addresses_begin_and_end_before_their_instructions),
        cmocka_unit_test(markers_bracket_what_stands_between_their_jumps),
        cmocka_unit_test(processes_add_up_to_the_whole),
        cmocka_unit_test(what_is_no_region_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
