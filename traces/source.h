/*
 * Where instructions come from: a live program, a recorded run, an assembled snippet.
 *
 * A source gives the executed instructions one by one, in program order of one logical processor's
 * stream, each with its bytes, where it went next and which memory it touched. The reader cannot
 * tell the kinds apart: for the same run a live source, the recording made of it and the replay of
 * that recording give the same sequence of calls the same answers.
 *
 * traces/ depends on nothing of p4sim's other folders. It opens files and processes; it prints
 * nothing.
 */
#ifndef TRACES_SOURCE_H
#define TRACES_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TRACE_INSTRUCTION_BYTES 15
#define TRACE_ACCESSES          4

/* One read or write of an executed instruction. */
struct trace_access {
    uint64_t address; /* linear address of the lowest byte */
    uint32_t size;    /* bytes of one element (of one repetition for string instructions) */
    bool write;
};

enum trace_flags {
    TRACE_SYSTEM_CALL = 1 << 0,  /* int 0x80, sysenter, syscall: the kernel ran after it */
    TRACE_REP_BACKWARD = 1 << 1, /* string instruction with DF=1: addresses go down */
    TRACE_INTERRUPTED = 1 << 2,  /* next_ip is not where the instruction leads: a signal handler, a
                                    fault,  or the switch to another thread or process comes next */
    TRACE_64BIT = 1 << 3,        /* executed in 64-bit mode */
};

/* Where a Pentium 4 needs help of its microcode: operands and results its units cannot handle. */
enum trace_assist {
    TRACE_ASSIST_X87_UNDERFLOW = 1 << 0, /* of the register stack */
    TRACE_ASSIST_X87_OVERFLOW = 1 << 1,
    TRACE_ASSIST_X87_RESULT_OVERFLOW = 1 << 2, /* masked */
    TRACE_ASSIST_X87_RESULT_UNDERFLOW = 1 << 3,
    TRACE_ASSIST_X87_INPUT = 1 << 4, /* denormal */
    TRACE_ASSIST_SSE = 1 << 7,       /* denormal operand, or a result that becomes one */
};

/*
 * One executed instruction. `code` names the static instruction (process, address, bytes): equal
 * numbers mean the same bytes at the same address, numbers are dense from 0 in order of first
 * appearance, so a reader may keep an array of decoded instructions. When the program rewrites an
 * instruction the new bytes get a new number.
 * Accesses: reads first, then writes, each kind in the order of the manual's operation section
 * (push [m]: read m, write stack; movs: read [esi], write [edi]; add [m],r: read m, write m;
 * call [m]: read m, write stack; cmps: read [esi], read [edi]; pusha: one write of 32 bytes).
 * A repeated string instruction is ONE instruction with `repetitions` elements (0 is possible);
 * its accesses give the first element's address.
 * fxsave/fxrstor/fsave and similar give one access of the whole size. prefetch gives one read.
 */
struct trace_instruction {
    uint32_t code;
    uint32_t repetitions; /* string instructions with a rep prefix; else 1 */
    uint64_t ip;
    uint64_t next_ip; /* ip of the next instruction executed by the same thread */
    uint64_t stack;   /* the stack pointer as the instruction left it, where that led on in the
                         program (not behind a system call) */
    uint16_t process; /* dense number of the address space, 0 is the first program */
    uint16_t thread;  /* dense number of the thread, 0 is the first */
    uint8_t flags;
    uint8_t length; /* bytes of the instruction */
    uint8_t assist; /* enum trace_assist, as far as the interpreter executed it; else 0 */
    uint8_t access_count;
    uint8_t precision; /* enum trace_precision, likewise */
    struct trace_access access[TRACE_ACCESSES];
};

/* What the x87 control word asks for, of an x87 instruction; 0 for others. */
enum trace_precision { TRACE_EXTENDED, TRACE_SINGLE, TRACE_DOUBLE };

