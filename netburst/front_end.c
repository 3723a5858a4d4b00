/*
 * The front end: what deliver mode (deliver.c) and build mode (build.c) share. It fetches
 * instructions along the predicted path, pushes their uops into the uop queue, runs microcode ROM
 * flows, and goes down wrong paths.
 *
 * The right path's instructions come from the input and say where they really went. When the
 * prediction differs, the front end goes on at the predicted address with the code bytes known
 * there until the branch resolves: those instructions are bogus, their uops run and retire as
 * bogus. The input executes them on the side, with the values the branch left, so that their loads
 * and stores have addresses and do to TLBs, caches and bus what they do on the part; where a value
 * is not known the access takes the time of a hit and touches nothing. A branch on a wrong path
 * that finds itself mispredicted sends fetch to where its own values lead (turn.c). After a far
 * transfer, a serializing instruction or an interruption of the stream the front end waits until
 * all has retired. A wrong path ends at such an instruction or where the code is not known.
 *
 * With two logical processors trace cache, microcode ROM and decoder serve one of them a clock, in
 * turn (Marr 2002; that all three keep to the same turn is a model choice).
 */
#include "machine.h"

#include <stdio.h>

#define MODE_DELIVER (1u << 2) /* TC_deliver_mode DI: LP1 is inactive */
#define MODE_BUILD   (1u << 5) /* TC_deliver_mode BI */
#define FROM_ROM     (1u << 2)
#define CISC         (1u << 0)

void fe_mode(struct nb_machine *m, struct lp *lp, enum fe_mode mode)
{
    lp->fe.mode = mode;
    show_modes(m);
}

void fe_reset(struct lp *lp)
{
    lp->fe = (struct front_end){.mode = FE_BUILD,
                                .lookup_due = true,
                                .code_line = {NB_NEVER, NB_NEVER},
                                .code_page = NB_NEVER,
                                .ip = NB_NEVER,
                                .wait = FE_DRAIN};
}

/* Fetch goes on at IP: after a misprediction, a clear, a drain. What was fetched and not allocated
 * is gone. */
void fe_restart(struct nb_machine *m, struct lp *lp, uint64_t ip, uint16_t process)
{
    struct front_end *fe = &lp->fe;
    lp->stats.flushed_uops += lp->fetched_tail - lp->fetched_head;
    lp->fetched_tail = lp->fetched_head;
    fe->wait = FE_RUN;
    fe->wrong_path = false;
    fe->ip = ip;
    fe->process = process;
    fe->has_dyn = fe->in_rom = false;
    fe->uop = 0;
    fe->line = NULL;
    fe->line_next = m->now;
    if (fe->build.count) /* a trace that ends here */
        tc_insert(m, lp, &fe->build);
    fe->build.count = 0;
    fe->lookup_due = true;
    fe->busy_until = m->now;
    fe->code_line[0] = fe->code_line[1] = NB_NEVER;
}

/* Room for uops: the queue and the stages on the way to it. */
uint32_t fe_room(const struct nb_machine *m, const struct lp *lp)
{
    uint32_t used = (uint32_t)(lp->fetched_tail - lp->fetched_head);
    return m->limit.front > used ? m->limit.front - used : 0;
}

/* Passes of the body of a repeated string instruction, and elements left for its tail. Backward
 * ones go element by element where there is a tail. */
static uint64_t passes(const struct nb_code *code, const struct nb_instruction *in, uint64_t *left)
{
    uint64_t elements = code->body_elements ? code->body_elements : 1, n = in->repetitions;
    *left = 0;
    if (!code->tail_count)
        return (n + elements - 1) / elements;
    uint64_t whole = in->flags & NB_INSTRUCTION_BACKWARD ? 0 : n / elements;
    *left = n - whole * elements;
    return whole;
}

