/*
 * Branches on wrong paths that find themselves mispredicted: where they send fetch, how often, and
 * what that leaves alone. The program: a branch that resolves late jumps over one instruction, the
 * code behind has branches that the right path never takes; the input says where they lead on the
 * wrong path.
 */
#include "northwood.h"
#include "stream.h"

enum {
    SLOW = 2, /* dependent loads from memory before the late branch */
    LATE = SLOW + 1,
    PLACES = 2,
};

/* uop_queue_writes of all sources on counter 6. */
enum { MS_ESCR1 = 0x3c1, CCCR6 = 0x366, COUNTER6 = 0x306 };

struct path {
    struct stream stream;     /* first: the other callbacks take it for this */
    uint32_t branch[PLACES];  /* two branches of the wrong path */
    uint32_t to[PLACES];      /* where they lead there; 0: nobody knows */
    unsigned times;           /* so often the input said where they lead */
    bool told[PLACES], again; /* once, or each time the path comes there */
    uint32_t far, far2;       /* two places behind them */
    unsigned begun, marks, backs;
    unsigned back_to[8];
    unsigned at_far, at_far2; /* executed there on the first path */
};

struct result {
    struct nb_stats stats;
    uint64_t written;
};

static bool begin(void *context, uint64_t serial)
{
    struct path *path = context;
    (void)serial;
    path->begun++;
    return path->begun == 1;
}

static uint64_t ip_of(const struct path *path, uint32_t item)
{
    return STREAM_BASE + path->stream.offset[item];
}

static bool step(void *context, uint64_t ip, struct nb_instruction *out)
{
    struct path *path = context;
    path->at_far += ip == ip_of(path, path->far);
    path->at_far2 += ip == ip_of(path, path->far2);
    for (unsigned i = 0; i < PLACES; i++)
        if (path->to[i] && ip == ip_of(path, path->branch[i]) && (path->again || !path->told[i])) {
            path->told[i] = true;
            path->times++;
            out->next_ip = ip_of(path, path->to[i]);
            out->flags |= NB_INSTRUCTION_NEXT_KNOWN;
        }
    return true;
}

static bool mark(void *context, unsigned number)
{
    struct path *path = context;
    path->marks++;
    return number < 8;
}

static bool back(void *context, unsigned number)
{
    struct path *path = context;
    path->back_to[path->backs++ % 8] = number;
    return true;
}

static bool over_the_first(const struct stream *s, uint64_t iteration, uint32_t item)
{
    (void)s;
    (void)iteration;
    return item == LATE;
}

/* A branch and what it waits for: multiplications of its own, or what the late branch waits for. */
struct kind {
    const char *bytes;
    unsigned multiplications;
    bool behind_late;
};
static const struct kind jecxz = {"\xe3\x10", 0, false};
static const struct kind jne = {"\x75\x10", 0, false};
static const struct kind slow_jecxz = {"\xe3\x10", 3, false};
static const struct kind late_jecxz = {"\xe3\x10", 1, true};

static uint32_t add_branch(struct stream *s, const struct kind *kind)
{
    stream_add(s, (struct item)PLAIN("\x31\xd2")); /* xor edx, edx: flags for jne */
    for (unsigned i = 0; i < kind->multiplications; i++) {
        if (kind->behind_late)
            stream_add(s, (struct item)PLAIN("\x0f\xaf\xc8")); /* imul ecx, eax */
        else
            stream_add(s, (struct item)PLAIN("\x0f\xaf\xcb")); /* imul ecx, ebx */
    }
    stream_add(s, (struct item){kind->bytes, 2, 0, false, 0, 0, 0, 0});
    return s->count - 1;
}

