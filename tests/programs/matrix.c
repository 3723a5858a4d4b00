/*
 * Adds up a square matrix row by row, then column by column: the same work on the same data, once
 * with the caches and once against them. Size: rows and columns.
 */
#include "size.h"

#include <stdio.h>

#define MAXIMUM 1024

static uint32_t matrix[MAXIMUM][MAXIMUM];

static uint32_t by_rows(unsigned size)
{
    uint32_t sum = 0;

    for (unsigned row = 0; row < size; row++)
        for (unsigned column = 0; column < size; column++)
            sum += matrix[row][column];
    return sum;
}

static uint32_t by_columns(unsigned size)
{
    uint32_t sum = 0;

    for (unsigned column = 0; column < size; column++)
        for (unsigned row = 0; row < size; row++)
            sum += matrix[row][column];
    return sum;
}

int main(int argc, char **argv)
{
    unsigned size = size_argument(argc, argv, 180);
    uint32_t rows, columns;

    if (size > MAXIMUM)
        size = MAXIMUM;
    for (unsigned i = 0; i < size; i++)
        for (unsigned j = 0; j < size; j++)
            matrix[i][j] = i * 31 + j;
    rows = by_rows(size);
    columns = by_columns(size);
    printf("%ux%u: %lu by rows, %lu by columns\n", size, size, (unsigned long)rows,
           (unsigned long)columns);
    return rows != columns;
}
