/*
 * An assembled snippet as a source. The text goes to the system's `as --32` or `as --64` between a
 * head and a tail of ours: behind its last byte stands a call of exit, behind that the entry point,
 * which only tells where the tail is: the source begins at the snippet's first byte and delivers
 * what executes before the tail. It is a live program where one can run, else the interpreter
 * alone.
 */
#define _GNU_SOURCE
#include "snippet.h"
#include "snippet_run.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TEXT_ADDRESS =
        0x08048000 + 0x1000, /* of the first byte; model choice: where i386 programs stand */
    TAIL_EXIT_BYTES = 9,     /* mov, xor, int of the tail */
    NAME_BYTES = 200,
    OUTPUT_BYTES = 4096,
};

/* The stack pointer at the start, the same in every environment. Model choice: 68 KB below where
 * Linux has a stack's top, room for an environment; the kernel maps 128 KB below that at least. */
static const uint64_t stack_32 = 0xfffed000, stack_64 = 0x7ffffffee000;

static const char head[] = ".section .text\n";

/* In bytes, so that no state the snippet left in the assembler matters. The entry stands last. */
#define ENTRY                                                                                      \
    ".globl p4sim_snippet_entry\n"                                                                 \
    "p4sim_snippet_entry:\n"                                                                       \
    ".byte 0x0f, 0x0b\n" /* ud2: never executed */

static const char tail_32[] = ".section .text\n"
                              ".byte 0xb8, 1, 0, 0, 0\n" /* mov eax, 1 */
                              ".byte 0x31, 0xdb\n"       /* xor ebx, ebx */
                              ".byte 0xcd, 0x80\n"       /* int 0x80 */
    ENTRY;

static const char tail_64[] = ".section .text\n"
                              ".byte 0xb8, 60, 0, 0, 0\n" /* mov eax, 60 */
                              ".byte 0x31, 0xff\n"        /* xor edi, edi */
                              ".byte 0x0f, 0x05\n"        /* syscall */
    ENTRY;

struct folder {
    char path[64];
    char name[NAME_BYTES]; /* of the snippet's file in it */
};

static bool write_file(const struct folder *folder, const char *name, const char *text)
{
    char path[sizeof folder->path + NAME_BYTES + 2];
    FILE *file;
    bool good;

    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    file = fopen(path, "we");
    if (!file)
        return false;
    good = fputs(text, file) >= 0 && fputs("\n", file) >= 0;
    return fclose(file) == 0 && good;
}

static void remove_folder(const struct folder *folder)
{
    const char *const names[] = {folder->name, "p4sim-head", "p4sim-tail", "p4sim-object",
                                 "p4sim-program"};
    char path[sizeof folder->path + NAME_BYTES + 2];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder->path, names[i]);
        unlink(path);
    }
    rmdir(folder->path);
}

/* Keeps the last part of the name, so that the assembler's messages show it. */
static bool make_folder(struct folder *folder, const char *name, bool long_mode, const char *text)
{
    const char *temporary = getenv("TMPDIR");
    const char *last = name ? strrchr(name, '/') : NULL;

    last = last ? last + 1 : name;
    snprintf(folder->name, sizeof folder->name, "%s",
             last && *last && *last != '-' ? last : "snippet");
    snprintf(folder->path, sizeof folder->path, "%.40s/p4sim-XXXXXX",
             temporary && strlen(temporary) < 40 ? temporary : "/tmp");
    if (!mkdtemp(folder->path))
        return false;
    if (write_file(folder, "p4sim-head", head) && write_file(folder, folder->name, text) &&
        write_file(folder, "p4sim-tail", long_mode ? tail_64 : tail_32))
        return true;
    remove_folder(folder);
    return false;
}

/* Runs a tool in the folder; its messages go to OUTPUT. Its exit status, or 127 when it is missing.
 */
