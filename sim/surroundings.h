/*
 * What is around the processor: memory types of address ranges, and another agent on the bus.
 *
 *   memory TYPE FROM TO                            TYPE: wb, uc, wc, wt or wp; whole pages
 *   agent KIND ADDRESS [at CLOCK] [every CLOCKS] [times N]     KIND: read, own or write
 *
 * One statement a line, numbers decimal or with 0x, # begins a comment. Addresses are linear ones,
 * the agent's those of the first process.
 */
#ifndef SIM_SURROUNDINGS_H
#define SIM_SURROUNDINGS_H

#include "netburst.h"

/* Give MACHINE what TEXT says, before it runs. False with ERROR (line, what was expected). */
bool sim_surroundings(struct nb_machine *machine, const char *text, char error[512]);
/* The same from the file PATH. */
bool sim_surroundings_file(struct nb_machine *machine, const char *path, char error[512]);

#endif
