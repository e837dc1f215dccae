/* Internal interface of the histogram family. */
#ifndef TN_OPS_HISTOGRAM_INTERNAL_H
#define TN_OPS_HISTOGRAM_INTERNAL_H

#include "base/shape.h"
#include "histogram/args.h"
#include "ops/common/epilogue.h"
#include "ops/common/rows.h"

#include <tenon/histogram.h>

/* The canonical problem. Dimensions of x and the weights keep their order, and are merged where
 * possible. */
typedef struct histogram_problem {
    tn_problem head;
    uint32_t dtype, sum_dtype;
    uint32_t flags; /* those of the kernels */
    uint32_t rank;  /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[HISTOGRAM_VIEWS][TENON_MAX_RANK];
    int64_t edge_step, y_step;
    int64_t bins, elements;
    int64_t low, high, scale; /* bits, as in histogram_args; 0 if unused */
} histogram_problem;

extern const tn_family tn_histogram_family;
extern const tn_solver tn_histogram_serial, tn_histogram_blocks;

tn_prepare_function tn_histogram_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_histogram_reference;
tn_fill_function tn_histogram_fill_valid;
tn_awkward_function tn_histogram_awkward;

#endif