enum trace_result {
    TRACE_OK = 0, /* an instruction was delivered */
    TRACE_SYNC,   /* the next instruction reads or writes the clock or the monitoring hardware: let
                     all delivered ones retire, then ask again. Only after trace_source_answer() */
    TRACE_IDLE,   /* none of the threads asked for (choice) can run now, but another one can */
    TRACE_END,    /* the run is over: see trace_source_end() */
    TRACE_ERROR,  /* the source cannot go on: see trace_source_error() */
};

/* How a run ended. */
struct trace_end {
    enum { TRACE_ENDED_EXIT, TRACE_ENDED_SIGNAL, TRACE_ENDED_SNIPPET, TRACE_ENDED_CUT } how;
    int status;                   /* exit status, or signal number */
    uint32_t processes;           /* address spaces seen, the first included */
    uint32_t threads;             /* threads seen, the first included */
    uint64_t signals;             /* signals delivered to handlers */
    uint64_t uncounted_processes; /* children that ran outside the count, with the reason in note */
    char note[256];               /* a sentence for the user, or "" */
    uint64_t interpreted;         /* live: instructions executed by the interpreter */
    uint64_t stepped;             /* live: instructions executed by the processor, a stop each */
    uint64_t compared;            /* live, checked: instructions executed by both */
};

#define TRACE_BUILD_ID_BYTES 20
#define TRACE_NAME_MAX       4096 /* bytes of a function's name; longer ones are left out */

/* A file a process has mapped at some addresses, from some moment of the run on. */
struct trace_object {
    uint16_t process;
    bool executable;
    uint8_t build_id_bytes; /* 0: the file has none or could not be read */
    uint8_t build_id[TRACE_BUILD_ID_BYTES];
    uint64_t instruction; /* instructions executed when it was seen */
    uint64_t start, end;  /* addresses; END is behind the last */
    uint64_t offset;      /* of START in the file */
    char path[256];       /* "[stack]", "[heap]" for those */
};

/* A function in which a recorded run executed instructions. */
struct trace_function {
    const char *path; /* of its file, as in struct trace_object */
    const char *name;
    uint64_t offset, size; /* in the file */
    uint32_t rank;         /* of several names of one place the lowest is meant */
    uint8_t build_id_bytes;
    uint8_t build_id[TRACE_BUILD_ID_BYTES];
};

/* A region of the program that a recording knows. */
#define TRACE_REGION_BYTES 128
struct trace_region {
    bool asked; /* for when it was recorded: TEXT as p4sim stat --region takes it; else a marker of
                   the name TEXT was executed */
    char text[TRACE_REGION_BYTES];
};

/* The program, or the kernel for it, reads or writes the clock or a register of the processor. */
struct trace_register_access {
    enum trace_access_kind { TRACE_RDTSC, TRACE_RDPMC, TRACE_RDMSR, TRACE_WRMSR } what;
    bool ask;                   /* only whether it would be done; nothing changes */
    bool by_driver;             /* at CPL 0, through /dev/cpu/N/msr; else by an instruction */
    unsigned logical_processor; /* by_driver: the N of the file */
    uint32_t index;             /* ECX */
    uint16_t thread;            /* dense number of the thread whose instruction it is */
    uint64_t ip;
    uint64_t value; /* written, or to be filled in: EDX:EAX */
};

/* Does it. False: the processor answers #GP(0) and nothing happened. */
typedef bool trace_register_fn(void *context, struct trace_register_access *access);

/* What one instruction of a wrong path does, as far as that can be known. */
struct trace_wrong_step {
    uint64_t next_ip; /* while next_known: where execution goes on */
    uint32_t repetitions;
    bool next_known;
    uint8_t flags; /* TRACE_SYSTEM_CALL, TRACE_REP_BACKWARD */
    uint8_t access_count;
    uint8_t unknown;  /* a bit for each access whose address nobody knows; it is 0 there */
    uint8_t unmapped; /* a bit for each access to where no page can be: it would fault */
    uint8_t assist;   /* enum trace_assist, where the result is known */
    uint8_t precision;
    struct trace_access access[TRACE_ACCESSES];
};

