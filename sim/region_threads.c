/* Open regions of each thread; see region_threads.h. */
#include "region_threads.h"

#include <stdlib.h>
#include <string.h>

#define SLOT_NEVER 0 /* nobody called it: open to the end */

struct frame {
    int region;
    uint64_t slot; /* of the return address, for functions; SLOT_NEVER for the others */
};

/* A call that has not returned, or a signal handler: the kernel pushed its return address,
 * somewhere below that of the newest call; its slot here is one byte below that. */
struct open_call {
    uint64_t slot;
    bool handler;
};

struct region_thread {
    uint16_t process;
    bool known;
    bool changed; /* OPEN and INNERMOST must be found again */
    int innermost;
    uint64_t open;
    int begins; /* a marker's region, before the next instruction */
    struct frame *frame;
    size_t frames, frame_capacity;
    struct open_call *call; /* outermost first, addresses falling */
    size_t calls, call_capacity;
};

struct region_threads {
    struct region_thread *thread;
    size_t count;
    uint64_t arrived; /* stack pointer before the next instruction, behind an unseen part; else 0 */
};

struct region_threads *region_threads_new(void)
{
    return calloc(1, sizeof(struct region_threads));
}

void region_threads_free(struct region_threads *threads)
{
    if (!threads)
        return;
    for (size_t i = 0; i < threads->count; i++) {
        free(threads->thread[i].frame);
        free(threads->thread[i].call);
    }
    free(threads->thread);
    free(threads);
}

static struct region_thread *thread_at(struct region_threads *threads, size_t number)
{
    if (number >= threads->count) {
        struct region_thread *more =
            realloc(threads->thread, (number + 1) * sizeof *threads->thread);
        if (!more)
            return NULL;
        memset(more + threads->count, 0, (number + 1 - threads->count) * sizeof *more);
        threads->thread = more;
        threads->count = number + 1;
    }
    return &threads->thread[number];
}

static bool grow(void **array, size_t count, size_t *capacity, size_t size)
{
    size_t wanted = *capacity ? 2 * *capacity : 64;
    void *more;

    if (count < *capacity)
        return true;
    more = realloc(*array, wanted * size);
    if (!more)
        return false;
    *array = more;
    *capacity = wanted;
    return true;
}

/* ---- opening and closing -----------------------------------------------------------------------
 */

static bool open_region(struct region_thread *t, int region, uint64_t slot)
{
    void *array = t->frame;

    if (!grow(&array, t->frames, &t->frame_capacity, sizeof *t->frame))
        return false;
    t->frame = array;
    t->frame[t->frames++] = (struct frame){region, slot};
    t->changed = true;
    return true;
}

static void close_frame(struct region_thread *t, size_t at)
{
    t->frames--;
    t->changed = true;
    memmove(t->frame + at, t->frame + at + 1, (t->frames - at) * sizeof *t->frame);
}

/* The newest frame of REGION, if any. */
static void close_region(struct region_thread *t, int region)
{
    for (size_t i = t->frames; i-- > 0;) {
        if (t->frame[i].region != region)
            continue;
        close_frame(t, i);
        return;
    }
}

static bool is_open(const struct region_thread *t, int region)
{
    for (size_t i = 0; i < t->frames; i++)
        if (t->frame[i].region == region)
            return true;
    return false;
}

/* The stack has been unwound to ADDRESS, this slot included. */
static void unwind(struct region_thread *t, uint64_t address)
{
    while (t->calls && t->call[t->calls - 1].slot <= address)
        t->calls--;
    for (size_t i = t->frames; i-- > 0;)
        if (t->frame[i].slot != SLOT_NEVER && t->frame[i].slot <= address)
            close_frame(t, i);
}

/* ---- calls and returns -------------------------------------------------------------------------
 */

static bool find_access(const struct trace_instruction *in, bool write, uint64_t *address)
{
    for (unsigned i = 0; i < in->access_count; i++) {
        if (in->access[i].write != write)
            continue;
        *address = in->access[i].address;
        return true;
    }
    return false;
}

static bool push_call(struct region_thread *t, uint64_t slot, bool handler)
{
    void *array = t->call;

    if (!grow(&array, t->calls, &t->call_capacity, sizeof *t->call))
        return false;
    t->call = array;
    t->call[t->calls++] = (struct open_call){slot, handler};
    return true;
}

static bool follow_call(struct region_thread *t, const struct trace_instruction *in)
{
    uint64_t address;

    if (!find_access(in, true, &address))
        return true;
    unwind(t, address);
    return push_call(t, address, false);
}

static void follow_return(struct region_thread *t, const struct trace_instruction *in)
{
    const struct open_call *newest = t->calls ? &t->call[t->calls - 1] : NULL;
    uint64_t address;

    if (!newest || !find_access(in, false, &address))
        return;
    if (newest->slot <= address)
        unwind(t, address);
    else if (newest->handler)
        unwind(t, newest->slot); /* its own, which no call pushed */
}

