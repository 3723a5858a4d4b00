/*
 * p4sim: one program, several commands. `p4sim COMMAND --help` explains each.
 */
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

static const struct command commands[] = {
    {"stat", command_stat, "count events over a run of a program, a recording or a snippet"},
    {"run", command_run, "run a program that uses the counters itself, or through /dev/cpu/N/msr"},
    {"list", command_list, "events, sub-events, metrics and processor models"},
    {"explain", command_explain,
     "the background of an event, register, field, finding or mechanism"},
    {"encode", command_encode, "registers for events and metrics"},
    {"decode", command_decode, "what register values mean, in words"},
    {"check", command_check,
     "judge a counter configuration: what it counts, and what is wrong with it"},
    {"convert", command_convert, "translate a configuration between the forms of other tools"},
    {"fit", command_fit, "choose ESCRs and counters for events, or say why they do not fit"},
    {"tables", command_tables, "where the event tables of other tools differ, and why"},
    {"validate", command_validate,
     "repeat published measurements of the hardware, print both side by side"},
    {"record", command_record, "sample events: by interrupt or precisely (PEBS)"},
    {"report", command_report, "what samples say: by function, line, data address, skid"},
    {"annotate", command_annotate, "instructions with samples and exact counts"},
    {"trace", command_trace, "record a run, show or verify a recording"},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void usage(FILE *out)
{
    fputs(
        "usage: p4sim COMMAND [ARGUMENTS]\n"
        "       p4sim --help | --version\n\n"
        "Runs IA-32 programs on a simulated Pentium 4 and counts with its performance-monitoring\n"
        "hardware.\n\ncommands:\n",
        out);
    for (unsigned i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-9s%s\n", commands[i].name, commands[i].summary);
    fputs("\n'p4sim COMMAND --help' explains a command, 'man p4sim' the whole.\n"
          "example: p4sim stat -e instr_retired,uops_retired:NBOGUS -- ./program\n",
          out);
}

int complain(int status, const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "p4sim%s%s: ", command[0] ? " " : "", command);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

bool overwrites(const char *command, const char *output, const char *input)
{
    struct stat one, other;
    if (!output || !input || stat(output, &one) != 0 || stat(input, &other) != 0 ||
        !S_ISREG(one.st_mode) || one.st_dev != other.st_dev || one.st_ino != other.st_ino)
        return false;
    complain(EXIT_USAGE, command, "%s: it is what is read; give another name for the output",
             output);
    return true;
}

bool close_output(FILE *file)
{
    bool good = !ferror(file);
    if (file == stdout || file == stderr)
        return fflush(file) == 0 && good;
    return fclose(file) == 0 && good;
}

static int run_command(int argc, char **argv)
{
    for (unsigned i = 0; i < COMMANDS; i++) {
        if (!strcmp(argv[0], commands[i].name))
            return commands[i].run(argc, argv);
    }
    return complain(EXIT_USAGE, "", "unknown command '%s'; 'p4sim --help' lists the commands",
                    argv[0]);
}

int main(int argc, char **argv)
{
    int status;
    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        usage(stdout);
        status = EXIT_DONE;
    } else if (!strcmp(argv[1], "--version")) {
        puts("p4sim " P4SIM_VERSION);
        status = EXIT_DONE;
    } else {
        status = run_command(argc - 1, argv + 1);
    }
    if (!close_output(stdout) && status == EXIT_DONE)
        status = complain(EXIT_INPUT, "", "standard output: %s", strerror(errno));
    return status;
}
