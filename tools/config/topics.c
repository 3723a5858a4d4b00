/*
 * Topics and their time diagrams.
 *
 * A diagram is an experiment: uops_retired gets a number of uops in each clock, and the rows below
 * are read from the counters of the library.
 */
#define _GNU_SOURCE
#include "topics.h"
#include "p4pmu.h"

#include <string.h>
#include <strings.h>

static const struct topic topics[] = {
#define TOPIC(name, aliases, title, diagram, text, source)                                         \
    {#name, aliases, title, TOPIC_##diagram, text, source},
#include "topics.def"
#undef TOPIC
};

const struct topic *topic(size_t index)
{
    return index < sizeof topics / sizeof topics[0] ? &topics[index] : NULL;
}

bool topic_is(const struct topic *topic, const char *name)
{
    size_t length = strlen(name);
    if (!strcasecmp(name, topic->name))
        return true;
    for (const char *at = topic->aliases; *at; at += *at == ',') {
        size_t word = strcspn(at, ",");
        if (word == length && !strncasecmp(at, name, word))
            return true;
        at += word;
    }
    return false;
}

/* ---- time diagrams -----------------------------------------------------------------------------
 */

enum { CLOCKS = 16, SOURCE = 12, TARGET = 14, TARGET_ESCR_MSR = 0x3B9, SOURCE_ESCR_MSR = 0x3B8 };
static const unsigned inputs[CLOCKS] = {0, 1, 3, 2, 0, 0, 3, 3, 1, 0, 2, 3, 0, 1, 1, 0};

struct trace {
    uint64_t counter[2][CLOCKS];
    bool overflow[CLOCKS];
};

static void write_msr(struct p4pmu *pmu, uint32_t msr, uint64_t value)
{
    p4pmu_wrmsr(pmu, 0, msr, value, NULL);
}

static uint64_t read_msr(struct p4pmu *pmu, uint32_t msr)
{
    uint64_t value = 0;
    p4pmu_rdmsr(pmu, 0, msr, &value);
    return value;
}

/* The inputs through counters 12 and 14, whose CCCRs get FILTER[0] and FILTER[1]. */
static bool run(const uint32_t filter[2], uint64_t preset, struct trace *trace)
{
    enum { SELECT_4 = 0x38000, UOPS_RETIRED = 0x0200020C };
    struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){.model = 2, .stepping = 7});
    if (!pmu)
        return false;
    write_msr(pmu, SOURCE_ESCR_MSR, UOPS_RETIRED);
    write_msr(pmu, TARGET_ESCR_MSR, UOPS_RETIRED);
    write_msr(pmu, p4pmu_counter(SOURCE)->msr, preset);
    write_msr(pmu, p4pmu_counter(TARGET)->cccr_msr, SELECT_4 | filter[1]);
    write_msr(pmu, p4pmu_counter(SOURCE)->cccr_msr, SELECT_4 | filter[0]);
    for (unsigned i = 0; i < CLOCKS; i++) {
        p4pmu_post(pmu, P4PMU_EV_uops_retired, 1, P4PMU_WHO(0, 3), inputs[i]);
        p4pmu_clocks(pmu, 1);
        trace->counter[0][i] = read_msr(pmu, p4pmu_counter(SOURCE)->msr);
        trace->counter[1][i] = read_msr(pmu, p4pmu_counter(TARGET)->msr);
        trace->overflow[i] = read_msr(pmu, p4pmu_counter(SOURCE)->cccr_msr) & P4PMU_CCCR_OVF_MASK;
    }
    p4pmu_free(pmu);
    return true;
}

static void row_begin(FILE *out, const char *name)
{
    fprintf(out, "  %-18s", name);
}

static void row_inputs(FILE *out)
{
    row_begin(out, "clock");
    for (unsigned i = 0; i < CLOCKS; i++)
        fprintf(out, "%4u", i + 1);
    fputc('\n', out);
    row_begin(out, "input (uops)");
    for (unsigned i = 0; i < CLOCKS; i++)
        fprintf(out, "%4u", inputs[i]);
    fputc('\n', out);
}

