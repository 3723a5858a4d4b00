/*
 * Differences between other tools' tables and ours, as rows.
 */
#define _GNU_SOURCE
#include "tables.h"

#include <string.h>
#include <strings.h>

static const struct table_row rows[] = {
#define TABLE_ROW(tool, event, what, theirs, ours, status, reason, source)                         \
    {tool, event, what, theirs, ours, TABLE_##status, reason, source},
#include "tables.def"
};

static const struct {
    const char *name, *meaning;
} statuses[TABLE_STATUSES] = {
    [TABLE_ERROR] = {"error", "theirs cannot work or contradicts all other sources"},
    [TABLE_SPELLING] = {"spelling", "the same thing under another name"},
    [TABLE_SUBSET] = {"subset", "theirs leaves out what ours has"},
    [TABLE_POLICY] = {"policy", "a choice of the tool, not a statement about the hardware"},
    [TABLE_OPEN] = {"open", "sources disagree and nothing decides; ours is a model choice"},
};

const struct table_row *table_row(size_t index)
{
    return index < sizeof rows / sizeof rows[0] ? &rows[index] : NULL;
}

const char *table_status_name(enum table_status status)
{
    return statuses[status].name;
}

const char *table_status_meaning(enum table_status status)
{
    return statuses[status].meaning;
}

const struct table_row *table_find(const char *tool, const char *event, const char *what)
{
    const struct table_row *row;
    for (size_t i = 0; (row = table_row(i)); i++) {
        if (!strcmp(row->tool, tool) && !strcmp(row->event, event) && !strcmp(row->what, what))
            return row;
    }
    return NULL;
}

static bool is_tool(const char *word)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!strcasecmp(rows[i].tool, word))
            return true;
    }
    return false;
}

bool table_row_has(const struct table_row *row, const char *word)
{
    const char *const columns[] = {
        row->tool, row->event,  row->what,   row->theirs,
        row->ours, row->reason, row->source, table_status_name(row->status)};
    if (is_tool(word))
        return !strcasecmp(row->tool, word);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        if (strcasestr(columns[i], word))
            return true;
    }
    return false;
}
