/*
 * One page per register: address, bits with what a write of each does on each part, reset value,
 * what it is wired to, errata, provenance.
 *
 * What a write does is not told from the tables but tried: a PMU of each part is made, the bit is
 * written as 1 and the register is read back. So the pages show what the library does.
 */
#define _POSIX_C_SOURCE 200809L
#include "document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- parts ----------------------------------------------------------------------------------- */

static const struct part {
    const char *name;
    unsigned model;
    bool hyper_threading, l3;
} parts[] = {
    {"0", 0, false, false},     {"1", 1, false, false},     {"2", 2, false, false},
    {"2 HT", 2, true, false},   {"3", 3, false, false},     {"3 HT", 3, true, false},
    {"4", 4, false, false},     {"4 HT", 4, true, false},   {"6", 6, false, false},
    {"6 HT", 6, true, false},   {"3 HT L3", 3, true, true}, {"4 HT L3", 4, true, true},
    {"6 HT L3", 6, true, true},
};
enum { PARTS = sizeof parts / sizeof parts[0], PARTS_WITHOUT_L3 = 10 };

static struct p4pmu *part_new(unsigned part)
{
    return p4pmu_new(&(struct p4pmu_config){.model = parts[part].model,
                                            .hyper_threading = parts[part].hyper_threading,
                                            .l3 = parts[part].l3});
}

/* What a write does to one bit. */
enum policy { ABSENT, READ_ONLY, FAULTS, STORED, READS_0, READS_1 };

static enum policy try_bit(unsigned part, uint32_t msr, unsigned bit)
{
    uint64_t one = UINT64_C(1) << bit, stored = 0;
    struct p4pmu *pmu = part_new(part);
    if (!pmu)
        return ABSENT;
    enum policy policy;
    switch (p4pmu_wrmsr(pmu, 0, msr, one, &stored)) {
    case P4PMU_OK:
        policy = stored & one ? STORED : READS_0;
        if (policy == STORED && p4pmu_wrmsr(pmu, 0, msr, 0, &stored) == P4PMU_OK && (stored & one))
            policy = READS_1;
        break;
    case P4PMU_GP_RESERVED_BIT:
        policy = FAULTS;
        break;
    case P4PMU_GP_READ_ONLY:
        policy = READ_ONLY;
        break;
    default:
        policy = ABSENT;
    }
    p4pmu_free(pmu);
    return policy;
}

static const char *policy_text(enum policy policy)
{
    static const char *const text[] = {[ABSENT] = "#GP (no such register)",
                                       [READ_ONLY] = "#GP (read-only)",
                                       [FAULTS] = "#GP when 1",
                                       [STORED] = "stored",
                                       [READS_0] = "ignored, reads 0",
                                       [READS_1] = "ignored, reads 1"};
    return text[policy];
}

/* "stored" when all parts agree, else "stored on 2 HT, 3 HT; ignored, reads 0 on 0, 1, 2". */
static void print_policies(const enum policy *policy, unsigned count)
{
    static const enum policy order[] = {STORED, READS_0, READS_1, FAULTS, READ_ONLY, ABSENT};
    const char *between = "";
    for (unsigned k = 0; k < sizeof order / sizeof order[0]; k++) {
        unsigned n = 0;
        for (unsigned i = 0; i < count; i++)
            n += policy[i] == order[k];
        if (n == 0)
            continue;
        printf("%s%s", between, policy_text(order[k]));
        const char *first = " on ";
        for (unsigned i = 0; n < count && i < count; i++)
            if (policy[i] == order[k]) {
                printf("%s%s", first, parts[i].name);
                first = ", ";
            }
        between = "; ";
    }
}

/* ---- bits ------------------------------------------------------------------------------------ */

struct page {
    const char *name;
    uint32_t msr;
    const char *fields; /* p4pmu_field_info.reg, or NULL */
    const char *all;    /* what bits without a field are */
    unsigned parts;
};

