/*
 * Register fields of the monitoring hardware: shift, length and meaning in one list per register.
 *
 * Each row F(register, field, shift, length, meaning) gives P4PMU_ESCR_EVENT_MASK_SHIFT, _LENGTH
 * and _MASK. Two fields of one register that share a bit do not compile. With Hyper-Threading off
 * the T1 fields, bit 27 of the CCCR and PEBS_ENABLE bit 26 do not exist, and CCCR[17:16] is read as
 * written but has no effect.
 *
 * Sources: SDM3 figures 18-43, 18-45, 18-48, 18-49; tables 18-65, 19-33 and 35-41.
 */
#ifndef P4PMU_FIELDS_H
#define P4PMU_FIELDS_H

#include <assert.h>
#include <stdint.h>

/* Models of family 0FH as bit sets: bit n is DisplayModel n. */
#define P4PMU_ALL_MODELS    0x5Fu /* 0, 1, 2, 3, 4, 6 */
#define P4PMU_UP_TO_MODEL_2 0x07u
#define P4PMU_FROM_MODEL_2  0x5Cu
#define P4PMU_FROM_MODEL_3  0x58u
#define P4PMU_MODEL_3       0x08u
#define P4PMU_MODEL_4       0x10u

#define P4PMU_ESCR_FIELDS(F)                                                                       \
    F(ESCR, T1_USR, 0, 1, "logical processor 1 at CPL 1 to 3")                                     \
    F(ESCR, T1_OS, 1, 1, "logical processor 1 at CPL 0")                                           \
    F(ESCR, T0_USR, 2, 1, "logical processor 0 at CPL 1 to 3")                                     \
    F(ESCR, T0_OS, 3, 1, "logical processor 0 at CPL 0")                                           \
    F(ESCR, TAG_ENABLE, 4, 1, "tag the uops that match: upstream half of execution tagging")       \
    F(ESCR, TAG_VALUE, 5, 4, "execution tags to give, bit n for NBOGUSn and BOGUSn")               \
    F(ESCR, EVENT_MASK, 9, 16, "sub-events, bit 9 is number 0")                                    \
    F(ESCR, EVENT_SELECT, 25, 6, "event; 0 is none")

#define P4PMU_CCCR_FIELDS(F)                                                                       \
    F(CCCR, EXT_CASCADE, 11, 1, "count while IQ_COUNTER4 or 5 has overflowed (models 2, 3, 4, 6)") \
    F(CCCR, ENABLE, 12, 1, "count")                                                                \
    F(CCCR, ESCR_SELECT, 13, 3, "which of the wired ESCRs to listen to")                           \
    F(CCCR, ACTIVE_THREAD, 16, 2, "count while 00 no, 01 one, 10 both, 11 any thread is active")   \
    F(CCCR, COMPARE, 18, 1, "count clocks whose input passes the threshold, not the input itself") \
    F(CCCR, COMPLEMENT, 19, 1, "pass when input <= threshold; clear: when input > threshold")      \
    F(CCCR, THRESHOLD, 20, 4, "compared with the input of 0 to 15")                                \
    F(CCCR, EDGE, 24, 1, "count when the comparison becomes true")                                 \
    F(CCCR, FORCE_OVF, 25, 1, "each count is an overflow")                                         \
    F(CCCR, OVF_PMI_T0, 26, 1, "overflow interrupts logical processor 0")                          \
    F(CCCR, OVF_PMI_T1, 27, 1, "overflow interrupts logical processor 1")                          \
    F(CCCR, RESERVED_28, 28, 2, "no function known; holds what is written on the probed part")     \
    F(CCCR, CASCADE, 30, 1, "count while the partner counter has overflowed")                      \
    F(CCCR, OVF, 31, 1, "has overflowed; stays until software writes 0")

#define P4PMU_PEBS_ENABLE_FIELDS(F)                                                                \
    F(PEBS_ENABLE, L1_MISS, 0, 1, "replay tag: loads that miss the first level")                   \
    F(PEBS_ENABLE, L2_MISS, 1, 1, "replay tag: loads that miss the second level")                  \
    F(PEBS_ENABLE, DTLB_MISS, 2, 1, "replay tag: accesses that miss the data TLB")                 \
    F(PEBS_ENABLE, MOB, 9, 1, "replay tag: loads replayed by the memory order buffer")             \
    F(PEBS_ENABLE, SPLIT, 10, 1, "replay tag: accesses over two lines")                            \
    F(PEBS_ENABLE, BRANCH, 15, 2, "replay tag: mispredicted branches, both bits")                  \
    F(PEBS_ENABLE, UOP_TAG, 24, 1, "replay tagging on")                                            \
    F(PEBS_ENABLE, MY_THREAD, 25, 1, "PEBS for the logical processor that writes")                 \
    F(PEBS_ENABLE, OTHER_THREAD, 26, 1, "PEBS for the other logical processor")

