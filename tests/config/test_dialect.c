/*
 * Dialects: there and back, the forms of other tools as they stand, guesses, bad input.
 */
#define _GNU_SOURCE
#include "lab_dialect.h"

#include <ctype.h>

enum { NORTHWOOD = 2, PRESCOTT = 3 };

/* ---- there and back ----------------------------------------------------------------------------
 */

static const char *const modifiers[] = {"",         ":u",     ":k", ":t=3", ":u:t=15:cmpl",
                                        ":k:t=2:e", ":cmpl:e"};
enum { MODIFIERS = sizeof modifiers / sizeof modifiers[0] };

struct tally {
    unsigned carried, lost;
};

/* OProfile adds a preset and its interrupt, and nothing else. */
static void assert_same_but_sampled(const struct config *config, const struct config *sampled)
{
    struct dialect_counts before, after;
    dialect_counts(config, &before);
    dialect_counts(sampled, &after);
    assert_int_equal(before.size, after.size);
    for (size_t i = 0; i < before.size; i++) {
        assert_int_equal(before.count[i].event, after.count[i].event);
        assert_int_equal(before.count[i].value, after.count[i].value);
        assert_int_equal(before.count[i].cccr | P4PMU_CCCR_OVF_PMI_T0_MASK, after.count[i].cccr);
        assert_true(after.count[i].preset != 0);
    }
}

/* TEXT is p4sim's own and canonical: through DIALECT and back it is the same text, or DIALECT said
 * that something was lost. What DIALECT printed is printed again when read. */
static void there_and_back(enum config_dialect dialect, const char *text, unsigned model,
                           struct tally *tally)
{
    struct config config = parsed(CONFIG_P4SIM, text, model, false);
    struct printed there = printed_in(dialect, &config);
    if (there.lost) {
        tally->lost++;
        return;
    }
    tally->carried++;
    struct config again = parsed(dialect, there.text, model, false);
    struct printed theirs = printed_in(dialect, &again);
    assert_string_equal(theirs.text, there.text);
    if (dialect == CONFIG_OPROFILE) {
        assert_same_but_sampled(&config, &again);
        return;
    }
    struct printed back = printed_in(CONFIG_P4SIM, &again);
    char wanted[200];
    snprintf(wanted, sizeof wanted, "%s\n", text);
    if (strcmp(back.text, wanted) != 0)
        fail_msg("%s: %s came back as %s by way of %s", config_dialect_name(dialect), text,
                 back.text, there.text);
}

static void every_event(enum config_dialect dialect, unsigned model, struct tally *tally)
{
    for (int e = 0; e < P4PMU_EVENTS; e++) {
        const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)e);
        if (!(info->models & 1u << model))
            continue;
        for (size_t a = 0; a < info->subevent_count; a++) {
            for (size_t b = a; b < info->subevent_count; b++) {
                for (unsigned m = 0; m < MODIFIERS; m++) {
                    char text[160];
                    snprintf(text, sizeof text, "%s:%s%s%s%s", info->name, info->subevents[a].name,
                             b == a ? "" : "+", b == a ? "" : info->subevents[b].name,
                             modifiers[m]);
                    there_and_back(dialect, text, model, tally);
                }
            }
        }
    }
}

static struct tally both_models(enum config_dialect dialect)
{
    struct tally tally = {0, 0};
    every_event(dialect, NORTHWOOD, &tally);
    every_event(dialect, PRESCOTT, &tally);
    return tally;
}

static void register_forms_carry_every_event_pair_of_subevents_and_modifier(void **state)
{
    (void)state;
    static const enum config_dialect all[] = {CONFIG_MSR_LIST, CONFIG_WRMSR, CONFIG_PERFEX,
                                              CONFIG_P4SIM};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct tally t = both_models(all[i]);
        assert_int_equal(t.lost, 0);
        assert_true(t.carried > 8000);
    }
}

static void libpfm4_carries_what_it_has_names_for(void **state)
{
    (void)state;
    struct tally t = both_models(CONFIG_LIBPFM4);
    assert_true(t.carried > 6000);
    assert_true(t.lost > 0);
}

