/*
 * The interpreter against the processor on a running program: each instruction the interpreter
 * knows is executed by both, from the same state; then registers, flags, x87 and SSE state and the
 * memory written must agree. The processor's result is what the program goes on with.
 *
 * The interpreter works on copies that are thrown away. Flags the manual leaves undefined are not
 * compared, nor are the x87 unit's pointers, which the interpreter does not keep. One difference is
 * meant: F3 0F BC of zero leaves its destination on a Pentium 4, where later hosts count zeros.
 */
#define _GNU_SOURCE
#include "live_check.h"
#include "execute.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

enum {
    REPORT_BYTES = 8192,
    PIECE = 256, /* bytes of memory compared at a time */
    CF = 1 << 0,
    PF = 1 << 2,
    AF = 1 << 4,
    ZF = 1 << 6,
    SF = 1 << 7,
    OF = 1 << 11,
    COMPARED = CF | PF | AF | ZF | SF | OF | FLAG_DIRECTION,
};

struct live_check {
    uint64_t from;
    bool predicted; /* interpreted: what follows is the interpreter's */
    const struct code_entry *entry;
    struct interpret_state before, after;
    unsigned access_count;
    struct trace_access access[TRACE_ACCESSES];
    uint32_t repetitions;
    struct interpreter machine;
    char report[REPORT_BYTES];
};

struct live_check *live_check_new(uint64_t from)
{
    struct live_check *check = calloc(1, sizeof *check);

    if (check && !(check->machine.memory = execute_memory_new(NULL))) {
        free(check);
        return NULL;
    }
    if (check)
        check->from = from;
    return check;
}

void live_check_free(struct live_check *check)
{
    if (!check)
        return;
    interpret_memory_free(check->machine.memory);
    free(check);
}

bool live_check_due(const struct live *live)
{
    return live->check && live->executed >= live->check->from;
}

/* ---- states ------------------------------------------------------------------------------------
 */

static bool take_state(const struct live_thread *thread, struct interpret_state *state)
{
    struct user_fpregs_struct registers;

    if (ptrace(PTRACE_GETFPREGS, thread->tid, NULL, &registers) != 0)
        return false;
    state->registers = live_registers(&thread->regs);
    memcpy(state->xmm, registers.xmm_space, sizeof state->xmm);
    state->mxcsr = registers.mxcsr;
    memcpy(&state->x87, &registers, sizeof state->x87);
    return true;
}

void live_check_predict(struct live *live, struct live_thread *thread)
{
    struct live_check *check = live->check;

    check->predicted = false;
    if (thread->inject || live_call_restarts(thread) ||
        live_mode(&thread->regs) != thread->space->mode || !take_state(thread, &check->before))
        return;
    thread->space->tid = thread->tid;
    check->entry = space_fetch(thread->space, live->decoder, check->before.registers.ip);
    if (!check->entry)
        return;
    check->machine.memory->context = thread->space;
    interpret_memory_drop(check->machine.memory);
    check->machine.state = check->before;
    check->predicted = interpret_step(&check->machine, &check->entry->op, &check->entry->recipe,
                                      check->access, &check->access_count);
    check->after = check->machine.state;
    check->repetitions = check->machine.repetitions;
}

/* ---- what the manual leaves undefined ----------------------------------------------------------
 */

/* Past prefixes, REX included: the opcode's place. */
static unsigned opcode_at(const struct recipe *recipe)
{
    static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
                                       0x66, 0x67, 0xf0, 0xf2, 0xf3};
    unsigned at = 0;

    while (at < recipe->length && memchr(prefixes, recipe->bytes[at], sizeof prefixes))
        at++;
    return recipe->mode == RECIPE_64 && recipe->bytes[at] >> 4 == 4 ? at + 1 : at;
}

static uint32_t undefined_of_shift(unsigned count, bool rotates)
{
    uint32_t flags = rotates ? 0 : AF;

    return count == 1 ? flags : flags | OF;
}

