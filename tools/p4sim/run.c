/*
 * p4sim run: a program on the simulated processor, counters and all, programmed by nobody but the
 * program itself: by WRMSR and RDPMC in line, or through /dev/cpu/N/msr (rdmsr and wrmsr of
 * msr-tools).
 *
 * Standard output and standard error stay the program's own but for the summary at the end. The
 * exit status is the program's, as with time or strace.
 */
#define _GNU_SOURCE
#include "command.h"
#include "sim.h"
#include "stopping.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct run_options {
    const char *model, *record, *recording, *output;
    struct sim_access_rules rules;
    struct sim_kernel_options kernel;
    uint64_t max_instructions;
    bool quiet;
    char **argv;
};

static const char help[] =
    "usage: p4sim run [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "       p4sim run [OPTIONS] --trace FILE\n\n"
    "Runs a program on a simulated Pentium 4. 32-bit programs are simulated; they and their\n"
    "children may use RDTSC, RDPMC, RDMSR, WRMSR and /dev/cpu/N/msr. 64-bit programs (on a model\n"
    "without 64-bit mode), say a shell or rdmsr and wrmsr, run natively and outside the count; "
    "what\n"
    "they start is simulated again, and /dev/cpu/N/msr is the simulated processor's for them "
    "too.\n\n"
    "  -m, --model NAME        processor model or a model file (default " P4SIM_DEFAULT_MODEL ")\n"
    "      --strict            as in a user program of a real system: RDMSR and WRMSR fault, "
    "RDPMC\n"
    "                          does unless --rdpmc is given; the program gets its SIGSEGV\n"
    "      --rdpmc             with --strict: CR4.PCE is set, RDPMC works\n"
    "      --kernel            with the model's kernel at CPL 0 (p4sim explain os-model)\n"
    "      --record FILE       also record the run\n"
    "      --trace FILE        replay a recording, its accesses to the counters included\n"
    "      --max-instructions N  stop after N instructions\n"
    "  -o, --output FILE       write the summary to FILE (default: standard error)\n"
    "  -q, --quiet             no summary\n"
    "      --help              this text\n\n"
    "example: p4sim run -- sh -c 'wrmsr 0x3b8 0x4000204; wrmsr 0x36c 0x39000; ./work; rdmsr "
    "0x30c'\n"
    "exit status: the program's, 128 plus its signal's number; 2 usage, 3 input cannot be used or\n"
    "output not written, 4 the simulated machine stopped, 130 after Ctrl-C.\n";

enum option_code { OPT_STRICT = 256, OPT_RDPMC, OPT_KERNEL, OPT_RECORD, OPT_TRACE, OPT_MAX };

