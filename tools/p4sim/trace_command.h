/* The parts of p4sim trace, a file each. ARGV[0] is the part's name. */
#ifndef P4SIM_TRACE_COMMAND_H
#define P4SIM_TRACE_COMMAND_H

#include "command.h"
#include "source.h"

int trace_record(int argc, char **argv);
int trace_show_info(int argc, char **argv);
int trace_verify(int argc, char **argv);
int trace_dump(int argc, char **argv);
int trace_cut(int argc, char **argv);
int trace_convert(int argc, char **argv);

/* An option's number, LOWEST or more; EXIT_DONE or a status after a complaint. */
int trace_number(const char *option, const char *text, uint64_t lowest, uint64_t *value);

#endif
