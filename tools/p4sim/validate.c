/*
 * p4sim validate: repeat published measurements on the simulated machine and print both.
 */
#define _POSIX_C_SOURCE 200809L
#include "validate.h"
#include "data_path.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: p4sim validate [OPTIONS]\n\n"
    "Repeats published measurements of Pentium 4 processors on the simulated machine, with the\n"
    "programs of a suite, and prints published and simulated values side by side.\n\n"
    "  -r, --row ID         only this row (may be given more than once)\n"
    "  -m, --model MODEL    only rows of this model\n"
    "  -t, --tier A|B|C     only rows of this tier\n"
    "      --suite FILE     rows and programs (default validate/published.yaml of the "
    "configurations)\n"
    "      --live           assemble and run the programs, even where there are recorded runs\n"
    "      --json           as JSON\n"
    "      --markdown       as docs/validation.md\n"
    "      --plots FOLDER   also write the data of the plots\n"
    "      --record FOLDER  record the programs of the suite into FOLDER instead\n"
    "  -h, --help           this text\n\n"
    "Status 0: every row recorded as within its tolerance is; 1: one is not; 2: usage; 3: a "
    "suite,\n"
    "program or model cannot be used.\n"
    "example: p4sim validate -m northwood -t A\n";

enum { OPTION_SUITE = 256, OPTION_LIVE, OPTION_JSON, OPTION_MARKDOWN, OPTION_PLOTS, OPTION_RECORD };

static int take_options(struct validate_options *options, int argc, char **argv)
{
    static const struct option known[] = {
        {"row", required_argument, NULL, 'r'},
        {"model", required_argument, NULL, 'm'},
        {"tier", required_argument, NULL, 't'},
        {"suite", required_argument, NULL, OPTION_SUITE},
        {"live", no_argument, NULL, OPTION_LIVE},
        {"json", no_argument, NULL, OPTION_JSON},
        {"markdown", no_argument, NULL, OPTION_MARKDOWN},
        {"plots", required_argument, NULL, OPTION_PLOTS},
        {"record", required_argument, NULL, OPTION_RECORD},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "r:m:t:h", known, NULL)) != -1) {
        switch (option) {
        case 'r':
            if (options->rows_count == VALIDATE_ROWS_MAX)
                return complain(EXIT_USAGE, "validate", "more than %d rows named",
                                VALIDATE_ROWS_MAX);
            options->rows[options->rows_count++] = optarg;
            break;
        case 'm':
            options->model = optarg;
            break;
        case 't':
            options->tier = optarg;
            break;
        case OPTION_SUITE:
            options->suite = optarg;
            break;
        case OPTION_LIVE:
            options->live = true;
            break;
        case OPTION_JSON:
            options->form = VALIDATE_JSON;
            break;
        case OPTION_MARKDOWN:
            options->form = VALIDATE_MARKDOWN;
            break;
        case OPTION_PLOTS:
            options->plots = optarg;
            break;
        case OPTION_RECORD:
            options->record = optarg;
            break;
        case 'h':
            fputs(help, stdout);
            options->done = true;
            return EXIT_DONE;
        default:
            return EXIT_USAGE;
        }
    }
    if (optind < argc)
        return complain(EXIT_USAGE, "validate", "'%s' is not an option; '--row ID' names a row",
                        argv[optind]);
    return EXIT_DONE;
}

