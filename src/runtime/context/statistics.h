/* What a context counts of its work. */
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

/* Counts one, which began at a time of tn_now(); a validation context counts for its owner. Returns
 * the milliseconds that it took. */
double tn_count(struct tenon_context *context, tn_statistic which, uint64_t began);

/* Counts what takes no time worth telling, or several at once; negative amounts take away. */
void tn_count_only(struct tenon_context *context, tn_statistic which, int64_t amount);

#endif