struct trace_source;
/* General registers: EAX ECX EDX EBX ESP EBP ESI EDI, R8 to R15. */
struct trace_registers {
    uint64_t gpr[16];
    uint64_t ip, flags;
};

struct interpret_state; /* interpret.h */

/* What became of a store by the processor itself. */
enum trace_store {
    TRACE_STORED,
    TRACE_NO_PAGE,   /* nothing is mapped there, or it may not be written */
    TRACE_NO_PROCESS /* the process has ended meanwhile: nobody can look */
};

/* The table of functions behind every source (one implementation per file of this folder). */
struct trace_source_ops {
    enum trace_result (*next)(struct trace_source *source, struct trace_instruction *out);
    size_t (*code_at)(struct trace_source *source, uint16_t process, uint64_t ip,
                      uint8_t bytes[TRACE_INSTRUCTION_BYTES]);
    /* Registers as after the last delivered instruction; NULL or false: not known. */
    bool (*state)(struct trace_source *source, struct interpret_state *out);
    bool (*registers_before)(struct trace_source *source, struct trace_registers *out);
    /* Memory likewise: as many of COUNT bytes at ADDRESS as are known without a gap. */
    size_t (*memory_at)(struct trace_source *source, uint16_t process, uint64_t address,
                        void *bytes, size_t count);
    /* NULL where no memory is known */
    enum trace_store (*store)(struct trace_source *source, uint16_t process, uint64_t address,
                              const void *bytes, size_t count);
    double (*share_done)(const struct trace_source *source);
    void (*interrupt)(struct trace_source *source);
    void (*close)(struct trace_source *source);
    /* NULL where no names are known */
    const struct trace_object *(*objects)(const struct trace_source *source, size_t *count);
    const struct trace_function *(*functions)(struct trace_source *source, size_t *count);
    const struct trace_region *(*regions)(struct trace_source *source, size_t *count);
    /* NULL where wrong paths have no values */
    bool (*wrong_begin)(struct trace_source *source);
    bool (*wrong_step)(struct trace_source *source, uint64_t ip, struct trace_wrong_step *out);
    bool (*wrong_mark)(struct trace_source *source, unsigned number);
    bool (*wrong_back)(struct trace_source *source, unsigned number);
    /* NULL where nothing can be left out */
    enum trace_result (*run_natively)(struct trace_source *source, const uint64_t *stops,
                                      size_t count);
};

struct trace_source {
    const struct trace_source_ops *ops;
    trace_register_fn *registers; /* or NULL */
    void *registers_context;
    /* Whose instruction next() gives: 0 any thread's, in turn; 1 or 2: one of those with an even or
     * odd number. Only live programs choose; the others say so. */
    unsigned choice;
    bool chooses;
    unsigned logical_processors; /* N of /dev/cpu/N/msr that exist */
    struct trace_end end;
    char error[512];    /* what, where, what was expected; "" while all is well */
    const char *report; /* both states where a check failed, in lines; else NULL */
    int error_status;   /* p4sim exit status that fits the error: 2 usage, 3 input cannot be used */
};

/* The next executed instruction. */
static inline enum trace_result trace_source_next(struct trace_source *source,
                                                  struct trace_instruction *out)
{
    return source->ops->next(source, out);
}

/*
 * The program's code at IP of PROCESS as known so far: bytes copied, 0 when unknown. Known are the
 * 4096-byte pages in which an instruction has been executed already, as they were when that last
 * became true, so that live runs and replays know the same. For fetching down a wrong path.
 * The bytes of an instruction just delivered are always known.
 */
