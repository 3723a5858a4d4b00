/*
 * libp4pmu: the performance-monitoring hardware of the Pentium 4 (NetBurst).
 *
 * 45 event selection control registers (ESCR), 18 counter configuration control registers (CCCR)
 * and 18 counters of 40 bits, with the wiring between them. The library knows no pipeline and does
 * no I/O: a machine model posts facts ("two uops retired, not bogus, logical processor 0, CPL 3"),
 * tells how many clocks went by, and software on the other side uses RDMSR, WRMSR and RDPMC.
 *
 *   struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){.model = 2});
 *   p4pmu_wrmsr(pmu, 0, 0x3B8, 0x0200020C, NULL);      // MSR_CRU_ESCR0: uops_retired NBOGUS
 *   p4pmu_wrmsr(pmu, 0, 0x36C, 0x00039000, NULL);      // MSR_IQ_CCCR0: enable, select 4
 *   p4pmu_post(pmu, P4PMU_EV_uops_retired, 1u << 0, P4PMU_WHO(0, 3), 2);
 *   p4pmu_clocks(pmu, 1);
 *   p4pmu_rdpmc(pmu, 0, 12, &eax, &edx);
 *
 * One struct p4pmu is one physical package part: the counters are shared by both logical processors
 * (SDM volume 3, table 35-41). Nothing is global; two objects are independent.
 *
 * Names, addresses and masks are the manual's. "SDM" is the Intel 64 and IA-32 Architectures
 * Software Developer's Manual, 2016 edition.
 */
#ifndef P4PMU_H
#define P4PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define P4PMU_ESCRS        45
#define P4PMU_COUNTERS     18
#define P4PMU_COUNTER_BITS 40
#define P4PMU_COUNTER_MASK ((UINT64_C(1) << P4PMU_COUNTER_BITS) - 1)
#define P4PMU_NONE         (-1)

/* ---- register fields ---------------------------------------------------------------------- */

/* F(register, field, shift, length, meaning): expands to P4PMU_ESCR_EVENT_MASK_SHIFT, _LENGTH,
 * _MASK. */
#include "p4pmu_fields.h"

/* One name per event row of p4pmu_events.def: P4PMU_EV_instr_retired, P4PMU_EV_branch_retired, ...
 */
enum p4pmu_event {
#define P4PMU_EVENT(name, ...) P4PMU_EV_##name,
#include "p4pmu_events.def"
    P4PMU_EVENTS
};

/* One name per ESCR row of p4pmu_escrs.def: P4PMU_ESCR_BSU0 (0x3A0), P4PMU_ESCR_BSU1, ... */
enum p4pmu_escr {
#define P4PMU_ESCR(name, ...) P4PMU_ESCR_##name,
#include "p4pmu_escrs.def"
    P4PMU_ESCR_COUNT
};

/* Why an MSR or RDPMC access did not do what was asked; P4PMU_OK is 0. */
enum p4pmu_fault {
    P4PMU_OK = 0,
    P4PMU_GP_NO_SUCH_MSR,   /* #GP: no register at this address on this model */
    P4PMU_GP_RESERVED_BIT,  /* #GP: a bit that faults was written as 1 */
    P4PMU_GP_NO_SUCH_INDEX, /* #GP: RDPMC with an index that selects no counter */
    P4PMU_GP_PRIVILEGE,     /* #GP: RDPMC, RDMSR or WRMSR not allowed at this CPL */
    P4PMU_GP_READ_ONLY,     /* #GP: the register cannot be written */
    P4PMU_FAULTS
};

/* A sentence for a fault, e.g. "no such MSR on this model". Never NULL. */
const char *p4pmu_fault_text(enum p4pmu_fault fault);

/* Errata that can be switched on, one name per row of p4pmu_errata.def: P4PMU_ERRATUM_N15, ... */
enum p4pmu_erratum {
#define P4PMU_ERRATUM(name, ...) P4PMU_ERRATUM_##name,
#include "p4pmu_errata.def"
    P4PMU_ERRATA
};

