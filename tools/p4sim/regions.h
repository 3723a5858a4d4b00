/* --region of commands: regions asked for, and those a recording keeps. */
#ifndef P4SIM_REGIONS_H
#define P4SIM_REGIONS_H

#include "sim.h"

enum { REGIONS_MOST = 32 };

struct regions {
    struct sim_region_spec spec[REGIONS_MOST];
    size_t count;
};

/* One more; EXIT_DONE or EXIT_USAGE after a complaint of COMMAND. */
int regions_take(struct regions *regions, const char *command, const char *text);
/* Those that were asked for when the recording at PATH was made; EXIT_DONE or a status after a
 * complaint. A file that cannot be read has none. */
int regions_of_recording(struct regions *regions, const char *command, const char *path);
/* As a recording keeps them. */
void regions_to_keep(const struct regions *regions, struct trace_region keep[REGIONS_MOST]);

#endif
