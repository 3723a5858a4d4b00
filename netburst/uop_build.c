/*
 * How a form becomes uops. The number of uops is always the row's; what they are follows from the
 * operands. In order:
 *
 *   loads, store addresses, fence, chain of computing uops, store data, string pointers,
 *   stack pointer, branch
 *
 * Memory. A memory source is a load uop, a memory destination a store: two uops (address for port
 * 3, data for port 0) where the row's count leaves room for both, else one that does both
 * (NB_UOP_STORE_FUSED). So MOV m,r is one uop, two with a SIB byte, ADD m,r three, INC m four, as
 * the sheet counts.
 *
 * Pointers. PUSH, POP, CALL, RET and LEAVE move ESP in an ALU uop beside the access, with the row's
 * STACK latency. String pointers move in ALU uops with the row's latency; the string's data do not
 * wait for them.
 *
 * Chain. What is left of the count computes. The first of these uops reads the sources and has the
 * row's unit and its busy time; further ones are links of a chain through a temporary register, one
 * step each (EXEC list), as many as the latency has room for while the first keeps half of it. The
 * chain is as long as the row's latency less what the memory itself takes (nb_chain_ticks). Uops
 * left over take slots and nobody waits for them. A second result (EDX of MUL, the other side of
 * XCHG) is a uop beside the last link. INC and DEC merge the flags they keep in their second uop,
 * so that only the flags wait for the old ones.
 *
 * Place. Uops beyond the row's trace-cache count come from the microcode ROM. A uop with data
 * beyond 16 bits (32 on Prescott) takes a second trace cache entry unless a neighbour has room
 * (Agner 5.2). Model choice: neighbours are the uops of the same instruction, each has room once.
 *
 * Model choice: which uop of a longer flow uses which unit is not published. The first has the
 * row's unit, links run in the fast ALUs but count as uops of that unit's domain.
 */
#include "decode.h"
#include <string.h>

enum {
    LOAD_TICKS = 4,     /* L1 latency inside the sheets' integer load rows: MOV r32,m is 2 clocks */
    FP_LOAD_TICKS = 14, /* the same for x87, MMX and SSE: FLD m is about 7 clocks */
    /* Memory's part of a read-modify-write loop: ADD m,r is 8 clocks and its ALU half a clock on
     * model 2, 5 clocks and one on Prescott. */
    LOOP_TICKS = 15,
    PRESCOTT_LOOP_TICKS = 8,
    BRANCH_TICKS = 1, /* the branch uop itself, an ALU0 operation */
    MOST_UOPS = 512   /* the longest row (FBSTP) has 314 */
};

struct exec_row {
    uint8_t scheduler, domain, unit, step, least;
};

