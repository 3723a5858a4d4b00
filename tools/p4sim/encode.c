/*
 * p4sim encode: from event names to every register they need.
 */
#define _GNU_SOURCE
#include "dialect_msr.h"
#include "encode.h"
#include "input.h"
#include "names.h"
#include "parts.h"
#include "registers.h"

#include <getopt.h>
#include <jansson.h>
#include <string.h>

static const char help[] =
    "usage: p4sim encode [options] EVENT|METRIC...\n\n"
    "Gives the MSR writes for events, as 'p4sim stat -e' takes them (instr_retired:NBOGUSNTAG:u),\n"
    "for tagged metrics (memory_loads) with all they need upstream, and for named metrics\n"
    "(cpi_nonhalted) with all their terms. Counters are chosen so that all fit at "
    "once.\n\n" INPUT_HELP
    "      --plain          the writes only, as 'p4sim check' and 'p4sim decode' read them\n"
    "      --json           the same as data\n\n"
    "exit status: 0, 2 usage, or events that do not fit at once.\n\n"
    "example: p4sim encode branch_retired:MMTM:u:t=1 l1_load_miss_retired\n";

static void print_metric(const char *name)
{
    const struct metric_row *metric = encode_metric(name);
    if (metric)
        printf("%s = %s: %s\n", metric->name, metric->formula, metric->description);
}

static void print_counts(const struct encoding *e)
{
    for (size_t i = 0; i < e->count; i++) {
        const struct sim_slot *slot = &e->plan.slots[i];
        printf("  %s%s%s on counter %d\n", e->letter[i], e->letter[i][0] ? " = " : "",
               e->request[i].text, slot->counter);
    }
}

static void print_text(const struct encoding *e, const struct config *config, char *const *names)
{
    char title[200], name[48];
    part_title(config, title, sizeof title);
    puts(title);
    for (; *names; names++)
        print_metric(*names);
    print_counts(e);
    putchar('\n');
    for (size_t i = 0; i < config->count; i++) {
        const struct config_write *w = &config->write[i];
        printf("wrmsr %03XH 0x%08llX   %s, %s\n", (unsigned)w->msr, (unsigned long long)w->value,
               names_register(w->msr, name), w->text);
        registers_fields(stdout, config, w->msr, w->value);
    }
}

static void print_plain(const struct config *config)
{
    static char text[CONFIG_WRITES * 64];
    config_print_msr_list(config, text, sizeof text);
    fputs(text, stdout);
}

static void print_json(const struct encoding *e, const struct config *config)
{
    json_t *writes = json_array(), *counters = json_array();
    for (size_t i = 0; i < config->count; i++) {
        char name[48], value[24];
        snprintf(value, sizeof value, "0x%08llX", (unsigned long long)config->write[i].value);
        json_array_append_new(writes, json_pack("{s:s, s:i, s:s, s:s}", "register",
                                                names_register(config->write[i].msr, name), "msr",
                                                (int)config->write[i].msr, "value", value, "for",
                                                config->write[i].text));
    }
    for (size_t i = 0; i < e->count; i++)
        json_array_append_new(counters,
                              json_pack("{s:s, s:s, s:i, s:s}", "event", e->request[i].text, "term",
                                        e->letter[i], "counter", e->plan.slots[i].counter, "escr",
                                        p4pmu_escr((enum p4pmu_escr)e->plan.slots[i].escr)->name));
    json_t *root = json_pack("{s:s, s:i, s:b, s:o, s:o}", "schema", "p4sim-encode/1", "model",
                             (int)config->model, "hyper_threading", (int)config->hyper_threading,
                             "counters", counters, "writes", writes);
    json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
}

static int encode(const struct input_options *options, char *const *names, bool plain)
{
    static struct config config;
    static struct encoding encoding;
    char error[512];
    int status = input_part(options, &config);
    if (status)
        return status;
    if (!names[0])
        return complain(EXIT_USAGE, "encode", "no event given; see 'p4sim encode --help'");
    for (size_t i = 0; names[i]; i++) {
        if (!encode_add(&encoding, &config, names[i], error))
            return complain(EXIT_USAGE, "encode", "%s", error);
    }
    if (!encode_place(&encoding, &config, error))
        return complain(EXIT_USAGE, "encode", "%s", error);
    if (options->json)
        print_json(&encoding, &config);
    else if (plain)
        print_plain(&config);
    else
        print_text(&encoding, &config, names);
    return EXIT_DONE;
}

int command_encode(int argc, char **argv)
{
    static const struct option long_options[] = {
        INPUT_LONG_OPTIONS, {"plain", no_argument, NULL, 'p'}, {NULL, 0, NULL, 0}};
    struct input_options options = {.command = "encode", .hyper_threading = -1};
    bool plain = false;
    for (int o; (o = getopt_long(argc, argv, "m:ph", long_options, NULL)) != -1;) {
        if (o == 'h') {
            fputs(help, stdout);
            return EXIT_DONE;
        }
        if (o == 'p')
            plain = true;
        else if (!input_option(&options, o, optarg))
            return EXIT_USAGE; /* getopt_long has complained */
    }
    return encode(&options, argv + optind, plain);
}
