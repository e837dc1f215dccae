/* Internal interface of the gather families. */
#ifndef TN_OPS_GATHER_INTERNAL_H
#define TN_OPS_GATHER_INTERNAL_H

#include "base/shape.h"
#include "gather/args.h"
#include "ops/common/epilogue.h"

#include <tenon/gather.h>

/* Operands in both directions: the input (x, dy), the indices and the output (y, dx). */
enum { GATHER_FROM, GATHER_INDICES, GATHER_TO, GATHER_OPERANDS };

/* The index space of y, sorted by decreasing stride of y. Operands have stride 0 in dimensions that
 * they lack. */
typedef struct gather_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t rank; /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[GATHER_OPERANDS][TENON_MAX_RANK];
    int64_t size, step; /* of x along the axis */
} gather_problem;

/* The index space of dx without the axis, by decreasing stride; and the indices, in row-major
 * order. */
typedef struct gather_backward_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t rank; /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[2][TENON_MAX_RANK]; /* of dy and dx */
    int64_t size, step;                /* of dx along the axis */
    gather_list_args list;
} gather_backward_problem;

extern const tn_family tn_gather_family, tn_gather_backward_family;
extern const tn_solver tn_gather_rows, tn_gather_backward_scan, tn_gather_backward_sorted;

/* Fill in a problem from validated views. `axis` is an axis of the table. No view is empty, except
 * dy and the indices for the gradient. */
void tn_gather_canonicalize(const tenon_tensor *x, const tenon_tensor *indices,
                            const tenon_tensor *y, uint32_t axis, gather_problem *problem);
void tn_gather_backward_canonicalize(const tenon_tensor *dy, const tenon_tensor *indices,
                                     const tenon_tensor *dx, uint32_t axis,
                                     gather_backward_problem *problem);

tn_prepare_function tn_gather_prepare, tn_gather_backward_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_gather_reference, tn_gather_backward_reference;
tn_fill_function tn_gather_fill_valid, tn_gather_backward_fill_valid;
tn_awkward_function tn_gather_awkward, tn_gather_backward_awkward;

#endif
