/*
 * Names through elfutils: one Dwfl per file, opened when the first address in it is asked for.
 *
 * Addresses of the process become addresses of the file by the mapping's offset and the program
 * headers, so it does not matter where the run had mapped it. Separate debugging information is
 * found where the distribution puts it (/usr/lib/debug, by build id).
 *
 * Where the file is gone or is another build, the names that a recording has kept are used: of
 * functions that were executed, without source lines.
 *
 * Not done: functions inlined into others are shown as the function they are part of.
 */
#define _GNU_SOURCE
#include "places.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct object_file {
    const char *path;
    const char *name; /* its last part */
    Dwfl *dwfl;       /* or NULL: it cannot be used */
    Dwfl_Module *module;
    Elf *elf;
    GElf_Addr bias; /* the module's addresses minus the file's */
    char trouble[400];
};

/* What was found last: samples name the same few instructions again and again. */
enum { FOUND = 4096 };
struct found {
    bool known;
    uint16_t process;
    uint64_t address;
    struct place place;
};

struct places {
    const struct samples *samples;
    struct found found[FOUND]; /* by the address's low bits */
    struct object_file *file;
    size_t file_count;
    char *debug_path;
    Dwfl_Callbacks callbacks;
};

struct places *places_new(const struct samples *samples)
{
    struct places *places = calloc(1, sizeof *places);
    if (!places)
        return NULL;
    places->samples = samples;
    places->callbacks = (Dwfl_Callbacks){
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &places->debug_path,
    };
    return places;
}

void places_free(struct places *places)
{
    if (!places)
        return;
    for (size_t i = 0; i < places->file_count; i++)
        dwfl_end(places->file[i].dwfl);
    free(places->file);
    free(places);
}

/* ---- files -------------------------------------------------------------------------------------
 */

/* The same build as was run? A file without an id is taken at its name's word. */
static bool same_build(const struct object_file *file, const struct trace_object *object)
{
    uint8_t const *id;
    GElf_Addr address;
    int bytes = dwfl_module_build_id(file->module, &id, &address);
    if (!object->build_id_bytes)
        return true;
    return bytes == object->build_id_bytes && !memcmp(id, object->build_id, (size_t)bytes);
}

static bool is_of(const struct trace_function *function, const struct trace_object *object)
{
    return !strcmp(function->path, object->path) &&
           function->build_id_bytes == object->build_id_bytes &&
           !memcmp(function->build_id, object->build_id, object->build_id_bytes);
}

/* Does the file of samples itself name functions of OBJECT? */
static bool has_names(const struct samples *samples, const struct trace_object *object)
{
    for (size_t i = 0; i < samples->names.count; i++)
        if (is_of(&samples->names.function[i], object))
            return true;
    return false;
}

static void give_up(struct object_file *file, const char *why)
{
    dwfl_end(file->dwfl);
    file->dwfl = NULL;
    snprintf(file->trouble, sizeof file->trouble, "%.250s: %s", file->path, why);
}

