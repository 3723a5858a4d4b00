/*
 * Functions of an ELF file: its symbol table, or that of its separate debugging information
 * (/usr/lib/debug, by build id), or the dynamic symbols. Labels of code without a size reach to
 * the next symbol, unless they stand inside a function.
 */
#define _GNU_SOURCE
#include "function_names.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A symbol of code. */
struct code_symbol {
    uint64_t offset, size; /* in the file */
    uint64_t section_end;
    const char *name;
    uint32_t rank; /* of several at a place the lowest is meant */
    bool inside;   /* a label inside a function */
};

/* A file being read. Symbols give addresses; the first file's segments say where they stand. */
struct symbol_file {
    Elf *program, *symbols;
    struct code_symbol *symbol;
    size_t count;
};

static bool offset_of(Elf *elf, uint64_t address, uint64_t *offset)
{
    size_t count = 0;
    GElf_Phdr header;

    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
            address < header.p_vaddr || address - header.p_vaddr >= header.p_filesz)
            continue;
        *offset = address - header.p_vaddr + header.p_offset;
        return true;
    }
    return false;
}

/* The section of instructions SYMBOL stands in. */
static bool code_section(Elf *elf, const GElf_Sym *symbol, GElf_Shdr *header)
{
    Elf_Scn *section = symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < SHN_LORESERVE
                           ? elf_getscn(elf, symbol->st_shndx)
                           : NULL;

    return section && gelf_getshdr(section, header) && (header->sh_flags & SHF_EXECINSTR);
}

static bool is_function(const GElf_Sym *symbol)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);

    return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

/* Global before weak before local, as elfutils prefers them; else the first. */
static uint32_t rank_of(const GElf_Sym *symbol, size_t index)
{
    unsigned binding = GELF_ST_BIND(symbol->st_info);
    uint32_t group = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;

    return (group << 30) + (uint32_t)index;
}

static void take_symbol(struct symbol_file *file, const GElf_Sym *symbol, const char *name,
                        size_t index)
{
    struct code_symbol *to = &file->symbol[file->count];
    GElf_Shdr section;

    if (!name || !*name || strlen(name) > TRACE_NAME_MAX || !is_function(symbol) ||
        !code_section(file->symbols, symbol, &section) ||
        !offset_of(file->program, symbol->st_value, &to->offset))
        return;
    to->size = symbol->st_size;
    to->section_end = to->offset + (section.sh_addr + section.sh_size - symbol->st_value);
    to->name = name;
    to->rank = rank_of(symbol, index);
    to->inside = false;
    file->count++;
}

/* The larger symbol table: .symtab holds what .dynsym does. */
static Elf_Scn *symbol_table(Elf *elf, GElf_Shdr *header)
{
    Elf_Scn *found = NULL;
    GElf_Shdr one;

    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        if (!gelf_getshdr(section, &one) || !one.sh_entsize || one.sh_type == SHT_NOBITS ||
            (one.sh_type != SHT_SYMTAB && (one.sh_type != SHT_DYNSYM || found)))
            continue;
        found = section;
        *header = one;
    }
    return found;
}

static bool take_symbols(struct symbol_file *file)
{
    GElf_Shdr header;
    Elf_Scn *table = symbol_table(file->symbols, &header);
    Elf_Data *data = table ? elf_getdata(table, NULL) : NULL;
    size_t count = data ? data->d_size / header.sh_entsize : 0;
    GElf_Sym symbol;

    file->symbol = count && count < (size_t)1 << 30 ? calloc(count, sizeof *file->symbol) : NULL;
    for (size_t i = 0; file->symbol && i < count; i++)
        if (gelf_getsym(data, (int)i, &symbol))
            take_symbol(file, &symbol, elf_strptr(file->symbols, header.sh_link, symbol.st_name),
                        i);
    return file->symbol;
}

static int by_offset(const void *left, const void *right)
{
    const struct code_symbol *a = left, *b = right;

    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Labels reach to the next symbol or their section's end. */
static void size_labels(struct symbol_file *file)
{
    uint64_t covered = 0, next = UINT64_MAX;

    qsort(file->symbol, file->count, sizeof *file->symbol, by_offset);
    for (size_t i = 0; i < file->count; i++) {
        struct code_symbol *one = &file->symbol[i];
        one->inside = !one->size && one->offset < covered;
        if (one->size && one->offset + one->size > covered)
            covered = one->offset + one->size;
    }
    for (size_t i = file->count; i-- > 0;) {
        struct code_symbol *one = &file->symbol[i];
        if (i + 1 < file->count && file->symbol[i + 1].offset != one->offset)
            next = file->symbol[i + 1].offset;
        if (!one->size)
            one->size = (next < one->section_end ? next : one->section_end) - one->offset;
    }
}

static void give(const struct symbol_file *file, const struct trace_object *object,
                 struct name_list *list)
{
    struct trace_function function = {.build_id_bytes = object->build_id_bytes};

    memcpy(function.build_id, object->build_id, sizeof function.build_id);
    function.path = name_list_string(list, object->path, strlen(object->path));
    for (size_t i = 0; function.path && i < file->count; i++) {
        const struct code_symbol *one = &file->symbol[i];
        function.offset = one->offset;
        function.size = one->size;
        function.rank = one->rank;
        function.name = one->inside ? NULL : name_list_string(list, one->name, strlen(one->name));
        if (function.name)
            name_list_add(list, &function);
    }
}

/* ---- files -------------------------------------------------------------------------------------
 */

static bool has_symtab(Elf *elf)
{
    GElf_Shdr header;

    return symbol_table(elf, &header) && header.sh_type == SHT_SYMTAB;
}

static int open_debug_file(const struct trace_object *object)
{
    char path[96] = "/usr/lib/debug/.build-id/";
    size_t used = strlen(path);

    if (object->build_id_bytes < 2)
        return -1;
    for (unsigned i = 0; i < object->build_id_bytes; i++)
        used += (size_t)snprintf(path + used, sizeof path - used, i == 0 ? "%02x/" : "%02x",
                                 object->build_id[i]);
    snprintf(path + used, sizeof path - used, ".debug");
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void read_elf(struct name_list *list, const struct trace_object *object, Elf *program)
{
    struct symbol_file file = {.program = program, .symbols = program};
    int debug = has_symtab(program) ? -1 : open_debug_file(object);
    Elf *symbols = debug >= 0 ? elf_begin(debug, ELF_C_READ, NULL) : NULL;

    if (symbols && has_symtab(symbols))
        file.symbols = symbols;
    if (take_symbols(&file)) {
        size_labels(&file);
        give(&file, object, list);
    }
    free(file.symbol);
    elf_end(symbols);
    if (debug >= 0)
        close(debug);
}

static bool same_build(const struct trace_object *object)
{
    uint8_t id[TRACE_BUILD_ID_BYTES];
    unsigned bytes = object_build_id(object->path, id);

    return bytes == object->build_id_bytes && !memcmp(id, object->build_id, bytes);
}

void name_list_read_file(struct name_list *list, const struct trace_object *object)
{
    int file = same_build(object) ? open(object->path, O_RDONLY | O_CLOEXEC) : -1;
    Elf *elf;

    if (file < 0)
        return;
    elf_version(EV_CURRENT);
    elf = elf_begin(file, ELF_C_READ, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF)
        read_elf(list, object, elf);
    elf_end(elf);
    close(file);
}
