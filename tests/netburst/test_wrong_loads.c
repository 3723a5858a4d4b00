/*
 * Wrong paths whose values are known: what their loads and stores do to caches and TLBs, and that
 * the right path's counts owe nothing to them.
 */
#include "northwood.h"
#include "stream.h"

enum {
    LINE = 0x8100000,
    SKIPPED = 8, /* the item the right path always jumps over */
};

/* page_walk_type:DTMISS on counter 0, at CPL 3. */
enum {
    PMH_ESCR0 = 0x3ac,
    CCCR0 = 0x360,
    COUNTER0 = 0x300,
    DATA_WALKS = 1 << 25 | 1 << 9 | 1 << 2,
    COUNT_IT = 3 << 16 | 4 << 13 | 1 << 12,
};

struct path {
    struct stream stream; /* first: the other callbacks take it for this */
    bool known;           /* the input executes wrong paths */
    uint8_t unknown, unmapped;
    bool write;
    uint64_t address;
    unsigned begun, executed;
};

struct result {
    struct nb_stats stats;
    uint64_t walks;
};

static bool begin(void *context, uint64_t serial)
{
    struct path *path = context;
    path->begun++;
    assert_int_equal(serial, path->stream.serial);
    return path->known;
}

static bool step(void *context, uint64_t ip, struct nb_instruction *out)
{
    struct path *path = context;
    assert_true(path->known);
    if (ip != STREAM_BASE + path->stream.offset[SKIPPED])
        return true;
    path->executed++;
    out->access_count = 1;
    out->access[0] = (struct nb_access){path->address, 4, path->write};
    out->unknown = path->unknown;
    out->unmapped = path->unmapped;
    return true;
}

static bool over_the_skipped(const struct stream *s, uint64_t iteration, uint32_t item)
{
    (void)s;
    (void)iteration;
    return item == SKIPPED - 1;
}

/* A branch that resolves late, over an instruction; much later perhaps a load of the line. */
static struct path *make(bool write, bool load_later)
{
    struct path *path = calloc(1, sizeof *path);
    struct stream *s = &path->stream;
    *path = (struct path){.known = true, .write = write, .address = LINE};
    for (unsigned i = 0; i < SKIPPED - 2; i++)
        stream_add(s, (struct item)PLAIN("\x0f\xaf\xc3"));               /* imul eax, ebx */
    stream_add(s, (struct item)PLAIN("\x85\xc0"));                       /* test eax, eax */
    stream_add(s, (struct item)PLAIN("\x74\x02"));                       /* je over the next */
    stream_add(s, write ? (struct item)WRITE("\x89\x16", 4, LINE, 0, 0)  /* mov [esi], edx */
                        : (struct item)READ("\x8b\x16", 4, LINE, 0, 0)); /* mov edx, [esi] */
    for (unsigned i = 0; i < 100; i++)
        stream_add(s, (struct item)PLAIN("\x0f\xaf\xc3"));
    if (load_later)
        stream_add(s, (struct item)READ("\x8b\x3e", 4, LINE + 4, 0, 0)); /* mov edi, [esi] */
    for (unsigned i = 0; i < 10; i++)
        stream_add(s, (struct item)PLAIN("\x0f\xaf\xff")); /* imul edi, edi */
    stream_close(s, 1);
    s->taken = over_the_skipped;
    return path;
}

static struct result run(struct path *path)
{
    struct result result;
    struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){.model = northwood.params.family_model});
    struct nb_input input = {.context = path,
                             .next = stream_next,
                             .code_at = stream_code_at,
                             .wrong_begin = begin,
                             .wrong_step = step};
    assert_int_equal(p4pmu_wrmsr(pmu, 0, PMH_ESCR0, DATA_WALKS, NULL), P4PMU_OK);
    assert_int_equal(p4pmu_wrmsr(pmu, 0, CCCR0, COUNT_IT, NULL), P4PMU_OK);
    struct nb_machine *m = nb_new(&northwood.params, pmu, &input, 1);
    assert_int_equal(nb_run(m, UINT64_MAX), NB_STOP_END);
    result.stats = *nb_stats(m);
    p4pmu_rdmsr(pmu, 0, COUNTER0, &result.walks);
    nb_free(m);
    p4pmu_free(pmu);
    return result;
}

