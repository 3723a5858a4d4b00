/*
 * p4sim fit: which ESCR and counter each event of a list gets, or why they cannot be together.
 */
#define _GNU_SOURCE
#include "dialect.h"
#include "input.h"
#include "parts.h"
#include "runs.h"

#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: p4sim fit [options] EVENT...\n\n"
    "Chooses an ESCR and a counter for each event so that all count at once, or names a smallest\n"
    "set that cannot and what it fights over. Events are as for 'p4sim stat -e'; commas or blanks\n"
    "separate them.\n\n"
    "  -r, --reserve LIST   counters that are taken, as in 0,12-15\n"
    "      --runs           split the events into the fewest runs\n"
    "      --msr            print the MSR writes\n" INPUT_HELP
    "      --json           print data\n\n"
    "exit status: 0 they fit (or were split), 1 they do not, 2 usage or an unknown event.\n\n"
    "example: p4sim fit instr_retired uops_retired:NBOGUS branch_retired:MMTM memory_loads\n";

struct fit {
    struct input_options input;
    struct config config; /* the part */
    uint32_t reserved;
    bool runs, msr;
    struct sim_request request[RUNS_EVENTS];
    size_t count;
};

/* ---- what is asked -----------------------------------------------------------------------------
 */

static int take_range(struct fit *f, const char *word)
{
    char *end;
    unsigned long first = strtoul(word, &end, 10), last = first;
    if (end != word && *end == '-')
        last = strtoul(end + 1, &end, 10);
    if (end == word || *end || first > last || last >= P4PMU_COUNTERS)
        return complain(EXIT_USAGE, "fit",
                        "--reserve: '%s' is not a counter or a range; expected 0 to %d, as in "
                        "0,12-15",
                        word, P4PMU_COUNTERS - 1);
    for (unsigned long c = first; c <= last; c++)
        f->reserved |= 1u << c;
    return 0;
}

static int take_reserve(struct fit *f, const char *list)
{
    struct dialect_words words = dialect_words(list, ",");
    int status = 0;
    while (!status && dialect_next(&words))
        status = take_range(f, words.word);
    return status;
}

static int take_events(struct fit *f, char *const *texts)
{
    char error[512];
    for (; *texts; texts++) {
        struct dialect_words words = dialect_words(*texts, ",");
        while (dialect_next(&words)) {
            if (f->count == RUNS_EVENTS)
                return complain(EXIT_USAGE, "fit", "more than %d events", RUNS_EVENTS);
            if (!sim_request_parse(words.word, dialect_signature(&f->config), &f->request[f->count],
                                   error))
                return complain(EXIT_USAGE, "fit", "%s", error);
            f->count++;
        }
    }
    if (f->count)
        return 0;
    return complain(EXIT_USAGE, "fit", "no event is given; 'p4sim list' shows them");
}

/* ---- the printed form --------------------------------------------------------------------------
 */

static const char *escr_name(int escr)
{
    return p4pmu_escr((enum p4pmu_escr)escr)->name;
}

static void print_slot(const char *text, const struct sim_slot *s)
{
    printf("  %-42s ", text);
    if (s->counter == P4PMU_NONE)
        printf("%2s %-18s %10s  ", "-", "-", "-");
    else
        printf("%2d %-18s 0x%08X  ", s->counter, p4pmu_counter((unsigned)s->counter)->name,
               (unsigned)s->cccr_value);
    printf("%-15s 0x%08X\n", escr_name(s->escr), (unsigned)s->escr_value);
}

/* The manual wants these two set up together with the event that makes the entries. */
static const char *companion(const struct sim_request *r)
{
    if (r->event == P4PMU_EV_IOQ_active_entries)
        return "IOQ_allocation with the same mask in MSR_FSB_ESCR0";
    if (r->event == P4PMU_EV_bsq_active_entries)
        return "BSQ_allocation with the same mask in MSR_BSU_ESCR0";
    return NULL;
}

static void print_plan(const struct sim_request *requests, const struct sim_plan *plan)
{
    printf("  %-42s %2s %-18s %-10s  %-15s %s\n", "event", "", "counter", "CCCR", "ESCR",
           "ESCR value");
    for (size_t i = 0; i < plan->count; i++)
        print_slot(requests[i].text, &plan->slots[i]);
    for (size_t i = 0; i < plan->upstream_count; i++)
        print_slot(plan->upstream[i].counter == P4PMU_NONE ? "  (tags)"
                                                           : "  (tags; the counter keeps it awake)",
                   &plan->upstream[i]);
    if (plan->replay_tagging)
        printf("  IA32_PEBS_ENABLE 0x%08llX, MSR_PEBS_MATRIX_VERT 0x%llX\n",
               (unsigned long long)plan->pebs_enable, (unsigned long long)plan->pebs_matrix_vert);
    for (size_t i = 0; i < plan->count; i++) {
        if (companion(&requests[i]))
            printf("  note: %s: the manual asks for %s\n", requests[i].text,
                   companion(&requests[i]));
    }
}

static void print_msr(const struct fit *f, const struct sim_request *requests, size_t count)
{
    static struct config config;
    struct dialect_wishes wishes = {.count = count, .reserved = f->reserved};
    char error[512];
    config = f->config;
    for (size_t i = 0; i < count; i++)
        wishes.wish[i] = (struct dialect_wish){.request = requests[i]};
    if (dialect_place(&wishes, &config, error))
        dialect_print(CONFIG_MSR_LIST, &config, stdout, NULL);
}

/* ---- data --------------------------------------------------------------------------------------
 */

static json_t *json_hex(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%08llX", (unsigned long long)value);
    return json_string(text);
}

