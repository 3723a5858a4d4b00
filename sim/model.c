/*
 * Processor models: configs/models/NAME.yaml into struct sim_model.
 *
 * A model is one value for every parameter of the machine, each with the source of the value. The
 * schema expands from netburst_params.def, so a file with a parameter missing, misspelt or out of
 * range does not load, and says in one line where it is wrong.
 *
 * Not modelled: families of models that inherit from each other; every file stands alone.
 */
#define _POSIX_C_SOURCE 200809L
#include "sim.h"
#include "data_path.h"

#include <cyaml/cyaml.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    uint32_t value;
    char *source;
};

struct parameters {
#define P(group, name, ...) struct entry name;
#include "netburst_params.def"
#undef P
};

struct document {
    char *name, *title;
    uint32_t stepping;
    bool hyper_threading;
    struct parameters parameters;
};

static const cyaml_schema_field_t entry_fields[] = {
    CYAML_FIELD_UINT("value", CYAML_FLAG_DEFAULT, struct entry, value),
    CYAML_FIELD_STRING_PTR("source", CYAML_FLAG_POINTER, struct entry, source, 1, CYAML_UNLIMITED),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t parameter_fields[] = {
#define P(group, name, ...)                                                                        \
    CYAML_FIELD_MAPPING(#name, CYAML_FLAG_DEFAULT, struct parameters, name, entry_fields),
#include "netburst_params.def"
#undef P
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t document_fields[] = {
    CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct document, name, 1, 31),
    CYAML_FIELD_STRING_PTR("title", CYAML_FLAG_POINTER, struct document, title, 1, 127),
    CYAML_FIELD_UINT("stepping", CYAML_FLAG_DEFAULT, struct document, stepping),
    CYAML_FIELD_BOOL("hyper_threading", CYAML_FLAG_DEFAULT, struct document, hyper_threading),
    CYAML_FIELD_MAPPING("parameters", CYAML_FLAG_DEFAULT, struct document, parameters,
                        parameter_fields),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t document_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct document, document_fields),
};

/* ---- what libcyaml says, in one line -----------------------------------------------------------
 */

struct complaint {
    char what[256];  /* the first message */
    char where[128]; /* the innermost place it names */
};

static void strip(char *text)
{
    size_t length = strlen(text);
    while (length && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
}

/* libcyaml reports the error first and then, innermost first, the places it was in. */
static void listen(cyaml_log_t level, void *context, const char *format, va_list arguments)
{
    struct complaint *complaint = context;
    char line[256];
    (void)level;
    vsnprintf(line, sizeof line, format, arguments);
    strip(line);
    const char *text = strncmp(line, "Load: ", 6) ? line : line + 6;
    if (!complaint->what[0]) {
        snprintf(complaint->what, sizeof complaint->what, "%s", text);
    } else if (!complaint->where[0] && strstr(text, "line: ")) {
        while (*text == ' ')
            text++;
        snprintf(complaint->where, sizeof complaint->where, "%.127s", text);
    }
}

/* The line on which KEY begins a mapping, for errors that are found after loading; 0 when not
 * found. */
static unsigned line_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    unsigned line = 1;
    for (const char *at = text; *at; line++) {
        const char *start = at + strspn(at, " \t");
        if (!strncmp(start, key, length) && start[length] == ':')
            return line;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return 0;
}

/* ---- from the document to the model ------------------------------------------------------------
 */

static const struct entry *entry_of(const struct document *document, unsigned parameter)
{
    static const size_t offsets[] = {
#define P(group, name, ...) offsetof(struct parameters, name),
#include "netburst_params.def"
#undef P
    };
    return (const struct entry *)(const void *)((const char *)&document->parameters +
                                                offsets[parameter]);
}

static bool parameter_in_range(const char *path, const char *text, const struct nb_param_info *info,
                               uint32_t value, char error[512])
{
    if (value >= info->lowest && value <= info->highest)
        return true;
    snprintf(error, 512, "%.200s:%u: %s is %u %s; allowed are %u to %u (%s)", path,
             line_of(text, info->name), info->name, value, info->unit, info->lowest, info->highest,
             info->text);
    return false;
}

static bool take_parameters(const struct document *document, struct sim_model *model,
                            const char *path, const char *text, char error[512])
{
    for (unsigned i = 0; i < NB_PARAMS; i++) {
        const struct nb_param_info *info = nb_param_info((enum nb_param)i);
        const struct entry *entry = entry_of(document, i);
        if (!parameter_in_range(path, text, info, entry->value, error))
            return false;
        memcpy((char *)&model->params + info->offset, &entry->value, sizeof entry->value);
        model->provenance[i] = strdup(entry->source);
        if (!model->provenance[i]) {
            snprintf(error, 512, "%.200s: out of memory", path);
            return false;
        }
    }
    char why[256];
    if (!nb_params_check(&model->params, why)) {
        snprintf(error, 512, "%.200s: values do not fit each other: %s", path, why);
        return false;
    }
    return true;
}

static bool take_document(const struct document *document, struct sim_model *model,
                          const char *path, const char *text, char error[512])
{
    snprintf(model->name, sizeof model->name, "%s", document->name);
    snprintf(model->title, sizeof model->title, "%s", document->title);
    if (document->stepping > 15) {
        snprintf(error, 512, "%.200s:%u: stepping is %u; allowed are 0 to 15", path,
                 line_of(text, "stepping"), document->stepping);
        return false;
    }
    model->stepping = document->stepping;
    model->hyper_threading = document->hyper_threading;
    return take_parameters(document, model, path, text, error);
}

static bool load_text(const char *path, const char *text, struct sim_model *model, char error[512])
{
    struct complaint complaint = {{0}, {0}};
    const cyaml_config_t config = {
        .log_fn = listen,
        .log_ctx = &complaint,
        .log_level = CYAML_LOG_ERROR,
        .mem_fn = cyaml_mem,
        .flags = CYAML_CFG_DEFAULT,
    };
    cyaml_data_t *data = NULL;
    cyaml_err_t status = cyaml_load_data((const uint8_t *)text, strlen(text), &config,
                                         &document_schema, &data, NULL);
    if (status != CYAML_OK || !data) {
        snprintf(error, 512, "%.200s: %.160s%s%.120s", path,
                 complaint.what[0] ? complaint.what : "the file is empty",
                 complaint.where[0] ? ", " : "", complaint.where);
        return false;
    }
    bool good = take_document(data, model, path, text, error);
    cyaml_free(&config, &document_schema, data, 0);
    return good;
}

/* ---- files -------------------------------------------------------------------------------------
 */

static char *read_whole(FILE *file)
{
    enum { LIMIT = 1 << 20 };
    char *text = malloc(LIMIT);
    if (!text)
        return NULL;
    size_t length = fread(text, 1, LIMIT - 1, file);
    text[length] = '\0';
    return text;
}

static bool load_path(const char *path, struct sim_model *model, char error[512])
{
    FILE *file = fopen(path, "r");
    if (!file) {
        snprintf(error, 512, "%.300s: %s; expected a model file in YAML", path, strerror(errno));
        return false;
    }
    char *text = read_whole(file);
    bool failed = !text || ferror(file);
    fclose(file);
    if (failed)
        snprintf(error, 512, "%.300s: cannot be read", path);
    bool good = !failed && load_text(path, text, model, error);
    free(text);
    return good;
}

static bool is_path(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 5 && !strcmp(name + length - 5, ".yaml"));
}

/* The first folder that has models/NAME.yaml. */
static bool find_model(const char *name, char path[4096 + 300])
{
    for (unsigned place = 0; place < SIM_DATA_PLACES; place++) {
        char folder[4096];
        sim_data_folder(place, folder, sizeof folder);
        if (!folder[0])
            continue;
        snprintf(path, 4096 + 300, "%s/models/%.255s.yaml", folder, name);
        FILE *file = fopen(path, "r");
        if (file) {
            fclose(file);
            return true;
        }
    }
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static size_t add_folder(const char *folder, char (*names)[32], size_t count, size_t limit)
{
    char path[4096 + 16];
    snprintf(path, sizeof path, "%s/models", folder);
    DIR *dir = opendir(path);
    for (const struct dirent *entry; dir && count < limit && (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && length < 37 && !strcmp(entry->d_name + length - 5, ".yaml"))
            snprintf(names[count++], 32, "%.*s", (int)(length - 5), entry->d_name);
    }
    if (dir)
        closedir(dir);
    return count;
}

size_t sim_model_names(char (*names)[32], size_t limit)
{
    size_t count = 0;
    for (unsigned place = 0; place < SIM_DATA_PLACES && !count; place++) {
        char folder[4096];
        sim_data_folder(place, folder, sizeof folder);
        if (folder[0])
            count = add_folder(folder, names, count, limit);
    }
    qsort(names, count, 32, by_name);
    return count;
}

static void unknown_model(const char *name, char error[512])
{
    char names[32][32];
    size_t count = sim_model_names(names, 32);
    int used = snprintf(error, 512, "no model named '%.60s'; ", name);
    used += snprintf(error + used, 512 - (size_t)used,
                     count ? "there are" : "no models folder was found, set P4SIM_CONFIGS");
    for (size_t i = 0; i < count && used < 470; i++)
        used += snprintf(error + used, 512 - (size_t)used, "%s %s", i ? "," : "", names[i]);
}

bool sim_model_load(const char *name, struct sim_model *model, char error[512])
{
    char path[4096 + 300];
    memset(model, 0, sizeof *model);
    if (!is_path(name) && !find_model(name, path)) {
        unknown_model(name, error);
        return false;
    }
    bool good = load_path(is_path(name) ? name : path, model, error);
    if (!good)
        sim_model_free(model);
    return good;
}

void sim_model_free(struct sim_model *model)
{
    for (unsigned i = 0; i < NB_PARAMS; i++)
        free(model->provenance[i]);
    memset(model, 0, sizeof *model);
}
