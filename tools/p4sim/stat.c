/*
 * p4sim stat: count events over a run.
 *
 * The command line becomes struct stat_options, the events become requests, stat_run.c runs them
 * and stat_table.c or stat_data.c prints. Standard output stays the program's own: the table goes
 * to standard error like that of perf stat, or to -o FILE.
 */
#define _GNU_SOURCE
#include "stat.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const default_events[] = {
    "global_power_events:RUNNING", "instr_retired", "uops_retired", "branch_retired",
    "branch_retired:MMNM+MMTM",
};

static const char help[] =
    "usage: p4sim stat [OPTIONS] [--] PROGRAM [ARGUMENTS] [--- PROGRAM [ARGUMENTS]]\n"
    "       p4sim stat [OPTIONS] --trace FILE | --snippet FILE.s | --asm 'TEXT'\n\n"
    "Runs a program, a recording or a piece of assembly on a simulated Pentium 4 and "
    "counts\n"
    "events with its performance-monitoring counters.\n\n"
    "what to count\n"
    "  -e, --event LIST        events, separated by commas; may be repeated:\n"
    "                            NAME[:SUB+SUB...][:MODIFIER...]   branch_retired:MMTM+MMNM:u\n"
    "                            METRIC[:MODIFIER...]              1stL_cache_load_miss_retired\n"
    "                            CCCR/ESCR@COUNTER                 raw registers, hexadecimal\n"
    "                          modifiers: u (CPL 1-3), k (CPL 0), t=N (clocks with more than N),\n"
    "                          cmpl (N or fewer), e (rising edges), c=N (counter N), tag=N,\n"
    "                          t0, t1 (of one logical processor), a=none|single|both|any (while\n"
    "                          so many are active)\n"
    "      --passes N          run the same instructions up to N times when events do not fit at\n"
    "                          once (default 2; 1 refuses)\n"
    "      --pebs-enable V     write V to IA32_PEBS_ENABLE\n"
    "      --pebs-matrix-vert V  write V to MSR_PEBS_MATRIX_VERT\n\n"
    "where to count (the whole is counted in any case)\n"
    "      --region REGION     a part of the program; may be repeated:\n"
    "                            function:NAME      from entry to exit\n"
    "                            address:FROM-TO    from before FROM until before TO\n"
    "                            marker[:NAME]      between the markers of p4sim.h\n"
    "      --no-regions        without the regions that a recording was made with, which are "
    "counted\n"
    "                          when no --region is given\n"
    "      --only-regions      simulate and count only these; the rest of the program runs at the\n"
    "                          processor's own speed\n"
    "      --per-process       each process by itself, as a per-process driver counts\n\n"
    "what to run\n"
    "      --trace FILE        replay a recording\n"
    "      --snippet FILE      assemble and run a file\n"
    "      --asm TEXT          assemble and run a text\n"
    "                          two of these, or PROGRAM --- PROGRAM: one on each logical\n"
    "                          processor of a model with Hyper-Threading\n"
    "      --logical-processors N  1: run all threads of the program on the first one\n"
    "      --64                assemble as 64-bit code (models with EM64T)\n"
    "      --record FILE       also record the program's run\n"
    "      --from-instruction N  begin with instruction N of the recording, counted from 0\n"
    "      --max-instructions N  stop after N instructions\n"
    "      --kernel            with the kernel's side of system calls, page faults and the timer\n"
    "                          (p4sim explain os-model); the default when an event is of CPL 0 "
    "alone\n"
    "      --no-kernel         without it in any case\n"
    "      --timer-hz N        ticks a simulated second (default 1000, 0 none)\n"
    "      --strict            RDMSR and WRMSR of the program fault, and RDPMC unless --rdpmc is "
    "given\n"
    "      --surroundings FILE  memory types of addresses, and another agent on the bus\n"
    "  -m, --model NAME        processor model or a model file (default " P4SIM_DEFAULT_MODEL ")\n"
    "      --list-models       show the models\n\n"
    "what to print\n"
    "  -o, --output FILE       write the result to FILE (default: the table to standard error, "
    "data to\n"
    "                          standard output)\n"
    "      --json, --csv       data instead of the table\n"
    "      --registers         show the registers used\n"
    "      --stats             show the machine's own statistics\n"
    "      --no-progress       no progress line on the terminal\n"
    "      --help              this text\n\n"
    "exit status: 0 done, 2 usage or events that do not fit, 3 input cannot be used or output not\n"
    "written, 4 the simulated machine stopped, 130 after Ctrl-C (counts so far are printed as "
    "partial).\n";

