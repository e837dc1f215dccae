#include "common/processor.h"

#include <math.h>

/* The most threads that a measurement uses. */
#define MOST_THREADS 64
/* Multiply-adds of one thread in each repeat. */
#define MULTIPLY_ADDS 1e8

processor_here processor_at_hand;

processor processor_usual(void)
{
    return (processor){.units = 8,
                       .lanes = 8,
                       .driver_cache = 32 << 20,
                       .cache = 32 << 20,
                       .rate = 45,
                       .memory = 40,
                       .cache_speed = 55,
                       .pages = 1,
                       .unaligned = 1};
}

void processor_put(const processor *p, test_random random)
{
    processor_at_hand = (processor_here){*p, random, 0};
}

/* Fills in repeats of a measurement that takes `time` without noise. */
static void repeat(double time, double times[TN_HOST_REPEATS])
{
    processor_here *here = &processor_at_hand;
    for (int r = 0; r < TN_HOST_REPEATS; r++)
        times[r] = time * (1 + test_real(&here->random, 0, here->is.noise));
    for (int i = 0; i < here->is.interrupted; i++)
        times[test_between(&here->random, 0, TN_HOST_REPEATS - 1)] *=
            test_real(&here->random, 1, 20);
}

/* Returns the time to read `bytes`. The cache hit rate falls linearly from 1 for sets of the
 * cache's size to 0 for sets 1.5 times as large. */
static double reading(const processor *p, uint32_t threads, double bytes)
{
    const double cache = (double)p->cache, found = fmin(fmax(3 - 2 * bytes / cache, 0), 1);
    return bytes * (found / (p->cache_speed * threads) + (1 - found) / p->memory);
}

bool processor_take(uint32_t threads, uint32_t lanes, uint64_t most_bytes, tn_host_times *out)
{
    const processor *p = &processor_at_hand.is;
    const double panels[] = {1, p->pages, p->unaligned};
    processor_at_hand.taken++;
    assert_true(lanes <= p->lanes && threads == p->units);
    *out = (tn_host_times){.threads = threads < MOST_THREADS ? threads : MOST_THREADS,
                           .repeats = TN_HOST_REPEATS,
                           .multiply_adds = MULTIPLY_ADDS};
    for (; out->sets < TN_HOST_SETS && TN_HOST_MIN_SET << out->sets <= most_bytes; out->sets++) {
        out->reads[out->sets].bytes = TN_HOST_MIN_SET << out->sets;
        repeat(reading(p, out->threads, (double)out->reads[out->sets].bytes),
               out->reads[out->sets].nanoseconds);
    }
    for (int i = 0; i < TN_HOST_PANELS; i++)
        repeat(MULTIPLY_ADDS / (p->rate * panels[i]), out->panels[i]);
    return out->sets > 0;
}
