/*
 * Counts against counts that know nothing of the machine: what the recorded runs of the test
 * programs executed, taken from the instruction stream itself by looking at bytes and accesses, and
 * sums of events that must agree whatever the machine does.
 */
#include "cmocka_all.h"
#include "fit.h"
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- the stream --------------------------------------------------------------------------------
 */

struct stream_counts {
    uint64_t instructions, retire_twice, branches, conditional, reads, writes;
    uint64_t string_reads, string_writes; /* elements of repeated string instructions */
};

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0x67 || byte == 0xF0 || byte == 0xF2 || byte == 0xF3 ||
           byte == 0x2E || byte == 0x36 || byte == 0x3E || byte == 0x26 || byte == 0x64 ||
           byte == 0x65;
}

static bool is_conditional(const uint8_t *b)
{
    return (b[0] >= 0x70 && b[0] <= 0x7F) || (b[0] == 0x0F && b[1] >= 0x80 && b[1] <= 0x8F) ||
           (b[0] >= 0xE0 && b[0] <= 0xE3);
}

/* Near jumps, calls and returns, and what enters the kernel, which counts as a branch. */
static bool is_branch(const uint8_t *b)
{
    unsigned reg = b[1] >> 3 & 7;
    return is_conditional(b) || b[0] == 0xE8 || b[0] == 0xE9 || b[0] == 0xEB || b[0] == 0xC3 ||
           b[0] == 0xC2 || b[0] == 0xCD || (b[0] == 0xFF && reg >= 2 && reg <= 5) ||
           (b[0] == 0x0F && (b[1] == 0x34 || b[1] == 0x05));
}

/* fldcw, fldenv, frstor, emms, mfence, sfence: documented to add 2 to instr_retired. */
static bool retires_twice(const uint8_t *b)
{
    unsigned reg = b[1] >> 3 & 7;
    bool memory = b[1] < 0xC0;
    return (b[0] == 0xD9 && memory && (reg == 4 || reg == 5)) ||
           (b[0] == 0xDD && memory && reg == 4) || (b[0] == 0x0F && b[1] == 0x77) ||
           (b[0] == 0x0F && b[1] == 0xAE && (b[2] == 0xF0 || b[2] == 0xF8));
}

/* cpuid, sfence and mfence have a store of their own (Weaver). */
static bool stores_nothing(const uint8_t *b)
{
    return b[0] == 0x0F && (b[1] == 0xA2 || (b[1] == 0xAE && (b[2] == 0xF0 || b[2] == 0xF8)));
}

static void add(struct stream_counts *c, const struct trace_instruction *in, const uint8_t *bytes)
{
    bool repeated = false;
    while (is_prefix(*bytes))
        repeated |= *bytes == 0xF2 || *bytes == 0xF3, bytes++;
    repeated &= (*bytes >= 0xA4 && *bytes <= 0xAF && *bytes != 0xA8 && *bytes != 0xA9);
    c->instructions++;
    c->retire_twice += retires_twice(bytes);
    c->branches += is_branch(bytes);
    c->conditional += is_conditional(bytes);
    c->writes += stores_nothing(bytes);
    for (unsigned i = 0; i < in->access_count; i++) {
        uint64_t *single = in->access[i].write ? &c->writes : &c->reads;
        uint64_t *string = in->access[i].write ? &c->string_writes : &c->string_reads;
        *(repeated ? string : single) += repeated ? in->repetitions : 1;
    }
}

static struct stream_counts count_stream(const char *path)
{
    char error[512];
    int status;
    uint8_t bytes[TRACE_INSTRUCTION_BYTES + 1] = {0};
    struct stream_counts counts = {0};
    struct trace_instruction in;
    struct trace_source *source = trace_open_file(path, error, &status);
    if (!source)
        fail_msg("%s", error);
    while (trace_source_next(source, &in) == TRACE_OK) {
        assert_true(trace_source_code_at(source, in.process, in.ip, bytes) >= in.length);
        add(&counts, &in, bytes);
    }
    trace_source_close(source);
    return counts;
}

/* ---- the machine -------------------------------------------------------------------------------
 */

enum { EVENTS_MAX = 8 };

struct machine_counts {
    uint64_t event[EVENTS_MAX];
    struct nb_stats stats, of[2]; /* of the machine, and of each logical processor */
};

static void plan_events(const struct sim_model *model, const char *const *events,
                        struct sim_plan *plan)
{
    struct sim_request requests[EVENTS_MAX];
    struct sim_conflict conflict;
    char error[512];
    size_t n = 0;
    for (; events[n]; n++)
        if (!sim_request_parse(events[n], model->params.family_model << 4 | model->stepping,
                               &requests[n], error))
            fail_msg("%s", error);
    if (!sim_fit(requests, n, NULL, plan, &conflict))
        fail_msg("%s", conflict.text);
}

