/*
 * libpfm4's netburst events: [netburst::|netburst_p::]EVENT[:SUB...][:MODIFIER...], and the codes
 * it makes of them: ESCR, CCCR, and Linux's event index.
 *
 * Modifiers: u, k, e, cmpl (each also =0, =1), thr=N. Without u and k both levels are meant; each
 * level is set for both logical processors. Tags of the execution uops are sub-events TAG0 to TAG3.
 * libpfm4 chooses no ESCR and no counter; that is done here.
 *
 * The sub-events of replay_event beyond NBOGUS and BOGUS (L1_LD_MISS, ...) are not mask bits.
 * libpfm4 removes them from the mask and leaves IA32_PEBS_ENABLE and MSR_PEBS_MATRIX_VERT to its
 * caller; here they ask for those two registers.
 *
 * Source: libpfm4 4.13, pfmlib_intel_netburst.c and intel_netburst_events.h (behaviour; the test
 * compares with the library itself).
 */
#define _GNU_SOURCE
#include "dialect.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Sub-events of replay_event that stand for the registers of a metric. */
static const struct {
    const char *name, *metric;
} causes[] = {
    {"L1_LD_MISS", "1stL_cache_load_miss_retired"}, {"L2_LD_MISS", "2ndL_cache_load_miss_retired"},
    {"DTLB_LD_MISS", "DTLB_load_miss_retired"},     {"DTLB_ST_MISS", "DTLB_store_miss_retired"},
    {"DTLB_ALL_MISS", "DTLB_all_miss_retired"},     {"BR_MSP", "Tagged_mispred_branch"},
    {"MOB_LD_REPLAY", "MOB_load_replay_retired"},   {"SP_LD_RET", "split_load_retired"},
    {"SP_ST_RET", "split_store_retired"},
};
enum { CAUSES = sizeof causes / sizeof causes[0] };

static const struct sim_metric *metric_named(const char *name)
{
    const struct sim_metric *m;
    for (size_t i = 0; (m = sim_metric(i)); i++) {
        if (!strcmp(m->name, name))
            return m;
    }
    return NULL;
}

struct reader {
    struct dialect_wishes *wishes;
    struct dialect_wish *wish;
    struct dialect_notes *notes;
    const char *text;
    unsigned line;
    bool any_mask, any_level;
    char *error;
};

/* "=0" after a modifier that is on or off. */
static bool is_off(const char *equals)
{
    return equals &&
           (!strcmp(equals, "=0") || !strcasecmp(equals, "=n") || !strcasecmp(equals, "=f"));
}

static bool take_threshold(struct reader *r, const char *digits)
{
    uint64_t value;
    if (!dialect_number(digits, 0, &value) || value > 15)
        return dialect_error(r->error, r->line,
                             "'%.60s': thr=%.20s is out of range; expected 0 to 15", r->text,
                             digits);
    r->wish->request.compare |= value != 0;
    r->wish->request.threshold = (unsigned)value;
    return true;
}

static bool take_modifier(struct reader *r, const char *part, bool *taken)
{
    char name[40];
    const char *equals = strchr(part, '=');
    struct sim_request *q = &r->wish->request;
    snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - part) : 39, part);
    *taken = true;
    bool on = !is_off(equals);
    if (!strcasecmp(name, "u") || !strcasecmp(name, "k")) {
        bool user = tolower((unsigned char)name[0]) == 'u';
        *(user ? &q->usr : &q->os) = on;
        r->any_level = true;
    } else if (!strcasecmp(name, "e")) {
        q->edge = on;
        q->compare |= on;
    } else if (!strcasecmp(name, "cmpl")) {
        q->complement = on;
        q->compare |= on;
    } else if (!strcasecmp(name, "thr") && equals) {
        return take_threshold(r, equals + 1);
    } else {
        *taken = false;
    }
    return true;
}

static bool take_cause(struct reader *r, const char *part, bool *taken)
{
    for (size_t i = 0; i < CAUSES && r->wish->request.event == P4PMU_EV_replay_event; i++) {
        if (strcasecmp(causes[i].name, part))
            continue;
        *taken = r->any_mask = true;
        dialect_remark(r->notes,
                       "libpfm4 itself sets no register for %s: without "
                       "IA32_PEBS_ENABLE and MSR_PEBS_MATRIX_VERT the event counts nothing",
                       part);
        return dialect_replay(r->wishes, metric_named(causes[i].metric), r->line, r->error);
    }
    return true;
}

static bool is_tag(const struct reader *r, const char *part)
{
    return p4pmu_event((enum p4pmu_event)r->wish->request.event)->subevent_count == 1 &&
           !strncasecmp(part, "TAG", 3) && part[3] >= '0' && part[3] <= '3' && !part[4];
}