struct p4pmu_config {
    unsigned model;       /* DisplayModel of family 0FH: 0, 1, 2, 3, 4 or 6 */
    bool hyper_threading; /* two logical processors; changes ESCR[1:0], CCCR[17:16], CCCR[27] */
    unsigned stepping;    /* 0..15; IOQ_allocation behaves differently before signature F27H */
    bool l3;              /* a Xeon MP with third level cache: its counters exist from model 3 on */
    bool no_bts, no_pebs; /* IA32_MISC_ENABLE says the part lacks them, and they do nothing */
    uint32_t errata;      /* bit P4PMU_ERRATUM_x asks for it; acts where the signature has it */
    uint64_t frequency_id; /* what MSR_EBC_FREQUENCY_ID reads */
};

struct p4pmu;

/* A PMU in its reset state, or NULL when memory is short or the model is not one of the above. */
struct p4pmu *p4pmu_new(const struct p4pmu_config *config);
void p4pmu_free(struct p4pmu *pmu);
/* Back to the state after RESET (ESCRs, CCCRs 0; SDM 18.15.1, 18.15.3). */
void p4pmu_reset(struct p4pmu *pmu);

/* ---- the instructions' side ------------------------------------------------------------------ */

/* RDMSR and WRMSR by logical processor LP (0 or 1). WRMSR gives what was stored through STORED when
 * that is not NULL; nothing changes when a fault is returned. A counter changes at the end of a
 * clock: a read includes every clock passed before the call, and no fact of the clock still open. A
 * write of an ESCR or CCCR takes effect at once: facts are matched by the registers as they stand
 * when they are posted, and p4pmu_clocks filters by the registers as they stand then. */
enum p4pmu_fault p4pmu_rdmsr(struct p4pmu *pmu, unsigned lp, uint32_t msr, uint64_t *value);
enum p4pmu_fault p4pmu_wrmsr(struct p4pmu *pmu, unsigned lp, uint32_t msr, uint64_t value,
                             uint64_t *stored);
/* What p4pmu_wrmsr would answer; nothing changes. */
enum p4pmu_fault p4pmu_wrmsr_fault(const struct p4pmu *pmu, unsigned lp, uint32_t msr,
                                   uint64_t value);
/* RDPMC: ECX[30:0] is the counter, ECX[31] asks for the fast 32-bit read (SDM volume 2, RDPMC). */
enum p4pmu_fault p4pmu_rdpmc(struct p4pmu *pmu, unsigned lp, uint32_t ecx, uint32_t *eax,
                             uint32_t *edx);

/* Counter 0..17 as RDPMC reads it, for a simulator that looks from outside: asked by nobody in the
 * machine, so no privilege is checked. */
uint64_t p4pmu_count(struct p4pmu *pmu, unsigned counter);

/* RDTSC: the time stamp of LP; #GP at CPL 1 to 3 while CR4.TSD is set (SDM volume 2, RDTSC). */
enum p4pmu_fault p4pmu_rdtsc(const struct p4pmu *pmu, unsigned lp, uint64_t *value);
/* CR4.TSD of LP; false at reset. */
void p4pmu_time_stamp_disable(struct p4pmu *pmu, unsigned lp, bool cr4_tsd);
/* The bits of CPUID leaf 1 that announce what this library models: ECX has DTES64, MONITOR, DS-CPL;
 * EDX has TSC, MSR, APIC (its performance entry), DS and HTT (SDM volume 2, CPUID). */
void p4pmu_cpuid(const struct p4pmu_config *config, uint32_t *ecx, uint32_t *edx);
/* Whether the part of CONFIG has ERRATUM and asks for it. */
bool p4pmu_has_erratum(const struct p4pmu_config *config, enum p4pmu_erratum erratum);

/* ---- the machine's side: facts ------------------------------------------------------------ */

/* Who a fact belongs to: logical processor 0 or 1 and its CPL 0..3. */
#define P4PMU_WHO(lp, cpl) ((unsigned)(((lp) << 2) | (cpl)))

/* The head of struct p4pmu: for each event the sub-event bits that some ESCR in use selects, and
 * where the facts posted now come from. */
struct p4pmu_watch {
    uint16_t bits[P4PMU_EVENTS];
    uint64_t origin;
};

/* The posting path of p4pmu_post, for facts somebody watches. */
void p4pmu_post_watched(struct p4pmu *pmu, enum p4pmu_event event, unsigned bits, unsigned who,
                        unsigned count);

