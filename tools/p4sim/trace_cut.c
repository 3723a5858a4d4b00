/*
 * p4sim trace cut: a part of a recording as a recording of its own, or what is good of a damaged
 * one.
 */
#define _GNU_SOURCE
#include "trace_command.h"

#include <getopt.h>
#include <string.h>

enum { OPT_FROM = 256, OPT_COUNT, OPT_CHECKPOINT };

static int take_options(struct trace_copy *copy, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"output", required_argument, NULL, 'o'},
        {"from", required_argument, NULL, OPT_FROM},
        {"count", required_argument, NULL, OPT_COUNT},
        {"checkpoint-every", required_argument, NULL, OPT_CHECKPOINT},
        {NULL, 0, NULL, 0},
    };
    int code, status = EXIT_DONE;

    optind = 1;
    while (!status && (code = getopt_long(argc, argv, "o:", long_options, NULL)) != -1) {
        if (code == 'o')
            copy->to = optarg;
        else if (code == OPT_FROM)
            status = trace_number("from", optarg, 0, &copy->first);
        else if (code == OPT_COUNT)
            status = trace_number("count", optarg, 1, &copy->count);
        else if (code == OPT_CHECKPOINT)
            status = trace_number("checkpoint-every", optarg, 1, &copy->checkpoint_every);
        else
            status = complain(EXIT_USAGE, "trace", "'p4sim trace --help' shows the options");
    }
    if (status)
        return status;
    if (optind != argc - 1)
        return complain(EXIT_USAGE, "trace", "cut needs one FILE");
    if (!copy->to)
        return complain(EXIT_USAGE, "trace", "cut needs -o FILE");
    copy->from = argv[optind];
    return overwrites("trace", copy->to, copy->from) ? EXIT_USAGE : EXIT_DONE;
}

int trace_cut(int argc, char **argv)
{
    struct trace_copy copy = {.count = UINT64_MAX};
    char damage[512], error[512] = "";
    uint64_t instructions;
    int status = take_options(&copy, argc, argv);

    if (status)
        return status;
    if (!trace_copy(&copy, &instructions, damage, error, &status))
        return complain(status, "trace", "%s", error);
    if (damage[0])
        complain(0, "trace", "%s", damage);
    fprintf(stderr, "%s: %llu instructions%s\n", copy.to, (unsigned long long)instructions,
            damage[0] ? ", all before the damage" : "");
    return EXIT_DONE;
}