static struct path *make(const struct kind *one, const struct kind *other)
{
    struct path *path = calloc(1, sizeof *path);
    struct stream *s = &path->stream;
    for (unsigned i = 0; i < SLOW; i++)
        stream_add(s, (struct item)READ("\x8b\x00", 4, 0x8100000 + 0x10040 * i, 0, 0));
    stream_add(s, (struct item)PLAIN("\x85\xc0")); /* test eax, eax */
    stream_add(s, (struct item)PLAIN("\x74\x02")); /* je over the next */
    stream_add(s, (struct item)PLAIN("\x89\xff")); /* mov edi, edi */
    path->branch[0] = add_branch(s, one);
    path->branch[1] = add_branch(s, other);
    path->far = s->count + 20;
    path->far2 = s->count + 60;
    for (unsigned i = 0; i < 100; i++)
        stream_add(s, (struct item)PLAIN("\x89\xff"));
    stream_close(s, 1);
    s->taken = over_the_first;
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
                             .wrong_step = step,
                             .wrong_mark = mark,
                             .wrong_back = back};
    assert_int_equal(p4pmu_wrmsr(pmu, 0, MS_ESCR1, 0x12000E0C, NULL), P4PMU_OK);
    assert_int_equal(p4pmu_wrmsr(pmu, 0, CCCR6, 0x00031000, NULL), P4PMU_OK);
    struct nb_machine *m = nb_new(&northwood.params, pmu, &input, 1);
    assert_int_equal(nb_run(m, UINT64_MAX), NB_STOP_END);
    result.stats = *nb_stats(m);
    p4pmu_rdmsr(pmu, 0, COUNTER6, &result.written);
    assert_int_equal(result.written,
                     result.stats.uops + result.stats.bogus_uops + result.stats.flushed_uops);
    nb_free(m);
    p4pmu_free(pmu);
    return result;
}

/* The right path's counts are those of a run whose wrong path turns nowhere. */
static void assert_same_right_path(const struct nb_stats *with, const struct kind *one,
                                   const struct kind *other)
{
    struct path *path = make(one, other);
    struct nb_stats without = run(path).stats;
    free(path);
    assert_int_equal(without.wrong_path_turns, 0);
    assert_int_equal(with->instructions, without.instructions);
    assert_int_equal(with->branches, without.branches);
    assert_int_equal(with->mispredicted_branches, without.mispredicted_branches);
}

static void a_branch_that_goes_elsewhere_turns_the_path_once(void **state)
{
    (void)state;
    struct path *path = make(&jecxz, &jne);
    path->to[0] = path->far;
    struct result r = run(path);
    assert_int_equal(r.stats.wrong_path_turns, 1);
    assert_int_equal(path->marks, 1);
    assert_int_equal(path->backs, 1);
    assert_int_equal(path->back_to[0], 0);
    assert_true(path->at_far > 0);
    assert_same_right_path(&r.stats, &jecxz, &jne);
    free(path);
}

static void a_branch_that_goes_where_predicted_turns_nothing(void **state)
{
    (void)state;
    struct path *path = make(&jecxz, &jne);
    path->to[0] = path->branch[0] + 1;
    struct result r = run(path);
    assert_int_equal(r.stats.wrong_path_turns, 0);
    assert_int_equal(path->marks, 0);
    free(path);
}

static void a_branch_whose_outcome_nobody_knows_turns_nothing(void **state)
{
    (void)state;
    struct path *path = make(&jecxz, &jne);
    struct result r = run(path);
    assert_int_equal(r.stats.wrong_path_turns, 0);
    assert_true(r.stats.wrong_path_unknown_branches >= 2);
    assert_int_equal(path->marks, 0);
    free(path);
}

/* The branch that began the path resolves first: the mark is dropped. */
static void a_branch_that_resolves_too_late_turns_nothing(void **state)
{
    (void)state;
    struct path *path = make(&late_jecxz, &jne);
    path->to[0] = path->far;
    struct result r = run(path);
    assert_int_equal(r.stats.wrong_path_turns, 0);
    assert_int_equal(path->marks, 1);
    assert_int_equal(path->backs, 0);
    assert_same_right_path(&r.stats, &late_jecxz, &jne);
    free(path);
}

/* The younger one resolves first and turns; then the older one, and what the younger did is gone.
 */