static void open_file(struct places *places, struct object_file *file,
                      const struct trace_object *object)
{
    struct stat status;
    if (stat(object->path, &status) != 0 || !S_ISREG(status.st_mode)) {
        give_up(file, has_names(places->samples, object)
                          ? "is not here (any more): its functions are named as recorded"
                          : "is not here (any more): its functions have no names");
        return;
    }
    file->dwfl = dwfl_begin(&places->callbacks);
    if (!file->dwfl)
        return;
    dwfl_report_begin(file->dwfl);
    file->module = dwfl_report_offline(file->dwfl, file->name, object->path, -1);
    dwfl_report_end(file->dwfl, NULL, NULL);
    file->elf = file->module ? dwfl_module_getelf(file->module, &file->bias) : NULL;
    if (!file->elf)
        give_up(file, dwfl_errmsg(-1));
    else if (!same_build(file, object))
        give_up(file, has_names(places->samples, object)
                          ? "is another build than the one that ran (build ids differ): its "
                            "functions are named as recorded"
                          : "is another build than the one that ran (build ids differ): its "
                            "functions have no names");
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static struct object_file *file_of(struct places *places, const struct trace_object *object)
{
    for (size_t i = 0; i < places->file_count; i++)
        if (!strcmp(places->file[i].path, object->path))
            return &places->file[i];
    struct object_file *bigger =
        realloc(places->file, (places->file_count + 1) * sizeof *places->file);
    if (!bigger)
        return NULL;
    places->file = bigger;
    struct object_file *file = &places->file[places->file_count++];
    *file = (struct object_file){.path = object->path, .name = last_part(object->path)};
    if (object->path[0] == '/')
        open_file(places, file, object);
    return file;
}

const char *places_trouble(const struct places *places, size_t index)
{
    for (size_t i = 0; i < places->file_count; i++)
        if (places->file[i].trouble[0] && index-- == 0)
            return places->file[i].trouble;
    return NULL;
}

/* ---- addresses ---------------------------------------------------------------------------------
 */

/* The loadable segment that holds file position OFFSET. */
static bool segment_at(Elf *elf, uint64_t offset, GElf_Phdr *header)
{
    size_t count;
    if (elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(elf, (int)i, header) && header->p_type == PT_LOAD &&
            offset >= header->p_offset && offset < header->p_offset + header->p_memsz)
            return true;
    return false;
}

/* Whether ADDRESS of the process has an address in the file's module: *MODULE. */
static bool to_module(const struct object_file *file, const struct trace_object *object,
                      uint64_t address, GElf_Addr *module)
{
    GElf_Phdr header;
    uint64_t offset = address - object->start + object->offset;
    if (!file->dwfl || !segment_at(file->elf, offset, &header))
        return false;
    *module = offset - header.p_offset + header.p_vaddr + file->bias;
    return true;
}

static void take_line(const struct object_file *file, GElf_Addr address, struct place *place)
{
    Dwfl_Line *line = dwfl_module_getsrc(file->module, address);
    if (line)
        place->file = dwfl_lineinfo(line, NULL, &place->line, NULL, NULL, NULL);
}

/* Is module address ADDRESS in memory the file asks for, its zeroed data included? */
static bool in_memory_of(const struct object_file *file, GElf_Addr address)
{
    GElf_Phdr header;
    size_t count = 0;
    elf_getphdrnum(file->elf, &count);
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(file->elf, (int)i, &header) && header.p_type == PT_LOAD &&
            address - file->bias >= header.p_vaddr &&
            address - file->bias < header.p_vaddr + header.p_memsz)
            return true;
    return false;
}

/* Zeroed data (.bss) are no mapping of their file: found by how far they are from its code. */
static bool find_zeroed(struct places *places, uint16_t process, uint64_t address,
                        struct place *place)
{
    for (size_t i = 0; i < places->samples->object_count; i++) {
        const struct trace_object *object = &places->samples->object[i];
        if (object->process != process || !object->executable)
            continue;
        const struct object_file *file = file_of(places, object);
        GElf_Addr first, module;
        GElf_Off offset = 0;
        GElf_Sym symbol;
        if (!file || !to_module(file, object, object->start, &first))
            continue;
        module = first + (address - object->start);
        if (!in_memory_of(file, module))
            continue;
        place->object = file->name;
        place->function =
            dwfl_module_addrinfo(file->module, module, &offset, &symbol, NULL, NULL, NULL);
        place->offset = offset;
        place->start = address - offset;
        place->size = place->function ? symbol.st_size : 0;
        return true;
    }
    return false;
}

/* ---- names of the recording ---------------------------------------------------------------------
 */

/* The innermost: of those that cover the address the one that begins last, the first of these. */
static void take_recorded(const struct samples *samples, const struct trace_object *object,
                          uint64_t address, struct place *place)
{
    uint64_t at = address - object->start + object->offset;
    const struct trace_function *best = NULL;
    for (size_t i = 0; i < samples->names.count; i++) {
        const struct trace_function *one = &samples->names.function[i];
        if (at >= one->offset && at - one->offset < one->size && is_of(one, object) &&
            (!best || one->offset > best->offset))
            best = one;
    }
    if (!best)
        return;
    place->function = best->name;
    place->offset = at - best->offset;
    place->start = address - place->offset;
    place->size = best->size;
}