/* Uop INDEX of an instruction that repeats, and the string element it belongs to. */
static const struct nb_uop *repeated_uop(const struct nb_code *code,
                                         const struct nb_instruction *in, uint64_t index,
                                         uint32_t *element)
{
    uint64_t left;
    uint64_t in_body = index - code->uop_count, body = passes(code, in, &left) * code->body_count;
    if (in_body < body || !code->tail_count) {
        *element = (uint32_t)(in_body / code->body_count * code->body_elements);
        return &code->uops[code->uop_count + in_body % code->body_count];
    }
    uint64_t in_tail = in_body - body;
    *element = (uint32_t)(in->repetitions - left + in_tail / code->tail_count);
    return &code->uops[code->uop_count + code->body_count + in_tail % code->tail_count];
}

static inline const struct nb_uop *uop_of(const struct nb_code *code,
                                          const struct nb_instruction *in, uint64_t index,
                                          uint32_t *element)
{
    *element = 0;
    if (index < code->uop_count || !code->body_count)
        return &code->uops[index];
    return repeated_uop(code, in, index, element);
}

/* Push up to COUNT uops of the instruction being fetched; how many there was room for. */
uint32_t fe_push(struct nb_machine *m, struct lp *lp, uint32_t count, unsigned source_bit,
                 uint32_t more_clocks)
{
    struct front_end *fe = &lp->fe;
    const struct dyn *d = dyn_at(lp, fe->dyn);
    nb_clock ready = m->now + m->p.front_end_stages + more_clocks;
    uint32_t room = fe_room(m, lp), n;
    if (count > room)
        count = room;
    for (n = 0; n < count; n++) {
        struct fetched *f = &lp->fetched[lp->fetched_tail++ & (NB_QUEUE_RING - 1)];
        f->uop = uop_of(d->code, &d->in, fe->uop, &f->element);
        f->dyn = fe->dyn;
        f->ready = ready;
        f->first = fe->uop == 0;
        f->last = ++fe->uop == fe->total;
    }
    if (n) {
        m->active = true;
        facts_of(m, d);
        post(m, lp->who, P4PMU_EV_uop_queue_writes, source_bit, n);
        facts_of(m, NULL);
    }
    return n;
}

static uint64_t total_uops(const struct nb_code *code, const struct nb_instruction *in)
{
    uint64_t left;
    if (!(code->flags & NB_CODE_REPEATS) || !code->body_count)
        return code->uop_count;
    uint64_t body = passes(code, in, &left) * code->body_count;
    return code->uop_count + body + left * code->tail_count;
}

static enum nb_input_result pull(struct lp *lp, struct nb_instruction *in)
{
    if (lp->refetch_count) {
        *in = lp->refetch[lp->refetch_head++ & (NB_DYN_RING - 1)];
        lp->refetch_count--;
        return NB_INPUT_OK;
    }
    if (lp->irq.handler_open || lp->irq.held_count) {
        bool done;
        enum nb_input_result result = interrupt_pull(lp, in, &done);
        if (done)
            return result;
    }
    if (lp->input_ended)
        return NB_INPUT_END;
    if (lp->sync_due && !lp_drained(lp))
        return NB_INPUT_SYNC;
    enum nb_input_result result = lp->input.next(lp->input.context, in);
    lp->sync_due = result == NB_INPUT_SYNC;
    return result;
}

static uint8_t count_reads(const struct nb_instruction *in)
{
    uint8_t n = 0;
    while (n < in->access_count && !in->access[n].write)
        n++;
    return n;
}

static enum fetch_result stop_not_on_model(struct nb_machine *m, struct lp *lp,
                                           const struct nb_instruction *in)
{
    uint8_t bytes[15];
    char text[96];
    size_t n = lp->input.code_at(lp->input.context, in->process, in->ip, bytes);
    nb_disassemble(m->decoder[lp->fe.mode_64], bytes, n, in->ip, text, sizeof text);
    snprintf(m->report, sizeof m->report,
             "%sinstruction at 0x%llx (%s) does not exist on this model (family 15 model %u)",
             lp->fe.mode_64 && !m->p.em64t ? "64-bit " : "", (unsigned long long)in->ip, text,
             m->p.family_model);
    m->stop = NB_STOP_NOT_ON_MODEL;
    m->stopped = true;
    lp->fe.wait = FE_END;
    return FETCH_WAIT;
}

