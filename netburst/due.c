/*
 * When the schedulers' uops become due: a ring of ticks, and in each place of it the slots whose
 * promised results and unit are there from that tick on.
 *
 * Which uop goes where is a matter of schedule.c and dispatch.c. The hardware compares every
 * waiting uop's time in every half clock; here a uop is looked at when its time comes and as long
 * as a port or a source keeps it from going, so that uops that only wait cost nothing. Times
 * farther ahead than the ring are kept apart until they are not.
 */
#include "machine.h"

void due_file_far(struct due *due, unsigned which, uint16_t bit, nb_tick when)
{
    due->far.of[which] |= bit;
    due->far_next = min64(due->far_next, when - (NB_DUE_TICKS - 1));
}

/* Some of those far ahead have come within the ring's reach. */
static void file_far(struct nb_machine *m)
{
    m->due.far_next = NB_NEVER;
    for (unsigned which = 0; which < NB_SCHEDULERS; which++) {
        unsigned left = m->due.far.of[which];
        m->due.far.of[which] = 0;
        for (; left; left &= left - 1)
            due_file(m, which, (unsigned)__builtin_ctz(left));
    }
}

/* The ring's places of the ticks after SEEN, up to TICK, a bit each. */
static uint64_t places(nb_tick seen, nb_tick tick)
{
    unsigned first = (unsigned)((seen + 1) % NB_DUE_TICKS);
    nb_tick count = tick - seen;
    if (count >= NB_DUE_TICKS)
        return ~UINT64_C(0);
    uint64_t ticks = (UINT64_C(1) << count) - 1;
    return ticks << first | (first ? ticks >> (NB_DUE_TICKS - first) : 0);
}

static void ripen(struct due *due, unsigned place)
{
    union slots *at = &due->at[place];
    due->map ^= UINT64_C(1) << place;
    for (unsigned i = 0; i < 2; i++) {
        due->ripe.word[i] |= at->word[i];
        at->word[i] = 0;
    }
}

/* TICK has come, behind one or more in which nothing could happen: what is due up to it is ripe. */
void due_skip(struct nb_machine *m, nb_tick tick)
{
    struct due *due = &m->due;
    for (uint64_t passed = due->map & places(due->seen, tick); passed; passed &= passed - 1)
        ripen(due, (unsigned)__builtin_ctzll(passed));
    due->seen = tick;
    if (tick >= due->far_next)
        file_far(m);
}

/* TICK, the next one, has come. */
void due_collect(struct nb_machine *m, nb_tick tick)
{
    struct due *due = &m->due;
    unsigned place = (unsigned)(tick % NB_DUE_TICKS);
    due->seen = tick;
    if (due->map >> place & 1)
        ripen(due, place);
    if (tick >= due->far_next)
        file_far(m);
}

/* The uop in SLOT of scheduler WHICH is thrown out. */
void due_forget(struct nb_machine *m, unsigned which, unsigned slot)
{
    struct due *due = &m->due;
    uint16_t others = (uint16_t) ~(1u << slot);
    due->ripe.of[which] &= others;
    due->far.of[which] &= others;
    for (uint64_t left = due->map; left; left &= left - 1)
        due->at[__builtin_ctzll(left)].of[which] &= others;
}
