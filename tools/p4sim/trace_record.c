/*
 * p4sim trace record: run a program and write down its run.
 */
#define _GNU_SOURCE
#include "trace_command.h"
#include "regions.h"
#include "sim.h"
#include "stopping.h"

#include <getopt.h>

/* ---- record ------------------------------------------------------------------------------------
 */

enum { OPT_CHECKPOINT = 256, OPT_PORTABLE, OPT_REGION };

struct record_options {
    const char *model, *output;
    uint64_t checkpoint_every;
    bool portable;
    struct regions regions;
    char *const *argv;
};

static int take_options(struct record_options *options, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"output", required_argument, NULL, 'o'},
        {"model", required_argument, NULL, 'm'},
        {"checkpoint-every", required_argument, NULL, OPT_CHECKPOINT},
        {"portable", no_argument, NULL, OPT_PORTABLE},
        {"region", required_argument, NULL, OPT_REGION},
        {NULL, 0, NULL, 0},
    };
    int code, status = EXIT_DONE;
    optind = 1;
    while (!status && (code = getopt_long(argc, argv, "+o:m:", long_options, NULL)) != -1) {
        if (code == 'o')
            options->output = optarg;
        else if (code == 'm')
            options->model = optarg;
        else if (code == OPT_PORTABLE)
            options->portable = true;
        else if (code == OPT_REGION)
            status = regions_take(&options->regions, "trace", optarg);
        else if (code == OPT_CHECKPOINT)
            status = trace_number("checkpoint-every", optarg, 1, &options->checkpoint_every);
        else
            return complain(EXIT_USAGE, "trace", "'p4sim trace --help' shows the options");
    }
    if (status)
        return status;
    if (!options->output)
        return complain(EXIT_USAGE, "trace", "record needs -o FILE");
    if (optind == argc)
        return complain(EXIT_USAGE, "trace", "record needs a program");
    options->argv = argv + optind;
    return EXIT_DONE;
}

static int follow(struct trace_source *source, const char *output)
{
    struct trace_instruction instruction;
    enum trace_result result = TRACE_OK;
    unsigned long long count = 0;
    stopping_source(0, source);
    while (!stopping_signal() && (result = trace_source_next(source, &instruction)) == TRACE_OK)
        count++;
    stopping_source(0, NULL);
    if (result == TRACE_ERROR && !stopping_signal())
        return complain(source->error_status ? source->error_status : EXIT_INPUT, "trace", "%s",
                        source->error);
    if (stopping_signal())
        trace_source_interrupt(source);
    fprintf(stderr, "%s: %llu instructions recorded%s\n", output, count,
            stopping_signal() ? " (PARTIAL: interrupted)" : "");
    if (source->end.note[0])
        fprintf(stderr, "note: %s\n", source->end.note);
    return stopping_signal() ? EXIT_INTERRUPT + stopping_signal() : EXIT_DONE;
}

int trace_record(int argc, char **argv)
{
    struct record_options options = {.model = P4SIM_DEFAULT_MODEL};
    struct sim_model model;
    char error[512] = "";
    int status = take_options(&options, argc, argv);
    if (status)
        return status;
    if (!sim_model_load(options.model, &model, error))
        return complain(EXIT_INPUT, "trace", "%s", error);
    stopping_listen();
    struct trace_region keep[REGIONS_MOST];
    regions_to_keep(&options.regions, keep);
    struct trace_source *source =
        trace_open_live(&(struct trace_live_options){.argv = options.argv,
                                                     .regions = keep,
                                                     .region_count = options.regions.count,
                                                     .cpuid = sim_model_cpuid,
                                                     .cpuid_context = &model,
                                                     .record_to = options.output,
                                                     .model = model.name,
                                                     .checkpoint_every = options.checkpoint_every,
                                                     .portable = options.portable,
                                                     .long_mode = model.params.em64t},
                        error, &status);
    if (source) {
        status = follow(source, options.output);
        trace_source_close(source);
    } else {
        complain(status, "trace", "%s", error);
    }
    sim_model_free(&model);
    return status;
}