static void perf_carries_the_masks_it_accepts(void **state)
{
    (void)state;
    struct tally t = both_models(CONFIG_LINUX_PERF);
    assert_true(t.carried > 5000);
    assert_true(t.lost > 0);
}

static void oprofile_carries_events_without_filters(void **state)
{
    (void)state;
    struct tally t = both_models(CONFIG_OPROFILE);
    assert_true(t.carried > 2500);
    assert_true(t.lost > t.carried);
}

static void freebsd_carries_all_but_newer_events_and_enforced_edges(void **state)
{
    (void)state;
    struct tally t = both_models(CONFIG_FREEBSD);
    assert_true(t.carried > 3000);
    assert_true(t.lost > 0);
}

static void metrics_go_there_and_back(void **state)
{
    (void)state;
    static const enum config_dialect all[] = {CONFIG_MSR_LIST, CONFIG_WRMSR, CONFIG_PERFEX,
                                              CONFIG_P4SIM};
    const struct sim_metric *m;
    for (size_t d = 0; d < sizeof all / sizeof all[0]; d++) {
        struct tally t = {0, 0};
        for (size_t i = 0; (m = sim_metric(i)); i++)
            there_and_back(all[d], m->name, NORTHWOOD, &t);
        assert_int_equal(t.lost, 0);
        assert_true(t.carried >= 20);
    }
}

static void replay_metrics_go_through_the_words_libpfm4_and_perf_have(void **state)
{
    (void)state;
    static const char *const plain[] = {
        "1stL_cache_load_miss_retired", "2ndL_cache_load_miss_retired", "DTLB_load_miss_retired",
        "DTLB_store_miss_retired",      "DTLB_all_miss_retired",        "Tagged_mispred_branch"};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        struct tally t = {0, 0};
        there_and_back(CONFIG_LIBPFM4, plain[i], NORTHWOOD, &t);
        there_and_back(CONFIG_LINUX_PERF, plain[i], NORTHWOOD, &t);
        assert_int_equal(t.carried, 2);
    }
}

/* Every metric in a form that has a word for its registers: the tagging ESCR becomes an event. */
static void tagging_escrs_are_carried_as_events(void **state)
{
    (void)state;
    static const struct {
        enum config_dialect dialect;
        const char *metric, *theirs;
    } some[] = {
        {CONFIG_FREEBSD, "memory_loads",
         "p4-front-end-event,mask=nbogus\np4-uop-type,mask=tagloads\n"},
        {CONFIG_OPROFILE, "memory_stores", "FRONT_END_EVENT:3000:0x1:1:1\nUOP_TYPE:3000:0x4:1:1\n"},
        {CONFIG_LINUX_PERF, "memory_loads:u", "r4600020000000000:u\nr5000040000000000\n"},
        {CONFIG_LIBPFM4, "memory_loads",
         "netburst::front_end_event:NBOGUS\nnetburst::uops_type:TAGLOADS\n"},
        {CONFIG_PERFEX, "memory_loads",
         "-e 0x0003B000/0x1000020C@0x8000000C\n-e 0x00035000/0x0400040C@0x8000000D\n"},
    };
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        struct config c = parsed(CONFIG_P4SIM, some[i].metric, NORTHWOOD, false);
        struct printed p = printed_in(some[i].dialect, &c);
        assert_int_equal(p.lost, 0);
        assert_string_equal(p.text, some[i].theirs);
    }
    static const enum config_dialect all[] = {CONFIG_LIBPFM4, CONFIG_LINUX_PERF, CONFIG_FREEBSD};
    static const char *const metrics[] = {"memory_loads", "memory_stores",
                                          "memory_loads_and_stores", "packed_DP_retired:u",
                                          "X87_FP_retired:t=1"};
    for (size_t d = 0; d < sizeof all / sizeof all[0]; d++) {
        struct tally t = {0, 0};
        for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
            there_and_back(all[d], metrics[i], NORTHWOOD, &t);
        assert_int_equal(t.carried, 5);
    }
}

