/*
 * Against libpfm4, which no one here wrote: it encodes each of its netburst events with each
 * sub-event, pair of sub-events and modifier, and the registers are compared. A difference must be
 * a row of tables.def.
 *
 * libpfm4 chooses neither ESCR nor counter, so values are compared, not addresses.
 */
#define _GNU_SOURCE
#include "lab_dialect.h"
#include "tables.h"

#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

enum { MOST_SUBEVENTS = 32 };

struct pmu_of {
    pfm_pmu_t pmu;
    const char *name;
    unsigned model;
};
static const struct pmu_of pmus[] = {{PFM_PMU_INTEL_NETBURST, "netburst", 2},
                                     {PFM_PMU_INTEL_NETBURST_P, "netburst_p", 3}};

static const char *const modifiers[] = {
    "", ":u", ":k", ":u:k", ":e", ":cmpl", ":thr=5", ":thr=15:cmpl:u", ":k:e:thr=1"};
enum { MODIFIERS = sizeof modifiers / sizeof modifiers[0] };

struct codes {
    uint32_t escr, cccr;
    int index; /* Linux's, from versions that tell it; else -1 */
};

static bool library(const char *text, struct codes *codes)
{
    pfm_pmu_encode_arg_t e;
    memset(&e, 0, sizeof e);
    e.size = sizeof e;
    if (pfm_get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3, PFM_OS_NONE, &e) != PFM_SUCCESS)
        return false;
    assert_in_range(e.count, 2, 3);
    *codes = (struct codes){(uint32_t)e.codes[0], (uint32_t)e.codes[1],
                            e.count == 3 ? (int)e.codes[2] : -1};
    free(e.codes);
    return true;
}

/* The ESCR and CCCR of the last event of CONFIG. */
static struct codes registers(const struct config *config)
{
    struct codes codes = {0, 0, 0};
    for (size_t i = 0; i < config->count; i++) {
        const struct config_write *w = &config->write[i];
        if (p4pmu_escr_by_msr(w->msr) != P4PMU_NONE)
            codes.escr = (uint32_t)w->value;
        else if (w->msr >= 0x360 && w->msr <= 0x371)
            codes.cccr = (uint32_t)w->value;
    }
    return codes;
}

/* ---- every event of the library ----------------------------------------------------------------
 */

struct theirs {
    const struct pmu_of *pmu;
    const char *event;
    const char *subevent[MOST_SUBEVENTS];
    size_t subevents;
};
typedef void visit(const struct theirs *event, const char *a, const char *b, const char *modifier,
                   unsigned *count);

static void visit_pairs(const struct theirs *t, visit *what, unsigned *count)
{
    for (size_t m = 0; m < MODIFIERS; m++) {
        what(t, NULL, NULL, modifiers[m], count);
        for (size_t a = 0; a < t->subevents; a++) {
            what(t, t->subevent[a], NULL, modifiers[m], count);
            for (size_t b = a + 1; b < t->subevents && m < 2; b++)
                what(t, t->subevent[a], t->subevent[b], modifiers[m], count);
        }
    }
}

static void visit_pmu(const struct pmu_of *pmu, visit *what, unsigned *events, unsigned *count)
{
    pfm_pmu_info_t info;
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    assert_int_equal(pfm_get_pmu_info(pmu->pmu, &info), PFM_SUCCESS);
    for (int i = info.first_event; i != -1; i = pfm_get_event_next(i)) {
        pfm_event_info_t event;
        struct theirs t = {.pmu = pmu};
        memset(&event, 0, sizeof event);
        event.size = sizeof event;
        assert_int_equal(pfm_get_event_info(i, PFM_OS_NONE, &event), PFM_SUCCESS);
        t.event = event.name;
        for (int a = 0; a < event.nattrs; a++) {
            pfm_event_attr_info_t attribute;
            memset(&attribute, 0, sizeof attribute);
            attribute.size = sizeof attribute;
            pfm_get_event_attr_info(i, a, PFM_OS_NONE, &attribute);
            if (attribute.type == PFM_ATTR_UMASK)
                t.subevent[t.subevents++] = attribute.name;
        }
        visit_pairs(&t, what, count);
        ++*events;
    }
}

static unsigned visit_all(visit *what)
{
    unsigned events = 0, count = 0;
    for (size_t i = 0; i < 2; i++)
        visit_pmu(&pmus[i], what, &events, &count);
    assert_true(events >= 90);
    return count;
}

static void their_text(const struct theirs *t, const char *a, const char *b, const char *modifier,
                       char out[200])
{
    snprintf(out, 200, "%s::%s%s%s%s%s%s", t->pmu->name, t->event, a ? ":" : "", a ? a : "",
             b ? ":" : "", b ? b : "", modifier);
}

/* Our name of the event they call NAME. */
static const char *our_event(const char *name)
{
    int event = dialect_event_by_name(CONFIG_LIBPFM4, name);
    if (event == P4PMU_NONE)
        fail_msg("%s is not known here", name);
    return p4pmu_event((enum p4pmu_event)event)->name;
}

