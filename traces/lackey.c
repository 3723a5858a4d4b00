/*
 * The text of valgrind's lackey as a plain stream.
 *
 * The text has addresses and sizes; an instruction's bytes come from the program's ELF file. With
 * them it is known which accesses the instruction does, and lackey's are matched with these: reads
 * with reads and writes with writes, in their order; of one that lackey shows in parts (pusha) the
 * lowest address. Without them a stand-in takes the first read and the first write.
 *
 * Lackey shows each repetition of a string instruction, and the look at the counter that ends it,
 * as an instruction; they become one. It does not tell threads and processes apart.
 */
#define _GNU_SOURCE
#include "elf_code.h"
#include "flow.h"
#include "lackey_line.h"
#include "recipe.h"
#include "stand_in.h"
#include "writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    PROGRAMS_MAX = 64,
    PARTS_MAX = 32,      /* reads, and writes, kept of one instruction; pusha has 8 */
    STEP_BYTES_MAX = 256 /* a code and a step, as records */
};

struct parts {
    unsigned count;
    struct lackey_line list[PARTS_MAX];
};

/* The instruction being read: complete when the next one begins. */
struct step {
    bool valid;
    uint64_t ip;
    unsigned length;
    int64_t code; /* its number where its bytes are known; else -1 */
    bool repeats, backward, accessed;
    uint32_t repetitions;
    uint64_t last_address; /* of a string instruction's first access in the element before */
    struct parts reads, writes;
};

struct lackey {
    const struct trace_import *import;
    struct trace_imported *imported;
    FILE *file;
    struct writer *writer;
    struct recipe_decoder *decoder;
    struct elf_code *programs[PROGRAMS_MAX];
    bool long_mode;
    struct flow_codes codes;
    struct recipe *recipes; /* by code */
    size_t recipe_capacity;
    struct stream_buffer log, accesses;
    uint64_t chunk_first;
    struct step step;
    unsigned long long damage; /* the line that is none, or 0 */
    char *error;
};

static bool fail(struct lackey *lackey, const char *what)
{
    if (!lackey->error[0])
        snprintf(lackey->error, 512, "%.300s: %s", lackey->import->from, what);
    return false;
}

/* ---- static instructions -----------------------------------------------------------------------
 */

static bool make_room(struct lackey *lackey)
{
    struct recipe *bigger;

    if (lackey->recipe_capacity == lackey->codes.capacity)
        return true;
    bigger = realloc(lackey->recipes, lackey->codes.capacity * sizeof *bigger);
    if (!bigger)
        return false;
    lackey->recipes = bigger;
    lackey->recipe_capacity = lackey->codes.capacity;
    return true;
}

/* Adds it to table and log; gives its number, or -1 without memory. */
static int64_t add_code(struct lackey *lackey, uint64_t ip, unsigned shape,
                        const struct recipe *recipe)
{
    int64_t number = lackey->codes.count;

    if (lackey->long_mode)
        shape |= FLOW_LONG_MODE;
    if (!flow_add(&lackey->codes, ip, shape, recipe->bytes) || !make_room(lackey)) {
        fail(lackey, "no memory for so many static instructions");
        return -1;
    }
    lackey->recipes[number] = *recipe;
    stream_put_byte(&lackey->log, FLOW_CODE);
    stream_put_byte(&lackey->log, shape);
    stream_put_varint(&lackey->log, ip);
    stream_put_bytes(&lackey->log, recipe->bytes, shape & FLOW_LENGTH);
    return number;
}

static bool is_real(const void *wanted, const struct flow_code *code)
{
    return (code->shape & FLOW_LENGTH) == *(const unsigned *)wanted &&
           !(code->shape & FLOW_STAND_IN);
}

/* The number of the instruction of LENGTH bytes that a program has at IP, or -1. */
static int64_t real_code(struct lackey *lackey, uint64_t ip, unsigned length)
{
    enum recipe_mode mode = lackey->long_mode ? RECIPE_64 : RECIPE_32;
    int64_t number = flow_find(&lackey->codes, ip, is_real, &length);
    uint8_t bytes[TRACE_INSTRUCTION_BYTES];
    struct recipe recipe;

    for (size_t i = 0; number < 0 && i < lackey->import->program_count; i++) {
        size_t count = elf_code_at(lackey->programs[i], ip, bytes, sizeof bytes);
        if (count && recipe_decode(lackey->decoder, mode, bytes, count, &recipe) &&
            recipe.length == length)
            return add_code(lackey, ip,
                            length | (recipe.kind == RECIPE_SYSTEM_CALL ? FLOW_SYSTEM_CALL : 0u),
                            &recipe);
    }
    return number;
}