static json_t *json_slot(const char *text, const struct sim_slot *s)
{
    bool counted = s->counter != P4PMU_NONE;
    return json_pack("{s:s?, s:o, s:s?, s:o, s:s, s:o}", "event", text, "counter",
                     counted ? json_integer(s->counter) : json_null(), "register",
                     counted ? p4pmu_counter((unsigned)s->counter)->name : NULL, "cccr",
                     counted ? json_hex(s->cccr_value) : json_null(), "escr", escr_name(s->escr),
                     "escr_value", json_hex(s->escr_value));
}

static json_t *json_plan(const struct sim_request *requests, const struct sim_plan *plan)
{
    json_t *events = json_array(), *upstream = json_array();
    for (size_t i = 0; i < plan->count; i++)
        json_array_append_new(events, json_slot(requests[i].text, &plan->slots[i]));
    for (size_t i = 0; i < plan->upstream_count; i++)
        json_array_append_new(upstream, json_slot(NULL, &plan->upstream[i]));
    return json_pack("{s:o, s:o, s:o, s:o}", "events", events, "upstream", upstream, "pebs_enable",
                     plan->replay_tagging ? json_hex(plan->pebs_enable) : json_null(),
                     "pebs_matrix_vert",
                     plan->replay_tagging ? json_hex(plan->pebs_matrix_vert) : json_null());
}

static void dump(json_t *root)
{
    json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
}

static json_t *json_runs(json_t *runs, bool least)
{
    return json_pack("{s:s, s:b, s:b, s:o}", "schema", "p4sim-fit/1", "fits", 1, "fewest",
                     (int)least, "runs", runs);
}

/* ---- the command -------------------------------------------------------------------------------
 */

static int say_conflict(const struct fit *f, const struct sim_conflict *c)
{
    if (!f->input.json) {
        printf("%s\n", c->text);
        printf("  smallest set that does not fit:");
        for (size_t i = 0; i < c->count; i++)
            printf("%s %s", i ? "," : "", f->request[c->requests[i]].text);
        putchar('\n');
        return EXIT_CHECK;
    }
    json_t *set = json_array();
    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(set, json_string(f->request[c->requests[i]].text));
    dump(json_pack("{s:s, s:b, s:o, s:s}", "schema", "p4sim-fit/1", "fits", 0, "conflict", set,
                   "reason", c->text));
    return EXIT_CHECK;
}

/* One plan for REQUESTS, which fit. */
static json_t *show(const struct fit *f, const struct sim_request *requests, size_t count)
{
    struct sim_plan plan;
    struct sim_conflict conflict;
    sim_fit_around(requests, count, NULL, f->reserved, &plan, &conflict);
    if (f->input.json)
        return json_plan(requests, &plan);
    if (f->msr)
        print_msr(f, requests, count);
    else
        print_plan(requests, &plan);
    return NULL;
}

static int at_once(const struct fit *f)
{
    struct sim_conflict conflict;
    if (!sim_fits(f->request, f->count, f->reserved)) {
        runs_conflict(f->request, f->count, f->reserved, &conflict);
        return say_conflict(f, &conflict);
    }
    json_t *run = show(f, f->request, f->count);
    if (run)
        dump(json_runs(json_pack("[o]", run), true));
    return EXIT_DONE;
}

static int in_runs(const struct fit *f)
{
    static struct runs runs;
    struct sim_request some[SIM_FIT_MAX];
    struct sim_conflict conflict;
    if (!runs_split(f->request, f->count, f->reserved, &runs, &conflict))
        return say_conflict(f, &conflict);
    json_t *list = json_array();
    for (size_t run = 0; run < runs.count; run++) {
        size_t count = 0;
        for (size_t i = 0; i < f->count; i++) {
            if (runs.run_of[i] == run)
                some[count++] = f->request[i];
        }
        if (!f->input.json)
            printf("%s%srun %zu of %zu%s\n", run ? "\n" : "", f->msr ? "# " : "", run + 1,
                   runs.count, runs.least ? "" : " (fewer may do: the search was cut short)");
        json_t *one = show(f, some, count);
        if (one)
            json_array_append_new(list, one);
    }
    if (f->input.json)
        dump(json_runs(list, runs.least));
    else
        json_decref(list);
    return EXIT_DONE;
}

static int take_option(struct fit *f, int option, const char *value)
{
    switch (option) {
    case 'r':
        return take_reserve(f, value);
    case 'R':
        f->runs = true;
        return 0;
    case 'M':
        f->msr = true;
        return 0;
    default:
        return input_option(&f->input, option, value) ? 0 : EXIT_USAGE;
    }
}

int command_fit(int argc, char **argv)
{
    static const struct option long_options[] = {{"reserve", required_argument, NULL, 'r'},
                                                 {"runs", no_argument, NULL, 'R'},
                                                 {"msr", no_argument, NULL, 'M'},
                                                 {"model", required_argument, NULL, 'm'},
                                                 {"ht", no_argument, NULL, 'H'},
                                                 {"no-ht", no_argument, NULL, 'N'},
                                                 {"json", no_argument, NULL, 'j'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {NULL, 0, NULL, 0}};
    static struct fit f = {.input = {.command = "fit", .hyper_threading = -1}};
    for (int o; (o = getopt_long(argc, argv, "r:m:h", long_options, NULL)) != -1;) {
        if (o == 'h') {
            fputs(help, stdout);
            return EXIT_DONE;
        }
        int status = take_option(&f, o, optarg);
        if (status)
            return status;
    }
    int status = input_part(&f.input, &f.config);
    if (!status)
        status = take_events(&f, argv + optind);
    if (status)
        return status;
    return f.runs ? in_runs(&f) : at_once(&f);
}
