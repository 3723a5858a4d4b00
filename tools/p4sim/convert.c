/*
 * p4sim convert: a counter configuration from one tool's form into another's.
 */
#define _GNU_SOURCE
#include "dialect.h"
#include "input.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TEXT_MOST = 1 << 18 };

static const char help[] =
    "usage: p4sim convert [--from FORM] [--to FORM] [options] [FILE | - | TEXT...]\n\n"
    "Translates a counter configuration between the forms of other tools and MSR writes. Without\n"
    "FILE or TEXT it is read from standard input. A TEXT that begins with - needs -- before it.\n\n"
    "  -f, --from FORM      the form of the input (default: by its looks)\n"
    "  -t, --to FORM        the form wanted (default: msr)\n"
    "      --codes          with --to libpfm4: its codes in place of names\n"
    "      --list           the forms, each with an example\n" INPUT_HELP
    "\nWhat the target form cannot say is told on standard error.\n\n"
    "exit status: 0 all was carried over, 1 something was lost, 2 usage, 3 input.\n\n"
    "example: p4sim convert --to perf netburst::branch_retired:MMTM:u\n";

/* Forms whose files nobody could be asked about. */
static const struct {
    const char *name, *missing;
} unknown_forms[] = {
    {"brink",
     "the XML of brink's experiment files is not known here. Published is that they name events "
     "freely, set detection and counting options by the symbols of a processor description, and "
     "leave registers to brink; the element and attribute names of both files are not published "
     "with it. A sample experiment file with its processor description would do"},
    {"abyss",
     "the XML that brink hands to abyss is not known here: what is published about the two tools "
     "describes its purpose, not its elements. A sample file, or abyss's source, would do"},
    {"p4pm",
     "the layout of p4pm's bit-string experiment files is not known here: neither a description "
     "nor a sample could be found, so it is not known which registers a line holds, in which "
     "order, nor which bit comes first. A sample with the counts it gave would do"},
};
enum { UNKNOWN_FORMS = sizeof unknown_forms / sizeof unknown_forms[0] };

struct convert {
    struct input_options input;
    int from, to; /* enum config_dialect, or -1 */
    bool codes, list;
};

static int find_form(const char *name, int *form)
{
    const char *names[CONFIG_DIALECTS];
    char near[100], all[200] = "";
    size_t used = 0;
    *form = dialect_by_name(name);
    if (*form >= 0)
        return 0;
    for (size_t i = 0; i < UNKNOWN_FORMS; i++) {
        if (!strcasecmp(unknown_forms[i].name, name))
            return complain(EXIT_INPUT, "convert", "%s: %s", unknown_forms[i].name,
                            unknown_forms[i].missing);
    }
    for (int d = 0; d < CONFIG_DIALECTS; d++) {
        names[d] = config_dialect_name((enum config_dialect)d);
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", d ? ", " : "", names[d]);
    }
    sim_near(name, names, CONFIG_DIALECTS, near, sizeof near);
    return complain(EXIT_USAGE, "convert", "unknown form '%s'%s%s%s; there are %s", name,
                    near[0] ? "; did you mean" : "", near, near[0] ? "?" : "", all);
}

static void list_forms(void)
{
    for (int d = 0; d < CONFIG_DIALECTS; d++)
        printf("%-10s %s\n", config_dialect_name((enum config_dialect)d),
               dialect_example((enum config_dialect)d));
    for (size_t i = 0; i < UNKNOWN_FORMS; i++)
        printf("%-10s not supported: %s\n", unknown_forms[i].name, unknown_forms[i].missing);
}

/* ---- input -------------------------------------------------------------------------------------
 */

static int read_file(FILE *file, const char *name, char *text)
{
    size_t length = fread(text, 1, TEXT_MOST - 1, file);
    text[length] = '\0';
    if (ferror(file))
        return complain(EXIT_INPUT, "convert", "%s: %s", name, strerror(errno));
    if (strlen(text) < length)
        return complain(EXIT_INPUT, "convert", "%s: not a text file", name);
    if (length == TEXT_MOST - 1)
        return complain(EXIT_INPUT, "convert", "%s: longer than %d bytes", name, TEXT_MOST - 1);
    return 0;
}

/* Words are lines, except those of a command that was not quoted ("wrmsr 0x3b8 0x1"), or of a
 * register list ("0x3b8 0x1"). */
