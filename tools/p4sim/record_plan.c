/*
 * Choosing counters for what is to be sampled, within what the hardware could do: any counter can
 * interrupt; PEBS belongs to MSR_IQ_COUNTER4 of logical processor 0 and to events that are counted
 * at retirement through a tag.
 */
#define _POSIX_C_SOURCE 200809L
#include "record.h"

#include <string.h>

enum { PEBS_COUNTER = 16 }; /* MSR_IQ_COUNTER4, SDM3 18.15.7 */

static bool pebs_capable(const struct sim_request *request)
{
    return request->event == P4PMU_EV_replay_event || request->event == P4PMU_EV_front_end_event ||
           request->event == P4PMU_EV_execution_event;
}

static void capable_names(char *out, size_t size)
{
    const struct sim_metric *metric;
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; (metric = sim_metric(i)) && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", metric->name);
}

/* The first event is the precise one. */
static int make_precise(struct record_run *run)
{
    struct sim_request *request = &run->request[0];
    char names[2048];
    if (!pebs_capable(request)) {
        capable_names(names, sizeof names);
        return complain(EXIT_USAGE, "record",
                        "%s: PEBS records front_end_event, execution_event and replay_event alone "
                        "(SDM3 18.15.7); these metrics are counted so: %s",
                        request->text, names);
    }
    if (request->compare || request->edge)
        return complain(EXIT_USAGE, "record",
                        "%s: PEBS takes the next tagged uop after the overflow; a threshold or an "
                        "edge has no uop of its own (model choice: refused)",
                        request->text);
    if (request->counter != P4PMU_NONE && request->counter != PEBS_COUNTER)
        return complain(EXIT_USAGE, "record",
                        "%s: PEBS works with counter %d (MSR_IQ_COUNTER4) alone, not with counter "
                        "%d",
                        request->text, PEBS_COUNTER, request->counter);
    request->counter = PEBS_COUNTER;
    for (unsigned i = 1; i < run->options->event_count; i++)
        if (run->request[i].metric && request->metric &&
            run->request[i].metric->mechanism != request->metric->mechanism)
            return complain(EXIT_USAGE, "record",
                            "%s beside %s: while PEBS is on, one tagging mechanism alone works "
                            "(SDM3 18.15.7)",
                            run->request[i].text, request->text);
    return EXIT_DONE;
}

static int take_requests(struct record_run *run)
{
    const struct record_options *options = run->options;
    unsigned signature = run->model.params.family_model << 4 | run->model.stepping;
    char error[512];
    for (unsigned i = 0; i < options->event_count; i++) {
        if (!sim_request_parse(options->events[i], signature, &run->request[i], error))
            return complain(EXIT_USAGE, "record", "%s", error);
        const char *why = sim_request_cannot_count(&run->request[i]);
        if (why)
            return complain(EXIT_USAGE, "record", "%s cannot be sampled: %s", options->events[i],
                            why);
    }
    return options->precise ? make_precise(run) : EXIT_DONE;
}

static void describe(struct record_run *run)
{
    const struct record_options *options = run->options;
    struct samples_about *about = &run->about;
    snprintf(about->made_by, sizeof about->made_by, "p4sim %s", P4SIM_VERSION);
    snprintf(about->model, sizeof about->model, "%s", run->model.name);
    source_text(&options->source, about->program, sizeof about->program);
    for (char *at = about->program; *at; at++) {
        if (*at & 0x80)
            *at = '?'; /* the header is UTF-8, file names are anything */
        else if (*at < ' ')
            *at = ' '; /* a text of several lines */
    }
    about->core_mhz = run->model.params.core_mhz;
    about->l1_line_bytes = run->model.params.l1_line;
    about->l1_sets = run->model.params.l1_sets;
    about->every = options->every;
    about->length = options->length;
    about->event_count = options->event_count;
    for (unsigned i = 0; i < options->event_count; i++) {
        struct samples_event *event = &about->event[i];
        size_t length = strnlen(run->request[i].text, sizeof event->text - 1);
        memcpy(event->text, run->request[i].text, length);
        event->text[length] = '\0';
        event->counter = (unsigned)run->plan.slots[i].counter;
        event->how = options->precise && i == 0 ? SIM_BY_PEBS : SIM_BY_PMI;
        event->period = options->period[i < options->periods ? i : options->periods - 1];
    }
}

int record_plan(struct record_run *run)
{
    struct sim_replay_registers none = {0};
    struct sim_conflict conflict;
    int status = take_requests(run);
    if (status)
        return status;
    if (!sim_fit(run->request, run->options->event_count, &none, &run->plan, &conflict))
        return complain(EXIT_USAGE, "record", "%s", conflict.text);
    describe(run);
    return EXIT_DONE;
}
