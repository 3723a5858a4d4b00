/*
 * What common instructions become: sources and results, memory accesses, stack, branches, x87 stack
 * moves, classes, and what is marked.
 */
#include "decode_lab.h"

static struct nb_decoder *northwood, *prescott;

static int setup(void **state)
{
    (void)state;
    northwood = nb_decoder_new(2, false);
    prescott = nb_decoder_new(3, false);
    return northwood && prescott ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    nb_decoder_free(northwood);
    nb_decoder_free(prescott);
    return 0;
}

static struct nb_code decode_for(struct nb_decoder *decoder, const char *hex)
{
    uint8_t bytes[16];
    struct nb_code code;
    size_t n = lab_bytes(hex, bytes);
    if (!nb_decode(decoder, bytes, n, 0x1000, &code))
        fail_msg("%s does not decode", hex);
    assert_int_equal(code.length, n);
    assert_int_equal(code.ip, 0x1000);
    return code;
}

static struct nb_code decode(const char *hex)
{
    return decode_for(northwood, hex);
}

/* The N-th uop (from 0) of KIND, NULL when there is none. */
static const struct nb_uop *find(const struct nb_code *code, enum nb_uop_kind kind, unsigned n)
{
    for (unsigned i = 0; i < lab_uops(code); i++)
        if (code->uops[i].kind == kind && n-- == 0)
            return &code->uops[i];
    return NULL;
}

static unsigned count(const struct nb_code *code, enum nb_uop_kind kind)
{
    unsigned n = 0;
    for (unsigned i = 0; i < lab_uops(code); i++)
        n += code->uops[i].kind == kind;
    return n;
}

static bool writes(const struct nb_code *code, unsigned reg)
{
    for (unsigned i = 0; i < lab_uops(code); i++)
        if (code->uops[i].result == reg || code->uops[i].result2 == reg)
            return true;
    return false;
}

static bool reads(const struct nb_code *code, unsigned reg)
{
    for (unsigned i = 0; i < lab_uops(code); i++)
        if (lab_reads(&code->uops[i], reg))
            return true;
    return false;
}

/* ---- registers and flags ------------------------------------------------------------- */

static void add_of_registers_is_one_fast_uop_that_writes_flags(void **state)
{
    (void)state;
    struct nb_code code = decode("01c8"); /* add eax, ecx */
    const struct nb_uop *uop = &code.uops[0];
    assert_int_equal(code.uop_count, 1);
    assert_int_equal(uop->scheduler, NB_SCHED_FAST_ANY);
    assert_int_equal(uop->latency, 1);
    assert_int_equal(uop->busy, 1);
    assert_int_equal(uop->extra, 1);
    assert_true(lab_reads(uop, EAX) && lab_reads(uop, ECX) && !lab_reads(uop, NB_REG_FLAGS));
    assert_int_equal(uop->result, EAX);
    assert_int_equal(uop->result2, NB_REG_FLAGS);
    assert_int_equal(uop->flags, NB_UOP_FIRST | NB_UOP_LAST);
}

static void logic_runs_in_alu0_only(void **state)
{
    (void)state;
    assert_int_equal(decode("21c8").uops[0].scheduler, NB_SCHED_FAST0); /* and eax, ecx */
}

static void shifts_are_slow_integer_uops(void **state)
{
    (void)state;
    struct nb_code code = decode("c1e005"); /* shl eax, 5 */
    assert_int_equal(code.uops[0].scheduler, NB_SCHED_SLOW);
    assert_int_equal(code.uops[0].domain, NB_DOMAIN_INT);
    assert_int_equal(code.uops[0].latency, 8);
    assert_int_equal(code.uops[0].extra, 2);
    assert_false(reads(&code, NB_REG_FLAGS));
}

static void shift_by_cl_reads_the_old_flags(void **state)
{
    (void)state;
    struct nb_code code = decode("d3e0"); /* shl eax, cl */
    assert_true(reads(&code, NB_REG_FLAGS) && reads(&code, ECX) && reads(&code, EAX));
}

static void inc_waits_for_old_flags_only_with_its_flags(void **state)
{
    (void)state;
    struct nb_code code = decode("41"); /* inc ecx */
    assert_int_equal(code.uop_count, 2);
    assert_int_equal(code.uops[0].result, ECX);
    assert_false(lab_reads(&code.uops[0], NB_REG_FLAGS));
    assert_true(lab_reads(&code.uops[1], NB_REG_FLAGS));
    assert_int_equal(code.uops[1].result2, NB_REG_FLAGS);
}

