/*
 * Model specific registers through the kernel's driver, /dev/cpu/N/msr.
 *
 *   msr read REGISTER [N]      prints it in hexadecimal
 *   msr write REGISTER VALUE   writes it
 *   msr files                  checks what such files do: prints "ok" or the line that is not so
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MSR_CRU_ESCR0 = 0x3b8, NO_SUCH_MSR = 0x12345 };

static int open_msr(unsigned cpu, int flags)
{
    char path[64];

    snprintf(path, sizeof path, "/dev/cpu/%u/msr", cpu);
    return open(path, flags);
}

static int read_one(uint32_t msr, unsigned cpu)
{
    uint64_t value;
    int fd = open_msr(cpu, O_RDONLY);

    if (fd < 0 || pread(fd, &value, sizeof value, (off_t)msr) != sizeof value) {
        perror("read");
        return 4;
    }
    printf("%llx\n", (unsigned long long)value);
    return close(fd) != 0;
}

static int write_one(uint32_t msr, uint64_t value)
{
    int fd = open_msr(0, O_WRONLY);

    if (fd < 0 || pwrite(fd, &value, sizeof value, (off_t)msr) != sizeof value) {
        perror("write");
        return 4;
    }
    return close(fd) != 0;
}

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            printf("line %d: not so: %s\n", __LINE__, #what);                                      \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static int check_transfers(int fd)
{
    uint64_t value[2] = {0x4000204, 0}, back[2] = {0};
    struct iovec vector = {back, sizeof back[0]};
    void *volatile nowhere = NULL;

    CHECK(pwrite(fd, value, 8, MSR_CRU_ESCR0) == 8);
    CHECK(lseek(fd, MSR_CRU_ESCR0, SEEK_SET) == MSR_CRU_ESCR0);
    CHECK(read(fd, back, 16) == 16); /* the same register twice: the position stays */
    CHECK(back[0] == value[0] && back[1] == value[0]);
    CHECK(lseek(fd, 0, SEEK_CUR) == MSR_CRU_ESCR0);
    CHECK(write(fd, value + 1, 8) == 8);
    CHECK(read(fd, back, 8) == 8 && back[0] == 0);
    CHECK(read(fd, back, 0) == 0);
    CHECK(read(fd, back, 7) == -1 && errno == EINVAL);
    CHECK(pread(fd, back, 8, NO_SUCH_MSR) == -1 && errno == EIO);
    CHECK(pwrite(fd, value, 8, NO_SUCH_MSR) == -1 && errno == EIO);
    CHECK(pread(fd, nowhere, 8, MSR_CRU_ESCR0) == -1 && errno == EFAULT);
    CHECK(readv(fd, &vector, 1) == -1 && errno == EINVAL);
    return 0;
}

static int check_descriptors(int fd)
{
    uint64_t value = 0x204, back = 0;
    struct stat about;
    int copy = dup(fd), status = 0, only, other, ends[2];
    pid_t child;

    CHECK(fstat(fd, &about) == 0 && S_ISCHR(about.st_mode));
    CHECK(major(about.st_rdev) == 202 && minor(about.st_rdev) == 0);
    CHECK(copy >= 0 && pwrite(copy, &value, 8, MSR_CRU_ESCR0) == 8);
    CHECK(lseek(copy, MSR_CRU_ESCR0, SEEK_SET) == MSR_CRU_ESCR0);
    CHECK(close(fd) == 0 && read(copy, &back, 8) == 8 && back == value);
    child = fork();
    if (child == 0)
        _exit(read(copy, &back, 8) == 8 && back == value ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    only = open_msr(0, O_RDONLY);
    CHECK(only >= 0 && pwrite(only, &value, 8, MSR_CRU_ESCR0) == -1 && errno == EBADF);
    CHECK(pipe(ends) == 0 && close(ends[1]) == 0);
    other = ends[0];
    CHECK(read(other, &back, 8) == 0);
    CHECK(dup2(copy, other) == other && read(other, &back, 8) == 8);
    return 0;
}

static int check_names(void)
{
    int folder = open("/dev", O_RDONLY | O_DIRECTORY), fd;

    CHECK(open_msr(7, O_RDWR) == -1 && errno == ENXIO);
    CHECK(folder >= 0);
    fd = openat(folder, "./cpu//0/x/../msr", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
    CHECK(chdir("/dev") == 0 && (fd = open("cpu/0/msr", O_RDWR)) >= 0);
    return check_transfers(fd) || check_descriptors(fd);
}

int main(int argc, char **argv)
{
    uint32_t msr = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 16) : 0;
    int status;

    if (argc > 2 && !strcmp(argv[1], "read"))
        return read_one(msr, argc > 3 ? (unsigned)atoi(argv[3]) : 0);
    if (argc > 3 && !strcmp(argv[1], "write"))
        return write_one(msr, strtoull(argv[3], NULL, 16));
    status = check_names();
    if (status == 0)
        puts("ok");
    return status;
}
