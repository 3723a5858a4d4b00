/* Code by address from an ELF file's program headers; see elf_code.h. */
#define _GNU_SOURCE
#include "elf_code.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEGMENTS_MAX = 16,        /* loaded ones; linkers make four or five */
    HEADERS_MAX = 256,        /* program headers looked at */
    FILE_BYTES_MAX = 1 << 30, /* model choice: larger programs are refused */
};

struct elf_code {
    uint8_t *file;
    size_t file_bytes;
    bool is_64;
    unsigned segment_count;
    struct segment {
        uint64_t address, bytes, offset, memory_bytes;
        uint32_t flags;
    } segment[SEGMENTS_MAX];
};

static bool read_file(struct elf_code *code, const char *path, char error[512])
{
    FILE *file = fopen(path, "re");
    long size = -1;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size > 0 && size <= FILE_BYTES_MAX && fseek(file, 0, SEEK_SET) == 0 &&
        (code->file = malloc((size_t)size)))
        code->file_bytes = fread(code->file, 1, (size_t)size, file);
    if (!code->file_bytes)
        snprintf(error, 512, "%.300s: cannot read the program: %s", path,
                 file ? "expected a regular file of at most 1 GB" : strerror(errno));
    if (file)
        fclose(file);
    return code->file_bytes != 0;
}

static void add_segment(struct elf_code *code, uint64_t base, const Elf64_Phdr *header)
{
    if (header->p_type != PT_LOAD || code->segment_count == SEGMENTS_MAX ||
        header->p_offset > code->file_bytes ||
        header->p_filesz > code->file_bytes - header->p_offset)
        return;
    code->segment[code->segment_count++] =
        (struct segment){base + header->p_vaddr, header->p_filesz, header->p_offset,
                         header->p_memsz, header->p_flags};
}

/* The program header at AT, widened. False: it is not in the file. */
static bool program_header(const struct elf_code *code, uint64_t at, Elf64_Phdr *header)
{
    size_t size = code->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    Elf32_Phdr narrow;

    if (at > code->file_bytes || code->file_bytes - at < size)
        return false;
    if (code->is_64) {
        memcpy(header, code->file + at, size);
        return true;
    }
    memcpy(&narrow, code->file + at, size);
    *header = (Elf64_Phdr){.p_type = narrow.p_type,
                           .p_flags = narrow.p_flags,
                           .p_offset = narrow.p_offset,
                           .p_vaddr = narrow.p_vaddr,
                           .p_filesz = narrow.p_filesz,
                           .p_memsz = narrow.p_memsz};
    return true;
}

static bool read_segments(struct elf_code *code, uint64_t base)
{
    Elf64_Ehdr wide = {0};
    Elf32_Ehdr narrow = {0};
    Elf64_Phdr header;
    uint64_t at;
    unsigned count, step;

    if (code->file_bytes < sizeof wide || memcmp(code->file, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&wide, code->file, sizeof wide);
    memcpy(&narrow, code->file, sizeof narrow);
    code->is_64 = code->file[EI_CLASS] == ELFCLASS64;
    if (wide.e_machine != (code->is_64 ? EM_X86_64 : EM_386))
        return false;
    at = code->is_64 ? wide.e_phoff : narrow.e_phoff;
    count = code->is_64 ? wide.e_phnum : narrow.e_phnum;
    step = code->is_64 ? wide.e_phentsize : narrow.e_phentsize;
    for (unsigned i = 0; i < count && i < HEADERS_MAX; i++)
        if (program_header(code, at + (uint64_t)i * step, &header))
            add_segment(code, base, &header);
    return code->segment_count != 0;
}

struct elf_code *elf_code_open(const char *path, uint64_t base, char error[512])
{
    struct elf_code *code = calloc(1, sizeof *code);

    if (!code) {
        snprintf(error, 512, "%.300s: no memory for the program", path);
        return NULL;
    }
    if (read_file(code, path, error)) {
        if (read_segments(code, base))
            return code;
        snprintf(error, 512, "%.300s: expected an ELF program of IA-32 or x86-64 with code", path);
    }
    elf_code_close(code);
    return NULL;
}

bool elf_code_is_64(const struct elf_code *code)
{
    return code->is_64;
}

size_t elf_code_at(const struct elf_code *code, uint64_t address, uint8_t *bytes, size_t count)
{
    for (unsigned i = 0; i < code->segment_count; i++) {
        const struct segment *segment = &code->segment[i];
        uint64_t offset = address - segment->address;
        if (!(segment->flags & PF_X) || offset >= segment->bytes)
            continue;
        if (count > segment->bytes - offset)
            count = (size_t)(segment->bytes - offset);
        memcpy(bytes, code->file + segment->offset + offset, count);
        return count;
    }
    return 0;
}

/* What of the segment is in the page at ADDRESS. */
static void map(const struct elf_code *code, const struct segment *segment, uint64_t address,
                uint8_t page[ELF_CODE_PAGE_BYTES])
{
    uint64_t from = segment->offset + address - segment->address; /* in the file; whole pages are */
    uint64_t end = segment->address + segment->bytes;
    size_t count = ELF_CODE_PAGE_BYTES;

    memset(page, 0, ELF_CODE_PAGE_BYTES);
    if (address >= end || from >= code->file_bytes)
        return;
    if (count > code->file_bytes - from)
        count = (size_t)(code->file_bytes - from);
    if (segment->memory_bytes > segment->bytes && count > end - address)
        count = (size_t)(end - address);
    memcpy(page, code->file + from, count);
}

bool elf_code_page(const struct elf_code *code, uint64_t number, uint8_t bytes[ELF_CODE_PAGE_BYTES],
                   bool *writable)
{
    bool found = false;

    for (unsigned i = 0; i < code->segment_count; i++) {
        const struct segment *segment = &code->segment[i];
        uint64_t last = segment->address + segment->memory_bytes - 1;
        if (!segment->memory_bytes || number < segment->address / ELF_CODE_PAGE_BYTES ||
            number > last / ELF_CODE_PAGE_BYTES)
            continue;
        map(code, segment, number * ELF_CODE_PAGE_BYTES, bytes);
        *writable = segment->flags & PF_W;
        found = true;
    }
    return found;
}

void elf_code_close(struct elf_code *code)
{
    if (code)
        free(code->file);
    free(code);
}
