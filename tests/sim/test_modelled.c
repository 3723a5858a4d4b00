/*
 * Every event is either posted somewhere in the machine's source or has the status not modelled,
 * and a request of which nothing is posted is told so: a table would show a zero that means
 * nothing.
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

/* Whether the tables say of some sub-event of EVENT that the machine has it. */
static bool is_said_to_be_posted(const struct p4pmu_event_info *event)
{
    for (size_t i = 0; i < event->subevent_count; i++)
        if (event->subevents[i].status != P4PMU_NOT_MODELLED)
            return true;
    return false;
}

static void an_event_is_posted_or_its_status_says_not_modelled(void **state)
{
    (void)state;
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)e);
        bool said = is_said_to_be_posted(info);
        if (info->logic != P4PMU_TAG_ONLY && said != is_posted(info->name))
            fail_msg("%s is %s", info->name,
                     said ? "said to be modelled and never posted"
                          : "posted, and its status says not modelled");
    }
}

static const char *reason(const char *text, unsigned signature)
{
    struct sim_request request;
    char error[512];
    if (!sim_request_parse(text, signature, &request, error))
        fail_msg("%s: %s", text, error);
    request.hyper_threading = true;
    return sim_request_cannot_count(&request);
}

/* Each sub-event of the events with plain masks, alone: the reason is the status column's. */
static void a_subevent_alone_counts_or_gives_the_reason_of_its_status(void **state)
{
    (void)state;
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)e);
        for (size_t i = 0; info->logic == P4PMU_OR && i < info->subevent_count; i++) {
            const struct p4pmu_subevent_info *s = &info->subevents[i];
            char text[100];
            snprintf(text, sizeof text, "%s:%s", info->name, s->name);
            const char *why = reason(text, info->models & 4 ? 0x27 : 0x34);
            if (s->status != P4PMU_NOT_MODELLED)
                assert_null(why);
            else
                assert_string_equal(why, s->why);
        }
    }
}

static void one_modelled_subevent_is_enough(void **state)
{
    (void)state;
    assert_null(reason("IOQ_allocation:ReqA0+ALL_READ+MEM_UC+OWN", 0x27));
    assert_null(reason("BSQ_cache_reference:RD_3rdL_HITM+RD_2ndL_HITM", 0x27));
    assert_non_null(strstr(reason("uops_retired:0x8000", 0x27), "documented"));
}

static void a_bus_queue_mask_needs_one_of_each_group(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
        unsigned signature;
    } cases[] = {
        {"IOQ_allocation:ReqA0+ALL_READ+MEM_WB+OWN", NULL, 0x27},
        {"IOQ_allocation:ReqA0+ALL_WRITE+MEM_WC+MEM_UC+OWN+OTHER", NULL, 0x27},
        {"IOQ_allocation:ReqA0+ALL_READ+MEM_UC+OWN", NULL, 0x27},
        {"IOQ_allocation:ReqA0+ALL_READ+MEM_UC+OWN", NULL, 0x12},
        {"IOQ_allocation:ReqA0+MEM_UC+OWN", NULL, 0x12},
        {"IOQ_allocation:ReqA0+OWN", "neither", 0x12},
        {"IOQ_allocation:ReqA0+ALL_READ+MEM_WB+OTHER", NULL, 0x27},
        {"IOQ_allocation:ReqA0+ALL_READ+MEM_WB+OTHER", NULL, 0x12},
        {"IOQ_allocation:ReqA0+ALL_READ+MEM_WB", "OWN", 0x27},
        {"IOQ_allocation:ReqA0+MEM_WB+OWN", "ALL_READ", 0x27},
        {"IOQ_allocation:ReqA0+ALL_READ+OWN", "memory type", 0x27},
        {"IOQ_active_entries:ReqA1+ReqA2+ALL_READ+MEM_WB+OWN", NULL, 0x27},
        {"IOQ_active_entries:ReqA3+ALL_READ+MEM_WB+OWN", "4 GB", 0x27},
        {"IOQ_active_entries:ReqA0+ReqA1+ALL_READ+MEM_WB+OWN", "has this request type", 0x27},
        {"IOQ_active_entries:ALL_READ+MEM_WB+OWN", "request type", 0x27},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *why = reason(cases[i].text, cases[i].signature);
        if (cases[i].says ? !why || !strstr(why, cases[i].says) : why != NULL)
            fail_msg("%s on %02X: %s", cases[i].text, cases[i].signature, why ? why : "counts");
    }
}

static void a_bus_sequence_mask_must_be_one_the_machine_has(void **state)
{
    (void)state;
    assert_null(reason("BSQ_allocation:0x328C", 0x27)); /* demand read of a write-back line */
    assert_null(reason("BSQ_allocation:0x0A0E", 0x27)); /* write-combining write */
    assert_null(reason("BSQ_allocation:0x0604", 0x27)); /* uncacheable read, ordered */
    assert_non_null(strstr(reason("BSQ_allocation:0x3288", 0x27), "two chunks"));
    assert_non_null(strstr(reason("BSQ_allocation:0x128C", 0x27), "memory type"));
    assert_non_null(strstr(reason("bsq_active_entries:0x32AC", 0x27), "CPL 3"));
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
        cmocka_unit_test(an_event_is_posted_or_its_status_says_not_modelled),
        cmocka_unit_test(a_subevent_alone_counts_or_gives_the_reason_of_its_status),
        cmocka_unit_test(one_modelled_subevent_is_enough),
        cmocka_unit_test(a_bus_queue_mask_needs_one_of_each_group),
        cmocka_unit_test(a_bus_sequence_mask_must_be_one_the_machine_has),
    };
    return cmocka_run_group_tests(tests, read_machine, forget);
}
