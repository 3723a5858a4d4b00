/*
 * The other agent on the bus: a script of requests, so that what needs somebody else happens: lines
 * in state S, snoops that find modified data, memory-ordering clears, data on the bus for others.
 *
 * The agent reads lines, reads them to write, or writes them as a device does. Each request takes
 * its place in the in-order queue and is snooped: a modified sector of ours is driven onto the bus
 * as the answer (implicit writeback) and stays shared, or goes when the agent wants to write; a
 * write-combining buffer that owns the sector goes first. What the agent has read, our later reads
 * find shared. What it takes away may have been read too early (order.c).
 *
 * A request waits until the bus has an address slot for it. Not modelled: an agent that answers
 * late (BNR, retries); its own writebacks.
 */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

#define TYPE_READ  6u /* request types as in bus.c */
#define TYPE_OWN   2u
#define TYPE_WRITE 7u

static uint64_t sector_number(const struct nb_machine *m, uint64_t physical)
{
    return physical / m->p.l2_sector;
}

bool agent_holds(const struct nb_machine *m, uint64_t physical)
{
    uint64_t holds = 0;
    return map_find(&m->agent.holds, sector_number(m, physical), &holds) && holds;
}

void agent_loses(struct nb_machine *m, uint64_t physical)
{
    if (agent_holds(m, physical))
        map_add(m, &m->agent.holds, sector_number(m, physical), 0);
}

static nb_clock soonest(const struct nb_machine *m)
{
    nb_clock next = NB_NEVER;
    for (unsigned i = 0; i < m->agent.actions; i++)
        if (m->agent.action[i].count)
            next = min64(next, m->agent.action[i].clock);
    return next;
}

bool nb_agent(struct nb_machine *m, const struct nb_agent_action *actions, unsigned count)
{
    m->agent.action = calloc(count + 1, sizeof *actions);
    if (!m->agent.action)
        return false;
    memcpy(m->agent.action, actions, count * sizeof *actions);
    m->agent.actions = count;
    m->agent.next = soonest(m);
    return true;
}

void agent_free(struct nb_machine *m)
{
    free(m->agent.action);
    free(m->agent.holds.key);
    free(m->agent.holds.frame);
}

/* Everything of ours that has the sector of PHYSICAL hears of the request; whether the answer is
 * modified data. */
static bool snoop(struct nb_machine *m, uint64_t physical, bool invalidate, nb_tick tick)
{
    wc_snoop(m, physical, tick);
    bool modified = l2_snoop(m, physical, invalidate);
    modified |= l3_snoop(m, physical, invalidate);
    if (!invalidate)
        return modified;
    struct cache_line *line = cache_find(&m->l1, physical);
    if (line)
        line->tag = NB_NEVER;
    order_taken(m, physical, tick);
    return modified;
}

static void perform(struct nb_machine *m, const struct nb_agent_action *action)
{
    static const unsigned types[] = {
        [NB_AGENT_READ] = TYPE_READ, [NB_AGENT_OWN] = TYPE_OWN, [NB_AGENT_WRITE] = TYPE_WRITE};
    nb_tick tick = 2 * m->now;
    uint64_t frame = page_frame(m, page_key(0, action->linear));
    uint64_t physical = (frame << 12) | (action->linear & 0xFFF);
    bool write = action->kind == NB_AGENT_WRITE;
    bool ours = snoop(m, physical, action->kind != NB_AGENT_READ, tick) && !write;
    bus_other(m, types[action->kind], write, ours, tick);
    if (!write)
        map_add(m, &m->agent.holds, sector_number(m, physical), 1);
    m->active = true;
}

/* The script's requests of this clock, as long as the bus has an address slot; the clock of the
 * next one. */
nb_clock agent_cycle(struct nb_machine *m)
{
    struct agent *agent = &m->agent;
    if (agent->next > m->now)
        return agent->next;
    for (unsigned i = 0; i < agent->actions && m->bus.address_free / 2 <= m->now; i++) {
        struct nb_agent_action *action = &agent->action[i];
        if (!action->count || action->clock > m->now)
            continue;
        perform(m, action);
        action->count--;
        action->clock = m->now + (action->period ? action->period : 1);
    }
    agent->next = max64(soonest(m), (m->bus.address_free + 1) / 2);
    return agent->next;
}
