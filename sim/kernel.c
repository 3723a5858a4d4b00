/*
 * The kernel's control flow: which row of kernel_stub.def comes next. Branches that test for errors
 * or for other work to do are not taken: there never is any. See kernel.h.
 */
#include "kernel.h"

#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define AT_LINE     JOIN(line_, __LINE__) /* of kernel_stub.def: one row a line */

/* The rows as they lie in memory. */
struct image {
#define ROUTINE(name, text)
#define K(text, bytes, ...) char AT_LINE[sizeof(bytes) - 1];
#include "kernel_stub.def"
#undef K
#undef ROUTINE
};

/* A routine begins with the row behind it. */
enum row_number {
#define ROUTINE(name, text) START_##name, BEFORE_##name = START_##name - 1,
#define K(...)              AT_LINE,
#include "kernel_stub.def"
#undef K
#undef ROUTINE
    ROWS
};

static const struct kernel_row rows[ROWS] = {
#define ROUTINE(name, text)
#define K(text, bytes, access, operand, size, flow, target, action)                                \
    {text,                                                                                         \
     bytes,                                                                                        \
     sizeof(bytes) - 1,                                                                            \
     KERNEL_ACCESS_##access,                                                                       \
     size,                                                                                         \
     KERNEL_FLOW_##flow,                                                                           \
     KERNEL_##target,                                                                              \
     KERNEL_ACTION_##action,                                                                       \
     operand,                                                                                      \
     (uint32_t)(KERNEL_CODE + offsetof(struct image, AT_LINE))},
#include "kernel_stub.def"
#undef K
#undef ROUTINE
};

static const struct {
    const char *name, *text;
    size_t row;
} routines[KERNEL_ROUTINES] = {
#define ROUTINE(name, text) {#name, text, START_##name},
#define K(...)
#include "kernel_stub.def"
#undef K
#undef ROUTINE
};

const struct kernel_row *kernel_rows(size_t *count)
{
    *count = ROWS;
    return rows;
}

size_t kernel_routine_row(enum kernel_routine routine)
{
    return routines[routine].row;
}

const char *kernel_routine_name(enum kernel_routine routine)
{
    return routines[routine].name;
}

const char *kernel_routine_text(enum kernel_routine routine)
{
    return routines[routine].text;
}

struct kernel_frame *kernel_enter(struct kernel *kernel, enum kernel_routine routine,
                                  uint16_t process, uint64_t resume_ip)
{
    enum { FRAME = 20, ERROR_CODE = 4 }; /* SS, ESP, EFLAGS, CS, EIP: pushed by the processor */
    uint32_t top = kernel->depth ? kernel->frame[kernel->depth - 1].esp
                                 : KERNEL_STACKS + ((process + 512u * kernel->lp) % 1024u + 1) *
                                                       KERNEL_STACK_BYTES;
    struct kernel_frame *frame = &kernel->frame[kernel->depth++];
    *frame =
        (struct kernel_frame){.row = kernel_routine_row(routine),
                              .esp = top - FRAME - (routine == KERNEL_PAGE_FAULT ? ERROR_CODE : 0),
                              .process = process,
                              .handler = routine != KERNEL_SYSTEM_CALL,
                              .resume_ip = resume_ip};
    return frame;
}

/* Whether the row's branch is taken; counts the loop it closes. */
static bool taken(const struct kernel_row *row, struct kernel_frame *frame)
{
    switch ((enum kernel_flow)row->flow) {
    case KERNEL_FLOW_CALL:
        return true;
    case KERNEL_FLOW_UNLESS_OVERFLOWED:
        return !frame->overflowed;
    case KERNEL_FLOW_WHILE_COUNTERS:
        frame->counter++;
        return frame->counter < frame->counters;
    case KERNEL_FLOW_UNLESS_TRACE:
        return !frame->trace;
    case KERNEL_FLOW_UNLESS_DS:
        return !frame->ds;
    case KERNEL_FLOW_UNLESS_RECORDS:
        return frame->records == 0;
    case KERNEL_FLOW_WHILE_RECORDS:
        return frame->record < frame->records;
    default:
        return false;
    }
}

/* Where the routine goes on; the address of that in OUT. */
static void go_on(struct kernel *kernel, struct kernel_frame *frame, struct nb_instruction *out)
{
    const struct kernel_row *row = &rows[frame->row];
    if (row->flow == KERNEL_FLOW_LEAVE) {
        out->next_ip = frame->resume_ip;
        if (frame->handler)
            out->flags |= NB_INSTRUCTION_HANDLER_END;
        kernel->depth--;
        return;
    }
    if (row->flow == KERNEL_FLOW_CALL)
        frame->return_row = frame->row + 1;
    if (row->flow == KERNEL_FLOW_RETURN)
        frame->row = frame->return_row;
    else
        frame->row = taken(row, frame) ? routines[row->target].row : frame->row + 1;
    out->next_ip = rows[frame->row].address;
    frame->acted = false;
}

bool kernel_next(struct kernel *kernel, struct nb_instruction *out, bool *sync)
{
    *sync = false;
    if (!kernel->depth)
        return false;
    struct kernel_frame *frame = &kernel->frame[kernel->depth - 1];
    const struct kernel_row *row = &rows[frame->row];
    if (row->action != KERNEL_ACTION_NOTHING && !frame->acted) {
        frame->acted = *sync = true;
        return true;
    }
    if (row->action != KERNEL_ACTION_NOTHING && kernel->act)
        kernel->act(kernel->context, kernel->lp, (enum kernel_action)row->action, frame);
    *out = (struct nb_instruction){.repetitions = 1,
                                   .ip = row->address,
                                   .process = NB_PROCESS_KERNEL,
                                   .flags = NB_INSTRUCTION_KERNEL,
                                   .length = row->length};
    kernel_accesses(kernel, frame, row, out);
    go_on(kernel, frame, out);
    return true;
}

size_t kernel_code_at(uint64_t ip, uint8_t bytes[15])
{
    size_t n = 0;
    for (size_t i = 0; i < ROWS && n < 15; i++) {
        if (rows[i].address + rows[i].length <= ip + n)
            continue;
        for (size_t at = (size_t)(ip + n - rows[i].address); at < rows[i].length && n < 15; at++)
            bytes[n++] = (uint8_t)rows[i].bytes[at];
    }
    return ip < KERNEL_CODE ? 0 : n;
}
