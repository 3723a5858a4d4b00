/*
 * Tagging: marks given to uops upstream and counted when they retire (SDM3 18.15.6).
 *
 * Front-end tags come from uop_type in a RAT ESCR, execution tags from ESCRs with TAG_ENABLE,
 * replay tags from IA32_PEBS_ENABLE and MSR_PEBS_MATRIX_VERT, for two causes with an ESCR besides.
 * An ESCR tags only while it is powered: some counter that can hear it or its pair runs.
 *
 * Not modelled: MSR_TC_PRECISE_EVENT (no documented metric uses it). Which uops can never be tagged
 * (I/O, uncacheable, locked accesses, returns, far transfers) is for the machine to know.
 */
#include "internal.h"
#include "match.h"

#include <string.h>

static void configure_power(struct p4pmu *pmu)
{
    pmu->powered_escrs = 0;
    for (int e = 0; e < P4PMU_ESCRS; e++)
        if (pmu->power[e] & pmu->running)
            pmu->powered_escrs |= UINT64_C(1) << e;
}

static bool powered(const struct p4pmu *pmu, int escr)
{
    return pmu->powered_escrs >> escr & 1;
}

static void set_tagger(struct p4pmu *pmu, struct tagger *t, int escr, int event)
{
    int slot = p4pmu_event((enum p4pmu_event)event)->escrs[0] == escr ? 0 : 1;
    t->mask[slot] = (uint16_t)P4PMU_GET(ESCR, EVENT_MASK, pmu->escr[escr]);
    t->who[slot] = (uint8_t)p4pmu_escr_who(pmu, escr, event);
    t->value[slot] = (uint8_t)P4PMU_GET(ESCR, TAG_VALUE, pmu->escr[escr]);
}

/* The who values whose uops get a tag that needs EVENT with MASK in a powered ESCR (NONE: either).
 */
static unsigned upstream_who(const struct p4pmu *pmu, int event, unsigned mask, int only)
{
    unsigned who = 0;
    for (int i = 0; i < 2; i++) {
        int e = p4pmu_event((enum p4pmu_event)event)->escrs[i];
        if ((only == P4PMU_NONE || e == only) && powered(pmu, e) &&
            p4pmu_selected_event(pmu, e) == event &&
            (P4PMU_GET(ESCR, EVENT_MASK, pmu->escr[e]) & mask))
            who |= p4pmu_escr_who(pmu, e, event);
    }
    return who;
}

enum { SPLIT_MASK = 1u << 1, EVERYBODY = 0xFF };

#define MOB_CAUSE(bit)                                                                             \
    {                                                                                              \
        1u << 9, {1, 2}, {P4PMU_EV_MOB_load_replay, P4PMU_EV_MOB_load_replay}, 1u << (bit),        \
        {                                                                                          \
            P4PMU_NONE, P4PMU_NONE                                                                 \
        }                                                                                          \
    }

/* Table 19-33 as rows: bits of IA32_PEBS_ENABLE, and the class bit of MSR_PEBS_MATRIX_VERT. */
static const struct replay_row {
    uint32_t enable;
    uint32_t matrix[2]; /* load, store; a mispredicted branch is neither */
    int upstream[2];
    unsigned mask;
    int only[2]; /* ESCR required */
} replay_rows[P4PMU_REPLAY_CAUSES] = {
    [P4PMU_REPLAY_L1_MISS] = {1u << 0, {1, 2}, {P4PMU_NONE, P4PMU_NONE}, 0, {0, 0}},
    [P4PMU_REPLAY_L2_MISS] = {1u << 1, {1, 2}, {P4PMU_NONE, P4PMU_NONE}, 0, {0, 0}},
    [P4PMU_REPLAY_DTLB_MISS] = {1u << 2, {1, 2}, {P4PMU_NONE, P4PMU_NONE}, 0, {0, 0}},
    /* The metric selects PARTIAL_DATA and UNALGN_ADDR; that the other causes tag when they are
     * selected is a model choice. */
    [P4PMU_REPLAY_NO_STA] = MOB_CAUSE(1),
    [P4PMU_REPLAY_NO_STD] = MOB_CAUSE(3),
    [P4PMU_REPLAY_PARTIAL_DATA] = MOB_CAUSE(4),
    [P4PMU_REPLAY_UNALGN_ADDR] = MOB_CAUSE(5),
    /* Loads need SAAT_ESCR1; for stores table and note name one each, so either will do. */
    [P4PMU_REPLAY_SPLIT] = {1u << 10,
                            {1, 2},
                            {P4PMU_EV_load_port_replay, P4PMU_EV_store_port_replay},
                            SPLIT_MASK,
                            {P4PMU_ESCR_SAAT1, P4PMU_NONE}},
    [P4PMU_REPLAY_MISPREDICT] = {3u << 15, {1u << 4, 1u << 4}, {P4PMU_NONE, P4PMU_NONE}, 0, {0, 0}},
};

