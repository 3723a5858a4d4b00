/*
 * The bench: sources of instructions, one machine, one PMU.
 *
 * The machine pulls instructions through nb_input; here they come from a trace source, field by
 * field. A run is cut into slices so that a Ctrl-C is seen and progress can be told; the cut
 * changes nothing in the simulated machine.
 *
 * A machine with two logical processors runs two sources, or the threads of one (spread.h). Two
 * sources are two systems of address spaces: the second one's process numbers get a bit of their
 * own.
 */
#define _POSIX_C_SOURCE 200809L
#include "sim.h"
#include "exact.h"
#include "registers.h"
#include "spread.h"
#include "system.h"
#include "windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLICE = 20000 }; /* instructions between two looks at the clock: some milliseconds */

#define SECOND_SOURCE 0x4000u /* in process numbers */

/* What a logical processor runs. */
struct feed {
    struct sim_bench *bench;
    unsigned lp;
    struct trace_source *source;
    uint16_t process_bit;
    uint64_t serial; /* instructions given to the machine, without the kernel's */
    bool in_kernel;  /* the last one given was the kernel's */
    uint64_t ip;     /* of the instruction given last */
    uint32_t code;
    struct system system;
};

struct sim_bench {
    struct trace_source *source[2];
    unsigned sources;
    struct sim_spread *spread; /* of the one source over two logical processors, or NULL */
    struct feed feed[2];
    const struct feed *on_wrong_path[2]; /* by source: who began its wrong path */
    struct p4pmu *pmu;
    struct nb_machine *machine;
    struct sim_registers registers[2]; /* by source */
    struct sim_accesses accesses;      /* what sim_bench_accesses() gave last */
    struct sim_parts *parts;           /* or NULL */
    struct windows windows;
    struct kernel_pages pages; /* that the programs have touched */
    struct sampler sampler;
    struct sim_exact *exact; /* or NULL */
    uint32_t core_mhz;
    const volatile int *stop;
    struct trace_source *failed; /* the source that could not go on */
    bool stopped;
    double seconds;
    char report[1024];
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

static void copy_accesses(const struct trace_access *access, unsigned count,
                          struct nb_instruction *out)
{
    for (unsigned i = 0; i < count; i++) {
        out->access[i].address = access[i].address;
        out->access[i].size = access[i].size;
        out->access[i].write = access[i].write;
    }
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
    out->faults = 0;
    out->assist = in->assist; /* the same bits */
    out->unknown = out->unmapped = 0;
    out->x87_precision = in->precision; /* the same numbers */
    copy_accesses(in->access, in->access_count, out);
}

/* *BOUNDARY: between parts, before the instruction. */
static enum trace_result ask(struct feed *feed, struct trace_instruction *in, bool *boundary)
{
    struct sim_bench *bench = feed->bench;
    if (bench->parts)
        return sim_parts_next(bench->parts, in, boundary);
    if (bench->windows.every)
        return windows_next(&bench->windows, feed->source, bench->stop, in);
    return trace_source_next(feed->source, in);
}

static enum nb_input_result from_source(struct feed *feed, struct trace_instruction *in,
                                        bool *boundary)
{
    switch (ask(feed, in, boundary)) {
    case TRACE_OK:
        return NB_INPUT_OK;
    case TRACE_SYNC:
        return NB_INPUT_SYNC;
    case TRACE_ERROR:
        feed->bench->failed = feed->source;
        break;
    case TRACE_IDLE: /* where a choice is made (spread.c), or stopped between windows */
        feed->bench->stopped = feed->bench->windows.every != 0;
        return feed->bench->stopped ? NB_INPUT_END : NB_INPUT_IDLE;
    case TRACE_END:
        break;
    }
    return NB_INPUT_END;
}

static enum nb_input_result from_spread(struct feed *feed, struct trace_instruction *in)
{
    switch (sim_spread_next(feed->bench->spread, feed->lp, in)) {
    case SIM_SPREAD_OK:
        return NB_INPUT_OK;
    case SIM_SPREAD_SYNC:
        return NB_INPUT_SYNC;
    case SIM_SPREAD_IDLE:
        return NB_INPUT_IDLE;
    case SIM_SPREAD_ERROR:
        feed->bench->failed = feed->source;
        break;
    case SIM_SPREAD_END:
        break;
    }
    return NB_INPUT_END;
}

static enum nb_input_result too_many_processes(struct feed *feed)
{
    snprintf(feed->source->error, sizeof feed->source->error,
             "more than %u processes of one of two programs", SECOND_SOURCE);
    feed->source->error_status = 3;
    feed->bench->failed = feed->source;
    return NB_INPUT_END;
}

static enum nb_input_result next_instruction(void *context, struct nb_instruction *out)
{
    struct feed *feed = context;
    struct sim_bench *bench = feed->bench;
    struct trace_instruction in;
    enum nb_input_result kernel;
    feed->in_kernel = system_next(&feed->system, out, &kernel);
    if (feed->in_kernel)
        return kernel;
    if (bench->sampler.shut_down)
        return NB_INPUT_END;
    if (bench->stop && *bench->stop) {
        bench->stopped = true;
        return NB_INPUT_END;
    }
    bool boundary_before = false;
    enum nb_input_result result =
        bench->spread ? from_spread(feed, &in) : from_source(feed, &in, &boundary_before);
    if (result != NB_INPUT_OK)
        return result;
    if (in.process >= SECOND_SOURCE && bench->sources > 1)
        return too_many_processes(feed);
    copy_instruction(&in, out);
    out->process |= feed->process_bit;
    out->serial = feed->serial++;
    feed->ip = in.ip;
    feed->code = in.code;
    if (boundary_before)
        out->flags |= NB_INSTRUCTION_BOUNDARY;
    if (bench->exact)
        sim_exact_note(bench->exact, feed->lp, out->serial, out->process, out->ip);
    system_pass(&feed->system, &in, out);
    return NB_INPUT_OK;
}

static size_t code_at(void *context, uint16_t process, uint64_t ip, uint8_t bytes[15])
{
    const struct feed *feed = context;
    if (process == NB_PROCESS_KERNEL)
        return kernel_code_at(ip, bytes);
    size_t n = feed->bench->spread && ip == feed->ip
                   ? sim_spread_code(feed->bench->spread, feed->code, bytes)
                   : 0;
    if (n)
        return n;
    uint16_t own = (uint16_t)(process & ~(unsigned)feed->process_bit);
    return trace_source_code_at(feed->source, own, ip, bytes);
}

/* The source knows the state behind the instruction it gave last, if that was given here. */
static bool wrong_begin(void *context, uint64_t serial)
{
    const struct feed *feed = context;
    struct sim_bench *bench = feed->bench;
    if (feed->in_kernel || serial + 1 != feed->serial ||
        (bench->spread && !sim_spread_latest(bench->spread, feed->lp)))
        return false;
    bench->on_wrong_path[bench->spread ? 0 : feed->lp] = feed;
    return trace_source_wrong_begin(feed->source);
}

static bool wrong_step(void *context, uint64_t ip, struct nb_instruction *out)
{
    const struct feed *feed = context;
    const struct sim_bench *bench = feed->bench;
    struct trace_wrong_step step;
    if (bench->on_wrong_path[bench->spread ? 0 : feed->lp] != feed ||
        !trace_source_wrong_step(feed->source, ip, &step))
        return false;
    out->repetitions = step.repetitions;
    out->flags = flags_of(step.flags);
    out->access_count = step.access_count;
    out->unknown = step.unknown;
    out->unmapped = step.unmapped;
    out->assist = step.assist;
    out->x87_precision = step.precision;
    if (step.next_known) {
        out->next_ip = step.next_ip;
        out->flags |= NB_INSTRUCTION_NEXT_KNOWN;
    }
    copy_accesses(step.access, step.access_count, out);
    return true;
}

static bool wrong_mark(void *context, unsigned number)
{
    const struct feed *feed = context;
    return feed->bench->on_wrong_path[feed->bench->spread ? 0 : feed->lp] == feed &&
           trace_source_wrong_mark(feed->source, number);
}

static bool wrong_back(void *context, unsigned number)
{
    const struct feed *feed = context;
    return feed->bench->on_wrong_path[feed->bench->spread ? 0 : feed->lp] == feed &&
           trace_source_wrong_back(feed->source, number);
}

static void boundary(void *context)
{
    struct sim_bench *bench = ((struct feed *)context)->bench;
    const struct nb_stats *stats = nb_stats(bench->machine);
    sim_parts_boundary(bench->parts, bench->pmu, stats->clocks, stats->instructions);
}

/* ---- the kernel and the driver -----------------------------------------------------------------
 */

static uint64_t interrupt(void *context, const struct nb_interrupt *taken)
{
    struct feed *feed = context;
    return system_interrupt(&feed->system, taken);
}

static bool precise(void *context, const struct nb_instruction *in, struct nb_instruction *flow)
{
    struct feed *feed = context;
    return sampler_pebs(&feed->bench->sampler, feed->lp, in, flow);
}

static bool branch(void *context, const struct p4pmu_branch *taken, const struct nb_instruction *in,
                   struct nb_instruction *flow)
{
    struct feed *feed = context;
    return sampler_branch(&feed->bench->sampler, feed->lp, taken, in, flow);
}

static void join_system(struct sim_bench *bench, const struct sim_model *model, unsigned lps)
{
    bench->sampler.pmu = bench->pmu;
    bench->sampler.lps = lps;
    bench->core_mhz = model->params.core_mhz;
    for (unsigned i = 0; i < lps; i++) {
        bench->sampler.source[i] = bench->feed[i].source;
        bench->sampler.process_bit[i] = bench->feed[i].process_bit;
        system_init(&bench->feed[i].system, bench->pmu, &bench->sampler, &bench->pages,
                    bench->spread ? NULL : bench->feed[i].source, i);
    }
    p4pmu_memory(bench->pmu, &(struct p4pmu_memory){.context = &bench->sampler,
                                                    .read = sampler_memory_read,
                                                    .write = sampler_memory_write});
}

void sim_bench_kernel(struct sim_bench *bench, const struct sim_kernel_options *options)
{
    for (unsigned i = 0; i < sim_bench_lps(bench); i++)
        system_start(&bench->feed[i].system, options, bench->machine, bench->core_mhz);
}

void sim_bench_exact(struct sim_bench *bench, struct sim_exact *exact)
{
    bench->exact = exact;
    p4pmu_witness(bench->pmu, exact ? sim_exact_witness : NULL, exact);
    nb_name_origins(bench->machine, exact || bench->sampler.on);
}

bool sim_bench_sample(struct sim_bench *bench, const struct sim_sampling *sampling, char error[512])
{
    nb_name_origins(bench->machine, true);
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

static void answer(struct sim_bench *bench, unsigned source, unsigned lps)
{
    struct sim_registers *registers = &bench->registers[source];
    registers->pmu = bench->pmu;
    registers->lp = source;
    registers->spread = bench->spread != NULL;
    registers->written = sampler_written;
    registers->context = &bench->sampler;
    trace_source_answer(bench->source[source], sim_registers_access, registers, lps);
}

/* The machine with what it needs; false when memory is short or the model is not known. */
static bool build(struct sim_bench *bench, const struct sim_model *model, unsigned lps)
{
    struct nb_input inputs[2];
    if (lps > bench->sources && !(bench->spread = sim_spread_new(bench->source[0])))
        return false;
    for (unsigned i = 0; i < lps; i++) {
        bool second = i > 0 && bench->sources > 1;
        bench->feed[i] = (struct feed){.bench = bench,
                                       .lp = i,
                                       .source = bench->source[second],
                                       .process_bit = second ? SECOND_SOURCE : 0};
        inputs[i] = (struct nb_input){
            .context = &bench->feed[i],
            .next = next_instruction,
            .code_at = code_at,
            .boundary = boundary,
            .wrong_begin = wrong_begin,
            .wrong_step = wrong_step,
            .wrong_mark = wrong_mark,
            .wrong_back = wrong_back,
            .interrupt = interrupt,
            .precise = precise,
            .branch = branch,
        };
    }
    bench->pmu = p4pmu_new(&(struct p4pmu_config){.model = model->params.family_model,
                                                  .hyper_threading = model->hyper_threading,
                                                  .stepping = model->stepping});
    if (bench->pmu) {
        join_system(bench, model, lps);
        bench->machine = nb_new(&model->params, bench->pmu, inputs, lps);
    }
    return bench->machine != NULL;
}

struct sim_bench *sim_bench_new_on(const struct sim_model *model,
                                   struct trace_source *const sources[], unsigned count,
                                   unsigned lps, char error[512])
{
    if (lps > 1 && !model->hyper_threading) {
        snprintf(error, 512,
                 "model %s has one logical processor; a model with Hyper-Threading is needed",
                 model->name);
        return NULL;
    }
    struct sim_bench *bench = calloc(1, sizeof *bench);
    if (!bench) {
        snprintf(error, 512, "out of memory");
        return NULL;
    }
    bench->sources = count;
    for (unsigned i = 0; i < count; i++)
        bench->source[i] = sources[i];
    if (!build(bench, model, lps)) {
        snprintf(error, 512, "the machine of model %s cannot be built: %s", model->name,
                 bench->pmu ? "out of memory or no decoder"
                            : "out of memory or unknown family model");
        sim_bench_free(bench);
        return NULL;
    }
    p4pmu_privilege(bench->pmu, 0, 0, true);
    for (unsigned i = 0; i < count; i++)
        answer(bench, i, model->hyper_threading ? 2 : 1);
    return bench;
}

struct sim_bench *sim_bench_new(const struct sim_model *model, struct trace_source *source,
                                char error[512])
{
    return sim_bench_new_on(model, &source, 1, 1, error);
}

void sim_bench_free(struct sim_bench *bench)
{
    if (!bench)
        return;
    nb_free(bench->machine);
    sim_parts_free(bench->parts);
    kernel_pages_free(&bench->pages);
    sampler_free(&bench->sampler);
    p4pmu_free(bench->pmu);
    sim_spread_free(bench->spread);
    free(bench);
}

struct nb_machine *sim_bench_machine(struct sim_bench *bench)
{
    return bench->machine;
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
    for (unsigned i = 0; i < bench->sources; i++)
        bench->registers[i].rules = *rules;
}

const struct sim_accesses *sim_bench_accesses(struct sim_bench *bench)
{
    struct sim_accesses *sum = &bench->accesses;
    *sum = bench->registers[0].accesses;
    for (unsigned i = 1; i < bench->sources; i++) {
        const struct sim_accesses *more = &bench->registers[i].accesses;
        for (unsigned kind = 0; kind < 4; kind++)
            sum->count[kind] += more->count[kind];
        sum->faults += more->faults;
        if (!sum->first_fault[0])
            memcpy(sum->first_fault, more->first_fault, sizeof sum->first_fault);
    }
    return sum;
}

unsigned sim_bench_lps(const struct sim_bench *bench)
{
    return bench->spread ? 2 : bench->sources;
}

const struct nb_stats *sim_bench_lp_stats(const struct sim_bench *bench, unsigned lp)
{
    return nb_lp_stats(bench->machine, lp);
}

const struct trace_source *sim_bench_failed(const struct sim_bench *bench)
{
    return bench->failed;
}

bool sim_bench_divide(struct sim_bench *bench, const struct sim_parts_options *options)
{
    bench->parts = sim_parts_new(options, bench->source[0]);
    return bench->parts != NULL;
}

void sim_bench_windows(struct sim_bench *bench, uint64_t every, uint64_t length)
{
    bench->windows = (struct windows){.every = every, .length = length};
}

uint64_t sim_bench_executed(const struct sim_bench *bench, uint64_t *skipped)
{
    *skipped = bench->windows.skipped;
    return bench->windows.done;
}

const struct sim_part *sim_bench_parts(struct sim_bench *bench, size_t *count, size_t *lost)
{
    const struct nb_stats *stats = nb_stats(bench->machine);
    sim_parts_settle(bench->parts, bench->pmu, stats->clocks, stats->instructions);
    return sim_parts_all(bench->parts, count, lost);
}

uint64_t sim_bench_stretches(const struct sim_bench *bench)
{
    return sim_parts_stretches(bench->parts);
}

void sim_bench_step_each_clock(struct sim_bench *bench, bool each)
{
    nb_step_each_clock(bench->machine, each);
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
    double share = trace_source_share_done(bench->source[0]);
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
    if (bench->sampler.shut_down) {
        snprintf(bench->report, sizeof bench->report,
                 "the processor shut down: a page of the DS area is missing, that of 0x%llx (bit 0 "
                 "of MSR_MCG_MISC, 0x18A)",
                 (unsigned long long)bench->sampler.missing);
        return SIM_STOP_MACHINE;
    }
    if (stop == NB_STOP_LIMIT)
        return SIM_STOP_LIMIT;
    if (stop == NB_STOP_END && bench->stopped)
        return SIM_STOP_INTERRUPTED;
    if (stop == NB_STOP_END)
        return bench->failed ? SIM_STOP_SOURCE_ERROR : SIM_STOP_END;
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
