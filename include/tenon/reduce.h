/** @file
 * Reductions over any set of axes: sums, means, extremes and their indices, norms and variances.
 *
 * Example: the number of correct guesses of a classifier, from its logits (rows, classes):
 *
 *     tenon_reduce_params params = TENON_REDUCE_PARAMS_INIT;
 *     params.kind = TENON_REDUCE_ARGMAX;
 *     params.axis_count = 1;
 *     params.axes[0] = -1;
 *     tenon_reduce(stream, &params, &logits, &guesses, NULL);    (guesses: i32, rows)
 *     tenon_tensor_download(stream, &guesses, found, sizeof found, NULL);
 *     for (i = 0; i < rows; i++)
 *         correct += found[i] == labels[i];
 *
 * Example: the norm of all gradients, to clip them: TENON_REDUCE_SUM_SQUARES of each gradient
 * tensor, with an f32 result even for 16-bit gradients, and the square root of the total.
 */
#ifndef TENON_REDUCE_H
#define TENON_REDUCE_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** The result computed from the n elements x that are reduced to it. */
typedef enum tenon_reduce_kind {
    TENON_REDUCE_SUM = 0,    /**< the sum of x; 0 where n is 0 */
    TENON_REDUCE_MEAN = 1,   /**< the sum of x, divided by n */
    TENON_REDUCE_MAX = 2,    /**< the greatest; a NaN is greater than any number */
    TENON_REDUCE_MIN = 3,    /**< the least; a NaN is less than any number */
    TENON_REDUCE_ARGMAX = 4, /**< the index of the greatest: the first of equals, the first NaN */
    TENON_REDUCE_ARGMIN = 5, /**< the index of the least: the first of equals, the first NaN */
    TENON_REDUCE_SUM_SQUARES = 6, /**< the sum of x · x; 0 where n is 0 */
    TENON_REDUCE_NORM = 7, /**< the Euclidean norm: the root of the sum of x · x; 0 where n is 0 */
    TENON_REDUCE_VARIANCE = 8, /**< the sum of (x - mean)², divided by n - correction */
    TENON_REDUCE_PRODUCT = 9,  /**< the product of x; 1 where n is 0 */
    TENON_REDUCE_SUM_ABS = 10, /**< the sum of abs(x), the L1 norm; 0 where n is 0 */
    TENON_REDUCE_MAX_ABS = 11, /**< the greatest abs(x), the maximum norm; NaN if one is NaN */
    TENON_REDUCE_ANY = 12,     /**< 1 if an x is not zero; 0 where n is 0 */
    TENON_REDUCE_ALL = 13,     /**< 1 if no x is zero; 1 where n is 0 */
    TENON_REDUCE_COUNT = 14,   /**< the number of x that are not zero; 0 where n is 0 */
    TENON_REDUCE_LOG_SUM_EXP =
        15, /**< log(the sum of exp(x)), without overflow; -inf where n is 0 */
    TENON_REDUCE_ARGMAX_LAST = 16, /**< as ARGMAX, but the last of equals, the last NaN */
    TENON_REDUCE_ARGMIN_LAST = 17  /**< as ARGMIN, but the last of equals, the last NaN */
} tenon_reduce_kind;

/** Start from TENON_REDUCE_PARAMS_INIT: the sum over all axes. */
typedef struct tenon_reduce_params {
    uint32_t struct_size;         /**< sizeof(tenon_reduce_params) */
    uint32_t flags;               /**< 0 */
    const char *solver;           /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t kind;                /**< tenon_reduce_kind */
    uint32_t axis_count;          /**< 0: all axes */
    int32_t axes[TENON_MAX_RANK]; /**< in any order, each once: counted from 0, or negative, -1 the
                                     last */
    uint32_t correction; /**< for the variance: 0 of a population, 1 of a sample (Bessel) */
    uint32_t reserved;   /**< 0 */
} tenon_reduce_params;

