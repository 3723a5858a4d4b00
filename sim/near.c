/*
 * Near matches: what a mistyped name probably meant.
 *
 * Edit distance with case ignored; a name that contains the word (or begins like it) counts as near
 * too, because people remember parts of long event names.
 */
#define _GNU_SOURCE
#include "request.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 63, NEAREST = 3 };

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein's distance, one row at a time. Names are cut at LONGEST letters. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[LONGEST + 1];
    size_t wide = strnlen(b, LONGEST);
    for (unsigned j = 0; j <= wide; j++)
        row[j] = j;
    for (unsigned i = 1; i <= LONGEST && a[i - 1]; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= wide; j++) {
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            unsigned here = smallest(row[j] + 1, row[j - 1] + 1, diagonal + !same);
            diagonal = row[j];
            row[j] = here;
        }
    }
    return row[wide];
}

/* Distance of NAME from WORD, or a large number when it is not near. */
static unsigned nearness(const char *word, const char *name)
{
    unsigned length = (unsigned)strnlen(word, LONGEST);
    unsigned d = distance(word, name);
    if (d <= (length < 4 ? 1 : length / 3))
        return d;
    if (length >= 3 && strcasestr(name, word))
        return 20;
    return 1000;
}

void sim_near(const char *word, const char *const *names, size_t count, char *out, size_t size)
{
    const char *best[NEAREST] = {0};
    unsigned score[NEAREST] = {999, 999, 999};
    for (size_t i = 0; i < count; i++) {
        unsigned s = nearness(word, names[i]);
        for (unsigned place = 0; place < NEAREST; place++) {
            if (s >= score[place])
                continue;
            for (unsigned k = NEAREST - 1; k > place; k--) {
                score[k] = score[k - 1];
                best[k] = best[k - 1];
            }
            score[place] = s;
            best[place] = names[i];
            break;
        }
    }
    int used = 0;
    out[0] = '\0';
    for (unsigned place = 0; place < NEAREST && best[place]; place++) {
        bool last = place + 1 == NEAREST || !best[place + 1];
        used += snprintf(out + used, size - (size_t)used, "%s%s",
                         place == 0 ? " " : (last ? " or " : ", "), best[place]);
        if (used < 0 || (size_t)used >= size)
            return;
    }
}