static void readers_of_flags_read_them(void **state)
{
    (void)state;
    static const char *const readers[] = {"7500", "0f95c1", "0f45c8", "11c8", "19c8",
                                          "d1d0", "9c",     "9f",     "dac1"};
    for (unsigned i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        struct nb_code code = decode(readers[i]);
        if (!reads(&code, NB_REG_FLAGS))
            fail_msg("%s does not read the flags", readers[i]);
    }
}

static void moves_lea_and_not_leave_the_flags_alone(void **state)
{
    (void)state;
    static const char *const others[] = {"89c8", "8d0418", "f7d0",       "0fc8", "50",
                                         "58",   "0fb6c1", "e800000000", "c3"};
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct nb_code code = decode(others[i]);
        if (writes(&code, NB_REG_FLAGS) || reads(&code, NB_REG_FLAGS))
            fail_msg("%s touches the flags", others[i]);
    }
}

static void partial_register_writes_read_the_whole_register(void **state)
{
    (void)state;
    struct nb_code mov = decode("b001"), load = decode("8a03"), wide = decode("8b03");
    assert_true(lab_reads(&mov.uops[0], EAX)); /* mov al, 1 */
    assert_true(reads(&load, EAX));            /* mov al, [ebx] */
    assert_false(reads(&wide, EAX));           /* mov eax, [ebx] */
}

static void one_high_byte_operand_costs_a_uop(void **state)
{
    (void)state;
    assert_int_equal(decode("00c8").uop_count, 1); /* add al, cl */
    assert_int_equal(decode("00e8").uop_count, 2); /* add al, ch */
    assert_int_equal(decode("00ec").uop_count, 1); /* add ah, ch */
}

static void same_register_xor_and_sub_break_the_dependence(void **state)
{
    (void)state;
    assert_true(decode("31c0").uops[0].flags & NB_UOP_BREAKS_DEPENDENCE);     /* xor eax, eax */
    assert_true(decode("29c9").uops[0].flags & NB_UOP_BREAKS_DEPENDENCE);     /* sub ecx, ecx */
    assert_true(decode("660fefc0").uops[0].flags & NB_UOP_BREAKS_DEPENDENCE); /* pxor xmm0, xmm0 */
    assert_false(decode("30c0").uops[0].flags & NB_UOP_BREAKS_DEPENDENCE); /* xor al, al merges */
    assert_false(decode("31c8").uops[0].flags & NB_UOP_BREAKS_DEPENDENCE); /* xor eax, ecx */
    assert_false(decode("19c0").uops[0].flags & NB_UOP_BREAKS_DEPENDENCE); /* sbb eax, eax */
}

static void xorps_breaks_the_dependence_from_prescott_on(void **state)
{
    (void)state;
    assert_false(decode("0f57c0").uops[0].flags & NB_UOP_BREAKS_DEPENDENCE);
    assert_true(decode_for(prescott, "0f57c0").uops[0].flags & NB_UOP_BREAKS_DEPENDENCE);
}

static void mul_and_div_read_and_write_edx_and_eax(void **state)
{
    (void)state;
    struct nb_code mul = decode("f7e1"), div = decode("f7f1"), imul = decode("0fafc1");
    assert_true(writes(&mul, EAX) && writes(&mul, EDX) && reads(&mul, EAX) && reads(&mul, ECX));
    assert_false(reads(&mul, EDX));
    assert_true(writes(&div, EAX) && writes(&div, EDX) && reads(&div, EAX) && reads(&div, EDX));
    assert_true(writes(&imul, EAX) && !writes(&imul, EDX));
}

static void xchg_of_registers_crosses_over(void **state)
{
    (void)state;
    struct nb_code code = decode("87d1"); /* xchg ecx, edx */
    assert_true(writes(&code, ECX) && writes(&code, EDX) && reads(&code, ECX) && reads(&code, EDX));
}

/* ---- memory -------------------------------------------------------------------------- */

static void a_load_reads_its_address_registers(void **state)
{
    (void)state;
    struct nb_code code = decode("8b449310"); /* mov eax, [ebx + edx*4 + 16] */
    assert_int_equal(code.uop_count, 1);
    assert_int_equal(code.uops[0].kind, NB_UOP_LOAD);
    assert_int_equal(code.uops[0].latency, 0);
    assert_true(lab_reads(&code.uops[0], EBX) && lab_reads(&code.uops[0], EDX));
    assert_int_equal(code.uops[0].result, EAX);
}

