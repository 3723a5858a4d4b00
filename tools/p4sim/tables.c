/*
 * p4sim tables: where the event tables of other tools differ from ours, and why.
 */
#include "command.h"
#include "request.h"
#include "tables.h"

#include <getopt.h>
#include <jansson.h>
#include <string.h>

static const char help[] =
    "usage: p4sim tables [--json] [WORD...]\n\n"
    "Where the event tables of the manual, libpfm, perf, OProfile, FreeBSD, PAPI, perfctr and\n"
    "Solaris differ from those of p4sim: what they have, what p4sim has, status and reason. With\n"
    "words, the rows that contain all of them in a tool, an event, a status or any other "
    "column.\n\n"
    "      --json           print data\n\n"
    "exit status: 0 rows were shown, 1 no row has the words, 2 usage.\n\n"
    "example: p4sim tables perf error\n";

static bool wanted(const struct table_row *row, char *const *words)
{
    for (; *words; words++) {
        if (!table_row_has(row, *words))
            return false;
    }
    return true;
}

static void print_row(const struct table_row *row)
{
    printf("%s %s, %s: %s\n", row->tool, row->event, row->what, table_status_name(row->status));
    printf("    theirs  %s\n    ours    %s\n", row->theirs, row->ours);
    if (row->reason[0])
        printf("    reason  %s\n", row->reason);
    printf("    source  %s\n", row->source);
}

static json_t *json_row(const struct table_row *row)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "tool", row->tool, "event",
                     row->event, "what", row->what, "theirs", row->theirs, "ours", row->ours,
                     "status", table_status_name(row->status), "reason", row->reason, "source",
                     row->source);
}

static size_t print_text(char *const *words)
{
    const struct table_row *row;
    size_t shown = 0;
    for (size_t i = 0; (row = table_row(i)); i++) {
        if (!wanted(row, words))
            continue;
        print_row(row);
        shown++;
    }
    if (!shown)
        return 0;
    printf("\n%zu difference%s\n", shown, shown == 1 ? "" : "s");
    for (int s = 0; s < TABLE_STATUSES; s++)
        printf("  %-9s %s\n", table_status_name((enum table_status)s),
               table_status_meaning((enum table_status)s));
    return shown;
}

static size_t print_json(char *const *words)
{
    const struct table_row *row;
    json_t *list = json_array();
    for (size_t i = 0; (row = table_row(i)); i++) {
        if (wanted(row, words))
            json_array_append_new(list, json_row(row));
    }
    size_t shown = json_array_size(list);
    json_t *root = json_pack("{s:s, s:o}", "schema", "p4sim-tables/1", "rows", list);
    json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
    return shown;
}

static size_t add_name(const char **names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(names[i], name))
            return count;
    }
    names[count] = name;
    return count + 1;
}

/* The first word no row has at all gets near matches among tools and events. */
static int nothing(char *const *words)
{
    const char *names[512];
    const struct table_row *row;
    char near[200] = "";
    size_t count = 0;
    for (size_t i = 0; (row = table_row(i)) && count + 1 < 512; i++) {
        count = add_name(names, count, row->tool);
        count = add_name(names, count, row->event);
    }
    sim_near(words[0], names, count, near, sizeof near);
    return complain(EXIT_CHECK, "tables", "no row has '%s'%s%s%s%s", words[0],
                    words[1] ? " with the other words" : "", near[0] ? "; did you mean" : "", near,
                    near[0] ? "?" : "");
}

int command_tables(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bool json = false;
    for (int o; (o = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
        if (o == 'h') {
            fputs(help, stdout);
            return EXIT_DONE;
        }
        if (o != 'j')
            return EXIT_USAGE; /* getopt_long has complained */
        json = true;
    }
    char *const *words = argv + optind;
    size_t shown = json ? print_json(words) : print_text(words);
    return shown ? EXIT_DONE : nothing(words);
}
