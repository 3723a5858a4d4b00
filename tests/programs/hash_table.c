/*
 * Counts the words of a made-up text in a hash table with chained buckets: short loops over bytes,
 * chains that follow pointers, a branch per comparison that depends on the data.
 * Size: words of the text.
 */
#include "size.h"

#include <stdio.h>
#include <string.h>

#define BUCKETS 1024

struct word {
    struct word *next;
    unsigned count;
    char text[12];
};

static struct word *buckets[BUCKETS];
static struct word pool[1 << 15];
static unsigned used;

/* Syllables make words of which some are frequent and many are rare. */
static void make_word(uint32_t *state, char text[12])
{
    static const char syllables[16][3] = {"ba", "du", "ke", "lo", "mi", "na", "pu", "re",
                                          "sa", "ti", "vo", "wu", "xe", "yo", "za", "fi"};
    unsigned length = 1 + (next_random(state) & 3), at = 0;

    for (unsigned i = 0; i < length; i++) {
        const char *syllable = syllables[next_random(state) & next_random(state) & 15];
        text[at++] = syllable[0];
        text[at++] = syllable[1];
    }
    text[at] = 0;
}

static uint32_t hash(const char *text)
{
    uint32_t value = 2166136261u; /* FNV-1a */

    for (; *text; text++)
        value = (value ^ (uint8_t)*text) * 16777619u;
    return value;
}

static void count(const char *text)
{
    struct word **link = &buckets[hash(text) % BUCKETS];

    for (; *link; link = &(*link)->next) {
        if (strcmp((*link)->text, text) == 0) {
            (*link)->count++;
            return;
        }
    }
    if (used == sizeof pool / sizeof *pool)
        return;
    *link = &pool[used++];
    strcpy((*link)->text, text);
    (*link)->count = 1;
}

int main(int argc, char **argv)
{
    unsigned words = size_argument(argc, argv, 3000);
    const struct word *most = &pool[0];
    uint32_t state = 2004;
    char text[12];

    for (unsigned i = 0; i < words; i++) {
        make_word(&state, text);
        count(text);
    }
    for (unsigned i = 1; i < used; i++)
        if (pool[i].count > most->count)
            most = &pool[i];
    printf("%u words, %u different, most frequent \"%s\" %u times\n", words, used, most->text,
           most->count);
    return 0;
}
