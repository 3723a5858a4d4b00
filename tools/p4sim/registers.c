/*
 * Registers on paper.
 */
#include "registers.h"
#include "names.h"
#include "words.h"

#include <string.h>

/* ---- fields ------------------------------------------------------------------------------------
 */

static void select_text(const struct config *config, int escr, uint32_t value, char *out,
                        size_t size)
{
    int event = p4pmu_event_by_code((enum p4pmu_escr)escr, P4PMU_GET(ESCR, EVENT_SELECT, value));
    (void)config;
    snprintf(out, size, "%s",
             event == P4PMU_NONE ? "no documented event of this ESCR"
                                 : p4pmu_event((enum p4pmu_event)event)->name);
}

static void mask_text(int escr, uint32_t value, char *out, size_t size)
{
    int event = p4pmu_event_by_code((enum p4pmu_escr)escr, P4PMU_GET(ESCR, EVENT_SELECT, value));
    unsigned mask = P4PMU_GET(ESCR, EVENT_MASK, value);
    int used = 0;
    out[0] = '\0';
    if (event == P4PMU_NONE)
        return;
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)event);
    for (size_t i = 0; i < info->subevent_count && used >= 0 && (size_t)used < size; i++) {
        if (!(mask >> info->subevents[i].bit & 1))
            continue;
        used += snprintf(out + used, size - (size_t)used, "%s%s", used ? " + " : "",
                         info->subevents[i].name);
        mask &= ~(1u << info->subevents[i].bit);
    }
    if (mask && (size_t)used < size)
        snprintf(out + used, size - (size_t)used, "%sundocumented 0x%X", used ? " + " : "", mask);
}

static void escr_select_text(unsigned counter, uint32_t value, char *out, size_t size)
{
    int escr = p4pmu_wired_escr(counter, P4PMU_GET(CCCR, ESCR_SELECT, value));
    snprintf(out, size, "%s",
             escr == P4PMU_NONE ? "no ESCR" : p4pmu_escr((enum p4pmu_escr)escr)->name);
}

static void field_text(const struct config *config, uint32_t msr, const struct p4pmu_field_info *f,
                       uint64_t value, char *out, size_t size)
{
    unsigned index;
    enum names_kind kind = names_kind(msr, &index);
    if (kind == NAMES_ESCR && f->shift == P4PMU_ESCR_EVENT_SELECT_SHIFT)
        select_text(config, (int)index, (uint32_t)value, out, size);
    else if (kind == NAMES_ESCR && f->shift == P4PMU_ESCR_EVENT_MASK_SHIFT)
        mask_text((int)index, (uint32_t)value, out, size);
    else if (kind == NAMES_CCCR && f->shift == P4PMU_CCCR_ESCR_SELECT_SHIFT)
        escr_select_text(index, (uint32_t)value, out, size);
    else if (kind == NAMES_CCCR && f->shift == P4PMU_CCCR_ACTIVE_THREAD_SHIFT)
        snprintf(out, size, "%s", words_active((uint32_t)value));
    else
        snprintf(out, size, "%s", f->description);
}

static void print_field(FILE *out, const struct config *config, uint32_t msr,
                        const struct p4pmu_field_info *f, uint64_t value)
{
    uint64_t v = value >> f->shift & ((UINT64_C(1) << f->length) - 1);
    char text[300], bits[16];
    unsigned index;
    bool always = names_kind(msr, &index) == NAMES_CCCR && f->shift == P4PMU_CCCR_ESCR_SELECT_SHIFT;
    if (!v && !always)
        return;
    if (f->length == 1)
        snprintf(bits, sizeof bits, "%u", f->shift);
    else
        snprintf(bits, sizeof bits, "%u:%u", f->shift + f->length - 1, f->shift);
    field_text(config, msr, f, value, text, sizeof text);
    if (f->length > 4)
        fprintf(out, "    %-6s %-13s 0x%-4llX %s\n", bits, f->name, (unsigned long long)v, text);
    else
        fprintf(out, "    %-6s %-13s %-6llu %s\n", bits, f->name, (unsigned long long)v, text);
}

