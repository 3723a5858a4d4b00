/* Differences between other tools' tables and ours; rows of tables.def. */
#ifndef TOOLS_CONFIG_TABLES_H
#define TOOLS_CONFIG_TABLES_H

#include <stdbool.h>
#include <stddef.h>

enum table_status {
    TABLE_ERROR,
    TABLE_SPELLING,
    TABLE_SUBSET,
    TABLE_POLICY,
    TABLE_OPEN,
    TABLE_STATUSES
};

struct table_row {
    const char *tool, *event, *what, *theirs, *ours;
    enum table_status status;
    const char *reason, *source;
};

/* Row INDEX; NULL past the end. */
const struct table_row *table_row(size_t index);
/* "error", "spelling", ...; and a sentence on what it means. */
const char *table_status_name(enum table_status status);
const char *table_status_meaning(enum table_status status);
/* The row of TOOL about WHAT of EVENT, or NULL. */
const struct table_row *table_find(const char *tool, const char *event, const char *what);
/* Whether WORD is in one of the columns, case ignored; the name of a tool only in that column. */
bool table_row_has(const struct table_row *row, const char *word);

#endif
