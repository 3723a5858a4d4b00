/* Executing with unknown values; see wrong_path.h. */
#include "wrong_path.h"

#include <stdlib.h>

enum {
    FLAG_DIRECTION = 1 << 10,
    LOWEST_MAPPED = 0x10000, /* Linux maps nothing below (vm.mmap_min_addr, its usual value) */
};

/* ---- memory ------------------------------------------------------------------------------------
 */

/* A page as the program last saw it; it is copied when the path writes to it. */
static const uint8_t *lend(void *context, uint64_t number)
{
    struct wrong_path *path = context;
    const struct interpret_page *page;

    if (path->pages == WRONG_PATH_PAGES || !(page = interpret_page_known(path->below, number)))
        return NULL;
    path->pages++;
    return page->bytes;
}

/* A store to a page that is read-only waits for its fault in vain; here it goes to the copy. */
static bool writable(void *context, uint64_t number, uint8_t first_byte)
{
    (void)context;
    (void)number;
    (void)first_byte;
    return true;
}

static const struct interpret_backing copies = {.lend = lend, .writable = writable};

struct wrong_path *wrong_path_new(void)
{
    struct wrong_path *path = calloc(1, sizeof *path);

    if (path && !(path->machine.memory = interpret_memory_new(&copies, path))) {
        free(path);
        return NULL;
    }
    if (path)
        path->machine.memory->pages_kept = 4 * WRONG_PATH_PAGES;
    return path;
}

void wrong_path_free(struct wrong_path *path)
{
    if (!path)
        return;
    interpret_memory_free(path->machine.memory);
    free(path);
}

void wrong_path_begin(struct wrong_path *path, const struct interpret_state *state,
                      effect_set unknown, struct interpret_memory *memory)
{
    interpret_memory_drop(path->machine.memory);
    path->machine.state = *state;
    path->below = memory;
    path->unknown = unknown;
    path->pages = 0;
    path->unknown_count = 0;
    path->all_memory_unknown = false;
    path->marks = 0;
}

/* ---- unknown bytes -----------------------------------------------------------------------------
 */

static bool has_unknown(const struct wrong_path *path, uint64_t address, uint64_t count)
{
    for (unsigned i = 0; i < path->unknown_count; i++)
        if (path->unknown_place[i].address < address + count &&
            address < path->unknown_place[i].end)
            return true;
    return path->all_memory_unknown;
}

static void add_unknown(struct wrong_path *path, uint64_t address, uint64_t end)
{
    if (address >= end)
        return;
    if (path->unknown_count == WRONG_PATH_UNKNOWN)
        path->all_memory_unknown = true;
    else
        path->unknown_place[path->unknown_count++] = (struct wrong_place){address, end};
}

/* Known bytes were written over ADDRESS to END. */
static void remove_unknown(struct wrong_path *path, uint64_t address, uint64_t end)
{
    for (unsigned i = 0; i < path->unknown_count;) {
        struct wrong_place place = path->unknown_place[i];
        if (place.address >= end || address >= place.end) {
            i++;
            continue;
        }
        path->unknown_place[i] = path->unknown_place[--path->unknown_count];
        add_unknown(path, place.address, address < place.end ? address : place.end);
        add_unknown(path, end > place.address ? end : place.address, place.end);
    }
}

void wrong_path_memory_was(struct wrong_path *path, uint64_t address, const void *bytes,
                           uint32_t count)
{
    if (!bytes || !interpret_store_bytes(path->machine.memory, address, bytes, count))
        add_unknown(path, address, address + count);
}

/* ---- operands ----------------------------------------------------------------------------------
 */

static effect_set gpr_set(unsigned number)
{
    return number <= GPR_R15 ? EFFECT_GPR(number) : 0;
}

/* Registers an access's address is made of. */
static effect_set address_set(const struct recipe *recipe, const struct recipe_access *access)
{
    effect_set set = gpr_set(access->base) | gpr_set(access->index);

    if (access->segment)
        set |= EFFECT_SEGMENTS;
    if (recipe->bit_offset != GPR_NONE)
        set |= gpr_set(recipe->bit_offset);
    if (access->base == GPR_BX && recipe->bytes[recipe->length - 1] == 0xd7) /* xlat */
        set |= EFFECT_GPR(GPR_AX);
    return set;
}

static unsigned unknown_addresses(const struct wrong_path *path, const struct recipe *recipe)
{
    unsigned unknown = 0;

    for (unsigned i = 0; path->unknown && i < recipe->access_count; i++)
        if (path->unknown & address_set(recipe, &recipe->access[i]))
            unknown |= 1u << i;
    return unknown;
}

/* How often a string instruction repeats at most, as far as it is known. */
static bool repetitions_of(const struct wrong_path *path, const struct recipe *recipe,
                           uint32_t *repetitions)
{
    *repetitions = 1;
    if (!recipe->repeated)
        return true;
    if (path->unknown & EFFECT_GPR(GPR_CX))
        return false;
    *repetitions = (uint32_t)(path->machine.state.registers.gpr[GPR_CX] & recipe->address_mask);
    return true;
}

