/*
 * What an overflow sets off: cascades, interrupts, PEBS records; and the presets they need.
 */
#include "check_parts.h"

#include <stdio.h>

#define BITS(reg, field) P4PMU_##reg##_##field##_SHIFT, P4PMU_##reg##_##field##_LENGTH

static bool has(const struct check *c, unsigned counter, uint32_t mask)
{
    return check_cccr(c, counter) & mask;
}

static bool negative(const struct check *c, unsigned counter)
{
    return c->state.counter[counter] >> (P4PMU_COUNTER_BITS - 1) & 1;
}

/* Loaded with a number that is negative in 32 bits only. */
static bool negative_in_32(const struct check *c, unsigned counter)
{
    return c->state.counter[counter] >> 31 == 1;
}

static bool overflows_soon(const struct check *c, unsigned counter)
{
    return negative(c, counter) || negative_in_32(c, counter) ||
           has(c, counter, P4PMU_CCCR_FORCE_OVF_MASK | P4PMU_CCCR_OVF_MASK);
}

/* ---- cascades ----------------------------------------------------------------------------------
 */

static uint32_t sources(const struct check *c, unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    uint32_t set = 0;
    if (has(c, counter, P4PMU_CCCR_CASCADE_MASK))
        set |= 1u << info->cascade_source;
    if (has(c, counter, P4PMU_CCCR_EXT_CASCADE_MASK) && info->extended_source != P4PMU_NONE)
        set |= 1u << info->extended_source;
    return set;
}

/* Counters that can run: enabled ones, then what their overflows start. */
static uint32_t alive(const struct check *c)
{
    uint32_t set = 0, before;
    do {
        before = set;
        for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
            uint32_t from = sources(c, i);
            bool starts = has(c, i, P4PMU_CCCR_ENABLE_MASK) || (from & set);
            for (unsigned s = 0; s < P4PMU_COUNTERS; s++)
                starts = starts || ((from >> s & 1) && has(c, s, P4PMU_CCCR_OVF_MASK));
            if (c->counter[i].used && c->counter[i].counts && starts)
                set |= 1u << i;
        }
    } while (set != before);
    return set;
}

static void no_source(struct check *c, unsigned counter, uint32_t from)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    char list[96];
    struct check_finding *f =
        check_dead(c, CHECK_CASCADE_SOURCE, counter, info->cccr_msr,
                   has(c, counter, P4PMU_CCCR_CASCADE_MASK) ? P4PMU_CCCR_CASCADE_SHIFT
                                                            : P4PMU_CCCR_EXT_CASCADE_SHIFT,
                   1);
    check_list(from, " or ", list);
    check_what(f, "counter %u waits for the overflow of counter %s, which does not count", counter,
               list);
    check_todo(f, "set up counter %s as the source, with a preset", list);
}

static void judge_source_preset(struct check *c, unsigned counter, unsigned source)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(source);
    if (overflows_soon(c, source) || check_has(c, CHECK_CASCADE_PRESET, info->msr))
        return;
    struct check_finding *f =
        check_add(c, CHECK_CASCADE_PRESET, (int)source, info->msr, 0, P4PMU_COUNTER_BITS);
    check_what(f, "counter %u starts counter %u by its overflow and begins at %llu", source,
               counter, (unsigned long long)c->state.counter[source]);
    check_todo(f, "to start it after 1000 counts: %s = 0x%llX", info->name,
               (unsigned long long)(P4PMU_COUNTER_MASK + 1 - 1000));
}

void check_cascade(struct check *c, unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    uint32_t from = sources(c, counter), runs;
    if (!c->counter[counter].used || !c->counter[counter].counts || !from)
        return;
    if (has(c, counter, P4PMU_CCCR_ENABLE_MASK)) {
        struct check_finding *f =
            check_add(c, CHECK_CASCADE_ENABLED, (int)counter, info->cccr_msr, BITS(CCCR, ENABLE));
        check_what(f, "counter %u counts from the start: ENABLE is set beside its cascade",
                   counter);
        check_todo(f, "clear ENABLE: %s = 0x%08X", info->cccr_name,
                   check_cccr(c, counter) & ~P4PMU_CCCR_ENABLE_MASK);
        return;
    }
    runs = alive(c);
    if (!(runs >> counter & 1)) {
        no_source(c, counter, from);
        return;
    }
    for (unsigned s = 0; s < P4PMU_COUNTERS; s++) {
        if ((from & runs) >> s & 1)
            judge_source_preset(c, counter, s);
    }
}

