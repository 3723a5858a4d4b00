/*
 * p4sim check: is this configuration legal, and does it count what its author thinks?
 *
 * Each write, then each counter, then the findings with what to do. Nothing is run.
 */
#define _GNU_SOURCE
#include "check.h"
#include "input.h"
#include "names.h"
#include "parts.h"
#include "words.h"

#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: p4sim check [options] [FILE | - | REGISTER=VALUE...]\n\n"
    "Judges MSR writes: what each does on the part, what each counter then counts, and what is\n"
    "wrong. Input is a list of writes, one per line (MSR_CRU_ESCR0 = 0x0400060C, or 0x3B8\n"
    "0x0400060C), or another tool's form; without FILE it is read from standard "
    "input.\n\n" INPUT_HELP "  -d, --dialect NAME   the form of the input (default: by its looks)\n"
    "      --json           the same as data\n"
    "  -q, --quiet          findings only\n\n"
    "'p4sim explain ID' tells the background of a finding.\n\n"
    "exit status: 0 sound (notes at most), 1 errors or warnings, 2 usage, 3 input.\n\n"
    "example: p4sim check MSR_CRU_ESCR2=0x0C001E0C MSR_IQ_CCCR0=0x00039000\n";

/* ---- the printed form --------------------------------------------------------------------------
 */

static void print_write(const struct check *c, size_t i)
{
    const struct config_write *w = &c->config->write[i];
    char name[48], line[24] = "";
    if (w->line)
        snprintf(line, sizeof line, "line %u", w->line);
    printf("  %-8s %-22s 0x%08llX  ", line, names_register(w->msr, name),
           (unsigned long long)w->value);
    uint64_t stored = c->state.stored[i];
    if (c->state.fault[i] != P4PMU_OK)
        printf("%s\n", p4pmu_fault_text(c->state.fault[i]));
    else if (stored == w->value || w->msr == 0x10)
        puts("accepted");
    else if (!stored)
        puts("ignored");
    else
        printf("stored as 0x%08llX\n", (unsigned long long)stored);
}

static void print_counter(const struct check *c, unsigned i)
{
    const struct check_counter *k = &c->counter[i];
    char text[600];
    if (!k->used)
        return;
    printf("  %2u %-18s ", i, p4pmu_counter(i)->name);
    if (!k->counts) {
        printf("counts nothing: %s\n", k->why);
        return;
    }
    words_count(&c->state, c->config, i, text, sizeof text);
    printf("counts %s\n", text);
}

static void print_bits(const struct check_finding *f, char *out, size_t size)
{
    const struct p4pmu_field_info *field = names_field(f->msr, f->shift);
    char name[48];
    int used = snprintf(out, size, "%s", names_register(f->msr, name));
    if (f->length == 0 || f->length >= 31)
        return;
    if (f->length == 1)
        used += snprintf(out + used, size - (size_t)used, "[%u]", f->shift);
    else
        used += snprintf(out + used, size - (size_t)used, "[%u:%u]", f->shift + f->length - 1,
                         f->shift);
    if (field && field->shift == f->shift && field->length == f->length)
        snprintf(out + used, size - (size_t)used, " %s", field->name);
}

static void print_finding(const struct check_finding *f)
{
    const struct check_info *info = check_info(f->id);
    char bits[120], line[32] = "";
    print_bits(f, bits, sizeof bits);
    if (f->line)
        snprintf(line, sizeof line, ", line %u", f->line);
    printf("%s: %s%s: %s\n", check_severity_name(info->severity), bits, line, f->what);
    printf("    do: %s\n    id: %s\n", f->todo, info->name);
}

static unsigned of_severity(const struct check *c, enum check_severity severity)
{
    unsigned n = 0;
    for (size_t i = 0; i < c->count; i++)
        n += check_info(c->finding[i].id)->severity == severity;
    return n;
}

static void print_sum(const struct check *c)
{
    unsigned errors = of_severity(c, CHECK_ERROR), warnings = of_severity(c, CHECK_WARNING);
    unsigned notes = of_severity(c, CHECK_NOTE);
    printf("%s", check_sound(c) ? "sound" : "not sound");
    if (errors)
        printf(", %u error%s", errors, errors == 1 ? "" : "s");
    if (warnings)
        printf(", %u warning%s", warnings, warnings == 1 ? "" : "s");
    if (notes)
        printf(", %u note%s", notes, notes == 1 ? "" : "s");
    putchar('\n');
}

