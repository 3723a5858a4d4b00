/*
 * What all readers of dialects share: words, numbers, located errors, remarks.
 */
#define _GNU_SOURCE
#include "dialect.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct dialect_words dialect_words(const char *text, const char *separators)
{
    return (struct dialect_words){.at = text, .separators = separators, .line = 1};
}

static bool separates(const struct dialect_words *w, char c)
{
    return isspace((unsigned char)c) || (c && strchr(w->separators, c));
}

/* A # begins a comment only where a word could begin. */
static void skip(struct dialect_words *w)
{
    while (*w->at && (separates(w, *w->at) || *w->at == '#')) {
        if (*w->at == '#') {
            w->at += strcspn(w->at, "\n");
            continue;
        }
        w->line += *w->at++ == '\n';
    }
}

bool dialect_next(struct dialect_words *w)
{
    size_t length = 0;
    skip(w);
    if (!*w->at)
        return false;
    for (; *w->at && !separates(w, *w->at); w->at++) {
        if (length < sizeof w->word - 1)
            w->word[length++] = *w->at;
        else
            memcpy(w->word + length - 3, "...", 3);
    }
    w->word[length] = '\0';
    return true;
}

bool dialect_error(char error[512], unsigned line, const char *format, ...)
{
    va_list arguments;
    int used = snprintf(error, 512, "line %u: ", line);
    va_start(arguments, format);
    vsnprintf(error + used, 512 - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

static void say(struct dialect_notes *notes, const char *format, va_list arguments)
{
    if (!notes || !notes->to)
        return;
    fputs("note: ", notes->to);
    vfprintf(notes->to, format, arguments);
    fputc('\n', notes->to);
}

void dialect_remark(struct dialect_notes *notes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(notes, format, arguments);
    va_end(arguments);
}

void dialect_lose(struct dialect_notes *notes, const char *format, ...)
{
    va_list arguments;
    if (notes) {
        notes->lost++;
        notes->dropped++;
    }
    va_start(arguments, format);
    say(notes, format, arguments);
    va_end(arguments);
}

void dialect_shorten(struct dialect_notes *notes, const char *format, ...)
{
    va_list arguments;
    if (notes)
        notes->lost++;
    va_start(arguments, format);
    say(notes, format, arguments);
    va_end(arguments);
}

bool dialect_line_begin(struct dialect_line *line, const struct dialect_notes *notes)
{
    *line = (struct dialect_line){.dropped = notes->dropped};
    line->file = open_memstream(&line->text, &line->size);
    return line->file != NULL;
}

void dialect_line_end(struct dialect_line *line, FILE *out, const struct dialect_notes *notes)
{
    fclose(line->file);
    if (notes->dropped == line->dropped && line->text)
        fprintf(out, "%s\n", line->text);
    free(line->text);
}

bool dialect_number(const char *word, int base, uint64_t *value)
{
    char *end;
    if (!isxdigit((unsigned char)word[0]))
        return false;
    errno = 0;
    *value = strtoull(word, &end, base);
    return *end == '\0' && errno == 0;
}