static uint32_t undefined_one_byte(const struct live_check *check, const uint8_t *opcode)
{
    unsigned digit = opcode[1] >> 3 & 7, count = check->before.registers.gpr[GPR_CX] & 63;

    switch (opcode[0]) {
    case 0xc0:
    case 0xc1:
        count = check->entry->recipe.bytes[check->entry->recipe.length - 1] & 63;
        return undefined_of_shift(count, digit < 4);
    case 0xd0:
    case 0xd1:
        return undefined_of_shift(1, digit < 4);
    case 0xd2:
    case 0xd3:
        return undefined_of_shift(count, digit < 4);
    case 0x69:
    case 0x6b:
        return SF | ZF | AF | PF;
    case 0xf6:
    case 0xf7:
        return digit < 2 ? AF : digit < 4 ? 0 : digit < 6 ? SF | ZF | AF | PF : COMPARED;
    case 0x80:
    case 0x81:
    case 0x83:
        return digit == 1 || digit == 4 || digit == 6 ? AF : 0;
    case 0x84:
    case 0x85:
    case 0xa8:
    case 0xa9:
        return AF;
    default:
        digit = opcode[0] >> 3;
        return opcode[0] < 0x40 && (digit == 1 || digit == 4 || digit == 6) ? AF : 0;
    }
}

static uint32_t undefined_two_byte(const struct live_check *check, const uint8_t *opcode)
{
    const struct recipe *recipe = &check->entry->recipe;

    switch (opcode[1]) {
    case 0xa4:
    case 0xac:
        return undefined_of_shift(recipe->bytes[recipe->length - 1] & 63, false);
    case 0xa5:
    case 0xad:
        return undefined_of_shift(check->before.registers.gpr[GPR_CX] & 63, false);
    case 0xa3:
    case 0xab:
    case 0xb3:
    case 0xbb:
    case 0xba:
        return OF | SF | AF | PF;
    case 0xaf:
        return SF | ZF | AF | PF;
    case 0xbc:
    case 0xbd: /* with F3 the host may know another instruction, whose flags differ */
        return CF | OF | SF | AF | PF | (memchr(recipe->bytes, 0xf3, opcode_at(recipe)) ? ZF : 0);
    default:
        return 0;
    }
}

static uint32_t undefined_flags(const struct live_check *check)
{
    const uint8_t *opcode = check->entry->recipe.bytes + opcode_at(&check->entry->recipe);

    return opcode[0] == 0x0f ? undefined_two_byte(check, opcode)
                             : undefined_one_byte(check, opcode);
}

/* ---- the comparison ----------------------------------------------------------------------------
 */

static bool registers_agree(const struct live_check *check, const struct interpret_state *now)
{
    const struct recipe_registers *mine = &check->after.registers, *native = &now->registers;
    uint32_t flags = (uint32_t)COMPARED & ~undefined_flags(check);

    return !memcmp(mine->gpr, native->gpr, sizeof mine->gpr) && mine->ip == native->ip &&
           !((mine->flags ^ native->flags) & flags);
}

/* Control, status, tags, and ten bytes of each register. */
static bool x87_agrees(const struct interpret_x87 *mine, const struct interpret_x87 *native)
{
    bool equal = mine->control == native->control && mine->status == native->status &&
                 mine->tags == native->tags;

    for (unsigned i = 0; i < 8; i++)
        equal &= !memcmp(mine->st[i], native->st[i], 10);
    return equal;
}

static bool xmm_agrees(const struct live_check *check, const struct interpret_state *now)
{
    unsigned count = check->entry->recipe.mode == RECIPE_64 ? 16 : 8;

    return check->after.mxcsr == now->mxcsr &&
           !memcmp(check->after.xmm, now->xmm, count * sizeof now->xmm[0]);
}

/* The first byte of ACCESS's elements that differs, or its end. */
static uint64_t first_difference(struct live_check *check, const struct live_thread *thread,
                                 const struct trace_access *access, uint64_t *end)
{
    uint64_t bytes = (uint64_t)access->size * check->repetitions, at = access->address;
    uint8_t mine[PIECE], native[PIECE];

    if (check->entry->recipe.string && (check->before.registers.flags & FLAG_DIRECTION))
        at -= bytes - access->size;
    *end = at + bytes;
    while (at < *end) {
        unsigned part = *end - at < PIECE ? (unsigned)(*end - at) : PIECE;
        if (!interpret_load_bytes(check->machine.memory, at, mine, part) ||
            tracee_read(thread->tid, at, native, part) != part)
            return at;
        for (unsigned i = 0; i < part; i++)
            if (mine[i] != native[i])
                return at + i;
        at += part;
    }
    return at;
}

