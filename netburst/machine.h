/*
 * The machine's own state, one struct, first argument everywhere. Folder-private. Its pieces:
 * in_flight.h, front_end.h, memory.h.
 *
 * Time: `now` is the core clock. Every stage is a function of one clock that returns the next clock
 * in which it may have work again, so that clocks in which nothing can happen are passed in one
 * step (machine.c).
 */
#ifndef NETBURST_MACHINE_H
#define NETBURST_MACHINE_H

#include "front_end.h"
#include "in_flight.h"
#include "memory.h"

#define NB_WHEEL_TICKS 4096u /* how far ahead the wheel looks; later events go round again */
#define NB_REQUESTS    4u    /* interrupts outstanding */
#define NB_FLOW_UOPS   8u
#define NB_TURNS       8u /* mispredicted branches outstanding: model choice, unpublished */

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
    bool table_lost;         /* it is that of a path that was left: */
    uint32_t table_back_dyn; /* until this branch has retired */
    uint32_t loads_in_flight;
    bool stall_posted;
    nb_clock allocate_next; /* after a PAUSE: nothing is allocated before */

    /* reorder buffer: sequence numbers [rob_head, rob_tail), from 1 on */
    struct rob_entry *rob; /* its NB_ROB_RING entries of the machine's */
    uint64_t rob_head, rob_tail;
    struct queue memory_queue, general_queue;

    /* Mispredicted branches that have been fetched and not resolved, oldest first: the first is the
     * right path's, the others are on the wrong path. */
    struct turn {
        uint32_t dyn;
        nb_clock resolve_at;
    } turn[NB_TURNS];
    unsigned turns;
    nb_clock resolve_at; /* the earliest of the turns' */
    bool wrong_values;   /* the input executes the wrong path: its addresses are known */

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
    struct due due;
    nb_tick unit_free[NB_UNITS + NB_LPS - 1]; /* the last unit is one for each logical processor */
    nb_tick port_closed[NB_PORTS]; /* replaying uops have all slots of a port before this tick */
    nb_tick loop_busy[NB_PORTS][2]
                     [2 * 64]; /* loop kind, phase: dispatch slots taken up to this tick */
    uint32_t loop[2];          /* ticks of a turn of each kind of loop */
    uint32_t phase[2];         /* of each kind at PHASE_TICK */
    nb_tick phase_tick;
    uint16_t wheel[NB_WHEEL_TICKS]; /* uops to look at again, by tick, index + 1 */
    uint64_t wheel_map[NB_WHEEL_TICKS / 64];
    uint32_t wheel_count;

    /* memory */
    nb_tick store_next;      /* earliest next commit */
    unsigned store_turn;     /* logical processor whose store goes first */
    struct cache l1, l2, l3; /* l3 without lines where the part has none */
    nb_tick l1_miss_free[32];
    nb_tick l2_free;
    struct wc_buffer wc[32];
    uint32_t wc_waiting; /* full ones that wait for the bus */
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

/* Whether the uop whose sequence number has these LOW bits has not retired: no uop knows of one
 * that is farther away. */
static inline bool in_flight(const struct lp *lp, uint32_t low)
{
    return low - (uint32_t)lp->rob_head < NB_ROB_RING;
}

/* Whether the store that E is of has not left the store buffer. */
static inline bool in_store_buffer(const struct lp *lp, const struct rob_entry *e)
{
    return e->buffer - (uint32_t)lp->store_head < NB_STORES;
}

static inline struct store *store_at(struct lp *lp, uint64_t position)
{
    return &lp->store[position & (NB_STORES - 1)];
}

/*
 * Whether E stands for the microcode sequencer's time in a flow on a wrong path. The table gives a
 * flow's time as a whole, and one uop has it; on the hardware the sequencer takes it, uop after
 * uop, and stops when the branch sends the front end elsewhere. What was issued by then drains as
 * other bogus uops do, one clock each here.
 */
static inline bool is_cut_short(struct nb_machine *m, const struct rob_entry *e)
{
    return e->bogus && (e->uop->unit == NB_UNIT_FLOW || e->uop->unit == NB_UNIT_NONE) &&
           dyn_of(m, e)->code->flags & NB_CODE_COMPLEX;
}

/* The divider has fewer digits to find when the x87 control word asks for fewer. */
static inline nb_tick divides_less(struct nb_machine *m, const struct rob_entry *e)
{
    const uint32_t less[] = {0, m->p.x87_single_divide_less, m->p.x87_double_divide_less};
    return 2 * (nb_tick)less[dyn_of(m, e)->in.x87_precision];
}

