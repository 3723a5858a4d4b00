/*
 * p4sim list: the names one can count by. With words, only what contains one of them.
 */
#define _GNU_SOURCE
#include "command.h"
#include "fit.h"
#include "sim.h"

#include <string.h>

static const char help[] =
    "usage: p4sim list [WORD...]\n\n"
    "Lists events with their sub-events and counters, metrics and processor models. With words, "
    "only\n"
    "rows that contain one of them (case ignored).\n\n"
    "exit status: 0 something was listed, 1 nothing contains the words, 2 usage.\n";

static bool wanted(char *const *words, const char *a, const char *b)
{
    if (!*words)
        return true;
    for (; *words; words++) {
        if (strcasestr(a, *words) || strcasestr(b, *words))
            return true;
    }
    return false;
}

static bool event_wanted(char *const *words, const struct p4pmu_event_info *event)
{
    if (wanted(words, event->name, event->description))
        return true;
    for (size_t i = 0; i < event->subevent_count; i++) {
        if (wanted(words, event->subevents[i].name, event->subevents[i].aliases))
            return true;
    }
    return false;
}

static void print_counters(const struct p4pmu_event_info *event)
{
    for (unsigned i = 0; i < 2; i++) {
        if (event->escrs[i] == P4PMU_NONE)
            continue;
        const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)event->escrs[i]);
        printf("%s%s on counter", i ? "; " : "    ", escr->name);
        const char *before = " ";
        for (unsigned c = 0; c < P4PMU_COUNTERS; c++) {
            if (escr->counters & 1u << c) {
                printf("%s%u", before, c);
                before = ", ";
            }
        }
    }
    putchar('\n');
}

static void print_event(const struct p4pmu_event_info *event)
{
    printf("%s\n    %s\n", event->name, event->description);
    print_counters(event);
    for (size_t i = 0; i < event->subevent_count; i++)
        printf("    :%-18s %s\n", event->subevents[i].name, event->subevents[i].description);
}

static unsigned list_events(char *const *words)
{
    unsigned shown = 0;
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        const struct p4pmu_event_info *event = p4pmu_event((enum p4pmu_event)e);
        if (event_wanted(words, event)) {
            print_event(event);
            shown++;
        }
    }
    return shown;
}

static unsigned list_metrics(char *const *words)
{
    unsigned shown = 0;
    const struct sim_metric *metric;
    for (size_t i = 0; (metric = sim_metric(i)); i++) {
        if (!wanted(words, metric->name, metric->description))
            continue;
        printf("%s\n    %s (metric: tags, then counts in %s)\n", metric->name, metric->description,
               p4pmu_event(sim_metric_downstream(metric))->name);
        shown++;
    }
    return shown;
}

static unsigned list_models(char *const *words)
{
    char names[32][32], error[512];
    unsigned shown = 0;
    size_t count = sim_model_names(names, 32);
    for (size_t i = 0; i < count; i++) {
        struct sim_model model;
        if (!sim_model_load(names[i], &model, error)) {
            complain(0, "list", "%s", error);
            continue;
        }
        if (wanted(words, model.name, model.title)) {
            printf("%s\n    %s (processor model)\n", model.name, model.title);
            shown++;
        }
        sim_model_free(&model);
    }
    return shown;
}

int command_list(int argc, char **argv)
{
    char **words = argv + 1;
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(help, stdout);
        return EXIT_DONE;
    }
    if (argc > 1 && argv[1][0] == '-')
        return complain(EXIT_USAGE, "list", "unknown option '%s'; usage: p4sim list [WORD...]",
                        argv[1]);
    if (list_events(words) + list_metrics(words) + list_models(words) > 0)
        return EXIT_DONE;
    return complain(EXIT_CHECK, "list", "nothing contains '%s'; 'p4sim list' shows all", argv[1]);
}
