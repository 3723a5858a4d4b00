/*
 * String instructions of the interpreter. One with a rep prefix is one instruction, however many
 * elements it handles; it is only begun when all the pages it can reach are there, so that it never
 * has to be left to others in the middle.
 */
#include "interpret_parts.h"

enum {
    STRING_MOVS = 0xa4, /* opcodes of the byte forms */
    STRING_CMPS = 0xa6,
    STRING_STOS = 0xaa,
    STRING_LODS = 0xac,
    STRING_SCAS = 0xae,
    BYTES_AT_ONCE = 1 << 24, /* more is left to others: model choice, pages take memory */
    REPEAT_NONE = 0,         /* interpret_op.reg of a string instruction */
    REPEAT_EQUAL = 0xf3,
    REPEAT_NOT_EQUAL = 0xf2,
};

static bool reads_source(unsigned what)
{
    return what == STRING_MOVS || what == STRING_CMPS || what == STRING_LODS;
}

static bool compares(unsigned what)
{
    return what == STRING_CMPS || what == STRING_SCAS;
}

/* Are the pages of COUNT elements from ADDRESS on within reach? */
static bool reachable(struct interpreter *machine, uint64_t address, uint64_t bytes, unsigned size,
                      bool write)
{
    uint64_t first = address, last = address + bytes - 1;

    if (get_flags(machine) & FLAG_DF) {
        first = address - (bytes - size);
        last = address + size - 1;
    }
    if (last < first)
        return false;
    for (uint64_t page = first >> INTERPRET_PAGE_SHIFT; page <= last >> INTERPRET_PAGE_SHIFT;
         page++)
        if (!(write ? interpret_page_write(machine->memory, page)
                    : interpret_page_read(machine->memory, page)))
            return false;
    return true;
}

static bool all_reachable(struct interpreter *machine, const struct interpret_op *op,
                          const struct trace_access *access, uint64_t count)
{
    uint64_t bytes = count * op->size;

    if (count > BYTES_AT_ONCE / op->size)
        return false;
    if (reads_source(op->what) && !reachable(machine, access[0].address, bytes, op->size, false))
        return false;
    if (op->what == STRING_MOVS)
        return reachable(machine, access[1].address, bytes, op->size, true);
    if (op->what == STRING_STOS)
        return reachable(machine, access[0].address, bytes, op->size, true);
    return true;
}

/* The addresses of the element at hand. */
struct place {
    uint64_t source, destination;
};

/* One element; false when memory is out of reach. */
static bool element(struct interpreter *machine, const struct interpret_op *op,
                    const struct place *place, uint64_t *accumulator, uint32_t *flags)
{
    uint64_t a = *accumulator, b;

    if (reads_source(op->what) && !interpret_load(machine->memory, place->source, op->size, &a))
        return false;
    switch (op->what) {
    case STRING_MOVS:
    case STRING_STOS:
        return interpret_store(machine->memory, place->destination, op->size, a);
    case STRING_LODS:
        *accumulator = a;
        return true;
    default:
        if (!interpret_load(machine->memory, place->destination, op->size, &b))
            return false;
        *flags = flags_of_difference(a, b, (a - b) & size_mask(op->size), op->size);
        return true;
    }
}

static void advance(const struct interpret_op *op, uint64_t *gpr, uint64_t distance)
{
    *gpr = op->wide ? *gpr + distance : (uint32_t)(*gpr + distance);
}

/* The repetition's end besides its count: scas and cmps look at ZF. */
static bool goes_on(const struct interpret_op *op, uint32_t flags)
{
    return !compares(op->what) || (op->reg == REPEAT_EQUAL) == ((flags & FLAG_ZF) != 0);
}

static struct place place_of(const struct interpret_op *op, const struct trace_access *access)
{
    bool source = reads_source(op->what);

    return (struct place){
        .source = source ? access[0].address : 0,
        .destination = op->what == STRING_LODS ? 0 : access[source ? 1 : 0].address,
    };
}

bool interpret_string(struct interpreter *machine, const struct interpret_op *op,
                      const struct trace_access *access)
{
    uint64_t *gpr = machine->state.registers.gpr;
    uint64_t count = op->reg == REPEAT_NONE ? 1 : gpr[GPR_CX], done = 0;
    uint32_t flags = get_flags(machine);
    uint64_t step = flags & FLAG_DF ? 0 - (uint64_t)op->size : op->size;
    uint64_t accumulator = get_register(machine, GPR_AX, op->size);
    struct place place = place_of(op, access);

    if (count > 1 && !compares(op->what) && !all_reachable(machine, op, access, count))
        return false;
    while (done < count) {
        if (!element(machine, op, &place, &accumulator, &flags))
            return false;
        place.source += step;
        place.destination += step;
        done++;
        if (!goes_on(op, flags))
            break;
    }
    if (op->what == STRING_LODS && done)
        set_register(machine, GPR_AX, op->size, accumulator);
    if (reads_source(op->what))
        advance(op, &gpr[GPR_SI], step * done);
    if (op->what != STRING_LODS)
        advance(op, &gpr[GPR_DI], step * done);
    if (op->reg != REPEAT_NONE) {
        gpr[GPR_CX] = count - done;
        machine->repetitions = (uint32_t)done;
    }
    set_flags(machine, FLAGS_ARITHMETIC, flags);
    return true;
}
