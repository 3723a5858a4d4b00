/*
 * p4sim check against the corpus: each wrong configuration gives its findings and no other, each
 * mended and each sound one none; and what a counter is said to do it does on the bench.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "check.h"
#include "corpus.h"
#include "dialect_msr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static struct check check;

static bool expected(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length) {
        bool begins = at == list || at[-1] == ' ';
        if (begins && (at[length] == ' ' || !at[length]))
            return true;
    }
    return false;
}

static bool found(const char *name, size_t length)
{
    for (size_t i = 0; i < check.count; i++) {
        const char *id = check_info(check.finding[i].id)->name;
        if (strlen(id) == length && !strncmp(id, name, length))
            return true;
    }
    return false;
}

static void exactly(const struct corpus_case *c)
{
    for (size_t i = 0; i < check.count; i++) {
        const struct check_finding *f = &check.finding[i];
        if (!expected(c->expected, check_info(f->id)->name))
            fail_msg("%s: '%s' was not expected: %s", c->name, check_info(f->id)->name, f->what);
        if (!f->what[0] || !f->todo[0])
            fail_msg("%s: '%s' does not say what and what to do", c->name, check_info(f->id)->name);
    }
    for (const char *at = c->expected; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (!found(at, length))
            fail_msg("%s: '%.*s' was not found", c->name, (int)length, at);
        at += length;
    }
}

/* A finding that says so names a counter that counts nothing. */
static void dead_are_named(const struct corpus_case *c)
{
    for (size_t i = 0; i < check.count; i++) {
        const struct check_finding *f = &check.finding[i];
        if (!check_info(f->id)->counts_nothing || f->counter == P4PMU_NONE)
            continue;
        if (check.counter[f->counter].counts || !check.counter[f->counter].why[0])
            fail_msg("%s: '%s', and counter %d counts", c->name, check_info(f->id)->name,
                     f->counter);
    }
}

static void judge_wrong(const struct corpus_case *c)
{
    assert_true(check_config(&c->config, &check));
    exactly(c);
    dead_are_named(c);
    if (check_sound(&check))
        fail_msg("%s is sound", c->name);
    if (!c->has_mended)
        fail_msg("%s has no mended form", c->name);
    assert_true(check_config(&c->mended, &check));
    for (size_t i = 0; i < check.count; i++)
        fail_msg("%s, mended: %s", c->name, check.finding[i].what);
}

static void judge_sound(const struct corpus_case *c)
{
    assert_true(check_config(&c->config, &check));
    exactly(c);
    if (!check_sound(&check))
        fail_msg("%s is not sound", c->name);
}

static void each_wrong_configuration_gives_exactly_its_findings(void **state)
{
    (void)state;
    size_t n = corpus_each(CORPUS "/wrong", judge_wrong);
    assert_true(n >= 60);
}

static size_t without_findings;

static void count_silent(const struct corpus_case *c)
{
    judge_sound(c);
    without_findings += c->expected[0] == '\0';
}

static void each_sound_configuration_gives_no_error_and_no_warning(void **state)
{
    (void)state;
    corpus_each(CORPUS "/sound", count_silent);
    assert_true(without_findings >= 30);
}

/* ---- on the bench ------------------------------------------------------------------------------
 */

static const char *writes_of(const struct config *config)
{
    static char text[4096];
    config_print_msr_list(config, text, sizeof text);
    return text;
}

/* It waits for a source that begins at 0: 2^40 counts are too many for a bench. */
static bool too_late(const struct check_counter *k)
{
    return k->waits && found("cascade-source-without-preset", 29);
}

static void as_said(const char *name, const struct config *config)
{
    static struct bench_result result;
    assert_true(check_config(config, &check));
    assert_true(bench_run(config, &result));
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        bool moved = result.before[i] != result.after[i];
        const struct check_counter *k = &check.counter[i];
        if (moved != (k->used && k->counts) && !too_late(k))
            fail_msg("%s:\n%scounter %u went from %llx to %llx, and the judge says it %s%s", name,
                     writes_of(config), i, (unsigned long long)result.before[i],
                     (unsigned long long)result.after[i],
                     k->used && k->counts ? "counts" : "counts nothing: ", k->why);
    }
}

