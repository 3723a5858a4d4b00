/* The program file of a live run: where it is, and whether the machine model can run it. */
#ifndef TRACES_PROGRAM_H
#define TRACES_PROGRAM_H

#include "source.h"

#define PROGRAM_PATH_BYTES 4096

/* Finds NAME as a shell would (a name with a slash is a path) and checks that it is an ELF
 * program of this architecture, a 64-bit one only with LONG_MODE. False: ERROR and *STATUS as for
 * the openers. */
bool program_find(const char *name, bool long_mode, char path[PROGRAM_PATH_BYTES], char error[512],
                  int *status);

/* Likewise for a program of any kind, a script included: whoever runs it will judge it. */
bool program_find_any(const char *name, char path[PROGRAM_PATH_BYTES], char error[512],
                      int *status);

#endif