/* On a part without Hyper-Threading the bits of the second logical processor are nothing to lose.
 */
static void thread_bits_matter_only_with_hyper_threading(void **state)
{
    (void)state;
    struct config c =
        parsed(CONFIG_LIBPFM4, "netburst::instr_retired:NBOGUSNTAG:u", NORTHWOOD, false);
    assert_string_equal(printed_in(CONFIG_P4SIM, &c).text, "instr_retired:NBOGUSNTAG:u\n");
    assert_string_equal(printed_in(CONFIG_PERFEX, &c).text,
                        "-e 0x00039000/0x04000205@0x8000000C\n");
    c = parsed(CONFIG_LIBPFM4, "netburst::instr_retired:NBOGUSNTAG:u", NORTHWOOD, true);
    assert_string_equal(printed_in(CONFIG_P4SIM, &c).text, "0x00039000/0x04000205@0xC\n");
    c = parsed(CONFIG_P4SIM, "instr_retired:NBOGUSNTAG:u", NORTHWOOD, true);
    assert_int_equal(printed_in(CONFIG_LIBPFM4, &c).lost, 1);
}

/* ---- the forms as their tools document them ----------------------------------------------------
 */

static uint64_t value_of(const struct config *config, uint32_t msr)
{
    for (size_t i = config->count; i-- > 0;) {
        if (config->write[i].msr == msr)
            return config->write[i].value;
    }
    fail_msg("MSR 0x%X is not written", (unsigned)msr);
    return 0;
}

static void perfex_examples_of_its_own_manual(void **state)
{
    (void)state;
    struct config c =
        parsed(CONFIG_PERFEX, "perfex -e 0x00039000/0x04000204@0x8000000C some_program -e x",
               NORTHWOOD, false);
    assert_int_equal(c.count, 2);
    assert_int_equal(value_of(&c, 0x3B8), 0x04000204);
    assert_int_equal(value_of(&c, 0x36C), 0x00039000);
    c = parsed(
        CONFIG_PERFEX,
        "perfex -e 0x0003B000/0x12000204@0x8000000C --p4pe=0x01000001 --p4pmv=0x1 some_program",
        NORTHWOOD, false);
    assert_int_equal(value_of(&c, 0x3CC), 0x12000204);
    assert_int_equal(value_of(&c, 0x3F1), 0x01000001);
    assert_int_equal(value_of(&c, 0x3F2), 1);
}

/* A list of specifiers people used on real parts (complang.tuwien.ac.at, linux-perfex/pentium4),
 * and what it says they count. */
static void published_perfex_specifiers_mean_what_their_author_says(void **state)
{
    (void)state;
    static const struct {
        const char *perfex, *ours;
    } published[] = {
        {"0x0003b000/0x0c001e04@0x8000000D", "branch_retired:MMNP+MMNM+MMTP+MMTM:u\n"},
        {"0x0003b000/0x0c001804@0x8000000D", "branch_retired:MMTP+MMTM:u\n"},
        {"0x0003b000/0x0c001404@0x8000000F", "branch_retired:MMNM+MMTM:u\n"},
        {"0x0003b000/0x0c001004@0x8000000F", "branch_retired:MMTM:u\n"},
        {"0x00039000/0x06000204@0x8000000e", "mispred_branch_retired:NBOGUS:u\n"},
        {"0x00039000/0x04000204@0x8000000C", "instr_retired:NBOGUSNTAG:u\n"},
        {"0x00ff9000/0x04000204@0x8000000C", "instr_retired:NBOGUSNTAG:u:t=15:cmpl\n"},
        {"0x00033000/0x02000804@0x80000006", "TC_deliver_mode:DI:u\n"},
        {"0x000f3000/0x02000804@0x80000007", "TC_deliver_mode:DI:u:cmpl\n"},
        {"0x00033000/0x02004004@0x80000004", "TC_deliver_mode:BI:u\n"},
        {"0x00031000/0x06000204@0x80000000", "BPU_fetch_request:TCMISS:u\n"},
        {"0x0003b000/0x04000204@0x80000010", "machine_clear:CLEAR:u\n"},
        {"0x00035000/0x0a002004@0x80000006", "retired_mispred_branch_type:INDIRECT:u\n"},
    };
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        struct config c = parsed(CONFIG_PERFEX, published[i].perfex, NORTHWOOD, false);
        assert_string_equal(printed_in(CONFIG_P4SIM, &c).text, published[i].ours);
    }
}

