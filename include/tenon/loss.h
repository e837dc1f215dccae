/** @file
 * Loss functions and their gradients: cross-entropy with labels, squared error.
 */
#ifndef TENON_LOSS_H
#define TENON_LOSS_H

#include <tenon/plan.h>

TENON_BEGIN_C

#define TENON_CROSS_ENTROPY_IGNORE 1u /**< flag: rows labeled `ignore_label` do not contribute */

/** Start from TENON_CROSS_ENTROPY_PARAMS_INIT: classes along the last dimension, no ignored label,
 * scale 1. */
typedef struct tenon_cross_entropy_params {
    uint32_t struct_size; /**< sizeof(tenon_cross_entropy_params) */
    uint32_t flags;       /**< 0 or TENON_CROSS_ENTROPY_IGNORE */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int32_t
        axis; /**< axis of the classes: counted from 0, or negative, -1 being the last dimension */
    int32_t ignore_label; /**< any value; without the flag this field is ignored */
    double scale; /**< finite; factor of the gradient (1 / rows for a mean); not used by the forward
                     call */
} tenon_cross_entropy_params;

/** The defaults of tenon_cross_entropy_params, without braces. */
#define TENON_CROSS_ENTROPY_PARAMS_DEFAULTS sizeof(tenon_cross_entropy_params), 0, NULL, -1, 0, 1.0
/** Initializes a tenon_cross_entropy_params with the defaults. */
#define TENON_CROSS_ENTROPY_PARAMS_INIT                                                            \
    {                                                                                              \
        TENON_CROSS_ENTROPY_PARAMS_DEFAULTS                                                        \
    }
#ifndef __cplusplus
/** A const tenon_cross_entropy_params with the defaults, except for the members given as arguments.
 * See TENON_LITERAL. */
#define tenon_cross_entropy_params(...)                                                            \
    TENON_LITERAL(tenon_cross_entropy_params, TENON_CROSS_ENTROPY_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_cross_entropy_params) */
TENON_API void tenon_cross_entropy_params_default(tenon_cross_entropy_params *params,
                                                  uint32_t size);

/** Computes loss = log(sum of exp(x - m)) - (x[label] - m) for each row x of the logits along the
 * axis, where m is its greatest element: the negative logarithm of softmax at the label, in one
 * pass over the logits (I. Goodfellow, Y. Bengio, A. Courville, "Deep Learning", 2016, section
 * 6.2.2.3).
 *
 * A label below 0 or not below the number of classes gives a loss of NaN and causes no access out
 * of bounds. An ignored label gives 0, whatever its row contains. A row with a NaN or +inf, or with
 * only -inf, gives NaN.
 *  @param params  NULL means the defaults
 *  @param logits  f64, f32, f16 or bf16, rank at least 1, any strides, including broadcast
 *                 dimensions (stride 0), at least one class
 *  @param labels  i32, of the logits' shape without the axis; may broadcast with stride 0
 *  @param loss    of the logits' type and the labels' shape; must not overlap logits or labels, and
 *                 its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_cross_entropy_forward(
    tenon_stream *stream, const tenon_cross_entropy_params *params, const tenon_tensor *logits,
    const tenon_tensor *labels, const tenon_tensor *loss, const tenon_sync *sync);

/** Makes a plan of tenon_cross_entropy_forward with operands logits, labels, loss. The tensors need
 * no memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_cross_entropy_forward_plan(
    tenon_context *context, const tenon_cross_entropy_params *params, const tenon_tensor *logits,
    const tenon_tensor *labels, const tenon_tensor *loss, tenon_plan **plan);

/** Computes the gradient with respect to the logits: dlogits = scale · dloss · (softmax(x) - 1 at
 * the label, softmax(x) elsewhere). A label that is not a class gives a row of NaN, an ignored
 * label a row of 0.
 *  @param params          NULL means the defaults
 *  @param logits, labels  as in the forward call
 *  @param dloss           of the logits' type and the labels' shape, may broadcast with stride 0;
 *                         NULL means 1 for every row
 *  @param dlogits         of the logits' type and shape; may be exactly logits, must not overlap
 *                         them otherwise, nor labels or dloss, and its own elements must not
 *                         overlap
 *  @return as tenon_cross_entropy_forward */
TENON_CALL tenon_status tenon_cross_entropy_backward(
    tenon_stream *stream, const tenon_cross_entropy_params *params, const tenon_tensor *logits,
    const tenon_tensor *labels, const tenon_tensor *dloss, const tenon_tensor *dlogits,
    const tenon_sync *sync);