static const struct exec_row execs[] = {
#define EXEC(name, scheduler, domain, unit, step, least)                                           \
    {NB_SCHED_##scheduler, NB_DOMAIN_##domain, NB_UNIT_##unit, step, least},
    NB_EXEC_LIST(EXEC)
#undef EXEC
};

/* The list of uops under construction. */
struct build {
    const struct nb_form *form;
    const struct nb_facts *facts;
    const struct exec_row *exec;
    unsigned count;     /* of uops so far */
    unsigned computing; /* uops that compute */
    bool split_stores;
    uint8_t value; /* register with the value to store or to branch on */
    struct nb_uop list[MOST_UOPS];
};

static struct nb_uop *append(struct build *build, enum nb_uop_kind kind,
                             enum nb_scheduler scheduler)
{
    struct nb_uop *uop =
        &build->list[build->count < MOST_UOPS - 1 ? build->count++ : MOST_UOPS - 1];
    *uop = (struct nb_uop){.kind = (uint8_t)kind,
                           .scheduler = (uint8_t)scheduler,
                           .latency = 1,
                           .busy = 1,
                           .result = NB_REG_NONE,
                           .result2 = NB_REG_NONE};
    memset(uop->source, NB_REG_NONE, sizeof uop->source);
    return uop;
}

/* Add REG to the sources; false when all places are taken. */
static bool add_source(struct nb_uop *uop, uint8_t reg)
{
    for (unsigned i = 0; i < NB_UOP_SOURCES; i++) {
        if (uop->source[i] == reg || reg == NB_REG_NONE)
            return true;
        if (uop->source[i] == NB_REG_NONE) {
            uop->source[i] = reg;
            return true;
        }
    }
    return false;
}

/* Address registers follow the data of a fused store; a register that is both stands twice. */
static void add_address(struct nb_uop *uop, const struct nb_address *address)
{
    unsigned n = uop->data_sources;
    for (unsigned i = 0; i < 3 && n < NB_UOP_SOURCES; i++)
        if (address->reg[i] != NB_REG_NONE)
            uop->source[n++] = address->reg[i];
}

static unsigned at_least(unsigned value, unsigned least)
{
    return value > least ? value : least;
}

/* What computes. Moves through memory that have uops left over (FILD, MOVUPS) convert or merge in
 * the FP unit. */
static const struct exec_row *exec_of(const struct nb_form *form, const struct nb_facts *facts)
{
    bool moves = form->exec == NB_EXEC_LOAD || form->exec == NB_EXEC_STORE;
    return &execs[moves && facts->fp_data ? NB_EXEC_FMISC : form->exec];
}

/* Memory's part of the row's latency. */
static unsigned memory_ticks(const struct nb_form *form, const struct nb_facts *facts)
{
    switch (form->path) {
    case NB_PATH_LOAD:
    case NB_PATH_STORE:
        return facts->fp_data ? FP_LOAD_TICKS : LOAD_TICKS;
    case NB_PATH_LOOP:
        return form->core == NB_CORE_P4E ? PRESCOTT_LOOP_TICKS : LOOP_TICKS;
    case NB_PATH_BRANCH:
        return BRANCH_TICKS;
    default:
        return 0;
    }
}

/*
 * Where the sheet gives no latency, a flow from the ROM lasts as long as its throughput says (such
 * flows hardly overlap with themselves: model choice), anything shorter as long as its unit's
 * commonest instruction.
 */
unsigned nb_chain_ticks(const struct nb_form *form, const struct nb_facts *facts)
{
    const struct exec_row *exec = exec_of(form, facts);
    if (form->path == NB_PATH_UNKNOWN)
        return form->rom_uops > 0 ? at_least(form->busy - (unsigned)facts->fences, exec->least)
                                  : exec->least;
    if (form->path == NB_PATH_STACK)
        return exec->step;
    unsigned memory = memory_ticks(form, facts);
    unsigned ticks = form->latency > memory ? form->latency - memory : 1;
    return form->path == NB_PATH_LOOP ? (ticks + exec->step - 1) / exec->step * exec->step : ticks;
}

/* ---- memory -------------------------------------------------------------------------- */

/* Does the load write the instruction's result itself? */
static bool load_is_result(const struct build *build)
{
    bool leave = build->facts->stack && build->facts->stack_source != NB_REG_GPR + 4;
    return !build->facts->computes && build->facts->results > 0 && (build->computing == 0 || leave);
}

/* The uop added last does piece NUMBER of a long access. */
static void take_piece(struct build *build, unsigned number)
{
    const struct nb_facts *facts = build->facts;
    struct nb_uop *uop = &build->list[build->count - 1];
    unsigned n = facts->memory_pieces;
    uop->piece = (uint8_t)number;
    uop->piece_offset = (uint16_t)(number * facts->memory_bytes / n);
    uop->piece_bytes = (uint8_t)((facts->memory_bytes + n - 1) / n);
}

static void add_load(struct build *build, unsigned i)
{
    const struct nb_facts *facts = build->facts;
    struct nb_uop *uop =
        append(build, facts->prefetches ? NB_UOP_PREFETCH : NB_UOP_LOAD, NB_SCHED_MEMORY);
    uop->domain = NB_DOMAIN_LOAD;
    uop->unit = NB_UNIT_LOAD;
    uop->busy = 2; /* one load a clock */
    uop->latency = 0;
    uop->access = (uint8_t)i;
    add_address(uop, &facts->read[i]);
    uop->flags =
        (uint8_t)((facts->fp_data ? NB_UOP_FP_LOAD : 0) | (facts->locked ? NB_UOP_LOCKED : 0) |
                  (facts->non_temporal ? NB_UOP_NON_TEMPORAL : 0));
    uop->fp_class = facts->fp_data ? NB_FP_MOVE_P2 : NB_FP_NONE;
    if (!facts->prefetches)
        uop->result = load_is_result(build) ? facts->result[0] : (uint8_t)(NB_REG_TEMP + 1 + i);
}

static uint8_t store_flags(const struct nb_facts *facts)
{
    if (facts->flushes)
        return NB_UOP_FLUSH;
    return (uint8_t)((facts->locked ? NB_UOP_LOCKED : 0) |
                     (facts->non_temporal ? NB_UOP_NON_TEMPORAL : 0));
}

static void add_store_address(struct build *build, unsigned i)
{
    struct nb_uop *uop = append(build, NB_UOP_STORE_ADDRESS, NB_SCHED_MEMORY);
    uop->domain = NB_DOMAIN_LOAD;
    uop->unit = NB_UNIT_NONE;
    uop->busy = 2; /* one store address a clock */
    uop->latency = 2;
    uop->access = (uint8_t)i;
    uop->flags = store_flags(build->facts);
    add_address(uop, &build->facts->write[i]);
}

static void add_store_data(struct build *build, unsigned i)
{
    const struct nb_facts *facts = build->facts;
    struct nb_uop *uop =
        append(build, NB_UOP_STORE_DATA, facts->fp_data ? NB_SCHED_FP_MOVE : NB_SCHED_FAST0);
    uop->domain = facts->fp_data ? NB_DOMAIN_FP : NB_DOMAIN_ALU;
    uop->unit = NB_UNIT_STORE;
    uop->busy = 2; /* one store datum a clock; the store buffer empties slower */
    uop->latency = 2;
    uop->access = (uint8_t)i;
    uop->flags = store_flags(facts);
    uop->fp_class = facts->fp_data ? NB_FP_MOVE_P0 : NB_FP_NONE;
    add_source(uop, build->value);
    if (!build->split_stores) {
        uop->flags |= NB_UOP_STORE_FUSED;
        uop->data_sources = uop->source[0] != NB_REG_NONE;
        add_address(uop, &facts->write[i]);
    }
}

/* Addresses come before the results: the registers they are made of may be among them (XADD [eax],
 * eax). */
static void add_store_addresses(struct build *build)
{
    for (unsigned i = 0; i < build->facts->writes && build->split_stores; i++)
        add_store_address(build, i);
}

static void add_loads(struct build *build)
{
    const struct nb_facts *facts = build->facts;
    for (unsigned i = 0; i < facts->reads; i++)
        add_load(build, i);
    for (unsigned piece = 0; facts->reads && piece < facts->memory_pieces; piece++) {
        if (piece)
            add_load(build, 0);
        take_piece(build, piece);
    }
}

/* The stores of a state instruction are of the kind that is one uop. */
static void add_stores(struct build *build)
{
    const struct nb_facts *facts = build->facts;
    for (unsigned i = 0; i < facts->writes; i++)
        add_store_data(build, i);
    for (unsigned piece = 0; facts->writes && piece < facts->memory_pieces; piece++) {
        if (piece)
            add_store_data(build, 0);
        take_piece(build, piece);
    }
}

/* ---- computing ----------------------------------------------------------------------- */

/* A uop of the chain: in the row's domain, in the fast ALUs unless it is the first. */
static struct nb_uop *add_link(struct build *build, unsigned ticks, uint8_t result)
{
    struct nb_uop *uop = append(build, NB_UOP_ALU, NB_SCHED_FAST_ANY);
    uop->domain = build->exec->domain;
    uop->latency = (uint16_t)at_least(ticks, 1);
    uop->result = result;
    return uop;
}

static void add_idle(struct build *build, unsigned n)
{
    while (n-- > 0)
        append(build, NB_UOP_ALU, NB_SCHED_FAST_ANY);
}

/* What the first uop reads: what was loaded, then registers. */
static unsigned inputs_of(const struct nb_facts *facts, uint8_t input[12])
{
    unsigned n = 0;
    if (facts->fences)
        input[n++] = NB_REG_TEMP;
    for (unsigned i = 0; i < facts->reads && !facts->prefetches; i++)
        input[n++] = (uint8_t)(NB_REG_TEMP + 1 + i);
    for (unsigned i = 0; i < facts->sources; i++)
        input[n++] = facts->source[i];
    return n;
}

/* What the chain writes: the value for a store or a branch, then registers. */
static unsigned outputs_of(const struct nb_facts *facts, uint8_t output[9])
{
    unsigned n = 0;
    if (facts->writes > 0 || (facts->branches && facts->results == 0))
        output[n++] = NB_REG_TEMP;
    for (unsigned i = 0; i < facts->results; i++)
        output[n++] = facts->result[i];
    if (n == 0)
        output[n++] = NB_REG_NONE;
    return n;
}

static void finish_chain(struct build *build, struct nb_uop *last)
{
    last->extra = (uint8_t)build->form->extra;
    if (build->facts->flags_written)
        last->result2 = NB_REG_FLAGS;
}

/* A flow of the ROM without a published throughput, and flows without ROM uops, take no unit. */
static enum nb_unit unit_of(const struct build *build)
{
    bool free = build->form->rom_uops == 0 || build->form->busy == 0;
    return build->exec->unit == NB_UNIT_FLOW && free ? NB_UNIT_NONE : build->exec->unit;
}

/* The row's busy time belongs to the row's unit; a move's is the store path's, not the FP unit's.
 */
static unsigned busy_ticks(const struct build *build)
{
    if (unit_of(build) == NB_UNIT_NONE)
        return 1;
    return build->exec == &execs[build->form->exec] ? at_least(build->form->busy, 2) : 2;
}

static void set_main(struct build *build, struct nb_uop *uop)
{
    uop->scheduler = build->exec->scheduler;
    uop->unit = (uint8_t)unit_of(build);
    uop->busy = (uint16_t)busy_ticks(build);
    uop->fp_class = build->facts->fp_class;
    if (build->facts->breaks)
        uop->flags |= NB_UOP_BREAKS_DEPENDENCE;
}

struct chain {
    unsigned links;  /* after the first uop */
    unsigned beside; /* second results */
    unsigned idle;
    unsigned first_ticks;
    bool merge; /* INC's flags */
    uint8_t input[12], output[9];
    unsigned inputs, outputs;
};

static struct chain plan_chain(const struct build *build)
{
    struct chain chain = {0};
    unsigned step = build->exec->step;
    unsigned ticks = build->facts->steps > 0 ? step : nb_chain_ticks(build->form, build->facts);
    chain.inputs = inputs_of(build->facts, chain.input);
    chain.outputs = outputs_of(build->facts, chain.output);
    chain.beside =
        chain.outputs - 1 < build->computing - 1 ? chain.outputs - 1 : build->computing - 1;
    unsigned room = build->computing - 1 - chain.beside;
    chain.merge = build->facts->flags_merge && room > 0;
    room -= chain.merge;
    unsigned kept = at_least((ticks + 1) / 2, step);
    chain.links = ticks > kept ? (ticks - kept) / step : 0;
    chain.links = chain.links < room ? chain.links : room;
    chain.idle = room - chain.links;
    chain.first_ticks = ticks - chain.links * step;
    return chain;
}

/* Inputs that found no place in the first uop go to the links. */
static unsigned add_inputs(struct nb_uop *uop, const struct chain *chain, unsigned from)
{
    while (from < chain->inputs && add_source(uop, chain->input[from]))
        from++;
    return from;
}

/* The uop before the last one stands alone when there are no links: then second results read the
 * inputs themselves. */
static void add_beside(struct build *build, const struct chain *chain, unsigned ticks)
{
    for (unsigned i = 1; i <= chain->beside; i++) {
        struct nb_uop *uop = add_link(build, ticks, chain->output[i]);
        if (chain->links > 0)
            add_source(uop, NB_REG_TEMP);
        else
            add_inputs(uop, chain, 0);
    }
}

/* INC and DEC keep the carry flag: their second uop makes the new flags from the old ones and the
 * result. */
static void add_flags_merge(struct build *build, struct nb_uop *last)
{
    uint8_t value = last->result;
    last->result2 = NB_REG_NONE;
    for (unsigned i = 0; i < NB_UOP_SOURCES; i++)
        if (last->source[i] == NB_REG_FLAGS)
            last->source[i] = NB_REG_NONE;
    struct nb_uop *merge = add_link(build, 1, NB_REG_NONE);
    merge->result2 = NB_REG_FLAGS;
    add_source(merge, value);
    add_source(merge, NB_REG_FLAGS);
}

static void add_chain(struct build *build)
{
    struct chain chain = plan_chain(build);
    if (chain.links == 0)
        add_beside(build, &chain, chain.first_ticks);
    struct nb_uop *uop =
        add_link(build, chain.first_ticks, chain.links > 0 ? NB_REG_TEMP : chain.output[0]);
    set_main(build, uop);
    unsigned from = add_inputs(uop, &chain, 0);
    for (unsigned i = 1; i <= chain.links; i++) {
        if (i == chain.links)
            add_beside(build, &chain, build->exec->step);
        uop = add_link(build, build->exec->step, i < chain.links ? NB_REG_TEMP : chain.output[0]);
        add_source(uop, NB_REG_TEMP);
        from = add_inputs(uop, &chain, from);
    }
    finish_chain(build, uop);
    build->value = chain.output[0];
    if (chain.merge)
        add_flags_merge(build, uop);
    add_idle(build, chain.idle);
}

/* ---- the whole ----------------------------------------------------------------------- */

static void add_stack(struct build *build)
{
    unsigned ticks = build->form->path == NB_PATH_STACK ? build->form->latency : 1;
    struct nb_uop *uop = append(build, NB_UOP_ALU, NB_SCHED_FAST_ANY);
    uop->latency = (uint16_t)at_least(ticks, 1);
    uop->extra = build->facts->core == NB_CORE_P4; /* fast ALUs: half a clock, none on Prescott */
    uop->source[0] = build->facts->stack_source;
    uop->result = NB_REG_GPR + 4;
}

static void add_step(struct build *build, uint8_t reg)
{
    struct nb_uop *uop = append(build, NB_UOP_ALU, NB_SCHED_FAST_ANY);
    uop->latency = (uint16_t)nb_chain_ticks(build->form, build->facts);
    uop->source[0] = reg;
    uop->result = reg;
}

/* The flow of a fence goes on when everything older is done. Its port is not published: port 0, as
 * stores have (model choice). But for LFENCE it is counted as a store (Weaver), and sends out what
 * gathers in write-combining buffers: flag NON_TEMPORAL. */
static void add_fence(struct build *build)
{
    struct nb_uop *uop = append(build, NB_UOP_FENCE, NB_SCHED_FAST0);
    uop->result = NB_REG_TEMP;
    if (build->facts->fence_orders_stores)
        uop->flags |= NB_UOP_NON_TEMPORAL;
    if (build->facts->fence_orders_loads)
        uop->result2 = NB_REG_LOADS;
}

static void add_branch(struct build *build)
{
    const struct nb_facts *facts = build->facts;
    struct nb_uop *uop = append(build, NB_UOP_BRANCH, NB_SCHED_FAST0);
    uop->latency = BRANCH_TICKS;
    uop->busy = 2; /* one branch a clock */
    add_source(uop, build->value);
    for (unsigned i = 0; build->value == NB_REG_NONE && i < facts->sources; i++)
        add_source(uop, facts->source[i]);
}

/* Uops that are neither chain nor stores. */
static unsigned fixed_uops(const struct nb_facts *facts)
{
    unsigned pieces = facts->memory_pieces ? facts->memory_pieces - 1U : 0;
    return pieces + facts->reads + facts->stack + facts->steps + facts->fences + facts->branches;
}

/* The fewest uops that can do what FACTS says: the generic rule, and the floor under every row. */
static unsigned fewest_uops(const struct nb_facts *facts)
{
    unsigned fewest = fixed_uops(facts) + facts->writes + facts->computes;
    return fewest > 0 ? fewest : 1;
}

static unsigned row_uops(const struct nb_form *form, const struct nb_facts *facts)
{
    unsigned uops = form->trace_uops + (unsigned)form->rom_uops;
    uops += (form->marks & M_HIGH) && facts->high_byte;
    uops += (form->marks & M_SIB) && facts->sib;
    return uops;
}

/* Do the uops left over compute? Those of RET, LEAVE and of direct calls only take slots. */
static bool has_chain(const struct build *build)
{
    const struct nb_facts *facts = build->facts;
    if (build->computing == 0)
        return false;
    bool waits = facts->branches && build->form->path == NB_PATH_STACK;
    return facts->computes || !(waits || facts->steps > 0 || load_is_result(build));
}

/* What a store stores or a branch waits for when nothing is computed. */
static uint8_t plain_value(const struct nb_facts *facts)
{
    if (facts->reads > 0 && !facts->prefetches && (facts->writes > 0 || facts->branches))
        return NB_REG_TEMP + 1;
    return facts->writes > 0 && facts->sources > 0 && !facts->branches ? facts->source[0]
                                                                       : NB_REG_NONE;
}

static void share_out(struct build *build, unsigned total)
{
    const struct nb_facts *facts = build->facts;
    unsigned room = total - fixed_uops(facts) - facts->computes;
    build->split_stores = facts->writes > 0 && room >= 2U * facts->writes && !facts->memory_pieces;
    unsigned stores = facts->writes * (build->split_stores ? 2U : 1U);
    build->computing = total - fixed_uops(facts) - stores;
}

static void assemble(struct build *build, unsigned total)
{
    const struct nb_facts *facts = build->facts;
    share_out(build, total);
    build->value = plain_value(facts);
    bool leave = facts->stack && facts->stack_source != NB_REG_GPR + 4;
    if (leave) /* LEAVE: before the load replaces EBP */
        add_stack(build);
    add_loads(build);
    add_store_addresses(build);
    if (facts->fences)
        add_fence(build);
    if (has_chain(build))
        add_chain(build);
    else
        add_idle(build, build->computing);
    add_stores(build);
    for (unsigned i = 0; i < facts->steps; i++)
        add_step(build, facts->step[i]);
    if (facts->stack && !leave)
        add_stack(build);
    if (facts->branches)
        add_branch(build);
    if (total == 1 && facts->sources + facts->results == 0 && build->form->exec == NB_EXEC_ALU)
        build->list[0].kind = build->list[0].kind == NB_UOP_ALU ? NB_UOP_NOP : build->list[0].kind;
}

/* The generic rule: one uop for each thing to do, one ALU tick, or the FP unit for its kinds of
 * registers. */
static struct nb_form generic_form(const struct nb_facts *facts)
{
    struct nb_form form = {.name = "", .pattern = "*", .path = NB_PATH_UNKNOWN};
    form.trace_uops = (uint16_t)fewest_uops(facts);
    form.exec = facts->fp_data ? NB_EXEC_FMISC : NB_EXEC_ALU;
    form.core = facts->core;
    form.extra = facts->fp_data ? 2 : facts->core == NB_CORE_P4;
    return form;
}

static uint8_t trace_entries(const struct nb_code *code, const struct nb_facts *facts)
{
    return code->trace_uops > facts->data_pieces ? code->trace_uops : facts->data_pieces;
}

static bool deliver(struct nb_arena *arena, struct build *build, unsigned trace_uops,
                    struct nb_code *code)
{
    code->uops = nb_arena_take(arena, build->count);
    if (!code->uops)
        return false;
    memcpy(code->uops, build->list, build->count * sizeof *code->uops);
    code->uop_count = (uint16_t)build->count;
    code->trace_uops = (uint8_t)(trace_uops < build->count ? trace_uops : build->count);
    code->trace_entries = trace_entries(code, build->facts);
    for (unsigned i = code->trace_uops; i < build->count; i++)
        code->uops[i].flags |= NB_UOP_FROM_ROM;
    if (code->trace_uops < build->count)
        code->flags |= NB_CODE_COMPLEX;
    code->uops[0].flags |= NB_UOP_FIRST;
    code->uops[build->count - 1].flags |= NB_UOP_LAST;
    return true;
}

bool nb_build(struct nb_arena *arena, const struct nb_form *form, const struct nb_facts *facts,
              struct nb_code *code)
{
    struct nb_form generic = generic_form(facts);
    struct build build; /* the list is long and mostly unused: it is not zeroed */
    build.form = form ? form : &generic;
    build.facts = facts;
    build.exec = exec_of(build.form, facts);
    build.count = build.computing = 0;
    build.split_stores = false;
    build.value = 0;
    unsigned total = at_least(row_uops(build.form, facts), fewest_uops(facts));
    if (!form || total > row_uops(build.form, facts))
        code->flags |= NB_CODE_APPROXIMATE;
    assemble(&build, total);
    return deliver(arena, &build, total - build.form->rom_uops, code);
}
