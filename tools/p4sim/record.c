/*
 * p4sim record: sample events over a run.
 *
 * The command line becomes struct record_options, record_plan.c chooses counters, record_run.c runs
 * and writes. Standard output stays the program's own; what was done is told on standard error.
 */
#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: p4sim record [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "       p4sim record [OPTIONS] --trace FILE | --snippet FILE.s | --asm 'TEXT'\n\n"
    "Runs a program, a recording or a piece of assembly on a simulated Pentium 4 and takes a "
    "sample\n"
    "each time a counter overflows. 'p4sim report' and 'p4sim annotate' read the samples.\n\n"
    "what to sample\n"
    "  -e, --event LIST        events, separated by commas, as for 'p4sim stat'; may be repeated\n"
    "                          (default global_power_events:RUNNING:u: clocks of the program)\n"
    "  -c, --period LIST       a sample every so many events; one for all events or one for each\n"
    "                          (default 10000)\n"
    "      --precise           the first event by PEBS: the processor itself stores a record, "
    "with\n"
    "                          registers; without it an interrupt's service routine samples\n"
    "      --registers         registers in interrupt samples too\n"
    "      --call-chain        callers, by a walk along the frame pointers (interrupt samples)\n"
    "      --last-branches     the last-branch records in interrupt samples\n"
    "      --branches[=WHOSE]  also a record for each taken branch (BTS): all, user or kernel\n"
    "      --buffer N          records a DS buffer holds (default 64)\n"
    "      --threshold N       interrupt when so many are full (default: the buffer's size)\n"
    "      --max N             stop sampling after N samples\n"
    "      --no-exact          leave out the exact counts that 'p4sim annotate' shows beside the\n"
    "                          samples\n\n"
    "what to run\n"
    "      --trace FILE        replay a recording\n"
    "      --snippet FILE      assemble and run a file\n"
    "      --asm TEXT          assemble and run a text\n"
    "      --64                the snippet is 64-bit code\n"
    "      --kernel            with the kernel's side of system calls, page faults and the timer\n"
    "      --max-instructions N  stop after N simulated instructions\n"
    "      --every N --for M   simulate the first M of every N instructions, only execute the "
    "others:\n"
    "                          for long runs\n"
    "  -m, --model NAME        processor model or a model file (default " P4SIM_DEFAULT_MODEL
    ")\n\n"
    "  -o, --output FILE       the samples (default p4sim.samples)\n"
    "      --no-progress       no progress line on the terminal\n"
    "  -q, --quiet             no summary\n"
    "      --help              this text\n\n"
    "example: p4sim record -e 1stL_cache_load_miss_retired:u -c 1000 --precise -- ./program\n"
    "exit status: 0 done, 2 usage or what the hardware could not do, 3 input cannot be used or "
    "output\n"
    "not written, 4 the simulated machine stopped, 130 after Ctrl-C (the samples so far are "
    "kept).\n";

enum option_code {
    OPT_PRECISE = 256,
    OPT_REGISTERS,
    OPT_CALL_CHAIN,
    OPT_LAST_BRANCHES,
    OPT_BRANCHES,
    OPT_BUFFER,
    OPT_THRESHOLD,
    OPT_MAX,
    OPT_NO_EXACT,
    OPT_TRACE,
    OPT_SNIPPET,
    OPT_ASM,
    OPT_MAX_INSTRUCTIONS,
    OPT_EVERY,
    OPT_FOR,
    OPT_64,
    OPT_KERNEL,
    OPT_NO_PROGRESS,
};

static const struct option long_options[] = {
    {"event", required_argument, NULL, 'e'},
    {"period", required_argument, NULL, 'c'},
    {"precise", no_argument, NULL, OPT_PRECISE},
    {"registers", no_argument, NULL, OPT_REGISTERS},
    {"call-chain", no_argument, NULL, OPT_CALL_CHAIN},
    {"last-branches", no_argument, NULL, OPT_LAST_BRANCHES},
    {"branches", optional_argument, NULL, OPT_BRANCHES},
    {"buffer", required_argument, NULL, OPT_BUFFER},
    {"threshold", required_argument, NULL, OPT_THRESHOLD},
    {"max", required_argument, NULL, OPT_MAX},
    {"no-exact", no_argument, NULL, OPT_NO_EXACT},
    {"trace", required_argument, NULL, OPT_TRACE},
    {"snippet", required_argument, NULL, OPT_SNIPPET},
    {"asm", required_argument, NULL, OPT_ASM},
    {"max-instructions", required_argument, NULL, OPT_MAX_INSTRUCTIONS},
    {"64", no_argument, NULL, OPT_64},
    {"kernel", no_argument, NULL, OPT_KERNEL},
    {"every", required_argument, NULL, OPT_EVERY},
    {"for", required_argument, NULL, OPT_FOR},
    {"model", required_argument, NULL, 'm'},
    {"output", required_argument, NULL, 'o'},
    {"no-progress", no_argument, NULL, OPT_NO_PROGRESS},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

enum { GO_ON = -1 };
#define LONGEST_PERIOD (UINT64_C(1) << 39) /* half of what a counter of 40 bits holds */

/* ---- options -----------------------------------------------------------------------------------
 */

static int take_number(const char *option, const char *text, uint64_t lowest, uint64_t highest,
                       uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 0);
    if (errno || end == text || *end || text[0] == '-' || *value < lowest || *value > highest)
        return complain(EXIT_USAGE, "record", "%s '%s': expected a number from %llu to %llu",
                        option, text, (unsigned long long)lowest, (unsigned long long)highest);
    return GO_ON;
}