static const struct p4pmu_field_info *field_of(const struct page *page, unsigned bit)
{
    const struct p4pmu_field_info *f;
    for (size_t i = 0; page->fields && (f = p4pmu_field(i)); i++)
        if (strcmp(f->reg, page->fields) == 0 && bit - f->shift < f->length)
            return f;
    return NULL;
}

struct row {
    const struct p4pmu_field_info *field;
    enum policy policy[PARTS];
};

static struct row row_of(const struct page *page, unsigned bit)
{
    struct row row = {field_of(page, bit), {ABSENT}};
    for (unsigned i = 0; i < page->parts; i++)
        row.policy[i] = try_bit(i, page->msr, bit);
    return row;
}

static bool same(const struct row *a, const struct row *b)
{
    return a->field == b->field && memcmp(a->policy, b->policy, sizeof a->policy) == 0;
}

/* Whether the bits of ROW hold something on some part. */
static bool in_use(const struct row *row, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (row->policy[i] == STORED || row->policy[i] == READ_ONLY)
            return true;
    return false;
}

static void print_row(const struct page *page, const struct row *row, unsigned low, unsigned high)
{
    if (low == high)
        printf("| %u | ", low);
    else
        printf("| %u:%u | ", high, low);
    printf("%s | ", row->field ? row->field->name : "");
    if (row->field)
        print_cell(row->field->description);
    else
        printf("%s", page->all && in_use(row, page->parts) ? page->all : "reserved");
    printf(" | ");
    print_policies(row->policy, page->parts);
    printf(" |\n");
}

static void print_bits(const struct page *page)
{
    printf("| bits | field | meaning | written as 1 |\n|---|---|---|---|\n");
    unsigned high = 63;
    struct row row = row_of(page, high);
    for (unsigned bit = 63; bit-- > 0;) {
        struct row next = row_of(page, bit);
        if (same(&row, &next))
            continue;
        print_row(page, &row, bit + 1, high);
        row = next;
        high = bit;
    }
    print_row(page, &row, 0, high);
    printf("\n");
}

static void print_reset(const struct page *page)
{
    for (unsigned i = 0; i < page->parts; i++) {
        uint64_t value;
        struct p4pmu *pmu = part_new(i);
        bool there = pmu && p4pmu_rdmsr(pmu, 0, page->msr, &value) == P4PMU_OK;
        p4pmu_free(pmu);
        if (there) { /* the same on every part that has the register */
            printf("After RESET: %" PRIX64 "H.\n\n", value);
            return;
        }
    }
}

/* ---- errata ---------------------------------------------------------------------------------- */

/* Whether one of WORDS is a part of NAME. */
static bool concerns(const char *words, const char *name)
{
    for (size_t length; *words; words += length + (words[length] == ' ')) {
        length = strcspn(words, " ");
        for (const char *at = name; strlen(at) >= length; at++)
            if (length && strncmp(at, words, length) == 0)
                return true;
    }
    return false;
}

static const struct {
    const char *registers, *text, *source;
} notes[] = {
#define P4PMU_NOTE(registers, text, source) {registers, text, source},
#include "p4pmu_errata.def"
};

static void print_signatures(const struct p4pmu_erratum_info *e)
{
    printf("F%02XH to F%02XH", e->signatures[0][0], e->signatures[0][1]);
    if (e->signatures[1][0] <= e->signatures[1][1])
        printf(", F%02XH to F%02XH", e->signatures[1][0], e->signatures[1][1]);
}

