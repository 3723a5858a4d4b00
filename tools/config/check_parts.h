/* What the files of the judge know of each other. */
#ifndef TOOLS_CONFIG_CHECK_PARTS_H
#define TOOLS_CONFIG_CHECK_PARTS_H

#include "check.h"
#include "names.h"

enum { CHECK_PEBS_ENABLE = 0x3F1, CHECK_MATRIX = 0x3F2, CHECK_DS_AREA = 0x600 };
/* COMPARE and COMPLEMENT with this threshold hold in every clock. */
enum { CHECK_THRESHOLD_MOST = 15 };

/* A new finding about bits SHIFT, LENGTH of MSR; its texts are filled by the caller through the
 * pointer, which is never NULL. */
struct check_finding *check_add(struct check *c, enum check_id id, int counter, uint32_t msr,
                                unsigned shift, unsigned length);
void check_what(struct check_finding *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void check_todo(struct check_finding *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* COUNTER counts nothing because of a new finding. */
struct check_finding *check_dead(struct check *c, enum check_id id, unsigned counter, uint32_t msr,
                                 unsigned shift, unsigned length);
bool check_has(const struct check *c, enum check_id id, uint32_t msr);

/* The last write of MSR that did not fault, or NULL. */
const struct config_write *check_write(const struct check *c, uint32_t msr);

static inline uint32_t check_escr(const struct check *c, int escr)
{
    return (uint32_t)c->state.escr[escr];
}
static inline uint32_t check_cccr(const struct check *c, unsigned counter)
{
    return (uint32_t)c->state.cccr[counter];
}
/* ENABLE or one of the cascades. */
bool check_started(const struct check *c, unsigned counter);
/* The counters that are started and hear ESCR. */
uint32_t check_listeners(const struct check *c, int escr);
/* The event ESCR selects on this model, or P4PMU_NONE. */
int check_event(const struct check *c, int escr);
/* Mask bits of EVENT that are documented on this model. */
unsigned check_documented(const struct check *c, int event);
/* "branch_retired" or "event select 0x05". */
const char *check_event_text(const struct check *c, int escr, char out[64]);
/* "0, 1 or 2" from a set. */
const char *check_list(uint32_t set, const char *last, char out[96]);

/* check_writes.c: faults, ignored bits, two users. */
void check_writes(struct check *c);
/* check_wires.c: does the counter hear an ESCR with an event? False: it does not (a finding is
 * there). */
bool check_wire(struct check *c, unsigned counter);
void check_unheard(struct check *c);
/* check_event.c: can the ESCR's event happen, and pass the filters? A finding when not. */
void check_input(struct check *c, unsigned counter);
/* The comparison of COUNTER holds in every clock. */
bool check_always(const struct check *c, unsigned counter);
/* A finding: COUNTER counts every clock because its input is always 0, for the reason WHY. */
void check_say_always(struct check *c, unsigned counter, const char *why);
/* Whether ESCR, which COUNTER needs upstream, detects its event; a finding when not. */
bool check_detects(struct check *c, unsigned counter, int escr);
/* check_tags.c */
void check_tagged(struct check *c, unsigned counter);
void check_tags_left(struct check *c);
/* Whether ESCR holds something that serves tagging and needs no counter of its own. */
bool check_is_tagger(const struct check *c, int escr);
/* check_overflow.c: cascades, interrupts, PEBS. */
void check_cascade(struct check *c, unsigned counter);
void check_overflow(struct check *c, unsigned counter);
void check_pebs(struct check *c);
/* check_notes.c: errata and the notes of the event tables. */
void check_notes(struct check *c);

#endif