static int take_small(const char *option, const char *text, uint64_t highest, uint32_t *value)
{
    uint64_t number = 0;
    int status = take_number(option, text, 1, highest, &number);
    *value = (uint32_t)number;
    return status;
}

static int take_events(struct record_options *options, const char *list)
{
    for (const char *at = list, *end; at; at = *end ? end + 1 : NULL) {
        end = strchrnul(at, ',');
        if (end == at || (size_t)(end - at) >= sizeof options->events[0])
            return complain(EXIT_USAGE, "record",
                            "-e '%s': there is an empty event or one too long", list);
        if (options->event_count == SAMPLES_EVENTS)
            return complain(EXIT_USAGE, "record", "more than %d events; there are %d counters",
                            SAMPLES_EVENTS, SAMPLES_EVENTS);
        snprintf(options->events[options->event_count++], sizeof options->events[0], "%.*s",
                 (int)(end - at), at);
    }
    return GO_ON;
}

static int take_periods(struct record_options *options, const char *list)
{
    char text[32];
    int status = GO_ON;
    for (const char *at = list, *end; at && status == GO_ON; at = *end ? end + 1 : NULL) {
        end = strchrnul(at, ',');
        snprintf(text, sizeof text, "%.*s", (int)(end - at), at);
        if (options->periods == SAMPLES_EVENTS)
            return complain(EXIT_USAGE, "record", "more than %d periods", SAMPLES_EVENTS);
        status = take_number("-c", text, 1, LONGEST_PERIOD, &options->period[options->periods++]);
    }
    return status;
}

static int take_source(struct record_options *options, const char **which, const char *text)
{
    const struct source_choice *source = &options->source;
    if (source->recording || source->snippet || source->assembly)
        return complain(EXIT_USAGE, "record", "give one of --trace, --snippet, --asm, not several");
    *which = text;
    return GO_ON;
}

/* WHOSE: the processor's filters, BTS_OFF_OS and BTS_OFF_USR. */
static int take_branches(struct record_options *options, const char *whose)
{
    options->branches = true;
    options->no_kernel = whose && !strcmp(whose, "user");
    options->no_user = whose && !strcmp(whose, "kernel");
    if (!whose || !strcmp(whose, "all") || options->no_kernel || options->no_user)
        return GO_ON;
    return complain(EXIT_USAGE, "record", "--branches=%s: expected all, user or kernel", whose);
}

static int take_flag(struct record_options *options, int code)
{
    bool *flag = code == OPT_PRECISE         ? &options->precise
                 : code == OPT_REGISTERS     ? &options->registers
                 : code == OPT_CALL_CHAIN    ? &options->call_chain
                 : code == OPT_LAST_BRANCHES ? &options->last_branches
                 : code == OPT_NO_EXACT      ? &options->no_exact
                 : code == OPT_64            ? &options->source.long_mode
                 : code == OPT_KERNEL        ? &options->kernel
                 : code == OPT_NO_PROGRESS   ? &options->no_progress
                 : code == 'q'               ? &options->quiet
                                             : NULL;
    if (code == 'h') {
        fputs(help, stdout);
        return EXIT_DONE;
    }
    if (!flag) /* getopt_long has complained */
        return complain(EXIT_USAGE, "record", "'p4sim record --help' shows the options");
    *flag = true;
    return GO_ON;
}

