/*
 * What p4sim stat runs, as the command line names it: a program, a recording or a snippet, or two
 * of them, one on each logical processor.
 */
#include "stat.h"

#include <getopt.h>
#include <string.h>

enum { GO_ON = -1 };

int stat_take_input(struct stat_options *options, enum stat_source source, const char *path,
                    const char *assembly)
{
    if (options->input_count == 2)
        return complain(EXIT_USAGE, "stat",
                        "more than two of --trace, --snippet, --asm: there are two logical "
                        "processors at most");
    options->input[options->input_count++] =
        (struct stat_input){.source = source, .path = path, .assembly = assembly};
    return GO_ON;
}

/* The words behind the options: PROGRAM ARGUMENTS, perhaps --- PROGRAM ARGUMENTS. */
static int take_programs(struct stat_options *options, char **words)
{
    char **begin = words;
    for (char **word = words;; word++) {
        bool last = !*word;
        if (!last && strcmp(*word, "---"))
            continue;
        if (word == begin)
            return complain(EXIT_USAGE, "stat", "nothing to run %s '---': expected a program",
                            last ? "behind" : "before");
        if (options->input_count == 2)
            return complain(EXIT_USAGE, "stat",
                            "more than two programs: there are two logical processors at most");
        options->input[options->input_count++] =
            (struct stat_input){.source = STAT_PROGRAM, .argv = begin};
        *word = NULL;
        begin = word + 1;
        if (last)
            return GO_ON;
    }
}

static bool has(const struct stat_options *options, enum stat_source source)
{
    for (unsigned i = 0; i < options->input_count; i++)
        if (options->input[i].source == source)
            return true;
    return false;
}

/* All that runs is recorded. */
static bool replays(const struct stat_options *options)
{
    for (unsigned i = 0; i < options->input_count; i++)
        if (options->input[i].source != STAT_TRACE)
            return false;
    return true;
}

/* A recording is divided as it was when it was made, unless the command line says otherwise. */
static int take_recorded_regions(struct stat_options *options)
{
    if (options->regions.count || options->no_regions || options->input_count != 1 ||
        options->input[0].source != STAT_TRACE || options->logical_processors > 1)
        return GO_ON;
    int status = regions_of_recording(&options->regions, "stat", options->input[0].path);
    options->regions_recorded = options->regions.count != 0;
    return status ? status : GO_ON;
}

/* What runs natively leaves nothing that could be repeated or recorded. */
static int check_only_regions(const struct stat_options *options)
{
    const char *why = NULL;
    if (!options->regions.count)
        why = "needs a --region";
    else if (has(options, STAT_TRACE) || has(options, STAT_SNIPPET))
        why = "is for programs: recordings and snippets cannot run natively";
    else if (options->record)
        why = "cannot be had with --record: what runs natively is not recorded";
    else if (options->per_process)
        why = "cannot be had with --per-process: processes run outside regions too";
    else if (options->passes_given && options->passes > 1)
        why = "cannot be had with --passes: what runs natively cannot be repeated";
    return why ? complain(EXIT_USAGE, "stat", "--only-regions %s", why) : GO_ON;
}

static int check_options(const struct stat_options *options)
{
    if (options->only_regions && check_only_regions(options) != GO_ON)
        return EXIT_USAGE;
    if (options->from_instruction && !replays(options))
        return complain(EXIT_USAGE, "stat", "--from-instruction is for recordings (--trace FILE)");
    if (options->long_mode && !has(options, STAT_SNIPPET))
        return complain(EXIT_USAGE, "stat",
                        has(options, STAT_PROGRAM)
                            ? "--64 is for --snippet and --asm"
                            : "--64 is for --snippet and --asm; programs and recordings say it "
                              "themselves");
    if (options->record && !has(options, STAT_PROGRAM))
        return complain(EXIT_USAGE, "stat",
                        "--record is for programs; recordings and snippets are files already");
    for (unsigned i = 0; i < options->input_count; i++)
        if (overwrites("stat", options->output, options->input[i].path))
            return EXIT_USAGE;
    if (options->record && options->input_count > 1)
        return complain(EXIT_USAGE, "stat", "--record is for one program; record each by itself");
    return GO_ON;
}

int stat_check_inputs(struct stat_options *options, int argc, char **argv)
{
    int status = GO_ON;
    if (!options->input_count && optind == argc)
        return complain(EXIT_USAGE, "stat",
                        "nothing to run: give a program, --trace, --snippet or --asm");
    if (options->input_count && optind < argc)
        return complain(EXIT_USAGE, "stat",
                        "'%s': give a program or a recording or snippet, not both", argv[optind]);
    if (optind < argc)
        status = take_programs(options, argv + optind);
    if (status == GO_ON)
        status = check_options(options);
    return status == GO_ON ? take_recorded_regions(options) : status;
}

static void append(char *out, size_t size, const char *text)
{
    size_t used = strlen(out);
    snprintf(out + used, size - used, "%s%s", used ? " " : "", text);
}

void stat_name_inputs(const struct stat_options *options, char *out, size_t size)
{
    out[0] = '\0';
    for (unsigned i = 0; i < options->input_count; i++) {
        const struct stat_input *input = &options->input[i];
        if (i)
            append(out, size, "---");
        if (input->source != STAT_PROGRAM)
            append(out, size, input->path ? input->path : input->assembly);
        for (char *const *word = input->argv; word && *word; word++)
            append(out, size, *word);
    }
}

unsigned stat_logical_processors(const struct stat_options *options, const struct sim_model *model)
{
    bool parts = options->regions.count || options->per_process;
    unsigned wanted = options->logical_processors;
    if (!wanted)
        wanted = options->input_count > 1 || (model->hyper_threading && !parts) ? 2 : 1;
    const char *why = NULL;
    if (wanted > 1 && !model->hyper_threading)
        why = "has one logical processor; choose one with Hyper-Threading, such as northwood-ht";
    else if (wanted > 1 && parts)
        why = "can be divided into regions or processes on one logical processor only: give one "
              "program and --logical-processors 1";
    else if (wanted < options->input_count)
        why = "was given two programs for one logical processor";
    if (!why)
        return wanted;
    complain(EXIT_USAGE, "stat", "model %s %s", model->name, why);
    return 0;
}
