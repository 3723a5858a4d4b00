/*
 * A part of a recorded run as a recording of its own: replayed from where it begins, and recorded
 * anew. So a file that ends in damage gives its good beginning, and the copy of a part is as whole
 * as any recording.
 */
#include "flow.h"
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void copy_page(void *context, struct interpret_page *page)
{
    struct interpret_memory *memory = context;

    if (page->seen)
        memory->watch(memory->watcher, page->number, NULL, page->bytes);
}

static void copy_space(struct replay *replay, struct space *space)
{
    recorder_process(replay->copy, space->process, space->mode == RECIPE_64 ? 64 : 32,
                     space->memory, &space->pages);
    interpret_memory_each(space->memory, copy_page, space->memory);
    for (size_t i = 0; i < space->pages.capacity; i++)
        if (space->pages.slots[i] &&
            interpret_page_known(space->memory, space->pages.slots[i]->number))
            recorder_code(replay->copy, space->process, space->pages.slots[i]->number);
}

static void copy_thread(struct replay *replay, size_t number)
{
    const struct replay_thread *thread = replay->threads[number];

    if (number == replay->thread || !thread || thread->process >= replay->space_count ||
        !replay->spaces[thread->process])
        return;
    recorder_resume(replay->copy, (uint16_t)number, thread->process, &thread->state);
    recorder_pause(replay->copy);
}

/* The state in which the copy begins. */
static void copy_state(struct replay *replay)
{
    for (size_t i = 0; i < replay->space_count; i++)
        if (replay->spaces[i])
            copy_space(replay, replay->spaces[i]);
    for (size_t i = 0; i < replay->objects.count; i++) {
        struct trace_object object = replay->objects.object[i];
        object.instruction = 0;
        if (object.process < replay->space_count && replay->spaces[object.process])
            recorder_object(replay->copy, &object);
    }
    for (size_t i = 0; i < replay->thread_count; i++)
        copy_thread(replay, i);
    replay->moved = true;
    if (replay->access_waits && replay->space) {
        recorder_at(replay->copy, replay->thread, replay->space->process,
                    &replay->machine.state.registers);
        recorder_register(replay->copy, &replay->access);
    }
}

/* Static instructions seen, a byte for each. */
struct seen {
    uint8_t *code;
    size_t capacity;
    uint64_t count;
};

/* Is it the first time? */
static bool see(struct seen *seen, uint32_t code)
{
    size_t capacity = seen->capacity ? seen->capacity : 4096;
    uint8_t *bigger;

    if (code >= seen->capacity) {
        while (capacity <= code)
            capacity *= 2;
        bigger = realloc(seen->code, capacity);
        if (!bigger)
            return false;
        memset(bigger + seen->capacity, 0, capacity - seen->capacity);
        seen->code = bigger;
        seen->capacity = capacity;
    }
    if (seen->code[code])
        return false;
    seen->code[code] = 1;
    seen->count++;
    return true;
}

/* How the copy ends: as the run where that is in it. */
static struct trace_end end_of(const struct replay *replay, enum trace_result result)
{
    if (result == TRACE_END && replay->state == REPLAY_ENDED)
        return replay->source.end;
    return (struct trace_end){.how = TRACE_ENDED_CUT,
                              .processes = (uint32_t)replay->space_count,
                              .threads = (uint32_t)replay->thread_count};
}

static bool copy_run(struct replay *replay, const struct trace_copy *copy, uint64_t *instructions,
                     char damage[512], char error[512])
{
    struct trace_instruction instruction;
    enum trace_result result = TRACE_OK;
    struct trace_end end;
    struct seen seen = {0};
    size_t names;

    trace_source_functions(&replay->source, &names);
    recorder_names(replay->copy, &replay->names);
    copy_state(replay);
    for (*instructions = 0; *instructions < copy->count; ++*instructions) {
        result = replay_advance(&replay->source, &instruction);
        if (result != TRACE_OK || recorder_error(replay->copy))
            break;
        if (see(&seen, instruction.code))
            recorder_code_executed(replay->copy, instruction.process, instruction.ip);
    }
    if (result == TRACE_ERROR)
        snprintf(damage, 512, "%s", replay->source.error);
    recorder_pause(replay->copy);
    end = end_of(replay, result);
    recorder_finish(replay->copy, &end, seen.count);
    if (recorder_error(replay->copy))
        snprintf(error, 512, "%s", recorder_error(replay->copy));
    free(seen.code);
    return !recorder_error(replay->copy);
}

bool trace_copy(const struct trace_copy *copy, uint64_t *instructions, char damage[512],
                char error[512], int *status)
{
    struct trace_source *source = trace_open_file_at(copy->from, copy->first, error, status);
    struct replay *replay = (struct replay *)source;
    const struct trace_region *regions;
    size_t region_count;
    bool good = false;

    damage[0] = 0;
    *instructions = 0;
    if (!source)
        return false;
    *status = 3;
    if (flow_is(source)) {
        snprintf(error, 512, "%.300s: a plain stream has no state to begin a part with",
                 copy->from);
        trace_source_close(source);
        return false;
    }
    regions = trace_source_regions(source, &region_count);
    replay->copy =
        recorder_open(&(struct recorder_options){.path = copy->to,
                                                 .source = "cut",
                                                 .regions = regions,
                                                 .region_count = region_count,
                                                 .checkpoint_every = copy->checkpoint_every,
                                                 .like = reader_header_text(replay->reader)},
                      error);
    if (replay->copy)
        good = copy_run(replay, copy, instructions, damage, error);
    recorder_close(replay->copy);
    trace_source_close(source);
    return good;
}
