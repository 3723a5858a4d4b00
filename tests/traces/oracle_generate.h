/*
 * Makes cases for the oracle test: an instruction of a given form (oracle_forms.def) with random
 * operands and a state full of edge values, arranged so that its memory operands lie in reach.
 */
#ifndef TESTS_TRACES_ORACLE_GENERATE_H
#define TESTS_TRACES_ORACLE_GENERATE_H

#include "oracle.h"

#include <stdbool.h>

struct oracle_form {
    const char *bytes, *undefined, *name;
};

extern const struct oracle_form oracle_forms[];
extern const unsigned oracle_form_count;

/* Is there such an instruction in 64-bit mode (WIDE), or in 32-bit mode? */
bool oracle_form_exists(const struct oracle_form *form, bool wide);

/* A case of this form; RANDOM is the generator's state, not 0. */
struct oracle_state oracle_generate(const struct oracle_form *form, bool wide, uint64_t *random);

/* The flags the form leaves undefined for this case. */
uint32_t oracle_undefined_flags(const struct oracle_form *form, const struct oracle_state *state);

#endif
