/*
 * Instructions and uops between fetch and retirement. Folder-private, part of machine.h.
 *
 * Time: a tick is a half clock (the ALUs' rhythm), tick = 2 * clock or one more.
 */
#ifndef NETBURST_IN_FLIGHT_H
#define NETBURST_IN_FLIGHT_H

#include "netburst.h"
#include "uop.h"

#include <assert.h>

#define NB_NEVER      UINT64_MAX
#define NB_LPS        2u   /* logical processors */
#define NB_ROB_RING   128u /* a power of two above the largest ROB, for each logical processor */
#define NB_DYN_RING   512u /* instructions in flight: ROB, uop queue, and those fetched */
#define NB_QUEUE_RING 128u /* uop queue and the queues before the schedulers */

typedef uint64_t nb_clock;
typedef uint64_t nb_tick;

/* ---- instructions in flight -------------------------------------------------------------------
 */

struct dyn {
    const struct nb_code *code;
    uint32_t history; /* global history before this branch */
    uint8_t who;      /* P4PMU_WHO: its logical processor and CPL */
    bool bogus;
    bool mispredicted;
    bool taken;
    bool order_violated;      /* one of its loads read what another agent has written since */
    bool ends_stream;         /* the stream goes elsewhere after it: interrupt, far transfer */
    uint8_t flow;             /* enum flow: microcode that belongs to no instruction */
    bool tagged;              /* one of its uops has the front-end tag */
    uint8_t return_top;       /* return stack position after this instruction */
    uint8_t reads;            /* accesses that are reads: they come first */
    struct nb_instruction in; /* bogus instructions have as much of it as is known; last, as its
                                 accesses are mostly unused */
};

/* ---- uops --------------------------------------------------------------------------------------
 */

/* A uop between front end and allocator. */
struct fetched {
    const struct nb_uop *uop;
    uint32_t dyn;
    uint32_t element; /* string element its access belongs to */
    nb_clock ready;
    bool first, last;
};

/* Microcode flows that the machine puts between two instructions (flow.c). */
enum flow { FLOW_NONE, FLOW_INTERRUPT, FLOW_ASSIST, FLOW_PRECISE, FLOW_BRANCH_RECORD, FLOWS };

enum port { PORT_0, PORT_1, PORT_LOAD, PORT_STORE_ADDRESS, NB_PORTS };

enum rob_state { ROB_WAITING, ROB_SCHEDULED, ROB_DISPATCHED };

/* Two cache lines of the host, the first with what allocation and retirement need. */
struct rob_entry {
    const struct nb_uop *uop;
    uint64_t sequence; /* among its logical processor's uops, from 1 on */
    nb_clock complete; /* when it can retire; NB_NEVER: not known yet */
    uint32_t dyn;
    uint32_t element;
    uint8_t lp, who;         /* logical processor; P4PMU_WHO of its instruction */
    uint8_t state;           /* enum rob_state */
    uint8_t pending;         /* producers that have not dispatched */
    uint8_t scheduler, slot; /* where it waits */
    uint8_t phase;           /* of its replay loop: its dispatch slot */
    uint8_t sources;         /* in-flight producers */
    bool bogus, first, last;
    bool companion; /* the address part of a store that is one uop in the trace cache */
    bool front_end_tag, replay_tag;
    uint8_t execution_tags;
    /* Consumers to tell: until the first dispatch those that need the promise, afterwards those
     * that went round a replay loop and need to know when the result is really there. Encoded index
     * into the machine's rob * NB_UOP_SOURCES + source slot + 1; 0 ends the list. */
    uint16_t waiter;
    uint16_t next_waiter[NB_UOP_SOURCES];
    uint16_t wheel_next; /* the next uop of the same wheel bucket, index + 1 */
    uint32_t buffer;     /* position in the store buffer, its low bits */

    uint32_t source[NB_UOP_SOURCES]; /* the producers' sequence numbers, their low bits */
    uint64_t age;                    /* among all uops */
    nb_tick
        ready; /* earliest dispatch that the promises allow; of candidates the scheduler has it */
    nb_tick dispatched; /* first dispatch */
    nb_tick promise;    /* when consumers are told the result comes */
    nb_tick valid;      /* when it really is there; NB_NEVER: not known yet */
    nb_tick wheel_tick;
};
static_assert(sizeof(struct rob_entry) == 128, "a power of two: indices are shifts, not divisions");

struct queue {
    uint64_t head, tail; /* ring positions */
    struct {
        nb_clock eligible;
        uint16_t rob;      /* index into the machine's */
        uint8_t scheduler; /* its uop's */
    } entry[NB_QUEUE_RING];
};

/* What a port may take from a scheduler: anything, or what is marked, or the rest. */
enum pick { PICK_ANY, PICK_MARKED, PICK_UNMARKED };

/* What ports need to know of the uops in the slots is kept here, in masks and short arrays, and not
 * read from the uops. Masks have a bit for each slot; besides `occupied` and `candidates` they say
 * nothing of slots that are free. */
struct scheduler {
    uint16_t slots;       /* it has */
    uint16_t occupied;    /* in use */
    uint16_t candidates;  /* producers have all dispatched: due.c knows when they are due */
    uint16_t ordered;     /* fences and locked accesses */
    uint16_t settled;     /* no source goes round a replay loop any more */
    uint16_t marked;      /* store addresses (port 3); what an ALU takes in either half clock */
    uint8_t held[NB_LPS]; /* slots in use by each logical processor */
    nb_tick ready[16];    /* of candidates: earliest dispatch as far as is known */
    uint64_t age[16];
    uint16_t entry[16]; /* indices into the machine's rob */
    uint8_t unit[16];   /* indices into its unit_free */
};

#define NB_DUE_TICKS 64u /* bits of a word */

/* Slots of every scheduler: a mask for each, and all of them as words. */
union slots {
    uint16_t of[8];
    uint64_t word[2];
};
static_assert(NB_SCHEDULERS <= 8, "a mask for each");

/* When candidates are due (due.c). */
struct due {
    union slots ripe; /* due by tick SEEN */
    nb_tick seen;
    uint64_t map; /* places of the ring with something in them */
    union slots at[NB_DUE_TICKS];
    union slots far;  /* due later than the ring reaches */
    nb_tick far_next; /* when the first of them is not any more */
};

#endif