/*
 * COUNT things of EVENT happened in the present clock to WHO. BITS are the sub-event (mask) bits
 * that describe the thing, at least one of them; an ESCR counts it once when its mask matches by
 * the event's own logic (plain OR for most events). IOQ facts carry the request type in bits 0..4
 * (1 when not known), one of ALL_READ and ALL_WRITE, one memory type and one of OWN and OTHER; BSQ
 * facts carry the fields of their mask. Costs a test of one word when nobody watches.
 */
static inline void p4pmu_post(struct p4pmu *pmu, enum p4pmu_event event, unsigned bits,
                              unsigned who, unsigned count)
{
    if (((const struct p4pmu_watch *)pmu)->bits[event] & bits)
        p4pmu_post_watched(pmu, event, bits, who, count);
}

/* The facts posted from now on come from ORIGIN, a word of the machine's own (the number of an
 * instruction, say); 0: from nothing in particular. Nothing counts differently for it. */
static inline void p4pmu_origin(struct p4pmu *pmu, uint64_t origin)
{
    ((struct p4pmu_watch *)pmu)->origin = origin;
}
/* Hears of each fact as it is posted, when ESCR selects it: COUNT of them from ORIGIN, as far as
 * the ESCR can pass them on in one clock. What the counters behind it make of them is not known
 * yet. NULL: nobody. */
typedef void p4pmu_witness_fn(void *context, enum p4pmu_escr escr, unsigned who, unsigned count,
                              uint64_t origin);
void p4pmu_witness(struct p4pmu *pmu, p4pmu_witness_fn *witness, void *context);

/* The origin of the fact that made COUNTER overflow last: that of the last fact of the clock, when
 * several came in it; 0 when it was no fact but a standing condition, or never overflowed. *CLOCK,
 * when CLOCK is not NULL: the clock at whose end it did. No register tells it: it is what a
 * simulator knows. */
uint64_t p4pmu_overflow_origin(const struct p4pmu *pmu, unsigned counter, uint64_t *clock);

/*
 * A standing condition, for events that last: from the present clock on, and until changed, each
 * clock contributes COUNT to EVENT with sub-event BITS for WHO (global_power_events, a trace cache
 * mode, entries in the bus queue). COUNT 0 ends it. The key is (event, bits, who).
 * May be called while nobody watches; a later WRMSR finds the condition standing.
 */
void p4pmu_level(struct p4pmu *pmu, enum p4pmu_event event, unsigned bits, unsigned who,
                 unsigned count);

/* N clocks pass (N >= 1): the posted facts belong to the first of them, standing conditions to all.
 * The result is exactly that of N calls with 1. */
void p4pmu_clocks(struct p4pmu *pmu, uint64_t n);
/* Standing conditions that were not taken in because memory was short; 0 in a healthy run. */
uint64_t p4pmu_lost_levels(const struct p4pmu *pmu);
/* Clocks passed since reset. */
uint64_t p4pmu_now(const struct p4pmu *pmu);

/* Whether logical processor LP is active (not halted, not waiting for SIPI): CCCR active-thread. */
void p4pmu_active(struct p4pmu *pmu, unsigned lp, bool active);
/* The package sleeps (stop-grant, or both logical processors halted and nothing to serve): clocks
 * pass and nothing counts (SDM3 18.17). */
void p4pmu_sleep(struct p4pmu *pmu, bool asleep);
/* CPL and CR4.PCE of LP, for the privilege checks of the instructions above; CPL 0 and PCE false
 * after RESET. Real-address mode is CPL 0, virtual-8086 mode CPL 3 (SDM volume 2, RDPMC). The CPL
 * is also what thread-independent events see of the logical processor a fact does not name (SDM3
 * table 18-67), until p4pmu_runs_at has been told of that logical processor. */
void p4pmu_privilege(struct p4pmu *pmu, unsigned lp, unsigned cpl, bool cr4_pce);
/* The CPL at which LP runs, for thread-independent events alone: for machines whose accesses to the
 * registers are not all made by the instructions they run. */
void p4pmu_runs_at(struct p4pmu *pmu, unsigned lp, unsigned cpl);
/* What p4pmu_privilege said last: the CPL of LP, and CR4.PCE when that is not NULL. */
unsigned p4pmu_cpl(const struct p4pmu *pmu, unsigned lp, bool *cr4_pce);

/* ---- the machine's side: tags ------------------------------------------------------------- */

