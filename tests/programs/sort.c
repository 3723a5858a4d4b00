/*
 * Sorts the same records twice, by quicksort and by heapsort, and compares: branches no predictor
 * can learn, swaps of whole records, and two very different walks through the same array.
 * Size: records.
 */
#include "size.h"

#include <stdio.h>
#include <string.h>

#define MAXIMUM (1 << 16)

struct record {
    uint32_t key;
    uint32_t weight;
    char name[8];
};

static struct record one[MAXIMUM], other[MAXIMUM];

static void swap(struct record *a, struct record *b)
{
    struct record kept = *a;
    *a = *b;
    *b = kept;
}

static void quicksort(struct record *records, int low, int high)
{
    while (low < high) {
        uint32_t pivot = records[(low + high) / 2].key;
        int i = low, j = high;
        while (i <= j) {
            while (records[i].key < pivot)
                i++;
            while (records[j].key > pivot)
                j--;
            if (i <= j)
                swap(&records[i++], &records[j--]);
        }
        quicksort(records, low, j);
        low = i;
    }
}

static void sift(struct record *records, unsigned root, unsigned count)
{
    for (unsigned child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && records[child + 1].key > records[child].key)
            child++;
        if (records[root].key >= records[child].key)
            return;
        swap(&records[root], &records[child]);
    }
}

static void heapsort(struct record *records, unsigned count)
{
    for (unsigned root = count / 2; root-- > 0;)
        sift(records, root, count);
    while (count-- > 1) {
        swap(&records[0], &records[count]);
        sift(records, 0, count);
    }
}

int main(int argc, char **argv)
{
    unsigned count = size_argument(argc, argv, 700);
    uint32_t state = 1945;
    unsigned differences = 0;

    if (count > MAXIMUM)
        count = MAXIMUM;
    for (unsigned i = 0; i < count; i++) {
        one[i].key = next_random(&state);
        one[i].weight = i;
        memcpy(one[i].name, "record", 7);
    }
    memcpy(other, one, count * sizeof *one);
    quicksort(one, 0, (int)count - 1);
    heapsort(other, count);
    for (unsigned i = 0; i < count; i++)
        differences += one[i].key != other[i].key;
    printf("%u records sorted twice, %u differences\n", count, differences);
    return differences != 0;
}
