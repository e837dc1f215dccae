/* Counters of a context's work. */
#ifndef TN_RUNTIME_CONTEXT_STATISTICS_H
#define TN_RUNTIME_CONTEXT_STATISTICS_H

#include "base/platform.h"

#include <stdatomic.h>
#include <stdint.h>

typedef enum tn_statistic {
    TN_PROGRAMS_BUILT,
    TN_PROGRAMS_LOADED,
    TN_PROGRAMS_KEPT,
    TN_TRIALS_MADE,
    TN_TRIALS_RECALLED,
    TN_CHECKS_MADE,
    TN_CHECKS_WRONG,
    TN_CHECKS_RECALLED,
    TN_PLANS_MADE,
    TN_PLANS_FOUND,
    TN_WORKSPACE_BYTES,
    TN_STATISTICS
} tn_statistic;

typedef struct tn_statistics {
    atomic_uint_fast64_t count[TN_STATISTICS], nanoseconds[TN_STATISTICS];
} tn_statistics;

struct tenon_context;

/* Counts one event that began at `began` (tn_now()). A validation context counts for its owner.
 * Returns the duration in milliseconds. */
double tn_count(struct tenon_context *context, tn_statistic which, uint64_t began);

/* Adds `amount`, which may be negative, to a counter without measuring time. */
void tn_count_only(struct tenon_context *context, tn_statistic which, int64_t amount);

#endif
