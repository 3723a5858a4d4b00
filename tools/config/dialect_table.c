/*
 * The dialects by name, and the guess which one a text is written in.
 */
#define _GNU_SOURCE
#include "dialect.h"
#include "dialect_msr.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool parse_msr_list(const char *text, struct config *config, struct dialect_notes *notes,
                           char error[512])
{
    (void)notes;
    return config_parse_msr_list(text, config, error);
}

static void print_msr_list(const struct config *config, FILE *out, struct dialect_notes *notes)
{
    static char text[CONFIG_WRITES * 64];
    (void)notes;
    config_print_msr_list(config, text, sizeof text);
    fputs(text, out);
}

static const struct dialect_row {
    const char *name;
    bool (*parse)(const char *text, struct config *config, struct dialect_notes *notes,
                  char error[512]);
    void (*print)(const struct config *config, FILE *out, struct dialect_notes *notes);
    const char *example;
} dialects[CONFIG_DIALECTS] = {
    [CONFIG_MSR_LIST] = {"msr", parse_msr_list, print_msr_list,
                         "MSR_CRU_ESCR0 = 0x0400060C, one register per line"},
    [CONFIG_WRMSR] = {"wrmsr", dialect_parse_wrmsr, dialect_print_wrmsr,
                      "wrmsr -a 0x3b8 0x0400060c, command lines of msr-tools"},
    [CONFIG_PERFEX] = {"perfex", dialect_parse_perfex, dialect_print_perfex,
                       "-e 0x00039000/0x0400060C@0x8000000C --p4pe=0x1000001 --p4pmv=0x1"},
    [CONFIG_LIBPFM4] = {"libpfm4", dialect_parse_libpfm4, dialect_print_libpfm4,
                        "netburst::instr_retired:NBOGUSNTAG:NBOGUSTAG:u"},
    [CONFIG_LINUX_PERF] = {"perf", dialect_parse_linux, dialect_print_linux,
                           "r4c00060000000000:u, or perf's own names such as branch-misses"},
    [CONFIG_OPROFILE] = {"oprofile", dialect_parse_oprofile, dialect_print_oprofile,
                         "INSTR_RETIRED:100000:0x3:0:1 (name:count:mask:kernel:user)"},
    [CONFIG_FREEBSD] = {"freebsd", dialect_parse_freebsd, dialect_print_freebsd,
                        "p4-instr-retired,mask=nbogusntag+nbogustag,usr"},
    [CONFIG_PAPI] = {"papi", dialect_parse_papi, dialect_print_papi, "PAPI_TOT_INS"},
    [CONFIG_P4SIM] = {"p4sim", dialect_parse_p4sim, dialect_print_p4sim,
                      "instr_retired:NBOGUSNTAG+NBOGUSTAG:u"},
};

const char *config_dialect_name(enum config_dialect dialect)
{
    return dialects[dialect].name;
}

const char *dialect_example(enum config_dialect dialect)
{
    return dialects[dialect].example;
}

int dialect_by_name(const char *name)
{
    for (int d = 0; d < CONFIG_DIALECTS; d++) {
        if (!strcasecmp(dialects[d].name, name))
            return d;
    }
    return -1;
}

bool dialect_parse(enum config_dialect dialect, const char *text, struct config *config,
                   struct dialect_notes *notes, char error[512])
{
    return dialects[dialect].parse(text, config, notes, error);
}

bool config_parse(enum config_dialect dialect, const char *text, struct config *config,
                  char error[512])
{
    return dialect_parse(dialect, text, config, NULL, error);
}

bool dialect_print(enum config_dialect dialect, const struct config *config, FILE *out,
                   struct dialect_notes *notes)
{
    struct dialect_notes none = {NULL, 0, 0};
    dialects[dialect].print(config, out, notes ? notes : &none);
    return (notes ? notes : &none)->lost == 0;
}

/* ---- guessing ----------------------------------------------------------------------------------
 */

static bool begins(const char *word, const char *with)
{
    return !strncasecmp(word, with, strlen(with));
}

/* "0x39000/0x4000204@12" */
static bool is_perfex(const char *w)
{
    const char *slash = strchr(w, '/'), *at = strchr(w, '@');
    return begins(w, "perfex") || begins(w, "--p4p") || begins(w, "--p4_pebs") ||
           (slash && at && slash < at);
}

static bool is_linux(const char *w)
{
    if (!strcasecmp(w, "perf") || begins(w, "cpu/") || dialect_linux_knows(w))
        return true;
    return w[0] == 'r' && strlen(w) > 4 && strspn(w + 1, "0123456789abcdefABCDEF") > 3 &&
           strchr(":,", w[1 + strspn(w + 1, "0123456789abcdefABCDEF")]);
}

/* NAME:NUMBER */
static bool is_oprofile(const char *w)
{
    const char *colon = strchr(w, ':');
    return begins(w, "opcontrol") || begins(w, "operf") ||
           (colon && isdigit((unsigned char)colon[1]) &&
            colon[1 + strspn(colon + 1, "0123456789")] != 'x');
}

static int guess_word(const char *w)
{
    if (begins(w, "wrmsr") || begins(w, "rdmsr") || begins(w, "sudo"))
        return CONFIG_WRMSR;
    if (is_perfex(w))
        return CONFIG_PERFEX;
    if (begins(w, "netburst") || begins(w, "Codes"))
        return CONFIG_LIBPFM4;
    if (begins(w, "PAPI_"))
        return CONFIG_PAPI;
    if (begins(w, "p4-") || begins(w, "pmcstat"))
        return CONFIG_FREEBSD;
    if (is_linux(w))
        return CONFIG_LINUX_PERF;
    if (isdigit((unsigned char)w[0]) && !strchr(w, ':') &&
        strspn(w, "0123456789abcdefABCDEFxXhH=") == strlen(w))
        return CONFIG_MSR_LIST;
    if (begins(w, "MSR_") || begins(w, "IA32_"))
        return CONFIG_MSR_LIST;
    if (is_oprofile(w))
        return CONFIG_OPROFILE;
    return -1;
}

/* By the first word that says something; event names without any mark are p4sim's own. */
int config_guess(const char *text)
{
    struct dialect_words words = dialect_words(text, "");
    bool any = false;
    while (dialect_next(&words)) {
        const char *w = words.word;
        if (!strcmp(w, "-e"))
            continue;
        if (begins(w, "--event="))
            w += strlen("--event=");
        int dialect = guess_word(w);
        if (dialect >= 0)
            return dialect;
        any = true;
    }
    return any ? CONFIG_P4SIM : -1;
}