/* ---- the report --------------------------------------------------------------------------------
 */

struct text {
    char *at, *end;
};

static void say(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct text *text, const char *format, ...)
{
    va_list arguments;
    int count;

    va_start(arguments, format);
    count = vsnprintf(text->at, (size_t)(text->end - text->at), format, arguments);
    va_end(arguments);
    if (count > 0)
        text->at += count < text->end - text->at ? count : text->end - text->at - 1;
}

static void say_number(struct text *text, const char *name, uint64_t before, uint64_t mine,
                       uint64_t native)
{
    say(text, "  %-10s %18llx %18llx %18llx%s\n", name, (unsigned long long)before,
        (unsigned long long)mine, (unsigned long long)native, mine == native ? "" : "  <");
}

static void say_general(struct text *text, const struct live_check *check,
                        const struct interpret_state *now)
{
    static const char *const names[2][16] = {
        {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"},
        {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
         "r13", "r14", "r15"}};
    bool wide = check->entry->recipe.mode == RECIPE_64;
    uint32_t flags = (uint32_t)COMPARED & ~undefined_flags(check);

    say(text, "  %-10s %18s %18s %18s\n", "", "before", "interpreted", "processor");
    for (unsigned i = 0; i < (wide ? 16u : 8u); i++)
        say_number(text, names[wide][i], check->before.registers.gpr[i],
                   check->after.registers.gpr[i], now->registers.gpr[i]);
    say_number(text, "ip", check->before.registers.ip, check->after.registers.ip,
               now->registers.ip);
    say_number(text, "flags", check->before.registers.flags & flags,
               check->after.registers.flags & flags, now->registers.flags & flags);
}

static void say_bytes(struct text *text, const char *kind, unsigned number, const uint8_t *bytes,
                      unsigned count)
{
    say(text, "  %s%u ", kind, number);
    for (unsigned i = count; i-- > 0;)
        say(text, "%02x", bytes[i]);
    say(text, "\n");
}

static void say_vectors(struct text *text, const char *title, const struct interpret_state *state)
{
    say(text, "%s: mxcsr %x, x87 control %x status %x tags %x\n", title, state->mxcsr,
        state->x87.control, state->x87.status, state->x87.tags);
    for (unsigned i = 0; i < 8; i++)
        say_bytes(text, "st", i, state->x87.st[i], 10);
    for (unsigned i = 0; i < 16; i++)
        say_bytes(text, "xmm", i, state->xmm[i].b, 16);
}

static bool differs(struct live *live, const struct interpret_state *now, const char *what)
{
    struct live_check *check = live->check;
    struct text text = {check->report, check->report + sizeof check->report};
    char assembly[96];

    recipe_disassemble(live->decoder, &check->entry->recipe, check->entry->ip, assembly);
    live_fail(live, 1, "instruction %llu at 0x%llx, %s: interpreter and processor disagree on %s",
              (unsigned long long)live->executed, (unsigned long long)check->entry->ip, assembly,
              what);
    say_general(&text, check, now);
    say_vectors(&text, "before", &check->before);
    say_vectors(&text, "interpreted", &check->after);
    say_vectors(&text, "processor", now);
    live->source.report = check->report;
    return false;
}

bool live_check_agrees(struct live *live, struct live_thread *thread)
{
    struct live_check *check = live->check;
    struct interpret_state now;
    char place[64];
    uint64_t end;

    if (!check->predicted || !take_state(thread, &now))
        return true;
    check->predicted = false;
    live->source.end.compared++;
    if (!registers_agree(check, &now))
        return differs(live, &now, "registers");
    if (!x87_agrees(&check->after.x87, &now.x87))
        return differs(live, &now, "x87 state");
    if (!xmm_agrees(check, &now))
        return differs(live, &now, "SSE state");
    for (unsigned i = 0; i < check->access_count; i++) {
        uint64_t at = check->access[i].write
                          ? first_difference(check, thread, &check->access[i], &end)
                          : (end = 0);
        if (at == end)
            continue;
        snprintf(place, sizeof place, "memory at 0x%llx", (unsigned long long)at);
        return differs(live, &now, place);
    }
    return true;
}
