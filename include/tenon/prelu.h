/** @file
 * The parametric ReLU, a leaky ReLU whose slopes are a tensor, and its gradients.
 */
#ifndef TENON_PRELU_H
#define TENON_PRELU_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** Start from TENON_PRELU_PARAMS_INIT. */
typedef struct tenon_prelu_params {
    uint32_t struct_size; /**< sizeof(tenon_prelu_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
} tenon_prelu_params;

/** The defaults of tenon_prelu_params, without braces. */
#define TENON_PRELU_PARAMS_DEFAULTS sizeof(tenon_prelu_params), 0, NULL
/** Initializes a tenon_prelu_params with the defaults. */
#define TENON_PRELU_PARAMS_INIT                                                                    \
    {                                                                                              \
        TENON_PRELU_PARAMS_DEFAULTS                                                                \
    }
#ifndef __cplusplus
/** A const tenon_prelu_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_prelu_params(...)                                                                    \
    TENON_LITERAL(tenon_prelu_params, TENON_PRELU_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_prelu_params) */
TENON_API void tenon_prelu_params_default(tenon_prelu_params *params, uint32_t size);

/** Computes y = x > 0 ? x : slope · x (He et al., "Delving deep into rectifiers", 2015). A NaN in x
 * gives NaN; a NaN in the slope gives NaN where x is not above 0.
 *  @param params  NULL means the defaults
 *  @param x       f64, f32, f16 or bf16, any rank and strides, including 0
 *  @param slope   of x's type; broadcast to x's shape by NumPy's rules: aligned at the last
 *                 dimension, dimensions of size 1 and missing dimensions repeat. One slope per
 *                 channel of N C H W has the shape C 1 1; one slope for all has rank 0 or the shape
 *                 1
 *  @param y       of x's type and shape; may be exactly x or exactly slope (same memory, offset,
 *                 shape and strides), must not overlap either otherwise, and its own elements must
 *                 not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_prelu_forward(tenon_stream *stream, const tenon_prelu_params *params,
                                            const tenon_tensor *x, const tenon_tensor *slope,
                                            const tenon_tensor *y, const tenon_sync *sync);

/** Makes a plan of tenon_prelu_forward with operands x, slope, y. The tensors need no memory;
 * memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_prelu_forward_plan(tenon_context *context,
                                                 const tenon_prelu_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *slope,
                                                 const tenon_tensor *y, tenon_plan **plan);

/** Computes the gradients: dx = x > 0 ? dy : slope · dy, and dslope, whose elements are the sum of
 * (x > 0 ? 0 : x · dy) over all elements of x that use this slope, in a fixed order. A NaN in x
 * gives NaN in both. Sums over many elements are split into partial sums in workspace, if the limit
 * allows it.
 *  @param params  NULL means the defaults
 *  @param x       as in the forward call
 *  @param slope   as in the forward call
 *  @param dy      of x's type and shape, any strides
 *  @param dx      of x's type and shape
 *  @param dslope  of slope's type and shape; zeros if x is empty and dslope is not. Neither output
 *                 may overlap the other or an input, but each may be exactly one of x, slope and dy
 *                 (same memory, offset, shape and strides), and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return as tenon_prelu_forward; also TENON_ERROR_WORKSPACE_TOO_SMALL if a forced solver needs
 *          more than the limit */
TENON_CALL tenon_status tenon_prelu_backward(tenon_stream *stream, const tenon_prelu_params *params,
                                             const tenon_tensor *x, const tenon_tensor *slope,
                                             const tenon_tensor *dy, const tenon_tensor *dx,
                                             const tenon_tensor *dslope, const tenon_sync *sync);

/** Makes a plan of tenon_prelu_backward with operands x, slope, dy, dx, dslope. The tensors need no
 * memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_prelu_backward_plan(tenon_context *context,
                                                  const tenon_prelu_params *params,
                                                  const tenon_tensor *x, const tenon_tensor *slope,
                                                  const tenon_tensor *dy, const tenon_tensor *dx,
                                                  const tenon_tensor *dslope, tenon_plan **plan);

TENON_END_C

#endif
