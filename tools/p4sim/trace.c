/*
 * p4sim trace: make a recording of a program's run, say what a recording is, verify its checksums.
 */
#define _GNU_SOURCE
#include "command.h"
#include "sim.h"
#include "trace_check.h"

#include <getopt.h>
#include <signal.h>
#include <string.h>

static const char help[] =
    "usage: p4sim trace record -o FILE [-m MODEL] [--] PROGRAM [ARGUMENTS]\n"
    "       p4sim trace check [-m MODEL] [--from N] [--instructions N] "
    "[--] PROGRAM [ARGUMENTS]\n"
    "       p4sim trace info FILE\n"
    "       p4sim trace verify FILE\n\n"
    "record runs a 32-bit program and records it without simulating; the "
    "program sees the CPUID of the\n"
    "model. check lets the processor execute what the interpreter executes too, and "
    "compares registers, flags,\n"
    "x87 and SSE state and memory, from instruction N on; it stops at the first "
    "difference and shows both\n"
    "states. info shows what a recording's header and trailer say. verify "
    "reads all of it and checks every\n"
    "checksum.\n\n"
    "exit status: 0 done, 1 check found a difference, 2 usage, 3 input cannot be used or output "
    "not "
    "written, 130 after Ctrl-C.\n";

static volatile sig_atomic_t interrupted;
/* The program being recorded, which may be waiting for something and must be ended for us to go on.
 */
static struct trace_source *volatile running;

static void on_signal(int number)
{
    interrupted = number;
    if (running)
        trace_source_interrupt(running);
}

/* ---- record ------------------------------------------------------------------------------------
 */

struct record_options {
    const char *model, *output;
    char *const *argv;
};

static int take_options(struct record_options *options, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"output", required_argument, NULL, 'o'},
        {"model", required_argument, NULL, 'm'},
        {NULL, 0, NULL, 0},
    };
    int code;
    optind = 1;
    while ((code = getopt_long(argc, argv, "+o:m:", long_options, NULL)) != -1) {
        if (code == 'o')
            options->output = optarg;
        else if (code == 'm')
            options->model = optarg;
        else
            return complain(EXIT_USAGE, "trace", "'p4sim trace --help' shows the options");
    }
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
    running = source;
    while (!interrupted && (result = trace_source_next(source, &instruction)) == TRACE_OK)
        count++;
    running = NULL;
    if (result == TRACE_ERROR && !interrupted)
        return complain(source->error_status ? source->error_status : EXIT_INPUT, "trace", "%s",
                        source->error);
    if (interrupted)
        trace_source_interrupt(source);
    fprintf(stderr, "%s: %llu instructions recorded%s\n", output, count,
            interrupted ? " (PARTIAL: interrupted)" : "");
    if (source->end.note[0])
        fprintf(stderr, "note: %s\n", source->end.note);
    return interrupted ? EXIT_INTERRUPT + (int)interrupted : EXIT_DONE;
}

static int record(int argc, char **argv)
{
    struct record_options options = {.model = P4SIM_DEFAULT_MODEL};
    struct sim_model model;
    char error[512] = "";
    int status = take_options(&options, argc, argv);
    if (status)
        return status;
    if (!sim_model_load(options.model, &model, error))
        return complain(EXIT_INPUT, "trace", "%s", error);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    struct trace_source *source =
        trace_open_live(&(struct trace_live_options){.argv = options.argv,
                                                     .cpuid = sim_model_cpuid,
                                                     .cpuid_context = &model,
                                                     .record_to = options.output,
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

/* ---- info and verify ---------------------------------------------------------------------------
 */

static void print_info(const char *path, const struct trace_info *info)
{
    static const char *const how[] = {"exit status", "signal", "snippet", "cut"};
    printf("file            %s\n", path);
    printf("program         %s\n", info->program);
    printf("made by         %s, format version %u\n", info->made_by, (unsigned)info->version);
    printf("complete        %s\n", info->complete ? "yes" : "no: it was cut short");
    printf("instructions    %llu\n", (unsigned long long)info->instructions);
    printf("static          %llu\n", (unsigned long long)info->codes);
    printf("bytes           %llu\n", (unsigned long long)info->file_bytes);
    if (!info->complete)
        return;
    printf("ended by        %s %d\n", how[info->end.how], info->end.status);
    printf("processes       %u\n", (unsigned)info->end.processes);
    printf("threads         %u\n", (unsigned)info->end.threads);
    printf("signals handled %llu\n", (unsigned long long)info->end.signals);
    if (info->end.note[0])
        printf("note            %s\n", info->end.note);
}

static int inspect(int argc, char **argv, bool verify)
{
    struct trace_info info;
    char error[512] = "";
    int status = EXIT_INPUT;
    if (argc != 2)
        return complain(EXIT_USAGE, "trace", "%s needs one FILE", argv[0]);
    memset(&info, 0, sizeof info);
    if (!trace_file_info(argv[1], verify, &info, error, &status))
        return complain(status, "trace", "%s", error);
    if (verify)
        printf("%s: all checksums agree, %llu instructions\n", argv[1],
               (unsigned long long)info.instructions);
    else
        print_info(argv[1], &info);
    return EXIT_DONE;
}

int command_trace(int argc, char **argv)
{
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(help, stdout);
        return EXIT_DONE;
    }
    if (argc > 1 && !strcmp(argv[1], "record"))
        return record(argc - 1, argv + 1);
    if (argc > 1 && !strcmp(argv[1], "check"))
        return trace_check(argc - 1, argv + 1);
    if (argc > 1 && (!strcmp(argv[1], "info") || !strcmp(argv[1], "verify")))
        return inspect(argc - 1, argv + 1, argv[1][0] == 'v');
    return complain(EXIT_USAGE, "trace",
                    "expected record, check, info or verify; 'p4sim trace --help' explains");
}
