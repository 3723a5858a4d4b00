/* Shared parts of the tests of the instruction sources; see lab.h. */
#define _GNU_SOURCE
#include "lab.h"
#include "p4_cpuid.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static char folder[LAB_PATH_BYTES / 2];

static void need_live(void)
{
    char reason[256];

    if (trace_live_possible(reason))
        return;
    print_message("skipped: %s\n", reason);
    skip();
}

void lab_need_program(const char *program)
{
    char path[LAB_PATH_BYTES];

    need_live();
    snprintf(path, sizeof path, "%s/%s", PROGRAMS, program);
    if (access(path, X_OK) == 0)
        return;
    print_message("skipped: %s is not built (gcc -m32 is missing)\n", path);
    skip();
}

void lab_need_snippets(void)
{
    need_live();
    if (system("as --version >/dev/null 2>&1") == 0)
        return;
    print_message("skipped: as is not installed\n");
    skip();
}

const char *lab_path(const char *name, char path[LAB_PATH_BYTES])
{
    const char *temporary = getenv("TMPDIR");

    if (!folder[0]) {
        snprintf(folder, sizeof folder, "%.1000s/p4sim-test-XXXXXX",
                 temporary ? temporary : "/tmp");
        assert_non_null(mkdtemp(folder));
    }
    snprintf(path, LAB_PATH_BYTES, "%s/%s", folder, name);
    return path;
}

void lab_remove_folder(void)
{
    DIR *directory = folder[0] ? opendir(folder) : NULL;
    struct dirent *entry;

    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    if (folder[0])
        rmdir(folder);
    folder[0] = 0;
}

/* The program inherits our standard output and error: lend it /dev/null while it starts. */
static void silence(int kept[2])
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    fflush(stdout);
    for (int fd = 1; fd <= 2; fd++) {
        kept[fd - 1] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
        dup2(null, fd);
    }
    close(null);
}

static void speak(const int kept[2])
{
    fflush(stdout);
    for (int fd = 1; fd <= 2; fd++) {
        dup2(kept[fd - 1], fd);
        close(kept[fd - 1]);
    }
}

static struct trace_source *checked(struct trace_source *source, const char *error)
{
    if (!source)
        print_error("%s\n", error);
    assert_non_null(source);
    return source;
}

/* By the names tests/programs gives. */
static bool is_64_bit(const char *program)
{
    size_t length = strlen(program);

    return length > 3 && strcmp(program + length - 3, "_64") == 0;
}

static struct trace_source *open_live(const char *program, const char *argument, const char *other,
                                      struct trace_live_options options)
{
    char path[LAB_PATH_BYTES], error[512] = "";
    char *argv[] = {path, (char *)(uintptr_t)argument, (char *)(uintptr_t)other, NULL};
    struct trace_source *source;
    int status, kept[2];

    options.argv = argv;
    options.cpuid = p4_cpuid;
    options.long_mode = is_64_bit(program);
    snprintf(path, sizeof path, "%s/%s", PROGRAMS, program);
    silence(kept);
    source = trace_open_live(&options, error, &status);
    speak(kept);
    return checked(source, error);
}

struct trace_source *lab_live(const char *program, const char *argument, const char *other,
                              const char *record_to)
{
    return open_live(program, argument, other, (struct trace_live_options){.record_to = record_to});
}

struct trace_source *lab_live_how(const char *program, const char *argument, bool native_only)
{
    return open_live(program, argument, NULL,
                     (struct trace_live_options){.native_only = native_only});
}

struct trace_source *lab_snippet(const char *text)
{
    char error[512] = "";
    int status;

    return checked(trace_open_snippet(text, "test.s", false, p4_cpuid, NULL, error, &status),
                   error);
}

struct trace_source *lab_file(const char *path)
{
    char error[512] = "";
    int status;

    return checked(trace_open_file(path, error, &status), error);
}

uint64_t lab_drain(struct trace_source *source, enum trace_result wanted)
{
    struct trace_instruction instruction;
    enum trace_result result;
    uint64_t count = 0;

    while ((result = trace_source_next(source, &instruction)) == TRACE_OK)
        count++;
    if (result != wanted)
        print_error("%s\n", source->error);
    assert_int_equal(result, wanted);
    return count;
}

/* What is known around an instruction: here, where it leads, and far behind. */
static uint64_t hash_code(struct trace_source *source, const struct trace_instruction *instruction,
                          uint64_t hash)
{
    const uint64_t places[] = {instruction->ip, instruction->next_ip, instruction->ip + 4090};
    uint8_t bytes[TRACE_INSTRUCTION_BYTES];

    for (size_t i = 0; i < 3; i++) {
        size_t count = trace_source_code_at(source, instruction->process, places[i], bytes);
        if (i == 0)
            assert_true(count >= instruction->length);
        hash = XXH64(bytes, count, hash + count);
    }
    return hash;
}

