/*
 * The machine's own state, one struct, first argument everywhere. Folder-private.
 *
 * Time: `now` is the core clock; ticks are half clocks (the ALUs' rhythm), tick = 2 * clock or one
 * more. Every stage is a function of one clock that returns the next clock in which it may have
 * work again, so that clocks in which nothing can happen are passed in one step (machine.c).
 */
#ifndef NETBURST_MACHINE_H
#define NETBURST_MACHINE_H

#include "netburst.h"
#include "uop.h"

#define NB_NEVER       UINT64_MAX
#define NB_LPS         2u   /* logical processors */
#define NB_ROB_RING    128u /* a power of two above the largest ROB, for each logical processor */
#define NB_DYN_RING    512u /* instructions in flight: ROB, uop queue, and those fetched */
#define NB_QUEUE_RING  128u /* uop queue and the queues before the schedulers */
#define NB_TRACE_ITEMS 12u
#define NB_WHEEL_TICKS 4096u /* how far ahead the wheel looks; later events go round again */
#define NB_STORES      64u
#define NB_STANDING    256u
#define NB_RANGES      16u /* of linear addresses with a memory type of their own */
#define NB_TYPE_SHIFT  60u /* physical addresses have their memory type above it */
#define NB_REQUESTS    4u  /* interrupts outstanding */
#define NB_FLOW_UOPS   8u

typedef uint64_t nb_clock;
typedef uint64_t nb_tick;

/* ---- instructions in flight -------------------------------------------------------------------
 */