/* What would be counted otherwise is not printed at all. */
static void an_event_that_cannot_be_said_whole_is_left_out(void **state)
{
    (void)state;
    struct config c =
        parsed(CONFIG_P4SIM, "machine_clear:SMCLEAR,instr_retired:u:t=1", NORTHWOOD, false);
    assert_string_equal(printed_in(CONFIG_FREEBSD, &c).text,
                        "p4-instr-retired,mask=nbogusntag+nbogustag,usr,threshold=1\n");
    assert_string_equal(printed_in(CONFIG_OPROFILE, &c).text, "MACHINE_CLEAR:3000:0x40:1:1\n");
    assert_string_equal(printed_in(CONFIG_LINUX_PERF, &c).text, "r4c00060000140000:u\n");
    c = parsed(CONFIG_P4SIM, "memory_complete:USC,memory_complete:LSC", NORTHWOOD, false);
    assert_string_equal(printed_in(CONFIG_LIBPFM4, &c).text, "netburst::memory_complete:LSC\n");
}

static void perfex_reads_numbers_as_hexadecimal_unless_told(void **state)
{
    (void)state;
    struct config c = parsed(CONFIG_PERFEX, "-e 39000/4000204@C", NORTHWOOD, false);
    assert_int_equal(value_of(&c, 0x36C), 0x39000);
    c = parsed(CONFIG_PERFEX, "-d -e 233472/67109380@12", NORTHWOOD, false);
    assert_int_equal(value_of(&c, 0x36C), 0x39000);
    assert_int_equal(value_of(&c, 0x3B8), 0x4000204);
}

static void msr_tools_lines_as_they_stand(void **state)
{
    (void)state;
    static const char text[] = "# set up\n"
                               "wrmsr -a 0x3b8 0x4000204\n"
                               "$ sudo /usr/sbin/wrmsr -p 0 876 0x39000   # IQ_CCCR0\n"
                               "wrmsr --processor 1 0x30c 0 -1; rdmsr -p 1 -u 0x30c\n"
                               "rdmsr -x -f 31:0 0x36c\n"
                               "# wrmsr -p0 0x3f1 01000000000\n";
    char error[512];
    struct config c = part_of(NORTHWOOD, false);
    assert_false(dialect_parse(CONFIG_WRMSR, text, &c, NULL, error));
    assert_non_null(strstr(error, "line 4"));
    static const char good[] = "# set up\n"
                               "wrmsr -a 0x3b8 0x4000204\n"
                               "$ sudo /usr/sbin/wrmsr -p 0 876 0x39000   # IQ_CCCR0\n"
                               "wrmsr --processor 1 0x30c 0 7; rdmsr -p 1 -u 0x30c\n"
                               "rdmsr -x -f 31:0 0x36c\n"
                               "# wrmsr -p0 0x3f1 0100000000\n";
    c = parsed(CONFIG_WRMSR, good, NORTHWOOD, false);
    assert_int_equal(c.count, 5);
    assert_int_equal(value_of(&c, 0x3B8), 0x4000204);
    assert_int_equal(value_of(&c, 876), 0x39000);
    assert_int_equal(value_of(&c, 0x30C), 7);
    assert_int_equal(value_of(&c, 0x3F1), 0100000000);
    assert_int_equal(c.write[1].line, 3);
}

static void perf_names_mean_what_the_kernel_programs(void **state)
{
    (void)state;
    struct config c =
        parsed(CONFIG_LINUX_PERF, "perf stat -e branch-misses:u,dTLB-store-misses -- ./a",
               NORTHWOOD, false);
    assert_int_equal(value_of(&c, 0x3B8), 0x06000204);
    assert_int_equal(value_of(&c, 0x3F1), 0x1000004);
    assert_int_equal(value_of(&c, 0x3F2), 0x2);
    c = parsed(CONFIG_LINUX_PERF, "bus-cycles", NORTHWOOD, false);
    assert_int_equal(value_of(&c, 0x3A2), 0x2E00060C);
    assert_int_equal(value_of(&c, 0x360), 0x0107D000);
}