/* Goes down the other side of a taken branch. */
static void go_wrong(struct trace_source *source, const struct trace_instruction *branch,
                     struct lab_run *run)
{
    uint64_t ip = branch->ip + branch->length;
    struct trace_wrong_step step;

    if (branch->next_ip == ip || !trace_source_wrong_begin(source))
        return;
    for (unsigned i = 0; i < 8; i++) {
        memset(&step, 0, sizeof step);
        if (!trace_source_wrong_step(source, ip, &step))
            break;
        for (unsigned k = step.access_count; k < TRACE_ACCESSES; k++)
            step.access[k] = (struct trace_access){0};
        run->wrong_hash = XXH64(&step, sizeof step, run->wrong_hash + ip);
        run->wrong_steps++;
        if (!step.next_known)
            break;
        ip = step.next_ip;
    }
}

/* Only what is there counts: accesses past access_count are not said to be anything. */
static void clear_rest(struct trace_instruction *instruction)
{
    for (unsigned i = instruction->access_count; i < TRACE_ACCESSES; i++)
        instruction->access[i] = (struct trace_access){0};
}

static uint64_t hash_objects(const struct trace_source *source)
{
    size_t count;
    const struct trace_object *object = trace_source_objects(source, &count);
    uint64_t hash = count;

    for (size_t i = 0; i < count; i++) {
        const uint64_t numbers[] = {object[i].process, object[i].executable, object[i].instruction,
                                    object[i].start,   object[i].end,        object[i].offset};
        hash = XXH64(numbers, sizeof numbers, hash);
        hash = XXH64(object[i].build_id, object[i].build_id_bytes, hash);
        hash = XXH64(object[i].path, strlen(object[i].path), hash);
    }
    return hash;
}

struct lab_run lab_take(struct trace_source *source)
{
    struct lab_run run = {0};
    size_t capacity = 0;

    for (;;) {
        if (run.count == capacity) {
            capacity = capacity ? 2 * capacity : 4096;
            run.instructions = realloc(run.instructions, capacity * sizeof *run.instructions);
            assert_non_null(run.instructions);
        }
        struct trace_instruction *next = &run.instructions[run.count];
        enum trace_result result = trace_source_next(source, next);
        if (result == TRACE_ERROR)
            print_error("%s\n", source->error);
        assert_int_not_equal(result, TRACE_ERROR);
        if (result == TRACE_END)
            break;
        clear_rest(next);
        run.code_hash = hash_code(source, next, run.code_hash);
        go_wrong(source, next, &run);
        run.count++;
    }
    run.end = source->end;
    run.object_hash = hash_objects(source);
    trace_source_close(source);
    return run;
}

void lab_free(struct lab_run *run)
{
    free(run->instructions);
    run->instructions = NULL;
}

static bool same(const struct trace_instruction *one, const struct trace_instruction *other)
{
    bool equal = one->code == other->code && one->repetitions == other->repetitions &&
                 one->ip == other->ip && one->next_ip == other->next_ip &&
                 one->process == other->process && one->thread == other->thread &&
                 one->flags == other->flags && one->length == other->length &&
                 one->access_count == other->access_count;

    for (unsigned i = 0; equal && i < one->access_count; i++)
        equal = one->access[i].address == other->access[i].address &&
                one->access[i].size == other->access[i].size &&
                one->access[i].write == other->access[i].write;
    return equal;
}

void lab_assert_equal(const struct lab_run *one, const struct lab_run *other)
{
    for (size_t i = 0; i < one->count && i < other->count; i++) {
        if (!same(&one->instructions[i], &other->instructions[i]))
            print_error("instruction %zu differs, at 0x%" PRIx64 " and 0x%" PRIx64
                        ", flags %u and %u, then 0x%" PRIx64 " and 0x%" PRIx64 "\n",
                        i, one->instructions[i].ip, other->instructions[i].ip,
                        one->instructions[i].flags, other->instructions[i].flags,
                        one->instructions[i].next_ip, other->instructions[i].next_ip);
        assert_true(same(&one->instructions[i], &other->instructions[i]));
    }
    assert_int_equal(one->count, other->count);
    assert_int_equal(one->code_hash, other->code_hash);
    assert_int_equal(one->end.how, other->end.how);
    assert_int_equal(one->end.status, other->end.status);
    assert_int_equal(one->end.processes, other->end.processes);
    assert_int_equal(one->end.threads, other->end.threads);
    assert_int_equal(one->end.signals, other->end.signals);
    assert_int_equal(one->end.uncounted_processes, other->end.uncounted_processes);
    assert_string_equal(one->end.note, other->end.note);
}

uint8_t *lab_read(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(1 << 22);

    assert_non_null(file);
    assert_non_null(bytes);
    *count = fread(bytes, 1, 1 << 22, file);
    assert_true(*count < 1 << 22);
    fclose(file);
    return bytes;
}

void lab_write(const char *path, const uint8_t *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    if (count)
        assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}
