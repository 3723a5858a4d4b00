/* The files /dev/cpu/N/msr; see live_msr.h. The rules are those of Linux's msr driver
 * (arch/x86/kernel/msr.c). */
#define _GNU_SOURCE
#include "live_msr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NAME_BYTES = 512, MSR_MAJOR = 202, REGISTER_BYTES = 8 };

/* ---- system calls ------------------------------------------------------------------------------
 */

/* C(what it is, number on i386, number on x86-64); -1: there is none. */
#define CALLS(C)                                                                                   \
    C(OPEN, 5, 2)                                                                                  \
    C(OPENAT, 295, 257)                                                                            \
    C(OPENAT2, 437, 437)                                                                           \
    C(CREAT, 8, 85)                                                                                \
    C(READ, 3, 0)                                                                                  \
    C(WRITE, 4, 1)                                                                                 \
    C(PREAD, 180, 17)                                                                              \
    C(PWRITE, 181, 18)                                                                             \
    C(READV, 145, 19)                                                                              \
    C(WRITEV, 146, 20)                                                                             \
    C(PREADV, 333, 295)                                                                            \
    C(PWRITEV, 334, 296)                                                                           \
    C(PREADV2, 378, 327)                                                                           \
    C(PWRITEV2, 379, 328)                                                                          \
    C(FSTAT, 197, 5)                                                                               \
    C(FSTATAT, 300, 262)                                                                           \
    C(STATX, 383, 332)                                                                             \
    C(MEMFD_CREATE, 356, 319)

enum call_kind {
#define C(name, narrow, wide) CALL_##name,
    CALLS(C)
#undef C
        CALL_KINDS
};

static const struct {
    int narrow, wide;
} numbers[CALL_KINDS] = {
#define C(name, narrow, wide) [CALL_##name] = {narrow, wide},
    CALLS(C)
#undef C
};

static enum call_kind kind_of(const struct live_call *call)
{
    unsigned kind = 0;

    while (kind < CALL_KINDS &&
           call->number != (uint64_t)(call->wide ? numbers[kind].wide : numbers[kind].narrow))
        kind++;
    return (enum call_kind)kind;
}

struct live_call live_call_of(const struct user_regs_struct *regs, bool wide, uint64_t number)
{
    if (wide)
        return (struct live_call){
            true, number, {regs->rdi, regs->rsi, regs->rdx, regs->r10, regs->r8, regs->r9}};
    return (struct live_call){false,
                              number & 0xffffffff,
                              {regs->rbx & 0xffffffff, regs->rcx & 0xffffffff,
                               regs->rdx & 0xffffffff, regs->rsi & 0xffffffff,
                               regs->rdi & 0xffffffff, regs->rbp & 0xffffffff}};
}

void live_put_call(struct user_regs_struct *regs, const struct live_call *call)
{
    regs->rax = call->number;
    if (call->wide) {
        regs->rdi = call->argument[0];
        regs->rsi = call->argument[1];
        regs->rdx = call->argument[2];
    } else {
        regs->rbx = call->argument[0];
        regs->rcx = call->argument[1];
        regs->rdx = call->argument[2];
    }
}

/* ---- names -------------------------------------------------------------------------------------
 */

static bool read_name(pid_t tid, uint64_t address, char name[NAME_BYTES])
{
    size_t count = tracee_read(tid, address, name, NAME_BYTES);

    return memchr(name, 0, count) != NULL;
}

/* The folder from which a relative name counts: that of descriptor FD. */
static bool read_folder(pid_t tid, int fd, char folder[NAME_BYTES])
{
    char link[64];
    ssize_t count;

    if (fd == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/%d/cwd", (int)tid);
    else
        snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)tid, fd);
    count = readlink(link, folder, NAME_BYTES - 1);
    folder[count < 0 ? 0 : count] = 0;
    return count > 0;
}

/* Takes "//", "." and ".." out of an absolute name. */
static void straighten(char *name)
{
    char *to = name;

    for (const char *at = name; *at;) {
        size_t length = strcspn(at + 1, "/") + 1; /* with the slash before it */
        if (length == 3 && at[1] == '.' && at[2] == '.')
            while (to > name && *--to != '/')
                continue;
        else if (length > 2 || (length == 2 && at[1] != '.')) {
            memmove(to, at, length);
            to += length;
        }
        at += length;
    }
    *to = 0;
}

static bool is_msr_name(const char *name, unsigned *logical_processor)
{
    int length = 0;

    return sscanf(name, "/dev/cpu/%4u/msr%n", logical_processor, &length) == 1 && length &&
           !name[length];
}