static void perf_raw_events_use_linux_indices(void **state)
{
    (void)state;
    struct config c = parsed(CONFIG_LINUX_PERF, "r5200100000000000:u", NORTHWOOD, false);
    assert_int_equal(value_of(&c, 0x3CC), 0x0C001004);
    c = parsed(CONFIG_LINUX_PERF, "cpu/config=0x5200100000000000/k", NORTHWOOD, false);
    assert_int_equal(value_of(&c, 0x3CC), 0x0C001008);
}

static void oprofile_counts_down_to_an_interrupt(void **state)
{
    (void)state;
    struct config c =
        parsed(CONFIG_OPROFILE, "--event=INSTR_RETIRED:100000:0x3:0:1", NORTHWOOD, false);
    assert_int_equal(value_of(&c, 0x310), P4PMU_COUNTER_MASK - 99999);
    assert_int_equal(value_of(&c, 0x370), 0x00039000 | P4PMU_CCCR_OVF_PMI_T0_MASK);
    assert_int_equal(value_of(&c, 0x3B8), 0x04000604);
    assert_string_equal(printed_in(CONFIG_OPROFILE, &c).text, "INSTR_RETIRED:100000:0x3:0:1\n");
    c = parsed(CONFIG_OPROFILE, "BRANCH_RETIRED:6000", NORTHWOOD, false);
    assert_string_equal(printed_in(CONFIG_OPROFILE, &c).text, "BRANCH_RETIRED:6000:0xc:1:1\n");
}

static void freebsd_qualifiers_and_aliases(void **state)
{
    (void)state;
    struct config c =
        parsed(CONFIG_FREEBSD, "p4-branch-retired,mask=mmtp+mmtm,usr,threshold=2,complement",
               NORTHWOOD, false);
    assert_int_equal(value_of(&c, 0x3CC), 0x0C001804);
    assert_int_equal(value_of(&c, 0x36C), 0x002FB000);
    c = parsed(CONFIG_FREEBSD, "instructions,os", NORTHWOOD, false);
    assert_int_equal(value_of(&c, 0x3B8), 0x04000608);
    c = parsed(CONFIG_FREEBSD, "p4_ioq_allocation,busreqtype=1", NORTHWOOD, false);
    assert_int_equal(value_of(&c, 0x360), 0x0103D000);
    c = parsed(CONFIG_FREEBSD, "p4-global-power-events,active=single", PRESCOTT, true);
    assert_int_equal(value_of(&c, 0x360), 0x0001D000);
}

static void papi_presets_come_back(void **state)
{
    (void)state;
    static const char *const some[] = {"PAPI_TOT_CYC\n",
                                       "PAPI_TOT_INS\n",
                                       "PAPI_BR_MSP\n",
                                       "PAPI_L1_ICM\n",
                                       "PAPI_LD_INS\n",
                                       "PAPI_FP_INS\n",
                                       "PAPI_FP_OPS\n",
                                       "PAPI_VEC_INS\n",
                                       "PAPI_L2_TCA\n",
                                       "PAPI_L1_LDM\n",
                                       "PAPI_RES_STL\n",
                                       "PAPI_TLB_TL\n",
                                       "PAPI_TOT_INS\nPAPI_BR_INS\nPAPI_L2_TCM\n"};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        struct config c = parsed(CONFIG_PAPI, some[i], NORTHWOOD, false);
        struct printed p = printed_in(CONFIG_PAPI, &c);
        assert_string_equal(p.text, some[i]);
        assert_int_equal(p.lost, 0);
    }
}

/* ---- what is lost is told ----------------------------------------------------------------------
 */

static unsigned lost(enum config_dialect to, enum config_dialect from, const char *text)
{
    struct config c = parsed(from, text, NORTHWOOD, false);
    return printed_in(to, &c).lost;
}

