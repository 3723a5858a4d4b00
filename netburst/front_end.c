/*
 * The front end: what deliver mode (deliver.c) and build mode (build.c) share. It fetches
 * instructions along the predicted path, pushes their uops into the uop queue, runs microcode ROM
 * flows, and goes down wrong paths.
 *
 * The right path's instructions come from the input and say where they really went. When the
 * prediction differs, the front end goes on at the predicted address with the code bytes known
 * there until the branch resolves: those instructions are bogus, their uops run and retire as
 * bogus. Their memory addresses are not known. After a far transfer, a serializing instruction or
 * an interruption of the stream the front end waits until all has retired. A wrong path ends at
 * such an instruction or where the code is not known.
 */
#include "machine.h"

#include <stdio.h>

#define MODE_DELIVER (1u << 2) /* TC_deliver_mode DI: LP1 is inactive */
#define MODE_BUILD   (1u << 5) /* TC_deliver_mode BI */
#define FROM_ROM     (1u << 2)
#define CISC         (1u << 0)

void fe_mode(struct nb_machine *m, enum fe_mode mode)
{
    m->fe.mode = mode;
    p4pmu_level(m->pmu, P4PMU_EV_TC_deliver_mode, MODE_DELIVER, m->who, mode == FE_DELIVER);
    p4pmu_level(m->pmu, P4PMU_EV_TC_deliver_mode, MODE_BUILD, m->who, mode == FE_BUILD);
}

void fe_reset(struct nb_machine *m)
{
    m->fe = (struct front_end){.mode = FE_BUILD,
                               .lookup_due = true,
                               .code_line = {NB_NEVER, NB_NEVER},
                               .code_page = NB_NEVER,
                               .ip = NB_NEVER,
                               .wait = FE_DRAIN};
    fe_mode(m, FE_BUILD);
}

/* Fetch goes on at IP: after a misprediction, a clear, a drain. What was fetched and not allocated
 * is gone. */
void fe_restart(struct nb_machine *m, uint64_t ip, uint16_t process)
{
    struct front_end *fe = &m->fe;
    m->fetched_tail = m->fetched_head;
    fe->wait = FE_RUN;
    fe->wrong_path = false;
    fe->ip = ip;
    fe->process = process;
    fe->has_dyn = fe->in_rom = false;
    fe->uop = 0;
    fe->line = NULL;
    fe->line_next = m->now;
    fe->build.count = 0;
    fe->lookup_due = true;
    fe->busy_until = m->now;
    fe->code_line[0] = fe->code_line[1] = NB_NEVER;
}

/* Room for uops: the queue and the stages on the way to it. */
uint32_t fe_room(const struct nb_machine *m)
{
    uint32_t capacity = m->p.uop_queue + 3 * (m->p.front_end_stages + m->p.decode_stages);
    uint32_t used = (uint32_t)(m->fetched_tail - m->fetched_head);
    if (capacity > NB_QUEUE_RING)
        capacity = NB_QUEUE_RING;
    return capacity > used ? capacity - used : 0;
}

static const struct nb_uop *uop_of(const struct nb_code *code, uint64_t index, uint32_t *element)
{
    *element = 0;
    if (index < code->uop_count || !code->body_count)
        return &code->uops[index];
    uint64_t in_body = index - code->uop_count;
    *element = (uint32_t)(in_body / code->body_count * code->body_elements);
    return &code->uops[code->uop_count + in_body % code->body_count];
}

/* Push up to COUNT uops of the instruction being fetched; how many there was room for. */
uint32_t fe_push(struct nb_machine *m, uint32_t count, unsigned source_bit, uint32_t more_clocks)
{
    struct front_end *fe = &m->fe;
    const struct nb_code *code = dyn_at(m, fe->dyn)->code;
    uint32_t room = fe_room(m), n;
    if (count > room)
        count = room;
    for (n = 0; n < count; n++) {
        struct fetched *f = &m->fetched[m->fetched_tail++ & (NB_QUEUE_RING - 1)];
        f->uop = uop_of(code, fe->uop, &f->element);
        f->dyn = fe->dyn;
        f->ready = m->now + m->p.front_end_stages + more_clocks;
        f->first = fe->uop == 0;
        f->last = ++fe->uop == fe->total;
    }
    if (n) {
        m->active = true;
        post(m, P4PMU_EV_uop_queue_writes, source_bit, n);
    }
    return n;
}

