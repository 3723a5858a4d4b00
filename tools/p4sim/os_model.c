/*
 * p4sim explain os-model: the routines of the model's kernel, instruction by instruction, from the
 * rows that are executed.
 */
#include "os_model.h"

#include "kernel.h"

static void print_row(FILE *out, const struct kernel_row *row)
{
    fprintf(out, "    %08lX  ", (unsigned long)row->address);
    for (unsigned i = 0; i < 10; i++) {
        if (i < row->length)
            fprintf(out, "%02X", (unsigned)(unsigned char)row->bytes[i]);
        else
            fprintf(out, "  ");
    }
    fprintf(out, "  %s\n", row->text);
}

void os_model_print(FILE *out)
{
    size_t count, next = 0;
    const struct kernel_row *rows = kernel_rows(&count);
    fprintf(out, "\n  The stub, from address %08lX on:\n", (unsigned long)rows[0].address);
    for (size_t i = 0; i < count; i++) {
        if (next < KERNEL_ROUTINES && kernel_routine_row((enum kernel_routine)next) == i) {
            const char *text = kernel_routine_text((enum kernel_routine)next);
            fprintf(out, "\n  %s%s%s\n", kernel_routine_name((enum kernel_routine)next),
                    text[0] ? ": " : "", text);
            next++;
        }
        print_row(out, &rows[i]);
    }
}
