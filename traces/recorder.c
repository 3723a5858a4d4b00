/* The log of a recorded run; recorder.h says what is logged, docs/trace-format.md in which form. */
#include "recorder.h"
#include "page_store.h"
#include "regions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_INSTRUCTIONS = 1 << 16, /* what a recording that is killed loses; model choice */
    LOG_BYTES = 1 << 16,          /* of a chunk, unpacked: more gains little */
    CHECKPOINT_EVERY = 1 << 22,   /* instructions: a fraction of a second of replay */
    CHECKPOINT_SHARE = 64,        /* instructions per byte of checkpoint: an eighth of a bit each */
    PATCH_BYTES_MAX = 2048,       /* larger changes are written as a new content of the page */
};

struct known_thread {
    bool known;
    uint16_t process;
    struct interpret_state state; /* as a replay has it, while the thread is not interpreted */
};

struct watched_process {
    struct recorder *recorder;
    uint16_t number;
    unsigned mode;
    bool in_checkpoint, gone;
    struct interpret_memory *memory;
    const struct code_page_set *code;
};

struct recorder {
    struct writer *writer;
    struct page_store *store;
    struct stream_buffer log;
    uint64_t instructions;       /* all so far */
    uint64_t chunk_first;        /* those before this chunk */
    uint64_t run;                /* interpreted instructions not yet in the log */
    uint64_t chunk_instructions; /* at most */
    uint64_t checkpoint_every, next_checkpoint;
    uint64_t checkpoint_share; /* at least that many instructions per byte of checkpoint, or 0 */
    uint64_t log_page;         /* page numbers are written as differences */
    const struct interpret_state *running; /* the interpreted thread's, or NULL */
    uint16_t thread, process;
    bool anyone; /* thread and process are in the log */
    struct known_thread **threads;
    size_t thread_count;
    struct watched_process **processes;
    size_t process_count;
    struct object_log objects;
    size_t objects_in_checkpoint;
    struct place_log executed;
    const struct name_list *names; /* or NULL: those of the files */
    struct region_list regions;
    struct marker_look look;
};

/* ---- growing tables ----------------------------------------------------------------------------
 */

static bool reach(struct recorder *recorder, void ***table, size_t *count, size_t index)
{
    void **bigger;

    if (index < *count)
        return true;
    bigger = realloc(*table, (index + 1) * sizeof(*bigger));
    if (!bigger) {
        writer_fail(recorder->writer, "no memory for more threads");
        return false;
    }
    memset(bigger + *count, 0, (index + 1 - *count) * sizeof *bigger);
    *table = bigger;
    *count = index + 1;
    return true;
}

static struct known_thread *known(struct recorder *recorder, uint16_t thread)
{
    void **table = (void **)recorder->threads;

    if (!reach(recorder, &table, &recorder->thread_count, thread))
        return NULL;
    recorder->threads = (struct known_thread **)table;
    if (!recorder->threads[thread])
        recorder->threads[thread] = calloc(1, sizeof **recorder->threads);
    if (!recorder->threads[thread])
        writer_fail(recorder->writer, "no memory for more threads");
    return recorder->threads[thread];
}

/* ---- the log -----------------------------------------------------------------------------------
 */

static void flush_run(struct recorder *recorder)
{
    if (!recorder->run)
        return;
    if (recorder->run <= RECORD_SHORT_RUN_MAX) {
        stream_put_byte(&recorder->log, RECORD_RUN | (unsigned)recorder->run);
    } else {
        stream_put_byte(&recorder->log, RECORD_LONG_RUN);
        stream_put_varint(&recorder->log, recorder->run);
    }
    recorder->run = 0;
}

/* Writes the log so far as a chunk. */
static void cut(struct recorder *recorder)
{
    flush_run(recorder);
    if (recorder->log.failed)
        writer_fail(recorder->writer, "no memory for the log");
    page_store_flush(recorder->store);
    if (recorder->log.used)
        writer_chunk(recorder->writer, STREAM_LOG, recorder->chunk_first,
                     recorder->instructions - recorder->chunk_first, recorder->log.bytes,
                     recorder->log.used);
    recorder->chunk_first = recorder->instructions;
    recorder->log.used = 0;
    recorder->log_page = 0;
}