static int run_tool(const struct folder *folder, const char *const *argv, char output[OUTPUT_BYTES])
{
    int channel[2], status = -1;
    size_t used = 0;
    ssize_t count;
    pid_t pid;

    output[0] = 0;
    if (pipe2(channel, O_CLOEXEC) != 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        dup2(channel[1], 1);
        dup2(channel[1], 2);
        if (chdir(folder->path) == 0)
            execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(channel[1]);
    while (pid > 0 && (count = read(channel[0], output + used, OUTPUT_BYTES - 1 - used)) != 0) {
        if (count < 0 && errno != EINTR)
            break;
        used += count > 0 ? (size_t)count : 0;
        if (used == OUTPUT_BYTES - 1)
            break;
    }
    output[used] = 0;
    close(channel[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The lines of the assembler's messages that name the snippet, joined. */
static void pass_on(const struct folder *folder, const char *what, char output[OUTPUT_BYTES],
                    char error[512])
{
    size_t used = (size_t)snprintf(error, 512, "%.100s: %s", folder->name, what);
    char *line, *rest = output;

    while ((line = strsep(&rest, "\n")) && used < 500) {
        if (!*line || strstr(line, "Assembler messages"))
            continue;
        used += (size_t)snprintf(error + used, 512 - used, "\n  %s", line);
    }
}

static bool build(const struct folder *folder, bool long_mode, char error[512])
{
    const char *const assemble[] = {"as",         long_mode ? "--64" : "--32",
                                    "-o",         "p4sim-object",
                                    "p4sim-head", folder->name,
                                    "p4sim-tail", NULL};
    const char *const link[] = {"ld",
                                "-m",
                                long_mode ? "elf_x86_64" : "elf_i386",
                                "-z",
                                "noexecstack",
                                "-Ttext",
                                "0x08049000",
                                "-e",
                                "p4sim_snippet_entry",
                                "-o",
                                "p4sim-program",
                                "p4sim-object",
                                NULL};
    char output[OUTPUT_BYTES];
    int status = run_tool(folder, assemble, output);

    if (status == 0)
        status = run_tool(folder, link, output);
    if (status == 0)
        return true;
    if (status == 127 && !output[0])
        snprintf(error, 512,
                 "assembled snippets need the programs `as` and `ld`, which are not installed "
                 "(Debian package binutils)");
    else
        pass_on(folder, "does not assemble:", output, error);
    return false;
}

/* The entry point tells where the tail stands. */
static uint64_t entry_point(const char *path, bool long_mode)
{
    union {
        Elf32_Ehdr narrow;
        Elf64_Ehdr wide;
    } header = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    if (read(fd, &header, sizeof header) != (ssize_t)sizeof header)
        memset(&header, 0, sizeof header);
    close(fd);
    return long_mode ? header.wide.e_entry : header.narrow.e_entry;
}

/* A live program where one can run. */
static struct trace_source *run(const struct snippet_options *options, const char *program,
                                char error[512], int *status)
{
    char *argv[] = {(char *)(uintptr_t)program, NULL};
    const struct trace_live_options live = {
        .argv = argv,
        .cpuid = options->cpuid,
        .cpuid_context = options->cpuid_context,
        .long_mode = options->long_mode,
        .record_to = options->record_to,
    };
    const struct live_window window = {
        .low = TEXT_ADDRESS,
        .high = entry_point(program, options->long_mode) - TAIL_EXIT_BYTES,
        .stack = options->long_mode ? stack_64 : stack_32,
    };
    char why[512] = "as it was asked for";
    struct trace_source *source = NULL;

    if (!options->interpret)
        source = live_open(&live, &window, why, status);
    *status = 3;
    return source ? source : snippet_run_open(program, &live, &window, why, error);
}

struct trace_source *snippet_open(const struct snippet_options *options, char error[512],
                                  int *status)
{
    char path[sizeof((struct folder *)NULL)->path + NAME_BYTES];
    struct trace_source *source = NULL;
    struct folder folder = {0};

    *status = 3;
    if (!make_folder(&folder, options->name, options->long_mode, options->text)) {
        snprintf(error, 512, "cannot write the snippet to a temporary folder: %s", strerror(errno));
        return NULL;
    }
    snprintf(path, sizeof path, "%s/p4sim-program", folder.path);
    if (build(&folder, options->long_mode, error))
        source = run(options, path, error, status);
    remove_folder(&folder);
    return source;
}

struct trace_source *trace_open_snippet(const char *text, const char *name, bool long_mode,
                                        trace_cpuid_fn *cpuid, void *cpuid_context, char error[512],
                                        int *status)
{
    const struct snippet_options options = {.text = text,
                                            .name = name,
                                            .long_mode = long_mode,
                                            .cpuid = cpuid,
                                            .cpuid_context = cpuid_context};

    return snippet_open(&options, error, status);
}

bool trace_record_snippet(const char *text, const char *name, const char *path,
                          trace_cpuid_fn *cpuid, void *cpuid_context, char error[512], int *status)
{
    struct trace_instruction in;
    enum trace_result result = TRACE_OK;
    const struct snippet_options options = {.text = text,
                                            .name = name,
                                            .cpuid = cpuid,
                                            .cpuid_context = cpuid_context,
                                            .record_to = path};
    struct trace_source *source = snippet_open(&options, error, status);

    if (!source)
        return false;
    while (result == TRACE_OK)
        result = trace_source_next(source, &in);
    if (result == TRACE_ERROR) {
        snprintf(error, 512, "%s", source->error);
        *status = source->error_status;
    }
    trace_source_close(source);
    return result == TRACE_END;
}
