/*
 * p4sim trace dump: a recorded run in words, one instruction a line.
 */
#define _GNU_SOURCE
#include "trace_command.h"
#include "interpret.h"
#include "marker.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>

enum { OPT_FROM = 256, OPT_COUNT, OPT_REGISTERS, OPT_VALUES };
enum { TEXT_COLUMN = 24, VALUE_BYTES = 16 };

struct dump {
    const char *path;
    uint64_t from, count;
    bool registers, values;
    struct recipe_decoder *decoder;
    struct trace_source *source;
    bool any;
    struct interpret_state before; /* as printed last */
};

static int take_options(struct dump *dump, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"from", required_argument, NULL, OPT_FROM},
        {"count", required_argument, NULL, OPT_COUNT},
        {"registers", no_argument, NULL, OPT_REGISTERS},
        {"values", no_argument, NULL, OPT_VALUES},
        {NULL, 0, NULL, 0},
    };
    int code, status = EXIT_DONE;

    optind = 1;
    while (!status && (code = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (code == OPT_FROM)
            status = trace_number("from", optarg, 0, &dump->from);
        else if (code == OPT_COUNT)
            status = trace_number("count", optarg, 1, &dump->count);
        else if (code == OPT_REGISTERS)
            dump->registers = true;
        else if (code == OPT_VALUES)
            dump->values = true;
        else
            status = complain(EXIT_USAGE, "trace", "'p4sim trace --help' shows the options");
    }
    if (!status && optind != argc - 1)
        status = complain(EXIT_USAGE, "trace", "dump needs one FILE");
    dump->path = argv[optind < argc ? optind : argc - 1];
    return status;
}

/* ---- one instruction ---------------------------------------------------------------------------
 */

static void print_access(const struct dump *dump, const struct trace_instruction *now,
                         const struct trace_access *access)
{
    uint8_t bytes[VALUE_BYTES];
    size_t known = 0;

    printf("  %s%" PRIx64 "/%" PRIu32, access->write ? "W" : "R", access->address, access->size);
    if (dump->values && access->size <= sizeof bytes)
        known = trace_source_memory_at(dump->source, now->process, access->address, bytes,
                                       access->size);
    if (known && known == access->size) {
        putchar('=');
        while (known-- > 0)
            printf("%02x", bytes[known]);
    }
}

/* What p4sim.h puts into a program's code. */
static void print_marker(const struct dump *dump, const struct trace_instruction *now)
{
    uint8_t bytes[TRACE_MARKER_BYTES];
    struct trace_marker marker;
    size_t known = 0;

    if (now->length == 2)
        known = trace_source_memory_at(dump->source, now->process, now->ip, bytes, sizeof bytes);
    if (trace_marker(bytes, known, &marker))
        printf("  %s marker:%s", marker.begin ? "begins" : "ends", marker.name);
}

static void print_instruction(const struct dump *dump, uint64_t number,
                              const struct trace_instruction *now)
{
    uint8_t bytes[TRACE_INSTRUCTION_BYTES];
    struct recipe recipe;
    char text[96] = "(unknown)";
    size_t known = trace_source_code_at(dump->source, now->process, now->ip, bytes);
    int column = 0;

    printf("%10" PRIu64 "  %u:%u  %0*" PRIx64 "  ", number, now->process, now->thread,
           now->flags & TRACE_64BIT ? 16 : 8, now->ip);
    if (known > now->length)
        known = now->length;
    for (size_t i = 0; i < known; i++)
        column += printf("%02x", bytes[i]);
    if (recipe_decode(dump->decoder, now->flags & TRACE_64BIT ? RECIPE_64 : RECIPE_32, bytes, known,
                      &recipe))
        recipe_disassemble(dump->decoder, &recipe, now->ip, text);
    printf("%*s  %s", column < TEXT_COLUMN ? TEXT_COLUMN - column : 0, "", text);
    if (now->repetitions != 1)
        printf("  x%" PRIu32, now->repetitions);
    for (unsigned i = 0; i < now->access_count; i++)
        print_access(dump, now, &now->access[i]);
    print_marker(dump, now);
    if (now->flags & TRACE_INTERRUPTED)
        printf("  then %" PRIx64 " or another thread", now->next_ip);
    putchar('\n');
}

/* Those that changed; all at first. */
static void print_registers(struct dump *dump, const struct trace_instruction *now)
{
    static const char narrow[][4] = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"};
    static const char wide[][4] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                   "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    bool is_wide = now->flags & TRACE_64BIT;
    const struct recipe_registers *then = &dump->before.registers;
    struct interpret_state state;

    if (!trace_source_state(dump->source, &state) ||
        (dump->any && memcmp(state.registers.gpr, then->gpr, sizeof then->gpr) == 0 &&
         state.registers.flags == then->flags &&
         memcmp(state.xmm, dump->before.xmm, sizeof state.xmm) == 0))
        return;
    printf("%10s", "");
    for (unsigned i = 0; i < (is_wide ? 16 : 8); i++)
        if (!dump->any || state.registers.gpr[i] != then->gpr[i])
            printf(" %s=%" PRIx64, is_wide ? wide[i] : narrow[i], state.registers.gpr[i]);
    if (!dump->any || state.registers.flags != then->flags)
        printf(" flags=%" PRIx64, state.registers.flags);
    for (unsigned i = 0; i < (is_wide ? 16 : 8); i++)
        if (memcmp(&state.xmm[i], &dump->before.xmm[i], sizeof state.xmm[i]) != 0)
            printf(" xmm%u=%016" PRIx64 "%016" PRIx64, i, state.xmm[i].q[1], state.xmm[i].q[0]);
    putchar('\n');
    dump->before = state;
    dump->any = true;
}

static int dump_all(struct dump *dump)
{
    struct trace_instruction now;
    enum trace_result result = TRACE_OK;

    for (uint64_t i = 0; i < dump->count && !ferror(stdout); i++) {
        result = trace_source_next(dump->source, &now);
        if (result != TRACE_OK)
            break;
        print_instruction(dump, dump->from + i, &now);
        if (dump->registers)
            print_registers(dump, &now);
    }
    if (result == TRACE_ERROR)
        return complain(EXIT_INPUT, "trace", "%s", dump->source->error);
    return EXIT_DONE;
}

int trace_dump(int argc, char **argv)
{
    struct dump dump = {.count = UINT64_MAX};
    char error[512] = "";
    int status = take_options(&dump, argc, argv);

    if (status)
        return status;
    dump.source = trace_open_file_at(dump.path, dump.from, error, &status);
    if (!dump.source)
        return complain(status, "trace", "%s", error);
    dump.decoder = recipe_decoder_new();
    status = dump.decoder ? dump_all(&dump)
                          : complain(EXIT_MACHINE, "trace", "no memory for a disassembler");
    recipe_decoder_free(dump.decoder);
    trace_source_close(dump.source);
    return status;
}