static inline size_t trace_source_code_at(struct trace_source *source, uint16_t process,
                                          uint64_t ip, uint8_t bytes[TRACE_INSTRUCTION_BYTES])
{
    return source->ops->code_at(source, process, ip, bytes);
}

/*
 * The files that processes of the run have mapped so far, in the order in which that became known:
 * *COUNT of them. The log only grows; a later entry takes the place of earlier ones at its
 * addresses. Valid until the next call of trace_source_next().
 */
static inline const struct trace_object *trace_source_objects(const struct trace_source *source,
                                                              size_t *count)
{
    *count = 0;
    return source->ops->objects ? source->ops->objects(source, count) : NULL;
}

/*
 * The functions a recording names: *COUNT of them, by file and where they begin; of those that
 * cover an address with the same start, the first is meant. None from other sources: there the
 * files of the objects tell. Valid until the source is closed.
 */
static inline const struct trace_function *trace_source_functions(struct trace_source *source,
                                                                  size_t *count)
{
    *count = 0;
    return source->ops->functions ? source->ops->functions(source, count) : NULL;
}

/*
 * The regions a recording knows, *COUNT of them: those asked for when it was made, and markers that
 * its run executed. None from other sources. Valid until the source is closed.
 */
static inline const struct trace_region *trace_source_regions(struct trace_source *source,
                                                              size_t *count)
{
    *count = 0;
    return source->ops->regions ? source->ops->regions(source, count) : NULL;
}

/*
 * Who answers RDTSC, RDPMC, RDMSR and WRMSR of the program, and accesses to /dev/cpu/N/msr with N
 * below LOGICAL_PROCESSORS. Before the first instruction; without it RDTSC gives the number of
 * instructions executed so far and the others fault as in a user program.
 */
static inline void trace_source_answer(struct trace_source *source, trace_register_fn *registers,
                                       void *context, unsigned logical_processors)
{
    source->registers = registers;
    source->registers_context = context;
    source->logical_processors = logical_processors;
}

/*
 * A wrong path: what would be executed if the last delivered instruction had led elsewhere. It
 * begins with registers and memory as that instruction left them; each step executes the
 * instruction at the IP it is given; nothing of it is ever seen by the program. A path ends with
 * the next instruction that is asked for or the next path. False: values are not known, here or at
 * all.
 */
static inline bool trace_source_wrong_begin(struct trace_source *source)
{
    return source->ops->wrong_begin && source->ops->wrong_begin(source);
}

/* False: no path was begun, or no code is known at IP. */
static inline bool trace_source_wrong_step(struct trace_source *source, uint64_t ip,
                                           struct trace_wrong_step *out)
{
    return source->ops->wrong_step && source->ops->wrong_step(source, ip, out);
}

/* The path may come back to where it is now: mark NUMBER, counted from 0; those from NUMBER on that
 * were made before are forgotten. False: no more are kept, or there is no path. */
static inline bool trace_source_wrong_mark(struct trace_source *source, unsigned number)
{
    return source->ops->wrong_mark && source->ops->wrong_mark(source, number);
}

/* The path goes on from where mark NUMBER was made; it is forgotten with those above it. False:
 * there is none. */
static inline bool trace_source_wrong_back(struct trace_source *source, unsigned number)
{
    return source->ops->wrong_back && source->ops->wrong_back(source, number);
}

/*
 * Lets a live program run at the processor's own speed, delivering nothing, until one of its
 * threads is about to execute an instruction at one of COUNT addresses (in any of its processes):
 * the next one delivered is that one. The instruction that would be delivered next does not count
 * as one of them, and is not delivered any more. Meanwhile CPUID, RDTSC and /dev/cpu/N/msr are the
 * host's, but not in the program's start, which is interpreted. END: the program ended before;
 * ERROR: see source->error (recordings and snippets leave nothing out).
 */