/* ---- interrupts --------------------------------------------------------------------------------
 */

static bool starts_another(const struct check *c, unsigned counter)
{
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        if (sources(c, i) >> counter & 1)
            return true;
    }
    return false;
}

static bool drives_pebs(const struct check *c, unsigned counter)
{
    uint64_t enable = c->state.pebs_enable;
    return (counter == 16 && (enable & P4PMU_PEBS_ENABLE_MY_THREAD_MASK)) ||
           (counter == 17 && (enable & P4PMU_PEBS_ENABLE_OTHER_THREAD_MASK));
}

static void judge_preset(struct check *c, unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    uint64_t value = c->state.counter[counter];
    struct check_finding *f;
    if (negative_in_32(c, counter)) {
        f = check_add(c, CHECK_PRESET_32, (int)counter, info->msr, 32, 8);
        check_what(f, "%s = 0x%08llX is negative in 32 bits, and the counter has 40", info->name,
                   (unsigned long long)value);
        check_todo(f, "write %s = 0x%010llX", info->name,
                   (unsigned long long)(value | UINT64_C(0xFF00000000)));
    } else if (has(c, counter, P4PMU_CCCR_OVF_PMI_T0_MASK | P4PMU_CCCR_OVF_PMI_T1_MASK) &&
               !overflows_soon(c, counter)) {
        f = check_add(c, CHECK_PMI_PRESET, (int)counter, info->msr, 0, P4PMU_COUNTER_BITS);
        check_what(f, "counter %u interrupts at its overflow and begins at %llu", counter,
                   (unsigned long long)value);
        check_todo(f, "to be interrupted at the 100000th count: %s = 0x%llX", info->name,
                   (unsigned long long)(P4PMU_COUNTER_MASK + 1 - 100000 + 1));
    }
}

static void judge_overflow_bits(struct check *c, unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    uint32_t cccr = check_cccr(c, counter);
    struct check_finding *f;
    if (has(c, counter, P4PMU_CCCR_FORCE_OVF_MASK) && !starts_another(c, counter) &&
        !drives_pebs(c, counter) &&
        !has(c, counter, P4PMU_CCCR_OVF_PMI_T0_MASK | P4PMU_CCCR_OVF_PMI_T1_MASK) &&
        !check_has(c, CHECK_PMI_T1, info->cccr_msr)) {
        f = check_add(c, CHECK_FORCE_ALONE, (int)counter, info->cccr_msr, BITS(CCCR, FORCE_OVF));
        check_what(f, "each count overflows, and nothing follows from it");
        check_todo(f, "clear FORCE_OVF, or set OVF_PMI_T0: %s = 0x%08X", info->cccr_name,
                   cccr & ~P4PMU_CCCR_FORCE_OVF_MASK);
    }
    if (has(c, counter, P4PMU_CCCR_OVF_MASK)) {
        f = check_add(c, CHECK_OVF_WRITTEN, (int)counter, info->cccr_msr, BITS(CCCR, OVF));
        check_what(f, "OVF of counter %u is 1 before anything has overflowed", counter);
        check_todo(f, "clear it: %s = 0x%08X", info->cccr_name, cccr & ~P4PMU_CCCR_OVF_MASK);
    }
}

static bool cascade_without_pmi(const struct check *c)
{
    return c->config->model == 2 || (c->config->model < 2 && c->config->stepping > 9);
}

static void judge_errata(struct check *c, unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    struct check_finding *f;
    if (c->counter[counter].waits && cascade_without_pmi(c) &&
        has(c, counter, P4PMU_CCCR_OVF_PMI_T0_MASK | P4PMU_CCCR_OVF_PMI_T1_MASK)) {
        f = check_add(c, CHECK_ERRATUM_CASCADE_PMI, (int)counter, info->cccr_msr,
                      BITS(CCCR, OVF_PMI_T0));
        check_what(f, "counter %u runs by a cascade, and this part raises no interrupt then",
                   counter);
        check_todo(f, "let the first counter interrupt, and enable this one in the handler");
    }
    if (c->config->model == 4 && c->config->stepping == 4 &&
        has(c, counter, P4PMU_CCCR_OVF_PMI_T1_MASK)) {
        f = check_add(c, CHECK_ERRATUM_PMI_T1, (int)counter, info->cccr_msr,
                      BITS(CCCR, OVF_PMI_T1));
        check_what(f, "F44H raises no interrupt for OVF_PMI_T1");
        check_todo(f, "use OVF_PMI_T0: %s = 0x%08X", info->cccr_name,
                   (check_cccr(c, counter) & ~P4PMU_CCCR_OVF_PMI_T1_MASK) |
                       P4PMU_CCCR_OVF_PMI_T0_MASK);
    }
}

