/* A summary of a run: ratios by device, suite, type and peer, and the slowest cases. */
#ifndef BENCH_SUMMARY_H
#define BENCH_SUMMARY_H

#include "runner.h"

#define BENCH_SLOWEST     10
#define BENCH_MOST_RATIOS 320

/* A peer's time over Tenon's. */
typedef struct bench_ratio {
    uint32_t device;
    const char *suite;
    tenon_dtype dtype;
    const char *peer; /* "best": the fastest peer from other libraries in each case */
    uint32_t cases;
    double mean; /* geometric mean */
    double least;
    const bench_result *least_at;
} bench_ratio;

typedef struct bench_summary {
    bench_ratio ratios[BENCH_MOST_RATIOS];
    uint32_t ratio_count;
    bench_ratio slowest[BENCH_SLOWEST]; /* one case each, the lowest ratio to its best peer first */
    uint32_t slow_count;
} bench_summary;

/* Cases with fewer operations than `least_operations` (except those with none, which do not measure
 * operations) count neither for "best" nor among the slowest, because they mainly measure the
 * overhead of calls. */
void bench_summarize(const bench_result *results, uint32_t count, double least_operations,
                     bench_summary *summary);

#endif
