/* The kernel's code of the simulated machine, as `explain os-model` shows it. */
#ifndef P4SIM_OS_MODEL_H
#define P4SIM_OS_MODEL_H

#include <stdio.h>

void os_model_print(FILE *out);

#endif