static void a_segment_override_of_fs_or_gs_is_a_source(void **state)
{
    (void)state;
    struct nb_code code = decode("65a110000000"); /* mov eax, gs:[16] */
    assert_true(lab_reads(&code.uops[0], NB_REG_SEGMENT));
    assert_int_equal(code.prefixes, 1);
}

static void a_store_is_one_fused_uop_and_two_with_a_sib_byte(void **state)
{
    (void)state;
    struct nb_code one = decode("890b"),
                   two = decode("890c93"); /* mov [ebx], ecx; mov [ebx + edx*4], ecx */
    assert_int_equal(one.uop_count, 1);
    assert_int_equal(one.uops[0].kind, NB_UOP_STORE_DATA);
    assert_true(one.uops[0].flags & NB_UOP_STORE_FUSED);
    assert_true(lab_reads(&one.uops[0], EBX) && lab_reads(&one.uops[0], ECX));
    assert_int_equal(two.uop_count, 2);
    assert_true(lab_reads(find(&two, NB_UOP_STORE_ADDRESS, 0), EBX));
    assert_true(lab_reads(find(&two, NB_UOP_STORE_ADDRESS, 0), EDX));
    assert_true(lab_reads(find(&two, NB_UOP_STORE_DATA, 0), ECX));
    assert_false(find(&two, NB_UOP_STORE_DATA, 0)->flags & NB_UOP_STORE_FUSED);
}

static void read_modify_write_is_load_alu_store(void **state)
{
    (void)state;
    struct nb_code code = decode("010b"); /* add [ebx], ecx */
    assert_int_equal(code.uop_count, 3);
    assert_int_equal(code.uops[0].kind, NB_UOP_LOAD);
    assert_true(lab_reads(&code.uops[1], code.uops[0].result) && lab_reads(&code.uops[1], ECX));
    assert_int_equal(code.uops[1].result2, NB_REG_FLAGS);
    assert_int_equal(code.uops[2].kind, NB_UOP_STORE_DATA);
    assert_true(lab_reads(&code.uops[2], code.uops[1].result) && lab_reads(&code.uops[2], EBX));
}

static void locked_instructions_mark_their_accesses(void **state)
{
    (void)state;
    struct nb_code inc = decode("f0ff00"), xchg = decode("8708"), plain = decode("ff00");
    assert_true(find(&inc, NB_UOP_LOAD, 0)->flags & NB_UOP_LOCKED);
    assert_true(find(&inc, NB_UOP_STORE_DATA, 0)->flags & NB_UOP_LOCKED);
    assert_true(find(&xchg, NB_UOP_LOAD, 0)->flags & NB_UOP_LOCKED); /* locked without the prefix */
    assert_false(find(&plain, NB_UOP_LOAD, 0)->flags & NB_UOP_LOCKED);
}

static void accesses_are_numbered_reads_and_writes_apart(void **state)
{
    (void)state;
    struct nb_code cmps = decode("a6"), push = decode("ff33"), movs = decode("a5");
    assert_int_equal(find(&cmps, NB_UOP_LOAD, 0)->access, 0);
    assert_true(lab_reads(find(&cmps, NB_UOP_LOAD, 0), ESI));
    assert_int_equal(find(&cmps, NB_UOP_LOAD, 1)->access, 1);
    assert_true(lab_reads(find(&cmps, NB_UOP_LOAD, 1), EDI));
    assert_true(lab_reads(find(&push, NB_UOP_LOAD, 0), EBX));
    assert_int_equal(find(&push, NB_UOP_STORE_DATA, 0)->access, 0);
    assert_true(lab_reads(find(&movs, NB_UOP_LOAD, 0), ESI));
    assert_true(lab_reads(find(&movs, NB_UOP_STORE_ADDRESS, 0), EDI));
}

static void one_access_of_each_kind_at_most_per_uop_kind(void **state)
{
    (void)state;
    struct nb_code pusha = decode("60"), popa = decode("61"), call = decode("ff13");
    assert_int_equal(count(&pusha, NB_UOP_STORE_DATA), 1);
    assert_int_equal(count(&popa, NB_UOP_LOAD), 1);
    for (unsigned reg = EAX; reg <= EDI; reg++)
        assert_true(writes(&popa, reg) && (reg == ESP || reads(&pusha, reg)));
    assert_int_equal(count(&call, NB_UOP_LOAD), 1);
    assert_int_equal(count(&call, NB_UOP_STORE_DATA), 1);
}

