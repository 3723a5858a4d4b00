/*
 * Names of functions: read from the symbols of the files a run has mapped, kept in its recording
 * as far as they were executed, read back from there.
 */
#ifndef TRACES_FUNCTION_NAMES_H
#define TRACES_FUNCTION_NAMES_H

#include "objects.h"

/* A list of functions that owns its strings. All zero is an empty one. */
struct name_list {
    struct trace_function *function;
    size_t count, capacity;
    char **string;
    size_t string_count, string_capacity;
};

/* LENGTH bytes of TEXT as a string that lives as long as the list; NULL without memory. */
const char *name_list_string(struct name_list *list, const char *text, size_t length);
/* The strings of FUNCTION must live as long as the list. False without memory. */
bool name_list_add(struct name_list *list, const struct trace_function *function);
void name_list_free(struct name_list *list);

/* Functions of the ELF file that OBJECT maps are added, by its symbols or those of its separate
 * debugging information. Nothing is where the file cannot be read or is of another build. */
void name_list_read_file(struct name_list *list, const struct trace_object *object);

/* The functions of a chunk of a recording are added; false: damaged, or no memory. */
bool name_list_read_chunk(struct name_list *list, const uint8_t *raw, size_t bytes);

struct writer;
/* Writes the list, in its order, as chunks of a run of INSTRUCTIONS; false: no memory. */
bool names_write(const struct name_list *list, struct writer *writer, uint64_t instructions);

/* Of several functions that cover an address the one that comes first here names it: by file,
 * where it begins, size; else as the symbols stood. */
void name_list_sort(struct name_list *list);

/* ---- what was executed -------------------------------------------------------------------------
 */

/* Places in files where instructions of the run stand. All zero is an empty log. */
struct place_log {
    struct executed_place {
        size_t object; /* index in the log of objects */
        uint64_t offset;
    } * place;
    size_t count, capacity;
    size_t object, objects; /* of the last one: it holds while the log of objects has not grown */
    bool out_of_memory;
};

/* The instruction at IP of PROCESS was executed for the first time. */
void place_log_add(struct place_log *log, const struct object_log *objects, uint16_t process,
                   uint64_t ip);
/* Puts into USED the functions in which instructions of the log stand: of KNOWN, or of the files
 * when that is NULL. False without memory. */
bool place_log_names(struct place_log *log, const struct object_log *objects,
                     const struct name_list *known, struct name_list *used);
void place_log_free(struct place_log *log);

#endif