static bool one_line(char *const *words)
{
    if (!words[1] || strpbrk(words[0], " ="))
        return false;
    return !strcmp(words[0], "wrmsr") || !strcmp(words[0], "rdmsr") || !strcmp(words[0], "sudo") ||
           config_guess(words[0]) == CONFIG_MSR_LIST;
}

static int read_words(char *const *words, char *text)
{
    const char *between = one_line(words) ? " " : "\n";
    size_t used = 0;
    for (; *words && used < TEXT_MOST; words++) {
        if (!strncmp(*words, "--to", 4) || !strncmp(*words, "--from", 6))
            return complain(EXIT_USAGE, "convert", "'%s' stands after the text; options come first",
                            *words);
        used += (size_t)snprintf(text + used, TEXT_MOST - used, "%s%s", *words, between);
    }
    if (used >= TEXT_MOST)
        return complain(EXIT_USAGE, "convert", "too long a command line; use a file");
    return 0;
}

static int read_input(char *const *words, char *text, const char **name)
{
    *name = "standard input";
    if (!words[0] || !strcmp(words[0], "-"))
        return read_file(stdin, *name, text);
    FILE *file = words[1] ? NULL : fopen(words[0], "r");
    if (!file) {
        *name = "command line";
        return read_words(words, text);
    }
    *name = words[0];
    int status = read_file(file, words[0], text);
    fclose(file);
    return status;
}

/* ---- translation -------------------------------------------------------------------------------
 */

static int translate(const struct convert *c, const char *name, const char *text)
{
    static struct config config;
    struct dialect_notes notes = {stderr, 0, 0};
    char error[512];
    int from = c->from >= 0 ? c->from : config_guess(text);
    int status = input_part(&c->input, &config);
    if (status)
        return status;
    if (from < 0)
        return complain(EXIT_INPUT, "convert", "%s: empty; 'p4sim convert --list' shows the forms",
                        name);
    if (!dialect_parse((enum config_dialect)from, text, &config, &notes, error))
        return complain(EXIT_INPUT, "convert", "%s: %s%s%s%s", name, error,
                        c->from >= 0 ? "" : " (taken as ",
                        c->from >= 0 ? "" : config_dialect_name((enum config_dialect)from),
                        c->from >= 0 ? "" : "; --from FORM says otherwise)");
    if (!config.count)
        return complain(EXIT_INPUT, "convert", "%s: nothing is configured", name);
    if (c->codes)
        dialect_print_libpfm4_codes(&config, stdout, &notes);
    else
        dialect_print((enum config_dialect)c->to, &config, stdout, &notes);
    return notes.lost ? EXIT_CHECK : EXIT_DONE;
}

static int convert(const struct convert *c, char *const *words)
{
    const char *name;
    char *text = malloc(TEXT_MOST);
    if (!text)
        return complain(EXIT_INPUT, "convert", "out of memory");
    int status = read_input(words, text, &name);
    if (!status)
        status = translate(c, name, text);
    free(text);
    return status;
}

static int take_option(struct convert *c, int option, const char *value)
{
    switch (option) {
    case 'f':
        return find_form(value, &c->from);
    case 't':
        return find_form(value, &c->to);
    case 'c':
        c->codes = true;
        return 0;
    case 'l':
        c->list = true;
        return 0;
    default:
        return input_option(&c->input, option, value) ? 0 : EXIT_USAGE;
    }
}

int command_convert(int argc, char **argv)
{
    static const struct option long_options[] = {{"from", required_argument, NULL, 'f'},
                                                 {"to", required_argument, NULL, 't'},
                                                 {"codes", no_argument, NULL, 'c'},
                                                 {"list", no_argument, NULL, 'l'},
                                                 {"model", required_argument, NULL, 'm'},
                                                 {"ht", no_argument, NULL, 'H'},
                                                 {"no-ht", no_argument, NULL, 'N'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {NULL, 0, NULL, 0}};
    struct convert c = {
        .input = {.command = "convert", .hyper_threading = -1}, .from = -1, .to = CONFIG_MSR_LIST};
    for (int o; (o = getopt_long(argc, argv, "+f:t:m:h", long_options, NULL)) != -1;) {
        if (o == 'h') {
            fputs(help, stdout);
            return EXIT_DONE;
        }
        int status = take_option(&c, o, optarg);
        if (status)
            return status;
    }
    if (c.list) {
        list_forms();
        return EXIT_DONE;
    }
    if (c.codes && c.to != CONFIG_LIBPFM4)
        return complain(EXIT_USAGE, "convert", "--codes goes with --to libpfm4");
    return convert(&c, argv + optind);
}
