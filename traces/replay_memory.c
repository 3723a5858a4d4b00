/*
 * The memory of a replayed run for whoever reads the source.
 *
 * What the simulated processor stores into a program's memory (a record in a DS area) the program
 * sees as the recorded run had it: the log has it, between two instructions. The processor that
 * simulates the replay stores too. Its stores never change what the program sees; they are kept
 * apart and read back until the next instruction is delivered, when the log's have been applied.
 * Where both processors are the same these are the same bytes.
 */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

static const struct space *space_of(const struct replay *replay, uint16_t process)
{
    return process < replay->space_count ? replay->spaces[process] : NULL;
}

static size_t known_memory(const struct space *space, uint64_t address, uint8_t *bytes,
                           size_t count)
{
    size_t done = 0;

    while (space && done < count) {
        uint64_t at = address + done;
        const struct interpret_page *page =
            interpret_page_known(space->memory, at >> INTERPRET_PAGE_SHIFT);
        size_t offset = (size_t)at & (INTERPRET_PAGE_BYTES - 1);
        size_t part = INTERPRET_PAGE_BYTES - offset;
        if (!page)
            break;
        if (part > count - done)
            part = count - done;
        memcpy(bytes + done, page->bytes + offset, part);
        done += part;
    }
    return done;
}

/* The bytes of STORED that lie in COUNT bytes from ADDRESS on. */
static void overlay(const struct replay_stored *stored, uint64_t address, uint8_t *bytes,
                    size_t count)
{
    for (unsigned i = 0; i < stored->count; i++) {
        uint64_t at = stored->address + i - address;
        if (at < count)
            bytes[at] = stored->bytes[i];
    }
}

size_t replay_memory_at(struct trace_source *source, uint16_t process, uint64_t address,
                        void *bytes, size_t count)
{
    const struct replay *replay = (const struct replay *)source;
    size_t known = known_memory(space_of(replay, process), address, bytes, count);

    for (size_t i = 0; i < replay->stored_count; i++)
        if (replay->stored[i].process == process)
            overlay(&replay->stored[i], address, bytes, known);
    return known;
}

/* The same place again takes the place of what was stored there. NULL without memory or room. */
static struct replay_stored *room_for(struct replay *replay, uint16_t process, uint64_t address,
                                      size_t count)
{
    if (!replay->stored && !(replay->stored = calloc(REPLAY_STORES, sizeof *replay->stored)))
        return NULL;
    for (size_t i = 0; i < replay->stored_count; i++) {
        struct replay_stored *stored = &replay->stored[i];
        if (stored->process == process && stored->address == address && stored->count == count)
            return stored;
    }
    return replay->stored_count < REPLAY_STORES ? &replay->stored[replay->stored_count++] : NULL;
}

enum trace_store replay_store(struct trace_source *source, uint16_t process, uint64_t address,
                              const void *bytes, size_t count)
{
    struct replay *replay = (struct replay *)source;
    const struct space *space = space_of(replay, process);
    uint8_t old[REPLAY_STORE_BYTES];
    struct replay_stored *stored;

    if (!space)
        return TRACE_NO_PROCESS;
    if (!count)
        return TRACE_STORED;
    if (count > sizeof old || known_memory(space, address, old, count) != count)
        return TRACE_NO_PAGE;
    stored = room_for(replay, process, address, count);
    if (stored) {
        *stored = (struct replay_stored){
            .address = address, .process = process, .count = (uint16_t)count};
        memcpy(stored->bytes, bytes, count);
    }
    return TRACE_STORED;
}
