/*
 * The writes one by one: faults, bits that are not held, registers with two users.
 */
#include "check_parts.h"

#include <string.h>

static void judge_fault(struct check *c, size_t i)
{
    const struct config_write *w = &c->config->write[i];
    enum p4pmu_fault fault = c->state.fault[i];
    char name[48];
    enum check_id id = fault == P4PMU_GP_READ_ONLY      ? CHECK_READ_ONLY
                       : fault == P4PMU_GP_RESERVED_BIT ? CHECK_RESERVED_BIT
                                                        : CHECK_NO_SUCH_MSR;
    struct check_finding *f = check_add(c, id, P4PMU_NONE, w->msr, 0, 64);
    f->line = w->line;
    names_register(w->msr, name);
    if (id == CHECK_NO_SUCH_MSR) {
        check_what(f, "%s raises #GP: no such register on this part", name);
        check_todo(f, "'p4sim list escrs' and 'p4sim list registers' show what there is");
    } else if (id == CHECK_READ_ONLY) {
        check_what(f, "%s raises #GP: it cannot be written", name);
        check_todo(f, "leave this write out");
    } else {
        check_what(f, "0x%llX raises #GP in %s: a reserved bit is 1", (unsigned long long)w->value,
                   name);
        check_todo(f, "clear it; the event select of an ESCR ends at bit 30");
    }
}

/* ---- bits that are not held --------------------------------------------------------------------
 */

static void ignored_escr(struct check *c, const struct config_write *w, unsigned escr,
                         uint64_t lost)
{
    const struct p4pmu_escr_info *info = p4pmu_escr((enum p4pmu_escr)escr);
    uint32_t t1 = P4PMU_ESCR_T1_USR_MASK | P4PMU_ESCR_T1_OS_MASK;
    uint32_t t0 = P4PMU_ESCR_T0_USR_MASK | P4PMU_ESCR_T0_OS_MASK;
    struct check_finding *f;
    if (!(info->models >> c->config->model & 1)) {
        f = check_add(c, CHECK_ESCR_ABSENT, P4PMU_NONE, w->msr, 0, 31);
        check_what(f, "%s is not on model %u: it reads 0 whatever is written", info->name,
                   c->config->model);
        check_todo(f, "choose an event of another unit");
        return;
    }
    if ((lost & t1) && !c->config->hyper_threading) {
        if (w->value & t0) {
            f = check_add(c, CHECK_THREAD1_WITHOUT_HT, P4PMU_NONE, w->msr, 0, 2);
            check_what(f, "T1 bits are not held: this part has no logical processor 1");
            check_todo(f, "leave them 0: %s = 0x%08llX", info->name,
                       (unsigned long long)(w->value & ~(uint64_t)t1));
        }
        lost &= ~(uint64_t)t1;
    }
    if (lost & P4PMU_ESCR_EVENT_SELECT_MASK)
        lost &= ~(uint64_t)P4PMU_ESCR_EVENT_SELECT_MASK; /* judged with the counter */
    if (lost & P4PMU_ESCR_EVENT_MASK_MASK)
        lost &= ~(uint64_t)P4PMU_ESCR_EVENT_MASK_MASK; /* judged with the event */
    if (!lost)
        return;
    f = check_add(c, CHECK_BITS_IGNORED, P4PMU_NONE, w->msr, 0, 64);
    check_what(f, "%s does not hold bits 0x%llX: it stores 0x%08X", info->name,
               (unsigned long long)lost, check_escr(c, (int)escr));
    check_todo(f, "clear them: %s = 0x%08llX", info->name, (unsigned long long)(w->value & ~lost));
}

static void ignored_cccr(struct check *c, const struct config_write *w, unsigned counter,
                         uint64_t lost)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    struct check_finding *f;
    if (lost & P4PMU_CCCR_EXT_CASCADE_MASK) {
        f = check_add(c, CHECK_EXT_CASCADE, (int)counter, w->msr, P4PMU_CCCR_EXT_CASCADE_SHIFT, 1);
        check_what(f, "%s has no EXT_CASCADE on model %u", info->cccr_name, c->config->model);
        check_todo(f, "use CASCADE (bit 30), whose source is counter %d", info->cascade_source);
        lost &= ~(uint64_t)P4PMU_CCCR_EXT_CASCADE_MASK;
    }
    if ((lost & P4PMU_CCCR_OVF_PMI_T1_MASK) && !c->config->hyper_threading) {
        f = check_add(c, CHECK_PMI_T1, (int)counter, w->msr, P4PMU_CCCR_OVF_PMI_T1_SHIFT, 1);
        check_what(f, "OVF_PMI_T1 is not held: this part has no logical processor 1");
        check_todo(f, "use OVF_PMI_T0, bit 26: %s = 0x%08llX", info->cccr_name,
                   (unsigned long long)((w->value & ~(uint64_t)P4PMU_CCCR_OVF_PMI_T1_MASK) |
                                        P4PMU_CCCR_OVF_PMI_T0_MASK));
        lost &= ~(uint64_t)P4PMU_CCCR_OVF_PMI_T1_MASK;
    }
    if (!lost)
        return;
    f = check_add(c, CHECK_BITS_IGNORED, (int)counter, w->msr, 0, 64);
    check_what(f, "%s does not hold bits 0x%llX", info->cccr_name, (unsigned long long)lost);
    check_todo(f, "clear them: %s = 0x%08llX", info->cccr_name,
               (unsigned long long)(w->value & ~lost));
}

