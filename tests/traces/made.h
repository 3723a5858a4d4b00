/*
 * Runs no program made: a small program of three threads in two address spaces is interpreted on
 * made-up memory, with native results, signals, changed pages and switches thrown in at random, and
 * recorded as it goes. For tests of recordings on hosts where no program can be run.
 */
#ifndef TESTS_TRACES_MADE_H
#define TESTS_TRACES_MADE_H

#include "lab.h"

/* Records COUNT instructions to PATH and gives what was executed; checkpoints EVERY so many. */
struct lab_run made_run(const char *path, uint32_t seed, size_t count, uint64_t every);

/* What made_run() says of its program and its end. */
#define MADE_PROGRAM "made\nup back\\slash"
#define MADE_NOTE    "a note\nof two lines"

#endif
