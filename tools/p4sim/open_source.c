/* Opening what is to be run; see open_source.h. */
#define _GNU_SOURCE
#include "open_source.h"
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path, char error[512])
{
    enum { LIMIT = 1 << 20 };
    FILE *file = fopen(path, "r");
    char *text = file ? malloc(LIMIT) : NULL;
    size_t length = text ? fread(text, 1, LIMIT, file) : 0;
    bool good = text && !ferror(file) && length < LIMIT;
    if (good)
        text[length] = '\0';
    else
        snprintf(error, 512, "%.300s: %s", path,
                 length == LIMIT ? "larger than 1 MB; expected a short assembly file"
                                 : strerror(errno));
    if (file)
        fclose(file);
    if (!good) {
        free(text);
        return NULL;
    }
    return text;
}

static struct trace_source *open_snippet(const struct source_choice *choice,
                                         struct sim_model *model, char error[512], int *status)
{
    char *text = choice->snippet ? read_file(choice->snippet, error) : NULL;
    *status = EXIT_INPUT;
    if (choice->snippet && !text)
        return NULL;
    struct trace_source *source = trace_open_snippet(
        text ? text : choice->assembly, choice->snippet ? choice->snippet : "the command line",
        choice->long_mode, sim_model_cpuid, model, error, status);
    free(text);
    return source;
}

struct trace_source *open_source(const struct source_choice *choice, struct sim_model *model,
                                 char error[512], int *status)
{
    if (choice->recording)
        return trace_open_file_at(choice->recording, choice->from, error, status);
    if (choice->snippet || choice->assembly)
        return open_snippet(choice, model, error, status);
    return trace_open_live(&(struct trace_live_options){.argv = choice->argv,
                                                        .cpuid = sim_model_cpuid,
                                                        .cpuid_context = model,
                                                        .record_to = choice->record_to,
                                                        .regions = choice->regions,
                                                        .region_count = choice->region_count,
                                                        .short_turns = choice->short_turns,
                                                        .model = model->name,
                                                        .long_mode = model->params.em64t},
                           error, status);
}

void source_text(const struct source_choice *choice, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    if (!choice->argv) {
        snprintf(out, size, "%s",
                 choice->recording ? choice->recording
                 : choice->snippet ? choice->snippet
                                   : choice->assembly);
        return;
    }
    for (char *const *word = choice->argv; *word && used < size; word++) {
        int n = snprintf(out + used, size - used, "%s%s", used ? " " : "", *word);
        used += n > 0 ? (size_t)n : 0;
    }
}