enum option_code {
    OPT_TRACE = 256,
    OPT_SNIPPET,
    OPT_ASM,
    OPT_64,
    OPT_RECORD,
    OPT_LPS,
    OPT_MAX,
    OPT_FROM,
    OPT_SURROUNDINGS,
    OPT_PASSES,
    OPT_REGION,
    OPT_ONLY_REGIONS,
    OPT_NO_REGIONS,
    OPT_PER_PROCESS,
    OPT_KERNEL,
    OPT_NO_KERNEL,
    OPT_TIMER_HZ,
    OPT_STRICT,
    OPT_RDPMC,
    OPT_PEBS_ENABLE,
    OPT_MATRIX,
    OPT_JSON,
    OPT_CSV,
    OPT_REGISTERS,
    OPT_STATS,
    OPT_NO_PROGRESS,
    OPT_LIST_MODELS,
    OPT_HELP,
};

static const struct option long_options[] = {
    {"event", required_argument, NULL, 'e'},
    {"model", required_argument, NULL, 'm'},
    {"output", required_argument, NULL, 'o'},
    {"trace", required_argument, NULL, OPT_TRACE},
    {"snippet", required_argument, NULL, OPT_SNIPPET},
    {"asm", required_argument, NULL, OPT_ASM},
    {"64", no_argument, NULL, OPT_64},
    {"record", required_argument, NULL, OPT_RECORD},
    {"logical-processors", required_argument, NULL, OPT_LPS},
    {"max-instructions", required_argument, NULL, OPT_MAX},
    {"from-instruction", required_argument, NULL, OPT_FROM},
    {"surroundings", required_argument, NULL, OPT_SURROUNDINGS},
    {"passes", required_argument, NULL, OPT_PASSES},
    {"region", required_argument, NULL, OPT_REGION},
    {"only-regions", no_argument, NULL, OPT_ONLY_REGIONS},
    {"no-regions", no_argument, NULL, OPT_NO_REGIONS},
    {"per-process", no_argument, NULL, OPT_PER_PROCESS},
    {"kernel", no_argument, NULL, OPT_KERNEL},
    {"no-kernel", no_argument, NULL, OPT_NO_KERNEL},
    {"timer-hz", required_argument, NULL, OPT_TIMER_HZ},
    {"strict", no_argument, NULL, OPT_STRICT},
    {"rdpmc", no_argument, NULL, OPT_RDPMC},
    {"pebs-enable", required_argument, NULL, OPT_PEBS_ENABLE},
    {"pebs-matrix-vert", required_argument, NULL, OPT_MATRIX},
    {"json", no_argument, NULL, OPT_JSON},
    {"csv", no_argument, NULL, OPT_CSV},
    {"registers", no_argument, NULL, OPT_REGISTERS},
    {"stats", no_argument, NULL, OPT_STATS},
    {"no-progress", no_argument, NULL, OPT_NO_PROGRESS},
    {"list-models", no_argument, NULL, OPT_LIST_MODELS},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

/* ---- options -----------------------------------------------------------------------------------
 */

enum { GO_ON = -1 }; /* no exit status yet */

static int take_number(const char *option, const char *text, uint64_t lowest, uint64_t highest,
                       uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 0);
    if (errno || end == text || *end || text[0] == '-' || *value < lowest || *value > highest)
        return complain(EXIT_USAGE, "stat", "--%s '%s': expected a number from %llu to %llu",
                        option, text, (unsigned long long)lowest, (unsigned long long)highest);
    return GO_ON;
}

/* Add the events of a comma-separated list. */
static int take_events(struct stat_options *options, const char *list)
{
    for (const char *at = list, *end; at; at = *end ? end + 1 : NULL) {
        end = strchrnul(at, ',');
        if (end == at)
            return complain(EXIT_USAGE, "stat", "-e '%s': there is an empty event", list);
        if (options->event_count == STAT_EVENTS)
            return complain(EXIT_USAGE, "stat", "more than %d events", STAT_EVENTS);
        snprintf(options->events[options->event_count++], sizeof options->events[0], "%.*s",
                 (int)(end - at), at);
    }
    return GO_ON;
}

static int take_replay(struct stat_options *options, int code, const char *text)
{
    uint64_t *value =
        code == OPT_MATRIX ? &options->replay.pebs_matrix_vert : &options->replay.pebs_enable;
    options->replay.given = true;
    return take_number(code == OPT_MATRIX ? "pebs-matrix-vert" : "pebs-enable", text, 0, UINT32_MAX,
                       value);
}

static int list_models(void)
{
    char names[32][32], error[512];
    size_t count = sim_model_names(names, 32);
    for (size_t i = 0; i < count; i++) {
        struct sim_model model;
        if (!sim_model_load(names[i], &model, error))
            return complain(EXIT_INPUT, "stat", "%s", error);
        printf("%-16s%s\n", model.name, model.title);
        sim_model_free(&model);
    }
    return count ? EXIT_DONE
                 : complain(EXIT_INPUT, "stat", "no models folder was found; set P4SIM_CONFIGS");
}

