/*
 * Four threads add to one sum under a lock and to their own thread-local sums without one.
 * Size: additions of each thread.
 */
#include "size.h"

#include <pthread.h>
#include <stdio.h>

#define THREADS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t shared;
static __thread uint32_t own;
static unsigned additions;

static void *add(void *seed)
{
    uint32_t state = (uint32_t)(uintptr_t)seed;

    for (unsigned i = 0; i < additions; i++) {
        uint32_t number = next_random(&state);
        own += number;
        if (i % 64 == 0) {
            pthread_mutex_lock(&lock);
            shared += number;
            pthread_mutex_unlock(&lock);
        }
    }
    return (void *)(uintptr_t)own;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    uint32_t sum = 0;
    void *result;

    additions = size_argument(argc, argv, 5000);
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, add, (void *)(uintptr_t)(i + 1)) != 0)
            return 1;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        sum += (uint32_t)(uintptr_t)result;
    }
    printf("%d threads: %lu shared, %lu own\n", THREADS, (unsigned long)shared, (unsigned long)sum);
    return 0;
}
