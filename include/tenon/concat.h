/** @file
 * Tensors one behind the other. The opposite, a split, is tenon_tensor_slice: a view.
 */
#ifndef TENON_CONCAT_H
#define TENON_CONCAT_H

#include <tenon/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Start from TENON_CONCAT_PARAMS_INIT: along the first dimension. */
typedef struct tenon_concat_params {
    uint32_t struct_size; /**< sizeof(tenon_concat_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver of the copies, "copy/…"; NULL chooses */
    int32_t axis;         /**< from 0, or negative: counted from the end, -1 being the last */
    uint32_t reserved;    /**< 0 */
} tenon_concat_params;

/** The defaults of tenon_concat_params, without braces. */
#define TENON_CONCAT_PARAMS_DEFAULTS sizeof(tenon_concat_params), 0, NULL, 0, 0
/** Initialises a tenon_concat_params with the defaults. */
#define TENON_CONCAT_PARAMS_INIT                                                                   \
    {                                                                                              \
        TENON_CONCAT_PARAMS_DEFAULTS                                                               \
    }
#ifndef __cplusplus
/** A const tenon_concat_params: the defaults, except for the members that are named. TENON_LITERAL
 * says more. */
#define tenon_concat_params(...)                                                                   \
    TENON_LITERAL(tenon_concat_params, TENON_CONCAT_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_concat_params) */
TENON_API void tenon_concat_params_default(tenon_concat_params *params, uint32_t size);

/** y = the inputs one behind the other along the axis; each is copied into its slice of y. To plan
 * it, plan these copies: tenon_copy_plan from each input to tenon_tensor_slice of y.
 *  @param params  NULL means the defaults: axis 0
 *  @param inputs  `count` views of y's type, rank and shape except for the axis; any strides, 0
 * among them. An empty one adds nothing. Each may be exactly its slice of y (same memory, offset
 * and strides), and must not overlap y otherwise
 *  @param count   at least 1
 *  @param y       f64, f32, f16, bf16, i8, u8 or i32, rank at least 1; along the axis its size is
 *                 the sum of the inputs'. Its own elements must not overlap
 *  @param sync    or NULL; the wait list precedes the first copy, the event follows the last
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_BUILD_FAILED · TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY ·
 *          TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE (some of the copies were enqueued: what y
 *          holds is undefined) */
TENON_CALL tenon_status tenon_concat(tenon_stream *stream, const tenon_concat_params *params,
                                     const tenon_tensor *const *inputs, uint32_t count,
                                     const tenon_tensor *y, const tenon_sync *sync);

#ifdef __cplusplus
}
#endif

#endif