struct dyn {
    const struct nb_code *code;
    struct nb_instruction in; /* bogus instructions have as much of it as is known */
    uint32_t history;         /* global history before this branch */
    uint8_t who;              /* P4PMU_WHO: its logical processor and CPL */
    bool bogus;
    bool mispredicted;
    bool taken;
    bool order_violated; /* one of its loads read what another agent has written since */
    bool ends_stream;    /* the stream goes elsewhere after it: interrupt, far transfer */
    uint8_t flow;        /* enum flow: microcode that belongs to no instruction */
    bool tagged;         /* one of its uops has the front-end tag */
    uint8_t return_top;  /* return stack position after this instruction */
    uint8_t reads;       /* accesses that are reads: they come first */
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

struct rob_entry {
    const struct nb_uop *uop;
    uint64_t sequence; /* among its logical processor's uops, from 1 on */
    uint64_t age;      /* among all uops */
    uint32_t dyn;
    uint32_t element;
    uint8_t lp, who;         /* logical processor; P4PMU_WHO of its instruction */
    uint8_t state;           /* enum rob_state */
    uint8_t pending;         /* producers that have not dispatched */
    uint8_t scheduler, slot; /* where it waits */
    bool bogus, first, last;
    bool companion; /* the address part of a store that is one uop in the trace cache */
    bool front_end_tag, replay_tag;
    uint8_t execution_tags;
    uint8_t sources;                 /* in-flight producers */
    uint64_t source[NB_UOP_SOURCES]; /* their sequence numbers */
    nb_tick ready;                   /* earliest dispatch that the promises allow */
    nb_tick dispatched;              /* first dispatch */
    nb_tick promise;                 /* when consumers are told the result comes */
    nb_tick valid;                   /* when it really is there; NB_NEVER: not known yet */
    nb_clock complete;               /* when it can retire; NB_NEVER: not known yet */
    /* Consumers to tell: until the first dispatch those that need the promise, afterwards those
     * that went round a replay loop and need to know when the result is really there. Encoded index
     * into the machine's rob * NB_UOP_SOURCES + source slot + 1; 0 ends the list. */
    uint16_t waiter;
    uint16_t next_waiter[NB_UOP_SOURCES];
    uint16_t wheel_next; /* the next uop of the same wheel bucket, index + 1 */
    nb_tick wheel_tick;
    uint64_t buffer; /* position in the store buffer */
};

struct queue {
    uint64_t head, tail;         /* ring positions */
    uint64_t rob[NB_QUEUE_RING]; /* sequence numbers */
    nb_clock eligible[NB_QUEUE_RING];
};

struct scheduler {
    uint16_t occupied;        /* slots in use */
    uint8_t held[NB_LPS];     /* slots in use by each logical processor */
    uint16_t candidates;      /* slots whose producers have all dispatched */
    uint16_t slots;           /* mask of the slots it has */
    uint16_t store_addresses; /* slots that hold a store's address uop */
    bool waits_for_order;     /* a fence or locked access among the candidates */
    nb_tick earliest[2];      /* no candidate is ready before this tick; store addresses apart */
    uint16_t entry[16];       /* indices into the machine's rob */
    uint64_t age[16];
};

/* ---- memory ------------------------------------------------------------------------------------
 */

struct store {
    uint64_t rob;          /* sequence number of its first uop */
    uint32_t dyn, element; /* which write of which instruction */
    uint8_t access, who;
    uint8_t piece;
    uint64_t linear, physical;
    uint32_t size; /* 0: nothing to write (wrong path) */
    bool retired, bogus, non_temporal, locked;
    uint64_t origin;                 /* of the facts it causes when it leaves */
    nb_tick address_tick, data_tick; /* NB_NEVER: not known yet */
};

struct cache_line {
    uint64_t tag;          /* line address; NB_NEVER: empty */
    uint64_t used;         /* age for LRU */
    uint8_t state[2];      /* per sector: enum mesi; L1 uses the first */
    nb_tick ready[2];      /* when the sector's data are there */
    uint8_t prefetched[2]; /* the sector was asked for by a prefetch and not wanted since */
    uint64_t alias; /* L1: the linear address bits by which a line is found, above the offset */
};
enum mesi { MESI_I, MESI_S, MESI_E, MESI_M };

struct cache {
    struct cache_line *line;
    uint32_t sets, ways, line_bits;
    uint64_t stamp;
};

struct tlb_entry {
    uint64_t page, frame, used; /* page NB_NEVER: empty */
    nb_tick ready;
};
struct tlb {
    struct tlb_entry *entry;
    uint32_t sets, ways;
    uint64_t stamp;
    uint16_t hint[256]; /* where a page was last found */
};

struct wc_buffer {
    uint8_t lp;    /* who took it */
    uint64_t line; /* line address; NB_NEVER: free */
    uint64_t used;
    uint64_t bytes; /* one bit per byte written */
    uint8_t who;
    nb_tick ready; /* ownership arrived */
};

struct page_map {
    uint64_t *key, *frame;
    size_t capacity, count;
    uint64_t next_frame;
};

/* Kinds of bus transaction, as IOQ and BSQ facts tell them apart. */
enum bus_kind {
    BUS_READ,
    BUS_READ_ADJACENT,
    BUS_OWNERSHIP,
    BUS_UPGRADE, /* ownership of a sector whose data are here, shared */
    BUS_WRITEBACK,
    BUS_CODE,
    BUS_PREFETCH,
    BUS_PREFETCH_ADJACENT,
    BUS_WRITE_COMBINED,
    BUS_READ_PART, /* up to 8 bytes, past the caches */
    BUS_CODE_PART,
    BUS_WRITE_PART,
    BUS_LOCKED_READ, /* the same while the bus is locked */
    BUS_LOCKED_WRITE,
    BUS_KINDS
};

/* Something the bus or a queue does in a later clock. */
struct agenda_item {
    nb_clock when;
    uint16_t event; /* enum p4pmu_event */
    uint16_t bits;
    uint8_t who;
    int8_t change; /* of the standing count, or 0: one pulse */
    uint64_t origin;
};

struct bus {
    nb_tick address_free, data_free;
    nb_tick ioq[32]; /* when each in-order queue entry is free again */
    nb_tick bsq[32];
    uint32_t clock_ticks;       /* ticks of a bus clock */
    struct agenda_item *agenda; /* binary heap, soonest first */
    uint32_t agenda_count, agenda_capacity;
    struct {
        uint16_t event, bits;
        uint8_t who;
        uint32_t count;
    } standing[NB_STANDING];
    uint32_t standing_count;
};

/* Linear addresses [from, to) that are not write-back. */
struct memory_range {
    uint64_t from, to;
    uint8_t type; /* enum nb_memory_type */
};

/* The other agent on the bus: what it still has to do, and which sectors it holds. */
struct agent {
    struct nb_agent_action *action; /* its own copy; clock and count are those still to come */
    unsigned actions;
    nb_clock next; /* of the soonest; NB_NEVER */
    struct page_map holds;
};

struct stream {
    uint64_t page, last_line;
    int8_t direction;
    uint64_t used;
};

/* ---- front end ---------------------------------------------------------------------------------
 */

struct trace_item {
    const struct nb_code *code;
    uint8_t from, to; /* its trace-cache uops [from, to) */
};
struct trace_line {
    uint64_t ip; /* head; NB_NEVER: empty */
    uint64_t used;
    uint16_t process;
    uint8_t lp;
    uint8_t from; /* first uop of the head instruction */
    uint8_t count, entries;
    struct trace_item item[NB_TRACE_ITEMS];
};

struct btb_entry {
    uint64_t ip;
    uint64_t target;
    uint64_t used;
    uint8_t bias;
};
struct btb {
    struct btb_entry *entry;
    uint32_t sets, ways;
    uint64_t stamp;
};

struct target_entry {
    uint64_t ip, target; /* ip with the logical processor's mark */
};

struct predictor {
    struct btb front_end, trace;
    uint8_t *pattern;            /* two-bit counters: agree, or taken */
    struct target_entry *target; /* of indirect branches, or NULL */
};

/* What the predictor keeps for each logical processor. */
struct past {
    uint32_t history; /* as the front end sees it: predictions shifted in */
    uint64_t return_address[64];
    uint8_t return_top;
};

enum fe_mode { FE_DELIVER, FE_BUILD };
enum fe_wait {
    FE_RUN,
    FE_DRAIN,        /* until all has retired: the stream goes on elsewhere */
    FE_SYNC,         /* until all has retired: the input wants to know */
    FE_IDLE,         /* the input has nothing to run; it is asked again at busy_until */
    FE_UNKNOWN_CODE, /* a wrong path ended */
    FE_END
};

struct front_end {
    enum fe_mode mode;
    enum fe_wait wait;
    bool wrong_path;
    bool mode_64; /* the instructions of this path are of 64-bit mode */
    uint16_t process;
    uint64_t ip; /* next instruction to fetch */
    nb_clock busy_until;
    /* the instruction being delivered */
    bool has_dyn;
    uint32_t dyn;
    uint64_t uop;   /* next uop of it */
    uint64_t total; /* uops it has in all, repetitions included */
    bool in_rom;
    /* the line being delivered */
    const struct trace_line *line;
    uint8_t item;
    nb_clock line_next; /* earliest start of the next line */
    uint8_t lines;      /* delivered since the last pause */
    /* the line being built */
    struct trace_line build;
    uint8_t build_branches;
    bool lookup_due;       /* a trace head: look the trace cache up first */
    uint64_t code_line[2]; /* code lines in the streaming buffer, the newer first */
    uint64_t code_page;
    uint64_t fetch_bytes; /* bytes of code fetched and not yet decoded */
};

struct trace_cache {
    struct trace_line *line;
    uint64_t stamp;
};

struct code_chunk {
    struct code_chunk *next;
    size_t used;
    struct nb_code code[1024];
};

struct part_chunk {
    struct part_chunk *next;
    size_t used;
    struct nb_uop uop[512];
};

struct code_map {
    struct part_chunk *parts;  /* owns the address parts of fused stores */
    struct code_chunk *chunks; /* owns every decoded instruction */
    struct nb_code **by_number;
    size_t numbers;
    struct nb_code **slot; /* hash by process and ip */
    uint16_t *process;
    size_t capacity, count;
};

/* ---- the machine --------------------------------------------------------------------------------
 */

/* How much of each buffer one logical processor may hold at present. */
struct limits {
    uint32_t rob, loads, stores;
    uint32_t front; /* uop queue and the stages on the way to it */
    uint32_t memory_queue, general_queue, wc;
    uint32_t scheduler[NB_SCHEDULERS];
};

/* What each logical processor has for itself, or its part of. */
struct lp {
    uint8_t number;
    bool halted;
    bool wakes; /* woken, and the other one may still hold more than its half */
    nb_clock halted_since;
    uint8_t who; /* P4PMU_WHO of the instructions being fetched */
    struct nb_input input;
    bool input_ended;
    bool sync_due;          /* the input waits until all has retired */
    uint16_t address_space; /* the process whose page tables are loaded */
    struct nb_stats stats;

