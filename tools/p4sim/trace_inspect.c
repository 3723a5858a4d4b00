/*
 * p4sim trace info and verify: what a recording says of itself, and whether all of it is good.
 */
#define _GNU_SOURCE
#include "trace_command.h"

#include <string.h>

static const char *const ended_by[] = {"exit status", "signal", "snippet", "cut"};

static void print_end(const struct trace_end *end)
{
    printf("ended by        %s %d\n", ended_by[end->how], end->status);
    printf("processes       %u\n", (unsigned)end->processes);
    printf("threads         %u\n", (unsigned)end->threads);
    printf("signals handled %llu\n", (unsigned long long)end->signals);
    printf("interpreted     %llu\n", (unsigned long long)end->interpreted);
    printf("by the host     %llu\n", (unsigned long long)end->stepped);
    if (end->note[0])
        printf("note            %s\n", end->note);
}

static void print_info(const char *path, const struct trace_info *info)
{
    printf("file            %s\n", path);
    printf("program         %s\n", info->program);
    printf("made by         %s, format version %u\n", info->made_by, (unsigned)info->version);
    printf("source          %s\n", info->source);
    if (info->model[0])
        printf("model           %s\n", info->model);
    printf("complete        %s\n", info->complete ? "yes" : "no: it was cut short or is damaged");
    printf("instructions    %llu\n", (unsigned long long)info->instructions);
    printf("static          %llu\n", (unsigned long long)info->codes);
    printf("bytes           %llu\n", (unsigned long long)info->file_bytes);
    if (info->instructions)
        printf("bits each       %.4f\n",
               8.0 * (double)info->file_bytes / (double)info->instructions);
    printf("checkpoints     %llu\n", (unsigned long long)info->checkpoints);
    printf("function names  %llu\n", (unsigned long long)info->names);
    if (info->complete)
        print_end(&info->end);
}

static void print_regions(const char *path)
{
    char ignored[512];
    int also_ignored;
    size_t count;
    struct trace_source *source = trace_open_file(path, ignored, &also_ignored);
    const struct trace_region *region = source ? trace_source_regions(source, &count) : NULL;

    for (size_t i = 0; region && i < count; i++)
        printf("%s%s\n", region[i].asked ? "region          " : "marker executed ", region[i].text);
    if (source)
        trace_source_close(source);
}

int trace_show_info(int argc, char **argv)
{
    struct trace_info info = {0};
    char error[512] = "";
    int status = EXIT_INPUT;

    if (argc != 2)
        return complain(EXIT_USAGE, "trace", "info needs one FILE");
    if (trace_file_info(argv[1], false, &info, error, &status))
        status = EXIT_DONE;
    else if (info.version) /* the header is good: what stands behind it? */
        trace_file_info(argv[1], true, &info, error, &status);
    if (info.version) {
        print_info(argv[1], &info);
        print_regions(argv[1]);
    }
    return status ? complain(status, "trace", "%s", error) : EXIT_DONE;
}

/* Every checksum first; then every instruction is executed again. */
int trace_verify(int argc, char **argv)
{
    struct trace_instruction instruction;
    struct trace_source *source;
    struct trace_info info = {0};
    enum trace_result result;
    char error[512] = "";
    int status = EXIT_INPUT;

    if (argc != 2)
        return complain(EXIT_USAGE, "trace", "verify needs one FILE");
    if (!trace_file_info(argv[1], true, &info, error, &status) ||
        !(source = trace_open_file(argv[1], error, &status)))
        return complain(status, "trace", "%s", error);
    do
        result = trace_source_next(source, &instruction);
    while (result == TRACE_OK);
    snprintf(error, sizeof error, "%s", source->error);
    trace_source_close(source);
    if (result == TRACE_ERROR)
        return complain(EXIT_INPUT, "trace", "%s", error);
    printf("%s: all checksums agree, %llu instructions, all %s\n", argv[1],
           (unsigned long long)info.instructions,
           strcmp(info.source, "lackey") ? "executed again" : "read (a plain stream)");
    return EXIT_DONE;
}
