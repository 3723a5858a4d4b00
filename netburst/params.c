/*
 * The machine's parameters as data: what each is, its range, and whether a set of values fits
 * together.
 */
#include "netburst.h"

#include <stdio.h>

static const struct nb_param_info infos[NB_PARAMS] = {
#define P(group, name, unit, lowest, highest, text)                                                \
    {#group, #name, unit, text, lowest, highest, offsetof(struct nb_params, name)},
#include "netburst_params.def"
#undef P
};

const struct nb_param_info *nb_param_info(enum nb_param param)
{
    return (unsigned)param < NB_PARAMS ? &infos[param] : NULL;
}

static bool power_of_two(uint32_t value)
{
    return value && !(value & (value - 1));
}

static uint32_t value_of(const struct nb_params *params, const struct nb_param_info *info)
{
    return *(const uint32_t *)(const void *)((const char *)params + info->offset);
}

static bool in_range(const struct nb_params *params, char why[256])
{
    for (unsigned i = 0; i < NB_PARAMS; i++) {
        const struct nb_param_info *info = &infos[i];
        uint32_t value = value_of(params, info);
        if (value < info->lowest || value > info->highest) {
            snprintf(why, 256, "%s is %u; expected %u to %u %s", info->name, value, info->lowest,
                     info->highest, info->unit);
            return false;
        }
    }
    return true;
}

static const enum nb_param powers[] = {
    NB_PARAM_tc_sets,   NB_PARAM_fe_btb_sets, NB_PARAM_trace_btb_sets, NB_PARAM_pattern_entries,
    NB_PARAM_l1_sets,   NB_PARAM_l1_line,     NB_PARAM_l2_sets,        NB_PARAM_l2_line,
    NB_PARAM_l2_sector, NB_PARAM_itlb_sets,
};

bool nb_params_check(const struct nb_params *params, char why[256])
{
    if (!in_range(params, why))
        return false;
    for (size_t i = 0; i < sizeof powers / sizeof powers[0]; i++) {
        uint32_t value = value_of(params, &infos[powers[i]]);
        if (!power_of_two(value)) {
            snprintf(why, 256, "%s is %u; expected a power of two", infos[powers[i]].name, value);
            return false;
        }
    }
    if (params->l3_sets && (!power_of_two(params->l3_sets) || !params->l3_ways)) {
        snprintf(why, 256, "l3_sets is %u with %u ways; expected a power of two, or no L3",
                 params->l3_sets, params->l3_ways);
        return false;
    }
    if (params->indirect_entries && !power_of_two(params->indirect_entries)) {
        snprintf(why, 256, "indirect_entries is %u; expected 0 or a power of two",
                 params->indirect_entries);
        return false;
    }
    if (params->l2_line != 2 * params->l2_sector) {
        snprintf(why, 256, "l2_line is %u with l2_sector %u; expected two sectors to a line",
                 params->l2_line, params->l2_sector);
        return false;
    }
    return true;
}