static void begin_record(struct recorder *recorder, unsigned kind)
{
    flush_run(recorder);
    if (recorder->log.used > STREAM_CHUNK_RAW_MAX - 2 * STREAM_RECORD_MAX)
        cut(recorder);
    stream_put_byte(&recorder->log, kind);
}

static void put_page_place(struct stream_buffer *log, uint64_t *last, uint16_t process,
                           uint64_t number)
{
    stream_put_varint(log, process);
    stream_put_varint(log, stream_zigzag(number - *last));
    *last = number;
}

/* A page of a process turned out to hold something else than a replay knows. */
static void page_changed(void *watcher, uint64_t number, const uint8_t *before, const uint8_t *now)
{
    const struct watched_process *process = watcher;
    struct recorder *recorder = process->recorder;
    unsigned low = 0, high = INTERPRET_PAGE_BYTES;

    if (now && before) {
        while (before[low] == now[low])
            low++;
        while (before[high - 1] == now[high - 1])
            high--;
    }
    begin_record(recorder, !now                                      ? RECORD_UNMAPPED
                           : before && high - low <= PATCH_BYTES_MAX ? RECORD_PATCH
                                                                     : RECORD_PAGE);
    put_page_place(&recorder->log, &recorder->log_page, process->number, number);
    if (now && before && high - low <= PATCH_BYTES_MAX) {
        stream_put_varint(&recorder->log, low);
        stream_put_varint(&recorder->log, high - low);
        stream_put_bytes(&recorder->log, now + low, high - low);
    } else if (now) {
        stream_put_varint(&recorder->log, page_store_number(recorder->store, now));
    }
}

static void switch_to(struct recorder *recorder, uint16_t thread, uint16_t process)
{
    if (recorder->anyone && recorder->thread == thread && recorder->process == process)
        return;
    begin_record(recorder, RECORD_SWITCH);
    stream_put_varint(&recorder->log, thread);
    stream_put_varint(&recorder->log, process);
    recorder->anyone = true;
    recorder->thread = thread;
    recorder->process = process;
}

void recorder_changed(struct recorder *recorder, const struct interpret_state *before,
                      const struct interpret_state *after)
{
    uint64_t old[STREAM_WORDS], now[STREAM_WORDS];

    stream_words_of(before, old);
    stream_words_of(after, now);
    if (memcmp(old, now, sizeof old) == 0)
        return;
    begin_record(recorder, RECORD_STATE);
    stream_put_state(&recorder->log, before, after);
}

/* ---- checkpoints -------------------------------------------------------------------------------
 */

struct checkpoint {
    struct recorder *recorder;
    const struct watched_process *process;
    struct stream_buffer records;
    uint64_t page; /* the last page's number */
    uint64_t bytes;
};

static void write_checkpoint(struct checkpoint *checkpoint)
{
    struct recorder *recorder = checkpoint->recorder;

    if (checkpoint->records.failed)
        writer_fail(recorder->writer, "no memory for a checkpoint");
    checkpoint->bytes += page_store_flush(recorder->store);
    checkpoint->bytes += writer_chunk(recorder->writer, STREAM_CHECKPOINT, recorder->instructions,
                                      0, checkpoint->records.bytes, checkpoint->records.used);
    checkpoint->records.used = 0;
    checkpoint->page = 0;
}

static void checkpoint_record(struct checkpoint *checkpoint, unsigned kind)
{
    if (checkpoint->records.used > STREAM_CHUNK_RAW_MAX - 2 * STREAM_RECORD_MAX)
        write_checkpoint(checkpoint);
    stream_put_byte(&checkpoint->records, kind);
}

static void checkpoint_lost(struct checkpoint *checkpoint, struct interpret_page *page)
{
    if (!page->mark)
        return;
    checkpoint_record(checkpoint, RECORD_UNMAPPED);
    put_page_place(&checkpoint->records, &checkpoint->page, checkpoint->process->number,
                   page->number);
    page->mark = 0;
}

