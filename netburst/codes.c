/*
 * Static instructions, decoded once: by number for the right path (the source numbers them), by
 * process and address for wrong paths.
 */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 4096u
#define CODE_BYTES  15u

/* What stands in for bytes the disassembler cannot read although a processor executed them. */
static struct nb_uop unreadable_uop = {
    .kind = NB_UOP_ALU,
    .scheduler = NB_SCHED_FAST_ANY,
    .domain = NB_DOMAIN_ALU,
    .flags = NB_UOP_FIRST | NB_UOP_LAST,
    .latency = 1,
    .busy = 1,
    .source = {NB_REG_NONE, NB_REG_NONE, NB_REG_NONE, NB_REG_NONE},
    .result = NB_REG_NONE,
    .result2 = NB_REG_NONE,
};

bool codes_init(struct lp *lp)
{
    struct code_map *map = &lp->codes;
    map->capacity = FIRST_SLOTS;
    map->slot = calloc(map->capacity, sizeof(struct nb_code *));
    map->process = calloc(map->capacity, sizeof *map->process);
    return map->slot && map->process;
}

void codes_free(struct lp *lp)
{
    struct code_map *map = &lp->codes;
    while (map->chunks) {
        struct code_chunk *next = map->chunks->next;
        free(map->chunks);
        map->chunks = next;
    }
    while (map->parts) {
        struct part_chunk *next = map->parts->next;
        free(map->parts);
        map->parts = next;
    }
    free(map->by_number);
    free(map->slot);
    free(map->process);
}

static struct nb_uop *new_part(struct nb_machine *m, struct lp *lp)
{
    struct code_map *map = &lp->codes;
    if (!map->parts || map->parts->used == sizeof map->parts->uop / sizeof map->parts->uop[0]) {
        struct part_chunk *chunk = malloc(sizeof *chunk);
        if (!chunk) {
            m->out_of_memory = true;
            return NULL;
        }
        chunk->next = map->parts;
        chunk->used = 0;
        map->parts = chunk;
    }
    return &map->parts->uop[map->parts->used++];
}

/* A store that is one uop in the trace cache has its address computed apart from its data all the
 * same: loads need not wait for the data of a store to know that it is elsewhere. */
static void make_address_part(struct nb_machine *m, struct lp *lp, struct nb_uop *uop)
{
    struct nb_uop *part = new_part(m, lp);
    if (!part)
        return;
    *part = *uop;
    part->kind = NB_UOP_STORE_ADDRESS;
    part->scheduler = NB_SCHED_MEMORY;
    part->domain = NB_DOMAIN_LOAD;
    part->unit = NB_UNIT_NONE;
    part->fp_class = NB_FP_NONE;
    part->latency = 2;
    part->result = part->result2 = NB_REG_NONE;
    for (unsigned i = 0; i < uop->data_sources; i++)
        part->source[i] = NB_REG_NONE;
    uop->address_part = part;
}

static void make_address_parts(struct nb_machine *m, struct lp *lp, struct nb_code *code)
{
    for (unsigned i = 0; i < code->uop_count + (unsigned)code->body_count + code->tail_count; i++)
        if (code->uops[i].flags & NB_UOP_STORE_FUSED)
            make_address_part(m, lp, &code->uops[i]);
}

static struct nb_code *new_code(struct nb_machine *m, struct lp *lp)
{
    struct code_map *map = &lp->codes;
    if (!map->chunks ||
        map->chunks->used == sizeof map->chunks->code / sizeof map->chunks->code[0]) {
        struct code_chunk *chunk = malloc(sizeof *chunk);
        if (!chunk) {
            m->out_of_memory = true;
            return NULL;
        }
        chunk->next = map->chunks;
        chunk->used = 0;
        map->chunks = chunk;
    }
    struct nb_code *code = &map->chunks->code[map->chunks->used++];
    memset(code, 0, sizeof *code);
    return code;
}

static size_t slot_of(const struct code_map *map, uint16_t process, uint64_t ip)
{
    uint64_t hash = (ip ^ ((uint64_t)process << 40)) * UINT64_C(0x9E3779B97F4A7C15);
    size_t slot = (size_t)(hash >> 32) & (map->capacity - 1);
    while (map->slot[slot] && (map->slot[slot]->ip != ip || map->process[slot] != process))
        slot = (slot + 1) & (map->capacity - 1);
    return slot;
}

static bool grow_slots(struct nb_machine *m, struct lp *lp)
{
    struct code_map *map = &lp->codes;
    struct code_map old = *map;
    map->capacity = old.capacity * 2;
    map->slot = calloc(map->capacity, sizeof(struct nb_code *));
    map->process = calloc(map->capacity, sizeof *map->process);
    if (!map->slot || !map->process) {
        free(map->slot);
        free(map->process);
        *map = old;
        m->out_of_memory = true;
        return false;
    }
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.slot[i]) {
            size_t slot = slot_of(map, old.process[i], old.slot[i]->ip);
            map->slot[slot] = old.slot[i];
            map->process[slot] = old.process[i];
        }
    }
    free(old.slot);
    free(old.process);
    return true;
}

