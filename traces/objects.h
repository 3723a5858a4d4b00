/*
 * What files a run's processes have mapped: a log that only grows, in the order of the run.
 */
#ifndef TRACES_OBJECTS_H
#define TRACES_OBJECTS_H

#include "source.h"

struct object_log {
    struct trace_object *object;
    size_t count, capacity;
    bool out_of_memory; /* the log has holes */
};

/* Adds OBJECT unless the newest entry that covers its addresses says the same. */
void object_log_add(struct object_log *log, const struct trace_object *object);
void object_log_free(struct object_log *log);

/* The build id in the ELF notes of the file at PATH; how many bytes, 0 when it has none. */
unsigned object_build_id(const char *path, uint8_t id[TRACE_BUILD_ID_BYTES]);

#endif
