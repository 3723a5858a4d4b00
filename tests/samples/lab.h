/* Made-up samples for tests of files, names and exports: the machine plays no part. */
#ifndef TESTS_SAMPLES_LAB_H
#define TESTS_SAMPLES_LAB_H

#include "samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* A path of this test process in the temporary folder. */
const char *lab_path(const char *name);
/* Sample NUMBER of a made-up run: everything in it follows from the number. */
void lab_sample(uint64_t number, bool wide, struct samples_sample *sample, uint64_t *frames);
/* A file of COUNT samples with objects, code and exact counts, ended when FINISHED. */
void lab_write(const char *path, size_t count, bool wide, bool finished);
struct samples *lab_read(const char *path);

#endif
