/*
 * Every row of the form tables, on a real encoding: the row is the one taken, the uops are as many
 * as it says, and the longest chain of dependent uops is as long as it says.
 */
#include "decode_lab.h"

enum {
    LOAD_TICKS = 4,     /* L1 latency of integer loads, part of the sheet's load rows */
    FP_LOAD_TICKS = 14, /* of x87, MMX and SSE loads: about 7 clocks */
    LOOP_TICKS = 15,    /* memory's part of the sheet's read-modify-write latencies */
    PRESCOTT_LOOP_TICKS = 8,
};

struct sample {
    enum nb_core core;
    int mode;
    const char *name, *pattern, *hex, *text;
};

static const struct sample samples[] = {
#define S(core, mode, name, pattern, hex, text) {NB_CORE_##core, mode, name, pattern, hex, text},
#include "decode_samples.def"
#undef S
};

enum { SAMPLES = sizeof samples / sizeof samples[0] };

/* [core][64-bit mode] */
static struct nb_decoder *decoders[2][2];

static int setup(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        decoders[NB_CORE_P4][mode] = nb_decoder_new(2, mode);
        decoders[NB_CORE_P4E][mode] = nb_decoder_new(4, mode);
    }
    return decoders[0][0] && decoders[0][1] && decoders[1][0] && decoders[1][1] ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    for (int core = 0; core < 2; core++)
        for (int mode = 0; mode < 2; mode++)
            nb_decoder_free(decoders[core][mode]);
    return 0;
}

/* Times along an instruction's uops, all inputs ready at 0. */
struct times {
    unsigned chain;   /* last computed value */
    unsigned stack;   /* new stack pointer */
    unsigned pointer; /* string pointers */
    bool computes;
};

static bool is_memory(const struct nb_uop *uop)
{
    return uop->kind != NB_UOP_ALU && uop->kind != NB_UOP_NOP;
}

static bool moves_pointer(const struct nb_uop *uop)
{
    return (uop->result == ESI || uop->result == EDI) && uop->source[0] == uop->result &&
           uop->source[1] == NB_REG_NONE;
}

static bool moves_stack(const struct nb_uop *uop)
{
    return uop->result == ESP && (uop->source[0] == ESP || uop->source[0] == EBP) &&
           uop->source[1] == NB_REG_NONE;
}

/* The second uop of INC and DEC: new flags from the old ones and the result. */
static bool merges_flags(const struct nb_uop *uop)
{
    return uop->result == NB_REG_NONE && uop->result2 == NB_REG_FLAGS &&
           lab_reads(uop, NB_REG_FLAGS);
}

static unsigned ready(const unsigned at[NB_REGISTERS], const struct nb_uop *uop)
{
    unsigned latest = 0;
    for (unsigned i = 0; i < NB_UOP_SOURCES; i++)
        if (uop->source[i] < NB_REGISTERS && at[uop->source[i]] > latest)
            latest = at[uop->source[i]];
    return latest;
}

