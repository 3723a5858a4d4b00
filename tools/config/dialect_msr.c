/*
 * The plain list: one write per line, the register by name or address, then the value.
 *
 *   MSR_CRU_ESCR0 = 0x0400060C     # instr_retired
 *   36CH 00039000H
 */
#define _GNU_SOURCE
#include "dialect_msr.h"
#include "names.h"

#include <stdio.h>
#include <string.h>

static bool take_line(char *line, unsigned number, struct config *config, char error[512])
{
    char words[80], why[512], *rest = line;
    const char *word[3] = {NULL, NULL, NULL};
    uint32_t msr;
    uint64_t value;
    size_t n = 0;
    snprintf(words, sizeof words, "%.79s", line);
    for (char *w; (w = strsep(&rest, " \t\r,=:"));) {
        if (*w && n < 3)
            word[n++] = w;
    }
    if (n == 0)
        return true;
    if (n != 2) {
        snprintf(error, 512,
                 "line %u: '%.60s' is not a register and a value; expected a line such as "
                 "MSR_CRU_ESCR0 = 0x0400060C",
                 number, words);
        return false;
    }
    if (!names_parse_register(word[0], &msr, why)) {
        snprintf(error, 512, "line %u: %.480s", number, why);
        return false;
    }
    if (!names_parse_value(word[1], &value)) {
        snprintf(error, 512,
                 "line %u: '%.60s' is not a value; expected 0x39000, 39000H, 233472 or -1000",
                 number, word[1]);
        return false;
    }
    if (config_add(config, msr, value, number, words))
        return true;
    snprintf(error, 512, "line %u: more than %d writes", number, CONFIG_WRITES);
    return false;
}

static void cut_comment(char *line)
{
    char *hash = strchr(line, '#'), *slashes = strstr(line, "//");
    if (hash)
        *hash = '\0';
    if (slashes)
        *slashes = '\0';
}

bool config_parse_msr_list(const char *text, struct config *config, char error[512])
{
    for (unsigned number = 1; *text; number++) {
        char line[400];
        size_t length = strcspn(text, "\n");
        if (length >= sizeof line) {
            snprintf(error, 512, "line %u is longer than %zu letters", number, sizeof line - 1);
            return false;
        }
        memcpy(line, text, length);
        line[length] = '\0';
        cut_comment(line);
        if (!take_line(line, number, config, error))
            return false;
        text += length + (text[length] == '\n');
    }
    return true;
}

void config_print_msr_list(const struct config *config, char *out, size_t size)
{
    size_t used = 0;
    char name[48];
    out[0] = '\0';
    for (size_t i = 0; i < config->count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s = 0x%08llX\n",
                                 names_register(config->write[i].msr, name),
                                 (unsigned long long)config->write[i].value);
}
