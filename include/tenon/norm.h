/** @file
 * Normalization: layer, RMS, group, instance and batch, forward and backward.
 *
 * All five are one formula. A set of n elements of x has a mean m, a variance v and
 * r = 1 / sqrt(v + epsilon); then y = (x - m) · r · gamma + beta. The kinds differ in what a set
 * is, and in how gamma and beta lie over it:
 *
 * | kind     | x     | a set is                        | shape of m and r      | gamma, beta      |
 * |----------|-------|---------------------------------|-----------------------|------------------|
 * | LAYER    | any   | the last `dimensions` of x      | the dimensions before | those dimensions |
 * | RMS      | any   | the same                        | the dimensions before | those dimensions |
 * | GROUP    | N C … | C / groups channels of a sample | N × groups            | C                |
 * | INSTANCE | N C … | a channel of a sample           | N × C                 | C                |
 * | BATCH    | N C … | a channel of all samples        | C                     | C                |
 *
 * RMS has m = 0, the mean of squares for v, and no beta.
 *
 * Sources: J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer normalization", 2016; B. Zhang and
 * R. Sennrich, "Root mean square layer normalization", 2019; Y. Wu and K. He, "Group
 * normalization", 2018; D. Ulyanov, A. Vedaldi and V. Lempitsky, "Instance normalization", 2016;
 * S. Ioffe and C. Szegedy, "Batch normalization", 2015. v is the variance with divisor n.
 *
 * Types. x, y and their gradients are f64, f32, f16 or bf16. gamma, beta and their gradients are of
 * one type: x's, or f32 where x is f16 or bf16. Means, variances and r are of the type that sums
 * are kept in: f64 for f64, f32 for all others.
 *
 * A NaN in a set makes all of the set NaN, and so does an infinity (with RMS the others become 0).
 * A constant set, such as one of a single element, gives beta, except for what rounding leaves of
 * x - m; with an epsilon of 0 it is 0 / 0: NaN or, where rounding left something, any number.
 */
#ifndef TENON_NORM_H
#define TENON_NORM_H

#include <tenon/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What statistics are taken over; the table above has the shapes. */
typedef enum tenon_norm_kind {
    TENON_NORM_LAYER = 0,    /**< the last `dimensions` of x */
    TENON_NORM_RMS = 1,      /**< the same, without a mean */
    TENON_NORM_GROUP = 2,    /**< groups of the channels of a sample */
    TENON_NORM_INSTANCE = 3, /**< a channel of a sample; x of rank 3 at least */
    TENON_NORM_BATCH = 4     /**< a channel of all samples */
} tenon_norm_kind;

/** Start from TENON_NORM_PARAMS_INIT: layer normalization over the last dimension. */
typedef struct tenon_norm_params {
    uint32_t struct_size; /**< sizeof(tenon_norm_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (plan.h has the grammar); NULL chooses */
    uint32_t kind;        /**< tenon_norm_kind */
    uint32_t dimensions;  /**< LAYER, RMS: how many of the last dimensions; others ignore it */
    int64_t groups;       /**< GROUP: how many; must divide C; others ignore it */
    double epsilon;       /**< finite, 0 at least; rounded to the type that sums are kept in */
    double momentum;      /**< BATCH: the weight of new statistics in the running ones, 0 to 1 */
} tenon_norm_params;

/** The defaults of tenon_norm_params, without braces. */
#define TENON_NORM_PARAMS_DEFAULTS                                                                 \
    sizeof(tenon_norm_params), 0, NULL, TENON_NORM_LAYER, 1, 1, 1e-5, 0.1
/** Initialises a tenon_norm_params with the defaults. */
#define TENON_NORM_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_NORM_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_norm_params: the defaults, except for the members that are named. TENON_LITERAL
 * says more. */
#define tenon_norm_params(...)                                                                     \
    TENON_LITERAL(tenon_norm_params, TENON_NORM_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_norm_params) */
TENON_API void tenon_norm_params_default(tenon_norm_params *params, uint32_t size);

/** y = (x - m) · r · gamma + beta with the statistics of x itself: all kinds, and batch
 * normalization as training does it.
 *  @param params    NULL means the defaults
 *  @param x         rank at least 1 (LAYER, RMS) or 2 to 5 (GROUP, BATCH; INSTANCE 3 to 5), any
 *                   strides; broadcast dimensions (stride 0) are allowed. BATCH needs two elements
 *                   a channel at least
 *  @param gamma     or NULL: 1
 *  @param beta      or NULL: 0; NULL for RMS
 *  @param y         of x's type and shape; may be exactly x (same memory, offset and strides), must
 *                   not overlap an input otherwise, and its own elements must not overlap
 *  @param mean      receives m, or NULL; NULL for RMS. Save it for the backward call
 *  @param rstd      receives r, or NULL. Save it for the backward call
 *  @param running_mean      read and written, or NULL; BATCH only, of shape C: becomes
 *                           (1 - momentum) · running_mean + momentum · m
 *  @param running_variance  read and written, or NULL; BATCH only, of shape C: becomes
 *                           (1 - momentum) · running_variance + momentum · v · n / (n - 1)
 *  @param sync      or NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) ·
 *          TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE An empty x changes nothing, the running statistics included, and
 *          leaves mean and rstd as they are. One thread at a time uses a stream; the views are read
 *          during the call only. */