static void what_a_form_cannot_say_is_told(void **state)
{
    (void)state;
    assert_int_equal(lost(CONFIG_OPROFILE, CONFIG_P4SIM, "instr_retired:u"), 0);
    assert_true(lost(CONFIG_OPROFILE, CONFIG_P4SIM, "instr_retired:u:t=1") > 0);
    assert_true(lost(CONFIG_OPROFILE, CONFIG_P4SIM, "resource_stall") > 0);
    assert_true(lost(CONFIG_LIBPFM4, CONFIG_P4SIM, "x87_SIMD_moves_uop") > 0);
    assert_true(lost(CONFIG_LIBPFM4, CONFIG_P4SIM, "instr_retired:t=0") > 0);
    assert_true(lost(CONFIG_LINUX_PERF, CONFIG_P4SIM, "machine_clear:SMCLEAR") > 0);
    assert_true(lost(CONFIG_FREEBSD, CONFIG_P4SIM, "1stL_cache_load_miss_retired") > 0);
    assert_true(lost(CONFIG_FREEBSD, CONFIG_P4SIM, "IOQ_allocation:ALL_READ") > 0);
    assert_true(lost(CONFIG_PAPI, CONFIG_P4SIM, "machine_clear:CLEAR") > 0);
    assert_true(lost(CONFIG_PERFEX, CONFIG_OPROFILE, "INSTR_RETIRED:6000") > 0);
    assert_true(lost(CONFIG_P4SIM, CONFIG_MSR_LIST, "MSR_CRU_ESCR0 = 0x04000204") > 0);
}

/* All sub-events at once make the longest texts. */
static void the_longest_masks_go_there_and_back(void **state)
{
    (void)state;
    for (int d = 0; d < CONFIG_DIALECTS; d++) {
        for (int e = 0; e < P4PMU_EVENTS; e++) {
            const struct p4pmu_event_info *info = p4pmu_event((enum p4pmu_event)e);
            unsigned all = 0;
            for (size_t i = 0; i < info->subevent_count; i++)
                all |= 1u << info->subevents[i].bit;
            char text[120];
            snprintf(text, sizeof text, "%s:0x%X:u:t=15:cmpl:e", info->name, all);
            struct config config = parsed(CONFIG_P4SIM, text, PRESCOTT, false);
            struct printed there = printed_in((enum config_dialect)d, &config);
            if (there.lost)
                continue;
            struct config again = parsed((enum config_dialect)d, there.text, PRESCOTT, false);
            assert_string_equal(printed_in(CONFIG_P4SIM, &again).text,
                                printed_in(CONFIG_P4SIM, &config).text);
        }
    }
}

/* ---- guessing ----------------------------------------------------------------------------------
 */

static void the_looks_of_a_text_give_its_form(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int dialect;
    } looks[] = {{"MSR_CRU_ESCR0 = 0x0400060C", CONFIG_MSR_LIST},
                 {"0x3b8 0x0400060C", CONFIG_MSR_LIST},
                 {"3B8H 0400060CH", CONFIG_MSR_LIST},
                 {"wrmsr -a 0x3b8 1", CONFIG_WRMSR},
                 {"-e 0x39000/0x4000204@0xC", CONFIG_PERFEX},
                 {"perfex -e 0x39000/0x4000204@0xC", CONFIG_PERFEX},
                 {"netburst::instr_retired:NBOGUSNTAG", CONFIG_LIBPFM4},
                 {"r4c00060000000000:u", CONFIG_LINUX_PERF},
                 {"perf stat -e r4c00060000000000", CONFIG_LINUX_PERF},
                 {"branch-misses", CONFIG_LINUX_PERF},
                 {"iTLB-load-misses:u", CONFIG_LINUX_PERF},
                 {"INSTR_RETIRED:100000", CONFIG_OPROFILE},
                 {"p4-instr-retired", CONFIG_FREEBSD},
                 {"PAPI_TOT_INS", CONFIG_PAPI},
                 {"instr_retired:NBOGUSNTAG:u", CONFIG_P4SIM},
                 {"retired_branch_type:CALL", CONFIG_P4SIM},
                 {"128bit_MMX_uop", CONFIG_P4SIM},
                 {"# a comment\n1stL_cache_load_miss_retired:u", CONFIG_P4SIM},
                 {"", -1}};
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        if (config_guess(looks[i].text) != looks[i].dialect)
            fail_msg("'%s' is taken for %d", looks[i].text, config_guess(looks[i].text));
    }
}