static void push_and_pop_move_the_stack_pointer_beside_the_access(void **state)
{
    (void)state;
    struct nb_code push = decode("51"), pop = decode("59"); /* push ecx; pop ecx */
    assert_int_equal(push.uop_count, 2);
    assert_true(lab_reads(&push.uops[0], ECX) && lab_reads(&push.uops[0], ESP));
    assert_int_equal(push.uops[1].result, ESP);
    assert_int_equal(pop.uop_count, 2);
    assert_int_equal(pop.uops[0].result, ECX);
    assert_true(lab_reads(&pop.uops[0], ESP));
    assert_int_equal(pop.uops[1].result, ESP);
}

static void leave_takes_the_new_stack_pointer_from_the_old_ebp(void **state)
{
    (void)state;
    struct nb_code code = decode("c9");
    assert_int_equal(code.uops[0].result, ESP);
    assert_true(lab_reads(&code.uops[0], EBP));
    assert_int_equal(code.uops[1].result, EBP);
    assert_true(lab_reads(&code.uops[1], EBP));
}

static void floating_loads_are_marked_and_stores_use_the_move_port(void **state)
{
    (void)state;
    struct nb_code load = decode("d900"), store = decode("dd1b"), vector = decode("660f6f00");
    assert_true(load.uops[0].flags & NB_UOP_FP_LOAD);
    assert_int_equal(load.uops[0].fp_class, NB_FP_MOVE_P2);
    assert_true(vector.uops[0].flags & NB_UOP_FP_LOAD);
    assert_int_equal(find(&store, NB_UOP_STORE_DATA, 0)->scheduler, NB_SCHED_FP_MOVE);
    assert_int_equal(find(&store, NB_UOP_STORE_DATA, 0)->fp_class, NB_FP_MOVE_P0);
}

static void prefetches_and_fences_have_uops_of_their_kind(void **state)
{
    (void)state;
    struct nb_code nta = decode("0f1800"), t0 = decode("0f1808"), fence = decode("0faef0");
    assert_int_equal(count(&nta, NB_UOP_PREFETCH), 1);
    assert_true(find(&nta, NB_UOP_PREFETCH, 0)->flags & NB_UOP_NON_TEMPORAL);
    assert_false(find(&t0, NB_UOP_PREFETCH, 0)->flags & NB_UOP_NON_TEMPORAL);
    assert_int_equal(count(&t0, NB_UOP_LOAD), 0);
    assert_int_equal(count(&fence, NB_UOP_FENCE), 1);
    assert_int_not_equal(find(&fence, NB_UOP_FENCE, 0)->scheduler, NB_SCHED_MEMORY);
}

static void non_temporal_stores_are_marked(void **state)
{
    (void)state;
    struct nb_code code = decode("0fc303"); /* movnti [ebx], eax */
    assert_true(find(&code, NB_UOP_STORE_DATA, 0)->flags & NB_UOP_NON_TEMPORAL);
}

/* ---- trace cache --------------------------------------------------------------------- */

static void data_beyond_16_bits_takes_entries_that_neighbours_cannot_spare(void **state)
{
    (void)state;
    assert_int_equal(decode("81c1ff7f0000").trace_entries, 1); /* add ecx, 7FFFh */
    assert_int_equal(decode("81c100800000").trace_entries, 2); /* add ecx, 8000h */
    assert_int_equal(decode("81c10080ffff").trace_entries, 1); /* add ecx, -8000h */
    assert_int_equal(decode("030d00000100").trace_entries,
                     2); /* add ecx, [10000h]: the ALU uop has room */
    assert_int_equal(decode("c7050000010000000100").trace_entries,
                     4);                                       /* mov [10000h], 10000h: 3 uops */
    assert_int_equal(decode("0f8500000100").trace_entries, 2); /* jne +10000h */
    assert_int_equal(decode("0f8500010000").trace_entries, 1); /* jne +100h */
}

static void prescott_holds_32_bits_in_an_entry(void **state)
{
    (void)state;
    assert_int_equal(decode_for(prescott, "81c178563412").trace_entries, 1);
}

/* ---- branches ------------------------------------------------------------------------ */