/* Does the name at ADDRESS, relative to descriptor FD, lead to such a file? */
static bool leads_to_msr(pid_t tid, int fd, uint64_t address, unsigned *logical_processor)
{
    char name[NAME_BYTES], full[2 * NAME_BYTES];
    size_t length;

    if (!read_name(tid, address, name))
        return false;
    length = strlen(name);
    if (length < 3 || strcmp(name + length - 3, "msr") != 0)
        return false;
    full[0] = 0;
    if (name[0] != '/' && !read_folder(tid, fd, full))
        return false;
    snprintf(full + strlen(full), NAME_BYTES + 1, "%s%s", full[0] ? "/" : "", name);
    straighten(full);
    return is_msr_name(full, logical_processor);
}

/* ---- the files ---------------------------------------------------------------------------------
 */

static const struct msr_file *file_of(const struct live *live, pid_t tid, uint64_t fd)
{
    char path[64];
    struct stat about;

    if (!live->msr_file_count || fd > INT32_MAX)
        return NULL;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tid, (int)fd);
    if (stat(path, &about) != 0)
        return NULL;
    for (size_t i = live->msr_file_count; i-- > 0;)
        if (live->msr_files[i].inode == about.st_ino && live->msr_files[i].device == about.st_dev)
            return &live->msr_files[i];
    return NULL;
}

void msr_opened(struct live *live, pid_t tid, const struct msr_call *msr, int64_t result)
{
    struct msr_file *files;
    char path[64];
    struct stat about;

    if (result < 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tid, (int)result);
    files = realloc(live->msr_files, (live->msr_file_count + 1) * sizeof *files);
    if (!files || stat(path, &about) != 0) {
        live->msr_files = files ? files : live->msr_files;
        live_fail(live, 3, "/dev/cpu/%u/msr: the file that stands for it cannot be looked at",
                  msr->logical_processor);
        return;
    }
    files[live->msr_file_count++] =
        (struct msr_file){about.st_dev, about.st_ino, msr->logical_processor, msr->access};
    live->msr_files = files;
}

static uint64_t position_of(pid_t tid, uint64_t fd)
{
    unsigned long long position = 0;
    char path[64];
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)tid, (int)fd);
    file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "pos: %llu", &position) != 1)
        position = 0;
    fclose(file);
    return position;
}

/* ---- judging -----------------------------------------------------------------------------------
 */

static struct msr_call answered(const struct live_call *call, int64_t result)
{
    return (struct msr_call){.what = MSR_ANSWERED, .result = result, .call = *call};
}

static struct msr_call judge_open(const struct live *live, pid_t tid, const struct live_call *call,
                                  int folder, uint64_t name, uint64_t flags)
{
    struct msr_call msr = {.what = MSR_OPEN, .call = *call, .substitute = *call};

    if (!leads_to_msr(tid, folder, name, &msr.logical_processor))
        return (struct msr_call){.what = MSR_NOT_OURS};
    if (msr.logical_processor >= live->source.logical_processors)
        return answered(call, -ENXIO);
    if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
        return answered(call, -EEXIST);
    if (flags & O_DIRECTORY)
        return answered(call, -ENOTDIR);
    msr.access = flags & O_ACCMODE;
    msr.substitute.number = (uint64_t)(call->wide ? numbers[CALL_MEMFD_CREATE].wide
                                                  : numbers[CALL_MEMFD_CREATE].narrow);
    msr.substitute.argument[0] = name; /* any string will do */
    msr.substitute.argument[1] = flags & O_CLOEXEC ? MFD_CLOEXEC : 0;
    return msr;
}

/* openat2's flags are in memory. */
static uint64_t flags_in_memory(pid_t tid, uint64_t address)
{
    uint64_t flags = 0;

    tracee_read(tid, address, &flags, sizeof flags);
    return flags;
}

static struct msr_call judge_transfer(pid_t tid, const struct msr_file *file,
                                      const struct live_call *call, enum call_kind kind)
{
    struct msr_call msr = {.what = MSR_TRANSFER, .call = *call};
    bool placed = kind == CALL_PREAD || kind == CALL_PWRITE;

    msr.write = kind == CALL_WRITE || kind == CALL_PWRITE;
    msr.logical_processor = file->logical_processor;
    msr.index = (uint32_t)(placed ? call->argument[3] : position_of(tid, call->argument[0]));
    if (file->access == (msr.write ? O_RDONLY : O_WRONLY))
        return answered(call, -EBADF);
    if (call->argument[2] % REGISTER_BYTES)
        return answered(call, -EINVAL);
    return call->argument[2] ? msr : answered(call, 0);
}

static struct msr_call judge_descriptor(const struct live *live, pid_t tid,
                                        const struct live_call *call, enum call_kind kind)
{
    const struct msr_file *file = file_of(live, tid, call->argument[0]);

    if (!file)
        return (struct msr_call){.what = MSR_NOT_OURS};
    if (kind == CALL_FSTAT || kind == CALL_FSTATAT || kind == CALL_STATX)
        return (struct msr_call){
            .what = MSR_LOOK, .call = *call, .logical_processor = file->logical_processor};
    if (kind >= CALL_READV)
        return answered(call, -EINVAL);
    return judge_transfer(tid, file, call, kind);
}

