#include "pairs.h"

#include "fit.h"
#include "measure.h"
#include "sim.h"

static bool open_two(const struct suite *suite, const char *folder, const char *const names[2],
                     struct trace_source *sources[2], char error[512])
{
    for (unsigned i = 0; i < 2; i++) {
        char path[4096];
        int status;
        measure_recording(suite_snippet(suite, names[i]), MEASURE_FIRST, folder, path);
        if (!(sources[i] = trace_open_file(path, error, &status)))
            return false;
    }
    return true;
}

static bool run_counted(const struct sim_model *model, struct sim_bench *bench, const char *event,
                        uint64_t *count, char error[512])
{
    static struct sim_plan plan;
    struct sim_request request;
    struct sim_conflict conflict;
    return sim_request_parse(event, model->params.family_model << 4 | model->stepping, &request,
                             error) &&
           sim_fit(&request, 1, NULL, &plan, &conflict) &&
           sim_program(sim_bench_pmu(bench), &plan, error) &&
           sim_bench_run(bench, &(struct sim_run_options){0}) == SIM_STOP_END &&
           sim_read(sim_bench_pmu(bench), &plan.slots[0], count, error);
}

bool pair_count(const struct suite *suite, const char *folder, const char *first,
                const char *second, const char *event, uint64_t *count, char error[512])
{
    const char *const names[2] = {first, second};
    struct trace_source *sources[2] = {NULL, NULL};
    struct sim_bench *bench = NULL;
    struct sim_model model;
    if (!sim_model_load("northwood-ht", &model, error))
        return false;
    bool good = open_two(suite, folder, names, sources, error) &&
                (bench = sim_bench_new_on(&model, sources, 2, 2, error)) &&
                run_counted(&model, bench, event, count, error);
    if (bench)
        sim_bench_free(bench);
    for (unsigned i = 0; i < 2; i++)
        if (sources[i])
            trace_source_close(sources[i]);
    sim_model_free(&model);
    return good;
}