static int take_flag(struct stat_options *options, int code)
{
    switch (code) {
    case OPT_JSON:
        options->format = STAT_JSON;
        return GO_ON;
    case OPT_CSV:
        options->format = STAT_CSV;
        return GO_ON;
    case OPT_REGISTERS:
        options->registers = true;
        return GO_ON;
    case OPT_NO_REGIONS:
        options->no_regions = true;
        return GO_ON;
    case OPT_ONLY_REGIONS:
        options->only_regions = true;
        return GO_ON;
    case OPT_PER_PROCESS:
        options->per_process = true;
        return GO_ON;
    case OPT_KERNEL:
        options->kernel = STAT_KERNEL_ON;
        return GO_ON;
    case OPT_NO_KERNEL:
        options->kernel = STAT_KERNEL_OFF;
        return GO_ON;
    case OPT_STRICT:
        options->access.strict = true;
        return GO_ON;
    case OPT_RDPMC:
        options->access.rdpmc_granted = true;
        return GO_ON;
    case OPT_STATS:
        options->statistics = true;
        return GO_ON;
    case OPT_64:
        options->long_mode = true;
        return GO_ON;
    case OPT_NO_PROGRESS:
        options->no_progress = true;
        return GO_ON;
    case OPT_LIST_MODELS:
        return list_models();
    case OPT_HELP:
        fputs(help, stdout);
        return EXIT_DONE;
    default: /* getopt_long has complained */
        return complain(EXIT_USAGE, "stat", "'p4sim stat --help' shows the options");
    }
}

static int take_option(struct stat_options *options, int code, const char *text)
{
    uint64_t value = 0;
    int status = GO_ON;
    switch (code) {
    case 'e':
        return take_events(options, text);
    case 'm':
        options->model = text;
        return GO_ON;
    case 'o':
        options->output = text;
        return GO_ON;
    case OPT_TRACE:
        return stat_take_input(options, STAT_TRACE, text, NULL);
    case OPT_SNIPPET:
        return stat_take_input(options, STAT_SNIPPET, text, NULL);
    case OPT_ASM:
        return stat_take_input(options, STAT_SNIPPET, NULL, text);
    case OPT_RECORD:
        options->record = text;
        return GO_ON;
    case OPT_SURROUNDINGS:
        options->surroundings = text;
        return GO_ON;
    case OPT_FROM:
        return take_number("from-instruction", text, 0, UINT64_MAX / 2, &options->from_instruction);
    case OPT_MAX:
        return take_number("max-instructions", text, 1, UINT64_MAX / 2, &options->max_instructions);
    case OPT_PASSES:
        status = take_number("passes", text, 1, STAT_EVENTS, &value);
        options->passes = (unsigned)value;
        options->passes_given = true;
        return status;
    case OPT_LPS:
        status = take_number("logical-processors", text, 1, 2, &value);
        options->logical_processors = (unsigned)value;
        return status;
    case OPT_REGION:
        status = regions_take(&options->regions, "stat", text);
        return status ? status : GO_ON;
    case OPT_TIMER_HZ:
        status = take_number("timer-hz", text, 0, 1000000, &value);
        options->timer_hz = (uint32_t)value;
        return status;
    case OPT_PEBS_ENABLE:
    case OPT_MATRIX:
        return take_replay(options, code, text);
    default:
        return take_flag(options, code);
    }
}

static int take_options(struct stat_options *options, int argc, char **argv)
{
    int code, status = GO_ON;
    optind = 1;
    while (status == GO_ON &&
           (code = getopt_long(argc, argv, "+e:m:o:h", long_options, NULL)) != -1)
        status = take_option(options, code == 'h' ? OPT_HELP : code, optarg);
    if (status != GO_ON)
        return status;
    if (options->access.rdpmc_granted && !options->access.strict)
        return complain(EXIT_USAGE, "stat", "--rdpmc says what --strict leaves: give both or none");
    return stat_check_inputs(options, argc, argv);
}

/* ---- preparing ---------------------------------------------------------------------------------
 */

static bool model_is_known(const char *name)
{
    char names[32][32];
    size_t count = sim_model_names(names, 32);
    bool known = strchr(name, '/') || strchr(name, '.') || count == 0;
    for (size_t i = 0; i < count; i++)
        known = known || !strcmp(names[i], name);
    return known;
}

/* Counts of CPL 0 alone need somebody who runs there. */
static void choose_kernel(const struct stat_options *options, struct stat_result *result)
{
    result->kernel.on = options->kernel == STAT_KERNEL_ON;
    result->kernel.timer_hz = options->timer_hz;
    for (size_t i = 0; i < result->row_count && options->kernel == STAT_KERNEL_WHEN_ASKED; i++)
        result->kernel.on |= result->rows[i].request.os && !result->rows[i].request.usr;
}

