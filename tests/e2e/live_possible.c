/* Ends with 0 when live 32-bit programs can run here, else says why not and ends with 77. */
#include "source.h"

#include <stdio.h>

int main(void)
{
    char reason[256] = "";
    if (trace_live_possible(reason))
        return 0;
    puts(reason);
    return 77;
}