static void configure_replay(struct p4pmu *pmu)
{
    uint64_t enable = pmu->msr[P4PMU_MSR_PEBS_ENABLE][0][0];
    uint64_t matrix = pmu->msr[P4PMU_MSR_PEBS_MATRIX_VERT][0][0];

    memset(pmu->replay_who, 0, sizeof pmu->replay_who);
    for (int cause = 0; cause < P4PMU_REPLAY_CAUSES; cause++)
        for (int store = 0; store < 2; store++) {
            const struct replay_row *r = &replay_rows[cause];
            if (!(enable & P4PMU_PEBS_ENABLE_UOP_TAG_MASK) || (enable & r->enable) != r->enable ||
                !(matrix & r->matrix[store]))
                continue;
            unsigned who = EVERYBODY;
            if (r->upstream[store] != P4PMU_NONE)
                who = upstream_who(pmu, r->upstream[store], r->mask, r->only[store]);
            pmu->replay_who[cause][store] = (uint8_t)who;
        }
}

void p4pmu_configure_tags(struct p4pmu *pmu)
{
    memset(pmu->tagger, 0, sizeof pmu->tagger);
    memset(&pmu->front_end, 0, sizeof pmu->front_end);
    pmu->tagging_events = 0;
    configure_power(pmu);
    for (int e = 0; e < P4PMU_ESCRS; e++) {
        int event = p4pmu_selected_event(pmu, e);
        if (event == P4PMU_NONE || !powered(pmu, e))
            continue;
        if (event == P4PMU_EV_uop_type)
            set_tagger(pmu, &pmu->front_end, e, event);
        if (pmu->escr[e] & P4PMU_ESCR_TAG_ENABLE_MASK) {
            set_tagger(pmu, &pmu->tagger[event], e, event);
            pmu->tagging_events |= UINT64_C(1) << event;
        }
    }
    configure_replay(pmu);
}
static_assert(P4PMU_EVENTS <= 64, "tagging_events holds a bit for each event");

bool p4pmu_replay_tag(const struct p4pmu *pmu, enum p4pmu_replay_cause cause, bool is_store,
                      unsigned who)
{
    return pmu->replay_who[cause][is_store] >> (who & 7) & 1;
}

bool p4pmu_front_end_tag(const struct p4pmu *pmu, unsigned bits, unsigned who)
{
    const struct tagger *t = &pmu->front_end;
    return ((t->mask[0] & bits) && (t->who[0] >> (who & 7) & 1)) ||
           ((t->mask[1] & bits) && (t->who[1] >> (who & 7) & 1));
}

unsigned p4pmu_execution_tags(const struct p4pmu *pmu, enum p4pmu_event event, unsigned bits,
                              unsigned who)
{
    unsigned tags = 0;
    if (!(pmu->tagging_events >> event & 1))
        return 0;
    for (int i = 0; i < 2; i++)
        if ((pmu->tagger[event].mask[i] & bits) && (pmu->tagger[event].who[i] >> (who & 7) & 1))
            tags |= pmu->tagger[event].value[i];
    return tags;
}
