/*
 * Running: programme the counters, let the machine run, read them back; more than once when the
 * events do not fit at once.
 *
 * A second pass repeats the very same instructions: a recording and a snippet are opened again, a
 * live program is recorded in its first pass and replayed in the others. The machine is
 * deterministic, so all passes take the same clocks, and this is checked.
 */
#define _GNU_SOURCE
#include "open_source.h"
#include "stat.h"
#include "stopping.h"
#include "surroundings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- passes ------------------------------------------------------------------------------------
 */

static bool fits_with(const struct stat_options *options, const struct stat_result *result,
                      struct stat_pass *pass, size_t row, struct sim_conflict *conflict)
{
    struct sim_request requests[SIM_FIT_MAX + 1];
    size_t count = pass->plan.count;
    struct sim_plan plan;
    for (size_t i = 0; i < count; i++)
        requests[i] = result->rows[pass->members[i]].request;
    requests[count] = result->rows[row].request;
    if (!sim_fit(requests, count + 1, &options->replay, &plan, conflict))
        return false;
    pass->plan = plan;
    pass->members[count] = row;
    return true;
}

/* The first pass with room for ROW, a new one when there is none; the first conflict met is kept.
 */
static int place_row(const struct stat_options *options, struct stat_result *result, size_t row)
{
    struct sim_conflict conflict;
    for (size_t p = 0; p < result->pass_count; p++) {
        if (fits_with(options, result, &result->passes[p], row, &conflict))
            return 0;
        if (!result->split[0])
            snprintf(result->split, sizeof result->split, "%s", conflict.text);
    }
    struct stat_pass *fresh = &result->passes[result->pass_count];
    if (!fits_with(options, result, fresh, row, &conflict))
        return complain(EXIT_USAGE, "stat", "%s", conflict.text);
    result->pass_count++;
    return 0;
}

int stat_plan(const struct stat_options *options, struct stat_result *result)
{
    for (size_t i = 0; i < result->row_count; i++) {
        int status = place_row(options, result, i);
        if (status)
            return status;
    }
    if (result->pass_count > 1 && options->only_regions)
        return complain(EXIT_USAGE, "stat",
                        "the events do not fit: %s. With --only-regions there is one pass; ask for "
                        "fewer events",
                        result->split);
    if (result->pass_count > options->passes)
        return complain(
            EXIT_USAGE, "stat",
            "the events do not fit: %s. They need %zu passes over the same instructions and "
            "%u %s allowed; ask for fewer events or give --passes %zu",
            result->split, result->pass_count, options->passes, options->passes == 1 ? "is" : "are",
            result->pass_count);
    if (result->pass_count == 0)
        result->pass_count = 1;
    for (size_t p = 0; p < result->pass_count; p++) {
        const struct stat_pass *pass = &result->passes[p];
        for (size_t i = 0; i < pass->plan.count; i++) {
            struct stat_row *row = &result->rows[pass->members[i]];
            unsigned upstream = pass->plan.request_upstream[i];
            row->pass = (unsigned)p;
            row->slot = pass->plan.slots[i];
            row->placed = true;
            row->has_upstream = upstream != 0;
            if (upstream)
                row->upstream = pass->plan.upstream[upstream - 1];
        }
    }
    return 0;
}

/* ---- sources -----------------------------------------------------------------------------------
 */

/* What runs in one pass, and the recordings that later passes replay in place of programs. */
struct sources {
    struct trace_source *of[2];
    unsigned count;
};
struct recordings {
    char path[2][4096]; /* "": none */
    bool temporary;
};

static struct trace_source *source_of(const struct stat_options *options,
                                      struct stat_result *result, unsigned which,
                                      const char *recording, size_t pass, char error[512],
                                      int *status)
{
    const struct stat_input *input = &options->input[which];
    struct trace_region keep[REGIONS_MOST];
    struct source_choice choice = {.long_mode = options->long_mode,
                                   .short_turns = result->lps > options->input_count};
    choice.from = options->from_instruction;
    if (input->source == STAT_TRACE)
        choice.recording = input->path;
    else if (input->source == STAT_SNIPPET)
        choice.snippet = input->path;
    else if (pass > 0)
        choice.recording = recording;
    else
        choice.argv = input->argv;
    choice.assembly = input->assembly;
    regions_to_keep(&options->regions, keep);
    choice.regions = keep;
    choice.region_count = options->regions.count;
    choice.record_to = recording[0] ? recording : NULL;
    return open_source(&choice, &result->model, error, status);
}

static void close_sources(struct sources *sources, bool early)
{
    for (unsigned i = 0; i < sources->count; i++) {
        if (early)
            trace_source_interrupt(sources->of[i]);
        trace_source_close(sources->of[i]);
    }
}

