/*
 * Registers by name and address. The names are the manual's; MSR_ and IA32_ may be left out.
 */
#define _GNU_SOURCE
#include "names.h"
#include "request.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MOST = P4PMU_ESCRS + 2 * P4PMU_COUNTERS + 100 };

static const struct p4pmu_msr_info *other(uint32_t msr, unsigned *index)
{
    const struct p4pmu_msr_info *info;
    for (unsigned i = 0; (info = p4pmu_msr(i)); i++) {
        if (msr - info->msr < info->count) {
            *index = i;
            return info;
        }
    }
    return NULL;
}

enum names_kind names_kind(uint32_t msr, unsigned *index)
{
    unsigned ignored;
    unsigned *at = index ? index : &ignored;
    int escr = p4pmu_escr_by_msr(msr);
    if (escr != P4PMU_NONE) {
        *at = (unsigned)escr;
        return NAMES_ESCR;
    }
    *at = msr - p4pmu_counter(0)->cccr_msr;
    if (*at < P4PMU_COUNTERS)
        return NAMES_CCCR;
    *at = msr - p4pmu_counter(0)->msr;
    if (*at < P4PMU_COUNTERS)
        return NAMES_COUNTER;
    return other(msr, at) ? NAMES_OTHER : NAMES_NONE;
}

const char *names_register(uint32_t msr, char out[48])
{
    unsigned index;
    switch (names_kind(msr, &index)) {
    case NAMES_ESCR:
        snprintf(out, 48, "%s", p4pmu_escr((enum p4pmu_escr)index)->name);
        break;
    case NAMES_CCCR:
        snprintf(out, 48, "%s", p4pmu_counter(index)->cccr_name);
        break;
    case NAMES_COUNTER:
        snprintf(out, 48, "%s", p4pmu_counter(index)->name);
        break;
    case NAMES_OTHER: {
        const struct p4pmu_msr_info *info = p4pmu_msr(index);
        if (msr == info->msr)
            snprintf(out, 48, "%s", info->name);
        else
            snprintf(out, 48, "%s + %u", info->name, (unsigned)(msr - info->msr));
        break;
    }
    case NAMES_NONE:
        snprintf(out, 48, "MSR 0x%X", (unsigned)msr);
    }
    return out;
}

/* ---- reading -----------------------------------------------------------------------------------
 */

struct all_names {
    const char *name[NAMES_MOST];
    uint32_t msr[NAMES_MOST];
    size_t count;
};

static void put(struct all_names *all, const char *name, uint32_t msr)
{
    if (all->count < NAMES_MOST) {
        all->name[all->count] = name;
        all->msr[all->count++] = msr;
    }
}

static void collect(struct all_names *all)
{
    const struct p4pmu_msr_info *info;
    all->count = 0;
    for (int e = 0; e < P4PMU_ESCRS; e++)
        put(all, p4pmu_escr((enum p4pmu_escr)e)->name, p4pmu_escr((enum p4pmu_escr)e)->msr);
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        put(all, p4pmu_counter(i)->cccr_name, p4pmu_counter(i)->cccr_msr);
        put(all, p4pmu_counter(i)->name, p4pmu_counter(i)->msr);
    }
    for (size_t i = 0; (info = p4pmu_msr(i)); i++)
        put(all, info->name, info->msr);
}

static const char *bare(const char *name)
{
    if (!strncasecmp(name, "MSR_", 4))
        return name + 4;
    return strncasecmp(name, "IA32_", 5) ? name : name + 5;
}

static bool number(const char *word, uint64_t *value)
{
    size_t length = strlen(word);
    char *end;
    if (!isdigit((unsigned char)word[0]))
        return false;
    errno = 0;
    bool h = length > 1 && (word[length - 1] == 'H' || word[length - 1] == 'h');
    bool x = !strncasecmp(word, "0x", 2);
    *value = strtoull(word, &end, h || x ? 16 : 10);
    return errno == 0 && end > word && end == word + length - (h && !x);
}

bool names_parse_value(const char *word, uint64_t *value)
{
    if (word[0] != '-')
        return number(word, value);
    if (!number(word + 1, value) || *value > P4PMU_COUNTER_MASK)
        return false;
    *value = (0 - *value) & P4PMU_COUNTER_MASK;
    return true;
}

bool names_parse_register(const char *word, uint32_t *msr, char error[512])
{
    struct all_names all;
    uint64_t value;
    char near[200];
    if (number(word, &value)) {
        *msr = (uint32_t)value;
        if (value <= UINT32_MAX)
            return true;
        snprintf(error, 512, "'%.60s' is not an MSR address; they have 32 bits", word);
        return false;
    }
    collect(&all);
    for (size_t i = 0; i < all.count; i++) {
        if (!strcasecmp(bare(word), bare(all.name[i]))) {
            *msr = all.msr[i];
            return true;
        }
    }
    sim_near(word, all.name, all.count, near, sizeof near);
    if (near[0])
        snprintf(error, 512, "no register '%.60s'; did you mean%s?", word, near);
    else
        snprintf(error, 512,
                 "no register '%.60s'; expected a name such as MSR_CRU_ESCR0 or an address such as "
                 "0x3B8 or 3B8H",
                 word);
    return false;
}

/* ---- fields ------------------------------------------------------------------------------------
 */

const char *names_fields(uint32_t msr)
{
    unsigned index;
    enum names_kind kind = names_kind(msr, &index);
    if (kind == NAMES_ESCR)
        return "ESCR";
    if (kind == NAMES_CCCR)
        return "CCCR";
    if (kind != NAMES_OTHER)
        return NULL;
    const char *name = bare(p4pmu_msr(index)->name);
    for (size_t i = 0; p4pmu_field(i); i++) {
        if (!strcmp(p4pmu_field(i)->reg, name))
            return p4pmu_field(i)->reg;
    }
    return NULL;
}

const struct p4pmu_field_info *names_field(uint32_t msr, unsigned shift)
{
    const char *reg = names_fields(msr);
    for (size_t i = 0; reg && p4pmu_field(i); i++) {
        const struct p4pmu_field_info *f = p4pmu_field(i);
        if (!strcmp(f->reg, reg) && shift >= f->shift && shift < f->shift + f->length)
            return f;
    }
    return NULL;
}