static bool is_same(const void *wanted, const struct flow_code *code)
{
    const struct recipe *recipe = wanted;

    return (code->shape & FLOW_STAND_IN) && (code->shape & FLOW_LENGTH) == recipe->length &&
           !memcmp(code->bytes, recipe->bytes, recipe->length);
}

static int64_t stand_in_code(struct lackey *lackey, const struct step *step, bool jumps)
{
    struct recipe recipe = {.length = (uint8_t)step->length, .kind = RECIPE_UNKNOWN};
    bool reads = step->reads.count, writes = step->writes.count;
    int64_t number;

    if (stand_in(step->length, reads, writes, jumps, recipe.bytes)) {
        if (reads)
            recipe.access[recipe.access_count++].size = (uint16_t)step->reads.list[0].size;
        if (writes)
            recipe.access[recipe.access_count++] =
                (struct recipe_access){.size = (uint16_t)step->writes.list[0].size, .write = true};
    }
    lackey->imported->unknown++;
    number = flow_find(&lackey->codes, step->ip, is_same, &recipe);
    return number < 0 ? add_code(lackey, step->ip, step->length | FLOW_STAND_IN, &recipe) : number;
}

/* ---- executed instructions ---------------------------------------------------------------------
 */

/* The access of the text that belongs to access INDEX of the recipe. NULL: it has none. */
static const struct lackey_line *part_for(const struct recipe *recipe, unsigned index,
                                          const struct parts *parts)
{
    unsigned before = 0, alike = 0;
    const struct lackey_line *lowest = &parts->list[0];

    for (unsigned i = 0; i < recipe->access_count; i++) {
        if (recipe->access[i].write != recipe->access[index].write)
            continue;
        before += i < index;
        alike++;
    }
    if (before >= parts->count)
        return NULL;
    if (alike > 1)
        return &parts->list[before];
    for (unsigned i = 1; i < parts->count; i++)
        if (parts->list[i].address < lowest->address)
            lowest = &parts->list[i];
    return lowest;
}

/* Writes the accesses of a step; gives their number. Missing ones are at the end of their kind. */
static unsigned put_accesses(struct lackey *lackey, const struct step *step, uint32_t number,
                             struct stream_buffer *out)
{
    const struct recipe *recipe = &lackey->recipes[number];
    uint64_t *last = lackey->codes.list[number].last;
    unsigned count = 0;

    for (unsigned i = 0; i < recipe->access_count; i++) {
        bool write = recipe->access[i].write;
        const struct lackey_line *part = part_for(recipe, i, write ? &step->writes : &step->reads);
        if (!part) {
            lackey->imported->without += step->repetitions != 0;
            continue;
        }
        /* What stands in the recipe is how far the instruction reaches: lackey shows parts. */
        unsigned size = recipe->access[i].size ? recipe->access[i].size : part->size;
        stream_put_varint(out, (uint64_t)size << 1 | write);
        stream_put_varint(out, stream_zigzag(part->address - last[count]));
        last[count++] = part->address;
    }
    return count;
}

static void flush(struct lackey *lackey)
{
    uint64_t count = lackey->imported->instructions - lackey->chunk_first;

    if (lackey->log.failed)
        writer_fail(lackey->writer, "no memory");
    if (count)
        writer_chunk(lackey->writer, STREAM_LOG, lackey->chunk_first, count, lackey->log.bytes,
                     lackey->log.used);
    lackey->log.used = 0;
    lackey->chunk_first = lackey->imported->instructions;
}

static unsigned shape_of(const struct step *step, const struct recipe *recipe, bool jumps)
{
    bool broken = jumps && recipe->kind != RECIPE_UNKNOWN && !recipe->effects.branch;

    return (step->repetitions != 1 ? FLOW_REPEATED : 0u) | (step->backward ? FLOW_BACKWARD : 0u) |
           (broken ? FLOW_BROKEN : 0u);
}

