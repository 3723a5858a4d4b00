/*
 * A recorded run executed again: the state that replay.c brings forward instruction by instruction,
 * and replay_log.c changes by the log's records. docs/trace-format.md describes the file.
 *
 * The next instruction is always made ready before one is delivered: what is in the log between the
 * two tells whether a signal or a switch came between.
 */
#ifndef TRACES_REPLAY_H
#define TRACES_REPLAY_H

#include "objects.h"
#include "reader.h"
#include "recorder.h"
#include "regions.h"
#include "space.h"
#include "wrong_path.h"

enum { REPLAY_STORE_BYTES = 256, REPLAY_STORES = 256 };

struct replay_thread {
    uint16_t process;
    struct interpret_state state; /* while another thread is the current one */
};

/* What the simulated processor stored; see replay_memory.c. */
struct replay_stored {
    uint64_t address;
    uint16_t process, count;
    uint8_t bytes[REPLAY_STORE_BYTES];
};

/* What the log said. */
enum replay_step {
    REPLAY_RECORD, /* a record was applied */
    REPLAY_READY,  /* an instruction is to be executed: run_left or native tells how */
    REPLAY_ACCESS, /* replay->access is to be done */
    REPLAY_STOP,   /* the end, or an error in source.error */
};

struct replay;

/* What tells how a run goes on: the log of a file, or what stands in its place (snippet_run.c). */
struct replay_origin {
    /* Goes on by one record. */
    enum replay_step (*next)(struct replay *replay);
    /* The instruction that is ready could not be interpreted: that ends the run. Gives false. */
    bool (*cannot)(struct replay *replay);
    /* The simulated processor did this for the instruction that is ready. NULL: what it read is in
     * the log. */
    void (*accessed)(struct replay *replay, const struct trace_register_access *access);
};

struct replay {
    struct trace_source source; /* first: the public handle */
    const struct replay_origin *origin;
    struct reader *reader;
    struct recipe_decoder *decoder;
    enum { REPLAYING, REPLAY_ENDED, REPLAY_FAILED, REPLAY_INTERRUPTED } state;
    uint64_t total;    /* instructions of the run, 0 when the trailer does not tell */
    uint64_t executed; /* of the run, those skipped at its start included */
    uint32_t codes;

    struct reader_chunk chunk; /* where the log is read */
    struct stream_cursor log;
    uint64_t chunk_left; /* instructions the chunk still owes */
    uint64_t run_left;   /* instructions to execute before the next record */
    uint64_t log_page;   /* number of the page named last */

    struct interpreter machine; /* the current thread's */
    uint16_t thread;
    struct space *space; /* the current process; NULL at first */
    struct replay_thread **threads;
    size_t thread_count;
    struct space **spaces;
    size_t space_count;
    struct object_log objects;
    struct name_list names; /* of functions, once asked for */
    bool names_read;
    struct region_list regions; /* likewise */
    bool regions_read;
    struct trace_register_access access; /* of the kernel's, for a program */
    bool access_waits;                   /* for the machine: the reader is told first */
    size_t mapped;                       /* pages of all */
    struct space *leaving;               /* gone when the instruction being delivered has been */

    bool prepared;            /* the next instruction is ready */
    bool native;              /* the log has its result */
    bool synchronised;        /* the reader was told that it reads the clock or a counter */
    struct code_entry *entry; /* its code, NULL where there is none */
    bool keeps_registers;     /* somebody asks for these: */
    struct trace_registers before;
    struct trace_instruction *last; /* executed, being delivered; or NULL */
    bool branched;                  /* the last one is a branch: a wrong path may begin behind it */
    struct wrong_path *wrong;       /* or NULL */
    bool on_wrong_path;
    uint16_t delivered_thread, delivered_process;
    struct recorder *copy; /* who writes down what is replayed, or NULL */
    bool moved;            /* the copy does not know the current thread's state */
    bool left;             /* the state it left is not the machine's any more, but this: */
    struct interpret_state left_state;
    struct replay_stored *stored; /* REPLAY_STORES of them, or NULL */
    size_t stored_count;          /* since the last instruction was delivered */
};

/* Reads on in the log by one record, or to the next chunk. */
enum replay_step replay_log(struct replay *replay);

/* Of every replay; those of a file. */
extern const struct trace_source_ops replay_ops;

/* The next instruction that is asked for; trace_source_ops.next. */
enum trace_result replay_advance(struct trace_source *source, struct trace_instruction *out);

/* What the instruction that is ready, which is one of those, asks of the simulated processor. */
struct trace_register_access replay_register_access(const struct replay *replay);

/* Something from outside is about to change the current thread's state, or to take its turn. */
void replay_moves(struct replay *replay);

/* replay_memory.c: of struct trace_source_ops. */
size_t replay_memory_at(struct trace_source *source, uint16_t process, uint64_t address,
                        void *bytes, size_t count);
enum trace_store replay_store(struct trace_source *source, uint16_t process, uint64_t address,
                              const void *bytes, size_t count);

/* Frees all; trace_source_ops.close. */
void replay_close(struct trace_source *source);

/* Frees an address space. */
void replay_drop(struct replay *replay, struct space *space);

/* Applies the records of a checkpoint. False: an error in source.error. */
bool replay_checkpoint(struct replay *replay, const struct reader_chunk *chunk);

/* Damage inside a chunk: its place in the file and the record's place in it. Gives false. */
bool replay_damaged(struct replay *replay, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
