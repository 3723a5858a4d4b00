/* Windows of simulated instructions; see windows.h. */
#include "windows.h"

enum { LOOK_EVERY = 1 << 12 }; /* instructions between two looks at *STOP */

static bool skips(const struct windows *w)
{
    return w->every && w->done % w->every >= w->length;
}

/* What follows the window's last instruction is not what it leads to. */
static bool is_last(const struct windows *w)
{
    return w->every && w->length < w->every && w->done % w->every == w->length - 1;
}

enum trace_result windows_next(struct windows *w, struct trace_source *source,
                               const volatile int *stop, struct trace_instruction *out)
{
    enum trace_result result;
    while (skips(w)) {
        if (w->done % LOOK_EVERY == 0 && stop && *stop)
            return TRACE_IDLE;
        result = trace_source_next(source, out);
        if (result != TRACE_OK)
            return result;
        w->done++;
        w->skipped++;
    }
    result = trace_source_next(source, out);
    if (result != TRACE_OK)
        return result;
    if (is_last(w))
        out->flags |= TRACE_INTERRUPTED;
    w->done++;
    return TRACE_OK;
}
