/*
 * Reading surroundings, line by line.
 */
#define _POSIX_C_SOURCE 200809L
#include "surroundings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACTIONS = 64, WORDS = 10 };

struct reader {
    struct nb_machine *machine;
    struct nb_agent_action action[ACTIONS];
    unsigned actions;
    unsigned line;
    char *error;
};

static bool wrong(const struct reader *r, const char *what, const char *word)
{
    snprintf(r->error, 512, "surroundings, line %u: '%.60s'; expected %s", r->line, word, what);
    return false;
}

static bool number(const struct reader *r, const char *word, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(word, &end, 0);
    if (*word && !*end && !errno)
        return true;
    return wrong(r, "a number", word);
}

static bool choice(const struct reader *r, const char *word, const char *const *names,
                   unsigned count, const char *what, unsigned *value)
{
    for (*value = 0; *value < count; ++*value)
        if (!strcmp(names[*value], word))
            return true;
    return wrong(r, what, word);
}

static bool memory(struct reader *r, char *const *word, unsigned words)
{
    static const char *const types[] = {"wb", "uc", "wc", "wt", "wp"};
    unsigned type;
    uint64_t from, to;
    if (words != 4)
        return wrong(r, "memory TYPE FROM TO", word[0]);
    if (!choice(r, word[1], types, 5, "wb, uc, wc, wt or wp", &type) ||
        !number(r, word[2], &from) || !number(r, word[3], &to))
        return false;
    return nb_memory_range(r->machine, from, to, (enum nb_memory_type)type) ||
           wrong(r, "whole pages of 4096 bytes, at most 16 ranges", word[2]);
}

static bool agent_option(struct reader *r, struct nb_agent_action *action, const char *name,
                         const char *value)
{
    static const char *const options[] = {"at", "every", "times"};
    uint64_t *const fields[] = {&action->clock, &action->period, &action->count};
    unsigned option;
    return choice(r, name, options, 3, "at, every or times", &option) &&
           number(r, value, fields[option]);
}

static bool agent(struct reader *r, char *const *word, unsigned words)
{
    static const char *const kinds[] = {"read", "own", "write"};
    struct nb_agent_action action = {.count = 1};
    unsigned kind;
    if (words < 3 || words % 2 == 0)
        return wrong(r, "agent KIND ADDRESS [at CLOCK] [every CLOCKS] [times N]", word[0]);
    if (!choice(r, word[1], kinds, 3, "read, own or write", &kind) ||
        !number(r, word[2], &action.linear))
        return false;
    for (unsigned i = 3; i < words; i += 2)
        if (!agent_option(r, &action, word[i], word[i + 1]))
            return false;
    if (r->actions == ACTIONS)
        return wrong(r, "at most 64 statements for the agent", word[0]);
    action.kind = (enum nb_agent_kind)kind;
    r->action[r->actions++] = action;
    return true;
}

static bool statement(struct reader *r, char *line)
{
    char *word[WORDS], *rest = line;
    unsigned words = 0;
    line[strcspn(line, "#")] = '\0';
    for (char *w; words < WORDS && (w = strtok_r(rest, " \t\r", &rest));)
        word[words++] = w;
    if (!words)
        return true;
    if (!strcmp(word[0], "memory"))
        return memory(r, word, words);
    if (!strcmp(word[0], "agent"))
        return agent(r, word, words);
    return wrong(r, "memory or agent", word[0]);
}

bool sim_surroundings(struct nb_machine *machine, const char *text, char error[512])
{
    struct reader r = {.machine = machine, .error = error};
    char *copy = strdup(text), *rest = copy;
    bool good = copy != NULL;
    snprintf(error, 512, "out of memory");
    while (good && rest) {
        char *line = rest;
        rest = strchr(rest, '\n');
        if (rest)
            *rest++ = '\0';
        r.line++;
        good = statement(&r, line);
    }
    free(copy);
    if (good && r.actions && !nb_agent(machine, r.action, r.actions)) {
        snprintf(error, 512, "out of memory");
        return false;
    }
    return good;
}

bool sim_surroundings_file(struct nb_machine *machine, const char *path, char error[512])
{
    enum { LIMIT = 1 << 16 };
    char why[512] = "", *text = calloc(1, LIMIT);
    FILE *file = fopen(path, "r");
    bool good = text && file && fread(text, 1, LIMIT - 1, file) < LIMIT - 1 && !ferror(file);
    if (!good)
        snprintf(why, sizeof why, "%s", file ? "larger than 64 KB" : strerror(errno));
    else
        good = sim_surroundings(machine, text, why);
    if (!good)
        snprintf(error, 512, "%.200s: %.300s", path, why);
    if (file)
        fclose(file);
    free(text);
    return good;
}
