/** @file
 * Normalization: layer, RMS, group, instance and batch, forward and backward.
 *
 * All five use one formula. A set of n elements of x has a mean m, a variance v and r = 1 /
 * sqrt(v + epsilon); then y = (x - m) · r · gamma + beta. The kinds differ in the sets and in the
 * shape of gamma and beta:
 *
 * | kind     | x     | a set is                        | shape of m and r      | gamma, beta      |
 * |----------|-------|---------------------------------|-----------------------|------------------|
 * | LAYER    | any   | the last `dimensions` of x      | the dimensions before | those dimensions |
 * | RMS      | any   | the same                        | the dimensions before | those dimensions |
 * | GROUP    | N C … | C / groups channels of a sample | N × groups            | C                |
 * | INSTANCE | N C … | a channel of a sample           | N × C                 | C                |
 * | BATCH    | N C … | a channel of all samples        | C                     | C                |
 *
 * For RMS, m = 0, v is the mean of squares, and there is no beta.
 *
 * Sources: J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer normalization", 2016; B. Zhang and R.
 * Sennrich, "Root mean square layer normalization", 2019; Y. Wu and K. He, "Group normalization",
 * 2018; D. Ulyanov, A. Vedaldi and V. Lempitsky, "Instance normalization", 2016; S. Ioffe and C.
 * Szegedy, "Batch normalization", 2015. v is the variance with divisor n.
 *
 * Types. x, y and their gradients are f64, f32, f16 or bf16. gamma, beta and their gradients have
 * one type: x's type, or f32 if x is f16 or bf16. Means, variances and r have the accumulation
 * type: f64 for f64, f32 for all others.
 *
 * A NaN in a set makes the whole set NaN, and so does an infinity (with RMS the other elements
 * become 0). A constant set, for example of a single element, gives beta, except for the rounding
 * error of x - m; with an epsilon of 0 it gives 0 / 0: NaN or, because of rounding errors, any
 * number.
 */
#ifndef TENON_NORM_H
#define TENON_NORM_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** The sets over which statistics are computed; the table above has the shapes. */
typedef enum tenon_norm_kind {
    TENON_NORM_LAYER = 0,    /**< the last `dimensions` of x */
    TENON_NORM_RMS = 1,      /**< the same as layer, without a mean */
    TENON_NORM_GROUP = 2,    /**< groups of the channels of a sample */
    TENON_NORM_INSTANCE = 3, /**< a channel of a sample; x of rank at least 3 */
    TENON_NORM_BATCH = 4     /**< a channel of all samples */
} tenon_norm_kind;

/** Start from TENON_NORM_PARAMS_INIT: layer normalization over the last dimension. */
typedef struct tenon_norm_params {
    uint32_t struct_size; /**< sizeof(tenon_norm_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t kind;        /**< tenon_norm_kind */
    uint32_t dimensions;  /**< LAYER, RMS: the number of last dimensions in a set; ignored by the
                             others */
    int64_t groups;       /**< GROUP: the number of groups; must divide C; ignored by the others */
    double epsilon;       /**< finite, at least 0; rounded to the accumulation type */
    double momentum;      /**< BATCH: weight of the new statistics in the running ones, 0 to 1 */
} tenon_norm_params;

/** The defaults of tenon_norm_params, without braces. */
#define TENON_NORM_PARAMS_DEFAULTS                                                                 \
    sizeof(tenon_norm_params), 0, NULL, TENON_NORM_LAYER, 1, 1, 1e-5, 0.1
/** Initializes a tenon_norm_params with the defaults. */
#define TENON_NORM_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_NORM_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_norm_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_norm_params(...)                                                                     \
    TENON_LITERAL(tenon_norm_params, TENON_NORM_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_norm_params) */
TENON_API void tenon_norm_params_default(tenon_norm_params *params, uint32_t size);

/** Computes y = (x - m) · r · gamma + beta with the statistics of x: for all kinds, including batch
 * normalization in training.
 *  @param params            NULL means the defaults
 *  @param x                 rank at least 1 (LAYER, RMS) or 2 to 5 (GROUP, BATCH; INSTANCE 3 to 5),
 *                           any strides, including broadcast dimensions (stride 0). BATCH needs at
 *                           least two elements per channel
 *  @param gamma             or NULL: 1
 *  @param beta              or NULL: 0; NULL for RMS
 *  @param y                 of x's type and shape; may be exactly x (same memory, offset and
 *                           strides), must not overlap an input otherwise, and its own elements
 *                           must not overlap
 *  @param mean              receives m, for the backward call; may be NULL; NULL for RMS
 *  @param rstd              receives r, for the backward call; may be NULL
 *  @param running_mean      read and written, or NULL; only for BATCH, of shape C: becomes (1 -
 *                           momentum) · running_mean + momentum · m
 *  @param running_variance  read and written, or NULL; only for BATCH, of shape C: becomes (1 -
 *                           momentum) · running_variance + momentum · v · n / (n - 1)
 *  @param sync              may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) ·
 *          TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE
 *
 *  An empty x changes nothing, neither the running statistics nor mean and rstd. A stream may be
 * used by one thread at a time. The tensor structs are only read during the call. */
