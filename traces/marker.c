/* The form of markers; see marker.h. */
#include "marker.h"

#include <string.h>

enum { JMP_SHORT = 0xeb, JUMP_BYTES = 2 };

static const char magic[] = "p4sim:"; /* as in p4sim.h */

size_t trace_marker_length(const uint8_t bytes[2])
{
    size_t skipped = bytes[1];

    /* the magic text, one letter, a name of at least one and its 0 */
    return bytes[0] == JMP_SHORT && skipped >= sizeof magic - 1 + 3 && skipped < 128
               ? JUMP_BYTES + skipped
               : 0;
}

bool trace_marker(const uint8_t *bytes, size_t count, struct trace_marker *marker)
{
    size_t length = count < JUMP_BYTES ? 0 : trace_marker_length(bytes);
    const char *text = (const char *)bytes + JUMP_BYTES;
    char letter;

    if (!length || length > count || memcmp(text, magic, sizeof magic - 1) != 0 ||
        bytes[length - 1] != 0)
        return false;
    letter = text[sizeof magic - 1];
    *marker = (struct trace_marker){letter == 'B', text + sizeof magic};
    return letter == 'B' || letter == 'E';
}