static void print_errata_of(const char *name)
{
    bool any = false;
    printf("## Errata and notes\n\n");
    for (int i = 0; i < (int)P4PMU_ERRATA; i++) {
        const struct p4pmu_erratum_info *e = p4pmu_erratum((enum p4pmu_erratum)i);
        if (!concerns(e->registers, name))
            continue;
        printf("- %s, on request (switch %s) on ", e->entry, e->name);
        print_signatures(e);
        printf(": %s. %s.\n", e->description, e->source);
        any = true;
    }
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (concerns(notes[i].registers, name)) {
            printf("- Note: %s. %s.\n", notes[i].text, notes[i].source);
            any = true;
        }
    printf("%s\n", any ? "" : "None known.\n");
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void print_head(const struct page *page, const char *what)
{
    printf("# %s\n\n%s. [All registers](../registers.md)\n\n", page->name, what);
}

static void print_rest(const struct page *page, const char *source)
{
    printf("## Bits\n\n");
    print_bits(page);
    print_reset(page);
    print_errata_of(page->name);
    printf("## Source\n\n%s.\n", source);
}

static void print_link(const char *name)
{
    printf("[%s](%s.md)", name, name);
}

static void print_events_of(enum p4pmu_escr which)
{
    printf("| event select | event | models |\n|---|---|---|\n");
    for (unsigned code = 1; code < 64; code++) {
        int number = p4pmu_event_by_code(which, code);
        if (number == P4PMU_NONE)
            continue;
        const struct p4pmu_event_info *event = p4pmu_event((enum p4pmu_event)number);
        printf("| %02XH | [%s](../events.md#", code, event->name);
        print_anchor(event->name);
        printf(") | %s |\n", models_text(event->models));
    }
    printf("\nOther values select nothing documented; 0 powers the detector off.\n\n");
}

static void print_escr(enum p4pmu_escr which)
{
    const struct p4pmu_escr_info *e = p4pmu_escr(which);
    struct page page = {e->name, e->msr, "ESCR", NULL, PARTS_WITHOUT_L3};
    char what[200];
    snprintf(what, sizeof what, "Event selection control register %u of the unit %s: %s", e->half,
             e->unit, e->description);
    print_head(&page, what);
    printf("MSR %03XH, models %s, shared by both logical processors.\n\n## Wiring\n\n",
           (unsigned)e->msr, models_text(e->models));
    printf("Heard with ESCR_SELECT %u by", e->select);
    const char *between = " ";
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++)
        if (e->counters >> c & 1) {
            printf("%s", between);
            print_link(p4pmu_counter(c)->name);
            printf(" (%u)", c);
            between = ", ";
        }
    printf(".\n\n");
    print_events_of(which);
    print_rest(&page, e->source);
}

static void print_starts(unsigned counter)
{
    const struct p4pmu_counter_info *c = p4pmu_counter(counter);
    printf("- CASCADE: started by the overflow of ");
    print_link(p4pmu_counter((unsigned)c->cascade_source)->name);
    printf(".\n");
    if (c->extended_source != P4PMU_NONE) {
        printf("- EXT_CASCADE (models %s): started by the overflow of ",
               models_text(P4PMU_FROM_MODEL_2));
        print_link(p4pmu_counter((unsigned)c->extended_source)->name);
        printf(".\n");
    }
    for (unsigned other = 0; other < P4PMU_COUNTERS; other++) {
        const struct p4pmu_counter_info *o = p4pmu_counter(other);
        if (o->cascade_source != (int)counter && o->extended_source != (int)counter)
            continue;
        printf("- Its overflow starts ");
        print_link(o->name);
        printf(" (%s there).\n", o->cascade_source == (int)counter ? "CASCADE" : "EXT_CASCADE");
    }
    printf("- PEBS: %s.\n\n", counter == 16 ? "drives it for logical processor 0"
                              : counter == 17
                                  ? "drives it for logical processor 1, with Hyper-Threading"
                                  : "does not drive it");
}

static void print_hears(unsigned counter)
{
    printf("| ESCR_SELECT | hears |\n|---|---|\n");
    for (unsigned s = 0; s < 8; s++) {
        int e = p4pmu_wired_escr(counter, s);
        printf("| %u | ", s);
        if (e == P4PMU_NONE)
            printf("nothing: the counter does not count");
        else
            print_link(p4pmu_escr((enum p4pmu_escr)e)->name);
        printf(" |\n");
    }
    printf("\n");
}

