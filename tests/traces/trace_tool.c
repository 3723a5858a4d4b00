/*
 * A small internal tool of the tests: record a program, list or count a recorded run, read its
 * info.
 *
 *   trace_tool record FILE PROGRAM [ARGUMENT...]
 *   trace_tool record-every INSTRUCTIONS FILE PROGRAM [ARGUMENT...]   (between checkpoints)
 *   trace_tool count  live|native PROGRAM [ARGUMENT...] | FILE
 *   trace_tool list   live|native PROGRAM [ARGUMENT...] | FILE
 *   trace_tool info   FILE
 */
#include "source.h"
#include "p4_cpuid.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void list(const struct trace_instruction *instruction)
{
    printf("%" PRIu32 " p%u t%u %" PRIx64 "+%u -> %" PRIx64 " x%" PRIu32 " f%u", instruction->code,
           instruction->process, instruction->thread, instruction->ip, instruction->length,
           instruction->next_ip, instruction->repetitions, instruction->flags);
    for (unsigned i = 0; i < instruction->access_count; i++)
        printf(" %c%" PRIx64 "/%" PRIu32, instruction->access[i].write ? 'w' : 'r',
               instruction->access[i].address, instruction->access[i].size);
    putchar('\n');
}

static int run(struct trace_source *source, bool listing, bool quiet)
{
    struct trace_instruction instruction;
    enum trace_result result;
    uint64_t count = 0;

    while ((result = trace_source_next(source, &instruction)) == TRACE_OK) {
        count++;
        if (listing)
            list(&instruction);
    }
    if (!quiet)
        printf("%" PRIu64 "\n", count);
    if (result == TRACE_ERROR)
        fprintf(stderr, "%s\n", source->error);
    if (source->end.note[0])
        fprintf(stderr, "%s\n", source->end.note);
    if (!quiet && source->end.interpreted + source->end.stepped)
        fprintf(stderr, "%" PRIu64 " interpreted, %" PRIu64 " stepped\n", source->end.interpreted,
                source->end.stepped);
    trace_source_close(source);
    return result == TRACE_END ? 0 : 3;
}

static int info(const char *path)
{
    struct trace_info info = {0};
    char error[512];
    int status;
    bool good = trace_file_info(path, true, &info, error, &status);

    printf("program %s\nmade by %s\nversion %" PRIu32 "\nbytes %" PRIu64 "\ninstructions %" PRIu64
           "\ncodes %" PRIu64 "\nend %d status %d processes %" PRIu32 " threads %" PRIu32
           " signals %" PRIu64 "\n",
           info.program, info.made_by, info.version, info.file_bytes, info.instructions, info.codes,
           (int)info.end.how, info.end.status, info.end.processes, info.end.threads,
           info.end.signals);
    if (good)
        return 0;
    fprintf(stderr, "%s\n", error);
    return status;
}

static struct trace_source *open_source(char **argv, const char *record_to, uint64_t every)
{
    struct trace_live_options options = {.argv = argv,
                                         .cpuid = p4_cpuid,
                                         .record_to = record_to,
                                         .checkpoint_every = every,
                                         .long_mode = true};
    char error[512];
    int status;
    struct trace_source *source = NULL;

    if (record_to)
        source = trace_open_live(&options, error, &status);
    else if (!strcmp(argv[0], "live") || !strcmp(argv[0], "native")) {
        options.argv = argv + 1;
        options.native_only = argv[0][0] == 'n';
        source = trace_open_live(&options, error, &status);
    } else
        source = trace_open_file(argv[0], error, &status);
    if (!source)
        fprintf(stderr, "%s\n", error);
    return source;
}

int main(int argc, char **argv)
{
    struct trace_source *source;
    uint64_t every = 0;
    bool recording = argc > 3 && !strcmp(argv[1], "record");

    if (argc > 4 && !strcmp(argv[1], "record-every")) {
        recording = true;
        every = strtoull(argv[2], NULL, 10);
        argv++;
    }
    if (argc < 3) {
        fprintf(stderr,
                "usage: trace_tool record FILE PROGRAM... | count|list FILE|live PROGRAM... | "
                "info FILE\n");
        return 2;
    }
    if (!strcmp(argv[1], "info"))
        return info(argv[2]);
    source = recording ? open_source(argv + 3, argv[2], every) : open_source(argv + 2, NULL, 0);
    return source ? run(source, !strcmp(argv[1], "list"), recording) : 3;
}