/* The content it has, and whether code was executed in it, when that is news since the last time.
 */
static void checkpoint_held(struct checkpoint *checkpoint, struct interpret_page *page)
{
    uint16_t process = checkpoint->process->number;
    uint32_t content = page_store_number(checkpoint->recorder->store, page->bytes);
    bool code = code_page_find(checkpoint->process->code, page->number) != NULL;
    uint32_t mark = (content + 1) << 1 | code;

    if (page->mark >> 1 != mark >> 1) {
        checkpoint_record(checkpoint, RECORD_PAGE);
        put_page_place(&checkpoint->records, &checkpoint->page, process, page->number);
        stream_put_varint(&checkpoint->records, content);
    }
    if (code && !(page->mark & 1)) {
        checkpoint_record(checkpoint, RECORD_CODE);
        put_page_place(&checkpoint->records, &checkpoint->page, process, page->number);
    }
    page->mark = mark;
}

static void checkpoint_page(void *context, struct interpret_page *page)
{
    if (page->seen)
        checkpoint_held(context, page);
    else
        checkpoint_lost(context, page);
}

static void checkpoint_process(struct checkpoint *checkpoint, struct watched_process *process)
{
    if (process->gone && process->in_checkpoint) {
        checkpoint_record(checkpoint, RECORD_GONE);
        stream_put_varint(&checkpoint->records, process->number);
        process->in_checkpoint = false;
    }
    if (process->gone)
        return;
    checkpoint->process = process;
    if (!process->in_checkpoint) {
        checkpoint_record(checkpoint, RECORD_PROCESS);
        stream_put_varint(&checkpoint->records, process->number);
        stream_put_byte(&checkpoint->records, process->mode);
        process->in_checkpoint = true;
    }
    interpret_memory_each(process->memory, checkpoint_page, checkpoint);
}

static void checkpoint_thread(struct checkpoint *checkpoint, uint16_t number)
{
    static const struct interpret_state nothing;
    struct recorder *recorder = checkpoint->recorder;
    const struct known_thread *thread = recorder->threads[number];
    const struct interpret_state *state =
        recorder->running && number == recorder->thread ? recorder->running : &thread->state;

    checkpoint_record(checkpoint, RECORD_SWITCH);
    stream_put_varint(&checkpoint->records, number);
    stream_put_varint(&checkpoint->records, thread->process);
    stream_put_byte(&checkpoint->records, RECORD_STATE);
    stream_put_state(&checkpoint->records, &nothing, state);
}

static bool is_alive(const struct recorder *recorder, size_t thread)
{
    const struct known_thread *known = recorder->threads[thread];

    return known && known->known && !recorder->processes[known->process]->gone;
}

static void put_object(struct stream_buffer *log, const struct trace_object *object)
{
    size_t length = strlen(object->path);

    stream_put_varint(log, object->process);
    stream_put_byte(log, object->executable ? OBJECT_EXECUTABLE : 0);
    stream_put_byte(log, object->build_id_bytes);
    stream_put_bytes(log, object->build_id, object->build_id_bytes);
    stream_put_varint(log, object->instruction);
    stream_put_varint(log, object->start);
    stream_put_varint(log, object->end - object->start);
    stream_put_varint(log, object->offset);
    stream_put_byte(log, (unsigned)length);
    stream_put_bytes(log, object->path, length);
}

void recorder_object(struct recorder *recorder, const struct trace_object *object)
{
    object_log_add(&recorder->objects, object);
    begin_record(recorder, RECORD_OBJECT);
    put_object(&recorder->log, object);
}

/* The marker whose name was not known as a whole when it was executed. */
static void look_again(struct recorder *recorder)
{
    const struct watched_process *process =
        recorder->look.waits ? recorder->processes[recorder->look.process] : NULL;

    if (process && !process->gone &&
        !marker_look_again(&recorder->look, &recorder->regions, process->code))
        writer_fail(recorder->writer, "no memory for regions");
}

