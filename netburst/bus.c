/*
 * The front side bus, its in-order queue (IOQ) and the bus sequence queue (BSQ) before it.
 *
 * A 64-byte sector takes one address slot (two bus clocks: model choice) and two bus clocks of data
 * (four chunks of 8 bytes a bus clock). Data come `memory_bus_clocks` after the address;
 * transactions overlap, data in order of request. A read for a load, a walk or code fetches both
 * sectors of its line: one BSQ entry, two bus transactions. Sources: OPT-2002 table 1-1 note, SDM
 * IOQ and BSQ event notes. Not modelled: other agents, DRAM pages and refresh.
 *
 * What happens in later clocks (a queue entry ends, data on the bus) waits in the agenda, a heap by
 * clock.
 */
#include "machine.h"

#include <stdlib.h>

/* Sub-event bits of IOQ_allocation and IOQ_active_entries. */
#define IOQ_DEFAULT_TYPE (1u << 0)
#define IOQ_READ         (1u << 5)
#define IOQ_WRITE        (1u << 6)
#define IOQ_MEM_WC       (1u << 8)
#define IOQ_MEM_WB       (1u << 11)
#define IOQ_OWN          (1u << 13)
#define IOQ_PREFETCH     (1u << 15)
/* Fields of BSQ_allocation and bsq_active_entries. */
#define BSQ_TYPE(n)   (unsigned)(n)
#define BSQ_8_CHUNKS  (3u << 2)
#define BSQ_CACHEABLE (1u << 7)
#define BSQ_DEMAND    (1u << 9)
#define BSQ_MEM_WC    (1u << 11)
#define BSQ_MEM_WB    (6u << 11)

#define BSQ_LINE      (BSQ_8_CHUNKS | BSQ_CACHEABLE | BSQ_MEM_WB)
#define IOQ_LINE      (IOQ_DEFAULT_TYPE | IOQ_MEM_WB | IOQ_OWN)

static const struct {
    uint16_t ioq, bsq;
    bool write;
} kinds[BUS_KINDS] = {
    [BUS_READ] = {IOQ_LINE | IOQ_READ, BSQ_LINE | BSQ_TYPE(0) | BSQ_DEMAND, false},
    [BUS_READ_ADJACENT] = {IOQ_LINE | IOQ_READ, 0, false},
    [BUS_CODE] = {IOQ_LINE | IOQ_READ, BSQ_LINE | BSQ_TYPE(0) | BSQ_DEMAND, false},
    [BUS_OWNERSHIP] = {IOQ_LINE | IOQ_READ, BSQ_LINE | BSQ_TYPE(1) | BSQ_DEMAND, false},
    [BUS_PREFETCH] = {IOQ_LINE | IOQ_READ | IOQ_PREFETCH, BSQ_LINE | BSQ_TYPE(0), false},
    [BUS_WRITEBACK] = {IOQ_LINE | IOQ_WRITE, BSQ_LINE | BSQ_TYPE(3), true},
    [BUS_WRITE_COMBINED] = {IOQ_DEFAULT_TYPE | IOQ_WRITE | IOQ_MEM_WC | IOQ_OWN,
                            BSQ_8_CHUNKS | BSQ_TYPE(2) | BSQ_DEMAND | BSQ_MEM_WC, true},
};

#define DRDY_CLOCKS 4u /* of a full line, SDM FSB_data_activity */
#define DBSY_CLOCKS 2u

static bool sooner(const struct agenda_item *a, const struct agenda_item *b)
{
    return a->when < b->when;
}

static bool agenda_room(struct nb_machine *m)
{
    struct bus *b = &m->bus;
    if (b->agenda_count < b->agenda_capacity)
        return true;
    uint32_t capacity = b->agenda_capacity ? b->agenda_capacity * 2 : 256;
    struct agenda_item *items = realloc(b->agenda, capacity * sizeof *items);
    if (!items) {
        m->out_of_memory = true;
        return false;
    }
    b->agenda = items;
    b->agenda_capacity = capacity;
    return true;
}