/* Where the function of that name begins in OBJECT. */
static bool find_recorded(const struct samples *samples, const struct trace_object *object,
                          const char *name, uint64_t *address)
{
    for (size_t i = 0; i < samples->names.count; i++) {
        const struct trace_function *one = &samples->names.function[i];
        if (strcmp(one->name, name) != 0 || !is_of(one, object) || one->offset < object->offset ||
            one->offset - object->offset >= object->end - object->start)
            continue;
        *address = object->start + (one->offset - object->offset);
        return true;
    }
    return false;
}

/* ---- finding -----------------------------------------------------------------------------------
 */

struct place places_find(struct places *places, uint16_t process, uint64_t address)
{
    struct place place = {.object = "[unknown]"};
    const struct trace_object *object = samples_object_at(places->samples, process, address);
    if (!object && find_zeroed(places, process, address, &place))
        return place;
    const struct object_file *file = object ? file_of(places, object) : NULL;
    GElf_Addr module;
    GElf_Off offset = 0;
    GElf_Sym symbol;
    if (!file)
        return place;
    place.object = file->name;
    if (!file->dwfl)
        take_recorded(places->samples, object, address, &place);
    if (!to_module(file, object, address, &module))
        return place;
    place.function = dwfl_module_addrinfo(file->module, module, &offset, &symbol, NULL, NULL, NULL);
    place.offset = offset;
    place.start = address - offset;
    place.size = place.function ? symbol.st_size : 0;
    take_line(file, module, &place);
    return place;
}

/* Code that a program made, in the place of a file it no longer has mapped or beside all files. */
static bool is_in_no_file(const struct places *places, uint16_t process, uint64_t address)
{
    const struct trace_object *object = samples_object_at(places->samples, process, address);
    return object && !object->executable && object->path[0] == '/';
}

static struct place find_code(struct places *places, uint16_t process, uint64_t address)
{
    struct place place = {.object = "[no file]"};
    if (is_in_no_file(places, process, address))
        return place;
    if (!samples_object_at(places->samples, process, address) && places_in_kernel(address, &place))
        return place;
    return places_find(places, process, address);
}

struct place places_code(struct places *places, uint16_t process, uint64_t address)
{
    struct found *found = &places->found[address % FOUND];
    if (!found->known || found->process != process || found->address != address)
        *found = (struct found){true, process, address, find_code(places, process, address)};
    return found->place;
}

/* The symbol of that name that is code. */
static bool find_symbol(const struct object_file *file, const char *name, GElf_Addr *address,
                        GElf_Sym *symbol)
{
    int count = dwfl_module_getsymtab(file->module);
    for (int i = 0; i < count; i++) {
        const char *found =
            dwfl_module_getsym_info(file->module, i, symbol, address, NULL, NULL, NULL);
        if (found && GELF_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
            !strcmp(found, name))
            return true;
    }
    return false;
}

bool places_function(struct places *places, uint16_t process, const char *name, struct place *place)
{
    for (size_t i = 0; i < places->samples->object_count; i++) {
        const struct trace_object *object = &places->samples->object[i];
        const struct object_file *file =
            object->process == process && object->executable ? file_of(places, object) : NULL;
        GElf_Addr wanted, first;
        GElf_Sym symbol;
        uint64_t address;
        if (file && !file->dwfl && find_recorded(places->samples, object, name, &address)) {
            *place = places_find(places, process, address);
            return true;
        }
        if (!file || !file->dwfl || !find_symbol(file, name, &wanted, &symbol) ||
            !to_module(file, object, object->start, &first) ||
            wanted - first >= object->end - object->start)
            continue;
        *place = places_find(places, process, object->start + (wanted - first));
        return true;
    }
    return false;
}

size_t places_bytes(struct places *places, uint16_t process, uint64_t address, void *to,
                    size_t count)
{
    const struct trace_object *object = samples_object_at(places->samples, process, address);
    const struct object_file *file = object ? file_of(places, object) : NULL;
    size_t bytes;
    const char *raw = file && file->dwfl ? elf_rawfile(file->elf, &bytes) : NULL;
    uint64_t offset = object ? address - object->start + object->offset : 0;
    if (!raw || offset >= bytes)
        return 0;
    if (count > object->end - address)
        count = (size_t)(object->end - address);
    if (count > bytes - offset)
        count = bytes - (size_t)offset;
    memcpy(to, raw + offset, count);
    return count;
}
