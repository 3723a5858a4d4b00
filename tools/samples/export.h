/* Samples in the forms of existing viewers. */
#ifndef SAMPLES_EXPORT_H
#define SAMPLES_EXPORT_H

#include "places.h"

#include <stdio.h>

/* What `perf script` prints, as stackcollapse-perf.pl, speedscope and the Firefox Profiler read it.
 * Processes and threads are numbered from 1: 0 is the idle task to such readers. */
void export_perf_script(FILE *out, const struct samples *samples, struct places *places);
/* One line a stack, outermost function first, with its number of samples: for flame graphs. */
bool export_collapsed(FILE *out, const struct samples *samples, struct places *places);
/* The Gecko profile format, version 24, which profiler.firefox.com opens. False without memory. */
bool export_gecko(FILE *out, const struct samples *samples, struct places *places);

/* "main", or "[libc.so.6]" where no function is known. */
void export_frame_name(struct places *places, uint16_t process, uint64_t address, char *name,
                       size_t size);
/* The last part of the program's first word. */
void export_command(const struct samples *samples, char *name, size_t size);
/* The address of frame INDEX of a sample: 0 is the sample itself, then its callers. A return
 * address stands behind its call, so one byte before it is asked for. */
uint64_t export_frame(const struct samples_sample *sample, unsigned index);

#endif
