/* Text forms of samples: perf script's, and collapsed stacks. */
#include "export.h"
#include "tally.h"

#include <inttypes.h>
#include <string.h>

uint64_t export_frame(const struct samples_sample *sample, unsigned index)
{
    return index ? sample->frame[index - 1] - 1 : sample->about.ip;
}

void export_frame_name(struct places *places, uint16_t process, uint64_t address, char *name,
                       size_t size)
{
    struct place place = places_code(places, process, address);
    if (place.function)
        snprintf(name, size, "%s", place.function);
    else
        snprintf(name, size, place.object[0] == '[' ? "%s" : "[%s]", place.object);
}

void export_command(const struct samples *samples, char *name, size_t size)
{
    const char *from = samples->about.program;
    size_t length = strcspn(from, " ");
    for (size_t i = 0; i < length; i++)
        if (from[i] == '/' && i + 1 < length) {
            from += i + 1;
            length -= i + 1;
            i = (size_t)-1;
        }
    snprintf(name, size, "%.*s", (int)length, from);
}

/* ---- perf script -------------------------------------------------------------------------------
 */

static void perf_frame(FILE *out, struct places *places, uint16_t process, uint64_t address)
{
    struct place place = places_code(places, process, address);
    if (place.function)
        fprintf(out, "\t%16" PRIx64 " %s+0x%" PRIx64 " (%s)\n", address, place.function,
                place.offset, place.object);
    else
        fprintf(out, "\t%16" PRIx64 " [unknown] (%s)\n", address, place.object);
}

/* The last branches as perf's field brstack, the newest first; nobody predicted or aborted. */
static void perf_last_branches(FILE *out, const struct sim_sample *s)
{
    for (unsigned i = 0; i < s->last_branch_count; i++)
        fprintf(out, " 0x%" PRIx64 "/0x%" PRIx64 "/-/-/-/0", s->last_branch[i].from,
                s->last_branch[i].to);
    if (s->last_branch_count)
        fputc('\n', out);
}

static const char *event_text(const struct samples *samples, unsigned event)
{
    return event < samples->about.event_count ? samples->about.event[event].text : "branches";
}

static void perf_sample(FILE *out, const struct samples *samples, struct places *places,
                        const char *command, const struct samples_sample *sample)
{
    const struct sim_sample *s = &sample->about;
    uint64_t period =
        sample->event < samples->about.event_count ? samples->about.event[sample->event].period : 1;
    double seconds = (double)s->clock / (1e6 * samples->about.core_mhz);
    fprintf(out, "%s %u/%u [%03u] %.9f: %10" PRIu64 " %s:\n", command, s->process + 1u,
            s->thread + 1u, s->lp, seconds, period, event_text(samples, sample->event));
    for (unsigned i = 0; i <= sample->frames; i++)
        perf_frame(out, places, s->process, export_frame(sample, i));
    if (s->kind == SIM_SAMPLE_BRANCH)
        perf_frame(out, places, s->process, s->branch_to);
    perf_last_branches(out, s);
    fputc('\n', out);
}

void export_perf_script(FILE *out, const struct samples *samples, struct places *places)
{
    char command[64];
    export_command(samples, command, sizeof command);
    for (size_t i = 0; i < samples->count; i++)
        perf_sample(out, samples, places, command, &samples->sample[i]);
}

/* ---- collapsed stacks --------------------------------------------------------------------------
 */

enum { LINE_BYTES = 16384 };

/* A function's name without what would end a frame or the stack. */
static void append_frame(char line[LINE_BYTES], size_t *used, const char *name)
{
    for (; *name && *used < LINE_BYTES - 1; name++)
        line[(*used)++] = *name == ';' ? ':' : *name == ' ' ? '_' : *name;
    line[*used] = '\0';
}

static void collapse(struct places *places, const char *command,
                     const struct samples_sample *sample, char line[LINE_BYTES])
{
    char name[512];
    size_t used = 0;
    append_frame(line, &used, command);
    for (unsigned i = sample->frames + 1; i-- > 0 && used < LINE_BYTES - 1;) {
        export_frame_name(places, sample->about.process, export_frame(sample, i), name,
                          sizeof name);
        line[used++] = ';';
        append_frame(line, &used, name);
    }
}

bool export_collapsed(FILE *out, const struct samples *samples, struct places *places)
{
    struct tally stacks = {0};
    char command[64], line[LINE_BYTES];
    export_command(samples, command, sizeof command);
    for (size_t i = 0; i < samples->count; i++) {
        collapse(places, command, &samples->sample[i], line);
        tally_add(&stacks, 0, line, 0, 1);
    }
    tally_sort_by_order(&stacks);
    for (size_t i = 0; i < stacks.count; i++)
        fprintf(out, "%s %" PRIu64 "\n", stacks.row[i].name, stacks.row[i].count[0]);
    bool good = !stacks.out_of_memory;
    tally_free(&stacks);
    return good;
}
