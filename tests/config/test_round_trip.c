/*
 * Encode, then decode: the request comes back, for every event, every one and every two of its
 * sub-events, the modifiers, and every model with and without Hyper-Threading.
 */
#include "check.h"
#include "encode.h"
#include "metrics.h"
#include "words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static struct config config;
static struct encoding encoding;
static struct config_state state;
static char error[512];
static unsigned long trips;

static bool encode(const struct config *part, const char *text)
{
    config = *part;
    memset(&encoding, 0, sizeof encoding);
    return encode_add(&encoding, &config, text, error) && encode_place(&encoding, &config, error);
}

/* TEXT through the registers; what they say in words. */
static const char *decoded(size_t request)
{
    static char text[600];
    assert_true(config_apply(&config, &state));
    words_event(&state, &config, (unsigned)encoding.plan.slots[request].counter, text, sizeof text);
    return text;
}

static void trip(const struct config *part, const char *text)
{
    if (!encode(part, text))
        fail_msg("%s on model %u: %s", text, part->model, error);
    for (size_t i = 0; i < config.count; i++)
        assert_true(config.write[i].value >> 40 == 0);
    if (strcmp(decoded(0), text))
        fail_msg("%s on model %u came back as %s", text, part->model, decoded(0));
    trips++;
}

static void each_part(void (*fn)(const struct config *part))
{
    static const unsigned models[] = {0, 1, 2, 3, 4, 6};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        for (int ht = 0; ht < 2; ht++)
            fn(&(struct config){.model = models[i], .stepping = 9, .hyper_threading = ht});
}

static const char *const modifiers[] = {"",       ":u",          ":k",           ":t=0",
                                        ":t=3",   ":cmpl",       ":t=4:cmpl",    ":e",
                                        ":t=2:e", ":t=1:cmpl:e", ":u:t=15:cmpl", ":k:t=5:e"};
enum { MODIFIERS = sizeof modifiers / sizeof modifiers[0] };

static void with_modifiers(const struct config *part, const char *name)
{
    char text[300];
    for (unsigned m = 0; m < MODIFIERS; m++) {
        snprintf(text, sizeof text, "%s%s", name, modifiers[m]);
        trip(part, text);
    }
}

static void events_of(const struct config *part)
{
    char text[200];
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)e);
        if (!(info->models >> part->model & 1))
            continue;
        for (size_t a = 0; a < info->subevent_count; a++) {
            snprintf(text, sizeof text, "%s:%s", info->name, info->subevents[a].name);
            with_modifiers(part, text);
            for (size_t b = a + 1; b < info->subevent_count; b++) {
                snprintf(text, sizeof text, "%s:%s+%s", info->name, info->subevents[a].name,
                         info->subevents[b].name);
                with_modifiers(part, text);
            }
        }
    }
}

static void every_event_and_modifier_comes_back(void **unused)
{
    (void)unused;
    each_part(events_of);
    assert_true(trips > 10000);
}

static void metrics_of(const struct config *part)
{
    for (size_t i = 0; sim_metric(i); i++)
        with_modifiers(part, sim_metric(i)->name);
}

static void every_tagged_metric_comes_back_by_its_name(void **unused)
{
    (void)unused;
    each_part(metrics_of);
}

static void tags_of(const struct config *part)
{
    char text[100];
    for (unsigned tag = 1; tag < 16; tag++) {
        snprintf(text, sizeof text, "packed_SP_uop:ALL:u:tag=%u", tag);
        trip(part, text);
    }
}

static void execution_tags_come_back(void **unused)
{
    (void)unused;
    each_part(tags_of);
}

/* ---- named metrics -----------------------------------------------------------------------------
 */

/* Rows that follow a tool into what the manual does not list. */
static bool follows_a_tool(const char *name)
{
    return strstr(name, "_papi3") && strncmp(name, "vector", 6);
}

static void terms_come_back(const struct metric_row *metric)
{
    struct metric_term term;
    size_t i = 0;
    for (const char *at = metric->terms; metric_next_term(&at, &term); i++) {
        if (strchr(term.event, '/'))
            continue; /* the raw form has more than one spelling */
        if (strcmp(decoded(i), term.event))
            fail_msg("%s: term %s came back as %s", metric->name, term.event, decoded(i));
    }
    assert_int_equal(i, encoding.count);
}

static void named_metrics_of(const struct config *part)
{
    static struct check check;
    for (size_t i = 0; metric_row(i); i++) {
        const struct metric_row *metric = metric_row(i);
        if (!(metric->models >> part->model & 1) || !strcmp(metric->name, "uops_retired") ||
            !strncmp(metric->name, "dtlb_", 5))
            continue; /* an event or a tagged metric has the name */
        if (!encode(part, metric->name))
            fail_msg("%s on model %u: %s", metric->name, part->model, error);
        terms_come_back(metric);
        assert_true(check_config(&config, &check));
        if (check_sound(&check) == follows_a_tool(metric->name))
            fail_msg("%s on model %u: %s", metric->name, part->model,
                     check.count ? check.finding[0].what : "is sound");
    }
}

static void every_named_metric_encodes_soundly_with_all_its_terms(void **unused)
{
    (void)unused;
    each_part(named_metrics_of);
}

static void metric_rows_are_whole(void **unused)
{
    (void)unused;
    for (size_t i = 0; metric_row(i); i++) {
        const struct metric_row *m = metric_row(i);
        assert_true(m->formula[0] && m->description[0] && m->source[0] && m->models);
        assert_ptr_equal(metric_by_name(m->name), m);
        for (const char *f = m->formula; *f; f++)
            if (*f >= 'A' && *f <= 'Z') {
                char term[4] = {*f, '=', 0, 0};
                assert_non_null(strstr(m->terms, term));
            }
    }
}

/* ---- mistakes ----------------------------------------------------------------------------------
 */

static void an_unknown_name_gives_near_ones(void **unused)
{
    const struct config part = {.model = 2, .stepping = 7};
    (void)unused;
    assert_false(encode(&part, "branch_retird:MMTM"));
    assert_non_null(strstr(error, "branch_retired"));
    assert_false(encode(&part, "cpi_nonhaltd"));
    assert_non_null(strstr(error, "cpi_nonhalted"));
    assert_false(encode(&part, "cpi_nonhalted:u"));
    assert_non_null(strstr(error, "takes no modifiers"));
    assert_false(encode(&part, "bus_accesses_model_lt2"));
    assert_non_null(strstr(error, "not for model 2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_and_modifier_comes_back),
        cmocka_unit_test(every_tagged_metric_comes_back_by_its_name),
        cmocka_unit_test(execution_tags_come_back),
        cmocka_unit_test(metric_rows_are_whole),
        cmocka_unit_test(every_named_metric_encodes_soundly_with_all_its_terms),
        cmocka_unit_test(an_unknown_name_gives_near_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