static int open_sources(const struct stat_options *options, struct stat_result *result,
                        const struct recordings *recordings, size_t pass, struct sources *sources)
{
    char error[512] = "";
    int status = 0;
    sources->count = 0;
    for (unsigned i = 0; i < options->input_count; i++) {
        struct trace_source *source =
            source_of(options, result, i, recordings->path[i], pass, error, &status);
        if (!source) {
            close_sources(sources, true);
            return complain(status, "stat", "%s", error);
        }
        sources->of[sources->count++] = source;
    }
    return 0;
}

/* ---- one pass ----------------------------------------------------------------------------------
 */

static const char *why_not_counted(const struct sim_request *request,
                                   const struct sim_kernel_options *kernel)
{
    const char *reason = sim_request_cannot_count(request);
    bool per_thread = request->event != P4PMU_NONE &&
                      p4pmu_event((enum p4pmu_event)request->event)->thread == P4PMU_TS;
    if (!reason && per_thread && !request->usr && !kernel->on &&
        !(request->compare && request->complement))
        reason = "only CPL 0 is selected, and --no-kernel leaves nothing that runs there";
    return reason;
}

static bool read_rows(struct sim_bench *bench, struct stat_result *result, size_t pass,
                      char error[512])
{
    const struct stat_pass *p = &result->passes[pass];
    p4pmu_privilege(sim_bench_pmu(bench), 0, 0, true);
    if (!sim_halt(sim_bench_pmu(bench), &p->plan, error))
        return false;
    for (size_t i = 0; i < p->plan.count; i++) {
        struct stat_row *row = &result->rows[p->members[i]];
        if (!sim_read(sim_bench_pmu(bench), &row->slot, &row->count, error))
            return false;
        row->why_not = why_not_counted(&row->request, &result->kernel);
        row->counted = !row->why_not;
    }
    return true;
}

/* What ended the run before its end, for the footer; "" when nothing did. */
static void judge(const struct stat_options *options, struct stat_result *result,
                  const struct sim_bench *bench)
{
    const struct trace_source *failed = sim_bench_failed(bench);
    char *out = result->trouble;
    size_t size = sizeof result->trouble;
    if (stopping_signal())
        result->stop = SIM_STOP_INTERRUPTED;
    result->partial = result->stop != SIM_STOP_END;
    switch (result->stop) {
    case SIM_STOP_END:
        break;
    case SIM_STOP_LIMIT:
        snprintf(out, size, "stopped after %llu instructions as asked",
                 (unsigned long long)options->max_instructions);
        break;
    case SIM_STOP_INTERRUPTED:
        result->signal = stopping_signal();
        result->status = EXIT_INTERRUPT + stopping_signal();
        snprintf(out, size, "interrupted by signal %d", stopping_signal());
        break;
    case SIM_STOP_SOURCE_ERROR:
        result->status = failed->error_status ? failed->error_status : EXIT_INPUT;
        snprintf(out, size, "%s", failed->error);
        break;
    case SIM_STOP_NOT_ON_MODEL:
        result->status = EXIT_INPUT;
        snprintf(out, size, "not on model %s: %s", result->model.name, sim_bench_report(bench));
        break;
    case SIM_STOP_MACHINE:
        result->status = EXIT_MACHINE;
        snprintf(out, size, "the simulated machine stopped: %s", sim_bench_report(bench));
    }
}

static bool same_run(const struct nb_stats *a, const struct nb_stats *b)
{
    return a->clocks == b->clocks && a->instructions == b->instructions && a->uops == b->uops &&
           a->bogus_uops == b->bogus_uops;
}

/* All passes see the same machine doing the same; anything else would make rows incomparable. */
static void compare_passes(struct stat_result *result, const struct nb_stats *stats, size_t pass)
{
    if (pass == 0) {
        result->stats = *stats;
    } else if (!same_run(&result->stats, stats) && result->stop != SIM_STOP_INTERRUPTED) {
        result->status = EXIT_MACHINE;
        snprintf(result->trouble, sizeof result->trouble,
                 "pass %zu took %llu clocks and pass 1 took %llu: the passes cannot be compared",
                 pass + 1, (unsigned long long)stats->clocks,
                 (unsigned long long)result->stats.clocks);
    }
}

