/* Training steps of historic workloads, as sequences. */
#ifndef BENCH_NETWORKS_HISTORIC_H
#define BENCH_NETWORKS_HISTORIC_H

#include "training.h"

#include "../shapes/shapes.h"

#define BENCH_MAX_RESULTS 64

typedef struct bench_historic {
    bench_training training;
    const char *workload; /* "alexnet" or "dbn" */
    /* Numbers of the values that are not constant at first, and of the results of a step, each in
     * the order in which a peer expects or returns them. */
    int32_t given[BENCH_MAX_RESULTS], results[BENCH_MAX_RESULTS];
    uint32_t given_count, result_count;
} bench_historic;

/* Lists the values and steps of a workload, in memory that is zero. Returns false if there are too
 * many. */
bool bench_historic_list(const bench_historic_shape *shape, bench_historic *historic);

#endif