/* Kinds of memory-side cause that replay tagging can be set up for (IA32_PEBS_ENABLE bits). */
enum p4pmu_replay_cause {
    P4PMU_REPLAY_L1_MISS,      /* PEBS_ENABLE bit 0 */
    P4PMU_REPLAY_L2_MISS,      /* bit 1 */
    P4PMU_REPLAY_DTLB_MISS,    /* bit 2 */
    P4PMU_REPLAY_NO_STA,       /* bit 9, and an ESCR with MOB_load_replay and this sub-event */
    P4PMU_REPLAY_NO_STD,       /* the same */
    P4PMU_REPLAY_PARTIAL_DATA, /* the same */
    P4PMU_REPLAY_UNALGN_ADDR,  /* the same */
    P4PMU_REPLAY_SPLIT,        /* bit 10, and an ESCR with load_port_replay or store_port_replay */
    P4PMU_REPLAY_MISPREDICT,   /* bits 15 and 16, MATRIX_VERT bit 4 */
    P4PMU_REPLAY_CAUSES
};
/* Whether a uop that met CAUSE gets the replay tag now (IA32_PEBS_ENABLE bit 24 and the cause's
 * bits, MSR_PEBS_MATRIX_VERT load/store bit, upstream ESCR where one is needed). IS_STORE: store
 * uop. */
bool p4pmu_replay_tag(const struct p4pmu *pmu, enum p4pmu_replay_cause cause, bool is_store,
                      unsigned who);
/* Whether the front end tags a load (bits = 1<<1) or store (1<<2) uop: uop_type in a RAT ESCR. */
bool p4pmu_front_end_tag(const struct p4pmu *pmu, unsigned bits, unsigned who);
/* The execution tags (0..15) a uop of EVENT (packed_SP_uop, ...) with sub-event BITS gets: the OR
 * of the tag values of the ESCRs with TAG_ENABLE that select it. 0 for most, after one test. */
unsigned p4pmu_execution_tags(const struct p4pmu *pmu, enum p4pmu_event event, unsigned bits,
                              unsigned who);

/* ---- the machine's side: interrupts ------------------------------------------------------- */

/*
 * The performance-monitor interrupt of logical processor LP is wanted now. An overflow asks for it
 * at the next count after it (SDM3 18.15.3) and keeps asking while OVF is 1; a DS buffer asks when
 * its index reaches its threshold, until the interrupt is accepted. The local vector table entry
 * can mask it.
 */
bool p4pmu_interrupt(const struct p4pmu *pmu, unsigned lp);
/* The clock at whose end the request came up that stands now (for latencies); 0 when none stands.
 */
uint64_t p4pmu_interrupt_clock(const struct p4pmu *pmu, unsigned lp);
/* The same of the request that was accepted last. */
uint64_t p4pmu_accepted_clock(const struct p4pmu *pmu, unsigned lp);
/* LP takes the interrupt: gives the vector table entry that says how, and sets its mask bit, as the
 * local APIC does (SDM3 18.15.5.8). */
uint32_t p4pmu_accept(struct p4pmu *pmu, unsigned lp);
/* The performance entry of the local vector table (APIC register 340H): vector 7:0, delivery mode
 * 10:8, mask 16. Masked after reset. Bits without function stay 0. */
uint32_t p4pmu_lvt(const struct p4pmu *pmu, unsigned lp);
void p4pmu_set_lvt(struct p4pmu *pmu, unsigned lp, uint32_t value);
/* How many clocks may pass in one call before an overflow asks for an interrupt or makes PEBS wait
 * for its uop, if nothing is posted or changed; UINT64_MAX: none will. It may say less than that,
 * never more. p4pmu_clocks is exact in any case: this is for machines that must not be late. */
uint64_t p4pmu_quiet_clocks(const struct p4pmu *pmu);

/* ---- the machine's side: DS area, branch records ------------------------------------------ */

/* Memory the DS area lives in, at linear addresses of LP. False: the page is not there. */
struct p4pmu_memory {
    void *context;
    bool (*read)(void *context, unsigned lp, uint64_t address, void *to, size_t bytes);
    bool (*write)(void *context, unsigned lp, uint64_t address, const void *from, size_t bytes);
};
/* NULL: no memory, each access fails. *MEMORY is copied. */
void p4pmu_memory(struct p4pmu *pmu, const struct p4pmu_memory *memory);

