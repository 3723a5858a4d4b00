/*
 * Measuring: a snippet is run twice, first to find where its two markers stand, then on the machine
 * up to the first marker and on to the second. What is counted is what retires between them. A
 * snippet beside it has reached its loop before the first marker and stays in it until the second.
 *
 * The program comes from a recorded run where there is one, so that everything works where no
 * program can be traced; else it is assembled and run.
 */
#define _POSIX_C_SOURCE 200809L
#include "measure.h"
#include "fit.h"
#include "surroundings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static char *program_of(const struct suite_snippet *snippet, enum measure_role role)
{
    return role == MEASURE_BESIDE ? suite_companion(snippet) : suite_program(snippet);
}

void measure_recording(const struct suite_snippet *snippet, enum measure_role role,
                       const char *folder, char path[4096])
{
    char *text = program_of(snippet, role);
    unsigned hash = text ? XXH32(text, strlen(text), 0) : 0;
    snprintf(path, 4096, "%.3800s/%.200s%s-%08x.p4t", folder, snippet->name,
             role == MEASURE_BESIDE ? "-beside" : "", hash);
    free(text);
}

static struct trace_source *open_live(const struct sim_model *model,
                                      const struct suite_snippet *snippet, enum measure_role role,
                                      char error[512], int *status)
{
    char *text = program_of(snippet, role);
    struct sim_model *context = (struct sim_model *)(uintptr_t)model;
    *status = 3;
    snprintf(error, 512, "out of memory");
    struct trace_source *source = text ? trace_open_snippet(text, snippet->name, false,
                                                            sim_model_cpuid, context, error, status)
                                       : NULL;
    free(text);
    return source;
}

static struct trace_source *open_source(const struct measure *measure, enum measure_role role,
                                        char error[512], int *status)
{
    const struct suite_snippet *snippet =
        role == MEASURE_BESIDE ? measure->beside : measure->snippet;
    char path[4096] = "";
    if (measure->recordings)
        measure_recording(snippet, role, measure->recordings, path);
    if (path[0] && access(path, R_OK) == 0)
        return trace_open_file(path, error, status);
    return open_live(measure->model, snippet, role, error, status);
}

static bool is_marker(struct trace_source *source, const struct trace_instruction *in)
{
    uint8_t bytes[TRACE_INSTRUCTION_BYTES];
    return in->length == 3 && trace_source_code_at(source, in->process, in->ip, bytes) >= 3 &&
           !memcmp(bytes, "\x66\x87\xdb", 3);
}

static void too_few_marks(const struct suite_snippet *snippet, const struct trace_source *source,
                          char error[512])
{
    snprintf(error, 512, "snippet %.60s: %.400s", snippet->name,
             source->error[0] ? source->error
                              : "the run has fewer than two markers; expected `mark` before "
                                "and behind what is measured");
}

/* How many instructions stand up to and with each of the last two markers executed. */
static bool find_marks(const struct measure *measure, uint64_t mark[2], char error[512],
                       int *status)
{
    struct trace_source *source = open_source(measure, MEASURE_FIRST, error, status);
    struct trace_instruction in;
    if (!source)
        return false;
    mark[0] = mark[1] = 0;
    for (uint64_t n = 1; trace_source_next(source, &in) == TRACE_OK; n++) {
        if (!is_marker(source, &in))
            continue;
        mark[0] = mark[1];
        mark[1] = n;
    }
    if (!mark[0]) {
        *status = 3;
        too_few_marks(measure->snippet, source, error);
    }
    trace_source_close(source);
    return mark[0] != 0;
}

/* How many instructions the one beside executes before its loop. */
static bool find_loop(const struct measure *measure, uint64_t *begins, char error[512], int *status)
{
    struct trace_source *source = open_source(measure, MEASURE_BESIDE, error, status);
    struct trace_instruction in;
    bool found = false;
    if (!source)
        return false;
    for (*begins = 1; !found && trace_source_next(source, &in) == TRACE_OK; ++*begins)
        found = is_marker(source, &in);
    if (!found) {
        *status = 3;
        too_few_marks(measure->beside, source, error);
    }
    trace_source_interrupt(source);
    trace_source_close(source);
    return found;
}

static bool plan_events(const struct measure *measure, struct sim_plan *plan, char error[512])
{
    struct sim_request requests[MEASURE_EVENTS];
    struct sim_conflict conflict;
    const struct sim_model *model = measure->model;
    unsigned signature = model->params.family_model << 4 | model->stepping;
    for (unsigned i = 0; i < measure->events; i++) {
        if (!sim_request_parse(measure->event[i], signature, &requests[i], error))
            return false;
        requests[i].hyper_threading = model->hyper_threading;
        if (measure->period && i == 0)
            requests[i].counter = MEASURE_PEBS_COUNTER;
        bool only_tags = measure->event[i] == measure->with;
        const char *why = only_tags ? NULL : sim_request_cannot_count(&requests[i]);
        if (why) {
            snprintf(error, 512, "%.100s cannot be counted: %.300s", measure->event[i], why);
            return false;
        }
    }
    if (sim_fit(requests, measure->events, NULL, plan, &conflict))
        return true;
    snprintf(error, 512, "%.500s", conflict.text);
    return false;
}