struct msr_call msr_judge(struct live *live, pid_t tid, const struct live_call *call)
{
    enum call_kind kind = kind_of(call);
    const uint64_t *a = call->argument;

    switch (live->source.registers ? kind : CALL_KINDS) {
    case CALL_OPEN:
        return judge_open(live, tid, call, AT_FDCWD, a[0], a[1]);
    case CALL_CREAT:
        return judge_open(live, tid, call, AT_FDCWD, a[0], O_WRONLY);
    case CALL_OPENAT:
        return judge_open(live, tid, call, (int)a[0], a[1], a[2]);
    case CALL_OPENAT2:
        return judge_open(live, tid, call, (int)a[0], a[1], flags_in_memory(tid, a[2]));
    case CALL_MEMFD_CREATE:
    case CALL_KINDS:
        return (struct msr_call){.what = MSR_NOT_OURS};
    default:
        return judge_descriptor(live, tid, call, kind);
    }
}

/* ---- transfers ---------------------------------------------------------------------------------
 */

/* As the program itself could: no way around its page protection. */
static bool copy(pid_t tid, uint64_t address, uint64_t *value, bool from_program)
{
    struct iovec local = {value, sizeof *value};
    struct iovec remote = {(void *)(uintptr_t)address, sizeof *value};

    return (from_program ? process_vm_readv(tid, &local, 1, &remote, 1, 0)
                         : process_vm_writev(tid, &local, 1, &remote, 1, 0)) == sizeof *value;
}

static int64_t transfer_one(struct live *live, pid_t tid, struct trace_register_access *access,
                            uint64_t address)
{
    bool write = access->what == TRACE_WRMSR;

    if (write && !copy(tid, address, &access->value, true))
        return -EFAULT;
    if (!live->source.registers(live->source.registers_context, access))
        return -EIO;
    if (live->recorder)
        recorder_register(live->recorder, access);
    return write || copy(tid, address, &access->value, false) ? 0 : -EFAULT;
}

bool live_may_transfer(struct live *live)
{
    bool may = live->synchronised || (live->at_rest && !live->has_pending);

    live->synchronised = false;
    live->at_rest = may;
    return may;
}

int64_t msr_transfer(struct live *live, pid_t tid, const struct msr_call *msr, uint64_t ip)
{
    uint64_t count = msr->call.argument[2], done = 0;

    while (done < count) {
        struct trace_register_access access = {.what = msr->write ? TRACE_WRMSR : TRACE_RDMSR,
                                               .by_driver = true,
                                               .logical_processor = msr->logical_processor,
                                               .index = msr->index,
                                               .ip = ip};
        int64_t error = transfer_one(live, tid, &access, msr->call.argument[1] + done);
        if (error)
            return done ? (int64_t)done : error;
        done += REGISTER_BYTES;
    }
    return (int64_t)done;
}

/* ---- looking -----------------------------------------------------------------------------------
 */

/* Where a structure filled in by the kernel has the mode and the device number. */
struct layout {
    unsigned mode, device;
    bool split; /* statx: mode of 16 bits, major and minor apart */
};

static struct layout layout_of(const struct live_call *call, uint64_t *address)
{
    enum call_kind kind = kind_of(call);

    *address = call->argument[kind == CALL_FSTAT ? 1 : kind == CALL_FSTATAT ? 2 : 4];
    if (kind == CALL_STATX)
        return (struct layout){0x1c, 0x80, true};
    return call->wide ? (struct layout){24, 40, false} : (struct layout){16, 32, false};
}

/* fstatat and statx look at the descriptor itself only with an empty name. */
static bool looks_at_descriptor(pid_t tid, const struct live_call *call)
{
    char name[NAME_BYTES];

    return kind_of(call) == CALL_FSTAT || (read_name(tid, call->argument[1], name) && name[0] == 0);
}

void msr_looked(struct live *live, pid_t tid, const struct msr_call *msr, int64_t result)
{
    uint64_t address;
    struct layout layout = layout_of(&msr->call, &address);
    uint32_t mode = S_IFCHR | 0600;
    uint32_t device[2] = {MSR_MAJOR, msr->logical_processor};
    uint64_t number = makedev(MSR_MAJOR, msr->logical_processor);

    (void)live;
    if (result != 0 || !looks_at_descriptor(tid, &msr->call))
        return;
    tracee_write(tid, address + layout.mode, &mode, layout.split ? 2 : 4);
    if (layout.split)
        tracee_write(tid, address + layout.device, device, sizeof device);
    else
        tracee_write(tid, address + layout.device, &number, sizeof number);
}
