/* Operations on several tensors element by element: what elementwise, copy, gated and prelu share.
 * All views run over one index space; kernels go through it as cl_kernels/common/walk.clh does. */
#ifndef TN_OPS_COMMON_POINTWISE_H
#define TN_OPS_COMMON_POINTWISE_H

#include "common/walk_args.h"
#include "check/host.h"
#include "dispatch/operation.h"
#include "ops/common/gpu.h"
#include "ops/common/rows.h"
#include "ops/common/stores.h"

/* The collapsed index space, whose last dimension is the one along which the last output lies
 * closest: the order of elements does not matter to what is done with each alone. A family whose
 * launches depend on more begins its own problem with this. */
typedef struct tn_pointwise_problem {
    tn_problem head;
    uint32_t from, to; /* tenon_dtype of the inputs and the outputs */
    uint32_t kind;     /* a family's own */
    uint32_t operands, outputs;
    uint32_t rank; /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[TENON_WALK_OPERANDS][TENON_MAX_RANK];
} tn_pointwise_problem;

/* Fills in a problem of `size` bytes from checked views, the outputs last, read as ones of the last
 * output's shape; refuses one that does not broadcast to it. Operands without a view are passed
 * over. */
tenon_status tn_pointwise_canonicalise(const tn_call *call, uint32_t outputs, size_t size,
                                       tn_problem *wanted);

/* Refuses an operand of another shape than one that it goes with. */
tenon_status tn_same_shape_check(const char *caller, const tn_argument *argument,
                                 const tn_argument *like);

/* Refuses operands (from number 1 on) of another type than the first, or (with `shape`) of another
 * shape. Absent ones pass. */
tenon_status tn_alike_check(const tn_call *call, bool shape);

/* tn_family's: the kind alone. */
uint64_t tn_pointwise_paths(const tn_problem *problem);

int64_t tn_pointwise_elements(const tn_pointwise_problem *problem);

/* Whether a solver that goes from element to element can do so by vectors, and what it does then,
 * or without. */
bool tn_pointwise_has_vectors(const tn_pointwise_problem *problem);
tn_work tn_pointwise_work(const tn_pointwise_problem *problem, bool vectors);

/* Configures such a solver with tn_stores_parameter. The options are TENON_DTYPE, TENON_VW,
 * TENON_VECTORS on GPUs, those of `more`, and TENON_STREAM. */
void tn_pointwise_configure(tenon_context *context, const tn_pointwise_problem *problem,
                            const char *more, tn_choice *choice);

/* What tn_stores_configure is told of a copy: elements of one type move as bits, others one by
 * one. */
int64_t tn_pointwise_copy_bytes(const tn_pointwise_problem *problem);

/* What a work-item of a GPU takes of it at once: vectors where all last dimensions are contiguous,
 * or `otherwise`. */
tn_stream_share tn_pointwise_share(const tenon_context *context,
                                   const tn_pointwise_problem *problem, int64_t otherwise);

/* Records a launch that has its source, kernel, options, args_size and the patches of scalars.
 * `args` begins with a walk_args, which is filled in here; `share` is a GPU's work-item's. */
tenon_status tn_pointwise_record(const char *caller, tn_recording *recording,
                                 const tn_pointwise_problem *problem, tn_launch launch,
                                 walk_args *args, tn_stream_share share);

/* Layouts of awkward cases: dense; a row and a column to broadcast; rows with gaps, other ones in
 * each operand. */
typedef enum tn_layout {
    TN_LAYOUT_DENSE,
    TN_LAYOUT_BROADCAST,
    TN_LAYOUT_GAPS,
    TN_LAYOUTS
} tn_layout;

/* For references: what is lost of an operand where the device takes denormals for zero. */
double tn_flushed(double x, double least_normal);

/* Begins an awkward case of an operation with views of these types of its inputs and outputs. */
void tn_pointwise_awkward(const tn_operation *operation, uint32_t from, uint32_t to,
                          tn_layout layout, struct tn_case *c);

#endif