static bool take_part(struct reader *r, const char *part)
{
    bool taken = false;
    struct sim_request *q = &r->wish->request;
    if (!take_modifier(r, part, &taken) || (!taken && !take_cause(r, part, &taken)))
        return false;
    if (taken)
        return true;
    r->any_mask = true;
    if (is_tag(r, part)) {
        q->tag_enable = true;
        q->tag_value |= 1u << (part[3] - '0');
        return true;
    }
    int bit = dialect_mask_by_name(CONFIG_LIBPFM4, (enum p4pmu_event)q->event, part);
    if (q->event == P4PMU_EV_b2b_cycles &&
        (!strcasecmp(part, "BIT5") || !strcasecmp(part, "BIT6"))) {
        bit = 4;
        dialect_remark(r->notes, "libpfm4 has %s of b2b_cycles at mask bit 4", part);
    }
    if (bit < 0)
        return dialect_unknown_mask(CONFIG_LIBPFM4, (enum p4pmu_event)q->event, part, r->line,
                                    r->error);
    q->mask |= 1u << bit;
    return true;
}

/* libpfm4 has a default sub-event only where there is no other. */
static bool finish(struct reader *r)
{
    struct sim_request *q = &r->wish->request;
    unsigned all = dialect_all_bits(CONFIG_LIBPFM4, (enum p4pmu_event)q->event);
    if (!r->any_level)
        q->usr = q->os = true;
    r->wish->escr_set = (q->usr ? P4PMU_ESCR_T1_USR_MASK : 0) | (q->os ? P4PMU_ESCR_T1_OS_MASK : 0);
    if (r->any_mask)
        return true;
    if (!all || all & (all - 1))
        return dialect_unknown_mask(CONFIG_LIBPFM4, (enum p4pmu_event)q->event, "", r->line,
                                    r->error);
    q->mask = all;
    return true;
}

static const char *without_pmu(const char *text)
{
    const char *colons = strstr(text, "::");
    return colons ? colons + 2 : text;
}

static bool take_event(const char *text, unsigned line, struct dialect_wishes *wishes,
                       const struct config *config, struct dialect_notes *notes, char error[512])
{
    char copy[DIALECT_WORD], *rest = copy;
    if (strstr(text, "::") && strncasecmp(text, "netburst::", 10) &&
        strncasecmp(text, "netburst_p::", 12))
        return dialect_error(
            error, line, "'%.60s' is of another PMU; expected netburst:: or netburst_p::", text);
    snprintf(copy, sizeof copy, "%s", without_pmu(text));
    char *name = strsep(&rest, ":");
    int event = dialect_event_by_name(CONFIG_LIBPFM4, name);
    if (event == P4PMU_NONE)
        return dialect_unknown_event(CONFIG_LIBPFM4, name, line, error);
    struct reader r = {wishes, NULL, notes, text, line, false, false, error};
    r.wish = dialect_wish(wishes, config, (enum p4pmu_event)event, text, line, error);
    for (char *part; r.wish && (part = strsep(&rest, ":"));) {
        if (!take_part(&r, part))
            return false;
    }
    return r.wish && finish(&r);
}

/* ---- codes -------------------------------------------------------------------------------------
 */

static bool code(const char *word, uint64_t *value)
{
    return word[0] == '0' && (word[1] == 'x' || word[1] == 'X') && dialect_number(word, 16, value);
}

/* The event and ESCR a pair of codes means: libpfm4 leaves the ESCR open, so the CCCR's select and
 * the event code must find an event. */
static int event_of_codes(uint32_t escr, uint32_t cccr)
{
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)e);
        unsigned select = p4pmu_escr((enum p4pmu_escr)info->escrs[0])->select;
        bool bus = e == P4PMU_EV_b2b_cycles || e == P4PMU_EV_bnr || e == P4PMU_EV_snoop ||
                   e == P4PMU_EV_response;
        if (info->code == P4PMU_GET(ESCR, EVENT_SELECT, escr) &&
            (bus ? 3 : select) == P4PMU_GET(CCCR, ESCR_SELECT, cccr))
            return e;
    }
    return P4PMU_NONE;
}

/* Several events share code and select; the third code, Linux's index, tells them apart. */
static int event_of_index(uint64_t index)
{
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        if (dialect_linux_index((enum p4pmu_event)e) == (int)index)
            return e;
    }
    return P4PMU_NONE;
}

