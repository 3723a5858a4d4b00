/*
 * The front side bus, its in-order queue (IOQ) and the bus sequence queue (BSQ) before it.
 *
 * A 64-byte sector takes one address slot (two bus clocks: model choice) and two bus clocks of data
 * (four chunks of 8 bytes a bus clock). Data come `memory_bus_clocks` after the address;
 * transactions overlap, data in order of request. A read for a load, a walk or code fetches both
 * sectors of its line: one BSQ entry, two bus transactions. Sources: OPT-2002 table 1-1 note, SDM
 * IOQ and BSQ event notes. Accesses past the caches move chunks of up to 8 bytes, each a
 * transaction of its own. The request type is the number on the bus's lines REQa[4:0]; the manuals
 * that describe the events do not print its values, so they are those of the P6 bus, from which
 * this one comes (model choice; 00001 is reserved there, which agrees with "use 00001 for invalid
 * or default"). Not modelled: DRAM pages and refresh.
 *
 * What happens in later clocks (a queue entry ends, data on the bus) waits in the agenda, a heap by
 * clock.
 */
#include "machine.h"

#include <stdlib.h>

/* Sub-event bits of IOQ_allocation and IOQ_active_entries. */
#define IOQ_READ     (1u << 5)
#define IOQ_WRITE    (1u << 6)
#define IOQ_OWN      (1u << 13)
#define IOQ_OTHER    (1u << 14)
#define IOQ_PREFETCH (1u << 15)
/* Fields of BSQ_allocation and bsq_active_entries. */
#define BSQ_8_CHUNKS  (3u << 2)
#define BSQ_1_CHUNK   (1u << 2)
#define BSQ_0_CHUNKS  (0u << 2)
#define BSQ_LOCK      (1u << 6)
#define BSQ_CACHEABLE (1u << 7)
#define BSQ_SPLIT     (1u << 8)
#define BSQ_DEMAND    (1u << 9)
#define BSQ_ORDERED   (1u << 10)
/* BSQ request types. */
#define BSQ_READ      0u
#define BSQ_OWN       1u
#define BSQ_WRITE     2u
#define BSQ_WRITEBACK 3u
/* Request types REQa[4:0] of transactions below 4 GB. */
#define REQ_OWN       2u
#define REQ_CODE      4u
#define REQ_WRITEBACK 5u
#define REQ_DATA      6u
#define REQ_WRITE     7u

#define LINE          (BSQ_8_CHUNKS | BSQ_CACHEABLE)
#define PART          (BSQ_1_CHUNK | BSQ_DEMAND)

static const struct kind {
    uint16_t ioq, bsq;
    bool write;
} kinds[BUS_KINDS] = {
    [BUS_READ] = {REQ_DATA | IOQ_READ, LINE | BSQ_READ | BSQ_DEMAND, false},
    [BUS_READ_ADJACENT] = {REQ_DATA | IOQ_READ, 0, false},
    [BUS_CODE] = {REQ_CODE | IOQ_READ, LINE | BSQ_READ | BSQ_DEMAND, false},
    [BUS_OWNERSHIP] = {REQ_OWN | IOQ_READ, LINE | BSQ_OWN | BSQ_DEMAND, false},
    [BUS_UPGRADE] = {REQ_OWN | IOQ_READ, BSQ_0_CHUNKS | BSQ_CACHEABLE | BSQ_OWN | BSQ_DEMAND,
                     false},
    [BUS_PREFETCH] = {REQ_DATA | IOQ_READ | IOQ_PREFETCH, LINE | BSQ_READ, false},
    [BUS_PREFETCH_ADJACENT] = {REQ_DATA | IOQ_READ | IOQ_PREFETCH, 0, false},
    [BUS_WRITEBACK] = {REQ_WRITEBACK | IOQ_WRITE, LINE | BSQ_WRITEBACK, true},
    [BUS_WRITE_COMBINED] = {REQ_WRITE | IOQ_WRITE, BSQ_8_CHUNKS | BSQ_WRITE | BSQ_DEMAND, true},
    [BUS_READ_PART] = {REQ_DATA | IOQ_READ, PART | BSQ_READ, false},
    [BUS_CODE_PART] = {REQ_CODE | IOQ_READ, PART | BSQ_READ, false},
    [BUS_WRITE_PART] = {REQ_WRITE | IOQ_WRITE, PART | BSQ_WRITE, true},
    [BUS_LOCKED_READ] = {REQ_DATA | IOQ_READ, PART | BSQ_READ | BSQ_LOCK, false},
    [BUS_LOCKED_WRITE] = {REQ_WRITE | IOQ_WRITE, PART | BSQ_WRITE | BSQ_LOCK, true},
};