    /* instructions in flight: [dyn_retired, dyn_fetched) */
    struct dyn dyn[NB_DYN_RING];
    uint32_t dyn_retired, dyn_fetched;
    struct nb_instruction
        refetch[NB_DYN_RING]; /* right-path instructions that a machine clear threw out */
    uint32_t refetch_head, refetch_count;

    struct front_end fe;
    struct past past;
    struct code_map codes;
    struct tlb itlb;

    /* uop queue */
    struct fetched fetched[NB_QUEUE_RING];
    uint64_t fetched_head, fetched_tail;

    /* renamer */
    uint64_t rat[NB_REGISTERS + 8]; /* sequence number of the last writer; 0: committed */
    uint8_t x87_top;
    uint64_t saved_rat[NB_REGISTERS + 8];
    uint8_t saved_x87_top;
    bool have_saved;
    uint32_t loads_in_flight;
    bool stall_posted;
    nb_clock allocate_next; /* after a PAUSE: nothing is allocated before */

    /* reorder buffer: sequence numbers [rob_head, rob_tail), from 1 on */
    struct rob_entry *rob; /* its NB_ROB_RING entries of the machine's */
    uint64_t rob_head, rob_tail;
    struct queue memory_queue, general_queue;

    /* the one mispredicted right-path branch that has been fetched and not resolved */
    bool misprediction;
    uint32_t misprediction_dyn;
    bool wrong_values; /* the input executes the wrong path: its addresses are known */
    nb_clock resolve_at;