TENON_CALL tenon_status tenon_norm_forward(tenon_stream *stream, const tenon_norm_params *params,
                                           const tenon_tensor *x, const tenon_tensor *gamma,
                                           const tenon_tensor *beta, const tenon_tensor *y,
                                           const tenon_tensor *mean, const tenon_tensor *rstd,
                                           const tenon_tensor *running_mean,
                                           const tenon_tensor *running_variance,
                                           const tenon_sync *sync);

/** The plan of tenon_norm_forward; operands x, gamma, beta, y, mean, rstd, running_mean,
 * running_variance. The views need no memory; where they have it, it is checked.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_norm_forward_plan(
    tenon_context *context, const tenon_norm_params *params, const tenon_tensor *x,
    const tenon_tensor *gamma, const tenon_tensor *beta, const tenon_tensor *y,
    const tenon_tensor *mean, const tenon_tensor *rstd, const tenon_tensor *running_mean,
    const tenon_tensor *running_variance, tenon_plan **plan);

/** The gradients of tenon_norm_forward. With h = (x - m) · r and g = dy · gamma, sums being over
 * a set: dx = r · (g - (sum of g + h · sum of g · h) / n), for RMS without the first sum;
 * dgamma = sum of dy · h and dbeta = sum of dy over all elements that share a gamma.
 *  @param params  those of the forward call, except for `solver`
 *  @param x       what the forward call was given
 *  @param dy      the gradient with respect to y: of x's type and shape
 *  @param gamma   that of the forward call, or NULL
 *  @param mean    what the forward call gave; NULL for RMS
 *  @param rstd    what the forward call gave
 *  @param dx      or NULL; of x's type and shape; may be exactly dy or exactly x, must not overlap
 *                 an input otherwise, and its own elements must not overlap
 *  @param dgamma  or NULL; of gamma's shape, and of its type where there is a gamma
 *  @param dbeta   or NULL; of dgamma's shape and type; NULL for RMS
 *  @return as tenon_norm_forward; TENON_ERROR_INVALID_ARGUMENT also where dx, dgamma and dbeta are
 *          all NULL. An empty x leaves dgamma and dbeta as they are */
TENON_CALL tenon_status tenon_norm_backward(tenon_stream *stream, const tenon_norm_params *params,
                                            const tenon_tensor *x, const tenon_tensor *dy,
                                            const tenon_tensor *gamma, const tenon_tensor *mean,
                                            const tenon_tensor *rstd, const tenon_tensor *dx,
                                            const tenon_tensor *dgamma, const tenon_tensor *dbeta,
                                            const tenon_sync *sync);

/** The plan of tenon_norm_backward; operands x, dy, gamma, mean, rstd, dx, dgamma, dbeta.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_norm_backward_plan(tenon_context *context,
                                                 const tenon_norm_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *dy,
                                                 const tenon_tensor *gamma,
                                                 const tenon_tensor *mean, const tenon_tensor *rstd,
                                                 const tenon_tensor *dx, const tenon_tensor *dgamma,
                                                 const tenon_tensor *dbeta, tenon_plan **plan);

/** Batch normalization with statistics that are given, as inference does it:
 * y = (x - mean) / sqrt(variance + epsilon) · gamma + beta.
 *  @param params    of kind BATCH
 *  @param x         as tenon_norm_forward has it, and gamma, beta and y
 *  @param mean      of shape C
 *  @param variance  of shape C; a negative sum with epsilon gives NaN
 *  @return as tenon_norm_forward */
TENON_CALL tenon_status tenon_norm_inference(tenon_stream *stream, const tenon_norm_params *params,
                                             const tenon_tensor *x, const tenon_tensor *gamma,
                                             const tenon_tensor *beta, const tenon_tensor *mean,
                                             const tenon_tensor *variance, const tenon_tensor *y,
                                             const tenon_sync *sync);

/** The plan of tenon_norm_inference; operands x, gamma, beta, mean, variance, y.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_norm_inference_plan(
    tenon_context *context, const tenon_norm_params *params, const tenon_tensor *x,
    const tenon_tensor *gamma, const tenon_tensor *beta, const tenon_tensor *mean,
    const tenon_tensor *variance, const tenon_tensor *y, tenon_plan **plan);

/** The gradients of tenon_norm_inference, whose statistics do not depend on x: with
 * r = 1 / sqrt(variance + epsilon), dx = dy · gamma · r, dgamma = sum of dy · (x - mean) · r and
 * dbeta = sum of dy.
 *  @return as tenon_norm_backward */
TENON_CALL tenon_status tenon_norm_inference_backward(
    tenon_stream *stream, const tenon_norm_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *gamma, const tenon_tensor *mean,
    const tenon_tensor *variance, const tenon_tensor *dx, const tenon_tensor *dgamma,
    const tenon_tensor *dbeta, const tenon_sync *sync);

/** The plan of tenon_norm_inference_backward; operands x, dy, gamma, mean, variance, dx, dgamma,
 * dbeta.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_norm_inference_backward_plan(
    tenon_context *context, const tenon_norm_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *gamma, const tenon_tensor *mean,
    const tenon_tensor *variance, const tenon_tensor *dx, const tenon_tensor *dgamma,
    const tenon_tensor *dbeta, tenon_plan **plan);

#ifdef __cplusplus
}
#endif

#endif