/* Memory types as the two units number them; uncacheable requests are ordered ones. */
static const struct {
    uint16_t ioq, bsq;
} types[] = {
    [NB_MEMORY_WRITE_BACK] = {1u << 11, 6u << 11},
    [NB_MEMORY_UNCACHEABLE] = {1u << 7, 0u << 11 | BSQ_ORDERED},
    [NB_MEMORY_WRITE_COMBINING] = {1u << 8, 1u << 11},
    [NB_MEMORY_WRITE_THROUGH] = {1u << 9, 4u << 11},
    [NB_MEMORY_WRITE_PROTECTED] = {1u << 10, 5u << 11},
};

#define DRDY_LINE_CLOCKS 4u /* SDM FSB_data_activity; a part has no DBSY */
#define DRDY_PART_CLOCKS 2u
#define DBSY_LINE_CLOCKS 2u

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
    struct agenda_item item = {when,         (uint16_t)event, (uint16_t)bits,
                               (uint8_t)who, (int8_t)change,  m->origin};
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
        if (item.change) {
            stand(m, &item);
            continue;
        }
        facts_from(m, item.origin);
        post(m, item.who, (enum p4pmu_event)item.event, item.bits, 1);
        facts_from(m, 0);
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

/* Data cycles at START, driven by us (bit 0 of the sub-events), taken by us (1) or for others (2).
 */
static void data_on_bus(struct nb_machine *m, unsigned who, nb_tick start, unsigned side, bool line)
{
    stands(m, who, P4PMU_EV_FSB_data_activity, 1u << side, start,
           start + 2 * (line ? DRDY_LINE_CLOCKS : DRDY_PART_CLOCKS));
    if (line)
        stands(m, who, P4PMU_EV_FSB_data_activity, 1u << (3 + side), start,
               start + 2 * DBSY_LINE_CLOCKS);
}

/* One request on the bus: its address slot, its place in the in-order queue, its data. The tick at
 * which its data have passed; without data, at which it has been snooped. */
static nb_tick one_request(struct nb_machine *m, unsigned who, unsigned ioq_bits, bool write,
                           unsigned chunks, unsigned side, nb_tick tick)
{
    struct bus *b = &m->bus;
    nb_tick *ioq = soonest_free(b->ioq, m->p.ioq_entries);
    nb_tick address = align(max64(max64(tick, *ioq), b->address_free), b->clock_ticks);
    b->address_free = address + 2 * b->clock_ticks;
    nb_tick first = write || !chunks ? address + 2 * b->clock_ticks
                                     : address + (nb_tick)m->p.memory_bus_clocks * b->clock_ticks;
    nb_tick data = chunks ? max64(first, b->data_free) : first;
    if (chunks)
        b->data_free = data + (chunks > 1 ? 2 : 1) * b->clock_ticks;
    nb_tick done = chunks ? b->data_free : first;
    *ioq = done;
    agenda_add(m, who, address / 2, P4PMU_EV_IOQ_allocation, ioq_bits, 0);
    stands(m, who, P4PMU_EV_IOQ_active_entries, ioq_bits, address, done);
    if (chunks)
        data_on_bus(m, who, data, side, chunks > 1);
    return done;
}

