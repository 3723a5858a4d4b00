/* The sampled run: from the programmed counters to the file's end record, and what it cost. */
#define _GNU_SOURCE
#include "record.h"
#include "stat.h"
#include "stopping.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* ---- samples -----------------------------------------------------------------------------------
 */

static void write_objects(struct record_run *run)
{
    size_t count;
    const struct trace_object *object = trace_source_objects(run->source, &count);
    for (; run->objects < count; run->objects++)
        samples_put_object(run->writer, &object[run->objects]);
}

/* A recording's own. */
static void write_functions(struct record_run *run)
{
    size_t count;
    const struct trace_function *function = trace_source_functions(run->source, &count);
    for (size_t i = 0; i < count; i++)
        samples_put_function(run->writer, &function[i]);
}

static unsigned event_of(const struct record_run *run, const struct sim_sample *s)
{
    for (unsigned i = 0; i < run->about.event_count; i++)
        if ((int)run->about.event[i].counter == s->counter)
            return i;
    return (unsigned)run->about.event_count;
}

static void take_sample(void *context, const struct sim_sample *s)
{
    struct record_run *run = context;
    uint64_t frame[SAMPLES_CHAIN];
    struct samples_sample sample = {
        .about = *s, .event = event_of(run, s), .skid_known = s->skid_known, .frame = frame};
    write_objects(run);
    record_code(run, s->process, s->ip);
    if (s->truth_known && s->truth_ip != s->ip)
        record_code(run, s->process, s->truth_ip);
    if (run->options->call_chain && s->kind == SIM_SAMPLE_PMI)
        sample.frames = record_chain(run, s, frame, &sample.chain);
    if (!run->options->registers && s->kind == SIM_SAMPLE_PMI)
        sample.about.registers_known = false; /* they were for the chain */
    samples_put(run->writer, &sample);
}

/* ---- starting ----------------------------------------------------------------------------------
 */

/* Its bytes now: at the end of the run they may be gone. */
static void keep_code(void *context, size_t slot, uint16_t process, uint64_t ip, uint64_t count)
{
    (void)slot;
    (void)count;
    record_code(context, process, ip);
}

