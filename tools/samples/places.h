/*
 * Names for addresses: object, function, source line, through elfutils. An object whose build id is
 * not the recorded one is not used, and that is said.
 */
#ifndef PLACES_H
#define PLACES_H

#include "samples.h"

/* Where an address lies, as far as it is known. Strings live as long as the struct places. */
struct place {
    const char *object;   /* file name, "[stack]", or "[unknown]" */
    const char *function; /* or NULL */
    uint64_t offset;      /* of the address in the function */
    uint64_t start, size; /* of the function, in the process; size 0: not known */
    const char *file;     /* source file, or NULL */
    int line;             /* 0: not known */
};

struct places;
struct places *places_new(const struct samples *samples);
void places_free(struct places *places);
struct place places_find(struct places *places, uint16_t process, uint64_t address);
/* The same for ADDRESS as code: what lies in no file that was mapped to be executed has no name. */
struct place places_code(struct places *places, uint16_t process, uint64_t address);
/* kernel_names.c: the routine of the model's operating system at ADDRESS; false when there is none.
 */
bool places_in_kernel(uint64_t address, struct place *place);
/* The function NAME of PROCESS, where it begins; false when none is mapped under that name. */
bool places_function(struct places *places, uint16_t process, const char *name,
                     struct place *place);
/* COUNT bytes of the file mapped at ADDRESS; how many are known. */
size_t places_bytes(struct places *places, uint16_t process, uint64_t address, void *to,
                    size_t count);
/* What hindered naming, one sentence per object, by index; NULL past the end. */
const char *places_trouble(const struct places *places, size_t index);

#endif
