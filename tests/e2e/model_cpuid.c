/*
 * Prints what CPUID answers on a model, one row of six hexadecimal numbers for each leaf (leaf,
 * subleaf, EAX, EBX, ECX, EDX), for the independent step counter: programs choose their code by
 * CPUID.
 */
#include "sim.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    static const uint32_t leaves[] = {0,          1,          2,          0x80000000,
                                      0x80000001, 0x80000002, 0x80000003, 0x80000004};
    struct sim_model model;
    char error[512];
    if (!sim_model_load(argc > 1 ? argv[1] : "northwood", &model, error)) {
        fprintf(stderr, "%s\n", error);
        return 3;
    }
    for (unsigned i = 0; i < sizeof leaves / sizeof leaves[0]; i++) {
        uint32_t r[4];
        sim_model_cpuid(&model, leaves[i], 0, r);
        printf("%x 0 %x %x %x %x\n", (unsigned)leaves[i], (unsigned)r[0], (unsigned)r[1],
               (unsigned)r[2], (unsigned)r[3]);
    }
    sim_model_free(&model);
    return 0;
}
