/* The log of mapped files, and where a file says which build it is; see objects.h. */
#define _GNU_SOURCE
#include "objects.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADERS_MOST = 64,   /* program headers: more than this is no program we know */
    NOTES_BYTES = 4096,  /* of a note segment: build ids stand in small ones */
    NOTE_HEADER = 12,    /* n_namesz, n_descsz, n_type: 4 bytes each in both ELF classes */
    OBJECTS_MOST = 65536 /* model choice: what a run with that many mappings adds helps nobody */
};

static bool same_place(const struct trace_object *a, const struct trace_object *b)
{
    return a->process == b->process && a->start == b->start && a->end == b->end;
}

static bool same_file(const struct trace_object *a, const struct trace_object *b)
{
    return a->offset == b->offset && a->executable == b->executable && !strcmp(a->path, b->path);
}

/* The newest entry of the log that lies where OBJECT lies, when it is still the whole truth. */
static bool is_known(const struct object_log *log, const struct trace_object *object)
{
    for (size_t i = log->count; i-- > 0;) {
        const struct trace_object *old = &log->object[i];
        if (same_place(old, object))
            return same_file(old, object);
        if (old->process == object->process && old->start < object->end && object->start < old->end)
            return false;
    }
    return false;
}

void object_log_add(struct object_log *log, const struct trace_object *object)
{
    if (is_known(log, object))
        return;
    if (log->count == log->capacity) {
        size_t wanted = log->capacity ? 2 * log->capacity : 32;
        struct trace_object *bigger =
            wanted <= OBJECTS_MOST ? realloc(log->object, wanted * sizeof *bigger) : NULL;
        log->out_of_memory |= !bigger;
        if (!bigger)
            return;
        log->object = bigger;
        log->capacity = wanted;
    }
    log->object[log->count++] = *object;
}

void object_log_free(struct object_log *log)
{
    free(log->object);
    *log = (struct object_log){0};
}

/* ---- build ids ---------------------------------------------------------------------------------
 */

static uint32_t word_at(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* NT_GNU_BUILD_ID among BYTES of notes. */
static unsigned find_id(const uint8_t *notes, size_t bytes, uint8_t id[TRACE_BUILD_ID_BYTES])
{
    size_t at = 0;
    while (bytes - at >= NOTE_HEADER) {
        size_t name = word_at(notes + at), length = word_at(notes + at + 4);
        uint32_t type = word_at(notes + at + 8);
        size_t name_at = at + NOTE_HEADER;
        if (name > bytes || length > bytes)
            return 0;
        size_t id_at = name_at + ((name + 3) & ~(size_t)3);
        size_t next = id_at + ((length + 3) & ~(size_t)3);
        if (next > bytes)
            return 0;
        if (type == NT_GNU_BUILD_ID && name == 4 && !memcmp(notes + name_at, "GNU", 4) &&
            length <= TRACE_BUILD_ID_BYTES) {
            memcpy(id, notes + id_at, length);
            return (unsigned)length;
        }
        at = next;
    }
    return 0;
}

static unsigned id_in_segment(FILE *file, uint64_t offset, uint64_t bytes,
                              uint8_t id[TRACE_BUILD_ID_BYTES])
{
    uint8_t notes[NOTES_BYTES];
    if (bytes > sizeof notes || fseek(file, (long)offset, SEEK_SET) != 0)
        return 0;
    return find_id(notes, fread(notes, 1, (size_t)bytes, file), id);
}

/* The file position and size of program header INDEX when it is a note. */
static bool note_segment(FILE *file, bool wide, uint64_t table, size_t entry, unsigned index,
                         uint64_t *offset, uint64_t *bytes)
{
    Elf64_Phdr big;
    Elf32_Phdr small;
    void *to = wide ? (void *)&big : (void *)&small;
    size_t size = wide ? sizeof big : sizeof small;
    if (entry < size || fseek(file, (long)(table + index * entry), SEEK_SET) != 0 ||
        fread(to, size, 1, file) != 1)
        return false;
    *offset = wide ? big.p_offset : small.p_offset;
    *bytes = wide ? big.p_filesz : small.p_filesz;
    return (wide ? big.p_type : small.p_type) == PT_NOTE;
}

static unsigned id_in_file(FILE *file, uint8_t id[TRACE_BUILD_ID_BYTES])
{
    union {
        unsigned char ident[EI_NIDENT];
        Elf32_Ehdr small;
        Elf64_Ehdr big;
    } header = {{0}};
    unsigned found = 0;
    if (fread(&header, 1, sizeof header, file) < sizeof header.small ||
        memcmp(header.ident, ELFMAG, SELFMAG) != 0)
        return 0;
    bool wide = header.ident[EI_CLASS] == ELFCLASS64;
    unsigned count = wide ? header.big.e_phnum : header.small.e_phnum;
    for (unsigned i = 0; i < count && i < HEADERS_MOST && !found; i++) {
        uint64_t offset, bytes;
        if (note_segment(file, wide, wide ? header.big.e_phoff : header.small.e_phoff,
                         wide ? header.big.e_phentsize : header.small.e_phentsize, i, &offset,
                         &bytes))
            found = id_in_segment(file, offset, bytes, id);
    }
    return found;
}

unsigned object_build_id(const char *path, uint8_t id[TRACE_BUILD_ID_BYTES])
{
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    unsigned bytes = id_in_file(file, id);
    fclose(file);
    return bytes;
}
