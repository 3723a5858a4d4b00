/*
 * Writes a recorded run while it happens: what the executor does by itself is only counted, what
 * comes from outside is logged. The recorder keeps, of each thread and page, what a replay will
 * have at this point, and logs where the truth turns out to differ.
 *
 * Calls come in the order of the events they tell of. Errors stick: the first one is kept in words,
 * later calls do nothing, so a caller may look once per instruction.
 *
 * A page is recorded when it is read through its process's interpret_memory for the first time, by
 * whomever: what walks a wrong path reads there too, and its replay finds the same pages.
 */
#ifndef TRACES_RECORDER_H
#define TRACES_RECORDER_H

#include "code_pages.h"
#include "interpret.h"
#include "function_names.h"
#include "writer.h"

struct recorder;

/* How a recording is made; strings are copied. */
struct recorder_options {
    const char *path;
    char *const *argv;                  /* the program's */
    const char *model;                  /* whose CPUID it saw, or NULL */
    const char *source;                 /* "live", or how else the instructions came */
    uint64_t checkpoint_every;          /* instructions; 0: the usual number */
    const struct trace_region *regions; /* REGION_COUNT; those asked for are kept */
    size_t region_count;
    const char *like; /* instead of argv and model: header text of another recording */
};

struct recorder *recorder_open(const struct recorder_options *options, char error[512]);

/* ---- address spaces ----------------------------------------------------------------------------
 */

/* PROCESS is a new address space of MODE bits (32 or 64). Its MEMORY is watched from here on; CODE
 * are the pages in which instructions have been executed. */
void recorder_process(struct recorder *recorder, uint16_t process, unsigned mode,
                      struct interpret_memory *memory, const struct code_page_set *code);

/* Code was fetched from the page for the first time, or since it changed. */
void recorder_code(struct recorder *recorder, uint16_t process, uint64_t number);

/* The address space is gone; its memory is not looked at any more. */
void recorder_gone(struct recorder *recorder, uint16_t process);

/* ---- execution ---------------------------------------------------------------------------------
 */

/* THREAD is about to be interpreted from STATE, which is looked at until recorder_pause(). */
void recorder_resume(struct recorder *recorder, uint16_t thread, uint16_t process,
                     const struct interpret_state *state);
void recorder_pause(struct recorder *recorder);

/* The state of the interpreted thread was changed from outside. */
void recorder_changed(struct recorder *recorder, const struct interpret_state *before,
                      const struct interpret_state *after);

/* An instruction of the interpreted thread was executed. */
void recorder_interpreted(struct recorder *recorder);

/* THREAD executed an instruction that led from the state BEFORE to AFTER, in ways only known by
 * having been there. */
void recorder_result(struct recorder *recorder, uint16_t thread, uint16_t process,
                     const struct interpret_state *before, const struct interpret_state *after);
/* Likewise, with the XMM and x87 registers left as they were: it began with the registers START and
 * left AFTER. */
void recorder_native(struct recorder *recorder, uint16_t thread, uint16_t process,
                     const struct recipe_registers *start, const struct recipe_registers *after);

/* The frame of a signal handler at IP was made after the instruction executed last. */
void recorder_interrupt(struct recorder *recorder, uint64_t ip);
/* The flow of the instruction executed last ends with it: a signal ended its thread, or a program
 * outside the count makes the machine wait. */
void recorder_broken(struct recorder *recorder);

/* THREAD stands before an instruction with the registers START. */
void recorder_at(struct recorder *recorder, uint16_t thread, uint16_t process,
                 const struct recipe_registers *start);
/* The kernel does this ACCESS to a register for a program, by its driver. */
void recorder_register(struct recorder *recorder, const struct trace_register_access *access);

/* A process has mapped a file. */
void recorder_object(struct recorder *recorder, const struct trace_object *object);

/* The instruction at IP of PROCESS was executed for the first time: for the names of functions. */
void recorder_code_executed(struct recorder *recorder, uint16_t process, uint64_t ip);
/* The names of functions are these, which must live as long; without it the files are asked. */
void recorder_names(struct recorder *recorder, const struct name_list *names);

/* ---- the end -----------------------------------------------------------------------------------
 */

/* Completes the file; CODES is the number of static instructions. */
void recorder_finish(struct recorder *recorder, const struct trace_end *end, uint64_t codes);

/* NULL while all is well, else what went wrong. */
const char *recorder_error(const struct recorder *recorder);

/* Frees; a file that was not finished stays without its trailer. */
void recorder_close(struct recorder *recorder);

#endif
