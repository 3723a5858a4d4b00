/*
 * What an ESCR selects: the event mask's logic and the qualification by logical processor and CPL.
 *
 * Most masks are plain: any bit in common counts. The bus queue events combine groups of bits by an
 * expression that changed with model 2 (SDM3 table 19-28, notes 4a and 4b of IOQ_allocation). The
 * bus sequence unit events hold numbers in groups of bits, which must be equal.
 *
 * Not modelled: the effect of undocumented mask bits.
 */
#include "match.h"

enum {
    IOQ_TYPE = 0x001F,
    IOQ_ANY_TYPE = 0x0001, /* "use 00001 for invalid or default" */
    IOQ_READ = 0x0020,
    IOQ_WRITE = 0x0040,
    IOQ_MEMORY = 0x0F80,
    IOQ_AGENT = 0x6000,
    IOQ_PREFETCH = 0x8000,

    BSQ_TYPE = 0x0003,
    BSQ_LENGTH = 0x000C,
    BSQ_DEMAND = 0x0200,
    BSQ_MEMORY = 0x3800,
    BSQ_ATTRIBUTES = 0x05E0 /* input/output, lock, cacheable, split, ordered */
};

static bool ioq_matches(unsigned mask, unsigned bits, unsigned model)
{
    unsigned both = mask & bits;
    unsigned type = mask & IOQ_TYPE;
    bool any_type = type == IOQ_ANY_TYPE;
    bool same_type = type == (bits & IOQ_TYPE);
    bool direction = both & (IOQ_READ | IOQ_WRITE);
    bool memory = both & IOQ_MEMORY;

    if (!(both & IOQ_AGENT))
        return false;
    if ((bits & IOQ_READ) && (bits & IOQ_PREFETCH) && !(mask & IOQ_PREFETCH))
        return false;
    if (model >= 2)
        return (any_type || same_type) && direction && memory;
    if (mask & (IOQ_READ | IOQ_WRITE))
        memory = false;
    return (!any_type && same_type) || direction || memory;
}

/* The three numbers and the demand bit must be equal; an attribute set in the mask is required, one
 * that is clear does not matter (model choice: the manual asks for "an encoding for each sub-group"
 * and explains only the demand bit both ways). */
static bool bsq_matches(unsigned mask, unsigned bits)
{
    unsigned equal = BSQ_TYPE | BSQ_LENGTH | BSQ_MEMORY | BSQ_DEMAND;
    return ((mask ^ bits) & equal) == 0 && (mask & ~bits & BSQ_ATTRIBUTES) == 0;
}

bool p4pmu_match(enum p4pmu_logic logic, unsigned mask, unsigned bits, unsigned model)
{
    switch (logic) {
    case P4PMU_OR:
        return mask & bits;
    case P4PMU_IOQ:
        return ioq_matches(mask, bits, model);
    case P4PMU_BSQ:
        return bsq_matches(mask, bits);
    case P4PMU_TAG_ONLY:
        break;
    }
    return false;
}

enum { WHO_CPL0 = 0x1, WHO_USER = 0xE }; /* who values of logical processor 0 */

unsigned p4pmu_qualify_ts(unsigned qualifiers)
{
    unsigned who = 0;
    if (qualifiers & P4PMU_ESCR_T0_OS_MASK)
        who |= WHO_CPL0;
    if (qualifiers & P4PMU_ESCR_T0_USR_MASK)
        who |= WHO_USER;
    if (qualifiers & P4PMU_ESCR_T1_OS_MASK)
        who |= WHO_CPL0 << 4;
    if (qualifiers & P4PMU_ESCR_T1_USR_MASK)
        who |= WHO_USER << 4;
    return who;
}

/* SDM3 table 18-67: which thread a bit names does not matter, and it is enough that one of the two
 * is at the selected level. */
unsigned p4pmu_qualify_ti(unsigned qualifiers, unsigned user, unsigned lps)
{
    unsigned own = 0;
    if (qualifiers & (P4PMU_ESCR_T0_OS_MASK | P4PMU_ESCR_T1_OS_MASK))
        own |= WHO_CPL0;
    if (qualifiers & (P4PMU_ESCR_T0_USR_MASK | P4PMU_ESCR_T1_USR_MASK))
        own |= WHO_USER;
    unsigned who = own;
    if (lps == 2) {
        unsigned level[2] = {user & 1 ? WHO_USER : WHO_CPL0, user & 2 ? WHO_USER : WHO_CPL0};
        who = (own & level[1] ? 0xFu : own) | (own & level[0] ? 0xFu : own) << 4;
    }
    return who;
}