static const struct option long_options[] = {
    {"model", required_argument, NULL, 'm'},
    {"strict", no_argument, NULL, OPT_STRICT},
    {"rdpmc", no_argument, NULL, OPT_RDPMC},
    {"kernel", no_argument, NULL, OPT_KERNEL},
    {"record", required_argument, NULL, OPT_RECORD},
    {"trace", required_argument, NULL, OPT_TRACE},
    {"max-instructions", required_argument, NULL, OPT_MAX},
    {"output", required_argument, NULL, 'o'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

enum { GO_ON = -1 };

/* ---- options -----------------------------------------------------------------------------------
 */

static int take_limit(struct run_options *options, const char *text)
{
    char *end;
    errno = 0;
    options->max_instructions = strtoull(text, &end, 0);
    if (errno || end == text || *end || text[0] == '-' || !options->max_instructions)
        return complain(EXIT_USAGE, "run", "--max-instructions '%s': expected a number from 1 on",
                        text);
    return GO_ON;
}

static int take_option(struct run_options *options, int code, const char *text)
{
    switch (code) {
    case 'm':
        options->model = text;
        return GO_ON;
    case 'o':
        options->output = text;
        return GO_ON;
    case 'q':
        options->quiet = true;
        return GO_ON;
    case OPT_STRICT:
        options->rules.strict = true;
        return GO_ON;
    case OPT_RDPMC:
        options->rules.rdpmc_granted = true;
        return GO_ON;
    case OPT_KERNEL:
        options->kernel.on = true;
        return GO_ON;
    case OPT_RECORD:
        options->record = text;
        return GO_ON;
    case OPT_TRACE:
        options->recording = text;
        return GO_ON;
    case OPT_MAX:
        return take_limit(options, text);
    case 'h':
        fputs(help, stdout);
        return EXIT_DONE;
    default:
        return complain(EXIT_USAGE, "run", "'p4sim run --help' shows the options");
    }
}

static int take_options(struct run_options *options, int argc, char **argv)
{
    int code, status = GO_ON;
    optind = 1;
    while (status == GO_ON && (code = getopt_long(argc, argv, "+m:o:qh", long_options, NULL)) != -1)
        status = take_option(options, code, optarg);
    if (status != GO_ON)
        return status;
    if (options->rules.rdpmc_granted && !options->rules.strict)
        return complain(EXIT_USAGE, "run", "--rdpmc says what --strict leaves: give both or none");
    if ((optind == argc) == !options->recording)
        return complain(EXIT_USAGE, "run", "give a program or --trace FILE%s",
                        options->recording ? ", not both" : "");
    if (overwrites("run", options->output, options->recording))
        return EXIT_USAGE;
    if (options->recording && options->record)
        return complain(EXIT_USAGE, "run",
                        "--record is for programs; a recording is a file already");
    options->argv = argv + optind;
    return GO_ON;
}

/* ---- the summary -------------------------------------------------------------------------------
 */

static void print_accesses(FILE *out, const struct sim_accesses *accesses)
{
    static const char *const names[] = {"RDTSC", "RDPMC", "RDMSR", "WRMSR"};
    const char *between = " accesses: ";
    for (unsigned i = 0; i < 4; i++) {
        if (!accesses->count[i])
            continue;
        fprintf(out, "%s%" PRIu64 " %s", between, accesses->count[i], names[i]);
        between = ", ";
    }
    if (between[0] == ',')
        fputc('\n', out);
    if (accesses->faults)
        fprintf(out, " refused: %" PRIu64 "; the first: %s\n", accesses->faults,
                accesses->first_fault);
}

static void print_end(FILE *out, enum sim_stop stop, const struct trace_end *end)
{
    if (stop == SIM_STOP_END && end->how == TRACE_ENDED_SIGNAL)
        fprintf(out, " the program was ended by signal %d", end->status);
    else if (stop == SIM_STOP_END && end->how == TRACE_ENDED_EXIT)
        fprintf(out, " the program exited with status %d", end->status);
    else
        fputs(" the program did not come to its end", out);
    fprintf(out, "; simulated: %u %s, %u %s; outside the count: %" PRIu64 " %s\n",
            (unsigned)end->processes, end->processes == 1 ? "program image" : "program images",
            (unsigned)end->threads, end->threads == 1 ? "thread" : "threads",
            end->uncounted_processes, end->uncounted_processes == 1 ? "process" : "processes");
    if (end->note[0])
        fprintf(out, " note: %s\n", end->note);
}

/* What the counters hold at the end, those that were used. */
static void print_counters(FILE *out, struct p4pmu *pmu)
{
    p4pmu_privilege(pmu, 0, 0, true);
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        const struct p4pmu_counter_info *counter = p4pmu_counter(i);
        uint64_t cccr = 0, count = p4pmu_count(pmu, i);
        if (p4pmu_rdmsr(pmu, 0, counter->cccr_msr, &cccr) != P4PMU_OK || (!cccr && !count))
            continue;
        fprintf(out, " %s (0x%X, RDPMC %u) = %" PRIu64 " with %s (0x%X) = 0x%08" PRIX64 "\n",
                counter->name, (unsigned)counter->msr, i, count, counter->cccr_name,
                (unsigned)counter->cccr_msr, cccr);
    }
}

static void print_summary(FILE *out, const struct sim_model *model, struct sim_bench *bench,
                          enum sim_stop stop, const struct trace_end *end)
{
    const struct nb_stats *stats = sim_bench_stats(bench);
    fprintf(out,
            "\n p4sim run on model %s: %" PRIu64 " instructions in %" PRIu64
            " clocks, %.6f seconds at %u MHz\n",
            model->name, stats->instructions, stats->clocks,
            (double)stats->clocks / (1e6 * model->params.core_mhz),
            (unsigned)model->params.core_mhz);
    print_end(out, stop, end);
    print_accesses(out, sim_bench_accesses(bench));
    print_counters(out, sim_bench_pmu(bench));
}

/* ---- running -----------------------------------------------------------------------------------
 */

static int judge(enum sim_stop stop, const struct sim_bench *bench,
                 const struct trace_source *source, const struct sim_model *model)
{
    const struct trace_end *end = &source->end;
    if (stopping_signal())
        return EXIT_INTERRUPT + stopping_signal();
    switch (stop) {
    case SIM_STOP_END:
        return end->how == TRACE_ENDED_SIGNAL ? EXIT_INTERRUPT + end->status : end->status;
    case SIM_STOP_SOURCE_ERROR:
        return complain(source->error_status ? source->error_status : EXIT_INPUT, "run", "%s",
                        source->error);
    case SIM_STOP_NOT_ON_MODEL:
        return complain(EXIT_INPUT, "run", "not on model %s: %s", model->name,
                        sim_bench_report(bench));
    case SIM_STOP_MACHINE:
        return complain(EXIT_MACHINE, "run", "the simulated machine stopped: %s",
                        sim_bench_report(bench));
    default:
        return EXIT_DONE;
    }
}

static int run(const struct run_options *options, const struct sim_model *model, FILE *out,
               struct trace_source *source)
{
    char error[512] = "";
    struct sim_bench *bench = sim_bench_new(model, source, error);
    int status;
    if (!bench)
        return complain(EXIT_INPUT, "run", "%s", error);
    sim_bench_access_rules(bench, &options->rules);
    sim_bench_kernel(bench, &options->kernel);
    stopping_listen();
    stopping_source(0, source);
    enum sim_stop stop = sim_bench_run(
        bench, &(struct sim_run_options){.max_instructions = options->max_instructions,
                                         .stop = stopping_flag()});
    stopping_source(0, NULL);
    status = judge(stop, bench, source, model);
    if (stop != SIM_STOP_END)
        trace_source_interrupt(source);
    if (!options->quiet)
        print_summary(out, model, bench, stop, &source->end);
    sim_bench_free(bench);
    return status;
}

static int open_and_run(const struct run_options *options, struct sim_model *model, FILE *out)
{
    char error[512] = "";
    int status;
    struct trace_source *source;
    if (options->recording)
        source = trace_open_file(options->recording, error, &status);
    else
        source = trace_open_live(&(struct trace_live_options){.argv = options->argv,
                                                              .cpuid = sim_model_cpuid,
                                                              .cpuid_context = model,
                                                              .record_to = options->record,
                                                              .long_mode = model->params.em64t,
                                                              .any_program = true},
                                 error, &status);
    if (!source)
        return complain(status, "run", "%s", error);
    status = run(options, model, out, source);
    trace_source_close(source);
    return status;
}

int command_run(int argc, char **argv)
{
    struct run_options options = {.model = P4SIM_DEFAULT_MODEL, .kernel.timer_hz = SIM_TIMER_HZ};
    struct sim_model model;
    char error[512] = "";
    int status = take_options(&options, argc, argv);
    if (status != GO_ON)
        return status;
    if (!sim_model_load(options.model, &model, error))
        return complain(EXIT_INPUT, "run", "%s", error);
    FILE *out = options.output ? fopen(options.output, "w") : stderr;
    if (out) {
        status = open_and_run(&options, &model, out);
        if (!close_output(out))
            status = complain(EXIT_INPUT, "run", "%s: %s; the summary is not written",
                              options.output ? options.output : "standard error", strerror(errno));
    } else {
        status = complain(EXIT_INPUT, "run", "%s: %s", options.output, strerror(errno));
    }
    sim_model_free(&model);
    return status;
}
