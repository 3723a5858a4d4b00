/*
 * The rows about other tools agree with what the dialects do: what a form cannot say is a row, and
 * each row is about something that exists.
 */
#define _GNU_SOURCE
#include "lab_dialect.h"
#include "tables.h"

static bool known_metric(const char *name)
{
    const struct sim_metric *m;
    for (size_t i = 0; (m = sim_metric(i)); i++) {
        if (!strcmp(m->name, name))
            return true;
    }
    return false;
}

/* An event, a metric, a preset or a register. */
static bool known(const char *name)
{
    return !strcmp(name, "-") || p4pmu_event_by_name(name) != P4PMU_NONE || known_metric(name) ||
           !strncmp(name, "PAPI_", 5) || !strncmp(name, "MSR_", 4) || !strncmp(name, "IA32_", 5);
}

static void every_row_is_about_something_known_and_says_why(void **state)
{
    (void)state;
    static const char *const whats[] = {"code",     "select", "escr",    "counters",
                                        "mask",     "name",   "default", "tag",
                                        "presence", "thread", "policy"};
    const struct table_row *row;
    size_t rows = 0;
    for (; (row = table_row(rows)); rows++) {
        bool what = false;
        for (size_t i = 0; i < sizeof whats / sizeof whats[0]; i++)
            what = what || !strcmp(whats[i], row->what);
        if (!known(row->event) || !what || !row->tool[0] || !row->theirs[0] || !row->ours[0] ||
            !row->source[0])
            fail_msg("row %zu: %s %s %s", rows, row->tool, row->event, row->what);
        if (row->status != TABLE_SPELLING && row->status != TABLE_SUBSET && !row->reason[0])
            fail_msg("%s %s %s has no reason", row->tool, row->event, row->what);
        assert_ptr_equal(table_find(row->tool, row->event, row->what), row);
    }
    assert_true(rows > 80);
}

static bool excused(const char *tool, const char *event)
{
    static const char *const whats[] = {"mask", "name", "presence"};
    for (size_t i = 0; i < sizeof whats / sizeof whats[0]; i++) {
        if (table_find(tool, event, whats[i]))
            return true;
    }
    const struct table_row *row = table_find(tool, "-", "presence");
    return row && strstr(row->theirs, event);
}

/* Every sub-event of every event in DIALECT; what is lost must be a row of TOOL. */
static unsigned lost_without_row(enum config_dialect dialect, const char *tool)
{
    unsigned lost = 0;
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)e);
        for (size_t i = 0; i < info->subevent_count; i++) {
            char text[120];
            bool edge = dialect == CONFIG_FREEBSD &&
                        (e == P4PMU_EV_IOQ_allocation || e == P4PMU_EV_FSB_data_activity ||
                         e == P4PMU_EV_BSQ_allocation);
            snprintf(text, sizeof text, "%s:%s%s", info->name, info->subevents[i].name,
                     edge ? ":e" : "");
            struct config c = parsed(CONFIG_P4SIM, text, 3, false);
            if (!printed_in(dialect, &c).lost)
                continue;
            if (!excused(tool, info->name))
                fail_msg("%s cannot say %s, and no row tells", tool, text);
            lost++;
        }
    }
    return lost;
}

static void what_a_form_has_no_name_for_is_a_row(void **state)
{
    (void)state;
    assert_true(lost_without_row(CONFIG_LIBPFM4, "libpfm4") > 5);
    assert_true(lost_without_row(CONFIG_LINUX_PERF, "perf") > 5);
    assert_true(lost_without_row(CONFIG_FREEBSD, "freebsd") > 5);
    assert_true(lost_without_row(CONFIG_OPROFILE, "oprofile") > 5);
}

static void a_tools_name_finds_its_own_rows_only(void **state)
{
    (void)state;
    const struct table_row *row;
    unsigned found = 0;
    for (size_t i = 0; (row = table_row(i)); i++) {
        if (!table_row_has(row, "perf"))
            continue;
        assert_string_equal(row->tool, "perf");
        found++;
    }
    assert_true(found > 15);
    assert_true(table_row_has(table_row(0), "WIRING TABLE"));
    assert_false(table_row_has(table_row(0), "no such words"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_about_something_known_and_says_why),
        cmocka_unit_test(what_a_form_has_no_name_for_is_a_row),
        cmocka_unit_test(a_tools_name_finds_its_own_rows_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
