/*
 * The table of instruction forms and its lookup. The rows and what their columns mean:
 * uop_forms.def.
 */
#include "uop_forms.h"
#include <string.h>

static const struct nb_form forms[] = {
#define F(core, name, pattern, trace, rom, latency, path, extra, busy, exec, marks)                \
    {name,           pattern,        trace,          rom,  latency, extra, busy,                   \
     NB_CORE_##core, NB_PATH_##path, NB_EXEC_##exec, marks},
#include "uop_forms.def"
#include "uop_forms_prescott.def"
#undef F
};

const struct nb_form *nb_form_at(size_t index)
{
    return index < sizeof forms / sizeof forms[0] ? &forms[index] : NULL;
}

/* Is the word WORD[0..LENGTH) one of the '|'-parted words of LIST (up to ',' or its end)? */
static bool word_in_list(const char *word, size_t length, const char *list)
{
    while (*list && *list != ',') {
        size_t n = strcspn(list, "|,");
        if (n == length && memcmp(list, word, n) == 0)
            return true;
        list += n;
        if (*list == '|')
            list++;
    }
    return false;
}

/* Do two lists (each up to ',' or its end) share a word? */
static bool lists_meet(const char *a, const char *b)
{
    while (*a && *a != ',') {
        size_t n = strcspn(a, "|,");
        if (word_in_list(a, n, b))
            return true;
        a += n;
        if (*a == '|')
            a++;
    }
    return false;
}

bool nb_pattern_fits(const char *pattern, const char *tokens)
{
    if (strcmp(pattern, "*") == 0)
        return true;
    if (strcmp(pattern, "-") == 0)
        return !*tokens;
    for (;;) {
        if (!lists_meet(pattern, tokens))
            return false;
        pattern += strcspn(pattern, ",");
        tokens += strcspn(tokens, ",");
        if (!*pattern || !*tokens)
            return *pattern == *tokens;
        pattern++;
        tokens++;
    }
}

static const struct nb_form *find_in_core(enum nb_core core, const char *name, const char *tokens)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const struct nb_form *form = &forms[i];
        if (form->core == core && form->name[0] == name[0] && strcmp(form->name, name) == 0 &&
            nb_pattern_fits(form->pattern, tokens))
            return form;
    }
    return NULL;
}

const struct nb_form *nb_form_find(enum nb_core core, const char *name, const char *tokens)
{
    const struct nb_form *form = find_in_core(core, name, tokens);
    return form || core == NB_CORE_P4 ? form : find_in_core(NB_CORE_P4, name, tokens);
}
