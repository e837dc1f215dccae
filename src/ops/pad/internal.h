/* Internal interface of the padding family. */
#ifndef TN_OPS_PAD_INTERNAL_H
#define TN_OPS_PAD_INTERNAL_H

#include "ops/common/epilogue.h"
#include "pad/args.h"

#include <tenon/pad.h>

enum { PAD_X, PAD_Y, PAD_OPERANDS };

/* A dimension of both tensors. */
typedef struct pad_dimension {
    int64_t y_size, x_size, begin;
    int64_t y_stride, x_stride;
} pad_dimension;

/* The canonical problem. Dimensions are sorted by decreasing stride of y, and merged if both
 * tensors are contiguous across them and the padding stays one block. */
typedef struct pad_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t mode;
    uint64_t rank; /* at least 1 */
    pad_dimension dimension[TENON_MAX_RANK];
} pad_problem;

extern const tn_family tn_pad_family;
extern const tn_solver tn_pad_rows;

/* Fills in a problem from validated views. y must not be empty. */
void tn_pad_canonicalize(const tenon_pad_params *params, const tenon_tensor *x,
                         const tenon_tensor *y, pad_problem *problem);

tn_prepare_function tn_pad_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_pad_reference;
tn_awkward_function tn_pad_awkward;

#endif
