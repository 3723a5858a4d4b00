/* What the commands of p4sim share. */
#ifndef P4SIM_COMMAND_H
#define P4SIM_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#define P4SIM_DEFAULT_MODEL "northwood"

enum exit_status {
    EXIT_DONE = 0,        /* all was done */
    EXIT_CHECK = 1,       /* what was checked is not so */
    EXIT_USAGE = 2,       /* the command line, or events that cannot be counted together */
    EXIT_INPUT = 3,       /* a file, program or model cannot be used, or output cannot be written */
    EXIT_MACHINE = 4,     /* the simulated machine stopped: a defect of p4sim */
    EXIT_INTERRUPT = 128, /* plus the signal's number: 130 after Ctrl-C */
};

/* "p4sim COMMAND: message" on standard error; gives STATUS back. */
int complain(int status, const char *command, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Is OUTPUT the file that is to be read as INPUT? Then it is not written: true after a complaint.
 * Either may be NULL. */
bool overwrites(const char *command, const char *output, const char *input);

int command_stat(int argc, char **argv);
int command_run(int argc, char **argv);
int command_list(int argc, char **argv);
int command_trace(int argc, char **argv);
int command_check(int argc, char **argv);
int command_decode(int argc, char **argv);
int command_encode(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_convert(int argc, char **argv);
int command_fit(int argc, char **argv);
int command_tables(int argc, char **argv);
int command_annotate(int argc, char **argv);
int command_record(int argc, char **argv);
int command_report(int argc, char **argv);
int command_validate(int argc, char **argv);

/* Close FILE; false when anything written to it was lost. Standard streams are flushed, not closed.
 */
bool close_output(FILE *file);

#endif
