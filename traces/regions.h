/*
 * The regions a recording knows: those asked for when it was made, and the markers its run
 * executed.
 */
#ifndef TRACES_REGIONS_H
#define TRACES_REGIONS_H

#include "code_pages.h"

/* All zero is an empty list. */
struct region_list {
    struct trace_region *region;
    size_t count, capacity;
};

/* Adds it unless it is there; one with control characters, without letters or too long, or more
 * than STREAM_REGIONS_MAX, are left out. False without memory. */
bool region_list_add(struct region_list *list, bool asked, const char *text);
void region_list_free(struct region_list *list);

/* The regions of a chunk of a recording are added; false: damaged, or no memory. */
bool region_list_read_chunk(struct region_list *list, const uint8_t *raw, size_t bytes,
                            uint64_t count);
/* Reads those of the recording at PATH, as far as it is good. */
void region_list_read_file(struct region_list *list, const char *path);

struct writer;
/* Writes those asked for, or the markers, as chunks of a run of INSTRUCTIONS; false: no memory. */
bool regions_write(const struct region_list *list, bool asked, struct writer *writer,
                   uint64_t instructions);

/* ---- markers, as code is executed --------------------------------------------------------------
 */

/* What was executed may be a marker whose name goes on in a page that is not known yet. All zero:
 * nothing was. */
struct marker_look {
    uint64_t ip;
    uint16_t process;
    bool waits;
};

/* The instruction at IP was executed for the first time, in a process with these PAGES. Markers are
 * added to the list. False without memory. */
bool marker_look_at(struct marker_look *look, struct region_list *list,
                    const struct code_page_set *pages, uint16_t process, uint64_t ip);
/* More of the pages may be known: the marker that waits. */
bool marker_look_again(struct marker_look *look, struct region_list *list,
                       const struct code_page_set *pages);

#endif
