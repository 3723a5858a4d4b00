/*
 * p4sim explain: the teaching text of whatever has a name, from the same rows as everything else.
 */
#define _GNU_SOURCE
#include "command.h"
#include "describe.h"
#include "items.h"
#include "names.h"
#include "os_model.h"
#include "request.h"

#include <ctype.h>
#include <getopt.h>
#include <string.h>

static const char help[] =
    "usage: p4sim explain NAME...\n\n"
    "Explains an event, a sub-event (instr_retired:NBOGUSTAG or NBOGUSTAG), a metric, a register\n"
    "(name or address), a field (CCCR.EDGE or EDGE), a finding of 'p4sim check', an erratum, a "
    "part,\n"
    "or a topic such as edge, threshold, cascade, replay-tagging. Without NAME the topics are\n"
    "listed.\n\n"
    "exit status: 0, 2 nothing has the name.\n\n"
    "example: p4sim explain edge\n";

static void list_topics(void)
{
    size_t count;
    const struct item *items = items_all(&count);
    puts("topics:");
    for (size_t i = 0; i < count; i++) {
        if (items[i].kind == ITEM_TOPIC)
            printf("  %-20s %s\n", items[i].name, items[i].description);
    }
    puts(
        "\nAlso by name: events, sub-events, metrics, registers, fields, findings, errata, parts;\n"
        "'p4sim list KIND' lists them.");
}

static bool explain(const char *name)
{
    size_t count;
    const struct item *items = items_all(&count);
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        if (!item_is(&items[i], name))
            continue;
        printf("%s%s ", found ? "\n" : "", item_kind_one(items[i].kind));
        describe(stdout, &items[i]);
        if (items[i].kind == ITEM_TOPIC && !strcmp(items[i].name, "os-model"))
            os_model_print(stdout);
        found = true;
    }
    return found;
}

/* An address in place of a name: 0x3CC, 3CCH. */
static bool explain_address(const char *name)
{
    uint32_t msr;
    char text[48], error[512];
    unsigned index;
    if (!isdigit((unsigned char)name[0]) || !names_parse_register(name, &msr, error))
        return false;
    switch (names_kind(msr, &index)) {
    case NAMES_NONE:
        return false;
    case NAMES_OTHER:
        return explain(p4pmu_msr(index)->name);
    default:
        return explain(names_register(msr, text));
    }
}

static int unknown(const char *name)
{
    const char *names[1200];
    char near[200];
    size_t count, n = 0;
    const struct item *items = items_all(&count);
    for (size_t i = 0; i < count && n < 1200; i++)
        names[n++] = items[i].name;
    sim_near(name, names, n, near, sizeof near);
    return complain(EXIT_USAGE, "explain",
                    "nothing is called '%s'%s%s%s; 'p4sim list %s' searches descriptions", name,
                    near[0] ? "; did you mean" : "", near, near[0] ? "?" : "", name);
}

int command_explain(int argc, char **argv)
{
    static const struct option long_options[] = {{"help", no_argument, NULL, 'h'},
                                                 {NULL, 0, NULL, 0}};
    for (int o; (o = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
        if (o != 'h')
            return EXIT_USAGE; /* getopt_long has complained */
        fputs(help, stdout);
        return EXIT_DONE;
    }
    if (!argv[optind])
        list_topics();
    for (int i = optind; i < argc; i++) {
        if (!explain(argv[i]) && !explain_address(argv[i]))
            return unknown(argv[i]);
    }
    return EXIT_DONE;
}