    struct store store[NB_STORES]; /* ring: [store_head, store_tail) in use, oldest first */
    uint64_t store_head, store_tail;

    uint8_t retired_x87_top;
    struct retired_branch { /* the last one, for the front end's past after a clear */
        const struct nb_code *code;
        uint32_t history;
        uint8_t return_top;
        bool taken;
    } retired_branch;
    bool clear_after_instruction; /* a retired store wrote near executed code */
    struct after {                /* what else is due when the instruction has retired */
        bool precise;             /* PEBS waits for one of its uops */
        bool any;                 /* of the flows */
        bool flow_due[FLOWS];
        nb_clock since; /* the flow that runs was begun */
        struct nb_instruction flow[FLOWS];
    } after;
    struct interrupts {
        bool monitoring;        /* the monitoring interrupt is on its way */
        nb_clock monitoring_at; /* when it arrives */
        nb_clock due;           /* earliest arrival of any; NB_NEVER */
        struct {
            nb_clock when; /* NB_NEVER: free */
            unsigned vector;
        } request[NB_REQUESTS];
        bool handling;     /* until the handler's IRET retires */
        bool returned;     /* nothing has retired behind the handler */
        bool handler_open; /* the input has not given that IRET yet */
        bool held_sync;    /* the input waited for retirement when it was interrupted */
        nb_clock since;    /* it was taken */
        uint64_t ip;       /* where the stream goes on behind the last one retired */
        bool inside;       /* the last uop retired was not its instruction's last */
        struct nb_instruction held[NB_DYN_RING]; /* thrown out, to be repeated after the handler */
        uint32_t held_head, held_count;
    } irq;
    nb_clock clear_level_until;
    nb_clock last_retire;
};

/* The code of a flow, and its uops where the machine made them itself. */
struct flow_code {
    struct nb_code code;
    struct nb_uop uops[NB_FLOW_UOPS];
};

struct nb_machine {
    struct nb_params p;
    struct p4pmu *pmu;
    struct nb_decoder *decoder[2]; /* for 32-bit and for 64-bit mode */
    nb_clock now;
    bool active; /* some stage did something in this clock */
    bool out_of_memory, stopped;
    bool origins;    /* facts are posted with the instruction they come from */
    uint64_t origin; /* of the facts posted now */
    bool each_clock; /* pass no clocks in one step */
    enum nb_stop stop;
    char report[1024];
    struct nb_stats stats; /* what belongs to no logical processor */
    struct nb_stats total; /* what nb_stats() gave last */

    unsigned lps; /* logical processors that have an input */
    struct lp lp[NB_LPS];
    bool both;        /* two logical processors are active: what is partitioned is halved */
    uint8_t mode_bit; /* the pair of trace cache modes that TC_deliver_mode shows, 0: none */
    uint8_t mode_who;
    struct limits limit;