static void ignored_counter(struct check *c, const struct config_write *w, unsigned counter,
                            uint64_t lost)
{
    if (lost == ~P4PMU_COUNTER_MASK && (w->value >> (P4PMU_COUNTER_BITS - 1) & 1))
        return; /* a negative number of 64 bits */
    struct check_finding *f =
        check_add(c, CHECK_BITS_IGNORED, (int)counter, w->msr, P4PMU_COUNTER_BITS, 24);
    check_what(f, "%s has 40 bits: 0x%llX is stored as 0x%llX", p4pmu_counter(counter)->name,
               (unsigned long long)w->value, (unsigned long long)(w->value & P4PMU_COUNTER_MASK));
    check_todo(f, "write the 40-bit value");
}

static void ignored_other(struct check *c, const struct config_write *w, uint64_t lost)
{
    char name[48];
    struct check_finding *f;
    if (w->msr == CHECK_PEBS_ENABLE && (lost & P4PMU_PEBS_ENABLE_OTHER_THREAD_MASK)) {
        f = check_add(c, CHECK_PEBS_THREAD, P4PMU_NONE, w->msr,
                      P4PMU_PEBS_ENABLE_OTHER_THREAD_SHIFT, 1);
        check_what(f, "bit 26 is not held: this part has no other logical processor");
        check_todo(f, "use bit 25 for PEBS of this processor");
        lost &= ~(uint64_t)P4PMU_PEBS_ENABLE_OTHER_THREAD_MASK;
    }
    if (!lost || w->msr == 0x10) /* the time stamp goes on */
        return;
    f = check_add(c, CHECK_BITS_IGNORED, P4PMU_NONE, w->msr, 0, 64);
    check_what(f, "%s does not hold bits 0x%llX", names_register(w->msr, name),
               (unsigned long long)lost);
    check_todo(f, "clear them");
}

static void judge_lost(struct check *c, size_t i)
{
    const struct config_write *w = &c->config->write[i];
    uint64_t lost = w->value & ~c->state.stored[i];
    unsigned index;
    if (!lost || w != check_write(c, w->msr))
        return;
    switch (names_kind(w->msr, &index)) {
    case NAMES_ESCR:
        ignored_escr(c, w, index, lost);
        break;
    case NAMES_CCCR:
        ignored_cccr(c, w, index, lost);
        break;
    case NAMES_COUNTER:
        ignored_counter(c, w, index, lost);
        break;
    default:
        ignored_other(c, w, lost);
    }
}

/* ---- two users ---------------------------------------------------------------------------------
 */

static bool escr_users_differ(uint64_t a, uint64_t b)
{
    uint64_t event = P4PMU_ESCR_EVENT_SELECT_MASK;
    return (a & event) && (b & event) && a != b;
}

/* Stopping, clearing OVF and starting again are one user. */
static bool cccr_users_differ(uint64_t a, uint64_t b)
{
    uint32_t state = P4PMU_CCCR_OVF_MASK | P4PMU_CCCR_ENABLE_MASK;
    uint32_t on = P4PMU_CCCR_ENABLE_MASK | P4PMU_CCCR_CASCADE_MASK;
    return (a & on) && (b & on) && ((a ^ b) & ~(uint64_t)state);
}

/* The write that write I replaces with another use, or NULL. */
static const struct config_write *replaced(const struct check *c, size_t i,
                                           bool (*differ)(uint64_t, uint64_t))
{
    for (size_t k = i; k-- > 0;) {
        if (c->config->write[k].msr == c->config->write[i].msr &&
            differ(c->config->write[k].value, c->config->write[i].value))
            return &c->config->write[k];
    }
    return NULL;
}

static void judge_users(struct check *c, size_t i)
{
    const struct config_write *w = &c->config->write[i], *before;
    unsigned index;
    enum names_kind kind = names_kind(w->msr, &index);
    char name[48];
    if (kind == NAMES_ESCR && (before = replaced(c, i, escr_users_differ))) {
        struct check_finding *f = check_add(c, CHECK_ESCR_TWO_USERS, P4PMU_NONE, w->msr, 0, 31);
        check_what(
            f, "%s is written 0x%08llX (line %u) and then 0x%08llX (line %u): the first is lost",
            names_register(w->msr, name), (unsigned long long)before->value, before->line,
            (unsigned long long)w->value, w->line);
        check_todo(f, "put one of them into the other ESCR of the pair and a counter it reaches; "
                      "'p4sim fit' does that");
    } else if (kind == NAMES_CCCR && (before = replaced(c, i, cccr_users_differ))) {
        struct check_finding *f = check_add(c, CHECK_COUNTER_TWO_USERS, (int)index, w->msr, 0, 32);
        check_what(
            f, "%s is written 0x%08llX (line %u) and then 0x%08llX (line %u): the first is lost",
            names_register(w->msr, name), (unsigned long long)before->value, before->line,
            (unsigned long long)w->value, w->line);
        check_todo(f, "use another counter for one of them; 'p4sim fit' chooses one");
    }
}

static void judge_reserved(struct check *c, unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    uint32_t reserved = check_cccr(c, counter) & (P4PMU_CCCR_RESERVED_28_MASK | info->extra);
    if (!reserved)
        return;
    struct check_finding *f = check_add(c, CHECK_RESERVED_CCCR, (int)counter, info->cccr_msr,
                                        reserved & P4PMU_CCCR_RESERVED_28_MASK ? 28 : 8,
                                        reserved & P4PMU_CCCR_RESERVED_28_MASK ? 2 : 3);
    check_what(f, "bits 0x%08X of %s have no known function", reserved, info->cccr_name);
    check_todo(f, "clear them: %s = 0x%08X", info->cccr_name, check_cccr(c, counter) & ~reserved);
}

void check_writes(struct check *c)
{
    for (size_t i = 0; i < c->config->count; i++) {
        if (c->state.fault[i] != P4PMU_OK) {
            judge_fault(c, i);
            continue;
        }
        judge_lost(c, i);
        judge_users(c, i);
    }
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++)
        judge_reserved(c, i);
}