static int take_option(struct record_options *options, int code, const char *text)
{
    switch (code) {
    case 'e':
        return take_events(options, text);
    case 'c':
        return take_periods(options, text);
    case 'm':
        options->model = text;
        return GO_ON;
    case 'o':
        options->output = text;
        return GO_ON;
    case OPT_BRANCHES:
        return take_branches(options, text);
    case OPT_BUFFER:
        return take_small("--buffer", text, 8192, &options->buffer);
    case OPT_THRESHOLD:
        return take_small("--threshold", text, 8192, &options->threshold);
    case OPT_MAX:
        return take_number("--max", text, 1, UINT64_MAX / 2, &options->max_samples);
    case OPT_MAX_INSTRUCTIONS:
        return take_number("--max-instructions", text, 1, UINT64_MAX / 2,
                           &options->max_instructions);
    case OPT_EVERY:
        return take_number("--every", text, 1, UINT64_MAX / 2, &options->every);
    case OPT_FOR:
        return take_number("--for", text, 1, UINT64_MAX / 2, &options->length);
    case OPT_TRACE:
        return take_source(options, &options->source.recording, text);
    case OPT_SNIPPET:
        return take_source(options, &options->source.snippet, text);
    case OPT_ASM:
        return take_source(options, &options->source.assembly, text);
    default:
        return take_flag(options, code);
    }
}

static int check_source(struct record_options *options, int argc, char **argv)
{
    const struct source_choice *source = &options->source;
    bool given = source->recording || source->snippet || source->assembly;
    if (given && optind < argc)
        return complain(EXIT_USAGE, "record",
                        "'%s': give a program or a recording or snippet, not both", argv[optind]);
    if (!given && optind == argc)
        return complain(EXIT_USAGE, "record",
                        "nothing to run: give a program, --trace, --snippet or --asm");
    for (int i = optind; i < argc; i++)
        if (!strcmp(argv[i], "---"))
            return complain(EXIT_USAGE, "record",
                            "'---': one program is sampled, on the first logical processor; 'p4sim "
                            "stat' counts two");
    if (!given)
        options->source.argv = argv + optind;
    return GO_ON;
}

static int check_options(struct record_options *options)
{
    if (!options->event_count)
        snprintf(options->events[options->event_count++], sizeof options->events[0],
                 "global_power_events:RUNNING:u");
    if (!options->periods)
        options->period[options->periods++] = 10000;
    if (options->periods > 1 && options->periods != options->event_count)
        return complain(EXIT_USAGE, "record",
                        "%u periods for %u events: give one for all or one for each",
                        options->periods, options->event_count);
    if (options->call_chain && options->precise && options->event_count == 1)
        return complain(EXIT_USAGE, "record",
                        "--call-chain with --precise: the processor stores a precise record by "
                        "itself, and nobody walks the stack at that moment; the chain can only be "
                        "had by interrupt");
    if (!options->every != !options->length)
        return complain(EXIT_USAGE, "record", "--every and --for go together: --every %s --for %s",
                        options->every ? "N" : "what?", options->length ? "M" : "what?");
    if (options->length > options->every)
        return complain(EXIT_USAGE, "record", "--for %llu is more than --every %llu",
                        (unsigned long long)options->length, (unsigned long long)options->every);
    if (options->threshold > (options->buffer ? options->buffer : 64))
        return complain(EXIT_USAGE, "record", "--threshold %u is beyond the buffer's %u records",
                        (unsigned)options->threshold,
                        options->buffer ? (unsigned)options->buffer : 64u);
    if (overwrites("record", options->output, options->source.recording) ||
        overwrites("record", options->output, options->source.snippet))
        return EXIT_USAGE;
    return GO_ON;
}

static int take_options(struct record_options *options, int argc, char **argv)
{
    int code, status = GO_ON;
    optind = 1;
    while (status == GO_ON &&
           (code = getopt_long(argc, argv, "+e:c:m:o:qh", long_options, NULL)) != -1)
        status = take_option(options, code, optarg);
    if (status == GO_ON)
        status = check_source(options, argc, argv);
    return status == GO_ON ? check_options(options) : status;
}

int command_record(int argc, char **argv)
{
    struct record_options options = {.model = P4SIM_DEFAULT_MODEL, .output = "p4sim.samples"};
    char error[512];
    int status = take_options(&options, argc, argv);
    if (status != GO_ON)
        return status;
    struct record_run *run = calloc(1, sizeof *run);
    if (!run)
        return complain(EXIT_MACHINE, "record", "out of memory");
    run->options = &options;
    if (!sim_model_load(options.model, &run->model, error))
        status = complain(EXIT_USAGE, "record", "%s", error);
    else
        status = record_plan(run);
    if (status <= EXIT_DONE)
        status = record_go(run);
    sim_model_free(&run->model);
    free(run);
    return status;
}
