/* See reference.h. The numbers of the rules (S01 to S32) are those of the hardware's description:
 * SDM volume 3, 18.15 and 18.16. */
#include "reference.h"

static unsigned field(uint32_t value, int high, int low)
{
    return value >> low & ((1u << (high - low + 1)) - 1);
}

/* ---- wiring: which ESCR a counter hears (table 18-63), by MSR address ---- */

static const int block_bpu[8] = {0x3B2, 0x3B4, 0x3AA, 0x3B6, 0x3AC, 0x3C8, 0x3A2, 0x3A0};
static const int block_ms[8] = {0x3C0, 0x3C4, 0x3C2, 0, 0, 0, 0, 0};
static const int block_flame[8] = {0x3A6, 0x3A4, 0x3AE, 0x3B0, 0, 0x3A8, 0, 0};
static const int block_iq[8] = {0x3BA, 0x3CA, 0x3BC, 0x3BE, 0x3B8, 0x3CC, 0x3E0, 0};

static int escr_number(int address)
{
    static const int missing[] = {0x3BF, 0x3C6, 0x3C7};
    int number = address - 0x3A0;
    if (address >= 0x3E0)
        return 43 + (address - 0x3E0);
    for (int i = 0; i < 3; i++)
        if (address > missing[i])
            number--;
    return number;
}

static int wired(int counter, unsigned select)
{
    const int *block = counter < 4    ? block_bpu
                       : counter < 8  ? block_ms
                       : counter < 12 ? block_flame
                                      : block_iq;
    int odd = counter < 16 ? counter / 2 % 2 : counter % 2;
    int address = block[select];
    if (address == 0 || (address == 0x3BE && odd)) /* there is one SSU ESCR */
        return -1;
    return escr_number(address + odd);
}

static int heard_by(const struct ref_pmu *pmu, int counter)
{
    return wired(counter, field(pmu->cccr[counter], 15, 13));
}

/* ---- selection ---- */

static const struct ref_event *event_of(const struct ref_pmu *pmu, int escr)
{
    for (int i = 0; i < pmu->event_count; i++) {
        const struct ref_event *e = &pmu->events[i];
        if (e->code == field(pmu->escr[escr], 30, 25) && (e->escr[0] == escr || e->escr[1] == escr))
            return e;
    }
    return 0;
}

static bool bus_queue_selects(unsigned model, unsigned mask, unsigned fact)
{
    unsigned wanted = mask & 31;
    bool type_ok = wanted == (fact & 31);
    bool read = mask >> 5 & fact >> 5 & 1, write = mask >> 6 & fact >> 6 & 1;
    bool memory = (mask >> 7 & fact >> 7 & 31) != 0;
    bool agent = (mask >> 13 & fact >> 13 & 3) != 0;
    bool prefetch_read = (fact >> 15 & 1) && (fact >> 5 & 1);

    if (prefetch_read && !(mask >> 15 & 1))
        return false;
    if (model >= 2)
        return (wanted == 1 || type_ok) && (read || write) && memory && agent;
    if (mask >> 5 & 3)
        memory = false;
    return ((wanted != 1 && type_ok) || read || write || memory) && agent;
}

static bool bus_sequence_selects(unsigned mask, unsigned fact)
{
    if ((mask & 3) != (fact & 3) || (mask >> 2 & 3) != (fact >> 2 & 3) ||
        (mask >> 11 & 7) != (fact >> 11 & 7) || (mask >> 9 & 1) != (fact >> 9 & 1))
        return false;
    static const int attributes[] = {5, 6, 7, 8, 10};
    for (int i = 0; i < 5; i++)
        if ((mask >> attributes[i] & 1) && !(fact >> attributes[i] & 1))
            return false;
    return true;
}

static bool mask_selects(const struct ref_pmu *pmu, const struct ref_event *e, unsigned mask,
                         unsigned fact)
{
    switch (e->logic) {
    case REF_ANY_BIT:
        return (mask & fact) != 0;
    case REF_BUS_QUEUE:
        return bus_queue_selects(pmu->model, mask, fact);
    case REF_BUS_SEQUENCE:
        return bus_sequence_selects(mask, fact);
    default:
        return false;
    }
}