/* The input gave no instruction: what the front end waits for. */
static void wait_for_input(struct nb_machine *m, struct lp *lp, enum nb_input_result result)
{
    m->active = true;
    if (result == NB_INPUT_SYNC) {
        lp->fe.wait = FE_SYNC;
    } else if (result == NB_INPUT_IDLE) {
        lp->fe.wait = FE_IDLE;
        lp->fe.busy_until = m->now + NB_IDLE_CLOCKS;
    } else {
        lp->input_ended = true;
        lp->fe.wait = FE_END;
        for (unsigned i = 0; i < m->lps; i++) /* nobody is left to wait for */
            if (m->lp[i].fe.wait == FE_IDLE)
                m->lp[i].fe.busy_until = m->now + 1;
    }
}

static enum fetch_result fetch_right(struct nb_machine *m, struct lp *lp)
{
    struct front_end *fe = &lp->fe;
    struct dyn *d = dyn_at(lp, lp->dyn_fetched);
    enum nb_input_result result = pull(lp, &d->in);
    if (result != NB_INPUT_OK) {
        wait_for_input(m, lp, result);
        return FETCH_WAIT;
    }
    fe->mode_64 = d->in.flags & NB_INSTRUCTION_64BIT;
    const struct nb_code *code = codes_executed(m, lp, &d->in);
    if (!code) {
        fe->wait = FE_END;
        return FETCH_WAIT;
    }
    if (code->flags & NB_CODE_NOT_ON_MODEL)
        return stop_not_on_model(m, lp, &d->in);
    lp_privilege(m, lp, d->in.flags & NB_INSTRUCTION_KERNEL);
    d->code = code;
    d->bogus = false;
    d->who = lp->who;
    d->reads = count_reads(&d->in);
    fe->ip = d->in.ip;
    return FETCHED;
}

static unsigned bits_in(unsigned set)
{
    unsigned n = 0;
    for (; set; set &= set - 1)
        n++;
    return n;
}

static unsigned memory_uops(const struct nb_code *code)
{
    unsigned n = 0;
    for (unsigned i = 0; i < code->uop_count + (unsigned)code->body_count + code->tail_count; i++)
        n += code->uops[i].kind == NB_UOP_LOAD || code->uops[i].kind == NB_UOP_STORE_ADDRESS ||
             code->uops[i].address_part;
    return n;
}

static bool may_be_mispredicted(const struct nb_code *code)
{
    return code->branch == NB_BRANCH_CONDITIONAL || code->branch == NB_BRANCH_RETURN ||
           code->branch == NB_BRANCH_INDIRECT_JUMP || code->branch == NB_BRANCH_INDIRECT_CALL;
}

/* What D, on a wrong path, does to memory. */
static void execute_wrong(struct lp *lp, struct dyn *d)
{
    d->in = (struct nb_instruction){
        .ip = lp->fe.ip, .process = lp->fe.process, .length = d->code->length, .repetitions = 1};
    if (lp->wrong_values && lp->input.wrong_step(lp->input.context, lp->fe.ip, &d->in)) {
        lp->stats.wrong_path_accesses += d->in.access_count;
        lp->stats.wrong_path_unknown += bits_in(d->in.unknown);
    } else {
        unsigned accesses = memory_uops(d->code);
        lp->stats.wrong_path_accesses += accesses;
        lp->stats.wrong_path_unknown += accesses;
    }
    d->reads = count_reads(&d->in);
    if (may_be_mispredicted(d->code)) {
        lp->stats.wrong_path_branches++;
        lp->stats.wrong_path_unknown_branches += !(d->in.flags & NB_INSTRUCTION_NEXT_KNOWN);
    }
}

/* What stands where fetch is: what the trace line says unless the bytes have changed. */
static const struct nb_code *code_here(struct nb_machine *m, struct lp *lp,
                                       const struct nb_code *expected)
{
    const struct front_end *fe = &lp->fe;
    if (expected && expected->ip == fe->ip && !(expected->flags & NB_CODE_REPLACED))
        return expected;
    return codes_at(m, lp, fe->process, fe->ip);
}

