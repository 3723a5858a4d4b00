/* A counter's configuration in words. All texts are cut at SIZE. */
#ifndef TOOLS_CONFIG_WORDS_H
#define TOOLS_CONFIG_WORDS_H

#include "config.h"
#include "request.h"

/* The ESCR a counter hears and the event it selects on this model; P4PMU_NONE when there is none.
 */
int words_escr(const struct config_state *state, unsigned counter);
int words_escr_event(const struct config_state *state, const struct config *config, int escr);

/* The metric whose tag COUNTER counts, or NULL; *UPSTREAM is the ESCR that tags, or P4PMU_NONE. */
const struct sim_metric *words_metric(const struct config_state *state, const struct config *config,
                                      unsigned counter, int *upstream);

/* What COUNTER counts as p4sim's own event text, which sim_request_parse takes:
 * "branch_retired:MMTP+MMTM:u:t=2". Thread bits and TAG bits of the ESCR beyond it are not in it.
 * perfctr's raw form when no event of the part has the event select. */
void words_event(const struct config_state *state, const struct config *config, unsigned counter,
                 char *out, size_t size);
/* "at CPL 1 to 3 of logical processor 0", for an ESCR with EVENT. */
void words_who(uint32_t escr, const struct config *config, int event, char *out, size_t size);
/* "more than 2, rising edge", for a CCCR; "" when the input is added as it is. */
void words_filter(uint32_t cccr, char *out, size_t size);
/* "while both logical processors are active", for CCCR[17:16]. */
const char *words_active(uint32_t cccr);
/* One sentence on what is counted. */
void words_sentence(const struct config_state *state, const struct config *config, unsigned counter,
                    char *out, size_t size);
/* Event text and sentence. */
void words_count(const struct config_state *state, const struct config *config, unsigned counter,
                 char *out, size_t size);

#endif
