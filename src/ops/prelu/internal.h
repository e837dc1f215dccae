/* Internal interface of the parametric ReLU's families. */
#ifndef TN_OPS_PRELU_INTERNAL_H
#define TN_OPS_PRELU_INTERNAL_H

#include "ops/common/pointwise.h"
#include "prelu/args.h"

#include <tenon/prelu.h>

enum { PRELU_X, PRELU_SLOPE, PRELU_Y, PRELU_OPERANDS };
enum { PRELU_DY = PRELU_Y, PRELU_DX, PRELU_DSLOPE, PRELU_BACKWARD_OPERANDS };

/* The index space of x with the dimensions of slope (`kept`) first. There is at least one dimension
 * of either kind, if need be of size 1. */
typedef struct prelu_backward_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t kept, rank;
    uint32_t reserved;
    int64_t shape[PRELU_RANK]; /* the last one may be 0 */
    int64_t stride[PRELU_VIEWS][PRELU_RANK];
} prelu_backward_problem;

extern const tn_family tn_prelu_family, tn_prelu_backward_family;
extern const tn_solver tn_prelu_rows;
extern const tn_solver tn_prelu_along, tn_prelu_across, tn_prelu_along_split, tn_prelu_across_split;

/* Fills in a problem from validated views. dslope must not be empty. */
tenon_status tn_prelu_backward_canonicalize(const tn_call *call, prelu_backward_problem *problem);

/* Members of tn_operation and tn_family. */
tn_prepare_function tn_prelu_prepare, tn_prelu_backward_prepare;
tn_reference_function tn_prelu_reference, tn_prelu_backward_reference;
tn_awkward_function tn_prelu_awkward, tn_prelu_backward_awkward;

#endif
