/*
 * Reading a configuration: from a file, standard input, or REGISTER=VALUE words, for one part.
 */
#define _GNU_SOURCE
#include "input.h"
#include "parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_MOST = 1 << 18 };

bool input_option(struct input_options *options, int option, const char *value)
{
    switch (option) {
    case 'm':
        options->model = value;
        return true;
    case 'H':
        options->hyper_threading = 1;
        return true;
    case 'N':
        options->hyper_threading = 0;
        return true;
    case 'd':
        options->dialect = value;
        return true;
    case 'j':
        options->json = true;
        return true;
    default:
        return false;
    }
}

int input_part(const struct input_options *options, struct config *config)
{
    struct part part;
    char error[512];
    if (!part_find(options->model ? options->model : P4SIM_DEFAULT_MODEL, &part, error))
        return complain(EXIT_USAGE, options->command, "%s", error);
    part_take(&part, config);
    if (options->hyper_threading >= 0)
        config->hyper_threading = options->hyper_threading;
    return 0;
}

static int no_such_dialect(const struct input_options *options)
{
    char names[300];
    int used = 0;
    names[0] = '\0';
    for (int d = 0; d < CONFIG_DIALECTS; d++)
        used += snprintf(names + used, sizeof names - (size_t)used, "%s%s", d ? ", " : "",
                         config_dialect_name((enum config_dialect)d));
    return complain(EXIT_USAGE, options->command, "no dialect '%s'; there are %s", options->dialect,
                    names);
}

static int dialect_of(const struct input_options *options, const char *text, int *dialect)
{
    if (!options->dialect) {
        int guess = config_guess(text);
        *dialect = guess < 0 ? CONFIG_MSR_LIST : guess;
        return 0;
    }
    for (int d = 0; d < CONFIG_DIALECTS; d++) {
        if (!strcasecmp(options->dialect, config_dialect_name((enum config_dialect)d))) {
            *dialect = d;
            return 0;
        }
    }
    return no_such_dialect(options);
}

static int take_text(const struct input_options *options, const char *name, const char *text,
                     struct config *config)
{
    char error[512];
    int dialect = CONFIG_MSR_LIST, status = dialect_of(options, text, &dialect);
    if (status)
        return status;
    if (!config_parse((enum config_dialect)dialect, text, config, error))
        return complain(EXIT_INPUT, options->command, "%s: %s", name, error);
    if (config->count)
        return 0;
    return complain(EXIT_INPUT, options->command,
                    "%s: no register is written; expected lines such as MSR_CRU_ESCR0 = 0x0400060C",
                    name);
}

static int take_file(const struct input_options *options, const char *name, FILE *file,
                     struct config *config)
{
    char *text = malloc(INPUT_MOST);
    if (!text)
        return complain(EXIT_INPUT, options->command, "%s: out of memory", name);
    size_t length = fread(text, 1, INPUT_MOST - 1, file);
    text[length] = '\0';
    int status = ferror(file)
                     ? complain(EXIT_INPUT, options->command, "%s: %s", name, strerror(errno))
                 : strlen(text) < length
                     ? complain(EXIT_INPUT, options->command, "%s: not a text file", name)
                     : take_text(options, name, text, config);
    free(text);
    return status;
}

static int take_words(const struct input_options *options, char *const *words,
                      struct config *config)
{
    char text[8192];
    size_t used = 0;
    text[0] = '\0';
    for (; *words && used < sizeof text; words++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", *words);
    if (used >= sizeof text)
        return complain(EXIT_USAGE, options->command, "too many words; put them into a file");
    return take_text(options, "command line", text, config);
}

/* Not a file's name but a configuration itself. */
static bool is_text(const char *word)
{
    int guess = config_guess(word);
    return strchr(word, '=') || (guess >= 0 && guess != CONFIG_P4SIM) ||
           (strchr(word, ':') && !strchr(word, '/'));
}

int input_config(const struct input_options *options, char *const *words, struct config *config)
{
    int status = input_part(options, config);
    if (status)
        return status;
    if (!words[0] || !strcmp(words[0], "-"))
        return take_file(options, "standard input", stdin, config);
    FILE *file = words[1] ? NULL : fopen(words[0], "r");
    if (!file && (options->dialect || words[1] || is_text(words[0])))
        return take_words(options, words, config);
    if (!file)
        return complain(EXIT_INPUT, options->command,
                        "%s: %s; expected a file of MSR writes, or words such as "
                        "MSR_CRU_ESCR0=0x0400060C",
                        words[0], strerror(errno));
    status = take_file(options, words[0], file, config);
    fclose(file);
    return status;
}