static bool take_codes(const uint64_t *codes, size_t count, unsigned line,
                       struct dialect_wishes *wishes, const struct config *config, char error[512])
{
    uint32_t escr = (uint32_t)codes[0], cccr = (uint32_t)codes[1];
    int event = count > 2 ? event_of_index(codes[2]) : event_of_codes(escr, cccr);
    char text[80];
    snprintf(text, sizeof text, "0x%x 0x%x", (unsigned)escr, (unsigned)cccr);
    if (event == P4PMU_NONE)
        return dialect_error(error, line,
                             "codes %s are of no event; expected ESCR, CCCR and event index", text);
    struct dialect_wish *w =
        dialect_wish(wishes, config, (enum p4pmu_event)event, text, line, error);
    if (!w)
        return false;
    w->request.mask = P4PMU_GET(ESCR, EVENT_MASK, escr);
    w->request.usr = escr & P4PMU_ESCR_T0_USR_MASK;
    w->request.os = escr & P4PMU_ESCR_T0_OS_MASK;
    w->request.tag_enable = escr & P4PMU_ESCR_TAG_ENABLE_MASK;
    w->request.tag_value = P4PMU_GET(ESCR, TAG_VALUE, escr);
    w->request.compare = cccr & P4PMU_CCCR_COMPARE_MASK;
    w->request.complement = cccr & P4PMU_CCCR_COMPLEMENT_MASK;
    w->request.edge = cccr & P4PMU_CCCR_EDGE_MASK;
    w->request.threshold = P4PMU_GET(CCCR, THRESHOLD, cccr);
    w->escr_set = escr & (P4PMU_ESCR_T1_USR_MASK | P4PMU_ESCR_T1_OS_MASK);
    return true;
}

/* The codes that begin at the present word and stand on one line; 0 when it is none. */
static size_t gather_codes(struct dialect_words *words, uint64_t codes[3])
{
    size_t count = 0;
    unsigned line = words->line;
    while (count < 3 && words->line == line && code(words->word, &codes[count])) {
        struct dialect_words ahead = *words;
        count++;
        if (count == 3 || !dialect_next(&ahead) || ahead.line != line)
            break;
        uint64_t value;
        if (!code(ahead.word, &value))
            break;
        *words = ahead;
    }
    return count;
}

bool dialect_parse_libpfm4(const char *text, struct config *config, struct dialect_notes *notes,
                           char error[512])
{
    struct dialect_words words = dialect_words(text, ",");
    struct dialect_wishes wishes = {.count = 0};
    uint64_t codes[3];
    while (dialect_next(&words)) {
        if (!strcmp(words.word, "-e") || !strcmp(words.word, "Codes") || !strcmp(words.word, ":"))
            continue;
        size_t count = gather_codes(&words, codes);
        if (count == 1)
            return dialect_error(error, words.line, "one code alone; expected ESCR and CCCR");
        if (count ? !take_codes(codes, count, words.line, &wishes, config, error)
                  : !take_event(words.word, words.line, &wishes, config, notes, error))
            return false;
    }
    return dialect_place(&wishes, config, error);
}

/* ---- printing ----------------------------------------------------------------------------------
 */

static const char *cause_of(const struct sim_metric *metric)
{
    for (size_t i = 0; metric && i < CAUSES; i++) {
        if (!strcmp(causes[i].metric, metric->name))
            return causes[i].name;
    }
    return NULL;
}

static void print_masks(const struct dialect_count *d, FILE *out, struct dialect_notes *notes)
{
    unsigned mask = P4PMU_GET(ESCR, EVENT_MASK, d->value),
             tags = P4PMU_GET(ESCR, TAG_VALUE, d->value);
    char name[48];
    for (unsigned bit = 0; bit < 16; bit++) {
        if (!(mask & 1u << bit))
            continue;
        if (dialect_mask_name(CONFIG_LIBPFM4, (enum p4pmu_event)d->event, bit, name, sizeof name))
            fprintf(out, ":%s", name);
        else
            dialect_lose(notes, "counter %d: libpfm4 has no name for mask bit %u of %s", d->counter,
                         bit, p4pmu_event((enum p4pmu_event)d->event)->name);
    }
    for (unsigned t = 0; t < 4 && d->value & P4PMU_ESCR_TAG_ENABLE_MASK; t++) {
        if (tags & 1u << t)
            fprintf(out, ":TAG%u", t);
    }
    if (cause_of(d->metric))
        fprintf(out, ":%s", cause_of(d->metric));
}

static void print_filters(const struct config *config, const struct dialect_count *d, FILE *out,
                          struct dialect_notes *notes)
{
    bool usr = d->value & P4PMU_ESCR_T0_USR_MASK, os = d->value & P4PMU_ESCR_T0_OS_MASK;
    uint32_t t1 = d->value & (P4PMU_ESCR_T1_USR_MASK | P4PMU_ESCR_T1_OS_MASK);
    unsigned threshold = P4PMU_GET(CCCR, THRESHOLD, d->cccr);
    bool edge = d->cccr & P4PMU_CCCR_EDGE_MASK, complement = d->cccr & P4PMU_CCCR_COMPLEMENT_MASK;
    bool compare = d->cccr & P4PMU_CCCR_COMPARE_MASK;
    if (usr != os)
        fputs(usr ? ":u" : ":k", out);
    if (config->hyper_threading &&
        t1 != (d->value & (P4PMU_ESCR_T0_USR_MASK | P4PMU_ESCR_T0_OS_MASK)) >> 2)
        dialect_shorten(notes, "counter %d: libpfm4 counts both logical processors alike",
                        d->counter);
    fputs(edge ? ":e" : "", out);
    fputs(complement ? ":cmpl" : "", out);
    if (threshold)
        fprintf(out, ":thr=%u", threshold);
    if (compare != (edge || complement || threshold))
        dialect_lose(notes, "counter %d: libpfm4 cannot say COMPARE %s", d->counter,
                     compare ? "with threshold 0 alone"
                             : "clear beside a threshold, edge or complement");
    if (!usr && !os)
        dialect_lose(notes, "counter %d: libpfm4 cannot say that no privilege level counts",
                     d->counter);
}

