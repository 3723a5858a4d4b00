/*
 * Ways for threads and processes to begin and end, one for each name given as the first argument.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *self;

static void again(void)
{
    execl(self, self, "plain", (char *)NULL);
}

static void *thread_execs(void *unused)
{
    again();
    return unused;
}

static void *thread_ends_all(void *unused)
{
    usleep(20000);
    _exit(5);
    return unused;
}

static void *thread_spins(void *unused)
{
    for (volatile int i = 0; i >= 0;)
        i = 0;
    return unused;
}

static int status_of(pid_t child)
{
    int status = 0;

    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static int kill_child(int with, int spinning)
{
    pid_t child = fork();

    if (child == 0)
        while (spinning || pause())
            __asm__ volatile(""); /* compilers may take an empty loop away */
    usleep(5000);
    kill(child, with);
    return status_of(child);
}

static int with_thread(void *(*start)(void *))
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, start, NULL) != 0)
        return 99;
    pthread_join(thread, NULL);
    return 98;
}

static int with_vfork(void)
{
    pid_t child = vfork();

    if (child == 0) {
        again();
        _exit(9);
    }
    return status_of(child) + 1;
}

static int leader_ends_first(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, thread_ends_all, NULL);
    pthread_exit(NULL);
}

static int crash_beside_thread(void)
{
    pthread_t thread;
    static int *volatile nowhere;

    pthread_create(&thread, NULL, thread_spins, NULL);
    return *nowhere;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "plain";

    self = argv[0];
    if (!strcmp(way, "vfork"))
        return with_vfork();
    if (!strcmp(way, "thread-execs"))
        return with_thread(thread_execs);
    if (!strcmp(way, "thread-ends-all"))
        return with_thread(thread_ends_all);
    if (!strcmp(way, "leader-ends-first"))
        return leader_ends_first();
    if (!strcmp(way, "crash-beside-thread"))
        return crash_beside_thread();
    if (!strcmp(way, "kill-sleeping-child"))
        return kill_child(SIGKILL, 0);
    if (!strcmp(way, "terminate-spinning-child"))
        return kill_child(SIGTERM, 1);
    if (!strcmp(way, "become-64-bit"))
        execl("/bin/true", "true", (char *)NULL);
    return 3;
}
