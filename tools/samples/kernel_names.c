/* Names of the code of the model's operating system, which lies in no file. */
#include "kernel.h"
#include "places.h"

bool places_in_kernel(uint64_t address, struct place *place)
{
    size_t count;
    const struct kernel_row *row = kernel_rows(&count);
    const struct kernel_row *last = &row[count - 1];
    int found = -1;
    if (address < row->address || address >= (uint64_t)last->address + last->length)
        return false;
    for (int i = 0; i < KERNEL_ROUTINES; i++) {
        uint32_t start = row[kernel_routine_row((enum kernel_routine)i)].address;
        if (start <= address && (found < 0 || start > place->start)) {
            found = i;
            place->start = start;
        }
    }
    place->object = "[kernel]";
    place->function = kernel_routine_name((enum kernel_routine)found);
    place->offset = address - place->start;
    return true;
}