/* The instruction read is complete: the next one stands at NEXT_IP. */
static bool finish_step(struct lackey *lackey, uint64_t next_ip)
{
    struct step *step = &lackey->step;
    bool jumps = next_ip != step->ip + step->length;
    struct stream_buffer *accesses = &lackey->accesses;
    unsigned count;

    if (!step->valid)
        return true;
    step->valid = false;
    if (lackey->log.used > STREAM_CHUNK_RAW_MAX - STEP_BYTES_MAX ||
        lackey->imported->instructions - lackey->chunk_first == STREAM_CHUNK_INSTRUCTIONS)
        flush(lackey);
    if (!step->repeats)
        step->repetitions = 1;
    if (step->code < 0 && (step->code = stand_in_code(lackey, step, jumps)) < 0)
        return false;
    accesses->used = 0;
    count = put_accesses(lackey, step, (uint32_t)step->code, accesses);
    stream_put_byte(&lackey->log, FLOW_STEP);
    stream_put_varint(&lackey->log, (uint64_t)step->code);
    stream_put_byte(&lackey->log, count | shape_of(step, &lackey->recipes[step->code], jumps));
    if (step->repetitions != 1)
        stream_put_varint(&lackey->log, step->repetitions);
    stream_put_bytes(&lackey->log, accesses->bytes, accesses->used);
    lackey->imported->instructions++;
    return !writer_error(lackey->writer);
}

/* ---- lines -------------------------------------------------------------------------------------
 */

/* A repeated string instruction goes on: another element, or the end of the last. */
static bool continues(const struct lackey *lackey, const struct lackey_line *line)
{
    const struct step *step = &lackey->step;

    return step->valid && step->repeats && step->ip == line->address && step->length == line->size;
}

static bool take_instruction(struct lackey *lackey, const struct lackey_line *line)
{
    struct step *step = &lackey->step;

    if (continues(lackey, line)) {
        step->accessed = false;
        return true;
    }
    if (!finish_step(lackey, line->address))
        return false;
    *step = (struct step){.valid = true, .ip = line->address, .length = line->size};
    step->code = real_code(lackey, step->ip, step->length);
    step->repeats = step->code >= 0 && lackey->recipes[step->code].repeated;
    return !lackey->error[0];
}

static void add_part(struct step *step, struct parts *parts, const struct lackey_line *line)
{
    bool first_of_element = step->repeats && !step->accessed;

    if (first_of_element) {
        step->repetitions++;
        step->accessed = true;
        if (step->repetitions == 2)
            step->backward = line->address < step->last_address;
        step->last_address = line->address;
    }
    if ((!step->repeats || step->repetitions == 1) && parts->count < PARTS_MAX)
        parts->list[parts->count++] = *line;
}

static bool take_line(struct lackey *lackey, const char *text)
{
    struct lackey_line line = lackey_line(text);
    struct step *step = &lackey->step;

    if (line.kind == LACKEY_MESSAGE)
        return true;
    if (line.kind == LACKEY_INSTRUCTION)
        return take_instruction(lackey, &line);
    if (line.kind == LACKEY_MALFORMED)
        return fail(lackey,
                    "expected \"I  address,size\", \" L \", \" S \" or \" M \" likewise, as "
                    "valgrind --tool=lackey --trace-mem=yes writes them");
    if (!step->valid)
        return fail(lackey, "an access before the first instruction");
    if (line.kind != LACKEY_STORE)
        add_part(step, &step->reads, &line);
    if (line.kind != LACKEY_LOAD)
        add_part(step, &step->writes, &line);
    return true;
}

/* A line that is none; what stands before it is good. */
static bool stop_at(struct lackey *lackey, unsigned long long line)
{
    char what[400];

    snprintf(what, sizeof what, "%.390s", strstr(lackey->error, ": ") + 2);
    snprintf(lackey->error, 512, "%.90s: line %llu: %s", lackey->import->from, line, what);
    lackey->damage = line;
    return false;
}

static bool take_lines(struct lackey *lackey)
{
    unsigned long long number = 0;
    char text[512];
    bool inside = false; /* a message longer than the text: this is more of it */

    while (fgets(text, sizeof text, lackey->file)) {
        bool more = inside;
        inside = !strchr(text, '\n');
        number += !more;
        if (more || take_line(lackey, text))
            continue;
        return !writer_error(lackey->writer) && stop_at(lackey, number);
    }
    if (ferror(lackey->file))
        return fail(lackey, strerror(errno));
    if (!finish_step(lackey, lackey->step.ip + lackey->step.length))
        return false;
    return lackey->imported->instructions || fail(lackey, "there is no instruction in it");
}

/* ---- beginning and end -------------------------------------------------------------------------
 */

