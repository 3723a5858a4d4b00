/*
 * The bench: one source of instructions, one machine, one PMU.
 *
 * The machine pulls instructions through nb_input; here they come from a trace source, field by
 * field. A run is cut into slices so that a Ctrl-C is seen and progress can be told; the cut
 * changes nothing in the simulated machine.
 *
 * Not modelled: a second logical processor.
 */
#define _POSIX_C_SOURCE 200809L
#include "sim.h"
#include "registers.h"
#include "system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLICE = 20000 }; /* instructions between two looks at the clock: some milliseconds */

struct sim_bench {
    struct trace_source *source;
    struct p4pmu *pmu;
    struct nb_machine *machine;
    struct nb_input input;
    struct sim_registers registers;
    struct sim_parts *parts; /* or NULL */
    uint64_t serial;         /* instructions given to the machine, without the kernel's */
    struct system system;
    struct sampler sampler;
    uint32_t core_mhz;
    const volatile int *stop;
    bool source_failed, stopped;
    double seconds;
    char report[512];
};

static double wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the machine's input -----------------------------------------------------------------------
 */

static uint8_t flags_of(uint8_t flags)
{
    return (uint8_t)((flags & TRACE_REP_BACKWARD ? NB_INSTRUCTION_BACKWARD : 0) |
                     (flags & TRACE_INTERRUPTED ? NB_INSTRUCTION_INTERRUPTED : 0) |
                     (flags & TRACE_SYSTEM_CALL ? NB_INSTRUCTION_SYSTEM_CALL : 0) |
                     (flags & TRACE_64BIT ? NB_INSTRUCTION_64BIT : 0));
}

static void copy_instruction(const struct trace_instruction *in, struct nb_instruction *out)
{
    out->code = in->code;
    out->repetitions = in->repetitions;
    out->ip = in->ip;
    out->next_ip = in->next_ip;
    out->process = in->process;
    out->flags = flags_of(in->flags);
    out->length = in->length;
    out->access_count = in->access_count;
    out->faults = out->assist = 0;
    for (unsigned i = 0; i < in->access_count; i++) {
        out->access[i].address = in->access[i].address;
        out->access[i].size = in->access[i].size;
        out->access[i].write = in->access[i].write;
    }
}

static enum nb_input_result next_instruction(void *context, struct nb_instruction *out)
{
    struct sim_bench *bench = context;
    struct trace_instruction in;
    enum nb_input_result kernel;
    if (system_next(&bench->system, out, &kernel))
        return kernel;
    if (bench->stop && *bench->stop) {
        bench->stopped = true;
        return NB_INPUT_END;
    }
    enum trace_result result = trace_source_next(bench->source, &in);
    if (result == TRACE_SYNC)
        return NB_INPUT_SYNC;
    if (result != TRACE_OK) {
        bench->source_failed = result == TRACE_ERROR;
        return NB_INPUT_END;
    }
    copy_instruction(&in, out);
    out->serial = bench->serial++;
    if (bench->parts && sim_parts_follow(bench->parts, &in))
        out->flags |= NB_INSTRUCTION_BOUNDARY;
    system_pass(&bench->system, &in, out, NULL);
    return NB_INPUT_OK;
}

static size_t code_at(void *context, uint16_t process, uint64_t ip, uint8_t bytes[15])
{
    struct sim_bench *bench = context;
    if (process == NB_PROCESS_KERNEL)
        return kernel_code_at(ip, bytes);
    return trace_source_code_at(bench->source, process, ip, bytes);
}

static void boundary(void *context)
{
    struct sim_bench *bench = context;
    const struct nb_stats *stats = nb_stats(bench->machine);
    sim_parts_boundary(bench->parts, bench->pmu, stats->clocks, stats->instructions);
}

/* ---- the kernel and the driver -----------------------------------------------------------------
 */

static uint64_t interrupt(void *context, const struct nb_interrupt *taken)
{
    struct sim_bench *bench = context;
    return system_interrupt(&bench->system, taken);
}

static bool precise(void *context, const struct nb_instruction *in, struct nb_instruction *flow)
{
    struct sim_bench *bench = context;
    return sampler_pebs(&bench->sampler, 0, in, flow);
}

static bool branch(void *context, const struct p4pmu_branch *taken, const struct nb_instruction *in,
                   struct nb_instruction *flow)
{
    struct sim_bench *bench = context;
    return sampler_branch(&bench->sampler, 0, taken, in, flow);
}

static void join_system(struct sim_bench *bench, const struct sim_model *model)
{
    bench->sampler.pmu = bench->pmu;
    bench->core_mhz = model->params.core_mhz;
    system_init(&bench->system, bench->pmu, &bench->sampler, 0);
    bench->input.interrupt = interrupt;
    bench->input.precise = precise;
    bench->input.branch = branch;
    p4pmu_memory(bench->pmu, &(struct p4pmu_memory){.context = &bench->sampler,
                                                    .read = sampler_memory_read,
                                                    .write = sampler_memory_write});
}

void sim_bench_kernel(struct sim_bench *bench, const struct sim_kernel_options *options)
{
    system_start(&bench->system, options, bench->machine, bench->core_mhz);
}

bool sim_bench_sample(struct sim_bench *bench, const struct sim_sampling *sampling, char error[512])
{
    return sampler_start(&bench->sampler, sampling, error);
}

void sim_bench_sampling_end(struct sim_bench *bench)
{
    sampler_stop(&bench->sampler);
}

