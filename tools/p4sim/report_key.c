/* From a sample to the name under which it is counted. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096 };

struct name {
    char text[REPORT_NAME];
    uint64_t order;
};

static const struct {
    const char *title;
    bool by_order;
} keys[] = {
#define K(name, title, by_order, text) {title, by_order},
    REPORT_KEYS(K)
#undef K
};

const char *report_key_title(enum report_key key)
{
    return keys[key].title;
}

/* ---- code --------------------------------------------------------------------------------------
 */

static void name_function(const struct report_column *c, uint16_t process, uint64_t ip,
                          struct name *name)
{
    struct place place = places_code(c->places, process, ip);
    name->order = place.function ? place.start : ip;
    if (place.function)
        snprintf(name->text, sizeof name->text, "%.400s  (%.200s)", place.function, place.object);
    else
        snprintf(name->text, sizeof name->text, "[no function]  (%.200s)", place.object);
}

static void name_instruction(const struct report_column *c, uint16_t process, uint64_t ip,
                             struct name *name)
{
    struct place place = places_code(c->places, process, ip);
    const struct samples_code *code = samples_code_at(c->samples, process, ip);
    char text[128] = "", where[256] = "";
    if (code)
        operand_text(c->operands, code->bytes, code->length, ip, text, sizeof text);
    if (place.function)
        snprintf(where, sizeof where, "%.200s+0x%" PRIx64, place.function, place.offset);
    else
        snprintf(where, sizeof where, "%.200s", place.object);
    name->order = ip;
    snprintf(name->text, sizeof name->text, "%#" PRIx64 "  %s  %s", ip, where, text);
}

static void name_line(const struct report_column *c, uint16_t process, uint64_t ip,
                      struct name *name)
{
    struct place place = places_code(c->places, process, ip);
    const char *slash = place.file ? strrchr(place.file, '/') : NULL;
    name->order = (uint64_t)place.line;
    if (place.file)
        snprintf(name->text, sizeof name->text, "%.400s:%d  (%.200s)",
                 slash ? slash + 1 : place.file, place.line,
                 place.function ? place.function : place.object);
    else
        snprintf(name->text, sizeof name->text, "[no line]  (%.200s)",
                 place.function ? place.function : place.object);
}

static void name_object(const struct report_column *c, uint16_t process, uint64_t ip,
                        struct name *name)
{
    snprintf(name->text, sizeof name->text, "%.600s", places_code(c->places, process, ip).object);
}

/* ---- data --------------------------------------------------------------------------------------
 */

bool report_address(const struct report_column *column, const struct samples_sample *sample,
                    uint64_t *address, const char **why)
{
    const struct sim_sample *s = &sample->about;
    return operand_address(column->operands, samples_code_at(column->samples, s->process, s->ip), s,
                           address, why);
}

static void name_variable(const struct report_column *c, uint16_t process, uint64_t address,
                          struct name *name)
{
    struct place place = places_find(c->places, process, address);
    if (place.function)
        snprintf(name->text, sizeof name->text, "%.400s  (%.200s)", place.function, place.object);
    else
        snprintf(name->text, sizeof name->text, "%.600s", place.object);
}

static void name_range(const struct report_options *options, uint64_t address, struct name *name)
{
    snprintf(name->text, sizeof name->text, "[outside]");
    name->order = UINT64_MAX;
    for (unsigned i = 0; i < options->range_count; i++) {
        const struct report_range *range = &options->range[i];
        if (address < range->start || address >= range->end)
            continue;
        snprintf(name->text, sizeof name->text, "%s  %#" PRIx64 "-%#" PRIx64, range->name,
                 range->start, range->end);
        name->order = range->start;
        return;
    }
}

static void name_data(const struct report_options *options, const struct report_column *c,
                      uint16_t process, uint64_t address, struct name *name)
{
    const struct samples_about *about = &c->samples->about;
    uint64_t line = about->l1_line_bytes ? about->l1_line_bytes : 64;
    switch (options->by) {
    case REPORT_BY_CACHE_LINE:
        name->order = address / line * line;
        break;
    case REPORT_BY_PAGE:
        name->order = address / PAGE_BYTES * PAGE_BYTES;
        break;
    case REPORT_BY_SET:
        name->order = about->l1_sets ? address / line % about->l1_sets : 0;
        snprintf(name->text, sizeof name->text, "set %" PRIu64, name->order);
        return;
    case REPORT_BY_VARIABLE:
        name_variable(c, process, address, name);
        return;
    case REPORT_BY_RANGE:
        name_range(options, address, name);
        return;
    default:
        name->order = address;
    }
    snprintf(name->text, sizeof name->text, "%#" PRIx64, name->order);
}

/* ---- the rest ----------------------------------------------------------------------------------
 */

static uint64_t last_clock(const struct samples *samples)
{
    uint64_t last = samples->complete ? samples->end.clocks : 0;
    for (size_t i = 0; i < samples->count; i++)
        if (samples->sample[i].about.clock > last)
            last = samples->sample[i].about.clock;
    return last;
}

static void name_time(const struct report_column *c, const struct sim_sample *s, struct name *name)
{
    uint64_t interval = c->last_clock / REPORT_INTERVALS + 1;
    name->order = s->clock / interval;
    snprintf(name->text, sizeof name->text, "%.6f ms",
             (double)(name->order * interval) / (1e3 * c->samples->about.core_mhz));
}