static uint64_t total_uops(const struct nb_code *code, uint32_t repetitions)
{
    if (!(code->flags & NB_CODE_REPEATS) || !code->body_count)
        return code->uop_count;
    uint32_t elements = code->body_elements ? code->body_elements : 1;
    return code->uop_count + ((uint64_t)repetitions + elements - 1) / elements * code->body_count;
}

static enum nb_input_result pull(struct nb_machine *m, struct nb_instruction *in)
{
    if (m->refetch_count) {
        *in = m->refetch[m->refetch_head++ & (NB_DYN_RING - 1)];
        m->refetch_count--;
        return NB_INPUT_OK;
    }
    return m->input_ended ? NB_INPUT_END : m->input.next(m->input.context, in);
}

static uint8_t count_reads(const struct nb_instruction *in)
{
    uint8_t n = 0;
    while (n < in->access_count && !in->access[n].write)
        n++;
    return n;
}

static enum fetch_result stop_not_on_model(struct nb_machine *m, const struct nb_instruction *in)
{
    uint8_t bytes[15];
    char text[96];
    size_t n = m->input.code_at(m->input.context, in->process, in->ip, bytes);
    nb_disassemble(m->decoder, bytes, n, in->ip, text, sizeof text);
    snprintf(m->report, sizeof m->report,
             "instruction at 0x%llx (%s) does not exist on this model (family 15 model %u)",
             (unsigned long long)in->ip, text, m->p.family_model);
    m->stop = NB_STOP_NOT_ON_MODEL;
    m->stopped = true;
    m->fe.wait = FE_END;
    return FETCH_WAIT;
}

static enum fetch_result fetch_right(struct nb_machine *m)
{
    struct front_end *fe = &m->fe;
    struct dyn *d = dyn_at(m, m->dyn_fetched);
    if (pull(m, &d->in) == NB_INPUT_END) {
        m->input_ended = true;
        fe->wait = FE_END;
        return FETCH_WAIT;
    }
    const struct nb_code *code = codes_executed(m, &d->in);
    if (!code) {
        fe->wait = FE_END;
        return FETCH_WAIT;
    }
    if (code->flags & NB_CODE_NOT_ON_MODEL)
        return stop_not_on_model(m, &d->in);
    d->code = code;
    d->bogus = false;
    d->reads = count_reads(&d->in);
    fe->ip = d->in.ip;
    return FETCHED;
}

static enum fetch_result fetch_wrong(struct nb_machine *m)
{
    struct front_end *fe = &m->fe;
    const struct nb_code *code = codes_at(m, fe->process, fe->ip);
    if (!code) {
        m->stats.wrong_path_unknown_code++;
        fe->wait = FE_UNKNOWN_CODE;
        return FETCH_WAIT;
    }
    struct dyn *d = dyn_at(m, m->dyn_fetched);
    d->code = code;
    d->bogus = true;
    d->reads = 0;
    d->in = (struct nb_instruction){.ip = fe->ip, .process = fe->process, .repetitions = 1};
    m->stats.wrong_path_fetches++;
    return FETCHED;
}

/* The next instruction of the path the front end is on becomes the one being fetched. */
enum fetch_result fe_fetch(struct nb_machine *m)
{
    struct front_end *fe = &m->fe;
    if (m->dyn_fetched - m->dyn_retired >= NB_DYN_RING - 1)
        return FETCH_WAIT;
    if ((fe->wrong_path ? fetch_wrong(m) : fetch_right(m)) == FETCH_WAIT)
        return FETCH_WAIT;
    struct dyn *d = dyn_at(m, m->dyn_fetched);
    d->mispredicted = d->ends_stream = d->taken = d->tagged = false;
    fe->dyn = m->dyn_fetched++;
    fe->has_dyn = true;
    fe->uop = 0;
    fe->total = total_uops(d->code, d->in.repetitions);
    m->active = true;
    return FETCHED;
}

