/* Made-up samples; see lab.h. */
#define _GNU_SOURCE
#include "lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *lab_path(const char *name)
{
    static char path[4096];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/p4sim-test-%d-%s", folder ? folder : "/tmp", (int)getpid(),
             name);
    return path;
}

/* A number that looks like chance and is always the same: splitmix64. */
static uint64_t mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

void lab_sample(uint64_t number, bool wide, struct samples_sample *sample, uint64_t *frames)
{
    struct sim_sample *s = &sample->about;
    uint64_t mask = wide ? UINT64_MAX : UINT32_MAX, chance = mix(number);
    memset(sample, 0, sizeof *sample);
    sample->event = (unsigned)(chance % 2);
    s->kind = sample->event ? SIM_SAMPLE_PEBS : SIM_SAMPLE_PMI;
    s->number = number;
    s->counter = sample->event ? 16 : 12;
    s->process = (uint16_t)(chance >> 8 & 3);
    s->thread = (uint16_t)(chance >> 10 & 7);
    s->lp = (unsigned)(chance >> 13 & 1);
    s->cpl = 3;
    s->clock = number * 1000 + (chance >> 20 & 255);
    s->ip = (0x8048000 + (chance >> 30 & 0xFFF)) & mask;
    s->truth_known = chance >> 14 & 1;
    if (s->truth_known) {
        s->truth_ip = s->ip - (chance >> 45 & 15);
        s->overflow_clock = s->clock - (chance >> 55 & 127);
    }
    sample->skid_known = s->truth_known && (chance >> 18 & 1);
    s->skid_instructions = sample->skid_known ? (int64_t)(chance >> 50 & 31) - 4 : 0;
    s->registers_known = chance >> 15 & 1;
    for (unsigned i = 0; s->registers_known && i < (wide ? 18u : 10u); i++)
        s->registers.value[i] = mix(number + 1000003 * i) & mask;
    s->last_branch_count = chance >> 16 & 1 ? 4 : 0;
    for (unsigned i = 0; i < s->last_branch_count; i++)
        s->last_branch[i] =
            (struct sim_last_branch){mix(number + i) & mask, mix(number - i) & mask};
    sample->chain = (enum samples_chain)(chance >> 17 & 3);
    sample->frames = sample->chain ? (unsigned)(chance >> 58) : 0;
    for (unsigned i = 0; i < sample->frames; i++)
        frames[i] = mix(number ^ i) & mask;
    sample->frame = frames;
}

static const struct samples_about about = {
    .made_by = "p4sim test",
    .model = "northwood",
    .program = "/usr/bin/made up",
    .core_mhz = 2400,
    .l1_line_bytes = 64,
    .l1_sets = 32,
    .event_count = 2,
    .event = {{"instr_retired", 12, 0, SIM_BY_PMI, 1000},
              {"1stL_cache_load_miss_retired", 16, 0, SIM_BY_PEBS, 777}},
};

static void put_beside(struct samples_writer *writer)
{
    struct trace_object object = {.start = 0x8048000,
                                  .end = 0x8049000,
                                  .executable = true,
                                  .build_id_bytes = 3,
                                  .build_id = {1, 2, 3},
                                  .path = "/usr/bin/made"};
    samples_put_object(writer, &object);
    object.start = 0x8048800; /* later, over a part of the first */
    snprintf(object.path, sizeof object.path, "/usr/bin/later");
    samples_put_object(writer, &object);
    /* backwards: the reader sorts */
    for (uint64_t ip = 0x8048010; ip-- > 0x8048000;)
        samples_put_code(writer, &(struct samples_code){.ip = ip, .length = 1, .bytes = {0x90}});
    for (uint64_t ip = 0x8048010; ip-- > 0x8048000;)
        samples_put_exact(writer, &(struct samples_exact){
                                      .event = (unsigned)(ip & 1), .ip = ip, .count = ip & 0xFFF});
}

void lab_write(const char *path, size_t count, bool wide, bool finished)
{
    char error[512];
    struct samples_about here = about;
    here.wide = wide;
    struct samples_writer *writer = samples_create(path, &here, error);
    assert_non_null(writer);
    put_beside(writer);
    for (size_t i = 0; i < count; i++) {
        struct samples_sample sample;
        uint64_t frames[SAMPLES_CHAIN];
        lab_sample(i, wide, &sample, frames);
        samples_put(writer, &sample);
    }
    struct samples_end end = {.clocks = 1 + 1000 * count,
                              .instructions = 77,
                              .counted = {true, false},
                              .count = {4711, 0},
                              .exact = {true, true},
                              .totals = {.samples = count, .lost_records = 3},
                              .how = "the program exited with status 0"};
    assert_true(samples_finish(writer, finished ? &end : NULL, error));
}

struct samples *lab_read(const char *path)
{
    char error[512];
    struct samples *samples = samples_read(path, error);
    if (!samples)
        print_error("%s\n", error);
    assert_non_null(samples);
    return samples;
}
