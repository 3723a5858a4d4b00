/* The table for people, in the manner of perf stat. */
#include "stat.h"

#include <string.h>

/* 1234567 as 1,234,567. */
static void grouped(uint64_t number, char out[32])
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    char *to = out;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
}

static void print_derived(FILE *out, const struct stat_derived *d)
{
    if (!d->known)
        return;
    const char *form = d->unit[0] == '%' ? "  # %9.2f%s" : "  # %9.3f %s";
    fprintf(out, form, d->value, d->unit);
}

static void print_row(FILE *out, const struct stat_row *row, const struct nb_stats *stats)
{
    char number[32];
    if (!row->counted) {
        fprintf(out, "%20s  %-40s  # %s\n", "<not counted>", row->request.text,
                row->why_not ? row->why_not : "");
        return;
    }
    struct stat_derived derived = stat_derive(row, stats);
    grouped(row->count, number);
    fprintf(out, "%20s  %-40s", number, row->request.text);
    print_derived(out, &derived);
    fputc('\n', out);
}

static void print_slot(FILE *out, const struct sim_slot *slot, const char *role)
{
    const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)slot->escr);
    fprintf(out, "%22s%s%s (0x%X) = 0x%08X", "", role, escr->name, (unsigned)escr->msr,
            (unsigned)slot->escr_value);
    if (slot->counter != P4PMU_NONE) {
        const struct p4pmu_counter_info *counter = p4pmu_counter((unsigned)slot->counter);
        fprintf(out, ", %s (0x%X) = 0x%08X, %s (0x%X, RDPMC %d)", counter->cccr_name,
                (unsigned)counter->cccr_msr, (unsigned)slot->cccr_value, counter->name,
                (unsigned)counter->msr, slot->counter);
    }
    fputc('\n', out);
}

static void print_registers(FILE *out, const struct stat_row *row, const struct sim_plan *plan)
{
    if (!row->placed)
        return;
    print_slot(out, &row->slot, "");
    if (row->has_upstream)
        print_slot(out, &row->upstream, "upstream ");
    bool replay = row->request.event == P4PMU_EV_replay_event;
    if (replay && plan->replay_tagging)
        fprintf(
            out,
            "%22sIA32_PEBS_ENABLE (0x3F1) = 0x%08llX, MSR_PEBS_MATRIX_VERT (0x3F2) = 0x%08llX\n",
            "", (unsigned long long)plan->pebs_enable, (unsigned long long)plan->pebs_matrix_vert);
}

static void print_statistic(FILE *out, const struct nb_stats *stats, size_t offset)
{
    uint64_t value;
    char number[32];
    memcpy(&value, (const char *)stats + offset, sizeof value);
    grouped(value, number);
    fprintf(out, "%20s  ", number);
}

/* With two logical processors: both together, then each by itself; what belongs to neither is 0
 * there. */
static void print_statistics(FILE *out, const struct stat_result *result)
{
    const char *name, *unit, *text;
    size_t offset;
    fputs("\n The machine's own statistics:\n\n", out);
    if (result->lps > 1)
        fprintf(out, "%20s  %20s  %20s\n", "both", "logical processor 0", "logical processor 1");
    for (size_t i = 0; (name = nb_stat_describe(i, &unit, &text, &offset)); i++) {
        print_statistic(out, &result->stats, offset);
        for (unsigned lp = 0; lp < result->lps && result->lps > 1; lp++)
            print_statistic(out, &result->lp_stats[lp], offset);
        fprintf(out, "%-26s # %s\n", name, text);
    }
}

/* Who executed a live program's instructions. */
static void print_executors(FILE *out, const struct trace_end *end)
{
    char interpreted[32], stepped[32];
    if (!end->interpreted && !end->stepped)
        return;
    grouped(end->interpreted, interpreted);
    grouped(end->stepped, stepped);
    fprintf(out, "%20s  %-26s # instructions of the live program that the interpreter executed\n",
            interpreted, "interpreted");
    fprintf(out, "%20s  %-26s # instructions that the host's processor executed, one to a stop\n",
            stepped, "stepped");
}

void stat_end_text(const struct stat_result *result, unsigned which, char *out, size_t size)
{
    const struct trace_end *end = &result->end[which];
    bool recorded = result->source[which] == STAT_TRACE;
    const char *subject = recorded ? "the recorded program" : "the program";
    if (result->source_count > 1)
        subject = which ? "the second program" : "the first program";
    if (end->how == TRACE_ENDED_SIGNAL)
        snprintf(out, size, "%s was ended by signal %d", subject, end->status);
    else if (end->how == TRACE_ENDED_EXIT)
        snprintf(out, size, "%s exited with status %d", subject, end->status);
    else if (end->how == TRACE_ENDED_SNIPPET)
        snprintf(out, size, "%s ran to its end",
                 result->source_count > 1 ? subject : "the snippet");
    else
        snprintf(out, size, "%s did not come to its end", subject);
}