#define P4PMU_PEBS_MATRIX_VERT_FIELDS(F)                                                           \
    F(PEBS_MATRIX_VERT, LOADS, 0, 1, "replay tag: loads")                                          \
    F(PEBS_MATRIX_VERT, STORES, 1, 1, "replay tag: stores")                                        \
    F(PEBS_MATRIX_VERT, BRANCHES, 4, 1, "replay tag: branches")

/* G(register, field, shift, length, models, access, meaning): fields that not every model has. */
#define P4PMU_MISC_ENABLE_FIELDS(G)                                                                \
    G(MISC_ENABLE, FAST_STRINGS, 0, 1, P4PMU_ALL_MODELS, RW, "fast string operations")             \
    G(MISC_ENABLE, FOPCODE_COMPAT, 2, 1, P4PMU_ALL_MODELS, RW, "x87 FOP as on earlier processors") \
    G(MISC_ENABLE, TM1, 3, 1, P4PMU_ALL_MODELS, RW, "thermal monitor 1")                           \
    G(MISC_ENABLE, SPLIT_LOCK_DISABLE, 4, 1, P4PMU_ALL_MODELS, RW, "#AC on a split lock")          \
    G(MISC_ENABLE, L3_DISABLE, 6, 1, P4PMU_ALL_MODELS, RW, "third level cache off")                \
    G(MISC_ENABLE, PERFMON_AVAILABLE, 7, 1, P4PMU_ALL_MODELS, RO,                                  \
      "performance monitoring is here")                                                            \
    G(MISC_ENABLE, SUPPRESS_LOCK, 8, 1, P4PMU_ALL_MODELS, RW, "no LOCK on split accesses")         \
    G(MISC_ENABLE, PREFETCH_DISABLE, 9, 1, P4PMU_ALL_MODELS, RW, "hardware prefetch off")          \
    G(MISC_ENABLE, FERR_REPORT, 10, 1, P4PMU_ALL_MODELS, RW, "report FERR# in stop-clock")         \
    G(MISC_ENABLE, BTS_UNAVAILABLE, 11, 1, P4PMU_ALL_MODELS, RO, "1: no branch trace store")       \
    G(MISC_ENABLE, PEBS_UNAVAILABLE, 12, 1, P4PMU_ALL_MODELS, RO, "1: no PEBS")                    \
    G(MISC_ENABLE, TM2, 13, 1, P4PMU_MODEL_3, RW, "thermal monitor 2")                             \
    G(MISC_ENABLE, MONITOR, 18, 1, P4PMU_FROM_MODEL_3, RW, "MONITOR and MWAIT")                    \
    G(MISC_ENABLE, ADJACENT_DISABLE, 19, 1, P4PMU_ALL_MODELS, RW, "adjacent sector prefetch off")  \
    G(MISC_ENABLE, LIMIT_CPUID, 22, 1, P4PMU_FROM_MODEL_3, RW, "CPUID leaves up to 3 only")        \
    G(MISC_ENABLE, XTPR_DISABLE, 23, 1, P4PMU_ALL_MODELS, RW, "no task priority messages")         \
    G(MISC_ENABLE, L1D_CONTEXT, 24, 1, P4PMU_ALL_MODELS, RW, "L1 data cache shared by threads")    \
    G(MISC_ENABLE, XD_DISABLE, 34, 1, P4PMU_FROM_MODEL_3, RW, "execute-disable off")

/* BTS_OFF_OS and BTS_OFF_USR come with CPUID.1:ECX[4], which is taken to begin with model 3. */
#define P4PMU_DEBUGCTLA_FIELDS(G)                                                                  \
    G(DEBUGCTLA, LBR, 0, 1, P4PMU_ALL_MODELS, RW, "record branches; a debug exception clears it")  \
    G(DEBUGCTLA, BTF, 1, 1, P4PMU_ALL_MODELS, RW, "TF steps by branches")                          \
    G(DEBUGCTLA, TR, 2, 1, P4PMU_ALL_MODELS, RW, "send branch trace messages")                     \
    G(DEBUGCTLA, BTS, 3, 1, P4PMU_ALL_MODELS, RW, "store the messages in the BTS buffer")          \
    G(DEBUGCTLA, BTINT, 4, 1, P4PMU_ALL_MODELS, RW, "stop when the buffer is full, not wrap")      \
    G(DEBUGCTLA, BTS_OFF_OS, 5, 1, P4PMU_FROM_MODEL_3, RW, "store no branches of CPL 0")           \
    G(DEBUGCTLA, BTS_OFF_USR, 6, 1, P4PMU_FROM_MODEL_3, RW, "store no branches of CPL 1 to 3")