static void program_and_run(const struct sim_model *model, struct sim_bench *bench,
                            const char *const *events, struct machine_counts *counts)
{
    static struct sim_plan plan;
    char error[512];
    plan_events(model, events, &plan);
    assert_true(sim_program(sim_bench_pmu(bench), &plan, error));
    assert_int_equal(sim_bench_run(bench, &(struct sim_run_options){0}), SIM_STOP_END);
    for (size_t i = 0; events[i]; i++)
        assert_true(sim_read(sim_bench_pmu(bench), &plan.slots[i], &counts->event[i], error));
    counts->stats = *sim_bench_stats(bench);
    for (unsigned lp = 0; lp < sim_bench_lps(bench); lp++)
        counts->of[lp] = *sim_bench_lp_stats(bench, lp);
}

/* COUNT recordings, one on each logical processor. */
static struct machine_counts run_on(const char *model_name, const char *const *paths,
                                    unsigned count, const char *const *events)
{
    struct machine_counts counts = {0};
    struct trace_source *sources[2];
    struct sim_model model;
    char error[512];
    int status;
    if (!sim_model_load(model_name, &model, error))
        fail_msg("%s", error);
    for (unsigned i = 0; i < count; i++)
        if (!(sources[i] = trace_open_file(paths[i], error, &status)))
            fail_msg("%s", error);
    struct sim_bench *bench = sim_bench_new_on(&model, sources, count, count, error);
    assert_non_null(bench);
    program_and_run(&model, bench, events, &counts);
    sim_bench_free(bench);
    for (unsigned i = 0; i < count; i++)
        trace_source_close(sources[i]);
    sim_model_free(&model);
    return counts;
}

static struct machine_counts run(const char *model_name, const char *path,
                                 const char *const *events)
{
    return run_on(model_name, &path, 1, events);
}

/* ---- the comparisons ---------------------------------------------------------------------------
 */

static void agree(const char *run_name, const char *what, uint64_t a, uint64_t b)
{
    if (a != b)
        fail_msg("%s: %s: %" PRIu64 " against %" PRIu64, run_name, what, a, b);
}

/* Elements of repeated string instructions go several to a uop. */
static void agree_between(const char *run_name, const char *what, uint64_t n, uint64_t single,
                          uint64_t string)
{
    if (n < single || n > single + string || (string && n == single))
        fail_msg("%s: %s: %" PRIu64 " against %" PRIu64 " and up to %" PRIu64 " of strings",
                 run_name, what, n, single, string);
}

static void check_stream(const char *name, const char *model, const char *path)
{
    static const char *const events[] = {"instr_retired:NBOGUSNTAG+NBOGUSTAG",
                                         "branch_retired:MMNP+MMNM+MMTP+MMTM",
                                         "retired_branch_type:CONDITIONAL", "memory_loads", NULL};
    static const char *const others[] = {"memory_stores", "branch_retired:MMNM+MMTM",
                                         "mispred_branch_retired:NBOGUS", NULL};
    struct stream_counts s = count_stream(path);
    struct machine_counts m = run(model, path, events), o = run(model, path, others);
    agree(name, "instructions", m.stats.instructions, s.instructions);
    agree(name, "instr_retired", m.event[0], s.instructions + s.retire_twice);
    agree(name, "branch_retired", m.event[1], s.branches);
    agree(name, "conditional branches", m.event[2], s.conditional);
    agree_between(name, "loads", m.event[3], s.reads, s.string_reads);
    agree_between(name, "stores", o.event[0], s.writes, s.string_writes);
    agree(name, "mispredicted branches", o.event[1], o.event[2]);
}

static void check_sums(const char *name, const char *model, const char *path)
{
    static const char *const events[] = {"TC_deliver_mode:DI+BI",
                                         "global_power_events:RUNNING",
                                         "uop_queue_writes:FROM_TC_BUILD+FROM_TC_DELIVER+FROM_ROM",
                                         "uops_retired:NBOGUS",
                                         "uops_retired:BOGUS",
                                         NULL};
    struct machine_counts m = run(model, path, events);
    agree(name, "TC_deliver_mode and clocks", m.event[0], m.event[1]);
    agree(name, "clocks", m.event[1], m.stats.clocks);
    agree(name, "uops written, and retired or flushed", m.event[2],
          m.event[3] + m.event[4] + m.stats.flushed_uops);
}

