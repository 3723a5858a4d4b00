/*
 * The machine's own statistics as data: name, unit, text, place.
 */
#include "netburst.h"

static const struct {
    const char *name, *unit, *text;
    size_t offset;
} rows[] = {
#define S(name, unit, text) {#name, unit, text, offsetof(struct nb_stats, name)},
#include "netburst_stats.def"
#undef S
};

const char *nb_stat_describe(size_t index, const char **unit, const char **text, size_t *offset)
{
    if (index >= sizeof rows / sizeof rows[0])
        return NULL;
    if (unit)
        *unit = rows[index].unit;
    if (text)
        *text = rows[index].text;
    if (offset)
        *offset = rows[index].offset;
    return rows[index].name;
}
