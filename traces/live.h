/*
 * The live source, shared by its three files: live.c (the source and its ends), live_threads.c (who
 * runs, what the kernel reports), live_step.c (one instruction).
 *
 * One logical processor runs all traced threads in turn. A turn ends after LIVE_QUANTUM
 * instructions when another thread could run, or in a system call that sleeps.
 */
#ifndef TRACES_LIVE_H
#define TRACES_LIVE_H

#include "live_window.h"
#include "objects.h"
#include "recipe.h"
#include "recorder.h"
#include "space.h"
#include "tracee.h"
#include "wrong_path.h"

#include <sched.h>
#include <signal.h>

#define LIVE_SHORT_TURN                                                                            \
    1000 /* model choice: threads that wait for each other do so little longer */
#define LIVE_QUANTUM                                                                               \
    20000 /* instructions of a turn: model choice, about a scheduler tick at this speed */

struct live_thread {
    pid_t tid, tgid;
    uint16_t number; /* when it is followed */
    bool numbered;
    struct space *space;
    enum { THREAD_READY, THREAD_BLOCKED, THREAD_GONE } state;
    int inject;                   /* signal to deliver with the next step */
    bool outside;                 /* runs natively, outside the count */
    bool outside_counted;         /* among uncounted_processes */
    bool call_judged;             /* outside: stopped before a system call that was looked at */
    struct msr_call *call;        /* outside: what was found, or NULL */
    struct user_regs_struct regs; /* at its last stop */

    /* execute.c */
    struct interpreter machine;
    bool interpreted; /* machine's registers and pages are newer than regs and memory */
    bool xmm_known, xmm_changed;
    bool float_recorded;              /* a recording has the XMM and x87 registers as they are */
    bool signals_looked_for;          /* since the last system call or turn */
    uint32_t run;                     /* instructions interpreted in a row */
    struct user_fpregs_struct fpregs; /* while xmm_known: as the processor has them */
};

/* What memory held before the pending instruction wrote it. */
struct live_written {
    uint64_t address;
    uint32_t size;
    bool kept; /* else nobody knows */
    uint8_t bytes[WRONG_PATH_KEPT];
};

/* The state before the pending instruction, for a wrong path that begins there; live_wrong.c. */
struct live_undo {
    bool known, touches_float, float_kept;
    struct recipe_registers registers;
    union interpret_xmm xmm[16];
    uint32_t mxcsr;
    struct interpret_x87 x87;
    unsigned written_count;
    struct live_written written[TRACE_ACCESSES];
};

/* An open /dev/cpu/N/msr (live_msr.h). */
struct msr_file {
    dev_t device; /* of the file that stands for it */
    ino_t inode;
    unsigned logical_processor;
    unsigned access; /* O_RDONLY, O_WRONLY, O_RDWR */
};

struct live {
    struct trace_source source; /* first: the public handle */
    trace_cpuid_fn *cpuid;
    void *cpuid_context;
    struct recorder *recorder; /* or NULL */
    bool portable;             /* the recording shall replay on any host */
    struct recipe_decoder *decoder;

    struct live_thread **threads;
    size_t thread_count, thread_capacity;
    size_t current;        /* whose turn it is */
    uint32_t turn;         /* instructions of this turn */
    struct space **spaces; /* by process, NULL when gone */
    size_t space_count, space_capacity;
    bool spaces_to_drop;
    bool native_only;
    struct live_check *check; /* live_check.h, or NULL */
    uint32_t quantum;
    struct {
        uint16_t thread; /* whose turn it is among the threads of one choice */
        uint32_t used;   /* instructions of it */
    } turns[2];
    bool long_mode; /* 64-bit programs are followed */
    uint32_t threads_seen;
    bool natively;     /* threads run without steps: live_native.c */
    uint64_t entry;    /* of the first program, or 0 */
    uint64_t entry_at; /* instructions executed when it was reached, plus one; 0 before */

    struct object_log objects;
    uint64_t executed;
    uint32_t codes;
    struct trace_instruction pending; /* executed, not yet delivered: what follows was not known */
    bool has_pending;
    bool keeps_registers; /* somebody asks for these: */
    struct trace_registers fresh, before_pending, before_delivered;
    bool at_rest;          /* the reader was told for the kernel, and nothing was executed since */
    bool synchronised;     /* the reader was told: the access that asked for it may happen now */
    bool pending_branches; /* it is a branch: a wrong path may begin behind it */
    bool fresh_branches;   /* the one just executed is */
    uint16_t delivered_thread, delivered_process;

    struct live_undo undo;
    struct wrong_path *wrong;         /* or NULL */
    struct live_thread *wrong_thread; /* while a path goes on */
    bool wrong_float_due;             /* its XMM and x87 registers are still the thread's */
    bool wrong_float_due_at[WRONG_PATH_MARKS];

    struct live_window window; /* unless high is 0: all that is executed (snippets) */

