/* What the tests of dialects share. */
#ifndef TESTS_CONFIG_LAB_DIALECT_H
#define TESTS_CONFIG_LAB_DIALECT_H

#include "../sim/cmocka_all.h"
#include "dialect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct printed {
    char text[8192];
    unsigned lost;
};

static inline struct config part_of(unsigned model, bool hyper_threading)
{
    return (struct config){.model = model, .stepping = 9, .hyper_threading = hyper_threading};
}

static inline struct config parsed(enum config_dialect dialect, const char *text, unsigned model,
                                   bool hyper_threading)
{
    struct config config = part_of(model, hyper_threading);
    char error[512] = "";
    if (!dialect_parse(dialect, text, &config, NULL, error))
        fail_msg("%s '%s': %s", config_dialect_name(dialect), text, error);
    return config;
}

static inline struct printed printed_in(enum config_dialect dialect, const struct config *config)
{
    static struct printed p;
    struct dialect_notes notes = {NULL, 0, 0};
    memset(&p, 0, sizeof p);
    FILE *out = fmemopen(p.text, sizeof p.text - 1, "w");
    assert_non_null(out);
    dialect_print(dialect, config, out, &notes);
    fclose(out);
    p.lost = notes.lost;
    return p;
}

/* The error a text gives; "" when it is taken. */
static inline const char *complaint(enum config_dialect dialect, const char *text)
{
    static char error[512];
    struct config config = part_of(2, false);
    if (dialect_parse(dialect, text, &config, NULL, error))
        error[0] = '\0';
    return error;
}

#endif
