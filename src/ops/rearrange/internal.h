/* Internal interface of the rearrangement family. */
#ifndef TN_OPS_REARRANGE_INTERNAL_H
#define TN_OPS_REARRANGE_INTERNAL_H

#include "base/shape.h"
#include "ops/common/epilogue.h"
#include "rearrange/args.h"

#include <tenon/rearrange.h>

/* Operands of tenon_rearrange and tenon_triangle; tenon_reverse_lengths; tenon_one_hot. */
enum { REARRANGE_OPERAND_X, REARRANGE_OPERAND_Y, REARRANGE_OPERANDS };
enum { REVERSE_X, REVERSE_LENGTHS, REVERSE_Y, REVERSE_OPERANDS };
enum { ONE_HOT_INDICES, ONE_HOT_Y, ONE_HOT_OPERANDS };

/* The kernels of cl_kernels/rearrange/forward.cl. */
typedef enum rearrange_kind {
    REARRANGE_WRAPPED,
    REARRANGE_TRIANGLE,
    REARRANGE_REVERSED,
    REARRANGE_ONE_HOT
} rearrange_kind;

/* The index space of y, sorted by decreasing stride of y. */
typedef struct rearrange_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t kind;
    uint32_t index_type; /* of lengths or indices; 0: there are none */
    uint32_t rank;       /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[REARRANGE_VIEWS][TENON_MAX_RANK];
    /* The members of the kernels' arguments. */
    int64_t size[TENON_MAX_RANK], begin[TENON_MAX_RANK];
    int64_t flips;
    int64_t axis_size, axis_step; /* of the reversed axis in x, or the number of classes */
    int64_t most;                 /* of the triangle's numbers */
    int64_t from_end;
} rearrange_problem;

extern const tn_family tn_rearrange_family;
extern const tn_solver tn_rearrange_rows;

/* Fill in a problem from validated views that are not empty. */
void tn_rearrange_canonicalize(const tenon_rearrange_params *params, const tenon_tensor *x,
                               const tenon_tensor *y, rearrange_problem *problem);
void tn_triangle_canonicalize(const tenon_triangle_params *params, const tenon_tensor *x,
                              const tenon_tensor *y, rearrange_problem *problem);
void tn_reverse_canonicalize(uint32_t axis, uint32_t batch, const tenon_tensor *x,
                             const tenon_tensor *lengths, const tenon_tensor *y,
                             rearrange_problem *problem);
void tn_one_hot_canonicalize(uint32_t axis, uint32_t from_end, const tenon_tensor *indices,
                             const tenon_tensor *y, rearrange_problem *problem);

tn_prepare_function tn_rearrange_prepare, tn_triangle_prepare, tn_reverse_lengths_prepare,
    tn_one_hot_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_rearrange_reference, tn_triangle_reference, tn_reverse_lengths_reference,
    tn_one_hot_reference;
tn_fill_function tn_reverse_lengths_fill_valid, tn_one_hot_fill_valid;
tn_awkward_function tn_rearrange_awkward;

#endif