static struct result run_and_free(struct path *path)
{
    struct result result = run(path);
    assert_true(path->begun > 0);
    free(path);
    return result;
}

static void assert_same_right_path(const struct nb_stats *a, const struct nb_stats *b)
{
    assert_int_equal(a->instructions, b->instructions);
    assert_int_equal(a->uops, b->uops);
    assert_int_equal(a->loads, b->loads);
    assert_int_equal(a->stores, b->stores);
    assert_int_equal(a->branches, b->branches);
    assert_int_equal(a->missing_accesses, 0);
    assert_int_equal(b->missing_accesses, 0);
}

static void a_load_of_a_wrong_path_fetches_its_line_and_its_page(void **state)
{
    (void)state;
    struct path *without = make(false, false);
    without->known = false;
    struct result off = run_and_free(without), on = run_and_free(make(false, false));
    assert_same_right_path(&off.stats, &on.stats);
    assert_true(on.stats.mispredicted_branches > 0);
    assert_int_equal(off.stats.l1_load_misses, 0);
    assert_int_equal(on.stats.l1_load_misses, 1);
    assert_int_equal(on.walks, off.walks + 1);
    assert_true(on.stats.l2_read_misses > off.stats.l2_read_misses);
    assert_int_equal(on.stats.wrong_path_unknown, 0);
    assert_int_equal(on.stats.wrong_paths_without_values, 0);
    assert_true(off.stats.wrong_paths > 0);
    assert_int_equal(off.stats.wrong_paths_without_values, off.stats.wrong_paths);
    assert_true(off.stats.wrong_path_accesses > 0);
    assert_int_equal(off.stats.wrong_path_unknown, off.stats.wrong_path_accesses);
}

static void what_a_wrong_path_fetched_the_right_path_finds(void **state)
{
    (void)state;
    struct path *without = make(false, true);
    without->known = false;
    struct result off = run_and_free(without), on = run_and_free(make(false, true));
    assert_same_right_path(&off.stats, &on.stats);
    assert_int_equal(off.stats.l1_load_misses, 1);
    assert_int_equal(on.stats.l1_load_misses, 1); /* the same one, earlier */
    assert_int_equal(on.walks, off.walks);
    assert_true(on.stats.clocks < off.stats.clocks);
}

static void an_unknown_address_touches_nothing(void **state)
{
    (void)state;
    struct path *unknown = make(false, false), *without = make(false, false);
    unknown->unknown = 1;
    without->known = false;
    struct result off = run_and_free(without), on = run_and_free(unknown);
    assert_int_equal(on.stats.l1_load_misses, 0);
    assert_int_equal(on.walks, off.walks);
    assert_int_equal(on.stats.wrong_path_unknown, on.stats.wrong_path_accesses);
}

static void where_no_page_can_be_there_is_a_walk_and_no_line(void **state)
{
    (void)state;
    struct path *unmapped = make(false, false), *without = make(false, false);
    unmapped->unmapped = 1;
    unmapped->address = 8;
    without->known = false;
    struct result off = run_and_free(without), on = run_and_free(unmapped);
    assert_int_equal(on.walks, off.walks + 1);
    assert_int_equal(on.stats.l1_load_misses, 0);
    assert_same_right_path(&off.stats, &on.stats);
}

/* It needs its address translated, but nothing of it ever leaves the store buffer. */
static void a_store_of_a_wrong_path_is_never_written(void **state)
{
    (void)state;
    struct path *without = make(true, true);
    without->known = false;
    struct result off = run_and_free(without), on = run_and_free(make(true, true));
    assert_same_right_path(&off.stats, &on.stats);
    assert_int_equal(on.walks, off.walks); /* the later load's page: walked for the store already */
    assert_int_equal(on.stats.l1_load_misses, 1);
    assert_int_equal(on.stats.stores, 0);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_load_of_a_wrong_path_fetches_its_line_and_its_page),
        TEST(what_a_wrong_path_fetched_the_right_path_finds),
        TEST(an_unknown_address_touches_nothing),
        TEST(where_no_page_can_be_there_is_a_walk_and_no_line),
        TEST(a_store_of_a_wrong_path_is_never_written),
    };
    return cmocka_run_group_tests(tests, northwood_load, northwood_free);
}
