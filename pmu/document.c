/*
 * Writes the reference pages of the documentation from the tables: "p4pmu_document FOLDER" makes
 * FOLDER/events.md, FOLDER/registers.md and one page per register in FOLDER/registers. A test
 * compares them with those of docs/.
 */
#include "document.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *models_text(unsigned models)
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

void print_counters(uint32_t counters)
{
    const char *between = "";
    for (unsigned c = 0; c < P4PMU_COUNTERS; c++)
        if (counters >> c & 1) {
            printf("%s%u", between, c);
            between = ", ";
        }
}

void print_cell(const char *text)
{
    for (; *text; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
}

void print_anchor(const char *heading)
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
           "Written by `p4pmu_document` from the rows of `pmu/p4pmu_events.def` and\n"
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

bool open_page(const char *folder, const char *name)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s.md", folder, name);
    if (length < 0 || (size_t)length >= sizeof path || !freopen(path, "w", stdout)) {
        fprintf(stderr, "p4pmu_document: cannot write %s/%s.md: %s\n", folder, name,
                strerror(errno));
        return false;
    }
    return true;
}

bool close_page(void)
{
    bool well = fflush(stdout) == 0 && !ferror(stdout);
    if (!well)
        fprintf(stderr, "p4pmu_document: writing failed: %s\n", strerror(errno));
    return well;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: p4pmu_document FOLDER\n");
        return 2;
    }
    if (!open_page(argv[1], "events"))
        return 1;
    print_events();
    return close_page() && write_registers(argv[1]) ? 0 : 1;
}