/* The bytes an access spans, low end first, for COUNT elements; to both sides while nobody knows
 * the direction. */
static struct wrong_place span_of(const struct wrong_path *path, const struct recipe *recipe,
                                  const struct trace_access *access, uint32_t count)
{
    uint64_t bytes = (uint64_t)access->size * count, end = access->address + access->size;
    bool known = !(path->unknown & EFFECT_DIRECTION) || count <= 1;

    if (!recipe->string || (known && !(path->machine.state.registers.flags & FLAG_DIRECTION)))
        return (struct wrong_place){access->address, access->address + bytes};
    return (struct wrong_place){end - bytes, known ? end : access->address + bytes};
}

/* Is something unknown among what the instruction computes with? */
static bool depends_on_unknown(const struct wrong_path *path, const struct recipe *recipe,
                               const struct trace_wrong_step *step, uint32_t count)
{
    if (path->unknown & recipe->effects.reads)
        return true;
    if (!path->unknown_count && !path->all_memory_unknown)
        return false;
    for (unsigned i = 0; i < step->access_count; i++) {
        struct wrong_place span = span_of(path, recipe, &step->access[i], count);
        if (!step->access[i].write && has_unknown(path, span.address, span.end - span.address))
            return true;
    }
    return false;
}

/* ---- marks -------------------------------------------------------------------------------------
 */

static void lose_memory(struct wrong_path *path)
{
    for (unsigned i = 0; i < path->marks; i++)
        path->mark[i].memory_lost = true;
}

/* What the next step overwrites from ADDRESS to END is kept for the way back. Registers of a wrong
 * path can make a string instruction of any length. */
static void keep_overwritten(struct wrong_path *path, uint64_t address, uint64_t end)
{
    struct interpret_memory *memory = path->machine.memory;

    if (end - address > WRONG_PATH_JOURNAL * (uint64_t)WRONG_PATH_KEPT) {
        lose_memory(path);
        return;
    }
    while (address < end) {
        uint64_t in_page = INTERPRET_PAGE_BYTES - (address & (INTERPRET_PAGE_BYTES - 1));
        uint64_t size = end - address < in_page ? end - address : in_page;
        struct wrong_piece *piece = &path->journal[path->journal_count];
        if (path->journal_count == WRONG_PATH_JOURNAL) {
            lose_memory(path);
            return;
        }
        piece->size = (uint32_t)(size < sizeof piece->bytes ? size : sizeof piece->bytes);
        piece->address = address;
        if (interpret_load_bytes(memory, address, piece->bytes, piece->size))
            path->journal_count++; /* else nobody can write there either */
        address += piece->size;
    }
}

static void keep_what_is_written(struct wrong_path *path, const struct recipe *recipe,
                                 const struct trace_wrong_step *step, uint32_t count)
{
    for (unsigned i = 0; i < step->access_count; i++) {
        struct wrong_place span;
        if (!step->access[i].write || (step->unknown >> i & 1))
            continue;
        span = span_of(path, recipe, &step->access[i], count);
        keep_overwritten(path, span.address, span.end);
    }
}

bool wrong_path_mark(struct wrong_path *path, unsigned number)
{
    struct wrong_mark *mark;

    if (number >= WRONG_PATH_MARKS || number > path->marks)
        return false;
    mark = &path->mark[number];
    if (number == 0)
        path->journal_count = 0;
    path->marks = number + 1;
    mark->state = path->machine.state;
    mark->unknown = path->unknown;
    mark->journal = path->journal_count;
    mark->memory_lost = false;
    mark->all_memory_unknown = path->all_memory_unknown;
    mark->unknown_count = path->unknown_count;
    memcpy(mark->unknown_place, path->unknown_place,
           path->unknown_count * sizeof path->unknown_place[0]);
    return true;
}

bool wrong_path_back(struct wrong_path *path, unsigned number)
{
    const struct wrong_mark *mark;

    if (number >= path->marks)
        return false;
    mark = &path->mark[number];
    while (path->journal_count > mark->journal) {
        const struct wrong_piece *piece = &path->journal[--path->journal_count];
        interpret_store_bytes(path->machine.memory, piece->address, piece->bytes, piece->size);
    }
    path->marks = number;
    path->machine.state = mark->state;
    path->unknown = mark->unknown;
    path->all_memory_unknown = mark->all_memory_unknown || mark->memory_lost;
    path->unknown_count = mark->unknown_count;
    memcpy(path->unknown_place, mark->unknown_place,
           mark->unknown_count * sizeof mark->unknown_place[0]);
    return true;
}

/* ---- one instruction ---------------------------------------------------------------------------
 */

