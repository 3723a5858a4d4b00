/*
 * Follows pointers through nodes in random order, a node per cache line: each load's address is the
 * load before it, so nothing but memory latency matters.
 * Size: nodes; each is visited four times.
 */
#include "size.h"

#include <stdio.h>

#define MAXIMUM (1 << 15)
#define ROUNDS  4

struct node {
    struct node *next;
    uint32_t value;
    uint32_t padding[30]; /* 128 bytes: the larger of the Pentium 4's cache lines */
};

static struct node nodes[MAXIMUM];
static uint32_t order[MAXIMUM];

/* Sattolo's shuffle gives one cycle through all nodes. */
static void link_nodes(unsigned count)
{
    uint32_t state = 42;

    for (unsigned i = 0; i < count; i++)
        order[i] = i;
    for (unsigned i = count - 1; i > 0; i--) {
        unsigned j = next_random(&state) % i;
        uint32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (unsigned i = 0; i < count; i++) {
        nodes[order[i]].next = &nodes[order[(i + 1) % count]];
        nodes[i].value = i;
    }
}

int main(int argc, char **argv)
{
    unsigned count = size_argument(argc, argv, 6000);
    uint32_t sum = 0;

    if (count < 1 || count > MAXIMUM)
        count = MAXIMUM;
    link_nodes(count);
    const struct node *node = &nodes[0];
    for (unsigned i = 0; i < ROUNDS * count; i++) {
        sum += node->value;
        node = node->next;
    }
    printf("%u nodes, %d rounds, sum %lu, %s\n", count, ROUNDS, (unsigned long)sum,
           node == &nodes[0] ? "back at the start" : "lost");
    return node != &nodes[0];
}