/** Makes a plan of tenon_cross_entropy_backward with operands logits, labels, dloss, dlogits.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_cross_entropy_backward_plan(
    tenon_context *context, const tenon_cross_entropy_params *params, const tenon_tensor *logits,
    const tenon_tensor *labels, const tenon_tensor *dloss, const tenon_tensor *dlogits,
    tenon_plan **plan);

#define TENON_MSE_MEAN 1u /**< flag: the mean of the squares instead of their sum */

/** Start from TENON_MSE_PARAMS_INIT: the mean over all axes, scale 1. */
typedef struct tenon_mse_params {
    uint32_t struct_size;         /**< sizeof(tenon_mse_params) */
    uint32_t flags;               /**< 0 or TENON_MSE_MEAN */
    const char *solver;           /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t axis_count;          /**< 0: all axes, which gives a single loss */
    int32_t axes[TENON_MAX_RANK]; /**< axes to sum over, each once: counted from 0, or negative:
                                     from the end */
    uint32_t reserved;            /**< 0 */
    double scale;                 /**< finite; factor of the loss and of its gradient */
} tenon_mse_params;

/** The defaults of tenon_mse_params, without braces. */
#define TENON_MSE_PARAMS_DEFAULTS sizeof(tenon_mse_params), TENON_MSE_MEAN, NULL, 0, {0}, 0, 1.0
/** Initializes a tenon_mse_params with the defaults. */
#define TENON_MSE_PARAMS_INIT                                                                      \
    {                                                                                              \
        TENON_MSE_PARAMS_DEFAULTS                                                                  \
    }
#ifndef __cplusplus
/** A const tenon_mse_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_mse_params(...)                                                                      \
    TENON_LITERAL(tenon_mse_params, TENON_MSE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_mse_params) */
TENON_API void tenon_mse_params_default(tenon_mse_params *params, uint32_t size);

/** Computes loss = scale · sum of (x - t)² over the axes, divided by the number of elements along
 * them with TENON_MSE_MEAN (C. Bishop, "Pattern Recognition and Machine Learning", 2006, section
 * 1.1). A NaN gives NaN.
 *  @param params  NULL means the defaults
 *  @param x       f64, f32, f16 or bf16, any rank and strides, including broadcast dimensions
 *                 (stride 0). Without elements along the axes the sum is 0 and the mean is invalid
 *  @param t       the target: of x's type and shape; may broadcast with stride 0
 *  @param loss    of x's shape with the axes either removed or of size 1. Of x's type, or f32 if x
 *                 is f16 or bf16. Must not overlap x or t, and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return as tenon_cross_entropy_forward; also TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver)
 */
TENON_CALL tenon_status tenon_mse_forward(tenon_stream *stream, const tenon_mse_params *params,
                                          const tenon_tensor *x, const tenon_tensor *t,
                                          const tenon_tensor *loss, const tenon_sync *sync);

/** Makes a plan of tenon_mse_forward with operands x, t, loss. The tensors need no memory; memory
 * that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_mse_forward_plan(tenon_context *context,
                                               const tenon_mse_params *params,
                                               const tenon_tensor *x, const tenon_tensor *t,
                                               const tenon_tensor *loss, tenon_plan **plan);

/** Computes the gradient with respect to x: dx = 2 · scale · dloss · (x - t), divided by the number
 * of elements as the loss is with TENON_MSE_MEAN. The gradient with respect to t is the negative:
 * exchange x and t.
 *  @param params  those of the forward call, except for `solver`
 *  @param x, t    as in the forward call
 *  @param dloss   of x's type and the loss's shape, may broadcast with stride 0; NULL means 1 for
 *                 every loss
 *  @param dx      of x's type and shape; may be exactly x or exactly t, must not overlap them
 *                 otherwise, nor dloss, and its own elements must not overlap
 *  @return as tenon_cross_entropy_backward */
TENON_CALL tenon_status tenon_mse_backward(tenon_stream *stream, const tenon_mse_params *params,
                                           const tenon_tensor *x, const tenon_tensor *t,
                                           const tenon_tensor *dloss, const tenon_tensor *dx,
                                           const tenon_sync *sync);

/** Makes a plan of tenon_mse_backward with operands x, t, dloss, dx.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_mse_backward_plan(tenon_context *context,
                                                const tenon_mse_params *params,
                                                const tenon_tensor *x, const tenon_tensor *t,
                                                const tenon_tensor *dloss, const tenon_tensor *dx,
                                                tenon_plan **plan);

TENON_END_C

#endif
