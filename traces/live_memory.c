/*
 * The memory of a live program's processes for whoever reads the source: as the interpreter has it,
 * whose pages may be newer than the process's own; and what the simulated processor itself stores
 * there (a record in a DS area).
 *
 * Such a store goes to both: a later instruction finds it whoever executes it. A recording has it
 * as a change from outside between two instructions.
 */
#define _GNU_SOURCE
#include "live.h"
#include "interpret_memory.h"

static struct live *live_of(struct trace_source *source)
{
    return (struct live *)source;
}

static struct space *space_of(const struct live *live, uint16_t process)
{
    return process < live->space_count ? live->spaces[process] : NULL;
}

/* A thread through which the space can be reached; NULL: none lives there any more. */
static const struct live_thread *someone_in(const struct live *live, const struct space *space)
{
    for (size_t i = 0; i < live->thread_count; i++)
        if (live->threads[i]->space == space && live->threads[i]->state != THREAD_GONE)
            return live->threads[i];
    return NULL;
}

/* The page as the interpreter has it; of a process that has ended, as it was seen last. */
static const struct interpret_page *page_of(const struct live *live, const struct space *space,
                                            uint64_t number)
{
    if (!space->memory)
        return NULL;
    return someone_in(live, space) ? interpret_page_cached(space->memory, number)
                                   : interpret_page_known(space->memory, number);
}

size_t live_memory_at(struct trace_source *source, uint16_t process, uint64_t address, void *bytes,
                      size_t count)
{
    const struct live *live = live_of(source);
    const struct space *space = space_of(live, process);
    size_t done = 0, got = 1;

    while (space && done < count && got) {
        uint64_t at = address + done;
        size_t offset = (size_t)at & (INTERPRET_PAGE_BYTES - 1);
        const struct interpret_page *page = page_of(live, space, at >> INTERPRET_PAGE_SHIFT);
        size_t part = INTERPRET_PAGE_BYTES - offset;
        if (part > count - done)
            part = count - done;
        if (page)
            memcpy((uint8_t *)bytes + done, page->bytes + offset, got = part);
        else
            got = tracee_read(space->tid, at, (uint8_t *)bytes + done, part);
        done += got;
    }
    return done;
}

/* Instructions of a process that has ended may still be in the machine. Nobody will look at what
 * is stored, but the processor itself, at the buffer's index. */
static enum trace_store store_behind_the_end(struct space *space, uint64_t address,
                                             const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t at = address + i, number = at >> INTERPRET_PAGE_SHIFT;
        struct interpret_page *page =
            space->memory ? interpret_page_find(space->memory, number) : NULL;
        if (!page || !page->seen)
            return TRACE_NO_PROCESS;
        page->own[at & (INTERPRET_PAGE_BYTES - 1)] = bytes[i];
    }
    return TRACE_STORED;
}

/* Written back at once: the processor may be who executes the next instruction. */
enum trace_store live_store(struct trace_source *source, uint16_t process, uint64_t address,
                            const void *bytes, size_t count)
{
    const struct live *live = live_of(source);
    struct space *space = space_of(live, process);
    const struct live_thread *thread = space ? someone_in(live, space) : NULL;

    if (!space || (!thread && !page_of(live, space, address >> INTERPRET_PAGE_SHIFT)))
        return TRACE_NO_PROCESS;
    if (!thread || !count)
        return store_behind_the_end(space, address, bytes, count);
    space->tid = thread->tid;
    if (!space->memory)
        return tracee_write(space->tid, address, bytes, count) ? TRACE_STORED : TRACE_NO_PAGE;
    if (!interpret_memory_outside(space->memory, address, bytes, (unsigned)count) ||
        !interpret_memory_flush(space->memory))
        return TRACE_NO_PAGE;
    space_written(space, address, address + count);
    return TRACE_STORED;
}
