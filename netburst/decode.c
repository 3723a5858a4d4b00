/*
 * The decoder: IA-32 bytes to struct nb_code, once per static instruction.
 *
 * Capstone tells what the bytes are; decode_names.def what the instruction does to registers;
 * uop_forms.def how many uops of which kind the part made of it; uop_build.c makes them.
 * Instructions that a model did not have are built by the generic rule and marked
 * NB_CODE_NOT_ON_MODEL, so that a run can report them.
 *
 * Not modelled: 16-bit code segments, virtual-8086 mode, decoding limits other than prefixes.
 */
#include "decode.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arena --------------------------------------------------------------------------- */

enum { BLOCK_UOPS = 4096 };

struct arena_block {
    struct arena_block *next;
    size_t used;
    struct nb_uop uops[BLOCK_UOPS];
};

struct nb_arena {
    struct arena_block *blocks;
};

struct nb_uop *nb_arena_take(struct nb_arena *arena, size_t uops)
{
    if (uops > BLOCK_UOPS)
        return NULL;
    if (!arena->blocks || arena->blocks->used + uops > BLOCK_UOPS) {
        struct arena_block *block = malloc(sizeof *block);
        if (!block)
            return NULL;
        block->next = arena->blocks;
        block->used = 0;
        arena->blocks = block;
    }
    struct nb_uop *taken = arena->blocks->uops + arena->blocks->used;
    arena->blocks->used += uops;
    return taken;
}

static void arena_free(struct nb_arena *arena)
{
    while (arena && arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    free(arena);
}

/* ---- decoder ------------------------------------------------------------------------- */

static bool open_capstone(struct nb_decoder *decoder)
{
    if (cs_open(CS_ARCH_X86, decoder->mode_64 ? CS_MODE_64 : CS_MODE_32, &decoder->capstone) !=
        CS_ERR_OK)
        return false;
    if (cs_option(decoder->capstone, CS_OPT_DETAIL, CS_OPT_ON) == CS_ERR_OK)
        decoder->insn = cs_malloc(decoder->capstone);
    return decoder->insn != NULL;
}

struct nb_decoder *nb_decoder_new(unsigned model, bool mode_64)
{
    struct nb_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder)
        return NULL;
    decoder->model = model;
    decoder->mode_64 = mode_64;
    decoder->core = model >= 3 ? NB_CORE_P4E : NB_CORE_P4;
    decoder->arena = calloc(1, sizeof *decoder->arena);
    if (!decoder->arena || !open_capstone(decoder)) {
        nb_decoder_free(decoder);
        return NULL;
    }
    return decoder;
}

void nb_decoder_free(struct nb_decoder *decoder)
{
    if (!decoder)
        return;
    if (decoder->insn)
        cs_free(decoder->insn, 1);
    if (decoder->capstone)
        cs_close(&decoder->capstone);
    arena_free(decoder->arena);
    free(decoder);
}

static bool disassemble_exactly(struct nb_decoder *decoder, const uint8_t *bytes, size_t n,
                                uint64_t ip)
{
    return cs_disasm_iter(decoder->capstone, &bytes, &n, &ip, decoder->insn);
}

/*
 * 0F 18 to 0F 1F were reserved as hints without effect; later parts use some (RDSSPD is F3 0F 1E
 * /1), and C libraries run them on every part. Where Capstone does not take one, it is read as the
 * multi-byte NOP 0F 1F of the same length: an F3 prefix becomes one without meaning.
 */
static bool disassemble_hint(struct nb_decoder *decoder, const uint8_t *bytes, size_t n,
                             uint64_t ip)
{
    uint8_t copy[16];
    n = n < sizeof copy ? n : sizeof copy;
    memcpy(copy, bytes, n);
    size_t at = n > 0 && copy[0] == 0xF3;
    if (n < at + 3 || copy[at] != 0x0F || copy[at + 1] < 0x18 || copy[at + 1] > 0x1F)
        return false;
    if (at == 1)
        copy[0] = 0x3E;
    copy[at + 1] = 0x1F;
    if (copy[at + 2] >= 0xC0)
        copy[at + 2] = 0; /* a register operand is as long as [eax] */
    return disassemble_exactly(decoder, copy, n, ip);
}

static bool disassemble(struct nb_decoder *decoder, const uint8_t *bytes, size_t n, uint64_t ip)
{
    return disassemble_exactly(decoder, bytes, n, ip) || disassemble_hint(decoder, bytes, n, ip);
}

static bool is_prefix(const struct nb_decoder *decoder, uint8_t byte)
{
    switch (byte) {
    case 0x26:
    case 0x2E:
    case 0x36:
    case 0x3E:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xF0:
    case 0xF2:
    case 0xF3:
        return true;
    default:
        return decoder->mode_64 && (byte & 0xF0) == 0x40;
    }
}

static void look_at_prefixes(const struct nb_decoder *decoder, const uint8_t *bytes,
                             struct nb_code *code)
{
    while (code->prefixes < code->length && is_prefix(decoder, bytes[code->prefixes])) {
        uint8_t byte = bytes[code->prefixes++];
        if (code->branch == NB_BRANCH_CONDITIONAL && (byte == 0x2E || byte == 0x3E))
            code->hint = byte;
    }
}

/* Instructions documented to count two in instr_retired (measured by V. Weaver on models 3, 4 and
 * 6; earlier models the same: model choice). */
static bool retires_twice(const char *name, const struct nb_facts *facts)
{
    static const char *const always[] = {"fldcw", "fldenv", "frstor", "maskmovq",
                                         "emms",  "sfence", "mfence"};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        if (nb_same_name(name, always[i]))
            return true;
    return facts->reads > 0 && (strcmp(name, "cvtpd2pi") == 0 || strcmp(name, "cvttpd2pi") == 0);
}