/* Tables 18-66 and 18-67. */
static bool qualifies(const struct ref_pmu *pmu, const struct ref_event *e, uint32_t escr,
                      unsigned lp, unsigned cpl)
{
    bool t1_usr = escr & 1, t1_os = escr & 2, t0_usr = escr & 4, t0_os = escr & 8;
    bool fact_user = cpl > 0;

    if (!pmu->hyper_threading) {
        if (lp == 1)
            return false;
        t1_usr = t1_os = false;
    }
    if (e->ignores_cpl)
        return lp == 0 ? t0_usr || t0_os : t1_usr || t1_os;
    if (!e->thread_independent) {
        if (lp == 0)
            return fact_user ? t0_usr : t0_os;
        return fact_user ? t1_usr : t1_os;
    }
    bool usr = t0_usr || t1_usr, os = t0_os || t1_os;
    bool other_user = pmu->user[1 - lp];
    bool someone_user = fact_user, someone_os = !fact_user;
    if (pmu->hyper_threading) {
        someone_user = someone_user || other_user;
        someone_os = someone_os || !other_user;
    }
    return (usr && someone_user) || (os && someone_os);
}

/* E is what ESCR selects, or null. */
static bool detects(const struct ref_pmu *pmu, int escr, const struct ref_event *e,
                    const struct ref_fact *fact)
{
    return e && e->number == fact->event &&
           mask_selects(pmu, e, field(pmu->escr[escr], 24, 9), fact->bits) &&
           qualifies(pmu, e, pmu->escr[escr], fact->lp, fact->cpl);
}

/* Someone may want to hear: enabled, or waiting for a cascade. */
static bool listened_to(const struct ref_pmu *pmu, int escr)
{
    for (int c = 0; c < REF_COUNTERS; c++)
        if (heard_by(pmu, c) == escr && (pmu->cccr[c] & (1u << 12 | 1u << 30 | 1u << 11)))
            return true;
    return false;
}

void ref_post(struct ref_pmu *pmu, const struct ref_fact *fact)
{
    for (int e = 0; e < REF_ESCRS; e++)
        if (listened_to(pmu, e) && detects(pmu, e, event_of(pmu, e), fact))
            pmu->gathered[e] += fact->count;
}

bool ref_level(struct ref_pmu *pmu, const struct ref_fact *level)
{
    for (int i = 0; i < pmu->levels; i++) {
        struct ref_fact *l = &pmu->level[i];
        if (l->event == level->event && l->bits == level->bits && l->lp == level->lp &&
            l->cpl == level->cpl) {
            l->count = level->count;
            return true;
        }
    }
    if (pmu->levels == REF_LEVELS)
        return false;
    pmu->level[pmu->levels] = *level;
    pmu->level[pmu->levels++].sampled = 0;
    return true;
}

/* ---- one clock ---- */

static bool ovf(const struct ref_pmu *pmu, int counter)
{
    return pmu->cccr[counter] >> 31 & 1;
}

/* S17 to S19: ENABLE, or the partner's overflow. */
static bool started(const struct ref_pmu *pmu, int c)
{
    static const int partner[REF_COUNTERS] = {2,  3, 0, 1,  6,  7,  4,  5,  10,
                                              11, 8, 9, 14, 15, 12, 13, 14, 15};
    bool cascade = pmu->cccr[c] >> 30 & 1, extended = pmu->cccr[c] >> 11 & 1;

    if (pmu->cccr[c] >> 12 & 1)
        return true;
    if (cascade && ovf(pmu, partner[c]))
        return true;
    if (extended && (c == 12 || c == 17))
        return ovf(pmu, 16);
    if (extended && (c == 15 || c == 16))
        return ovf(pmu, 17);
    return false;
}

/* S10: a null event powers the counter off. */
static bool works(const struct ref_pmu *pmu, int c)
{
    int e = heard_by(pmu, c);
    return e >= 0 && field(pmu->escr[e], 30, 25) != 0 && started(pmu, c);
}