static bool name_skid(const struct samples_sample *sample, struct name *name, const char **why)
{
    int64_t skid = sample->about.skid_instructions;
    if (!sample->skid_known) {
        *why = "no single instruction made the counter overflow, or a handler came between";
        return false;
    }
    name->order = (uint64_t)skid + (UINT64_C(1) << 63);
    snprintf(name->text, sizeof name->text, "%+" PRId64, skid);
    return true;
}

static bool is_data(enum report_key by)
{
    return by >= REPORT_BY_ADDRESS && by <= REPORT_BY_RANGE;
}

static void name_code(const struct report *report, const struct report_column *c,
                      const struct samples_sample *sample, uint64_t ip, struct name *name)
{
    const struct sim_sample *s = &sample->about;
    switch (report->options->by) {
    case REPORT_BY_FUNCTION:
        name_function(c, s->process, ip, name);
        break;
    case REPORT_BY_INSTRUCTION:
        name_instruction(c, s->process, ip, name);
        break;
    case REPORT_BY_LINE:
        name_line(c, s->process, ip, name);
        break;
    case REPORT_BY_OBJECT:
        name_object(c, s->process, ip, name);
        break;
    case REPORT_BY_PROCESS:
        name->order = s->process;
        snprintf(name->text, sizeof name->text, "process %u", s->process);
        break;
    case REPORT_BY_THREAD:
        name->order = (uint64_t)s->process << 16 | s->thread;
        snprintf(name->text, sizeof name->text, "process %u thread %u", s->process, s->thread);
        break;
    case REPORT_BY_TIME:
        name_time(c, s, name);
        break;
    default:
        name->order = sample->event;
        snprintf(name->text, sizeof name->text, "%s",
                 sample->event < c->samples->about.event_count
                     ? c->samples->about.event[sample->event].text
                     : "branches");
    }
}

/* False with *WHY when the sample has no place in this report. */
static bool name_sample(const struct report *report, const struct report_column *c,
                        const struct samples_sample *sample, struct name *name, const char **why)
{
    const struct report_options *options = report->options;
    uint64_t address, ip = sample->about.ip;
    name->order = 0;
    if (options->by == REPORT_BY_SKID)
        return name_skid(sample, name, why);
    if (is_data(options->by)) {
        if (!report_address(c, sample, &address, why))
            return false;
        name_data(options, c, sample->about.process, address, name);
        return true;
    }
    if (options->truth && !sample->about.truth_known) {
        *why = "no single instruction made the counter overflow";
        return false;
    }
    name_code(report, c, sample, options->truth ? sample->about.truth_ip : ip, name);
    return true;
}

static void count_column(struct report *report, unsigned column)
{
    struct report_column *c = &report->column[column];
    struct name name;
    const char *why;
    c->last_clock = last_clock(c->samples);
    for (size_t i = 0; i < c->samples->count; i++) {
        const struct samples_sample *sample = &c->samples->sample[i];
        if (sample->event != c->event && report->options->by != REPORT_BY_EVENT)
            continue;
        if (name_sample(report, c, sample, &name, &why)) {
            tally_add(&report->tally, column, name.text, name.order, 1);
        } else {
            c->left_out++;
            c->why = c->why ? c->why : why;
        }
    }
}

bool report_count(struct report *report)
{
    for (unsigned i = 0; i < report->columns; i++)
        count_column(report, i);
    return !report->tally.out_of_memory;
}

void report_sort(struct report *report)
{
    enum report_sort sort = report->options->sort;
    if (sort == REPORT_SORT_DEFAULT)
        sort = keys[report->options->by].by_order ? REPORT_SORT_ORDER
               : report->columns > 1              ? REPORT_SORT_CHANGE
                                                  : REPORT_SORT_COUNT;
    if (sort == REPORT_SORT_ORDER)
        tally_sort_by_order(&report->tally);
    else if (sort == REPORT_SORT_CHANGE)
        tally_sort_by_change(&report->tally);
    else
        tally_sort(&report->tally);
}

/* ---- skid --------------------------------------------------------------------------------------
 */

static int compare_signed(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void take_distances(const struct report_column *column, int64_t *instructions,
                           int64_t *clocks, struct report_skid *skid)
{
    for (size_t i = 0; i < column->samples->count; i++) {
        const struct samples_sample *sample = &column->samples->sample[i];
        const struct sim_sample *s = &sample->about;
        if (sample->event != column->event || !sample->skid_known)
            continue;
        instructions[skid->known] = s->skid_instructions;
        clocks[skid->known++] = (int64_t)(s->clock - s->overflow_clock);
        skid->on_it += s->ip == s->truth_ip;
    }
}

bool report_skid_of(const struct report_column *column, struct report_skid *skid)
{
    size_t count = column->samples->count;
    int64_t *instructions = malloc((count + 1) * sizeof *instructions);
    int64_t *clocks = malloc((count + 1) * sizeof *clocks);
    *skid = (struct report_skid){0};
    if (instructions && clocks)
        take_distances(column, instructions, clocks, skid);
    size_t n = (size_t)skid->known;
    if (n) {
        qsort(instructions, n, sizeof *instructions, compare_signed);
        qsort(clocks, n, sizeof *clocks, compare_signed);
        skid->least = instructions[0];
        skid->median = instructions[n / 2];
        skid->ninety = instructions[n * 9 / 10];
        skid->most = instructions[n - 1];
        skid->clocks_least = (uint64_t)clocks[0];
        skid->clocks_median = (uint64_t)clocks[n / 2];
        skid->clocks_ninety = (uint64_t)clocks[n * 9 / 10];
        skid->clocks_most = (uint64_t)clocks[n - 1];
    }
    free(instructions);
    free(clocks);
    return n != 0;
}
