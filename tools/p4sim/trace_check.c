/*
 * p4sim trace check: a program's instructions executed by the interpreter and by the processor,
 * every register and byte compared. The first difference ends the run and is shown.
 */
#define _GNU_SOURCE
#include "trace_check.h"

#include "command.h"
#include "sim.h"
#include "stopping.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

struct check_options {
    const char *model;
    uint64_t from, instructions; /* 0: to the end */
    char *const *argv;
};

static bool take_count(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 0);
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno;
}

static int take_options(struct check_options *options, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"model", required_argument, NULL, 'm'},
        {"from", required_argument, NULL, 'f'},
        {"instructions", required_argument, NULL, 'n'},
        {NULL, 0, NULL, 0},
    };
    int code;
    optind = 1;
    while ((code = getopt_long(argc, argv, "+m:f:n:", long_options, NULL)) != -1) {
        if (code == 'm')
            options->model = optarg;
        else if (code == '?')
            return complain(EXIT_USAGE, "trace", "'p4sim trace --help' shows the options");
        else if (!take_count(optarg, code == 'f' ? &options->from : &options->instructions))
            return complain(EXIT_USAGE, "trace", "%s: expected a number of instructions", optarg);
    }
    if (optind == argc)
        return complain(EXIT_USAGE, "trace", "check needs a program");
    options->argv = argv + optind;
    return EXIT_DONE;
}

static int judge(const struct trace_source *source, enum trace_result result)
{
    if (result == TRACE_ERROR && !stopping_signal()) {
        complain(source->error_status ? source->error_status : EXIT_INPUT, "trace", "%s",
                 source->error);
        if (source->report)
            fputs(source->report, stderr);
        return source->error_status ? source->error_status : EXIT_INPUT;
    }
    fprintf(stderr, "check: %llu instructions executed by interpreter and processor agree%s\n",
            (unsigned long long)source->end.compared,
            stopping_signal() ? " (PARTIAL: interrupted)" : "");
    return stopping_signal() ? EXIT_INTERRUPT + stopping_signal() : EXIT_DONE;
}

static int follow(struct trace_source *source, const struct check_options *options)
{
    struct trace_instruction instruction;
    enum trace_result result = TRACE_OK;
    uint64_t count = 0, last = options->from + options->instructions;
    stopping_source(0, source);
    while (!stopping_signal() && (!options->instructions || count < last)) {
        result = trace_source_next(source, &instruction);
        if (result != TRACE_OK && result != TRACE_SYNC)
            break;
        count += result == TRACE_OK;
    }
    stopping_source(0, NULL);
    if (options->from && count < options->from && result == TRACE_END)
        return complain(EXIT_INPUT, "trace",
                        "the program ended after %llu instructions, before %llu",
                        (unsigned long long)count, (unsigned long long)options->from);
    return judge(source, result);
}

int trace_check(int argc, char **argv)
{
    struct check_options options = {.model = P4SIM_DEFAULT_MODEL};
    struct sim_model model;
    char error[512] = "";
    int status = take_options(&options, argc, argv);
    if (status)
        return status;
    if (!sim_model_load(options.model, &model, error))
        return complain(EXIT_INPUT, "trace", "%s", error);
    stopping_listen();
    struct trace_source *source =
        trace_open_live(&(struct trace_live_options){.argv = options.argv,
                                                     .cpuid = sim_model_cpuid,
                                                     .cpuid_context = &model,
                                                     .check = true,
                                                     .check_from = options.from,
                                                     .long_mode = model.params.em64t},
                        error, &status);
    if (source) {
        status = follow(source, &options);
        trace_source_close(source);
    } else {
        complain(status, "trace", "%s", error);
    }
    sim_model_free(&model);
    return status;
}
