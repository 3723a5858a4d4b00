/* Judging a configuration: each write, then each counter, then what is left over. */
#ifndef TOOLS_CONFIG_CHECK_H
#define TOOLS_CONFIG_CHECK_H

#include "config.h"

enum check_id {
#define FINDING(id, ...) CHECK_##id,
#include "findings.def"
    CHECK_FINDINGS
};

enum check_severity { CHECK_NOTE, CHECK_WARNING, CHECK_ERROR };
const char *check_severity_name(enum check_severity severity);

struct check_info {
    const char *name;
    enum check_severity severity;
    bool counts_nothing;
    const char *title, *background, *source;
};
const struct check_info *check_info(enum check_id id);

struct check_finding {
    enum check_id id;
    int counter;  /* it is about, or P4PMU_NONE */
    uint32_t msr; /* the register, and which of its bits */
    unsigned shift, length;
    unsigned line; /* of the write, 0 when the register was not written */
    char what[400], todo[400];
};

/* What a counter does. */
struct check_counter {
    bool used;     /* its CCCR was written with something in it */
    bool counts;   /* something can be added to it */
    bool waits;    /* it counts only after a cascade started it */
    int escr;      /* it listens to, or P4PMU_NONE */
    int event;     /* enum p4pmu_event, or P4PMU_NONE */
    char why[400]; /* it counts nothing */
};

enum { CHECK_MOST = 128 };

struct check {
    const struct config *config;
    struct config_state state;
    struct check_counter counter[P4PMU_COUNTERS];
    uint64_t explained; /* ESCRs that a finding already speaks of */
    size_t count;
    struct check_finding finding[CHECK_MOST];
};

/* Judge CONFIG, which must outlive CHECK. False when memory is short. */
bool check_config(const struct config *config, struct check *check);
/* Note or erratum N (from 0) that the event tables have for EVENT, or NULL past the last. */
const struct check_info *check_event_note(int event, size_t n);
/* No error and no warning. */
bool check_sound(const struct check *check);

#endif