static void print_cccr(unsigned counter)
{
    const struct p4pmu_counter_info *c = p4pmu_counter(counter);
    struct page page = {c->cccr_name, c->cccr_msr, "CCCR",
                        "no function known; holds what is written on the probed part",
                        PARTS_WITHOUT_L3};
    print_head(&page, "Counter configuration control register");
    printf("MSR %03XH, all models, shared by both logical processors. Configures ",
           (unsigned)c->cccr_msr);
    print_link(c->name);
    printf(" (block %s).\n\n## Wiring\n\n", c->group);
    print_hears(counter);
    print_starts(counter);
    print_rest(&page, c->source);
}

static void print_counter(unsigned counter)
{
    const struct p4pmu_counter_info *c = p4pmu_counter(counter);
    struct page page = {c->name, c->msr, NULL, "the count; no sign extension from bit 31",
                        PARTS_WITHOUT_L3};
    print_head(&page, "Performance counter of 40 bits");
    printf("MSR %03XH, all models, shared by both logical processors. RDPMC %u; fast, low half "
           "only: %08XH.\nConfigured by ",
           (unsigned)c->msr, counter, 0x80000000u | counter);
    print_link(c->cccr_name);
    printf(" (block %s).\n\n## Wiring\n\n", c->group);
    print_hears(counter);
    print_starts(counter);
    print_rest(&page, c->source);
}

/* The fields whose register NAME ends with. */
static const char *fields_of(const char *name)
{
    const struct p4pmu_field_info *f;
    for (size_t i = 0; (f = p4pmu_field(i)); i++) {
        size_t length = strlen(f->reg), all = strlen(name);
        if (all > length && strcmp(name + all - length, f->reg) == 0)
            return f->reg;
    }
    return NULL;
}

/* The first row of the name of row INDEX: a register can have one row before model 3, one after. */
static bool is_first(size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(p4pmu_msr(i)->name, p4pmu_msr(index)->name) == 0)
            return false;
    return true;
}

static void print_msr_row(const struct p4pmu_msr_info *m)
{
    printf("- MSR %03XH", (unsigned)m->msr);
    if (m->count > 1)
        printf(" to %03XH, %u registers alike", (unsigned)(m->msr + m->count - 1),
               (unsigned)m->count);
    printf(", models %s%s, %s, %s: %s. %s.\n", models_text(m->models),
           m->l3 ? " with a third level cache (Xeon MP)" : "",
           m->per_lp ? "one for each logical processor" : "shared by both logical processors",
           m->read_only ? "read-only" : "read and write", m->description, m->source);
}

/* A field of IA32_MISC_ENABLE and the L3 counters need a third level cache. */
static bool asks_for_l3(const struct p4pmu_msr_info *m)
{
    return m->l3 || strcmp(m->name, "IA32_MISC_ENABLE") == 0;
}

static void print_msr(size_t index)
{
    const struct p4pmu_msr_info *m = p4pmu_msr(index);
    struct page page = {m->name, m->msr, fields_of(m->name), "",
                        asks_for_l3(m) ? PARTS : PARTS_WITHOUT_L3};
    print_head(&page, "Register beside the counters");
    for (size_t i = index; p4pmu_msr(i); i++)
        if (strcmp(p4pmu_msr(i)->name, m->name) == 0)
            print_msr_row(p4pmu_msr(i));
    printf("\n## Bits\n\n");
    print_bits(&page);
    print_reset(&page);
    print_errata_of(m->name);
}

/* ---- the index ------------------------------------------------------------------------------- */

static void print_index_link(const char *name)
{
    printf("[%s](registers/%s.md)", name, name);
}

static void print_index_escrs(void)
{
    printf("## Event selection control registers\n\n"
           "| register | MSR | unit | select | counters | models |\n|---|---|---|---|---|---|\n");
    for (int i = 0; i < P4PMU_ESCRS; i++) {
        const struct p4pmu_escr_info *e = p4pmu_escr((enum p4pmu_escr)i);
        printf("| ");
        print_index_link(e->name);
        printf(" | %03XH | %s | %u | ", (unsigned)e->msr, e->description, e->select);
        print_counters(e->counters);
        printf(" | %s |\n", models_text(e->models));
    }
}

