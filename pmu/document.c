/*
 * Writes the reference pages of the documentation from the tables: "p4pmu_document events" or
 * "p4pmu_document registers". A test compares the output with docs/events.md and docs/registers.md.
 */
#include "p4pmu.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *models_text(unsigned models)
{
    if (models == P4PMU_ALL_MODELS)
        return "all";
    if (models == P4PMU_UP_TO_MODEL_2)
        return "0, 1, 2";
    if (models == P4PMU_FROM_MODEL_2)
        return "2, 3, 4, 6";
    if (models == P4PMU_FROM_MODEL_3)
        return "3, 4, 6";
    return models == P4PMU_MODEL_3 ? "3" : models == P4PMU_MODEL_4 ? "4" : "some";
}

static const char *status_text(enum p4pmu_status status)
{
    static const char *const text[] = {
        [P4PMU_NOT_MODELLED] = "no", [P4PMU_PARTLY] = "partly", [P4PMU_MODELLED] = "yes"};
    return text[status];
}

static const char *logic_text(enum p4pmu_logic logic)
{
    switch (logic) {
    case P4PMU_OR:
        return "any selected bit counts";
    case P4PMU_IOQ:
        return "model 2 and later: request type and direction and memory type and agent, all of "
               "them; "
               "models 0 and 1: (type or direction or memory type) and agent, the memory type "
               "ignored "
               "beside a direction";
    case P4PMU_BSQ:
        return "type, length, memory type and demand must be equal; other attributes are required "
               "when set";
    case P4PMU_TAG_ONLY:
        break;
    }
    return "tags uops, never counts";
}

static void print_counters(uint32_t counters)
{
    const char *between = "";
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++)
        if (counters >> c & 1) {
            printf("%s%u", between, c);
            between = ", ";
        }
}