static inline enum trace_result trace_source_run_natively(struct trace_source *source,
                                                          const uint64_t *stops, size_t count)
{
    static const char only_live[] = "only a live program can run natively in parts";

    if (source->ops->run_natively)
        return source->ops->run_natively(source, stops, count);
    source->error_status = 2;
    memcpy(source->error, only_live, sizeof only_live);
    return TRACE_ERROR;
}

/* The registers of the delivered instruction's thread as the instruction left them. False where the
 * source cannot tell. */
static inline bool trace_source_state(struct trace_source *source, struct interpret_state *out)
{
    return source->ops->state && source->ops->state(source, out);
}

/*
 * The registers as before the instruction delivered last. They are kept from the first call on,
 * because keeping them takes time; false for instructions delivered before that, and where nobody
 * knows them.
 */
static inline bool trace_source_registers_before(struct trace_source *source,
                                                 struct trace_registers *out)
{
    return source->ops->registers_before && source->ops->registers_before(source, out);
}

/* Memory of PROCESS as the delivered instruction left it: as many of COUNT bytes at ADDRESS as are
 * known without a gap. */
static inline size_t trace_source_memory_at(struct trace_source *source, uint16_t process,
                                            uint64_t address, void *bytes, size_t count)
{
    return source->ops->memory_at ? source->ops->memory_at(source, process, address, bytes, count)
                                  : 0;
}

/*
 * The simulated processor itself stores COUNT bytes (at most 256) at ADDRESS of PROCESS, as its
 * microcode does into a DS area: the program finds them there with the next instruction that is
 * asked for, interpreted or executed natively. A recording that is being made has them as something
 * from outside; in a replay, where the program sees what the recorded run's processor stored, they
 * are seen by trace_source_memory_at() alone, until the next instruction. COUNT 0 only asks.
 */
static inline enum trace_store trace_source_store(struct trace_source *source, uint16_t process,
                                                  uint64_t address, const void *bytes, size_t count)
{
    return source->ops->store ? source->ops->store(source, process, address, bytes, count)
                              : TRACE_NO_PAGE;
}

/* Share of the run that is done, 0..1, or a negative number when nobody can know. */
static inline double trace_source_share_done(const struct trace_source *source)
{
    return source->ops->share_done ? source->ops->share_done(source) : -1.0;
}

/* End the run early (Ctrl-C): live programs are killed, files are completed. Then close as usual.
 */
static inline void trace_source_interrupt(struct trace_source *source)
{
    if (source->ops->interrupt)
        source->ops->interrupt(source);
}

static inline void trace_source_close(struct trace_source *source)
{
    source->ops->close(source);
}

/* ---- the sources -------------------------------------------------------------------------------
 */

/* What CPUID tells the program: leaf and subleaf in, four registers out. NULL: the host's own
 * answer. */
typedef void trace_cpuid_fn(void *context, uint32_t leaf, uint32_t subleaf, uint32_t registers[4]);

struct trace_live_options {
    char *const *argv; /* program (searched in PATH) and arguments, NULL-terminated */
    trace_cpuid_fn *cpuid;
    void *cpuid_context;
    const char *record_to;     /* also record the run to this file, or NULL */
    const char *model;         /* name of the model, for the recording's header */
    uint64_t checkpoint_every; /* instructions between a recording's checkpoints; 0: the usual */
    const struct trace_region *regions; /* REGION_COUNT that the recording is to keep */
    size_t region_count;
    bool portable;    /* record results of floating point: replays on hosts not x86 too */
    bool any_program; /* the first program may be one that runs outside the count */
    bool native_only; /* the processor executes every instruction: slow, for comparison */
    /* Every instruction the interpreter knows is executed by the processor too, from the one
     * numbered check_from on; TRACE_ERROR with status 1 and a report where they differ. */
    bool check;
    uint64_t check_from;
    bool long_mode;   /* the model has EM64T: 64-bit programs run too */
    bool short_turns; /* threads take turns of LIVE_SHORT_TURN instructions: the reader
                         runs them side by side */
};