/* Two programs side by side: the sums hold for each logical processor by itself. */
static void check_pair_uops(const char *name, const char *model, const char *const *paths)
{
    static const char *const events[] = {
        "uop_queue_writes:FROM_TC_BUILD+FROM_TC_DELIVER+FROM_ROM:t0",
        "uop_queue_writes:FROM_TC_BUILD+FROM_TC_DELIVER+FROM_ROM:t1",
        "uops_retired:NBOGUS+BOGUS:t0",
        "uops_retired:NBOGUS+BOGUS:t1",
        "branch_retired:MMNP+MMNM+MMTP+MMTM:t0",
        "branch_retired:MMNP+MMNM+MMTP+MMTM:t1",
        NULL};
    struct machine_counts m = run_on(model, paths, 2, events);
    for (unsigned lp = 0; lp < 2; lp++) {
        struct stream_counts s = count_stream(paths[lp]);
        agree(name, "uops written, and retired or flushed", m.event[lp],
              m.event[2 + lp] + m.of[lp].flushed_uops);
        agree(name, "uops that left the reorder buffer", m.event[2 + lp],
              m.of[lp].uops + m.of[lp].bogus_uops);
        agree(name, "instructions", m.of[lp].instructions, s.instructions);
        agree(name, "branches", m.event[4 + lp], s.branches);
    }
}

static void check_pair_clocks(const char *name, const char *model, const char *const *paths)
{
    static const char *const events[] = {"TC_deliver_mode:DD+DB+DI+BD+BB+BI+ID+IB",
                                         "global_power_events:RUNNING:t0",
                                         "global_power_events:RUNNING:t1", NULL};
    static const char *const mispredicted[] = {
        "branch_retired:MMNM+MMTM:t0", "branch_retired:MMNM+MMTM:t1",
        "mispred_branch_retired:NBOGUS:t0", "mispred_branch_retired:NBOGUS:t1", NULL};
    struct machine_counts m = run_on(model, paths, 2, events),
                          b = run_on(model, paths, 2, mispredicted);
    agree(name, "TC_deliver_mode and clocks", m.event[0], m.stats.clocks);
    for (unsigned lp = 0; lp < 2; lp++) {
        agree(name, "clocks running and halted", m.event[1 + lp] + m.of[lp].halted_clocks,
              m.stats.clocks);
        agree(name, "mispredicted branches", b.event[lp], b.event[2 + lp]);
        agree(name, "mispredicted branches of the machine", b.event[lp],
              b.of[lp].mispredicted_branches);
    }
}

static void check_pair(const char *model, const char *first, const char *second)
{
    char path[2][4096], name[200];
    const char *const paths[2] = {path[0], path[1]};
    snprintf(path[0], sizeof path[0], SAMPLES "/%s.p4t", first);
    snprintf(path[1], sizeof path[1], SAMPLES "/%s.p4t", second);
    snprintf(name, sizeof name, "%s and %s on %s", first, second, model);
    check_pair_uops(name, model, paths);
    check_pair_clocks(name, model, paths);
}

static void every_program(const char *model, const char *const *programs,
                          void (*check)(const char *, const char *, const char *))
{
    for (; *programs; programs++) {
        char path[4096], name[100];
        snprintf(path, sizeof path, SAMPLES "/%s.p4t", *programs);
        snprintf(name, sizeof name, "%s on %s", *programs, model);
        check(name, model, path);
    }
}

static const char *const all[] = {"hash_table", "sort",   "matrix", "pointer_chase", "calculator",
                                  "crash",      "floats", "tls",    "working_sets",  NULL};
static const char *const some[] = {"sort", "crash", "floats", "tls", NULL};

static void counts_are_those_of_the_stream(void **state)
{
    (void)state;
    every_program("northwood", all, check_stream);
    every_program("prescott", some, check_stream);
}

static void sums_that_must_agree_do(void **state)
{
    (void)state;
    every_program("northwood", all, check_sums);
    every_program("prescott", some, check_sums);
}

static void sums_agree_for_two_programs_side_by_side(void **state)
{
    (void)state;
    check_pair("northwood-ht", "sort", "floats");
    check_pair("northwood-ht", "crash", "sort");
    check_pair("prescott-ht", "floats", "tls");
}

static void sums_agree_on_every_model(void **state)
{
    (void)state;
    static const char *const models[] = {"willamette",   "northwood-ht", "xeon",
                                         "gallatin",     "prescott-64",  "prescott-64-ht",
                                         "cedar-mill-ht"};
    static const char *const one[] = {"crash", NULL};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        every_program(models[i], one, check_sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_the_stream),
        cmocka_unit_test(sums_that_must_agree_do),
        cmocka_unit_test(sums_agree_for_two_programs_side_by_side),
        cmocka_unit_test(sums_agree_on_every_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