static unsigned dead_shown;

static void prove(const struct corpus_case *c)
{
    as_said(c->name, &c->config);
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++)
        dead_shown += check.counter[i].used && !check.counter[i].counts;
    if (c->has_mended)
        as_said(c->name, &c->mended);
}

static void counters_said_to_count_nothing_stay_and_mended_ones_move(void **state)
{
    (void)state;
    corpus_each(CORPUS "/wrong", prove);
    assert_true(dead_shown >= 40);
    corpus_each(CORPUS "/sound", prove);
}

/* Each finding whose row says that the counter counts nothing has a case in the corpus. */
static bool shown[CHECK_FINDINGS];

static void note_shown(const struct corpus_case *c)
{
    assert_true(check_config(&c->config, &check));
    for (size_t i = 0; i < check.count; i++)
        shown[check.finding[i].id] = true;
}

static void every_finding_has_a_case(void **state)
{
    (void)state;
    corpus_each(CORPUS "/wrong", note_shown);
    corpus_each(CORPUS "/sound", note_shown);
    for (int id = 0; id < CHECK_FINDINGS; id++)
        if (!shown[id])
            fail_msg("no case for '%s'", check_info((enum check_id)id)->name);
}

/* ---- the rows ----------------------------------------------------------------------------------
 */

static void rows_are_whole_and_identifiers_unique(void **state)
{
    (void)state;
    for (int a = 0; a < CHECK_FINDINGS; a++) {
        const struct check_info *info = check_info((enum check_id)a);
        assert_true(info->name[0] && info->title[0] && info->background[0] && info->source[0]);
        assert_int_equal(strspn(info->name, "abcdefghijklmnopqrstuvwxyz0123456789-"),
                         strlen(info->name));
        for (int b = 0; b < a; b++)
            assert_string_not_equal(info->name, check_info((enum check_id)b)->name);
    }
}

static void add(struct config *config, uint32_t msr, uint64_t value)
{
    assert_true(config_add(config, msr, value, 0, ""));
}

/* ---- one mistake in a wire ---------------------------------------------------------------------
 */

static struct config one;

static uint32_t sound_cccr(const struct p4pmu_escr_info *escr)
{
    return 0x31000 | escr->select << 13;
}

/* ESCR with EVENT, and CCCR in the register of COUNTER; judged. */
static void set_up(const struct p4pmu_event_info *event, const struct p4pmu_escr_info *escr,
                   unsigned counter, uint32_t cccr)
{
    one = (struct config){.model = 3, .stepping = 4};
    uint32_t mask = 0;
    for (size_t i = 0; i < event->subevent_count; i++)
        mask |= 1u << event->subevents[i].bit;
    add(&one, escr->msr, event->code << 25 | mask << 9 | 0xC);
    add(&one, p4pmu_counter(counter)->cccr_msr, cccr);
    assert_true(check_config(&one, &check));
}

/* The only finding, which must be an error. */
static const struct check_finding *only_finding(const struct p4pmu_event_info *event,
                                                unsigned counter)
{
    if (check.count != 1 || check_info(check.finding[0].id)->severity != CHECK_ERROR)
        fail_msg("%s on counter %u: %zu findings", event->name, counter, check.count);
    return &check.finding[0];
}

static void mistake_selects(const struct p4pmu_event_info *event,
                            const struct p4pmu_escr_info *escr, unsigned counter)
{
    char mended[32];
    snprintf(mended, sizeof mended, "= 0x%08X", sound_cccr(escr));
    for (uint32_t select = 0; select < 8; select++) {
        if (select == escr->select)
            continue;
        set_up(event, escr, counter, 0x31000 | select << 13);
        const struct check_finding *f = only_finding(event, counter);
        if (!strstr(f->todo, mended))
            fail_msg("%s on counter %u with select %u: '%s' does not say %s", event->name, counter,
                     select, f->todo, mended);
    }
}

