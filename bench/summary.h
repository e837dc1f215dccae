/* What a run says in a few lines: ratios by suite, type and peer, and the slowest cases. */
#ifndef BENCH_SUMMARY_H
#define BENCH_SUMMARY_H

#include "runner.h"

#define BENCH_SLOWEST     10
#define BENCH_MOST_RATIOS 320

/* Ratios are a peer's time over Tenon's. */
typedef struct bench_ratio {
    const char *suite;
    tenon_dtype dtype;
    const char *peer; /* "best": the fastest of the others' peers in each case */
    uint32_t cases;
    double mean; /* geometric */
    double least;
    const bench_result *least_at;
} bench_ratio;

typedef struct bench_summary {
    bench_ratio ratios[BENCH_MOST_RATIOS];
    uint32_t ratio_count;
    bench_ratio
        slowest[BENCH_SLOWEST]; /* of one case each, the least ratio to its best peer first */
    uint32_t slow_count;
} bench_summary;

/* Cases with fewer operations than `least_operations` (but not those with none, which are not about
 * them) count neither for "best" nor among the slowest: there, calls are what is compared. */
void bench_summarise(const bench_result *results, uint32_t count, double least_operations,
                     bench_summary *summary);

#endif
