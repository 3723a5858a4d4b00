/*
 * Which requests would count nothing whatever the program does: a zero of theirs is not a result.
 */
#include "request.h"

#include <stddef.h>

static const struct {
    int event;
    unsigned mask;
    const char *reason;
} not_modelled[] = {
#define SIM_NOT_MODELLED(event, mask, reason) {P4PMU_EV_##event, mask, reason},
#include "not_modelled.def"
#undef SIM_NOT_MODELLED
    {P4PMU_NONE, 0, NULL},
};

static const char *event_reason(int event, unsigned mask)
{
    unsigned missing = 0;
    const char *reason = NULL;
    for (size_t i = 0; not_modelled[i].reason; i++) {
        if (not_modelled[i].event == event && not_modelled[i].mask & mask) {
            missing |= not_modelled[i].mask;
            reason = not_modelled[i].reason;
        }
    }
    return mask & ~missing ? NULL : reason;
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
    if (r->event == P4PMU_EV_uop_type)
        return "uop_type only tags; front_end_event counts what it tags";
    if (!counts_absence && !r->usr && !r->os)
        return "neither USR nor OS is set: no privilege level is selected";
    if (!counts_absence && !r->usr && p4pmu_event((enum p4pmu_event)r->event)->thread == P4PMU_TS)
        return "only CPL 0 is selected, and the kernel's side is not simulated in this version";
    if (counts_absence)
        return NULL;
    const char *reason = event_reason(r->event, r->mask);
    if (!reason && r->metric && r->metric->upstream_event != P4PMU_NONE)
        reason = event_reason(r->metric->upstream_event, r->metric->upstream_mask);
    return reason;
}