static void branch_kinds_and_targets(void **state)
{
    (void)state;
    static const struct {
        const char *hex;
        enum nb_branch branch;
        uint64_t target;
    } rows[] = {
        {"7510", NB_BRANCH_CONDITIONAL, 0x1012},
        {"0f8510000000", NB_BRANCH_CONDITIONAL, 0x1016},
        {"e310", NB_BRANCH_CONDITIONAL, 0x1012},
        {"e2fe", NB_BRANCH_CONDITIONAL, 0x1000},
        {"eb10", NB_BRANCH_JUMP, 0x1012},
        {"e900000000", NB_BRANCH_JUMP, 0x1005},
        {"e8fbefffff", NB_BRANCH_CALL, 0},
        {"c3", NB_BRANCH_RETURN, 0},
        {"c20400", NB_BRANCH_RETURN, 0},
        {"f3c3", NB_BRANCH_RETURN, 0},
        {"ffe0", NB_BRANCH_INDIRECT_JUMP, 0},
        {"ff20", NB_BRANCH_INDIRECT_JUMP, 0},
        {"ffd0", NB_BRANCH_INDIRECT_CALL, 0},
        {"ff10", NB_BRANCH_INDIRECT_CALL, 0},
        {"cd80", NB_BRANCH_FAR, 0},
        {"cf", NB_BRANCH_FAR, 0},
        {"0f34", NB_BRANCH_FAR, 0},
        {"cb", NB_BRANCH_FAR, 0},
        {"cc", NB_BRANCH_FAR, 0},
        {"0f0b", NB_BRANCH_FAR, 0},
        {"90", NB_BRANCH_NONE, 0},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nb_code code = decode(rows[i].hex);
        if (code.branch != rows[i].branch || code.target != rows[i].target)
            fail_msg("%s: branch %u to %llx", rows[i].hex, code.branch,
                     (unsigned long long)code.target);
        assert_int_equal(count(&code, NB_UOP_BRANCH), rows[i].branch != NB_BRANCH_NONE);
    }
}

static void backward_targets_wrap_in_32_bits(void **state)
{
    (void)state;
    assert_int_equal(decode("e900e0ffff").target, UINT32_C(0xFFFFF005));
}

static void hint_prefixes_are_kept_on_conditional_branches_only(void **state)
{
    (void)state;
    assert_int_equal(decode("3e7510").hint, 0x3E);
    assert_int_equal(decode("2e7510").hint, 0x2E);
    assert_int_equal(decode("7510").hint, 0);
    assert_int_equal(decode("2e8b03").hint, 0);
}

static void branches_wait_for_what_decides_them(void **state)
{
    (void)state;
    struct nb_code jcc = decode("7510"), ret = decode("c3"), loop = decode("e2fe"),
                   jmp = decode("eb00");
    assert_true(lab_reads(find(&jcc, NB_UOP_BRANCH, 0), NB_REG_FLAGS));
    assert_true(lab_reads(find(&ret, NB_UOP_BRANCH, 0), find(&ret, NB_UOP_LOAD, 0)->result));
    assert_true(lab_reads(find(&loop, NB_UOP_BRANCH, 0), ECX) && writes(&loop, ECX));
    for (unsigned i = 0; i < NB_UOP_SOURCES; i++)
        assert_int_equal(jmp.uops[0].source[i], NB_REG_NONE);
}

static void system_calls_are_marked(void **state)
{
    (void)state;
    assert_true(decode("cd80").flags & NB_CODE_SYSTEM_CALL);
    assert_true(decode("0f34").flags & NB_CODE_SYSTEM_CALL);
    assert_false(decode("cd03").flags & NB_CODE_SYSTEM_CALL);
    assert_false(decode("cc").flags & NB_CODE_SYSTEM_CALL);
}

/* ---- x87 ----------------------------------------------------------------------------- */

static void loads_push_before_renaming(void **state)
{
    (void)state;
    struct nb_code load = decode("d900"), copy = decode("d9c2"); /* fld [eax]; fld st(2) */
    assert_int_equal(load.flags, NB_CODE_X87_PUSH);
    assert_int_equal(load.uops[0].result, NB_REG_ST);
    assert_int_equal(copy.flags, NB_CODE_X87_PUSH);
    assert_true(lab_reads(&copy.uops[0], NB_REG_ST + 3)); /* ST(2) of before */
}

