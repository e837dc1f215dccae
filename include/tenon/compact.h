/** @file
 * Compaction: the elements that a mask selects, and their indices (ONNX Compress and NonZero); and
 * its opposite, the replacement of the elements that a mask selects.
 *
 * Example: the coordinates of the elements of x that are not zero, at most as many as `indices` has
 * rows; `count` receives their number:
 *
 *     tenon_compact(stream, NULL, &x, NULL, NULL, &indices, &count, NULL);
 */
#ifndef TENON_COMPACT_H
#define TENON_COMPACT_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** Start from TENON_COMPACT_PARAMS_INIT. */
typedef struct tenon_compact_params {
    uint32_t struct_size; /**< sizeof(tenon_compact_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
} tenon_compact_params;

/** The defaults of tenon_compact_params, without braces. */
#define TENON_COMPACT_PARAMS_DEFAULTS sizeof(tenon_compact_params), 0, NULL
/** Initializes a tenon_compact_params with the defaults. */
#define TENON_COMPACT_PARAMS_INIT                                                                  \
    {                                                                                              \
        TENON_COMPACT_PARAMS_DEFAULTS                                                              \
    }
#ifndef __cplusplus
/** A const tenon_compact_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_compact_params(...)                                                                  \
    TENON_LITERAL(tenon_compact_params, TENON_COMPACT_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_compact_params) */
TENON_API void tenon_compact_params_default(tenon_compact_params *params, uint32_t size);

/** Stores the elements of x, or their indices, where the mask is not zero, in row-major order. -0
 * is zero, NaN is not. The outputs have room for `capacity` elements. If fewer are selected, the
 * rest of y becomes 0 and the rest of the indices -1; if more are selected, only the first ones are
 * stored. At least one of y and the indices must be present.
 *
 * The number of selected elements is not known before the call has run. Read it from `count`, or
 * pass it on as a tensor.
 *  @param params   NULL means the defaults
 *  @param mask     a bool, or any type except f8, of any rank and strides, including broadcast
 *                  dimensions (stride 0); at most 2^31 - 1 elements
 *  @param x        elements of any type except f8, and of the mask's shape; NULL if and only if y
 * is
 *  @param y        capacity elements of x's type, rank 1
 *  @param indices  i32: row-major indices, of shape (capacity), or coordinates, of shape (capacity,
 *                  rank of the mask); may be NULL. The capacity is that of y, if both are present
 *  @param count    i32, one element of rank 0 or 1: receives the number of selected elements, which
 *                  may exceed the capacity. Outputs must not overlap the mask, x or each other, and
 *                  their own elements must not overlap
 *  @param sync     may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_BUILD_FAILED · TENON_ERROR_SOLVER_BARRED · TENON_ERROR_WORKSPACE_TOO_SMALL
 * (a forced solver) · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE
 */
TENON_CALL tenon_status tenon_compact(tenon_stream *stream, const tenon_compact_params *params,
                                      const tenon_tensor *mask, const tenon_tensor *x,
                                      const tenon_tensor *y, const tenon_tensor *indices,
                                      const tenon_tensor *count, const tenon_sync *sync);

/** Makes a plan of tenon_compact with operands mask, x, y, indices, count. The tensors need no
 * memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_compact_plan(tenon_context *context,
                                           const tenon_compact_params *params,
                                           const tenon_tensor *mask, const tenon_tensor *x,
                                           const tenon_tensor *y, const tenon_tensor *indices,
                                           const tenon_tensor *count, tenon_plan **plan);

/** Start from TENON_MASKED_PUT_PARAMS_INIT. */
typedef struct tenon_masked_put_params {
    uint32_t struct_size; /**< sizeof(tenon_masked_put_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
} tenon_masked_put_params;

/** The defaults of tenon_masked_put_params, without braces. */
#define TENON_MASKED_PUT_PARAMS_DEFAULTS sizeof(tenon_masked_put_params), 0, NULL
/** Initializes a tenon_masked_put_params with the defaults. */
#define TENON_MASKED_PUT_PARAMS_INIT                                                               \
    {                                                                                              \
        TENON_MASKED_PUT_PARAMS_DEFAULTS                                                           \
    }
#ifndef __cplusplus
/** A const tenon_masked_put_params with the defaults, except for the members given as arguments.
 * See TENON_LITERAL. */
#define tenon_masked_put_params(...)                                                               \
    TENON_LITERAL(tenon_masked_put_params, TENON_MASKED_PUT_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_masked_put_params) */
TENON_API void tenon_masked_put_params_default(tenon_masked_put_params *params, uint32_t size);

/** Replaces the elements of y, in place, where the mask is not zero, by the elements of `source`:
 * the first one in row-major order by the first element, and so on (NumPy: y[mask] = source;
 * PyTorch: masked_scatter_). -0 is zero, NaN is not. If the source has fewer elements than are
 * selected, the remaining ones keep their values; if it has more, the last ones are not used. The
 * bits are copied.
 *
 * Gradients: with respect to the old y it is that of the new y with zeros where the mask is not
 * zero (tenon_where); with respect to the source it is tenon_compact of the gradient of the new y.
 *  @param params  NULL means the defaults
 *  @param mask    as in tenon_compact
 *  @param source  elements of y's type, rank 1, any stride, including 0
 *  @param y       elements of any type except f8, of the mask's shape; also read. Must not overlap
 * the mask or the source, and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_masked_put(tenon_stream *stream,
                                         const tenon_masked_put_params *params,
                                         const tenon_tensor *mask, const tenon_tensor *source,
                                         const tenon_tensor *y, const tenon_sync *sync);

/** Makes a plan of tenon_masked_put with operands mask, source, y. The tensors need no
 * memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_masked_put_plan(tenon_context *context,
                                              const tenon_masked_put_params *params,
                                              const tenon_tensor *mask, const tenon_tensor *source,
                                              const tenon_tensor *y, tenon_plan **plan);

TENON_END_C

#endif