static void print_end(FILE *out, const struct stat_result *result, unsigned which)
{
    char text[128];
    const struct trace_end *end = &result->end[which];
    if (result->stop == SIM_STOP_END) {
        stat_end_text(result, which, text, sizeof text);
        fprintf(out, " %s", text);
        if (end->processes > 1)
            fprintf(out, "; %u processes", (unsigned)end->processes);
        if (end->threads > 1)
            fprintf(out, "; %u threads", (unsigned)end->threads);
        if (end->signals)
            fprintf(out, "; %llu signals handled", (unsigned long long)end->signals);
        if (end->uncounted_processes)
            fprintf(out, "; %llu %s ran uncounted", (unsigned long long)end->uncounted_processes,
                    end->uncounted_processes == 1 ? "process" : "processes");
        fputc('\n', out);
    }
    if (end->note[0])
        fprintf(out, " note: %s\n", end->note);
}

static void print_kernel(FILE *out, const struct stat_result *result)
{
    char interrupts[32], faults[32], clocks[32];
    if (!result->kernel.on)
        return;
    grouped(result->stats.interrupts, interrupts);
    grouped(result->stats.page_faults, faults);
    grouped(result->stats.handler_clocks, clocks);
    fprintf(out,
            " with the model's kernel (p4sim explain os-model): %s interrupts and %s page faults "
            "took %s clocks\n",
            interrupts, faults, clocks);
}

static void print_speed(FILE *out, const struct stat_result *result)
{
    char clocks[32], instructions[32];
    const struct nb_stats *stats = &result->stats;
    double runs = (double)result->passes_run;
    double seconds = result->seconds > 0 ? result->seconds : 1e-9;
    grouped(stats->clocks, clocks);
    grouped(stats->instructions, instructions);
    fprintf(out, " %s clocks and %s instructions simulated: %.6f seconds at %u MHz\n", clocks,
            instructions, (double)stats->clocks / (1e6 * result->model.params.core_mhz),
            (unsigned)result->model.params.core_mhz);
    fprintf(out, " %.2f seconds here, %.3f million instructions/s, %.3f million clocks/s\n",
            result->seconds, 1e-6 * runs * (double)stats->instructions / seconds,
            1e-6 * runs * (double)stats->clocks / seconds);
}

/* Not simulated. */
static void print_native(FILE *out, const struct stat_result *result)
{
    fprintf(out, " rest: %s\n", result->native_text);
    for (size_t i = 0; i < result->row_count; i++)
        fprintf(out, "%20s  %s\n", "<not counted>", result->rows[i].request.text);
}

/* A region's numbers, then what each event counted in it alone and with all inside. */
static void print_part(FILE *out, const struct stat_result *result, const struct stat_part *part)
{
    char own[32], all[32], entries[32];
    const char *missing = stat_part_missing(part);
    bool nests = part->part.kind == SIM_PART_REGION;
    if (part->native) {
        print_native(out, result);
        return;
    }
    grouped(part->part.entries, entries);
    fprintf(out, " %s%s", nests ? "region " : "", part->part.name);
    if (nests && !missing)
        fprintf(out, ": entered %s %s", entries, part->part.entries == 1 ? "time" : "times");
    fprintf(out, "%s%s\n", missing ? ": " : "", missing ? missing : "");
    if (missing)
        return;
    if (nests)
        fprintf(out, "%20s  %20s\n", "all inside", "own");
    for (size_t i = 0; i < result->row_count; i++) {
        if (!result->rows[i].counted)
            continue;
        grouped(part->own[i], own);
        grouped(part->all[i], all);
        if (nests)
            fprintf(out, "%20s  ", all);
        fprintf(out, "%20s  %s\n", own, result->rows[i].request.text);
    }
}

static void print_parts(FILE *out, const struct stat_result *result)
{
    for (size_t i = 0; i < result->part_count; i++) {
        print_part(out, result, &result->parts[i]);
        fputc('\n', out);
    }
    if (result->parts_lost)
        fprintf(out, " %zu more markers are counted in the rest: there is room for %d regions\n\n",
                result->parts_lost, (int)SIM_REGIONS);
}

static void print_trouble(FILE *out, const struct stat_result *result)
{
    if (result->partial)
        fprintf(out, " partial counts: %s\n", result->trouble);
    else if (result->trouble[0])
        fprintf(out, " error: %s\n", result->trouble);
    if (result->stats.approximate_instructions)
        fprintf(out,
                " %llu executed instructions have no row in the table of forms and were timed as "
                "similar ones\n",
                (unsigned long long)result->stats.approximate_instructions);
}

void stat_print_table(FILE *out, const struct stat_options *options,
                      const struct stat_result *result)
{
    fprintf(out, "\n Counters of model %s (%s)\n for '%s'%s%s:\n\n", result->model.name,
            result->model.title, result->what, options->only_regions ? ", in its regions only" : "",
            result->partial ? " (PARTIAL)" : "");
    for (size_t i = 0; i < result->row_count; i++) {
        const struct stat_row *row = &result->rows[i];
        print_row(out, row, &result->stats);
        if (options->registers)
            print_registers(out, row, &result->passes[row->pass].plan);
    }
    fputc('\n', out);
    print_parts(out, result);
    if (result->passes_run > 1)
        fprintf(out, " counted in %zu passes over the same instructions: %s\n", result->passes_run,
                result->split);
    print_trouble(out, result);
    for (unsigned i = 0; i < result->source_count; i++)
        print_end(out, result, i);
    print_kernel(out, result);
    print_speed(out, result);
    if (options->statistics) {
        print_statistics(out, result);
        for (unsigned i = 0; i < result->source_count; i++)
            print_executors(out, &result->end[i]);
    }
    fputc('\n', out);
}