enum p4pmu_ds {
    P4PMU_DS_NOTHING, /* nothing was to be stored */
    P4PMU_DS_STORED,
    P4PMU_DS_FULL, /* the buffer had no room: the record is lost */
    P4PMU_DS_FAULT /* a page was missing: MSR_MCG_MISC bit 0 is set, the processor shuts down */
};

/* Whether 64-bit records and management area are used (CPUID DTES64). */
bool p4pmu_ds64(const struct p4pmu *pmu);

/* The registers of a PEBS record, in its order: EFLAGS, EIP (linear), EAX, EBX, ECX, EDX, ESI, EDI,
 * EBP, ESP, R8 to R15. The 32-bit record has the first ten. */
#define P4PMU_PEBS_REGISTERS 18
struct p4pmu_pebs_registers {
    uint64_t value[P4PMU_PEBS_REGISTERS];
};
/* Whether a retiring uop that is the fact (event, bits, who) takes the PEBS assist: the PEBS
 * counter of WHO's logical processor (IQ_COUNTER4, IQ_COUNTER5) has overflowed and its ESCR selects
 * the fact. */
bool p4pmu_pebs_wants(const struct p4pmu *pmu, enum p4pmu_event event, unsigned bits, unsigned who);
/* The assist: store a record, reload the counter from the DS area's reset field. */
enum p4pmu_ds p4pmu_pebs_store(struct p4pmu *pmu, unsigned lp,
                               const struct p4pmu_pebs_registers *registers);

enum p4pmu_branch_kind { P4PMU_BRANCH, P4PMU_INTERRUPT_OR_EXCEPTION, P4PMU_DEBUG_EXCEPTION };
struct p4pmu_branch {
    uint64_t from, to; /* linear addresses */
    unsigned cpl;      /* where it came from */
    bool predicted;
    enum p4pmu_branch_kind kind;
};
/* Whether LP records branches at all: DEBUGCTLA has LBR, or TR and BTS. */
bool p4pmu_branches_wanted(const struct p4pmu *pmu, unsigned lp);
/* A taken branch, interrupt or exception of LP retires: LBR stack, last-exception record, BTS. */
enum p4pmu_ds p4pmu_branch(struct p4pmu *pmu, unsigned lp, const struct p4pmu_branch *branch);
/* DS recording of LP pauses (system management mode, machine check) or goes on. */
void p4pmu_ds_suspend(struct p4pmu *pmu, unsigned lp, bool suspended);
/* INIT of LP: the counters go on; tracing and PEBS of LP are off, LP's DS area is forgotten, its
 * vector table entry is masked as after RESET (SDM3 10.4.7.3), CPL and CR4 are 0 (table 9-1). */
void p4pmu_init(struct p4pmu *pmu, unsigned lp);

/* ---- the tables --------------------------------------------------------------------------- */

enum p4pmu_class { P4PMU_NON_RETIREMENT, P4PMU_AT_RETIREMENT };
enum p4pmu_thread_qualification { P4PMU_TS, P4PMU_TI };

enum p4pmu_status { P4PMU_NOT_MODELLED, P4PMU_PARTLY, P4PMU_MODELLED };
/* How an event's mask is compared with a fact: any common bit, the bus queue expressions, the
 * fields of the bus sequence unit, or never (it only tags). */
enum p4pmu_logic { P4PMU_OR, P4PMU_IOQ, P4PMU_BSQ, P4PMU_TAG_ONLY };

struct p4pmu_subevent_info {
    const char *name;        /* "NBOGUSNTAG" */
    const char *aliases;     /* other tools' names, comma separated, or "" */
    unsigned bit;            /* 0..15; ESCR bit 9 + bit */
    const char *description; /* one phrase in our words */
    const char *source;
    unsigned models;          /* bit n set: family 0FH model n has it */
    enum p4pmu_status status; /* of the machine of this repository */
    const char *why;          /* what the status leaves open, or "" */
};

struct p4pmu_event_info {
    const char *name; /* "instr_retired"; "64bit_MMX_uop" has its real name here */
    unsigned code;    /* event select, 6 bits */
    enum p4pmu_class class_;
    enum p4pmu_thread_qualification thread;
    int escrs[2];           /* enum p4pmu_escr or P4PMU_NONE */
    unsigned models;        /* bit n set: family 0FH model n has it */
    unsigned max_increment; /* most it adds in one clock; 0 when not documented */
    const char *description;
    const char *source;
    const struct p4pmu_subevent_info *subevents;
    size_t subevent_count;
    enum p4pmu_logic logic;
};

