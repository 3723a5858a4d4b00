/*
 * p4sim list: the names one can count by, and all that belongs to them.
 *
 * Words are looked for in names and aliases first; only when no name has one are the descriptions
 * searched, so that "mispred" gives the events of that name and "divide" whatever mentions it.
 */
#define _GNU_SOURCE
#include "command.h"
#include "describe.h"
#include "items.h"
#include "request.h"

#include <fnmatch.h>
#include <getopt.h>
#include <string.h>

static const char help[] =
    "usage: p4sim list [options] [KIND] [WORD|PATTERN...]\n\n"
    "Lists events with their sub-events and counters, metrics and processor models. With a KIND,\n"
    "only that: events, subevents, tags (metrics that tag), metrics (formulas), escrs, counters,\n"
    "registers, fields, parts, models, findings, errata, topics. With words, of all kinds what "
    "has\n"
    "one in its name or an alias; when no name does, what has one in its description. A pattern\n"
    "has * or ? and must match the whole name. Case is ignored.\n\n"
    "  -l, --long    meaning, codes, ESCRs and counters, threads, models, notes, status, source\n"
    "      --json    the long form as data\n\n"
    "exit status: 0 something was listed, 1 nothing contains the words, 2 usage.\n\n"
    "example: p4sim list --long '*_retired'\n";

struct query {
    int kind; /* enum item_kind, or -1 */
    char *const *words;
    bool whole, json;
};

/* ---- what matches ------------------------------------------------------------------------------
 */

static bool is_pattern(const char *word)
{
    return strpbrk(word, "*?[") != NULL;
}

static bool name_has(const char *name, const char *aliases, const char *word)
{
    if (is_pattern(word))
        return !fnmatch(word, name, FNM_CASEFOLD);
    return strcasestr(name, word) || strcasestr(aliases, word);
}

static bool subevent_has(const struct item *item, const char *word, bool description)
{
    if (item->kind != ITEM_EVENT)
        return false;
    const struct p4pmu_event_info *e = p4pmu_event((enum p4pmu_event)item->index);
    for (size_t i = 0; i < e->subevent_count; i++) {
        const struct p4pmu_subevent_info *s = &e->subevents[i];
        if (description ? strcasestr(s->description, word) != NULL
                        : name_has(s->name, s->aliases, word))
            return true;
    }
    return false;
}

static bool has(const struct item *item, const char *word, bool description)
{
    if (subevent_has(item, word, description))
        return true;
    return description ? strcasestr(item->description, word) != NULL
                       : name_has(item->name, item->aliases, word);
}

static bool of_kind(const struct query *q, const struct item *item)
{
    if (q->kind >= 0)
        return (int)item->kind == q->kind;
    if (q->words[0])
        return item->kind != ITEM_SUBEVENT; /* their events are shown */
    return item->kind == ITEM_EVENT || item->kind == ITEM_TAG || item->kind == ITEM_METRIC ||
           item->kind == ITEM_MODEL;
}

static bool wanted(const struct query *q, const struct item *item, bool description)
{
    if (!of_kind(q, item))
        return false;
    for (size_t i = 0; q->words[i]; i++) {
        if (has(item, q->words[i], description))
            return true;
    }
    return !q->words[0];
}

/* ---- printing ----------------------------------------------------------------------------------
 */

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

static void print_short(const struct item *item)
{
    printf("%s\n    %s", item->name, item->description);
    if (item->kind == ITEM_TAG)
        printf(" (metric: tags, then counts in %s)",
               p4pmu_event(sim_metric_downstream(sim_metric(item->index)))->name);
    else if (item->kind != ITEM_EVENT)
        printf(" (%s)", item_kind_one(item->kind));
    putchar('\n');
    if (item->kind != ITEM_EVENT)
        return;
    const struct p4pmu_event_info *event = p4pmu_event((enum p4pmu_event)item->index);
    print_counters(event);
    for (size_t i = 0; i < event->subevent_count; i++)
        printf("    :%-18s %s\n", event->subevents[i].name, event->subevents[i].description);
}

static void print_long(const struct item *item, bool first)
{
    if (!first)
        putchar('\n');
    describe(stdout, item);
}

static unsigned show(const struct query *q, bool description)
{
    size_t count;
    const struct item *items = items_all(&count);
    json_t *list = json_array();
    unsigned shown = 0;
    for (size_t i = 0; i < count; i++) {
        if (!wanted(q, &items[i], description))
            continue;
        if (q->json)
            json_array_append_new(list, describe_json(&items[i]));
        else if (q->whole)
            print_long(&items[i], shown == 0);
        else
            print_short(&items[i]);
        shown++;
    }
    json_t *root = json_pack("{s:s, s:o}", "schema", "p4sim-list/1", "items", list);
    if (q->json && (shown || description)) {
        json_dumpf(root, stdout, JSON_INDENT(2));
        putchar('\n');
    }
    json_decref(root);
    return shown;
}

static int nothing(const struct query *q)
{
    const char *names[1200];
    char near[200];
    size_t count, n = 0;
    const struct item *items = items_all(&count);
    for (size_t i = 0; i < count && n < 1200; i++)
        names[n++] = items[i].name;
    sim_near(q->words[0], names, n, near, sizeof near);
    return complain(EXIT_CHECK, "list", "nothing contains '%s'%s%s%s; 'p4sim list' shows all",
                    q->words[0], near[0] ? "; did you mean" : "", near, near[0] ? "?" : "");
}

static int kind_of(const char *word)
{
    for (int k = 0; k < ITEM_KINDS; k++) {
        if (!strcasecmp(word, item_kind_name((enum item_kind)k)))
            return k;
    }
    return -1;
}

int command_list(int argc, char **argv)
{
    static const struct option long_options[] = {{"long", no_argument, NULL, 'l'},
                                                 {"json", no_argument, NULL, 'j'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {NULL, 0, NULL, 0}};
    struct query q = {.kind = -1};
    for (int o; (o = getopt_long(argc, argv, "lh", long_options, NULL)) != -1;) {
        if (o == 'h') {
            fputs(help, stdout);
            return EXIT_DONE;
        }
        if (o == '?')
            return EXIT_USAGE; /* getopt_long has complained */
        q.whole |= o == 'l';
        q.json |= o == 'j';
    }
    q.words = argv + optind;
    if (q.words[0] && (q.kind = kind_of(q.words[0])) >= 0)
        q.words++;
    if (show(&q, false) || show(&q, true))
        return EXIT_DONE;
    return nothing(&q);
}
