/*
 * The named metrics and their terms.
 */
#define _GNU_SOURCE
#include "metrics.h"
#include "p4pmu.h"

#include <stdio.h>
#include <string.h>

static const struct metric_row rows[] = {
#define DERIVED_METRIC(name, formula, models, enable, matrix, terms, description, source)          \
    {#name, formula, models, enable, matrix, terms, description, source},
#include "derived_metrics.def"
#undef DERIVED_METRIC
};

const struct metric_row *metric_row(size_t index)
{
    return index < sizeof rows / sizeof rows[0] ? &rows[index] : NULL;
}

const struct metric_row *metric_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!strcasecmp(name, rows[i].name))
            return &rows[i];
    }
    return NULL;
}

bool metric_next_term(const char **at, struct metric_term *term)
{
    const char *text = *at + strspn(*at, " "), *equals = strchr(text, '=');
    if (!*text || !equals)
        return false;
    size_t length = strcspn(text, " ");
    snprintf(term->letter, sizeof term->letter, "%.*s", (int)(equals - text), text);
    snprintf(term->event, sizeof term->event, "%.*s", (int)(length - (size_t)(equals + 1 - text)),
             equals + 1);
    *at = text + length;
    return true;
}