/* In clock WHEN one pulse (CHANGE 0) or a change of the standing count. */
void agenda_add(struct nb_machine *m, unsigned who, nb_clock when, enum p4pmu_event event,
                unsigned bits, int change)
{
    struct bus *b = &m->bus;
    if (!agenda_room(m))
        return;
    struct agenda_item item = {when, (uint16_t)event, (uint16_t)bits, (uint8_t)who, (int8_t)change};
    uint32_t at = b->agenda_count++;
    while (at && sooner(&item, &b->agenda[(at - 1) / 2])) {
        b->agenda[at] = b->agenda[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    b->agenda[at] = item;
}

static struct agenda_item agenda_take(struct bus *b)
{
    struct agenda_item first = b->agenda[0], last = b->agenda[--b->agenda_count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= b->agenda_count)
            break;
        if (child + 1 < b->agenda_count && sooner(&b->agenda[child + 1], &b->agenda[child]))
            child++;
        if (!sooner(&b->agenda[child], &last))
            break;
        b->agenda[at] = b->agenda[child];
        at = child;
    }
    b->agenda[at] = last;
    return first;
}

static void stand(struct nb_machine *m, const struct agenda_item *item)
{
    struct bus *b = &m->bus;
    uint32_t i = 0;
    while (i < b->standing_count &&
           (b->standing[i].event != item->event || b->standing[i].bits != item->bits ||
            b->standing[i].who != item->who))
        i++;
    if (i == b->standing_count) {
        if (i == NB_STANDING)
            return;
        b->standing_count++;
        b->standing[i].event = item->event;
        b->standing[i].bits = item->bits;
        b->standing[i].who = item->who;
    }
    b->standing[i].count = (uint32_t)((int)b->standing[i].count + item->change);
    p4pmu_level(m->pmu, (enum p4pmu_event)item->event, item->bits, item->who, b->standing[i].count);
}

/* What the agenda has for this clock; the clock of its next item. */
nb_clock bus_cycle(struct nb_machine *m)
{
    struct bus *b = &m->bus;
    while (b->agenda_count && b->agenda[0].when <= m->now) {
        struct agenda_item item = agenda_take(b);
        if (item.change)
            stand(m, &item);
        else
            post(m, item.who, (enum p4pmu_event)item.event, item.bits, 1);
    }
    return b->agenda_count ? b->agenda[0].when : NB_NEVER;
}

static nb_tick *soonest_free(nb_tick *entry, uint32_t n)
{
    nb_tick *best = entry;
    for (uint32_t i = 1; i < n; i++)
        if (entry[i] < *best)
            best = &entry[i];
    return best;
}

static nb_tick align(nb_tick tick, uint32_t step)
{
    return (tick + step - 1) / step * step;
}

static void stands(struct nb_machine *m, unsigned who, enum p4pmu_event event, unsigned bits,
                   nb_tick from, nb_tick to)
{
    agenda_add(m, who, from / 2, event, bits, 1);
    agenda_add(m, who, max64(to / 2, from / 2 + 1), event, bits, -1);
}

static void data_on_bus(struct nb_machine *m, unsigned who, nb_tick start, bool write)
{
    unsigned drdy = write ? 1u << 0 : 1u << 1, dbsy = write ? 1u << 3 : 1u << 4;
    stands(m, who, P4PMU_EV_FSB_data_activity, drdy, start, start + 2 * DRDY_CLOCKS);
    stands(m, who, P4PMU_EV_FSB_data_activity, dbsy, start, start + 2 * DBSY_CLOCKS);
}

/* One sector over the bus, its queue entry free from TICK on: the tick its data have passed. */
static nb_tick one_sector(struct nb_machine *m, unsigned who, enum bus_kind kind, nb_tick tick)
{
    struct bus *b = &m->bus;
    nb_tick *ioq = soonest_free(b->ioq, m->p.ioq_entries);
    nb_tick address = align(max64(max64(tick, *ioq), b->address_free), b->clock_ticks);
    b->address_free = address + 2 * b->clock_ticks;
    nb_tick first = kinds[kind].write ? address + 2 * b->clock_ticks
                                      : address + (nb_tick)m->p.memory_bus_clocks * b->clock_ticks;
    nb_tick data = max64(first, b->data_free);
    b->data_free = data + 2 * b->clock_ticks;
    *ioq = b->data_free;
    agenda_add(m, who, address / 2, P4PMU_EV_IOQ_allocation, kinds[kind].ioq, 0);
    stands(m, who, P4PMU_EV_IOQ_active_entries, kinds[kind].ioq, address, b->data_free);
    data_on_bus(m, who, data, kinds[kind].write);
    return b->data_free;
}

/* A transaction asked for at TICK: when the wanted sector is in the L2 (reads) or has left
 * (writes). */
nb_tick bus_transaction(struct nb_machine *m, unsigned who, enum bus_kind kind, nb_tick tick)
{
    struct bus *b = &m->bus;
    nb_tick way = m->p.bus_round_trip_clocks; /* half of the round trip, in ticks */
    nb_tick *bsq = soonest_free(b->bsq, m->p.bsq_entries);
    if (kind == BUS_READ_ADJACENT) { /* rides in its line's BSQ entry */
        return one_sector(m, who, kind, tick + way) + way;
    }
    nb_tick start = max64(tick, *bsq);
    agenda_add(m, who, start / 2, P4PMU_EV_BSQ_allocation, kinds[kind].bsq, 0);
    nb_tick done = one_sector(m, who, kind, start + way) + way;
    stands(m, who, P4PMU_EV_bsq_active_entries, kinds[kind].bsq, start, done);
    *bsq = done;
    return done;
}