void recorder_code_executed(struct recorder *recorder, uint16_t process, uint64_t ip)
{
    place_log_add(&recorder->executed, &recorder->objects, process, ip);
    look_again(recorder);
    if (!recorder->processes[process]->gone &&
        !marker_look_at(&recorder->look, &recorder->regions, recorder->processes[process]->code,
                        process, ip))
        writer_fail(recorder->writer, "no memory for regions");
}

void recorder_names(struct recorder *recorder, const struct name_list *names)
{
    recorder->names = names;
}

static void checkpoint_objects(struct checkpoint *checkpoint)
{
    struct recorder *recorder = checkpoint->recorder;

    for (; recorder->objects_in_checkpoint < recorder->objects.count;
         recorder->objects_in_checkpoint++) {
        checkpoint_record(checkpoint, RECORD_OBJECT);
        put_object(&checkpoint->records,
                   &recorder->objects.object[recorder->objects_in_checkpoint]);
    }
}

/* The whole state, for whoever starts here: pages as far as they changed since the last one. */
static void write_state(struct recorder *recorder)
{
    struct checkpoint checkpoint = {.recorder = recorder};

    checkpoint_record(&checkpoint, RECORD_FORGET);
    for (size_t i = 0; i < recorder->process_count; i++)
        if (recorder->processes[i])
            checkpoint_process(&checkpoint, recorder->processes[i]);
    checkpoint_objects(&checkpoint);
    for (size_t i = 0; i < recorder->thread_count; i++)
        if (i != recorder->thread && is_alive(recorder, i))
            checkpoint_thread(&checkpoint, (uint16_t)i);
    checkpoint_thread(&checkpoint, recorder->thread);
    checkpoint_record(&checkpoint, RECORD_COMPLETE);
    write_checkpoint(&checkpoint);
    free(checkpoint.records.bytes);
    recorder->next_checkpoint = recorder->checkpoint_share * checkpoint.bytes;
    if (recorder->next_checkpoint < recorder->checkpoint_every)
        recorder->next_checkpoint = recorder->checkpoint_every;
    recorder->next_checkpoint += recorder->instructions;
}

/* ---- execution ---------------------------------------------------------------------------------
 */

/* After an instruction: a chunk that is full ends here, the next begins with a check. */
static void end_instruction(struct recorder *recorder, const struct interpret_state *state)
{
    uint8_t hash[8];

    recorder->instructions++;
    if (recorder->instructions - recorder->chunk_first < recorder->chunk_instructions &&
        recorder->log.used < LOG_BYTES)
        return;
    if (writer_error(recorder->writer))
        return;
    cut(recorder);
    if (recorder->instructions >= recorder->next_checkpoint)
        write_state(recorder);
    stream_put_byte(&recorder->log, RECORD_CHECK);
    stream_put64(hash, stream_hash_state(state));
    stream_put_bytes(&recorder->log, hash, sizeof hash);
}

void recorder_interpreted(struct recorder *recorder)
{
    recorder->run++;
    end_instruction(recorder, recorder->running);
}

void recorder_resume(struct recorder *recorder, uint16_t thread, uint16_t process,
                     const struct interpret_state *state)
{
    struct known_thread *before = known(recorder, thread);

    if (!before)
        return;
    switch_to(recorder, thread, process);
    recorder_changed(recorder, &before->state, state);
    before->state = *state;
    before->process = process;
    before->known = true;
    recorder->running = state;
}

void recorder_pause(struct recorder *recorder)
{
    struct known_thread *thread = recorder->running ? known(recorder, recorder->thread) : NULL;

    if (thread)
        thread->state = *recorder->running;
    recorder->running = NULL;
}

void recorder_at(struct recorder *recorder, uint16_t thread, uint16_t process,
                 const struct recipe_registers *start)
{
    struct known_thread *now = known(recorder, thread);
    struct interpret_state state;

    if (!now)
        return;
    state = now->state;
    state.registers = *start;
    recorder_resume(recorder, thread, process, &state);
    recorder->running = NULL;
}