/* What lies below the stack pointer is left for good: returned from, or jumped out of. */
static void follow_stack(struct region_thread *t, const struct trace_instruction *in)
{
    if (t->calls && in->stack > t->call[t->calls - 1].slot && !(in->flags & TRACE_SYSTEM_CALL))
        unwind(t, in->stack - 1);
}

/* A signal handler follows: the kernel leads to it from an instruction that does not. Behind a
 * branch it cannot be told from a switch of threads and is taken for one. */
static bool leads_to_handler(const struct trace_instruction *in, const struct region_code *code)
{
    return (in->flags & TRACE_INTERRUPTED) && code->kind != CODE_BRANCH &&
           code->kind != CODE_CALL && code->kind != CODE_RETURN && code->kind != CODE_BEGIN &&
           code->kind != CODE_END && in->next_ip != in->ip + in->length;
}

static bool enter_handler(struct region_thread *t)
{
    return push_call(t, (t->calls ? t->call[t->calls - 1].slot : UINT64_MAX) - 1, true);
}

/* ---- one instruction ---------------------------------------------------------------------------
 */

static uint64_t own_slot(const struct region_thread *t)
{
    return t->calls ? t->call[t->calls - 1].slot : SLOT_NEVER;
}

/* A function's first instruction is jumped to while the function is open for the same call. Where
 * it is the innermost one that is its loop; else (functions that end in jumps to each other) it
 * takes the place of its older frame, so that frames do not pile up. True: it is a loop. */
static bool is_loop(struct region_thread *t, int region, uint64_t slot)
{
    for (size_t i = t->frames; i-- > 0;) {
        if (t->frame[i].region != region || t->frame[i].slot != slot)
            continue;
        if (i + 1 == t->frames)
            return true;
        close_frame(t, i);
        return false;
    }
    return false;
}

/* Before the instruction: what ends, then what begins. */
static bool open_and_close(struct region_thread *t, const struct region_code *code,
                           uint64_t *entered)
{
    for (int region = 0; code->leaves >> region; region++)
        if (code->leaves >> region & 1)
            close_region(t, region);
    if (code->kind == CODE_END && code->marker >= 0)
        close_region(t, code->marker);
    for (int region = 0; code->enters >> region; region++) {
        bool function = code->functions >> region & 1;
        uint64_t slot = function ? own_slot(t) : SLOT_NEVER;
        if (!(code->enters >> region & 1) ||
            (function ? is_loop(t, region, slot) : is_open(t, region)))
            continue;
        if (!open_region(t, region, slot))
            return false;
        *entered |= 1ull << region;
    }
    return true;
}

static void describe(struct region_thread *t, struct region_state *state)
{
    if (t->changed) {
        t->changed = false;
        t->innermost = t->frames ? t->frame[t->frames - 1].region : REGION_NONE;
        t->open = 0;
        for (size_t i = 0; i < t->frames; i++)
            t->open |= 1ull << t->frame[i].region;
    }
    state->innermost = t->innermost;
    state->open = t->open;
}

static void start_over(struct region_thread *t, uint16_t process)
{
    t->process = process;
    t->known = true;
    t->frames = t->calls = 0;
    t->changed = true;
    t->begins = REGION_NONE;
}

void region_threads_forget(struct region_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        threads->thread[i].known = false;
}

void region_threads_arrive(struct region_threads *threads, uint64_t stack)
{
    threads->arrived = stack;
}

bool region_threads_all_outside(const struct region_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++) {
        const struct region_thread *t = &threads->thread[i];
        if (t->known && (t->frames || t->begins != REGION_NONE))
            return false;
    }
    return true;
}

/* The call of a function that is entered from an unseen part was not seen either. */
static bool follow_arrival(struct region_threads *threads, struct region_thread *t,
                           const struct region_code *code)
{
    uint64_t stack = threads->arrived;

    threads->arrived = 0;
    return !stack || !code->functions || push_call(t, stack, false);
}

bool region_threads_follow(struct region_threads *threads,
                           const struct trace_instruction *instruction,
                           const struct region_code *code, struct region_state *state)
{
    struct region_thread *t = thread_at(threads, instruction->thread);
    bool good = t != NULL;

    state->entered = 0;
    if (!good)
        return false;
    if (!t->known || t->process != instruction->process)
        start_over(t, instruction->process);
    good = follow_arrival(threads, t, code);
    if (t->begins != REGION_NONE) {
        good = good && open_region(t, t->begins, SLOT_NEVER);
        state->entered = 1ull << t->begins;
        t->begins = REGION_NONE;
    }
    good = good && open_and_close(t, code, &state->entered);
    describe(t, state);
    follow_stack(t, instruction);
    if (leads_to_handler(instruction, code))
        good = good && enter_handler(t);
    if (code->kind == CODE_CALL)
        good = good && follow_call(t, instruction);
    else if (code->kind == CODE_RETURN)
        follow_return(t, instruction);
    else if (code->kind == CODE_BEGIN)
        t->begins = code->marker;
    return good;
}
