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
#include "uop_repeats.def"
#undef R
};

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
static void fill_head(struct nb_uop *uops, unsigned n, const struct repeat_row *row,
                      const struct nb_facts *facts)
{
    for (unsigned i = 0; i < n; i++)
        make(&uops[i], NB_UOP_ALU, NB_SCHED_FAST_ANY);
    make_step(&uops[n - 1], facts->step[facts->steps - 1], row->head_ticks);
    uops[n - 1].source[1] = NB_REG_GPR + 1;
}

static void fill_body(struct nb_uop *uops, unsigned n, const struct repeat_row *row,
                      const struct nb_facts *facts)
{
    unsigned used = 0;
    for (unsigned i = 0; i < facts->reads; i++)
        make_load(&uops[used++], facts, i);
    for (unsigned i = 0; i < facts->writes; i++)
        make_store(&uops[used++], facts);
    if (facts->flags_written)
        make_compare(&uops[used++], facts);
    for (unsigned i = facts->steps; i-- > 0 && used < n;)
        make_step(&uops[used++], facts->step[i], row->body_ticks);
    while (used < n)
        make(&uops[used++], NB_UOP_ALU, NB_SCHED_FAST_ANY);
}

static unsigned fewest_body_uops(const struct nb_facts *facts)
{
    return facts->reads + facts->writes + (unsigned)facts->flags_written + 1;
}

bool nb_build_repeat(struct nb_arena *arena, enum nb_core core, const char *family,
                     const struct nb_facts *facts, struct nb_code *code)
{
    const struct repeat_row plain = {.trace_uops = 4,
                                     .head_ticks = 2,
                                     .elements = 1,
                                     .body_uops = (uint16_t)fewest_body_uops(facts),
                                     .body_ticks = 8};
    const struct repeat_row *row = find_row(core, family, facts->element_bytes);
    if (!row) {
        row = &plain;
        code->flags |= NB_CODE_APPROXIMATE;
    }
    unsigned head = row->trace_uops + (unsigned)row->head_rom;
    code->uops = nb_arena_take(arena, head + row->body_uops);
    if (!code->uops)
        return false;
    fill_head(code->uops, head, row, facts);
    fill_body(code->uops + head, row->body_uops, row, facts);
    for (unsigned i = row->trace_uops; i < head + row->body_uops; i++)
        code->uops[i].flags |= NB_UOP_FROM_ROM;
    code->uops[0].flags |= NB_UOP_FIRST;
    code->uops[head + row->body_uops - 1U].flags |= NB_UOP_LAST;
    code->uop_count = (uint16_t)head;
    code->body_count = row->body_uops;
    code->body_elements = (uint8_t)row->elements;
    code->trace_uops = (uint8_t)row->trace_uops;
    code->trace_entries = code->trace_uops;
    code->flags |= NB_CODE_REPEATS | NB_CODE_COMPLEX;
    return true;
}