void recorder_result(struct recorder *recorder, uint16_t thread, uint16_t process,
                     const struct interpret_state *before, const struct interpret_state *after)
{
    struct known_thread *now = known(recorder, thread);

    if (!now)
        return;
    recorder_resume(recorder, thread, process, before);
    recorder->running = NULL;
    begin_record(recorder, RECORD_NATIVE);
    stream_put_state(&recorder->log, before, after);
    now->state = *after;
    end_instruction(recorder, &now->state);
}

void recorder_native(struct recorder *recorder, uint16_t thread, uint16_t process,
                     const struct recipe_registers *start, const struct recipe_registers *after)
{
    const struct known_thread *now = known(recorder, thread);
    struct interpret_state begin, end;

    if (!now)
        return;
    begin = end = now->state;
    begin.registers = *start;
    end.registers = *after;
    recorder_result(recorder, thread, process, &begin, &end);
}

void recorder_interrupt(struct recorder *recorder, uint64_t ip)
{
    begin_record(recorder, RECORD_INTERRUPT);
    stream_put_varint(&recorder->log, ip);
}

void recorder_broken(struct recorder *recorder)
{
    begin_record(recorder, RECORD_BROKEN);
}

void recorder_register(struct recorder *recorder, const struct trace_register_access *access)
{
    begin_record(recorder, RECORD_REGISTER);
    stream_put_byte(&recorder->log, access->what == TRACE_WRMSR ? REGISTER_WRITE : 0);
    stream_put_varint(&recorder->log, access->logical_processor);
    stream_put_varint(&recorder->log, access->index);
    stream_put_varint(&recorder->log, access->ip);
    stream_put_varint(&recorder->log, access->value);
}

/* ---- address spaces ----------------------------------------------------------------------------
 */

void recorder_process(struct recorder *recorder, uint16_t process, unsigned mode,
                      struct interpret_memory *memory, const struct code_page_set *code)
{
    void **table = (void **)recorder->processes;
    struct watched_process *watched = calloc(1, sizeof *watched);

    if (!watched || !reach(recorder, &table, &recorder->process_count, process)) {
        writer_fail(recorder->writer, "no memory for more processes");
        free(watched);
        return;
    }
    recorder->processes = (struct watched_process **)table;
    *watched = (struct watched_process){
        .recorder = recorder, .number = process, .mode = mode, .memory = memory, .code = code};
    recorder->processes[process] = watched;
    memory->watch = page_changed;
    memory->watcher = watched;
    begin_record(recorder, RECORD_PROCESS);
    stream_put_varint(&recorder->log, process);
    stream_put_byte(&recorder->log, mode);
}

void recorder_code(struct recorder *recorder, uint16_t process, uint64_t number)
{
    begin_record(recorder, RECORD_CODE);
    put_page_place(&recorder->log, &recorder->log_page, process, number);
}

void recorder_gone(struct recorder *recorder, uint16_t process)
{
    recorder->processes[process]->gone = true;
    begin_record(recorder, RECORD_GONE);
    stream_put_varint(&recorder->log, process);
}

/* ---- beginning and end -------------------------------------------------------------------------
 */

/* The lines of another header that are still true. */
static void header_like(const char *like, struct stream_buffer *text)
{
    for (size_t length; *like; like += length) {
        length = strcspn(like, "\n");
        length += like[length] == '\n';
        if (strncmp(like, "made_by=", 8) != 0 && strncmp(like, "source=", 7) != 0)
            stream_put_bytes(text, like, length);
    }
}

static void header_text(const struct recorder_options *options, struct stream_buffer *text)
{
    if (options->like) {
        header_like(options->like, text);
        writer_text(text, "made_by", TRACES_MADE_BY);
        writer_text(text, "source", options->source);
        return;
    }
    writer_text(text, "architecture", "ia32");
    writer_text(text, "made_by", TRACES_MADE_BY);
    writer_text(text, "source", options->source);
    if (options->model)
        writer_text(text, "model", options->model);
    writer_text(text, "program", options->argv[0]);
    for (size_t i = 1; options->argv[i]; i++)
        writer_text(text, "argument", options->argv[i]);
}

