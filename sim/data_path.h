/* Where p4sim's data files (configs/) are, for sim and the commands. */
#ifndef SIM_DATA_PATH_H
#define SIM_DATA_PATH_H

#include <stddef.h>

enum { SIM_DATA_PLACES = 4 };

/* The folder numbered PLACE of those that are looked through, in order, in OUT; "" when that place
 * does not apply here: $P4SIM_CONFIGS, the source tree's configs/ (only when the running program
 * lies in the build tree), ../share/p4sim beside the running program, the installed folder. */
void sim_data_folder(unsigned place, char *out, size_t size);

#endif
