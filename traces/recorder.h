/*
 * Writes a recorded run while it happens. Errors stick: the first one is kept in words, later calls
 * do nothing, so a caller may look once per instruction.
 */
#ifndef TRACES_RECORDER_H
#define TRACES_RECORDER_H

#include "stream.h"

struct recorder;

/* Creates PATH and writes the header; NULL and ERROR when that fails. ARGV is the program's. */
struct recorder *recorder_open(const char *path, char *const *argv, char error[512]);

/* A static instruction; its number is the count of earlier calls. */
void recorder_static(struct recorder *recorder, const struct recipe *recipe, uint16_t process,
                     uint64_t ip);

/* BYTES of PAGE became known, COUNT of them from OFFSET on; the rest is as before. */
void recorder_page(struct recorder *recorder, uint16_t process, uint64_t page, unsigned offset,
                   const uint8_t *bytes, unsigned count);

/* The address space of PROCESS is gone. */
void recorder_gone(struct recorder *recorder, uint16_t process);

/* An executed instruction. NEXT_CODE is the instruction after it when that is of the same thread
 * and the flags do not say TRACE_INTERRUPTED; else STREAM_NO_CODE. */
void recorder_instruction(struct recorder *recorder, const struct trace_instruction *instruction,
                          uint32_t next_code);

/* Completes the file. */
void recorder_finish(struct recorder *recorder, const struct trace_end *end);

/* NULL while all is well, else what went wrong. */
const char *recorder_error(const struct recorder *recorder);

/* Frees; a file that was not finished stays without its trailer. */
void recorder_close(struct recorder *recorder);

#endif