static enum fetch_result fetch_wrong(struct nb_machine *m, struct lp *lp,
                                     const struct nb_code *expected)
{
    struct front_end *fe = &lp->fe;
    const struct nb_code *code = code_here(m, lp, expected);
    if (!code) {
        lp->stats.wrong_path_unknown_code++;
        fe->wait = FE_UNKNOWN_CODE;
        return FETCH_WAIT;
    }
    struct dyn *d = dyn_at(lp, lp->dyn_fetched);
    d->code = code;
    d->who = lp->who;
    d->bogus = true;
    execute_wrong(lp, d);
    lp->stats.wrong_path_fetches++;
    return FETCHED;
}

/* Instructions that were fetched and never allocated are in the ring until a younger one retires;
 * with nothing in the pipeline none of them is needed. */
static bool forget_dropped(struct lp *lp)
{
    if (!lp_drained(lp))
        return false;
    lp->dyn_retired = lp->dyn_fetched;
    return true;
}

/* The next instruction of the path the front end is on becomes the one being fetched: EXPECTED, as
 * a trace line of this process has it (NULL: nobody knows). */
enum fetch_result fe_fetch(struct nb_machine *m, struct lp *lp, const struct nb_code *expected)
{
    struct front_end *fe = &lp->fe;
    if (lp->dyn_fetched - lp->dyn_retired >= NB_DYN_RING - 1 && !forget_dropped(lp))
        return FETCH_WAIT;
    if ((fe->wrong_path ? fetch_wrong(m, lp, expected) : fetch_right(m, lp)) == FETCH_WAIT)
        return FETCH_WAIT;
    struct dyn *d = dyn_at(lp, lp->dyn_fetched);
    d->mispredicted = d->ends_stream = d->taken = d->tagged = d->order_violated = false;
    d->flow = FLOW_NONE;
    fe->dyn = lp->dyn_fetched++;
    fe->has_dyn = true;
    fe->uop = 0;
    fe->total = total_uops(d->code, &d->in);
    m->active = true;
    return FETCHED;
}

static bool stream_ends(const struct dyn *d, uint64_t after)
{
    const struct nb_code *code = d->code;
    if (d->flow || code->branch == NB_BRANCH_FAR ||
        (code->flags & (NB_CODE_SERIALIZING | NB_CODE_SYSTEM_CALL)))
        return true;
    if (d->bogus)
        return false;
    if (d->in.flags & (NB_INSTRUCTION_INTERRUPTED | NB_INSTRUCTION_SYSTEM_CALL))
        return true;
    return code->branch == NB_BRANCH_NONE && d->in.next_ip != after;
}

static void predict(struct nb_machine *m, struct lp *lp, struct dyn *d, uint64_t after)
{
    struct front_end *fe = &lp->fe;
    bool known;
    d->history = lp->past.history;
    uint64_t predicted = predict_next(m, lp, d->code, &known);
    d->return_top = lp->past.return_top;
    predict_follow(m, lp, d->code, predicted != after);
    if (!d->bogus) {
        d->taken = d->code->branch != NB_BRANCH_CONDITIONAL || d->in.next_ip != after;
        if (d->ends_stream)
            d->taken = predicted != after;
        else if (predicted != d->in.next_ip)
            turn_right_path(lp, d);
    } else if (d->in.flags & NB_INSTRUCTION_NEXT_KNOWN) {
        d->taken = d->in.next_ip != after;
        if (predicted != d->in.next_ip && !d->ends_stream)
            turn_wrong_path(lp, d);
    }
    fe->ip = predicted;
    if (fe->mode == FE_BUILD && !known && predicted != after)
        fe->busy_until = max64(fe->busy_until, m->now + 1 + m->p.static_redirect_clocks);
}

/* All uops of the instruction are pushed: where does the front end go? */
void fe_finish(struct nb_machine *m, struct lp *lp)
{
    struct front_end *fe = &lp->fe;
    struct dyn *d = dyn_at(lp, fe->dyn);
    uint64_t after = d->code->ip + d->code->length;
    fe->has_dyn = fe->in_rom = false;
    fe->uop = 0;
    d->ends_stream = stream_ends(d, after);
    if (d->code->branch == NB_BRANCH_NONE || d->code->branch == NB_BRANCH_FAR) {
        d->taken = d->code->branch == NB_BRANCH_FAR;
        fe->ip = after;
    } else {
        predict(m, lp, d, after);
    }
    if (d->ends_stream) {
        fe->wait = d->bogus ? FE_UNKNOWN_CODE : FE_DRAIN;
        if (!d->bogus)
            fe->ip = d->in.next_ip;
        fe->line = NULL;
        fe->lookup_due = true;
    }
}