/* PATH or PATH@ADDRESS. */
static struct elf_code *open_program(const char *text, char error[512])
{
    const char *at = strrchr(text, '@');
    char path[4096], *end;
    uint64_t base = at ? strtoull(at + 1, &end, 16) : 0;

    if (at && (end == at + 1 || *end))
        at = NULL, base = 0; /* part of the name */
    snprintf(path, sizeof path, "%.*s", at ? (int)(at - text) : (int)strlen(text), text);
    return elf_code_open(path, base, error);
}

static bool open_programs(struct lackey *lackey)
{
    const struct trace_import *import = lackey->import;

    lackey->long_mode = import->long_mode;
    if (import->program_count > PROGRAMS_MAX)
        return fail(lackey, "at most 64 programs can have its code");
    for (size_t i = 0; i < import->program_count; i++) {
        lackey->programs[i] = open_program(import->programs[i], lackey->error);
        if (!lackey->programs[i])
            return false;
        if (i && elf_code_is_64(lackey->programs[i]) != lackey->long_mode)
            return fail(lackey, "its programs are of 32 and of 64 bits, expected one kind");
        lackey->long_mode = elf_code_is_64(lackey->programs[i]);
    }
    return true;
}

static bool open_output(struct lackey *lackey)
{
    struct stream_buffer text = {0};

    writer_text(&text, "architecture", "ia32");
    writer_text(&text, "contents", "flow");
    writer_text(&text, "made_by", TRACES_MADE_BY);
    writer_text(&text, "source", "lackey");
    writer_text(&text, "program", lackey->import->from);
    lackey->writer = writer_open(lackey->import->to, &text, lackey->error);
    free(text.bytes);
    return lackey->writer != NULL;
}

static void write_note(const struct lackey *lackey, struct stream_buffer *text)
{
    const struct trace_imported *imported = lackey->imported;
    char note[250], upto[64] = "";

    if (lackey->damage)
        snprintf(upto, sizeof upto, " up to line %llu, which is damaged", lackey->damage);
    snprintf(note, sizeof note,
             "imported%s: of %llu instructions the bytes of %llu are unknown (stand-ins), "
             "%llu accesses have no address; values, threads and wrong paths' accesses are unknown",
             upto, (unsigned long long)imported->instructions,
             (unsigned long long)imported->unknown, (unsigned long long)imported->without);
    writer_text(text, "note", note);
}

static bool finish_output(struct lackey *lackey)
{
    struct stream_buffer text = {0};

    flush(lackey);
    writer_text_number(&text, "instructions", lackey->imported->instructions);
    writer_text_number(&text, "codes", lackey->codes.count);
    writer_text(&text, "end", "cut");
    writer_text_number(&text, "status", 0);
    writer_text_number(&text, "processes", 1);
    writer_text_number(&text, "threads", 1);
    write_note(lackey, &text);
    writer_finish(lackey->writer, lackey->imported->instructions, &text);
    free(text.bytes);
    return !writer_error(lackey->writer);
}

static bool open_input(struct lackey *lackey)
{
    lackey->decoder = recipe_decoder_new();
    lackey->file = fopen(lackey->import->from, "re");
    if (!lackey->file)
        return fail(lackey, strerror(errno));
    return lackey->decoder || fail(lackey, "no memory for the disassembler");
}

static void close_all(struct lackey *lackey)
{
    for (size_t i = 0; i < PROGRAMS_MAX; i++)
        elf_code_close(lackey->programs[i]);
    if (lackey->file)
        fclose(lackey->file);
    recipe_decoder_free(lackey->decoder);
    writer_close(lackey->writer);
    flow_free(&lackey->codes);
    free(lackey->recipes);
    free(lackey->log.bytes);
    free(lackey->accesses.bytes);
}

bool trace_import_lackey(const struct trace_import *import, struct trace_imported *imported,
                         char error[512], int *status)
{
    struct lackey lackey = {.import = import, .imported = imported, .error = error};
    bool good;

    *imported = (struct trace_imported){0};
    *status = 3;
    error[0] = 0;
    good = open_input(&lackey) && open_programs(&lackey) && open_output(&lackey) &&
           take_lines(&lackey);
    if (good)
        good = finish_output(&lackey);
    else if (lackey.damage)
        imported->partial = finish_output(&lackey);
    if (!good && lackey.writer && writer_error(lackey.writer))
        snprintf(error, 512, "%s", writer_error(lackey.writer));
    close_all(&lackey);
    return good;
}
