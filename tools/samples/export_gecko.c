/*
 * Samples in the Gecko profile format: one thread object for each thread of each process, with a
 * table of stacks (a tree: each entry names its caller's entry), one of frames and one of strings.
 *
 * Times are milliseconds of simulated time.
 */
#include "export.h"
#include "tally.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { GECKO_VERSION = 24, THREADS = 4096 };

struct gecko_thread {
    uint16_t process, thread;
    struct tally strings, stacks; /* names by number; a stack's is its caller's number and frame */
    json_t *frame_rows, *stack_rows, *sample_rows, *string_rows;
};

struct gecko {
    const struct samples *samples;
    struct places *places;
    struct gecko_thread *thread;
    size_t count;
    bool out_of_memory;
};

static struct gecko_thread *thread_of(struct gecko *gecko, const struct sim_sample *s)
{
    for (size_t i = 0; i < gecko->count; i++)
        if (gecko->thread[i].process == s->process && gecko->thread[i].thread == s->thread)
            return &gecko->thread[i];
    struct gecko_thread *bigger =
        gecko->count < THREADS ? realloc(gecko->thread, (gecko->count + 1) * sizeof *bigger) : NULL;
    if (!bigger)
        return NULL;
    gecko->thread = bigger;
    struct gecko_thread *thread = &bigger[gecko->count++];
    *thread = (struct gecko_thread){.process = s->process, .thread = s->thread};
    thread->frame_rows = json_array();
    thread->stack_rows = json_array();
    thread->sample_rows = json_array();
    thread->string_rows = json_array();
    return thread;
}

/* One frame a function: the number of its name is that of its frame. */
static size_t frame_number(struct gecko_thread *thread, const char *name)
{
    size_t before = thread->strings.count;
    size_t number = tally_number(&thread->strings, name);
    if (number == before) {
        json_array_append_new(thread->string_rows, json_string(name));
        json_array_append_new(thread->frame_rows, json_pack("[I, b, i, n, n, n, n, i, n]",
                                                            (json_int_t)number, 0, 0, 0));
    }
    return number;
}

/* The stack of FRAME called from stack CALLER (SIZE_MAX: nobody). */
static size_t stack_number(struct gecko_thread *thread, size_t caller, size_t frame)
{
    char name[64];
    snprintf(name, sizeof name, "%zx %zx", caller, frame);
    size_t before = thread->stacks.count;
    size_t number = tally_number(&thread->stacks, name);
    if (number == before) {
        json_t *prefix = caller == SIZE_MAX ? json_null() : json_integer((json_int_t)caller);
        json_array_append_new(thread->stack_rows, json_pack("[o, I]", prefix, (json_int_t)frame));
    }
    return number;
}

static void add_sample(struct gecko *gecko, const struct samples_sample *sample)
{
    char name[512];
    struct gecko_thread *thread = thread_of(gecko, &sample->about);
    size_t stack = SIZE_MAX;
    gecko->out_of_memory |= !thread;
    if (!thread)
        return;
    for (unsigned i = sample->frames + 1; i-- > 0;) {
        export_frame_name(gecko->places, sample->about.process, export_frame(sample, i), name,
                          sizeof name);
        stack = stack_number(thread, stack, frame_number(thread, name));
    }
    double milliseconds = (double)sample->about.clock / (1e3 * gecko->samples->about.core_mhz);
    json_array_append_new(thread->sample_rows,
                          json_pack("[I, f, i]", (json_int_t)stack, milliseconds, 0));
}

static json_t *table(const char *const *columns, json_t *rows)
{
    json_t *schema = json_object();
    for (int i = 0; columns[i]; i++)
        json_object_set_new(schema, columns[i], json_integer(i));
    return json_pack("{s:o, s:o}", "schema", schema, "data", rows);
}

static json_t *thread_json(const char *command, struct gecko_thread *thread)
{
    static const char *const frame[] = {
        "location", "relevantForJS", "innerWindowID", "implementation", "optimizations",
        "line",     "column",        "category",      "subcategory",    NULL};
    static const char *const stack[] = {"prefix", "frame", NULL};
    static const char *const sample[] = {"stack", "time", "responsiveness", NULL};
    static const char *const marker[] = {"name",     "startTime", "endTime", "phase",
                                         "category", "data",      NULL};
    json_t *object = json_pack("{s:s, s:s, s:i, s:i, s:f, s:n}", "name", command, "processType",
                               "default", "pid", thread->process + 1, "tid", thread->thread + 1,
                               "registerTime", 0.0, "unregisterTime");
    json_object_set_new(object, "frameTable", table(frame, thread->frame_rows));
    json_object_set_new(object, "stackTable", table(stack, thread->stack_rows));
    json_object_set_new(object, "samples", table(sample, thread->sample_rows));
    json_object_set_new(object, "markers", table(marker, json_array()));
    json_object_set_new(object, "stringTable", thread->string_rows);
    return object;
}

static json_t *meta_json(const struct samples *samples)
{
    const struct samples_about *about = &samples->about;
    json_t *categories = json_pack("[{s:s, s:s, s:[s]}]", "name", "User", "color", "yellow",
                                   "subcategories", "Other");
    double interval = about->event_count && about->core_mhz
                          ? (double)about->event[0].period / (1e3 * about->core_mhz)
                          : 1.0;
    return json_pack("{s:i, s:f, s:f, s:n, s:i, s:i, s:i, s:i, s:i, s:s, s:b, s:o, s:[]}",
                     "version", GECKO_VERSION, "interval", interval, "startTime", 0.0,
                     "shutdownTime", "processType", 0, "stackwalk", 1, "debug", 0, "gcpoison", 0,
                     "asyncstack", 0, "product", about->made_by, "presymbolicated", 1, "categories",
                     categories, "markerSchema");
}

bool export_gecko(FILE *out, const struct samples *samples, struct places *places)
{
    struct gecko gecko = {.samples = samples, .places = places};
    char command[64];
    json_t *threads = json_array();
    export_command(samples, command, sizeof command);
    for (size_t i = 0; i < samples->count; i++)
        add_sample(&gecko, &samples->sample[i]);
    for (size_t i = 0; i < gecko.count; i++) {
        struct gecko_thread *thread = &gecko.thread[i];
        gecko.out_of_memory |= thread->strings.out_of_memory || thread->stacks.out_of_memory;
        json_array_append_new(threads, thread_json(command, thread));
        tally_free(&thread->strings);
        tally_free(&thread->stacks);
    }
    free(gecko.thread);
    json_t *root = json_pack("{s:o, s:[], s:o, s:[], s:[]}", "meta", meta_json(samples), "libs",
                             "threads", threads, "processes", "pausedRanges");
    bool good = root && !gecko.out_of_memory && json_dumpf(root, out, JSON_COMPACT) == 0;
    json_decref(root);
    return good;
}