const struct sim_sampling_totals *sim_bench_sampling_totals(const struct sim_bench *bench)
{
    return &bench->sampler.totals;
}

/* ---- the bench ---------------------------------------------------------------------------------
 */

struct sim_bench *sim_bench_new(const struct sim_model *model, struct trace_source *source,
                                char error[512])
{
    struct sim_bench *bench = calloc(1, sizeof *bench);
    if (!bench) {
        snprintf(error, 512, "out of memory");
        return NULL;
    }
    bench->source = source;
    bench->input = (struct nb_input){
        .context = bench, .next = next_instruction, .code_at = code_at, .boundary = boundary};
    bench->pmu = p4pmu_new(&(struct p4pmu_config){.model = model->params.family_model,
                                                  .hyper_threading = model->hyper_threading,
                                                  .stepping = model->stepping});
    if (bench->pmu)
        join_system(bench, model);
    if (bench->pmu)
        bench->machine = nb_new(&model->params, bench->pmu, &bench->input, 1);
    if (!bench->machine) {
        snprintf(error, 512, "the machine of model %s cannot be built: %s", model->name,
                 bench->pmu ? "out of memory or no decoder"
                            : "out of memory or unknown family model");
        sim_bench_free(bench);
        return NULL;
    }
    p4pmu_privilege(bench->pmu, 0, 0, true);
    bench->registers.pmu = bench->pmu;
    trace_source_answer(source, sim_registers_access, &bench->registers,
                        model->hyper_threading ? 2 : 1);
    return bench;
}

void sim_bench_free(struct sim_bench *bench)
{
    if (!bench)
        return;
    nb_free(bench->machine);
    sim_parts_free(bench->parts);
    system_free(&bench->system);
    sampler_free(&bench->sampler);
    p4pmu_free(bench->pmu);
    free(bench);
}

struct p4pmu *sim_bench_pmu(struct sim_bench *bench)
{
    return bench->pmu;
}

const struct nb_stats *sim_bench_stats(const struct sim_bench *bench)
{
    return nb_stats(bench->machine);
}

void sim_bench_access_rules(struct sim_bench *bench, const struct sim_access_rules *rules)
{
    bench->registers.rules = *rules;
}

const struct sim_accesses *sim_bench_accesses(const struct sim_bench *bench)
{
    return &bench->registers.accesses;
}

bool sim_bench_divide(struct sim_bench *bench, const struct sim_parts_options *options)
{
    bench->parts = sim_parts_new(options, bench->source);
    return bench->parts != NULL;
}

const struct sim_part *sim_bench_parts(struct sim_bench *bench, size_t *count, size_t *lost)
{
    const struct nb_stats *stats = nb_stats(bench->machine);
    sim_parts_settle(bench->parts, bench->pmu, stats->clocks, stats->instructions);
    return sim_parts_all(bench->parts, count, lost);
}

const char *sim_bench_report(const struct sim_bench *bench)
{
    return bench->report;
}

double sim_bench_seconds(const struct sim_bench *bench)
{
    return bench->seconds;
}

static void tell_progress(const struct sim_bench *bench, const struct sim_run_options *options,
                          double seconds)
{
    const struct nb_stats *stats = nb_stats(bench->machine);
    double share = trace_source_share_done(bench->source);
    if (share < 0 && options->max_instructions)
        share = (double)stats->instructions / (double)options->max_instructions;
    options->progress(options->progress_context,
                      &(struct sim_progress){.instructions = stats->instructions,
                                             .clocks = stats->clocks,
                                             .seconds = seconds,
                                             .share_done = share});
}

static uint64_t slice_length(const struct sim_bench *bench, uint64_t limit)
{
    uint64_t done = nb_stats(bench->machine)->instructions;
    if (!limit)
        return SLICE;
    uint64_t left = limit > done ? limit - done : 0;
    return left < SLICE ? left : SLICE;
}

/* Why the machine stopped, in the bench's words. */
static enum sim_stop judge(struct sim_bench *bench, enum nb_stop stop)
{
    if (stop == NB_STOP_LIMIT)
        return SIM_STOP_LIMIT;
    if (stop == NB_STOP_END && bench->stopped)
        return SIM_STOP_INTERRUPTED;
    if (stop == NB_STOP_END)
        return bench->source_failed ? SIM_STOP_SOURCE_ERROR : SIM_STOP_END;
    const char *why = stop == NB_STOP_NO_MEMORY ? "out of memory" : nb_report(bench->machine);
    snprintf(bench->report, sizeof bench->report, "%s", why ? why : "");
    return stop == NB_STOP_NOT_ON_MODEL ? SIM_STOP_NOT_ON_MODEL : SIM_STOP_MACHINE;
}

enum sim_stop sim_bench_run(struct sim_bench *bench, const struct sim_run_options *options)
{
    const double start = wall_seconds();
    double told = start;
    enum nb_stop stop = NB_STOP_LIMIT;
    uint64_t slice;
    bench->stop = options->stop;
    while ((slice = slice_length(bench, options->max_instructions)) != 0) {
        stop = nb_run(bench->machine, slice);
        if (stop != NB_STOP_LIMIT)
            break;
        double now = wall_seconds();
        if (options->progress && now - told > 0.25) {
            told = now;
            tell_progress(bench, options, now - start);
        }
    }
    bench->stop = NULL;
    bench->seconds += wall_seconds() - start;
    return judge(bench, stop);
}