static void younger_first_then_older_turns_twice(void **state)
{
    (void)state;
    struct path *path = make(&slow_jecxz, &jne);
    path->to[0] = path->far;
    path->to[1] = path->far2;
    struct result r = run(path);
    assert_int_equal(r.stats.wrong_path_turns, 2);
    assert_int_equal(path->marks, 2);
    assert_int_equal(path->back_to[0], 1);
    assert_int_equal(path->back_to[1], 0);
    assert_true(path->at_far > 0 && path->at_far2 > 0);
    assert_same_right_path(&r.stats, &slow_jecxz, &jne);
    free(path);
}

/* The older one resolves first: the younger one never was. */
static void an_older_turn_forgets_the_younger(void **state)
{
    (void)state;
    struct path *path = make(&jne, &late_jecxz);
    path->to[0] = path->far;
    path->to[1] = path->far2;
    struct result r = run(path);
    assert_int_equal(path->marks, 2);
    assert_int_equal(r.stats.wrong_path_turns, 1);
    assert_int_equal(path->back_to[0], 0);
    assert_true(path->at_far > 0);
    assert_same_right_path(&r.stats, &jne, &late_jecxz);
    free(path);
}

/* What comes behind a turn waits for the turned branch to retire and never gets into the reorder
 * buffer: a path that leads back to its branch turns once. */
static void what_a_turn_leads_to_is_fetched_and_not_renamed(void **state)
{
    (void)state;
    struct path *path = make(&jne, &jne), *straight = make(&jne, &jne);
    path->to[0] = path->branch[0] - 1;
    path->again = true;
    struct result r = run(path), without = run(straight);
    assert_int_equal(r.stats.wrong_path_turns, 1);
    assert_int_equal(path->backs, 1);
    assert_true(r.stats.bogus_uops < without.stats.bogus_uops);
    assert_true(path->times >= 2);
    assert_int_equal(straight->times, 0);
    free(path);
    free(straight);
}

/* Without marks the input's paths go on as predicted. */
static void an_input_that_keeps_no_marks_is_followed_as_predicted(void **state)
{
    (void)state;
    struct path *path = make(&jecxz, &jne);
    path->to[0] = path->far;
    struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){.model = northwood.params.family_model});
    struct nb_input input = {.context = path,
                             .next = stream_next,
                             .code_at = stream_code_at,
                             .wrong_begin = begin,
                             .wrong_step = step};
    struct nb_machine *m = nb_new(&northwood.params, pmu, &input, 1);
    assert_int_equal(nb_run(m, UINT64_MAX), NB_STOP_END);
    assert_int_equal(nb_stats(m)->wrong_path_turns, 0);
    nb_free(m);
    p4pmu_free(pmu);
    free(path);
}

/* ---- any outcomes ------------------------------------------------------------------------------
 */

enum { BRANCHES = 12, PROGRAMS = 12 };

static uint64_t mixed(uint64_t x)
{
    x *= UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 29;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    return x ^ x >> 32;
}

static bool any_way(const struct stream *s, uint64_t iteration, uint32_t item)
{
    char opcode = s->items[item].bytes[0];
    return (opcode == jne.bytes[0] || opcode == jecxz.bytes[0]) &&
           mixed(s->seed + iteration * 64 + item) % 4 == 0;
}

/* On the wrong path a branch leads anywhere, always to the same place on the same path. */
static bool step_anywhere(void *context, uint64_t ip, struct nb_instruction *out)
{
    const struct path *path = context;
    uint64_t random = mixed(path->stream.seed ^ ip << 20 ^ path->begun);
    if (random % 4) {
        out->next_ip = ip_of(path, (uint32_t)(random >> 8) % path->stream.count);
        out->flags |= NB_INSTRUCTION_NEXT_KNOWN;
    }
    return random % 16 != 15;
}

static bool begin_always(void *context, uint64_t serial)
{
    struct path *path = context;
    (void)serial;
    path->begun++;
    return true;
}

