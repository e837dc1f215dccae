/* Internal interface of the families of local response normalization. The gradient is a family of
 * its own. */
#ifndef TN_OPS_LRN_INTERNAL_H
#define TN_OPS_LRN_INTERNAL_H

#include "lrn/args.h"
#include "ops/common/epilogue.h"

#include <tenon/lrn.h>

enum { LRN_X, LRN_Y, LRN_OPERANDS };
enum { LRN_BACKWARD_X, LRN_BACKWARD_DY, LRN_BACKWARD_DX, LRN_BACKWARD_OPERANDS };

/* Scalars of a run. Alpha is divided by the size. */
enum { LRN_SCALAR_ALPHA, LRN_SCALAR_K };

/* The operands in the order of the kernels' walks. */
enum { LRN_WALK_X, LRN_WALK_RESULT, LRN_WALK_DY, LRN_WALKS };

/* The canonical problem, in either direction. Dimensions are sorted by decreasing stride of y or
 * dx, and merged if all operands are contiguous across them, except for that of the channels. */
typedef struct lrn_problem {
    tn_problem head;
    uint32_t dtype, is_backward;
    int64_t size, channels;
    double beta;
    uint64_t rank, dimension; /* of the channels */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[LRN_WALKS][TENON_MAX_RANK];
} lrn_problem;

extern const tn_family tn_lrn_family, tn_lrn_backward_family;
extern const tn_solver tn_lrn_rows, tn_lrn_backward_planes, tn_lrn_backward_rows;

/* For solvers: counts the work if each base of a power is computed `repeats` times; returns the
 * arguments that depend only on the problem; and records a launch whose arguments are set, with
 * operands in the order of the walk. */
void tn_lrn_add_work(tenon_context *context, const lrn_problem *problem, double repeats,
                     tn_choice *choice);
lrn_args tn_lrn_arguments(const lrn_problem *problem);
tenon_status tn_lrn_record(const char *caller, tn_recording *recording, const lrn_problem *problem,
                           const uint8_t *operands, tn_launch *launch);

tn_prepare_function tn_lrn_prepare, tn_lrn_backward_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_lrn_reference, tn_lrn_backward_reference;
tn_awkward_function tn_lrn_awkward, tn_lrn_backward_awkward;

#endif
