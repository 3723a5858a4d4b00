/*
 * REP strings: the microcode ROM runs a head once and a body for every few elements (rows:
 * uop_repeats.def).
 *
 * The head's uops only take slots and time; its last one hands the string pointer on. A pass of the
 * body has its load and store, a uop that moves the pointer and carries the time of a pass, a
 * compare with flags for SCAS and CMPS, and uops that only take slots. Elements of one pass are one
 * access of their joint size: the machine adds up addresses. INS and OUTS have no rows: one element
 * a pass and the fewest uops (NB_CODE_APPROXIMATE).
 *
 * Not modelled: ECX as a result; who reads it after the loop does not wait for the loop.
 */
#include "decode.h"
#include <string.h>

struct repeat_row {
    const char *name;
    uint16_t core, element_bytes, trace_uops, head_rom, head_ticks, elements, body_uops, body_ticks;
};

static const struct repeat_row rows[] = {
#define R(core, name, bytes, trace, rom, head_ticks, elements, uops, ticks)                        \
    {name, NB_CORE_##core, bytes, trace, rom, head_ticks, elements, uops, ticks},
#define G(...)
#include "uop_repeats.def"
#undef R
#undef G
};

/* Forward moves and fills go 64 bytes a pass, and element by element where less is left. */
struct group_row {
    const char *name;
    uint16_t core, trace_uops, head_rom, head_ticks, uops, ticks, tail_uops, tail_ticks;
};

static const struct group_row groups[] = {
#define R(...)
#define G(core, name, trace, rom, head_ticks, uops, ticks, tail_uops, tail_ticks)                  \
    {name, NB_CORE_##core, trace, rom, head_ticks, uops, ticks, tail_uops, tail_ticks},
#include "uop_repeats.def"
#undef R
#undef G
};

#define GROUP_BYTES  64u
#define GROUP_PIECES 4u

static const struct group_row *find_group(enum nb_core core, const char *name)
{
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (groups[i].core == core && strcmp(groups[i].name, name) == 0)
            return &groups[i];
    return NULL;
}

static const struct repeat_row *find_row(enum nb_core core, const char *name,
                                         unsigned element_bytes)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].core == core && strcmp(rows[i].name, name) == 0 &&
            (rows[i].element_bytes == 0 || rows[i].element_bytes == element_bytes))
            return &rows[i];
    return NULL;
}

static void make(struct nb_uop *uop, enum nb_uop_kind kind, enum nb_scheduler scheduler)
{
    *uop = (struct nb_uop){.kind = (uint8_t)kind,
                           .scheduler = (uint8_t)scheduler,
                           .latency = 1,
                           .busy = 1,
                           .result = NB_REG_NONE,
                           .result2 = NB_REG_NONE};
    memset(uop->source, NB_REG_NONE, sizeof uop->source);
}

static void make_load(struct nb_uop *uop, const struct nb_facts *facts, unsigned i)
{
    make(uop, NB_UOP_LOAD, NB_SCHED_MEMORY);
    uop->domain = NB_DOMAIN_LOAD;
    uop->unit = NB_UNIT_LOAD;
    uop->latency = 0;
    uop->busy = 2;
    uop->access = (uint8_t)i;
    uop->source[0] = facts->read[i].reg[0];
    uop->result = facts->results > 0 ? facts->result[0] : (uint8_t)(NB_REG_TEMP + 1 + i);
}

static void make_store(struct nb_uop *uop, const struct nb_facts *facts)
{
    make(uop, NB_UOP_STORE_DATA, NB_SCHED_FAST0);
    uop->unit = NB_UNIT_STORE;
    uop->busy = 2;
    uop->latency = 2;
    uop->flags = NB_UOP_STORE_FUSED;
    uop->data_sources = 1;
    uop->source[0] = facts->reads > 0     ? NB_REG_TEMP + 1
                     : facts->sources > 0 ? facts->source[0]
                                          : NB_REG_NONE;
    uop->source[1] = facts->write[0].reg[0];
}

/* The pointer step that paces the loop. */
static void make_step(struct nb_uop *uop, uint8_t reg, unsigned ticks)
{
    make(uop, NB_UOP_ALU, NB_SCHED_FAST_ANY);
    uop->latency = (uint16_t)ticks;
    uop->source[0] = reg;
    uop->result = reg;
}

static void make_compare(struct nb_uop *uop, const struct nb_facts *facts)
{
    make(uop, NB_UOP_ALU, NB_SCHED_FAST_ANY);
    for (unsigned i = 0; i < facts->reads; i++)
        uop->source[i] = (uint8_t)(NB_REG_TEMP + 1 + i);
    if (facts->reads == 1 && facts->sources > 0)
        uop->source[1] = facts->source[0];
    uop->result2 = NB_REG_FLAGS;
}

