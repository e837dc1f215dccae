/* Internal interface of the families of tenon_segment_reduce, tenon_segment_reduce_backward and
 * tenon_segment_scan. */
#ifndef TN_OPS_SEGMENT_INTERNAL_H
#define TN_OPS_SEGMENT_INTERNAL_H

#include "base/shape.h"
#include "ops/common/axis.h"
#include "segment/args.h"

#include <tenon/segment.h>

/* Operands of the gradient; the others are numbered as in the forward direction. */
enum { SEGMENT_DY = SEGMENT_X, SEGMENT_DX = SEGMENT_Y };

/* Operands of the gradient of the weights. */
enum {
    SEGMENT_WEIGHTS_X,
    SEGMENT_WEIGHTS_DY,
    SEGMENT_WEIGHTS_INDICES,
    SEGMENT_WEIGHTS_SEGMENTS,
    SEGMENT_DWEIGHTS
};

/* The problem of a reduction or its gradient. Columns are the dimensions of a row, sorted by
 * decreasing stride of the output, and merged where possible. */
typedef struct segment_problem {
    tn_problem head;
    uint32_t dtype, index_type;
    uint32_t kind, flags; /* those of the kernels */
    uint32_t segment_type, reserved;
    uint64_t rank; /* of the columns, at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[SEGMENT_VIEWS][TENON_MAX_RANK];
    int64_t row_step[SEGMENT_VIEWS];
    int64_t index_step, weight_step, segment_step; /* 0 if absent */
    int64_t segments, rows, positions;
} segment_problem;

typedef struct segment_scan_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t kind, flags;
    uint32_t segment_type;
    tn_axis_space space; /* x, segments, y */
} segment_scan_problem;

extern const tn_family tn_segment_reduce_family, tn_segment_reduce_backward_family,
    tn_segment_reduce_backward_weights_family, tn_segment_scan_family;
extern const tn_solver tn_segment_rows, tn_segment_blocks, tn_segment_backward_rows,
    tn_segment_backward_scatter, tn_segment_backward_sorted, tn_segment_weights_products,
    tn_segment_scan_whole, tn_segment_scan_pieces;

/* Names indexed by tenon_segment_kind; terminated by NULL. */
extern const char *const tn_segment_words[];

/* Sets the build options of a type's kernels, with vectors on CPUs if `vectors`. */
void tn_segment_options(tenon_context *context, uint32_t dtype, uint32_t index_type,
                        uint32_t segment_type, bool vectors, tn_choice *choice);

tn_prepare_function tn_segment_reduce_prepare, tn_segment_reduce_backward_prepare,
    tn_segment_reduce_backward_weights_prepare, tn_segment_scan_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_segment_reduce_reference, tn_segment_reduce_backward_reference,
    tn_segment_reduce_backward_weights_reference, tn_segment_scan_reference;
tn_fill_function tn_segment_reduce_fill_valid, tn_segment_reduce_backward_fill_valid,
    tn_segment_reduce_backward_weights_fill_valid, tn_segment_scan_fill_valid;
tn_awkward_function tn_segment_reduce_awkward, tn_segment_reduce_backward_awkward,
    tn_segment_reduce_backward_weights_awkward, tn_segment_scan_awkward;

#endif