static int run_bench(const struct stat_options *options, struct stat_result *result, size_t pass,
                     struct sim_bench *bench, const struct sources *sources)
{
    char error[512];
    struct stat_progress line = {(unsigned)pass + 1, (unsigned)result->pass_count};
    bool show = !options->no_progress && isatty(STDERR_FILENO);
    if (!sim_program(sim_bench_pmu(bench), &result->passes[pass].plan, error))
        return complain(EXIT_USAGE, "stat", "%s", error);
    sim_bench_kernel(bench, &result->kernel);
    sim_bench_access_rules(bench, &options->access);
    if (!stat_divide(options, &result->passes[pass], bench))
        return complain(EXIT_MACHINE, "stat", "out of memory");
    for (unsigned i = 0; i < sources->count && pass == 0; i++)
        stopping_source(i, options->input[i].source == STAT_PROGRAM ? sources->of[i] : NULL);
    result->stop = sim_bench_run(
        bench, &(struct sim_run_options){.max_instructions = options->max_instructions,
                                         .stop = stopping_flag(),
                                         .progress = show ? stat_progress_show : NULL,
                                         .progress_context = &line});
    stopping_source(0, NULL);
    stopping_source(1, NULL);
    if (show)
        stat_progress_clear();
    if (!read_rows(bench, result, pass, error))
        return complain(EXIT_MACHINE, "stat", "%s", error);
    if (!stat_read_parts(options, result, pass, bench))
        return complain(EXIT_MACHINE, "stat", "out of memory");
    judge(options, result, bench);
    compare_passes(result, sim_bench_stats(bench), pass);
    for (unsigned i = 0; i < result->lps; i++)
        result->lp_stats[i] = *sim_bench_lp_stats(bench, i);
    result->seconds += sim_bench_seconds(bench);
    result->passes_run = pass + 1;
    return 0;
}

/* Memory types and the other agent, as the file says. */
static int surround(const struct stat_options *options, struct sim_bench *bench)
{
    char error[512] = "";
    if (!options->surroundings)
        return 0;
    bool good = sim_surroundings_file(sim_bench_machine(bench), options->surroundings, error);
    return good ? 0 : complain(EXIT_INPUT, "stat", "%s", error);
}

static int run_pass(const struct stat_options *options, struct stat_result *result, size_t pass,
                    const struct recordings *recordings)
{
    char error[512] = "";
    struct sources sources;
    int status = open_sources(options, result, recordings, pass, &sources);
    if (status)
        return status;
    struct sim_bench *bench =
        sim_bench_new_on(&result->model, sources.of, sources.count, result->lps, error);
    if (!bench)
        status = complain(EXIT_INPUT, "stat", "%s", error);
    else if (!(status = surround(options, bench)))
        status = run_bench(options, result, pass, bench, &sources);
    sim_bench_free(bench);
    for (unsigned i = 0; i < sources.count && pass == 0; i++)
        result->end[i] = sources.of[i]->end;
    close_sources(&sources, status || result->partial);
    return status;
}

/* ---- all passes --------------------------------------------------------------------------------
 */

static bool temporary_recording(char path[4096])
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, 4096, "%.4000s/p4sim-XXXXXX", folder && folder[0] ? folder : "/tmp");
    int descriptor = mkstemp(path);
    if (descriptor < 0)
        return false;
    close(descriptor);
    return true;
}

/* Threads of a live program that ran side by side: which did what when depended on the machine, and
 * a recording repeats their order in another way. */
static bool ran_side_by_side(const struct stat_options *options, const struct stat_result *result)
{
    return result->lps > options->input_count && options->input[0].source == STAT_PROGRAM &&
           result->end[0].threads > 1;
}

static void mark_missing_passes(const struct stat_options *options, struct stat_result *result)
{
    const char *why = ran_side_by_side(options, result)
                          ? "threads on two logical processors cannot be repeated: ask for what "
                            "fits into one pass"
                          : "its pass was not run";
    for (size_t i = 0; i < result->row_count; i++) {
        if (result->rows[i].pass >= result->passes_run)
            result->rows[i].why_not = why;
    }
}

/* Programs that later passes repeat are recorded: to FILE of --record, or for a while. */
static int make_recordings(const struct stat_options *options, const struct stat_result *result,
                           struct recordings *recordings)
{
    memset(recordings, 0, sizeof *recordings);
    if (options->record)
        snprintf(recordings->path[0], sizeof recordings->path[0], "%s", options->record);
    recordings->temporary = !options->record && result->pass_count > 1;
    for (unsigned i = 0; i < options->input_count && recordings->temporary; i++) {
        char *path = recordings->path[i];
        if (options->input[i].source == STAT_PROGRAM && !temporary_recording(path))
            return complain(
                EXIT_INPUT, "stat",
                "%s: %s; the second pass needs a recording, set TMPDIR or give --record FILE", path,
                strerror(errno));
    }
    return 0;
}

static void remove_recordings(const struct recordings *recordings)
{
    for (unsigned i = 0; i < 2 && recordings->temporary; i++)
        if (recordings->path[i][0])
            unlink(recordings->path[i]);
}

int stat_run(const struct stat_options *options, struct stat_result *result)
{
    struct recordings recordings;
    int status = make_recordings(options, result, &recordings);
    stopping_listen();
    for (size_t pass = 0; pass < result->pass_count && !status; pass++) {
        status = run_pass(options, result, pass, &recordings);
        if (ran_side_by_side(options, result) ||
            (result->partial && result->stop != SIM_STOP_LIMIT))
            break;
    }
    remove_recordings(&recordings);
    mark_missing_passes(options, result);
    return status;
}
