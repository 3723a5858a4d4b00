/* Topics to explain, and time diagrams drawn by running the library. */
#ifndef TOOLS_CONFIG_TOPICS_H
#define TOOLS_CONFIG_TOPICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum topic_diagram {
    TOPIC_NO,
    TOPIC_THRESHOLD,
    TOPIC_COMPLEMENT,
    TOPIC_EDGE,
    TOPIC_CASCADE,
    TOPIC_PATH
};

struct topic {
    const char *name, *aliases, *title;
    enum topic_diagram diagram;
    const char *text, *source;
};

/* Row INDEX of topics.def; NULL past the end. */
const struct topic *topic(size_t index);
/* NAME is the topic's name or one of its aliases (case ignored). */
bool topic_is(const struct topic *topic, const char *name);
/* Draw DIAGRAM to OUT. The numbers come from a PMU that is given the inputs. */
void topic_draw(enum topic_diagram diagram, FILE *out);

#endif