static bool read_counts(struct sim_bench *bench, const struct sim_plan *plan,
                        uint64_t count[MEASURE_EVENTS], char error[512])
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->slots[i].counter != P4PMU_NONE &&
            !sim_read(sim_bench_pmu(bench), &plan->slots[i], &count[i], error))
            return false;
    return true;
}

bool measure_run_to(struct sim_bench *bench, uint64_t instructions, char error[512])
{
    for (uint64_t done; (done = sim_bench_lp_stats(bench, 0)->instructions) < instructions;) {
        uint64_t all = sim_bench_stats(bench)->instructions;
        enum sim_stop stop = sim_bench_run(
            bench, &(struct sim_run_options){.max_instructions = all + instructions - done});
        if (stop == SIM_STOP_END)
            break;
        if (stop != SIM_STOP_LIMIT) {
            snprintf(error, 512, "the run stopped: %.450s", sim_bench_report(bench));
            return false;
        }
    }
    return true;
}

/* A run that is being measured. */
struct run {
    struct trace_source *source[2];
    unsigned sources;
    struct sim_bench *bench;
    uint64_t mark[2];      /* of the first program: instructions up to them */
    uint64_t beside_loops; /* of the one beside it: instructions before its loop */
    uint64_t halted;       /* ... clocks it was halted before the first marker */
};

static bool beside_began(const struct measure *measure, struct run *run, char error[512])
{
    if (run->sources < 2)
        return true;
    const struct nb_stats *stats = sim_bench_lp_stats(run->bench, 1);
    run->halted = stats->halted_clocks;
    if (stats->instructions >= run->beside_loops)
        return true;
    snprintf(error, 512,
             "snippet %.60s reaches its loop after %.60s does; expected more 'warm' turns of the "
             "latter",
             measure->beside->name, measure->snippet->name);
    return false;
}

static bool beside_stayed(const struct measure *measure, const struct run *run, char error[512])
{
    if (run->sources < 2 || sim_bench_lp_stats(run->bench, 1)->halted_clocks == run->halted)
        return true;
    snprintf(error, 512, "snippet %.60s ends before %.60s does; expected more 'loops' of it",
             measure->beside->name, measure->snippet->name);
    return false;
}

/* What is counted between the markers. */
static bool count_between(struct measure *measure, struct run *run, const struct sim_plan *plan,
                          char error[512])
{
    uint64_t before[MEASURE_EVENTS], after[MEASURE_EVENTS];
    if (!read_counts(run->bench, plan, before, error) ||
        !measure_run_to(run->bench, run->mark[1], error) ||
        !read_counts(run->bench, plan, after, error))
        return false;
    for (unsigned i = 0; i < measure->events; i++)
        measure->count[i] = (after[i] - before[i]) & ((UINT64_C(1) << 40) - 1);
    return true;
}

static bool run_bench(struct measure *measure, struct run *run, char error[512])
{
    struct sim_plan plan;
    struct sim_bench *bench = run->bench;
    const char *surroundings = measure->snippet->surroundings;
    if (surroundings && !sim_surroundings(sim_bench_machine(bench), surroundings, error))
        return false;
    if (measure->period) /* the driver that empties the buffer, without a kernel besides */
        sim_bench_kernel(bench, &(struct sim_kernel_options){.on = false});
    if (!plan_events(measure, &plan, error) || !sim_program(sim_bench_pmu(bench), &plan, error) ||
        !measure_run_to(bench, run->mark[0], error) || !beside_began(measure, run, error))
        return false;
    bool good = measure->period ? measure_take_records(measure, bench, &plan, error)
                                : count_between(measure, run, &plan, error);
    measure->instructions = run->mark[1] - run->mark[0];
    return good && beside_stayed(measure, run, error);
}

static bool open_sources(const struct measure *measure, struct run *run, char error[512],
                         int *status)
{
    for (unsigned i = 0; i < (measure->beside ? 2u : 1u); i++) {
        enum measure_role role = i ? MEASURE_BESIDE : MEASURE_FIRST;
        if (!(run->source[i] = open_source(measure, role, error, status)))
            return false;
        run->sources++;
    }
    return true;
}

bool measure_run(struct measure *measure, char error[512], int *status)
{
    struct run run = {.sources = 0};
    if (!find_marks(measure, run.mark, error, status) ||
        (measure->beside && !find_loop(measure, &run.beside_loops, error, status)))
        return false;
    bool good = open_sources(measure, &run, error, status);
    if (good) {
        *status = 3;
        run.bench = sim_bench_new_on(measure->model, run.source, run.sources, run.sources, error);
        good = run.bench && run_bench(measure, &run, error);
    }
    sim_bench_free(run.bench);
    for (unsigned i = 0; i < run.sources; i++) {
        trace_source_interrupt(run.source[i]);
        trace_source_close(run.source[i]);
    }
    return good;
}

/* ---- recording ---------------------------------------------------------------------------------
 */

bool measure_record(const struct sim_model *model, const struct suite_snippet *snippet,
                    enum measure_role role, const char *path, char error[512], int *status)
{
    char *text = program_of(snippet, role);
    struct sim_model *context = (struct sim_model *)(uintptr_t)model;
    *status = 3;
    snprintf(error, 512, "out of memory");
    bool good = text && trace_record_snippet(text, snippet->name, path, sim_model_cpuid, context,
                                             error, status);
    free(text);
    return good;
}