void registers_fields(FILE *out, const struct config *config, uint32_t msr, uint64_t value)
{
    const char *reg = names_fields(msr);
    unsigned index;
    if (names_kind(msr, &index) == NAMES_COUNTER && value >> (P4PMU_COUNTER_BITS - 1) & 1)
        fprintf(out, "    overflows after %llu counts\n",
                (unsigned long long)(P4PMU_COUNTER_MASK + 1 - (value & P4PMU_COUNTER_MASK)));
    for (size_t i = 0; reg && p4pmu_field(i); i++) {
        const struct p4pmu_field_info *f = p4pmu_field(i);
        if (!strcmp(f->reg, reg) && (f->models >> config->model & 1))
            print_field(out, config, msr, f, value);
    }
}

/* ---- the path ----------------------------------------------------------------------------------
 */

static void station(FILE *out, const char *name, uint32_t msr, uint64_t value)
{
    fprintf(out, "    %s (%XH) = 0x%08llX\n", name, (unsigned)msr, (unsigned long long)value);
}

static void event_station(FILE *out, const struct config *config, const struct config_state *state,
                          int escr)
{
    uint32_t value = (uint32_t)state->escr[escr];
    int event = words_escr_event(state, config, escr);
    char name[80], mask[300], who[120];
    select_text(config, escr, value, name, sizeof name);
    mask_text(escr, value, mask, sizeof mask);
    words_who(value, config, event, who, sizeof who);
    fprintf(out, "    %s: %s\n      |  %s\n", name, mask[0] ? mask : "no sub-event", who);
    station(out, p4pmu_escr((enum p4pmu_escr)escr)->name, p4pmu_escr((enum p4pmu_escr)escr)->msr,
            value);
}

static void tag_stations(FILE *out, const struct config *config, const struct config_state *state,
                         const struct sim_metric *metric, int upstream)
{
    if (upstream != P4PMU_NONE)
        event_station(out, config, state, upstream);
    if (metric->mechanism == SIM_REPLAY)
        fprintf(out, "    IA32_PEBS_ENABLE = 0x%llX, MSR_PEBS_MATRIX_VERT = 0x%llX\n",
                (unsigned long long)state->pebs_enable,
                (unsigned long long)state->pebs_matrix_vert);
    fprintf(out, "      :  the uop carries the tag to retirement\n");
}

static void cccr_stations(FILE *out, const struct config *config, const struct config_state *state,
                          unsigned counter)
{
    const struct p4pmu_counter_info *info = p4pmu_counter(counter);
    uint32_t cccr = (uint32_t)state->cccr[counter];
    char filter[80];
    fprintf(out, "      |  ESCR_SELECT %u\n", P4PMU_GET(CCCR, ESCR_SELECT, cccr));
    station(out, info->cccr_name, info->cccr_msr, cccr);
    words_filter(cccr, filter, sizeof filter);
    fprintf(out, "      |  %s%s\n", filter[0] ? filter : "0 to 15 each clock",
            cccr & P4PMU_CCCR_ENABLE_MASK ? ""
            : cccr & (P4PMU_CCCR_CASCADE_MASK | P4PMU_CCCR_EXT_CASCADE_MASK)
                ? ", after the overflow of its cascade source"
                : ", but ENABLE is 0");
    if (config->hyper_threading && P4PMU_GET(CCCR, ACTIVE_THREAD, cccr) != 3)
        fprintf(out, "      |  %s\n", words_active(cccr));
    fprintf(out, "    %s (%XH), RDPMC %u\n", info->name, (unsigned)info->msr, counter);
    if (cccr & (P4PMU_CCCR_OVF_PMI_T0_MASK | P4PMU_CCCR_OVF_PMI_T1_MASK))
        fprintf(out,
                "      |  the count after the overflow\n    interrupt to logical processor %s\n",
                !(cccr & P4PMU_CCCR_OVF_PMI_T1_MASK)   ? "0"
                : !(cccr & P4PMU_CCCR_OVF_PMI_T0_MASK) ? "1"
                                                       : "0 and 1");
}

void registers_path(FILE *out, const struct config *config, const struct config_state *state,
                    unsigned counter)
{
    int escr = words_escr(state, counter), upstream;
    const struct sim_metric *metric = words_metric(state, config, counter, &upstream);
    if (metric)
        tag_stations(out, config, state, metric, upstream);
    if (escr == P4PMU_NONE)
        fprintf(out, "    no ESCR\n");
    else
        event_station(out, config, state, escr);
    cccr_stations(out, config, state, counter);
}
