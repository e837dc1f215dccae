/** @file
 * Concatenation of tensors. Its inverse, a split, is tenon_tensor_slice: a view.
 */
#ifndef TENON_CONCAT_H
#define TENON_CONCAT_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** Start from TENON_CONCAT_PARAMS_INIT: concatenation along the first dimension. */
typedef struct tenon_concat_params {
    uint32_t struct_size; /**< sizeof(tenon_concat_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver of the copies, "copy/…"; NULL: automatic choice */
    int32_t axis;         /**< counted from 0, or negative: from the end, -1 being the last */
    uint32_t reserved;    /**< 0 */
} tenon_concat_params;

/** The defaults of tenon_concat_params, without braces. */
#define TENON_CONCAT_PARAMS_DEFAULTS sizeof(tenon_concat_params), 0, NULL, 0, 0
/** Initializes a tenon_concat_params with the defaults. */
#define TENON_CONCAT_PARAMS_INIT                                                                   \
    {                                                                                              \
        TENON_CONCAT_PARAMS_DEFAULTS                                                               \
    }
#ifndef __cplusplus
/** A const tenon_concat_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_concat_params(...)                                                                   \
    TENON_LITERAL(tenon_concat_params, TENON_CONCAT_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_concat_params) */
TENON_API void tenon_concat_params_default(tenon_concat_params *params, uint32_t size);

/** Concatenates the inputs along the axis. Each input is copied to its slice of y. To make plans
 * for it, plan these copies: tenon_copy_plan from each input to tenon_tensor_slice of y.
 *  @param params  NULL means the defaults: axis 0
 *  @param inputs  `count` tensors of y's type, rank and shape except for the axis; any strides,
 *                 including 0. An empty one adds nothing. Each may be exactly its slice of y (same
 *                 memory, offset and strides), and must not overlap y otherwise
 *  @param count   at least 1
 *  @param y       any type but the f8 types, rank at least 1; its size along the axis is
 *                 the sum of the inputs' sizes. Its own elements must not overlap
 *  @param sync    may be NULL; the first copy waits for the wait list, the event completes with the
 *                 last copy
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_BUILD_FAILED · TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY ·
 *          TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE (some of the copies were enqueued: the
 *          contents of y are undefined) */
TENON_CALL tenon_status tenon_concat(tenon_stream *stream, const tenon_concat_params *params,
                                     const tenon_tensor *const *inputs, uint32_t count,
                                     const tenon_tensor *y, const tenon_sync *sync);

TENON_END_C

#endif
