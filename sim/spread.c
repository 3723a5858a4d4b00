/*
 * The threads of one source spread over two logical processors; see spread.h.
 *
 * Thread N runs on logical processor N modulo 2 (model choice: a system's scheduler would move
 * threads, and would not be the same from run to run). A live program executes the thread that is
 * asked for, some instructions at a time. A recording gives its threads in the order in which they
 * took turns; what the other logical processor will ask for waits, up to AHEAD instructions: so a
 * thread may begin before the instruction that let it go has retired on the other one.
 *
 * The source marks the last instruction of a turn as interrupted, since another thread comes next
 * in its stream. On a logical processor of its own the thread may just go on, so such an
 * instruction is kept back until it is known what comes next here.
 */
#include "spread.h"

#include <stdlib.h>
#include <string.h>

/* Recordings: more than a turn of a thread (20000 instructions). */
#define AHEAD 32768u
/* Live programs: instructions of a thread executed in a row. */
#define BATCH 128u

struct waiting {
    struct trace_instruction in;
    bool turn_ended; /* interrupted only because another thread came next in the source */
};

struct code_bytes {
    uint8_t count, byte[TRACE_INSTRUCTION_BYTES];
};

struct lane {
    struct waiting *ring; /* AHEAD of them */
    uint32_t head, count;
    bool asked;   /* it was told to let everything retire ... */
    bool retired; /* ... and has done so */
    bool idle;
};

struct sim_spread {
    struct trace_source *source;
    struct lane lane[2];
    struct code_bytes *code; /* by number */
    size_t codes, code_capacity;
    struct waiting *last; /* what the source gave last, while it waits */
    uint16_t last_thread;
    bool second_seen; /* a thread of the second logical processor */
    bool synchronise; /* the source wants all retired before it goes on */
    bool ended;
    enum trace_result end;
};

struct sim_spread *sim_spread_new(struct trace_source *source)
{
    struct sim_spread *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->source = source;
    s->lane[1].idle = true; /* until it has something */
    for (unsigned i = 0; i < 2; i++)
        s->lane[i].ring = malloc(AHEAD * sizeof *s->lane[i].ring);
    if (s->lane[0].ring && s->lane[1].ring)
        return s;
    sim_spread_free(s);
    return NULL;
}

void sim_spread_free(struct sim_spread *s)
{
    if (!s)
        return;
    free(s->lane[0].ring);
    free(s->lane[1].ring);
    free(s->code);
    free(s);
}

unsigned sim_spread_lp(uint16_t thread)
{
    return thread & 1;
}

bool sim_spread_latest(const struct sim_spread *s, unsigned lp)
{
    return !s->last && sim_spread_lp(s->last_thread) == lp && !s->lane[lp].count;
}

static struct waiting *at(struct lane *lane, uint32_t place)
{
    return &lane->ring[(lane->head + place) % AHEAD];
}

/* Numbers are dense in order of first appearance. Without memory the source is asked later. */
static void remember_code(struct sim_spread *s, const struct trace_instruction *in)
{
    if (in->code < s->codes)
        return;
    if (in->code >= s->code_capacity) {
        size_t capacity = s->code_capacity ? 2 * s->code_capacity : 4096;
        while (capacity <= in->code)
            capacity *= 2;
        struct code_bytes *code = realloc(s->code, capacity * sizeof *code);
        if (!code)
            return;
        s->code = code;
        s->code_capacity = capacity;
    }
    while (s->codes <= in->code)
        s->code[s->codes++].count = 0;
    struct code_bytes *bytes = &s->code[in->code];
    bytes->count = (uint8_t)trace_source_code_at(s->source, in->process, in->ip, bytes->byte);
}

size_t sim_spread_code(const struct sim_spread *s, uint32_t code,
                       uint8_t bytes[TRACE_INSTRUCTION_BYTES])
{
    if (code >= s->codes)
        return 0;
    memcpy(bytes, s->code[code].byte, s->code[code].count);
    return s->code[code].count;
}