static bool stream_ends(const struct dyn *d, uint64_t after)
{
    const struct nb_code *code = d->code;
    if (code->branch == NB_BRANCH_FAR ||
        (code->flags & (NB_CODE_SERIALIZING | NB_CODE_SYSTEM_CALL)))
        return true;
    if (d->bogus)
        return false;
    if (d->in.flags & (NB_INSTRUCTION_INTERRUPTED | NB_INSTRUCTION_SYSTEM_CALL))
        return true;
    return code->branch == NB_BRANCH_NONE && d->in.next_ip != after;
}

/* The right path leaves the predicted one behind D. */
static void go_wrong(struct nb_machine *m, struct dyn *d)
{
    d->mispredicted = true;
    m->misprediction = true;
    m->misprediction_dyn = m->fe.dyn;
    m->resolve_at = NB_NEVER;
    m->fe.wrong_path = true;
}

static void predict(struct nb_machine *m, struct dyn *d, uint64_t after)
{
    struct front_end *fe = &m->fe;
    bool known;
    d->history = m->bp.history;
    uint64_t predicted = predict_next(m, d->code, &known);
    d->return_top = m->bp.return_top;
    predict_follow(m, d->code, predicted != after);
    if (!d->bogus) {
        d->taken = d->code->branch != NB_BRANCH_CONDITIONAL || d->in.next_ip != after;
        if (d->ends_stream)
            d->taken = predicted != after;
        else if (predicted != d->in.next_ip)
            go_wrong(m, d);
    }
    fe->ip = predicted;
    if (fe->mode == FE_BUILD && !known && predicted != after)
        fe->busy_until = max64(fe->busy_until, m->now + 1 + m->p.static_redirect_clocks);
}

/* All uops of the instruction are pushed: where does the front end go? */
void fe_finish(struct nb_machine *m)
{
    struct front_end *fe = &m->fe;
    struct dyn *d = dyn_at(m, fe->dyn);
    uint64_t after = d->code->ip + d->code->length;
    fe->has_dyn = fe->in_rom = false;
    fe->uop = 0;
    d->ends_stream = stream_ends(d, after);
    if (d->code->branch == NB_BRANCH_NONE || d->code->branch == NB_BRANCH_FAR) {
        d->taken = d->code->branch == NB_BRANCH_FAR;
        fe->ip = after;
    } else {
        predict(m, d, after);
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
void fe_enter_rom(struct nb_machine *m)
{
    m->fe.in_rom = true;
    m->fe.busy_until = m->now + 1 + m->p.rom_switch_clocks;
    post(m, P4PMU_EV_tc_ms_xfer, CISC, 2);
    m->active = true;
}

nb_clock fe_rom_cycle(struct nb_machine *m)
{
    struct front_end *fe = &m->fe;
    uint64_t left = fe->total - fe->uop;
    uint32_t n = fe_push(m, (uint32_t)min64(left, m->p.rom_uops), FROM_ROM, 0);
    if (n == left) {
        fe_finish(m);
        fe->line = NULL;
        fe->lookup_due = true;
        fe->busy_until = max64(fe->busy_until, m->now + 1 + m->p.rom_switch_clocks);
    }
    return n ? m->now + 1 : NB_NEVER;
}

/* All has retired: the stream goes on where the input says, perhaps in another address space. */
static void leave_drain(struct nb_machine *m)
{
    m->active = true;
    if (!m->refetch_count) {
        m->refetch_head = 0;
        if (pull(m, &m->refetch[0]) == NB_INPUT_END) {
            m->input_ended = true;
            m->fe.wait = FE_END;
            return;
        }
        m->refetch_count = 1;
    }
    const struct nb_instruction *next = &m->refetch[m->refetch_head & (NB_DYN_RING - 1)];
    if (next->process != m->fe.process) { /* CR3 is loaded */
        tlb_flush(&m->dtlb);
        tlb_flush(&m->itlb);
    }
    fe_restart(m, next->ip, next->process);
}

nb_clock fe_cycle(struct nb_machine *m)
{
    struct front_end *fe = &m->fe;
    if (fe->wait == FE_DRAIN && m->rob_head == m->rob_tail && m->fetched_head == m->fetched_tail)
        leave_drain(m);
    if (fe->wait != FE_RUN)
        return NB_NEVER;
    if (fe->busy_until > m->now)
        return fe->busy_until;
    if (fe->in_rom)
        return fe_rom_cycle(m);
    return fe->mode == FE_DELIVER ? deliver_cycle(m) : build_cycle(m);
}
