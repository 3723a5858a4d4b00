/*
 * Names: Capstone has one id per spelling (jne, cmovb, lodsd, cmpltps); uop rows and meanings
 * belong to families.
 *
 * Bytes that later parts gave a meaning and the Pentium 4 executed as something older are named
 * after the older: TZCNT and LZCNT are BSF and BSR with an ignored prefix, ENDBR32 is a NOP with a
 * memory operand's form (SDM volume 2, notes of these instructions).
 */
#include "decode.h"
#include <string.h>

static const struct nb_name names[] = {
#define A  1
#define C  2
#define D  4
#define B  8
#define SP 16
#define BP 32
#define SI 64
#define DI 128
#define N(name, flow, flags, reads, writes, class, isa)                                            \
    {name, NB_FLOW_##flow, NB_FLAGS_##flags, NB_CLASS_##class, NB_ISA_##isa, reads, writes},
#include "decode_names.def"
#undef N
};

static const struct {
    const char *alias, *name;
} aliases[] = {
    {"sal", "shl"},           {"tzcnt", "bsf"},     {"lzcnt", "bsr"},        {"endbr32", "nop"},
    {"endbr64", "nop"},       {"pushaw", "pusha"},  {"pushal", "pusha"},     {"popaw", "popa"},
    {"popal", "popa"},        {"pushfd", "pushf"},  {"pushfq", "pushf"},     {"popfd", "popf"},
    {"popfq", "popf"},        {"iretd", "iret"},    {"iretq", "iret"},       {"int1", "int"},
    {"int3", "int"},          {"retfq", "retf"},    {"xlat", "xlatb"},       {"fwait", "wait"},
    {"ud2b", "ud2"},          {"ud0", "ud2"},       {"fstpnce", "fstp"},     {"fxsave64", "fxsave"},
    {"fxrstor64", "fxrstor"}, {"setalc", "salc"},   {"sysexitq", "sysexit"}, {"sysretq", "sysret"},
    {"loopz", "loope"},       {"loopnz", "loopne"},
};

static bool starts(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* The string family when the opcode is one of the string instructions', else NULL. */
static const char *string_family(const cs_x86 *x86)
{
    switch (x86->opcode[0]) {
    case 0x6C:
    case 0x6D:
        return "ins";
    case 0x6E:
    case 0x6F:
        return "outs";
    case 0xA4:
    case 0xA5:
        return "movs";
    case 0xA6:
    case 0xA7:
        return "cmps";
    case 0xAA:
    case 0xAB:
        return "stos";
    case 0xAC:
    case 0xAD:
        return "lods";
    case 0xAE:
    case 0xAF:
        return "scas";
    default:
        return NULL;
    }
}

/* Families told by the opcode, where spellings are many. */
static const char *family_by_opcode(const cs_insn *insn, const char *spelling)
{
    const cs_x86 *x86 = &insn->detail->x86;
    if (x86->opcode[0] != 0x0F)
        return x86->opcode[0] >= 0x70 && x86->opcode[0] <= 0x7F ? "jcc" : string_family(x86);
    if (starts(spelling, "cmov"))
        return "cmovcc";
    if (x86->opcode[1] >= 0x80 && x86->opcode[1] <= 0x8F && spelling[0] == 'j')
        return "jcc";
    if (starts(spelling, "set") && x86->opcode[1] >= 0x90 && x86->opcode[1] <= 0x9F)
        return "setcc";
    if (x86->opcode[1] != 0xC2 || !starts(spelling, "cmp"))
        return NULL;
    switch (spelling[strlen(spelling) - 2]) {
    case 's':
        return spelling[strlen(spelling) - 1] == 's' ? "cmpss" : "cmpsd";
    default:
        return spelling[strlen(spelling) - 1] == 's' ? "cmpps" : "cmppd";
    }
}

static const char *family(const cs_insn *insn, const char *spelling)
{
    if (spelling[0] == 'v' && !starts(spelling, "ver"))
        return spelling; /* AVX reuses the opcodes of SSE */
    const char *by_opcode = family_by_opcode(insn, spelling);
    if (by_opcode)
        return by_opcode;
    if (starts(spelling, "fcmov"))
        return "fcmovcc";
    if (strcmp(spelling, "imul") == 0) {
        uint8_t n = insn->detail->x86.op_count;
        return n == 1 ? "imul1" : n == 3 ? "imul3" : spelling;
    }
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (nb_same_name(aliases[i].alias, spelling))
            return aliases[i].name;
    return spelling;
}

void nb_canonical_name(csh capstone, const cs_insn *insn, char name[NB_NAME_BYTES])
{
    const char *spelling = cs_insn_name(capstone, insn->id);
    const char *found = spelling ? family(insn, spelling) : "";
    size_t n = strlen(found) < NB_NAME_BYTES ? strlen(found) : NB_NAME_BYTES - 1;
    memcpy(name, found, n);
    name[n] = '\0';
}

const struct nb_name *nb_name_find(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (nb_same_name(names[i].name, name))
            return &names[i];
    return NULL;
}

const struct nb_name *nb_name_at(size_t index)
{
    return index < sizeof names / sizeof names[0] ? &names[index] : NULL;
}
