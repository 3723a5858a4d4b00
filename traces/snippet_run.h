/*
 * An assembled snippet executed by the interpreter alone, where no live program can run: no ptrace,
 * or a host that is no x86.
 *
 * It begins as a live one does (live_window.h): its segments as the kernel maps them, a stack of
 * zeros, general registers 0 but the stack pointer, EFLAGS 0x202, x87 control word 0x37f, MXCSR
 * 0x1f80. Nothing else is mapped. A fault ends it with the signal the kernel makes of it; an
 * instruction the interpreter does not know, and a system call, end it with an error.
 *
 * Limits: what the interpreter does not know is not told from what would fault there; the stack has
 * 8 MB; x87 functions are recorded as interpreted, whose replay elsewhere may round differently.
 */
#ifndef TRACES_SNIPPET_RUN_H
#define TRACES_SNIPPET_RUN_H

#include "live_window.h"

/* PROGRAM is the ELF file; WHY says why no live program can run. Of OPTIONS cpuid, record_to, argv
 * (for the recording) and long_mode count. Errors as the openers of source.h. */
struct trace_source *snippet_run_open(const char *program, const struct trace_live_options *options,
                                      const struct live_window *window, const char *why,
                                      char error[512]);

#endif
