/*
 * A small measuring library in the manner of the Pentium 4's time: the program brackets what it
 * wants to know, measurements nest, results are kept and written at the end.
 *
 *   p4pm_open();
 *   p4pm_begin("sort");
 *   ...
 *   p4pm_end();
 *   p4pm_write(stdout);
 *
 * It programs the counters with WRMSR and reads them with RDPMC, in line. On a real system that
 * takes a kernel that lets it (WRMSR needs CPL 0); under `p4sim run` it just works.
 */
#ifndef P4PM_H
#define P4PM_H

#include <stdio.h>

enum { P4PM_NAMES = 64, P4PM_DEPTH = 32 };

/* Programs and starts the counters; forgets earlier results. */
void p4pm_open(void);
/* Stops them. */
void p4pm_close(void);

/* Opens a measurement inside the present one; NAME must live on. Measurements of one name add up.
 * 0 when P4PM_DEPTH or P4PM_NAMES is exceeded: then nothing is opened and the matching p4pm_end()
 * is still due. */
int p4pm_begin(const char *name);
/* Ends the innermost one. */
void p4pm_end(void);

/* One line per name in the order of first use: name, times, and each event's sum, with all that was
 * measured inside. The line "(empty)" is a measurement of nothing: the library's own
 * instructions, which are part of each measurement (give or take how the compiler calls it). 0 when
 * writing failed. */
int p4pm_write(FILE *file);

#endif
