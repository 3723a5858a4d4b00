/* What annotate shows: functions with samples, and a function's instructions. */
#include "annotate.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 200000 };

static bool same_part(const struct annotate_part *part, uint16_t process, const struct place *place)
{
    if (part->process != process || strcmp(part->place.object, place->object) != 0)
        return false;
    if (!part->place.function || !place->function)
        return part->place.function == place->function;
    return part->place.start == place->start;
}

static int compare_parts(const void *left, const void *right)
{
    const struct annotate_part *a = left, *b = right;
    if (a->samples != b->samples)
        return a->samples < b->samples ? 1 : -1;
    return (a->place.start > b->place.start) - (a->place.start < b->place.start);
}

struct annotate_part *annotate_parts(const struct annotate *a, size_t *count)
{
    struct annotate_part *parts = NULL;
    *count = 0;
    for (size_t i = 0; i < a->samples->count; i++) {
        const struct samples_sample *sample = &a->samples->sample[i];
        const struct sim_sample *s = &sample->about;
        if (sample->event != a->event)
            continue;
        struct place place = places_code(a->places, s->process, s->ip);
        size_t at = 0;
        while (at < *count && !same_part(&parts[at], s->process, &place))
            at++;
        if (at == *count) {
            struct annotate_part *bigger = realloc(parts, (*count + 1) * sizeof *parts);
            if (!bigger)
                break;
            parts = bigger;
            parts[(*count)++] = (struct annotate_part){.process = s->process, .place = place};
        }
        parts[at].samples++;
    }
    if (*count)
        qsort(parts, *count, sizeof *parts, compare_parts);
    return parts;
}

/* ---- instructions ------------------------------------------------------------------------------
 */

static struct annotate_row *add_row(struct annotate_row **rows, size_t *count)
{
    if (*count % 1024 == 0) {
        struct annotate_row *bigger =
            *count < ROWS_MOST ? realloc(*rows, (*count + 1024) * sizeof **rows) : NULL;
        if (!bigger)
            return NULL;
        *rows = bigger;
    }
    struct annotate_row *row = &(*rows)[(*count)++];
    *row = (struct annotate_row){0};
    return row;
}

static void fill_row(const struct annotate *a, uint16_t process, uint64_t ip,
                     struct annotate_row *row)
{
    struct place place = places_code(a->places, process, ip);
    row->ip = ip;
    row->line = place.line;
    snprintf(row->file, sizeof row->file, "%s", place.file ? place.file : "");
    row->exact = samples_exact_at(a->samples, a->event, process, ip);
    row->exact_known = a->samples->complete && a->samples->end.exact[a->event] &&
                       strcmp(place.object, "[kernel]") != 0;
}

/* The function's bytes one after the other, as the file has them. */
static bool rows_of_file(const struct annotate *a, const struct annotate_part *part,
                         struct annotate_row **rows, size_t *count)
{
    const struct place *place = &part->place;
    uint8_t bytes[TRACE_INSTRUCTION_BYTES];
    uint64_t ip = place->start, end = place->start + place->size;
    if (!place->function || !place->size ||
        !places_bytes(a->places, part->process, ip, bytes, sizeof bytes))
        return false;
    while (ip < end) {
        size_t known = places_bytes(a->places, part->process, ip, bytes, sizeof bytes);
        struct annotate_row *row = known ? add_row(rows, count) : NULL;
        if (!row)
            break;
        fill_row(a, part->process, ip, row);
        unsigned length = operand_text(a->operands, bytes, known, ip, row->text, sizeof row->text);
        ip += length ? length : 1;
    }
    return true;
}

/* Only what was executed and met: the file is not here, or gives no size. */
static void rows_of_code(const struct annotate *a, const struct annotate_part *part,
                         struct annotate_row **rows, size_t *count)
{
    for (size_t i = 0; i < a->samples->code_count; i++) {
        const struct samples_code *code = &a->samples->code[i];
        struct place place = places_code(a->places, code->process, code->ip);
        struct annotate_row *row =
            same_part(part, code->process, &place) ? add_row(rows, count) : NULL;
        if (!row)
            continue;
        fill_row(a, code->process, code->ip, row);
        operand_text(a->operands, code->bytes, code->length, code->ip, row->text, sizeof row->text);
    }
}

static struct annotate_row *row_at(struct annotate_row *rows, size_t count, uint64_t ip)
{
    size_t low = 0;
    while (count) {
        size_t half = count / 2;
        if (rows[low + half].ip < ip) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return rows[low].ip == ip ? &rows[low] : NULL;
}

static void count_samples(const struct annotate *a, const struct annotate_part *part,
                          struct annotate_row *rows, size_t count)
{
    for (size_t i = 0; i < a->samples->count; i++) {
        const struct samples_sample *sample = &a->samples->sample[i];
        const struct sim_sample *s = &sample->about;
        if (sample->event != a->event || s->process != part->process || s->ip < rows[0].ip ||
            s->ip > rows[count - 1].ip)
            continue;
        struct annotate_row *row = row_at(rows, count, s->ip);
        if (row)
            row->samples++;
    }
}

struct annotate_row *annotate_rows(const struct annotate *a, const struct annotate_part *part,
                                   size_t *count)
{
    struct annotate_row *rows = NULL;
    *count = 0;
    if (!rows_of_file(a, part, &rows, count))
        rows_of_code(a, part, &rows, count);
    if (*count)
        count_samples(a, part, rows, *count);
    return rows;
}

/* ---- the error of sampling ---------------------------------------------------------------------
 */

static int compare_addresses(const void *left, const void *right)
{
    const struct samples_exact *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->ip > b->ip) - (a->ip < b->ip);
}

/* The event's samples as counts by instruction, sorted. */
static struct samples_exact *sampled(const struct annotate *a, size_t *count)
{
    struct samples_exact *list = malloc((a->samples->count + 1) * sizeof *list);
    size_t n = 0, kept = 0;
    *count = 0;
    if (!list)
        return NULL;
    for (size_t i = 0; i < a->samples->count; i++) {
        const struct samples_sample *sample = &a->samples->sample[i];
        if (sample->event == a->event)
            list[n++] = (struct samples_exact){.event = a->event,
                                               .process = sample->about.process,
                                               .ip = sample->about.ip,
                                               .count = 1};
    }
    qsort(list, n, sizeof *list, compare_addresses);
    for (size_t i = 0; i < n; i++) {
        if (kept && !compare_addresses(&list[kept - 1], &list[i]))
            list[kept - 1].count++;
        else
            list[kept++] = list[i];
    }
    *count = kept;
    return list;
}

bool annotate_error(const struct annotate *a, double *error)
{
    size_t count;
    double exact = 0, shared = 0, all = (double)a->all;
    for (size_t i = 0; i < a->samples->exact_count; i++)
        if (a->samples->exact[i].event == a->event)
            exact += (double)a->samples->exact[i].count;
    struct samples_exact *list = sampled(a, &count);
    for (size_t i = 0; i < count && exact > 0; i++) {
        double one = (double)list[i].count / all;
        double other =
            (double)samples_exact_at(a->samples, a->event, list[i].process, list[i].ip) / exact;
        shared += one < other ? one : other;
    }
    free(list);
    *error = 1 - shared;
    return exact > 0 && all > 0;
}