static void arithmetic_writes_the_register_its_opcode_names(void **state)
{
    (void)state;
    assert_int_equal(decode("d8c2").uops[0].result, NB_REG_ST);     /* fadd st, st(2) */
    assert_int_equal(decode("dcc2").uops[0].result, NB_REG_ST + 2); /* fadd st(2), st */
    struct nb_code pop = decode("dec2");                            /* faddp st(2), st */
    assert_int_equal(pop.uops[0].result, NB_REG_ST + 2);
    assert_int_equal(pop.flags, NB_CODE_X87_POP);
}

static void compares_write_the_status_word_or_the_flags(void **state)
{
    (void)state;
    struct nb_code fcompp = decode("ded9"), fucomip = decode("dfe9"), fnstsw = decode("dfe0");
    assert_int_equal(fcompp.flags, NB_CODE_X87_POP2);
    assert_true(writes(&fcompp, NB_REG_FP_CONTROL) && !writes(&fcompp, NB_REG_FLAGS));
    assert_int_equal(fucomip.flags, NB_CODE_X87_POP);
    assert_true(writes(&fucomip, NB_REG_FLAGS));
    assert_true(reads(&fnstsw, NB_REG_FP_CONTROL) && writes(&fnstsw, EAX));
}

static void fxch_names_its_partner_and_computes_nothing(void **state)
{
    (void)state;
    struct nb_code code = decode("d9cb"); /* fxch st(3) */
    assert_int_equal(code.flags, NB_CODE_FXCH);
    assert_int_equal(code.fxch, 3);
    assert_int_equal(code.uop_count, 1);
    assert_int_equal(code.uops[0].scheduler, NB_SCHED_FP_MOVE);
    assert_int_equal(code.uops[0].result, NB_REG_NONE);
}

static void functions_with_two_results_push(void **state)
{
    (void)state;
    struct nb_code code = decode("d9fb"); /* fsincos */
    assert_true(code.flags & NB_CODE_X87_PUSH);
    assert_true(writes(&code, NB_REG_ST) && writes(&code, NB_REG_ST + 1));
    assert_true(reads(&code, NB_REG_ST + 1));
}

/* ---- classes and marks --------------------------------------------------------------- */

