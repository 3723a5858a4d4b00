/*
 * Command lines of msr-tools: wrmsr [-a] [-p N] REGISTER VALUE..., rdmsr [OPTIONS] REGISTER.
 *
 * REGISTER and VALUE are numbers as strtoul(3) takes them: 0x, 0 for octal, else decimal. Several
 * values are written one after the other to the same register. Lines may begin with a $ or # prompt
 * and sudo, and end in a comment or a semicolon. rdmsr changes nothing and is left out. The
 * counters are shared by the logical processors of a package, so the same line for another
 * processor is the same write; -p N with N above 0 is taken as if for processor 0.
 *
 * Source: wrmsr(1), rdmsr(1) and the usage texts of msr-tools 1.3.
 */
#define _GNU_SOURCE
#include "dialect.h"
#include "names.h"

#include <string.h>

struct command {
    char *word[40];
    size_t count, at;
};

struct reader {
    struct config *config;
    struct dialect_notes *notes;
    unsigned line;
    char *error;
};

/* An option that takes a value in the next word, or within the same. */
static bool takes_value(const char *word)
{
    return !strcmp(word, "-p") || !strcmp(word, "--processor") || !strcmp(word, "-f") ||
           !strcmp(word, "--bitfield");
}

static bool skip_options(struct reader *r, struct command *c, const char *tool, const char *known)
{
    static const char *const longs[] = {
        "--all",         "--processor", "--help",     "--version", "--hexadecimal",
        "--capital-hex", "--decimal",   "--unsigned", "--octal",   "--c-language",
        "--zero-pad",    "--raw",       "--bitfield"};
    for (; c->at < c->count && c->word[c->at][0] == '-'; c->at++) {
        const char *word = c->word[c->at];
        bool good = word[1] != '-' && word[1] && strchr(known, word[1]);
        for (size_t i = 0; i < sizeof longs / sizeof longs[0]; i++)
            good = good || !strncmp(word, longs[i], strlen(longs[i]));
        if (!good)
            return dialect_error(r->error, r->line, "%s has no option '%.40s'; expected -a or -p N",
                                 tool, word);
        if (takes_value(word))
            c->at++;
    }
    return true;
}

static bool write_values(struct reader *r, struct command *c, uint32_t msr)
{
    for (; c->at < c->count; c->at++) {
        uint64_t value;
        if (!dialect_number(c->word[c->at], 0, &value))
            return dialect_error(r->error, r->line,
                                 "wrmsr: '%.40s' is not a value; expected 0x39000 or decimal",
                                 c->word[c->at]);
        if (!config_add(r->config, msr, value, r->line, c->word[c->at]))
            return dialect_error(r->error, r->line, "more than %d writes", CONFIG_WRITES);
    }
    return true;
}

static bool take_tool(struct reader *r, struct command *c)
{
    uint64_t msr;
    const char *tool = strrchr(c->word[c->at], '/');
    tool = tool ? tool + 1 : c->word[c->at];
    bool writes = !strcmp(tool, "wrmsr");
    c->at++;
    if (!writes && strcmp(tool, "rdmsr") != 0)
        return dialect_error(r->error, r->line, "'%.40s' is neither wrmsr nor rdmsr", tool);
    if (!skip_options(r, c, tool, writes ? "hVap" : "hVxXduoc0rapf"))
        return false;
    if (c->at >= c->count || !dialect_number(c->word[c->at], 0, &msr) || msr > UINT32_MAX)
        return dialect_error(r->error, r->line,
                             "%s: '%.40s' is not a register; expected an address such as 0x3b8",
                             tool, c->at < c->count ? c->word[c->at] : "");
    c->at++;
    if (writes && c->at == c->count)
        return dialect_error(r->error, r->line, "wrmsr 0x%llx: the value is missing",
                             (unsigned long long)msr);
    if (writes)
        return write_values(r, c, (uint32_t)msr);
    if (c->at < c->count)
        return dialect_error(r->error, r->line, "rdmsr takes one register; '%.40s' is too much",
                             c->word[c->at]);
    return true;
}

static bool take_command(struct reader *r, char *line)
{
    struct command c = {.count = 0};
    for (char *word; (word = strsep(&line, " \t\r"));) {
        if (*word && c.count < sizeof c.word / sizeof c.word[0])
            c.word[c.count++] = word;
    }
    if (c.count && (!strcmp(c.word[0], "$") || !strcmp(c.word[0], "%")))
        c.at++;
    if (c.at < c.count && !strcmp(c.word[c.at], "sudo"))
        c.at++;
    return c.at == c.count || take_tool(r, &c);
}

/* A # before wrmsr, rdmsr or sudo is root's prompt. */
static char *without_comment(char *line)
{
    char *start = line + strspn(line, " \t");
    if (*start == '#') {
        char *word = start + 1 + strspn(start + 1, " \t");
        if (!strncmp(word, "wrmsr", 5) || !strncmp(word, "rdmsr", 5) || !strncmp(word, "sudo", 4))
            start = word;
    }
    start[strcspn(start, "#")] = '\0';
    return start;
}

bool dialect_parse_wrmsr(const char *text, struct config *config, struct dialect_notes *notes,
                         char error[512])
{
    struct reader r = {config, notes, 0, error};
    while (*text) {
        char line[600], *rest;
        size_t length = strcspn(text, "\n");
        r.line++;
        if (length >= sizeof line)
            return dialect_error(error, r.line, "longer than %zu letters", sizeof line - 1);
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        rest = without_comment(line);
        for (char *part; (part = strsep(&rest, ";&"));) {
            if (!take_command(&r, part))
                return false;
        }
        text += length + (text[length] == '\n');
    }
    return true;
}

void dialect_print_wrmsr(const struct config *config, FILE *out, struct dialect_notes *notes)
{
    (void)notes;
    for (size_t i = 0; i < config->count; i++) {
        char name[48];
        fprintf(out, "wrmsr 0x%03x 0x%08llx  # %s\n", (unsigned)config->write[i].msr,
                (unsigned long long)config->write[i].value,
                names_register(config->write[i].msr, name));
    }
}