/* Drains the pipeline before and after (SDM volume 3, serializing instructions). */
static bool is_serializing(const char *name)
{
    static const char *const all[] = {"cpuid",  "iret", "rsm",  "wrmsr", "invd", "wbinvd",
                                      "invlpg", "lgdt", "lidt", "lldt",  "ltr"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (nb_same_name(name, all[i]))
            return true;
    return false;
}

static bool on_model(const struct nb_decoder *decoder, const struct nb_name *name)
{
    if (!name)
        return false;
    if (name->isa == NB_ISA_LONG)
        return decoder->mode_64;
    return name->isa != NB_ISA_SSE3 || decoder->model >= 3;
}

static void set_flags(const char *name, const struct nb_facts *facts, struct nb_code *code)
{
    if (retires_twice(name, facts))
        code->flags |= NB_CODE_RETIRES_TWICE;
    if (is_serializing(name))
        code->flags |= NB_CODE_SERIALIZING;
    if (strcmp(name, "pause") == 0)
        code->flags |= NB_CODE_PAUSE;
}

/* An instruction the part did not have: its operands, read as Capstone gives them. */
static const struct nb_name *unknown_name(const cs_insn *insn)
{
    static const struct nb_name plain = {.name = "", .flow = NB_FLOW_NOTHING};
    static const struct nb_name write = {.name = "", .flow = NB_FLOW_WRITE};
    return insn->detail->x86.op_count > 0 ? &write : &plain;
}

static void set_target(const struct nb_decoder *decoder, struct nb_code *code)
{
    const cs_x86 *x86 = &decoder->insn->detail->x86;
    bool direct = code->branch == NB_BRANCH_CONDITIONAL || code->branch == NB_BRANCH_JUMP ||
                  code->branch == NB_BRANCH_CALL;
    if (direct && x86->op_count > 0)
        code->target =
            (uint64_t)x86->operands[0].imm & (decoder->mode_64 ? UINT64_MAX : UINT32_MAX);
}

/* The row: locked forms have rows of their own. */
static const struct nb_form *find_form(const struct nb_decoder *decoder, const char *name,
                                       const struct nb_facts *facts)
{
    char tokens[96], locked[NB_NAME_BYTES + 8];
    nb_operand_tokens(decoder->insn, name, tokens, sizeof tokens);
    if (!facts->locked || strcmp(name, "xchg") == 0)
        return nb_form_find(decoder->core, name, tokens);
    snprintf(locked, sizeof locked, "lock %s", name);
    const struct nb_form *form = nb_form_find(decoder->core, locked, tokens);
    return form ? form : nb_form_find(decoder->core, "lock", tokens);
}

static bool is_repeated(const cs_x86 *x86, const struct nb_facts *facts)
{
    return facts->steps > 0 &&
           (x86->prefix[0] == X86_PREFIX_REP || x86->prefix[0] == X86_PREFIX_REPNE);
}

static bool decode_facts(struct nb_decoder *decoder, char name[NB_NAME_BYTES],
                         struct nb_facts *facts, struct nb_code *code)
{
    nb_canonical_name(decoder->capstone, decoder->insn, name);
    const struct nb_name *row = nb_name_find(name);
    bool known = on_model(decoder, row);
    memset(facts, 0, sizeof *facts);
    nb_facts_of(decoder, known ? row : unknown_name(decoder->insn), facts, code);
    if (!known)
        code->flags |= NB_CODE_NOT_ON_MODEL;
    return known;
}

static bool build(struct nb_decoder *decoder, struct nb_code *code)
{
    char name[NB_NAME_BYTES];
    struct nb_facts facts;
    bool known = decode_facts(decoder, name, &facts, code);
    set_flags(name, &facts, code);
    set_target(decoder, code);
    if (known && is_repeated(&decoder->insn->detail->x86, &facts))
        return nb_build_repeat(decoder->arena, decoder->core, name, &facts, code);
    const struct nb_form *form = known ? find_form(decoder, name, &facts) : NULL;
    if (form && (form->marks & M_FALSE_FLAGS))
        nb_add_source(&facts, NB_REG_FLAGS);
    return nb_build(decoder->arena, form, &facts, code);
}

bool nb_decode(struct nb_decoder *decoder, const uint8_t *bytes, size_t n, uint64_t ip,
               struct nb_code *code)
{
    *code = (struct nb_code){.ip = ip};
    if (!disassemble(decoder, bytes, n, ip)) {
        code->flags = NB_CODE_INVALID;
        return false;
    }
    code->length = (uint8_t)decoder->insn->size;
    code->mnemonic = (uint16_t)decoder->insn->id;
    if (!build(decoder, code)) {
        code->flags |= NB_CODE_INVALID;
        return false;
    }
    look_at_prefixes(decoder, bytes, code);
    return true;
}

const struct nb_form *nb_decode_form(struct nb_decoder *decoder, const uint8_t *bytes, size_t n)
{
    char name[NB_NAME_BYTES];
    struct nb_facts facts;
    struct nb_code code = {0};
    if (!disassemble(decoder, bytes, n, 0) || !decode_facts(decoder, name, &facts, &code))
        return NULL;
    return find_form(decoder, name, &facts);
}

void nb_disassemble(struct nb_decoder *decoder, const uint8_t *bytes, size_t n, uint64_t ip,
                    char *text, size_t size)
{
    if (!disassemble(decoder, bytes, n, ip))
        snprintf(text, size, "(bad)");
    else if (decoder->insn->op_str[0])
        snprintf(text, size, "%s %s", decoder->insn->mnemonic, decoder->insn->op_str);
    else
        snprintf(text, size, "%s", decoder->insn->mnemonic);
}