/* The suite that comes with p4sim. */
static bool find_suite(char path[4200])
{
    for (unsigned place = 0; place < SIM_DATA_PLACES; place++) {
        char folder[4096];
        sim_data_folder(place, folder, sizeof folder);
        if (!folder[0])
            continue;
        snprintf(path, 4200, "%s/validate/published.yaml", folder);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

static bool wanted(const struct validate_options *options, const struct suite_row *row)
{
    bool named = options->rows_count == 0;
    for (unsigned i = 0; i < options->rows_count; i++)
        named |= !strcmp(options->rows[i], row->id);
    return named && (!options->model || (row->model && !strcmp(options->model, row->model))) &&
           (!options->tier || (row->tier && !strcmp(options->tier, row->tier)));
}

static void show_progress(unsigned done, unsigned of, const char *id)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%u of %u: %s", done + 1, of, id);
}

static void judge_rows(struct judge *judge, const struct validate_options *options,
                       struct judged *judged, unsigned *count)
{
    const struct suite *suite = judge->suite;
    for (unsigned i = 0; i < suite->rows_count; i++) {
        if (!wanted(options, &suite->rows[i]))
            continue;
        show_progress(i, suite->rows_count, suite->rows[i].id);
        judge_row(judge, &suite->rows[i], &judged[(*count)++]);
    }
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

static int judge_all(struct judge *judge, const struct validate_options *options)
{
    unsigned count = 0;
    struct judged *judged = calloc(judge->suite->rows_count + 1, sizeof *judged);
    if (!judged)
        return complain(EXIT_INPUT, "validate", "out of memory");
    judge_rows(judge, options, judged, &count);
    int status = EXIT_DONE;
    if (count == 0)
        status = complain(EXIT_USAGE, "validate", "no row of %s is meant by these options",
                          judge->suite->title);
    for (unsigned i = 0; i < count; i++) {
        if (judged[i].verdict == VERDICT_NOT_RUN && status != EXIT_INPUT)
            status = EXIT_INPUT;
        else if (judged[i].verdict == VERDICT_REGRESSION && status == EXIT_DONE)
            status = EXIT_CHECK;
    }
    if (count)
        validate_print(options->form, judge->suite, judged, count);
    free(judged);
    if (options->plots && status <= EXIT_CHECK) {
        int drawn = validate_plots(judge, options->plots);
        status = drawn ? drawn : status;
    }
    return status;
}

static int record_one(const struct sim_model *model, const struct suite_snippet *snippet,
                      enum measure_role role, const char *folder)
{
    char error[512], path[4096];
    int status = EXIT_INPUT;
    measure_recording(snippet, role, folder, path);
    if (access(path, R_OK) != 0 && !measure_record(model, snippet, role, path, error, &status))
        return complain(status, "validate", "%s", error);
    puts(path);
    return EXIT_DONE;
}

static int record_all(struct judge *judge, const char *folder)
{
    char error[512];
    const struct suite *suite = judge->suite;
    const struct sim_model *model = judge_model(judge, P4SIM_DEFAULT_MODEL, error);
    int status = EXIT_DONE;
    if (!model)
        return complain(EXIT_INPUT, "validate", "%s", error);
    for (unsigned i = 0; !status && i < suite->snippets_count; i++) {
        const struct suite_snippet *snippet = &suite->snippets[i];
        status = record_one(model, snippet, MEASURE_FIRST, folder);
        if (!status && suite_is_companion(suite, snippet))
            status = record_one(model, snippet, MEASURE_BESIDE, folder);
    }
    return status;
}

int command_validate(int argc, char **argv)
{
    struct validate_options options = {0};
    char error[512], path[4200] = "", recordings[4300];
    int status = take_options(&options, argc, argv);
    if (status || options.done)
        return status;
    if (options.suite)
        snprintf(path, sizeof path, "%s", options.suite);
    else if (!find_suite(path))
        return complain(EXIT_INPUT, "validate",
                        "validate/published.yaml is in none of the configuration folders; "
                        "set P4SIM_CONFIGS or give --suite FILE");
    struct suite *suite = suite_load(path, error);
    if (!suite)
        return complain(EXIT_INPUT, "validate", "%s", error);
    char *slash = strrchr(path, '/');
    snprintf(recordings, sizeof recordings, "%.*srecordings", slash ? (int)(slash - path) + 1 : 0,
             path);
    struct judge judge = {.suite = suite, .recordings = options.live ? NULL : recordings};
    status = options.record ? record_all(&judge, options.record) : judge_all(&judge, &options);
    judge_free(&judge);
    suite_free(suite);
    return status;
}
