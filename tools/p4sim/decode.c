/*
 * p4sim decode: register values in words, each counter with its path and one sentence.
 */
#define _GNU_SOURCE
#include "check.h"
#include "input.h"
#include "names.h"
#include "parts.h"
#include "registers.h"
#include "words.h"

#include <getopt.h>
#include <jansson.h>
#include <string.h>

static const char help[] =
    "usage: p4sim decode [options] [FILE | - | REGISTER=VALUE...]\n\n"
    "Tells what register values mean: each field and what it selects, the path from the event to\n"
    "the counter, and a sentence on what is counted. Input as for 'p4sim check'.\n\n" INPUT_HELP
    "  -d, --dialect NAME   the form of the input (default: by its looks)\n"
    "      --json           the same as data\n"
    "  -e, --events         the event texts only, as 'p4sim encode' and 'p4sim stat -e' take "
    "them\n\n"
    "exit status: 0, 2 usage, 3 input.\n\n"
    "example: p4sim decode MSR_CRU_ESCR2=0x0C00180C MSR_IQ_CCCR0=0x0017B000\n";

static bool counts(const struct check *c, unsigned counter)
{
    return c->counter[counter].used && c->state.cccr[counter];
}

static void print_registers(const struct check *c)
{
    for (size_t i = 0; i < c->config->count; i++) {
        const struct config_write *w = &c->config->write[i];
        char name[48];
        printf("%s (%XH) = 0x%08llX\n", names_register(w->msr, name), (unsigned)w->msr,
               (unsigned long long)w->value);
        registers_fields(stdout, c->config, w->msr, w->value);
    }
}

static void print_counter(const struct check *c, unsigned counter)
{
    char text[600];
    words_event(&c->state, c->config, counter, text, sizeof text);
    printf("\ncounter %u: %s\n", counter, text);
    registers_path(stdout, c->config, &c->state, counter);
    words_sentence(&c->state, c->config, counter, text, sizeof text);
    if (c->counter[counter].counts)
        printf("  Counts %s.\n", text);
    else
        printf("  Counts nothing: %s. It was set up for %s.\n", c->counter[counter].why, text);
}

static void print_text(const struct check *c)
{
    char title[200];
    part_title(c->config, title, sizeof title);
    printf("%s\n\n", title);
    print_registers(c);
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        if (counts(c, i))
            print_counter(c, i);
    }
    if (!check_sound(c))
        puts("\nNot sound: 'p4sim check' with the same input tells what to mend.");
}

static void print_events(const struct check *c)
{
    char text[600];
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        if (!counts(c, i))
            continue;
        words_event(&c->state, c->config, i, text, sizeof text);
        puts(text);
    }
}

static json_t *json_counter(const struct check *c, unsigned counter)
{
    char event[600], sentence[600];
    int upstream;
    const struct sim_metric *metric = words_metric(&c->state, c->config, counter, &upstream);
    int escr = words_escr(&c->state, counter);
    words_event(&c->state, c->config, counter, event, sizeof event);
    words_sentence(&c->state, c->config, counter, sentence, sizeof sentence);
    return json_pack("{s:i, s:s, s:s, s:b, s:s?, s:s?}", "counter", (int)counter, "event", event,
                     "sentence", sentence, "counts", (int)c->counter[counter].counts, "escr",
                     escr == P4PMU_NONE ? NULL : p4pmu_escr((enum p4pmu_escr)escr)->name, "metric",
                     metric ? metric->name : NULL);
}

static void print_json(const struct check *c)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        if (counts(c, i))
            json_array_append_new(list, json_counter(c, i));
    }
    json_t *root =
        json_pack("{s:s, s:i, s:b, s:b, s:o}", "schema", "p4sim-decode/1", "model",
                  (int)c->config->model, "hyper_threading", (int)c->config->hyper_threading,
                  "sound", (int)check_sound(c), "counters", list);
    json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
}

int command_decode(int argc, char **argv)
{
    static const struct option long_options[] = {
        INPUT_LONG_OPTIONS, {"events", no_argument, NULL, 'e'}, {NULL, 0, NULL, 0}};
    struct input_options options = {.command = "decode", .hyper_threading = -1};
    static struct config config;
    static struct check check;
    bool events = false;
    for (int o; (o = getopt_long(argc, argv, "m:d:eh", long_options, NULL)) != -1;) {
        if (o == 'h') {
            fputs(help, stdout);
            return EXIT_DONE;
        }
        if (o == 'e')
            events = true;
        else if (!input_option(&options, o, optarg))
            return EXIT_USAGE; /* getopt_long has complained */
    }
    int status = input_config(&options, argv + optind, &config);
    if (status)
        return status;
    if (!check_config(&config, &check))
        return complain(EXIT_INPUT, "decode", "out of memory");
    if (options.json)
        print_json(&check);
    else if (events)
        print_events(&check);
    else
        print_text(&check);
    return EXIT_DONE;
}
