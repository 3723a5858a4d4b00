/*
 * A parent and three children that count in their own copies of memory; the answers come back
 * through a pipe and as exit statuses. One child replaces itself by this program anew.
 * Size: rounds of work in each child.
 */
#define _GNU_SOURCE
#include "size.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t work(unsigned rounds, uint32_t seed)
{
    uint32_t state = seed, sum = 0;

    for (unsigned i = 0; i < rounds; i++)
        sum += next_random(&state) & 0xff;
    return sum;
}

static void child(unsigned number, unsigned rounds, int channel, char **argv)
{
    uint32_t sum = work(rounds, number);

    if (number == 2) {
        char *again[] = {argv[0], "10", "alone", NULL};
        execv(argv[0], again);
        _exit(1);
    }
    if (write(channel, &sum, sizeof sum) != sizeof sum)
        _exit(2);
    _exit((int)number);
}

int main(int argc, char **argv)
{
    unsigned rounds = size_argument(argc, argv, 8000);
    int channel[2], status, statuses = 0;
    uint32_t sum = 0, part;

    if (argc > 2)
        return (int)(work(rounds, 7) & 63);
    if (pipe(channel) != 0)
        return 3;
    for (unsigned i = 0; i < 3; i++)
        if (fork() == 0)
            child(i, rounds, channel[1], argv);
    close(channel[1]);
    while (read(channel[0], &part, sizeof part) == sizeof part)
        sum += part;
    while (wait(&status) > 0)
        statuses += WEXITSTATUS(status);
    printf("children counted %lu, statuses add up to %d\n", (unsigned long)sum, statuses);
    return 0;
}
