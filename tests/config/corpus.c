/*
 * A case is a text file: what must be found, the part, the writes, and after "# mended" the writes
 * as they should have been.
 */
#define _GNU_SOURCE
#include "corpus.h"
#include "dialect_msr.h"
#include "parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static void value_of(const char *text, const char *key, char *out, size_t size)
{
    const char *at = strstr(text, key);
    if (!at)
        fail_msg("no '%s' line", key);
    at += strlen(key);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
}

static void take_part(const char *text, struct config *config)
{
    char name[60], error[512];
    struct part part;
    value_of(text, "# part: ", name, sizeof name);
    char *ht = strstr(name, " ht");
    if (ht)
        *ht = '\0';
    if (!part_find(name, &part, error))
        fail_msg("%s", error);
    part_take(&part, config);
    config->hyper_threading = config->hyper_threading || ht;
}

static void take_writes(const char *name, const char *text, struct config *config)
{
    char error[512];
    if (!config_parse_msr_list(text, config, error))
        fail_msg("%s: %s", name, error);
    if (!config->count)
        fail_msg("%s: no writes", name);
}

static void take_case(const char *folder, const char *name, struct corpus_case *c)
{
    char path[1200], text[8192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s cannot be opened", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%.79s", name);
    value_of(text, "# expect: ", c->expected, sizeof c->expected);
    if (!strcmp(c->expected, "nothing"))
        c->expected[0] = '\0';
    take_part(text, &c->config);
    take_part(text, &c->mended);
    char *mended = strstr(text, "\n# mended\n");
    c->has_mended = mended;
    if (mended) {
        take_writes(name, mended + 1, &c->mended);
        mended[1] = '\0';
    }
    take_writes(name, text, &c->config);
}

size_t corpus_each(const char *folder, void (*fn)(const struct corpus_case *))
{
    static struct corpus_case c;
    struct dirent **names;
    size_t count = 0;
    int n = scandir(folder, &names, NULL, alphasort);
    if (n < 0)
        fail_msg("%s cannot be read", folder);
    for (int i = 0; i < n; i++) {
        size_t length = strlen(names[i]->d_name);
        if (length > 5 && !strcmp(names[i]->d_name + length - 5, ".conf")) {
            take_case(folder, names[i]->d_name, &c);
            fn(&c);
            count++;
        }
        free(names[i]);
    }
    free(names);
    return count;
}
