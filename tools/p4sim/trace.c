/*
 * p4sim trace: make a recording of a program's run, look at it, take a part of it.
 */
#define _GNU_SOURCE
#include "trace_check.h"
#include "trace_command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: p4sim trace record -o FILE [-m MODEL] [--portable] [--region REGION]...\n"
    "                          [--] PROGRAM [ARGUMENTS]\n"
    "       p4sim trace check [-m MODEL] [--from N] [--instructions N] [--] PROGRAM [ARGUMENTS]\n"
    "       p4sim trace info FILE\n"
    "       p4sim trace verify FILE\n"
    "       p4sim trace dump [--from N] [--count N] [--registers] [--values] FILE\n"
    "       p4sim trace cut -o FILE [--from N] [--count N] FILE\n"
    "       p4sim trace convert -o FILE [--64] [--elf PROGRAM[@ADDRESS]]... lackey TEXT\n\n"
    "record runs a program and records it without simulating; the program sees the CPUID of the\n"
    "model. check lets the processor execute what the interpreter executes too, and compares\n"
    "registers, flags, x87 and SSE state and memory, from instruction N on; it stops at the first\n"
    "difference and shows both states. info shows what a recording's header and trailer say. "
    "verify checks every checksum "
    "and\n"
    "executes everything again. dump prints instructions with their accesses; --registers adds "
    "the\n"
    "registers that changed, --values what memory holds after the instruction. cut writes a part,\n"
    "or what is good of a damaged recording, as a recording of its own. convert makes a plain\n"
    "stream of what valgrind --tool=lackey --trace-mem=yes wrote; --elf names files that have the\n"
    "code (and, if moved, at which address they were mapped); what remains unknown is counted.\n\n"
    "      --from N             begin with instruction N, counted from 0\n"
    "      --count N            at most N instructions\n"
    "      --checkpoint-every N (record, cut) instructions between places where a replay can "
    "start\n"
    "      --region REGION      (record) keep in the recording what p4sim stat is to count there, "
    "as\n"
    "                           its --region takes it\n"
    "      --portable           (record) write down what floating point gave, so that hosts which "
    "are no\n"
    "                           x86 can replay it; slow\n\n"
    "exit status: 0 done, 1 check found a difference, 2 usage, 3 input cannot be used or output "
    "not written, 130 after "
    "Ctrl-C.\n";

int trace_number(const char *option, const char *text, uint64_t lowest, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 0);
    if (!errno && end != text && !*end && text[0] != '-' && *value >= lowest)
        return EXIT_DONE;
    return complain(EXIT_USAGE, "trace", "--%s '%s': expected a number from %llu on", option, text,
                    (unsigned long long)lowest);
}

int command_trace(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } parts[] = {
        {"record", trace_record},   {"check", trace_check}, {"info", trace_show_info},
        {"verify", trace_verify},   {"dump", trace_dump},   {"cut", trace_cut},
        {"convert", trace_convert},
    };

    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(help, stdout);
        return EXIT_DONE;
    }
    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof *parts; i++)
        if (!strcmp(argv[1], parts[i].name))
            return parts[i].run(argc - 1, argv + 1);
    return complain(EXIT_USAGE, "trace",
                    "expected record, check, info, verify, dump, cut or convert; 'p4sim trace "
                    "--help' explains");
}
