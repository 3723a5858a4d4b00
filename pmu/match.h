/* How an event mask is compared with a fact: pure functions, one for each kind of logic. */
#ifndef P4PMU_MATCH_H
#define P4PMU_MATCH_H

#include "p4pmu.h"

/* Whether a fact described by BITS is one of those MASK selects, by LOGIC, on MODEL of family 0FH.
 */
bool p4pmu_match(enum p4pmu_logic logic, unsigned mask, unsigned bits, unsigned model);

/* The who values (bit P4PMU_WHO(lp, cpl)) that pass ESCR[3:0] = QUALIFIERS for a thread-specific
 * event. */
unsigned p4pmu_qualify_ts(unsigned qualifiers);
/* The same for a thread-independent event. USER: bit n is set while logical processor n is at CPL 1
 * to 3; it stands for the logical processor the fact does not name. LPS: 1 or 2. */
unsigned p4pmu_qualify_ti(unsigned qualifiers, unsigned user, unsigned lps);

#endif