static struct path *make_any(uint64_t seed)
{
    struct path *path = calloc(1, sizeof *path);
    struct stream *s = &path->stream;
    s->seed = seed;
    for (unsigned i = 0; i < BRANCHES; i++) {
        uint64_t random = mixed(seed * 1000 + i);
        for (uint64_t n = random % 5; n; n--)
            stream_add(s, (struct item)PLAIN("\x0f\xaf\xc3")); /* imul eax, ebx */
        if (random >> 8 & 1)
            stream_add(s, (struct item)READ("\x8b\x00", 4, 0x8100000, 4160, 1 << 20));
        stream_add(s, (struct item)PLAIN("\x85\xc0")); /* test eax, eax */
        if (random >> 16 & 1)
            stream_add(s, (struct item)PLAIN("\x75\x02")); /* jne over the next */
        else
            stream_add(s, (struct item)PLAIN("\xe3\x02")); /* jecxz */
        stream_add(s, (struct item)PLAIN("\x89\xff"));
    }
    s->taken = any_way;
    stream_close(s, 200);
    return path;
}

/* On one logical processor, or beside another program on the other one. */
static struct result run_any(uint64_t seed, unsigned count, bool each_clock)
{
    struct path *path[2] = {make_any(seed), make_any(seed + PROGRAMS)};
    struct nb_input input[2];
    struct result result = {.written = 0};
    struct p4pmu *pmu =
        p4pmu_new(&(struct p4pmu_config){.model = 2, .stepping = 9, .hyper_threading = true});
    for (unsigned i = 0; i < 2; i++) {
        path[i]->stream.process = (uint16_t)i;
        input[i] = (struct nb_input){.context = path[i],
                                     .next = stream_next,
                                     .code_at = stream_code_at,
                                     .wrong_begin = begin_always,
                                     .wrong_step = step_anywhere,
                                     .wrong_mark = mark,
                                     .wrong_back = back};
    }
    p4pmu_wrmsr(pmu, 0, MS_ESCR1, 0x12000E0F, NULL);
    p4pmu_wrmsr(pmu, 0, CCCR6, 0x00031000, NULL);
    struct nb_machine *m = nb_new(&northwood.params, pmu, input, count);
    nb_step_each_clock(m, each_clock);
    if (nb_run(m, UINT64_MAX) != NB_STOP_END)
        fail_msg("program %u: %s", (unsigned)seed, nb_report(m));
    result.stats = *nb_stats(m);
    p4pmu_rdmsr(pmu, 0, COUNTER6, &result.written);
    assert_int_equal(result.written,
                     result.stats.uops + result.stats.bogus_uops + result.stats.flushed_uops);
    assert_int_equal(path[0]->backs + path[1]->backs, result.stats.wrong_path_turns);
    nb_free(m);
    p4pmu_free(pmu);
    free(path[0]);
    free(path[1]);
    return result;
}

static void wherever_wrong_paths_lead_the_right_one_is_executed(void **state)
{
    (void)state;
    uint64_t turns = 0;
    for (unsigned seed = 1; seed <= PROGRAMS; seed++)
        for (unsigned count = 1; count <= 2; count++) {
            struct result quick = run_any(seed, count, false), slow = run_any(seed, count, true);
            quick.stats.skipped_clocks = slow.stats.skipped_clocks;
            assert_memory_equal(&quick.stats, &slow.stats, sizeof quick.stats);
            turns += quick.stats.wrong_path_turns;
        }
    assert_true(turns > 100 * PROGRAMS);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_branch_that_goes_elsewhere_turns_the_path_once),
        TEST(a_branch_that_goes_where_predicted_turns_nothing),
        TEST(a_branch_whose_outcome_nobody_knows_turns_nothing),
        TEST(a_branch_that_resolves_too_late_turns_nothing),
        TEST(younger_first_then_older_turns_twice),
        TEST(an_older_turn_forgets_the_younger),
        TEST(what_a_turn_leads_to_is_fetched_and_not_renamed),
        TEST(wherever_wrong_paths_lead_the_right_one_is_executed),
        TEST(an_input_that_keeps_no_marks_is_followed_as_predicted),
    };
    return cmocka_run_group_tests(tests, northwood_load, northwood_free);
}