static unsigned later(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

static struct times measure(const struct nb_code *code, bool string)
{
    struct times times = {0};
    unsigned at[NB_REGISTERS] = {0};
    for (unsigned i = 0; i < code->uop_count; i++) {
        const struct nb_uop *uop = &code->uops[i];
        unsigned done = ready(at, uop) + uop->latency;
        if (string && moves_pointer(uop))
            times.pointer = later(times.pointer, done);
        else if (moves_stack(uop))
            times.stack = done;
        else if (!is_memory(uop) && !(merges_flags(uop) && times.chain > 0))
            times.chain = later(times.chain, done);
        times.computes = times.computes || !is_memory(uop);
        if (uop->result < NB_REGISTERS)
            at[uop->result] = done;
        if (uop->result2 < NB_REGISTERS)
            at[uop->result2] = done;
    }
    return times;
}

static const struct sample *sample_of(const struct nb_form *form)
{
    for (unsigned i = 0; i < SAMPLES; i++)
        if (samples[i].core == (enum nb_core)form->core &&
            strcmp(samples[i].name, form->name) == 0 &&
            strcmp(samples[i].pattern, form->pattern) == 0)
            return &samples[i];
    return NULL;
}

static struct nb_code decode_sample(const struct sample *sample)
{
    uint8_t bytes[16];
    struct nb_code code;
    size_t n = lab_bytes(sample->hex, bytes);
    if (!nb_decode(decoders[sample->core][sample->mode == 64], bytes, n, 0, &code))
        fail_msg("%s does not decode", sample->text);
    assert_int_equal(code.length, n);
    return code;
}

static void every_row_has_a_sample_that_takes_it(void **state)
{
    (void)state;
    for (size_t i = 0; nb_form_at(i); i++) {
        const struct nb_form *form = nb_form_at(i);
        const struct sample *sample = sample_of(form);
        if (!sample)
            fail_msg("no sample for %s %s", form->name, form->pattern);
        uint8_t bytes[16];
        size_t n = lab_bytes(sample->hex, bytes);
        const struct nb_form *taken =
            nb_decode_form(decoders[sample->core][sample->mode == 64], bytes, n);
        if (taken != form)
            fail_msg("%s takes row %s %s, not %s", sample->text, taken ? taken->name : "none",
                     taken ? taken->pattern : "", form->pattern);
    }
}

static void every_row_gives_as_many_uops_as_it_says(void **state)
{
    (void)state;
    for (size_t i = 0; nb_form_at(i); i++) {
        const struct nb_form *form = nb_form_at(i);
        struct nb_code code = decode_sample(sample_of(form));
        if (code.uop_count != form->trace_uops + form->rom_uops ||
            code.trace_uops != form->trace_uops)
            fail_msg("%s: %u uops, %u from the trace cache; row says %u + %u",
                     sample_of(form)->text, code.uop_count, code.trace_uops, form->trace_uops,
                     form->rom_uops);
        if (code.flags & (NB_CODE_APPROXIMATE | NB_CODE_NOT_ON_MODEL))
            fail_msg("%s: flags %x", sample_of(form)->text, code.flags);
        assert_int_equal((code.flags & NB_CODE_COMPLEX) != 0, form->rom_uops > 0);
    }
}

static bool is_string(const char *name)
{
    static const char *const all[] = {"lods", "stos", "movs", "scas", "cmps"};
    for (unsigned i = 0; i < 5; i++)
        if (strcmp(all[i], name) == 0)
            return true;
    return false;
}

static bool has_fp_load(const struct nb_code *code)
{
    for (unsigned i = 0; i < code->uop_count; i++)
        if ((code->uops[i].flags & NB_UOP_FP_LOAD) || code->uops[i].fp_class == NB_FP_MOVE_P0)
            return true;
    return false;
}

/* What the sheet's latency must be, put together from the uops and memory's part. Within one clock
 * where memory's part is not a whole number of clocks. */
static void check_latency(const struct nb_form *form, const struct nb_code *code, const char *text)
{
    struct times times = measure(code, is_string(form->name));
    unsigned found = times.chain, memory = has_fp_load(code) ? FP_LOAD_TICKS : LOAD_TICKS, loop,
             slack = 0;
    switch (form->path) {
    case NB_PATH_REG:
        found = is_string(form->name) ? times.pointer : found;
        break;
    case NB_PATH_LOAD:
        found += memory;
        slack = memory == FP_LOAD_TICKS ? 2 : 0; /* "about 7" or "about 8" clocks */
        break;
    case NB_PATH_STORE:
        found = times.computes ? found + memory : form->latency;
        break;
    case NB_PATH_LOOP:
        loop = form->core == NB_CORE_P4E ? PRESCOTT_LOOP_TICKS : LOOP_TICKS;
        found += loop;
        slack = form->latency <= loop ? loop + 2 - form->latency : 1;
        break;
    case NB_PATH_STACK:
        found = times.stack;
        break;
    case NB_PATH_BRANCH:
        found = form->latency == 0 ? 0 : found + 1;
        break;
    default:
        return;
    }
    if (form->latency > 0 && (found + slack < form->latency || found > form->latency + slack))
        fail_msg("%s: %u ticks, row says %u", text, found, form->latency);
}

static void every_rows_latency_is_the_length_of_its_chain(void **state)
{
    (void)state;
    for (size_t i = 0; nb_form_at(i); i++) {
        const struct nb_form *form = nb_form_at(i);
        struct nb_code code = decode_sample(sample_of(form));
        check_latency(form, &code, sample_of(form)->text);
    }
}

static void flows_without_latency_last_as_long_as_their_throughput(void **state)
{
    (void)state;
    for (size_t i = 0; nb_form_at(i); i++) {
        const struct nb_form *form = nb_form_at(i);
        if (form->path != NB_PATH_UNKNOWN || form->rom_uops == 0 || form->busy < 30)
            continue;
        struct nb_code code = decode_sample(sample_of(form));
        assert_int_equal(measure(&code, is_string(form->name)).chain, form->busy);
    }
}

static unsigned most_busy(const struct nb_code *code)
{
    unsigned most = 0;
    for (unsigned i = 0; i < code->uop_count; i++)
        if (code->uops[i].unit != NB_UNIT_LOAD && code->uops[i].unit != NB_UNIT_STORE)
            most = later(most, code->uops[i].busy);
    return most;
}

/* Rows with a unit of their own; flows of the ROM take the sequencer, except that of moved strings,
 * whose pointers pace them. */
static bool takes_unit(const struct nb_form *form)
{
    bool flow = form->exec == NB_EXEC_FLOW && form->rom_uops > 0 &&
                strcmp(form->name, "movs") != 0 && strcmp(form->name, "stos") != 0;
    bool unit = form->exec >= NB_EXEC_INT && form->exec <= NB_EXEC_MMISC;
    return (unit || flow) && form->path != NB_PATH_LOAD && form->busy >= 2;
}

static void units_are_taken_for_the_reciprocal_throughput(void **state)
{
    (void)state;
    for (size_t i = 0; nb_form_at(i); i++) {
        const struct nb_form *form = nb_form_at(i);
        if (!takes_unit(form))
            continue;
        struct nb_code code = decode_sample(sample_of(form));
        if (most_busy(&code) != form->busy)
            fail_msg("%s: busy %u, row says %u", sample_of(form)->text, most_busy(&code),
                     form->busy);
    }
}

/* A register read after a uop of the same instruction wrote it: right only for uops that want the
 * new value. */
static bool wants_new_value(const struct nb_uop *uop)
{
    return uop->kind == NB_UOP_BRANCH || merges_flags(uop);
}

static void inputs_are_read_before_they_are_replaced(void **state)
{
    (void)state;
    for (size_t i = 0; nb_form_at(i); i++) {
        struct nb_code code = decode_sample(sample_of(nb_form_at(i)));
        bool written[NB_REGISTERS] = {false};
        for (unsigned k = 0; k < code.uop_count; k++) {
            const struct nb_uop *uop = &code.uops[k];
            for (unsigned reg = 0; reg < NB_REG_TEMP; reg++)
                if (written[reg] && lab_reads(uop, reg) && !wants_new_value(uop))
                    fail_msg("%s: uop %u reads register %u after it was replaced",
                             sample_of(nb_form_at(i))->text, k, reg);
            if (uop->result < NB_REGISTERS)
                written[uop->result] = true;
            if (uop->result2 < NB_REGISTERS)
                written[uop->result2] = true;
        }
    }
}

static void rows_are_unique(void **state)
{
    (void)state;
    for (size_t i = 0; nb_form_at(i); i++)
        for (size_t j = i + 1; nb_form_at(j); j++) {
            const struct nb_form *a = nb_form_at(i), *b = nb_form_at(j);
            if (a->core == b->core && strcmp(a->name, b->name) == 0 &&
                strcmp(a->pattern, b->pattern) == 0)
                fail_msg("two rows for %s %s", a->name, a->pattern);
        }
}

static void every_row_is_about_an_instruction_in_the_list(void **state)
{
    (void)state;
    for (size_t i = 0; nb_form_at(i); i++) {
        const char *name = nb_form_at(i)->name;
        const char *plain = strncmp(name, "lock", 4) == 0 ? (name[4] ? name + 5 : "add") : name;
        if (!nb_name_find(plain))
            fail_msg("%s is not in decode_names.def", plain);
    }
}

static void every_instruction_is_listed_once(void **state)
{
    (void)state;
    for (size_t i = 0; nb_name_at(i); i++)
        if (nb_name_find(nb_name_at(i)->name) != nb_name_at(i))
            fail_msg("%s is listed twice", nb_name_at(i)->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_unique),
        cmocka_unit_test(every_instruction_is_listed_once),
        cmocka_unit_test(every_row_is_about_an_instruction_in_the_list),
        cmocka_unit_test(every_row_has_a_sample_that_takes_it),
        cmocka_unit_test(every_row_gives_as_many_uops_as_it_says),
        cmocka_unit_test(every_rows_latency_is_the_length_of_its_chain),
        cmocka_unit_test(flows_without_latency_last_as_long_as_their_throughput),
        cmocka_unit_test(inputs_are_read_before_they_are_replaced),
        cmocka_unit_test(units_are_taken_for_the_reciprocal_throughput),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