static unsigned chunks_of(const struct kind *kind)
{
    unsigned length = kind->bsq & BSQ_8_CHUNKS;
    return length == BSQ_8_CHUNKS || !kind->bsq ? 8 : length == BSQ_1_CHUNK ? 1 : 0;
}

static nb_tick own_request(struct nb_machine *m, unsigned who, const struct kind *kind,
                           uint64_t physical, nb_tick tick)
{
    unsigned ioq = kind->ioq | types[memory_type(physical)].ioq | IOQ_OWN;
    return one_request(m, who, ioq, kind->write, chunks_of(kind), kind->write ? 0 : 1, tick);
}

static nb_tick transaction(struct nb_machine *m, unsigned who, const struct kind *kind,
                           uint64_t physical, unsigned attributes, nb_tick tick)
{
    struct bus *b = &m->bus;
    nb_tick way = m->p.bus_round_trip_clocks; /* half of the round trip, in ticks */
    nb_tick *bsq = soonest_free(b->bsq, m->p.bsq_entries);
    unsigned bits = kind->bsq | types[memory_type(physical)].bsq | attributes;
    nb_tick start = max64(tick, *bsq);
    agenda_add(m, who, start / 2, P4PMU_EV_BSQ_allocation, bits, 0);
    nb_tick done = own_request(m, who, kind, physical, start + way) + way;
    stands(m, who, P4PMU_EV_bsq_active_entries, bits, start, done);
    *bsq = done;
    return done;
}

/* The other sector of a line rides in the line's BSQ entry, and is an active one by itself: SDM,
 * bsq_active_entries counts 64 bytes where BSQ_allocation counts 128. */
static nb_tick adjacent(struct nb_machine *m, unsigned who, enum bus_kind kind, uint64_t physical,
                        nb_tick tick)
{
    nb_tick way = m->p.bus_round_trip_clocks;
    unsigned line = kinds[kind == BUS_READ_ADJACENT ? BUS_READ : BUS_PREFETCH].bsq;
    nb_tick done = own_request(m, who, &kinds[kind], physical, tick + way) + way;
    stands(m, who, P4PMU_EV_bsq_active_entries, line | types[memory_type(physical)].bsq, tick,
           done);
    return done;
}

/* A transaction asked for at TICK: when the wanted sector is in the L2 (reads) or has left
 * (writes). */
nb_tick bus_transaction(struct nb_machine *m, unsigned who, enum bus_kind kind, uint64_t physical,
                        nb_tick tick)
{
    if (kind == BUS_READ_ADJACENT || kind == BUS_PREFETCH_ADJACENT)
        return adjacent(m, who, kind, physical, tick);
    return transaction(m, who, &kinds[kind], physical, 0, tick);
}

/* The same for up to 8 bytes; SPLIT: they belong to an access across an 8-byte boundary. */
nb_tick bus_chunk(struct nb_machine *m, unsigned who, enum bus_kind kind, uint64_t physical,
                  bool split, nb_tick tick)
{
    return transaction(m, who, &kinds[kind], physical, split ? BSQ_SPLIT : 0, tick);
}

/* A request of the other agent, of request type TYPE. OURS: we have the modified line and drive its
 * data, else memory or the other agent does. */
void bus_other(struct nb_machine *m, unsigned type, bool write, bool ours, nb_tick tick)
{
    unsigned bits =
        type | (write ? IOQ_WRITE : IOQ_READ) | IOQ_OTHER | types[NB_MEMORY_WRITE_BACK].ioq;
    one_request(m, m->lp[0].who, bits, write, 8, ours ? 0 : 2, tick);
}

/* When the bus sequence queue has room. */
nb_tick bus_free(struct nb_machine *m)
{
    return *soonest_free(m->bus.bsq, m->p.bsq_entries);
}
