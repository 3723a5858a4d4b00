/*
 * A counter configuration as a tool writes it: an ordered list of MSR writes for one processor
 * model, whatever dialect it came in. Everything that judges, explains or translates configurations
 * works on this.
 */
#ifndef TOOLS_CONFIG_H
#define TOOLS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "p4pmu.h"

#define CONFIG_WRITES 256

struct config_write {
    uint32_t msr;
    uint64_t value;
    unsigned line; /* line of the text it came from, 1 on; 0: made by us */
    char text[80]; /* the words it came from */
};

struct config {
    unsigned model;    /* DisplayModel of family 15 */
    unsigned stepping; /* some rules begin with a stepping; 0 when it is not known */
    bool hyper_threading;
    size_t count;
    struct config_write write[CONFIG_WRITES];
};

/* Append a write; false when the list is full. */
bool config_add(struct config *config, uint32_t msr, uint64_t value, unsigned line,
                const char *text);

/* The registers after the writes, as the hardware would hold them; fault[i] says how write i ended.
 */
struct config_state {
    uint64_t escr[P4PMU_ESCRS];
    uint64_t cccr[P4PMU_COUNTERS];
    uint64_t counter[P4PMU_COUNTERS];
    uint64_t pebs_enable, pebs_matrix_vert;
    enum p4pmu_fault fault[CONFIG_WRITES];
    uint64_t stored[CONFIG_WRITES];
};
bool config_apply(const struct config *config, struct config_state *state);

/* Dialects. TEXT in, writes appended; ERROR (what, line, what was expected) when false. */
enum config_dialect {
    CONFIG_MSR_LIST, /* "0x3b8 0x0200020c" or "MSR_CRU_ESCR0 = 0x..." per line, # comments */
    CONFIG_WRMSR,   /* msr-tools command lines: wrmsr [-p N] [-a] REG VALUE; rdmsr lines are kept as
                       reads */
    CONFIG_PERFEX,  /* perfctr: CCCR/ESCR@COUNTER, with p4pe= and p4pmv= */
    CONFIG_LIBPFM4, /* netburst::event:SUB:u */
    CONFIG_LINUX_PERF, /* Linux perf raw config of the P4 PMU: r<hex> */
    CONFIG_OPROFILE,   /* name:count:mask:kernel:user */
    CONFIG_FREEBSD,    /* p4-event,mask=...,usr,os,... */
    CONFIG_PAPI,       /* PAPI_TOT_INS */
    CONFIG_P4SIM,      /* p4sim's own event text, as `p4sim stat -e` takes it */
    CONFIG_DIALECTS
};
const char *config_dialect_name(enum config_dialect dialect);
bool config_parse(enum config_dialect dialect, const char *text, struct config *config,
                  char error[512]);
/* The dialect a text seems to be in, or -1. */
int config_guess(const char *text);

#endif
