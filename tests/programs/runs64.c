/* Starts the program of its arguments (by default /bin/true, a 64-bit one) and gives its status. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char *usual[] = {"/bin/true", NULL};
    char **program = argc > 1 ? argv + 1 : usual;
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        execv(program[0], program);
        _exit(126);
    }
    waitpid(pid, &status, 0);
    printf("status %d\n", WEXITSTATUS(status));
    return WEXITSTATUS(status);
}
