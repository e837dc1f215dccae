/** @file
 * Softmax and log-softmax along one axis, and their gradients.
 */
#ifndef TENON_SOFTMAX_H
#define TENON_SOFTMAX_H

#include <tenon/plan.h>

TENON_BEGIN_C

#define TENON_SOFTMAX_LOG 1u /**< flag: log-softmax, the logarithm of softmax */

/** Start from TENON_SOFTMAX_PARAMS_INIT: softmax along the last dimension. */
typedef struct tenon_softmax_params {
    uint32_t struct_size; /**< sizeof(tenon_softmax_params) */
    uint32_t flags;       /**< 0 or TENON_SOFTMAX_LOG */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int32_t axis;         /**< counted from 0, or negative: from the end, -1 being the last */
    uint32_t reserved;    /**< 0 */
} tenon_softmax_params;

/** The defaults of tenon_softmax_params, without braces. */
#define TENON_SOFTMAX_PARAMS_DEFAULTS sizeof(tenon_softmax_params), 0, NULL, -1, 0
/** Initializes a tenon_softmax_params with the defaults. */
#define TENON_SOFTMAX_PARAMS_INIT                                                                  \
    {                                                                                              \
        TENON_SOFTMAX_PARAMS_DEFAULTS                                                              \
    }
#ifndef __cplusplus
/** A const tenon_softmax_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_softmax_params(...)                                                                  \
    TENON_LITERAL(tenon_softmax_params, TENON_SOFTMAX_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_softmax_params) */
TENON_API void tenon_softmax_params_default(tenon_softmax_params *params, uint32_t size);

/** Computes y = exp(x - m) / s along the axis, where m is the greatest element of a row and s the
 * sum of exp(x - m) over the row; with TENON_SOFTMAX_LOG, y = (x - m) - log(s) (J. Bridle,
 * "Probabilistic interpretation of feedforward classification network outputs", 1990; m prevents
 * overflow of exp). -inf gives 0, or -inf for the logarithm. A row with a NaN or +inf, or with only
 * -inf, becomes NaN, as in the formula: inf - inf is NaN. A row of attention scores that are all
 * masked by -inf is therefore NaN, not 0, and so is its gradient, as in PyTorch.
 *  @param params  NULL means the defaults
 *  @param x       f64, f32, f16 or bf16, rank at least 1, any strides, including broadcast
 *                 dimensions (stride 0)
 *  @param y       of x's type and shape; may be exactly x (same memory, offset and strides), must
 *                 not overlap it otherwise, and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_softmax_forward(tenon_stream *stream,
                                              const tenon_softmax_params *params,
                                              const tenon_tensor *x, const tenon_tensor *y,
                                              const tenon_sync *sync);

/** Makes a plan of tenon_softmax_forward with operands x, y. The tensors need no memory; memory
 * that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_softmax_forward_plan(tenon_context *context,
                                                   const tenon_softmax_params *params,
                                                   const tenon_tensor *x, const tenon_tensor *y,
                                                   tenon_plan **plan);

/** Computes the gradient with respect to x from the result of the forward call: dx = y · (dy - sum
 * of y · dy along the axis); with TENON_SOFTMAX_LOG, where y is the logarithm, dx = dy - exp(y) ·
 * (sum of dy).
 *  @param params  those of the forward call, except for `solver`
 *  @param y       the result of the forward call
 *  @param dy      the gradient with respect to y: of y's type and shape
 *  @param dx      of y's type and shape; may be exactly y or exactly dy, must not overlap them
 *                 otherwise, and its own elements must not overlap
 *  @return as tenon_softmax_forward */
TENON_CALL tenon_status tenon_softmax_backward(tenon_stream *stream,
                                               const tenon_softmax_params *params,
                                               const tenon_tensor *y, const tenon_tensor *dy,
                                               const tenon_tensor *dx, const tenon_sync *sync);

/** Makes a plan of tenon_softmax_backward with operands y, dy, dx.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_softmax_backward_plan(tenon_context *context,
                                                    const tenon_softmax_params *params,
                                                    const tenon_tensor *y, const tenon_tensor *dy,
                                                    const tenon_tensor *dx, tenon_plan **plan);

TENON_END_C

#endif