TENON_CALL tenon_status tenon_norm_forward(tenon_stream *stream, const tenon_norm_params *params,
                                           const tenon_tensor *x, const tenon_tensor *gamma,
                                           const tenon_tensor *beta, const tenon_tensor *y,
                                           const tenon_tensor *mean, const tenon_tensor *rstd,
                                           const tenon_tensor *running_mean,
                                           const tenon_tensor *running_variance,
                                           const tenon_sync *sync);

/** Makes a plan of tenon_norm_forward with operands x, gamma, beta, y, mean, rstd, running_mean,
 * running_variance. The tensors need no memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_norm_forward_plan(
    tenon_context *context, const tenon_norm_params *params, const tenon_tensor *x,
    const tenon_tensor *gamma, const tenon_tensor *beta, const tenon_tensor *y,
    const tenon_tensor *mean, const tenon_tensor *rstd, const tenon_tensor *running_mean,
    const tenon_tensor *running_variance, tenon_plan **plan);

/** Computes the gradients of tenon_norm_forward. With h = (x - m) · r and g = dy · gamma, and sums
 * over a set: dx = r · (g - (sum of g + h · sum of g · h) / n), without the first sum for RMS;
 * dgamma = sum of dy · h and dbeta = sum of dy over all elements that share a gamma.
 *  @param params  those of the forward call, except for `solver`
 *  @param x       the x of the forward call
 *  @param dy      the gradient with respect to y: of x's type and shape
 *  @param gamma   that of the forward call, or NULL
 *  @param mean    the result of the forward call; NULL for RMS
 *  @param rstd    the result of the forward call
 *  @param dx      or NULL; of x's type and shape; may be exactly dy or exactly x, must not overlap
 *                 an input otherwise, and its own elements must not overlap
 *  @param dgamma  or NULL; of gamma's shape, and of its type if there is a gamma
 *  @param dbeta   or NULL; of dgamma's shape and type; NULL for RMS
 *  @return as tenon_norm_forward; also TENON_ERROR_INVALID_ARGUMENT if dx, dgamma and dbeta are all
 *          NULL. An empty x does not modify dgamma and dbeta */
TENON_CALL tenon_status tenon_norm_backward(tenon_stream *stream, const tenon_norm_params *params,
                                            const tenon_tensor *x, const tenon_tensor *dy,
                                            const tenon_tensor *gamma, const tenon_tensor *mean,
                                            const tenon_tensor *rstd, const tenon_tensor *dx,
                                            const tenon_tensor *dgamma, const tenon_tensor *dbeta,
                                            const tenon_sync *sync);

/** Makes a plan of tenon_norm_backward with operands x, dy, gamma, mean, rstd, dx, dgamma, dbeta.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_norm_backward_plan(tenon_context *context,
                                                 const tenon_norm_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *dy,
                                                 const tenon_tensor *gamma,
                                                 const tenon_tensor *mean, const tenon_tensor *rstd,
                                                 const tenon_tensor *dx, const tenon_tensor *dgamma,
                                                 const tenon_tensor *dbeta, tenon_plan **plan);

/** Computes batch normalization with given statistics, for inference: y = (x - mean) /
 * sqrt(variance + epsilon) · gamma + beta.
 *  @param params    of kind BATCH
 *  @param x         as in tenon_norm_forward, like gamma, beta and y
 *  @param mean      of shape C
 *  @param variance  of shape C; a negative sum with epsilon gives NaN
 *  @return as tenon_norm_forward */
TENON_CALL tenon_status tenon_norm_inference(tenon_stream *stream, const tenon_norm_params *params,
                                             const tenon_tensor *x, const tenon_tensor *gamma,
                                             const tenon_tensor *beta, const tenon_tensor *mean,
                                             const tenon_tensor *variance, const tenon_tensor *y,
                                             const tenon_sync *sync);

/** Makes a plan of tenon_norm_inference with operands x, gamma, beta, mean, variance, y.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_norm_inference_plan(
    tenon_context *context, const tenon_norm_params *params, const tenon_tensor *x,
    const tenon_tensor *gamma, const tenon_tensor *beta, const tenon_tensor *mean,
    const tenon_tensor *variance, const tenon_tensor *y, tenon_plan **plan);

/** Computes the gradients of tenon_norm_inference, whose statistics do not depend on x: with r = 1
 * / sqrt(variance + epsilon), dx = dy · gamma · r, dgamma = sum of dy · (x - mean) · r and dbeta =
 * sum of dy.
 *  @return as tenon_norm_backward */
TENON_CALL tenon_status tenon_norm_inference_backward(
    tenon_stream *stream, const tenon_norm_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *gamma, const tenon_tensor *mean,
    const tenon_tensor *variance, const tenon_tensor *dx, const tenon_tensor *dgamma,
    const tenon_tensor *dbeta, const tenon_sync *sync);

/** Makes a plan of tenon_norm_inference_backward with operands x, dy, gamma, mean, variance, dx,
 * dgamma, dbeta.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_norm_inference_backward_plan(
    tenon_context *context, const tenon_norm_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *gamma, const tenon_tensor *mean,
    const tenon_tensor *variance, const tenon_tensor *dx, const tenon_tensor *dgamma,
    const tenon_tensor *dbeta, tenon_plan **plan);

TENON_END_C

#endif