void check_overflow(struct check *c, unsigned counter)
{
    if (!c->counter[counter].used || !c->counter[counter].counts)
        return;
    judge_preset(c, counter);
    judge_overflow_bits(c, counter);
    judge_errata(c, counter);
}

/* ---- PEBS --------------------------------------------------------------------------------------
 */

static bool pebs_event(int event)
{
    return event == P4PMU_EV_front_end_event || event == P4PMU_EV_execution_event ||
           event == P4PMU_EV_replay_event;
}

static void judge_pebs(struct check *c, unsigned counter, unsigned bit)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    const struct check_counter *k = &c->counter[counter];
    struct check_finding *f;
    if (!k->used || !check_started(c, counter)) {
        f = check_add(c, CHECK_PEBS_COUNTER, (int)counter, CHECK_PEBS_ENABLE, bit, 1);
        check_what(f, "PEBS is on, and %s is not enabled", info->cccr_name);
        check_todo(f, "count the event on counter %u, or clear bit %u", counter, bit);
        return;
    }
    if (!k->counts)
        return;
    if (!pebs_event(k->event)) {
        f = check_add(c, CHECK_PEBS_EVENT, (int)counter, CHECK_PEBS_ENABLE, bit, 1);
        check_what(f, "counter %u counts %s, which cannot drive PEBS", counter,
                   k->event == P4PMU_NONE ? "an unknown event"
                                          : p4pmu_event((enum p4pmu_event)k->event)->name);
        check_todo(f,
                   "count front_end_event, execution_event or replay_event there, or clear bit %u",
                   bit);
        return;
    }
    if (!check_write(c, CHECK_DS_AREA)) {
        f = check_add(c, CHECK_PEBS_DS, (int)counter, CHECK_DS_AREA, 0, 64);
        check_what(f, "IA32_DS_AREA is not written");
        check_todo(f, "set up the buffer management area and write its linear address");
    }
    if (!overflows_soon(c, counter)) {
        f = check_add(c, CHECK_PEBS_PRESET, (int)counter, info->msr, 0, P4PMU_COUNTER_BITS);
        check_what(f, "counter %u begins at %llu: the first record is 2^40 counts away", counter,
                   (unsigned long long)c->state.counter[counter]);
        check_todo(f,
                   "for a record about every 1000 counts: %s = 0x%llX, and the same in the DS "
                   "area's reset field",
                   info->name, (unsigned long long)(P4PMU_COUNTER_MASK + 1 - 1000));
    }
}

/* How many tagging mechanisms are set up. */
static unsigned mechanisms(const struct check *c)
{
    bool front_end = false, execution = false, replay = c->state.pebs_enable & 0x1FFFF;
    for (int e = 0; e < P4PMU_ESCRS; e++) {
        front_end = front_end || check_event(c, e) == P4PMU_EV_uop_type;
        execution = execution || (check_escr(c, e) & P4PMU_ESCR_TAG_ENABLE_MASK);
    }
    return (unsigned)front_end + execution + replay;
}

static void judge_mechanisms(struct check *c)
{
    uint64_t pebs = P4PMU_PEBS_ENABLE_MY_THREAD_MASK | P4PMU_PEBS_ENABLE_OTHER_THREAD_MASK;
    if (!(c->state.pebs_enable & pebs) || mechanisms(c) < 2)
        return;
    struct check_finding *f = check_add(c, CHECK_PEBS_MECHANISMS, P4PMU_NONE, CHECK_PEBS_ENABLE,
                                        P4PMU_PEBS_ENABLE_MY_THREAD_SHIFT, 2);
    check_what(f, "PEBS is on while %u tagging mechanisms are set up", mechanisms(c));
    check_todo(f, "keep the mechanism of the event on counter 16 and take the others out");
}

void check_pebs(struct check *c)
{
    judge_mechanisms(c);
    if (c->state.pebs_enable & P4PMU_PEBS_ENABLE_MY_THREAD_MASK)
        judge_pebs(c, 16, P4PMU_PEBS_ENABLE_MY_THREAD_SHIFT);
    if (c->state.pebs_enable & P4PMU_PEBS_ENABLE_OTHER_THREAD_MASK)
        judge_pebs(c, 17, P4PMU_PEBS_ENABLE_OTHER_THREAD_SHIFT);
}