/* E's own time where the table has TICKS for its instruction. */
static inline nb_tick own_ticks(struct nb_machine *m, const struct rob_entry *e, nb_tick ticks)
{
    enum { CUT_SHORT = 2 };
    if (is_cut_short(m, e))
        return min64(ticks, CUT_SHORT);
    return e->uop->unit == NB_UNIT_FP_DIV ? ticks - divides_less(m, e) : ticks;
}

/* A stage that serves one logical processor a clock: they take turns, and one that does nothing
 * gives its turn to the other. */
static inline nb_clock take_turns_from(struct nb_machine *m, unsigned first,
                                       nb_clock (*stage)(struct nb_machine *m, struct lp *lp))
{
    if (m->lps == 1)
        return stage(m, &m->lp[0]);
    bool active = m->active;
    m->active = false;
    nb_clock next = stage(m, &m->lp[first]);
    if (!m->active)
        next = min64(next, stage(m, &m->lp[first ^ 1]));
    m->active |= active;
    return next;
}
static inline nb_clock take_turns(struct nb_machine *m,
                                  nb_clock (*stage)(struct nb_machine *m, struct lp *lp))
{
    return take_turns_from(m, m->now & 1, stage);
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
    if (m->origins)
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

/* rename.c */
nb_clock allocate_cycle(struct nb_machine *m);
void registers_release(struct nb_machine *m, const struct nb_uop *uop);

/* turn.c: mispredicted branches from fetch to the front end's new start */
void turn_right_path(struct lp *lp, struct dyn *d);
void turn_wrong_path(struct lp *lp, struct dyn *d);
void turn_executed(struct lp *lp, uint32_t dyn, nb_clock resolve_at);
void turns_forget(struct lp *lp);
nb_clock turn_cycle(struct nb_machine *m);

/* schedule.c */
nb_clock schedule_cycle(struct nb_machine *m);
void scheduler_wake(struct nb_machine *m, struct rob_entry *e);
static inline uint16_t picked(const struct scheduler *s, enum pick pick)
{
    return pick == PICK_ANY ? 0xFFFF : pick == PICK_MARKED ? s->marked : (uint16_t)~s->marked;
}
int scheduler_oldest(struct nb_machine *m, unsigned which, nb_tick tick, enum pick pick);
void scheduler_remove(struct nb_machine *m, struct scheduler *s, int slot);
nb_tick scheduler_next(struct nb_machine *m, unsigned which, uint16_t slots);
void schedule_forget(struct nb_machine *m, struct lp *lp);

/* due.c */
void due_file_far(struct due *due, unsigned which, uint16_t bit, nb_tick when);
/* The uop in SLOT of scheduler WHICH is due at its `ready`. */
static inline void due_file(struct nb_machine *m, unsigned which, unsigned slot)
{
    struct due *due = &m->due;
    nb_tick when = m->scheduler[which].ready[slot];
    uint16_t bit = (uint16_t)(1u << slot);
    if (when <= due->seen) {
        due->ripe.of[which] |= bit;
    } else if (when - due->seen < NB_DUE_TICKS) {
        due->at[when % NB_DUE_TICKS].of[which] |= bit;
        due->map |= UINT64_C(1) << (when % NB_DUE_TICKS);
    } else {
        due_file_far(due, which, bit, when);
    }
}
void due_collect(struct nb_machine *m, nb_tick tick);
void due_skip(struct nb_machine *m, nb_tick tick);
void due_forget(struct nb_machine *m, unsigned which, unsigned slot);

/* dispatch.c, replay.c */
nb_clock dispatch_cycle(struct nb_machine *m);
void replay_first_pass(struct nb_machine *m, struct rob_entry *e, nb_tick tick);
void replay_look_again(struct nb_machine *m, nb_tick tick);
void replay_forget(struct nb_machine *m, const struct lp *lp);
nb_tick replay_next(const struct nb_machine *m, nb_tick after);
nb_tick replay_pass(const struct nb_machine *m, nb_tick first, nb_tick wanted, nb_tick loop);
nb_tick crossing(const struct nb_uop *producer, const struct nb_uop *consumer);
nb_tick replay_in_step(struct nb_machine *m, const struct rob_entry *e, nb_tick tick,
                       bool *settled);
void replay_turn(struct nb_machine *m, nb_tick tick);
bool replay_slot_taken(struct nb_machine *m, enum port port, nb_tick tick);
nb_tick replay_slot_free(struct nb_machine *m, enum port port, nb_tick tick);

/* retire.c */
nb_clock retire_cycle(struct nb_machine *m);

/* clear.c: self-modifying code, machine clears */
#define NB_CLEAR_MEMORY_ORDER   (1u << 2) /* sub-event bits of machine_clear */
#define NB_CLEAR_SELF_MODIFYING (1u << 6)
bool smc_hits(const struct nb_machine *m, uint16_t process, uint64_t linear);
void smc_executed(struct nb_machine *m, uint16_t process, uint64_t linear);
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