enum {
    ESCR_SAID = 0x7FFFFFFF, /* T1 bits follow T0 */
};

static bool sayable(const struct dialect_count *d, struct dialect_notes *notes)
{
    uint32_t cccr = P4PMU_CCCR_ENABLE_MASK | P4PMU_CCCR_ESCR_SELECT_MASK |
                    P4PMU_CCCR_ACTIVE_THREAD_MASK | P4PMU_CCCR_COMPARE_MASK |
                    P4PMU_CCCR_COMPLEMENT_MASK | P4PMU_CCCR_THRESHOLD_MASK | P4PMU_CCCR_EDGE_MASK;
    unsigned dropped = notes->dropped;
    char name[48];
    if (!dialect_sayable(d, "libpfm4", ESCR_SAID, cccr, notes))
        return false;
    if (d->preset)
        dialect_shorten(notes, "counter %d: libpfm4 cannot say a preset", d->counter);
    if (P4PMU_GET(CCCR, ACTIVE_THREAD, d->cccr) != 3)
        dialect_lose(notes, "counter %d: libpfm4 always sets ACTIVE_THREAD 11b", d->counter);
    if (dialect_event_name(CONFIG_LIBPFM4, (enum p4pmu_event)d->event, name, sizeof name))
        return notes->dropped == dropped;
    dialect_lose(notes, "counter %d: libpfm4 has no %s", d->counter,
                 p4pmu_event((enum p4pmu_event)d->event)->name);
    return false;
}

static bool prescott(const struct config *config)
{
    return config->model >= 3;
}

static void print_event(const struct config *config, const struct dialect_count *d,
                        const char *name, FILE *out, struct dialect_notes *notes)
{
    struct dialect_line line;
    if (!dialect_line_begin(&line, notes))
        return;
    fprintf(line.file, "%s::%s", prescott(config) ? "netburst_p" : "netburst", name);
    print_masks(d, line.file, notes);
    print_filters(config, d, line.file, notes);
    dialect_line_end(&line, out, notes);
}

void dialect_print_libpfm4(const struct config *config, FILE *out, struct dialect_notes *notes)
{
    struct dialect_counts c;
    char name[48];
    dialect_counts(config, &c);
    dialect_give_counters(&c, false, "libpfm4", notes);
    for (size_t i = 0; i < c.size; i++) {
        const struct dialect_count *d = &c.count[i];
        if (!sayable(d, notes))
            continue;
        dialect_event_name(CONFIG_LIBPFM4, (enum p4pmu_event)d->event, name, sizeof name);
        print_event(config, d, name, out, notes);
    }
    dialect_leftovers(&c, "libpfm4", notes);
}

/* The CCCR libpfm4 would make: its table's select, no interrupt and no cascade. */
static uint32_t their_cccr(const struct dialect_count *d)
{
    bool bus = d->event == P4PMU_EV_b2b_cycles || d->event == P4PMU_EV_bnr ||
               d->event == P4PMU_EV_snoop || d->event == P4PMU_EV_response;
    return bus ? P4PMU_PUT(CCCR, ESCR_SELECT, d->cccr, 3) : d->cccr;
}

void dialect_print_libpfm4_codes(const struct config *config, FILE *out,
                                 struct dialect_notes *notes)
{
    struct dialect_counts c;
    dialect_counts(config, &c);
    dialect_give_counters(&c, false, "libpfm4", notes);
    for (size_t i = 0; i < c.size; i++) {
        const struct dialect_count *d = &c.count[i];
        if (!sayable(d, notes))
            continue;
        uint32_t t0 = d->value & (P4PMU_ESCR_T0_USR_MASK | P4PMU_ESCR_T0_OS_MASK);
        fprintf(out, "0x%x 0x%x 0x%x\n", (unsigned)(d->value | t0 >> 2), (unsigned)their_cccr(d),
                (unsigned)dialect_linux_index((enum p4pmu_event)d->event));
    }
    dialect_leftovers(&c, "libpfm4", notes);
}
