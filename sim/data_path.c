/*
 * Finding the data people edit: processor models and what else lies in configs/.
 *
 * A program run from its build tree uses the source tree it was built from, so that an edited model
 * takes effect without an install; an installed program uses what was installed beside it, also
 * after the whole tree was moved.
 */
#define _POSIX_C_SOURCE 200809L
#include "data_path.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void own_folder(char *out, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", out, size - 1);
    out[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}

static bool lies_in(const char *folder, const char *tree)
{
    size_t length = strlen(tree);
    return !strncmp(folder, tree, length) && (folder[length] == '/' || folder[length] == '\0');
}

void sim_data_folder(unsigned place, char *out, size_t size)
{
    char folder[4096];
    own_folder(folder, sizeof folder);
    const char *environment = getenv("P4SIM_CONFIGS");
    out[0] = '\0';
    switch (place) {
    case 0:
        if (environment)
            snprintf(out, size, "%s", environment);
        break;
    case 1:
        if (lies_in(folder, P4SIM_BUILD_FOLDER))
            snprintf(out, size, "%s", P4SIM_SOURCE_CONFIGS);
        break;
    case 2:
        if (folder[0])
            snprintf(out, size, "%.4000s/../share/p4sim", folder);
        break;
    default:
        snprintf(out, size, "%s", P4SIM_INSTALLED_CONFIGS);
    }
}
