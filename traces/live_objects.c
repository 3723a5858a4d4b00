/*
 * Which files the processes of a live run have mapped, as /proc tells it: read when a program
 * begins, when a process is made, and when a system call has mapped a file as code. Mappings of
 * data alone that come later (a database, a locale) are seen with the next of these.
 */
#define _GNU_SOURCE
#include "live.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
    I386_MMAP2 = 192, /* ebx address, ecx length, edx protection, esi flags, edi file */
    X86_64_MMAP = 9,  /* rdi, rsi, rdx protection, r10, r8 file */
    GPR_PROTECTION = 2,
    GPR_FILE_32 = 7
};

/* One line of /proc/TID/maps; false when nothing is to be logged from it. */
static bool parse_line(const char *line, struct trace_object *object)
{
    unsigned long long start, end, offset, inode;
    char access[8];
    int at = 0;
    if (sscanf(line, "%llx-%llx %7s %llx %*s %llu %n", &start, &end, access, &offset, &inode, &at) <
            5 ||
        !at)
        return false;
    object->start = start;
    object->end = end;
    object->offset = offset;
    object->executable = access[2] == 'x';
    snprintf(object->path, sizeof object->path, "%.*s", (int)strcspn(line + at, "\n"), line + at);
    return inode != 0 || !strcmp(object->path, "[stack]") || !strcmp(object->path, "[heap]");
}

/* The id is a property of the file: asked for once. */
static void take_build_id(const struct object_log *log, struct trace_object *object)
{
    object->build_id_bytes = 0;
    for (size_t i = log->count; i-- > 0;) {
        if (strcmp(log->object[i].path, object->path) != 0)
            continue;
        object->build_id_bytes = log->object[i].build_id_bytes;
        memcpy(object->build_id, log->object[i].build_id, sizeof object->build_id);
        return;
    }
    if (object->path[0] == '/')
        object->build_id_bytes = (uint8_t)object_build_id(object->path, object->build_id);
}

void live_log_objects(struct live *live, const struct space *space, pid_t tid)
{
    struct trace_object object = {.process = space->process, .instruction = live->executed};
    char path[64], line[4608];
    size_t count;
    FILE *file;

    if (live->window.high) /* a snippet: its code has no file */
        return;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)tid);
    file = fopen(path, "re");
    if (!file)
        return;
    while (fgets(line, sizeof line, file)) {
        if (!parse_line(line, &object))
            continue;
        take_build_id(&live->objects, &object);
        count = live->objects.count;
        object_log_add(&live->objects, &object);
        if (live->recorder && live->objects.count != count)
            recorder_object(live->recorder, &object);
    }
    fclose(file);
}

void live_objects_after_call(struct live *live, const struct live_thread *thread,
                             const struct recipe_registers *before)
{
    bool maps_a_file = before->gpr[0] == I386_MMAP2 && (int32_t)before->gpr[GPR_FILE_32] >= 0;
    if (thread->regs.cs == CS_64BIT)
        maps_a_file = before->gpr[0] == X86_64_MMAP && (int32_t)thread->regs.r8 >= 0;
    if (maps_a_file && (before->gpr[GPR_PROTECTION] & PROT_EXEC))
        live_log_objects(live, thread->space, thread->tid);
}

const struct trace_object *live_objects(const struct trace_source *source, size_t *count)
{
    const struct live *live = (const struct live *)source;
    *count = live->objects.count;
    return live->objects.object;
}