/* Those asked for stand first: a recording that is cut short has them. */
static void write_asked(struct recorder *recorder, const struct recorder_options *options)
{
    bool good = true;

    for (size_t i = 0; i < options->region_count && good; i++)
        good = !options->regions[i].asked ||
               region_list_add(&recorder->regions, true, options->regions[i].text);
    if (!good || !regions_write(&recorder->regions, true, recorder->writer, 0))
        writer_fail(recorder->writer, "no memory for regions");
}

struct recorder *recorder_open(const struct recorder_options *options, char error[512])
{
    struct recorder *recorder = calloc(1, sizeof *recorder);
    struct stream_buffer text = {0};

    if (!recorder) {
        snprintf(error, 512, "no memory to record to %.300s", options->path);
        return NULL;
    }
    header_text(options, &text);
    recorder->writer = writer_open(options->path, &text, error);
    free(text.bytes);
    if (recorder->writer && !(recorder->store = page_store_new(recorder->writer)))
        snprintf(error, 512, "no memory to record to %.300s", options->path);
    if (!recorder->store) {
        recorder_close(recorder);
        return NULL;
    }
    write_asked(recorder, options);
    recorder->checkpoint_every =
        options->checkpoint_every ? options->checkpoint_every : CHECKPOINT_EVERY;
    recorder->checkpoint_share = options->checkpoint_every ? 0 : CHECKPOINT_SHARE;
    recorder->next_checkpoint = recorder->checkpoint_every;
    recorder->chunk_instructions = recorder->checkpoint_every < CHUNK_INSTRUCTIONS
                                       ? recorder->checkpoint_every
                                       : CHUNK_INSTRUCTIONS;
    return recorder;
}

static void trailer_text(const struct recorder *recorder, const struct trace_end *end,
                         uint64_t codes, struct stream_buffer *text)
{
    static const char *const how[] = {"exit", "signal", "snippet", "cut"};

    writer_text_number(text, "instructions", recorder->instructions);
    writer_text_number(text, "codes", codes);
    writer_text(text, "end", how[end->how]);
    writer_text_number(text, "status", (uint64_t)end->status);
    writer_text_number(text, "processes", end->processes);
    writer_text_number(text, "threads", end->threads);
    writer_text_number(text, "signals", end->signals);
    writer_text_number(text, "uncounted_processes", end->uncounted_processes);
    writer_text_number(text, "interpreted", end->interpreted);
    writer_text_number(text, "stepped", end->stepped);
    writer_text(text, "note", end->note);
}

static void write_markers(struct recorder *recorder)
{
    look_again(recorder);
    if (!regions_write(&recorder->regions, false, recorder->writer, recorder->instructions))
        writer_fail(recorder->writer, "no memory for regions");
}

static void write_names(struct recorder *recorder)
{
    struct name_list used = {0};

    if (!place_log_names(&recorder->executed, &recorder->objects, recorder->names, &used) ||
        !names_write(&used, recorder->writer, recorder->instructions))
        writer_fail(recorder->writer, "no memory for names of functions");
    name_list_free(&used);
}

void recorder_finish(struct recorder *recorder, const struct trace_end *end, uint64_t codes)
{
    struct stream_buffer text = {0};

    cut(recorder);
    write_markers(recorder);
    write_names(recorder);
    trailer_text(recorder, end, codes, &text);
    writer_finish(recorder->writer, recorder->instructions, &text);
    free(text.bytes);
}

const char *recorder_error(const struct recorder *recorder)
{
    return writer_error(recorder->writer);
}

void recorder_close(struct recorder *recorder)
{
    if (!recorder)
        return;
    page_store_free(recorder->store);
    writer_close(recorder->writer);
    for (size_t i = 0; i < recorder->thread_count; i++)
        free(recorder->threads[i]);
    for (size_t i = 0; i < recorder->process_count; i++)
        free(recorder->processes[i]);
    free(recorder->threads);
    free(recorder->processes);
    object_log_free(&recorder->objects);
    place_log_free(&recorder->executed);
    region_list_free(&recorder->regions);
    free(recorder->log.bytes);
    free(recorder);
}