/* The rest of the instruction's uops come from the microcode ROM. Counts twice per transfer (SDM
 * tc_ms_xfer). */
void fe_enter_rom(struct nb_machine *m, struct lp *lp)
{
    lp->fe.in_rom = true;
    lp->fe.busy_until = m->now + 1 + m->p.rom_switch_clocks;
    facts_of(m, dyn_at(lp, lp->fe.dyn));
    post(m, lp->who, P4PMU_EV_tc_ms_xfer, CISC, 2);
    facts_of(m, NULL);
    m->active = true;
}

nb_clock fe_rom_cycle(struct nb_machine *m, struct lp *lp)
{
    struct front_end *fe = &lp->fe;
    uint64_t left = fe->total - fe->uop;
    uint32_t n = fe_push(m, lp, (uint32_t)min64(left, m->p.rom_uops), FROM_ROM, 0);
    if (n == left) {
        fe_finish(m, lp);
        fe->line = NULL;
        fe->lookup_due = true;
        fe->busy_until = max64(fe->busy_until, m->now + 1 + m->p.rom_switch_clocks);
    }
    return n ? m->now + 1 : NB_NEVER;
}

/* All has retired: the stream goes on where the input says, perhaps in another address space. */
static void leave_drain(struct nb_machine *m, struct lp *lp)
{
    m->active = true;
    if (!lp->refetch_count) {
        lp->refetch_head = 0;
        enum nb_input_result result = pull(lp, &lp->refetch[0]);
        if (result == NB_INPUT_SYNC) /* all has retired already */
            return;
        if (result != NB_INPUT_OK) {
            wait_for_input(m, lp, result);
            return;
        }
        lp->refetch_count = 1;
    }
    const struct nb_instruction *next = &lp->refetch[lp->refetch_head & (NB_DYN_RING - 1)];
    lp_wake(m, lp);
    if (next->process != lp->address_space && next->process != NB_PROCESS_KERNEL) {
        dtlb_flush(m, lp); /* CR3 is loaded */
        tlb_flush(&lp->itlb);
        lp->address_space = next->process;
    }
    fe_restart(m, lp, next->ip, next->process);
}

static void look_at_wait(struct nb_machine *m, struct lp *lp)
{
    enum fe_wait wait = lp->fe.wait;
    if (!lp_drained(lp))
        return;
    if (wait == FE_DRAIN) {
        leave_drain(m, lp);
    } else if (wait == FE_SYNC) {
        m->active = true;
        if (lp->last_retire < m->now) /* what retired in this clock is counted at its end */
            lp->fe.wait = FE_RUN;
    }
}

static nb_clock fetch_some(struct nb_machine *m, struct lp *lp)
{
    struct front_end *fe = &lp->fe;
    if (fe->wait != FE_RUN)
        look_at_wait(m, lp);
    if (fe->wait != FE_RUN)
        return fe->wait == FE_IDLE ? fe->busy_until : NB_NEVER;
    if (fe->busy_until > m->now)
        return fe->busy_until;
    if (lp_waits_for_room(m, lp))
        return NB_NEVER; /* until the other one's uops are done */
    if (fe->in_rom)
        return fe_rom_cycle(m, lp);
    return fe->mode == FE_DELIVER ? deliver_cycle(m, lp) : build_cycle(m, lp);
}

/* A halted logical processor that looks for work takes nothing from the other one. */
static void look_for_work(struct nb_machine *m, struct lp *lp)
{
    if (lp->fe.wait == FE_IDLE && lp->fe.busy_until <= m->now && lp_drained(lp))
        leave_drain(m, lp);
}

nb_clock fe_cycle(struct nb_machine *m)
{
    for (unsigned i = 0; i < m->lps; i++)
        look_for_work(m, &m->lp[i]);
    return take_turns(m, fetch_some);
}
