/* Regions of the command line and of recordings; see regions.h. */
#define _GNU_SOURCE
#include "regions.h"
#include "command.h"

#include <string.h>

_Static_assert(TRACE_REGION_BYTES >= SIM_PART_NAME, "a recording keeps every text of a region");

int regions_take(struct regions *regions, const char *command, const char *text)
{
    char error[512];

    if (regions->count == REGIONS_MOST)
        return complain(EXIT_USAGE, command, "more than %d regions", REGIONS_MOST);
    if (!sim_region_parse(text, &regions->spec[regions->count], error))
        return complain(EXIT_USAGE, command, "%s", error);
    for (size_t i = 0; i < regions->count; i++)
        if (!strcmp(regions->spec[i].text, text))
            return complain(EXIT_USAGE, command, "region '%s' is asked for twice", text);
    regions->count++;
    return EXIT_DONE;
}

int regions_of_recording(struct regions *regions, const char *command, const char *path)
{
    char ignored[512];
    int status;
    size_t count;
    struct trace_source *source = trace_open_file(path, ignored, &status);
    const struct trace_region *region = source ? trace_source_regions(source, &count) : NULL;

    status = EXIT_DONE;
    for (size_t i = 0; region && i < count && !status; i++)
        if (region[i].asked)
            status = regions_take(regions, command, region[i].text);
    if (status)
        complain(0, command, "%s: its regions are not understood; --no-regions replays without",
                 path);
    if (source)
        trace_source_close(source);
    return status ? EXIT_INPUT : EXIT_DONE;
}

void regions_to_keep(const struct regions *regions, struct trace_region keep[REGIONS_MOST])
{
    memset(keep, 0, REGIONS_MOST * sizeof *keep);
    for (size_t i = 0; i < regions->count; i++) {
        keep[i].asked = true;
        memcpy(keep[i].text, regions->spec[i].text, sizeof regions->spec[i].text);
    }
}
