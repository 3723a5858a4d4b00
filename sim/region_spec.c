/* What --region asks for, in words; see parts.h. */
#define _GNU_SOURCE
#include "parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_range(const char *text, struct sim_region_spec *spec)
{
    char *end;

    errno = 0;
    if (!isdigit((unsigned char)text[0]))
        return false;
    spec->from = strtoull(text, &end, 0);
    if (*end != '-' || !isdigit((unsigned char)end[1]))
        return false;
    spec->to = strtoull(end + 1, &end, 0);
    return !*end && !errno && spec->from != spec->to;
}

static bool parse_parts(const char *text, struct sim_region_spec *spec)
{
    const char *colon = strchr(text, ':');
    size_t kind = colon ? (size_t)(colon - text) : strlen(text);
    const char *rest = colon ? colon + 1 : "";

    snprintf(spec->name, sizeof spec->name, "%s", rest);
    if (kind == 8 && !strncmp(text, "function", kind)) {
        spec->kind = SIM_REGION_FUNCTION;
        return *rest;
    }
    if (kind == 7 && !strncmp(text, "address", kind)) {
        spec->kind = SIM_REGION_ADDRESS;
        return parse_range(rest, spec);
    }
    spec->kind = SIM_REGION_MARKER;
    return kind == 6 && !strncmp(text, "marker", kind) && (!colon || *rest);
}

bool sim_region_parse(const char *text, struct sim_region_spec *spec, char error[512])
{
    memset(spec, 0, sizeof *spec);
    if (strlen(text) >= sizeof spec->text) {
        snprintf(error, 512, "region '%.40s...': longer than %zu characters", text,
                 sizeof spec->text - 1);
        return false;
    }
    snprintf(spec->text, sizeof spec->text, "%s", text);
    if (parse_parts(text, spec))
        return true;
    snprintf(error, 512,
             "region '%s': expected function:NAME, address:FROM-TO (two different addresses, say "
             "0x8049000-0x8049020), marker:NAME or marker",
             text);
    return false;
}
