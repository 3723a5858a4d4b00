/*
 * One list of all rows of all tables, so that searching and explaining know every name.
 */
#define _GNU_SOURCE
#include "items.h"
#include "check.h"
#include "metrics.h"
#include "parts.h"
#include "request.h"
#include "sim.h"
#include "topics.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS_MOST = 1200 };
static struct item items[ITEMS_MOST];
static size_t item_count;

static const struct {
    const char *many, *one;
} kinds[ITEM_KINDS] = {
    [ITEM_EVENT] = {"events", "event"},
    [ITEM_SUBEVENT] = {"subevents", "sub-event"},
    [ITEM_TAG] = {"tags", "tagged metric"},
    [ITEM_METRIC] = {"metrics", "metric"},
    [ITEM_ESCR] = {"escrs", "ESCR"},
    [ITEM_COUNTER] = {"counters", "counter"},
    [ITEM_REGISTER] = {"registers", "register"},
    [ITEM_FIELD] = {"fields", "field"},
    [ITEM_PART] = {"parts", "part"},
    [ITEM_MODEL] = {"models", "processor model"},
    [ITEM_FINDING] = {"findings", "finding"},
    [ITEM_ERRATUM] = {"errata", "erratum"},
    [ITEM_TOPIC] = {"topics", "topic"},
};

const char *item_kind_name(enum item_kind kind)
{
    return kinds[kind].many;
}

const char *item_kind_one(enum item_kind kind)
{
    return kinds[kind].one;
}

static struct item *add(enum item_kind kind, size_t index, const char *name, const char *aliases,
                        const char *description)
{
    struct item *i = &items[item_count < ITEMS_MOST ? item_count++ : ITEMS_MOST - 1];
    *i = (struct item){.kind = kind, .index = (unsigned)index, .aliases = aliases};
    snprintf(i->name, sizeof i->name, "%s", name);
    snprintf(i->description, sizeof i->description, "%s", description);
    return i;
}

static void add_subevents(int event)
{
    const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)event);
    for (size_t s = 0; s < info->subevent_count; s++) {
        char name[96];
        snprintf(name, sizeof name, "%s:%s", info->name, info->subevents[s].name);
        add(ITEM_SUBEVENT, (size_t)event, name, info->subevents[s].aliases,
            info->subevents[s].description)
            ->sub = (unsigned)s;
    }
}

static void add_countables(void)
{
    for (int e = 0; e < P4PMU_EVENTS; e++)
        add(ITEM_EVENT, (size_t)e, p4pmu_event((enum p4pmu_event)e)->name, "",
            p4pmu_event((enum p4pmu_event)e)->description);
    for (int e = 0; e < P4PMU_EVENTS; e++)
        add_subevents(e);
    for (size_t i = 0; sim_metric(i); i++)
        add(ITEM_TAG, i, sim_metric(i)->name, "", sim_metric(i)->description);
    for (size_t i = 0; metric_row(i); i++)
        add(ITEM_METRIC, i, metric_row(i)->name, "", metric_row(i)->description);
}

static void add_registers(void)
{
    for (size_t i = 0; i < P4PMU_ESCRS; i++)
        add(ITEM_ESCR, i, p4pmu_escr((enum p4pmu_escr)i)->name, "",
            p4pmu_escr((enum p4pmu_escr)i)->description);
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        char text[100];
        snprintf(text, sizeof text, "counter %u of the %s block, controlled by %s", i,
                 p4pmu_counter(i)->group, p4pmu_counter(i)->cccr_name);
        add(ITEM_COUNTER, i, p4pmu_counter(i)->name, p4pmu_counter(i)->cccr_name, text);
    }
    for (size_t i = 0; p4pmu_msr(i); i++)
        add(ITEM_REGISTER, i, p4pmu_msr(i)->name, "", p4pmu_msr(i)->description);
    for (size_t i = 0; p4pmu_field(i); i++) {
        char name[96];
        snprintf(name, sizeof name, "%s.%s", p4pmu_field(i)->reg, p4pmu_field(i)->name);
        add(ITEM_FIELD, i, name, p4pmu_field(i)->name, p4pmu_field(i)->description);
    }
}

static void add_models(void)
{
    char names[32][32], error[512];
    size_t count = sim_model_names(names, 32);
    for (size_t i = 0; part(i); i++)
        add(ITEM_PART, i, part(i)->name, "", part(i)->title);
    for (size_t i = 0; i < count; i++) {
        struct sim_model model;
        if (!sim_model_load(names[i], &model, error))
            continue;
        add(ITEM_MODEL, i, model.name, "", model.title);
        sim_model_free(&model);
    }
}

static void add_teaching(void)
{
    for (int i = 0; i < CHECK_FINDINGS; i++)
        add(ITEM_FINDING, (size_t)i, check_info((enum check_id)i)->name, "",
            check_info((enum check_id)i)->title);
    for (int i = 0; i < P4PMU_ERRATA; i++)
        add(ITEM_ERRATUM, (size_t)i, p4pmu_erratum((enum p4pmu_erratum)i)->name, "",
            p4pmu_erratum((enum p4pmu_erratum)i)->description);
    for (size_t i = 0; topic(i); i++)
        add(ITEM_TOPIC, i, topic(i)->name, topic(i)->aliases, topic(i)->title);
}

const struct item *items_all(size_t *count)
{
    if (!item_count) {
        add_countables();
        add_registers();
        add_models();
        add_teaching();
    }
    *count = item_count;
    return items;
}

static const char *bare(const char *name)
{
    if (!strncasecmp(name, "MSR_", 4))
        return name + 4;
    return strncasecmp(name, "IA32_", 5) ? name : name + 5;
}

static bool in_list(const char *list, const char *name)
{
    while (*list) {
        size_t length = strcspn(list, ",");
        if (strlen(name) == length && !strncasecmp(list, name, length))
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}

bool item_is(const struct item *item, const char *name)
{
    if (item->kind == ITEM_SUBEVENT) /* its own name, with or without the event */
        return !strcasecmp(item->name, name) || !strcasecmp(strchr(item->name, ':') + 1, name) ||
               in_list(item->aliases, name);
    return !strcasecmp(bare(item->name), bare(name)) || in_list(item->aliases, name) ||
           (item->kind == ITEM_COUNTER && !strcasecmp(bare(item->aliases), bare(name)));
}
