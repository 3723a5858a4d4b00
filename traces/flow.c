/* The static instructions of a plain stream; see flow.h. */
#include "flow.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 1024 }; /* a power of two */

static size_t slot_of(const struct flow_codes *codes, uint64_t ip)
{
    return (size_t)(ip * 0x9e3779b97f4a7c15u >> 20) & (2 * (size_t)codes->capacity - 1);
}

static void enter(struct flow_codes *codes, uint32_t number)
{
    size_t slot = slot_of(codes, codes->list[number].ip);

    while (codes->slots[slot])
        slot = (slot + 1) & (2 * (size_t)codes->capacity - 1);
    codes->slots[slot] = number + 1;
}

/* Twice as much room; the slots are twice the codes. */
static bool grow(struct flow_codes *codes)
{
    uint32_t capacity = codes->capacity ? 2 * codes->capacity : FIRST_CAPACITY;
    struct flow_code *list;
    uint32_t *slots;

    if (codes->capacity > UINT32_MAX / 4)
        return false;
    slots = calloc(2 * (size_t)capacity, sizeof *slots);
    list = slots ? realloc(codes->list, capacity * sizeof *list) : NULL;
    if (!list) {
        free(slots);
        return false;
    }
    free(codes->slots);
    codes->slots = slots;
    codes->list = list;
    codes->capacity = capacity;
    for (uint32_t i = 0; i < codes->count; i++)
        enter(codes, i);
    return true;
}

struct flow_code *flow_add(struct flow_codes *codes, uint64_t ip, unsigned shape,
                           const uint8_t *bytes)
{
    struct flow_code *code;

    if (codes->count == codes->capacity && !grow(codes))
        return NULL;
    code = &codes->list[codes->count];
    *code = (struct flow_code){.ip = ip, .shape = (uint8_t)shape};
    memcpy(code->bytes, bytes, shape & FLOW_LENGTH);
    enter(codes, codes->count++);
    return code;
}

int64_t flow_find(const struct flow_codes *codes, uint64_t ip, flow_test *test, const void *wanted)
{
    if (!codes->capacity)
        return -1;
    for (size_t slot = slot_of(codes, ip); codes->slots[slot];
         slot = (slot + 1) & (2 * (size_t)codes->capacity - 1)) {
        const struct flow_code *code = &codes->list[codes->slots[slot] - 1];
        if (code->ip == ip && (!test || test(wanted, code)))
            return codes->slots[slot] - 1;
    }
    return -1;
}

void flow_free(struct flow_codes *codes)
{
    free(codes->list);
    free(codes->slots);
}