/* Text inside a table cell: a bar would end it. */
static void print_cell(const char *text)
{
    for (; *text; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
}

/* The anchor a heading gets: its text in lower case. */
static void print_anchor(const char *heading)
{
    for (; *heading; heading++)
        putchar(*heading >= 'A' && *heading <= 'Z' ? *heading - 'A' + 'a' : *heading);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void print_event_escrs(const struct p4pmu_event_info *e)
{
    for (int i = 0; i < 2 && e->escrs[i] != P4PMU_NONE; i++) {
        const struct p4pmu_escr_info *escr = p4pmu_escr((enum p4pmu_escr)e->escrs[i]);
        printf("%s%s (counters ", i ? ", " : "", escr->name);
        print_counters(escr->counters);
        printf(")");
    }
}

static void print_subevent(const struct p4pmu_subevent_info *s)
{
    printf("| %u | %s | ", s->bit, s->name);
    print_cell(s->description);
    if (s->aliases[0])
        printf(" (also %s)", s->aliases);
    printf(" | %s | %s%s%s | %s |\n", models_text(s->models), status_text(s->status),
           s->why[0] ? ": " : "", s->why, s->source);
}

static void print_event(const struct p4pmu_event_info *e)
{
    printf("## %s\n\n", e->name);
    printf("%c%s.\n\n",
           e->description[0] >= 'a' && e->description[0] <= 'z' ? e->description[0] - 'a' + 'A'
                                                                : e->description[0],
           e->description + 1);
    printf("| event select | CCCR select | class | thread | ESCRs | models | most in a clock | "
           "mask | source |\n");
    printf("|---|---|---|---|---|---|---|---|---|\n");
    printf("| %02XH | %u | %s | %s | ", e->code, p4pmu_escr((enum p4pmu_escr)e->escrs[0])->select,
           e->class_ == P4PMU_AT_RETIREMENT ? "at retirement" : "non-retirement",
           e->thread == P4PMU_TS ? "TS" : "TI");
    print_event_escrs(e);
    printf(" | %s | ", models_text(e->models));
    if (e->max_increment)
        printf("%u", e->max_increment);
    else
        printf(e->logic == P4PMU_TAG_ONLY ? "0" : "not documented");
    printf(" | %s | %s |\n\n", logic_text(e->logic), e->source);
    printf("| bit | sub-event | counts | models | machine posts it | source "
           "|\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < e->subevent_count; i++)
        print_subevent(&e->subevents[i]);
    printf("\n");
}

static void print_events(void)
{
    printf("# Events\n\n"
           "Written by `p4pmu_document events` from the rows of `pmu/p4pmu_events.def` and\n"
           "`pmu/p4pmu_subevents.def`; a test keeps it equal to them.\n\n"
           "TS: the event belongs to one logical processor and is qualified by its CPL. TI: it "
           "belongs to none\n"
           "in particular (SDM3 tables 18-66, 18-67). Models are those of family 0FH; `all` is 0, "
           "1, 2, 3, 4, 6.\n"
           "The sub-event of bit *n* is ESCR bit 9 + *n*. SDM3 is volume 3 of the 2016 edition.\n\n"
           "| event | select | class | thread | what it counts |\n|---|---|---|---|---|\n");
    for (int i = 0; i < (int)P4PMU_EVENTS; i++) {
        const struct p4pmu_event_info *e = p4pmu_event((enum p4pmu_event)i);
        printf("| [%s](#", e->name);
        print_anchor(e->name);
        printf(") | %02XH | %s | %s | ", e->code,
               e->class_ == P4PMU_AT_RETIREMENT ? "at retirement" : "non-retirement",
               e->thread == P4PMU_TS ? "TS" : "TI");
        print_cell(e->description);
        printf(" |\n");
    }
    printf("\n");
    for (int i = 0; i < (int)P4PMU_EVENTS; i++)
        print_event(p4pmu_event((enum p4pmu_event)i));
}

/* ---- registers ------------------------------------------------------------------------------- */

static void print_bits(const struct p4pmu_field_info *f)
{
    if (f->length == 1)
        printf("%u", f->shift);
    else
        printf("%u:%u", f->shift + f->length - 1, f->shift);
}

static void print_fields(const char *reg)
{
    const struct p4pmu_field_info *f;
    printf("| bits | field | models | access | meaning |\n|---|---|---|---|---|\n");
    for (size_t i = 0; (f = p4pmu_field(i)); i++) {
        if (strcmp(f->reg, reg) != 0)
            continue;
        printf("| ");
        print_bits(f);
        printf(" | %s | %s | %s | ", f->name, models_text(f->models),
               f->read_only ? "read" : "read, write");
        print_cell(f->description);
        printf(" |\n");
    }
    printf("\n");
}

static void print_escr(enum p4pmu_escr which)
{
    const struct p4pmu_escr_info *e = p4pmu_escr(which);
    bool any = false;
    printf("## %s\n\n%s, half %u. Address %03XH, models %s. CCCR select %u from counters ", e->name,
           e->description, e->half, (unsigned)e->msr, models_text(e->models), e->select);
    print_counters(e->counters);
    printf(".\nHolds the bits %08" PRIX32 "H", e->implemented);
    printf(" (without Hyper-Threading %08" PRIX32
           "H); bit 31 written as 1 is #GP, others are ignored.\n%s.\n\n",
           e->implemented & ~UINT32_C(3), e->source);
    printf("Events: ");
    for (unsigned code = 1; code < 64; code++) {
        int event = p4pmu_event_by_code(which, code);
        if (event == P4PMU_NONE)
            continue;
        const char *name = p4pmu_event((enum p4pmu_event)event)->name;
        printf("%s[%s](events.md#", any ? ", " : "", name);
        print_anchor(name);
        printf(") (%02XH)", code);
        any = true;
    }
    printf("%s.\n\n", any ? "" : "none documented");
}

static void print_cccr(unsigned counter)
{
    const struct p4pmu_counter_info *c = p4pmu_counter(counter);
    const struct p4pmu_config on = {.model = 4, .hyper_threading = true}, off = {.model = 0};
    printf("## %s, %s\n\nAddresses %03XH and %03XH, all models. RDPMC %u, fast %08XH. ",
           c->cccr_name, c->name, (unsigned)c->cccr_msr, (unsigned)c->msr, counter,
           0x80000000u | counter);
    printf("Started by the overflow of counter %d with CASCADE", c->cascade_source);
    if (c->extended_source != P4PMU_NONE)
        printf(", of counter %d with EXT_CASCADE (models 2, 3, 4, 6)", c->extended_source);
    printf(".\nThe CCCR holds the bits %08" PRIX32
           "H with Hyper-Threading on model 2 or later, %08" PRIX32
           "H without on model 0; others are ignored.\nThe counter holds bits 39:0. %s.\n\n",
           p4pmu_cccr_implemented(&on, counter), p4pmu_cccr_implemented(&off, counter), c->source);
    printf("| ESCR_SELECT | hears |\n|---|---|\n");
    for (unsigned s = 0; s < 8; s++) {
        int e = p4pmu_wired_escr(counter, s);
        printf("| %u | %s |\n", s,
               e == P4PMU_NONE ? "nothing" : p4pmu_escr((enum p4pmu_escr)e)->name);
    }
    printf("\n");
}

static void print_msr(size_t index)
{
    const struct p4pmu_msr_info *m = p4pmu_msr(index);
    printf("## %s", m->name);
    if (m->count > 1)
        printf(" and the %u after it", (unsigned)m->count - 1);
    printf(" (models %s%s)\n\n", models_text(m->models), m->l3 ? ", Xeon MP with L3" : "");
    printf("Address %03XH", (unsigned)m->msr);
    if (m->count > 1)
        printf(" to %03XH", (unsigned)(m->msr + m->count - 1));
    printf(", %s, %s. Reset: %" PRIX64 "H. %s.\n",
           m->per_lp ? "one for each logical processor" : "shared",
           m->read_only ? "read only: a write is #GP" : "read and write", m->reset, m->description);
    if (!m->read_only)
        printf("Holds the bits %" PRIX64 "H; written as 1, %" PRIX64
               "H is #GP and the rest is ignored.\n",
               m->implemented, m->faults);
    printf("%s.\n\n", m->source);
}

static void print_errata(void)
{
    printf("# Errata that can be switched on\n\n| name | entry | signatures | effect | source "
           "|\n|---|---|---|---|---|\n");
    for (int i = 0; i < (int)P4PMU_ERRATA; i++) {
        const struct p4pmu_erratum_info *e = p4pmu_erratum((enum p4pmu_erratum)i);
        printf("| %s | %s | F%02XH to F%02XH", e->name, e->entry, e->signatures[0][0],
               e->signatures[0][1]);
        if (e->signatures[1][0] <= e->signatures[1][1])
            printf(", F%02XH to F%02XH", e->signatures[1][0], e->signatures[1][1]);
        printf(" | %s | %s |\n", e->description, e->source);
    }
}

static void print_registers(void)
{
    static const char *const with_fields[] = {
        "ESCR", "CCCR", "PEBS_ENABLE", "PEBS_MATRIX_VERT", "MISC_ENABLE", "DEBUGCTLA"};
    printf("# Registers\n\n"
           "Written by `p4pmu_document registers` from the rows of `pmu/p4pmu_escrs.def`,\n"
           "`pmu/p4pmu_counters.def`, `pmu/p4pmu_msrs.def`, `pmu/p4pmu_errata.def` and "
           "`pmu/p4pmu_fields.h`; a\n"
           "test keeps it equal to them. Models are those of family 0FH. SDM3 is volume 3 of the "
           "2016 edition.\n\n"
           "# Fields\n\n");
    for (size_t i = 0; i < sizeof with_fields / sizeof with_fields[0]; i++) {
        printf("## Fields of %s\n\n", with_fields[i]);
        print_fields(with_fields[i]);
    }
    printf("# Event selection control registers\n\n");
    for (int e = 0; e < P4PMU_ESCRS; e++)
        print_escr((enum p4pmu_escr)e);
    printf("# Counters and their configuration control registers\n\n");
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++)
        print_cccr(c);
    printf("# Other registers\n\n");
    for (size_t i = 0; p4pmu_msr(i); i++)
        print_msr(i);
    print_errata();
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "events") == 0) {
        print_events();
    } else if (argc == 2 && strcmp(argv[1], "registers") == 0) {
        print_registers();
    } else {
        fprintf(stderr, "usage: p4pmu_document events|registers\n");
        return 2;
    }
    return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
