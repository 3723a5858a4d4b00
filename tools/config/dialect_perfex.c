/*
 * perfctr's perfex: -e CCCR/ESCR@COUNTER, one per counter, with --p4pe= and --p4pmv= for the replay
 * tagging registers.
 *
 * The counter is asked for with bit 31 when RDPMC is to read fast; it selects no register. Numbers
 * are hexadecimal with or without 0x unless -d was given. The ESCR is the one the CCCR's
 * ESCR_SELECT reaches from the counter, as the driver finds it.
 *
 * Not modelled: the driver's own refusals (it wants bits 15, 16 and 25 of PEBS_ENABLE clear);
 * interrupt-mode events and presets, which perfex has no option for.
 *
 * Source: perfctr 2.6, usr.lib and examples/perfex (perfex.c 1.35, comments and option table).
 */
#define _GNU_SOURCE
#include "dialect.h"

#include <string.h>
#include <strings.h>

enum { PEBS_ENABLE = 0x3F1, PEBS_MATRIX_VERT = 0x3F2 };
static const uint32_t fast = UINT32_C(1) << 31;

struct reader {
    struct config *config;
    int base;
    char *error;
    unsigned line;
};

static bool number(const struct reader *r, const char *word, uint64_t limit, uint64_t *value)
{
    const char *digits = r->base == 16 && !strncasecmp(word, "0x", 2) ? word + 2 : word;
    return dialect_number(digits, r->base, value) && *value <= limit;
}

static bool add(const struct reader *r, uint32_t msr, uint64_t value, const char *text)
{
    if (config_add(r->config, msr, value, r->line, text))
        return true;
    return dialect_error(r->error, r->line, "more than %d MSR writes", CONFIG_WRITES);
}

static bool take_event(const struct reader *r, const char *text)
{
    char copy[DIALECT_WORD];
    uint64_t cccr, escr, counter;
    snprintf(copy, sizeof copy, "%s", text);
    char *slash = strchr(copy, '/'), *at = strchr(copy, '@');
    if (!slash || !at || slash > at)
        return dialect_error(
            r->error, r->line,
            "'%.60s' is not CCCR/ESCR@COUNTER; on a Pentium 4 all three are needed, "
            "as in 0x00039000/0x04000204@0x8000000C",
            text);
    *slash++ = *at++ = '\0';
    if (!number(r, copy, UINT32_MAX, &cccr) || !number(r, slash, UINT32_MAX, &escr) ||
        !number(r, at, UINT32_MAX, &counter))
        return dialect_error(r->error, r->line, "'%.60s' holds a number that is not %s of 32 bits",
                             text, r->base == 16 ? "hexadecimal" : "a number");
    counter &= ~(uint64_t)fast;
    if (counter >= P4PMU_COUNTERS)
        return dialect_error(r->error, r->line,
                             "'%.60s': there is no counter 0x%llX; expected 0 to 0x%X", text,
                             (unsigned long long)counter, P4PMU_COUNTERS - 1);
    unsigned select = P4PMU_GET(CCCR, ESCR_SELECT, cccr);
    int wired = p4pmu_wired_escr((unsigned)counter, select);
    if (wired == P4PMU_NONE)
        return dialect_error(r->error, r->line,
                             "'%.60s': ESCR_SELECT %u reaches no ESCR from counter %llu", text,
                             select, (unsigned long long)counter);
    return add(r, p4pmu_escr((enum p4pmu_escr)wired)->msr, escr, text) &&
           add(r, p4pmu_counter((unsigned)counter)->cccr_msr, cccr, text);
}

/* The value of option NAME in WORD ("--p4pe=1" or "--p4pe 1", then the next word), or NULL. */
static const char *value_of(const char *word, const char *name, struct dialect_words *words)
{
    size_t length = strlen(name);
    if (strncmp(word, name, length))
        return NULL;
    if (word[length] == '=')
        return word + length + 1;
    if (word[length] || !dialect_next(words))
        return NULL;
    return words->word;
}

