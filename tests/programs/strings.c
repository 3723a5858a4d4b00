/*
 * The string instructions, with and without repetition, forwards and backwards, and the C library's
 * string functions next to them.
 * Size: rounds.
 */
#include "size.h"

#include <stdio.h>
#include <string.h>

#define BYTES 3000

static char source[BYTES], target[BYTES], words[BYTES];

static void copy(void *to, const void *from, size_t count)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

static void copy_backwards(char *to, const char *from, size_t count)
{
    to += count - 1;
    from += count - 1;
    __asm__ volatile("std; rep movsb; cld" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

static void fill(void *to, uint32_t value, size_t count)
{
    __asm__ volatile("rep stosl" : "+D"(to), "+c"(count) : "a"(value) : "memory");
}

static size_t length(const char *text)
{
    size_t left = (size_t)-1;

    __asm__ volatile("repne scasb" : "+D"(text), "+c"(left) : "a"(0) : "memory", "cc");
    return (size_t)-2 - left;
}

static size_t common(const char *one, const char *other, size_t count)
{
    size_t left = count;

    __asm__ volatile("repe cmpsb" : "+S"(one), "+D"(other), "+c"(left) : : "memory", "cc");
    return count - left;
}

static uint32_t total(const uint32_t *numbers, size_t count)
{
    uint32_t sum = 0;

    for (; count; count--) {
        uint32_t number;
        __asm__ volatile("lodsl" : "=a"(number), "+S"(numbers) : : "memory");
        sum += number;
    }
    return sum;
}

int main(int argc, char **argv)
{
    unsigned rounds = size_argument(argc, argv, 40);
    size_t check = 0;

    memset(source, 'a', BYTES - 1);
    for (unsigned i = 0; i < rounds; i++) {
        source[(i * 37) % (BYTES - 1)] = (char)('a' + i % 26);
        copy(target, source, BYTES);
        copy_backwards(target + 1, target, BYTES / 2);
        copy(target, source, 0);
        fill(words, i, BYTES / 4);
        check += length(target) + common(source, target, BYTES) + total((void *)words, 100);
        check += strlen(source) + (size_t)(strchr(source, 'z') != NULL);
        check += (size_t)(memcmp(source, target, BYTES) > 0);
    }
    printf("%u rounds, checksum %lu\n", rounds, (unsigned long)check);
    return 0;
}
