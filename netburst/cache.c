/*
 * Set-associative tag arrays with LRU replacement: the L1 data cache (write-through, 64-byte lines)
 * and the L2 (write-back, 128-byte lines in two sectors with MESI state each).
 *
 * A line is entered when it is asked for and says when its data arrive; data themselves are not
 * kept. Sources: SDM volume 3 cache table; OPT-2002 table 1-1. LRU is a model choice (the manuals
 * say pseudo-LRU).
 */
#include "machine.h"

#include <stdlib.h>

static uint32_t log2_of(uint32_t value)
{
    uint32_t bits = 0;
    while ((1u << bits) < value)
        bits++;
    return bits;
}

bool cache_init(struct cache *c, uint32_t sets, uint32_t ways, uint32_t line_bytes)
{
    c->sets = sets;
    c->ways = ways;
    c->line_bits = log2_of(line_bytes);
    c->line = calloc((size_t)sets * ways, sizeof *c->line);
    if (!c->line)
        return false;
    for (size_t i = 0; i < (size_t)sets * ways; i++)
        c->line[i].tag = NB_NEVER;
    return true;
}

static struct cache_line *set_of(struct cache *c, uint64_t address)
{
    return &c->line[((address >> c->line_bits) & (c->sets - 1)) * c->ways];
}

/* The line that holds ADDRESS, marked as used, or NULL. */
struct cache_line *cache_find(struct cache *c, uint64_t address)
{
    struct cache_line *set = set_of(c, address);
    uint64_t tag = address >> c->line_bits;
    for (uint32_t way = 0; way < c->ways; way++) {
        if (set[way].tag == tag) {
            set[way].used = ++c->stamp;
            return &set[way];
        }
    }
    return NULL;
}

/* The same without marking it. */
struct cache_line *cache_look(struct cache *c, uint64_t address)
{
    struct cache_line *set = set_of(c, address);
    for (uint32_t way = 0; way < c->ways; way++)
        if (set[way].tag == address >> c->line_bits)
            return &set[way];
    return NULL;
}

/* The line that ADDRESS would replace: an empty one, else the least recently used. */
struct cache_line *cache_victim(struct cache *c, uint64_t address)
{
    struct cache_line *set = set_of(c, address);
    struct cache_line *oldest = set;
    for (uint32_t way = 0; way < c->ways; way++) {
        if (set[way].tag == NB_NEVER)
            return &set[way];
        if (set[way].used < oldest->used)
            oldest = &set[way];
    }
    return oldest;
}

/* LINE now is ADDRESS's, with no sector valid. */
void cache_claim(struct cache *c, struct cache_line *line, uint64_t address)
{
    *line = (struct cache_line){.tag = address >> c->line_bits, .used = ++c->stamp};
}
