/** @file
 * Reductions: sums, means, extremes with or without their places, norms and variances over any set
 * of axes.
 *
 * How often a classifier is right, from its logits (rows, classes):
 *
 *     tenon_reduce_params params = TENON_REDUCE_PARAMS_INIT;
 *     params.kind = TENON_REDUCE_ARGMAX;
 *     params.axis_count = 1;
 *     params.axes[0] = -1;
 *     tenon_reduce(stream, &params, &logits, &guesses, NULL);    (guesses: i32, rows)
 *     tenon_tensor_download(stream, &guesses, found, sizeof found, NULL);
 *     for (i = 0; i < rows; i++)
 *         right += found[i] == labels[i];
 *
 * The norm by which a gradient is clipped: TENON_REDUCE_SUM_SQUARES of each tensor of gradients,
 * with an f32 result also where they are 16-bit; the root of the total.
 */
#ifndef TENON_REDUCE_H
#define TENON_REDUCE_H

#include <tenon/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is made of the n elements x that give one result. */
typedef enum tenon_reduce_kind {
    TENON_REDUCE_SUM = 0,         /**< the sum of x; 0 where n is 0 */
    TENON_REDUCE_MEAN = 1,        /**< the sum of x, divided by n */
    TENON_REDUCE_MAX = 2,         /**< the greatest; a NaN is greater than any number */
    TENON_REDUCE_MIN = 3,         /**< the least; a NaN is less than any number */
    TENON_REDUCE_ARGMAX = 4,      /**< where the greatest is: the first of equals, the first NaN */
    TENON_REDUCE_ARGMIN = 5,      /**< where the least is: the first of equals, the first NaN */
    TENON_REDUCE_SUM_SQUARES = 6, /**< the sum of x · x; 0 where n is 0 */
    TENON_REDUCE_NORM = 7,        /**< the Euclidean norm: the root of the sum of x · x */
    TENON_REDUCE_VARIANCE = 8     /**< the sum of (x - mean)², divided by n - correction */
} tenon_reduce_kind;

/** Start from TENON_REDUCE_PARAMS_INIT: the sum over all axes. */
typedef struct tenon_reduce_params {
    uint32_t struct_size;         /**< sizeof(tenon_reduce_params) */
    uint32_t flags;               /**< 0 */
    const char *solver;           /**< forces a solver (plan.h has the grammar); NULL chooses */
    uint32_t kind;                /**< tenon_reduce_kind */
    uint32_t axis_count;          /**< 0: all axes */
    int32_t axes[TENON_MAX_RANK]; /**< in any order, each once: from 0, or negative, -1 the last */
    uint32_t correction;          /**< of the variance: 0 of a population, 1 of a sample (Bessel) */
    uint32_t reserved;            /**< 0 */
} tenon_reduce_params;

/** The defaults of tenon_reduce_params, without braces. */
#define TENON_REDUCE_PARAMS_DEFAULTS                                                               \
    sizeof(tenon_reduce_params), 0, NULL, TENON_REDUCE_SUM, 0, {0}, 0, 0
/** Initialises a tenon_reduce_params with the defaults. */
#define TENON_REDUCE_PARAMS_INIT                                                                   \
    {                                                                                              \
        TENON_REDUCE_PARAMS_DEFAULTS                                                               \
    }
#ifndef __cplusplus
/** A const tenon_reduce_params: the defaults, except for the members that are named. TENON_LITERAL
 * says more. */
#define tenon_reduce_params(...)                                                                   \
    TENON_LITERAL(tenon_reduce_params, TENON_REDUCE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_reduce_params) */
TENON_API void tenon_reduce_params_default(tenon_reduce_params *params, uint32_t size);

/** y = the reduction of x over the axes. Where an element of them is NaN, so is the result; sums
 * are done in blocks and in a fixed order. The variance takes
 * the mean first and then the squares of what differs from it (T. Chan, G. Golub, R. LeVeque,
 * "Algorithms for computing the sample variance", 1983), so that a large mean cancels nothing.
 *
 * Sums of squares are in f32 for all types but f64, also for the norm: they overflow to infinity
 * where elements reach 1e19 or so, and vanish where all are below 1e-23 (1e154 and 1e-162 in f64).
 *  @param params  NULL means the defaults
 *  @param x       f64, f32, f16 or bf16, any rank and strides; broadcast dimensions (stride 0) are
 *                 allowed. With no element along the axes, only the sum, the sum of squares and the
 *                 norm are defined; the others refuse it, and the variance also where there are not
 *                 more elements than `correction`
 *  @param y       of x's shape with the axes either left out or of size 1. Of x's type, or f32
 *                 where x is f16 or bf16; i32 for ARGMAX and ARGMIN: the row-major index of the
 *                 element among those reduced (along a single axis, its index there), for which
 *                 more than 2³¹ of them are unsupported. Must not overlap x, and its own elements
 *                 must not overlap
 *  @param sync    or NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver's) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_reduce(tenon_stream *stream, const tenon_reduce_params *params,
                                     const tenon_tensor *x, const tenon_tensor *y,
                                     const tenon_sync *sync);

/** The plan of tenon_reduce; operands x, y. The views need no memory; where they have it, it is
 * checked.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_reduce_plan(tenon_context *context, const tenon_reduce_params *params,
                                          const tenon_tensor *x, const tenon_tensor *y,
                                          tenon_plan **plan);

/** The mean and the variance in one call, which costs no more than the variance: what a
 * normalization needs.
 *  @param params    of kind TENON_REDUCE_VARIANCE; NULL means the population's over all axes
 *  @param x         as in tenon_reduce
 *  @param mean      as y in tenon_reduce
 *  @param variance  of mean's shape and type; must not overlap x or mean, and its own elements must
 *                   not overlap
 *  @return as tenon_reduce */
TENON_CALL tenon_status tenon_moments(tenon_stream *stream, const tenon_reduce_params *params,
                                      const tenon_tensor *x, const tenon_tensor *mean,
                                      const tenon_tensor *variance, const tenon_sync *sync);

/** The plan of tenon_moments; operands x, mean, variance.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_moments_plan(tenon_context *context,
                                           const tenon_reduce_params *params, const tenon_tensor *x,
                                           const tenon_tensor *mean, const tenon_tensor *variance,
                                           tenon_plan **plan);

#ifdef __cplusplus
}
#endif

#endif
