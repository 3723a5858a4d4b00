/* The form of a file of samples, shared by writer and reader; docs/sample-format.md. */
#ifndef SAMPLES_FORM_H
#define SAMPLES_FORM_H

#include "samples.h"

#define FORM_VERSION     2u
#define FORM_OLDEST      1u /* read as well: it has no names of functions */
#define FORM_MAGIC       "P4SIMSM\n"
#define FORM_CHUNK_MAGIC "SMPL"

enum {
    FORM_HEADER = 24, /* magic, version, bytes of text, XXH64 of text */
    FORM_HEADER_TEXT_MAX = 1 << 16,
    FORM_CHUNK_HEADER = 24,   /* magic, raw bytes, stored bytes, sequence, XXH64 */
    FORM_CHUNK_RAW = 1 << 17, /* model choice: some thousand samples, lost at most by a cut */
    FORM_RECORD_MAX = 8192,
};
enum { /* offsets in a chunk's header; numbers are little-endian */
       CHUNK_RAW_BYTES = 4,
       CHUNK_STORED_BYTES = 8,
       CHUNK_SEQUENCE = 12,
       CHUNK_CHECKSUM = 16,
};

/* First byte of a record. */
enum form_record { FORM_OBJECT = 1, FORM_CODE, FORM_SAMPLE, FORM_EXACT, FORM_END, FORM_FUNCTION };

/* Flags of a sample. */
enum {
    FORM_KIND = 0x03, /* enum sim_sample_kind */
    FORM_REGISTERS = 0x04,
    FORM_WIDE = 0x08, /* 18 registers, not 10 */
    FORM_TRUTH = 0x10,
    FORM_PREDICTED = 0x20,
    FORM_LAST_BRANCHES = 0x40,
    FORM_CHAIN_SHIFT = 7, /* two bits: enum samples_chain */
    FORM_SKID = 0x200,
};

enum { FORM_NARROW_REGISTERS = 10, FORM_WIDE_REGISTERS = P4PMU_PEBS_REGISTERS };

/* What numbers of a record are told relative to; all 0 at a chunk's beginning. */
struct form_last {
    uint64_t clock, ip, code_ip, exact_ip;
    uint64_t registers[P4PMU_PEBS_REGISTERS];
};

static inline uint64_t form_zigzag(uint64_t difference)
{
    return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static inline uint64_t form_unzigzag(uint64_t value)
{
    return value >> 1 ^ (value & 1 ? UINT64_MAX : 0);
}

static inline void form_put(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t form_get(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* The JSON texts of the header and of the end record. form_about_text and form_end_text give
 * malloc'ed text or NULL; the readers false with what was wrong. */
char *form_about_text(const struct samples_about *about);
char *form_end_text(const struct samples_about *about, const struct samples_end *end);
bool form_read_about(const char *text, size_t bytes, struct samples_about *about, char why[256]);
bool form_read_end(const char *text, size_t bytes, size_t events, struct samples_end *end,
                   char why[256]);

#endif
