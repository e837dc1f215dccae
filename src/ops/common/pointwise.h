/* Element-wise operations on several tensors: elementwise, copy, gated and prelu. All views share
 * one index space, which kernels traverse as in cl_kernels/common/walk.clh. */
#ifndef TN_OPS_COMMON_POINTWISE_H
#define TN_OPS_COMMON_POINTWISE_H

#include "common/walk_args.h"
#include "check/host.h"
#include "dispatch/operation.h"
#include "ops/common/gpu.h"
#include "ops/common/rows.h"
#include "ops/common/stores.h"

/* The collapsed index space. The order of its elements is free, so dimensions are sorted by
 * decreasing stride of the last output. A family whose launches depend on more embeds this as the
 * first member of its problem. */
typedef struct tn_pointwise_problem {
    tn_problem head;
    uint32_t from, to; /* tenon_dtype of the first input and the outputs */
    uint32_t kind;     /* specific to the family */
    uint32_t operands, outputs;
    uint32_t rank;                              /* at least 1 */
    uint32_t element_size[TENON_WALK_OPERANDS]; /* bytes; of absent operands that of the first */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[TENON_WALK_OPERANDS][TENON_MAX_RANK];
} tn_pointwise_problem;

/* Fills in a problem of `size` bytes from validated views, outputs last, all broadcast to the shape
 * of the last output. Fails if one does not broadcast. Absent operands are skipped. */
tenon_status tn_pointwise_canonicalize(const tn_call *call, uint32_t outputs, size_t size,
                                       tn_problem *wanted);

/* Checks that an operand has the shape of `like`. */
tenon_status tn_same_shape_check(const char *caller, const tn_argument *argument,
                                 const tn_argument *like);

/* Checks that all operands after the first have its type and, if `shape`, its shape. Absent ones
 * pass. */
tenon_status tn_alike_check(const tn_call *call, bool shape);

/* Returns a bit for the kind: tn_family.paths. */
uint64_t tn_pointwise_paths(const tn_problem *problem);

int64_t tn_pointwise_elements(const tn_pointwise_problem *problem);

/* Returns true if all operands can be accessed by vectors; and the work of an element-wise solver
 * with or without vectors. */
bool tn_pointwise_has_vectors(const tn_pointwise_problem *problem);
tn_work tn_pointwise_work(const tn_pointwise_problem *problem, bool vectors);

/* Configures an element-wise solver that has tn_stores_parameter. The options are TENON_DTYPE,
 * TENON_VW, TENON_VECTORS on GPUs, those in `more`, and TENON_STREAM. */
void tn_pointwise_configure(tenon_context *context, const tn_pointwise_problem *problem,
                            const char *more, tn_choice *choice);

/* Returns the bytes of the output of a copy, for tn_stores_configure. */
int64_t tn_pointwise_copy_bytes(const tn_pointwise_problem *problem);

/* The same for operands of several types or integer types, which kernels access as stored
 * (cl_kernels/common/stored.clh). The options are TENON_VW, TENON_VECTORS on GPUs, those in `more`,
 * and TENON_STREAM; the second function returns the share of a GPU's work-item. */
void tn_stored_configure(tenon_context *context, const tn_pointwise_problem *problem,
                         const char *more, tn_choice *choice);
tn_stream_share tn_stored_share(const tenon_context *context, const tn_pointwise_problem *problem);

/* The function `configure` of solvers for operands of one integer type, TENON_A_DTYPE. */
const char *tn_integers_configure(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice);

/* Returns the share of a GPU's work-item: vectors if all last dimensions are contiguous, else units
 * of `otherwise` elements, at most a vector. */
tn_stream_share tn_pointwise_share(const tenon_context *context,
                                   const tn_pointwise_problem *problem, int64_t otherwise);

/* Records a launch whose source, kernel, options, args_size and scalar patches are set. `args`
 * begins with a walk_args, which is filled in here. `share` is the share of a GPU's work-item. */
tenon_status tn_pointwise_record(const char *caller, tn_recording *recording,
                                 const tn_pointwise_problem *problem, tn_launch launch,
                                 walk_args *args, tn_stream_share share);

/* Layouts of awkward cases: dense; rows and columns to broadcast; rows with gaps that differ
 * between operands. */
typedef enum tn_layout {
    TN_LAYOUT_DENSE,
    TN_LAYOUT_BROADCAST,
    TN_LAYOUT_GAPS,
    TN_LAYOUTS
} tn_layout;

/* Returns the error of an operand, in a reference, if the device flushes denormals to zero. */
double tn_flushed(double x, double least_normal);

/* Begins an awkward case of an operation: views with the given types for inputs and outputs. */
void tn_pointwise_awkward(const tn_operation *operation, uint32_t from, uint32_t to,
                          tn_layout layout, struct tn_case *c);

#endif