static bool start(struct record_run *run, char error[512])
{
    const struct record_options *options = run->options;
    struct sim_sampling sampling = {.count = (unsigned)run->about.event_count,
                                    .branches = options->branches,
                                    .no_user = options->no_user,
                                    .no_kernel = options->no_kernel,
                                    .last_branches = options->last_branches,
                                    .registers = options->registers || options->call_chain,
                                    .records = options->buffer,
                                    .threshold = options->threshold,
                                    .max_samples = options->max_samples,
                                    .sample = take_sample,
                                    .context = run};
    for (unsigned i = 0; i < sampling.count; i++) {
        const struct samples_event *event = &run->about.event[i];
        sampling.counters[i] = (struct sim_sampling_counter){
            .counter = event->counter, .lp = 0, .how = event->how, .period = event->period};
    }
    if (!sim_program(sim_bench_pmu(run->bench), &run->plan, error) ||
        !sim_bench_sample(run->bench, &sampling, error))
        return false;
    if (options->no_exact)
        return true;
    sim_exact_hear(run->exact, keep_code, run);
    sim_bench_exact(run->bench, run->exact);
    return true;
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static void end_text(const struct trace_end *end, char *out, size_t size)
{
    switch (end->how) {
    case TRACE_ENDED_EXIT:
        snprintf(out, size, "the program exited with status %d", end->status);
        break;
    case TRACE_ENDED_SIGNAL:
        snprintf(out, size, "the program was ended by signal %d", end->status);
        break;
    case TRACE_ENDED_SNIPPET:
        snprintf(out, size, "the snippet ran to its end");
        break;
    default:
        snprintf(out, size, "the program did not come to its end");
    }
}

/* The status of the command, with a complaint where something went wrong. */
static int judge(struct record_run *run, enum sim_stop stop)
{
    char *how = run->end.how;
    size_t size = sizeof run->end.how;
    end_text(&run->source->end, how, size);
    if (stopping_signal()) {
        snprintf(how, size, "interrupted by signal %d", stopping_signal());
        return EXIT_INTERRUPT + stopping_signal();
    }
    switch (stop) {
    case SIM_STOP_LIMIT:
        snprintf(how, size, "stopped after %" PRIu64 " instructions as asked",
                 run->options->max_instructions);
        return EXIT_DONE;
    case SIM_STOP_SOURCE_ERROR:
        snprintf(how, size, "%.190s", run->source->error);
        return complain(run->source->error_status ? run->source->error_status : EXIT_INPUT,
                        "record", "%s", run->source->error);
    case SIM_STOP_NOT_ON_MODEL:
        snprintf(how, size, "not on model %s", run->model.name);
        return complain(EXIT_INPUT, "record", "not on model %s: %s", run->model.name,
                        sim_bench_report(run->bench));
    case SIM_STOP_MACHINE:
        snprintf(how, size, "the simulated machine stopped");
        return complain(EXIT_MACHINE, "record", "the simulated machine stopped: %s",
                        sim_bench_report(run->bench));
    default:
        return EXIT_DONE;
    }
}

static void take_totals(struct record_run *run)
{
    const struct sim_sampling_totals *from = sim_bench_sampling_totals(run->bench);
    const struct nb_stats *stats = sim_bench_stats(run->bench);
    struct samples_totals *to = &run->end.totals;
    run->end.clocks = stats->clocks;
    run->end.instructions = stats->instructions;
    run->end.executed = sim_bench_executed(run->bench, &run->end.skipped);
    to->samples = from->samples;
    to->interrupts = from->interrupts;
    to->interrupt_clocks = stats->handler_clocks;
    to->request_clocks = from->request_clocks;
    to->pebs_records = from->pebs_records;
    to->assist_clocks = stats->assist_clocks;
    to->branch_records = from->branch_records;
    to->lost_records = from->lost_records;
    to->lost_periods = from->lost_periods;
    to->faults = from->faults;
}

static void take_exact(void *context, size_t slot, uint16_t process, uint64_t ip, uint64_t count)
{
    struct record_run *run = context;
    samples_put_exact(run->writer,
                      &(struct samples_exact){
                          .event = (unsigned)slot, .process = process, .ip = ip, .count = count});
}

/* What really happened, by instruction and in all. */
static void write_exact(struct record_run *run)
{
    uint64_t nowhere;
    if (run->options->no_exact)
        return;
    for (size_t i = 0; i < run->about.event_count; i++) {
        run->end.counted[i] = sim_exact_total(run->exact, i, &run->end.count[i], &nowhere);
        run->end.exact[i] = run->end.counted[i];
    }
    sim_exact_each(run->exact, take_exact, run);
}

/* ---- what it cost ------------------------------------------------------------------------------
 */

static void say_events(const struct record_run *run)
{
    for (unsigned i = 0; i < run->about.event_count; i++) {
        const struct samples_event *event = &run->about.event[i];
        fprintf(stderr, "  %s: one sample in %" PRIu64 ", %s, counter %u", event->text,
                event->period, event->how == SIM_BY_PEBS ? "precise (PEBS)" : "by interrupt",
                event->counter);
        if (run->end.counted[i])
            fprintf(stderr, "; it happened %" PRIu64 " times", run->end.count[i]);
        fputc('\n', stderr);
    }
}

static void say_cost(const struct record_run *run)
{
    const struct samples_totals *t = &run->end.totals;
    double clocks = run->end.clocks ? (double)run->end.clocks : 1;
    if (t->interrupts)
        fprintf(stderr,
                "  %" PRIu64 " interrupts cost %" PRIu64 " clocks (%.2f%% of %" PRIu64
                "), %.0f each; from request to acceptance %.0f clocks on average\n",
                t->interrupts, t->interrupt_clocks, 100 * (double)t->interrupt_clocks / clocks,
                run->end.clocks, (double)t->interrupt_clocks / (double)t->interrupts,
                (double)t->request_clocks / (double)t->interrupts);
    if (t->pebs_records)
        fprintf(stderr,
                "  %" PRIu64 " PEBS records; all assists cost %" PRIu64 " clocks (%.2f%%)\n",
                t->pebs_records, t->assist_clocks, 100 * (double)t->assist_clocks / clocks);
    if (t->branch_records)
        fprintf(stderr,
                "  %" PRIu64 " branch records; all assists cost %" PRIu64 " clocks (%.2f%%)\n",
                t->branch_records, t->assist_clocks, 100 * (double)t->assist_clocks / clocks);
    if (t->lost_records)
        fprintf(stderr, "  %" PRIu64 " records were lost: the DS buffer was full\n",
                t->lost_records);
    if (t->lost_periods)
        fprintf(stderr,
                "  %" PRIu64 " whole periods went by while an interrupt was on its way or served; "
                "a longer period loses none\n",
                t->lost_periods);
    if (t->faults)
        fprintf(stderr, "  a page of the DS area was missing: recording stopped\n");
}

static void summary(const struct record_run *run)
{
    fprintf(stderr, "\n%" PRIu64 " samples in %s (%s)\n", run->end.totals.samples,
            run->options->output, run->end.how);
    if (run->about.every)
        fprintf(stderr,
                "  simulated: %" PRIu64 " of %" PRIu64 " instructions, %" PRIu64
                " of every %" PRIu64 "; the others were executed, and are not counted\n",
                run->end.executed - run->end.skipped, run->end.executed, run->about.length,
                run->about.every);
    say_events(run);
    say_cost(run);
}

/* ---- the run -----------------------------------------------------------------------------------
 */

static int finish(struct record_run *run, enum sim_stop stop)
{
    char error[512];
    sim_bench_sampling_end(run->bench);
    int status = judge(run, stop);
    take_totals(run);
    write_objects(run);
    write_functions(run);
    write_exact(run);
    if (!samples_finish(run->writer, &run->end, error))
        return complain(EXIT_INPUT, "record", "%s", error);
    if (!run->options->quiet)
        summary(run);
    return status;
}

static int sample(struct record_run *run)
{
    char error[512];
    struct stat_progress line = {1, 1};
    bool show = !run->options->no_progress && isatty(STDERR_FILENO);
    if (!start(run, error)) {
        char ignored[512];
        samples_finish(run->writer, NULL, ignored);
        return complain(EXIT_USAGE, "record", "%s", error);
    }
    stopping_source(0, run->options->source.argv ? run->source : NULL);
    enum sim_stop stop = sim_bench_run(
        run->bench, &(struct sim_run_options){.max_instructions = run->options->max_instructions,
                                              .stop = stopping_flag(),
                                              .progress = show ? stat_progress_show : NULL,
                                              .progress_context = &line});
    stopping_source(0, NULL);
    if (show)
        stat_progress_clear();
    return finish(run, stop);
}

/* Everything that was opened is closed, in the opposite order. */
static void clean_up(struct record_run *run)
{
    sim_bench_free(run->bench);
    if (run->source) {
        if (run->status || stopping_signal())
            trace_source_interrupt(run->source);
        trace_source_close(run->source);
    }
    record_codes_free(run->codes);
    sim_exact_free(run->exact);
}

/* Is the program 64-bit code? Its file says so; a snippet is what the user says it is. */
static bool is_wide(const struct record_run *run)
{
    unsigned char ident[EI_NIDENT] = {0};
    size_t count;
    const struct trace_object *object = trace_source_objects(run->source, &count);
    if (!run->model.params.em64t || !count)
        return run->options->source.long_mode;
    FILE *file = fopen(object->path, "re");
    size_t got = file ? fread(ident, 1, sizeof ident, file) : 0;
    if (file)
        fclose(file);
    return got == sizeof ident && ident[EI_CLASS] == ELFCLASS64;
}

static int open_all(struct record_run *run)
{
    char error[512] = "";
    int status = EXIT_INPUT;
    run->source = open_source(&run->options->source, &run->model, error, &status);
    if (!run->source)
        return complain(status, "record", "%s", error);
    run->bench = sim_bench_new(&run->model, run->source, error);
    run->codes = record_codes_new();
    run->exact = sim_exact_new(&run->plan);
    if (!run->bench || !run->codes || !run->exact)
        return complain(EXIT_INPUT, "record", "%s", run->bench ? "out of memory" : error);
    run->about.wide = is_wide(run);
    sim_bench_kernel(run->bench, &(struct sim_kernel_options){.on = run->options->kernel,
                                                              .timer_hz = SIM_TIMER_HZ});
    sim_bench_windows(run->bench, run->options->every, run->options->length);
    run->writer = samples_create(run->options->output, &run->about, error);
    if (!run->writer)
        return complain(EXIT_INPUT, "record", "%s", error);
    return EXIT_DONE;
}

int record_go(struct record_run *run)
{
    stopping_listen();
    run->status = open_all(run);
    if (!run->status)
        run->status = sample(run);
    clean_up(run);
    return run->status;
}