/* The last uop of the head reads the count and the pointer and hands the pointer on. */
static void fill_head(struct nb_uop *uops, unsigned n, unsigned ticks, const struct nb_facts *facts)
{
    for (unsigned i = 0; i < n; i++)
        make(&uops[i], NB_UOP_ALU, NB_SCHED_FAST_ANY);
    make_step(&uops[n - 1], facts->step[facts->steps - 1], ticks);
    uops[n - 1].source[1] = NB_REG_GPR + 1;
}

static void take_piece(struct nb_uop *uop, unsigned pieces, unsigned piece)
{
    uop->piece = (uint8_t)piece;
    uop->piece_bytes = pieces > 1 ? GROUP_BYTES / GROUP_PIECES : 0;
    uop->piece_offset = (uint16_t)(piece * uop->piece_bytes);
}

/* One pass, its accesses in so many PIECES. */
static void fill_body(struct nb_uop *uops, unsigned n, unsigned ticks, unsigned pieces,
                      const struct nb_facts *facts)
{
    unsigned used = 0;
    for (unsigned piece = 0; piece < pieces; piece++) {
        for (unsigned i = 0; i < facts->reads; i++) {
            make_load(&uops[used], facts, i);
            take_piece(&uops[used++], pieces, piece);
        }
        for (unsigned i = 0; i < facts->writes; i++) {
            make_store(&uops[used], facts);
            take_piece(&uops[used++], pieces, piece);
        }
    }
    if (facts->flags_written)
        make_compare(&uops[used++], facts);
    for (unsigned i = facts->steps; i-- > 0 && used < n;)
        make_step(&uops[used++], facts->step[i], ticks);
    while (used < n)
        make(&uops[used++], NB_UOP_ALU, NB_SCHED_FAST_ANY);
}

static unsigned fewest_body_uops(const struct nb_facts *facts)
{
    return facts->reads + facts->writes + (unsigned)facts->flags_written + 1;
}

static void finish(struct nb_code *code, unsigned head, unsigned trace_uops)
{
    unsigned all = head + code->body_count + code->tail_count;
    for (unsigned i = trace_uops; i < all; i++)
        code->uops[i].flags |= NB_UOP_FROM_ROM;
    code->uops[0].flags |= NB_UOP_FIRST;
    code->uops[head + code->body_count - 1U].flags |= NB_UOP_LAST;
    code->uop_count = (uint16_t)head;
    code->trace_uops = (uint8_t)trace_uops;
    code->trace_entries = code->trace_uops;
    code->flags |= NB_CODE_REPEATS | NB_CODE_COMPLEX;
}

static bool build_groups(struct nb_arena *arena, const struct group_row *row,
                         const struct nb_facts *facts, struct nb_code *code)
{
    unsigned head = row->trace_uops + (unsigned)row->head_rom;
    code->uops = nb_arena_take(arena, head + row->uops + (unsigned)row->tail_uops);
    if (!code->uops)
        return false;
    fill_head(code->uops, head, row->head_ticks, facts);
    fill_body(code->uops + head, row->uops, row->ticks, GROUP_PIECES, facts);
    fill_body(code->uops + head + row->uops, row->tail_uops, row->tail_ticks, 1, facts);
    code->body_count = row->uops;
    code->tail_count = row->tail_uops;
    code->body_elements = (uint8_t)(GROUP_BYTES / facts->element_bytes);
    finish(code, head, row->trace_uops);
    return true;
}

bool nb_build_repeat(struct nb_arena *arena, enum nb_core core, const char *family,
                     const struct nb_facts *facts, struct nb_code *code)
{
    const struct repeat_row plain = {.trace_uops = 4,
                                     .head_ticks = 2,
                                     .elements = 1,
                                     .body_uops = (uint16_t)fewest_body_uops(facts),
                                     .body_ticks = 8};
    const struct group_row *group = find_group(core, family);
    if (group && facts->element_bytes)
        return build_groups(arena, group, facts, code);
    const struct repeat_row *row = find_row(core, family, facts->element_bytes);
    if (!row) {
        row = &plain;
        code->flags |= NB_CODE_APPROXIMATE;
    }
    unsigned head = row->trace_uops + (unsigned)row->head_rom;
    code->uops = nb_arena_take(arena, head + row->body_uops);
    if (!code->uops)
        return false;
    fill_head(code->uops, head, row->head_ticks, facts);
    fill_body(code->uops + head, row->body_uops, row->body_ticks, 1, facts);
    code->body_count = row->body_uops;
    code->body_elements = (uint8_t)row->elements;
    finish(code, head, row->trace_uops);
    return true;
}