/** The defaults of tenon_reduce_params, without braces. */
#define TENON_REDUCE_PARAMS_DEFAULTS                                                               \
    sizeof(tenon_reduce_params), 0, NULL, TENON_REDUCE_SUM, 0, {0}, 0, 0
/** Initializes a tenon_reduce_params with the defaults. */
#define TENON_REDUCE_PARAMS_INIT                                                                   \
    {                                                                                              \
        TENON_REDUCE_PARAMS_DEFAULTS                                                               \
    }
#ifndef __cplusplus
/** A const tenon_reduce_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_reduce_params(...)                                                                   \
    TENON_LITERAL(tenon_reduce_params, TENON_REDUCE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_reduce_params) */
TENON_API void tenon_reduce_params_default(tenon_reduce_params *params, uint32_t size);

/** Computes y, the reduction of x over the axes. A NaN among the reduced elements gives NaN; for
 * ANY, ALL and COUNT a NaN is not zero. Sums
 * are computed in blocks and in a fixed order. The variance is computed in two passes, the mean
 * first and then the squares of the differences from it (T. Chan, G. Golub, R. LeVeque, "Algorithms
 * for computing the sample variance", 1983), so a large mean causes no cancellation.
 *
 * Sums of squares, including those of the norm, are f32 for all types except f64: they overflow to
 * infinity if elements reach about 1e19, and underflow to 0 if all are below 1e-23 (1e154 and
 * 1e-162 in f64). The factors of a product are multiplied in a fixed but unspecified order, in
 * which an intermediate product may overflow or underflow even if the result would not.
 *  @param params  NULL means the defaults
 *  @param x       f64, f32, f16 or bf16, for ANY, ALL and COUNT also bool or an integer type; any
 * rank and strides, including broadcast dimensions (stride 0). With no elements along the axes,
 * only the kinds that say so are defined; the other kinds are invalid. The variance also requires
 * more elements than `correction`
 *  @param y       of x's shape with the axes either removed or of size 1. Of x's type, or f32 if x
 *                 is f16 or bf16. bool or u8 for ANY and ALL. i32 or i64 for COUNT and for ARGMAX,
 * ARGMIN and their other forms: the row-major index among the reduced elements (the index along the
 * axis, if there is one axis). More than 2³¹ reduced elements (for ANY, ALL and COUNT, 2³¹ - 1) are
 * unsupported for an i32 or u8. Must not overlap x, and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_reduce(tenon_stream *stream, const tenon_reduce_params *params,
                                     const tenon_tensor *x, const tenon_tensor *y,
                                     const tenon_sync *sync);

/** Makes a plan of tenon_reduce with operands x, y. The tensors need no memory; memory that they
 * have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_reduce_plan(tenon_context *context, const tenon_reduce_params *params,
                                          const tenon_tensor *x, const tenon_tensor *y,
                                          tenon_plan **plan);

/** Computes the mean and the variance in one call, for normalizations. It costs no more than the
 * variance alone.
 *  @param params    of kind TENON_REDUCE_VARIANCE; NULL means the population variance over all axes
 *  @param x         as in tenon_reduce
 *  @param mean      as y in tenon_reduce
 *  @param variance  of mean's shape and type; must not overlap x or mean, and its own elements must
 *                   not overlap
 *  @return as tenon_reduce */
TENON_CALL tenon_status tenon_moments(tenon_stream *stream, const tenon_reduce_params *params,
                                      const tenon_tensor *x, const tenon_tensor *mean,
                                      const tenon_tensor *variance, const tenon_sync *sync);

/** Makes a plan of tenon_moments with operands x, mean, variance.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_moments_plan(tenon_context *context,
                                           const tenon_reduce_params *params, const tenon_tensor *x,
                                           const tenon_tensor *mean, const tenon_tensor *variance,
                                           tenon_plan **plan);

TENON_END_C

#endif
