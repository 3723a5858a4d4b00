/*
 * A program that has the processor write records into its own memory: it points IA32_DS_AREA at an
 * array of its own, as a kernel module or a simulator's guest would, and reads the records there.
 *
 *   own_records pebs [RECORDS]  every 7th load that misses L1, in a buffer for RECORDS (default 64)
 *   own_records bts             the taken branches of a loop
 *   own_records missing         a DS area where no memory is: the processor stops
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    MSR_DEBUGCTLA = 0x1d9,
    MSR_IQ_COUNTER4 = 0x310,
    MSR_IQ_CCCR4 = 0x370,
    MSR_CRU_ESCR2 = 0x3cc,
    IA32_PEBS_ENABLE = 0x3f1,
    MSR_PEBS_MATRIX_VERT = 0x3f2,
    IA32_DS_AREA = 0x600,
    REPLAY_EVENT_NBOGUS_USR = 9 << 25 | 1 << 9 | 1 << 2,
    CCCR_ENABLE = 3 << 16 | 5 << 13 | 1 << 12,
    L1_MISS_BY_PEBS = 1 << 25 | 1 << 24 | 1,
    TRACE_BRANCHES = 1 << 2 | 1 << 3, /* TR, BTS: a ring */
    PERIOD = 7,
    ROUNDS = 200,
    STRIDE = 8192, /* eight lines of one L1 set of four */
    LINES = 8,
    MOST = 4096 /* records */
};

/* As the processor lays it out without 64-bit extensions (SDM volume 3, figure 17-5). */
struct area {
    uint32_t bts_base, bts_index, bts_maximum, bts_threshold;
    uint32_t pebs_base, pebs_index, pebs_maximum, pebs_threshold;
    uint64_t pebs_reset;
};
struct pebs_record {
    uint32_t eflags, eip, eax, ebx, ecx, edx, esi, edi, ebp, esp;
};
struct branch_record {
    uint32_t from, to, flags;
};

static struct area area;
static union {
    struct pebs_record pebs[MOST];
    struct branch_record branch[MOST];
} buffer;
extern const char missing_load[], loop_end[], loop_start[];

static void write_msr(uint32_t msr, uint64_t value)
{
    __asm__ volatile("wrmsr" ::"c"(msr), "A"(value) : "memory");
}

static uint32_t address_of(const void *place)
{
    return (uint32_t)(uintptr_t)place;
}

/* LINES loads that miss, ROUNDS times: the load reads through EAX and ECX counts rounds. */
static void miss(char *table)
{
    for (unsigned round = 0; round < ROUNDS; round++)
#ifdef __clang__
#pragma clang loop unroll(disable) /* one load, one label */
#endif
        for (unsigned line = 0; line < LINES; line++) {
            char *at = table + line * STRIDE;
            __asm__ volatile("missing_load: movl (%%eax), %%eax"
                             : "+a"(at)
                             : "c"(round)
                             : "memory");
        }
}

/* The same bytes as the kernel sees them: through a system call, not by this program's loads. */
static int the_kernel_sees_the_same(const void *place, size_t bytes)
{
    char *copy = malloc(bytes);
    int ends[2], same = 0;

    if (copy && bytes <= 65536 && pipe(ends) == 0) {
        same = write(ends[1], place, bytes) == (ssize_t)bytes &&
               read(ends[0], copy, bytes) == (ssize_t)bytes && memcmp(copy, place, bytes) == 0;
        close(ends[0]);
        close(ends[1]);
    }
    free(copy);
    return same;
}

