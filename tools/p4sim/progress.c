/* The progress line: only for eyes on a terminal, rewritten in place, gone when the run ends. */
#include "stat.h"

static void humane(double number, char out[16])
{
    const char *unit = "";
    if (number >= 1e9) {
        number /= 1e9;
        unit = " G";
    } else if (number >= 1e6) {
        number /= 1e6;
        unit = " M";
    } else if (number >= 1e3) {
        number /= 1e3;
        unit = " k";
    }
    snprintf(out, 16, "%.*f%s", *unit ? 2 : 0, number, unit);
}

void stat_progress_show(void *context, const struct sim_progress *progress)
{
    const struct stat_progress *p = context;
    char done[16], speed[16];
    humane((double)progress->instructions, done);
    humane(progress->seconds > 0 ? (double)progress->instructions / progress->seconds : 0, speed);
    fprintf(stderr, "\r\033[K");
    if (p->passes > 1)
        fprintf(stderr, "pass %u of %u: ", p->pass, p->passes);
    fprintf(stderr, "%s instructions, %s/s", done, speed);
    if (progress->share_done >= 0)
        fprintf(stderr, ", %.0f%% done", 100 * progress->share_done);
    fflush(stderr);
}

void stat_progress_clear(void)
{
    fprintf(stderr, "\r\033[K");
}