static void row_holds(FILE *out, const char *name, bool complement, unsigned threshold)
{
    row_begin(out, name);
    for (unsigned i = 0; i < CLOCKS; i++) {
        bool holds = complement ? inputs[i] <= threshold : inputs[i] > threshold;
        fputs(holds ? " ###" : " ...", out);
    }
    fputc('\n', out);
}

static void row_counter(FILE *out, const char *name, const uint64_t values[CLOCKS])
{
    row_begin(out, name);
    for (unsigned i = 0; i < CLOCKS; i++) {
        bool negative = values[i] >> (P4PMU_COUNTER_BITS - 1) & 1;
        if (negative)
            fprintf(out, "%4d", -(int)(P4PMU_COUNTER_MASK + 1 - values[i]));
        else
            fprintf(out, "%4u", (unsigned)values[i]);
    }
    fputc('\n', out);
}

static void draw_filter(FILE *out, const char *name, uint32_t bits, unsigned threshold)
{
    uint32_t cccr = P4PMU_CCCR_ENABLE_MASK | P4PMU_CCCR_COMPARE_MASK | bits |
                    P4PMU_PUT(CCCR, THRESHOLD, 0u, threshold);
    const uint32_t filter[2] = {cccr, P4PMU_CCCR_ENABLE_MASK};
    struct trace trace;
    if (!run(filter, 0, &trace))
        return;
    row_inputs(out);
    row_holds(out, name, bits & P4PMU_CCCR_COMPLEMENT_MASK, threshold);
    row_counter(out, bits & P4PMU_CCCR_EDGE_MASK ? "counter, EDGE" : "counter, COMPARE",
                trace.counter[0]);
    row_counter(out, "counter, plain", trace.counter[1]);
}

static void draw_cascade(FILE *out)
{
    const uint32_t filter[2] = {P4PMU_CCCR_ENABLE_MASK, P4PMU_CCCR_CASCADE_MASK};
    struct trace trace;
    if (!run(filter, P4PMU_COUNTER_MASK + 1 - 8, &trace))
        return;
    row_inputs(out);
    row_counter(out, "source, from -8", trace.counter[0]);
    row_begin(out, "OVF of the source");
    for (unsigned i = 0; i < CLOCKS; i++)
        fputs(trace.overflow[i] ? " ###" : " ...", out);
    fputc('\n', out);
    row_counter(out, "target, CASCADE", trace.counter[1]);
}

static void draw_path(FILE *out)
{
    fputs("  event, sub-events, CPL            ESCR        one of two of the event's ESCRs\n"
          "          |  0 to 15 each clock\n"
          "  ESCR_SELECT                       CCCR 15:13  which wire\n"
          "          |\n"
          "  active threads                    CCCR 17:16\n"
          "          |\n"
          "  COMPARE, COMPLEMENT, THRESHOLD    CCCR 23:18  0 or 1 each clock\n"
          "          |\n"
          "  EDGE                              CCCR 24     1 when it begins to hold\n"
          "          |\n"
          "  counter, 40 bits --> OVF          CCCR 31     interrupt, cascade, PEBS\n",
          out);
}

void topic_draw(enum topic_diagram diagram, FILE *out)
{
    switch (diagram) {
    case TOPIC_THRESHOLD:
        draw_filter(out, "more than 1", 0, 1);
        break;
    case TOPIC_COMPLEMENT:
        draw_filter(out, "1 or fewer", P4PMU_CCCR_COMPLEMENT_MASK, 1);
        break;
    case TOPIC_EDGE:
        draw_filter(out, "more than 0", P4PMU_CCCR_EDGE_MASK, 0);
        break;
    case TOPIC_CASCADE:
        draw_cascade(out);
        break;
    case TOPIC_PATH:
        draw_path(out);
        break;
    case TOPIC_NO:
        break;
    }
}