/* Each opener gives a source or NULL; when NULL, ERROR (512 bytes) says what, where, what was
 * expected and *STATUS is the exit status that fits (2 usage, 3 input cannot be used). */

/* A program started now under ptrace, its standard input and output untouched. */
struct trace_source *trace_open_live(const struct trace_live_options *options, char error[512],
                                     int *status);
/* Whether live runs can work here at all (ptrace allowed, 32-bit programs run); else REASON says
 * why not. */
bool trace_live_possible(char reason[256]);
/* A recorded run. */
struct trace_source *trace_open_file(const char *path, char error[512], int *status);
/* Likewise, from INSTRUCTION (counted from 0) on: by the checkpoint before it and a replay from
 * there. */
struct trace_source *trace_open_file_at(const char *path, uint64_t instruction, char error[512],
                                        int *status);
/* Assembly text (GNU as, AT&T or with .intel_syntax) assembled by the system's `as --32`, or `as
 * --64` for LONG_MODE, run from its first byte until it leaves its own code: as a live program, or,
 * where none can run, by the interpreter alone (end.note says so), which ends with TRACE_ERROR at a
 * system call and at what it does not know. */
struct trace_source *trace_open_snippet(const char *text, const char *name, bool long_mode,
                                        trace_cpuid_fn *cpuid, void *cpuid_context, char error[512],
                                        int *status);

/* A part of a recorded run as a recording of its own. */
struct trace_copy {
    const char *from, *to;     /* paths */
    uint64_t first;            /* instruction, from 0 */
    uint64_t count;            /* instructions; UINT64_MAX: to the end */
    uint64_t checkpoint_every; /* 0: the usual */
};
/* *INSTRUCTIONS are in the copy. Where FROM is damaged the copy ends, and DAMAGE (512 bytes, else
 * "") says where. Same errors as the openers. */
bool trace_copy(const struct trace_copy *copy, uint64_t *instructions, char damage[512],
                char error[512], int *status);

/* Run a 32-bit snippet and record it to PATH, without delivering anything. Errors as the openers.
 */
bool trace_record_snippet(const char *text, const char *name, const char *path,
                          trace_cpuid_fn *cpuid, void *cpuid_context, char error[512], int *status);

/* Another program's list of executed instructions as a plain stream: text as valgrind's lackey
 * writes it with --trace-mem=yes. */
struct trace_import {
    const char *from, *to;       /* paths */
    const char *const *programs; /* ELF files that have the code: PATH or PATH@ADDRESS, where it was
                                    mapped */
    size_t program_count;
    bool long_mode; /* 64-bit code; programs tell by themselves */
};
struct trace_imported {
    uint64_t instructions;
    uint64_t unknown; /* of these, bytes nobody knows: stand-ins of their length and accesses */
    bool partial;     /* the text is damaged: the file has what stands before that */
    uint64_t without; /* accesses the instruction's bytes ask for and the text does not have */
};
/* Same errors as the openers; they name the line. */
bool trace_import_lackey(const struct trace_import *import, struct trace_imported *imported,
                         char error[512], int *status);

/* What the header of a recorded run says. */
struct trace_info {
    uint32_t version;
    uint64_t instructions; /* of a recording cut short before its trailer: those that verifying it
                              came upon */
    uint64_t codes;        /* static instructions */
    uint64_t checkpoints;  /* places where a replay can start besides the beginning */
    uint64_t names;        /* of functions */
    uint64_t regions;      /* asked for and markers */
    uint64_t file_bytes;
    bool complete;
    char program[256]; /* command line, shortened */
    char made_by[64];
    char model[64];  /* whose CPUID the program saw, or "" */
    char source[64]; /* how the run came about */
    struct trace_end end;
};
/* Read the header and trailer, and every chunk's checksum when VERIFY. Same errors as the openers.
 */
bool trace_file_info(const char *path, bool verify, struct trace_info *info, char error[512],
                     int *status);

#endif