static bool take_register(const struct reader *r, uint32_t msr, const char *text)
{
    uint64_t value;
    if (!number(r, text, UINT32_MAX, &value))
        return dialect_error(r->error, r->line, "'%.60s' is not a hexadecimal number of 32 bits",
                             text);
    return add(r, msr, value, text);
}

/* One option, or a bare event; DONE when the command that perfex runs begins. */
static bool take_word(struct reader *r, struct dialect_words *words, bool *done)
{
    static const struct {
        const char *name;
        uint32_t msr; /* 0: an event */
    } options[] = {{"-e", 0},
                   {"--event", 0},
                   {"--p4pe", PEBS_ENABLE},
                   {"--p4_pebs_enable", PEBS_ENABLE},
                   {"--p4pmv", PEBS_MATRIX_VERT},
                   {"--p4_pebs_matrix_vert", PEBS_MATRIX_VERT}};
    char word[DIALECT_WORD];
    snprintf(word, sizeof word, "%s", words->word);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const char *value = value_of(word, options[i].name, words);
        if (value)
            return options[i].msr ? take_register(r, options[i].msr, value) : take_event(r, value);
    }
    if (!strcmp(word, "-d") || !strcmp(word, "--decimal"))
        r->base = 0;
    else if (!strcmp(word, "-x") || !strcmp(word, "--hex"))
        r->base = 16;
    else if (value_of(word, "-o", words) || value_of(word, "--output", words))
        return true;
    else if (word[0] == '-')
        return dialect_error(
            r->error, r->line,
            "perfex has no option '%.60s'; expected -e, --p4pe, --p4pmv, -d, -x or -o", word);
    else if (strchr(word, '@') ||
             strchr(word, '/') == word + strspn(word, "0123456789abcdefABCDEFxX"))
        return take_event(r, word);
    else
        *done = true;
    return true;
}

static void skip_line(struct dialect_words *words)
{
    words->at += strcspn(words->at, "\n");
}

bool dialect_parse_perfex(const char *text, struct config *config, struct dialect_notes *notes,
                          char error[512])
{
    struct dialect_words words = dialect_words(text, ",");
    struct reader r = {config, 16, error, 0};
    (void)notes;
    while (dialect_next(&words)) {
        const char *slash = strrchr(words.word, '/');
        bool done = false;
        r.line = words.line;
        if (!strcmp(slash ? slash + 1 : words.word, "perfex"))
            continue;
        if (!take_word(&r, &words, &done))
            return false;
        if (done)
            skip_line(&words);
    }
    return true;
}

/* ---- printing ----------------------------------------------------------------------------------
 */

static void print_event(FILE *out, uint32_t cccr, uint32_t escr, int counter)
{
    fprintf(out, "-e 0x%08X/0x%08X@0x%08X\n", (unsigned)cccr, (unsigned)escr,
            (unsigned)counter | fast);
}

void dialect_print_perfex(const struct config *config, FILE *out, struct dialect_notes *notes)
{
    struct dialect_counts c;
    dialect_counts(config, &c);
    dialect_give_counters(&c, true, "perfex", notes);
    for (size_t i = 0; i < c.size; i++) {
        const struct dialect_count *d = &c.count[i];
        print_event(out, d->cccr, d->escr == P4PMU_NONE ? 0 : c.escr[d->escr], d->counter);
        if (d->preset)
            dialect_shorten(notes, "perfex has no option for the preset 0x%llX of counter %d",
                            (unsigned long long)d->preset, d->counter);
    }
    if (c.pebs_enable)
        fprintf(out, "--p4pe=0x%08llX\n", (unsigned long long)c.pebs_enable);
    if (c.pebs_matrix_vert)
        fprintf(out, "--p4pmv=0x%llX\n", (unsigned long long)c.pebs_matrix_vert);
}