static unsigned input_of(const struct ref_pmu *pmu, int escr)
{
    const struct ref_event *e = event_of(pmu, escr);
    uint64_t sum = pmu->gathered[escr];
    for (int i = 0; i < pmu->levels; i++)
        if (detects(pmu, escr, e, &pmu->level[i]))
            sum += e->every_other_clock ? pmu->level[i].sampled : pmu->level[i].count;
    return sum > 15 ? 15 : (unsigned)sum; /* S05 */
}

static bool thread_gate(const struct ref_pmu *pmu, int c)
{
    int on = pmu->active[0] + pmu->active[1];
    if (!pmu->hyper_threading)
        return true;
    switch (field(pmu->cccr[c], 17, 16)) {
    case 0:
        return on == 0;
    case 1:
        return on == 1;
    case 2:
        return on == 2;
    default:
        return on >= 1;
    }
}

/* S06 to S09: threshold, edge; then the thread gate. */
static unsigned addend_of(struct ref_pmu *pmu, int c, unsigned input)
{
    uint32_t cccr = pmu->cccr[c];
    unsigned threshold = field(cccr, 23, 20), addend = input;
    bool before = pmu->comparator[c];

    pmu->comparator[c] = false;
    if (cccr >> 18 & 1) {
        bool pass = cccr >> 19 & 1 ? input <= threshold : input > threshold;
        pmu->comparator[c] = pass;
        addend = pass && !((cccr >> 24 & 1) && before);
    }
    return thread_gate(pmu, c) ? addend : 0;
}

/* S26: IQ_COUNTER4 for LP0, IQ_COUNTER5 for LP1, with the tagged events. */
static bool pebs_on(const struct ref_pmu *pmu, int lp)
{
    int e = heard_by(pmu, 16 + lp);
    const struct ref_event *event = e >= 0 ? event_of(pmu, e) : 0;
    return event && event->drives_pebs && (lp == 0 || pmu->hyper_threading) &&
           (pmu->pebs_enable >> (25 + lp) & 1);
}

static void overflow(struct ref_pmu *pmu, int c)
{
    if (c >= 16 && pebs_on(pmu, c - 16))
        pmu->pebs_armed[c - 16] = true;
    pmu->cccr[c] |= 1u << 31;
    if (!pmu->pmi_requested[c])
        pmu->pmi_pending[c] = true;
}

static void add(struct ref_pmu *pmu, int c, unsigned addend)
{
    const uint64_t end = UINT64_C(1) << 40;
    if (addend == 0)
        return;
    if (pmu->pmi_pending[c]) { /* S12: the count after the overflow */
        pmu->pmi_pending[c] = false;
        pmu->pmi_requested[c] = true;
    }
    pmu->counter[c] += addend;
    bool wrapped = pmu->counter[c] >= end;
    if (wrapped)
        pmu->counter[c] -= end;
    if (wrapped || (pmu->cccr[c] >> 25 & 1)) /* S15: FORCE_OVF */
        overflow(pmu, c);
}

void ref_settle(struct ref_pmu *pmu)
{
    for (int c = 0; c < REF_COUNTERS; c++)
        if (!works(pmu, c))
            pmu->comparator[c] = false;
    for (int lp = 0; lp < 2; lp++) {
        bool wanted = false;
        for (int c = 0; c < REF_COUNTERS; c++)
            if (pmu->pmi_requested[c] && ovf(pmu, c) && (pmu->cccr[c] >> (26 + lp) & 1))
                wanted = true;
        if (wanted && !pmu->interrupt[lp])
            pmu->interrupt_clock[lp] = pmu->now;
        if (!wanted)
            pmu->interrupt_clock[lp] = 0;
        pmu->interrupt[lp] = wanted;
        if (!pebs_on(pmu, lp))
            pmu->pebs_armed[lp] = false;
    }
}

void ref_clock(struct ref_pmu *pmu)
{
    bool counts[REF_COUNTERS];
    unsigned addend[REF_COUNTERS];

    if (pmu->now % 2 == 0)
        for (int i = 0; i < pmu->levels; i++)
            pmu->level[i].sampled = pmu->level[i].count;
    for (int c = 0; c < REF_COUNTERS; c++) {
        counts[c] = works(pmu, c) && !pmu->asleep;
        addend[c] = counts[c] ? addend_of(pmu, c, input_of(pmu, heard_by(pmu, c))) : 0;
    }
    for (int c = 0; c < REF_COUNTERS;
         c++) /* all at once: nobody sees this clock's overflows in it */
        add(pmu, c, addend[c]);
    for (int e = 0; e < REF_ESCRS; e++)
        pmu->gathered[e] = 0;
    pmu->now++;
    ref_settle(pmu);
}

