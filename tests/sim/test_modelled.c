/*
 * Every event is either posted somewhere in the machine's source or listed as not modelled, never
 * both ways silent: a table would show a zero that means nothing.
 */
#define _GNU_SOURCE
#include "cmocka_all.h"
#include "request.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *source; /* all of netburst/ in one text */

static void append_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    source = realloc(source, *length + (1u << 20));
    assert_non_null(source);
    *length += fread(source + *length, 1, (1u << 20) - 1, file);
    source[*length] = '\0';
    fclose(file);
}

static int read_machine(void **state)
{
    (void)state;
    size_t length = 0;
    DIR *dir = opendir(NETBURST);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        char path[4096];
        if (!strcasestr(entry->d_name, ".c") && !strcasestr(entry->d_name, ".def"))
            continue;
        snprintf(path, sizeof path, "%s/%s", NETBURST, entry->d_name);
        append_file(path, &length);
    }
    closedir(dir);
    return 0;
}

static bool is_posted(const char *event)
{
    char name[100];
    snprintf(name, sizeof name, "P4PMU_EV_%s", event);
    for (const char *at = source; (at = strstr(at, name)); at++) {
        char after = at[strlen(name)];
        if (!strchr("_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", after) ||
            !after)
            return true;
    }
    return false;
}

static void an_event_is_posted_or_listed_as_not_modelled(void **state)
{
    (void)state;
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)e);
        struct sim_request request;
        char text[100], error[512];
        snprintf(text, sizeof text, "%s:0xFFFF", info->name);
        assert_true(sim_request_parse(text, info->models & 4 ? 0x27 : 0x34, &request, error));
        bool listed = sim_request_cannot_count(&request) != NULL;
        if (listed == is_posted(info->name))
            fail_msg("%s is %s", info->name,
                     listed ? "posted and listed in not_modelled.def"
                            : "neither posted nor listed");
    }
}

static int forget(void **state)
{
    (void)state;
    free(source);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_posted_or_listed_as_not_modelled),
    };
    return cmocka_run_group_tests(tests, read_machine, forget);
}
