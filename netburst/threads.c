/*
 * Logical processors: who runs at which privilege, and the standing conditions that follow from it.
 *
 * A logical processor's CPL is that of the instructions its front end fetches: each change of CPL
 * goes through a drained pipeline.
 */
#include "machine.h"

#define RUNNING (1u << 0)
#define SBFULL  (1u << 5)

/* The conditions that belong to LP at its present CPL begin or end. */
static void stand(struct nb_machine *m, struct lp *lp, bool begin)
{
    p4pmu_level(m->pmu, P4PMU_EV_global_power_events, RUNNING, lp->who, begin);
    p4pmu_level(m->pmu, P4PMU_EV_resource_stall, SBFULL, lp->who, begin && lp->stall_posted);
    fe_show_mode(m, lp, begin);
}

/* From now on LP runs at CPL 0 or 3. */
void lp_privilege(struct nb_machine *m, struct lp *lp, bool kernel)
{
    uint8_t who = (uint8_t)P4PMU_WHO(lp->number, kernel ? 0 : 3);
    if (who == lp->who)
        return;
    stand(m, lp, false);
    lp->who = who;
    stand(m, lp, true);
}

void lp_reset(struct nb_machine *m, struct lp *lp)
{
    lp->rob = &m->rob[lp->number * NB_ROB_RING];
    lp->rob_head = lp->rob_tail = 1; /* 0 means "no writer in flight" */
    lp->resolve_at = NB_NEVER;
    p4pmu_active(m->pmu, lp->number, true);
    fe_reset(lp);
    stand(m, lp, true);
}