static void record_misses(char *table, uint32_t records)
{
    area.pebs_base = area.pebs_index = address_of(buffer.pebs);
    area.pebs_maximum = area.pebs_threshold = address_of(buffer.pebs + records);
    area.pebs_reset = -(uint64_t)PERIOD & 0xffffffffffu;
    write_msr(IA32_DS_AREA, address_of(&area));
    write_msr(MSR_IQ_COUNTER4, area.pebs_reset);
    write_msr(MSR_PEBS_MATRIX_VERT, 1);
    write_msr(IA32_PEBS_ENABLE, L1_MISS_BY_PEBS);
    write_msr(MSR_CRU_ESCR2, REPLAY_EVENT_NBOGUS_USR);
    write_msr(MSR_IQ_CCCR4, CCCR_ENABLE);
    miss(table);
    write_msr(MSR_IQ_CCCR4, 0);
    write_msr(IA32_PEBS_ENABLE, 0);
}

/* What the records say, against what the program did. */
static void judge(const struct pebs_record *record, uint32_t count, const char *table)
{
    uint32_t elsewhere = 0, wrong_address = 0, wrong_round = 0, hits[LINES] = {0};

    for (uint32_t i = 0; i < count; i++) {
        uint32_t offset = record[i].eax - address_of(table);
        elsewhere += record[i].eip != address_of(missing_load);
        wrong_round += record[i].ecx >= ROUNDS || (i && record[i].ecx < record[i - 1].ecx);
        wrong_address += offset % STRIDE != 0 || offset >= LINES * STRIDE;
        if (offset < LINES * STRIDE)
            hits[offset / STRIDE]++;
    }
    printf("%u records, %u not on the load, %u with a wrong address, %u with a wrong round\n",
           count, elsewhere, wrong_address, wrong_round);
    for (unsigned line = 0; line < LINES; line++)
        printf("%s%u", line ? " " : "by line: ", hits[line]);
    putchar('\n');
}

static int pebs(uint32_t records)
{
    const int readable = PROT_READ | PROT_WRITE, fresh = MAP_PRIVATE | MAP_ANONYMOUS;
    char *table = mmap(NULL, LINES * STRIDE, readable, fresh, -1, 0);
    uint32_t bytes;

    memset(table, 0, LINES * STRIDE);
    record_misses(table, records);
    bytes = area.pebs_index - area.pebs_base;
    judge(buffer.pebs, bytes / (uint32_t)sizeof buffer.pebs[0], table);
    printf("the kernel sees %s\n",
           the_kernel_sees_the_same(buffer.pebs, bytes) ? "the same" : "something else");
    return 0;
}

static int bts(void)
{
    uint32_t written, others = 0;

    area.bts_base = area.bts_index = address_of(buffer.branch);
    area.bts_maximum = area.bts_threshold = address_of(buffer.branch + MOST);
    write_msr(IA32_DS_AREA, address_of(&area));
    write_msr(MSR_DEBUGCTLA, TRACE_BRANCHES);
    __asm__ volatile("movl $100, %%ecx\n"
                     "loop_start: decl %%ecx\n"
                     "loop_end: jnz loop_start" ::
                         : "ecx", "cc");
    write_msr(MSR_DEBUGCTLA, 0);
    written = (area.bts_index - area.bts_base) / (uint32_t)sizeof buffer.branch[0];
    for (uint32_t i = 0; i < written; i++)
        others += buffer.branch[i].from != address_of(loop_end) ||
                  buffer.branch[i].to != address_of(loop_start);
    printf("%u branches, %u not of the loop\n", written, others);
    return 0;
}

static int missing(void)
{
    void *nothing = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    munmap(nothing, 4096);
    write_msr(IA32_DS_AREA, address_of(nothing));
    write_msr(MSR_DEBUGCTLA, TRACE_BRANCHES);
    puts("branches are recorded");
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "pebs";
    unsigned long records = argc > 2 ? strtoul(argv[2], NULL, 10) : 64;
    uint32_t a, b, c = 0, d;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!__get_cpuid(1, &a, &b, &c, &d) || c & 1u << 2 || records > MOST) {
        puts("needs a processor with 32-bit records, and room for them");
        return 2;
    }
    if (!strcmp(what, "bts"))
        return bts();
    return strcmp(what, "missing") ? pebs((uint32_t)records) : missing();
}