void ref_write_cccr(struct ref_pmu *pmu, int counter, uint32_t value)
{
    pmu->cccr[counter] = value;
    if (!(value >> 31)) {
        pmu->pmi_pending[counter] = false;
        pmu->pmi_requested[counter] = false;
    }
    ref_settle(pmu);
}

void ref_write_escr(struct ref_pmu *pmu, int escr, uint32_t value)
{
    pmu->escr[escr] = value;
    ref_settle(pmu);
}

/* ---- tags ---- */

/* S10: a counter that can hear the ESCR or its pair must run. */
static bool powered(const struct ref_pmu *pmu, int escr)
{
    int ssu = escr_number(0x3BE);
    for (int c = 0; c < REF_COUNTERS; c++) {
        if (!works(pmu, c) || pmu->asleep)
            continue;
        for (unsigned select = 0; select < 8; select++) {
            int e = wired(c, select);
            if (e == escr)
                return true;
            /* pairs stand at even and odd addresses; numbers up to SSU are even with even addresses
             */
            if (e >= 0 && escr != ssu && e != ssu) {
                int first = escr < ssu ? escr & ~1 : ((escr - ssu - 1) & ~1) + ssu + 1;
                if (e == first || e == first + 1)
                    return true;
            }
        }
    }
    return false;
}

unsigned ref_execution_tags(const struct ref_pmu *pmu, const struct ref_fact *uop)
{
    unsigned tags = 0;
    for (int e = 0; e < REF_ESCRS; e++)
        if ((pmu->escr[e] >> 4 & 1) && powered(pmu, e) && detects(pmu, e, event_of(pmu, e), uop))
            tags |= field(pmu->escr[e], 8, 5);
    return tags;
}

/* An ESCR (one of two, or both) selects the event of ROLE with a bit of MASK for this lp and cpl.
 */
static bool upstream(const struct ref_pmu *pmu, int role, unsigned mask, int address0, int address1,
                     unsigned lp, unsigned cpl)
{
    int addresses[2] = {address0, address1};
    for (int i = 0; i < 2; i++) {
        if (addresses[i] == 0)
            continue;
        int e = escr_number(addresses[i]);
        const struct ref_event *event = event_of(pmu, e);
        if (event && (int)event->role == role && powered(pmu, e) &&
            (field(pmu->escr[e], 24, 9) & mask) && qualifies(pmu, event, pmu->escr[e], lp, cpl))
            return true;
    }
    return false;
}

bool ref_front_end_tag(const struct ref_pmu *pmu, const struct ref_fact *uop)
{
    return upstream(pmu, REF_FRONT_END, uop->bits, 0x3BC, 0x3BD, uop->lp, uop->cpl);
}

bool ref_replay_tag(const struct ref_pmu *pmu, int cause, bool store, unsigned lp, unsigned cpl)
{
    static const uint32_t bits[9] = {0x1, 0x2, 0x4, 0x200, 0x200, 0x200, 0x200, 0x400, 0x18000};
    static const unsigned sub_events[9] = {[3] = 2, [4] = 8, [5] = 0x10, [6] = 0x20};
    uint32_t class_bit = cause == 8 ? 0x10 : store ? 2 : 1;

    if (!(pmu->pebs_enable >> 24 & 1) || (pmu->pebs_enable & bits[cause]) != bits[cause])
        return false;
    if (!(pmu->matrix_vert & class_bit))
        return false;
    if (cause >= 3 && cause <= 6)
        return upstream(pmu, REF_MOB_REPLAY, sub_events[cause], 0x3AA, 0x3AB, lp, cpl);
    if (cause == 7 && store)
        return upstream(pmu, REF_STORE_PORT, 2, 0x3AE, 0x3AF, lp, cpl);
    if (cause == 7)
        return upstream(pmu, REF_LOAD_PORT, 2, 0, 0x3AF, lp, cpl);
    return true;
}