static void remember(struct nb_machine *m, struct lp *lp, uint16_t process, struct nb_code *code)
{
    struct code_map *map = &lp->codes;
    if (map->count * 2 >= map->capacity && !grow_slots(m, lp))
        return;
    size_t slot = slot_of(map, process, code->ip);
    if (!map->slot[slot])
        map->count++;
    else if (map->slot[slot] != code)
        map->slot[slot]->flags |= NB_CODE_REPLACED;
    map->slot[slot] = code;
    map->process[slot] = process;
}

static bool room_for_number(struct nb_machine *m, struct lp *lp, uint32_t number)
{
    struct code_map *map = &lp->codes;
    if (number < map->numbers)
        return true;
    size_t wanted = map->numbers ? map->numbers * 2 : FIRST_SLOTS;
    while (wanted <= number)
        wanted *= 2;
    struct nb_code **table = realloc(map->by_number, wanted * sizeof *table);
    if (!table) {
        m->out_of_memory = true;
        return false;
    }
    for (size_t i = map->numbers; i < wanted; i++)
        table[i] = NULL;
    map->by_number = table;
    map->numbers = wanted;
    return true;
}

static struct nb_code *decode(struct nb_machine *m, struct lp *lp, uint16_t process, uint64_t ip)
{
    uint8_t bytes[CODE_BYTES];
    size_t n = lp->input.code_at(lp->input.context, process, ip, bytes);
    if (!n)
        return NULL;
    struct nb_code *code = new_code(m, lp);
    if (!code)
        return NULL;
    if (!nb_decode(m->decoder[lp->fe.mode_64], bytes, n, ip, code))
        code->flags |= NB_CODE_INVALID;
    else if (lp->fe.mode_64 && !m->p.em64t)
        code->flags |= NB_CODE_NOT_ON_MODEL;
    else
        make_address_parts(m, lp, code);
    code->ip = ip;
    memcpy(code->bytes, bytes, code->length < n ? code->length : n);
    return code;
}

/* What a wrong path has decoded there, if the bytes are still the same: trace lines hold it, and an
 * instruction with two forms would leave those lines for ever. */
static struct nb_code *known_already(struct lp *lp, const struct nb_instruction *in)
{
    struct nb_code *code = lp->codes.slot[slot_of(&lp->codes, in->process, in->ip)];
    uint8_t bytes[CODE_BYTES];
    if (!code || code->length != in->length || (code->flags & NB_CODE_INVALID))
        return NULL;
    size_t n = lp->input.code_at(lp->input.context, in->process, in->ip, bytes);
    return n >= code->length && !memcmp(bytes, code->bytes, code->length) ? code : NULL;
}

static void stand_in(struct nb_code *code, const struct nb_instruction *in)
{
    code->ip = in->ip;
    code->length = in->length;
    code->uops = &unreadable_uop;
    code->uop_count = 1;
    code->trace_uops = 1;
    code->trace_entries = 1;
    code->branch = NB_BRANCH_NONE;
    code->flags = NB_CODE_APPROXIMATE;
}

/* The decoded form of an executed instruction. NULL only when memory is short. */
const struct nb_code *codes_executed(struct nb_machine *m, struct lp *lp,
                                     const struct nb_instruction *in)
{
    if (in->process == NB_PROCESS_KERNEL) /* never changes, has no numbers */
        return codes_at(m, lp, in->process, in->ip);
    if (in->code < lp->codes.numbers && lp->codes.by_number[in->code])
        return lp->codes.by_number[in->code];
    if (!room_for_number(m, lp, in->code))
        return NULL;
    struct nb_code *code = known_already(lp, in);
    if (!code)
        code = decode(m, lp, in->process, in->ip);
    if (!code && !(code = new_code(m, lp)))
        return NULL;
    if ((code->flags & NB_CODE_INVALID) || code->uop_count == 0)
        stand_in(code, in);
    lp->stats.static_instructions++;
    lp->codes.by_number[in->code] = code;
    smc_executed(m, in->process, in->ip);
    smc_executed(m, in->process, in->ip + in->length - 1u);
    remember(m, lp, in->process, code);
    return code;
}

/* The instruction at IP as far as it is known, for wrong paths: NULL when it is not. */
const struct nb_code *codes_at(struct nb_machine *m, struct lp *lp, uint16_t process, uint64_t ip)
{
    size_t slot = slot_of(&lp->codes, process, ip);
    struct nb_code *code = lp->codes.slot[slot];
    if (!code) {
        code = decode(m, lp, process, ip);
        if (!code)
            return NULL;
        remember(m, lp, process, code);
    }
    return code->uop_count && !(code->flags & NB_CODE_INVALID) ? code : NULL;
}