static void note_written(struct wrong_path *path, const struct recipe *recipe,
                         const struct trace_wrong_step *step, uint32_t count, bool known)
{
    for (unsigned i = 0; i < step->access_count; i++) {
        struct wrong_place span;
        if (!step->access[i].write || (step->unknown >> i & 1))
            continue;
        span = span_of(path, recipe, &step->access[i], count);
        if (path->unknown_count)
            remove_unknown(path, span.address, span.end);
        if (!known)
            add_unknown(path, span.address, span.end);
    }
}

/* Registers whose new value is known although the instruction's result is not: the stack pointer
 * behind a push or pop of an unknown value, the pointers of a string instruction. Gives them. */
static effect_set move_pointers(struct wrong_path *path, const struct recipe *recipe,
                                uint32_t count, bool count_known)
{
    const struct effects *effects = &recipe->effects;
    uint64_t *gpr = path->machine.state.registers.gpr, distance;
    effect_set moved = 0;

    if (effects->stack && !(path->unknown & EFFECT_GPR(GPR_SP))) {
        gpr[GPR_SP] = (gpr[GPR_SP] + (uint64_t)(int64_t)effects->stack) & recipe->address_mask;
        return EFFECT_GPR(GPR_SP);
    }
    if (effects->leave && !(path->unknown & EFFECT_GPR(GPR_BP))) {
        gpr[GPR_SP] = (gpr[GPR_BP] + recipe->access[0].size) & recipe->address_mask;
        return EFFECT_GPR(GPR_SP);
    }
    if (!recipe->string || !count_known || (path->unknown & EFFECT_DIRECTION) ||
        (recipe->repeated && (effects->writes & EFFECT_FLAGS)))
        return 0;
    distance = (uint64_t)recipe->access[0].size * count;
    if (path->machine.state.registers.flags & FLAG_DIRECTION)
        distance = 0 - distance;
    for (unsigned reg = GPR_SI; reg <= GPR_DI; reg++)
        if ((effects->writes & EFFECT_GPR(reg)) && !(path->unknown & EFFECT_GPR(reg))) {
            gpr[reg] = (gpr[reg] + distance) & recipe->address_mask;
            moved |= EFFECT_GPR(reg);
        }
    if (recipe->repeated) {
        gpr[GPR_CX] = 0;
        moved |= EFFECT_GPR(GPR_CX);
    }
    return moved;
}

static void result_unknown(struct wrong_path *path, const struct recipe *recipe, uint32_t count,
                           bool count_known, struct trace_wrong_step *step)
{
    effect_set known;

    note_written(path, recipe, step, count, false);
    known = move_pointers(path, recipe, count, count_known);
    path->unknown |= recipe->effects.writes & ~known;
    step->next_known = recipe->effects.branch == EFFECT_NO_BRANCH;
    step->next_ip = path->machine.state.registers.ip + recipe->length;
}

/* Which accesses it makes; unknown addresses are 0. */
static void fill_in(struct wrong_path *path, const struct recipe *recipe,
                    struct trace_wrong_step *step)
{
    step->access_count =
        (uint8_t)recipe_accesses(recipe, &path->machine.state.registers, step->access);
    step->unknown = (uint8_t)unknown_addresses(path, recipe);
    step->unmapped = step->assist = 0;
    for (unsigned i = 0; i < step->access_count; i++) {
        if (step->unknown >> i & 1)
            step->access[i].address = 0;
        else if (step->access[i].address < LOWEST_MAPPED)
            step->unmapped |= (uint8_t)(1u << i);
    }
    step->precision = 0;
    step->flags = recipe->kind == RECIPE_SYSTEM_CALL ? TRACE_SYSTEM_CALL : 0;
    if (recipe->string && (path->machine.state.registers.flags & FLAG_DIRECTION))
        step->flags |= TRACE_REP_BACKWARD;
}

void wrong_path_step(struct wrong_path *path, uint64_t ip, const struct interpret_op *op,
                     const struct recipe *recipe, struct trace_wrong_step *out)
{
    struct interpreter *machine = &path->machine;
    struct trace_access access[TRACE_ACCESSES];
    unsigned access_count;
    uint32_t count;
    bool count_known = repetitions_of(path, recipe, &count);

    machine->state.registers.ip = ip;
    fill_in(path, recipe, out);
    out->repetitions = count;
    if (depends_on_unknown(path, recipe, out, count)) {
        result_unknown(path, recipe, count, count_known, out);
        return;
    }
    if (path->marks)
        keep_what_is_written(path, recipe, out, count);
    if (!interpret_step(machine, op, recipe, access, &access_count)) {
        result_unknown(path, recipe, count, count_known, out);
        return;
    }
    out->repetitions = machine->repetitions;
    out->assist = machine->assist;
    out->precision = machine->precision;
    path->unknown &= ~recipe->effects.writes;
    note_written(path, recipe, out, out->repetitions, true);
    out->next_known = true;
    out->next_ip = machine->state.registers.ip;
}