    volatile sig_atomic_t interrupted;
    volatile sig_atomic_t first; /* process id of the first program while it lives, else 0 */
    pid_t first_pid;
    struct msr_file *msr_files; /* all that were opened */
    size_t msr_file_count;
    char outside_names[160]; /* of the programs that ran outside the count */
    bool finished;
    bool killing; /* by us, not by what the program did */
    cpu_set_t affinity;
    bool pinned;
};

/* What a step gave. */
enum live_step {
    LIVE_EXECUTED, /* an instruction, in *out; live->fresh_branches */
    LIVE_NOTHING,  /* a signal, a fault, a thread that ended: look again */
    LIVE_SYNC,     /* the instruction, in *out, reads the clock or a counter: not yet executed */
    LIVE_FAILED,   /* source.error says why */
};

/* live_step.c: one instruction of this thread. */
enum live_step live_step(struct live *live, struct live_thread *thread,
                         struct trace_instruction *out);
struct recipe_registers live_registers(const struct user_regs_struct *regs);
/* Of which mode is the code the thread runs? */
enum recipe_mode live_mode(const struct user_regs_struct *regs);
/* Will the kernel go back to restart the thread's system call? */
bool live_call_restarts(const struct live_thread *thread);

/* live_registers.c: RDTSC, RDPMC, RDMSR or WRMSR (a recipe_kind) with these registers. Where it may
 * not, it raises #GP(0). */
bool live_may_access_register(struct live *live, const struct user_regs_struct *regs,
                              unsigned kind);
void live_access_register(struct live *live, struct user_regs_struct *regs, unsigned kind);

/* What a resumed thread came to. */
enum live_stop {
    STOP_TRAP,    /* a step ended: registers are current */
    STOP_SIGNAL,  /* a signal stands before the thread: registers are current, inject is set */
    STOP_BLOCKED, /* it sleeps in the system call it was resumed for */
    STOP_KILLED,  /* it was dead before it could run; its end is yet to be reported */
    STOP_GONE,    /* it ended */
};

/* live_threads.c: looks once, without sleeping, whether a resumed thread stopped. */
bool live_poll(struct live *live, struct live_thread *thread, enum live_stop *stop);
void live_remove_gone(struct live *live);

/* live_native.c: where the program of a process begins behind its dynamic loader; 0 not known. */
uint64_t live_entry_of(pid_t pid);
/* Where THREAD goes on. */
uint64_t live_next_ip(const struct live_thread *thread);
enum trace_result live_run_natively(struct trace_source *source, const uint64_t *stops,
                                    size_t count);

/* live_wrong.c. THREAD is about to execute RECIPE with registers START, behind a branch. */
void live_keep_undo(struct live *live, struct live_thread *thread, const struct recipe *recipe,
                    const struct recipe_registers *start);
bool live_wrong_begin(struct trace_source *source);
bool live_wrong_step(struct trace_source *source, uint64_t ip, struct trace_wrong_step *out);
bool live_wrong_mark(struct trace_source *source, unsigned number);
bool live_wrong_back(struct trace_source *source, unsigned number);

/* live_outside.c: after exec, is the thread's program followed or does it run outside the count;
 * the end of one outside; one stop of it. */
void live_choose_side(struct live *live, struct live_thread *thread);
void live_outside_ended(struct live *live, const struct live_thread *thread);
enum live_step live_step_outside(struct live *live, struct live_thread *thread,
                                 struct trace_instruction *out);

/* live_threads.c. */
struct live_thread *live_add_thread(struct live *live, pid_t tid, pid_t tgid, struct space *space);
/* Gives a thread that is followed its number, once. */
bool live_number_thread(struct live *live, struct live_thread *thread);
struct space *live_add_space(struct live *live, enum recipe_mode mode);
/* The thread whose turn it is, after looking at sleeping ones; NULL when none is left. */
struct live_thread *live_schedule(struct live *live);
/* Resumes with REQUEST and the pending signal and waits; a system CALL that sleeps is not waited
 * for. */
enum live_stop live_resume(struct live *live, struct live_thread *thread, int request, bool call);
/* Frees address spaces no thread lives in, but for the one of the pending instruction. */
void live_drop_spaces(struct live *live);
void live_kill_all(struct live *live);

/* live_memory.c: of struct trace_source_ops. */
size_t live_memory_at(struct trace_source *source, uint16_t process, uint64_t address, void *bytes,
                      size_t count);
enum trace_store live_store(struct trace_source *source, uint16_t process, uint64_t address,
                            const void *bytes, size_t count);

/* live_objects.c: the files that SPACE, seen through TID, has mapped now; whether a system call of
 * THREAD, made with the registers BEFORE, changed them; a trace_source_ops.objects. */
void live_log_objects(struct live *live, const struct space *space, pid_t tid);
void live_objects_after_call(struct live *live, const struct live_thread *thread,
                             const struct recipe_registers *before);
const struct trace_object *live_objects(const struct trace_source *source, size_t *count);

void live_fail(struct live *live, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