static void firm_classes(void **state)
{
    (void)state;
    static const struct {
        const char *hex;
        enum nb_fp_class class;
    } rows[] = {
        {"0f58c1", NB_FP_PACKED_SP},   {"660f58c1", NB_FP_PACKED_DP}, {"f30f58c1", NB_FP_SCALAR_SP},
        {"f20f58c1", NB_FP_SCALAR_DP}, {"0ffec1", NB_FP_MMX64},       {"660ffec1", NB_FP_MMX128},
        {"d8c1", NB_FP_X87},           {"0f28c1", NB_FP_MOVE_P0},     {"d9c1", NB_FP_MOVE_P0},
        {"0f2800", NB_FP_MOVE_P2},     {"01c8", NB_FP_NONE},          {"8b03", NB_FP_NONE},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (decode(rows[i].hex).uops[0].fp_class != rows[i].class)
            fail_msg("%s: class %u", rows[i].hex, decode(rows[i].hex).uops[0].fp_class);
}

static void a_computing_form_with_memory_has_its_class_once(void **state)
{
    (void)state;
    struct nb_code code = decode("660f5800"); /* addpd xmm0, [eax] */
    assert_int_equal(code.uops[0].fp_class, NB_FP_MOVE_P2);
    assert_int_equal(code.uops[1].fp_class, NB_FP_PACKED_DP);
}

static void instructions_documented_to_retire_twice(void **state)
{
    (void)state;
    static const char *const twice[] = {"d92b",   "d923",   "dd23",     "0ff7c1",  "0f77",
                                        "0faef8", "0faef0", "660f2d00", "660f2c00"};
    static const char *const once[] = {"0faee8", "660f2dc1", "d93b", "f3a4", "0fa2"};
    for (unsigned i = 0; i < sizeof twice / sizeof twice[0]; i++)
        if (!(decode(twice[i]).flags & NB_CODE_RETIRES_TWICE))
            fail_msg("%s retires once", twice[i]);
    for (unsigned i = 0; i < sizeof once / sizeof once[0]; i++)
        if (decode(once[i]).flags & NB_CODE_RETIRES_TWICE)
            fail_msg("%s retires twice", once[i]);
}

static void serializing_and_pause(void **state)
{
    (void)state;
    assert_true(decode("0fa2").flags & NB_CODE_SERIALIZING);
    assert_false(decode("0f31").flags & NB_CODE_SERIALIZING);
    assert_true(decode("f390").flags & NB_CODE_PAUSE);
    assert_false(decode("90").flags & NB_CODE_PAUSE);
}

static void later_encodings_that_ran_as_something_older(void **state)
{
    (void)state;
    static const char *const nops[] = {"f30f1efb", "f30f1ec8", "0f1f4000", "0f1fc0",
                                       "660f1f840000000000"};
    for (unsigned i = 0; i < sizeof nops / sizeof nops[0]; i++) {
        struct nb_code code = decode(nops[i]);
        assert_int_equal(code.uop_count, 1);
        assert_int_equal(code.uops[0].kind, NB_UOP_NOP);
        assert_int_equal(code.flags, 0);
    }
    struct nb_code tzcnt = decode("f30fbcc1"), bsf = decode("0fbcc1");
    assert_int_equal(tzcnt.uop_count, bsf.uop_count);
    assert_int_equal(tzcnt.flags, bsf.flags);
}

static void instructions_the_model_did_not_have_are_marked(void **state)
{
    (void)state;
    static const char *const late[] = {"660f3800c1", "660f3a0fc101", "f30fb8c1", "0f38f001",
                                       "c5f458c2",   "0fc7f0",       "0f01f9",   "0f01d0"};
    for (unsigned i = 0; i < sizeof late / sizeof late[0]; i++) {
        if (!(decode(late[i]).flags & NB_CODE_NOT_ON_MODEL))
            fail_msg("%s is not marked", late[i]);
        assert_true(decode_for(prescott, late[i]).flags & NB_CODE_NOT_ON_MODEL);
    }
    assert_true(decode("f20fd0c1").flags & NB_CODE_NOT_ON_MODEL); /* addsubps: SSE3 */
    assert_false(decode_for(prescott, "f20fd0c1").flags & NB_CODE_NOT_ON_MODEL);
}

/* ---- strings ------------------------------------------------------------------------- */

/* Uops of N elements by the formulas of the instruction tables. */
static void check_repeat(const char *hex, unsigned head, unsigned elements, unsigned body)
{
    struct nb_code code = decode(hex);
    assert_true(code.flags & NB_CODE_REPEATS);
    assert_int_equal(code.uop_count, head);
    assert_int_equal(code.body_elements, elements);
    assert_int_equal(code.body_count, body);
}

static void repeated_strings_follow_the_formulas(void **state)
{
    (void)state;
    check_repeat("f3a5", 4 + 163, 8, 9); /* movs 163 + 1.1n */
    check_repeat("f3ab", 4 + 3, 1, 2);   /* stos 2n + 3 */
    check_repeat("f3ad", 4, 1, 5);       /* lods 5n */
    check_repeat("f2ae", 4 + 40, 1, 6);  /* scas 40 + 6n */
    check_repeat("f3a6", 4 + 50, 1, 8);  /* cmps 50 + 8n */
}

static void only_the_body_of_a_repeated_string_touches_memory(void **state)
{
    (void)state;
    struct nb_code code = decode("f3a5");
    for (unsigned i = 0; i < code.uop_count; i++)
        assert_int_equal(code.uops[i].kind, NB_UOP_ALU);
    assert_int_equal(count(&code, NB_UOP_LOAD), 1);
    assert_int_equal(count(&code, NB_UOP_STORE_DATA), 1);
    assert_true(code.uops[lab_uops(&code) - 1].flags & NB_UOP_LAST);
}

static void a_rep_prefix_elsewhere_repeats_nothing(void **state)
{
    (void)state;
    assert_false(decode("f3c3").flags & NB_CODE_REPEATS);
    assert_false(decode("a5").flags & NB_CODE_REPEATS);
}

/* ---- bad bytes ----------------------------------------------------------------------- */

static void bytes_cut_short_are_no_instruction(void **state)
{
    (void)state;
    static const uint8_t call[] = {0xE8, 0x00, 0x00, 0x00, 0x00};
    struct nb_code code;
    for (size_t n = 0; n < sizeof call; n++) {
        assert_false(nb_decode(northwood, call, n, 0, &code));
        assert_true(code.flags & NB_CODE_INVALID);
    }
    assert_true(nb_decode(northwood, call, sizeof call, 0, &code));
}

static void undefined_bytes_are_no_instruction(void **state)
{
    (void)state;
    static const uint8_t bad[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    struct nb_code code;
    assert_false(nb_decode(northwood, bad, sizeof bad, 0, &code));
    assert_true(code.flags & NB_CODE_INVALID);
    char text[64];
    nb_disassemble(northwood, bad, sizeof bad, 0, text, sizeof text);
    assert_string_equal(text, "(bad)");
}

static void disassembly_is_intel_syntax(void **state)
{
    (void)state;
    static const uint8_t load[] = {0x8B, 0x44, 0x24, 0x04};
    char text[64], shortened[8];
    nb_disassemble(northwood, load, sizeof load, 0, text, sizeof text);
    assert_string_equal(text, "mov eax, dword ptr [esp + 4]");
    nb_disassemble(northwood, load, sizeof load, 0, shortened, sizeof shortened);
    assert_string_equal(shortened, "mov eax");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_of_registers_is_one_fast_uop_that_writes_flags),
        cmocka_unit_test(logic_runs_in_alu0_only),
        cmocka_unit_test(shifts_are_slow_integer_uops),
        cmocka_unit_test(shift_by_cl_reads_the_old_flags),
        cmocka_unit_test(inc_waits_for_old_flags_only_with_its_flags),
        cmocka_unit_test(readers_of_flags_read_them),
        cmocka_unit_test(moves_lea_and_not_leave_the_flags_alone),
        cmocka_unit_test(partial_register_writes_read_the_whole_register),
        cmocka_unit_test(one_high_byte_operand_costs_a_uop),
        cmocka_unit_test(same_register_xor_and_sub_break_the_dependence),
        cmocka_unit_test(xorps_breaks_the_dependence_from_prescott_on),
        cmocka_unit_test(mul_and_div_read_and_write_edx_and_eax),
        cmocka_unit_test(xchg_of_registers_crosses_over),
        cmocka_unit_test(a_load_reads_its_address_registers),
        cmocka_unit_test(a_segment_override_of_fs_or_gs_is_a_source),
        cmocka_unit_test(a_store_is_one_fused_uop_and_two_with_a_sib_byte),
        cmocka_unit_test(read_modify_write_is_load_alu_store),
        cmocka_unit_test(locked_instructions_mark_their_accesses),
        cmocka_unit_test(accesses_are_numbered_reads_and_writes_apart),
        cmocka_unit_test(one_access_of_each_kind_at_most_per_uop_kind),
        cmocka_unit_test(push_and_pop_move_the_stack_pointer_beside_the_access),
        cmocka_unit_test(leave_takes_the_new_stack_pointer_from_the_old_ebp),
        cmocka_unit_test(floating_loads_are_marked_and_stores_use_the_move_port),
        cmocka_unit_test(prefetches_and_fences_have_uops_of_their_kind),
        cmocka_unit_test(non_temporal_stores_are_marked),
        cmocka_unit_test(data_beyond_16_bits_takes_entries_that_neighbours_cannot_spare),
        cmocka_unit_test(prescott_holds_32_bits_in_an_entry),
        cmocka_unit_test(branch_kinds_and_targets),
        cmocka_unit_test(backward_targets_wrap_in_32_bits),
        cmocka_unit_test(hint_prefixes_are_kept_on_conditional_branches_only),
        cmocka_unit_test(branches_wait_for_what_decides_them),
        cmocka_unit_test(system_calls_are_marked),
        cmocka_unit_test(loads_push_before_renaming),
        cmocka_unit_test(arithmetic_writes_the_register_its_opcode_names),
        cmocka_unit_test(compares_write_the_status_word_or_the_flags),
        cmocka_unit_test(fxch_names_its_partner_and_computes_nothing),
        cmocka_unit_test(functions_with_two_results_push),
        cmocka_unit_test(firm_classes),
        cmocka_unit_test(a_computing_form_with_memory_has_its_class_once),
        cmocka_unit_test(instructions_documented_to_retire_twice),
        cmocka_unit_test(serializing_and_pause),
        cmocka_unit_test(later_encodings_that_ran_as_something_older),
        cmocka_unit_test(instructions_the_model_did_not_have_are_marked),
        cmocka_unit_test(repeated_strings_follow_the_formulas),
        cmocka_unit_test(only_the_body_of_a_repeated_string_touches_memory),
        cmocka_unit_test(a_rep_prefix_elsewhere_repeats_nothing),
        cmocka_unit_test(bytes_cut_short_are_no_instruction),
        cmocka_unit_test(undefined_bytes_are_no_instruction),
        cmocka_unit_test(disassembly_is_intel_syntax),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
