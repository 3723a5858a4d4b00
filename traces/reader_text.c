/* The key=value text of a recorded run's header and trailer; see reader.h. */
#define _GNU_SOURCE
#include "reader_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef bool text_fn(struct reader *reader, const char *key, const char *value);

static void unescape(char *value)
{
    char *to = value;

    for (; *value; value++) {
        if (*value == '\\' && value[1]) {
            value++;
            *to++ = *value == 'n' ? '\n' : *value;
        } else {
            *to++ = *value;
        }
    }
    *to = 0;
}

/* TEXT has room for a final 0 at [count]. */
static bool each_line(struct reader *reader, char *text, size_t count, text_fn *take)
{
    text[count] = 0;
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n');
        char *equals = strchr(line, '=');
        if (!end || !equals || equals > end)
            return false;
        *end = 0;
        *equals = 0;
        unescape(equals + 1);
        if (!take(reader, line, equals + 1))
            return false;
        line = end + 1;
    }
    return true;
}

static bool take_header_line(struct reader *reader, const char *key, const char *value)
{
    struct trace_info *info = &reader->info;
    size_t used = strlen(info->program);

    if (!strcmp(key, "architecture"))
        return !strcmp(value, "ia32");
    if (!strcmp(key, "made_by"))
        snprintf(info->made_by, sizeof info->made_by, "%.63s", value);
    if (!strcmp(key, "model"))
        snprintf(info->model, sizeof info->model, "%.63s", value);
    if (!strcmp(key, "source"))
        snprintf(info->source, sizeof info->source, "%.63s", value);
    if (!strcmp(key, "program") || !strcmp(key, "argument"))
        snprintf(info->program + used, sizeof info->program - used, "%s%s", used ? " " : "", value);
    return true;
}

static bool number_of(const char *value, uint64_t limit, uint64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoull(value, &end, 10);
    return *value >= '0' && *value <= '9' && !*end && !errno && *number <= limit;
}

static bool take_end(struct trace_end *end, const char *value)
{
    static const char *const how[] = {"exit", "signal", "snippet", "cut"};

    for (unsigned i = 0; i < 4; i++) {
        if (!strcmp(how[i], value)) {
            end->how = i;
            return true;
        }
    }
    return false;
}

static bool take_trailer_line(struct reader *reader, const char *key, const char *value)
{
    struct trace_info *info = &reader->info;
    uint64_t number = 0;

    if (!strcmp(key, "end"))
        return take_end(&info->end, value);
    if (!strcmp(key, "note")) {
        snprintf(info->end.note, sizeof info->end.note, "%s", value);
        return true;
    }
    if (!strcmp(key, "instructions"))
        return number_of(value, UINT64_MAX, &info->instructions);
    if (!strcmp(key, "codes"))
        return number_of(value, UINT32_MAX, &info->codes);
    if (!strcmp(key, "interpreted"))
        return number_of(value, UINT64_MAX, &info->end.interpreted);
    if (!strcmp(key, "stepped"))
        return number_of(value, UINT64_MAX, &info->end.stepped);
    if (!strcmp(key, "signals"))
        return number_of(value, UINT64_MAX, &info->end.signals);
    if (!strcmp(key, "uncounted_processes"))
        return number_of(value, UINT64_MAX, &info->end.uncounted_processes);
    if (!strcmp(key, "status") || !strcmp(key, "processes") || !strcmp(key, "threads")) {
        if (!number_of(value, INT32_MAX, &number))
            return false;
        if (key[0] == 's')
            info->end.status = (int)number;
        else if (key[0] == 'p')
            info->end.processes = (uint32_t)number;
        else
            info->end.threads = (uint32_t)number;
    }
    return true;
}

bool reader_take_header_text(struct reader *reader, char *text, size_t count)
{
    return each_line(reader, text, count, take_header_line);
}

bool reader_take_trailer_text(struct reader *reader, char *text, size_t count)
{
    return each_line(reader, text, count, take_trailer_line);
}
