/*
 * How a live thread's instructions are executed: interpreted on copies of its registers and pages
 * while that goes, by the processor otherwise. Here is what lies between: taking the copies,
 * putting them back before the processor (or another thread) is to see them, and forgetting them
 * when something else may have changed the originals.
 *
 * Signals reach a thread only when the processor runs it. They are looked for after every system
 * call and at the start of a turn, and every so often an instruction is left to the processor for
 * their sake.
 *
 * Limits: memory shared with a process that is not followed is seen late, and locked instructions
 * on it are not atomic for that process.
 */
#ifndef TRACES_EXECUTE_H
#define TRACES_EXECUTE_H

#include "live.h"

/* The pages of an address space, reached through one of its stopped threads (space->tid). */
struct interpret_memory *execute_memory_new(struct space *space);

/* A page of its code (a space_read_fn); a recording learns of it. */
bool execute_read_code(struct space *space, uint64_t number, uint8_t bytes[CODE_PAGE_BYTES]);

/* May the thread's next instruction be interpreted? Its registers are then in thread->machine. */
bool execute_may_interpret(struct live_thread *thread);

/* Interprets it; false with nothing changed when that cannot be done. */
bool execute_interpret(struct live_thread *thread, const struct code_entry *entry,
                       struct trace_access access[TRACE_ACCESSES], unsigned *access_count);

/* Puts registers and memory back, for the processor to run this thread. */
void execute_settle(struct live_thread *thread);

/* The thread's turn is over: likewise, and the pages are forgotten. */
void execute_leave(struct live_thread *thread);

/* The processor ran the thread over RECIPE (NULL: unknown code) with these ACCESSES in SPACE.
 * EXECUTED tells whether that was all that happened. */
void execute_stepped(struct live_thread *thread, struct space *space, const struct recipe *recipe,
                     const struct trace_access *access, unsigned access_count, bool executed);

#endif