static void mistake_counter(const struct p4pmu_event_info *event,
                            const struct p4pmu_escr_info *escr, unsigned counter)
{
    set_up(event, escr, counter, sound_cccr(escr));
    const struct check_finding *f = only_finding(event, counter);
    assert_true(f->id == CHECK_ESCR_UNREACHABLE || f->id == CHECK_SELECT_NO_ESCR);
    assert_non_null(strstr(f->todo, escr->name));
    assert_non_null(strstr(f->todo, "is wired to counters"));
}

/* Whatever ESCR select or counter was meant, the message gives the value or the counters. */
static void every_mistake_in_a_wire_is_found_and_the_mended_value_given(void **state)
{
    (void)state;
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        const struct p4pmu_event_info *event = p4pmu_event((enum p4pmu_event)e);
        for (int i = 0; i < 2; i++) {
            if (event->escrs[i] == P4PMU_NONE || e == P4PMU_EV_uop_type)
                continue; /* uop_type alone in its ESCR is no mistake in a wire */
            const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)event->escrs[i]);
            for (unsigned counter = 0; counter < P4PMU_COUNTERS; counter++) {
                if (escr->counters >> counter & 1)
                    mistake_selects(event, escr, counter);
                else
                    mistake_counter(event, escr, counter);
            }
        }
    }
}

/* ---- random configurations ---------------------------------------------------------------------
 */

static uint32_t seed = 5;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

/* An event in one of its ESCRs, heard by one of its counters, with one or two bits flipped. */
static void add_random_counter(struct config *config)
{
    const struct p4pmu_event_info *e = p4pmu_event((enum p4pmu_event)random_below(P4PMU_EVENTS));
    int which = e->escrs[1] != P4PMU_NONE ? e->escrs[random_below(2)] : e->escrs[0];
    const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)which);
    unsigned counter = random_below(P4PMU_COUNTERS);
    while (!(escr->counters >> counter & 1))
        counter = random_below(P4PMU_COUNTERS);
    uint32_t v =
        e->code << 25 | 1u << (9 + e->subevents[random_below((uint32_t)e->subevent_count)].bit);
    uint32_t cccr = 0x31000 | escr->select << 13;
    v |= random_below(16);
    if (random_below(4) == 0)
        v ^= 1u << random_below(31);
    if (random_below(4) == 0)
        cccr ^= 1u << (12 + random_below(20));
    if (random_below(4) == 0)
        cccr |= P4PMU_CCCR_COMPARE_MASK | random_below(16) << 20;
    add(config, escr->msr, v);
    if (random_below(3) == 0)
        add(config, p4pmu_counter(counter)->msr, P4PMU_COUNTER_MASK + 1 - 1 - random_below(200));
    add(config, p4pmu_counter(counter)->cccr_msr, cccr & ~P4PMU_CCCR_RESERVED_28_MASK);
}

static void make_random(struct config *config)
{
    static const unsigned models[] = {0, 1, 2, 3, 4, 6};
    *config = (struct config){.model = models[random_below(6)],
                              .stepping = 1 + random_below(9),
                              .hyper_threading = random_below(2)};
    unsigned n = 1 + random_below(4);
    while (n--)
        add_random_counter(config);
    if (random_below(3) == 0)
        add(config, 0x3F1, (random_below(2) ? 0x1000000u : 0u) | 1u << random_below(17));
    if (random_below(3) == 0)
        add(config, 0x3F2, random_below(32));
}

static void verdicts_on_random_configurations_agree_with_the_bench(void **state)
{
    static struct config config;
    char name[32];
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        make_random(&config);
        snprintf(name, sizeof name, "random %u", i);
        as_said(name, &config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole_and_identifiers_unique),
        cmocka_unit_test(each_wrong_configuration_gives_exactly_its_findings),
        cmocka_unit_test(each_sound_configuration_gives_no_error_and_no_warning),
        cmocka_unit_test(every_finding_has_a_case),
        cmocka_unit_test(counters_said_to_count_nothing_stay_and_mended_ones_move),
        cmocka_unit_test(every_mistake_in_a_wire_is_found_and_the_mended_value_given),
        cmocka_unit_test(verdicts_on_random_configurations_agree_with_the_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
