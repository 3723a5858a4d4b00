/*
 * The curves of a suite as data files FOLDER/PLOT.data: a block for each curve (x, simulated,
 * published or ?), separated as gnuplot's `index` wants it; its pairs likewise, a line for each
 * pair. tools/validation draws them.
 */
#define _POSIX_C_SOURCE 200809L
#include "validate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool write_curve(struct judge *judge, const struct suite_curve *curve, FILE *file,
                        char error[512])
{
    fprintf(file, "# %s (%s): x, simulated, published\n", curve->label, curve->model);
    for (unsigned i = 0; i < curve->points_count; i++) {
        double y;
        if (!judge_point(judge, curve, &curve->points[i], &y, error))
            return false;
        fprintf(file, "%g %.5g ", curve->points[i].x, y);
        if (curve->points[i].published > 0)
            fprintf(file, "%g\n", curve->points[i].published);
        else
            fputs("?\n", file);
    }
    fputs("\n\n", file);
    return true;
}

/* How fast each kernel runs beside each: a line for each pair with the place of the other, its own
 * place, its speed relative to its speed alone, and the labels of both. */
static bool write_square(struct judge *judge, const struct suite_pairs *pairs, FILE *file,
                         char error[512])
{
    fprintf(file, "# %s (%s): beside, kernel, speed relative to alone, labels\n", pairs->label,
            pairs->model);
    for (unsigned a = 0; a < pairs->kernels_count; a++) {
        double alone, together;
        if (!judge_pair(judge, pairs, a, -1, &alone, error))
            return false;
        for (unsigned b = 0; b < pairs->kernels_count; b++) {
            if (!judge_pair(judge, pairs, a, (int)b, &together, error))
                return false;
            fprintf(file, "%u %u %.3f \"%s\" \"%s\"\n", b, a, alone / together,
                    pairs->kernels[b].label, pairs->kernels[a].label);
        }
    }
    fputs("\n\n", file);
    return true;
}

/* One file of a plot: its curves, or its pairs. */
static int write_plot(struct judge *judge, const char *plot, const char *folder)
{
    char path[4096], error[512] = "";
    snprintf(path, sizeof path, "%.3900s/%.150s.data", folder, plot);
    FILE *file = fopen(path, "w");
    if (!file)
        return complain(EXIT_INPUT, "validate", "%s: %s", path, strerror(errno));
    const struct suite *suite = judge->suite;
    bool good = true;
    for (unsigned i = 0; good && i < suite->curves_count; i++)
        if (!strcmp(suite->curves[i].plot, plot))
            good = write_curve(judge, &suite->curves[i], file, error);
    for (unsigned i = 0; good && i < suite->pairs_count; i++)
        if (!strcmp(suite->pairs[i].plot, plot))
            good = write_square(judge, &suite->pairs[i], file, error);
    bool closed = close_output(file);
    if (!good)
        return complain(EXIT_INPUT, "validate", "plot %s: %s", plot, error);
    return closed ? EXIT_DONE : complain(EXIT_INPUT, "validate", "%s: %s", path, strerror(errno));
}

int validate_plots(struct judge *judge, const char *folder)
{
    int status = EXIT_DONE;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return complain(EXIT_INPUT, "validate", "%s: %s", folder, strerror(errno));
    for (const char *plot = suite_plot(judge->suite, NULL); plot && !status;
         plot = suite_plot(judge->suite, plot))
        status = write_plot(judge, plot, folder);
    return status;
}
