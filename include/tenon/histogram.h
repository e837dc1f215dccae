/** @file
 * Histograms: the numbers of elements, or the sums of their weights, in intervals of values (NumPy
 * histogram and bincount).
 *
 * Example: 64 bins of equal width from 0 to 1, for y of shape (64):
 *
 *     const tenon_histogram_params unit = tenon_histogram_params(.low = 0, .high = 1);
 *     tenon_histogram(stream, &unit, &x, NULL, NULL, &y, NULL);
 */
#ifndef TENON_HISTOGRAM_H
#define TENON_HISTOGRAM_H

#include <tenon/plan.h>

TENON_BEGIN_C

#define TENON_HISTOGRAM_INDICES                                                                    \
    1u /**< flag: the elements of x, integers, are themselves the numbers of their bins (NumPy     \
          bincount) */

/** Start from TENON_HISTOGRAM_PARAMS_INIT: bins of equal width from 0 to 1. */
typedef struct tenon_histogram_params {
    uint32_t struct_size; /**< sizeof(tenon_histogram_params) */
    uint32_t flags;       /**< 0 or TENON_HISTOGRAM_INDICES */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    double low;           /**< start of the first bin, if there are neither edges nor indices */
    double high;          /**< end of the last bin, which includes it; greater than low */
} tenon_histogram_params;

/** The defaults of tenon_histogram_params, without braces. */
#define TENON_HISTOGRAM_PARAMS_DEFAULTS sizeof(tenon_histogram_params), 0, NULL, 0.0, 1.0
/** Initializes a tenon_histogram_params with the defaults. */
#define TENON_HISTOGRAM_PARAMS_INIT                                                                \
    {                                                                                              \
        TENON_HISTOGRAM_PARAMS_DEFAULTS                                                            \
    }
#ifndef __cplusplus
/** A const tenon_histogram_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_histogram_params(...)                                                                \
    TENON_LITERAL(tenon_histogram_params, TENON_HISTOGRAM_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_histogram_params) */
TENON_API void tenon_histogram_params_default(tenon_histogram_params *params, uint32_t size);

/** Counts the elements of x in each bin, or adds their weights. A bin contains its lower edge and
 * not its upper edge, except for the last bin, which contains both. NaN, and elements outside the
 * first and last edge, are skipped.
 *
 * With bins of equal width, x is first converted to f64 if it is f64, and to f32 otherwise. Its bin
 * is the integer part of (x - low) * s, where s = bins / (high - low), low and s are rounded to
 * that type, and so are the difference and the product. An element that is within these roundings
 * of an edge may therefore be counted in the bin on its other side. With edges, elements are
 * compared exactly.
 *
 * Equal calls return equal bits on one device: sums of weights are added in a fixed order. With a
 * workspace of up to 64 copies of y on a CPU (2,048 on a GPU), the elements are divided among
 * work-items. Without workspace a single work-item counts them.
 *  @param params   NULL means the defaults
 *  @param x        any type except f8 and bool, any rank and strides, including broadcast
 * dimensions (stride 0); integers with TENON_HISTOGRAM_INDICES; at most 2^31 - 1 elements; may be
 *                  empty
 *  @param edges    of x's type, rank 1, one more than y has bins, ascending; then low and high are
 * not used. NULL: bins of equal width, or indices. If they are not ascending, the bins are
 *                  unspecified
 *  @param weights  f32 or f64, of x's shape, any strides: added instead of 1; NULL: elements are
 *                  counted
 *  @param y        rank 1, at least one bin, at most 2^30: i32 or i64 counts, or sums of the
 * weights' type. Must not overlap the inputs, and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_histogram(tenon_stream *stream, const tenon_histogram_params *params,
                                        const tenon_tensor *x, const tenon_tensor *edges,
                                        const tenon_tensor *weights, const tenon_tensor *y,
                                        const tenon_sync *sync);

/** Makes a plan of tenon_histogram with operands x, edges, weights, y. The tensors need no
 * memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_histogram_plan(tenon_context *context,
                                             const tenon_histogram_params *params,
                                             const tenon_tensor *x, const tenon_tensor *edges,
                                             const tenon_tensor *weights, const tenon_tensor *y,
                                             tenon_plan **plan);

TENON_END_C

#endif
