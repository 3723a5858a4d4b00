/*
 * p4sim trace convert: what another program wrote down of a run, as a recording that holds the
 * plain stream of instructions.
 */
#define _GNU_SOURCE
#include "trace_command.h"

#include <getopt.h>
#include <string.h>

enum { OPT_ELF = 256, OPT_LONG_MODE, PROGRAMS_MAX = 64 };

static int take_options(struct trace_import *import, const char *programs[PROGRAMS_MAX], int argc,
                        char **argv)
{
    static const struct option long_options[] = {
        {"output", required_argument, NULL, 'o'},
        {"elf", required_argument, NULL, OPT_ELF},
        {"64", no_argument, NULL, OPT_LONG_MODE},
        {NULL, 0, NULL, 0},
    };
    int code;

    optind = 1;
    while ((code = getopt_long(argc, argv, "o:", long_options, NULL)) != -1) {
        if (code == 'o')
            import->to = optarg;
        else if (code == OPT_ELF && import->program_count < PROGRAMS_MAX)
            programs[import->program_count++] = optarg;
        else if (code == OPT_LONG_MODE)
            import->long_mode = true;
        else
            return complain(EXIT_USAGE, "trace", "'p4sim trace --help' shows the options");
    }
    if (optind != argc - 2 || strcmp(argv[optind], "lackey") != 0)
        return complain(EXIT_USAGE, "trace", "convert needs the format, lackey, and one FILE");
    if (!import->to)
        return complain(EXIT_USAGE, "trace", "convert needs -o FILE");
    import->from = argv[optind + 1];
    return overwrites("trace", import->to, import->from) ? EXIT_USAGE : EXIT_DONE;
}

int trace_convert(int argc, char **argv)
{
    const char *programs[PROGRAMS_MAX];
    struct trace_import import = {.programs = programs};
    struct trace_imported imported;
    char error[512] = "";
    int status = take_options(&import, programs, argc, argv);

    if (status)
        return status;
    if (!trace_import_lackey(&import, &imported, error, &status))
        return complain(status, "trace", "%s%s%s", error,
                        imported.partial ? "; what stands before it is in " : "",
                        imported.partial ? import.to : "");
    fprintf(stderr,
            "%s: %llu instructions; bytes of %llu unknown (%.2f %%), %llu accesses without an "
            "address\n",
            import.to, (unsigned long long)imported.instructions,
            (unsigned long long)imported.unknown,
            100.0 * (double)imported.unknown / (double)imported.instructions,
            (unsigned long long)imported.without);
    return EXIT_DONE;
}