#define P4PMU_MODEL_FIELD_CONSTANTS(reg, field, shift, length, models, access, meaning)            \
    enum { P4PMU_##reg##_##field##_SHIFT = (shift), P4PMU_##reg##_##field##_LENGTH = (length) };   \
    static const uint64_t P4PMU_##reg##_##field##_MASK = ((UINT64_C(1) << (length)) - 1u)          \
                                                         << (shift);
P4PMU_MISC_ENABLE_FIELDS(P4PMU_MODEL_FIELD_CONSTANTS)
P4PMU_DEBUGCTLA_FIELDS(P4PMU_MODEL_FIELD_CONSTANTS)

#define P4PMU_FIELD_CONSTANTS(reg, field, shift, length, meaning)                                  \
    enum { P4PMU_##reg##_##field##_SHIFT = (shift), P4PMU_##reg##_##field##_LENGTH = (length) };   \
    static const uint32_t P4PMU_##reg##_##field##_MASK = ((UINT32_C(1) << (length)) - 1u)          \
                                                         << (shift);
P4PMU_ESCR_FIELDS(P4PMU_FIELD_CONSTANTS)
P4PMU_CCCR_FIELDS(P4PMU_FIELD_CONSTANTS)
P4PMU_PEBS_ENABLE_FIELDS(P4PMU_FIELD_CONSTANTS)
P4PMU_PEBS_MATRIX_VERT_FIELDS(P4PMU_FIELD_CONSTANTS)

#define P4PMU_FIELD_SUM(reg, field, shift, length, meaning)                                        \
    +(((UINT64_C(1) << (length)) - 1u) << (shift))
#define P4PMU_FIELD_OR(reg, field, shift, length, meaning)                                         \
    | (((UINT64_C(1) << (length)) - 1u) << (shift))
#define P4PMU_MODEL_FIELD_SUM(reg, field, shift, length, models, access, meaning)                  \
    P4PMU_FIELD_SUM(reg, field, shift, length, meaning)
#define P4PMU_MODEL_FIELD_OR(reg, field, shift, length, models, access, meaning)                   \
    P4PMU_FIELD_OR(reg, field, shift, length, meaning)
#define P4PMU_FIELDS_APART(LIST)                                                                   \
    static_assert((0 LIST(P4PMU_FIELD_SUM)) == (0 LIST(P4PMU_FIELD_OR)), #LIST " overlap")
P4PMU_FIELDS_APART(P4PMU_ESCR_FIELDS);
P4PMU_FIELDS_APART(P4PMU_CCCR_FIELDS);
P4PMU_FIELDS_APART(P4PMU_PEBS_ENABLE_FIELDS);
P4PMU_FIELDS_APART(P4PMU_PEBS_MATRIX_VERT_FIELDS);
static_assert((0 P4PMU_MISC_ENABLE_FIELDS(P4PMU_MODEL_FIELD_SUM)) ==
                  (0 P4PMU_MISC_ENABLE_FIELDS(P4PMU_MODEL_FIELD_OR)),
              "P4PMU_MISC_ENABLE_FIELDS overlap");
static_assert((0 P4PMU_DEBUGCTLA_FIELDS(P4PMU_MODEL_FIELD_SUM)) == 0x7F, "MSR_DEBUGCTLA[6:0]");
static_assert((0 P4PMU_ESCR_FIELDS(P4PMU_FIELD_OR)) == 0x7FFFFFFF, "ESCR[30:0] (figure 18-45)");
static_assert((0 P4PMU_CCCR_FIELDS(P4PMU_FIELD_OR)) == 0xFFFFF800, "CCCR[31:11] (figure 18-45)");

/* The value of FIELD in register value V, and V's FIELD set to X: P4PMU_GET(CCCR, THRESHOLD, v). */
#define P4PMU_GET(reg, field, v)                                                                   \
    (((uint32_t)(v)&P4PMU_##reg##_##field##_MASK) >> P4PMU_##reg##_##field##_SHIFT)
#define P4PMU_PUT(reg, field, v, x)                                                                \
    (((uint32_t)(v) & ~P4PMU_##reg##_##field##_MASK) |                                             \
     (((uint32_t)(x) << P4PMU_##reg##_##field##_SHIFT) & P4PMU_##reg##_##field##_MASK))

#endif
