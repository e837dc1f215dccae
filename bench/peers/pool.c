#include "pool.h"

#include "../environment.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define MOST_THREADS 64
#define SPINS        20000 /* polls for work before a thread sleeps: half a millisecond */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    int count; /* number of threads, including the caller's; 0 before the first call */
    /* The current work: its number, which increases, and the number of threads that run it. */
    atomic_uint number;
    int threads;
    void (*work)(void *data, int thread);
    void *data;
    atomic_int left;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Waits for work other than number `last`; returns its number. */
static unsigned next_work(unsigned last)
{
    for (int i = 0; i < SPINS; i++) {
        unsigned number = atomic_load_explicit(&pool.number, memory_order_acquire);
        if (number != last)
            return number;
        pause_a_little();
    }
    pthread_mutex_lock(&pool.lock);
    while (atomic_load(&pool.number) == last)
        pthread_cond_wait(&pool.more, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    return atomic_load(&pool.number);
}

static void *wait_for_work(void *data)
{
    const int thread = (int)(ptrdiff_t)data;
    unsigned number = 0;
    bench_pin(thread);
    for (;;) {
        number = next_work(number);
        if (thread < pool.threads)
            pool.work(pool.data, thread);
        /* All threads count down, so none misses a number. */
        atomic_fetch_sub_explicit(&pool.left, 1, memory_order_release);
    }
    return NULL;
}

int bench_pool_threads(void)
{
    int wanted = bench_processors();
    wanted = wanted > MOST_THREADS ? MOST_THREADS : wanted;
    for (; pool.count < wanted; pool.count++) {
        pthread_t id;
        if (pool.count > 0 &&
            pthread_create(&id, NULL, wait_for_work, (void *)(ptrdiff_t)pool.count) != 0)
            break;
        if (pool.count > 0)
            pthread_detach(id);
    }
    return pool.count;
}

void bench_pool_run(int threads, void (*work)(void *data, int thread), void *data)
{
    if (threads > 1) {
        pthread_mutex_lock(&pool.lock);
        pool.threads = threads;
        pool.work = work;
        pool.data = data;
        atomic_store(&pool.left, pool.count - 1);
        atomic_fetch_add_explicit(&pool.number, 1, memory_order_release);
        pthread_cond_broadcast(&pool.more);
        pthread_mutex_unlock(&pool.lock);
    }
    work(data, 0);
    while (threads > 1 && atomic_load_explicit(&pool.left, memory_order_acquire) > 0)
        pause_a_little();
}