/* ---- our reading of their names ----------------------------------------------------------------
 */

static void compare_reading(const struct theirs *t, const char *a, const char *b,
                            const char *modifier, unsigned *count)
{
    char text[200], error[512];
    struct codes codes = {0, 0, -1};
    struct config config = part_of(t->pmu->model, true);
    their_text(t, a, b, modifier, text);
    bool known = library(text, &codes);
    bool read = dialect_parse(CONFIG_LIBPFM4, text, &config, NULL, error);
    /* Two causes of replay want two values in one register; the library does not care. */
    if (known && !read && strstr(error, "IA32_PEBS_ENABLE"))
        return;
    if (known != read)
        fail_msg("%s: libpfm4 %s it, p4sim does not agree: %s", text, known ? "takes" : "refuses",
                 read ? "taken" : error);
    if (!known)
        return;
    struct codes ours = registers(&config);
    if (ours.escr != codes.escr)
        fail_msg("%s: ESCR 0x%X by libpfm4, 0x%X here", text, (unsigned)codes.escr,
                 (unsigned)ours.escr);
    if (ours.cccr != codes.cccr && (!table_find("libpfm4", our_event(t->event), "select") ||
                                    (ours.cccr ^ codes.cccr) & ~P4PMU_CCCR_ESCR_SELECT_MASK))
        fail_msg("%s: CCCR 0x%X by libpfm4, 0x%X here, and no row of the tables", text,
                 (unsigned)codes.cccr, (unsigned)ours.cccr);
    ++*count;
}

static void p4sim_reads_libpfm4_names_as_the_library_does(void **state)
{
    (void)state;
    assert_true(visit_all(compare_reading) > 5000);
}

/* ---- our own names -----------------------------------------------------------------------------
 */

/* Their sub-event in p4sim's text: TAGn is a modifier here. */
static void our_part(const char *theirs, char *out, size_t size)
{
    if (!strncmp(theirs, "TAG", 3) && theirs[3] >= '0' && theirs[3] <= '3' && !theirs[4])
        snprintf(out, size, ":ALL:tag=%u", 1u << (theirs[3] - '0'));
    else
        snprintf(out, size, ":%s", theirs);
}

/* Whether a row says that they have no such name here. */
static bool named_otherwise(const char *event)
{
    return table_find("libpfm4", event, "mask") || table_find("libpfm4", event, "name");
}

/* Whether a row says that their WHAT is another value: not one that merely lacks bits. */
static bool differs(const char *event, const char *what)
{
    const struct table_row *row = table_find("libpfm4", event, what);
    return row && (row->status == TABLE_ERROR || row->status == TABLE_POLICY);
}

static void compare_own_names(const struct theirs *t, const char *a, const char *b,
                              const char *modifier, unsigned *count)
{
    char text[200], ours[200], part[60] = "", error[512];
    struct codes codes = {0, 0, -1};
    struct config config = part_of(t->pmu->model, false);
    const char *event = our_event(t->event);
    if (!a || b || strchr(modifier, 'e') || strchr(modifier, 'c') || strchr(modifier, 't'))
        return;
    bool tag = !strncmp(a, "TAG", 3) && a[3] >= '0' && a[3] <= '3';
    their_text(t, a, tag ? "ALL" : NULL, modifier, text);
    assert_true(library(text, &codes));
    our_part(a, part, sizeof part);
    snprintf(ours, sizeof ours, "%s%s%s", event, part, modifier);
    ++*count;
    if (!dialect_parse(CONFIG_P4SIM, ours, &config, NULL, error)) {
        if (!named_otherwise(event))
            fail_msg("%s is refused (%s), and there is no row of the tables", ours, error);
        return;
    }
    struct codes mine = registers(&config);
    if ((mine.escr | 3) != (codes.escr | 3) && !differs(event, "mask"))
        fail_msg("%s: ESCR 0x%X by libpfm4, 0x%X here, and no row of the tables", text,
                 (unsigned)codes.escr, (unsigned)mine.escr);
    if (mine.cccr != codes.cccr && !differs(event, "select"))
        fail_msg("%s: CCCR 0x%X by libpfm4, 0x%X here, and no row of the tables", text,
                 (unsigned)codes.cccr, (unsigned)mine.cccr);
}

static void p4sim_names_encode_as_libpfm4_does_or_the_tables_say_why_not(void **state)
{
    (void)state;
    assert_true(visit_all(compare_own_names) > 800);
}

