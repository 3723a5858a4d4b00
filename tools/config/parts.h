/* The parts a configuration can be judged for. */
#ifndef TOOLS_CONFIG_PARTS_H
#define TOOLS_CONFIG_PARTS_H

#include "config.h"

struct part {
    const char *name;
    unsigned model, stepping;
    bool hyper_threading;
    const char *title, *source;
};

/* Row INDEX of parts.def; NULL past the end. */
const struct part *part(size_t index);
/* The part NAME means: a row, a signature such as F29 or F29H, or a DisplayModel number. False with
 * ERROR. Numbers have no Hyper-Threading. */
bool part_find(const char *name, struct part *found, char error[512]);
/* "Pentium 4 (Northwood, 130 nm), F27H, without Hyper-Threading" for CONFIG. */
void part_title(const struct config *config, char *out, size_t size);
void part_take(const struct part *part, struct config *config);

#endif
