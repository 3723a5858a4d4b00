/* Exact profiles: facts by the instruction they come from; see exact.h. */
#include "exact.h"

#include <stdlib.h>

enum {
    NOTES = 8192, /* instructions remembered: more than are in flight or wait in store buffers */
    FIRST_SLOTS = 4096
};
#define OF_A_HANDLER (UINT64_C(1) << 63) /* serial numbers of the kernel's instructions */

struct note {
    uint64_t serial; /* + 1; 0: none */
    uint64_t ip;
    uint16_t process;
};

struct row {
    uint64_t ip, count;
    uint16_t process;
    uint16_t slot; /* of the plan, + 1; 0: empty */
};

struct sim_exact {
    struct note note[2][NOTES]; /* by logical processor */
    struct row *row;            /* open addressing */
    size_t rows, used;
    uint32_t slots[P4PMU_ESCRS]; /* of the plan that listen to an ESCR, one bit each */
    bool plain[SIM_FIT_MAX];
    uint64_t total[SIM_FIT_MAX], nowhere[SIM_FIT_MAX];
    bool out_of_memory;
    sim_exact_fn *hear; /* or NULL */
    void *hear_context;
};

struct sim_exact *sim_exact_new(const struct sim_plan *plan)
{
    const uint32_t filters = P4PMU_CCCR_COMPARE_MASK | P4PMU_CCCR_EDGE_MASK;
    struct sim_exact *exact = calloc(1, sizeof *exact);
    if (exact)
        exact->row = calloc(FIRST_SLOTS, sizeof *exact->row);
    if (!exact || !exact->row) {
        free(exact);
        return NULL;
    }
    exact->rows = FIRST_SLOTS;
    for (size_t i = 0; i < plan->count; i++) {
        exact->slots[plan->slots[i].escr] |= 1u << i;
        exact->plain[i] = !(plan->slots[i].cccr_value & filters);
    }
    return exact;
}

void sim_exact_free(struct sim_exact *exact)
{
    if (exact)
        free(exact->row);
    free(exact);
}

void sim_exact_note(struct sim_exact *exact, unsigned lp, uint64_t serial, uint16_t process,
                    uint64_t ip)
{
    exact->note[lp & 1][serial % NOTES] = (struct note){serial + 1, ip, process};
}

static struct row *row_at(struct row *rows, size_t count, size_t slot, uint16_t process,
                          uint64_t ip)
{
    uint64_t key = (ip ^ (uint64_t)process << 40 ^ (uint64_t)slot << 56) * 0x9E3779B97F4A7C15u;
    size_t at = (size_t)(key >> 24) & (count - 1);
    while (rows[at].slot &&
           (rows[at].ip != ip || rows[at].process != process || rows[at].slot != slot + 1))
        at = (at + 1) & (count - 1);
    return &rows[at];
}

static bool grow(struct sim_exact *exact)
{
    size_t count = 2 * exact->rows;
    struct row *bigger = calloc(count, sizeof *bigger);
    if (!bigger)
        return false;
    for (size_t i = 0; i < exact->rows; i++) {
        const struct row *old = &exact->row[i];
        if (old->slot)
            *row_at(bigger, count, old->slot - 1u, old->process, old->ip) = *old;
    }
    free(exact->row);
    exact->row = bigger;
    exact->rows = count;
    return true;
}

static void count_for(struct sim_exact *exact, size_t slot, unsigned who, unsigned count,
                      uint64_t origin)
{
    const struct note *note = &exact->note[who >> 2 & 1][(origin - 1) % NOTES];
    exact->total[slot] += count;
    if (!origin || ((origin - 1) & OF_A_HANDLER) || note->serial != origin) {
        exact->nowhere[slot] += count;
        return;
    }
    if (2 * exact->used >= exact->rows && !grow(exact)) {
        exact->out_of_memory = true;
        return;
    }
    struct row *row = row_at(exact->row, exact->rows, slot, note->process, note->ip);
    if (!row->slot) {
        exact->used++;
        if (exact->hear)
            exact->hear(exact->hear_context, slot, note->process, note->ip, count);
    }
    row->slot = (uint16_t)(slot + 1);
    row->process = note->process;
    row->ip = note->ip;
    row->count += count;
}

void sim_exact_witness(void *context, enum p4pmu_escr escr, unsigned who, unsigned count,
                       uint64_t origin)
{
    struct sim_exact *exact = context;
    for (uint32_t left = exact->slots[escr]; left; left &= left - 1)
        count_for(exact, (size_t)__builtin_ctz(left), who, count, origin);
}

void sim_exact_hear(struct sim_exact *exact, sim_exact_fn *new, void *context)
{
    exact->hear = new;
    exact->hear_context = context;
}

void sim_exact_each(const struct sim_exact *exact, sim_exact_fn *each, void *context)
{
    for (size_t i = 0; i < exact->rows; i++) {
        const struct row *row = &exact->row[i];
        if (row->slot)
            each(context, row->slot - 1u, row->process, row->ip, row->count);
    }
}

bool sim_exact_total(const struct sim_exact *exact, size_t slot, uint64_t *total, uint64_t *nowhere)
{
    *total = exact->total[slot];
    *nowhere = exact->nowhere[slot];
    return exact->plain[slot] && !exact->out_of_memory && *total != 0;
}
