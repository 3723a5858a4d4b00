/*
 * Every parameter at the lowest and the highest value it may have, the others as on Northwood: the
 * machine runs a real program's first instructions to their end, whatever the model file says.
 */
#include "northwood.h"

#include <string.h>

#define INSTRUCTIONS 8000u

static void run(const struct sim_model *model, const char *name, uint32_t value)
{
    char error[512];
    int status;
    struct trace_source *source = trace_open_file(P4SIM_SAMPLE, error, &status);
    if (!source)
        fail_msg("%s", error);
    struct sim_bench *bench = sim_bench_new(model, source, error);
    if (!bench)
        fail_msg("%s = %u: %s", name, value, error);
    enum sim_stop stop =
        sim_bench_run(bench, &(struct sim_run_options){.max_instructions = INSTRUCTIONS});
    if (stop != SIM_STOP_LIMIT)
        fail_msg("%s = %u: %s", name, value, sim_bench_report(bench));
    sim_bench_free(bench);
    trace_source_close(source);
}

static void run_with(enum nb_param param, uint32_t value)
{
    const struct nb_param_info *info = nb_param_info(param);
    struct sim_model model = northwood;
    char why[256];
    memcpy((char *)&model.params + info->offset, &value, sizeof value);
    if (param != NB_PARAM_family_model && nb_params_check(&model.params, why))
        run(&model, info->name, value);
}

static void the_machine_runs_with_every_parameter_at_either_end_of_its_range(void **state)
{
    (void)state;
    for (unsigned p = 0; p < NB_PARAMS; p++) {
        run_with((enum nb_param)p, nb_param_info((enum nb_param)p)->lowest);
        run_with((enum nb_param)p, nb_param_info((enum nb_param)p)->highest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_machine_runs_with_every_parameter_at_either_end_of_its_range),
    };
    return cmocka_run_group_tests(tests, northwood_load, northwood_free);
}
