/* The bytes of instructions that samples and exact counts name, each written once. */
#include "kernel.h"
#include "record.h"

#include <stdlib.h>

struct record_codes {
    uint64_t *key; /* open addressing: address and process; 0: empty */
    size_t slots, count;
};

struct record_codes *record_codes_new(void)
{
    struct record_codes *codes = calloc(1, sizeof *codes);
    if (codes) {
        codes->slots = 4096;
        codes->key = calloc(codes->slots, sizeof *codes->key);
    }
    if (codes && codes->key)
        return codes;
    free(codes);
    return NULL;
}

void record_codes_free(struct record_codes *codes)
{
    if (codes)
        free(codes->key);
    free(codes);
}

static uint64_t key_of(uint16_t process, uint64_t ip)
{
    return (ip ^ (uint64_t)process << 48) + 1;
}

/* True when KEY was not there; it is now. Without memory everything is new: written twice. */
static bool is_new(struct record_codes *codes, uint64_t key)
{
    size_t slot = (size_t)(key * 0x9E3779B97F4A7C15u >> 20) & (codes->slots - 1);
    while (codes->key[slot] && codes->key[slot] != key)
        slot = (slot + 1) & (codes->slots - 1);
    if (codes->key[slot])
        return false;
    codes->key[slot] = key;
    codes->count++;
    return true;
}

static void grow(struct record_codes *codes)
{
    struct record_codes bigger = {.slots = 2 * codes->slots};
    bigger.key = calloc(bigger.slots, sizeof *bigger.key);
    if (!bigger.key)
        return;
    for (size_t i = 0; i < codes->slots; i++)
        if (codes->key[i])
            is_new(&bigger, codes->key[i]);
    free(codes->key);
    *codes = bigger;
}

void record_code(struct record_run *run, uint16_t process, uint64_t ip)
{
    struct record_codes *codes = run->codes;
    struct samples_code code = {.process = process, .ip = ip};
    if (2 * codes->count >= codes->slots)
        grow(codes);
    if (codes->count + 1 >= codes->slots || !is_new(codes, key_of(process, ip)))
        return;
    code.length = (uint8_t)trace_source_code_at(run->source, process, ip, code.bytes);
    if (!code.length) /* an address of the model's operating system */
        code.length = (uint8_t)kernel_code_at(ip, code.bytes);
    if (code.length)
        samples_put_code(run->writer, &code);
}