/* ---- bad input ---------------------------------------------------------------------------------
 */

static void assert_complains(enum config_dialect dialect, const char *text, const char *line,
                             const char *about)
{
    const char *error = complaint(dialect, text);
    if (strncmp(error, line, strlen(line)) != 0 || !strstr(error, about))
        fail_msg("'%s' gives '%s', expected '%s ... %s'", text, error, line, about);
}

static void bad_words_get_the_line_and_near_matches(void **state)
{
    (void)state;
    assert_complains(CONFIG_P4SIM, "instr_retired\nbranch_retird", "line 2:", "branch_retired");
    assert_complains(CONFIG_LIBPFM4, "netburst::instr_retird:NBOGUSNTAG",
                     "line 1:", "instr_retired");
    assert_complains(CONFIG_LIBPFM4, "netburst::instr_retired:NBOGUS", "line 1:", "NBOGUSNTAG");
    assert_complains(CONFIG_LIBPFM4, "netburst::instr_retired", "line 1:", "NBOGUSNTAG");
    assert_complains(CONFIG_LIBPFM4, "snb::instr_retired:NBOGUSNTAG", "line 1:", "netburst::");
    assert_complains(CONFIG_LIBPFM4, "netburst::branch_retired:MMTM:thr=16", "line 1:", "0 to 15");
    assert_complains(CONFIG_LINUX_PERF, "branch-mises", "line 1:", "branch-misses");
    assert_complains(CONFIG_LINUX_PERF, "r7e00000000000000", "line 1:", "event index 0x3F");
    assert_complains(CONFIG_LINUX_PERF, "r5200200000000000", "line 1:", "mask bits 0x10");
    assert_complains(CONFIG_LINUX_PERF, "r4a0002000000000a", "line 1:", "metric 10");
    assert_complains(CONFIG_OPROFILE, "INSTR_RETIRD:1000", "line 1:", "INSTR_RETIRED");
    assert_complains(CONFIG_OPROFILE, "INSTR_RETIRED", "line 1:", "no count");
    assert_complains(CONFIG_OPROFILE, "INSTR_RETIRED:6000:0x10000", "line 1:", "mask");
    assert_complains(CONFIG_FREEBSD, "p4-instr-retird", "line 1:", "instr-retired");
    assert_complains(CONFIG_FREEBSD, "p4-instr-retired,mask=nbogus", "line 1:", "nbogusntag");
    assert_complains(CONFIG_FREEBSD, "p4-instr-retired,treshold=2", "line 1:", "threshold");
    assert_complains(CONFIG_FREEBSD, "p4-instr-retired,precise", "line 1:", "not implemented");
    assert_complains(CONFIG_PAPI, "PAPI_TOT_IN", "line 1:", "PAPI_TOT_INS");
    assert_complains(CONFIG_PERFEX, "-e 0x39000/0x4000204", "line 1:", "CCCR/ESCR@COUNTER");
    assert_complains(CONFIG_PERFEX, "-e 0x39000/0x4000204@0x12", "line 1:", "no counter 0x12");
    assert_complains(CONFIG_PERFEX, "--p4px=1", "line 1:", "no option");
    assert_complains(CONFIG_WRMSR, "\nwrmsr 0x3b8", "line 2:", "value is missing");
    assert_complains(CONFIG_WRMSR, "wrmsr -q 0x3b8 1", "line 1:", "no option");
    assert_complains(CONFIG_WRMSR, "setmsr 0x3b8 1", "line 1:", "neither wrmsr nor rdmsr");
    assert_complains(CONFIG_WRMSR, "wrmsr MSR_CRU_ESCR0 1", "line 1:", "not a register");
}

