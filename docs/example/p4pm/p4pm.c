/* See p4pm.h. The register values are those that `p4sim encode` gives for the events. */
#include "p4pm.h"

#include <stdint.h>
#include <string.h>

/* An event: the ESCR that selects it, the CCCR that listens to this ESCR, the counter. USR only. */
struct event {
    const char *name;
    uint32_t escr, escr_value;
    uint32_t cccr, cccr_value; /* the last bit to set, ENABLE, included */
    uint32_t counter_msr, counter;
};

static const struct event events[] = {
    {"instr_retired:NBOGUSNTAG:u", 0x3b8, 0x04000204, 0x36c, 0x00039000, 0x30c, 12},
    {"uops_retired:NBOGUS:u", 0x3b9, 0x02000204, 0x36e, 0x00039000, 0x30e, 14},
    {"branch_retired:MMTM+MMNM:u", 0x3cc, 0x0c001404, 0x36d, 0x0003b000, 0x30d, 13},
    {"global_power_events:RUNNING:u", 0x3a2, 0x26000204, 0x360, 0x0003d000, 0x300, 0},
};

enum { EVENTS = sizeof events / sizeof events[0] };

static const uint64_t counter_mask = ((uint64_t)1 << 40) - 1;

struct result {
    const char *name;
    uint64_t times;
    uint64_t sum[EVENTS];
};

struct measurement {
    struct result *result; /* NULL: it could not be opened */
    uint64_t start[EVENTS];
};

static struct result results[P4PM_NAMES];
static unsigned names;
static struct measurement open_ones[P4PM_DEPTH];
static unsigned depth; /* may exceed P4PM_DEPTH */

/* ---- the instructions --------------------------------------------------------------------------
 */

static void write_msr(uint32_t msr, uint64_t value)
{
    __asm__ volatile("wrmsr" ::"c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
                     : "memory");
}

static inline uint64_t read_counter(uint32_t counter)
{
    uint32_t low, high;

    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter) : "memory");
    return (uint64_t)high << 32 | low;
}

/* ---- measuring ---------------------------------------------------------------------------------
 */

/* Never copied into their callers: what a measurement adds is the same for each. */
#ifdef __clang__
#define SAME_EVERYWHERE __attribute__((noinline))
#else
#define SAME_EVERYWHERE __attribute__((noinline, noclone))
#endif

void p4pm_close(void)
{
    for (unsigned i = 0; i < EVENTS; i++)
        write_msr(events[i].cccr, 0);
}

void p4pm_open(void)
{
    p4pm_close();
    names = depth = 0;
    for (unsigned i = 0; i < EVENTS; i++) {
        write_msr(events[i].escr, events[i].escr_value);
        write_msr(events[i].counter_msr, 0);
    }
    for (unsigned i = 0; i < EVENTS; i++)
        write_msr(events[i].cccr, events[i].cccr_value);
    p4pm_begin("(empty)");
    p4pm_end();
}

static struct result *result_of(const char *name)
{
    for (unsigned i = 0; i < names; i++)
        if (!strcmp(results[i].name, name))
            return &results[i];
    if (names == P4PM_NAMES)
        return NULL;
    memset(&results[names], 0, sizeof results[names]);
    results[names].name = name;
    return &results[names++];
}

SAME_EVERYWHERE int p4pm_begin(const char *name)
{
    struct measurement *m = depth < P4PM_DEPTH ? &open_ones[depth] : NULL;

    depth++;
    if (!m || !(m->result = result_of(name)))
        return 0;
    for (unsigned i = 0; i < EVENTS; i++)
        m->start[i] = read_counter(events[i].counter);
    return 1;
}

SAME_EVERYWHERE void p4pm_end(void)
{
    uint64_t now[EVENTS];

    for (unsigned i = 0; i < EVENTS; i++)
        now[i] = read_counter(events[i].counter);
    if (!depth || --depth >= P4PM_DEPTH || !open_ones[depth].result)
        return;
    open_ones[depth].result->times++;
    for (unsigned i = 0; i < EVENTS; i++)
        open_ones[depth].result->sum[i] += (now[i] - open_ones[depth].start[i]) & counter_mask;
}

int p4pm_write(FILE *file)
{
    fputs("name,times", file);
    for (unsigned i = 0; i < EVENTS; i++)
        fprintf(file, ",%s", events[i].name);
    fputc('\n', file);
    for (unsigned n = 0; n < names; n++) {
        fprintf(file, "%s,%llu", results[n].name, (unsigned long long)results[n].times);
        for (unsigned i = 0; i < EVENTS; i++)
            fprintf(file, ",%llu", (unsigned long long)results[n].sum[i]);
        fputc('\n', file);
    }
    return !ferror(file);
}
