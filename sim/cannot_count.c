/*
 * Which requests would count nothing whatever the program does: a zero of theirs is not a result.
 *
 * What the machine posts stands in one place, the status of each sub-event in libp4pmu's tables
 * (p4pmu_subevents.def), and so do the reasons given here. How mask bits combine is the event's own
 * logic: any of them (most events), one of each group (bus queue), equal numbers (bus sequence
 * unit).
 */
#include "request.h"

#include <stddef.h>

/* The mask bits with a sub-event the machine posts, wholly or in part. */
static unsigned posted(const struct p4pmu_event_info *event)
{
    unsigned bits = 0;
    for (size_t i = 0; i < event->subevent_count; i++)
        if (event->subevents[i].status != P4PMU_NOT_MODELLED)
            bits |= 1u << event->subevents[i].bit;
    return bits;
}

/* Why the first sub-event of MASK that is not wholly there is not, or OTHERWISE. */
static const char *why_not(const struct p4pmu_event_info *event, unsigned mask,
                           const char *otherwise)
{
    for (size_t i = 0; i < event->subevent_count; i++)
        if ((mask >> event->subevents[i].bit & 1) && event->subevents[i].why[0])
            return event->subevents[i].why;
    return otherwise;
}

static const char *any_bit(const struct p4pmu_event_info *event, unsigned mask)
{
    if (mask & posted(event))
        return NULL;
    return why_not(event, mask,
                   mask ? "none of the mask bits is a documented sub-event"
                        : "the mask is 0: no sub-event is chosen");
}

/* Groups of mask bits of which one must be met (SDM3 table 19-28, notes 4a and 4b). */
struct group {
    unsigned bits;
    const char *none; /* said when no bit of it is chosen */
};

static const struct group agent = {0x6000, "neither OWN nor OTHER is chosen, and one is needed"};
static const struct group from_model_2[] = {
    {0x0060, "neither ALL_READ nor ALL_WRITE is chosen, and one is needed"},
    {0x0F80, "no memory type is chosen, and one is needed"}};
static const struct group before_model_2 = {0x0FE0,
                                            "neither a direction nor a memory type is chosen"};

static const char *in_group(const struct p4pmu_event_info *event, unsigned mask,
                            const struct group *group)
{
    unsigned chosen = mask & group->bits;
    return chosen & posted(event) ? NULL : why_not(event, chosen, group->none);
}

/* The request types that the machine's transactions have (netburst/bus.c), and 00001b for any. */
static const char *request_type(const struct p4pmu_event_info *event, unsigned mask)
{
    enum { TYPE = 0x1F, POSTED_TYPES = 1u << 1 | 1u << 2 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7 };
    unsigned type = mask & TYPE;
    if (!type)
        return "no request type is chosen (ReqA0 alone stands for any)";
    if ((unsigned)POSTED_TYPES >> type & 1)
        return NULL;
    return why_not(event, type & 0x18, "no transaction of the bus has this request type");
}

static const char *bus_queue(const struct p4pmu_event_info *event, unsigned mask, unsigned model)
{
    const char *reason = in_group(event, mask, &agent);
    if (!reason && model < 2)
        reason = in_group(event, mask, &before_model_2);
    if (!reason && model >= 2)
        reason = request_type(event, mask);
    for (size_t i = 0; !reason && model >= 2 && i < 2; i++)
        reason = in_group(event, mask, &from_model_2[i]);
    return reason;
}

/* An attribute in the mask is required; lengths and memory types must be equal, and not every
 * number is one. */
static const char *bus_sequence(const struct p4pmu_event_info *event, unsigned mask)
{
    enum { LENGTHS = 1u << 0 | 1u << 1 | 1u << 3, MEMORY_TYPES = 0x73 };
    unsigned documented = 0;
    for (size_t i = 0; i < event->subevent_count; i++)
        documented |= 1u << event->subevents[i].bit;
    unsigned absent = mask & documented & ~posted(event);
    if (absent)
        return why_not(event, absent, NULL);
    if (!((unsigned)LENGTHS >> (mask >> 2 & 3) & 1))
        return "no request has two chunks: the length is 0, 1 or 3 (eight chunks)";
    if (!((unsigned)MEMORY_TYPES >> (mask >> 11 & 7) & 1))
        return "there is no such memory type: 0 UC, 1 WC, 4 WT, 5 WP, 6 WB";
    return NULL;
}

/* Pairs of trace cache modes in which the second logical processor is active. */
static bool needs_two(int event, unsigned mask)
{
    enum { DI = 1 << 2, BI = 1 << 5 };
    return event == P4PMU_EV_TC_deliver_mode && mask && !(mask & (DI | BI));
}

static const char *event_reason(int number, unsigned mask, unsigned model)
{
    const struct p4pmu_event_info *event = p4pmu_event((enum p4pmu_event)number);
    switch (event->logic) {
    case P4PMU_OR:
        return any_bit(event, mask);
    case P4PMU_IOQ:
        return bus_queue(event, mask, model);
    case P4PMU_BSQ:
        return bus_sequence(event, mask);
    case P4PMU_TAG_ONLY:
        break;
    }
    return "uop_type only tags; front_end_event counts what it tags";
}

const char *sim_request_cannot_count(const struct sim_request *r)
{
    /* COMPARE with COMPLEMENT counts the clocks without the event, whoever runs (SDM volume
     * 3, 18.17.2). */
    bool counts_absence = r->compare && r->complement;
    if (r->raw && !(r->raw_cccr_value & (P4PMU_CCCR_ENABLE_MASK | P4PMU_CCCR_CASCADE_MASK)))
        return "ENABLE (CCCR bit 12) is 0: the counter does not run";
    if (r->event == P4PMU_NONE)
        return counts_absence ? NULL : "no documented event has this ESCR select";
    if (p4pmu_event((enum p4pmu_event)r->event)->logic == P4PMU_TAG_ONLY)
        return event_reason(r->event, r->mask, r->model);
    if (!counts_absence && !r->usr && !r->os)
        return "neither USR nor OS is set: no privilege level is selected";
    if (counts_absence)
        return NULL;
    if (!r->hyper_threading && needs_two(r->event, r->mask))
        return "the part has one logical processor";
    const char *reason = event_reason(r->event, r->mask, r->model);
    if (!reason && r->metric && r->metric->mechanism != SIM_FRONT_END &&
        r->metric->upstream_event != P4PMU_NONE)
        reason = event_reason(r->metric->upstream_event, r->metric->upstream_mask, r->model);
    return reason;
}
