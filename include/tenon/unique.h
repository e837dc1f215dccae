/** @file
 * The different elements of a tensor, with their first places, numbers and counts (NumPy unique,
 * ONNX Unique), and runs of equal elements (run-length encoding, PyTorch unique_consecutive).
 *
 * Example: groups of consecutive equal keys, as tenon_segment_reduce takes them:
 *
 *     const tenon_unique_params runs = tenon_unique_params(.flags = TENON_UNIQUE_CONSECUTIVE);
 *     tenon_unique(stream, &runs, &keys, &names, NULL, &ids, NULL, &count, NULL);
 */
#ifndef TENON_UNIQUE_H
#define TENON_UNIQUE_H

#include <tenon/plan.h>

TENON_BEGIN_C

#define TENON_UNIQUE_CONSECUTIVE 1u /**< flag: merges only equal neighbors; without sorting */

/** Start from TENON_UNIQUE_PARAMS_INIT: all different elements, in ascending order. */
typedef struct tenon_unique_params {
    uint32_t struct_size; /**< sizeof(tenon_unique_params) */
    uint32_t flags;       /**< 0 or TENON_UNIQUE_CONSECUTIVE */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
} tenon_unique_params;

/** The defaults of tenon_unique_params, without braces. */
#define TENON_UNIQUE_PARAMS_DEFAULTS sizeof(tenon_unique_params), 0, NULL
/** Initializes a tenon_unique_params with the defaults. */
#define TENON_UNIQUE_PARAMS_INIT                                                                   \
    {                                                                                              \
        TENON_UNIQUE_PARAMS_DEFAULTS                                                               \
    }
#ifndef __cplusplus
/** A const tenon_unique_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_unique_params(...)                                                                   \
    TENON_LITERAL(tenon_unique_params, TENON_UNIQUE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_unique_params) */
TENON_API void tenon_unique_params_default(tenon_unique_params *params, uint32_t size);

/** Stores each different element of x once, in the order of sort.h: ascending, -0 equal to +0, and
 * all NaNs equal and last. Of equal elements the bits of the first one are stored. With
 * TENON_UNIQUE_CONSECUTIVE, stores the first element of each run of equal neighbors instead, in the
 * order of x. The elements of x are taken in row-major order.
 *
 * The outputs y, first and counts have room for `capacity` elements. If there are fewer, the rest
 * of y and counts becomes 0 and the rest of first -1; if there are more, only the first ones are
 * stored. The number of different elements is not known before the call has run. Read it from
 * `count`, or pass it on as a tensor. Any of y, first, inverse and counts may be NULL.
 *
 * With a workspace of two elements and two i32 per element of x, and that of tenon_sort, the time
 * is about that of sorting. Without workspace, x is read once for each different element.
 *  @param params   NULL means the defaults
 *  @param x        any type except f8, any rank and strides, including broadcast dimensions (stride
 *                  0); at most 2^31 - 1 elements; may be empty
 *  @param y        the different elements: of x's type, rank 1, of size capacity
 *  @param first    i32, of size capacity: the row-major index in x of the first of the equal
 *                  elements
 *  @param inverse  i32, of x's shape: for each element of x its place in y, which may exceed the
 *                  capacity
 *  @param counts   i32, of size capacity: the number of equal elements
 *  @param count    i32, one element of rank 0 or 1: receives the number of different elements,
 * which may exceed the capacity. Outputs must not overlap x or each other, and their own elements
 * must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_unique(tenon_stream *stream, const tenon_unique_params *params,
                                     const tenon_tensor *x, const tenon_tensor *y,
                                     const tenon_tensor *first, const tenon_tensor *inverse,
                                     const tenon_tensor *counts, const tenon_tensor *count,
                                     const tenon_sync *sync);

/** Makes a plan of tenon_unique with operands x, y, first, inverse, counts, count. The tensors need
 * no memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_unique_plan(tenon_context *context, const tenon_unique_params *params,
                                          const tenon_tensor *x, const tenon_tensor *y,
                                          const tenon_tensor *first, const tenon_tensor *inverse,
                                          const tenon_tensor *counts, const tenon_tensor *count,
                                          tenon_plan **plan);

TENON_END_C

#endif
