/* The pages of p4pmu_document: what their writers share. All text goes to standard output, which is
 * the page that is open. */
#ifndef P4PMU_DOCUMENT_H
#define P4PMU_DOCUMENT_H

#include "p4pmu.h"

/* "2, 3, 4, 6" for a set of models, "all" for all. */
const char *models_text(unsigned models);
/* "0, 1, 4" for a set of counters. */
void print_counters(uint32_t counters);
/* Text inside a table cell: a bar would end it. */
void print_cell(const char *text);
/* The anchor a heading gets: its text in lower case. */
void print_anchor(const char *heading);

/* FOLDER/NAME.md becomes standard output; false with a message when it cannot. */
bool open_page(const char *folder, const char *name);
/* False with a message when not all of it was written. */
bool close_page(void);

/* FOLDER/registers.md and FOLDER/registers/NAME.md for each register. */
bool write_registers(const char *folder);

#endif
