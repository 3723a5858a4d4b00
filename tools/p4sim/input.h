/* What the commands on configurations share: options for the part and the dialect, reading input.
 */
#ifndef P4SIM_INPUT_H
#define P4SIM_INPUT_H

#include "command.h"
#include "config.h"

struct input_options {
    const char *command;
    const char *model, *dialect;
    int hyper_threading; /* 1, 0, or -1: as the part has it */
    bool json;
};

/* What INPUT_OPTIONS in a help text says. */
#define INPUT_HELP                                                                                 \
    "  -m, --model PART     the part: a name, a signature such as F29 or a model number\n"         \
    "                       (default northwood; 'p4sim list parts' shows them)\n"                  \
    "      --ht, --no-ht    Hyper-Threading on or off, whatever the part has\n"

/* An option common to all; true when OPTION was one. VALUE is its argument. */
bool input_option(struct input_options *options, int option, const char *value);
/* getopt_long rows of the options above. */
#define INPUT_LONG_OPTIONS                                                                         \
    {"model", required_argument, NULL, 'm'}, {"ht", no_argument, NULL, 'H'},                       \
        {"no-ht", no_argument, NULL, 'N'}, {"dialect", required_argument, NULL, 'd'},              \
        {"json", no_argument, NULL, 'j'},                                                          \
    {                                                                                              \
        "help", no_argument, NULL, 'h'                                                             \
    }

/* The part into CONFIG; 0 or an exit status after a complaint. */
int input_part(const struct input_options *options, struct config *config);
/* The configuration named on the command line: a file, "-" or nothing for standard input, or
 * REGISTER=VALUE words. 0 or an exit status after a complaint. */
int input_config(const struct input_options *options, char *const *words, struct config *config);

#endif