/* A row that says their select is 3 would be stale if they mended it. */
static void rows_about_selects_still_hold(void **state)
{
    (void)state;
    const struct table_row *row;
    unsigned rows = 0;
    for (size_t i = 0; (row = table_row(i)); i++) {
        char text[200], error[512];
        struct codes codes = {0, 0, -1};
        struct config config = part_of(2, true);
        if (strcmp(row->tool, "libpfm4") != 0 || strcmp(row->what, "select") != 0)
            continue;
        snprintf(text, sizeof text, "netburst::%s:BIT2", row->event);
        assert_true(library(text, &codes));
        assert_true(dialect_parse(CONFIG_LIBPFM4, text, &config, NULL, error));
        assert_int_equal(P4PMU_GET(CCCR, ESCR_SELECT, codes.cccr), atoi(row->theirs));
        assert_int_equal(P4PMU_GET(CCCR, ESCR_SELECT, registers(&config).cccr), atoi(row->ours));
        rows++;
    }
    assert_int_equal(rows, 4);
}

/* ---- codes -------------------------------------------------------------------------------------
 */

static void compare_codes(const struct theirs *t, const char *a, const char *b,
                          const char *modifier, unsigned *count)
{
    char text[200], error[512], wanted[200], got[400] = "";
    struct codes codes = {0, 0, -1};
    struct config config = part_of(t->pmu->model, true), again = config;
    enum p4pmu_event event = (enum p4pmu_event)dialect_event_by_name(CONFIG_LIBPFM4, t->event);
    their_text(t, a, b, modifier, text);
    if (!library(text, &codes) || !dialect_parse(CONFIG_LIBPFM4, text, &config, NULL, error))
        return;
    snprintf(wanted, sizeof wanted, "0x%x 0x%x 0x%x\n", (unsigned)codes.escr, (unsigned)codes.cccr,
             (unsigned)(codes.index < 0 ? dialect_linux_index(event) : codes.index));
    FILE *out = fmemopen(got, sizeof got - 1, "w");
    struct dialect_notes notes = {NULL, 0, 0};
    dialect_print_libpfm4_codes(&config, out, &notes);
    fclose(out);
    /* An event with mask 0 selects nothing; its code is still that. */
    if (strcmp(got, wanted) != 0)
        fail_msg("%s: libpfm4 has %s here it is %s", text, wanted, got);
    if (!dialect_parse(CONFIG_LIBPFM4, got, &again, NULL, error))
        fail_msg("%s: its codes are refused: %s", text, error);
    assert_int_equal(registers(&again).escr, registers(&config).escr);
    assert_int_equal(registers(&again).cccr, registers(&config).cccr);
    ++*count;
}

static void codes_are_those_of_the_library(void **state)
{
    (void)state;
    assert_true(visit_all(compare_codes) > 5000);
}

/* ---- Linux perf --------------------------------------------------------------------------------
 */

static void compare_perf(const struct theirs *t, const char *a, const char *b, const char *modifier,
                         unsigned *count)
{
    char text[200], error[512], wanted[200];
    struct perf_event_attr attr;
    pfm_perf_encode_arg_t arg;
    struct config config = part_of(t->pmu->model, true);
    memset(&attr, 0, sizeof attr);
    memset(&arg, 0, sizeof arg);
    arg.size = sizeof arg;
    arg.attr = &attr;
    their_text(t, a, b, modifier, text);
    bool replay =
        a && !strcmp(t->event, "replay_event") && strcmp(a, "NBOGUS") && strcmp(a, "BOGUS");
    if (replay || (b && !strcmp(t->event, "replay_event")) ||
        pfm_get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg) !=
            PFM_SUCCESS ||
        !dialect_parse(CONFIG_LIBPFM4, text, &config, NULL, error))
        return;
    struct printed ours = printed_in(CONFIG_LINUX_PERF, &config);
    if (ours.lost) {
        if (!table_find("perf", our_event(t->event), "mask") &&
            !table_find("perf", our_event(t->event), "name"))
            fail_msg("%s is not carried to perf, and there is no row of the tables", text);
        return;
    }
    /* What the kernel keeps of the library's config. */
    uint64_t kept = attr.config & UINT64_C(0x7FFFFFF001FC003F);
    snprintf(wanted, sizeof wanted, "r%llx%s\n", (unsigned long long)kept,
             attr.exclude_kernel && !attr.exclude_user   ? ":u"
             : attr.exclude_user && !attr.exclude_kernel ? ":k"
                                                         : "");
    if (strcmp(ours.text, wanted) != 0)
        fail_msg("%s: perf by libpfm4 %s here %s", text, wanted, ours.text);
    ++*count;
}

static void raw_perf_events_are_those_libpfm4_makes(void **state)
{
    (void)state;
    assert_true(visit_all(compare_perf) > 3000);
}

static int start(void **state)
{
    (void)state;
    setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
    return pfm_initialize() == PFM_SUCCESS ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p4sim_reads_libpfm4_names_as_the_library_does),
        cmocka_unit_test(p4sim_names_encode_as_libpfm4_does_or_the_tables_say_why_not),
        cmocka_unit_test(rows_about_selects_still_hold),
        cmocka_unit_test(codes_are_those_of_the_library),
        cmocka_unit_test(raw_perf_events_are_those_libpfm4_makes),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
