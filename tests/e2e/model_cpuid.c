/*
 * Prints what CPUID answers on a model, one row of six hexadecimal numbers for each leaf (leaf,
 * subleaf, EAX, EBX, ECX, EDX), for the independent step counter: programs choose their code by
 * CPUID.
 */
#include "sim.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    static const uint32_t leaves[][2] = {
        {0, 0},          {1, 0},          {2, 0},          {4, 0},
        {4, 1},          {4, 2},          {5, 0},          {0x80000000, 0},
        {0x80000001, 0}, {0x80000002, 0}, {0x80000003, 0}, {0x80000004, 0},
        {0x80000005, 0}, {0x80000006, 0}, {0x80000007, 0}, {0x80000008, 0}};
    struct sim_model model;
    char error[512];
    if (!sim_model_load(argc > 1 ? argv[1] : "northwood", &model, error)) {
        fprintf(stderr, "%s\n", error);
        return 3;
    }
    for (unsigned i = 0; i < sizeof leaves / sizeof leaves[0]; i++) {
        uint32_t r[4];
        sim_model_cpuid(&model, leaves[i][0], leaves[i][1], r);
        printf("%x %x %x %x %x %x\n", (unsigned)leaves[i][0], (unsigned)leaves[i][1],
               (unsigned)r[0], (unsigned)r[1], (unsigned)r[2], (unsigned)r[3]);
    }
    sim_model_free(&model);
    return 0;
}
