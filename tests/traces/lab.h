/*
 * What the tests of the instruction sources share: opening programs and recordings, comparing two
 * sources instruction by instruction, small files in a temporary folder.
 */
#ifndef TESTS_TRACES_LAB_H
#define TESTS_TRACES_LAB_H

#include "source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define LAB_PATH_BYTES 4096

/* Skips the test (and says why) unless live runs work here and PROGRAM was built. */
void lab_need_program(const char *program);
/* Skips the test unless live runs and `as` are there. */
void lab_need_snippets(void);

/* A path in a temporary folder of this test process. */
const char *lab_path(const char *name, char path[LAB_PATH_BYTES]);
void lab_remove_folder(void);

/* Opens a program of the tests with up to two arguments; its output goes to /dev/null. */
struct trace_source *lab_live(const char *program, const char *argument, const char *other,
                              const char *record_to);
/* Likewise, with the choice of leaving every instruction to the processor. */
struct trace_source *lab_live_how(const char *program, const char *argument, bool native_only);
struct trace_source *lab_snippet(const char *text);
struct trace_source *lab_file(const char *path);

/* Reads to the end; gives the count. The result must be WANTED. */
uint64_t lab_drain(struct trace_source *source, enum trace_result wanted);

/* Everything a test may want to compare of a run. */
struct lab_run {
    struct trace_instruction *instructions;
    size_t count;
    struct trace_end end;
    uint64_t code_hash;   /* of the bytes trace_source_code_at() gave around each instruction */
    uint64_t object_hash; /* of the files the run mapped */
    uint64_t wrong_hash;  /* of what the wrong paths behind taken branches did */
    uint64_t wrong_steps; /* instructions on these paths */
};

/* Takes the whole run and closes the source. The result must be TRACE_END. */
struct lab_run lab_take(struct trace_source *source);
void lab_free(struct lab_run *run);
void lab_assert_equal(const struct lab_run *one, const struct lab_run *other);

/* Whole files. */
uint8_t *lab_read(const char *path, size_t *count);
void lab_write(const char *path, const uint8_t *bytes, size_t count);

#endif