static void append(struct sim_spread *s, const struct trace_instruction *in)
{
    struct lane *lane = &s->lane[sim_spread_lp(in->thread)];
    if (s->last && s->last->in.thread != in->thread)
        s->last->turn_ended = (s->last->in.flags & TRACE_INTERRUPTED) != 0;
    s->last = at(lane, lane->count++);
    *s->last = (struct waiting){.in = *in};
    s->last_thread = in->thread;
    remember_code(s, in);
    s->second_seen |= sim_spread_lp(in->thread) == 1;
}

/* One more instruction from the source, of a thread of LP's where it can choose, into its queue;
 * false when there is none now. */
static bool pull(struct sim_spread *s, unsigned lp)
{
    struct trace_instruction in;
    if (s->ended || s->synchronise || s->lane[0].count == AHEAD || s->lane[1].count == AHEAD)
        return false;
    s->source->choice = lp + 1;
    enum trace_result result = trace_source_next(s->source, &in);
    s->synchronise = result == TRACE_SYNC;
    if (result == TRACE_OK)
        append(s, &in);
    else if (result != TRACE_SYNC && result != TRACE_IDLE) {
        s->ended = true;
        s->end = result;
    }
    return result == TRACE_OK;
}

/* Some more of LP's while the source is at its thread: a change of threads costs time. */
static void pull_more(struct sim_spread *s, unsigned lp)
{
    struct lane *lane = &s->lane[lp];
    while (!s->lane[lp ^ 1].idle && lane->count < BATCH && pull(s, lp) &&
           sim_spread_lp(s->last_thread) == lp)
        continue;
}

/* What comes behind a turn's last instruction on its own logical processor decides whether it was
 * interrupted. */
static void judge(struct lane *lane)
{
    struct trace_instruction *in = &at(lane, 0)->in;
    const struct trace_instruction *next = &at(lane, 1)->in;
    if (next->thread != in->thread || next->process != in->process)
        return;
    if (next->ip == in->next_ip)
        in->flags &= (uint8_t)~TRACE_INTERRUPTED;
    in->next_ip = next->ip;
}

static void take(struct sim_spread *s, unsigned lp, struct trace_instruction *out)
{
    struct lane *lane = &s->lane[lp];
    struct waiting *first = at(lane, 0);
    while (first->in.flags & TRACE_INTERRUPTED && s->last == first && pull(s, lp))
        continue;
    while (first->turn_ended && lane->count < 2 && pull(s, lp))
        continue;
    if (first->turn_ended && lane->count >= 2)
        judge(lane);
    *out = first->in;
    if (s->last == first)
        s->last = NULL;
    lane->head = (lane->head + 1) % AHEAD;
    lane->count--;
    lane->idle = false;
}

/* A synchronisation: both logical processors come to a stand, then the source goes on. */
static enum sim_spread_result synchronise(struct sim_spread *s, unsigned lp)
{
    struct lane *own = &s->lane[lp], *other = &s->lane[lp ^ 1];
    own->retired = own->asked;
    own->asked = true;
    if (own->retired && (other->retired || (other->idle && !other->count))) {
        s->synchronise = false;
        own->asked = own->retired = other->asked = other->retired = false;
    }
    return SIM_SPREAD_SYNC;
}

/* LP has nothing waiting and the source gave nothing more. */
static enum sim_spread_result nothing(struct sim_spread *s, unsigned lp)
{
    if (s->synchronise)
        return synchronise(s, lp);
    if (s->ended)
        return s->end == TRACE_ERROR ? SIM_SPREAD_ERROR : SIM_SPREAD_END;
    s->lane[lp].idle = true;
    return SIM_SPREAD_IDLE;
}

enum sim_spread_result sim_spread_next(struct sim_spread *s, unsigned lp,
                                       struct trace_instruction *out)
{
    struct lane *lane = &s->lane[lp];
    bool begun = s->second_seen || (s->source->chooses && s->source->end.threads > 1);
    if (lp == 1 && !s->ended && !begun) {
        lane->idle = true; /* and the source is not read ahead */
        return SIM_SPREAD_IDLE;
    }
    if (!lane->count) {
        while (!lane->count && pull(s, lp))
            continue;
        if (lane->count)
            pull_more(s, lp);
    }
    if (!lane->count)
        return nothing(s, lp);
    take(s, lp, out);
    return SIM_SPREAD_OK;
}
