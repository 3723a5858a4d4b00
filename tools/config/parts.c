/*
 * Which part: by name, by signature or by model number.
 */
#define _GNU_SOURCE
#include "parts.h"
#include "request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct part parts[] = {
#define PART(name, model, stepping, ht, title, source) {#name, model, stepping, ht, title, source},
#include "parts.def"
#undef PART
};

enum { PARTS = sizeof parts / sizeof parts[0] };

const struct part *part(size_t index)
{
    return index < PARTS ? &parts[index] : NULL;
}

static bool is_model(unsigned long model)
{
    return model < 32 && (P4PMU_ALL_MODELS >> model & 1);
}

/* F29, f29h, or 2. */
static bool by_number(const char *name, struct part *found)
{
    char *end;
    bool signature = name[0] == 'F' || name[0] == 'f';
    unsigned long n = strtoul(name + signature, &end, signature ? 16 : 10);
    if (end == name + signature || (*end && strcasecmp(end, "h")) || (!signature && *end))
        return false;
    found->model = (unsigned)(signature ? n >> 4 : n);
    found->stepping = (unsigned)(signature ? n & 0xF : 9);
    return (!signature || end - name == 3) && is_model(found->model);
}

bool part_find(const char *name, struct part *found, char error[512])
{
    const char *names[PARTS];
    char near[120];
    for (size_t i = 0; i < PARTS; i++) {
        names[i] = parts[i].name;
        if (!strcasecmp(name, parts[i].name)) {
            *found = parts[i];
            return true;
        }
    }
    *found = (struct part){.name = name, .title = ""};
    if (by_number(name, found))
        return true;
    sim_near(name, names, PARTS, near, sizeof near);
    int used = snprintf(error, 512, "no part '%.60s'%s%s%s; there are", name,
                        near[0] ? "; did you mean" : "", near, near[0] ? "?" : "");
    for (size_t i = 0; i < PARTS; i++)
        used += snprintf(error + used, 512 - (size_t)used, "%s %s", i ? "," : "", names[i]);
    snprintf(error + used, 512 - (size_t)used, ", a signature such as F29, or a model 0 to 4 or 6");
    return false;
}

void part_take(const struct part *part, struct config *config)
{
    config->model = part->model;
    config->stepping = part->stepping;
    config->hyper_threading = part->hyper_threading;
}

void part_title(const struct config *config, char *out, size_t size)
{
    snprintf(out, size, "family 15 model %u stepping %u (F%X%XH), Hyper-Threading %s",
             config->model, config->stepping, config->model, config->stepping,
             config->hyper_threading ? "on" : "off");
}
