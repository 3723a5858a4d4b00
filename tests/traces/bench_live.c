/*
 * How fast is a live program? Runs it to its end delivering every instruction, as a simulation asks
 * for them, and prints millions of instructions per second and who executed them. At least ten
 * million a second is wanted (status 1 below that); then the same program without delivery, at the
 * processor's own speed.
 *
 *   bench_live PROGRAM [ARGUMENTS]
 */
#define _POSIX_C_SOURCE 200809L
#include "p4_cpuid.h"
#include "source.h"

#include <stdio.h>
#include <sys/resource.h>

static const double wanted = 10; /* millions a second */

/* Processor time of ours and of the program, in seconds: others may be using the machine. */
static double seconds(void)
{
    struct rusage own;
    struct rusage children;

    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec + children.ru_utime.tv_sec +
                    children.ru_stime.tv_sec) +
           1e-6 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec + children.ru_utime.tv_usec +
                           children.ru_stime.tv_usec);
}

static struct trace_source *open_program(char **argv)
{
    struct trace_live_options options = {.argv = argv, .cpuid = p4_cpuid};
    char error[512] = "";
    int status;
    struct trace_source *source = trace_open_live(&options, error, &status);

    if (!source)
        fprintf(stderr, "bench_live: %s\n", error);
    return source;
}

static double delivered(struct trace_source *source)
{
    struct trace_instruction instruction;
    double start = seconds(), spent, speed;
    uint64_t count = 0;

    while (trace_source_next(source, &instruction) == TRACE_OK)
        count++;
    spent = seconds() - start;
    speed = (double)count / spent / 1e6;
    fprintf(stderr,
            "delivered %.1f million instructions in %.2f s: %.1f million/s, %.4f %% of them by the "
            "processor\n",
            (double)count / 1e6, spent, speed, 100 * (double)source->end.stepped / (double)count);
    return speed;
}

int main(int argc, char **argv)
{
    const uint64_t nowhere = 0;
    struct trace_source *source = argc > 1 ? open_program(argv + 1) : NULL;
    double speed, start;

    if (!source)
        return 2;
    speed = delivered(source);
    trace_source_close(source);
    source = open_program(argv + 1);
    if (!source)
        return 2;
    start = seconds();
    trace_source_run_natively(source, &nowhere, 0);
    trace_source_close(source);
    fprintf(stderr, "the same natively, its start interpreted: %.2f s\n", seconds() - start);
    return speed < wanted;
}
