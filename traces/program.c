/* Finding and judging the program file; every refusal says what was expected instead. */
#define _GNU_SOURCE
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_file(const char *path)
{
    struct stat stat_buffer;

    return stat(path, &stat_buffer) == 0 && S_ISREG(stat_buffer.st_mode);
}

/* The first executable file of that name in PATH, else the first file, else false. */
static bool search_path(const char *name, char path[PROGRAM_PATH_BYTES])
{
    const char *folder = getenv("PATH");
    char candidate[PROGRAM_PATH_BYTES];
    bool found = false;

    if (!folder)
        folder = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t length = strcspn(folder, ":");
        snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)length, folder, length ? "/" : "",
                 name);
        if (is_file(candidate) && (!found || access(candidate, X_OK) == 0)) {
            memcpy(path, candidate, sizeof candidate);
            found = true;
            if (access(path, X_OK) == 0)
                return true;
        }
        if (!folder[length])
            return found;
        folder += length + 1;
    }
}

static bool locate(const char *name, char path[PROGRAM_PATH_BYTES], char error[512])
{
    if (!strchr(name, '/')) {
        if (*name && search_path(name, path))
            return true;
        snprintf(error, 512, "%.300s: no such program in PATH", name);
        return false;
    }
    snprintf(path, PROGRAM_PATH_BYTES, "%s", name);
    if (access(path, F_OK) != 0)
        snprintf(error, 512, "%.300s: no such program: %s", name, strerror(errno));
    else if (!is_file(path))
        snprintf(error, 512, "%.300s: not a regular file (expected a 32-bit ELF program)", name);
    else
        return true;
    return false;
}

/* A script: say which program to name instead. */
static void explain_script(const char *path, bool long_mode, const uint8_t *start, size_t count,
                           char error[512])
{
    char line[128];
    size_t length = count - 2 < sizeof line - 1 ? count - 2 : sizeof line - 1;

    memcpy(line, start + 2, length);
    line[length] = 0;
    line[strcspn(line, "\r\n")] = 0;
    snprintf(error, 512,
             "%.200s: a script, not an ELF program; name its interpreter: \"%s %.100s\"%s", path,
             line + strspn(line, " \t"), path, long_mode ? "" : " (a 32-bit one is needed)");
}

/* The fields that matter stand at the same places in 32-bit and 64-bit headers. */
static bool is_for(const Elf32_Ehdr *header, uint16_t machine, uint8_t class)
{
    return header->e_machine == machine && header->e_ident[EI_CLASS] == class;
}

static bool judge(const char *path, bool long_mode, const uint8_t *start, size_t count,
                  char error[512])
{
    Elf32_Ehdr header;

    memcpy(&header, start, sizeof header);
    if (count >= 2 && start[0] == '#' && start[1] == '!')
        explain_script(path, long_mode, start, count, error);
    else if (count < sizeof header || memcmp(start, ELFMAG, SELFMAG) != 0)
        snprintf(error, 512, "%.300s: not an ELF file (expected an x86 program)", path);
    else if (!long_mode && is_for(&header, EM_X86_64, ELFCLASS64))
        snprintf(
            error, 512,
            "%.300s: a 64-bit program on a 32-bit model; choose one with EM64T (-m prescott-64 "
            "or cedar-mill), or a program built with gcc -m32",
            path);
    else if (!is_for(&header, EM_386, ELFCLASS32) && !is_for(&header, EM_X86_64, ELFCLASS64))
        snprintf(error, 512, "%.300s: an ELF file for another machine (e_machine %u), expected x86",
                 path, header.e_machine);
    else if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
        snprintf(error, 512, "%.300s: an ELF file but not a program (e_type %u)", path,
                 header.e_type);
    else
        return true;
    return false;
}

bool program_find(const char *name, bool long_mode, char path[PROGRAM_PATH_BYTES], char error[512],
                  int *status)
{
    uint8_t start[256] = {0};
    ssize_t count;
    int fd;

    *status = 3;
    if (!locate(name, path, error))
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        snprintf(error, 512, "%.300s: cannot be read: %s", path, strerror(errno));
        return false;
    }
    count = read(fd, start, sizeof start);
    close(fd);
    if (count < 0) {
        snprintf(error, 512, "%.300s: cannot be read: %s", path, strerror(errno));
        return false;
    }
    if (!judge(path, long_mode, start, (size_t)count, error))
        return false;
    if (access(path, X_OK) == 0)
        return true;
    snprintf(error, 512, "%.300s: not executable: %s", path, strerror(errno));
    return false;
}

bool program_find_any(const char *name, char path[PROGRAM_PATH_BYTES], char error[512], int *status)
{
    *status = 3;
    if (!locate(name, path, error))
        return false;
    if (access(path, X_OK) == 0)
        return true;
    snprintf(error, 512, "%.300s: not executable: %s", path, strerror(errno));
    return false;
}