static void events_that_do_not_fit_say_so(void **state)
{
    (void)state;
    assert_complains(CONFIG_LIBPFM4,
                     "netburst::uops_retired:NBOGUS\nnetburst::uops_retired:BOGUS\n"
                     "netburst::instr_retired:NBOGUSNTAG",
                     "line 3:", "MSR_CRU_ESCR0");
    assert_complains(CONFIG_LINUX_PERF, "L1-dcache-load-misses,LLC-load-misses",
                     "line 1:", "IA32_PEBS_ENABLE");
}

/* Nothing read may make a reader stray: every prefix of a text, and every letter replaced. */
static void broken_text_is_refused_or_taken_but_harms_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"wrmsr -a 0x3b8 0x4000204\nrdmsr -p 1 0x36c",
                                        "perfex -e 0x39000/0x4000204@0x8000000C --p4pe=0x1000001",
                                        "netburst::replay_event:NBOGUS:L1_LD_MISS:u:thr=3",
                                        "0x4000205 0x39000 0x26",
                                        "cpu/config=0x5200100000000000/u,r4a00020000000001:k",
                                        "INSTR_RETIRED:100000:0x3:0:1",
                                        "p4-ioq-allocation,mask=own+other,busreqtype=3,active=any",
                                        "PAPI_TOT_INS,PAPI_LD_INS",
                                        "128bit_MMX_uop:ALL:tag=3:u:t=2:cmpl:e:c=8"};
    static const char letters[] = ":,/@=-+#0zZ\n ;";
    char copy[200], error[512];
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        size_t length = strlen(texts[t]);
        for (size_t at = 0; at <= length * sizeof letters; at++) {
            snprintf(copy, sizeof copy, "%s", texts[t]);
            copy[at / sizeof letters] = letters[at % sizeof letters];
            for (int d = 0; d < CONFIG_DIALECTS; d++) {
                struct config c = part_of(NORTHWOOD, false);
                if (!config_parse((enum config_dialect)d, copy, &c, error))
                    continue;
                for (int to = 0; to < CONFIG_DIALECTS; to++)
                    printed_in((enum config_dialect)to, &c);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(register_forms_carry_every_event_pair_of_subevents_and_modifier),
        cmocka_unit_test(libpfm4_carries_what_it_has_names_for),
        cmocka_unit_test(perf_carries_the_masks_it_accepts),
        cmocka_unit_test(oprofile_carries_events_without_filters),
        cmocka_unit_test(freebsd_carries_all_but_newer_events_and_enforced_edges),
        cmocka_unit_test(metrics_go_there_and_back),
        cmocka_unit_test(replay_metrics_go_through_the_words_libpfm4_and_perf_have),
        cmocka_unit_test(tagging_escrs_are_carried_as_events),
        cmocka_unit_test(thread_bits_matter_only_with_hyper_threading),
        cmocka_unit_test(perfex_examples_of_its_own_manual),
        cmocka_unit_test(published_perfex_specifiers_mean_what_their_author_says),
        cmocka_unit_test(an_event_that_cannot_be_said_whole_is_left_out),
        cmocka_unit_test(perfex_reads_numbers_as_hexadecimal_unless_told),
        cmocka_unit_test(msr_tools_lines_as_they_stand),
        cmocka_unit_test(perf_names_mean_what_the_kernel_programs),
        cmocka_unit_test(perf_raw_events_use_linux_indices),
        cmocka_unit_test(oprofile_counts_down_to_an_interrupt),
        cmocka_unit_test(freebsd_qualifiers_and_aliases),
        cmocka_unit_test(papi_presets_come_back),
        cmocka_unit_test(what_a_form_cannot_say_is_told),
        cmocka_unit_test(the_longest_masks_go_there_and_back),
        cmocka_unit_test(the_looks_of_a_text_give_its_form),
        cmocka_unit_test(bad_words_get_the_line_and_near_matches),
        cmocka_unit_test(events_that_do_not_fit_say_so),
        cmocka_unit_test(broken_text_is_refused_or_taken_but_harms_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
