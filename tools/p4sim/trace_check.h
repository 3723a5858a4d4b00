/* p4sim trace check; see trace_check.c. */
#ifndef P4SIM_TRACE_CHECK_H
#define P4SIM_TRACE_CHECK_H

/* ARGV from "check" on; gives the exit status. */
int trace_check(int argc, char **argv);

#endif
