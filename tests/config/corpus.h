/* The configurations of tests/config/wrong and tests/config/sound. */
#ifndef TESTS_CONFIG_CORPUS_H
#define TESTS_CONFIG_CORPUS_H

#include "config.h"

struct corpus_case {
    char name[80];
    char expected[200]; /* names of findings, blanks between; "" for nothing */
    struct config config, mended;
    bool has_mended;
};

/* Call FN for every case of FOLDER; how many there were. A file that cannot be used fails the test.
 */
size_t corpus_each(const char *folder, void (*fn)(const struct corpus_case *));

#endif