/* Facts of both logical processors count unless the event says whose. */
static bool choose_processors(struct sim_request *request, const struct stat_result *result)
{
    request->hyper_threading = result->model.hyper_threading;
    if ((request->lps & 2 || request->active_given) && !request->raw && !request->hyper_threading) {
        complain(EXIT_USAGE, "stat",
                 "'%s': model %s has one logical processor; t1 and a= need a model with "
                 "Hyper-Threading",
                 request->text, result->model.name);
        return false;
    }
    if (!request->lps && !request->raw && result->lps > 1)
        request->lps = 3;
    return true;
}

static int prepare(const struct stat_options *options, struct stat_result *result)
{
    char error[512];
    size_t defaults = sizeof default_events / sizeof default_events[0];
    size_t count = options->event_count ? options->event_count : defaults;
    if (!sim_model_load(options->model, &result->model, error))
        return complain(model_is_known(options->model) ? EXIT_INPUT : EXIT_USAGE, "stat", "%s",
                        error);
    if (options->long_mode && !result->model.params.em64t)
        return complain(EXIT_USAGE, "stat",
                        "--64: model %s has no EM64T; choose prescott-64 or cedar-mill",
                        result->model.name);
    if (!(result->lps = stat_logical_processors(options, &result->model)))
        return EXIT_USAGE;
    unsigned signature = result->model.params.family_model << 4 | result->model.stepping;
    for (size_t i = 0; i < count; i++) {
        struct stat_row *row = &result->rows[result->row_count++];
        const char *event = options->event_count ? options->events[i] : default_events[i];
        if (!sim_request_parse(event, signature, &row->request, error))
            return complain(EXIT_USAGE, "stat", "%s", error);
        if (!choose_processors(&row->request, result))
            return EXIT_USAGE;
    }
    result->source_count = options->input_count;
    for (unsigned i = 0; i < options->input_count; i++)
        result->source[i] = options->input[i].source;
    choose_kernel(options, result);
    stat_name_inputs(options, result->what, sizeof result->what);
    return stat_plan(options, result);
}

/* ---- printing ----------------------------------------------------------------------------------
 */

static bool print_result(FILE *out, const struct stat_options *options,
                         const struct stat_result *result)
{
    if (options->format == STAT_JSON)
        return stat_print_json(out, options, result);
    if (options->format == STAT_CSV)
        stat_print_csv(out, options, result);
    else
        stat_print_table(out, options, result);
    return true;
}

/* Opened before the run, so that a name that cannot be written costs no hour of simulation. */
static FILE *open_output(const struct stat_options *options)
{
    if (!options->output)
        return options->format == STAT_TABLE ? stderr : stdout;
    return fopen(options->output, "w");
}

/* A function that no file has is a mistake of the command line, known only now. A recording's own
 * regions are none: of a part the function may never have been executed. */
static int name_missing(const struct stat_options *options, const struct stat_result *result)
{
    int status = result->status;
    for (size_t i = 0; i < result->part_count && result->stop == SIM_STOP_END; i++)
        if (!result->parts[i].part.found && !options->regions_recorded)
            status = complain(EXIT_INPUT, "stat", "region '%s': %s", result->parts[i].part.name,
                              stat_part_missing(&result->parts[i]));
    return status;
}

static int report(FILE *out, const struct stat_options *options, const struct stat_result *result)
{
    bool good = print_result(out, options, result);
    bool elsewhere = out != stderr;
    good = close_output(out) && good;
    if (!good)
        return complain(EXIT_INPUT, "stat", "%s: %s; the result is not written",
                        options->output ? options->output : "standard output", strerror(errno));
    if (elsewhere && result->trouble[0] && result->stop != SIM_STOP_LIMIT)
        complain(0, "stat", "%s", result->trouble);
    return name_missing(options, result);
}

int command_stat(int argc, char **argv)
{
    struct stat_options options = {
        .model = P4SIM_DEFAULT_MODEL, .passes = 2, .timer_hz = SIM_TIMER_HZ};
    int status = take_options(&options, argc, argv);
    if (status != GO_ON)
        return status;
    struct stat_result *result = calloc(1, sizeof *result);
    if (!result)
        return complain(EXIT_MACHINE, "stat", "out of memory");
    FILE *out = NULL;
    status = prepare(&options, result);
    if (!status && !(out = open_output(&options)))
        status = complain(EXIT_INPUT, "stat", "%s: %s", options.output, strerror(errno));
    if (!status)
        status = stat_run(&options, result);
    if (!status)
        status = report(out, &options, result);
    else if (out)
        close_output(out);
    sim_model_free(&result->model);
    free(result->parts);
    free(result);
    return status;
}