struct p4pmu_escr_info {
    const char *name;  /* "MSR_CRU_ESCR0" */
    const char *unit;  /* "CRU" */
    uint32_t msr;      /* 0x3B8 */
    unsigned half;     /* 0 or 1: ESCR0 or ESCR1 side of its unit */
    unsigned select;   /* CCCR ESCR_SELECT value that reaches it */
    uint32_t counters; /* bit n set: counter n can listen to it */
    unsigned models;
    uint32_t implemented;    /* bits that hold what is written, with Hyper-Threading */
    const char *description; /* what the unit is */
    const char *source;
};

struct p4pmu_counter_info {
    const char *name;      /* "MSR_IQ_COUNTER0" */
    const char *cccr_name; /* "MSR_IQ_CCCR0" */
    uint32_t msr;          /* 0x30C */
    uint32_t cccr_msr;     /* 0x36C */
    const char *group;     /* "BPU", "MS", "FLAME", "IQ" */
    unsigned half;
    int cascade_source;  /* counter whose overflow starts it by CASCADE */
    int extended_source; /* by EXT_CASCADE, or P4PMU_NONE */
    uint32_t extra;      /* CCCR bits without function that hold what is written */
    const char *source;
};

struct p4pmu_msr_info {
    const char *name;    /* "IA32_PEBS_ENABLE"; of a range, the first */
    uint32_t msr, count; /* address and number of registers in a row */
    bool per_lp, read_only, l3;
    unsigned models;
    uint64_t implemented, faults, reset;
    const char *description;
    const char *source;
};

struct p4pmu_field_info {
    const char *reg;  /* "ESCR", "CCCR", "PEBS_ENABLE", ... */
    const char *name; /* "EVENT_MASK" */
    unsigned shift, length;
    unsigned models;
    bool read_only;
    const char *description;
};

struct p4pmu_erratum_info {
    const char *name;          /* "N15" */
    const char *entry;         /* the specification update's own name */
    unsigned signatures[2][2]; /* lowest and highest of two ranges, model << 4 | stepping */
    const char *registers;     /* words: registers whose name contains one are concerned */
    const char *description;
    const char *source;
};

/* The registers besides counters, CCCRs and ESCRs, the fields of all, the errata; NULL past the
 * end. */
const struct p4pmu_msr_info *p4pmu_msr(size_t index);
const struct p4pmu_field_info *p4pmu_field(size_t index);
const struct p4pmu_erratum_info *p4pmu_erratum(enum p4pmu_erratum erratum);
/* Bits of an ESCR, a CCCR, or row INDEX of p4pmu_msr that hold what is written on the part of
 * CONFIG. */
uint32_t p4pmu_escr_implemented(const struct p4pmu_config *config, enum p4pmu_escr escr);
uint32_t p4pmu_cccr_implemented(const struct p4pmu_config *config, unsigned counter);
uint64_t p4pmu_msr_implemented(const struct p4pmu_config *config, size_t index);

const struct p4pmu_event_info *p4pmu_event(enum p4pmu_event event);
const struct p4pmu_escr_info *p4pmu_escr(enum p4pmu_escr escr);
const struct p4pmu_counter_info *p4pmu_counter(unsigned counter);
/* The ESCR that counter COUNTER hears under ESCR_SELECT SELECT, or P4PMU_NONE. */
int p4pmu_wired_escr(unsigned counter, unsigned select);
/* By name (events: case-insensitive), or P4PMU_NONE. */
int p4pmu_event_by_name(const char *name);
int p4pmu_escr_by_name(const char *name);
/* By MSR address, or P4PMU_NONE. */
int p4pmu_escr_by_msr(uint32_t msr);
/* The event that event select CODE means in an ESCR, on any model, or P4PMU_NONE. */
int p4pmu_event_by_code(enum p4pmu_escr escr, unsigned code);
/* The sub-event row of EVENT by name or alias (case-insensitive), or NULL. */
const struct p4pmu_subevent_info *p4pmu_subevent_by_name(enum p4pmu_event event, const char *name);

#ifdef __cplusplus
}
#endif
#endif
