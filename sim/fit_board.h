/*
 * The board of a fitting search: what is needed, and where each need stands. Private to sim/.
 */
#ifndef SIM_FIT_BOARD_H
#define SIM_FIT_BOARD_H

#include "fit.h"

#define NONE P4PMU_NONE
enum { NEEDS = 2 * (SIM_FIT_MAX + 1) };

struct need {
    uint32_t value; /* ESCR content */
    int escrs[2];
    int counter;  /* asked for, or NONE */
    bool counted; /* wants a counter */
    size_t request;
};

struct board {
    struct need needs[NEEDS];
    size_t count;
    int escr[NEEDS], counter_of[NEEDS]; /* the choice, by need */
    bool placed[NEEDS];
    bool muted[NEEDS];                /* of another counter group than the one being searched */
    unsigned users[P4PMU_ESCR_COUNT]; /* needs in each ESCR */
    uint32_t held[P4PMU_ESCR_COUNT];
    uint32_t counters; /* bits of those taken */
    uint32_t reserved; /* bits of those somebody else has */
};

/* Put the needs of those of COUNT requests that are IN on an empty board without the counters
 * RESERVED. */
void fit_set_board(struct board *b, const struct sim_request *requests, const bool *in,
                   size_t count, uint32_t reserved);
/* The counters that keep ESCR awake: those it and the other ESCR of its pair can reach. */
uint32_t fit_pair_counters(int escr);
/* Give every need a place; false when there is no way. */
bool fit_solve(struct board *b);
/* The execution tag bit of request INDEX: 0 to 3, or 4 when all are taken. */
unsigned fit_tag_bit(const struct sim_request *requests, const bool *in, size_t count,
                     size_t index);
/* How many bits of X are set. */
unsigned fit_bits(uint32_t x);
bool fit_is_execution(const struct sim_request *request);
bool fit_is_replay(const struct sim_request *request);
/* The CCCR that counts R in ESCR; R NULL: without filters. */
uint32_t fit_cccr(const struct sim_request *r, int escr);

/* Whether the last of COUNT requests gets on with the others in the registers of which there is one
 * (replay tagging, front-end tag, execution tags); else C says who fights over what. */
bool fit_singles_agree(const struct sim_request *requests, size_t count,
                       const struct sim_replay_registers *preset, struct sim_conflict *c);
/* C becomes the smallest set of COUNT requests that does not fit; the last is the first that did
 * not. */
void fit_find_conflict(const struct sim_request *requests, size_t count, uint32_t reserved,
                       struct sim_conflict *c);

#endif