static void print_index_counters(void)
{
    printf("\n## Counters and their configuration control registers\n\n"
           "| number | counter | MSR | CCCR | MSR | block |\n|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < P4PMU_COUNTERS; i++) {
        const struct p4pmu_counter_info *c = p4pmu_counter(i);
        printf("| %u | ", i);
        print_index_link(c->name);
        printf(" | %03XH | ", (unsigned)c->msr);
        print_index_link(c->cccr_name);
        printf(" | %03XH | %s |\n", (unsigned)c->cccr_msr, c->group);
    }
}

static void print_index_others(void)
{
    printf("\n## Other registers\n\n| register | MSR | models | what it is for |\n"
           "|---|---|---|---|\n");
    for (size_t i = 0; p4pmu_msr(i); i++) {
        const struct p4pmu_msr_info *m = p4pmu_msr(i);
        printf("| ");
        print_index_link(m->name);
        printf(" | %03XH", (unsigned)m->msr);
        if (m->count > 1)
            printf(" to %03XH", (unsigned)(m->msr + m->count - 1));
        printf(" | %s%s | ", models_text(m->models), m->l3 ? ", with an L3" : "");
        print_cell(m->description);
        printf(" |\n");
    }
}

static void print_index_errata(void)
{
    printf("\n## Errata that can be switched on\n\n"
           "One acts when it is asked for and the part has it.\n\n"
           "| switch | entry | signatures | effect | source |\n|---|---|---|---|---|\n");
    for (int i = 0; i < (int)P4PMU_ERRATA; i++) {
        const struct p4pmu_erratum_info *e = p4pmu_erratum((enum p4pmu_erratum)i);
        printf("| %s | %s | ", e->name, e->entry);
        print_signatures(e);
        printf(" | %s | %s |\n", e->description, e->source);
    }
}

static void print_index(void)
{
    printf("# Registers\n\n"
           "One page per register: its bits with what a write of each does on each part, its "
           "value after RESET, what\nit is wired to, errata, sources. Written by `p4pmu_document` "
           "from the rows of `pmu/*.def` and\n`pmu/p4pmu_fields.h`, and from what the library does "
           "when each bit is written; a test keeps them equal.\n\n"
           "Parts are models of family 0FH; `HT`: with Hyper-Threading, `L3`: a Xeon MP with a "
           "third level cache. SDM3\nis volume 3 of the 2016 edition, the probe the VirtualBox MSR "
           "probe of a family F, model 4, stepping 3 part.\nEvents are in [events.md](events.md), "
           "decisions where the manual is silent in [pmu.md](pmu.md).\n\n");
    print_index_escrs();
    print_index_counters();
    print_index_others();
    print_index_errata();
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool write_pages(const char *folder)
{
    bool well = true;
    for (int i = 0; well && i < P4PMU_ESCRS; i++)
        if ((well = open_page(folder, p4pmu_escr((enum p4pmu_escr)i)->name)))
            print_escr((enum p4pmu_escr)i);
    for (unsigned i = 0; well && i < P4PMU_COUNTERS; i++) {
        if ((well = open_page(folder, p4pmu_counter(i)->cccr_name)))
            print_cccr(i);
        if (well && (well = open_page(folder, p4pmu_counter(i)->name)))
            print_counter(i);
    }
    for (size_t i = 0; well && p4pmu_msr(i); i++)
        if (is_first(i) && (well = open_page(folder, p4pmu_msr(i)->name)))
            print_msr(i);
    return well && close_page();
}

bool write_registers(const char *folder)
{
    char pages[4096];
    int length = snprintf(pages, sizeof pages, "%s/registers", folder);
    if (length < 0 || (size_t)length >= sizeof pages ||
        (mkdir(pages, 0777) != 0 && errno != EEXIST)) {
        fprintf(stderr, "p4pmu_document: cannot make %s/registers: %s\n", folder, strerror(errno));
        return false;
    }
    if (!open_page(folder, "registers"))
        return false;
    print_index();
    return write_pages(pages);
}
