/*
 * Measuring: a snippet is run twice, first to find where its two markers stand, then on the machine
 * up to the first marker and on to the second. What is counted is what retires between them.
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

void measure_recording(const struct suite_snippet *snippet, const char *folder, char path[4096])
{
    char *text = suite_program(snippet);
    unsigned hash = text ? XXH32(text, strlen(text), 0) : 0;
    snprintf(path, 4096, "%.3800s/%.200s-%08x.p4t", folder, snippet->name, hash);
    free(text);
}

static struct trace_source *open_live(const struct sim_model *model,
                                      const struct suite_snippet *snippet, char error[512],
                                      int *status)
{
    char *text = suite_program(snippet);
    struct sim_model *context = (struct sim_model *)(uintptr_t)model;
    *status = 3;
    snprintf(error, 512, "out of memory");
    struct trace_source *source = text ? trace_open_snippet(text, snippet->name, false,
                                                            sim_model_cpuid, context, error, status)
                                       : NULL;
    free(text);
    return source;
}

static struct trace_source *open_source(const struct measure *measure, char error[512], int *status)
{
    char path[4096] = "";
    if (measure->recordings)
        measure_recording(measure->snippet, measure->recordings, path);
    if (path[0] && access(path, R_OK) == 0)
        return trace_open_file(path, error, status);
    return open_live(measure->model, measure->snippet, error, status);
}

static bool is_marker(struct trace_source *source, const struct trace_instruction *in)
{
    uint8_t bytes[TRACE_INSTRUCTION_BYTES];
    return in->length == 3 && trace_source_code_at(source, in->process, in->ip, bytes) >= 3 &&
           !memcmp(bytes, "\x66\x87\xdb", 3);
}

/* How many instructions stand up to and with each of the last two markers executed. */
static bool find_marks(const struct measure *measure, uint64_t mark[2], char error[512],
                       int *status)
{
    struct trace_source *source = open_source(measure, error, status);
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
        snprintf(error, 512, "snippet %.60s: %.400s", measure->snippet->name,
                 source->error[0] ? source->error
                                  : "the run has fewer than two markers; expected `mark` before "
                                    "and behind what is measured");
    }
    trace_source_close(source);
    return mark[0] != 0;
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

static bool run_to(struct sim_bench *bench, uint64_t instructions, char error[512])
{
    enum sim_stop stop =
        sim_bench_run(bench, &(struct sim_run_options){.max_instructions = instructions});
    if (stop == SIM_STOP_LIMIT || stop == SIM_STOP_END)
        return true;
    snprintf(error, 512, "the run stopped: %.450s", sim_bench_report(bench));
    return false;
}

static bool run_bench(struct measure *measure, struct sim_bench *bench, const uint64_t mark[2],
                      char error[512])
{
    struct sim_plan plan;
    const char *surroundings = measure->snippet->surroundings;
    if (surroundings && !sim_surroundings(sim_bench_machine(bench), surroundings, error))
        return false;
    uint64_t before[MEASURE_EVENTS], after[MEASURE_EVENTS];
    if (!plan_events(measure, &plan, error) || !sim_program(sim_bench_pmu(bench), &plan, error) ||
        !run_to(bench, mark[0], error) || !read_counts(bench, &plan, before, error) ||
        !run_to(bench, mark[1], error) || !read_counts(bench, &plan, after, error))
        return false;
    for (unsigned i = 0; i < measure->events; i++)
        measure->count[i] = (after[i] - before[i]) & ((UINT64_C(1) << 40) - 1);
    measure->instructions = mark[1] - mark[0];
    return true;
}

bool measure_run(struct measure *measure, char error[512], int *status)
{
    uint64_t mark[2];
    if (!find_marks(measure, mark, error, status))
        return false;
    struct trace_source *source = open_source(measure, error, status);
    if (!source)
        return false;
    *status = 3;
    struct sim_bench *bench = sim_bench_new(measure->model, source, error);
    bool good = bench && run_bench(measure, bench, mark, error);
    sim_bench_free(bench);
    trace_source_interrupt(source);
    trace_source_close(source);
    return good;
}

/* ---- recording ---------------------------------------------------------------------------------
 */

bool measure_record(const struct sim_model *model, const struct suite_snippet *snippet,
                    const char *path, char error[512], int *status)
{
    char *text = suite_program(snippet);
    struct sim_model *context = (struct sim_model *)(uintptr_t)model;
    *status = 3;
    snprintf(error, 512, "out of memory");
    bool good = text && trace_record_snippet(text, snippet->name, path, sim_model_cpuid, context,
                                             error, status);
    free(text);
    return good;
}