    struct flow_code flow[FLOWS];
    struct trace_cache tc;
    struct predictor bp;

    uint32_t integer_in_flight, fp_in_flight; /* physical registers */
    struct rob_entry rob[NB_LPS * NB_ROB_RING];
    uint64_t age; /* uops allocated */
    struct scheduler scheduler[NB_SCHEDULERS];
    nb_tick unit_free[NB_UNITS + NB_LPS - 1]; /* the last unit is one for each logical processor */
    nb_tick port_closed[NB_PORTS]; /* replaying uops have all slots of a port before this tick */
    nb_tick loop_busy[NB_PORTS][2]
                     [2 * 64];      /* loop kind, phase: dispatch slots taken up to this tick */
    uint16_t wheel[NB_WHEEL_TICKS]; /* uops to look at again, by tick, index + 1 */
    uint64_t wheel_map[NB_WHEEL_TICKS / 64];
    uint32_t wheel_count;

    /* memory */
    nb_tick store_next;      /* earliest next commit */
    struct cache l1, l2, l3; /* l3 without lines where the part has none */
    nb_tick l1_miss_free[32];
    nb_tick l2_free;
    struct wc_buffer wc[32];
    struct tlb dtlb;
    nb_tick walk_free;
    struct page_map pages;
    struct bus bus;
    struct stream stream[8];
    struct nb_access piece; /* what uop_access() gave last, of an access done in pieces */
    struct memory_range range[NB_RANGES];
    unsigned ranges;
    struct agent agent;
    uint64_t
        code_filter[1024]; /* hashed 1 KB blocks of executed code, one bit each: a quick "no" */
    struct page_map code_blocks; /* the blocks themselves */
};

/* One retired instruction more than this long ago means stuck. */
#define NB_WATCHDOG_CLOCKS 200000u
/* How often an idle logical processor looks whether there is work for it (model choice). */
#define NB_IDLE_CLOCKS 1000u

static inline uint64_t min64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t max64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline struct rob_entry *rob_at(struct lp *lp, uint64_t sequence)
{
    return &lp->rob[sequence & (NB_ROB_RING - 1)];
}

static inline struct dyn *dyn_at(struct lp *lp, uint32_t number)
{
    return &lp->dyn[number & (NB_DYN_RING - 1)];
}

static inline struct lp *lp_of(struct nb_machine *m, const struct rob_entry *e)
{
    return &m->lp[e->lp];
}

/* The instruction a uop belongs to. */
static inline struct dyn *dyn_of(struct nb_machine *m, const struct rob_entry *e)
{
    return dyn_at(lp_of(m, e), e->dyn);
}

/* Nothing of LP is between fetch and retirement. */
static inline bool lp_drained(const struct lp *lp)
{
    return lp->rob_head == lp->rob_tail && lp->fetched_head == lp->fetched_tail;
}

/* Whether E is the oldest uop of its logical processor. */
static inline bool is_oldest(const struct nb_machine *m, const struct rob_entry *e)
{
    return e->sequence == m->lp[e->lp].rob_head;
}

static inline struct store *store_at(struct lp *lp, uint64_t position)
{
    return &lp->store[position & (NB_STORES - 1)];
}

/* When the unit E needs is free. The microcode sequencer has a place for each logical processor
 * (Marr 2002), and so has the unit that stands for it. */
static inline nb_tick *unit_free(struct nb_machine *m, const struct rob_entry *e)
{
    unsigned unit = e->uop->unit;
    return &m->unit_free[unit == NB_UNIT_FLOW ? unit + e->lp : unit];
}

/* A stage that serves one logical processor a clock: they take turns, and one that does nothing
 * gives its turn to the other. */
static inline nb_clock take_turns(struct nb_machine *m,
                                  nb_clock (*stage)(struct nb_machine *m, struct lp *lp))
{
    if (m->lps == 1)
        return stage(m, &m->lp[0]);
    unsigned first = m->now & 1;
    bool active = m->active;
    m->active = false;
    nb_clock next = stage(m, &m->lp[first]);
    if (!m->active)
        next = min64(next, stage(m, &m->lp[first ^ 1]));
    m->active |= active;
    return next;
}

/* A fact of WHO's (P4PMU_WHO: logical processor and CPL of the instruction it comes from). */
static inline void post(struct nb_machine *m, unsigned who, enum p4pmu_event event, unsigned bits,
                        unsigned count)
{
    p4pmu_post(m->pmu, event, bits, who, count);
}

/* The facts posted until the next call come from ORIGIN, see nb_name_origins(). */
static inline void facts_from(struct nb_machine *m, uint64_t origin)
{
    if (!m->origins)
        return;
    m->origin = origin;
    p4pmu_origin(m->pmu, origin);
}

/* Likewise, from D's instruction, or (NULL) from none. */
static inline void facts_of(struct nb_machine *m, const struct dyn *d)
{
    facts_from(m, d && !d->bogus && !d->flow ? d->in.serial + 1 : 0);
}

/* The statistics of WHO's logical processor. */
static inline struct nb_stats *stats_of(struct nb_machine *m, unsigned who)
{
    return &m->lp[who >> 2].stats;
}

/* The slots or the oldest uop have changed: what was found out about closed ports holds no more. */
static inline void open_ports(struct nb_machine *m)
{
    for (unsigned port = 0; port < NB_PORTS; port++)
        m->port_closed[port] = 0;
}

/* threads.c */
void threads_reset(struct nb_machine *m);
void show_modes(struct nb_machine *m);
void halt_cycle(struct nb_machine *m);
void lp_wake(struct nb_machine *m, struct lp *lp);
bool lp_rests(const struct lp *lp);
bool lp_waits_for_room(const struct nb_machine *m, struct lp *lp);
void count_halted(struct nb_machine *m);
void lp_privilege(struct nb_machine *m, struct lp *lp, bool kernel);

/* codes.c */
bool codes_init(struct lp *lp);
void codes_free(struct lp *lp);
const struct nb_code *codes_executed(struct nb_machine *m, struct lp *lp,
                                     const struct nb_instruction *in);
const struct nb_code *codes_at(struct nb_machine *m, struct lp *lp, uint16_t process, uint64_t ip);

/* predict.c */
bool predict_init(struct nb_machine *m);
void predict_free(struct nb_machine *m);
uint64_t predict_next(struct nb_machine *m, struct lp *lp, const struct nb_code *code, bool *known);
void predict_follow(const struct nb_machine *m, struct lp *lp, const struct nb_code *code,
                    bool taken);
void predict_retire(struct nb_machine *m, struct lp *lp, const struct dyn *d);

/* trace_cache.c */
bool tc_init(struct nb_machine *m);
void tc_free(struct nb_machine *m);
const struct trace_line *tc_lookup(struct nb_machine *m, struct lp *lp, uint16_t process,
                                   uint64_t ip, uint8_t from);
void tc_insert(struct nb_machine *m, struct lp *lp, const struct trace_line *line);
void tc_flush(struct nb_machine *m, unsigned who);

/* front_end.c: both modes, and instructions; deliver.c, build.c: one mode each */
void fe_reset(struct lp *lp);
nb_clock fe_cycle(struct nb_machine *m);
void fe_restart(struct nb_machine *m, struct lp *lp, uint64_t ip, uint16_t process);
void fe_mode(struct nb_machine *m, struct lp *lp, enum fe_mode mode);
enum fetch_result { FETCHED, FETCH_WAIT };
enum fetch_result fe_fetch(struct nb_machine *m, struct lp *lp);
void fe_finish(struct nb_machine *m, struct lp *lp);
uint32_t fe_room(const struct nb_machine *m, const struct lp *lp);
uint32_t fe_push(struct nb_machine *m, struct lp *lp, uint32_t count, unsigned source_bit,
                 uint32_t more_clocks);
nb_clock fe_rom_cycle(struct nb_machine *m, struct lp *lp);
void fe_enter_rom(struct nb_machine *m, struct lp *lp);
nb_clock deliver_cycle(struct nb_machine *m, struct lp *lp);
void build_enter(struct nb_machine *m, struct lp *lp);
nb_clock build_cycle(struct nb_machine *m, struct lp *lp);

/* rename.c */
nb_clock allocate_cycle(struct nb_machine *m);
void rename_restore(struct lp *lp);
void registers_release(struct nb_machine *m, const struct nb_uop *uop);

/* schedule.c */
nb_clock schedule_cycle(struct nb_machine *m);
void scheduler_wake(struct nb_machine *m, struct rob_entry *e);
/* What a port may take from a scheduler. */
enum pick { PICK_ANY, PICK_ALU, PICK_LOAD, PICK_STORE_ADDRESS };
int scheduler_peek(struct nb_machine *m, struct scheduler *s, nb_tick tick, enum pick pick);
void scheduler_remove(struct nb_machine *m, struct scheduler *s, int slot);
void schedule_forget(struct nb_machine *m, struct lp *lp);

/* dispatch.c, replay.c */
nb_clock dispatch_cycle(struct nb_machine *m);
void replay_first_pass(struct nb_machine *m, struct rob_entry *e, nb_tick tick);
void replay_look_again(struct nb_machine *m, nb_tick tick);
void replay_forget(struct nb_machine *m, const struct lp *lp);
nb_tick replay_next(const struct nb_machine *m, nb_tick after);
nb_tick replay_pass(const struct nb_machine *m, nb_tick first, nb_tick wanted, nb_tick loop);
nb_tick crossing(const struct nb_uop *producer, const struct nb_uop *consumer);
nb_tick replay_in_step(struct nb_machine *m, const struct rob_entry *e, nb_tick tick);
bool replay_slot_taken(struct nb_machine *m, enum port port, nb_tick tick);
nb_tick replay_slot_free(struct nb_machine *m, enum port port, nb_tick tick);

/* load.c, store.c, cache.c, tlb.c, l2.c, bus.c */
bool memory_init(struct nb_machine *m);
void memory_free(struct nb_machine *m);
const struct nb_access *uop_access(struct nb_machine *m, const struct rob_entry *e,
                                   uint64_t *address);
/* Wrong paths: no page can be there. */
bool is_unmapped(struct nb_machine *m, const struct rob_entry *e, const struct nb_access *a);
nb_tick walk_in_vain(struct nb_machine *m, const struct rob_entry *e, uint64_t linear,
                     nb_tick tick);
/* A load reads at TICK. When its data's time is known, the pass from which the result follows is
 * given; NB_NEVER: it must go round the loop and look again, not before *AGAIN. */
nb_tick load_execute(struct nb_machine *m, struct rob_entry *e, nb_tick tick, nb_tick loop,
                     nb_tick *again);
void prefetch_execute(struct nb_machine *m, struct rob_entry *e, nb_tick tick);
uint64_t translate(struct nb_machine *m, const struct rob_entry *e, uint64_t linear, nb_tick *tick,
                   nb_tick loop, bool *missed);
void store_address_execute(struct nb_machine *m, struct rob_entry *e, nb_tick tick);
bool store_has_entry(const struct lp *lp, uint32_t dyn, uint32_t element, const struct nb_uop *uop);
void store_allocate(struct lp *lp, struct rob_entry *e);
void store_retire(struct lp *lp, struct rob_entry *e);
nb_clock store_cycle(struct nb_machine *m);

bool l2_owns(struct nb_machine *m, uint64_t physical);
void agenda_add(struct nb_machine *m, unsigned who, nb_clock when, enum p4pmu_event event,
                unsigned bits, int change);
bool cache_init(struct cache *c, uint32_t sets, uint32_t ways, uint32_t line_bytes);
struct cache_line *cache_find(struct cache *c, uint64_t address);
struct cache_line *cache_victim(struct cache *c, uint64_t address);
void cache_claim(struct cache *c, struct cache_line *line, uint64_t address);
bool tlb_init(struct tlb *t, uint32_t sets, uint32_t ways);
struct tlb_entry *tlb_find(struct tlb *t, uint64_t page);
struct tlb_entry *tlb_fill(struct tlb *t, uint64_t page, uint64_t frame, nb_tick ready);
void tlb_flush(struct tlb *t);
uint64_t page_key(uint16_t process, uint64_t linear);
uint64_t dtlb_key(unsigned lp, uint64_t key);
void dtlb_flush(struct nb_machine *m, const struct lp *lp);
uint64_t page_frame(struct nb_machine *m, uint64_t key);
nb_tick page_walk(struct nb_machine *m, unsigned who, uint64_t key, nb_tick tick, bool code);
enum nb_memory_type memory_type_at(const struct nb_machine *m, uint64_t linear);
static inline enum nb_memory_type memory_type(uint64_t physical)
{
    return (enum nb_memory_type)(physical >> NB_TYPE_SHIFT);
}
static inline uint64_t with_type(uint64_t physical, enum nb_memory_type type)
{
    return (physical & ((UINT64_C(1) << NB_TYPE_SHIFT) - 1)) | (uint64_t)type << NB_TYPE_SHIFT;
}
nb_tick l2_read(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick,
                enum bus_kind kind, bool *missed);
void l2_write(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick);
bool l2_snoop(struct nb_machine *m, uint64_t physical, bool invalidate);
nb_tick bus_transaction(struct nb_machine *m, unsigned who, enum bus_kind kind, uint64_t physical,
                        nb_tick tick);
nb_tick bus_chunk(struct nb_machine *m, unsigned who, enum bus_kind kind, uint64_t physical,
                  bool split, nb_tick tick);
void bus_other(struct nb_machine *m, unsigned type, bool write, bool ours, nb_tick tick);
nb_tick bus_free(struct nb_machine *m);
nb_clock bus_cycle(struct nb_machine *m);

/* l3.c */
unsigned l3_read(struct nb_machine *m, unsigned who, uint64_t physical, bool demand, nb_tick tick,
                 nb_tick *there);
void l3_enter(struct nb_machine *m, unsigned who, uint64_t physical, unsigned state, nb_tick tick);
void l3_write(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick);
bool l3_snoop(struct nb_machine *m, uint64_t physical, bool invalidate);

/* uncached.c, agent.c */
bool stores_drained(const struct lp *lp, const struct rob_entry *e);
bool goes_past_caches(const struct nb_machine *m, const struct nb_uop *uop, uint64_t linear,
                      uint64_t physical, uint32_t size);
nb_tick uncached_load(struct nb_machine *m, struct rob_entry *e, uint64_t linear, uint64_t physical,
                      uint32_t size, nb_tick tick, nb_tick *again);
nb_tick uncached_store(struct nb_machine *m, const struct store *s, nb_tick tick);
bool uncached_code(struct nb_machine *m, unsigned who, uint64_t physical, nb_tick tick,
                   nb_tick *there);
void wc_snoop(struct nb_machine *m, uint64_t physical, nb_tick tick);
void wc_drain(struct nb_machine *m, unsigned who, nb_tick tick);
nb_clock agent_cycle(struct nb_machine *m);
bool agent_holds(const struct nb_machine *m, uint64_t physical);
void agent_loses(struct nb_machine *m, uint64_t physical);
void agent_free(struct nb_machine *m);
bool map_add(struct nb_machine *m, struct page_map *map, uint64_t key, uint64_t value);
bool map_find(const struct page_map *map, uint64_t key, uint64_t *value);

/* clear.c: self-modifying code, machine clears */
#define NB_CLEAR_MEMORY_ORDER   (1u << 2) /* sub-event bits of machine_clear */
#define NB_CLEAR_SELF_MODIFYING (1u << 6)
bool smc_hits(const struct nb_machine *m, uint16_t process, uint64_t linear);
void smc_executed(struct nb_machine *m, uint16_t process, uint64_t linear);

/* retire.c */
nb_clock retire_cycle(struct nb_machine *m);

/* clear.c */
void machine_clear(struct nb_machine *m, struct lp *lp, uint32_t last_dyn, unsigned cause_bit);
void throw_out(struct nb_machine *m, struct lp *lp, uint32_t last_dyn);
void show_clear(struct nb_machine *m, struct lp *lp, unsigned cause_bit);

/* flow.c */
bool flow_init(struct nb_machine *m);
void flow_insert(struct nb_machine *m, struct lp *lp, enum flow flow,
                 const struct nb_instruction *in);
bool flow_next(struct nb_machine *m, struct lp *lp, uint32_t last_dyn);

/* interrupt.c */
void interrupts_reset(struct lp *lp);
nb_clock interrupts_cycle(struct nb_machine *m);
uint64_t interrupts_quiet(const struct nb_machine *m, uint64_t n);
bool interrupt_take(struct nb_machine *m, struct lp *lp);
bool interrupt_fault(struct nb_machine *m, struct lp *lp, uint32_t dyn);
void interrupt_return(struct nb_machine *m, struct lp *lp);
enum nb_input_result interrupt_pull(struct lp *lp, struct nb_instruction *in, bool *done);

#endif