static void print_text(const struct check *c, bool quiet)
{
    char title[200];
    if (!quiet) {
        part_title(c->config, title, sizeof title);
        printf("%s\n\nwrites\n", title);
        for (size_t i = 0; i < c->config->count; i++)
            print_write(c, i);
        puts("\ncounters");
        for (unsigned i = 0; i < P4PMU_COUNTERS; i++)
            print_counter(c, i);
        putchar('\n');
    }
    for (int severity = CHECK_ERROR; severity >= CHECK_NOTE; severity--) {
        for (size_t i = 0; i < c->count; i++) {
            if ((int)check_info(c->finding[i].id)->severity == severity)
                print_finding(&c->finding[i]);
        }
    }
    print_sum(c);
}

/* ---- data --------------------------------------------------------------------------------------
 */

static json_t *json_hex(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%08llX", (unsigned long long)value);
    return json_string(text);
}

static json_t *json_writes(const struct check *c)
{
    json_t *list = json_array();
    for (size_t i = 0; i < c->config->count; i++) {
        const struct config_write *w = &c->config->write[i];
        char name[48];
        bool fault = c->state.fault[i] != P4PMU_OK;
        json_array_append_new(
            list,
            json_pack("{s:i, s:s, s:i, s:o, s:s?, s:o}", "line", (int)w->line, "register",
                      names_register(w->msr, name), "msr", (int)w->msr, "value", json_hex(w->value),
                      "fault", fault ? p4pmu_fault_text(c->state.fault[i]) : NULL, "stored",
                      fault ? json_null() : json_hex(c->state.stored[i])));
    }
    return list;
}

static json_t *json_counters(const struct check *c)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        const struct check_counter *k = &c->counter[i];
        char text[600] = "";
        if (!k->used)
            continue;
        if (k->counts)
            words_count(&c->state, c->config, i, text, sizeof text);
        json_array_append_new(
            list,
            json_pack(
                "{s:i, s:s, s:b, s:s, s:s?, s:s?}", "counter", (int)i, "register",
                p4pmu_counter(i)->name, "counts", (int)k->counts, "text", k->counts ? text : k->why,
                "escr", k->escr == P4PMU_NONE ? NULL : p4pmu_escr((enum p4pmu_escr)k->escr)->name,
                "event",
                k->event == P4PMU_NONE ? NULL : p4pmu_event((enum p4pmu_event)k->event)->name));
    }
    return list;
}

static json_t *json_findings(const struct check *c)
{
    json_t *list = json_array();
    for (size_t i = 0; i < c->count; i++) {
        const struct check_finding *f = &c->finding[i];
        const struct check_info *info = check_info(f->id);
        char name[48];
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:o, s:s, s:s}", "id", info->name, "severity",
                      check_severity_name(info->severity), "register", names_register(f->msr, name),
                      "shift", (int)f->shift, "length", (int)f->length, "line", (int)f->line,
                      "counter", f->counter == P4PMU_NONE ? json_null() : json_integer(f->counter),
                      "what", f->what, "do", f->todo));
    }
    return list;
}

static void print_json(const struct check *c)
{
    json_t *root =
        json_pack("{s:s, s:i, s:i, s:b, s:b, s:o, s:o, s:o}", "schema", "p4sim-check/1", "model",
                  (int)c->config->model, "stepping", (int)c->config->stepping, "hyper_threading",
                  (int)c->config->hyper_threading, "sound", (int)check_sound(c), "writes",
                  json_writes(c), "counters", json_counters(c), "findings", json_findings(c));
    json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
}

/* ---- the command -------------------------------------------------------------------------------
 */

static int judge(const struct input_options *options, char *const *words, bool quiet)
{
    static struct config config;
    static struct check check;
    int status = input_config(options, words, &config);
    if (status)
        return status;
    if (!check_config(&config, &check))
        return complain(EXIT_INPUT, "check", "out of memory");
    if (options->json)
        print_json(&check);
    else
        print_text(&check, quiet);
    return check_sound(&check) ? EXIT_DONE : EXIT_CHECK;
}

int command_check(int argc, char **argv)
{
    static const struct option long_options[] = {
        INPUT_LONG_OPTIONS, {"quiet", no_argument, NULL, 'q'}, {NULL, 0, NULL, 0}};
    struct input_options options = {.command = "check", .hyper_threading = -1};
    bool quiet = false;
    for (int o; (o = getopt_long(argc, argv, "m:d:qh", long_options, NULL)) != -1;) {
        if (o == 'h') {
            fputs(help, stdout);
            return EXIT_DONE;
        }
        if (o == 'q')
            quiet = true;
        else if (!input_option(&options, o, optarg))
            return EXIT_USAGE; /* getopt_long has complained */
    }
    return judge(&options, argv + optind, quiet);
}
